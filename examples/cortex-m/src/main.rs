//! Spots words on a Cortex-M4 without an operating system, a heap or std: the listener of the `keyword` example, which
//! takes 16 milliseconds of audio at a time. It prints what it hears; the simulator's exit status is 0 if that was said.
#![no_std]
#![no_main]

mod board;

use board::Console;
use core::fmt::Write;
use core::panic::PanicInfo;
use keyword::{HOP, Listener, NAMES, RATE, SPOKEN, hear};

/// What a microphone would give, 16 bits a sample: `build.rs` speaks the words.
static SAMPLES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/words.raw"));

/// The samples of a step.
fn step(bytes: &[[u8; 2]; HOP]) -> [f32; HOP] {
    bytes.map(|sample| f32::from(i16::from_le_bytes(sample)) / keyword::SCALE)
}

/// Called by the reset code, which alone knows its name.
#[unsafe(no_mangle)]
extern "C" fn firmware_main() -> ! {
    let mut listener = Listener::default();
    let (mut right, mut heard) = (0, 0);
    for (number, bytes) in SAMPLES.as_chunks::<2>().0.as_chunks::<HOP>().0.iter().enumerate() {
        let Some(word) = listener.hear(&step(bytes)) else { continue };
        let hundredths = (number + 1) * HOP * 100 / RATE;
        let _ = writeln!(Console, "{:3}.{:02} s  {}", hundredths / 100, hundredths % 100, NAMES[word]);
        right += usize::from(SPOKEN.get(heard) == Some(&word));
        heard += 1;
    }
    let _ = writeln!(
        Console,
        "{right} of {} words heard; {} bytes of code, {} of constants, {} of state and workspace, nothing allocated",
        SPOKEN.len(),
        hear::CODE_BYTES,
        hear::WEIGHT_BYTES,
        size_of::<Listener>(),
    );
    board::exit(u32::from(right < SPOKEN.len() || heard > SPOKEN.len()))
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    let _ = writeln!(Console, "{info}");
    board::exit(101)
}
