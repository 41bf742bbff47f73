//! Kernels that compute each element on its own: elementwise operators and data movement.

use tenfold_ir::relax::{Binding, SliceAxis};

use crate::lower::{Finished, Kernel};

/// `out[i] = expression(i)`.
pub(super) fn map(mut k: Kernel<'_>, binding: &Binding) -> Finished {
    let ty = k.tensor(binding.out);
    let out = k.output(&ty);
    let vars = k.vars("i", &ty.shape);
    k.spatial("compute", &vars, |k| {
        let index = k.read_all(&vars);
        let value = k.expression(binding, &index);
        k.b.store(out, index, value);
    });
    k.finish(out)
}

/// One nest per operand, each writing its part.
pub(super) fn concat(mut k: Kernel<'_>, binding: &Binding, axis: usize) -> Finished {
    let ty = k.tensor(binding.out);
    let out = k.output(&ty);
    let mut start = tenfold_ir::arith::IntExpr::from(0);
    for arg in &binding.args {
        let shape = k.tensor(*arg).shape;
        let vars = k.vars("i", &shape);
        let begin = start.clone();
        k.spatial("concat", &vars, |k| {
            let index = k.read_all(&vars);
            let value = k.element(*arg, &index);
            let mut target = index;
            let begin = k.b.int_expr(&begin);
            target[axis] = k.b.add(begin, target[axis]);
            k.b.store(out, target, value);
        });
        start = &start + &shape[axis];
    }
    k.finish(out)
}

/// Writes a part of the operand in place.
pub(super) fn slice_update(mut k: Kernel<'_>, binding: &Binding, axes: &[SliceAxis], drop: &[usize]) -> Finished {
    let out = k.updated(binding.args[0]);
    let kept = |a: &usize| !drop.contains(a);
    let shape: Vec<_> = (0..axes.len()).filter(kept).map(|a| axes[a].extent.clone()).collect();
    let vars = k.vars("i", &shape);
    k.spatial("update", &vars, |k| {
        let index = k.read_all(&vars);
        let value = k.broadcast_element(binding.args[1], &index);
        let target = k.slice_index(axes, drop, &index);
        k.b.store(out, target, value);
    });
    k.finish(out)
}
