//! Who computes what whom reads.

use std::collections::BTreeSet;

use tenfold_ir::tir::{Block, BufId, CallArg, Stmt};

use super::access::accesses;
use super::class::private;
use crate::schedule::edit::State;
use crate::schedule::tree;

fn block_accesses(state: &State<'_>, block: &Block) -> super::Accesses {
    accesses(state.module, &state.b.func().exprs, &block_stmt(block))
}

/// The block as a statement, for what walks statements.
fn block_stmt(block: &Block) -> Stmt {
    Stmt::Block(Box::new(block.clone()))
}

/// The blocks of `name`'s scope, in order.
fn peers<'s>(state: &'s State<'_>, name: &str) -> Vec<&'s Block> {
    tree::outer_blocks(state.scope_body(name))
}

/// The buffers that a block reads and writes, without those that live inside it.
pub(in crate::schedule) fn touched(state: &State<'_>, block: &Block) -> (BTreeSet<BufId>, BTreeSet<BufId>) {
    let own = private(block);
    let found = block_accesses(state, block);
    let outside = |set: BTreeSet<BufId>| set.into_iter().filter(|b| !own.contains(b)).collect();
    (outside(found.read_bufs()), outside(found.written_bufs()))
}

/// The other blocks of the scope that write what `name` reads, in order.
pub(in crate::schedule) fn producers(state: &State<'_>, name: &str) -> Vec<String> {
    let Ok(block) = state.get_block(name) else { return Vec::new() };
    let (reads, _) = touched(state, block);
    named(state, name, |_, writes| !writes.is_disjoint(&reads))
}

/// The other blocks of the scope that read what `name` writes, in order.
pub(in crate::schedule) fn consumers(state: &State<'_>, name: &str) -> Vec<String> {
    let Ok(block) = state.get_block(name) else { return Vec::new() };
    let (_, writes) = touched(state, block);
    named(state, name, |reads, _| !reads.is_disjoint(&writes))
}

fn named(state: &State<'_>, name: &str, f: impl Fn(&BTreeSet<BufId>, &BTreeSet<BufId>) -> bool) -> Vec<String> {
    let others = peers(state, name).into_iter().filter(|b| b.name != name);
    let wanted = others.filter(|b| {
        let (reads, writes) = touched(state, b);
        f(&reads, &writes)
    });
    wanted.map(|b| b.name.clone()).collect()
}

/// The outermost blocks of the whole function that write a buffer.
pub(in crate::schedule) fn writers(state: &State<'_>, buf: BufId) -> Vec<String> {
    all(state, |_, writes| writes.contains(&buf))
}

/// The outermost blocks of the whole function that read a buffer.
pub(in crate::schedule) fn readers(state: &State<'_>, buf: BufId) -> Vec<String> {
    all(state, |reads, _| reads.contains(&buf))
}

fn all(state: &State<'_>, f: impl Fn(&BTreeSet<BufId>, &BTreeSet<BufId>) -> bool) -> Vec<String> {
    let blocks = tree::outer_blocks(&state.body).into_iter();
    let wanted = blocks.filter(|b| {
        let (reads, writes) = touched(state, b);
        f(&reads, &writes)
    });
    wanted.map(|b| b.name.clone()).collect()
}

/// The statements that stand in no block, or in a block beside other blocks.
fn raw<'a>(stmt: &'a Stmt, all: &mut Vec<&'a Stmt>) {
    match stmt {
        Stmt::Block(block) if tree::outer_blocks(&block.body).is_empty() => {}
        Stmt::Block(_) | Stmt::Seq(_) | Stmt::For { .. } | Stmt::Alloc { .. } | Stmt::At(..) => {
            stmt.children().into_iter().for_each(|s| raw(s, all));
        }
        Stmt::If { .. } | Stmt::Let { .. } | Stmt::While { .. } => {
            all.push(stmt);
            stmt.children().into_iter().for_each(|s| raw(s, all));
        }
        Stmt::Store { .. }
        | Stmt::Evaluate(_)
        | Stmt::Call { .. }
        | Stmt::Barrier(_)
        | Stmt::Assert { .. }
        | Stmt::Prefetch { .. } => all.push(stmt),
    }
}

/// The buffers that statements write which stand in no block, or in a block beside others.
pub(in crate::schedule) fn raw_writes(stmt: &Stmt) -> BTreeSet<BufId> {
    let mut all = Vec::new();
    raw(stmt, &mut all);
    let mut bufs = BTreeSet::new();
    for stmt in all {
        match stmt {
            Stmt::Store { buf, .. } => {
                bufs.insert(*buf);
            }
            Stmt::Call { args, .. } => bufs.extend(args.iter().filter_map(|a| match a {
                CallArg::Buffer(buf) => Some(*buf),
                CallArg::Value(_) => None,
            })),
            _ => {}
        }
    }
    bufs
}

/// Whether statements that stand in no block, or in a block beside others, touch a buffer.
pub(in crate::schedule) fn raw_touches(state: &State<'_>, buf: BufId) -> bool {
    let mut all = Vec::new();
    raw(&state.body, &mut all);
    let own = |s: &Stmt| match s {
        Stmt::Store { .. } | Stmt::Call { .. } => s.clone(),
        s => Stmt::Seq(super::access::exprs_of(s).into_iter().map(Stmt::Evaluate).collect()),
    };
    all.into_iter().any(|s| accesses(state.module, &state.b.func().exprs, &own(s)).touch(buf))
}
