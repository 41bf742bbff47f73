//! `CanonicalizeCast`: conversions that lose nothing on the way become one, and those to the own dtype none.
//!
//! Phase: before the operators become kernels. No result changes.

use tenfold_ir::op::ElementOp;
use tenfold_ir::relax::{Binding, Op, ValueId};
use tenfold_ir::{DType, Module};

use super::rewrite::{Rewriter, rewrite_until};
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("CanonicalizeCast", &canonicalize_cast)
    .in_phase(PassPhase::Graph)
    .at_level(1)
    .about("makes conversions that lose nothing on the way one, and those to the own dtype none");

/// Rounds of the whole function: a chain shortens by one conversion in each.
const ROUNDS: usize = 4;

/// Runs on every relax function.
pub(crate) fn canonicalize_cast(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    rewrite_until(module, ROUNDS, &mut binding);
    Ok(())
}

fn binding(cx: &mut Rewriter<'_>, binding: &Binding) -> Option<ValueId> {
    let Op::Element(ElementOp::Cast(to)) = binding.op else { return None };
    let x = binding.args[0];
    if cx.dtype(x) == Some(to) {
        return Some(x);
    }
    let inner = cx.def(x)?;
    let Op::Element(ElementOp::Cast(via)) = inner.op else { return None };
    let source = inner.args[0];
    let from = cx.dtype(source)?;
    let direct = holds(via, from) && (via.is_float() == from.is_float() || !to.is_int() || holds(to, from));
    if !direct {
        return None;
    }
    if from == to { Some(source) } else { cx.emit(Op::Element(ElementOp::Cast(to)), &[source]) }
}

/// Bits of the values that a dtype holds exactly: whether negative, and how many beside the sign.
fn bits(dtype: DType) -> (bool, u32) {
    match dtype {
        DType::Bool => (false, 1),
        DType::U8 => (false, 8),
        DType::U16 => (false, 16),
        DType::U32 => (false, 32),
        DType::U64 => (false, 64),
        DType::I8 => (true, 7),
        DType::I16 => (true, 15),
        DType::I32 => (true, 31),
        DType::I64 => (true, 63),
        DType::BF16 => (true, 8),
        DType::F16 => (true, 11),
        DType::F32 => (true, 24),
        DType::F64 => (true, 53),
        DType::I4 => (true, 3),
        DType::U4 => (false, 4),
        DType::F8E4M3FN | DType::F8E4M3FNUZ => (true, 4),
        DType::F8E5M2 | DType::F8E5M2FNUZ => (true, 3),
    }
}

/// Whether `wide` holds every value of `narrow`.
pub(crate) fn holds(wide: DType, narrow: DType) -> bool {
    if wide.is_float8() || narrow.is_float8() {
        // Every float of 16 bits or more holds those of 8; what floats of 8 bits hold themselves is not asked.
        return wide == narrow || wide.is_float();
    }
    if narrow.is_float() {
        // f16 and bf16 hold values that the other does not.
        return wide == narrow || (wide.is_float() && wide.size_bytes() > narrow.size_bytes());
    }
    let ((negative, room), (signed, needed)) = (bits(wide), bits(narrow));
    room >= needed && (negative || !signed) && (!wide.is_bool() || narrow.is_bool())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dtypes_hold_others() {
        assert!(holds(DType::F32, DType::U16) && holds(DType::F16, DType::I8) && holds(DType::I16, DType::U8));
        assert!(!holds(DType::F32, DType::I32) && !holds(DType::U16, DType::I8) && !holds(DType::F16, DType::BF16));
        assert!(holds(DType::F32, DType::BF16) && holds(DType::U8, DType::Bool) && !holds(DType::Bool, DType::U8));
    }
}
