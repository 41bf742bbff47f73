//! Round trips of the text format and the verifier, over `tests/filetests/relax/*.relax`.
//!
//! Each file holds one function. It must print as it stands (comments and blank lines aside), parse back to an equal
//! function, and break exactly the laws that its `// error:` lines name.

use std::path::{Path, PathBuf};

use tenfold_ir::relax::{parse_function, print_function, renumbered, structural_hash, structurally_equal, verify};
use tenfold_ir::text::strip;
use tenfold_ir::{ConstBytes, ConstData, DType, Module};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/filetests/relax");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|ext| ext == "relax"));
    files.sort();
    files
}

/// A module whose one constant is `c0: f32[2]`.
fn module() -> Module {
    let bytes = ConstBytes::Inline(vec![0; 8].into());
    let data = ConstData { hash: "00".into(), name: "W".into(), dtype: DType::F32, shape: vec![2], bytes };
    Module { constants: vec![data], ..Module::default() }
}

#[test]
fn functions_round_trip() {
    assert!(files().len() > 3);
    for path in files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let func = parse_function(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let printed = print_function(&func);
        let bare = |text: &str| text.lines().map(strip).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n");
        assert_eq!(bare(&printed), bare(&text), "{}", path.display());
        let again = parse_function(&printed).unwrap();
        let module = module();
        assert!(structurally_equal((&module, &func), (&module, &again)), "{}", path.display());
        assert_eq!(structural_hash(&module, &func), structural_hash(&module, &renumbered(&again)));
    }
}

#[test]
fn broken_laws_are_reported() {
    for path in files() {
        let text = std::fs::read_to_string(&path).unwrap();
        let func = parse_function(&text).unwrap();
        let expected: Vec<&str> =
            text.lines().filter_map(|line| line.split_once("// error: ")).map(|(_, e)| e.trim()).collect();
        assert_eq!(verify(&module(), &func), expected, "{}", path.display());
    }
}

#[test]
fn bad_text_is_refused_at_its_place() {
    let cases = [
        ("", "line 1: expected `relax @name`, found the end"),
        ("relax f {", "line 1:1: expected `relax @name phase imported {`, found `relax f {`"),
        ("relax @f phase late {", "line 1:16: expected a phase, found `late`"),
        (
            "relax @f phase imported {\n  dataflow {\n    v0: f33 = scalar(value = 1.0)",
            "line 3:9: expected a dtype, found `f33`",
        ),
        ("relax @f phase imported {\n  dataflow {\n    v0: f32 = scalar()", "line 3:15: attribute `value` is missing"),
        (
            "relax @f phase imported {\n  dataflow {\n    v0: i8 = scalar(value = 300)",
            "line 3:29: `i8` does not hold 300",
        ),
        ("relax @f phase imported {\n  dataflow {\n    v0: f32 = frob()", "line 3:15: expected an op, found `frob`"),
        (
            "relax @f phase imported {\n  dataflow {\n    v0: f32 = exp(v1, k = 1)",
            "line 3:23: `exp` has no attribute `k`",
        ),
        (
            "relax @f phase imported {\n  dataflow {\n    v0: f32 = max(v1, axes = [0, é], keepdims = true)",
            "line 3:34: expected a number, found `é`",
        ),
        (
            "relax @f phase imported {\n  sym N: dims 0 0 // \"",
            "line 2:10: expected a kind of symbol, found `dims 0 0`",
        ),
        ("relax @f phase imported {\n  return v", "line 2:11: expected a number, found ``"),
        ("relax @f phase imported {", "line 1: expected `}`, found the end"),
    ];
    for (text, expected) in cases {
        assert_eq!(parse_function(text).unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn names_and_numbers_do_not_count() {
    let a = parse_function(
        "relax @f phase imported {\n param v0: f32 = scalar 0 \"x\"\n dataflow {\n v1: f32 = exp(v0) \"a\"\n }\n return v1\n}",
    );
    let b = parse_function(
        "relax @f phase imported {\n param v3: f32 = scalar 0\n dataflow {\n v5: f32 = exp(v3)\n }\n return v5\n}",
    );
    let c = parse_function(
        "relax @f phase imported {\n param v0: f32 = scalar 0\n dataflow {\n v1: f32 = exp2(v0)\n }\n return v1\n}",
    );
    let module = module();
    let (a, b, c) = (a.unwrap(), b.unwrap(), c.unwrap());
    assert!(structurally_equal((&module, &a), (&module, &b)));
    assert!(!structurally_equal((&module, &a), (&module, &c)));
    assert_eq!(format!("{:032x}", structural_hash(&module, &a)), format!("{:032x}", structural_hash(&module, &b)));
}
