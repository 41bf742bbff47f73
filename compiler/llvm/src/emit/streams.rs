//! Which results a function writes past the caches: those that are too large to stay in one, in runs of memory.
//!
//! A store into a cache reads the line that it changes. Of a result of which nothing is left in the caches by the time
//! that somebody reads it, that is a third of all that a copy moves. Intel's manual of optimisation (7.4.1, "The
//! non-temporal store instructions") says what it takes to be faster: whole lines, written one after the other, and a
//! fence before another thread looks.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_core::Target;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{BufId, Expr, ExprId, Param, PrimFunc, Stmt, VarId, Viewer, own_accesses, read};

use super::expr::contiguous;

/// Bytes that such a store has at least, and whose multiple is where memory of an allocator begins.
const WORD: u32 = 16;

/// Buffers that are written past the caches.
#[derive(Default)]
pub(super) struct Streamed {
    /// Bytes whose multiple is where they and all stores to them begin.
    pub align: u32,
    /// The buffers.
    pub of: BTreeSet<BufId>,
    /// Large parameters that nothing is made of but these.
    pub from: BTreeSet<BufId>,
    /// Whether pages are asked for ahead of stores: it gains nothing where what comes from memory comes in lines.
    pub asks: bool,
    /// Buffers of which the turn of a loop that is being written has asked for a line.
    pub asked: BTreeSet<BufId>,
}

/// How far ahead of a store the page lies of which a line is asked for.
pub(super) const AHEAD: i64 = 2 * PAGE;

/// Bytes of a page.
pub(super) const PAGE: i64 = 4 << 10;

/// What a function may write past the caches, from the widest stores on: a vector is one where buffers begin at a
/// multiple of it, else several words.
pub(super) fn streamed(prim: &PrimFunc, target: &Target) -> Vec<Streamed> {
    let (of, wide) = (aligned(prim, target, WORD), target.vector_bytes());
    if of.is_empty() {
        return Vec::new();
    }
    let vectors = wide > WORD && aligned(prim, target, wide) == of;
    let (from, asks) = (read_once(prim, target, &of), !target.reads_lines());
    let way = |align| Streamed { align, of: of.clone(), from: from.clone(), asks, asked: BTreeSet::new() };
    vectors.then_some(wide).into_iter().chain([WORD]).map(way).collect()
}

/// The large parameters that are read where one of these buffers is written, and nowhere else: they come from memory, too.
fn read_once(prim: &PrimFunc, target: &Target, of: &BTreeSet<BufId>) -> BTreeSet<BufId> {
    let Some(least) = target.past_caches() else { return BTreeSet::new() };
    let mut other = BTreeSet::new();
    prim.body.walk(&mut |s| match s {
        Stmt::Store { buf, .. } if of.contains(buf) => {}
        s => other.extend(own_accesses(prim, s).into_iter().filter(|a| !a.write).map(|a| a.buf)),
    });
    let large = |param: &Param| match param {
        Param::Buffer(buf, _) => is_large(prim, *buf, least).then_some(*buf),
        Param::Value(_) | Param::Workspace => None,
    };
    prim.params.iter().filter_map(large).filter(|buf| !of.contains(buf) && !other.contains(buf)).collect()
}

/// The buffers that are written past the caches by stores at multiples of `align`.
fn aligned(prim: &PrimFunc, target: &Target, align: u32) -> BTreeSet<BufId> {
    let Some(least) = target.past_caches() else { return BTreeSet::new() };
    let large = |param: &Param| match param {
        Param::Buffer(buf, _) => is_large(prim, *buf, least).then_some(*buf),
        Param::Value(_) | Param::Workspace => None,
    };
    let large: BTreeSet<BufId> = prim.params.iter().filter_map(large).collect();
    // A call that ends early would leave without the fence.
    if large.is_empty() || prim.body.any(&mut |s| matches!(s, Stmt::Assert { .. })) {
        return BTreeSet::new();
    }
    let loaded = read(prim, &prim.body);
    let large: BTreeSet<BufId> = large.difference(&loaded).copied().collect();
    let mut runs = Runs {
        viewer: Viewer::new(prim),
        align: i64::from(align),
        of: large.iter().map(|buf| (*buf, Run::None)).collect(),
    };
    runs.visit(&prim.body, None);
    large.into_iter().filter(|buf| runs.of.get(buf) == Some(&Run::Whole)).collect()
}

