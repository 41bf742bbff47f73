//! Rows asked for before they are needed: a core that goes over a row several times leaves memory idle meanwhile. Where
//! it goes over them once, it asks ahead by itself. Of long rows the next one is asked for bit by bit, in all loops that read
//! the row; of others where a decision says so.

use std::collections::BTreeMap;

use tenfold_ir::tir::{Block, BufId, Expr, PrimFunc, Scope, Stmt, VarId, Viewer};

use super::vectors::bound;
use crate::dlight::machine::Machine;
use crate::dlight::walk::step;
use crate::schedule::{Arg, Schedule, ScheduleError};

/// Bytes from which on rows come from memory, not from a cache.
const FAR: i64 = 8 << 20;

/// Bytes of the shortest and the longest row that may be asked for.
const ROW: std::ops::RangeInclusive<i64> = 256..=64 << 10;

/// Of the first cache the part that a row must be larger than for the next one to be asked for where nobody says so: what is
/// read of a shorter one in a burst is soon there, and its lines, asked for, are in the way of those of now.
const LONG: i64 = 4;

/// A loop over rows of a buffer.
pub(super) struct Rows {
    /// One of the blocks inside.
    block: String,
    /// The buffer's name.
    buf: String,
    /// Bytes of a row.
    bytes: i64,
}

/// The outermost loops over rows that blocks inside read from memory one after another.
pub(super) fn rows(func: &PrimFunc) -> Vec<Rows> {
    let mut all = Vec::new();
    outermost(&func.body, &mut |var, body| {
        let mut blocks: Vec<&Block> = Vec::new();
        body.walk(&mut |s| {
            if let Stmt::Block(block) = s {
                blocks.push(block.as_ref());
            }
        });
        let mut readers: BTreeMap<BufId, Vec<(&str, i64)>> = BTreeMap::new();
        for block in blocks {
            let far = far(func, block, var).into_iter();
            far.for_each(|(buf, bytes)| readers.entry(buf).or_default().push((&block.name, bytes)));
        }
        let several = readers.into_iter().filter(|(_, blocks)| blocks.len() > 1);
        all.extend(several.map(|(buf, blocks)| Rows {
            block: blocks[0].0.to_string(),
            buf: func.buffers[buf.0 as usize].name.clone(),
            bytes: blocks[0].1,
        }));
    });
    all
}

/// How many turns ahead, where nobody asks for others.
pub(super) fn turns(rows: &[Rows], machine: &Machine) -> i64 {
    let long = |it: &Rows| it.bytes > machine.way_bytes * machine.ways / LONG;
    i64::from(!rows.is_empty() && (machine.reads_lines || rows.iter().all(long)))
}

/// Asks for the rows so many turns ahead.
pub(super) fn ask(s: &mut Schedule<'_>, rows: &Rows, turns: i64) -> Result<(), ScheduleError> {
    let Some(outer) = s.get_loops(rows.block.as_str())?.first().copied() else { return Ok(()) };
    s.annotate(outer, "prefetch_next", Arg::List(vec![Arg::Text(rows.buf.clone()), Arg::Int(turns)]))
}

fn outermost<'s>(stmt: &'s Stmt, f: &mut dyn FnMut(VarId, &'s Stmt)) {
    match stmt {
        Stmt::For { var, body, .. } => f(*var, body),
        Stmt::Block(_) => {}
        other => other.children().into_iter().for_each(|s| outermost(s, f)),
    }
}

/// The parameters of which a turn of a loop reads a row that is not in a cache, and the bytes of that.
fn far(func: &PrimFunc, block: &Block, var: VarId) -> BTreeMap<BufId, i64> {
    let mut viewer = Viewer::new(func);
    let syms: Vec<_> = bound(func, block, var).into_iter().map(|v| viewer.sym(v)).collect();
    let mut all = BTreeMap::new();
    for id in func.exprs_in(&block.body) {
        let Expr::Load { buf, index, .. } = func.exprs.get(id) else { continue };
        let data = &func.buffers[buf.0 as usize];
        let bytes = data.dtype.size_bytes() as i64;
        let size = data.shape.iter().try_fold(bytes, |n, d| n.checked_mul(d.as_const()?));
        let row: Option<i64> = syms.iter().map(|sym| step(&mut viewer, *buf, index, sym)).sum();
        let row = row.map(|n| n.saturating_mul(bytes)).filter(|n| ROW.contains(n));
        if let Some(row) = row.filter(|_| data.scope == Scope::Param && size.is_some_and(|n| n >= FAR)) {
            all.insert(*buf, row);
        }
    }
    all
}
