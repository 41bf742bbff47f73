//! The primitives. One primitive is one file, which holds its row of the table, its method and its legality.

use super::table::Primitive;

mod add_unit_loop;
mod annotate;
mod decompose_reduction;
mod loop_partition;
mod merge;
mod rfactor;
mod sample_categorical;
mod sample_compute_location;
mod sample_partitioned_tile;
mod sample_perfect_tile;
mod unannotate;

mod bind;
mod blockize;
mod cache_inplace;
mod cache_read;
mod cache_write;
mod compute_at;
mod compute_inline;
mod decompose_padding;
mod fuse;
mod get_block;
mod get_child_blocks;
mod get_consumers;
mod get_loops;
mod get_output_blocks;
mod get_producers;
mod pad_einsum;
mod parallel;
mod reindex;
mod reindex_cache_read;
mod reindex_cache_write;
mod reorder;
mod reorder_block_iter_var;
mod reverse_compute_at;
mod reverse_compute_inline;
mod rolling_buffer;
mod set_scope;
mod split;
mod storage_align;
mod tensorize;
mod tile;
mod transform_block_layout;
mod transform_layout;
mod unroll;
mod unsafe_set_dtype;
mod vectorize;

/// Every primitive, in the order of the documentation.
pub static PRIMITIVES: &[Primitive] = &[
    get_block::PRIMITIVE,
    get_loops::PRIMITIVE,
    get_child_blocks::PRIMITIVE,
    get_producers::PRIMITIVE,
    get_consumers::PRIMITIVE,
    get_output_blocks::PRIMITIVE,
    split::PRIMITIVE,
    fuse::PRIMITIVE,
    reorder::PRIMITIVE,
    reorder_block_iter_var::PRIMITIVE,
    tile::PRIMITIVE,
    add_unit_loop::PRIMITIVE,
    loop_partition::PRIMITIVE,
    merge::PRIMITIVE,
    parallel::PRIMITIVE,
    vectorize::PRIMITIVE,
    unroll::PRIMITIVE,
    bind::PRIMITIVE,
    annotate::PRIMITIVE,
    unannotate::PRIMITIVE,
    set_scope::PRIMITIVE,
    unsafe_set_dtype::PRIMITIVE,
    cache_read::PRIMITIVE,
    cache_write::PRIMITIVE,
    cache_inplace::PRIMITIVE,
    reindex::PRIMITIVE,
    reindex_cache_read::PRIMITIVE,
    reindex_cache_write::PRIMITIVE,
    transform_layout::PRIMITIVE,
    storage_align::PRIMITIVE,
    compute_at::PRIMITIVE,
    reverse_compute_at::PRIMITIVE,
    compute_inline::PRIMITIVE,
    reverse_compute_inline::PRIMITIVE,
    transform_block_layout::PRIMITIVE,
    decompose_padding::PRIMITIVE,
    blockize::PRIMITIVE,
    tensorize::PRIMITIVE,
    rolling_buffer::PRIMITIVE,
    pad_einsum::PRIMITIVE,
    decompose_reduction::PRIMITIVE,
    rfactor::PRIMITIVE,
    sample_categorical::PRIMITIVE,
    sample_perfect_tile::PRIMITIVE,
    sample_partitioned_tile::PRIMITIVE,
    sample_compute_location::PRIMITIVE,
];

/// Shorter names that `#[schedule]` knows too.
const ALIASES: &[(&str, &str)] = &[("block", "get_block"), ("loops", "get_loops")];

/// The primitive of that name.
pub(super) fn find(name: &str) -> Option<&'static Primitive> {
    let name = ALIASES.iter().find(|(short, _)| *short == name).map_or(name, |(_, long)| *long);
    PRIMITIVES.iter().find(|p| p.name == name)
}

/// What to write instead of a name that is no primitive's.
pub(super) fn closest(name: &str) -> String {
    let near = PRIMITIVES.iter().map(|p| (distance(name, p.name), p.name)).min();
    match near {
        Some((d, found)) if d <= 3 => format!("did you mean `{found}`?"),
        _ => "the primitives are listed in compiler/docs/schedules.md".to_string(),
    }
}

/// How many letters to insert, remove or replace.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let here = (corner + usize::from(x != *y)).min(row[j] + 1).min(row[j + 1] + 1);
            corner = std::mem::replace(&mut row[j + 1], here);
        }
    }
    row[b.len()]
}

// What several primitives share.

use tenfold_ir::tir::{Annotation, LoopKind, Stmt, ThreadAxis, VarId};

use super::analysis::independent;
use super::args::{Args, Value};
use super::edit::{Loop, State};
use super::error::Refusal;
use super::tree;

/// Refuses a loop whose turns already have an order or a place of their own.
fn require_plain(state: &State<'_>, it: &Loop, verb: &str) -> Result<(), Refusal> {
    if it.is_plain() {
        return Ok(());
    }
    let (name, kind) = (state.name(it.var), kind_word(it.kind));
    Refusal::err(format!("`{name}` is {kind}, and only plain loops can be {verb}"), format!("do it before `{kind}`"))
}

