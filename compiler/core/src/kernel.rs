//! What every back end for devices has to know of a device function: its threads, the constants that it reads, the memory
//! that its threads share.

use tenfold_ir::ConstId;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{
    BufId, BufUse, BufferData, Expr, LoopKind, Param, PrimFunc, Scope, Stmt, TensorCopy, ThreadAxis,
};

/// Threads of a group along x, y and z: what loops over them have. None if one of these is not constant.
pub fn threads(func: &PrimFunc) -> Option<[u32; 3]> {
    let (mut local, mut open) = ([1; 3], false);
    func.body.walk(&mut |s| {
        if let Stmt::For { kind: LoopKind::ThreadBound(ThreadAxis::Thread(n)), extent, .. } = s {
            match func.literal(*extent).and_then(|n| u32::try_from(n).ok()) {
                Some(extent) => local[usize::from((*n).min(2))] = extent.max(1),
                None => open = true,
            }
        }
    });
    (!open).then_some(local)
}

/// The constants that it reads, in the order in which a launch passes them: behind the buffers that are parameters.
pub fn constants(func: &PrimFunc) -> Vec<(BufId, ConstId)> {
    let all = func.buffers.iter().enumerate();
    let constant = |(n, data): (usize, &BufferData)| match data.scope {
        Scope::Const(id) => Some((BufId(n as u32), id)),
        _ => None,
    };
    all.filter_map(constant).collect()
}

/// The buffers that it allocates, each once.
pub fn allocations(func: &PrimFunc) -> Vec<BufId> {
    let mut all = Vec::new();
    func.body.walk(&mut |s| {
        if let Stmt::Alloc { buf, .. } = s
            && !all.contains(buf)
        {
            all.push(*buf);
        }
    });
    all
}

/// How many elements a buffer has, if that is constant.
pub fn elements(func: &PrimFunc, buf: BufId) -> Option<u32> {
    let size = func.buffers[buf.0 as usize].shape.iter().fold(IntExpr::from(1), |n, d| &n * d);
    size.as_const().and_then(|n| u32::try_from(n.max(1)).ok())
}

/// A tensor of which a kernel copies boxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Where it lies, from the first element on.
    pub buf: BufId,
    /// Its axes, the innermost one first: elements of a box, elements of the tensor, and elements from one to the next.
    pub axes: Vec<[i64; 3]>,
}

/// The tensor of a copy.
pub fn tensor(func: &PrimFunc, copy: &TensorCopy) -> Option<Tensor> {
    let Expr::Load { buf, .. } = func.exprs.get(copy.first) else { return None };
    let axes = copy.axes.iter().map(|axis| [axis.width, axis.extent, axis.stride]).collect();
    Some(Tensor { buf: *buf, axes })
}

/// The tensors of which it copies boxes, each once, in the order in which a launch describes them: behind all else.
pub fn tensors(func: &PrimFunc) -> Vec<Tensor> {
    let mut all = Vec::new();
    func.body.walk(&mut |s| {
        let Stmt::Store { value, .. } = s else { return };
        let found = TensorCopy::of(func, *value).and_then(|copy| tensor(func, &copy));
        all.extend(found.filter(|tensor| !all.contains(tensor)));
    });
    all
}

/// The buffers that a launch passes, in its order: parameters, then constants.
pub fn buffers(func: &PrimFunc) -> Vec<(BufId, BufUse)> {
    let params = func.params.iter().filter_map(|param| match param {
        Param::Buffer(buf, usage) => Some((*buf, *usage)),
        Param::Value(_) | Param::Workspace => None,
    });
    params.chain(constants(func).into_iter().map(|(buf, _)| (buf, BufUse::In))).collect()
}
