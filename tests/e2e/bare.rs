//! A program without the standard library, without a heap and without Rust's start: what would allocate does not link.

use crate::package::{BUILD_SCRIPT, Package, checkout, manifest};

/// Lengths that data decides, in the language and in a model, and a model whose weights are read when it runs.
const LIBRARY: &str = r#"//! Nothing allocates.
#![no_std]
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs)]
use tenfold::prelude::*;
use tenfold::{Aligned, Safetensors};

/// The elements other than 0, and how many there are.
#[tensor_fn(dims(N <= 8))]
pub fn kept(x: Tensor<f32, N>) -> (Tensor<f32, N>, i64) {
    let (places, count) = nonzero(x);
    let mut y = zeros::<f32>([N]);
    y[[0..count]] = take(x, places[[0, 0..count]]);
    (y, count)
}

/// Places and values that data chooses, with a length for each.
#[tensor_fn(onnx = "chosen.onnx", dims(B <= 8))]
pub fn chosen(x: Tensor<f32, B, 3>) -> (Tensor<i64, 2, { 3 * B }>, i64, Tensor<f32, { 3 * B }>, i64, f32);

/// A model with two of its initialisers as parameters.
#[tensor_fn(onnx = "net.onnx", params(w, bias = "b"), dims(N <= 8))]
pub fn net(w: Tensor<f32, 4, 3>, x: Tensor<f32, N, 4>, bias: Tensor<f32, 3>) -> Tensor<f32, N, 5>;

const FILE: &[u8; 188] = include_bytes!("../net.safetensors");
static WEIGHTS: Aligned<[u8; 188]> = Aligned(*FILE);

/// What the tensor functions give.
#[derive(Debug, PartialEq)]
pub struct Results {
    /// Of `kept`, for five elements and for none.
    pub kept: ([f32; 5], i64, i64),
    /// Of `chosen`.
    pub chosen: ([[i64; 6]; 2], i64, [f32; 6], i64, f32),
    /// Of `net`.
    pub net: [[f32; 5]; 2],
}

/// Calls all of them.
///
/// # Errors
///
/// An extent or a weight that does not fit.
pub fn results() -> Result<Results, tenfold::Error> {
    let mut kept_of = ([9.0; 5], 9, 9);
    let mut workspace = kept::Workspace::new();
    kept::into(&[0.0, 3.0, 0.0, -1.0, 2.0], &mut kept_of.0, &mut kept_of.1, &mut workspace)?;
    kept::into(&[0.0; 0], &mut [0.0; 0], &mut kept_of.2, &mut workspace)?;
    let mut of_data = ([[9; 6]; 2], 9, [9.0; 6], 9, 9.0);
    let (places, found, values, length, total) = &mut of_data;
    let x = [[1.0, 0.0, 2.0], [-1.0, 0.0, 4.0]];
    chosen::into(&x, places, found, values, length, total, &mut chosen::Workspace::new())?;
    let params = net::Params::load(&[Safetensors::new(&WEIGHTS.0)?])?;
    let mut y = [[9.0; 5]; 2];
    params.call_into(&[[1.0, -2.0, 3.0, -4.0], [0.5; 4]], &mut y, &mut net::Workspace::new())?;
    Ok(Results { kept: kept_of, chosen: of_data, net: y })
}
"#;

/// Returns 0 if all is as expected.
const PROGRAM: &str = r#"#![no_std]
#![no_main]
use e2e_bare::{Results, results};

// What starts a C program, and ends it.
#[link(name = "c")]
unsafe extern "C" {
    safe fn abort() -> !;
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    abort()
}

/// Never called where a panic ends the program; the `core` that comes with rustc is built to unwind.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    let expected = Results {
        kept: ([3.0, -1.0, 2.0, 0.0, 0.0], 3, 0),
        chosen: ([[0, 0, 1, 0, 0, 0], [0, 2, 2, 0, 0, 0]], 3, [2.0, 3.0, 5.0, 0.0, 0.0, 0.0], 3, 10.0),
        net: [[0.0, 0.0, 136.0, 0.5, 0.5], [23.0, 0.0, 10.0, 0.5, 0.5]],
    };
    match results() {
        Ok(found) if found == expected => 0,
        Ok(_) => 1,
        Err(_) => 2,
    }
}
"#;

/// The weights of `net`: twice those in the model.
fn weights() -> Vec<u8> {
    let header = concat!(
        r#"{"b":{"dtype":"F32","shape":[3],"data_offsets":[0,12]},"#,
        r#""w":{"dtype":"F32","shape":[4,3],"data_offsets":[12,60]}}"#
    );
    let header = format!("{header:<120}");
    let b = [0.5f32, -100.0, 2.0];
    let w = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, -12.0];
    let numbers = b.into_iter().chain(w).flat_map(|n| (n * 2.0).to_le_bytes());
    (header.len() as u64).to_le_bytes().into_iter().chain(header.bytes()).chain(numbers).collect()
}

#[test]
fn lengths_and_weights_that_are_read_need_no_heap() {
    let package = Package::bare("e2e-bare");
    let std = format!("path = \"{}/runtime\", features = [\"std\"]", checkout().display());
    let bare = std.replace("features = [\"std\"]", "default-features = false");
    let text = manifest("e2e-bare", "2024").replace(&std, &bare);
    assert!(text.contains(&bare), "{text}");
    let profile =
        "\n[profile.dev]\npanic = \"abort\"\n\n[lib]\ntest = false\n\n[[bin]]\nname = \"e2e-bare\"\ntest = false\n";
    package.write("Cargo.toml", &format!("{text}{profile}"));
    package.write("build.rs", BUILD_SCRIPT);
    package.write("src/lib.rs", LIBRARY);
    package.write("src/main.rs", PROGRAM);
    for model in ["net.onnx", "chosen.onnx"] {
        let from = checkout().join("tests/programs/data").join(model);
        std::fs::copy(from, package.directory.join(model)).expect("the model can be copied");
    }
    std::fs::write(package.directory.join("net.safetensors"), weights()).expect("the weights can be written");
    package.cargo(&["run"]).ok();
}
