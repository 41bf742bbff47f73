//! Copies of buffers: where a copy is put, how what reads or writes the buffer is turned to it.

use std::collections::BTreeSet;

use tenfold_ir::arith::{Domain, Fact, IntExpr, IterMapLevel, Range, Rectangle, detect_iter_map};
use tenfold_ir::tir::{
    Access, Block, BufId, BufUse, Builder, Expr, ExprId, ExprMap, IterKind, LoopKind, Param, Scope, Stmt, VarId, Viewer,
};

use super::analysis::{
    accesses, bounded_region, fills_box, private, prover_at, readers, region_of, spatial_index, writers,
};
use super::args::Value;
use super::edit::State;
use super::error::Refusal;
use super::tree;

/// On which side of a block's statement another one is put.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    Behind,
}

// Buffers of a block.

/// The buffer that an argument names: by its name, or by its place among those that the block reads (or writes).
pub(super) fn buffer_of(state: &State<'_>, block: &str, wanted: &Value, writes: bool) -> Result<BufId, Refusal> {
    let block = state.get_block(block)?;
    let all = touched_in_order(state, block, writes);
    let names: Vec<String> = all.iter().map(|b| format!("`{}`", state.buf_name(*b))).collect();
    let verb = if writes { "writes" } else { "reads" };
    let help = if names.is_empty() { format!("it {verb} nothing") } else { format!("it {verb} {}", names.join(", ")) };
    let found = match wanted {
        Value::Int(n) => usize::try_from(*n).ok().and_then(|n| all.get(n)).copied(),
        Value::Text(name) => all.iter().find(|b| state.buf_name(**b) == name).copied(),
        _ => None,
    };
    let shown = match wanted {
        Value::Int(n) => format!("buffer {n}"),
        Value::Text(name) => format!("`{name}`"),
        _ => "that".to_string(),
    };
    found.ok_or_else(|| Refusal::new(format!("block `{}` {verb} no {shown}", block.name), help))
}

/// The buffers that a block reads or writes and that do not live in it, in the order of their accesses. What a
/// reduction accumulates into does not count as read.
fn touched_in_order(state: &State<'_>, block: &Block, writes: bool) -> Vec<BufId> {
    let stmt = Stmt::Block(Box::new(block.clone()));
    let found = accesses(state.module, &state.b.func().exprs, &stmt);
    let own = private(block);
    let written = found.written_bufs();
    let mut seen = BTreeSet::new();
    let all = if writes { found.writes } else { found.reads };
    let mut all: Vec<BufId> = all.into_iter().map(|a| a.buf).collect();
    all.retain(|buf| !own.contains(buf) && (writes || !written.contains(buf)) && seen.insert(*buf));
    all
}

/// The memory that a text names: `global`, `shared`, `local`.
pub(super) fn scope_named(text: &str) -> Result<Scope, Refusal> {
    match text {
        "global" => Ok(Scope::Global),
        "shared" => Ok(Scope::Shared),
        "local" => Ok(Scope::Local),
        other => Refusal::err(
            format!("there is no memory `{other}`"),
            "the memories are `global`, `shared` (of a thread block) and `local` (registers and stack)",
        ),
    }
}

/// Whether a buffer is memory of the function's own, which a schedule may change.
pub(super) fn require_own(state: &State<'_>, buf: BufId) -> Result<(), Refusal> {
    let data = state.b.buf(buf);
    let what = match data.scope {
        Scope::Param => "a parameter",
        Scope::Const(_) => "a constant",
        Scope::Workspace => "a part of the workspace",
        _ => return Ok(()),
    };
    let help = "only buffers that the function allocates may be changed; `cache_read` and `cache_write` make one";
    Refusal::err(format!("`{}` is {what}", data.name), help)
}

/// A buffer like another one, in another memory.
pub(super) fn buffer_like(state: &mut State<'_>, buf: BufId, suffix: &str, shape: Vec<IntExpr>, scope: Scope) -> BufId {
    let data = state.b.buf(buf).clone();
    let new = state.b.buffer(&format!("{}_{suffix}", data.name), data.dtype, shape, scope);
    state.b.buf_mut(new).range = data.range;
    new
}

