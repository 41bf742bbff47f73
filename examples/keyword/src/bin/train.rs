//! Finds the weights: `cargo run --release -p keyword --bin train` writes `weights/keyword.safetensors`.
//!
//! The step of training is a tensor function too. Its gradients are written out, and the weights are its state.

use keyword::{BANDS, CLASSES, FRAMES, HOP, features, log_mel, words};
use model_writer::{Random, safetensors};
use tenfold::prelude::*;

/// A step of gradient descent on a batch; the mean loss before it.
#[tensor_fn(dims(B = 64))]
fn step(
    x: Tensor<f32, B, 192>,
    label: Tensor<i32, B>,
    rate: f32,
    w1: &mut Tensor<f32, 192, 32>,
    b1: &mut Tensor<f32, 32>,
    w2: &mut Tensor<f32, 32, 5>,
    b2: &mut Tensor<f32, 5>,
) -> f32 {
    let hidden = relu(matmul(x, w1) + b1);
    let p = softmax(matmul(hidden, w2) + b2, axis = -1);
    let right: Tensor<f32, B, 5> = compute(|b, c| (label[[b]] == c as i32) as f32);
    let loss = -mean(sum(right * log(p + 1e-9), axis = 1));
    // the loss by the outputs of each layer, then by its weights
    let d2 = (p - right) / (B as f32);
    let d1 = matmul(d2, transpose(w2)) * ((hidden > 0.0) as f32);
    w2[[.., ..]] = w2 - rate * matmul(transpose(hidden), d2);
    b2[[..]] = b2 - rate * sum(d2, axis = 0);
    w1[[.., ..]] = w1 - rate * matmul(transpose(x), d1);
    b1[[..]] = b1 - rate * sum(d1, axis = 0);
    loss
}

const BATCH: usize = 64;
const STEPS: usize = 6000;
const HIDDEN: usize = 32;
const INPUTS: usize = 192;

/// What the network sees, and what it should say.
type Example = ([f32; INPUTS], i32);

fn main() -> std::io::Result<()> {
    let mut random = Random::new(1);
    let examples = listen(&mut random);
    let mut w1 = grid::<INPUTS, HIDDEN>(&mut random, 0.1);
    let mut w2 = grid::<HIDDEN, CLASSES>(&mut random, 0.2);
    let (mut b1, mut b2) = ([0.0; HIDDEN], [0.0; CLASSES]);
    let (mut total, mut workspace) = (0.0, Box::new(step::Workspace::new()));
    for number in 0..STEPS {
        let batch: [Example; BATCH] = std::array::from_fn(|_| {
            examples[(random.uniform().abs() * examples.len() as f32) as usize % examples.len()]
        });
        let (x, labels) = (batch.map(|example| example.0), batch.map(|example| example.1));
        let rate = 0.2 * (1.0 - number as f32 / STEPS as f32);
        let mut loss = 0.0;
        step::into(&x, &labels, rate, &mut w1, &mut b1, &mut w2, &mut b2, &mut loss, &mut workspace);
        total += loss;
        if number % 1000 == 999 {
            println!("step {}: loss {:.4}", number + 1, total / 1000.0);
            total = 0.0;
        }
    }
    let file = safetensors::file(&[
        ("w1", vec![INPUTS, HIDDEN], w1.concat()),
        ("b1", vec![HIDDEN], b1.to_vec()),
        ("w2", vec![HIDDEN, CLASSES], w2.concat()),
        ("b2", vec![CLASSES], b2.to_vec()),
    ]);
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/weights/keyword.safetensors"), file)
}

fn grid<const N: usize, const M: usize>(random: &mut Random, scale: f32) -> [[f32; M]; N] {
    std::array::from_fn(|_| std::array::from_fn(|_| random.uniform() * scale))
}

/// Examples from a long stream: every step of it, with the word that has just ended.
fn listen(random: &mut Random) -> Vec<Example> {
    let spoken: Vec<usize> = (0..400).map(|at| 1 + at % (CLASSES - 1)).collect();
    let (samples, ends) = words::stream(&spoken, random);
    let (mut tail, mut spectra) = ([0.0; HOP], [[0.0; BANDS]; FRAMES]);
    let mut examples = Vec::new();
    for (number, samples) in samples.as_chunks::<HOP>().0.iter().enumerate() {
        spectra.rotate_left(1);
        spectra[FRAMES - 1] = log_mel(samples, &mut tail).into();
        let now = (number + 1) * HOP;
        // heard from the end of the word on; the step at which it ends is left open
        let word = ends.iter().zip(&spoken).find(|(end, _)| (now.saturating_sub(8 * HOP)..now).contains(end));
        let is_near = ends.iter().any(|end| end.abs_diff(now.saturating_sub(4 * HOP)) < 8 * HOP);
        if number < FRAMES || (word.is_none() && is_near) {
            continue;
        }
        examples.push((features(&spectra).into(), word.map_or(0, |(_, word)| *word as i32)));
    }
    examples
}
