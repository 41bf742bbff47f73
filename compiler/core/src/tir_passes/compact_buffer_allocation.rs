//! `CompactBufferAllocation`: an allocation has room for what is used of it at once, and no more.
//!
//! Behind `ConvertBlocksToOpaque`, while buffers have axes. Along each axis the part that the statements inside of the
//! allocation touch becomes the whole, if its extent is bounded by a number below the axis's; indices are shifted by
//! where it begins, which may move with the loops around the allocation, but for those over threads that share it. What is
//! passed to a call, viewed, or reached by an index of which nothing is known keeps its extents. A block may ask for
//! distances that are aligned.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::Module;
use tenfold_ir::arith::{Domain, IntExpr, IntervalSet, Prover, Range, Rectangle, Sym, touched};
use tenfold_ir::tir::{
    Annotation, BufId, BufferData, Builder, Expr, ExprId, ExprMap, LoopKind, Phase, PrimFunc, Scope, Stmt, VarId,
    Viewer, own_accesses,
};

use super::kernel::is_thread;
use super::rewrite_body;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("CompactBufferAllocation", &run)
    .in_phase(PassPhase::Loops)
    .lowering()
    .about("shrinks allocations to what is used of them");

fn run(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    if func.phase >= Phase::Flat {
        return Ok(func);
    }
    let (parts, aligned) = (find(&func), alignments(&func));
    if parts.is_empty() && aligned.is_empty() {
        return Ok(func);
    }
    let mut func = rewrite_body(func, |b, body| {
        let mut loads = ExprMap::new(|b: &mut Builder, id: ExprId| match b.func().exprs.get(id).clone() {
            Expr::Load { buf, index, access } if parts.contains_key(&buf) => {
                let (index, ty) = (parts[&buf].shifted(b, index), b.ty(id));
                b.raw(Expr::Load { buf, index, access }, ty)
            }
            _ => id,
        });
        let body = loads.stmt(b, body);
        body.map(&mut |stmt| rewrite(b, stmt, &parts))
    });
    for (buf, part) in parts {
        func.buffers[buf.0 as usize].shape = part.shape;
    }
    for (buf, asked) in aligned {
        align(&mut func.buffers[buf.0 as usize], &asked);
    }
    Ok(func)
}

/// What is used of an allocation.
struct Part {
    /// First index of each axis.
    begin: Vec<IntExpr>,
    shape: Vec<IntExpr>,
}

impl Part {
    fn shifted(&self, b: &mut Builder, index: Vec<ExprId>) -> Vec<ExprId> {
        let one = |(i, begin): (ExprId, &IntExpr)| {
            if begin.as_const() == Some(0) {
                return i;
            }
            let (i, begin) = (b.to_index(i), b.int_expr(begin));
            b.sub(i, begin)
        };
        index.into_iter().zip(&self.begin).map(one).collect()
    }
}

fn rewrite(b: &mut Builder, stmt: Stmt, parts: &BTreeMap<BufId, Part>) -> Stmt {
    match stmt {
        Stmt::Store { buf, index, value, access } if parts.contains_key(&buf) => {
            Stmt::Store { buf, index: parts[&buf].shifted(b, index), value, access }
        }
        Stmt::Prefetch { buf, index } if parts.contains_key(&buf) => {
            Stmt::Prefetch { buf, index: parts[&buf].shifted(b, index) }
        }
        Stmt::Block(mut block) => {
            // Regions say where in the whole; nobody behind asks for them.
            block.reads.retain(|region| !parts.contains_key(&region.buf));
            block.writes.retain(|region| !parts.contains_key(&region.buf));
            block.annotations.retain(|a| !matches!(a, Annotation::StorageAlign { .. }));
            Stmt::Block(block)
        }
        other => other,
    }
}

// Finding.

fn find(func: &PrimFunc) -> BTreeMap<BufId, Part> {
    let kept = kept(func);
    let mut parts = BTreeMap::new();
    Viewer::new(func).walk(&func.body, &mut |v, stmt| {
        for buf in stmt.allocates() {
            let data = &func.buffers[buf.0 as usize];
            let own = matches!(data.scope, Scope::Global | Scope::Local | Scope::Shared) && data.strides.is_none();
            if own && !kept.contains(&buf) && !data.shape.is_empty() {
                parts.extend(part(v, stmt, buf).map(|part| (buf, part)));
            }
        }
    });
    parts
}

/// Buffers that are used as wholes.
fn kept(func: &PrimFunc) -> BTreeSet<BufId> {
    let mut kept = BTreeSet::new();
    func.body.walk(&mut |stmt| {
        kept.extend(own_accesses(func, stmt).into_iter().filter(|a| a.index.is_none()).map(|a| a.buf));
        match stmt {
            Stmt::Block(block) => kept.extend(block.matches.iter().map(|m| m.region.buf)),
            Stmt::For { annotations, .. } => kept.extend(annotations.iter().filter_map(Annotation::buffer)),
            _ => {}
        }
    });
    kept
}