/// The same buffer, of another dtype.
pub(super) fn buffer_of_dtype(state: &mut State<'_>, buf: BufId, dtype: tenfold_ir::DType) -> BufId {
    let data = state.b.buf(buf).clone();
    let new = state.b.buffer(&data.name, dtype, data.shape, data.scope);
    state.b.buf_mut(new).strides = data.strides;
    new
}

// Places.

/// The statements of a scope, in order: what stands in sequences, behind places, in `alloc` and `let`.
fn items(stmt: &Stmt) -> Vec<&Stmt> {
    match stmt {
        Stmt::Seq(all) => all.iter().flat_map(items).collect(),
        Stmt::At(_, body) | Stmt::Alloc { body, .. } | Stmt::Let { body, .. } => items(body),
        stmt => vec![stmt],
    }
}

/// The place of the statement of the scope that holds a block.
pub(super) fn item_of(state: &State<'_>, scope_of: &str, block: &str) -> Option<usize> {
    let wanted = tree::is_block(block);
    items(state.scope_body(scope_of)).iter().position(|s| tree::any(s, &wanted))
}

/// Puts a statement beside the one of the scope that holds the block `name`.
pub(super) fn put(state: &mut State<'_>, name: &str, new: Stmt, side: Side) {
    edit_scope(state, name, |body| put_in(body, name, new, side));
}

/// Lets a buffer live in the whole scope of a block.
pub(super) fn allocate(state: &mut State<'_>, name: &str, buf: BufId) {
    edit_scope(state, name, |body| {
        let inner = std::mem::replace(body, Stmt::Seq(Vec::new()));
        *body = Stmt::Alloc { buf, body: Box::new(inner) };
    });
}

/// Changes what the scope of a block runs.
fn edit_scope(state: &mut State<'_>, name: &str, f: impl FnOnce(&mut Stmt)) {
    let parent = state.scope_of(name).map(|block| block.name.clone());
    match parent {
        None => f(&mut state.body),
        Some(parent) => {
            if let Some(Stmt::Block(block)) = tree::find_mut(&mut state.body, &tree::is_block(&parent)) {
                f(&mut block.body);
            }
        }
    }
}

fn put_in(stmt: &mut Stmt, name: &str, new: Stmt, side: Side) {
    match stmt {
        Stmt::Seq(all) => {
            let wanted = tree::is_block(name);
            let Some(at) = all.iter().position(|s| tree::any(s, &wanted)) else { return };
            match &mut all[at] {
                inner @ (Stmt::Seq(_) | Stmt::At(..) | Stmt::Alloc { .. } | Stmt::Let { .. }) => {
                    put_in(inner, name, new, side);
                }
                _ => all.insert(if side == Side::Before { at } else { at + 1 }, new),
            }
        }
        Stmt::At(_, body) | Stmt::Alloc { body, .. } | Stmt::Let { body, .. } => put_in(body, name, new, side),
        other => {
            let old = std::mem::replace(other, Stmt::Seq(Vec::new()));
            *other = Stmt::Seq(if side == Side::Before { vec![new, old] } else { vec![old, new] });
        }
    }
}

// Copies.

/// A rectangle as index expressions: begins and extents.
pub(super) struct Part {
    pub begin: Vec<ExprId>,
    pub extent: Vec<ExprId>,
}

/// A rectangle in expressions of the function, or why there is none.
pub(super) fn part(state: &mut State<'_>, buf: BufId, found: &Rectangle) -> Result<Part, Refusal> {
    let ends = found.begin().zip(found.extent());
    let all = ends.and_then(|(begin, extent)| {
        let begin = begin.iter().map(|e| state.index_of(e)).collect::<Option<Vec<_>>>()?;
        let extent = extent.iter().map(|e| state.index_of(e)).collect::<Option<Vec<_>>>()?;
        Some(Part { begin, extent })
    });
    all.ok_or_else(|| {
        let text = format!("the part of `{}` that is touched has no bounds", state.buf_name(buf));
        Refusal::new(text, "only parts with bounds over loops and dims can be copied")
    })
}

