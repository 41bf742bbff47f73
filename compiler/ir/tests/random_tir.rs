//! Random modules of tir print, parse, verify and hash.

use std::collections::BTreeSet;

use tenfold_ir::tir::{self, random};
use tenfold_ir::{module_text, parse_module};

/// How many modules; more by `TENFOLD_RANDOM`.
fn count() -> u64 {
    std::env::var("TENFOLD_RANDOM").ok().and_then(|n| n.parse().ok()).unwrap_or(10_000)
}

#[test]
fn what_prints_reads_back() {
    let mut kinds = BTreeSet::new();
    for seed in 0..count() {
        let module = random::module(seed);
        let (text, sidecar) = module_text(&module);
        let again = parse_module(&text, &sidecar).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
        assert_eq!(module_text(&again).0, text, "seed {seed}");
        let (old, new) = (module.prim("f").expect("it is there"), again.prim("f").expect("it is there"));
        for id in old.exprs_in(&old.body) {
            kinds.insert(random::kind(old.exprs.get(id)));
        }
        if seed % 16 == 0 {
            let errors = tir::verify(&again, new);
            assert!(errors.is_empty(), "seed {seed}: {errors:?}\n{text}");
            assert!(tir::structurally_equal((&module, old), (&again, new)), "seed {seed}");
            assert_eq!(tir::structural_hash(&module, old), tir::structural_hash(&again, new), "seed {seed}");
        }
    }
    assert_eq!(kinds.len(), 14, "{kinds:?}");
}

#[test]
fn the_same_seed_gives_the_same_module() {
    for seed in [0, 1, u64::MAX] {
        assert_eq!(module_text(&random::module(seed)), module_text(&random::module(seed)));
    }
}

/// Texts that are cut or mixed up are refused or read, never a panic.
#[test]
fn broken_texts_do_not_panic() {
    for seed in 0..300 {
        let (text, sidecar) = module_text(&random::module(seed));
        let mut rng = random::Rng::new(seed);
        for _ in 0..8 {
            let mut chars: Vec<char> = text.chars().collect();
            let at = rng.below(chars.len());
            match rng.below(3) {
                0 => chars.truncate(at),
                1 => drop(chars.remove(at)),
                _ => chars[at] = rng.of(&['(', '}', '"', '-', '%', '\n', '9', '@']),
            }
            let broken: String = chars.into_iter().collect();
            if let Ok(module) = parse_module(&broken, &sidecar) {
                for function in module.functions.values() {
                    if let tenfold_ir::Function::Prim(func) = function {
                        let _ = tir::verify(&module, func);
                    }
                }
            }
        }
    }
}
