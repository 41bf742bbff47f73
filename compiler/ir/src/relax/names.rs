//! What ops are called in text, in reports and in the names of values.

use crate::op::{ArgOp, BinaryOp, CmpOp, ElementOp, ReduceOp, UnaryOp};
use crate::relax::Op;

/// The word of an op: `matmul`, `reduce_sum`, `relu`.
pub fn op_name(op: &Op) -> &str {
    match op {
        Op::Const(_) => "const",
        Op::Scalar(_) => "scalar",
        Op::IndexValue { .. } => "index_value",
        Op::Element(op) => element_name(*op),
        Op::Reduce { op, .. } => reduce_name(*op),
        Op::ArgReduce { op: ArgOp::ArgMax, .. } => "argmax",
        Op::ArgReduce { op: ArgOp::ArgMin, .. } => "argmin",
        Op::MatMul => "matmul",
        Op::Softmax { log: false, .. } => "softmax",
        Op::Softmax { log: true, .. } => "log_softmax",
        Op::BatchNorm { .. } => "batch_normalization",
        Op::LayerNorm { .. } => "layer_normalization",
        Op::Reshape { .. } => "reshape",
        Op::Transpose { .. } => "transpose",
        Op::BroadcastTo { .. } => "broadcast_to",
        Op::Concat { .. } => "concat",
        Op::Slice { .. } => "slice",
        Op::SliceUpdate { .. } => "slice_update",
        Op::Pad { .. } => "pad",
        Op::Conv { .. } => "conv",
        Op::Pool { op: crate::relax::PoolOp::Max, .. } => "max_pool",
        Op::Pool { op: crate::relax::PoolOp::Average { .. }, .. } => "average_pool",
        Op::Full { .. } => "full",
        Op::Arange { .. } => "arange",
        Op::CallTir { .. } => "call_tir",
        Op::CallFn { .. } => "call_fn",
        Op::CallDps { .. } => "call_dps",
        Op::CallPacked { .. } => "call_packed",
        Op::If => "if",
        Op::For { .. } => "for",
        Op::While => "while",
        Op::ShapeOf => "shape_of",
        Op::Shape { .. } => "shape",
        Op::ShapeToTensor => "shape_to_tensor",
        Op::TensorToShape => "tensor_to_shape",
        Op::Tuple => "tuple",
        Op::TupleGet(_) => "tuple_get",
        Op::BindIndex(_) => "bind_index",
        Op::MatchShape { .. } => "match_shape",
        Op::Later { name, .. } => name,
        Op::Assert { .. } => "assert",
        Op::StoreState { .. } => "store_state",
    }
}

fn reduce_name(op: ReduceOp) -> &'static str {
    match op {
        ReduceOp::Sum => "sum",
        ReduceOp::Prod => "prod",
        ReduceOp::Max => "max",
        ReduceOp::Min => "min",
        ReduceOp::Mean => "mean",
        ReduceOp::Any => "any",
        ReduceOp::All => "all",
    }
}

/// The word of an elementwise operator.
pub fn element_name(op: ElementOp) -> &'static str {
    match op {
        ElementOp::Unary(op) => unary_name(op),
        ElementOp::Binary(op) => binary_name(op),
        ElementOp::Compare(op) => compare_name(op),
        ElementOp::Activation(op) => op.name(),
        ElementOp::Cast(_) => "cast",
        ElementOp::Select => "select",
        ElementOp::Clip => "clip",
        ElementOp::Prelu => "prelu",
        ElementOp::QMultiplyShift => "q_multiply_shift",
        ElementOp::NearestInt => "nearest_int",
    }
}

/// The word of an operator of one value.
pub fn unary_name(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Neg => "neg",
        UnaryOp::Not => "not",
        UnaryOp::Abs => "abs",
        UnaryOp::Sign => "sign",
        UnaryOp::Floor => "floor",
        UnaryOp::Ceil => "ceil",
        UnaryOp::Round => "round",
        UnaryOp::Trunc => "trunc",
        UnaryOp::Sqrt => "sqrt",
        UnaryOp::Rsqrt => "rsqrt",
        UnaryOp::Reciprocal => "reciprocal",
        UnaryOp::Square => "square",
        UnaryOp::Exp => "exp",
        UnaryOp::Exp2 => "exp2",
        UnaryOp::Expm1 => "expm1",
        UnaryOp::Log => "log",
        UnaryOp::Log2 => "log2",
        UnaryOp::Log10 => "log10",
        UnaryOp::Log1p => "log1p",
        UnaryOp::Sin => "sin",
        UnaryOp::Cos => "cos",
        UnaryOp::Tan => "tan",
        UnaryOp::Asin => "asin",
        UnaryOp::Acos => "acos",
        UnaryOp::Atan => "atan",
        UnaryOp::Sinh => "sinh",
        UnaryOp::Cosh => "cosh",
        UnaryOp::Tanh => "tanh",
        UnaryOp::Asinh => "asinh",
        UnaryOp::Acosh => "acosh",
        UnaryOp::Atanh => "atanh",
        UnaryOp::Erf => "erf",
        UnaryOp::Sigmoid => "sigmoid",
        UnaryOp::IsNan => "isnan",
        UnaryOp::IsInf => "isinf",
        UnaryOp::IsFinite => "isfinite",
    }
}

/// The word of an operator of two values.
pub fn binary_name(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "add",
        BinaryOp::Sub => "sub",
        BinaryOp::Mul => "mul",
        BinaryOp::Div => "div",
        BinaryOp::Rem => "rem",
        BinaryOp::DivEuclid => "div_euclid",
        BinaryOp::RemEuclid => "rem_euclid",
        BinaryOp::Pow => "power",
        BinaryOp::Min => "minimum",
        BinaryOp::Max => "maximum",
        BinaryOp::And => "and",
        BinaryOp::Or => "or",
        BinaryOp::Xor => "xor",
        BinaryOp::Shl => "shl",
        BinaryOp::Shr => "shr",
        BinaryOp::Atan2 => "atan2",
    }
}

/// The word of a comparison.
pub fn compare_name(op: CmpOp) -> &'static str {
    match op {
        CmpOp::Eq => "eq",
        CmpOp::Ne => "ne",
        CmpOp::Lt => "lt",
        CmpOp::Le => "le",
        CmpOp::Gt => "gt",
        CmpOp::Ge => "ge",
    }
}
