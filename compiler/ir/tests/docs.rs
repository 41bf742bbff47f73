//! `compiler/docs/operators.md` is what the operator table says; `TENFOLD_BLESS=1` writes it anew.

use std::fmt::Write;
use std::path::PathBuf;

use tenfold_ir::eval;
use tenfold_ir::op::ElementOp;
use tenfold_ir::ops::{self, OpCall, OpDef, OpKind};

/// What holds of all elementwise operators.
const ELEMENTWISE: &str = "\
These broadcast, and may also be called on scalars inside `compute` and reductions.

Sums, products, quotients and square roots of floats are correctly rounded. A function that is not is within so many
units in the last place (ulps) of the exact value, for every operand and on every target; the bounds stand in
`compiler/ir/src/eval/ulps.rs`, and tests measure the errors of compiled code against them: of `f16` and `bf16` for all
operands, of `f32` for samples of every magnitude (for all on demand), of `f64` at points of a table of exact values.
What is composed of others (`gelu`, `mish`, …) has the errors of its parts.

";

/// How far results may be from the exact value, of operators that are not composed and not exact.
fn ulps(def: &OpDef) -> Option<f64> {
    let OpKind::Element(build) = def.kind else { return None };
    if !def.attrs.is_empty() {
        return None;
    }
    let bound = match build(&OpCall { args: Vec::new(), attrs: Default::default(), dtype: None }).ok()? {
        ElementOp::Unary(op) => eval::ulps(op),
        ElementOp::Binary(op) => eval::binary_ulps(op),
        _ => 0.0,
    };
    Some(bound).filter(|bound| *bound > 0.5)
}

/// Which operators a section lists.
type Belongs = fn(&OpDef) -> bool;

fn page() -> String {
    let mut out = String::from(
        "# Operators\n\nGenerated from `compiler/ir/src/ops`; a test keeps it fresh. Names are NumPy's, else ONNX's in snake case, and\n\
         the ONNX operator settles what LANGUAGE leaves open. Tensors and shapes are positional, attributes are named\n\
         constants. `?` marks what may be left out; `[]` stands in its place where others follow. Arithmetic, comparison and\n\
         logic are Rust's operators, conversion is `as`, slices are `x[[i, 1.., ..]]`.\n",
    );
    let sections: [(&str, Belongs); 2] = [
        ("Elementwise", |def| matches!(def.kind, OpKind::Element(_))),
        ("On whole tensors", |def| matches!(def.kind, OpKind::Graph(_))),
    ];
    for (title, belongs) in sections {
        let _ = writeln!(out, "\n## {title}\n");
        if title == "Elementwise" {
            out.push_str(ELEMENTWISE);
        }
        for def in ops::all().filter(|def| belongs(def)) {
            entry(&mut out, def);
        }
    }
    out
}

fn entry(out: &mut String, def: &OpDef) {
    let onnx = if def.onnx.is_empty() { String::new() } else { format!(" (ONNX {})", def.onnx) };
    let within = ulps(def).map(|bound| format!(" Within {bound} ulps.")).unwrap_or_default();
    let _ = writeln!(out, "- `{}`{onnx}: {}{within}", def.usage(), def.doc);
    for attr in def.attrs {
        let _ = writeln!(out, "  - `{}: {}`: {}", attr.name, attr.ty, attr.doc);
    }
}

#[test]
fn operators_page_is_fresh() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/operators.md");
    if std::env::var_os("TENFOLD_BLESS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == page(), "compiler/docs/operators.md is stale; run with TENFOLD_BLESS=1");
}

/// The example in relax.md parses and is lawful.
#[test]
fn example_in_the_page_of_relax_is_lawful() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/relax.md");
    let text = std::fs::read_to_string(path).unwrap();
    let example = text.split("```relax\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let func = tenfold_ir::relax::parse_function(example).unwrap();
    assert_eq!(tenfold_ir::relax::print_function(&func), example);
    assert_eq!(tenfold_ir::relax::verify(&tenfold_ir::Module::default(), &func), Vec::<String>::new());
}
