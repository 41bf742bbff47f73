//! What is known inside of a region: a branch runs only if its condition holds, a turn only if there is one.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::{Binding, Definitions, Event, Function, Op, Region, SymKind, ValueId, Wraps, bindings_of, is_free, prover};
use crate::arith::{Fact, IntExpr, Prover, Sym};
use crate::op::{BinaryOp, CmpOp, ElementOp, UnaryOp};
use crate::{DType, Scalar};

/// Facts that hold in region `index` of a binding, around which `known` is. The range of a loop's variable is known from
/// its declaration.
pub fn region_facts(
    func: &Function,
    binding: &Binding,
    index: usize,
    definitions: &Definitions<'_>,
    known: &dyn Fn() -> Prover,
) -> Vec<Fact> {
    match (&binding.op, binding.args.first()) {
        (Op::If, Some(cond)) => {
            let around = OnceCell::new();
            let held = |e: &IntExpr| {
                let simple = e.as_const().is_some() || e.as_var().is_some();
                simple || !Wraps { prover: around.get_or_init(known), free: &|sym| is_free(func, sym) }.may(e)
            };
            consequences(*cond, index == 0, &Reader { func, definitions, held: &held })
        }
        (Op::For { extent, .. }, _) if extent.as_const().is_none() => vec![Fact::ge(extent, &IntExpr::from(1))],
        _ => Vec::new(),
    }
}

/// Reads conditions.
struct Reader<'r, 'f> {
    func: &'f Function,
    definitions: &'r Definitions<'f>,
    /// Whether 64 bits surely hold an index value, so that what is compared is what it says.
    held: &'r dyn Fn(&IntExpr) -> bool,
}

/// What follows from a scalar bool being `holds`, as far as it compares integers that no memory holds.
fn consequences(value: ValueId, holds: bool, reader: &Reader<'_, '_>) -> Vec<Fact> {
    let Some(binding) = reader.definitions.binding(value) else { return Vec::new() };
    let of = |n: usize, holds: bool| binding.args.get(n).map(|v| consequences(*v, holds, reader));
    let both = |holds: bool| [of(0, holds), of(1, holds)].into_iter().flatten().flatten().collect();
    match &binding.op {
        Op::Scalar(known) if (known.bits != 0) != holds => vec![never()],
        Op::Element(ElementOp::Compare(op)) => {
            let fact = comparison(*op, binding, reader);
            fact.map(|fact| if holds { fact } else { fact.negate() }).into_iter().collect()
        }
        Op::Element(ElementOp::Unary(UnaryOp::Not)) => of(0, !holds).unwrap_or_default(),
        Op::Element(ElementOp::Binary(BinaryOp::And)) if holds => both(true),
        Op::Element(ElementOp::Binary(BinaryOp::Or)) if !holds => both(false),
        // `a && b` fails, `a || b` holds: one of them does, which is known only if all of both is.
        Op::Element(ElementOp::Binary(BinaryOp::And | BinaryOp::Or)) => {
            one_of([of(0, holds).unwrap_or_default(), of(1, holds).unwrap_or_default()])
        }
        Op::If => match binding.regions.as_slice() {
            [then, otherwise] => one_of([(then, true), (otherwise, false)].map(|(region, taken)| {
                let cond = of(0, taken).unwrap_or_default();
                [cond, yielded(region, holds, reader)].concat()
            })),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// What follows from the only result of a region being `holds`, of what is known outside of it too: `a && b` and
/// `a || b` are branches where `b` must not run in vain.
fn yielded(region: &Region, holds: bool, reader: &Reader<'_, '_>) -> Vec<Fact> {
    let [result] = region.results.as_slice() else { return Vec::new() };
    let own: BTreeSet<ValueId> = bindings_of(&region.blocks).map(|binding| binding.out).collect();
    let outside = |sym: &Sym| match reader.func.syms.iter().find(|decl| decl.sym == *sym).map(|decl| &decl.kind) {
        Some(SymKind::Bound(value) | SymKind::Loop(value)) => !own.contains(value),
        _ => true,
    };
    let mut facts = consequences(*result, holds, reader);
    facts.retain(|fact| fact.vars().iter().all(outside));
    facts
}

/// What follows from one of two things being so.
fn one_of(sides: [Vec<Fact>; 2]) -> Vec<Fact> {
    let impossible = |facts: &Vec<Fact>| facts.iter().any(Fact::is_false);
    match sides {
        [a, b] if impossible(&a) => b,
        [a, b] if impossible(&b) => a,
        [a, b] if a.is_empty() || b.is_empty() => Vec::new(),
        both => vec![Fact::Or(both.map(Fact::And).into())],
    }
}

/// What does not hold anywhere: nothing there runs.
fn never() -> Fact {
    Fact::ge(&IntExpr::from(0), &IntExpr::from(1))
}

fn comparison(op: CmpOp, binding: &Binding, reader: &Reader<'_, '_>) -> Option<Fact> {
    let [a, b] = binding.args.as_slice() else { return None };
    let held = |value: ValueId| integer(value, reader.definitions).filter(reader.held);
    let (a, b) = (&held(*a)?, &held(*b)?);
    Some(match op {
        CmpOp::Eq => Fact::eq(a, b),
        CmpOp::Ne => Fact::ne(a, b),
        CmpOp::Lt => Fact::lt(a, b),
        CmpOp::Le => Fact::le(a, b),
        CmpOp::Gt => Fact::gt(a, b),
        CmpOp::Ge => Fact::ge(a, b),
    })
}

/// A scalar that is an index value or a number.
fn integer(value: ValueId, definitions: &Definitions<'_>) -> Option<IntExpr> {
    match &definitions.binding(value)?.op {
        Op::IndexValue { expr, dtype } if *dtype == DType::I64 => Some(expr.clone()),
        Op::Scalar(known) if known.dtype.is_int() => number(*known),
        _ => None,
    }
}

fn number(known: Scalar) -> Option<IntExpr> {
    i64::try_from(known.to_i128()).ok().map(IntExpr::from)
}

/// Every binding with what is known where it stands, beyond what holds at the call: in branches, in turns, and behind
/// checks.
pub fn known_at<'f>(func: &'f Function, f: &mut impl FnMut(&'f Binding, &[Fact])) {
    let definitions = func.definitions();
    let mut facts = Vec::new();
    let mut marks = Vec::new();
    func.walk(|event| match event {
        Event::Enter(binding) => f(binding, &facts),
        Event::Begin(binding, index, _) => {
            marks.push(facts.len());
            let known = || {
                let mut known = prover(func);
                facts.iter().for_each(|fact: &Fact| known.assume(fact.clone()));
                known
            };
            let more = region_facts(func, binding, index, &definitions, &known);
            facts.extend(more);
        }
        Event::End(..) => facts.truncate(marks.pop().unwrap_or(0)),
        Event::Leave(binding) => {
            if let Op::Assert { fact, .. } = &binding.op {
                facts.push(fact.clone());
            }
        }
    });
}
