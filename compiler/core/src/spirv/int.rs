//! Integers: every operation is total, and wraps. Vulkan leaves division by zero, the quotient that overflows and
//! remainders of negative numbers undefined.

use spirv::{Op, PackedVectorFormat};
use tenfold_abi::program::Feature;
use tenfold_ir::op::{BinaryOp, CmpOp, UnaryOp};

use super::expr::{Cannot, Made};
use super::kind::{Kind, U32};
use super::out::{Id, Out};
use super::words::{Operand, named};

pub(super) fn width(kind: Kind) -> u32 {
    match kind {
        Kind::Int { bits, .. } => bits,
        Kind::Bool | Kind::Half { .. } | Kind::Float { .. } => 32,
    }
}

impl Out {
    /// What a register holds of an integer that may have run over its width.
    pub(super) fn wrapped(&mut self, kind: Kind, a: Id) -> Id {
        let Kind::Int { signed, bits: bits @ (8 | 16) } = kind else { return a };
        let ty = self.int(32);
        if signed {
            let (from, count) = (self.word(0), self.word(bits));
            self.op(Op::BitFieldSExtract, ty, &[a, from, count])
        } else {
            let mask = self.word((1 << bits) - 1);
            self.op(Op::BitwiseAnd, ty, &[a, mask])
        }
    }

    fn wrapping(&mut self, op: Op, kind: Kind, operands: &[Id]) -> Id {
        let ty = self.register(kind);
        let all = self.op(op, ty, operands);
        self.wrapped(kind, all)
    }

    /// `0 - a`: validators have no negation of integers without a sign.
    pub(super) fn negated(&mut self, kind: Kind, a: Id) -> Id {
        let zero = self.number(kind, 0);
        self.wrapping(Op::ISub, kind, &[zero, a])
    }

    pub(super) fn int_unary(&mut self, op: UnaryOp, kind: Kind, a: Id) -> Made {
        let zero = self.number(kind, 0);
        Ok(match op {
            UnaryOp::Neg => self.negated(kind, a),
            UnaryOp::Not => self.wrapping(Op::Not, kind, &[a]),
            UnaryOp::Abs if kind.is_signed() => {
                let (below, neg) = (self.test(Op::SLessThan, a, zero), self.negated(kind, a));
                self.select(kind, below, neg, a)
            }
            UnaryOp::Sign => {
                let (one, less) = (self.number(kind, 1), self.number(kind, -1));
                let some = self.test(Op::INotEqual, a, zero);
                let out = self.select(kind, some, one, zero);
                if !kind.is_signed() {
                    return Ok(out);
                }
                let below = self.test(Op::SLessThan, a, zero);
                self.select(kind, below, less, out)
            }
            UnaryOp::Abs | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc => a,
            UnaryOp::Square => self.wrapping(Op::IMul, kind, &[a, a]),
            UnaryOp::Reciprocal => {
                let one = self.number(kind, 1);
                self.guarded(kind, one, a, None)
            }
            UnaryOp::IsNan | UnaryOp::IsInf => self.truth(false),
            UnaryOp::IsFinite => self.truth(true),
            _ => return Err(Cannot::unexpanded(format!("{op:?} of {}", kind.name()))),
        })
    }

