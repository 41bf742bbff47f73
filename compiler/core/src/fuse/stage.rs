//! A prim-func as stages: perfect nests of loops around one block each, in order.
//!
//! That is what legalisation makes and what fusion works on. A function of any other form has no stages, and is left
//! as it is.

use std::collections::BTreeMap;

use tenfold_ir::Loc;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{
    Block, BufId, Builder, Expr, ExprId, ExprMap, Intrinsic, IterKind, IterVar, LoopKind, Phase, PrimFunc, Scope, Stmt,
    VarId,
};

/// An iteration variable of a stage and how its loop runs.
#[derive(Clone, Debug)]
pub(crate) struct Iter {
    /// The block's variable.
    pub var: VarId,
    /// Its extent.
    pub extent: ExprId,
    /// Its kind.
    pub kind: IterKind,
    /// How its loop runs.
    pub order: LoopKind,
}

/// One nest.
#[derive(Clone, Debug)]
pub(crate) struct Stage {
    /// Name of the block.
    pub name: String,
    /// In the order of the loops. None has extent 1.
    pub iters: Vec<Iter>,
    /// Runs where every reduce variable is at 0.
    pub init: Option<Stmt>,
    /// Runs for every point.
    pub body: Stmt,
    /// Where it comes from.
    pub loc: Option<Loc>,
}

/// A function taken apart.
#[derive(Clone)]
pub(crate) struct Staged {
    /// The function without its body.
    pub b: Builder,
    /// Buffers between the stages.
    pub allocs: Vec<BufId>,
    /// In order.
    pub stages: Vec<Stage>,
}

impl Staged {
    /// Takes a function apart, if its body is nothing but stages.
    pub(crate) fn of(func: &PrimFunc) -> Option<Staged> {
        if func.phase != Phase::Blocks || func.exported {
            return None;
        }
        let mut func = func.clone();
        let body = std::mem::replace(&mut func.body, Stmt::Seq(Vec::new()));
        let mut staged = Staged { b: Builder::resume(func), allocs: Vec::new(), stages: Vec::new() };
        staged.split(body, None)?;
        Some(staged)
    }

    fn split(&mut self, stmt: Stmt, loc: Option<Loc>) -> Option<()> {
        match stmt {
            Stmt::Seq(all) => all.into_iter().try_for_each(|s| self.split(s, loc)),
            Stmt::At(inner, body) => self.split(*body, Some(inner)),
            Stmt::Alloc { buf, body } if self.b.buf(buf).scope == Scope::Global => {
                self.allocs.push(buf);
                self.split(*body, loc)
            }
            Stmt::For { .. } | Stmt::Block(_) => {
                let stage = self.nest(stmt, loc)?;
                self.stages.push(stage);
                Some(())
            }
            Stmt::Alloc { .. }
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Let { .. }
            | Stmt::Store { .. }
            | Stmt::Evaluate(_)
            | Stmt::Call { .. }
            | Stmt::Barrier(_)
            | Stmt::Assert { .. }
            | Stmt::Prefetch { .. } => None,
        }
    }

    fn nest(&mut self, mut stmt: Stmt, mut loc: Option<Loc>) -> Option<Stage> {
        let mut loops = Vec::new();
        loop {
            match stmt {
                Stmt::For { var, min, extent, kind, annotations, body } => {
                    let plain = matches!(kind, LoopKind::Serial | LoopKind::Reduction) && annotations.is_empty();
                    if !plain || *self.b.func().exprs.get(min) != Expr::Index(0) {
                        return None;
                    }
                    loops.push((var, extent, kind));
                    stmt = *body;
                }
                Stmt::At(inner, body) => {
                    loc = Some(inner);
                    stmt = *body;
                }
                Stmt::Block(block) => return self.block(*block, &loops, loc),
                Stmt::Seq(mut all) if all.len() == 1 => stmt = all.remove(0),
                Stmt::Seq(_)
                | Stmt::While { .. }
                | Stmt::If { .. }
                | Stmt::Let { .. }
                | Stmt::Alloc { .. }
                | Stmt::Store { .. }
                | Stmt::Evaluate(_)
                | Stmt::Call { .. }
                | Stmt::Barrier(_)
                | Stmt::Assert { .. }
                | Stmt::Prefetch { .. } => return None,
            }
        }
    }

