//! The part of a buffer that a statement touches, over what is bound outside of the statement.

use std::collections::BTreeMap;

use tenfold_ir::arith::{Domain, IntExpr, Prover, Range, Rectangle, Sym, touched};
use tenfold_ir::tir::{Block, BufId, Elem, ExprId, Stmt, VarId, Viewer};

use super::access::{Access, accesses, exprs_of};
use crate::schedule::edit::State;
use crate::schedule::tree;

/// What a walk knows of the variables bound between the statement it began at and where it is.
#[derive(Clone, Default)]
struct Inside {
    domain: Domain,
    /// Iterators and `let`s over what is bound outside of them.
    values: BTreeMap<Sym, IntExpr>,
    /// Variables of which nothing is known.
    opaque: Vec<Sym>,
}

/// The iterators of a block, over the loops around it.
pub(in crate::schedule) fn binding(state: &State<'_>, block: &Block) -> BTreeMap<Sym, IntExpr> {
    let mut viewer = Viewer::new(state.b.func());
    block.iters.iter().map(|i| (state.b.sym(i.var).clone(), viewer.int(i.value))).collect()
}

/// The smallest rectangle found around what `stmt` reads (or writes) of `buf`, over what is bound outside of `stmt`.
pub(in crate::schedule) fn region_of(state: &State<'_>, stmt: &Stmt, buf: BufId, writes: bool) -> Rectangle {
    bounded_region(state, stmt, buf, writes).0
}

/// The same, and whether every bound of it was found: else it is wider than what is touched.
pub(in crate::schedule) fn bounded_region(
    state: &State<'_>,
    stmt: &Stmt,
    buf: BufId,
    writes: bool,
) -> (Rectangle, bool) {
    let mut walk = Walk { state, viewer: Viewer::new(state.b.func()), buf, writes, found: None, widened: false };
    walk.stmt(stmt, &Inside::default());
    let bounded = !walk.widened;
    let shape = &state.b.buf(buf).shape;
    let found =
        walk.found.unwrap_or_else(|| Rectangle { axes: vec![tenfold_ir::arith::IntervalSet::Empty; shape.len()] });
    (found, bounded)
}

struct Walk<'s> {
    state: &'s State<'s>,
    viewer: Viewer<'s>,
    buf: BufId,
    writes: bool,
    found: Option<Rectangle>,
    /// Whether an axis was taken whole because nothing better is known.
    widened: bool,
}

impl Walk<'_> {
    fn sym(&self, var: VarId) -> Sym {
        self.state.b.sym(var).clone()
    }

    fn int(&mut self, e: ExprId, inside: &Inside) -> IntExpr {
        self.viewer.int(e).substitute(&|sym: &Sym| inside.values.get(sym).cloned())
    }

    fn stmt(&mut self, stmt: &Stmt, inside: &Inside) {
        match stmt {
            Stmt::Block(block) => self.block(block, inside),
            Stmt::For { var, min, extent, body, .. } => {
                self.here(stmt, inside);
                let range = Range::new(self.int(*min, inside), self.int(*extent, inside));
                let mut inner = inside.clone();
                inner.domain.push(self.sym(*var), range);
                self.stmt(body, &inner);
            }
            Stmt::Let { var, value, body } => {
                self.here(stmt, inside);
                let inner = self.bound(*var, *value, inside);
                self.stmt(body, &inner);
            }
            stmt => {
                self.here(stmt, inside);
                stmt.children().into_iter().for_each(|s| self.stmt(s, inside));
            }
        }
    }

    fn bound(&mut self, var: VarId, value: ExprId, inside: &Inside) -> Inside {
        let mut inner = inside.clone();
        let float = matches!(self.state.b.ty(value).elem, Elem::Scalar(d) if d.is_float());
        if float {
            inner.opaque.push(self.sym(var));
        } else {
            let value = self.int(value, inside);
            inner.values.insert(self.sym(var), value);
        }
        inner
    }

    fn block(&mut self, block: &Block, inside: &Inside) {
        let mut inner = inside.clone();
        for iter in &block.iters {
            let value = self.int(iter.value, inside);
            inner.values.insert(self.sym(iter.var), value);
        }
        let stmt = Stmt::Block(Box::new(Block { body: Stmt::Seq(Vec::new()), init: None, ..block.clone() }));
        self.here(&stmt, &inner);
        block.init.iter().for_each(|s| self.stmt(s, &inner));
        self.stmt(&block.body, &inner);
    }

    /// The accesses of the statement itself.
    fn here(&mut self, stmt: &Stmt, inside: &Inside) {
        let alone = match stmt {
            Stmt::Store { .. } | Stmt::Call { .. } => vec![stmt.clone()],
            stmt => exprs_of(stmt).into_iter().map(Stmt::Evaluate).collect(),
        };
        for stmt in alone {
            let found = accesses(self.state.module, &self.state.b.func().exprs, &stmt);
            let wanted = if self.writes { found.writes } else { found.reads };
            let buf = self.buf;
            wanted.iter().filter(|a| a.buf == buf).for_each(|a| self.access(a, inside));
        }
    }

    fn access(&mut self, access: &Access, inside: &Inside) {
        let shape = self.state.b.buf(self.buf).shape.clone();
        let whole = Rectangle::whole(&shape);
        let here = match &access.index {
            None => {
                self.widened = true;
                whole.clone()
            }
            Some(index) => {
                let index: Vec<IntExpr> = index.iter().map(|e| self.int(*e, inside)).collect();
                let mut found = touched(&index, &inside.domain, &self.viewer.prover);
                for (axis, set) in found.axes.iter_mut().enumerate() {
                    if !self.known(set, inside) {
                        *set = whole.axes[axis].clone();
                        self.widened = true;
                    }
                }
                found
            }
        };
        self.found = Some(match self.found.take() {
            None => here,
            Some(so_far) => so_far.union(&here, &self.viewer.prover),
        });
    }

    /// Whether both ends of a set are made of variables that are bound outside.
    fn known(&self, set: &tenfold_ir::arith::IntervalSet, inside: &Inside) -> bool {
        let ok = |e: &IntExpr| {
            e.vars().iter().all(|sym| {
                self.state.b.var_of(sym).is_some() && !inside.domain.binds(sym) && !inside.opaque.contains(sym)
            })
        };
        set.min().is_some_and(ok) && set.max().is_some_and(ok)
    }
}

/// A prover that knows the facts of the function and the ranges of the loops around a place.
pub(in crate::schedule) fn prover_at(state: &State<'_>, found: &impl Fn(&Stmt) -> bool) -> Prover {
    let mut viewer = Viewer::new(state.b.func());
    for stmt in tree::path(&state.body, found).unwrap_or_default() {
        match stmt {
            Stmt::For { var, min, extent, .. } => {
                let (min, extent) = (viewer.int(*min), viewer.int(*extent));
                viewer.prover.assume_range(state.b.sym(*var), &min, &(&min + &extent));
            }
            Stmt::Block(block) => {
                for iter in &block.iters {
                    let (value, extent) = (viewer.int(iter.value), viewer.int(iter.extent));
                    let sym = state.b.sym(iter.var);
                    viewer.prover.assume_range(sym, &IntExpr::from(0), &extent);
                    viewer.prover.assume_eq(&IntExpr::var(sym.clone()), &value);
                }
            }
            _ => {}
        }
    }
    viewer.prover.clone()
}
