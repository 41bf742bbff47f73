//! Parts of a graph that functions of the user's crate compute.

use tenfold_ir::relax::{self, Linkage};
use tenfold_ir::{Function, Module};

use super::{context, entry, module_of, run, values};
use crate::pass::run_pass;
use crate::{ExternPattern, fuse_ops_by_pattern};

fn row(pattern: &str, path: &str) -> ExternPattern {
    ExternPattern { pattern: pattern.into(), path: path.into(), linkage: Linkage::Rust, extents: false, accepts: None }
}

fn parsed(text: &str) -> Module {
    module_of(relax::parse_function(text).expect("a function"))
}

const MLP: &str = r#"relax @mlp phase normalised {
  param v0: f32[4, 3] = input 0 "x"
  param v1: f32[3, 5] = input 1 "w"
  param v2: f32[5] = input 2 "b"
  param v3: f32[5, 2] = input 3 "last"
  dataflow {
    v4: f32[4, 5] = matmul(v0, v1)
    v5: f32[4, 5] = add(v2, v4)
    v6: f32[4, 5] = relu(v5) "hidden"
    v7: f32[4, 2] = matmul(v6, v3) "out"
  }
  return v7
}
"#;

#[test]
fn a_dense_layer_becomes_a_call() {
    let mut module = parsed(MLP);
    let table = vec![
        row("relu(add(matmul(x, w):once, b):once)", "crate::fast::dense"),
        row("matmul(x, w)", "crate::fast::gemm"),
    ];
    let pass = fuse_ops_by_pattern(table).expect("the table is read");
    run_pass(&pass, &mut module, &context()).expect("the pass runs");
    let text = relax::print_function(entry(&module));
    let expected = r#"  dataflow {
    v4: f32[4, 5] = call_dps(v0, v1, v2, path = "crate::fast::dense", linkage = rust) "hidden"
    v5: f32[4, 2] = call_dps(v4, v3, path = "crate::fast::gemm", linkage = rust) "out"
  }"#;
    assert!(text.contains(expected), "{text}");
}

#[test]
fn the_call_computes_what_the_operators_did() {
    let before = parsed(MLP);
    let mut after = before.clone();
    let table = vec![row("relu(add(matmul(x, w):once, b):once)", "crate::fast::dense")];
    run_pass(&fuse_ops_by_pattern(table).expect("read"), &mut after, &context()).expect("the pass runs");
    // What the user's function computes, for the interpreter: the three operators themselves.
    let dense = parsed(
        r#"relax @dense phase normalised {
  param v0: f32[4, 3] = input 0 "x"
  param v1: f32[3, 5] = input 1 "w"
  param v2: f32[5] = input 2 "b"
  dataflow {
    v3: f32[4, 5] = matmul(v0, v1)
    v4: f32[4, 5] = add(v3, v2)
    v5: f32[4, 5] = relu(v4)
  }
  return v5
}
"#,
    );
    let mut random = super::Random::new(5);
    let inputs: Vec<_> =
        [&[4, 3][..], &[3, 5], &[5], &[5, 2]].iter().map(|s| values(&mut random, tenfold_ir::DType::F32, s)).collect();
    let external = |path: &str, args: &[tenfold_ir::eval::Value], _: &[_]| {
        assert_eq!(path, "crate::fast::dense");
        run(&dense, args).map(|out| out.results)
    };
    let old = run(&before, &inputs).expect("runs");
    let given = relax::Inputs { values: inputs, indices: Default::default() };
    let new = super::with_external(&after, &given, &external).expect("runs");
    assert_eq!(super::refuted(&old, &new), None);
}

#[test]
fn what_is_read_elsewhere_is_no_part_of_a_once() {
    let mut module = parsed(&MLP.replace("return v7", "return v7, v4"));
    let table = vec![row("relu(add(matmul(x, w):once, b):once)", "crate::fast::dense")];
    run_pass(&fuse_ops_by_pattern(table).expect("read"), &mut module, &context()).expect("the pass runs");
    assert!(!relax::print_function(entry(&module)).contains("call_dps"));
}

#[test]
fn types_that_are_not_accepted_stay() {
    let mut module = parsed(MLP);
    let wide = |_: &[relax::TensorType], out: &relax::TensorType| out.shape[1].as_const() == Some(2);
    let table = vec![ExternPattern { accepts: Some(wide), ..row("matmul(x, w)", "crate::fast::gemm") }];
    run_pass(&fuse_ops_by_pattern(table).expect("read"), &mut module, &context()).expect("the pass runs");
    let calls = entry(&module).bindings().filter(|b| relax::op_name(&b.op) == "call_dps").count();
    assert_eq!(calls, 1);
}

#[test]
fn what_is_no_pattern_is_an_error() {
    for (text, error) in [("matmul(x", "cannot be read"), ("x", "matches no op")] {
        let found = fuse_ops_by_pattern(vec![row(text, "crate::f")]).expect_err("no pattern");
        assert!(found.message.contains(error), "{}", found.message);
    }
}

#[test]
fn other_functions_of_the_module_are_looked_at_too() {
    let mut module = parsed(MLP);
    let other = MLP.replace("@mlp", "@other");
    module.functions.insert("other".into(), Function::Relax(relax::parse_function(&other).expect("a function")));
    let table = vec![row("matmul(x, w)", "crate::fast::gemm")];
    run_pass(&fuse_ops_by_pattern(table).expect("read"), &mut module, &context()).expect("the pass runs");
    let other = module.relax("other").expect("is there");
    assert_eq!(other.bindings().filter(|b| relax::op_name(&b.op) == "call_dps").count(), 2);
}
