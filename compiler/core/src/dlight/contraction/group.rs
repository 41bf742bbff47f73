//! Which stages of a kernel go with its contraction.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::op::{BinaryOp, UnaryOp};
use tenfold_ir::tir::{Access, BufId, Builder, Expr, ExprId, IterKind, LoopKind, Scope, Stmt, VarId, Viewer};

use super::choice::Choice;
use super::{Contraction, Staged, start};
use crate::dlight::cut::part;
use crate::dlight::kernel::epilogue;
use crate::fuse::access::accesses;
use crate::fuse::loops::Classes;
use crate::fuse::stage::Stage;

/// The stages of a kernel in the order in which they will run.
pub(super) struct Group {
    /// Before everything else.
    pub before: Vec<Stage>,
    /// The contraction, into accumulators that nothing but `on_tile` reads.
    pub contraction: Stage,
    /// The accumulators.
    pub acc: BufId,
    /// Element by element, on the tile: each with the iterators that stand for the contraction's.
    pub on_tile: Vec<OnTile>,
    /// On rows of the result: each with the iterators that stand for the contraction's.
    pub on_rows: Vec<(Stage, BTreeMap<VarId, VarId>)>,
    /// Iterators of the contraction that every stage of `on_rows` has.
    pub shared: Vec<VarId>,
    /// Whether these come when all tiles are done, since columns stand outside of rows.
    pub rows_behind: bool,
    /// Buffers of whose rows a few are alive at once.
    pub of_rows: Vec<BufId>,
    /// Behind everything else.
    pub after: Vec<Stage>,
}

/// A stage on the tile.
pub(super) struct OnTile {
    /// The stage.
    pub stage: Stage,
    /// Its iterators by those of the contraction.
    pub links: BTreeMap<VarId, VarId>,
    /// Whether it reads accumulators, so that each of its accesses must have a constant place.
    pub unrolled: bool,
}

/// Expressions of a stage up to which it is written out for every element of a tile.
const CHEAP: usize = 24;
/// The same where a tile has few elements and memory is scarce.
const CHEAP_IN_WORDS: usize = 64;

impl Group {
    /// The group of a kernel; nothing where stages depend on one another in other ways.
    pub(super) fn of(staged: &mut Staged, found: &Contraction, choice: &Choice) -> Option<Group> {
        let epilogue = epilogue(staged, found);
        let linked = linked(staged, found.stage)?;
        let on_rows: Vec<usize> =
            linked.iter().copied().filter(|n| epilogue.as_ref().is_none_or(|(e, _)| e != n)).collect();
        let stage = |n: usize| staged.stages[n].clone();
        let before = (0..found.stage).map(stage).collect();
        let after = (found.stage + 1..staged.stages.len()).filter(|n| !linked.contains(n)).map(stage).collect();
        let mut source = stage(found.stage);
        let (shared, on_rows) = rows(staged, found.stage, &on_rows, choice)?;
        let rows_behind = choice.columns_outside && !on_rows.is_empty();
        let of_rows = match rows_behind {
            true => Vec::new(),
            false => between(staged, found.stage, &linked, found.acc, epilogue.is_some()),
        };
        if choice.matrix {
            // Rows of a matrix are rows in memory.
            source.iters.sort_by_key(|i| (i.kind != IterKind::Spatial, i.var == choice.column));
        }
        let mut on_tile = Vec::new();
        let mut acc = found.acc;
        let mut bias = start::bias(&mut staged.b, &mut source, choice);
        let direct = epilogue.as_ref().is_some_and(|(n, links)| is_direct(staged, *n, links, choice));
        if !direct {
            let (copied, mut copy) = accumulators(staged, &source, acc);
            source = retarget(staged, &source, acc, copied);
            acc = copied;
            start::behind(&mut staged.b, &mut source, &mut copy, (acc, bias.take()), choice);
            on_tile.push(copy);
        }
        // Loops go by position, also in what sums over some of the reduce iterators alone.
        source.iters.sort_by_key(|i| i.kind != IterKind::Spatial);
        if let Some((n, links)) = epilogue {
            let mut on = OnTile { stage: staged.stages[n].clone(), links, unrolled: direct };
            if direct {
                start::behind(&mut staged.b, &mut source, &mut on, (acc, bias), choice);
            }
            on_tile.push(on);
        }
        Some(Group { before, contraction: source, acc, on_tile, on_rows, shared, rows_behind, of_rows, after })
    }

