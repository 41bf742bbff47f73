//! Tir's operators on values: every integer operation total, every float operation rounded once.
//!
//! It knows values and their types, not expressions, statements or memory.

use tenfold_ir::{
    DType, Scalar,
    op::{BinaryOp, CmpOp, UnaryOp},
    tir::Elem,
};

use super::helper::Helper;
use crate::{
    ir::{Freedom, Int, Ir, Real, Type, Value},
    machine::{FloatUnit, Minimum},
};

/// What LLVM holds for a lane in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One bit.
    Bool,
    /// An integer.
    Int {
        /// Whether its top bit is a sign.
        signed: bool,
        /// Its width.
        bits: u32,
    },
    /// A 16-bit float, held as its bits and computed with as `f32`.
    Half {
        /// `bf16`, else `f16`.
        brain: bool,
    },
    /// `f32` or `f64`.
    Float {
        /// Its width.
        bits: u32,
    },
}

impl Kind {
    /// What holds a lane of tir.
    pub(super) fn of(elem: Elem) -> Kind {
        let dtype = match elem {
            Elem::Index => DType::I64,
            Elem::Scalar(dtype) => dtype,
        };
        match dtype {
            DType::Bool => Kind::Bool,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => Kind::Int { signed: true, bits: dtype.bits() },
            DType::U8 | DType::U16 | DType::U32 | DType::U64 => Kind::Int { signed: false, bits: dtype.bits() },
            // As their bytes: `FP8ComputeLegalize` has written out what computes with them.
            DType::I4 => Kind::Int { signed: true, bits: 8 },
            DType::U4 | DType::F8E4M3FN | DType::F8E4M3FNUZ | DType::F8E5M2 | DType::F8E5M2FNUZ => {
                Kind::Int { signed: false, bits: 8 }
            }
            DType::F16 => Kind::Half { brain: false },
            DType::BF16 => Kind::Half { brain: true },
            DType::F32 | DType::F64 => Kind::Float { bits: dtype.bits() },
        }
    }
}

/// An operator that an earlier pass should have written out.
#[derive(Debug)]
pub(super) struct Unexpanded(pub(super) String);

type Result<'c> = std::result::Result<Value<'c>, Unexpanded>;

/// Writes operators.
pub(super) struct Ops<'i, 'c, 'm> {
    /// Where to.
    pub(super) ir: &'i Ir<'c, 'm>,
    /// What the target has instructions for.
    pub(super) unit: FloatUnit,
    /// Whether sums may not be reordered nor products contracted.
    pub(super) strict: bool,
    /// Whether LLVM widens vectors of two lanes to lanes of 64 bits, as where the only vectors are those of 128 bits.
    pub(super) widens_pairs: bool,
}