/// A block called `name` over `extent`, spatial; `f` gives its body from its iterators.
pub(super) fn nest(
    state: &mut State<'_>,
    name: &str,
    extent: &[ExprId],
    f: impl FnOnce(&mut Builder, &[ExprId]) -> Stmt,
) -> Stmt {
    let vars: Vec<VarId> = (0..extent.len()).map(|n| state.b.index_var(&format!("v{n}"))).collect();
    let reads: Vec<ExprId> = vars.iter().map(|v| state.b.read(*v)).collect();
    let body = f(&mut state.b, &reads);
    let iters: Vec<_> = vars.iter().zip(extent).map(|(v, e)| (*v, *e, IterKind::Spatial)).collect();
    state.b.scope(|b| b.nest(name, &iters, None, body)).0
}

/// The block `to[begin + v] = from[begin + v]`.
pub(super) fn copy(state: &mut State<'_>, name: &str, from: BufId, to: BufId, part: &Part) -> Stmt {
    let begin = part.begin.clone();
    nest(state, name, &part.extent, |b, at| {
        let index: Vec<ExprId> = begin.iter().zip(at).map(|(begin, at)| offset(b, *begin, *at)).collect();
        let value = b.load(from, index.clone(), Access::Proven);
        Stmt::Store { buf: to, index, value, access: Access::Proven }
    })
}

fn offset(b: &mut Builder, begin: ExprId, at: ExprId) -> ExprId {
    match b.func().exprs.get(begin) {
        Expr::Index(0) => at,
        _ => b.add(begin, at),
    }
}

// Turning accesses to another buffer.

/// Turns what a statement loads from `from` (and stores to it, if `stores`) to `to`, at the index that `f` gives.
pub(super) fn turn(
    b: &mut Builder,
    stmt: Stmt,
    (from, to): (BufId, BufId),
    (loads, stores): (bool, bool),
    f: &dyn Fn(&mut Builder, &[ExprId]) -> Vec<ExprId>,
) -> Stmt {
    let stmt = if loads {
        let mut map = ExprMap::new(|b: &mut Builder, id| match b.func().exprs.get(id).clone() {
            Expr::Load { buf, index, access } if buf == from => {
                let index = f(b, &index);
                b.load(to, index, access)
            }
            _ => id,
        });
        map.stmt(b, stmt)
    } else {
        stmt
    };
    if stores { turn_stores(b, stmt, (from, to), f) } else { stmt }
}

fn turn_stores(
    b: &mut Builder,
    mut stmt: Stmt,
    (from, to): (BufId, BufId),
    f: &dyn Fn(&mut Builder, &[ExprId]) -> Vec<ExprId>,
) -> Stmt {
    if let Stmt::Store { buf, index, .. } = &mut stmt
        && *buf == from
    {
        *index = f(b, index);
        *buf = to;
    }
    for child in stmt.children_mut() {
        let old = std::mem::replace(child, Stmt::Seq(Vec::new()));
        *child = turn_stores(b, old, (from, to), f);
    }
    stmt
}

/// The same index.
pub(super) fn same(_: &mut Builder, index: &[ExprId]) -> Vec<ExprId> {
    index.to_vec()
}

/// Turns what a block loads from (or also stores to) a buffer to another one.
pub(super) fn turn_block(
    state: &mut State<'_>,
    name: &str,
    bufs: (BufId, BufId),
    what: (bool, bool),
    f: &dyn Fn(&mut Builder, &[ExprId]) -> Vec<ExprId>,
) -> Result<(), Refusal> {
    state.edit_block(name, |b, block| {
        let stmt = Stmt::Block(Box::new(block.clone()));
        if let Stmt::Block(new) = turn(b, stmt, bufs, what, f) {
            // What it touches is another thing now, and is found again where it is asked for.
            *block = Block { reads: Vec::new(), writes: Vec::new(), ..*new };
        }
    })
}