    /// Whether stages on rows go row by row of tiles with the contraction.
    pub(super) fn rows_within(&self) -> bool {
        !self.on_rows.is_empty() && !self.rows_behind
    }
}

/// The stages behind the contraction that read what it or one of them has written.
pub(super) fn linked(staged: &Staged, first: usize) -> Option<BTreeSet<usize>> {
    let func = staged.b.func();
    let of = |n: usize, write: bool| -> BTreeSet<BufId> {
        accesses(func, &staged.stages[n]).into_iter().filter(|a| a.write == write).map(|a| a.buf).collect()
    };
    let mut made = of(first, true);
    let mut linked = BTreeSet::new();
    for n in first + 1..staged.stages.len() {
        if !of(n, false).is_disjoint(&made) {
            linked.insert(n);
            made.extend(of(n, true));
        }
    }
    let others: BTreeSet<BufId> =
        (first + 1..staged.stages.len()).filter(|n| !linked.contains(n)).flat_map(|n| of(n, true)).collect();
    linked.iter().all(|n| of(*n, false).is_disjoint(&others)).then_some(linked)
}

/// The iterators that stages on rows have in common with the contraction; nothing if one has no rows.
#[allow(clippy::type_complexity, reason = "a pair of what it says")]
fn rows(
    staged: &Staged,
    first: usize,
    stages: &[usize],
    choice: &Choice,
) -> Option<(Vec<VarId>, Vec<(Stage, BTreeMap<VarId, VarId>)>)> {
    if stages.is_empty() {
        return Some((Vec::new(), Vec::new()));
    }
    let func = staged.b.func();
    let all: Vec<_> = staged.stages.iter().map(|s| accesses(func, s)).collect();
    let classes = Classes::of(staged, &all);
    let source = &staged.stages[first];
    let own = |n: usize, var: VarId| {
        let mut same = staged.stages[n].iters.iter().filter(|i| {
            i.kind == IterKind::Spatial && classes.find(i.var) == classes.find(var) && classes.same_extent(i.var, var)
        });
        same.next().map(|i| i.var).filter(|_| same.next().is_none())
    };
    let row = choice.row?;
    let spatial = source.iters.iter().filter(|i| i.kind == IterKind::Spatial && i.var != choice.column && i.var != row);
    let shared: Vec<VarId> = spatial.map(|i| i.var).filter(|v| stages.iter().all(|n| own(*n, *v).is_some())).collect();
    let mut out = Vec::new();
    for n in stages {
        let mut links: BTreeMap<VarId, VarId> = shared.iter().filter_map(|v| Some((*v, own(*n, *v)?))).collect();
        links.insert(row, own(*n, row)?);
        out.push((staged.stages[*n].clone(), links));
    }
    Some((shared, out))
}

/// Buffers that the group writes and nobody outside sees, but for the accumulators.
fn between(staged: &Staged, first: usize, linked: &BTreeSet<usize>, acc: BufId, has_epilogue: bool) -> Vec<BufId> {
    let func = staged.b.func();
    let writes = [first].into_iter().chain(linked.iter().copied()).flat_map(|n| accesses(func, &staged.stages[n]));
    let bufs: BTreeSet<BufId> = writes.filter(|a| a.write).map(|a| a.buf).collect();
    bufs.into_iter().filter(|b| staged.allocs.contains(b) && !(has_epilogue && *b == acc)).collect()
}