fn part(v: &mut Viewer<'_>, stmt: &Stmt, buf: BufId) -> Option<Part> {
    let mut walk = Walk { buf, found: None, inside: BTreeSet::new(), failed: false };
    stmt.walk(&mut |s| walk.inside.extend(s.bound().into_iter().map(|var| v.sym(var))));
    if v.func().buffers[buf.0 as usize].scope == Scope::Shared {
        walk.inside.extend(threads(v.func()).into_iter().map(|var| v.sym(var)));
    }
    v.scope(|v| stmt.children().into_iter().for_each(|s| walk.stmt(v, s, &Domain::new())));
    let found = walk.found.filter(|_| !walk.failed)?;
    let old = &v.func().buffers[buf.0 as usize].shape;
    let clipped = found.clip(old, &v.prover);
    let outer = |e: &IntExpr| e.vars().iter().all(|s| !walk.inside.contains(s) && !s.as_str().starts_with('%'));
    let axes = clipped.axes.iter().zip(old).map(|(axis, old)| {
        let (begin, extent) = used(axis, &v.prover).filter(|(begin, _)| outer(begin))?;
        old.as_const().is_none_or(|m| extent < m).then(|| (begin, IntExpr::from(extent)))
    });
    let axes = axes.zip(old).map(|(axis, old)| axis.unwrap_or_else(|| (IntExpr::from(0), old.clone())));
    let (begin, shape): (Vec<IntExpr>, Vec<IntExpr>) = axes.unzip();
    (shape != *old).then_some(Part { begin, shape })
}

/// What stands for the numbers of threads.
fn threads(func: &PrimFunc) -> Vec<VarId> {
    let mut all = Vec::new();
    func.body.walk(&mut |stmt| match stmt {
        Stmt::For { var, kind, .. } if is_thread(*kind) || *kind == LoopKind::VThread => all.push(*var),
        _ => {}
    });
    all
}

/// Where what is used of an axis begins, and the most that it takes. It is one element where loops never run: back ends
/// ask for a number there too.
fn used(axis: &IntervalSet, prover: &Prover) -> Option<(IntExpr, i64)> {
    let begin = match axis {
        IntervalSet::Empty => IntExpr::from(0),
        IntervalSet::Between { min, .. } => prover.simplify(min.as_ref()?),
    };
    let extent = prover.simplify(&axis.extent()?);
    Some((begin, prover.const_bounds(&extent).1?.max(1)))
}

struct Walk {
    buf: BufId,
    found: Option<Rectangle>,
    /// What is bound inside of the allocation.
    inside: BTreeSet<Sym>,
    failed: bool,
}

impl Walk {
    fn stmt(&mut self, v: &mut Viewer<'_>, stmt: &Stmt, domain: &Domain) {
        for access in own_accesses(v.func(), stmt) {
            if access.buf == self.buf {
                self.touch(v, access.index.unwrap_or_default(), domain);
            }
        }
        if let Stmt::Prefetch { buf, .. } = stmt {
            self.failed |= *buf == self.buf;
        }
        let mut inner = domain.clone();
        if let Stmt::For { var, min, extent, .. } = stmt {
            let range = Range::new(v.int(*min), v.int(*extent));
            inner.push(v.sym(*var), range);
        }
        stmt.children().into_iter().for_each(|s| self.stmt(v, s, &inner));
    }

    fn touch(&mut self, v: &mut Viewer<'_>, index: Vec<ExprId>, domain: &Domain) {
        self.failed |= index.iter().any(|i| v.func().exprs.ty(*i).lanes != 1);
        let index: Vec<IntExpr> = index.into_iter().map(|i| v.int(i)).collect();
        let here = touched(&index, domain, &v.prover);
        self.found = Some(match self.found.take() {
            Some(found) => found.union(&here, &v.prover),
            None => here,
        });
    }
}

// Distances.

/// What blocks ask of distances: axis, factor and offset of each.
fn alignments(func: &PrimFunc) -> BTreeMap<BufId, Vec<(u32, i64, i64)>> {
    let mut all: BTreeMap<BufId, Vec<(u32, i64, i64)>> = BTreeMap::new();
    func.body.walk(&mut |stmt| {
        if let Stmt::Block(block) = stmt {
            for annotation in &block.annotations {
                if let Annotation::StorageAlign { buf, axis, factor, offset } = *annotation {
                    all.entry(buf).or_default().push((axis, factor, offset));
                }
            }
        }
    });
    all
}

/// Row-major distances, those asked for made larger until they are `offset` above a multiple of `factor`.
fn align(buffer: &mut BufferData, asked: &[(u32, i64, i64)]) {
    let own = matches!(buffer.scope, Scope::Global | Scope::Local | Scope::Shared) && buffer.strides.is_none();
    let Some(shape) = buffer.shape.iter().map(IntExpr::as_const).collect::<Option<Vec<i64>>>().filter(|_| own) else {
        return;
    };
    let mut strides = vec![1i64; shape.len()];
    for axis in (0..shape.len()).rev() {
        if axis + 1 < shape.len() {
            strides[axis] = strides[axis + 1].saturating_mul(shape[axis + 1].max(1));
        }
        for (_, factor, offset) in asked.iter().filter(|(a, ..)| *a as usize == axis) {
            if *factor > 0 {
                strides[axis] += (offset - strides[axis]).rem_euclid(*factor);
            }
        }
    }
    buffer.strides = Some(strides.into_iter().map(IntExpr::from).collect());
}
