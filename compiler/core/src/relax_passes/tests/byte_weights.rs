//! Which constants of 8 bits stay so.

use tenfold_ir::op::ElementOp;
use tenfold_ir::relax::{self, Op};
use tenfold_ir::{ConstBytes, ConstData, DType};

use super::{context, entry, module_of};
use crate::pass::{find, run_pass};

const PRODUCT: &str = r#"relax @f phase normalised {
SYMS  param v0: f32[ROWS, K] = input 0 "x"
  dataflow {
    v1: i8[K, 512] = const(id = c0) "w"
    v2: f32[K, 512] = cast(v1) "q"
    v3: f32 = scalar(value = 0.5) "s"
    v4: f32[K, 512] = mul(v2, v3) "d"
    v5: f32[ROWS, 512] = matmul(v0, v4) "y"
  }
  return RESULT
}
"#;

/// Whether the conversion is still there behind both passes that would make it when the program is built.
fn stays(rows: &str, terms: usize, result: &str) -> bool {
    let syms = if rows == "N" { "  sym N: dim 0 0\n" } else { "" };
    let text =
        PRODUCT.replace("SYMS", syms).replace("ROWS", rows).replace('K', &terms.to_string()).replace("RESULT", result);
    let mut module = module_of(relax::parse_function(&text).expect("a function"));
    let bytes: Vec<u8> = (0..terms * 512).map(|n| (n % 251) as u8).collect();
    let bytes = ConstBytes::Inline(bytes.into());
    let shape = vec![terms as u64, 512];
    module.constants.push(ConstData { hash: "w".into(), name: "w".into(), dtype: DType::I8, shape, bytes });
    for pass in ["LiftTransformParams", "FoldConstant"] {
        run_pass(find(pass).expect("a pass"), &mut module, &context()).expect("the pass runs");
    }
    let cast = |b: &relax::Binding| matches!(b.op, Op::Element(ElementOp::Cast(_)));
    entry(&module).bindings().any(cast)
}

#[test]
fn large_weights_of_few_rows_stay_narrow() {
    assert!(stays("N", 1024, "v5"), "an unknown number of rows");
    assert!(stays("64", 1024, "v5"), "few rows");
}

#[test]
fn others_are_converted_when_the_program_is_built() {
    assert!(!stays("N", 256, "v5"), "small ones, which are near when they are read");
    assert!(!stays("65", 1024, "v5"), "those of many rows");
    assert!(!stays("N", 1024, "v5, v4"), "those that something else reads");
}
