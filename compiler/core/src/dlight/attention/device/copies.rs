//! Lines of keys, values or queries that come to shared memory by asynchronous copies, in chunks of 16 bytes as they lie.

use tenfold_ir::Scalar;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{
    Access, BufId, Builder, Expr, ExprId, Intrinsic, LoopKind, PrimFunc, Scope, Stmt, Ty, VarId, expr_vars,
};

use super::{Here, THREADS, lines, part};
use crate::dlight::emit::{at, each, plus, times};

/// Bytes of a chunk.
const BYTES: i64 = 16;

/// Elements of a chunk of an operand.
pub(super) fn chunk(func: &PrimFunc, of: ExprId) -> i64 {
    match func.exprs.get(of) {
        Expr::Load { buf, .. } => BYTES / func.buffers[buf.0 as usize].dtype.size_bytes() as i64,
        _ => 1,
    }
}

/// Whether an operand is an element of a row that a variable walks, whose chunks can be copied as they lie.
pub(super) fn is_row(func: &PrimFunc, id: ExprId, along: VarId) -> bool {
    let Expr::Load { buf, index, .. } = func.exprs.get(id) else { return false };
    let Some((last, outer)) = index.split_last() else { return false };
    let data = &func.buffers[buf.0 as usize];
    let whole = data.shape.last().and_then(|n| n.as_const()).is_some_and(|n| n % chunk(func, id) == 0);
    let walked =
        *func.exprs.get(*last) == Expr::Var(along) && !outer.iter().any(|i| expr_vars(func, *i).contains(&along));
    let far = matches!(data.scope, Scope::Param | Scope::Const(_)) && data.strides.is_none();
    whole && walked && far
}

/// Lines that come to shared memory.
pub(super) struct Lines {
    pub to: BufId,
    /// Where their stage begins.
    pub stage: ExprId,
    /// The operand, by the iterators over its lines and along them.
    pub of: ExprId,
    pub own: Option<VarId>,
    pub along: VarId,
    /// How many come, how long each is, and from one to the next.
    pub count: i64,
    pub length: i64,
    pub pitch: i64,
}

impl Lines {
    /// All threads copy some chunks; zeros where there are no lines. The numbers of chunks are a multiple of that of threads.
    pub(super) fn copy(&self, b: &mut Builder, here: &Here, (first, count): (ExprId, ExprId)) {
        let chunk = chunk(b.func(), self.of);
        let chunks = self.length / chunk;
        let turns = IntExpr::from(lines(self.count * chunks));
        each(b, "turn", &turns, LoopKind::Unrolled, &mut |b, turn| {
            let number = times(b, turn, THREADS);
            let number = plus(b, number, here.thread);
            let (line, own) =
                (part(b, BinaryOp::DivEuclid, number, chunks), part(b, BinaryOp::RemEuclid, number, chunks));
            let place = times(b, own, chunk);
            let mut places = here.places.clone();
            let row = plus(b, first, line);
            places.insert(self.along, place);
            places.extend(self.own.map(|var| (var, row)));
            let value = at(b, self.of, &places, None);
            let copy = chunk_of(b, value, chunk);
            let far = times(b, line, self.pitch);
            let to_first = plus(b, far, place);
            let to_first = plus(b, self.stage, to_first);
            let there = ramp(b, to_first, chunk);
            let none = b.scalar(Scalar::zero(b.buf(self.to).dtype));
            let nothing = b.broadcast(none, chunk as u16);
            let store =
                |value| Box::new(Stmt::Store { buf: self.to, index: vec![there], value, access: Access::Proven });
            let cond = b.compare(CmpOp::Lt, row, count);
            b.push(Stmt::If { cond, then: store(copy), otherwise: Some(store(nothing)) });
        });
    }
}

/// So many neighbours.
pub(super) fn ramp(b: &mut Builder, first: ExprId, lanes: i64) -> ExprId {
    let one = b.index(1);
    b.raw(Expr::Ramp(first, one, lanes as u16), Ty { lanes: lanes as u16, ..Ty::index() })
}

/// The copy of the chunk that begins with an element.
fn chunk_of(b: &mut Builder, first: ExprId, lanes: i64) -> ExprId {
    let Expr::Load { buf, mut index, access } = b.func().exprs.get(first).clone() else { return first };
    if let Some(last) = index.last_mut() {
        *last = ramp(b, *last, lanes);
    }
    let ty = Ty { lanes: lanes as u16, ..b.ty(first) };
    let chunk = b.raw(Expr::Load { buf, index, access }, ty);
    b.raw(Expr::Call(Intrinsic::CopyAsync, vec![chunk], ty), ty)
}
