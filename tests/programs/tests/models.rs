//! Models compute what their nodes say.

use tenfold_programs::models;

#[allow(dead_code, reason = "the importer's tests use more of it")]
#[path = "../../../compiler/onnx/tests/support/mod.rs"]
mod support;

/// `TENFOLD_BLESS=1` writes it.
#[test]
fn the_files_are_those_of_their_texts() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data/");
    for name in ["net", "chosen"] {
        let text = std::fs::read_to_string(format!("{folder}{name}.txt")).expect("the text");
        let model = support::model(&text);
        let file = format!("{folder}{name}.onnx");
        if std::env::var_os("TENFOLD_BLESS").is_some() {
            std::fs::write(&file, &model).expect("the file can be written");
        }
        assert!(std::fs::read(&file).expect("the model") == model, "data/{name}.onnx is stale");
    }
}

const W: [[f32; 3]; 4] = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0], [10.0, 11.0, -12.0]];
const B: [f32; 3] = [0.5, -100.0, 2.0];

fn expected(x: [f32; 4], b: [f32; 3]) -> [f32; 5] {
    let h = |j: usize| (0..4).map(|k| x[k] * W[k][j]).sum::<f32>() + b[j];
    [h(0).max(0.0), h(1).max(0.0), h(2).max(0.0), 0.5, 0.5]
}

#[test]
fn a_model_with_a_dim() {
    let x = [[1.0f32, 2.0, 3.0, 4.0], [-1.0, 0.0, 1.0, 0.0], [9.0, 9.0, 9.0, 9.0]];
    let y = models::net(&x).expect("three rows are few enough");
    let all: Vec<f32> = x.iter().flat_map(|row| expected(*row, B)).collect();
    assert_eq!(y.as_slice(), all);
    assert!(models::net(&[[0.0f32; 4]; 9]).is_err(), "nine rows are too many");
}

#[test]
fn a_model_of_fixed_extents_cannot_fail() {
    let x = [1.0f32, -2.0, 3.0, -4.0];
    assert_eq!(models::row(&[x]).as_slice(), expected(x, B));
}

/// A safetensors file of the model's weights, twice as great as in the model.
fn doubled() -> tenfold::AlignedBytes {
    let header = r#"{"b":{"dtype":"F32","shape":[3],"data_offsets":[0,12]},"w":{"dtype":"F32","shape":[4,3],"data_offsets":[12,60]}}"#;
    let header = format!("{header:<120}");
    let numbers = B.iter().chain(W.iter().flatten()).flat_map(|n| (n * 2.0).to_le_bytes());
    let file: Vec<u8> = (header.len() as u64).to_le_bytes().into_iter().chain(header.bytes()).chain(numbers).collect();
    tenfold::AlignedBytes::from(&file[..])
}

#[test]
fn a_model_with_weights_that_are_read_when_it_runs() {
    let file = doubled();
    let params = models::loaded::Params::load(&[tenfold::Safetensors::new(&file).expect("a good file")]);
    let params = params.expect("both are there");
    assert_eq!(models::loaded::Params::TENSORS, ["w", "b"]);
    let x = [[1.0f32, -2.0, 3.0, -4.0], [0.5, 0.5, 0.5, 0.5]];
    let y = params.call(&x).expect("two rows are few enough");
    let all: Vec<f32> = x.iter().flat_map(|row| expected(row.map(|x| x * 2.0), B.map(|b| b * 2.0))).collect();
    assert_eq!(y.as_slice(), all);
    let mut into = [[0.0; 5]; 2];
    params.call_into(&x, &mut into, &mut models::loaded::Workspace::new()).expect("two rows are few enough");
    assert_eq!(into.as_flattened(), all);
    const { assert!(models::loaded::WEIGHT_BYTES < 64, "what is read is not linked as well") };
    let y = models::reloaded(&[x[0]], &W);
    assert_eq!(y.as_slice(), expected(x[0].map(|x| x * 2.0), [1.0, 2.0, 3.0]));
}

#[test]
fn models_are_called_by_others() {
    let x = [[1.0f32, 2.0, 3.0, 4.0], [-1.0, 0.0, 1.0, 0.0]];
    let (y, total) = models::both(&x).expect("two rows are few enough");
    let rows: Vec<f32> = x.iter().flat_map(|row| expected(row.map(|x| x * 2.0), B)[..3].to_vec()).collect();
    assert_eq!(y.as_slice(), rows);
    assert_eq!(total, expected([1.0, 2.0, 3.0, 4.0], B).iter().sum::<f32>());
}

#[test]
fn a_model_tells_lengths_that_data_decides() {
    let (places, found, values, length, total) =
        models::chosen(&[[1.0f32, 0.0, 2.0], [-1.0, 0.0, 4.0]]).expect("two rows are few enough");
    assert_eq!(places.as_slice(), [0, 0, 1, 0, 0, 0, 0, 2, 2, 0, 0, 0]);
    assert_eq!(values.as_slice(), [2.0, 3.0, 5.0, 0.0, 0.0, 0.0]);
    assert_eq!((found, length, total), (3, 3, 10.0));
    let (_, found, values, length, total) = models::chosen(&[[0.0f32; 3]; 2]).expect("two rows are few enough");
    assert_eq!((found, values.as_slice(), length, total), (0, &[0.0; 6][..], 0, 0.0));
    let (places, found, values, ..) = models::chosen(&[[1.0f32; 3]; 2]).expect("two rows are few enough");
    assert_eq!((found, places.as_slice()), (6, &[0, 0, 0, 1, 1, 1, 0, 1, 2, 0, 1, 2][..]));
    assert_eq!(values.as_slice(), [2.0; 6]);
}

#[test]
fn a_model_of_tflite() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/");
    let read = |name: &str| std::fs::read(format!("{folder}{name}")).expect("the file can be read");
    assert!(read("data/conv.tflite") == read("../tflite/cases/conv_same.tflite"), "data/conv.tflite is stale");
    let runs: Vec<i8> = read("../tflite/cases/conv_same.bin").into_iter().map(|byte| byte as i8).collect();
    for run in runs.chunks_exact(105 + 140) {
        let (x, expected) = run.split_at(105);
        let x = tenfold::TensorRef::new(x, [1, 7, 5, 3]).expect("as many elements");
        assert_eq!(models::conv(&x).as_slice(), expected);
        let most: Vec<i8> = (0..4).filter_map(|c| expected.iter().skip(c).step_by(4).max().copied()).collect();
        assert_eq!(models::greatest(&x).as_slice(), most);
    }
}
