//! Errors that only the build script can find, all in one crate and one run of cargo, with their exact text.
//!
//! `build_errors/src/lib.rs` holds the functions, `build_errors/expected.txt` what rustc says;
//! `TENFOLD_BLESS=1 cargo test -p tenfold-tests --test e2e` writes it anew.

use crate::package::Package;
use std::path::Path;

const SOURCE: &str = include_str!("build_errors/lib.rs");

#[test]
fn every_error_of_the_build_script() {
    let package = Package::new("e2e-build-errors", SOURCE);
    write_weights(&package);
    let outcome = package.cargo(&["check"]).err();
    let found = errors_alone(&outcome.stderr);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("e2e/build_errors/expected.txt");
    if std::env::var_os("TENFOLD_BLESS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == expected, "expected\n{expected}\nfound\n{found}");
}

/// The errors at `src/lib.rs`, in the order of their places, without what cargo says around them.
fn errors_alone(stderr: &str) -> String {
    let mut blocks: Vec<(usize, String)> = Vec::new();
    for block in stderr.split("\n\n") {
        let block = block.trim_matches('\n');
        let Some(start) = block.lines().position(|line| line.starts_with("error")) else {
            continue;
        };
        let lines: Vec<_> = block.lines().skip(start).collect();
        let place = lines.iter().find_map(|line| line.trim().strip_prefix("--> src/lib.rs:"));
        let Some(line) = place.and_then(|place| place.split(':').next()?.parse().ok()) else {
            continue;
        };
        blocks.push((line, lines.join("\n")));
    }
    blocks.sort_by_key(|(line, _)| *line);
    blocks.into_iter().map(|(_, text)| text + "\n\n").collect()
}

/// A safetensors file with two tensors, a damaged one, and a few npy files.
fn write_weights(package: &Package) {
    let header = r#"{"fc1.weight":{"dtype":"F32","shape":[4,2],"data_offsets":[0,32]},"steps":{"dtype":"I32","shape":[4],"data_offsets":[32,48]}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.resize(file.len() + 48, 0);
    let npy = |header: &str, data: usize| {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.resize(bytes.len() + data, 0);
        bytes
    };
    let directory = package.directory.join("weights");
    std::fs::create_dir_all(&directory).unwrap();
    let good = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }";
    let files = [
        ("w.safetensors", file.clone()),
        ("cut.safetensors", file[..file.len() - 9].to_vec()),
        ("not.safetensors", b"PK\x03\x04 this is a zip file, not tensors".to_vec()),
        ("four.npy", npy(good, 16)),
        ("short.npy", npy(good, 12)),
        ("big_endian.npy", npy(&good.replace('<', ">"), 16)),
        ("fortran.npy", npy(&good.replace("False", "True").replace("(4,)", "(2, 2)"), 16)),
        ("complex.npy", npy(&good.replace("f4", "c8"), 32)),
        ("text.npy", b"1 2 3 4".to_vec()),
    ];
    for (name, bytes) in files {
        std::fs::write(directory.join(name), bytes).unwrap();
    }
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("tflite/models/speech.tflite");
    std::fs::copy(model, directory.join("speech.tflite")).expect("the model is there");
}