/// Whether a stage may read accumulators themselves: it is short, and walks along the vectors.
fn is_direct(staged: &Staged, n: usize, links: &BTreeMap<VarId, VarId>, choice: &Choice) -> bool {
    let func = staged.b.func();
    let stage = &staged.stages[n];
    let Stmt::Store { index, value, .. } = &stage.body else { return false };
    let column = links.get(&choice.column);
    let along = index.iter().rev().find_map(|i| {
        let vars: Vec<VarId> = func
            .reachable([*i])
            .into_iter()
            .filter_map(|e| match func.exprs.get(e) {
                Expr::Var(v) => Some(*v),
                _ => None,
            })
            .collect();
        vars.first().copied()
    });
    let most = if choice.small { CHEAP_IN_WORDS } else { CHEAP };
    along.as_ref() == column && func.reachable([*value]).len() <= most && is_instructions(staged, n, choice.small)
}

/// Whether a stage stores what instructions make, and no function; of words also those that vectors may lack.
pub(in crate::dlight) fn is_instructions(staged: &Staged, n: usize, words: bool) -> bool {
    let func = staged.b.func();
    let Stmt::Store { value, .. } = &staged.stages[n].body else { return false };
    func.reachable([*value]).into_iter().all(|e| is_instruction(func.exprs.get(e), words))
}

/// Whether an expression is an instruction or two, and no function.
fn is_instruction(expr: &Expr, words: bool) -> bool {
    match expr {
        Expr::Unary(op, _) => {
            matches!(op, UnaryOp::Neg | UnaryOp::Not | UnaryOp::Abs | UnaryOp::Sqrt | UnaryOp::Square)
        }
        Expr::Binary(op, ..) => {
            use BinaryOp::{Add, And, Div, Max, Min, Mul, Or, Shl, Shr, Sub, Xor};
            let of_words = words && matches!(op, And | Or | Shl | Shr | Xor);
            of_words || matches!(op, Add | Sub | Mul | Div | Max | Min)
        }
        Expr::Const(_)
        | Expr::Index(_)
        | Expr::Var(_)
        | Expr::Compare(..)
        | Expr::Select(..)
        | Expr::Cast(..)
        | Expr::Load { .. } => true,
        Expr::If(..) | Expr::Call(..) | Expr::Ramp(..) | Expr::Broadcast(..) | Expr::Shuffle(..) => false,
    }
}

/// A buffer for the accumulators of a stage, and a stage that copies it to where the stage writes.
fn accumulators(staged: &mut Staged, source: &Stage, target: BufId) -> (BufId, OnTile) {
    let mut copy = source.clone();
    copy.name = format!("{}_result", source.name);
    copy.init = None;
    copy.iters.retain(|i| i.kind == IterKind::Spatial);
    copy.iters.iter_mut().for_each(|i| i.order = LoopKind::Serial);
    let shape = copy.iters.iter().map(|i| Viewer::new(staged.b.func()).int(i.extent)).collect();
    let b = &mut staged.b;
    let data = b.buf(target).clone();
    let acc = b.buffer("acc", data.dtype, shape, Scope::Global);
    staged.allocs.push(acc);
    let at: Vec<ExprId> = copy.iters.iter().map(|i| b.read(i.var)).collect();
    if let Stmt::Store { buf, index, .. } = &source.body {
        let value = b.load(acc, at.clone(), Access::Proven);
        copy.body = Stmt::Store { buf: *buf, index: index.clone(), value, access: Access::Proven };
    }
    let fresh = part(b, &copy, &copy.name, &BTreeMap::new(), &BTreeMap::new());
    let links = copy.iters.iter().zip(&fresh.iters).map(|(a, b)| (a.var, b.var)).collect();
    (acc, OnTile { stage: fresh, links, unrolled: true })
}

/// The stage with its result in a buffer that has one axis per spatial iterator.
fn retarget(staged: &mut Staged, source: &Stage, from: BufId, to: BufId) -> Stage {
    let spatial = source.iters.iter().filter(|i| i.kind == IterKind::Spatial);
    let at: Vec<ExprId> = spatial.map(|i| staged.b.read(i.var)).collect();
    let over = |b: &mut Builder, s: Stmt| {
        crate::fuse::loops::redirected(b, s, &|_, buf, _| (buf == from).then(|| (to, at.clone())))
    };
    let init = source.init.clone().map(|s| over(&mut staged.b, s));
    let body = over(&mut staged.b, source.body.clone());
    Stage { init, body, ..source.clone() }
}
