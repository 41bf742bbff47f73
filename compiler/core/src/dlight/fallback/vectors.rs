//! Innermost loops in vectors, where their turns are neighbours in memory.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::op::UnaryOp;
use tenfold_ir::tir::{Block, BufId, Elem, Expr, ExprId, PrimFunc, Scope, Stmt, VarId, Viewer};
use tenfold_ir::{DType, Module};

use super::ahead;
use crate::dlight::machine::Machine;
use crate::dlight::walk::between;
use crate::fuse::pattern::is_byte;
use crate::schedule::{Arg, Schedule, ScheduleError};
use crate::tune::Asked;

/// Expressions of a loop's blocks up to which one vector of them does not keep the machine busy.
const CHEAP: usize = 16;

/// Vectors side by side that may be asked for.
const VECTORS: [i64; 4] = [1, 2, 4, 8];

/// Loops of one kernel that are looked at: each step of a schedule checks all of it.
const MOST: usize = 32;

/// How often elements may be read one after another for vectors of them to be a part of a vector.
const REPEATS: [i64; 3] = [2, 4, 8];

/// A loop that pays as vectors.
struct Found {
    /// One of its blocks.
    block: String,
    /// Its turns, if they are a number.
    extent: Option<i64>,
    /// Elements of a vector.
    lanes: i64,
    /// Vectors that run side by side.
    vectors: i64,
    /// Whether its blocks read a table of bytes.
    reads_table: bool,
}

/// What became of the loops of a kernel.
#[derive(Default)]
pub(super) struct Made {
    /// Loops in vectors.
    pub vectors: usize,
    /// Loops that a primitive refused.
    pub refused: usize,
    /// The most elements that a turn of one of them takes.
    pub widest: Option<i64>,
    /// Buffers whose rows are asked for ahead.
    pub ahead: usize,
    /// By how many turns.
    pub turns: i64,
}

/// The kernel with its innermost loops in vectors. What a primitive refuses stays as it is.
pub(super) fn in_vectors(module: &Module, func: PrimFunc, machine: &Machine, asked: &Asked) -> (PrimFunc, Made) {
    let func = longer(module, func, machine);
    let (all, rows) = (found(&func, machine), ahead::rows(&func));
    let mut s = Schedule::new(module, func);
    let mut made = Made::default();
    for (n, it) in all.into_iter().take(MOST).enumerate() {
        let vectors = asked.number(&format!("vectors-{n}"), it.vectors, VECTORS);
        let it = Found { vectors, ..it };
        let mut tried = s.clone();
        match vectorised(&mut tried, &it) {
            Ok(()) => {
                made.vectors += 1;
                made.widest = made.widest.max(Some(it.width()));
                s = tried;
            }
            Err(_) => made.refused += 1,
        }
    }
    let turns = ahead::turns(&rows, machine);
    made.turns = if rows.is_empty() { 0 } else { asked.number("prefetch", turns, [0, 1, 2, 4]) };
    // What is refused leaves the schedule as it was.
    let ask = |it: &&ahead::Rows| made.turns > 0 && ahead::ask(&mut s, it, made.turns).is_ok();
    made.ahead = rows.iter().take(MOST).filter(ask).count();
    (s.finish(), made)
}

/// The kernel with innermost loops of a few turns as one with the loops around them, where whole vectors come of it: elements
/// that are repeated, or the last axis of what lies in order.
fn longer(module: &Module, func: PrimFunc, machine: &Machine) -> PrimFunc {
    let short = short(&func);
    if short.is_empty() {
        return func;
    }
    let mut s = Schedule::new(module, func);
    for block in short.into_iter().take(MOST) {
        let mut tried = s.clone();
        if joined(&mut tried, &block).is_ok() {
            let made = tried.clone().finish();
            if found(&made, machine).iter().any(|it| it.block == block) {
                s = tried;
            }
        }
    }
    s.finish()
}

fn joined(s: &mut Schedule<'_>, block: &str) -> Result<(), ScheduleError> {
    let loops = s.get_loops(block)?;
    let inner = &loops[loops.len().saturating_sub(2)..];
    s.fuse(inner)?;
    Ok(())
}

/// The blocks alone in innermost loops of few turns, which are alone in another.
fn short(func: &PrimFunc) -> Vec<String> {
    let mut all = Vec::new();
    func.body.walk(&mut |stmt| {
        if let Stmt::For { body, .. } = stmt
            && let Stmt::For { extent, body, .. } = body.bare()
            && func.literal(*extent).is_some_and(|n| REPEATS.contains(&n))
            && let Stmt::Block(block) = body.bare()
        {
            all.push(block.name.clone());
        }
    });
    all
}

