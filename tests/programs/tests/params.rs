//! Weights that a program reads when it runs.

use tenfold::{AlignedBytes, Safetensors};
use tenfold_programs::weights::{loaded, running, scaled, split};

fn read(name: &str) -> AlignedBytes {
    let path = format!("{}/data/split/{name}.safetensors", env!("CARGO_MANIFEST_DIR"));
    AlignedBytes::read(&path).unwrap_or_else(|e| panic!("{path}: {e}"))
}

const X: [[f32; 4]; 2] = [[1.0, -2.0, 0.5, 3.0], [0.0, 1.0, 1.0, -1.0]];

#[test]
fn weights_of_several_files_are_those_that_are_linked() {
    let files = ["model-00002-of-00002", "rest", "model-00001-of-00002"].map(read);
    let files = files.each_ref().map(|bytes| Safetensors::new(bytes).expect("a good file"));
    let params = loaded::Params::load(&files).expect("everything is there");
    assert_eq!(loaded::Params::TENSORS, ["a", "b", "c", "layer/scale"]);
    let expected = split(&X).expect("the dims agree");
    assert_eq!(params.call(&X).expect("the dims agree"), expected);
    let (mut y, mut workspace) = ([[0.0; 3]; 2], tenfold::DynWorkspace::default());
    workspace.grow(loaded::workspace_bytes(8, 2)).expect("there is memory");
    params.call_into(&X, &mut y, &mut workspace).expect("the dims agree");
    assert_eq!(expected, y);
}

/// Two functions name one tensor by two files and two names: it is linked from one archive.
#[test]
fn a_tensor_is_linked_once() {
    let index = std::fs::read_to_string(concat!(env!("OUT_DIR"), "/tenfold/index")).expect("the build wrote it");
    let archives = |function: &str| -> Vec<&str> {
        let (_, entry) = index.split_once(&format!("\nfn {function}\n")).expect("it is there");
        let entry = entry.split("\nfn ").next().unwrap_or_default();
        entry.lines().filter_map(|line| line.strip_prefix("archive tenfold_w_")).collect()
    };
    let (split, first) = (archives("split"), archives("first"));
    assert_eq!((split.len(), first.len()), (4, 1));
    assert!(split.contains(&first[0]), "{first:?} is none of {split:?}");
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let files = ["model-00001-of-00002", "model-00002-of-00002"].map(read);
    let files = files.each_ref().map(|bytes| Safetensors::new(bytes).expect("a good file"));
    let error = loaded::Params::load(&files[1..]).expect_err("`a` is not there");
    assert_eq!(error.to_string(), "no file holds a tensor `a`");
    let error = loaded::Params::load(&files).expect_err("`a` lies at an odd place");
    let text = "`a`: the memory is not aligned for the elements, or not a whole number of them";
    assert_eq!(error.to_string(), text);
    let error = running::Params::load(&files).expect_err("`gain` is not there");
    assert_eq!(error.to_string(), "no file holds a tensor `gain`");
    let header = r#"{"gain":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}     "#;
    let file = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[0; 16]].concat();
    let file = AlignedBytes::from(&file[..]);
    let error = running::Params::load(&[Safetensors::new(&file).expect("a good file")]).expect_err("it is too long");
    assert_eq!(error.to_string(), "`gain`: axis 0 is 4, but the signature says 3");
}

#[test]
fn weights_of_an_instance() {
    let header = r#"{"gain":{"dtype":"I8","shape":[2],"data_offsets":[0,2]}}"#;
    let file = [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &[3, 0xfe]].concat();
    let file = AlignedBytes::from(&file[..]);
    let file = [Safetensors::new(&file).expect("a good file")];
    let params = scaled::of_i8::Params::load(&file).expect("it is there");
    assert_eq!(params.call(&[5_i8, 6]), [15, -12]);
    let error = scaled::of_f32::Params::load(&file).expect_err("it is of bytes");
    assert_eq!(error.to_string(), "`gain`: the elements are `i8`, but the signature says `f32`");
}

#[test]
fn weights_of_the_programs_own() {
    let gain = [1.0, 2.0, 3.0];
    let shape = (tenfold::Fixed::<3>,);
    let params = running::Params { gain: tenfold::view(&gain, shape).expect("three elements") };
    let mut total = [0.0; 3];
    assert_eq!(params.call(&[1.0, 1.0, 1.0], 2.0, &mut total), [2.0, 4.0, 6.0]);
    let mut y = [0.0; 3];
    params.call_into(&[1.0, 0.0, 1.0], 0.5, &mut total, &mut y, &mut running::Workspace::new());
    assert_eq!((y, total), ([2.5, 4.0, 7.5], [2.5, 4.0, 7.5]));
}
