//! What the threads of a row can hold in registers: elements that each loop over the columns finds at the same place.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::tir::{
    BufAccess, BufId, Expr, ExprId, PrimFunc, Scope, Stmt, VarId, accesses, expr_vars, own_accesses,
};

use super::rows::{Share, Update};
use super::{Bind, Loop};
use crate::tir_passes::kernel::constant;

/// Elements of a small buffer of a turn, of which every thread has one of its own.
const SMALL: i64 = 16;

/// The elements of a row of a buffer: the buffer, and the indices before that of the column.
pub(super) type Place = (BufId, Vec<ExprId>);

/// When the loops over the columns, by their order, use such elements.
#[derive(Default)]
pub(super) struct Life {
    /// The loops that read or write them.
    pub used: BTreeSet<usize>,
    /// The loops that write them.
    pub written: BTreeSet<usize>,
    /// The loops that read what was there before.
    pub read: BTreeSet<usize>,
}

impl Life {
    /// Whether they are read before any loop has written them.
    pub(super) fn read_first(&self) -> bool {
        match (self.read.first(), self.written.first()) {
            (Some(read), Some(written)) => read <= written,
            (read, _) => read.is_some(),
        }
    }
}

/// The loops of a turn over one number of columns.
#[derive(Default)]
pub(super) struct Found {
    /// How many columns: a number, or what the host can compute.
    pub columns: Option<ExprId>,
    /// Elements that each thread finds at its own columns alone.
    pub rows: BTreeMap<Place, Life>,
    /// Buffers of the turn.
    own: BTreeSet<BufId>,
    /// Buffers that are accessed elsewhere than at a column: whether they are written there.
    elsewhere: BTreeMap<BufId, bool>,
    /// Buffers outside of the turn that a buffer of the turn is computed from, beside the columns.
    sources: BTreeSet<BufId>,
    loops: usize,
    sums: usize,
}

impl Found {
    /// Whether what is used in more than one loop has memory else.
    pub(super) fn has_memory(&self) -> bool {
        self.held().all(|((buf, _), _)| !self.is_own(*buf))
    }

    /// The loops of a turn, if its threads need nothing of each other but sums.
    pub(super) fn of(bind: &Bind<'_>, loops: &[Loop], body: &Stmt) -> Option<Found> {
        let mut found = Found::default();
        found.look(bind, body)?;
        let columns = found.columns?;
        let own = bound(body);
        let known = expr_vars(bind.b.func(), columns).iter().all(|v| !own.contains(v));
        if !known || !bind.is_host(&[columns], loops) {
            return None;
        }
        let reads_memory = found.rows.keys().any(|(buf, _)| !found.own.contains(buf));
        (found.sums > 0 && reads_memory && found.is_apart(bind.b.func())).then_some(found)
    }

    /// Whether a buffer is one of the turn.
    pub(super) fn is_own(&self, buf: BufId) -> bool {
        self.own.contains(&buf)
    }

    /// What is used in more than one loop, or has no memory else.
    pub(super) fn held(&self) -> impl Iterator<Item = (&Place, &Life)> {
        self.rows.iter().filter(|((buf, _), life)| life.used.len() > 1 || self.is_own(*buf))
    }

    fn look(&mut self, bind: &Bind<'_>, stmt: &Stmt) -> Option<()> {
        let func = bind.b.func();
        match bind.share(stmt) {
            Some(Share::Turns(l, body)) => return self.turns(func, l, body),
            Some(Share::Sum(l, update)) => return self.sum(func, l, &update),
            None => {}
        }
        match stmt {
            Stmt::Seq(all) => all.iter().try_for_each(|s| self.look(bind, s)),
            Stmt::At(_, body) => self.look(bind, body),
            Stmt::Let { value, body, .. } if !func.loads(*value) => self.look(bind, body),
            Stmt::Alloc { buf, body } if func.buffers[buf.0 as usize].scope == Scope::Local => {
                self.own.insert(*buf);
                self.look(bind, body)
            }
            Stmt::Store { buf, .. } => {
                for a in accesses(func, stmt) {
                    *self.elsewhere.entry(a.buf).or_default() |= a.write;
                    if self.own.contains(buf) && !self.own.contains(&a.buf) {
                        self.sources.insert(a.buf);
                    }
                }
                Some(())
            }
            _ => None,
        }
    }

    fn sum(&mut self, func: &PrimFunc, l: Loop, update: &Update) -> Option<()> {
        self.sums += 1;
        self.elsewhere.insert(update.buf, true);
        let index = update.index.iter().all(|i| !func.loads(*i));
        let terms = Stmt::Evaluate(update.term);
        if index { self.turns(func, l, &terms) } else { None }
    }

