//! One kernel per operator.

mod batch;
mod contract;
mod conv;
mod movement;
mod pool;
mod reduce;
mod row;

use tenfold_ir::relax::{Binding, Op};

use super::{Finished, Kernel};

/// The kernel of a binding.
pub(super) fn lower(kernel: Kernel<'_>, binding: &Binding) -> Finished {
    match &binding.op {
        Op::Reduce { op, axes, keepdims } => reduce::reduce(kernel, binding, *op, axes, *keepdims),
        Op::ArgReduce { op, axis, keepdims } => reduce::arg_reduce(kernel, binding, *op, *axis, *keepdims),
        Op::MatMul => contract::matmul(kernel, binding),
        Op::Conv { window, group, layout } => conv::conv(kernel, binding, window, *group, *layout),
        Op::Pool { op, window, layout, .. } => pool::pool(kernel, binding, *op, window, *layout),
        Op::Softmax { axis, log } => row::softmax(kernel, binding, *axis, *log),
        Op::BatchNorm { axis, epsilon } => batch::batch_norm(kernel, binding, *axis, epsilon.get()),
        Op::LayerNorm { axis, epsilon } => row::layer_norm(kernel, binding, *axis, epsilon.get()),
        Op::Concat { axis } => movement::concat(kernel, binding, *axis),
        Op::SliceUpdate { axes, drop } => movement::slice_update(kernel, binding, axes, drop),
        Op::Element(_)
        | Op::Scalar(_)
        | Op::IndexValue { .. }
        | Op::Transpose { .. }
        | Op::BroadcastTo { .. }
        | Op::Slice { .. }
        | Op::Pad { .. }
        | Op::Full { .. }
        | Op::Arange { .. }
        | Op::Const(_)
        | Op::Reshape { .. }
        | Op::CallTir { .. }
        | Op::CallFn { .. }
        | Op::CallDps { .. }
        | Op::CallPacked { .. }
        | Op::If
        | Op::For { .. }
        | Op::While
        | Op::ShapeOf
        | Op::Shape { .. }
        | Op::ShapeToTensor
        | Op::TensorToShape
        | Op::Assert { .. }
        | Op::Tuple
        | Op::TupleGet(_)
        | Op::BindIndex(_)
        | Op::MatchShape { .. }
        | Op::Later { .. }
        | Op::StoreState { .. } => movement::map(kernel, binding),
    }
}
