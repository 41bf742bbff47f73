//! `LoopDistribution`: a loop of vectors whose turns are long chains of operations becomes one loop behind another.
//!
//! A core begins later turns while one waits for its operations, but holds only so many of them. Where a turn is one
//! chain (a polynomial, rounding, another polynomial), the chains that it holds do not keep it busy. Of two loops, each
//! with half of the chain, it holds twice as many; what the first one hands over stays in the first cache.
//!
//! In phase `target`, for innermost loops of so many turns that what is handed over has few bytes, and whose only
//! statement stores a vector. What is computed stays as it is. (LLVM: LoopDistribute.)

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, UnaryOp};
use tenfold_ir::tir::copy::{stem, substitute};
use tenfold_ir::tir::{
    Access, BufId, Builder, Elem, Expr, ExprId, ExprMap, LoopKind, Phase, PrimFunc, Scope, Stmt, VarId, operands,
};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("LoopDistribution", &loop_distribution)
    .at_level(2)
    .in_phase(PassPhase::Target)
    .about("makes two loops of one whose turns are long chains of operations on vectors");

/// Cycles of a chain from which on the turns that a core holds do not keep it busy.
const LONG: u32 = 60;

/// Turns from which on it pays to go over them twice.
const TURNS: i64 = 8;

/// Bytes that one loop may hand to the next.
const HANDED_OVER: i64 = 8 << 10;

/// Operations that both loops may do.
const TWICE: usize = 4;

/// Bytes of the vectors of the cores that this is for.
const VECTOR: u32 = 32;

fn loop_distribution(func: PrimFunc, _: &Module, context: &PassContext) -> Result<PrimFunc, CompileError> {
    let target = &context.target;
    if func.phase != Phase::Target || !target.hosted || target.device.is_some() || target.vector_bytes() < VECTOR {
        return Ok(func);
    }
    Ok(rewrite_body(func, distribute))
}

fn distribute(b: &mut Builder, stmt: Stmt) -> Stmt {
    let Some(found) = Loop::of(b.func(), &stmt) else {
        return stmt.map_children(&mut |s| distribute(b, s));
    };
    let Some(cut) = cut(b.func(), found.value) else { return stmt };
    let ty = b.ty(cut);
    let Elem::Scalar(dtype) = ty.elem else { return stmt };
    let elements = found.turns * i64::from(ty.lanes);
    if elements * dtype.size_bytes() as i64 > HANDED_OVER {
        return stmt;
    }
    let buf = b.buffer("handed_over", dtype, vec![IntExpr::from(elements)], Scope::Local);
    let all = halves(b, stmt, cut, buf).map(|part| distribute(b, part));
    Stmt::Alloc { buf, body: Box::new(Stmt::Seq(all.into())) }
}

/// A loop that may become two.
struct Loop {
    turns: i64,
    value: ExprId,
}

impl Loop {
    fn of(func: &PrimFunc, stmt: &Stmt) -> Option<Loop> {
        let Stmt::For { min, extent, kind: LoopKind::Serial, annotations, body, .. } = stmt else { return None };
        let Stmt::Store { buf, index, value, .. } = body.bare() else { return None };
        let turns = func.literal(*extent).filter(|n| *n >= TURNS && func.literal(*min) == Some(0))?;
        // What a later turn reads may be what an earlier one has stored.
        let other = |e: &ExprId| matches!(func.exprs.get(*e), Expr::Load { buf: from, index: at, .. } if from == buf && at != index);
        let plain = annotations.is_empty() && func.exprs.ty(*value).lanes > 1;
        (plain && !func.reachable([*value]).iter().any(other)).then_some(Loop { turns, value: *value })
    }
}

