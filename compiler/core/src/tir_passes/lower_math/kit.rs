//! Shorthands for arithmetic on f32 or f64 expressions and their bits.

use tenfold_ir::op::{BinaryOp, CmpOp, UnaryOp};
use tenfold_ir::tir::{Builder, ExprId, Intrinsic, Ty};
use tenfold_ir::{DType, Scalar};

use crate::{Arch, Target};

/// Of how many numbers a target looks one up in each lane of a vector by an instruction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Tables {
    /// It has no such instruction.
    None,
    /// Eight, as vectors of AVX2; it fuses products and sums.
    Eight,
    /// Sixteen or eight, as vectors of AVX-512; it scales by powers of two too.
    Sixteen,
}

impl Tables {
    pub(super) fn of(target: &Target) -> Self {
        match (target.device, target.arch) {
            (None, Arch::X86_64) if target.has("avx512f") => Tables::Sixteen,
            (None, Arch::X86_64) if target.has("avx2") && target.has("fma") => Tables::Eight,
            _ => Tables::None,
        }
    }
}

/// Arithmetic in one float dtype.
pub(super) struct Kit<'b> {
    pub b: &'b mut Builder,
    /// F32 or F64.
    pub dtype: DType,
    /// Of how many numbers the target looks one up.
    pub tables: Tables,
}

impl<'b> Kit<'b> {
    pub(super) fn new(b: &'b mut Builder, dtype: DType) -> Self {
        Kit { b, dtype, tables: Tables::None }
    }

    /// Whether the dtype is f64.
    pub(super) fn double(&self) -> bool {
        self.dtype == DType::F64
    }

    /// The integer dtype of the same width.
    pub(super) fn bits_dtype(&self) -> DType {
        if self.double() { DType::I64 } else { DType::I32 }
    }

    /// Bits of the significand after the leading one.
    pub(super) fn significand(&self) -> i64 {
        if self.double() { 52 } else { 23 }
    }

    pub(super) fn c(&mut self, value: f64) -> ExprId {
        self.b.float(self.dtype, value)
    }

    /// A constant that differs between f32 and f64.
    pub(super) fn c2(&mut self, single: f64, double: f64) -> ExprId {
        let value = if self.double() { double } else { single };
        self.c(value)
    }

    /// An integer of the float's width.
    pub(super) fn int(&mut self, value: i64) -> ExprId {
        self.b.scalar(Scalar::int(self.bits_dtype(), i128::from(value)))
    }

    pub(super) fn add(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.b.add(a, b)
    }

    pub(super) fn sub(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.b.sub(a, b)
    }

    pub(super) fn mul(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.b.mul(a, b)
    }

    pub(super) fn div(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.b.div(a, b)
    }

    /// a * b + c.
    pub(super) fn mad(&mut self, a: ExprId, b: ExprId, c: ExprId) -> ExprId {
        let p = self.mul(a, b);
        self.add(p, c)
    }

    pub(super) fn unary(&mut self, op: UnaryOp, a: ExprId) -> ExprId {
        self.b.unary(op, a)
    }

    pub(super) fn abs(&mut self, a: ExprId) -> ExprId {
        self.unary(UnaryOp::Abs, a)
    }

    pub(super) fn neg(&mut self, a: ExprId) -> ExprId {
        self.unary(UnaryOp::Neg, a)
    }

    pub(super) fn cmp(&mut self, op: CmpOp, a: ExprId, b: ExprId) -> ExprId {
        self.b.compare(op, a, b)
    }

    /// Comparison with a constant.
    pub(super) fn cmp_c(&mut self, op: CmpOp, a: ExprId, value: f64) -> ExprId {
        let c = self.c(value);
        self.cmp(op, a, c)
    }

    pub(super) fn select(&mut self, c: ExprId, a: ExprId, b: ExprId) -> ExprId {
        self.b.select(c, a, b)
    }

    /// A choice of which only the branch taken is evaluated, where there are no lanes that differ.
    pub(super) fn either(&mut self, c: ExprId, a: ExprId, b: ExprId) -> ExprId {
        if self.b.ty(c).lanes == 1 { self.b.if_(c, a, b) } else { self.b.select(c, a, b) }
    }

    /// `value` where `a` compares so with the constant, else `other`.
    pub(super) fn where_c(&mut self, a: ExprId, op: CmpOp, at: f64, value: ExprId, other: ExprId) -> ExprId {
        let c = self.cmp_c(op, a, at);
        self.select(c, value, other)
    }

    /// c[0] + x (c[1] + x (c[2] + …)).
    pub(super) fn poly(&mut self, x: ExprId, coefficients: &[f64]) -> ExprId {
        let mut acc = None;
        for value in coefficients.iter().rev() {
            let c = self.c(*value);
            acc = Some(match acc {
                None => c,
                Some(a) => self.mad(a, x, c),
            });
        }
        acc.unwrap_or_else(|| self.c(0.0))
    }