fn kind_word(kind: LoopKind) -> &'static str {
    match kind {
        LoopKind::Serial => "serial",
        LoopKind::Reduction => "a reduction",
        LoopKind::Parallel => "parallel",
        LoopKind::Vectorized => "vectorized",
        LoopKind::Unrolled => "unrolled",
        LoopKind::ThreadBound(_) => "bound to a thread axis",
        LoopKind::VThread => "bound to virtual threads",
    }
}

/// Whether a loop may stand around one of another kind: blocks of threads hold threads, and no axis holds itself.
fn may_hold(outer: LoopKind, inner: LoopKind) -> bool {
    match (outer, inner) {
        (LoopKind::ThreadBound(ThreadAxis::Thread(_)), LoopKind::ThreadBound(ThreadAxis::Block(_))) => false,
        (LoopKind::ThreadBound(outer), LoopKind::ThreadBound(inner)) => outer != inner,
        _ => true,
    }
}

/// Gives a plain loop a kind.
fn set_kind(state: &mut State<'_>, var: VarId, kind: LoopKind) -> Result<(), Refusal> {
    let it = state.get_loop(var)?;
    require_plain(state, &it, "given another kind")?;
    state.edit_loop(var, |_, l| Loop { kind, ..l }.stmt())
}

/// Gives a plain loop whose turns are independent a kind.
fn set_independent(state: &mut State<'_>, var: VarId, kind: LoopKind) -> Result<(), Refusal> {
    let it = state.get_loop(var)?;
    require_plain(state, &it, "given another kind")?;
    independent(state, &it.stmt(), var)?;
    set_kind(state, var, kind)
}

/// The annotations of the loop or block of parameter 0.
fn annotations_of(state: &State<'_>, args: &Args) -> Result<Vec<Annotation>, Refusal> {
    match args.get(0) {
        Value::Loop(var) => Ok(state.get_loop(*var)?.annotations),
        _ => Ok(state.get_block(args.block(0))?.annotations.clone()),
    }
}

/// Changes the annotations of the loop or block of parameter 0.
fn edit_annotations(state: &mut State<'_>, args: &Args, f: impl FnOnce(&mut Vec<Annotation>)) {
    let found = match args.get(0) {
        Value::Loop(var) => tree::find_mut(&mut state.body, &tree::is_loop(*var)),
        _ => tree::find_mut(&mut state.body, &tree::is_block(args.block(0))),
    };
    match found {
        Some(Stmt::For { annotations, .. }) => f(annotations),
        Some(Stmt::Block(block)) => f(&mut block.annotations),
        _ => {}
    }
}

/// The key that `annotate` gives for an annotation.
fn annotation_key(it: &Annotation) -> &str {
    match it {
        Annotation::SoftwarePipeline { .. } => "software_pipeline",
        Annotation::DoubleBuffer(_) => "double_buffer",
        Annotation::StorageAlign { .. } => "storage_align",
        Annotation::PragmaUnroll { explicit: true, .. } => "pragma_unroll_explicit",
        Annotation::PragmaUnroll { explicit: false, .. } => "pragma_auto_unroll_max_step",
        Annotation::LoopPartition => "loop_partition",
        Annotation::Prefetch { .. } => "prefetch",
        Annotation::PrefetchNext { .. } => "prefetch_next",
        Annotation::CrossThread => "cross_thread",
        Annotation::AutoParallel => "auto_parallel",
        Annotation::Shared => "shared",
        Annotation::AutoCopy => "auto_copy",
        Annotation::MatrixTile => "matrix_tile",
        Annotation::User { key, .. } => key,
    }
}

/// The extent of a loop that is a number of at least 1.
fn constant_extent(state: &State<'_>, var: VarId) -> Result<i64, Refusal> {
    let it = state.get_loop(var)?;
    match state.int(it.extent).as_const() {
        Some(n) if (1..=1 << 24).contains(&n) => Ok(n),
        _ => {
            let text = format!("`{}` has no constant extent from 1 to 2^24", state.name(var));
            Refusal::err(text, "sample factors of loops of constant extents")
        }
    }
}

/// How many factors are wanted.
fn tile_count(n: Option<i64>) -> Result<usize, Refusal> {
    match n {
        Some(n @ 1..=16) => Ok(n as usize),
        _ => Refusal::err("the number of factors is not from 1 to 16", "give 1 to 16"),
    }
}

/// The greatest innermost factor.
fn innermost(most: Option<i64>) -> Result<i64, Refusal> {
    match most {
        None => Ok(i64::MAX),
        Some(n) if n >= 1 => Ok(n),
        Some(n) => Refusal::err(format!("no factor is at most {n}"), "give at least 1"),
    }
}