/// The loop up to a value, which it stores, and the loop from there on.
fn halves(b: &mut Builder, stmt: Stmt, cut: ExprId, buf: BufId) -> [Stmt; 2] {
    let Stmt::For { var, min, extent, kind, annotations, body } = stmt else { return [Stmt::nop(), stmt] };
    let index = vec![place(b, var, cut)];
    let ty = b.ty(cut);
    let handed = b.raw(Expr::Load { buf, index: index.clone(), access: Access::Proven }, ty);
    let mut behind = ExprMap::new(|_: &mut Builder, id| if id == cut { handed } else { id });
    let body = Box::new(behind.stmt(b, *body));
    let own = b.var(stem(b.sym(var).as_str()).to_string().as_str(), b.func().vars[var.0 as usize].ty);
    let to = BTreeMap::from([(var, b.read(own))]);
    let store = Stmt::Store { buf, index, value: cut, access: Access::Proven };
    let store = Box::new(substitute(b, store, &to));
    let first = Stmt::For { var: own, min, extent, kind, annotations: annotations.clone(), body: store };
    [first, Stmt::For { var, min, extent, kind, annotations, body }]
}

/// Where a turn stores a vector.
fn place(b: &mut Builder, var: VarId, value: ExprId) -> ExprId {
    let lanes = b.ty(value).lanes;
    let turn = b.read(var);
    let (by, one) = (b.int_like(turn, i64::from(lanes)), b.int_like(turn, 1));
    let base = b.mul(turn, by);
    b.ramp(base, one, lanes)
}

/// The value in the middle of a long chain, of those that leave the fewest operations to be done twice.
fn cut(func: &PrimFunc, root: ExprId) -> Option<ExprId> {
    let mut depths = BTreeMap::new();
    let all = depth(func, root, &mut depths);
    if all < LONG {
        return None;
    }
    let lanes = func.exprs.ty(root).lanes;
    let whole = |id: ExprId| {
        let ty = func.exprs.ty(id);
        ty.lanes == lanes && matches!(ty.elem, Elem::Scalar(dtype) if dtype.is_float())
    };
    let middle = depths.iter().filter(|(id, d)| whole(**id) && **d * 3 >= all && **d * 3 <= 2 * all);
    let costed = middle.map(|(id, d)| (twice(func, root, *id), d.abs_diff(all - d), *id));
    costed.min().filter(|(twice, ..)| *twice <= TWICE).map(|(.., id)| id)
}

/// Operations that both the value at the cut and what is left behind it need.
fn twice(func: &PrimFunc, root: ExprId, cut: ExprId) -> usize {
    let first: BTreeSet<ExprId> = func.reachable([cut]).into_iter().collect();
    let mut behind = BTreeSet::new();
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        if id != cut && behind.insert(id) {
            open.extend(operands(func.exprs.get(id)));
        }
    }
    let work = |id: &ExprId| func.exprs.ty(*id).lanes > 1 && latency(func, *id) > 0;
    behind.iter().filter(|id| first.contains(id) && work(id)).count()
}

/// Cycles until a value is there, its operands in memory.
fn depth(func: &PrimFunc, id: ExprId, known: &mut BTreeMap<ExprId, u32>) -> u32 {
    if let Some(depth) = known.get(&id) {
        return *depth;
    }
    let operands = match func.exprs.get(id) {
        Expr::Load { .. } => Vec::new(),
        other => operands(other),
    };
    let before = operands.into_iter().map(|e| depth(func, e, known)).max().unwrap_or(0);
    let depth = before + latency(func, id);
    known.insert(id, depth);
    depth
}

/// Cycles of an operation: a product that is added to is one operation with its sum.
fn latency(func: &PrimFunc, id: ExprId) -> u32 {
    use UnaryOp::Sqrt;
    match func.exprs.get(id) {
        Expr::Binary(BinaryOp::Mul, ..) => 1,
        Expr::Binary(BinaryOp::Div | BinaryOp::Rem, ..) | Expr::Unary(Sqrt, _) => 13,
        Expr::Binary(BinaryOp::Add | BinaryOp::Sub, ..) if func.exprs.ty(id).lanes > 1 => 3,
        Expr::Cast(..) => 4,
        Expr::Binary(..) | Expr::Unary(..) | Expr::Compare(..) | Expr::Select(..) | Expr::If(..) => 1,
        Expr::Const(_)
        | Expr::Index(_)
        | Expr::Var(_)
        | Expr::Load { .. }
        | Expr::Call(..)
        | Expr::Ramp(..)
        | Expr::Broadcast(..)
        | Expr::Shuffle(..) => 0,
    }
}
