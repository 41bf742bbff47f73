//! Arithmetic on words of 64 bits.

use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{Builder, ExprId};
use tenfold_ir::{DType, Scalar};

/// The bits of 2 / pi behind the point, after 34 zeros.
pub(super) const TWO_OVER_PI: [u64; 19] = [
    0x0000_0000_28be_60db,
    0x9391_054a_7f09_d5f4,
    0x7d4d_3770_36d8_a566,
    0x4f10_e410_7f94_58ea,
    0xf7ae_f158_6dc9_1b8e,
    0x9093_74b8_0192_4bba,
    0x8274_6487_3f87_7ac7,
    0x2c4a_69cf_ba20_8d7d,
    0x4bae_d121_3a67_1c09,
    0xad17_df90_4e64_758e,
    0x60d4_ce7d_2721_17e2,
    0xef7e_4a0e_c7fe_25ff,
    0xf781_6603_fbcb_c462,
    0xd682_9b47_db4d_9fb3,
    0xc9f2_c26d_d3d1_8fd9,
    0xa797_fa8b_5d49_eeb1,
    0xfaf9_7c5e_cf41_ce7d,
    0xe294_a4ba_9afe_d7ec,
    0x47e3_5742_1580_cc11,
];

/// Arithmetic in u64.
pub(super) struct Word<'b> {
    pub b: &'b mut Builder,
}

impl Word<'_> {
    pub(super) fn c(&mut self, value: u64) -> ExprId {
        self.b.scalar(Scalar::int(DType::U64, i128::from(value)))
    }

    pub(super) fn cast(&mut self, a: ExprId) -> ExprId {
        self.b.cast(DType::U64, a)
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

    pub(super) fn or(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.b.binary(BinaryOp::Or, a, b)
    }

    pub(super) fn or_c(&mut self, a: ExprId, value: u64) -> ExprId {
        let c = self.c(value);
        self.or(a, c)
    }

    pub(super) fn and_c(&mut self, a: ExprId, value: u64) -> ExprId {
        let c = self.c(value);
        self.b.binary(BinaryOp::And, a, c)
    }

    pub(super) fn shl(&mut self, a: ExprId, by: ExprId) -> ExprId {
        self.b.binary(BinaryOp::Shl, a, by)
    }

    pub(super) fn shl_c(&mut self, a: ExprId, by: u64) -> ExprId {
        let by = self.c(by);
        self.shl(a, by)
    }

    pub(super) fn shr(&mut self, a: ExprId, by: ExprId) -> ExprId {
        self.b.binary(BinaryOp::Shr, a, by)
    }

    pub(super) fn shr_c(&mut self, a: ExprId, by: u64) -> ExprId {
        let by = self.c(by);
        self.shr(a, by)
    }

    /// Whether a bit is set.
    pub(super) fn bit(&mut self, a: ExprId, bit: u32) -> ExprId {
        let (masked, zero) = (self.and_c(a, 1 << bit), self.c(0));
        self.b.compare(CmpOp::Ne, masked, zero)
    }

    /// 1 if a sum with `operand` has wrapped.
    pub(super) fn carry(&mut self, sum: ExprId, operand: ExprId) -> ExprId {
        let wrapped = self.b.compare(CmpOp::Lt, sum, operand);
        let (one, zero) = (self.c(1), self.c(0));
        self.b.select(wrapped, one, zero)
    }
}

/// The upper half of m times a, for m below 2^53: four products of halves.
pub(super) fn mul_high(w: &mut Word<'_>, m: ExprId, a: ExprId) -> ExprId {
    let half = u64::from(u32::MAX);
    let [(m0, m1), (a0, a1)] = [m, a].map(|x| (w.and_c(x, half), w.shr_c(x, 32)));
    let (low, inner, outer, high) = (w.mul(m0, a0), w.mul(m1, a0), w.mul(m0, a1), w.mul(m1, a1));
    let low = w.shr_c(low, 32);
    let inner = w.add(inner, low);
    let kept = w.and_c(inner, half);
    let outer = w.add(outer, kept);
    let (inner, outer) = (w.shr_c(inner, 32), w.shr_c(outer, 32));
    let high = w.add(high, inner);
    w.add(high, outer)
}
