//! Batch normalisation: element by element, with one number of each kind per channel.

use tenfold_ir::op::UnaryOp;
use tenfold_ir::relax::Binding;
use tenfold_ir::tir::ExprId;

use super::reduce::accumulator;
use crate::lower::{Finished, Kernel};

/// `(x - mean) * (scale * rsqrt(variance + epsilon)) + bias`; for halves in f32.
pub(super) fn batch_norm(mut k: Kernel<'_>, binding: &Binding, axis: usize, epsilon: f64) -> Finished {
    let ty = k.tensor(binding.out);
    let out = k.output(&ty);
    let dtype = accumulator(ty.dtype);
    let vars = k.vars("i", &ty.shape);
    k.spatial("batch_norm", &vars, |k| {
        let index = k.read_all(&vars);
        let read = |k: &mut Kernel<'_>, operand: usize, index: &[ExprId]| {
            let value = k.element(binding.args[operand], index);
            k.b.cast(dtype, value)
        };
        let x = read(k, 0, &index);
        let channel = index[axis];
        let [scale, bias, mean, variance] = [1, 2, 3, 4].map(|operand| read(k, operand, &[channel]));
        let eps = k.b.float(dtype, epsilon);
        let safe = k.b.add(variance, eps);
        let inverse = k.b.unary(UnaryOp::Rsqrt, safe);
        let factor = k.b.mul(scale, inverse);
        let apart = k.b.sub(x, mean);
        let scaled = k.b.mul(apart, factor);
        let value = k.b.add(scaled, bias);
        let value = k.b.cast(ty.dtype, value);
        k.b.store(out, index, value);
    });
    k.finish(out)
}