    /// A block each of whose iterators is a loop of its own.
    fn block(&mut self, block: Block, loops: &[(VarId, ExprId, LoopKind)], loc: Option<Loc>) -> Option<Stage> {
        let plain = block.predicate.is_none() && block.matches.is_empty() && block.annotations.is_empty();
        if !plain || !block.allocs.is_empty() || block.iters.len() != loops.len() {
            return None;
        }
        let mut iters = Vec::new();
        for (var, extent, order) in loops {
            let iter = block.iters.iter().find(|i| *self.b.func().exprs.get(i.value) == Expr::Var(*var))?;
            if iter.extent != *extent {
                return None;
            }
            iters.push(Iter { var: iter.var, extent: *extent, kind: iter.kind, order: *order });
        }
        // Loops are made anew: what names them inside means the iterator, and no extent may.
        let turns: BTreeMap<VarId, VarId> =
            loops.iter().zip(&iters).map(|((var, ..), iter)| (*var, iter.var)).collect();
        let exprs = self.b.func().reachable(loops.iter().map(|(_, extent, _)| *extent));
        let names = |e: &ExprId| matches!(self.b.func().exprs.get(*e), Expr::Var(var) if turns.contains_key(var));
        if exprs.iter().any(names) {
            return None;
        }
        let unit = |b: &Builder, i: &Iter| *b.func().exprs.get(i.extent) == Expr::Index(1);
        let mut gone: Vec<VarId> = iters.iter().filter(|i| unit(&self.b, i)).map(|i| i.var).collect();
        if iters.iter().all(|i| i.kind != IterKind::Reduce || gone.contains(&i.var))
            && adds_vectors(&self.b, &block.body)
        {
            // Of all terms in one step a sum is still made.
            let last = iters.iter().rfind(|i| i.kind == IterKind::Reduce).map(|i| i.var);
            gone.retain(|v| Some(*v) != last);
        }
        iters.retain(|i| !gone.contains(&i.var));
        let (init, body) = (block.init, block.body);
        let zero = self.b.index(0);
        let mut zeroed = ExprMap::new(|b: &mut Builder, id| match b.func().exprs.get(id) {
            Expr::Var(v) => {
                let iter = turns.get(v).unwrap_or(v);
                if gone.contains(iter) { zero } else { b.read(*iter) }
            }
            _ => id,
        });
        let init = init.map(|s| zeroed.stmt(&mut self.b, s));
        let body = zeroed.stmt(&mut self.b, body);
        Some(Stage { name: block.name, iters, init, body, loc })
    }

    /// The function put together again, with one nest per stage.
    pub(crate) fn join(mut self) -> PrimFunc {
        let mut all = Vec::new();
        for stage in std::mem::take(&mut self.stages) {
            all.push(nest(&mut self.b, stage));
        }
        let mut body = if all.len() == 1 { all.remove(0) } else { Stmt::Seq(all) };
        for buf in self.allocs.iter().rev() {
            body = Stmt::Alloc { buf: *buf, body: Box::new(body) };
        }
        self.b.push(body);
        self.b.finish()
    }
}

/// Whether a statement adds products of vectors to what it stores.
fn adds_vectors(b: &Builder, body: &Stmt) -> bool {
    let Stmt::Store { value, .. } = body else { return false };
    let Expr::Binary(BinaryOp::Add, _, term) = b.func().exprs.get(*value) else { return false };
    matches!(b.func().exprs.get(*term), Expr::Call(Intrinsic::Dot(dot), ..) if dot.is_wide())
}

/// Iterators of their own for a new stage, and what stands for the old ones.
pub(crate) fn renamed<'i>(
    b: &mut Builder,
    iters: impl Iterator<Item = &'i Iter>,
) -> (Vec<Iter>, BTreeMap<VarId, ExprId>) {
    let mut to = BTreeMap::new();
    let mut new = Vec::new();
    for iter in iters {
        let name = b.sym(iter.var).to_string();
        let var = b.index_var(&name);
        to.insert(iter.var, b.read(var));
        new.push(Iter { var, ..iter.clone() });
    }
    (new, to)
}

/// A stage as loops around a block.
fn nest(b: &mut Builder, stage: Stage) -> Stmt {
    let mut loops = Vec::new();
    let mut iters = Vec::new();
    for iter in &stage.iters {
        let var = loop_var(b, iter.var);
        iters.push(IterVar { var: iter.var, extent: iter.extent, kind: iter.kind, value: b.read(var) });
        loops.push((var, iter.extent, iter.order));
    }
    let mut stmt = block_of(stage, iters);
    let min = b.index(0);
    for (var, extent, kind) in loops.into_iter().rev() {
        stmt = Stmt::loop_(var, min, extent, kind, stmt);
    }
    stmt
}

/// A new variable for the loop of an iterator.
pub(crate) fn loop_var(b: &mut Builder, iter: VarId) -> VarId {
    let base = format!("{}_l", b.sym(iter));
    b.index_var(&base)
}

/// The block of a stage, its iterators bound.
pub(crate) fn block_of(stage: Stage, iters: Vec<IterVar>) -> Stmt {
    let block = Block { iters, init: stage.init, ..Block::new(stage.name, stage.body) };
    let stmt = Stmt::Block(Box::new(block));
    match stage.loc {
        Some(loc) => Stmt::At(loc, Box::new(stmt)),
        None => stmt,
    }
}