    /// `literal` is the second operand's value, if it is one.
    pub(super) fn int_binary(&mut self, op: BinaryOp, kind: Kind, a: Id, b: Id, literal: Option<i64>) -> Made {
        let ty = self.register(kind);
        let power = literal.filter(|n| *n > 0 && n & (n - 1) == 0).map(i64::trailing_zeros);
        Ok(match op {
            BinaryOp::Add => self.wrapping(Op::IAdd, kind, &[a, b]),
            BinaryOp::Sub => self.wrapping(Op::ISub, kind, &[a, b]),
            BinaryOp::Mul => self.wrapping(Op::IMul, kind, &[a, b]),
            BinaryOp::Div => self.guarded(kind, a, b, literal),
            BinaryOp::Rem => self.remainder(kind, a, b, literal),
            BinaryOp::DivEuclid if power.is_some() => {
                let places = self.word(power.unwrap_or(0));
                let shift = if kind.is_signed() { Op::ShiftRightArithmetic } else { Op::ShiftRightLogical };
                self.op(shift, ty, &[a, places])
            }
            BinaryOp::RemEuclid if power.is_some() => {
                let mask = self.number(kind, (1 << power.unwrap_or(0)) - 1);
                self.op(Op::BitwiseAnd, ty, &[a, mask])
            }
            BinaryOp::DivEuclid => self.div_euclid(kind, a, b, literal),
            BinaryOp::RemEuclid => self.rem_euclid(kind, a, b, literal),
            BinaryOp::Min | BinaryOp::Max => {
                let less = self.int_compare(if op == BinaryOp::Min { CmpOp::Lt } else { CmpOp::Gt }, kind, a, b);
                self.select(kind, less, a, b)
            }
            BinaryOp::And => self.op(Op::BitwiseAnd, ty, &[a, b]),
            BinaryOp::Or => self.op(Op::BitwiseOr, ty, &[a, b]),
            BinaryOp::Xor => self.op(Op::BitwiseXor, ty, &[a, b]),
            BinaryOp::Shl | BinaryOp::Shr => {
                let mask = self.number(kind, i64::from(width(kind)) - 1);
                let places = self.op(Op::BitwiseAnd, ty, &[b, mask]);
                let right = if kind.is_signed() { Op::ShiftRightArithmetic } else { Op::ShiftRightLogical };
                self.wrapping(if op == BinaryOp::Shl { Op::ShiftLeftLogical } else { right }, kind, &[a, places])
            }
            BinaryOp::Pow | BinaryOp::Atan2 => {
                return Err(Cannot::unexpanded(format!("{op:?} of {}", kind.name())));
            }
        })
    }

    pub(super) fn int_compare(&mut self, op: CmpOp, kind: Kind, a: Id, b: Id) -> Id {
        let signed = kind.is_signed();
        if signed && width(kind) == 64 && !matches!(op, CmpOp::Eq | CmpOp::Ne) {
            // Both moved by 2^63, without a sign: Mesa 22 takes an i32 that was extended to be below no constant.
            let (ty, top) = (self.int(64), self.constant(kind, 1 << 63));
            let [x, y] = [a, b].map(|v| self.op(Op::BitwiseXor, ty, &[v, top]));
            return self.int_compare(op, Kind::Int { signed: false, bits: 64 }, x, y);
        }
        let op = match op {
            CmpOp::Eq => Op::IEqual,
            CmpOp::Ne => Op::INotEqual,
            CmpOp::Lt if signed => Op::SLessThan,
            CmpOp::Le if signed => Op::SLessThanEqual,
            CmpOp::Gt if signed => Op::SGreaterThan,
            CmpOp::Ge if signed => Op::SGreaterThanEqual,
            CmpOp::Lt => Op::ULessThan,
            CmpOp::Le => Op::ULessThanEqual,
            CmpOp::Gt => Op::UGreaterThan,
            CmpOp::Ge => Op::UGreaterThanEqual,
        };
        self.test(op, a, b)
    }

    /// `a / b`, 0 where `b` is, and `-a` by -1.
    fn guarded(&mut self, kind: Kind, a: Id, b: Id, literal: Option<i64>) -> Id {
        let divide = if kind.is_signed() { Op::SDiv } else { Op::UDiv };
        let ty = self.register(kind);
        if literal.is_some_and(|n| n != 0 && n != -1) {
            return self.op(divide, ty, &[a, b]);
        }
        let (zero, one) = (self.number(kind, 0), self.number(kind, 1));
        let none = self.test(Op::IEqual, b, zero);
        let mut instead = none;
        let mut neg = None;
        if kind.is_signed() {
            let less = self.number(kind, -1);
            let back = self.test(Op::IEqual, b, less);
            instead = self.test(Op::LogicalOr, none, back);
            neg = Some((back, self.negated(kind, a)));
        }
        let safe = self.select(kind, instead, one, b);
        let mut out = self.op(divide, ty, &[a, safe]);
        if let Some((back, value)) = neg {
            out = self.select(kind, back, value, out);
        }
        self.select(kind, none, zero, out)
    }