/// Puts a buffer of another shape in the place of one, at the indices that `f` gives.
pub(super) fn replace(
    state: &mut State<'_>,
    buf: BufId,
    shape: Vec<IntExpr>,
    f: &dyn Fn(&mut Builder, &[ExprId]) -> Vec<ExprId>,
) {
    let data = state.b.buf(buf).clone();
    let new = state.b.buffer(&data.name, data.dtype, shape, data.scope);
    state.b.buf_mut(new).range = data.range;
    let body = std::mem::replace(&mut state.body, Stmt::Seq(Vec::new()));
    let mut body = turn(&mut state.b, body, (buf, new), (true, true), f);
    live_instead(&mut body, (buf, new));
    state.body = body;
}

/// Lets `new` live where `old` did, and forgets regions, which are found again where they are asked for.
pub(super) fn live_instead(stmt: &mut Stmt, (old, new): (BufId, BufId)) {
    match stmt {
        Stmt::Alloc { buf, .. } if *buf == old => *buf = new,
        Stmt::Block(block) => {
            block.allocs.iter_mut().filter(|buf| **buf == old).for_each(|buf| *buf = new);
            block.reads.clear();
            block.writes.clear();
        }
        _ => {}
    }
    stmt.children_mut().into_iter().for_each(|s| live_instead(s, (old, new)));
}

// Legality.

/// Refuses unless every other block of the scope that writes `buf` runs in a statement before that of `block`.
pub(super) fn require_written_before(state: &State<'_>, block: &str, buf: BufId) -> Result<(), Refusal> {
    let here = item_of(state, block, block);
    for writer in writers(state, buf).iter().filter(|w| *w != block) {
        // One outside of the scope runs before or behind all of it.
        let there = item_of(state, block, writer);
        if there.is_some() && there >= here {
            let name = state.buf_name(buf);
            let text = format!("`{name}` is written by block `{writer}`, which does not run wholly before `{block}`");
            return Refusal::err(text, "make the copy before the blocks are moved into each other");
        }
    }
    Ok(())
}

/// Refuses unless a buffer holds something before a block: the caller's values, or what another block has written.
pub(super) fn require_filled(state: &State<'_>, block: &str, buf: BufId) -> Result<(), Refusal> {
    let given = |p: &Param| matches!(p, Param::Buffer(b, BufUse::In | BufUse::InOut) if *b == buf);
    let earlier = |w: &String| *w != block && item_of(state, block, w) < item_of(state, block, block);
    if state.b.func().params.iter().any(given) || writers(state, buf).iter().any(earlier) {
        return Ok(());
    }
    let text = format!("`{}` holds nothing before block `{block}`", state.buf_name(buf));
    Refusal::err(text, "only a buffer that is filled before can be copied before")
}

/// Refuses unless all of a part of a buffer is proven to hold something before a block: the caller's values, or what one
/// block writes without holes.
pub(super) fn require_no_holes(state: &State<'_>, block: &str, buf: BufId, part: &Rectangle) -> Result<(), Refusal> {
    let given = |p: &Param| matches!(p, Param::Buffer(b, BufUse::In | BufUse::InOut) if *b == buf);
    let constant = matches!(state.b.buf(buf).scope, Scope::Const(_));
    if constant || state.b.func().params.iter().any(given) {
        return Ok(());
    }
    let body = state.scope_body(block);
    let prover = Viewer::new(state.b.func()).prover;
    let fills = |name: &String| {
        let Ok(writer) = state.get_block(name) else { return false };
        let found = items(body).into_iter().find(|s| tree::any(s, &tree::is_block(name)));
        found.is_some_and(|item| {
            let (written, bounded) = bounded_region(state, item, buf, true);
            bounded && fills_box(state, item, writer, buf) && written.covers(part, &prover)
        })
    };
    if writers(state, buf).iter().any(fills) {
        return Ok(());
    }
    let text = format!("it is not proven that all of that part of `{}` is written before", state.buf_name(buf));
    Refusal::err(text, "copy it while one block writes it without holes")
}

