//! One kernel per operator.

mod contract;
mod movement;
mod pool;
mod reduce;
mod row;

use tenfold_ir::relax::{Binding, Op};

use super::{Finished, Kernel};

/// The name of an operator's block where the user gave none.
pub fn name(op: &Op) -> String {
    match op {
        Op::Element(_) => "elementwise",
        Op::Reduce { .. } => "reduce",
        Op::ArgReduce { .. } => "arg_reduce",
        Op::MatMul => "matmul",
        Op::Softmax { .. } => "softmax",
        Op::LayerNorm { .. } => "layer_norm",
        Op::Transpose { .. } => "transpose",
        Op::BroadcastTo { .. } => "broadcast_to",
        Op::Concat { .. } => "concat",
        Op::Slice { .. } => "slice",
        Op::SliceUpdate { .. } => "slice_update",
        Op::Pad { .. } => "pad",
        Op::Conv { .. } => "conv",
        Op::Pool { .. } => "pool",
        Op::Full { .. } => "full",
        Op::Arange { .. } => "arange",
        Op::Scalar(_) => "scalar",
        Op::IndexValue { .. } => "index_value",
        Op::Const(_) => "const",
        Op::Reshape { .. } => "reshape",
        Op::CallTir { .. } => "call_tir",
        Op::CallFn { .. } => "call",
        Op::Tuple => "tuple",
        Op::TupleGet(_) => "tuple_get",
        Op::BindIndex(_) => "bind_index",
        Op::MatchShape { .. } => "match_shape",
        Op::Later { name, .. } => name,
        Op::StoreState { .. } => "store_state",
    }
    .to_string()
}

/// The kernel of a binding.
pub fn lower(kernel: Kernel<'_>, binding: &Binding) -> Finished {
    match &binding.op {
        Op::Reduce { op, axes, keepdims } => reduce::reduce(kernel, binding, *op, axes, *keepdims),
        Op::ArgReduce { op, axis, keepdims } => reduce::arg_reduce(kernel, binding, *op, *axis, *keepdims),
        Op::MatMul => contract::matmul(kernel, binding),
        Op::Conv { window, group } => contract::conv(kernel, binding, window, *group),
        Op::Pool { op, window, .. } => pool::pool(kernel, binding, *op, window),
        Op::Softmax { axis, log } => row::softmax(kernel, binding, *axis, *log),
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
        | Op::Tuple
        | Op::TupleGet(_)
        | Op::BindIndex(_)
        | Op::MatchShape { .. }
        | Op::Later { .. }
        | Op::StoreState { .. } => movement::map(kernel, binding),
    }
}
