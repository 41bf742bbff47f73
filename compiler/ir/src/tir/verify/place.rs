//! What may stand where: barriers, loops over threads, calls of device functions, annotations.

use super::{Check, rules};
use crate::tir::warp::Warp;
use crate::tir::{
    Annotation, Expr, ExprId, FuncKind, Launch, LoopKind, Param, Phase, PrimFunc, Scope, Stmt, ThreadAxis, Ty,
};
use crate::tir::{BufId, Group, Mbarrier, TensorCopy};

/// Whether memory is that of all blocks.
fn is_far(scope: Scope) -> bool {
    matches!(scope, Scope::Param | Scope::Global | Scope::Const(_) | Scope::Workspace)
}

impl Check<'_> {
    /// Inside of a loop of this kind.
    pub(super) fn within(&mut self, kind: LoopKind, f: impl FnOnce(&mut Self)) {
        let thread = |k: &LoopKind| matches!(k, LoopKind::ThreadBound(ThreadAxis::Thread(_)));
        if let LoopKind::ThreadBound(axis) = kind {
            if self.axes.contains(&kind) {
                self.fail(rules::AXIS, format!("{} inside of itself", super::super::print::loop_name(kind)));
            }
            if matches!(axis, ThreadAxis::Block(_)) && self.axes.iter().any(thread) {
                self.fail(rules::AXIS, "thread blocks inside of threads");
            }
            self.axes.push(kind);
        }
        f(self);
        if matches!(kind, LoopKind::ThreadBound(_)) {
            self.axes.pop();
        }
    }

    pub(super) fn barrier(&mut self, scope: Scope) {
        if !matches!(scope, Scope::Shared | Scope::SharedDyn | Scope::Warp) {
            let name = super::super::print::scope_name(scope);
            self.fail(rules::BARRIER_SCOPE, format!("a barrier for `{name}` memory, which threads do not share"));
        }
        if self.axes.is_empty() {
            self.fail(rules::BARRIER_PLACE, "a barrier outside of loops over thread axes");
        }
    }

    /// How many threads run what stands in a loop, if these are a constant number along x alone. Else 0.
    pub(super) fn along_x(&self, kind: LoopKind, min: ExprId, extent: ExprId) -> i64 {
        let literal = |e: ExprId| if (e.0 as usize) < self.func.exprs.len() { self.func.literal(e) } else { None };
        match kind {
            LoopKind::ThreadBound(ThreadAxis::Thread(0)) => {
                let others = |k: &LoopKind| matches!(k, LoopKind::ThreadBound(ThreadAxis::Thread(_)));
                let whole = literal(extent).filter(|n| *n > 0);
                let alone = literal(min) == Some(0) && !self.axes.iter().any(others);
                whole.filter(|_| alone).unwrap_or(0)
            }
            LoopKind::ThreadBound(ThreadAxis::Thread(_)) | LoopKind::VThread => 0,
            LoopKind::ThreadBound(ThreadAxis::Block(_))
            | LoopKind::Serial
            | LoopKind::Reduction
            | LoopKind::Parallel
            | LoopKind::Vectorized
            | LoopKind::Unrolled => self.whole,
        }
    }

    /// A function of a block, which gives the value `id`.
    pub(super) fn group(&mut self, f: Group, id: ExprId) {
        let name = f.name();
        if self.stored.is_none_or(|(value, ..)| value != id) {
            self.fail(rules::GROUP, format!("`{name}` in an expression; it is stored by itself"));
        }
        if self.whole == 0 {
            self.fail(rules::GROUP, format!("`{name}` outside of a constant number of threads of `threadIdx.x` alone"));
        }
    }

    /// A function of a warp, which gives the value `id`.
    pub(super) fn warp(&mut self, f: Warp, id: ExprId, args: &[ExprId]) {
        let name = f.name();
        if self.stored.is_none_or(|(value, ..)| value != id) {
            self.fail(rules::WARP, format!("`{name}` in an expression; it is stored by itself"));
        }
        let threads = f.threads();
        if self.whole == 0 || self.whole % threads != 0 {
            self.fail(
                rules::WARP,
                format!("`{name}` outside of `threadIdx.x` with a multiple of {threads} threads alone"),
            );
        }
        let row = |e: &ExprId| match self.func.exprs.get(*e) {
            Expr::Load { buf, index, .. } => self.is_shared(*buf) && self.is_side_by_side(index.last().copied()),
            _ => false,
        };
        let rows = match f {
            Warp::LdMatrix | Warp::LdMatrixTrans => 0..1,
            Warp::Wgmma(_) => 0..2,
            Warp::WgmmaRegisters(_) => 1..2,
            Warp::Mma | Warp::WgmmaWait(_) | Warp::ShuffleXor(_) => 0..0,
        };
        if !args.get(rows).unwrap_or_default().iter().all(row) {
            self.fail(rules::WARP, format!("`{name}` of what are no neighbours in shared memory"));
        }
        if matches!(f, Warp::WgmmaRegisters(_)) && !args.first().is_some_and(|e| self.is_own(*e)) {
            self.fail(rules::WARP, format!("`{name}` of what are no neighbours in an array of a thread"));
        }
    }

    /// Whether an expression is of neighbours in memory that one thread has.
    fn is_own(&self, e: ExprId) -> bool {
        let Expr::Load { buf, index, .. } = self.func.exprs.get(e) else { return false };
        let data = self.func.buffers.get(buf.0 as usize);
        data.is_some_and(|data| data.scope == Scope::Local) && self.is_side_by_side(index.last().copied())
    }

    fn is_shared(&self, buf: BufId) -> bool {
        let data = self.func.buffers.get(buf.0 as usize);
        data.is_some_and(|data| matches!(data.scope, Scope::Shared | Scope::SharedDyn))
    }

    /// Whether the last index of an access is that of neighbours.
    fn is_side_by_side(&self, last: Option<ExprId>) -> bool {
        last.is_some_and(|at| match self.func.exprs.get(at) {
            Expr::Ramp(_, one, _) => self.func.literal(*one) == Some(1),
            _ => false,
        })
    }

    /// A copy that goes on by itself, which gives the value `id`.
    pub(super) fn copy_async(&mut self, id: ExprId, args: &[ExprId]) {
        let (value, buf, last) = self.stored.unwrap_or((ExprId(u32::MAX), BufId(0), None));
        let from = args.iter().all(|e| match self.func.exprs.get(*e) {
            Expr::Load { buf, index, .. } => {
                let scope = self.func.buffers.get(buf.0 as usize).map(|data| data.scope);
                scope.is_some_and(is_far) && self.is_side_by_side(index.last().copied())
            }
            _ => false,
        });
        if value != id || !self.is_shared(buf) || !self.is_side_by_side(last) || !from {
            self.fail(
                rules::COPY_ASYNC,
                "`copy_async` that is not of neighbours in global memory to such in shared memory",
            );
        }
        if self.axes.is_empty() {
            self.fail(rules::COPY_ASYNC, "`copy_async` outside of loops over thread axes");
        }
    }

    /// A copy of a box of a tensor, which gives the value `id`.
    pub(super) fn copy_tensor(&mut self, id: ExprId) {
        let (value, buf, last) = self.stored.unwrap_or((ExprId(u32::MAX), BufId(0), None));
        let Some(copy) = TensorCopy::of(self.func, id) else {
            return self.fail(rules::COPY_TENSOR, "`copy_tensor` of a box whose extents are no numbers");
        };
        let load = |e: ExprId| match self.func.exprs.get(e) {
            Expr::Load { buf, .. } => self.func.buffers.get(buf.0 as usize).map(|data| (*buf, data)),
            _ => None,
        };
        let far = load(copy.first).is_some_and(|(_, data)| is_far(data.scope) && data.strides.is_none());
        let told = load(copy.tells).is_some_and(|(buf, _)| self.is_shared(buf));
        if value != id || !self.is_shared(buf) || !self.is_side_by_side(last) || !far || !told {
            let text = "`copy_tensor` that is not of a tensor in global memory to neighbours in shared memory";
            self.fail(rules::COPY_TENSOR, text);
        }
        let ty = self.func.exprs.ty(id);
        let size = load(copy.first).map_or(1, |(_, data)| data.dtype.size_bytes() as i64);
        if let Some(fault) = copy.fault(size) {
            self.fail(rules::COPY_TENSOR, format!("the box of `copy_tensor` {fault}"));
        } else if copy.elements() != i64::from(ty.lanes) {
            let text = format!("`copy_tensor` of `{ty}`, whose box has {} elements", copy.elements());
            self.fail(rules::COPY_TENSOR, text);
        }
        if self.axes.is_empty() {
            self.fail(rules::COPY_TENSOR, "`copy_tensor` outside of loops over thread axes");
        }
    }

    /// How far it is from an element to one at a multiple of bytes.
    pub(super) fn until_aligned(&mut self, args: &[ExprId]) {
        let [place, bytes] = args else { return };
        let of = match (self.func.exprs.get(*place), self.func.literal(*bytes)) {
            (Expr::Load { buf, .. }, Some(bytes)) => {
                self.func.buffers.get(buf.0 as usize).zip(u64::try_from(bytes).ok())
            }
            _ => None,
        };
        if !of.is_some_and(|(data, bytes)| bytes.is_power_of_two() && bytes >= data.dtype.size_bytes() as u64) {
            let text = "`until_aligned` that is not of an element and a power of two from its size on";
            self.fail(rules::UNTIL_ALIGNED, text);
        }
    }

    /// What is done with an `mbarrier`, which gives the value `id`.
    pub(super) fn mbarrier(&mut self, f: Mbarrier, id: ExprId) {
        let (value, buf, _) = self.stored.unwrap_or((ExprId(u32::MAX), BufId(0), None));
        if value != id || !self.is_shared(buf) || self.axes.is_empty() {
            let text = format!("`{}` that is not stored in shared memory by a thread of a block", f.name());
            self.fail(rules::MBARRIER, text);
        }
    }

    pub(super) fn launch(&mut self, name: &str, launch: Option<&Launch>) {
        let Some(callee) = self.module.prim(name) else { return };
        let device = callee.kind == FuncKind::Device;
        match launch {
            Some(Launch::Grid { .. }) if !device => {
                self.fail(rules::LAUNCH, format!("`{name}` is launched, but is no device function"));
            }
            Some(Launch::Grid { grid, block, shared }) => {
                grid.iter().chain(block).chain([shared]).for_each(|e| self.index(*e));
            }
            Some(Launch::Threads { turns, work }) => {
                [turns, work].into_iter().for_each(|e| self.index(*e));
                self.split(callee);
            }
            None if device => self.fail(rules::LAUNCH, format!("`{name}` is a device function and needs a launch")),
            None => {}
        }
    }

    /// A function that runs parts of a loop on threads takes which part, and has no threads of its own.
    fn split(&mut self, callee: &PrimFunc) {
        let index = |param: &Param| match param {
            Param::Value(var) => callee.vars.get(var.0 as usize).is_some_and(|v| v.ty == Ty::index()),
            Param::Buffer(..) | Param::Workspace => false,
        };
        let name = &callee.name;
        if callee.params.len() < 2 || !callee.params.iter().rev().take(2).all(index) {
            self.fail(rules::SPLIT, format!("the last two parameters of `{name}` are no indices"));
        }
        let again = callee.body.any(&mut |s| matches!(s, Stmt::Call { launch: Some(_), .. }));
        if callee.kind != FuncKind::Host || callee.exported || again {
            self.fail(rules::SPLIT, format!("`{name}` is not of the host, is exported, or has threads of its own"));
        }
    }

    /// A device function is started by a launch alone and works on what it is given.
    pub(super) fn device(&mut self) {
        if self.func.kind != FuncKind::Device {
            return;
        }
        if self.func.exported {
            self.fail(rules::DEVICE, "a device function is exported");
        }
        if self.func.params.contains(&Param::Workspace) {
            self.fail(rules::DEVICE, "a device function has a workspace");
        }
        let mut names = Vec::new();
        self.func.body.walk(&mut |s| {
            if let Stmt::Call { func, .. } = s {
                names.push(func.clone());
            }
        });
        names.into_iter().for_each(|name| self.fail(rules::DEVICE, format!("a device function calls `{name}`")));
    }

    /// A function outside the module has nothing that the module could know.
    pub(super) fn external(&mut self) {
        let func = self.func;
        if func.body != Stmt::nop() {
            self.fail(rules::EXTERN, "a function outside the module has a body");
        }
        if func.exported || func.phase != Phase::Target || func.params.contains(&Param::Workspace) {
            self.fail(rules::EXTERN, "a function outside the module is exported, of another phase or has a workspace");
        }
        if func.name.strip_prefix("extern$").is_none_or(str::is_empty) {
            self.fail(rules::EXTERN, format!("`{}` is not `extern$` and a symbol", func.name));
        }
        for buffer in &func.buffers {
            if buffer.scope != Scope::Param || !buffer.shape.is_empty() || buffer.strides.is_some() {
                let text = format!("`{}` of a function outside the module is more than a pointer", buffer.name);
                self.fail(rules::EXTERN, text);
            }
        }
    }

    pub(super) fn annotations(&mut self, all: &[Annotation], body: &Stmt) {
        for annotation in all {
            if let Some(buf) = annotation.buffer()
                && self.func.buffers.get(buf.0 as usize).is_none()
            {
                self.fail(rules::EXISTS, format!("buffer {} does not exist", buf.0));
            }
            if let Annotation::SoftwarePipeline { stages, order } = annotation {
                self.pipeline(stages, order, body);
            }
        }
    }

    fn pipeline(&mut self, stages: &[u32], order: &[u32], body: &Stmt) {
        let statements = body.pipeline_parts().len();
        let mut places = order.to_vec();
        places.sort_unstable();
        let permutation = places.iter().enumerate().all(|(n, place)| n as u32 == *place);
        if stages.len() != statements || order.len() != statements || !permutation {
            let (s, o) = (stages.len(), order.len());
            self.fail(
                rules::ANNOTATION,
                format!("a pipeline of {statements} statements with {s} stages and {o} places"),
            );
        }
    }

    /// Lanes of an access.
    pub(super) fn lanes(&self, index: &[ExprId]) -> u16 {
        let there = index.iter().filter(|i| (i.0 as usize) < self.func.exprs.len());
        there.map(|i| self.func.exprs.ty(*i).lanes).max().unwrap_or(1)
    }
}
