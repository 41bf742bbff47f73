//! Models compute what their nodes say.

use tenfold_programs::models;

#[allow(dead_code, reason = "the importer's tests use more of it")]
#[path = "../../../compiler/onnx/tests/support/mod.rs"]
mod support;

/// `TENFOLD_BLESS=1` writes it.
#[test]
fn the_file_is_that_of_its_text() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/data/");
    let text = std::fs::read_to_string(format!("{folder}net.txt")).expect("the text");
    let model = support::model(&text);
    if std::env::var_os("TENFOLD_BLESS").is_some() {
        std::fs::write(format!("{folder}net.onnx"), &model).expect("the file can be written");
    }
    assert!(std::fs::read(format!("{folder}net.onnx")).expect("the model") == model, "data/net.onnx is stale");
}

const W: [[f32; 3]; 4] = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0], [10.0, 11.0, -12.0]];
const B: [f32; 3] = [0.5, -100.0, 2.0];

fn expected(x: [f32; 4]) -> [f32; 5] {
    let h = |j: usize| (0..4).map(|k| x[k] * W[k][j]).sum::<f32>() + B[j];
    [h(0).max(0.0), h(1).max(0.0), h(2).max(0.0), 0.5, 0.5]
}

#[test]
fn a_model_with_a_dim() {
    let x = [[1.0f32, 2.0, 3.0, 4.0], [-1.0, 0.0, 1.0, 0.0], [9.0, 9.0, 9.0, 9.0]];
    let y = models::net(&x).expect("three rows are few enough");
    let all: Vec<f32> = x.iter().flat_map(|row| expected(*row)).collect();
    assert_eq!(y.as_slice(), all);
    assert!(models::net(&[[0.0f32; 4]; 9]).is_err(), "nine rows are too many");
}

#[test]
fn a_model_of_fixed_extents_cannot_fail() {
    let x = [1.0f32, -2.0, 3.0, -4.0];
    assert_eq!(models::row(&[x]).as_slice(), expected(x));
}

#[test]
fn models_are_called_by_others() {
    let x = [[1.0f32, 2.0, 3.0, 4.0], [-1.0, 0.0, 1.0, 0.0]];
    let (y, total) = models::both(&x).expect("two rows are few enough");
    let rows: Vec<f32> = x.iter().flat_map(|row| expected(row.map(|x| x * 2.0))[..3].to_vec()).collect();
    assert_eq!(y.as_slice(), rows);
    assert_eq!(total, expected([1.0, 2.0, 3.0, 4.0]).iter().sum::<f32>());
}
