//! Innermost loops in vectors, where their turns are neighbours in memory.

use std::collections::BTreeSet;

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::op::UnaryOp;
use tenfold_ir::tir::{Block, BufId, Elem, Expr, ExprId, PrimFunc, Stmt, VarId, Viewer};
use tenfold_ir::{DType, Module};

use super::ahead;
use crate::dlight::machine::Machine;
use crate::dlight::walk::step;
use crate::fuse::pattern::is_byte;
use crate::schedule::{Arg, Schedule, ScheduleError};
use crate::tune::Asked;

/// Expressions of a loop's blocks up to which one vector of them does not keep the machine busy.
const CHEAP: usize = 16;

/// Vectors side by side that may be asked for.
const VECTORS: [i64; 4] = [1, 2, 4, 8];

/// Loops of one kernel that are looked at: each step of a schedule checks all of it.
const MOST: usize = 32;

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
            match along(viewer, buf, &index, &syms) {
                Some(1) => {}
                Some(0) if !write => {}
                _ if write => return None,
                None if machine.tables && is_table(func, buf, &index) => {}
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
fn along(viewer: &mut Viewer<'_>, buf: BufId, index: &[ExprId], syms: &[Sym]) -> Option<i64> {
    syms.iter().map(|sym| step(viewer, buf, index, sym)).sum()
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
