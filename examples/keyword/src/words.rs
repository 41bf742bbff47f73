//! A language of four words, made of tones so that no recording is needed. No two are spoken alike: pitch, loudness,
//! speed and noise are drawn.

use crate::{RATE, SCALE};
use model_writer::Random;

/// Samples of a word at its usual speed.
const LENGTH: f32 = 7000.0;

/// How a word's pitch goes while it is spoken, and how loud it is; the time is from 0 to 1.
fn shape(word: usize, time: f32) -> (f32, f32) {
    let swell = (time * std::f32::consts::PI).sin().sqrt();
    match word {
        1 => (1.0 + 1.2 * time, swell),
        2 => (2.2 - 1.2 * time, swell),
        3 => (1.5, if (0.35..0.65).contains(&time) { 0.0 } else { 1.0 }),
        _ => (if (time * 12.0).rem_euclid(2.0) < 1.0 { 1.2 } else { 1.8 }, swell),
    }
}

/// The samples of a word.
pub fn speak(word: usize, random: &mut Random) -> Vec<f32> {
    let pitch = 500.0 + 120.0 * random.uniform();
    let loudness = 0.4 + 0.25 * random.uniform();
    let length = (LENGTH * (1.0 + 0.1 * random.uniform())) as usize;
    let mut phase = 0.0_f32;
    let samples = (0..length).map(|at| {
        let (height, volume) = shape(word, at as f32 / length as f32);
        phase = (phase + pitch * height / RATE as f32).fract();
        let angle = phase * std::f32::consts::TAU;
        // a voice has overtones
        (angle.sin() + 0.5 * (2.0 * angle).sin() + 0.25 * (3.0 * angle).sin()) * volume * loudness
    });
    samples.collect()
}

/// Noise, as behind everything that is heard.
pub fn noise(samples: &mut [f32], random: &mut Random) {
    let loudness = 0.01 + 0.009 * random.uniform();
    samples.iter_mut().for_each(|sample| *sample += loudness * random.uniform());
}

/// The words, with pauses of about half a second around them, and at which sample each ends.
pub fn stream(words: &[usize], random: &mut Random) -> (Vec<f32>, Vec<usize>) {
    let (mut samples, mut ends) = (Vec::new(), Vec::new());
    for word in words {
        let pause = 9000.0 + 3000.0 * random.uniform();
        samples.resize(samples.len() + pause as usize, 0.0);
        samples.extend(speak(*word, random));
        ends.push(samples.len());
    }
    samples.resize(samples.len() + 9000, 0.0);
    noise(&mut samples, random);
    (samples, ends)
}

/// The words as a recording: 16 bits a sample, the lower byte first.
pub fn raw(words: &[usize], random: &mut Random) -> Vec<u8> {
    let (samples, _) = stream(words, random);
    samples.iter().flat_map(|sample| ((sample * SCALE) as i16).to_le_bytes()).collect()
}
