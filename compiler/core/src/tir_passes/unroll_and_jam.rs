//! `UnrollAndJam`: several rows that come from memory are gone over at once.
//!
//! A core asks for lines ahead of what it reads, page by page, and seldom far enough: while a kernel goes along one row,
//! most of what could be on its way is not. Where rows do not touch each other, the loops along so many of them become one,
//! each turn of which has a piece of every row, so that several pages are on their way; and what is read last of rows asks
//! for those that come next. (The name is LLVM's: of the loop over rows turns are unrolled, and their loops jammed.)
//!
//! Runs on plain loops, and changes neither what is computed nor in which order sums are added.

mod jam;
mod rows;

use std::collections::BTreeMap;

use tenfold_ir::Module;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::copy::copy;
use tenfold_ir::tir::{Builder, ExprId, LoopKind, PrimFunc, Stmt, VarId};

use super::kernel::plus;
use super::rewrite_body;
use crate::CompileError;
use crate::pass::{ConfigKey, IntKey, Pass, PassContext, PassPhase};
use crate::plan::overlaps::in_turn;
use rows::{Far, Found};

const AT_ONCE: IntKey = IntKey {
    name: "UnrollAndJam.rows",
    doc: "how many rows that come from memory are gone over at once; 1: one; 0: what the target gains by",
    default: 0,
    least: 0,
    greatest: 16,
};

const LEAST: IntKey = IntKey {
    name: "UnrollAndJam.least",
    doc: "bytes of a parameter from which on its rows come from memory; 0: those that the target writes past its caches",
    default: 0,
    least: 0,
    greatest: i64::MAX,
};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("UnrollAndJam", &unroll_and_jam)
    .at_level(2)
    .in_phase(PassPhase::Flat)
    .reads(&[ConfigKey::Int(&AT_ONCE), ConfigKey::Int(&LEAST)])
    .about("goes over several rows that come from memory at once");

fn unroll_and_jam(func: PrimFunc, _: &Module, context: &PassContext) -> Result<PrimFunc, CompileError> {
    let set = |key: &IntKey| Some(context.int(key)).filter(|n| *n > 0);
    let far = Far { at_once: set(&AT_ONCE), least: set(&LEAST).or(context.target.past_caches()).unwrap_or(i64::MAX) };
    let wanted = far.at_once.map_or(context.target.reads_lines(), |rows| rows > 1);
    // Where turns run in their order, a result may lie over an operand and follow it.
    let wanted = wanted && !in_turn(&context.target) && far.is_parameter_of(&func);
    Ok(if wanted { rewrite_body(func, |b, body| everywhere(b, body, &far)) } else { func })
}

/// The outermost loops over such rows, jammed.
fn everywhere(b: &mut Builder, stmt: Stmt, far: &Far) -> Stmt {
    if let Some(found) = Found::of(b.func(), &stmt, far)
        && let Stmt::For { var, min, extent, body, .. } = stmt
    {
        return Rows { var, min, extent, found }.jammed(b, *body);
    }
    match stmt {
        Stmt::For { .. } | Stmt::Seq(_) | Stmt::At(..) | Stmt::Alloc { .. } => {
            stmt.map_children(&mut |s| everywhere(b, s, far))
        }
        other => other,
    }
}

/// A loop over rows.
struct Rows {
    var: VarId,
    min: ExprId,
    extent: ExprId,
    found: Found,
}

impl Rows {
    /// Blocks of rows that are gone over at once, and the rows that are left, one behind the other.
    fn jammed(self, b: &mut Builder, body: Stmt) -> Stmt {
        let Rows { var, min, extent, found: Found { at_once, apart, far } } = self;
        let block = at_once * apart;
        let [blocks, done, left] = whole(b, extent, block);
        let (nth, own) = (b.index_var("rows"), b.index_var("row"));
        let asking = rows::asking(b, body.clone(), &far, (var, block));
        let (turn, size) = (b.read(nth), b.index(block));
        let before = b.mul(turn, size);
        let first = plus(b, min, before);
        let copies: Vec<Stmt> = (0..at_once)
            .map(|k| {
                let (offset, within) = (b.index(k * apart), b.read(own));
                let row = plus(b, first, offset);
                let row = if apart > 1 { b.add(row, within) } else { row };
                copy(b, &asking, &BTreeMap::from([(var, row)]))
            })
            .collect();
        let mut jammed = jam::jammed(b, copies);
        let zero = b.index(0);
        if apart > 1 {
            let apart = b.index(apart);
            jammed = Stmt::loop_(own, zero, apart, LoopKind::Serial, jammed);
        }
        let mut all = vec![Stmt::loop_(nth, zero, blocks, LoopKind::Serial, jammed)];
        if b.func().literal(left) != Some(0) {
            let rest = plus(b, min, done);
            all.push(Stmt::loop_(var, rest, left, LoopKind::Serial, body));
        }
        Stmt::seq(all)
    }
}

/// How many blocks of a size rows have, the rows of these, and how many are left.
fn whole(b: &mut Builder, extent: ExprId, block: i64) -> [ExprId; 3] {
    if let Some(rows) = b.func().literal(extent) {
        return [rows / block, rows - rows % block, rows % block].map(|n| b.index(n));
    }
    let size = b.index(block);
    let blocks = b.binary(BinaryOp::DivEuclid, extent, size);
    let done = b.mul(blocks, size);
    [blocks, done, b.sub(extent, done)]
}
