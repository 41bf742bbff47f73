//! Models that nobody should trust: each is refused with one clear problem, and no byte of a file makes the reader panic.
//! `tests/tflite/generate.py` writes them, `TENFOLD_BLESS=1` what is said of each.

use std::path::{Path, PathBuf};

use tenfold_onnx::Options;
use tenfold_tflite::{declared, import};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/tflite")
}

/// Whose model is wrong in two places.
const TWO: &str = "two_unknown_operators";

#[test]
fn hostile_models_are_refused() {
    let folder = folder().join("hostile");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("the folder")
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().strip_suffix(".tflite")?.to_string()))
        .collect();
    names.sort();
    assert!(names.len() >= 70, "there are {}", names.len());
    let mut said = String::new();
    for name in &names {
        let bytes = std::fs::read(folder.join(format!("{name}.tflite"))).expect("the file can be read");
        let error = import(&bytes, &Options::default()).expect_err(name);
        assert_eq!(error.problems.len(), if name == TWO { 2 } else { 1 }, "{name}: {error}");
        said += &format!("{name}: {error}\n");
    }
    let expected = folder.join("expected.txt");
    if std::env::var_os("TENFOLD_BLESS").is_some() {
        std::fs::write(&expected, &said).expect("the file can be written");
    }
    let expected = std::fs::read_to_string(&expected).expect("the file can be read");
    let different = expected.lines().zip(said.lines()).find(|(a, b)| a != b);
    assert!(expected == said, "{different:#?}");
}

/// Whatever stands in a file, it is read or refused.
fn reads_or_refuses(bytes: &[u8]) {
    let known = declared(bytes).is_ok();
    let imported = import(bytes, &Options::default());
    assert!(known || imported.is_err(), "a model is read that declares nothing");
}

#[test]
fn no_byte_makes_the_reader_panic() {
    for name in ["conv_same", "strided_slice", "split_v"] {
        let bytes = std::fs::read(folder().join(format!("cases/{name}.tflite"))).expect("the file can be read");
        for end in 0..bytes.len() {
            reads_or_refuses(&bytes[..end]);
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut changed = bytes.clone();
                changed[at] = value;
                reads_or_refuses(&changed);
            }
        }
    }
}
