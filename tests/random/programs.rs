//! Random programs of the language, from their text on.

use std::cell::RefCell;
use std::collections::BTreeMap;

use tenfold_ir::arith::Sym;
use tenfold_ir::{Function, Module, tir};

use crate::case::Setting;
use crate::data::Random;
use crate::harness::{End, Source, Trial, number, run};
use crate::program::{Signature, Written, statements, write};
use crate::shrink::shortest;

/// Programs, and what the front end refused of them.
#[derive(Default)]
struct Programs {
    refused: RefCell<BTreeMap<String, usize>>,
}

/// Calls of each program.
const CALLS: usize = 3;

fn name(seed: u64) -> String {
    format!("program_{seed}")
}

fn trial(seed: u64, statements: &[u64]) -> Result<(Trial, Written), String> {
    let written = write(&name(seed), seed, statements)?;
    let signature = Signature::of_seed(seed);
    let mut random = Random::new(seed);
    let module = written.module.clone();
    let settings = settings(&module, &signature, &mut random);
    Ok((Trial { name: module.entry.clone(), module, settings }, written))
}

/// What a program is called with: what its facts admit.
pub(crate) fn settings(module: &Module, signature: &Signature, random: &mut Random) -> Vec<Setting> {
    let settings = (0..4 * CALLS).map(|turn| signature.setting(turn, random));
    settings.filter(|setting| admitted(module, setting)).take(CALLS).collect()
}

/// Whether the facts of a function hold, so that it may be called.
fn admitted(module: &Module, setting: &Setting) -> bool {
    let value = |sym: &Sym| setting.syms.iter().find(|(s, _)| s == sym).map(|(_, v)| *v);
    let facts = module.relax(&module.entry).map(|graph| graph.facts.as_slice()).unwrap_or_default();
    facts.iter().all(|decl| decl.fact.eval(&value) == Some(true))
}

impl Source for Programs {
    fn topic(&self) -> &'static str {
        "programs"
    }

    fn trial(&self, seed: u64) -> Result<Trial, String> {
        let (trial, written) = trial(seed, &statements(seed))?;
        for (why, count) in written.refused {
            *self.refused.borrow_mut().entry(why).or_default() += count;
        }
        Ok(trial)
    }

    fn notes(&self) -> String {
        let refused = self.refused.borrow();
        let mut all: Vec<(&usize, &String)> = refused.iter().map(|(why, count)| (count, why)).collect();
        all.sort_by(|a, b| b.cmp(a));
        let total: usize = refused.values().sum();
        let lines: Vec<String> = all.iter().take(24).map(|(count, why)| format!("{count:>6} {why}")).collect();
        format!("{total} statements were refused\n{}", lines.join("\n"))
    }

    fn smallest(&self, seed: u64, fails: &mut dyn FnMut(&Trial) -> bool) -> String {
        let mut holds = |statements: &[u64]| trial(seed, statements).is_ok_and(|(trial, _)| fails(&trial));
        let least = shortest(statements(seed), &mut holds);
        holds(&least);
        trial(seed, &least).map(|(_, written)| written.text).unwrap_or_default()
    }
}

#[test]
fn random_programs_at_every_level() {
    run(&Programs::default());
}

/// The first access of a program that is not proven by what its loops say alone, as `VerifyBounds` reads them.
fn unproven(seed: u64, statements: &[u64]) -> Option<(String, String)> {
    let written = write(&name(seed), seed, statements).ok()?;
    let of = |function: &Function| match function {
        // Of what may wrap the user has to say more.
        Function::Prim(func) => tir::unproven(func).into_iter().find(|it| !it.may_wrap).map(|it| it.text),
        Function::Relax(_) => None,
    };
    let error = written.module.functions.values().find_map(of)?;
    Some((error, written.text))
}

/// Without passes and back ends, which take nearly all of the time: many more programs than the test above.
#[test]
fn what_the_front_end_proves_is_proven_again() {
    let first = number("TENFOLD_RANDOM_FROM", 0);
    let (end, mut seed) = (End::new(first), first);
    while !end.reached(seed) {
        if unproven(seed, &statements(seed)).is_some() {
            let least = shortest(statements(seed), |part: &[u64]| unproven(seed, part).is_some());
            let (error, text) = unproven(seed, &least).unwrap_or_default();
            panic!("case {seed}: {error}\n{text}");
        }
        seed += 1;
    }
    println!("{} programs, from {first} up to {seed}: every access is proven again", seed - first);
}
