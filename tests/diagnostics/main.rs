//! What only a build sees, refused with exact text: one run of cargo over the packages in `crate`, most of them one
//! function each. `TENFOLD_BLESS=1` writes `expected.txt`.

mod cargo;
#[allow(dead_code, reason = "the importer's tests use more of it")]
#[path = "../../compiler/onnx/tests/support/mod.rs"]
mod onnx;
mod weights;

#[test]
fn texts() {
    let workspace = cargo::Workspace::new();
    weights::write(&workspace.directory.join("kernels/weights"));
    let found = workspace.errors();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/diagnostics/expected.txt");
    if std::env::var_os("TENFOLD_BLESS").is_some() {
        std::fs::write(path, &found).expect("the expected text can be written");
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    let blocks = |text: &str| text.split("\n\n").map(str::to_string).collect::<Vec<_>>();
    let (expected, found) = (blocks(&expected), blocks(&found));
    let missing: Vec<&String> = expected.iter().filter(|block| !found.contains(block)).collect();
    let new: Vec<&String> = found.iter().filter(|block| !expected.contains(block)).collect();
    assert!(missing.is_empty() && new.is_empty(), "expected:\n{missing:#?}\nfound:\n{new:#?}");
    assert_eq!(expected, found, "the order or the number differs");
}
