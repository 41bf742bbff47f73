//! `StorageRewrite`: allocations that are never needed at once share memory.
//!
//! Runs on flat tir. Of allocations of one scope and dtype with constant sizes, one takes the memory of another that is
//! done before it begins; the memory lives at the lowest place around both, and is as large as the larger. What a loop
//! uses that does not allocate it lives through the whole loop. A few elements stay apart, and so does local memory each
//! of whose accesses is at a number: they are registers, which a back end finds only while they are used alone. Loops
//! whose iterations run side by side keep what they allocate inside.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{BufId, Builder, CallArg, Expr, ExprId, ExprMap, LoopKind, Phase, PrimFunc, Scope, Stmt};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("StorageRewrite", &run)
    .in_phase(PassPhase::Flat)
    .at_level(2)
    .about("lets allocations that are never needed at once share memory");

/// Bytes up to which an allocation is taken for registers.
const REGISTERS: i64 = 64;

fn run(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    let parallel = |kind: LoopKind| match kind {
        LoopKind::Parallel | LoopKind::ThreadBound(_) | LoopKind::VThread => true,
        LoopKind::Serial | LoopKind::Reduction | LoopKind::Vectorized | LoopKind::Unrolled => false,
    };
    let threads = func.body.any(&mut |s| matches!(s, Stmt::For { kind, .. } if parallel(*kind)));
    if func.phase < Phase::Flat || threads {
        return Ok(func);
    }
    let mut lives = Lives { func: &func, now: 0, loops: Vec::new(), inside: BTreeMap::new(), spans: BTreeMap::new() };
    lives.stmt(&func.body);
    let registers = registers(&func);
    lives.spans.retain(|buf, _| !registers.contains(buf));
    let shared = assign(&func, &lives.spans);
    if shared.is_empty() {
        return Ok(func);
    }
    Ok(rewrite_body(func, |b, body| share(b, body, &shared)))
}

/// Local memory each of whose accesses is at a number.
fn registers(func: &PrimFunc) -> BTreeSet<BufId> {
    let number = |id: &ExprId| match func.exprs.get(*id) {
        Expr::Index(_) => true,
        Expr::Ramp(base, _, _) => matches!(func.exprs.get(*base), Expr::Index(_)),
        _ => false,
    };
    let local = |buf: &BufId| func.buffers[buf.0 as usize].scope == Scope::Local;
    let mut all: BTreeSet<BufId> = (0..func.buffers.len() as u32).map(BufId).filter(local).collect();
    let mut check = |buf: &BufId, index: &[ExprId]| {
        if !index.iter().all(number) {
            all.remove(buf);
        }
    };
    func.body.walk(&mut |stmt| {
        if let Stmt::Store { buf, index, .. } | Stmt::Prefetch { buf, index } = stmt {
            check(buf, index);
        }
    });
    for id in func.exprs_in(&func.body) {
        if let Expr::Load { buf, index, .. } = func.exprs.get(id) {
            check(buf, index);
        }
    }
    all
}

/// Bytes of an allocation that may be shared.
fn bytes(func: &PrimFunc, buf: BufId) -> Option<i64> {
    let data = &func.buffers[buf.0 as usize];
    let own = matches!(data.scope, Scope::Global | Scope::Local) && data.strides.is_none() && data.range.is_none();
    let size = data.shape.iter().try_fold(1i64, |n, d| n.checked_mul(d.as_const()?))?;
    let bytes = size.checked_mul(data.dtype.size_bytes() as i64)?;
    (own && bytes > REGISTERS).then_some(bytes)
}

/// From when to when each allocation is in use, in statements counted in order.
struct Lives<'f> {
    func: &'f PrimFunc,
    now: usize,
    /// First statements of the loops around, and how many statements each had behind it when it began.
    loops: Vec<usize>,
    /// How many loops are around each allocation.
    inside: BTreeMap<BufId, usize>,
    spans: BTreeMap<BufId, (usize, usize, Vec<usize>)>,
}

