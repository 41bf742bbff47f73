//! Copies of a row, one of which is done while the others are.

use std::collections::BTreeMap;

use tenfold_ir::Loc;
use tenfold_ir::tir::copy::substitute;
use tenfold_ir::tir::{BufId, Builder, ExprId, LoopKind, Stmt, VarId};

/// Copies of one statement as one: their loops with as many turns become one, each turn of which has those of all; what is
/// no loop stands one behind the other.
pub(super) fn jammed(b: &mut Builder, all: Vec<Stmt>) -> Stmt {
    if let Some((bufs, bodies)) = each(&all, allocation) {
        let body = jammed(b, bodies);
        return bufs.into_iter().rev().fold(body, |body, buf: BufId| Stmt::Alloc { buf, body: Box::new(body) });
    }
    if let Some((places, bodies)) = each(&all, placed) {
        return Stmt::At(places[0], Box::new(jammed(b, bodies)));
    }
    if let Some(Stmt::Seq(first)) = all.first() {
        let length = first.len();
        let mut all: Vec<_> = all.into_iter().map(statements).collect();
        let columns: Vec<Vec<Stmt>> =
            (0..length).map(|_| all.iter_mut().filter_map(Iterator::next).collect()).collect();
        return Stmt::seq(columns.into_iter().map(|column| jammed(b, column)).collect::<Vec<_>>());
    }
    match each(&all, plain) {
        Some((loops, bodies)) if loops.iter().all(|own| own.turns() == loops[0].turns()) => {
            let first = loops[0];
            let here = b.read(first.var);
            let with = |(own, body): (Loop, Stmt)| substitute(b, body, &BTreeMap::from([(own.var, here)]));
            let bodies: Vec<Stmt> = loops.into_iter().zip(bodies).map(with).collect();
            let body = jammed(b, bodies);
            Stmt::loop_(first.var, first.min, first.extent, first.kind, body)
        }
        _ => Stmt::seq(all),
    }
}

/// What all of some statements are, and what is inside of them, if all are that.
fn each<T>(all: &[Stmt], f: fn(&Stmt) -> Option<(T, Stmt)>) -> Option<(Vec<T>, Vec<Stmt>)> {
    all.iter().map(f).collect::<Option<Vec<_>>>().map(|all| all.into_iter().unzip())
}

fn allocation(stmt: &Stmt) -> Option<(BufId, Stmt)> {
    match stmt {
        Stmt::Alloc { buf, body } => Some((*buf, (**body).clone())),
        _ => None,
    }
}

fn placed(stmt: &Stmt) -> Option<(Loc, Stmt)> {
    match stmt {
        Stmt::At(loc, body) => Some((*loc, (**body).clone())),
        _ => None,
    }
}

fn statements(stmt: Stmt) -> std::vec::IntoIter<Stmt> {
    match stmt {
        Stmt::Seq(all) => all.into_iter(),
        other => vec![other].into_iter(),
    }
}

/// The head of a loop.
#[derive(Clone, Copy)]
struct Loop {
    var: VarId,
    min: ExprId,
    extent: ExprId,
    kind: LoopKind,
}

impl Loop {
    fn turns(&self) -> (ExprId, ExprId, LoopKind) {
        (self.min, self.extent, self.kind)
    }
}

fn plain(stmt: &Stmt) -> Option<(Loop, Stmt)> {
    match stmt {
        Stmt::For { var, min, extent, kind: kind @ (LoopKind::Serial | LoopKind::Reduction), annotations, body }
            if annotations.is_empty() =>
        {
            Some((Loop { var: *var, min: *min, extent: *extent, kind: *kind }, (**body).clone()))
        }
        _ => None,
    }
}