    /// a * b + c, rounded once.
    pub(super) fn fma(&mut self, a: ExprId, b: ExprId, c: ExprId) -> ExprId {
        let ty = self.b.ty(a);
        self.b.call(Intrinsic::Fma, vec![a, b, c], ty)
    }

    /// The one of eight or sixteen whose number the low bits of an integer are.
    pub(super) fn lookup(&mut self, number: ExprId, table: &[ExprId]) -> ExprId {
        let ty = Ty { lanes: self.b.ty(number).lanes, ..self.b.ty(table[0]) };
        let mut args = vec![number];
        args.extend(table.iter().map(|value| self.b.broadcast(*value, ty.lanes)));
        self.b.call(Intrinsic::Lookup, args, ty)
    }

    /// The same of the float's numbers.
    pub(super) fn lookup_c(&mut self, number: ExprId, table: &[f64]) -> ExprId {
        let table: Vec<ExprId> = table.iter().map(|value| self.c(*value)).collect();
        self.lookup(number, &table)
    }

    /// The bits of a float as an integer.
    pub(super) fn bits(&mut self, x: ExprId) -> ExprId {
        let ty = Ty::scalar(self.bits_dtype());
        self.b.call(Intrinsic::Bitcast, vec![x], ty)
    }

    /// The float of these bits.
    pub(super) fn of_bits(&mut self, x: ExprId) -> ExprId {
        let ty = Ty::scalar(self.dtype);
        self.b.call(Intrinsic::Bitcast, vec![x], ty)
    }

    /// A float without the lower half of its bits: products of such numbers are exact.
    pub(super) fn top(&mut self, x: ExprId) -> ExprId {
        let mask = if self.double() { -1 << 32 } else { -1 << 12 };
        let (bits, mask) = (self.bits(x), self.int(mask));
        let bits = self.b.binary(BinaryOp::And, bits, mask);
        self.of_bits(bits)
    }

    pub(super) fn shl(&mut self, a: ExprId, by: i64) -> ExprId {
        let by = self.int(by);
        self.b.binary(BinaryOp::Shl, a, by)
    }

    /// Arithmetic shift right.
    pub(super) fn shr(&mut self, a: ExprId, by: i64) -> ExprId {
        let by = self.int(by);
        self.b.binary(BinaryOp::Shr, a, by)
    }

    /// An integer of the float's width as a float.
    pub(super) fn float(&mut self, a: ExprId) -> ExprId {
        self.b.cast(self.dtype, a)
    }

    /// `x` rounded to the nearest integer, as a float and as an integer, for |x| < 2^21: adding 1.5 * 2^significand
    /// leaves the integer in the low bits.
    pub(super) fn nearest(&mut self, x: ExprId) -> (ExprId, ExprId) {
        let magic = self.c2(12_582_912.0, 6_755_399_441_055_744.0);
        let shifted = self.add(x, magic);
        let float = self.sub(shifted, magic);
        let (a, m) = (self.bits(shifted), self.bits(magic));
        (float, self.sub(a, m))
    }

    /// The bias of an exponent.
    pub(super) fn bias(&self) -> i64 {
        if self.double() { 1023 } else { 127 }
    }

    /// [`nearest`](Self::nearest), and an integer whose low bits are that integer plus `offset`: enough where it is
    /// shifted to the exponent's place, and an operation less.
    pub(super) fn nearest_and(&mut self, x: ExprId, offset: i64) -> (ExprId, ExprId) {
        let magic = self.c2(12_582_912.0 + offset as f64, 6_755_399_441_055_744.0 + offset as f64);
        let shifted = self.add(x, magic);
        let float = self.sub(shifted, magic);
        (float, self.bits(shifted))
    }

    /// 2^n whose result is a normal number, of an integer whose low bits are n plus the bias.
    pub(super) fn power_of_biased(&mut self, biased: ExprId) -> ExprId {
        let bits = self.shl(biased, self.significand());
        self.of_bits(bits)
    }

    /// x 2^n of an integer whose low bits are n plus twice the bias: in two steps, so that results down to the least
    /// subnormal and up to infinity come out right.
    pub(super) fn scale(&mut self, x: ExprId, biased: ExprId) -> ExprId {
        let half = self.shr(biased, 1);
        let rest = self.b.sub(biased, half);
        let (a, b) = (self.power_of_biased(half), self.power_of_biased(rest));
        let x = self.mul(x, a);
        self.mul(x, b)
    }

    /// The magnitude of `a` (which is >= 0) with the sign of `b`.
    pub(super) fn with_sign(&mut self, a: ExprId, b: ExprId) -> ExprId {
        let sign = if self.double() { i64::MIN } else { i64::from(i32::MIN) };
        let mask = self.int(sign);
        let bits = self.bits(b);
        let sign = self.b.binary(BinaryOp::And, bits, mask);
        let bits = self.bits(a);
        let both = self.b.binary(BinaryOp::Or, bits, sign);
        self.of_bits(both)
    }
}
