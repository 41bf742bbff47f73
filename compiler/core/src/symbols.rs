//! What holds of a relax function's symbols wherever they are known.

use tenfold_ir::arith::{Domain, Fact, IntExpr, Range, Sym};
use tenfold_ir::relax::{self, Op, SymKind, Type};

/// Whether a symbol is >= 0 by its kind.
pub(crate) fn natural(kind: &SymKind) -> bool {
    match kind {
        SymKind::Dim { .. } => true,
        SymKind::IndexParam { unsigned, .. } => *unsigned,
        SymKind::Stride { .. } | SymKind::Bound(_) | SymKind::Loop(_) => false,
    }
}

/// What holds at the call: the function's facts, and that dims are not negative.
pub(crate) fn call_facts(func: &relax::Function) -> Vec<Fact> {
    let natural = func.syms.iter().filter(|decl| natural(&decl.kind));
    let not_negative = natural.map(|decl| Fact::NonNegative(IntExpr::var(decl.sym.clone())));
    func.facts.iter().map(|decl| decl.fact.clone()).chain(not_negative).collect()
}

/// The ranges of symbols that the body binds, those of outer loops first. A symbol without a known range is left out.
pub(crate) fn ranges(func: &relax::Function) -> Domain {
    let binds = |decl: &relax::SymDecl| matches!(decl.kind, SymKind::Bound(_) | SymKind::Loop(_));
    if !func.syms.iter().any(binds) {
        return Domain::new();
    }
    let definitions = func.definitions();
    let range = |decl: &relax::SymDecl| match decl.kind {
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

fn bound_range(func: &relax::Function, value: relax::ValueId) -> Option<Range> {
    let data = func.values.get(value.0 as usize)?;
    let (lo, hi) = data.range.as_ref()?;
    matches!(&data.ty, Type::Tensor(ty) if ty.shape.is_empty()).then(|| Range::new(lo.clone(), hi - lo))
}

/// The ranges as facts.
pub(crate) fn range_facts(func: &relax::Function) -> Vec<Fact> {
    let ranges = ranges(func);
    let fact = |(sym, range): &(Sym, Range)| {
        let var = IntExpr::var(sym.clone());
        [Fact::ge(&var, &range.min), Fact::le(&var, &range.last())]
    };
    ranges.loops().iter().flat_map(fact).collect()
}
