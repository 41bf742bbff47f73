//! What holds of a relax function's symbols wherever they are known.

use std::collections::BTreeSet;

use super::{Function, Op, SymDecl, SymKind, Type, ValueId};
use crate::arith::{Domain, Fact, IntExpr, Range, Sym};

/// Whether a symbol is >= 0 by its kind.
pub fn natural(kind: &SymKind) -> bool {
    match kind {
        SymKind::Dim { .. } => true,
        SymKind::IndexParam { unsigned, .. } => *unsigned,
        SymKind::Stride { .. } | SymKind::Bound(_) | SymKind::Loop(_) => false,
    }
}

/// The symbols that axes of parameters are called after.
pub fn dims(func: &Function) -> BTreeSet<Sym> {
    let dims = func.syms.iter().filter(|decl| matches!(decl.kind, SymKind::Dim { .. }));
    dims.map(|decl| decl.sym.clone()).collect()
}

/// What holds at the call: the function's facts, and that dims are not negative.
pub fn call_facts(func: &Function) -> Vec<Fact> {
    let natural = func.syms.iter().filter(|decl| natural(&decl.kind));
    let not_negative = natural.map(|decl| Fact::NonNegative(IntExpr::var(decl.sym.clone())));
    func.facts.iter().map(|decl| decl.fact.clone()).chain(not_negative).collect()
}

/// The ranges of symbols that the body binds, those of outer loops first. A symbol without a known range is left out.
pub fn ranges(func: &Function) -> Domain {
    let binds = |decl: &SymDecl| matches!(decl.kind, SymKind::Bound(_) | SymKind::Loop(_));
    if !func.syms.iter().any(binds) {
        return Domain::new();
    }
    let definitions = func.definitions();
    let range = |decl: &SymDecl| match decl.kind {
        SymKind::Loop(value) => match definitions.binding(value).map(|binding| &binding.op) {
            Some(Op::For { begin, extent, step, .. }) => Some(turns(begin, extent, *step)),
            _ => None,
        },
        SymKind::Bound(value) => bound_range(func, value),
        SymKind::Dim { .. } | SymKind::IndexParam { .. } | SymKind::Stride { .. } => None,
    };
    func.syms.iter().filter_map(|decl| Some((decl.sym.clone(), range(decl)?))).collect()
}

/// All values between the first and the last of a loop's variable.
fn turns(begin: &IntExpr, extent: &IntExpr, step: i64) -> Range {
    let spread = &(extent - &IntExpr::from(1)) * &IntExpr::from(step.abs());
    let min = if step < 0 { begin - &spread } else { begin.clone() };
    Range::new(min, &spread + &IntExpr::from(1))
}

fn bound_range(func: &Function, value: ValueId) -> Option<Range> {
    let data = func.values.get(value.0 as usize)?;
    let (lo, hi) = data.range.as_ref()?;
    matches!(&data.ty, Type::Tensor(ty) if ty.shape.is_empty()).then(|| Range::new(lo.clone(), hi - lo))
}

/// The ranges as facts.
pub fn range_facts(func: &Function) -> Vec<Fact> {
    let ranges = ranges(func);
    let fact = |(sym, range): &(Sym, Range)| {
        let var = IntExpr::var(sym.clone());
        [Fact::ge(&var, &range.min), Fact::le(&var, &range.last())]
    };
    ranges.loops().iter().flat_map(fact).collect()
}

/// Adds the symbols that facts tie to those already there, so that proofs can be redone inside the kernel.
fn close_over_facts(facts: &[Fact], syms: &mut BTreeSet<Sym>) {
    let mut open: Vec<BTreeSet<Sym>> = facts.iter().map(Fact::vars).collect();
    loop {
        let before = open.len();
        open.retain(|vars| {
            let tied = !vars.is_disjoint(syms);
            if tied {
                syms.extend(vars.iter().cloned());
            }
            !tied
        });
        if open.len() == before {
            return;
        }
    }
}

/// Adds the symbols that the ranges of those already there are made of: that a loop of as many turns as data says stays
/// in a buffer is known by the range of their number.
fn close_over_ranges(ranges: &Domain, syms: &mut BTreeSet<Sym>) {
    loop {
        let known = ranges.loops().iter().filter(|(sym, _)| syms.contains(sym));
        let made_of: BTreeSet<Sym> =
            known.flat_map(|(_, range)| [range.min.vars(), range.extent.vars()]).flatten().collect();
        if made_of.is_subset(syms) {
            return;
        }
        syms.extend(made_of);
    }
}

/// What holds of a function's symbols where a kernel is called: of those that the body binds, only what concerns
/// symbols that the kernel knows already. `here` holds beyond that where it is called.
pub fn known_facts(func: &Function, syms: &mut BTreeSet<Sym>, here: &[Fact]) -> Vec<Fact> {
    let mut facts = call_facts(func);
    facts.extend(here.iter().filter(|fact| !facts.contains(fact)).cloned().collect::<Vec<_>>());
    close_over_facts(&facts, syms);
    let bound = |decl: &&SymDecl| matches!(decl.kind, SymKind::Bound(_) | SymKind::Loop(_));
    let inner: BTreeSet<&Sym> = func.syms.iter().filter(bound).map(|decl| &decl.sym).collect();
    if syms.iter().any(|sym| inner.contains(sym)) {
        close_over_ranges(&ranges(func), syms);
        let of = |fact: &Fact| fact.vars().iter().any(|sym| inner.contains(sym) && syms.contains(sym));
        let ranges: Vec<Fact> = range_facts(func).into_iter().filter(of).collect();
        let outer = ranges.iter().flat_map(Fact::vars).filter(|sym| !inner.contains(sym));
        syms.extend(outer.collect::<Vec<_>>());
        facts.extend(ranges);
        close_over_facts(&call_facts(func), syms);
    }
    facts.retain(|fact| fact.vars().is_subset(syms));
    facts
}
