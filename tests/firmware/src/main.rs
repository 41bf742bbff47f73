//! The digits MLP on a Cortex-M4 without a heap: prints the class of each of 20 held-out images.
#![no_std]
#![no_main]

mod board;

use core::fmt::Write;

/// The held-out images of the example, as stored: an npy file of f32 rows of 64.
static IMAGES: &[u8] = include_bytes!("../../../examples/digits/data/test_images.npy");
/// Their digits, an npy file of u8.
static LABELS: &[u8] = include_bytes!("../../../examples/digits/data/test_labels.npy");
/// The header of both files ends here.
const HEADER: usize = 128;

/// How many images are classified.
const COUNT: usize = 20;

fn image(n: usize) -> [f32; 64] {
    let row = &IMAGES[HEADER + n * 256..][..256];
    core::array::from_fn(|i| {
        f32::from_le_bytes([row[4 * i], row[4 * i + 1], row[4 * i + 2], row[4 * i + 3]])
    })
}

/// Called by the reset code, which alone knows its name.
#[unsafe(no_mangle)]
extern "C" fn firmware_main() -> ! {
    for n in 0..COUNT {
        let _ = writeln!(
            board::Console,
            "{} {}",
            image(n).iter().sum::<f32>(),
            LABELS[HEADER + n]
        );
    }
    board::exit(0)
}
