//! Numbers of a planned function.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::relax::{self, Op, Place};
use tenfold_ir::tir::{Expr, PrimFunc, Stmt};

use super::Planned;
use crate::flops::{used_constants, weight_bytes};
use crate::homes::Homes;
use crate::plan::{Life, lives};

/// What a function needs and does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Calls of kernels in one call.
    pub kernels: usize,
    /// Kernels that are different from each other.
    pub distinct_kernels: usize,
    /// Bytes of workspace, if it is bounded.
    pub workspace_bytes: Option<u64>,
    /// The same over the dims.
    pub workspace: String,
    /// The largest sum of the workspace's tensors that are alive at once, if every size is known.
    pub live_bytes: Option<u64>,
    /// Kernels that do nothing but copy a parameter.
    pub input_copies: usize,
    /// Kernels that do nothing but copy into a result or a state.
    pub result_copies: usize,
    /// Constants that are used.
    pub constants: usize,
    /// Their bytes.
    pub weight_bytes: u64,
}

impl Stats {
    pub(super) fn of(planned: &Planned) -> Stats {
        let module = &planned.module;
        let Some(func) = module.relax(&module.entry) else { return Stats::default() };
        let plan = func.plan.clone().unwrap_or_default();
        let mut stats = Stats {
            workspace_bytes: plan.workspace_bound,
            workspace: plan.workspace.as_ref().map_or("0".into(), |bytes| bytes.to_string()),
            live_bytes: most_alive(func),
            constants: used_constants(module).len(),
            weight_bytes: weight_bytes(module),
            ..Stats::default()
        };
        let mut names = BTreeSet::new();
        let is_param = |v: &relax::ValueId| func.params.iter().any(|p| p.value == *v);
        for binding in func.bindings() {
            let Op::CallTir { func: name, .. } = &binding.op else { continue };
            stats.kernels += 1;
            names.insert(name);
            if module.prim(name).is_some_and(copies) {
                let place = plan.places.get(binding.out.0 as usize).cloned().flatten();
                stats.input_copies += usize::from(binding.args.iter().any(is_param));
                stats.result_copies += usize::from(matches!(place, Some(Place::Result(_) | Place::Param(_))));
            }
        }
        stats.distinct_kernels = names.len();
        stats
    }

    /// One object.
    pub fn json(&self) -> String {
        let number = |n: Option<u64>| n.map_or("null".into(), |n| n.to_string());
        let rows = [
            ("kernels", self.kernels.to_string()),
            ("distinct_kernels", self.distinct_kernels.to_string()),
            ("workspace_bytes", number(self.workspace_bytes)),
            ("workspace", format!("\"{}\"", self.workspace)),
            ("live_bytes", number(self.live_bytes)),
            ("input_copies", self.input_copies.to_string()),
            ("result_copies", self.result_copies.to_string()),
            ("constants", self.constants.to_string()),
            ("weight_bytes", self.weight_bytes.to_string()),
        ];
        let rows: Vec<String> = rows.iter().map(|(key, value)| format!("  \"{key}\": {value}")).collect();
        format!("{{\n{}\n}}\n", rows.join(",\n"))
    }
}

/// A value of the workspace with its first byte and its size, for the greatest extents.
pub(super) struct Piece {
    pub(super) life: Life,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// The values of the workspace for these numbers, or for the greatest extents where there is none; nothing if a size or
/// an offset has neither number nor bound.
pub(super) fn pieces(func: &relax::Function, dims: &BTreeMap<Sym, i64>) -> Option<Vec<Piece>> {
    let plan = func.plan.as_ref()?;
    let bounds = crate::plan::prover(func);
    let most = |e: &IntExpr| e.eval(&|sym| dims.get(sym).copied()).or_else(|| bounds.const_bounds(e).1);
    let mut pieces = Vec::new();
    for life in lives(func, &Homes::new(func)) {
        let part = plan.tuples.get(&life.home.0).and_then(|t| t.get(life.home.1)).cloned();
        let place = part.or_else(|| plan.places.get(life.home.0.0 as usize).cloned().flatten());
        if let Some(Place::Workspace { offset, bytes }) = place {
            let (offset, bytes) = (most(&offset)?, most(&bytes)?);
            pieces.push(Piece { life, offset: offset.max(0) as u64, bytes: bytes.max(0) as u64 });
        }
    }
    Some(pieces)
}

fn most_alive(func: &relax::Function) -> Option<u64> {
    let mut change: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for (first, last, bytes) in alive(pieces(func, &BTreeMap::new())?) {
        change.entry(first).or_default().0 += bytes;
        change.entry(last + 1).or_default().1 += bytes;
    }
    let mut alive = 0_u64;
    let sums = change.into_values().map(|(more, less)| {
        alive = alive + more - less;
        alive
    });
    Some(sums.max().unwrap_or(0))
}

/// When bytes are in use, and how many. Values that were merged share them and count once.
pub(super) fn alive(mut pieces: Vec<Piece>) -> Vec<(usize, usize, u64)> {
    pieces.sort_by_key(|p| (p.offset, p.bytes, p.life.first));
    let mut all: Vec<(usize, usize, u64)> = Vec::new();
    let mut before = None;
    for piece in pieces {
        let place = (piece.offset, piece.bytes);
        match all.last_mut() {
            Some((_, last, _)) if before == Some(place) && piece.life.first <= *last => {
                *last = piece.life.last.max(*last)
            }
            _ => all.push((piece.life.first, piece.life.last, piece.bytes)),
        }
        before = Some(place);
    }
    all
}

/// Whether a kernel stores what it loads at the same index, and nothing else.
fn copies(prim: &PrimFunc) -> bool {
    let (mut stores, mut plain) = (0, true);
    prim.body.walk(&mut |stmt| {
        if let Stmt::Store { buf, index, value, .. } = stmt {
            stores += 1;
            let from = match prim.exprs.get(*value) {
                Expr::Load { buf, index, .. } => Some((buf, index)),
                _ => None,
            };
            let shape = |b: tenfold_ir::tir::BufId| &prim.buffers[b.0 as usize].shape;
            plain &= from.is_some_and(|(source, at)| at == index && shape(*source) == shape(*buf));
        }
    });
    plain && stores == 1
}
