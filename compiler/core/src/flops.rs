//! Counts the floating-point operations of a call.

use std::collections::BTreeSet;

use tenfold_ir::relax::Op;
use tenfold_ir::tir::{Dot, Elem, Expr, ExprId, Intrinsic, Launch, Param, PrimFunc, Scope, Stmt, Warp};
use tenfold_ir::{ConstData, Function, Module};

/// Float operations of one call of the entry, if every loop's extent is a constant. A function such as `exp` counts
/// as one; both branches of a condition count.
pub(crate) fn flops(module: &Module) -> Option<u64> {
    let entry = module.prim(&module.entry)?;
    count(module, (entry, None), &entry.body)
}

/// Of a function that runs parts of a loop, with the number of turns of all of them.
fn count(module: &Module, (func, turns): (&PrimFunc, Option<i64>), stmt: &Stmt) -> Option<u64> {
    let inner = |s: &Stmt| count(module, (func, turns), s);
    let value = |e: ExprId| expr(func, e, &mut BTreeSet::new());
    match stmt {
        Stmt::Seq(all) => all.iter().map(inner).sum(),
        Stmt::For { extent, body, .. } => {
            let part = || turns.filter(|_| is_last_param(func, *extent));
            let n = match func.literal(*extent).or_else(part) {
                Some(n) => n.max(0) as u64,
                None => return (inner(body)? == 0).then_some(0),
            };
            inner(body)?.checked_mul(n)
        }
        Stmt::While { body, .. } => (inner(body)? == 0).then_some(0),
        Stmt::If { cond, then, otherwise } => {
            Some(value(*cond) + inner(then)? + otherwise.as_ref().map_or(Some(0), |s| inner(s))?)
        }
        Stmt::Let { value: e, body, .. } => Some(value(*e) + inner(body)?),
        Stmt::Alloc { body, .. } | Stmt::At(_, body) => inner(body),
        Stmt::Store { value: e, .. } | Stmt::Evaluate(e) => Some(value(*e)),
        Stmt::Assert { cond, .. } => Some(value(*cond)),
        Stmt::Barrier(_) | Stmt::Prefetch { .. } => Some(0),
        Stmt::Block(block) => inner(&block.body),
        Stmt::Call { func: callee, launch, .. } => match module.functions.get(callee) {
            Some(Function::Prim(callee)) => {
                let turns = match launch {
                    Some(Launch::Threads { turns, .. }) => func.literal(*turns),
                    Some(Launch::Grid { .. }) | None => None,
                };
                count(module, (callee, turns), &callee.body)
            }
            Some(Function::Relax(_)) | None => Some(0),
        },
    }
}

/// Whether an expression is the last parameter: of a function that runs parts of a loop, how many turns a part has.
fn is_last_param(func: &PrimFunc, e: ExprId) -> bool {
    match (func.exprs.get(e), func.params.last()) {
        (Expr::Var(var), Some(Param::Value(last))) => var == last,
        _ => false,
    }
}

/// Operations of one operator with a result or operand of this type: one for each lane of floats.
fn lanes_of_floats(func: &PrimFunc, e: ExprId) -> u64 {
    let ty = func.exprs.ty(e);
    match ty.elem {
        Elem::Scalar(dtype) if dtype.is_float() => u64::from(ty.lanes),
        _ => 0,
    }
}

fn expr(func: &PrimFunc, id: ExprId, seen: &mut BTreeSet<ExprId>) -> u64 {
    if !seen.insert(id) {
        return 0;
    }
    let mut inner = |all: &[ExprId]| all.iter().map(|e| expr(func, *e, seen)).sum::<u64>();
    let own = lanes_of_floats(func, id);
    match func.exprs.get(id) {
        Expr::Const(_) | Expr::Index(_) | Expr::Var(_) => 0,
        Expr::Unary(_, a) => own + inner(&[*a]),
        Expr::Binary(_, a, b) => own + inner(&[*a, *b]),
        Expr::Compare(_, a, b) => lanes_of_floats(func, *a) + inner(&[*a, *b]),
        Expr::If(c, a, b) | Expr::Select(c, a, b) => inner(&[*c, *a, *b]),
        Expr::Cast(_, a) | Expr::Broadcast(a, _) => inner(&[*a]),
        Expr::Load { .. } => 0,
        // Two products and a sum.
        Expr::Call(Intrinsic::Dot(Dot::Bf16), args, _) => 3 * own + inner(args),
        // A thread's part of the products and sums of a tile: 16 of each for a lane, of a warpgroup's 64.
        Expr::Call(Intrinsic::Warp(Warp::Mma), args, _) => 32 * own + inner(args),
        Expr::Call(Intrinsic::Warp(Warp::Wgmma(_) | Warp::WgmmaRegisters(_)), args, _) => 128 * own + inner(args),
        Expr::Call(
            Intrinsic::Warp(Warp::LdMatrix | Warp::LdMatrixTrans | Warp::ShuffleXor(_) | Warp::WgmmaWait(_)),
            args,
            _,
        ) => inner(args),
        Expr::Call(Intrinsic::CopyTensor | Intrinsic::Mbarrier(_) | Intrinsic::UntilAligned, ..) => 0,
        Expr::Call(Intrinsic::CopyAsync | Intrinsic::Group(_), args, _) => inner(args),
        Expr::Call(_, args, _) => own + inner(args),
        Expr::Shuffle(vectors, _) => inner(vectors),
        Expr::Ramp(a, b, _) => inner(&[*a, *b]),
    }
}

/// Bytes of every constant that the module's functions use.
pub(crate) fn weight_bytes(module: &Module) -> u64 {
    bytes_of(used_constants(module).into_iter().map(|id| module.constant(id)))
}

/// Bytes of constants.
pub(crate) fn bytes_of<'a>(constants: impl IntoIterator<Item = &'a ConstData>) -> u64 {
    constants.into_iter().map(|c| c.shape.iter().product::<u64>() * c.dtype.size_bytes() as u64).sum()
}

/// Constants that some function uses.
pub(crate) fn used_constants(module: &Module) -> BTreeSet<tenfold_ir::ConstId> {
    let mut used = BTreeSet::new();
    for function in module.functions.values() {
        match function {
            Function::Prim(f) => used.extend(f.buffers.iter().filter_map(|buffer| match buffer.scope {
                Scope::Const(id) => Some(id),
                _ => None,
            })),
            Function::Relax(f) => used.extend(f.bindings().filter_map(|binding| match binding.op {
                Op::Const(id) => Some(id),
                _ => None,
            })),
        }
    }
    used
}