impl<'c> Ops<'_, 'c, '_> {
    /// The type of a lane in a register.
    pub(super) fn ty(&self, kind: Kind, lanes: u32) -> Type<'c> {
        let lane = match kind {
            Kind::Bool => self.ir.int(1),
            Kind::Int { bits, .. } => self.ir.int(bits),
            Kind::Half { .. } => self.ir.int(16),
            Kind::Float { bits } => self.ir.float(bits),
        };
        lane.times(lanes)
    }

    /// A literal.
    pub(super) fn literal(&self, value: Scalar) -> Value<'c> {
        let kind = Kind::of(Elem::Scalar(value.dtype));
        match kind {
            Kind::Float { bits } => {
                let word = self.ir.const_int(self.ir.int(bits), value.bits as i64);
                self.ir.bitcast(word, self.ir.float(bits))
            }
            Kind::Bool | Kind::Int { .. } | Kind::Half { .. } => self.ir.const_int(self.ty(kind, 1), value.bits as i64),
        }
    }

    fn free(&self, reassociate: bool) -> Freedom {
        Freedom { reassociate: reassociate && !self.strict, contract: !self.strict }
    }

    // One operand.

    /// `op a`.
    pub(super) fn unary(&self, op: UnaryOp, kind: Kind, a: Value<'c>) -> Result<'c> {
        match kind {
            Kind::Bool => match op {
                UnaryOp::Not => Ok(self.ir.xor(a, self.ir.const_int(a.ty(), -1))),
                _ => Err(Unexpanded(format!("{op:?} of bool"))),
            },
            Kind::Int { signed, .. } => self.int_unary(op, signed, a),
            Kind::Half { brain } => self.half_unary(op, brain, a),
            Kind::Float { .. } => self.float_unary(op, a),
        }
    }

    fn int_unary(&self, op: UnaryOp, signed: bool, a: Value<'c>) -> Result<'c> {
        let ir = self.ir;
        let constant = |value| ir.const_int(a.ty(), value);
        let negative = || ir.icmp(Int::LLVMIntSLT, a, constant(0));
        let neg = || ir.sub(constant(0), a);
        Ok(match op {
            UnaryOp::Neg => neg(),
            UnaryOp::Not => ir.xor(a, constant(-1)),
            UnaryOp::Abs if signed => ir.select(negative(), neg(), a),
            UnaryOp::Sign if signed => {
                let positive = ir.icmp(Int::LLVMIntSGT, a, constant(0));
                let below = ir.resize(true, negative(), a.ty());
                ir.or(below, ir.resize(false, positive, a.ty()))
            }
            UnaryOp::Sign => ir.resize(false, ir.icmp(Int::LLVMIntNE, a, constant(0)), a.ty()),
            UnaryOp::Abs | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc => a,
            UnaryOp::Square => ir.mul(a, a),
            UnaryOp::Reciprocal => self.int_div(signed, constant(1), a),
            UnaryOp::IsNan | UnaryOp::IsInf => ir.const_int(ir.bool_like(a.ty()), 0),
            UnaryOp::IsFinite => ir.const_int(ir.bool_like(a.ty()), 1),
            _ => return Err(Unexpanded(format!("{op:?} of an integer"))),
        })
    }

    fn half_unary(&self, op: UnaryOp, brain: bool, a: Value<'c>) -> Result<'c> {
        let ir = self.ir;
        match op {
            UnaryOp::Neg => Ok(ir.xor(a, ir.const_int(a.ty(), 0x8000))),
            UnaryOp::Abs => Ok(ir.and(a, ir.const_int(a.ty(), 0x7fff))),
            UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite => self.float_unary(op, self.extend(brain, a)),
            _ => Ok(self.round_half(brain, self.float_unary(op, self.extend(brain, a))?)),
        }
    }

    fn float_unary(&self, op: UnaryOp, a: Value<'c>) -> Result<'c> {
        let ir = self.ir;
        let constant = |value| ir.const_float(a.ty(), value);
        Ok(match op {
            UnaryOp::Neg => ir.fneg(a),
            UnaryOp::Abs => self.abs(a),
            // Zeros and NaN are their own sign.
            UnaryOp::Sign => {
                let above = ir.fcmp(Real::LLVMRealOGT, a, constant(0.0));
                let below = ir.fcmp(Real::LLVMRealOLT, a, constant(0.0));
                ir.select(above, constant(1.0), ir.select(below, constant(-1.0), a))
            }
            UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc => self.round(op, a),
            UnaryOp::Sqrt => self.sqrt(a),
            UnaryOp::Rsqrt => ir.fdiv(constant(1.0), self.sqrt(a)),
            UnaryOp::Reciprocal => ir.fdiv(constant(1.0), a),
            UnaryOp::Square => ir.fmul(self.free(false), a, a),
            UnaryOp::IsNan => ir.fcmp(Real::LLVMRealUNO, a, a),
            UnaryOp::IsInf => ir.fcmp(Real::LLVMRealOEQ, self.abs(a), constant(f64::INFINITY)),
            UnaryOp::IsFinite => ir.fcmp(Real::LLVMRealOLT, self.abs(a), constant(f64::INFINITY)),
            _ => return Err(Unexpanded(format!("{op:?} of a float"))),
        })
    }

    fn abs(&self, a: Value<'c>) -> Value<'c> {
        self.ir.intrinsic("llvm.fabs", &[a.ty()], &[a])
    }

    fn has_unit(&self, ty: Type<'c>) -> bool {
        if ty.bits() == 32 { self.unit.f32 } else { self.unit.f64 }
    }

    fn sqrt(&self, a: Value<'c>) -> Value<'c> {
        if self.has_unit(a.ty()) {
            return self.ir.intrinsic("llvm.sqrt", &[a.ty()], &[a]);
        }
        self.helper(Helper::Sqrt, &[a])
    }

    /// To an integer, in one instruction or through a number so large that it has no fraction.
    fn round(&self, op: UnaryOp, a: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        if self.unit.round && self.has_unit(a.ty()) {
            let name = match op {
                UnaryOp::Floor => "llvm.floor",
                UnaryOp::Ceil => "llvm.ceil",
                UnaryOp::Trunc => "llvm.trunc",
                _ => "llvm.roundeven",
            };
            return ir.intrinsic(name, &[a.ty()], &[a]);
        }
        let constant = |value| ir.const_float(a.ty(), value);
        let strict = Freedom::default();
        let whole = if a.ty().bits() == 32 { f64::from(1 << 23) } else { 2f64.powi(52) };
        let signed = |of: Value<'c>| ir.intrinsic("llvm.copysign", &[a.ty()], &[of, a]);
        let large = signed(constant(whole));
        let even = ir.fsub(strict, ir.fadd(strict, a, large), large);
        let moved = match op {
            UnaryOp::Floor => {
                let above = ir.fcmp(Real::LLVMRealOGT, even, a);
                ir.select(above, ir.fsub(strict, even, constant(1.0)), even)
            }
            UnaryOp::Ceil => {
                let below = ir.fcmp(Real::LLVMRealOLT, even, a);
                ir.select(below, ir.fadd(strict, even, constant(1.0)), even)
            }
            UnaryOp::Trunc => {
                let away = ir.fcmp(Real::LLVMRealOGT, self.abs(even), self.abs(a));
                ir.select(away, ir.fsub(strict, even, signed(constant(1.0))), even)
            }
            _ => even,
        };
        let small = ir.fcmp(Real::LLVMRealOLT, self.abs(a), constant(whole));
        ir.select(small, signed(moved), a)
    }

    // Two operands.

    /// `a op b`. A sum that may be taken in any order says so by `any_order`.
    pub(super) fn binary(&self, op: BinaryOp, kind: Kind, any_order: bool, a: Value<'c>, b: Value<'c>) -> Result<'c> {
        match kind {
            Kind::Bool => self.bool_binary(op, a, b),
            Kind::Int { signed, .. } => self.int_binary(op, signed, a, b),
            Kind::Half { brain } => {
                let (a, b) = (self.extend(brain, a), self.extend(brain, b));
                // Each operation rounds to 16 bits, so there is nothing to contract or reorder.
                let wide = self.float_binary(op, Freedom::default(), a, b)?;
                Ok(self.round_half(brain, wide))
            }
            Kind::Float { .. } => self.float_binary(op, self.free(any_order), a, b),
        }
    }

    fn bool_binary(&self, op: BinaryOp, a: Value<'c>, b: Value<'c>) -> Result<'c> {
        match op {
            BinaryOp::And | BinaryOp::Min | BinaryOp::Mul => Ok(self.ir.and(a, b)),
            BinaryOp::Or | BinaryOp::Max => Ok(self.ir.or(a, b)),
            BinaryOp::Xor | BinaryOp::Add | BinaryOp::Sub => Ok(self.ir.xor(a, b)),
            _ => Err(Unexpanded(format!("{op:?} of bools"))),
        }
    }

    fn int_binary(&self, op: BinaryOp, signed: bool, a: Value<'c>, b: Value<'c>) -> Result<'c> {
        let ir = self.ir;
        let less = if signed { Int::LLVMIntSLT } else { Int::LLVMIntULT };
        let count = || ir.and(b, ir.const_int(b.ty(), i64::from(b.ty().bits()) - 1));
        Ok(match op {
            BinaryOp::Add => ir.add(a, b),
            BinaryOp::Sub => ir.sub(a, b),
            BinaryOp::Mul => ir.mul(a, b),
            BinaryOp::Div => self.int_div(signed, a, b),
            BinaryOp::Rem => self.int_rem(signed, a, b),
            BinaryOp::DivEuclid if signed => self.div_euclid(a, b),
            BinaryOp::RemEuclid if signed => self.rem_euclid(a, b),
            BinaryOp::DivEuclid => self.int_div(false, a, b),
            BinaryOp::RemEuclid => self.int_rem(false, a, b),
            BinaryOp::Min => ir.select(ir.icmp(less, a, b), a, b),
            BinaryOp::Max => ir.select(ir.icmp(less, a, b), b, a),
            BinaryOp::And => ir.and(a, b),
            BinaryOp::Or => ir.or(a, b),
            BinaryOp::Xor => ir.xor(a, b),
            BinaryOp::Shl => ir.shl(a, count()),
            BinaryOp::Shr => ir.shr(signed, a, count()),
            BinaryOp::Pow | BinaryOp::Atan2 => {
                return Err(Unexpanded(format!("{op:?} of integers")));
            }
        })
    }

    /// The divisor, and where it is 0; what would trap is replaced by 1.
    fn divisor(&self, signed: bool, a: Value<'c>, b: Value<'c>) -> (Value<'c>, Option<Value<'c>>) {
        let ir = self.ir;
        let constant = |value| ir.const_int(b.ty(), value);
        if b.as_const().is_some_and(|b| b != 0 && !(signed && b == -1)) {
            return (b, None);
        }
        let zero = ir.icmp(Int::LLVMIntEQ, b, constant(0));
        if !signed {
            return (ir.select(zero, constant(1), b), Some(zero));
        }
        let least = constant(1 << (b.ty().bits() - 1).min(63));
        let overflows = ir.and(ir.icmp(Int::LLVMIntEQ, b, constant(-1)), ir.icmp(Int::LLVMIntEQ, a, least));
        (ir.select(ir.or(zero, overflows), constant(1), b), Some(zero))
    }

    /// A quotient or a remainder: lane by lane where lanes would become wider, since a division of 64 bits is a function of
    /// the linker.
    fn divided(&self, a: Value<'c>, b: Value<'c>, of: impl Fn(Value<'c>, Value<'c>) -> Value<'c>) -> Value<'c> {
        let ir = self.ir;
        if !self.widens_pairs || a.ty().lanes() != 2 {
            return of(a, b);
        }
        let lane = |lane| of(ir.extract(a, lane), ir.extract(b, lane));
        (0..2).fold(ir.poison(a.ty()), |all, at| ir.insert(all, lane(at), at))
    }

    fn int_div(&self, signed: bool, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let (divisor, zero) = self.divisor(signed, a, b);
        let quotient = self.divided(a, divisor, |a, b| ir.div(signed, a, b));
        zero.map_or(quotient, |zero| ir.select(zero, ir.const_int(a.ty(), 0), quotient))
    }

    fn int_rem(&self, signed: bool, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let (divisor, zero) = self.divisor(signed, a, b);
        let rest = self.divided(a, divisor, |a, b| ir.rem(signed, a, b));
        zero.map_or(rest, |zero| ir.select(zero, a, rest))
    }

    fn rem_euclid(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let zero = ir.const_int(a.ty(), 0);
        if let Some(b) = b.as_const().filter(|b| *b > 0 && b & (b - 1) == 0) {
            return ir.and(a, ir.const_int(a.ty(), b - 1));
        }
        let rest = self.int_rem(true, a, b);
        let size = self.int_magnitude(b);
        let up = ir.select(ir.icmp(Int::LLVMIntSLT, rest, zero), size, zero);
        let result = ir.add(rest, up);
        if b.as_const().is_some_and(|b| b != 0) {
            return result;
        }
        ir.select(ir.icmp(Int::LLVMIntEQ, b, zero), a, result)
    }

    fn int_magnitude(&self, b: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let zero = ir.const_int(b.ty(), 0);
        ir.select(ir.icmp(Int::LLVMIntSLT, b, zero), ir.sub(zero, b), b)
    }

    fn div_euclid(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let constant = |value| ir.const_int(a.ty(), value);
        if let Some(b) = b.as_const().filter(|b| *b > 0 && b & (b - 1) == 0) {
            return ir.shr(true, a, constant(i64::from(b.trailing_zeros())));
        }
        let (divisor, zero) = self.divisor(true, a, b);
        let quotient = self.divided(a, divisor, |a, b| ir.div(true, a, b));
        let rest = self.divided(a, divisor, |a, b| ir.rem(true, a, b));
        let below = ir.icmp(Int::LLVMIntSLT, rest, constant(0));
        let against = ir.icmp(Int::LLVMIntSLT, divisor, constant(0));
        let step = ir.select(against, constant(-1), constant(1));
        let moved = ir.sub(quotient, ir.select(below, step, constant(0)));
        zero.map_or(moved, |zero| ir.select(zero, constant(0), moved))
    }

    fn float_binary(&self, op: BinaryOp, freedom: Freedom, a: Value<'c>, b: Value<'c>) -> Result<'c> {
        let ir = self.ir;
        let zero = ir.const_float(a.ty(), 0.0);
        Ok(match op {
            BinaryOp::Add => ir.fadd(freedom, a, b),
            BinaryOp::Sub => ir.fsub(freedom, a, b),
            BinaryOp::Mul => ir.fmul(freedom, a, b),
            BinaryOp::Div => ir.fdiv(a, b),
            BinaryOp::Rem => self.helper(Helper::Fmod, &[a, b]),
            BinaryOp::RemEuclid => {
                let rest = self.helper(Helper::Fmod, &[a, b]);
                let up = ir.fadd(Freedom::default(), rest, self.abs(b));
                ir.select(ir.fcmp(Real::LLVMRealOLT, rest, zero), up, rest)
            }
            BinaryOp::DivEuclid => self.float_div_euclid(a, b),
            BinaryOp::Min => self.extreme(false, a, b),
            BinaryOp::Max => self.extreme(true, a, b),
            BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::Shl
            | BinaryOp::Shr
            | BinaryOp::Pow
            | BinaryOp::Atan2 => return Err(Unexpanded(format!("{op:?} of floats"))),
        })
    }

    /// The quotient, cut to an integer and moved where the remainder is negative.
    fn float_div_euclid(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let constant = |value| ir.const_float(a.ty(), value);
        let rest = self.helper(Helper::Fmod, &[a, b]);
        let whole = self.round(UnaryOp::Trunc, ir.fdiv(a, b));
        let down = ir.fcmp(Real::LLVMRealOGT, b, constant(0.0));
        let step = ir.select(down, constant(-1.0), constant(1.0));
        let moved = ir.fadd(Freedom::default(), whole, step);
        ir.select(ir.fcmp(Real::LLVMRealOLT, rest, constant(0.0)), moved, whole)
    }

    /// The larger or smaller; a NaN wins, and 0 is larger than -0.
    fn extreme(&self, larger: bool, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let native = if self.has_unit(a.ty()) { self.unit.minimum } else { Minimum::Absent };
        if native != Minimum::Instruction
            && let Some(value) = self.extreme_of_const(larger, a, b)
        {
            return value;
        }
        if native == Minimum::Sequence && a.ty().lanes() > 1 {
            return self.extreme_of_both(larger, a, b);
        }
        if native != Minimum::Absent {
            let name = if larger { "llvm.maximum" } else { "llvm.minimum" };
            return ir.intrinsic(name, &[a.ty()], &[a, b]);
        }
        let word = ir.int_like(a.ty());
        let (x, y) = (ir.bitcast(a, word), ir.bitcast(b, word));
        // Equal floats have equal bits but for the sign of zero.
        let same = ir.bitcast(if larger { ir.and(x, y) } else { ir.or(x, y) }, a.ty());
        let order = if larger { Real::LLVMRealOGT } else { Real::LLVMRealOLT };
        let wins = ir.fcmp(order, a, b);
        let chosen = ir.select(ir.fcmp(Real::LLVMRealOEQ, a, b), same, ir.select(wins, a, b));
        ir.select(ir.fcmp(Real::LLVMRealUNO, a, a), a, chosen)
    }

    /// The larger or smaller of vectors, by an instruction that gives its second operand where one is NaN and where both
    /// are zeros. Taken in both orders the results are the same bits elsewhere. Where they are not, all bits of both make
    /// a NaN of a NaN, and the sign of zero is that of either where the smaller counts, else that of both.
    fn extreme_of_both(&self, larger: bool, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let word = ir.int_like(a.ty());
        let order = if larger { Real::LLVMRealOGT } else { Real::LLVMRealOLT };
        let one = |a, b| ir.bitcast(ir.select(ir.fcmp(order, a, b), a, b), word);
        let (x, y) = (one(a, b), one(b, a));
        let either = ir.or(x, y);
        if !larger {
            return ir.bitcast(either, a.ty());
        }
        let but_sign = ir.const_int(word, (1_i64 << (word.bits() - 1)).wrapping_sub(1));
        ir.bitcast(ir.or(ir.and(x, y), ir.and(either, but_sign)), a.ty())
    }

    /// The larger or smaller of a value and a number: one comparison, true for NaN, decides. It
    /// does not tell zeros apart, so the constant must be the zero that wins, or none.
    fn extreme_of_const(&self, larger: bool, a: Value<'c>, b: Value<'c>) -> Option<Value<'c>> {
        let ir = self.ir;
        let wins = |number: &f64| !number.is_nan() && (*number != 0.0 || number.is_sign_positive() == larger);
        let (value, constant) = if ir.float_const(b).as_ref().is_some_and(wins) {
            (a, b)
        } else if ir.float_const(a).as_ref().is_some_and(wins) {
            (b, a)
        } else {
            return None;
        };
        let order = if larger { Real::LLVMRealUGT } else { Real::LLVMRealULT };
        Some(ir.select(ir.fcmp(order, value, constant), value, constant))
    }

    /// A comparison, which is false where a NaN takes part, but for `!=`.
    pub(super) fn compare(&self, op: CmpOp, kind: Kind, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let real = match op {
            CmpOp::Eq => Real::LLVMRealOEQ,
            CmpOp::Ne => Real::LLVMRealUNE,
            CmpOp::Lt => Real::LLVMRealOLT,
            CmpOp::Le => Real::LLVMRealOLE,
            CmpOp::Gt => Real::LLVMRealOGT,
            CmpOp::Ge => Real::LLVMRealOGE,
        };
        let signed = match kind {
            Kind::Float { .. } => return ir.fcmp(real, a, b),
            Kind::Half { brain } => {
                return ir.fcmp(real, self.extend(brain, a), self.extend(brain, b));
            }
            Kind::Bool => false,
            Kind::Int { signed, .. } => signed,
        };
        let int = match (op, signed) {
            (CmpOp::Eq, _) => Int::LLVMIntEQ,
            (CmpOp::Ne, _) => Int::LLVMIntNE,
            (CmpOp::Lt, true) => Int::LLVMIntSLT,
            (CmpOp::Le, true) => Int::LLVMIntSLE,
            (CmpOp::Gt, true) => Int::LLVMIntSGT,
            (CmpOp::Ge, true) => Int::LLVMIntSGE,
            (CmpOp::Lt, false) => Int::LLVMIntULT,
            (CmpOp::Le, false) => Int::LLVMIntULE,
            (CmpOp::Gt, false) => Int::LLVMIntUGT,
            (CmpOp::Ge, false) => Int::LLVMIntUGE,
        };
        ir.icmp(int, a, b)
    }

    // Three operands.

    /// `a * b + c`, rounded once.
    pub(super) fn fma(&self, kind: Kind, a: Value<'c>, b: Value<'c>, c: Value<'c>) -> Result<'c> {
        match kind {
            // The product of two 16-bit floats is exact in 32 bits, but the sum is not: 64 do.
            Kind::Half { brain } => {
                let wide = |x| {
                    let x = self.extend(brain, x);
                    self.ir.fresize(x, self.ir.float(64).times(x.ty().lanes()))
                };
                let (a, b, c) = (wide(a), wide(b), wide(c));
                let product = self.ir.fmul(Freedom::default(), a, b);
                let sum = self.sum_to_odd(product, c);
                Ok(self.round_half(brain, self.narrow_to_odd(sum)))
            }
            Kind::Float { bits } => {
                if self.unit.fma && self.has_unit(a.ty()) {
                    return Ok(self.ir.intrinsic("llvm.fma", &[a.ty()], &[a, b, c]));
                }
                if bits == 64 {
                    return Ok(self.helper(Helper::Fma, &[a, b, c]));
                }
                let wide = |x: Value<'c>| self.ir.fresize(x, self.ir.float(64).times(x.ty().lanes()));
                let product = self.ir.fmul(Freedom::default(), wide(a), wide(b));
                let sum = self.sum_to_odd(product, wide(c));
                Ok(self.ir.fresize(sum, a.ty()))
            }
            Kind::Bool | Kind::Int { .. } => {
                let product = self.binary(BinaryOp::Mul, kind, false, a, b)?;
                self.binary(BinaryOp::Add, kind, false, product, c)
            }
        }
    }

    /// `a + b` in 64 bits, rounded to odd: rounding the result again, to a type narrower by two
    /// bits or more, is rounding once.
    fn sum_to_odd(&self, a: Value<'c>, b: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let exact = Freedom::default();
        let sum = ir.fadd(exact, a, b);
        let part = ir.fsub(exact, sum, a);
        let lost_a = ir.fsub(exact, a, ir.fsub(exact, sum, part));
        let lost = ir.fadd(exact, lost_a, ir.fsub(exact, b, part));
        let zero = ir.const_float(a.ty(), 0.0);
        let inexact = ir.fcmp(Real::LLVMRealONE, lost, zero);
        let word = ir.int_like(a.ty());
        let bits = ir.bitcast(sum, word);
        let one = ir.const_int(word, 1);
        let even = ir.icmp(Int::LLVMIntEQ, ir.and(bits, one), ir.const_int(word, 0));
        let outward =
            ir.icmp(Int::LLVMIntEQ, ir.fcmp(Real::LLVMRealOGT, lost, zero), ir.fcmp(Real::LLVMRealOGT, sum, zero));
        let step = ir.select(outward, one, ir.const_int(word, -1));
        let odd = ir.select(ir.and(inexact, even), ir.add(bits, step), bits);
        ir.bitcast(odd, a.ty())
    }

    // Conversions.

    /// `a as to`.
    pub(super) fn cast(&self, from: Kind, to: Kind, a: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let lanes = a.ty().lanes();
        let ty = self.ty(to, lanes);
        match (from, to) {
            (Kind::Bool, Kind::Bool) => a,
            (Kind::Bool, Kind::Int { .. }) => ir.resize(false, a, ty),
            (Kind::Bool, Kind::Half { .. } | Kind::Float { .. }) => {
                let byte = ir.resize(false, a, ir.int(8).times(lanes));
                self.cast(Kind::Int { signed: false, bits: 8 }, to, byte)
            }
            (Kind::Int { .. }, Kind::Bool) => ir.icmp(Int::LLVMIntNE, a, ir.const_int(a.ty(), 0)),
            (Kind::Int { signed, .. }, Kind::Int { .. }) => ir.resize(signed, a, ty),
            (Kind::Int { signed, .. }, Kind::Float { .. }) => ir.int_to_float(signed, a, ty),
            (Kind::Int { signed, bits }, Kind::Half { brain }) if bits <= 16 => {
                let exact = ir.int_to_float(signed, a, ir.float(32).times(lanes));
                self.round_half(brain, exact)
            }
            (Kind::Int { signed, bits }, Kind::Half { brain }) => {
                let short = if bits == 64 { self.int_to_odd(signed, a) } else { a };
                let exact = ir.int_to_float(signed, short, ir.float(64).times(lanes));
                self.round_half(brain, self.narrow_to_odd(exact))
            }
            (Kind::Float { .. }, Kind::Bool) => ir.fcmp(Real::LLVMRealUNE, a, ir.const_float(a.ty(), 0.0)),
            (Kind::Float { .. }, Kind::Int { signed, bits }) => {
                let apart = lanes > 1 && self.has_unit(a.ty()) && !self.unit.saturates;
                if apart { self.saturated(signed, bits, a, ty) } else { ir.float_to_int(signed, a, ty) }
            }
            (Kind::Float { .. }, Kind::Float { .. }) => ir.fresize(a, ty),
            (Kind::Float { bits: 64 }, Kind::Half { brain }) => self.round_half(brain, self.narrow_to_odd(a)),
            (Kind::Float { .. }, Kind::Half { brain }) => self.round_half(brain, a),
            (Kind::Half { brain: x }, Kind::Half { brain: y }) if x == y => a,
            (Kind::Half { brain }, Kind::Bool | Kind::Int { .. } | Kind::Half { .. })
            | (Kind::Half { brain }, Kind::Float { .. }) => {
                self.cast(Kind::Float { bits: 32 }, to, self.extend(brain, a))
            }
        }
    }

    /// A vector of floats as integers of so many bits: towards zero, saturating, 0 for NaN. LLVM takes the intrinsic apart
    /// into lanes where no instruction does all of that.
    fn saturated(&self, signed: bool, bits: u32, a: Value<'c>, ty: Type<'c>) -> Value<'c> {
        let ir = self.ir;
        let (least, past) = if signed { (-f64::from(bits - 1).exp2(), bits - 1) } else { (0.0, bits) };
        let (least, past) = (ir.const_float(a.ty(), least), ir.const_float(a.ty(), f64::from(past).exp2()));
        let low = ir.fcmp(Real::LLVMRealOGE, a, least);
        let high = ir.fcmp(Real::LLVMRealOLT, a, past);
        let inside = ir.select(ir.and(low, high), a, ir.const_float(a.ty(), 0.0));
        let whole = ir.float_to_int_inside(signed, inside, ty);
        let most = if signed { (1_u64 << (bits - 1)) - 1 } else { u64::MAX >> (64 - bits) };
        let above = ir.fcmp(Real::LLVMRealOGE, a, past);
        let whole = ir.select(above, ir.const_int(ty, most as i64), whole);
        if !signed {
            return whole;
        }
        let below = ir.fcmp(Real::LLVMRealOLT, a, least);
        ir.select(below, ir.const_int(ty, i64::MIN >> (64 - bits)), whole)
    }

    /// A 64-bit integer whose low bits are folded into one where `f64` could not hold them, so
    /// that rounding what follows is rounding once.
    fn int_to_odd(&self, signed: bool, a: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let constant = |value| ir.const_int(a.ty(), value);
        let low = ir.and(a, constant(0x7ff));
        let any = ir.icmp(Int::LLVMIntNE, low, constant(0));
        let folded = ir.select(any, constant(0x800), constant(0));
        let high = ir.or(ir.and(a, constant(!0x7ff)), folded);
        let size = if signed { self.int_magnitude(a) } else { a };
        let large = ir.icmp(Int::LLVMIntUGE, size, constant(1 << 53));
        ir.select(large, high, a)
    }

    /// A call of one of our own functions, lane by lane.
    fn helper(&self, which: Helper, arguments: &[Value<'c>]) -> Value<'c> {
        let ir = self.ir;
        let ty = arguments[0].ty();
        let function = which.function(ir, ty.bits());
        if ty.lanes() == 1 {
            return ir.call(function, arguments);
        }
        let mut result = ir.poison(ty);
        for lane in 0..ty.lanes() {
            let of: Vec<Value<'c>> = arguments.iter().map(|argument| ir.extract(*argument, lane)).collect();
            result = ir.insert(result, ir.call(function, &of), lane);
        }
        result
    }
}
