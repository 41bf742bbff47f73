//! What a chain is made of.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::copy::copy;
use tenfold_ir::tir::{
    BufId, Builder, Expr, ExprId, IterKind, LoopKind, PrimFunc, Scope, Stmt, VarId, Viewer, substitution,
};

use crate::dlight::body::{flat, nest};
use crate::fuse::loops::redirected;
use crate::fuse::stage::{Iter, Stage};

/// A stage each of whose instances starts some scalars, goes through loops that change them, and ends with them.
pub(super) struct Carried {
    /// The scalars.
    pub locals: Vec<BufId>,
    /// What starts them.
    before: Vec<Stmt>,
    /// The loops, outermost first.
    pub loops: Vec<(VarId, ExprId)>,
    /// What a turn does, without branches.
    body: Stmt,
    /// What is done with them.
    after: Vec<Stmt>,
}

/// One of the three.
#[derive(Clone, Copy)]
pub(super) enum Piece {
    Before,
    Turn,
    After,
}

impl Carried {
    pub(super) fn of(func: &PrimFunc, stage: &Stage) -> Option<Carried> {
        let spatial = stage.init.is_none() && stage.iters.iter().all(|i| i.kind == IterKind::Spatial);
        let (mut locals, mut all) = (Vec::new(), Vec::new());
        flat(func, &stage.body, &mut locals, &mut all)?;
        let at = all.iter().position(|s| matches!(s, Stmt::For { .. }))?;
        let after = all.split_off(at + 1);
        let (loops, body) = nest(func, LoopKind::Serial, all.pop()?)?;
        let straight = all.iter().chain(&after).chain([&body]).all(|s| is_straight(func, s));
        (spatial && straight && !locals.is_empty()).then_some(Carried { locals, before: all, loops, body, after })
    }

    /// A piece as one statement.
    pub(super) fn piece(&self, piece: Piece) -> Stmt {
        match piece {
            Piece::Before => Stmt::seq(self.before.clone()),
            Piece::Turn => self.body.clone(),
            Piece::After => Stmt::seq(self.after.clone()),
        }
    }

    /// Turns of all loops, if they are a number.
    pub(super) fn turns(&self, func: &PrimFunc) -> Option<i64> {
        let viewer = &mut Viewer::new(func);
        self.loops.iter().try_fold(1_i64, |n, (_, extent)| n.checked_mul(viewer.int(*extent).as_const()?))
    }

    /// Whether how often loops turn depends on an iterator.
    pub(super) fn turns_by(&self, func: &PrimFunc, var: VarId) -> bool {
        let names = |id: ExprId| matches!(func.exprs.get(id), Expr::Var(v) if *v == var);
        self.loops.iter().any(|(_, extent)| func.reachable([*extent]).into_iter().any(names))
    }

    /// Buffers for what so many chains carry.
    pub(super) fn buffers(&self, b: &mut Builder, count: i64) -> BTreeMap<BufId, BufId> {
        let mut all = BTreeMap::new();
        for local in &self.locals {
            let data = b.buf(*local).clone();
            let new = b.buffer(&format!("{}_of", data.name), data.dtype, vec![IntExpr::from(count)], Scope::Local);
            all.insert(*local, new);
        }
        all
    }

    /// A piece of several chains: a loop over them, in which `at` says what variables are.
    pub(super) fn of_several(
        &self,
        b: &mut Builder,
        piece: Piece,
        (extent, kind): (ExprId, LoopKind),
        bufs: &BTreeMap<BufId, BufId>,
        at: &mut dyn FnMut(&mut Builder, ExprId) -> BTreeMap<VarId, ExprId>,
    ) -> Stmt {
        let piece = self.piece(piece);
        if piece.is_nop() {
            return piece;
        }
        let var = b.index_var("chain");
        let chain = b.read(var);
        let to = at(b, chain);
        let body = in_buffers(b, &piece, &to, bufs, chain);
        let min = b.index(0);
        Stmt::loop_(var, min, extent, kind, body)
    }
}

/// A copy of a piece for one chain, whose scalars are elements of buffers.
pub(super) fn in_buffers(
    b: &mut Builder,
    piece: &Stmt,
    to: &BTreeMap<VarId, ExprId>,
    bufs: &BTreeMap<BufId, BufId>,
    chain: ExprId,
) -> Stmt {
    let body = copy(b, piece, to);
    redirected(b, body, &|_, buf, _| bufs.get(&buf).map(|new| (*new, vec![chain])))
}

/// The stage in which each instance is several chains.
pub(super) fn stage_of(
    b: &mut Builder,
    stage: &Stage,
    iters: Vec<Iter>,
    bufs: &BTreeMap<BufId, BufId>,
    all: Vec<Stmt>,
) -> Stage {
    let mut body = Stmt::seq(all);
    for buf in bufs.values() {
        body = Stmt::Alloc { buf: *buf, body: Box::new(body) };
    }
    Stage { name: b.fresh_name(&stage.name), iters, init: None, body, loc: stage.loc }
}

/// An expression with variables replaced.
pub(super) fn replaced(b: &mut Builder, id: ExprId, to: &BTreeMap<VarId, ExprId>) -> ExprId {
    substitution(to).expr(b, id)
}

/// Whether a statement stores values and names some, all turns in the same way.
fn is_straight(func: &PrimFunc, stmt: &Stmt) -> bool {
    let branches = |id: ExprId| match func.exprs.get(id) {
        Expr::If(_, a, b) => func.loads(*a) || func.loads(*b),
        _ => false,
    };
    let plain = |s: &Stmt| matches!(s, Stmt::Seq(_) | Stmt::At(..) | Stmt::Let { .. } | Stmt::Store { .. });
    let mut all = true;
    stmt.walk(&mut |s| all &= plain(s));
    all && !func.exprs_in(stmt).into_iter().any(branches)
}
