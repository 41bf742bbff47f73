//! `split(loop, factors)`: a loop becomes several, nested, of which one factor may be left to be found.
//!
//! Where the factors do not divide the extent, what runs beyond it is kept out: a predicate of the blocks inside, or an
//! `if`.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{Builder, ExprId, Stmt, VarId};

use crate::schedule::args::{Arg, Args, Value};
use crate::schedule::edit::{Loop, State, guard, substitute};
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, required};
use crate::schedule::{LoopRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "split",
    params: &[required("loop", Kind::Loop), required("factors", Kind::Factors)],
    gives: Gives::List,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Splits a loop into loops of these extents, outermost first; one may be [`Arg::Infer`].
    pub fn split(&mut self, it: LoopRV, factors: &[Arg]) -> Result<Vec<LoopRV>, ScheduleError> {
        self.step_loops("split", vec![it.into(), Arg::List(factors.to_vec())])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let loops = split(state, args.loop_var(0), args.list(1))?;
    Ok(loops.into_iter().map(Out::Loop).collect())
}

/// The extents of the new loops, and whether they cover exactly as many turns as there were.
struct Extents {
    all: Vec<ExprId>,
    exact: bool,
}

/// Splits the loop; the new loops, outermost first.
pub(super) fn split(state: &mut State<'_>, var: VarId, factors: &[Value]) -> Result<Vec<VarId>, Refusal> {
    let old = state.get_loop(var)?;
    super::require_plain(state, &old, "split")?;
    let extents = extents(state, &old, factors)?;
    let name = state.name(var);
    let vars: Vec<VarId> = (0..factors.len()).map(|n| state.b.index_var(&format!("{name}_{n}"))).collect();
    let new = vars.clone();
    state.edit_loop(var, |b, old| nest(b, old, &new, extents))?;
    Ok(vars)
}

fn extents(state: &mut State<'_>, old: &Loop, factors: &[Value]) -> Result<Extents, Refusal> {
    let given: Vec<Option<i64>> = factors
        .iter()
        .map(|f| match f {
            Value::Int(n) => Some(*n),
            _ => None,
        })
        .collect();
    if given.is_empty() {
        return Refusal::err("there are no factors", "give the extents of the new loops, as `[_, 16]`");
    }
    if let Some(bad) = given.iter().flatten().find(|n| **n < 1) {
        return Refusal::err(format!("factor {bad} is not positive"), "give factors of at least 1");
    }
    if given.iter().filter(|f| f.is_none()).count() > 1 {
        return Refusal::err("more than one factor is `_`", "leave one factor at most to be found");
    }
    let product = given.iter().flatten().try_fold(1i64, |n, f| n.checked_mul(*f)).filter(|n| *n < 1 << 40);
    let Some(product) = product else {
        return Refusal::err("the product of the factors is too large", "give smaller factors");
    };
    let extent = state.int(old.extent);
    let prover = crate::schedule::analysis::prover_at(state, &crate::schedule::tree::is_loop(old.var));
    let step = IntExpr::from(product);
    if given.contains(&None) {
        let exact = prover.prove_divisible(&extent, product);
        let whole = state.b.index(product);
        let all = given
            .iter()
            .map(|f| match f {
                Some(n) => state.b.index(*n),
                None => turns(&mut state.b, old.extent, whole, exact),
            })
            .collect();
        return Ok(Extents { all, exact });
    }
    if !prover.prove_le(&extent, &step) {
        let name = state.name(old.var);
        return Refusal::err(
            format!("the factors cover {product} turns, and `{name}` is not proven to have no more: it has {extent}"),
            "leave the outermost factor to be found: `_`",
        );
    }
    let exact = prover.prove_eq(&extent, &step);
    let all = given.iter().flatten().map(|n| state.b.index(*n)).collect();
    Ok(Extents { all, exact })
}

/// How many times `step` fits into `extent`, rounded up.
fn turns(b: &mut Builder, extent: ExprId, step: ExprId, exact: bool) -> ExprId {
    let extent_int = tenfold_ir::tir::Viewer::new(b.func()).int(extent);
    let step_int = tenfold_ir::tir::Viewer::new(b.func()).int(step);
    if let (Some(n), Some(s)) = (extent_int.as_const(), step_int.as_const()) {
        return b.index((n.max(0) + s - 1).div_euclid(s));
    }
    if exact {
        return b.binary(BinaryOp::DivEuclid, extent, step);
    }
    let less = match step_int.as_const() {
        Some(n) => b.index(n - 1),
        None => {
            let one = b.index(1);
            b.sub(step, one)
        }
    };
    let sum = b.add(extent, less);
    b.binary(BinaryOp::DivEuclid, sum, step)
}

fn nest(b: &mut Builder, old: Loop, vars: &[VarId], extents: Extents) -> Stmt {
    let zero = b.index(0);
    let mut fused = b.read(vars[0]);
    for (var, extent) in vars.iter().zip(&extents.all).skip(1) {
        let scaled = b.mul(fused, *extent);
        let here = b.read(*var);
        fused = b.add(scaled, here);
    }
    let value = if old.min == zero { fused } else { b.add(old.min, fused) };
    let mut body = substitute(b, &BTreeMap::from([(old.var, value)]), old.body);
    if !extents.exact {
        let inside = b.compare(CmpOp::Lt, fused, old.extent);
        body = guard(b, body, inside);
    }
    for (var, extent) in vars.iter().zip(&extents.all).rev() {
        body = Loop { var: *var, min: zero, extent: *extent, kind: old.kind, annotations: Vec::new(), body }.stmt();
    }
    body
}
