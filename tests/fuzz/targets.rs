//! Parsers that are fuzzed: each takes any bytes and must neither panic nor hang nor allocate without bound.

use tenfold_ir::{Function, Module, arith, relax, tir};

/// A target by name.
pub(crate) type Target = (&'static str, fn(&[u8]));

/// What reads texts.
pub(crate) const TARGETS: &[Target] =
    &[("syntax", syntax), ("relax", relax_text), ("tir", tir_text), ("arith", arith_text)];

/// `#[tensor_fn]`: parse, hash, elaborate; what comes out obeys the laws.
fn syntax(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let parsed = tenfold_syntax::parse_text(text);
    parsed.diagnostics.iter().for_each(|d| {
        parsed.spans.bytes(d.node);
    });
    tenfold_syntax::render::render(text, &parsed.spans, &parsed.diagnostics);
    let Some(function) = &parsed.function else { return };
    tenfold_syntax::fingerprint(function);
    let done = tenfold_syntax::elaborate::elaborate(function, &tenfold_syntax::elaborate::ItemAlone);
    if let Some(module) = done.module {
        for function in module.functions.values() {
            let broken = match function {
                Function::Relax(f) => relax::verify(&module, f),
                Function::Prim(f) => tir::verify(&module, f),
            };
            assert!(broken.is_empty(), "{broken:#?}");
        }
    }
}

/// The text of relax: what is read is verified, and prints to what reads back as the same.
fn relax_text(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(function) = relax::parse_function(text) else { return };
    relax::verify(&Module::default(), &function);
    let printed = relax::print_function(&function);
    let again = relax::parse_function(&printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
    assert_eq!(relax::print_function(&again), printed);
}

/// The same of tir.
fn tir_text(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let module = Module::default();
    let Ok(functions) = tir::parse(&module, text) else { return };
    for function in functions {
        tir::verify(&module, &function);
        let printed = tir::print(&module, &function);
        let again = tir::parse(&module, &printed).unwrap_or_else(|e| panic!("{e}\n{printed}"));
        assert_eq!(tir::print(&module, &again[0]), printed);
    }
}

/// Integer expressions and facts: they read back as they print, and a prover answers.
fn arith_text(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (facts, goal) = text.rsplit_once('\n').unwrap_or(("", text));
    let mut prover = arith::Prover::new();
    for fact in facts.lines().take(6).filter_map(|line| arith::Fact::parse(line).ok()) {
        assert_eq!(arith::Fact::parse(&fact.to_string()).as_ref(), Ok(&fact), "{fact}");
        prover.assume(fact);
    }
    if let Ok(goal) = arith::IntExpr::parse(goal) {
        assert_eq!(arith::IntExpr::parse(&goal.to_string()).as_ref(), Ok(&goal), "{goal}");
        prover.prove_ge0(&goal);
        prover.simplify(&goal);
        prover.modular_set(&goal);
        prover.const_int_bound(&goal);
    }
}
