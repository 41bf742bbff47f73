//! Random programs of the language, from their text on.

use tenfold_ir::arith::Sym;
use tenfold_ir::{DType, Module};
use tenfold_syntax::elaborate::{ItemAlone, elaborate};
use tenfold_syntax::{parse_text, render::render};

use crate::case::{Case, Given};
use crate::data::{Random, ordinary};
use crate::harness::{Source, run};
use crate::program::Program;
use crate::shrink::shortest;

struct Programs;

fn name(seed: u64) -> String {
    format!("program_{seed}")
}

/// The module of a text; the front end must take it.
fn module(text: &str) -> Module {
    let parsed = parse_text(text);
    let mut diagnostics = parsed.diagnostics.clone();
    let done = parsed.function.as_ref().map(|function| elaborate(function, &ItemAlone));
    let module = done.and_then(|done| {
        diagnostics.extend(done.diagnostics);
        done.module
    });
    module.unwrap_or_else(|| panic!("{text}\n{}", render(text, &parsed.spans, &diagnostics)))
}

fn case(seed: u64, program: &Program) -> Case {
    let mut random = Random::new(seed);
    let (n, m) = (1 + random.below(5), 1 + random.below(5));
    let mut given =
        |dtype: DType, count: usize| Given { cells: ordinary(dtype, count, random.bits()), strides: vec![] };
    let given = vec![
        given(DType::F32, n * m),
        given(DType::F32, n * m),
        given(DType::F32, m),
        given(DType::I32, n),
        given(DType::F32, 1),
    ];
    let syms = vec![(Sym::new("N"), n as i64), (Sym::new("M"), m as i64)];
    let module = module(&program.text(&name(seed)));
    Case { name: module.entry.clone(), module, syms, given, wanted: Vec::new() }
}

impl Source for Programs {
    fn topic(&self) -> &'static str {
        "programs"
    }

    fn case(&self, seed: u64) -> Option<Case> {
        Some(case(seed, &Program::of(seed)))
    }

    fn smallest(&self, seed: u64, fails: &mut dyn FnMut(Case) -> Option<String>) -> String {
        let lets = shortest(Program::of(seed).lets, |lets| {
            let program = Program { lets: lets.to_vec() };
            fails(case(seed, &program)).is_some()
        });
        let program = Program { lets };
        fails(case(seed, &program));
        program.text(&name(seed))
    }
}

#[test]
fn random_programs_at_every_level() {
    run(&Programs);
}
