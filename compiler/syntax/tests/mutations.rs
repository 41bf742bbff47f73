//! Programs with tokens exchanged: an answer without a panic, and a module only if it obeys the laws of both IRs.

#[path = "support/elaborated.rs"]
mod elaborated;

use tenfold_ir::{Function, relax, tir};

/// A small generator of random numbers, the same on every machine.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n
    }
}

const WORDS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "-1",
    "0.5",
    "i",
    "j",
    "u",
    "v",
    "n",
    "k",
    "x",
    "y",
    "N",
    "H",
    "K",
    "+",
    "-",
    "*",
    "/",
    "%",
    "<",
    "==",
    "&&",
    "||",
    "sum",
    "max",
    "argmax",
    "mean",
    "relu",
    "exp",
    "f32",
    "i32",
    "u8",
    "as",
    "..",
    "axis",
    "minimum",
    "get_clamped",
    "get_or",
    "if",
    "compute",
    "fold",
    "scan",
    "reshape",
    "concat",
    "mut",
    "[",
    "]",
    "(",
    ")",
    "|",
];

/// Words and signs of a text, with what stands between them.
fn tokens(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for c in text.chars() {
        let joins = |t: &String| t.chars().all(|p| p.is_alphanumeric() || p == '_');
        match all.last_mut() {
            Some(last) if (c.is_alphanumeric() || c == '_') && joins(last) => last.push(c),
            _ => all.push(c.to_string()),
        }
    }
    all
}

fn mutated(rng: &mut Rng, text: &str) -> String {
    let mut all = tokens(text);
    let places: Vec<usize> = (0..all.len()).filter(|i| !all[*i].trim().is_empty()).collect();
    for _ in 0..=rng.below(2) {
        let at = places[rng.below(places.len())];
        let other = places[rng.below(places.len())];
        match rng.below(4) {
            0 => all[at] = all[other].clone(),
            1 => all.swap(at, other),
            _ => all[at] = WORDS[rng.below(WORDS.len())].to_string(),
        }
    }
    all.concat()
}

fn laws(text: &str) {
    let (_, done) = elaborated::elaborated(text);
    let Some(module) = done.and_then(|d| d.module) else { return };
    for function in module.functions.values() {
        let broken = match function {
            Function::Relax(f) => relax::verify(&module, f),
            Function::Prim(f) => {
                let mut broken = tir::verify(&module, f);
                broken.extend(tir::verify_bounds(f));
                broken
            }
        };
        assert!(broken.is_empty(), "{text}\n{broken:#?}");
    }
}

#[test]
fn programs_with_other_tokens() {
    let rounds: usize = std::env::var("TENFOLD_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(10);
    let files = [include_str!("data/modules.txt"), include_str!("data/semantics.txt")];
    let mut sources: Vec<String> = Vec::new();
    for file in files {
        for case in file.split("=== ").skip(1) {
            if let Some((source, _)) = case.split_once('\n').and_then(|(_, rest)| rest.split_once("---\n")) {
                sources.push(source.to_string());
            }
        }
    }
    let programs = include_str!("../../../tests/programs/src/reference.rs");
    for (at, _) in programs.match_indices("#[tensor_fn") {
        let rest = &programs[at..];
        sources.push(rest[..rest.find("\n}\n").map_or(rest.len(), |end| end + 3)].to_string());
    }
    let mut rng = Rng(0x9e37_79b9_7f4a_7c15);
    for source in &sources {
        if source.contains("30000") {
            continue;
        }
        for _ in 0..rounds {
            laws(&mutated(&mut rng, source));
        }
    }
}