/// Whether vectors are hardly more than moved.
pub(super) fn is_little(prim: &PrimFunc, all: &[ExprId]) -> bool {
    const LITTLE: usize = 8;
    let computes = |id: &&ExprId| match prim.exprs.get(**id) {
        Expr::Load { .. } | Expr::Ramp(..) | Expr::Broadcast(..) | Expr::Const(_) | Expr::Index(_) | Expr::Var(_) => {
            false
        }
        Expr::Unary(..)
        | Expr::Binary(..)
        | Expr::Compare(..)
        | Expr::Select(..)
        | Expr::If(..)
        | Expr::Cast(..)
        | Expr::Call(..)
        | Expr::Shuffle(..) => prim.exprs.ty(**id).lanes > 1,
    };
    all.iter().filter(computes).count() <= LITTLE
}

fn is_large(prim: &PrimFunc, buf: BufId, least: i64) -> bool {
    let data = &prim.buffers[buf.0 as usize];
    data.strides.is_none() && data.bytes().is_some_and(|bytes| bytes >= least)
}

/// How a buffer is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    /// Not in vectors.
    None,
    /// The turns of loops write what lies behind what the turn before wrote, of one row or of each of several.
    Whole,
    /// Elsewhere too.
    Broken,
}

struct Runs<'f> {
    viewer: Viewer<'f>,
    /// Bytes whose multiple is where a store begins.
    align: i64,
    of: BTreeMap<BufId, Run>,
}

/// Elements written by a turn of a loop, by where they begin.
type Writes = BTreeMap<BufId, Vec<(IntExpr, u16)>>;

impl Runs<'_> {
    /// `turn` is what the turn of the loop around `stmt` writes.
    fn visit(&mut self, stmt: &Stmt, turn: Option<&mut Writes>) {
        match stmt {
            Stmt::For { var, body, .. } => {
                let mut writes = Writes::new();
                self.visit(body, Some(&mut writes));
                writes.into_iter().for_each(|(buf, all)| self.looped(*var, buf, &all));
            }
            Stmt::Store { buf, index, value, .. } if self.of.contains_key(buf) => self.store(*buf, index, *value, turn),
            Stmt::Let { var, value, body } => {
                self.viewer.bind(*var, *value);
                self.visit(body, turn);
            }
            other => {
                let mut turn = turn;
                other.children().into_iter().for_each(|child| self.visit(child, turn.as_deref_mut()));
            }
        }
    }

    fn store(&mut self, buf: BufId, index: &[ExprId], value: ExprId, turn: Option<&mut Writes>) {
        let func = self.viewer.func();
        let lanes = func.exprs.ty(value).lanes;
        if lanes == 1 {
            return;
        }
        let begin = match index {
            [index] => contiguous(func, *index),
            _ => None,
        };
        match (begin, turn) {
            (Some(begin), Some(turn)) => turn.entry(buf).or_default().push((self.viewer.int(begin), lanes)),
            _ => self.mark(buf, Run::Broken),
        }
    }

    /// Every store begins at a multiple, and turns write one run, or several in different rows: each begins where that of the
    /// turn before ended.
    fn looped(&mut self, var: VarId, buf: BufId, writes: &[(IntExpr, u16)]) {
        let size = self.viewer.func().buffers[buf.0 as usize].dtype.size_bytes() as i64;
        let unit = (self.align / size).max(1);
        let sym = self.viewer.sym(var);
        let step = |begin: &IntExpr| self.viewer.step(begin, &sym);
        let total = |run: &[(IntExpr, u16)]| run.iter().map(|(_, lanes)| i64::from(*lanes)).sum::<i64>();
        let follows =
            |one: &(IntExpr, u16), other: &(IntExpr, u16)| (&other.0 - &one.0).as_const() == Some(i64::from(one.1));
        let mut writes = writes.to_vec();
        if let Some((first, _)) = writes.first().cloned() {
            writes.sort_by_key(|(begin, _)| (begin - &first).as_const());
        }
        let whole = writes.chunk_by(follows).all(|run| run.iter().all(|(begin, _)| step(begin) == Some(total(run))))
            && writes.iter().all(|(begin, lanes)| {
                i64::from(*lanes) % unit == 0 && self.viewer.prover.modular_set(begin).is_multiple_of(unit)
            });
        self.mark(buf, if whole { Run::Whole } else { Run::Broken });
    }

    fn mark(&mut self, buf: BufId, run: Run) {
        if let Some(known) = self.of.get_mut(&buf) {
            *known = if *known == Run::Broken { Run::Broken } else { run };
        }
    }
}