/// The kernel with the innermost loops around some blocks in vectors where they read tables of bytes: what else they do, LLVM
/// makes vectors of.
pub(in crate::dlight) fn with_tables(
    module: &Module,
    func: PrimFunc,
    machine: &Machine,
    blocks: &BTreeSet<&str>,
) -> PrimFunc {
    if blocks.is_empty() {
        return func;
    }
    let all = found(&func, machine);
    let mut s = Schedule::new(module, func);
    for it in all.into_iter().filter(|it| it.reads_table && blocks.contains(it.block.as_str())).take(MOST) {
        let mut tried = s.clone();
        if vectorised(&mut tried, &it).is_ok() {
            s = tried;
        }
    }
    s.finish()
}

impl Found {
    /// Elements that a turn takes: of a loop that is no longer all of them.
    fn width(&self) -> i64 {
        let width = self.lanes * self.vectors;
        self.extent.map_or(width, |n| n.min(width))
    }
}

fn vectorised(s: &mut Schedule<'_>, it: &Found) -> Result<(), ScheduleError> {
    let Some(inner) = s.get_loops(it.block.as_str())?.last().copied() else { return Ok(()) };
    let width = it.lanes * it.vectors;
    let whole = it.extent.is_some_and(|n| n > width && n % width == 0);
    let inner = if whole { s.split(inner, &[Arg::Infer, Arg::Int(width)])?[1] } else { inner };
    s.vectorize(inner)
}

fn found(func: &PrimFunc, machine: &Machine) -> Vec<Found> {
    let mut all = Vec::new();
    let mut viewer = Viewer::new(func);
    func.body.walk(&mut |stmt| {
        if let Stmt::For { var, extent, body, .. } = stmt
            && let Some(blocks) = only_blocks(body)
            && let Some(lanes) = lanes(&mut viewer, *var, body, &blocks, machine)
        {
            let extent = viewer.int(*extent);
            let short = extent.as_const().is_none() && viewer.prover.prove_lt(&extent, &IntExpr::from(lanes));
            let extent = if short { Some(1) } else { extent.as_const() };
            let size: usize = blocks.iter().map(|b| func.exprs_in(&b.body).len()).sum();
            let vectors = if size <= CHEAP * blocks.len() { machine.latency } else { 1 };
            let reads_table = blocks.iter().any(|block| reads_table(viewer.func(), block));
            all.push(Found { block: blocks[0].name.clone(), extent, lanes, vectors, reads_table });
        }
    });
    all.retain(|it| it.extent.is_none_or(|n| n > 1));
    all
}

/// The blocks of a loop without loops.
fn only_blocks(body: &Stmt) -> Option<Vec<&Block>> {
    match body {
        Stmt::Seq(all) => Some(all.iter().map(only_blocks).collect::<Option<Vec<_>>>()?.concat()),
        Stmt::At(_, body) | Stmt::Alloc { body, .. } => only_blocks(body),
        Stmt::Block(block) => Some(vec![block.as_ref()]),
        _ => None,
    }
    .filter(|all| !all.is_empty())
}

/// How many elements a vector of the loop's turns has; nothing where vectors do not pay: what is written are no
/// neighbours, or little is computed with what are none, or turns take different ways.
pub(super) fn lanes(
    viewer: &mut Viewer<'_>,
    var: VarId,
    body: &Stmt,
    blocks: &[&Block],
    machine: &Machine,
) -> Option<i64> {
    let func = viewer.func();
    let own: BTreeSet<BufId> = allocated(body);
    if own.iter().any(|buf| func.buffers[buf.0 as usize].scope == Scope::Global) {
        // Its place in the workspace is one for all turns.
        return None;
    }
    let (mut widest, mut strided, mut work) = (1, false, false);
    for block in blocks {
        let syms: Vec<Sym> = bound(func, block, var).into_iter().map(|v| viewer.sym(v)).collect();
        let mut touches = Vec::new();
        let mut straight = true;
        block.body.walk(&mut |stmt| match stmt {
            Stmt::Store { buf, index, .. } => touches.push((*buf, index.clone(), true)),
            Stmt::If { .. } | Stmt::While { .. } | Stmt::Call { .. } | Stmt::Assert { .. } => straight = false,
            _ => {}
        });
        for id in func.exprs_in(&block.body) {
            match func.exprs.get(id) {
                Expr::Load { buf, index, .. } => touches.push((*buf, index.clone(), false)),
                Expr::If(_, a, b) if func.loads(*a) || func.loads(*b) => straight = false,
                Expr::Unary(op, _) => work |= is_work(*op),
                _ => {}
            }
        }
        if !straight {
            return None;
        }
        for (buf, index, write) in touches.into_iter().filter(|(buf, ..)| !own.contains(buf)) {
            widest = widest.max(func.buffers[buf.0 as usize].dtype.size_bytes() as i64);
            let place = place(viewer, block, var, &index);
            let place = place.as_deref();
            match place.and_then(|place| along(viewer, buf, place, &syms)) {
                Some(1) => {}
                Some(0) if !write => {}
                _ if write => return None,
                None if machine.tables && is_table(func, buf, &index) => {}
                None if place.is_some_and(|place| repeats(viewer, buf, place, &syms)) => {}
                _ => strided = true,
            }
        }
    }
    let words = |id: &ExprId| func.exprs.ty(*id).elem == Elem::Scalar(DType::I32);
    if machine.helium && blocks.iter().any(|block| func.exprs_in(&block.body).iter().any(words)) {
        // Loads widen, and stores narrow: what is computed says how many lanes there are.
        widest = widest.max(4);
    }
    let lanes = machine.vector_bytes / widest;
    (lanes > 1 && (work || !strided)).then_some(lanes)
}