    /// A loop over the columns: at each of them it may read and write that column, and read what has none.
    fn turns(&mut self, func: &PrimFunc, l: Loop, body: &Stmt) -> Option<()> {
        let number = |e: ExprId| constant(func, e);
        let same = |e: ExprId| e == l.extent || number(e).is_some() && number(e) == number(l.extent);
        if func.literal(l.min) != Some(0) || !self.columns.is_none_or(same) {
            return None;
        }
        let number = self.loops;
        (self.columns, self.loops) = (Some(l.extent), number + 1);
        let (inside, bound) = (allocated(body), bound(body));
        let mut all = Vec::new();
        in_order(func, body, true, &mut all);
        all.retain(|(a, _)| !inside.contains(&a.buf));
        let always: BTreeSet<BufId> = all.iter().filter(|(a, always)| a.write && *always).map(|(a, _)| a.buf).collect();
        // Places that the turn of the loop has written so far.
        let mut known = BTreeSet::new();
        for (a, is_plain) in all {
            if a.write && !always.contains(&a.buf) {
                return None;
            }
            let index = a.index?;
            if !index.iter().any(|i| expr_vars(func, *i).contains(&l.var)) {
                if a.write {
                    return None;
                }
                self.elsewhere.entry(a.buf).or_default();
                if !self.own.contains(&a.buf) {
                    self.sources.insert(a.buf);
                }
                continue;
            }
            let place = (a.buf, column(func, a.buf, &index, l.var, &bound)?);
            let life = self.rows.entry(place.clone()).or_default();
            if !a.write && !known.contains(&place) {
                life.read.insert(number);
            }
            life.used.insert(number);
            if a.write {
                life.written.insert(number);
                if is_plain {
                    known.insert(place);
                }
            }
        }
        Some(())
    }

    /// Whether no thread needs what another one writes.
    fn is_apart(&self, func: &PrimFunc) -> bool {
        let places = |buf: BufId| self.rows.keys().filter(|(b, _)| *b == buf).count();
        let of_columns = self.rows.iter().all(|((buf, _), life)| {
            let alone = places(*buf) == 1 && !self.elsewhere.contains_key(buf);
            alone || life.written.is_empty() && !self.is_own(*buf)
        });
        let small = |buf: BufId| {
            let data = &func.buffers[buf.0 as usize];
            data.bytes().is_some_and(|bytes| bytes <= SMALL * data.dtype.size_bytes() as i64)
        };
        // What lies outside of the turn is written by the first thread, which nobody else may read then.
        let outside = |buf: BufId, write: bool| !write || places(buf) == 0 && !self.sources.contains(&buf);
        let of_rows =
            |(buf, write): (&BufId, &bool)| if self.is_own(*buf) { small(*buf) } else { outside(*buf, *write) };
        of_columns && self.elsewhere.iter().all(of_rows)
    }
}

/// The indices of an access before that of the column, if its elements are neighbours along the columns, and these indices
/// have values outside of the loop.
fn column(func: &PrimFunc, buf: BufId, index: &[ExprId], var: VarId, bound: &BTreeSet<VarId>) -> Option<Vec<ExprId>> {
    let (last, before) = index.split_last()?;
    let is_inner = |v: &VarId| *v == var || bound.contains(v);
    let fixed = |e: &ExprId| !func.loads(*e) && !expr_vars(func, *e).iter().any(is_inner);
    let neighbours = *func.exprs.get(*last) == Expr::Var(var) && func.buffers[buf.0 as usize].strides.is_none();
    (neighbours && before.iter().all(fixed)).then(|| before.to_vec())
}

/// Buffers that live inside of a statement.
fn allocated(stmt: &Stmt) -> BTreeSet<BufId> {
    let mut all = BTreeSet::new();
    stmt.walk(&mut |s| all.extend(s.allocates()));
    all
}

/// Variables that a statement binds.
fn bound(stmt: &Stmt) -> BTreeSet<VarId> {
    let mut all = BTreeSet::new();
    stmt.walk(&mut |s| all.extend(s.bound()));
    all
}

/// What a statement accesses, in its order, and whether it does each time that it runs, and not in a branch or a loop
/// inside.
fn in_order(func: &PrimFunc, stmt: &Stmt, always: bool, all: &mut Vec<(BufAccess, bool)>) {
    all.extend(own_accesses(func, stmt).into_iter().map(|a| (a, always)));
    let always = always && matches!(stmt, Stmt::Seq(_) | Stmt::At(..) | Stmt::Let { .. } | Stmt::Alloc { .. });
    stmt.children().into_iter().for_each(|child| in_order(func, child, always, all));
}