/// Refuses unless `block` alone writes `buf`, and every block of the scope that reads it runs in a statement behind.
pub(super) fn require_read_behind(state: &State<'_>, block: &str, buf: BufId) -> Result<(), Refusal> {
    let name = state.buf_name(buf);
    if let Some(other) = writers(state, buf).iter().find(|w| *w != block && !holds_block(state, w, block)) {
        let text = format!("`{name}` is also written by block `{other}`");
        return Refusal::err(text, "only a buffer that one block writes can be written through a copy");
    }
    let here = item_of(state, block, block);
    for reader in readers(state, buf).iter().filter(|r| *r != block) {
        let there = item_of(state, block, reader);
        if there.is_some() && there <= here && !holds_block(state, reader, block) {
            let text = format!("`{name}` is read by block `{reader}`, which does not run wholly behind `{block}`");
            return Refusal::err(text, "make the copy before the blocks are moved into each other");
        }
    }
    Ok(())
}

fn holds_block(state: &State<'_>, outer: &str, inner: &str) -> bool {
    state.get_block(outer).is_ok_and(|block| tree::any(&block.body, &tree::is_block(inner)))
}

/// Refuses unless the loops around a block run it for every point of its iterators.
pub(super) fn require_whole(state: &State<'_>, name: &str) -> Result<(), Refusal> {
    let block = state.get_block(name)?;
    let path = tree::path(state.scope_body(name), &tree::is_block(name)).unwrap_or_default();
    let conditional = path.iter().any(|s| matches!(s, Stmt::If { .. } | Stmt::While { .. }));
    let mut viewer = Viewer::new(state.b.func());
    let mut domain = Domain::new();
    for stmt in &path {
        if let Stmt::For { var, min, extent, .. } = stmt {
            domain.push(state.b.sym(*var).clone(), Range::new(viewer.int(*min), viewer.int(*extent)));
        }
    }
    let values: Vec<IntExpr> = block.iters.iter().map(|i| viewer.int(i.value)).collect();
    let extents: Vec<IntExpr> = block.iters.iter().map(|i| viewer.int(i.extent)).collect();
    let guards: Vec<Fact> = block.predicate.map(|p| viewer.holds(p)).unwrap_or_default();
    let prover = viewer.prover.clone();
    let found = detect_iter_map(&values, &domain, &guards, IterMapLevel::Surjective, &prover);
    let whole = found.is_ok_and(|map| {
        let zero = map.indices.iter().all(|sum| prover.prove_eq(&sum.base, &IntExpr::from(0)));
        zero && map.extents.iter().zip(&extents).all(|(a, b)| prover.prove_eq(a, b))
    });
    if whole && !conditional {
        return Ok(());
    }
    let text = format!("it is not proven that block `{name}` runs for every value of its iterators");
    Refusal::err(text, "do this before its loops are changed")
}

/// Refuses if an index that was proven to lie inside its axis is not any more.
pub(super) fn require_proven(state: &State<'_>) -> Result<(), Refusal> {
    match tenfold_ir::tir::verify_bounds(&state.func()).into_iter().next() {
        None => Ok(()),
        Some(first) => Refusal::err(
            format!("it would access elements that are not proven to exist: {first}"),
            "only accesses that hold for every value of the iterators can be moved",
        ),
    }
}

/// Refuses memory of a thread block inside of a loop whose iterations run at once and are no threads.
pub(super) fn require_threads(state: &State<'_>) -> Result<(), Refusal> {
    let buffers = &state.b.func().buffers;
    let shared = |buf: BufId| matches!(buffers[buf.0 as usize].scope, Scope::Shared | Scope::SharedDyn | Scope::Warp);
    let mut found = None;
    state.body.walk(&mut |stmt| {
        if let Stmt::For { var, kind: LoopKind::Parallel | LoopKind::Vectorized, body, .. } = stmt {
            body.walk(&mut |inner| {
                let buf = inner.allocates().into_iter().find(|buf| shared(*buf));
                found = found.or(buf.map(|buf| (*var, buf)));
            });
        }
    });
    let Some((var, buf)) = found else { return Ok(()) };
    let (name, buf) = (state.name(var), state.buf_name(buf));
    let text = format!("iterations of `{name}` are no threads of a block, whose memory `{buf}` is");
    Refusal::err(text, "put it into `local` or `global` memory, or bind the loop to `blockIdx.x`")
}