impl Lives<'_> {
    fn stmt(&mut self, stmt: &Stmt) {
        self.now += 1;
        self.touch_all(stmt);
        if let Stmt::Alloc { buf, .. } = stmt {
            self.inside.insert(*buf, self.loops.len());
        }
        let repeats = matches!(stmt, Stmt::For { .. } | Stmt::While { .. });
        if repeats {
            self.loops.push(self.now);
        }
        stmt.children().into_iter().for_each(|s| self.stmt(s));
        if repeats {
            let begun = self.loops.pop();
            self.extend(begun);
        }
    }

    fn touch_all(&mut self, stmt: &Stmt) {
        let mut used: Vec<BufId> = Vec::new();
        match stmt {
            Stmt::Store { buf, .. } | Stmt::Prefetch { buf, .. } => used.push(*buf),
            Stmt::Call { args, .. } => used.extend(args.iter().filter_map(|a| match a {
                CallArg::Buffer(buf) => Some(*buf),
                CallArg::Value(_) => None,
            })),
            _ => {}
        }
        used.extend(self.func.reachable(stmt.exprs()).into_iter().filter_map(|e| match self.func.exprs.get(e) {
            Expr::Load { buf, .. } => Some(*buf),
            _ => None,
        }));
        used.into_iter().for_each(|buf| self.touch(buf));
    }

    fn touch(&mut self, buf: BufId) {
        let Some(depth) = self.inside.get(&buf) else { return };
        // A loop inside of its life runs again: all of it is in use from its beginning to its end.
        let around = self.loops.get(*depth).copied();
        let begin = around.unwrap_or(self.now).min(self.now);
        let span = self.spans.entry(buf).or_insert((begin, self.now, Vec::new()));
        span.0 = span.0.min(begin);
        span.1 = span.1.max(self.now);
        span.2.extend(around);
    }

    /// A loop has ended: what lives through it does so to its last statement.
    fn extend(&mut self, begun: Option<usize>) {
        let Some(begun) = begun else { return };
        for span in self.spans.values_mut() {
            if span.2.contains(&begun) {
                span.1 = self.now;
                span.2.retain(|b| *b != begun);
            }
        }
    }
}

/// Allocations and whose memory they take.
fn assign(func: &PrimFunc, spans: &BTreeMap<BufId, (usize, usize, Vec<usize>)>) -> BTreeMap<BufId, BufId> {
    let mut order: Vec<(usize, usize, BufId)> =
        spans.iter().filter(|(buf, _)| bytes(func, **buf).is_some()).map(|(buf, s)| (s.0, s.1, *buf)).collect();
    order.sort_unstable();
    // Memories with when each is free again.
    let mut free: Vec<(usize, BufId)> = Vec::new();
    let mut shared = BTreeMap::new();
    for (begin, end, buf) in order {
        let like = |other: BufId| {
            let (a, b) = (&func.buffers[buf.0 as usize], &func.buffers[other.0 as usize]);
            (a.scope, a.dtype) == (b.scope, b.dtype)
        };
        match free.iter_mut().find(|(until, other)| *until < begin && like(*other)) {
            Some((until, other)) => {
                *until = end;
                shared.insert(buf, *other);
            }
            None => free.push((end, buf)),
        }
    }
    shared
}

/// The body with shared memory allocated around all of it, as large as the largest that uses it.
fn share(b: &mut Builder, body: Stmt, shared: &BTreeMap<BufId, BufId>) -> Stmt {
    let mut sizes: BTreeMap<BufId, i64> = BTreeMap::new();
    for (buf, owner) in shared {
        for one in [buf, owner] {
            let size = b.buf(*one).shape.iter().try_fold(1i64, |n, d| Some(n * d.as_const()?)).unwrap_or(0);
            let largest = sizes.entry(*owner).or_insert(size);
            *largest = size.max(*largest);
        }
    }
    let gone = |buf: BufId| shared.contains_key(&buf) || sizes.contains_key(&buf);
    let body = body.map(&mut |stmt| match stmt {
        Stmt::Alloc { buf, body } if gone(buf) => *body,
        other => other.map_buffers(&mut |buf| shared.get(&buf).copied().unwrap_or(buf)),
    });
    let mut loads = ExprMap::new(|b: &mut Builder, id: ExprId| match b.func().exprs.get(id).clone() {
        Expr::Load { buf, index, access } if shared.contains_key(&buf) => {
            let ty = b.ty(id);
            b.raw(Expr::Load { buf: shared[&buf], index, access }, ty)
        }
        _ => id,
    });
    let body = loads.stmt(b, body);
    for (owner, size) in &sizes {
        b.buf_mut(*owner).shape = vec![IntExpr::from(*size)];
    }
    around(body, &sizes.keys().copied().collect::<Vec<_>>())
}

/// The allocations around the least that uses each.
fn around(body: Stmt, owners: &[BufId]) -> Stmt {
    owners.iter().rev().fold(body, |body, buf| Stmt::Alloc { buf: *buf, body: Box::new(body) })
}
