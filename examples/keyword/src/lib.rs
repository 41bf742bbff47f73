//! Spots words in a stream of audio: 16 milliseconds in, a probability for each word out, for ever.
//!
//! What a step leaves for the next is a parameter, `&mut Tensor`: there is no hidden state and nothing is allocated. The
//! listener needs neither std nor a heap, so the same source runs in the program beside it and in a microcontroller's
//! firmware.
#![cfg_attr(not(feature = "std"), no_std)]

mod kernels;
#[cfg(feature = "std")]
pub mod words;

pub use kernels::{classify, features, hear, log_mel};

/// Samples per second.
pub const RATE: usize = 16_000;
/// Samples that a step takes.
pub const HOP: usize = 256;
/// Bands of a spectrum.
pub const BANDS: usize = 24;
/// Steps that the network sees: half a second.
pub const FRAMES: usize = 32;
/// What it tells apart: nothing, and four words.
pub const CLASSES: usize = 5;
/// What the classes are called; the first is nothing.
pub const NAMES: [&str; CLASSES] = ["(nothing)", "rise", "fall", "echo", "trill"];
/// The words that are said to the program and to firmware.
pub const SPOKEN: [usize; 6] = [1, 3, 2, 4, 4, 1];
/// What 1 is as a sample of 16 bits.
pub const SCALE: f32 = 16_384.0;

/// A listener: the state of the functions, and what it has heard lately.
pub struct Listener {
    tail: [f32; HOP],
    spectra: [[f32; BANDS]; FRAMES],
    workspace: hear::Workspace,
    /// The word that was likely in the last steps, and in how many.
    candidate: (usize, u32),
}

/// The least probability of a word that is heard, and the steps for which it must hold.
const LIKELY: f32 = 0.8;
const STEPS: u32 = 3;

impl Default for Listener {
    fn default() -> Self {
        Self {
            tail: [0.0; HOP],
            spectra: [[SILENCE; BANDS]; FRAMES],
            workspace: hear::Workspace::new(),
            candidate: (0, 0),
        }
    }
}

/// The logarithm of no energy at all, as `log_mel` gives it.
const SILENCE: f32 = -13.815_511;

impl Listener {
    /// Takes the next samples; the word that ends here, if one does.
    pub fn hear(&mut self, samples: &[f32; HOP]) -> Option<usize> {
        let mut probabilities = [0.0; CLASSES];
        hear::into(samples, &mut self.tail, &mut self.spectra, &mut probabilities, &mut self.workspace);
        let likely = (1..CLASSES).find(|word| probabilities[*word] > LIKELY).unwrap_or(0);
        self.candidate = if likely == self.candidate.0 { (likely, self.candidate.1 + 1) } else { (likely, 1) };
        (likely != 0 && self.candidate.1 == STEPS).then_some(likely)
    }
}