    /// `a - a / b * b`.
    fn remainder(&mut self, kind: Kind, a: Id, b: Id, literal: Option<i64>) -> Id {
        let quotient = self.guarded(kind, a, b, literal);
        self.rest(kind, a, b, quotient)
    }

    fn rest(&mut self, kind: Kind, a: Id, b: Id, quotient: Id) -> Id {
        let product = self.wrapping(Op::IMul, kind, &[quotient, b]);
        self.wrapping(Op::ISub, kind, &[a, product])
    }

    fn div_euclid(&mut self, kind: Kind, a: Id, b: Id, literal: Option<i64>) -> Id {
        let quotient = self.guarded(kind, a, b, literal);
        if !kind.is_signed() {
            return quotient;
        }
        let rest = self.rest(kind, a, b, quotient);
        let (zero, one, less) = (self.number(kind, 0), self.number(kind, 1), self.number(kind, -1));
        let ahead = self.test(Op::SGreaterThan, b, zero);
        let step = self.select(kind, ahead, less, one);
        let moved = self.wrapping(Op::IAdd, kind, &[quotient, step]);
        let moves = self.leaves(rest, b, zero);
        self.select(kind, moves, moved, quotient)
    }

    fn rem_euclid(&mut self, kind: Kind, a: Id, b: Id, literal: Option<i64>) -> Id {
        let rest = self.remainder(kind, a, b, literal);
        if !kind.is_signed() {
            return rest;
        }
        let zero = self.number(kind, 0);
        let neg = self.negated(kind, b);
        let behind = self.test(Op::SLessThan, b, zero);
        let size = self.select(kind, behind, neg, b);
        let moved = self.wrapping(Op::IAdd, kind, &[rest, size]);
        let moves = self.leaves(rest, b, zero);
        self.select(kind, moves, moved, rest)
    }

    /// Whether a division left a negative rest.
    fn leaves(&mut self, rest: Id, b: Id, zero: Id) -> Id {
        let (below, some) = (self.test(Op::SLessThan, rest, zero), self.test(Op::INotEqual, b, zero));
        self.test(Op::LogicalAnd, below, some)
    }

    /// The sum of the products of four bytes of two words each.
    pub(super) fn dot_bytes(&mut self, signed: [bool; 2], a: Id, b: Id) -> Id {
        let ty = self.int(32);
        if self.optional {
            self.need(Feature::Dot8);
            let (op, a, b) = match signed {
                [true, true] => (Op::SDot, a, b),
                [false, false] => (Op::UDot, a, b),
                [true, false] => (Op::SUDot, a, b),
                [false, true] => (Op::SUDot, b, a),
            };
            let (id, bytes) = (self.id(), PackedVectorFormat::PackedVectorFormat4x8Bit);
            let operands = vec![Operand::Id(a), Operand::Id(b), named(bytes as u32, bytes)];
            self.push(op, Some(ty), Some(id), operands);
            return id;
        }
        let mut sum = None;
        for place in 0..4 {
            let (from, count) = (self.word(8 * place), self.word(8));
            let mut byte = |signed, word| {
                let op = if signed { Op::BitFieldSExtract } else { Op::BitFieldUExtract };
                self.op(op, ty, &[word, from, count])
            };
            let (x, y) = (byte(signed[0], a), byte(signed[1], b));
            let product = self.op(Op::IMul, ty, &[x, y]);
            sum = Some(sum.map_or(product, |sum| self.op(Op::IAdd, ty, &[sum, product])));
        }
        sum.unwrap_or(a)
    }

    /// Parts of a word side by side, the first one lowest.
    pub(super) fn packed(&mut self, parts: &[Id]) -> Id {
        let (ty, bits) = (self.int(32), 32 / parts.len().max(1) as u32);
        let mut all = self.word(0);
        for (place, part) in (0..).zip(parts) {
            let (mask, places) = (self.word(u32::MAX >> (32 - bits)), self.word(bits * place));
            let low = self.op(Op::BitwiseAnd, ty, &[*part, mask]);
            let moved = self.op(Op::ShiftLeftLogical, ty, &[low, places]);
            all = self.op(Op::BitwiseOr, ty, &[all, moved]);
        }
        self.wrapped(U32, all)
    }
}
