//! The digits MLP on a Cortex-M4 without a heap: prints the class of each of 20 held-out images.
#![no_std]
#![no_main]

#[path = "../../../examples/cortex-m/src/board.rs"]
mod board;

use core::fmt::Write;
use core::panic::PanicInfo;
use digits::{BATCH, mlp};

/// The held-out images of the example, as stored: an npy file of f32 rows of 64.
static IMAGES: &[u8] = include_bytes!("../../../examples/digits/data/test_images.npy");
/// NumPy pads the header of such a file to this length.
const HEADER: usize = 128;
/// How many images are classified.
const COUNT: usize = 20;

fn image(n: usize) -> [f32; 64] {
    let row = &IMAGES[HEADER + n * 256..][..256];
    core::array::from_fn(|i| {
        f32::from_le_bytes([row[4 * i], row[4 * i + 1], row[4 * i + 2], row[4 * i + 3]])
    })
}

/// The digit with the largest probability.
fn class(row: &[f32; 10]) -> usize {
    (0..10).fold(0, |best, d| if row[d] > row[best] { d } else { best })
}

/// Called by the reset code, which alone knows its name.
#[unsafe(no_mangle)]
extern "C" fn firmware_main() -> ! {
    let images: [[f32; 64]; COUNT] = core::array::from_fn(image);
    let mut rows = [[0.0; 10]; COUNT];
    let mut workspace = mlp::Workspace::new();
    for (x, y) in images.chunks(BATCH).zip(rows.chunks_mut(BATCH)) {
        if let Err(error) = mlp::into(x, y, &mut workspace) {
            let _ = writeln!(board::Console, "{error}");
            board::exit(1);
        }
    }
    for row in &rows {
        let _ = writeln!(board::Console, "{}", class(row));
    }
    board::exit(0)
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    let _ = writeln!(board::Console, "{info}");
    board::exit(101)
}
