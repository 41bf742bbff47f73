//! Says how near sentences are to each other, and that both encoders say the same.

use minilm::{D, LONGEST, WORDS, encode, imported};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const HELP: &str = "\
Compares sentences with an encoder written in the language of Tenfold and with its twin imported from ONNX.

usage: minilm                compare a few sentences
       minilm TEXT TEXT ...  compare these
       minilm --check        exit status 1 unless both encoders give the same vectors";

const SENTENCES: [&str; 4] = [
    "the cat sits on the mat",
    "a cat sits on a mat",
    "compilers turn programs into code",
    "the compiler turned a program into machine code",
];

/// The largest difference of two numbers of a vector of length 1: both encoders round, each in its own order.
const TOLERANCE: f32 = 1e-6;

type Vector = [f32; D];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => report(&SENTENCES),
        ["--check"] => return check(),
        ["--help" | "-h"] => println!("{HELP}"),
        ref texts => report(texts),
    }
    ExitCode::SUCCESS
}

/// The numbers of a text's words. A real vocabulary is a list; here a word's letters give its number.
fn words(text: &str) -> Vec<i32> {
    let number = |word: &str| word.bytes().fold(7_u32, |hash, byte| hash.wrapping_mul(31) ^ u32::from(byte));
    let numbers = text.split_whitespace().take(LONGEST).map(|word| (number(word) as usize % WORDS) as i32);
    let numbers: Vec<i32> = numbers.collect();
    // an empty text is one word
    if numbers.is_empty() { vec![0] } else { numbers }
}

/// The vectors of both encoders.
fn both(words: &[i32]) -> [Vector; 2] {
    let mut vectors = [[0.0; D]; 2];
    encode::into(words, &mut vectors[0], &mut Box::new(encode::Workspace::new())).expect("there are 1 to 32 words");
    imported::into(words, &mut vectors[1], &mut Box::new(imported::Workspace::new())).expect("there are 1 to 32 words");
    vectors
}

fn report(texts: &[&str]) {
    let vectors: Vec<Vector> = texts.iter().map(|text| both(&words(text))[0]).collect();
    for (text, a) in texts.iter().zip(&vectors) {
        let row: String = vectors.iter().map(|b| format!("{:6.2}", dot(a, b))).collect();
        println!("{row}  {text}");
    }
    let words = words(SENTENCES[3]);
    let (mut vector, mut first, mut second) =
        ([0.0; D], Box::new(encode::Workspace::new()), Box::new(imported::Workspace::new()));
    let ours = fastest(|| encode::into(&words, &mut vector, &mut first).expect("there are 1 to 32 words"));
    let theirs = fastest(|| imported::into(&words, &mut vector, &mut second).expect("there are 1 to 32 words"));
    println!(
        "{} words: {:.3} ms, imported {:.3} ms; {} and {} bytes of code, {} of weights each",
        words.len(),
        ours.as_secs_f64() * 1e3,
        theirs.as_secs_f64() * 1e3,
        encode::CODE_BYTES,
        imported::CODE_BYTES,
        encode::WEIGHT_BYTES,
    );
}

/// Sentences of every length.
fn check() -> ExitCode {
    let mut worst = 0.0_f32;
    for length in 1..=LONGEST {
        let words: Vec<i32> = (0..length).map(|at| ((at * at * 7 + length * 13) % WORDS) as i32).collect();
        let [a, b] = both(&words);
        let apart = a.iter().zip(&b).map(|(a, b)| if a.is_nan() { f32::INFINITY } else { (a - b).abs() });
        worst = apart.fold(worst, f32::max);
    }
    println!("{worst:.1e} between the encoders at most, over {LONGEST} sentences");
    if worst <= TOLERANCE { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn dot(a: &Vector, b: &Vector) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The shortest of several runs; the others met something else on the machine.
fn fastest(mut run: impl FnMut()) -> Duration {
    let runs = (0..20).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    runs.min().unwrap_or_default()
}
