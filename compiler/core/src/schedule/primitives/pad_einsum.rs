//! `pad_einsum(block, padding)`: a sum of products runs over extents that are multiples of `padding`, its operands being
//! filled up with zeros and its result cut.

use std::collections::BTreeMap;

use tenfold_ir::Scalar;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{Access, Block, BufId, Builder, Expr, ExprId, IterKind, Scope, Stmt, VarId};

use crate::schedule::analysis::spatial_index;
use crate::schedule::args::Args;
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Outcome, Primitive, required};
use crate::schedule::{BlockRV, Schedule, ScheduleError, nest, stage};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "pad_einsum",
    params: &[required("block", Kind::Block), required("padding", Kind::Ints)],
    gives: Gives::Nothing,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Rounds the extent of each iterator of a sum of products up to a multiple of a number, one for each iterator.
    pub fn pad_einsum(&mut self, block: BlockRV, padding: &[i64]) -> Result<(), ScheduleError> {
        self.step("pad_einsum", vec![block.into(), padding.into()])
    }
}

/// An operand or the result: its iterators axis by axis.
struct Tensor {
    buf: BufId,
    axes: Vec<VarId>,
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let name = args.block(0);
    let found = nest::nest_of(state, name)?;
    let extents = padded(state, &found.block, &args.ints(1))?;
    let (result, operands) = einsum(state, &found.block)?;
    require_zeros(state, &found.block, &operands, &extents)?;
    stage::require_read_behind(state, name, result.buf)?;
    for operand in &operands {
        stage::require_written_before(state, name, operand.buf)?;
    }
    widen(state, &found.block, &extents)?;
    for operand in &operands {
        pad(state, &found.block, operand, &extents)?;
    }
    cut(state, &found.block, &result, &extents)?;
    stage::require_proven(state)?;
    Ok(Vec::new())
}

/// The new extent of each iterator whose extent changes.
fn padded(state: &State<'_>, block: &Block, padding: &[i64]) -> Result<BTreeMap<VarId, IntExpr>, Refusal> {
    if padding.len() != block.iters.len() {
        let (found, has) = (padding.len(), block.iters.len());
        let text = format!("there are {found} numbers, and block `{}` has {has} iterators", block.name);
        return Refusal::err(text, "give one number for each iterator; 1 leaves it as it is");
    }
    if let Some(bad) = padding.iter().find(|n| !(1..=1 << 20).contains(*n)) {
        return Refusal::err(format!("extents cannot be multiples of {bad}"), "give numbers from 1 on");
    }
    let mut all = BTreeMap::new();
    for (iter, by) in block.iters.iter().zip(padding) {
        let extent = state.int(iter.extent);
        let step = IntExpr::from(*by);
        let new = &(&extent + (*by - 1)).floor_div(&step) * &step;
        if new != extent {
            all.insert(iter.var, new);
        }
    }
    Ok(all)
}

/// `result[…] += a[…] * b[…] * …`, each index an iterator of its own.
fn einsum(state: &State<'_>, block: &Block) -> Result<(Tensor, Vec<Tensor>), Refusal> {
    let no = || {
        let text = format!("block `{}` is no sum of products, `c[i, j] += a[i, k] * b[k, j]`", block.name);
        Refusal::new(text, "only sums of products over iterators, starting at 0, can be padded")
    };
    let Stmt::Store { buf, index, value, .. } = block.body.bare() else { return Err(no()) };
    let exprs = &state.b.func().exprs;
    let Expr::Binary(BinaryOp::Add, old, term) = exprs.get(*value) else { return Err(no()) };
    let starts =
        matches!(block.init.as_ref().map(Stmt::bare), Some(Stmt::Store { value, .. }) if is_zero(state, *value));
    let adds = matches!(exprs.get(*old), Expr::Load { buf: b, index: i, .. } if b == buf && i == index);
    if !starts || !adds {
        return Err(no());
    }
    let mut operands = Vec::new();
    if !factors(state, block, *term, &mut operands) {
        return Err(no());
    }
    let result = tensor(state, block, *buf, index).ok_or_else(no)?;
    Ok((result, operands))
}

fn is_zero(state: &State<'_>, e: ExprId) -> bool {
    matches!(state.b.func().exprs.get(e), Expr::Const(s) if *s == Scalar::zero(s.dtype))
}

fn factors(state: &State<'_>, block: &Block, e: ExprId, all: &mut Vec<Tensor>) -> bool {
    match state.b.func().exprs.get(e) {
        Expr::Binary(BinaryOp::Mul, a, b) => factors(state, block, *a, all) && factors(state, block, *b, all),
        Expr::Cast(_, a) => factors(state, block, *a, all),
        Expr::Load { buf, index, .. } => {
            let known = all.iter().any(|t| t.buf == *buf);
            let found = tensor(state, block, *buf, index).filter(|_| !known);
            all.extend(found);
            all.last().is_some_and(|t| t.buf == *buf)
        }
        _ => false,
    }
}

fn tensor(state: &State<'_>, block: &Block, buf: BufId, index: &[ExprId]) -> Option<Tensor> {
    let axes = spatial_index(state, block, index)?.into_iter().collect::<Option<Vec<VarId>>>()?;
    Some(Tensor { buf, axes })
}