/// The one index at which a block reads (or writes) a buffer.
pub(super) fn only_index(state: &State<'_>, block: &Block, buf: BufId, writes: bool) -> Result<Vec<ExprId>, Refusal> {
    let stmt = Stmt::Block(Box::new(block.clone()));
    let found = accesses(state.module, &state.b.func().exprs, &stmt);
    let all = if writes { found.writes } else { found.reads };
    let mut indices: Vec<Option<Vec<ExprId>>> = all.into_iter().filter(|a| a.buf == buf).map(|a| a.index).collect();
    indices.dedup();
    match indices.as_slice() {
        [Some(index)] => Ok(index.clone()),
        _ => {
            let (verb, name) = (if writes { "writes" } else { "reads" }, state.buf_name(buf));
            let text = format!("block `{}` {verb} `{name}` at more than one index", block.name);
            Refusal::err(text, "only what is accessed at one index can be laid out by iterators")
        }
    }
}

/// The block that a statement is about.
pub(super) fn block_in(stmt: &Stmt) -> String {
    tree::outer_blocks(stmt).first().map(|b| b.name.clone()).unwrap_or_default()
}

/// Whether a block reads a buffer.
pub(super) fn reads(state: &State<'_>, block: &Block, buf: BufId) -> bool {
    let stmt = Stmt::Block(Box::new(block.clone()));
    accesses(state.module, &state.b.func().exprs, &stmt).read_bufs().contains(&buf)
}

/// Refuses if another block of the same statement of the scope touches the buffer.
pub(super) fn require_not_shared(state: &State<'_>, block: &str, buf: BufId) -> Result<(), Refusal> {
    let here = item_of(state, block, block);
    let all = readers(state, buf).into_iter().chain(writers(state, buf));
    for other in all.filter(|other| other != block && !holds_block(state, other, block)) {
        if item_of(state, block, &other) == here {
            let text = format!("`{}` is also touched by block `{other}` in the same loops", state.buf_name(buf));
            return Refusal::err(text, "make the copy before the blocks are moved into each other");
        }
    }
    Ok(())
}

/// Whether a buffer is passed whole to a function.
pub(super) fn is_passed(state: &State<'_>, buf: BufId) -> bool {
    let found = accesses(state.module, &state.b.func().exprs, &state.body);
    found.reads.iter().chain(&found.writes).any(|a| a.buf == buf && a.index.is_none())
}

/// The rectangle of a buffer that the statement of the scope around a block reads or writes, inside of the buffer.
pub(super) fn touched_by_item(state: &State<'_>, block: &str, buf: BufId, writes: bool) -> Rectangle {
    let all = items(state.scope_body(block));
    let wanted = tree::is_block(block);
    let Some(item) = all.into_iter().find(|s| tree::any(s, &wanted)) else {
        return Rectangle::whole(&state.b.buf(buf).shape);
    };
    let prover = prover_at(state, &tree::is_block(block));
    region_of(state, item, buf, writes).clip(&state.b.buf(buf).shape, &prover)
}

/// The box that a block writes, one iterator or a constant for each axis.
pub(super) fn written_box(state: &mut State<'_>, name: &str, buf: BufId) -> Result<Part, Refusal> {
    let block = state.get_block(name)?.clone();
    let index = only_index(state, &block, buf, true)?;
    let Some(axes) = spatial_index(state, &block, &index) else {
        let text = format!("block `{name}` writes `{}` at something other than its iterators", state.buf_name(buf));
        return Refusal::err(text, "use `reindex` to write by iterators");
    };
    let (zero, one) = (state.b.index(0), state.b.index(1));
    let mut part = Part { begin: Vec::new(), extent: Vec::new() };
    for (axis, at) in axes.iter().zip(&index) {
        let iter = axis.and_then(|var| block.iters.iter().find(|i| i.var == var));
        part.begin.push(if iter.is_some() { zero } else { *at });
        part.extent.push(iter.map_or(one, |i| i.extent));
    }
    Ok(part)
}
