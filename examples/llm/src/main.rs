//! Goes on with a text.

use llm::{ALPHABET, VOCABULARY, Writer, step, token};
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;
use tenfold::{AlignedBytes, Dyn, Fixed, Safetensors, TensorRef};

const HELP: &str = "\
Writes verses, a character at a time, with a small language model that cargo build compiled.

usage: llm                        go on with a line of its own
       llm TEXT [TEMPERATURE]     go on with this text; 0 is certain, 0.5 the default, 2 wild
       llm --weights FILE TEXT    with other weights of the same shapes
       llm --check                exit status 1 unless the scores are those of NumPy";

const WEIGHTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/weights/llm.safetensors");
const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/reference.safetensors");

/// Characters that are written.
const LENGTH: usize = 300;
/// The largest difference of a score from NumPy's in `f64`, as a part of the largest score: a step sums in `f32`
/// over at most 160 channels, in two layers.
const TOLERANCE: f64 = 1e-5;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => write(WEIGHTS, "The time has come", 0.5),
        ["--check"] => check(),
        ["--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        ["--weights", file, text] => write(file, text, 0.5),
        [text] => write(WEIGHTS, text, 0.5),
        [text, temperature] => match temperature.parse() {
            Ok(temperature) => write(WEIGHTS, text, temperature),
            Err(_) => Err(format!("expected a temperature such as 0.5, found `{temperature}`").into()),
        },
        _ => Err(HELP.into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("llm: {error}");
            ExitCode::FAILURE
        }
    }
}

type Done = Result<(), Box<dyn std::error::Error>>;

/// Goes on with a text.
fn write(weights: &str, text: &str, temperature: f32) -> Done {
    let file = AlignedBytes::read(weights).map_err(|error| format!("`{weights}` cannot be read: {error}"))?;
    // each tensor is compared with the signature and used where it lies in `file`
    let params = step::Params::load(&[Safetensors::new(&file)?])?;
    let mut writer = Writer::new(params);
    for character in if text.is_empty() { "\n" } else { text }.bytes() {
        writer.read(token(character))?;
    }
    let mut out = std::io::stdout().lock();
    // a reader that has seen enough closes the pipe, which is no failure
    let _ = write!(out, "{text}");
    let begin = Instant::now();
    for seed in 0..LENGTH {
        let character = ALPHABET[writer.write(temperature, seed as u64)?];
        let _ = out.write_all(&[character]);
    }
    let each = begin.elapsed().as_secs_f64() / LENGTH as f64;
    let _ = writeln!(
        out,
        "\n\n{:.1} µs per character; {} bytes of code, {} of workspace, nothing allocated",
        each * 1e6,
        step::CODE_BYTES,
        step::WORKSPACE_BYTES
    );
    Ok(())
}

/// Compares the scores after each character of a text with NumPy's.
fn check() -> Done {
    let (weights, reference) = (AlignedBytes::read(WEIGHTS)?, AlignedBytes::read(REFERENCE)?);
    let mut writer = Writer::new(step::Params::load(&[Safetensors::new(&weights)?])?);
    let reference = Safetensors::new(&reference)?;
    let expected: TensorRef<'_, f64, (Dyn, Fixed<VOCABULARY>)> = reference.tensor("scores")?;
    let tokens: TensorRef<'_, i32, (Dyn,)> = reference.tensor("tokens")?;
    let (mut worst, mut size) = (0.0_f64, 0.0_f64);
    for (token, row) in tokens.as_slice().iter().zip(expected.as_slice().chunks(VOCABULARY)) {
        writer.read(usize::try_from(*token)?)?;
        for (found, expected) in writer.scores.iter().zip(row) {
            let apart = (f64::from(*found) - expected).abs();
            worst = if apart.is_nan() { f64::INFINITY } else { worst.max(apart) };
            size = size.max(expected.abs());
        }
    }
    println!("{:.1e} from NumPy at most, over {} characters", worst / size, tokens.shape()[0]);
    if worst <= TOLERANCE * size { Ok(()) } else { Err("the scores are not those of NumPy".into()) }
}