/// Where a reduce iterator runs on, every factor must be one of the zeros: 0 times infinity is no 0.
fn require_zeros(
    state: &State<'_>,
    block: &Block,
    operands: &[Tensor],
    extents: &BTreeMap<VarId, IntExpr>,
) -> Result<(), Refusal> {
    for iter in block.iters.iter().filter(|i| i.kind == IterKind::Reduce && extents.contains_key(&i.var)) {
        if let Some(other) = operands.iter().find(|t| !t.axes.contains(&iter.var)) {
            let (iter, buf) = (state.name(iter.var), state.buf_name(other.buf));
            let text = format!("`{buf}` has no axis `{iter}`, so that no zeros stand in it where `{iter}` runs on");
            return Refusal::err(text, "pad only reduce iterators that every factor is indexed by");
        }
    }
    Ok(())
}

/// The nest over the new extents.
fn widen(state: &mut State<'_>, block: &Block, extents: &BTreeMap<VarId, IntExpr>) -> Result<(), Refusal> {
    for (iter, var) in block.iters.iter().zip(loops(state, block)) {
        let Some(extent) = extents.get(&iter.var) else { continue };
        let Some(extent) = state.index_of(extent) else { continue };
        state.edit_loop(var, |_, mut l| {
            l.extent = extent;
            l.stmt()
        })?;
        state.edit_block(&block.name, |_, block| {
            block.iters.iter_mut().filter(|i| i.var == iter.var).for_each(|i| i.extent = extent);
        })?;
    }
    Ok(())
}

/// The loop of each iterator.
fn loops(state: &State<'_>, block: &Block) -> Vec<VarId> {
    let var = |e: ExprId| match state.b.func().exprs.get(e) {
        Expr::Var(var) => *var,
        _ => VarId(u32::MAX),
    };
    block.iters.iter().map(|i| var(i.value)).collect()
}

fn shape(state: &State<'_>, tensor: &Tensor, extents: &BTreeMap<VarId, IntExpr>) -> Vec<IntExpr> {
    let old = &state.b.buf(tensor.buf).shape;
    tensor.axes.iter().zip(old).map(|(var, extent)| extents.get(var).cloned().unwrap_or(extent.clone())).collect()
}

fn exprs(state: &mut State<'_>, shape: &[IntExpr]) -> Vec<ExprId> {
    shape.iter().map(|e| state.b.int_expr(e)).collect()
}

/// A copy of an operand with zeros around it.
fn pad(
    state: &mut State<'_>,
    block: &Block,
    tensor: &Tensor,
    extents: &BTreeMap<VarId, IntExpr>,
) -> Result<(), Refusal> {
    if !tensor.axes.iter().any(|var| extents.contains_key(var)) {
        return Ok(());
    }
    let (old, new) = (iterated(state, block, tensor), shape(state, tensor, extents));
    let to = stage::buffer_like(state, tensor.buf, "pad", new.clone(), Scope::Global);
    state.b.buf_mut(to).range = None;
    let (old, new) = (exprs(state, &old), exprs(state, &new));
    let zero = Scalar::zero(state.b.buf(to).dtype);
    let from = tensor.buf;
    let name = state.fresh_block(state.buf_name(to));
    let made = stage::nest(state, &name, &new, |b, at| {
        let load = b.load(from, at.to_vec(), Access::Proven);
        let zero = b.scalar(zero);
        let value = match inside(b, at, &old) {
            Some(cond) => b.if_(cond, load, zero),
            None => load,
        };
        Stmt::Store { buf: to, index: at.to_vec(), value, access: Access::Proven }
    });
    stage::turn_block(state, &block.name, (from, to), (true, false), &stage::same)?;
    stage::put(state, &block.name, made, stage::Side::Before);
    stage::allocate(state, &block.name, to);
    Ok(())
}

/// The extents of the iterators before they were padded.
fn iterated(state: &State<'_>, block: &Block, tensor: &Tensor) -> Vec<IntExpr> {
    let of = |var: &VarId| block.iters.iter().find(|i| i.var == *var).map(|i| state.int(i.extent));
    tensor.axes.iter().filter_map(of).collect()
}

fn inside(b: &mut Builder, at: &[ExprId], extents: &[ExprId]) -> Option<ExprId> {
    let mut all = None;
    for (at, extent) in at.iter().zip(extents) {
        let one = b.compare(CmpOp::Lt, *at, *extent);
        all = Some(State::both(b, all, one));
    }
    all
}

/// The result, cut out of what was computed.
fn cut(
    state: &mut State<'_>,
    block: &Block,
    tensor: &Tensor,
    extents: &BTreeMap<VarId, IntExpr>,
) -> Result<(), Refusal> {
    if !tensor.axes.iter().any(|var| extents.contains_key(var)) {
        return Ok(());
    }
    let (old, new) = (iterated(state, block, tensor), shape(state, tensor, extents));
    let from = stage::buffer_like(state, tensor.buf, "pad", new, Scope::Global);
    state.b.buf_mut(from).range = None;
    let extent = exprs(state, &old);
    let zero = state.b.index(0);
    let part = stage::Part { begin: vec![zero; extent.len()], extent };
    let name = state.fresh_block(&format!("{}_cut", block.name));
    let made = stage::copy(state, &name, from, tensor.buf, &part);
    stage::turn_block(state, &block.name, (tensor.buf, from), (true, true), &stage::same)?;
    stage::put(state, &block.name, made, stage::Side::Behind);
    stage::allocate(state, &block.name, from);
    Ok(())
}