/// Elements that an access moves by from one turn of a loop to the next: it drives these iterators.
fn along(viewer: &Viewer<'_>, buf: BufId, place: &[IntExpr], syms: &[Sym]) -> Option<i64> {
    let own = |sym: &Sym| IntExpr::var(sym.clone());
    syms.iter().map(|sym| between(viewer, buf, place, sym, (&own(sym), &(&own(sym) + 1)))?.as_const()).sum()
}

/// Whether a read is of neighbours each of which so many turns read, a power of two: a vector of turns reads a part of one.
fn repeats(viewer: &Viewer<'_>, buf: BufId, place: &[IntExpr], syms: &[Sym]) -> bool {
    let mut driven = syms.iter().filter(|sym| place.iter().any(|i| i.vars().contains(sym)));
    let (Some(sym), None) = (driven.next(), driven.next()) else { return false };
    let own = IntExpr::var(sym.clone());
    REPEATS.into_iter().any(|times| {
        let (first, last) = (&own * times, &(&own * times) + (times - 1));
        let by = |to: &IntExpr| between(viewer, buf, place, sym, (&first, to))?.as_const();
        by(&last) == Some(0) && by(&(&last + 1)) == Some(1)
    })
}

/// The index of an access, with the iterators that a loop drives in parts written as these; nothing where data decides.
fn place(viewer: &mut Viewer<'_>, block: &Block, var: VarId, index: &[ExprId]) -> Option<Vec<IntExpr>> {
    if index.iter().any(|i| viewer.func().loads(*i)) {
        return None;
    }
    let own = |func: &PrimFunc, e: ExprId| *func.exprs.get(e) == Expr::Var(var);
    let mut parts: BTreeMap<Sym, IntExpr> = BTreeMap::new();
    for it in &block.iters {
        if !own(viewer.func(), it.value) {
            let value = viewer.int(it.value);
            if value.vars().contains(&viewer.sym(var)) {
                parts.insert(viewer.sym(it.var), value);
            }
        }
    }
    Some(index.iter().map(|i| viewer.int(*i).substitute(&|sym| parts.get(sym).cloned())).collect())
}

/// The iterators of a block that a loop drives one to one.
pub(super) fn bound(func: &PrimFunc, block: &Block, var: VarId) -> Vec<VarId> {
    let own = |value: ExprId| *func.exprs.get(value) == Expr::Var(var);
    block.iters.iter().filter(|i| own(i.value)).map(|i| i.var).chain([var]).collect()
}

fn allocated(body: &Stmt) -> BTreeSet<BufId> {
    let mut all = BTreeSet::new();
    body.walk(&mut |s| all.extend(s.allocates()));
    all
}

/// Whether an access reads a table of a function of bytes, by a byte.
fn is_table(func: &PrimFunc, buf: BufId, index: &[ExprId]) -> bool {
    let table = &func.buffers[buf.0 as usize];
    let bytes = |id: ExprId| func.exprs.ty(id).elem == Elem::Scalar(DType::U8);
    let of_byte = |e: ExprId| matches!(func.exprs.get(e), Expr::Cast(_, x) if bytes(*x));
    let by_byte = |id: &ExprId| func.reachable([*id]).into_iter().any(of_byte);
    is_byte(table.dtype) && table.shape == [IntExpr::from(256)] && index.iter().all(by_byte)
}

fn reads_table(func: &PrimFunc, block: &Block) -> bool {
    let is = |id| matches!(func.exprs.get(id), Expr::Load { buf, index, .. } if is_table(func, *buf, index));
    func.exprs_in(&block.body).into_iter().any(is)
}

/// Whether an operator is many instructions.
fn is_work(op: UnaryOp) -> bool {
    use UnaryOp::{Abs, Ceil, Floor, IsFinite, IsInf, IsNan, Neg, Not, Round, Sign, Sqrt, Square, Trunc};
    !matches!(op, Neg | Not | Abs | Sign | Floor | Ceil | Round | Trunc | Sqrt | Square | IsNan | IsInf | IsFinite)
}
