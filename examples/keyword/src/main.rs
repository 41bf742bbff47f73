//! Listens to a made stream of words and says what it hears.

mod reference;

use keyword::{BANDS, CLASSES, HOP, Listener, NAMES, RATE, SPOKEN, hear, log_mel, words};
use model_writer::Random;
use std::process::ExitCode;
use std::time::Instant;

const HELP: &str = "\
Spots words in a stream of audio: rise, fall, echo and trill, which are made of tones.

usage: keyword             listen to a few words
       keyword --check     listen to 200 words, none of which it was trained on; exit status 1 unless it hears
                           nearly all of them and nothing else, and its spectra are those of plain sums
       keyword --raw FILE  write those few words as a recording, 16 bits a sample";

/// How the few words are spoken.
const SEED: u64 = 7;

/// Words of a hundred that may be missed or be heard where none is.
const MISSES: usize = 2;
/// The largest difference of two logarithms of energies.
const TOLERANCE: f64 = 1e-4;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => listen(),
        ["--check"] => return check(),
        ["--raw", file] => return write(file),
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Writes the words that `listen` hears.
fn write(file: &str) -> ExitCode {
    match std::fs::write(file, words::raw(&SPOKEN, &mut Random::new(SEED))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("keyword: cannot write `{file}`: {error}");
            ExitCode::from(2)
        }
    }
}

/// Words heard, each with the sample at which it was.
fn heard(samples: &[f32]) -> Vec<(usize, usize)> {
    let mut listener = Listener::default();
    let (steps, _) = samples.as_chunks::<HOP>();
    let words = steps.iter().enumerate().map(|(number, step)| ((number + 1) * HOP, listener.hear(step)));
    words.filter_map(|(at, word)| Some((at, word?))).collect()
}

fn listen() {
    let (samples, ends) = words::stream(&SPOKEN, &mut Random::new(SEED));
    let begin = Instant::now();
    let heard = heard(&samples);
    let time = begin.elapsed();
    let seconds = |sample: usize| sample as f64 / RATE as f64;
    for (at, word) in &heard {
        println!("{:6.2} s  {}", seconds(*at), NAMES[*word]);
    }
    println!(
        "{} words end at {}",
        ends.len(),
        ends.iter().map(|end| format!("{:.2} s", seconds(*end))).collect::<Vec<_>>().join(", ")
    );
    let each = time.as_secs_f64() / (samples.len() / HOP) as f64;
    println!(
        "{:.1} µs per step of {} ms; {} bytes of code, {} of constants, {} of workspace, nothing allocated",
        each * 1e6,
        1000 * HOP / RATE,
        hear::CODE_BYTES,
        hear::WEIGHT_BYTES,
        hear::WORKSPACE_BYTES,
    );
}

/// A word counts as heard if it is said within a third of a second behind its end, once.
fn check() -> ExitCode {
    let spoken: Vec<usize> = (0..200).map(|at| 1 + (at * 7 / 3) % (CLASSES - 1)).collect();
    let (samples, ends) = words::stream(&spoken, &mut Random::new(99));
    let mut heard = heard(&samples);
    let mut right = 0;
    for (word, end) in spoken.iter().zip(&ends) {
        let is_it = |(at, heard): &(usize, usize)| heard == word && at.abs_diff(*end) < RATE / 3;
        if let Some(place) = heard.iter().position(is_it) {
            heard.remove(place);
            right += 1;
        }
    }
    let distance = spectra_apart(&samples[..50 * HOP]);
    println!(
        "{right} of {} words heard, {} where there is none; spectra {distance:.1e} from plain sums at most",
        spoken.len(),
        heard.len()
    );
    let wrong = spoken.len() - right + heard.len();
    let is_right = 100 * wrong <= MISSES * spoken.len() && distance <= TOLERANCE;
    if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The largest difference between the streaming front end and plain sums.
fn spectra_apart(samples: &[f32]) -> f64 {
    let (mut tail, mut worst) = ([0.0; HOP], 0.0_f64);
    let silence = vec![0.0; HOP];
    let padded = [&silence, samples].concat();
    for (number, step) in samples.as_chunks::<HOP>().0.iter().enumerate() {
        let found: [f32; BANDS] = log_mel(step, &mut tail).into();
        let expected = reference::log_mel(&padded[number * HOP..][..2 * HOP], BANDS);
        let apart = found.iter().zip(expected).map(|(a, b)| (f64::from(*a) - b).abs());
        worst = apart.fold(worst, |most, apart| if apart.is_nan() { f64::INFINITY } else { most.max(apart) });
    }
    worst
}
