//! The tree of loops as statements, with buffers where they were placed.

use std::collections::BTreeMap;

use tenfold_ir::tir::{BufId, Builder, Expr, ExprId, ExprMap, IterVar, Phase, PrimFunc, Scope, Stmt, VarId};

use super::Fusion;
use super::place::{From, Place};
use super::tree::Node;
use crate::fuse::import::cleaned;
use crate::fuse::stage::{block_of, loop_var};

/// What an access becomes: another buffer and index, or nothing else than it is.
type Redirect<'f> = dyn Fn(&mut Builder, BufId, &[ExprId]) -> Option<(BufId, Vec<ExprId>)> + 'f;

/// What a load becomes, if another expression.
type Replaced<'f> = dyn Fn(&mut Builder, BufId, &[ExprId]) -> Option<ExprId> + 'f;

/// Every load of a statement replaced.
pub(crate) fn redirected_loads(b: &mut Builder, stmt: Stmt, to: &Replaced<'_>) -> Stmt {
    let mut loads = ExprMap::new(|b: &mut Builder, id: ExprId| match b.func().exprs.get(id).clone() {
        Expr::Load { buf, index, .. } => to(b, buf, &index).unwrap_or(id),
        _ => id,
    });
    loads.stmt(b, stmt)
}

/// Every access of a statement redirected.
pub(crate) fn redirected(b: &mut Builder, stmt: Stmt, to: &Redirect<'_>) -> Stmt {
    let mut loads = ExprMap::new(|b: &mut Builder, id: ExprId| {
        let Expr::Load { buf, index, access } = b.func().exprs.get(id).clone() else { return id };
        let ty = b.ty(id);
        match to(b, buf, &index) {
            Some((buf, index)) => b.raw(Expr::Load { buf, index, access }, ty),
            None => id,
        }
    });
    let stmt = loads.stmt(b, stmt);
    statements(b, stmt, to)
}

fn statements(b: &mut Builder, stmt: Stmt, to: &Redirect<'_>) -> Stmt {
    match stmt {
        Stmt::Store { buf, index, value, access } => {
            let (buf, index) = to(b, buf, &index).unwrap_or((buf, index));
            Stmt::Store { buf, index, value, access }
        }
        Stmt::Prefetch { buf, index } => {
            let (buf, index) = to(b, buf, &index).unwrap_or((buf, index));
            Stmt::Prefetch { buf, index }
        }
        other => other.map_children(&mut |s| statements(b, s, to)),
    }
}

impl Fusion {
    pub(super) fn write(mut self, tree: &[Node]) -> PrimFunc {
        let places = std::mem::take(&mut self.places);
        let to = |b: &mut Builder, buf: BufId, index: &[ExprId]| match places.get(&buf)? {
            Place::Local { kept, .. } => {
                Some((buf, index.iter().zip(kept).filter(|(_, k)| **k).map(|(i, _)| *i).collect()))
            }
            Place::Result(out, map) => Some((*out, map.iter().map(|from| moved(b, *from, index)).collect())),
            Place::Memory | Place::Nowhere => None,
        };
        for stage in &mut self.staged.stages {
            let body = std::mem::replace(&mut stage.body, Stmt::nop());
            stage.body = redirected(&mut self.staged.b, body, &to);
        }
        self.shrink(&places);
        let mut bound = BTreeMap::new();
        let body = self.nodes(tree, &mut Vec::new(), &places, &mut bound);
        let mut b = self.staged.b;
        b.push(body);
        let func = cleaned(&b.finish());
        PrimFunc { phase: Phase::Scheduled, ..func }
    }

    fn shrink(&mut self, places: &BTreeMap<BufId, Place>) {
        for (buf, place) in places {
            if let Place::Local { kept, .. } = place {
                let data = self.staged.b.buf_mut(*buf);
                let shape = data.shape.iter().zip(kept).filter(|(_, k)| **k).map(|(d, _)| d.clone()).collect();
                (data.shape, data.scope) = (shape, Scope::Local);
            }
        }
    }

    /// What stands inside the loops at `at`, with the buffers that live there.
    fn nodes(
        &mut self,
        nodes: &[Node],
        at: &mut Vec<usize>,
        places: &BTreeMap<BufId, Place>,
        bound: &mut BTreeMap<VarId, ExprId>,
    ) -> Stmt {
        let mut all = Vec::new();
        for (n, node) in nodes.iter().enumerate() {
            at.push(n);
            all.push(self.node(node, at, places, bound));
            at.pop();
        }
        let mut body = Stmt::seq(all);
        for (buf, place) in places.iter().rev() {
            let here = match place {
                Place::Local { within, .. } => within.last().map_or(at.is_empty(), |(path, _)| path == at),
                Place::Memory => at.is_empty(),
                Place::Result(..) | Place::Nowhere => false,
            };
            if here {
                body = Stmt::Alloc { buf: *buf, body: Box::new(body) };
            }
        }
        body
    }

    fn node(
        &mut self,
        node: &Node,
        at: &mut Vec<usize>,
        places: &BTreeMap<BufId, Place>,
        bound: &mut BTreeMap<VarId, ExprId>,
    ) -> Stmt {
        match node {
            Node::Stage(stage) => {
                let stage = self.staged.stages[*stage].clone();
                if self.is_identity(&stage.body) {
                    return Stmt::nop();
                }
                let value = |var: VarId| bound.get(&var).copied().unwrap_or(ExprId(0));
                let iter = |i: &crate::fuse::stage::Iter| IterVar {
                    var: i.var,
                    extent: i.extent,
                    kind: i.kind,
                    value: value(i.var),
                };
                let iters = stage.iters.iter().map(iter).collect();
                block_of(stage, iters)
            }
            Node::Loop { vars, extent, kind, inside, .. } => {
                let b = &mut self.staged.b;
                let var = loop_var(b, vars[0].1);
                let (value, min) = (b.read(var), b.index(0));
                bound.extend(vars.iter().map(|(_, v)| (*v, value)));
                let body = self.nodes(inside, at, places, bound);
                if body.is_nop() { body } else { Stmt::loop_(var, min, *extent, *kind, body) }
            }
        }
    }
}

impl Fusion {
    /// Whether a stage puts an element where it is already.
    fn is_identity(&self, body: &Stmt) -> bool {
        let Stmt::Store { buf, index, value, .. } = body else { return false };
        let load = self.staged.b.func().exprs.get(*value);
        matches!(load, Expr::Load { buf: from, index: at, .. } if from == buf && at == index)
    }
}

fn moved(b: &mut Builder, from: From, index: &[ExprId]) -> ExprId {
    let offset = b.index(from.offset);
    match from.axis {
        None => offset,
        Some(axis) if from.offset == 0 => index[axis],
        Some(axis) => b.add(index[axis], offset),
    }
}
