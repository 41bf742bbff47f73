//! TFLite models as a user calls them: the same integers as those of TFLite's reference kernels, which
//! `tests/tflite/generate.py` has written.

use std::path::PathBuf;

use crate::firmware::root;
use crate::onnx::has_cc;
use crate::package::Package;

/// The file, the shapes of what goes in and out, and the line to paste.
struct Model {
    name: &'static str,
    input: &'static [usize],
    result: usize,
    signature: &'static str,
}

const MODELS: [Model; 6] = [
    Model {
        name: "ad",
        input: &[1, 640],
        result: 640,
        signature: "pub fn ad(input_1: Tensor<i8, 1, 640>) -> Tensor<i8, 1, 640>;",
    },
    Model {
        name: "ic",
        input: &[1, 32, 32, 3],
        result: 10,
        signature: "pub fn ic(input_1_int8: Tensor<i8, 1, 32, 32, 3>) -> Tensor<i8, 1, 10>;",
    },
    Model {
        name: "kws",
        input: &[1, 49, 10, 1],
        result: 12,
        signature: "pub fn kws(input_1: Tensor<i8, 1, 49, 10, 1>) -> Tensor<i8, 1, 12>;",
    },
    Model {
        name: "person_detect",
        input: &[1, 96, 96, 1],
        result: 2,
        signature: "pub fn person_detect(input: Tensor<i8, 1, 96, 96, 1>) -> Tensor<i8, 1, 2>;",
    },
    Model {
        name: "speech",
        input: &[1, 1960],
        result: 4,
        signature: "pub fn speech(reshape_1: Tensor<i8, 1, 1960>) -> Tensor<i8, 1, 4>;",
    },
    Model {
        name: "vww",
        input: &[1, 96, 96, 3],
        result: 2,
        signature: "pub fn vww(input_1_int8: Tensor<i8, 1, 96, 96, 3>) -> Tensor<i8, 1, 2>;",
    },
];

const RUNS: usize = 100;

fn file(model: &Model, end: &str) -> PathBuf {
    root().join(format!("tests/tflite/models/{}.{end}", model.name))
}

/// `bytes_of` of the script.
pub(crate) fn bytes_of(run: usize, count: usize) -> Vec<i8> {
    let number = |place: u64| {
        let z = (run as u64).wrapping_mul(1_000_003).wrapping_add(place).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z >> 56) as i32 - 128
    };
    let (centre, part) = (number(0), (run % 4) as i32);
    let base = (centre * part).div_euclid(4);
    let element = |i: u64| base + (number((i + 1) / (1 + 96 * (run as u64 % 7)) + 1) * (4 - part)).div_euclid(4);
    (0..count as u64).map(|i| element(i).clamp(-128, 127) as i8).collect()
}

/// A `.npy` file of integers of 8 bits.
fn npy(shape: &[usize], values: impl Iterator<Item = i8>) -> Vec<u8> {
    let extents: String = shape.iter().map(|n| format!("{n}, ")).collect();
    let header = format!("{{'descr': '|i1', 'fortran_order': False, 'shape': ({extents}), }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.map(|value| value as u8));
    bytes
}

#[test]
fn models_do_what_the_reference_does() {
    if !has_cc() {
        return;
    }
    let package = Package::bare("tflite-run");
    for model in &MODELS {
        let count = model.input.iter().product();
        let shape = [&[RUNS], model.input].concat();
        let inputs = npy(&shape, (0..RUNS).flat_map(|run| bytes_of(run, count)));
        std::fs::write(package.path("x.npy"), inputs).expect("a file");
        let path = file(model, "tflite");
        let outcome = package.run(&format!("run {} --input x.npy --output y.npy --each", path.display()));
        assert_eq!(outcome.code, Some(0), "{}: {outcome:?}", model.name);
        let expected = std::fs::read(file(model, "out")).expect("what the reference gives");
        assert_eq!(expected.len(), RUNS * model.result);
        let found = std::fs::read(package.path("y.npy")).expect("the outputs");
        assert!(found.ends_with(&expected), "{}", model.name);
    }
}

#[test]
fn signatures_are_the_models() {
    let package = Package::bare("tflite-signature");
    for model in &MODELS {
        let path = file(model, "tflite");
        let outcome = package.run(&format!("signature {}", path.display()));
        let expected = format!("#[tensor_fn(tflite = {:?})]\n{}\n", path.to_string_lossy(), model.signature);
        assert_eq!((outcome.code, outcome.stdout), (Some(0), expected), "{}", outcome.stderr);
    }
    std::fs::write(package.path("cut.tflite"), b"ab").expect("a file");
    let kws = file(&MODELS[2], "tflite");
    for (line, error) in [
        (
            "signature cut.tflite".into(),
            "it is no TFLite model: a file identifier at byte 4 lies outside of its 2 bytes",
        ),
        (format!("signature {} --params", kws.display()), "weights of a TFLite model cannot be parameters"),
        (format!("weights {} -o w.safetensors", kws.display()), "weights of a TFLite model cannot be parameters"),
    ] {
        let outcome = package.run(&line);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(outcome.stderr.contains(error), "{outcome:?}");
    }
}
