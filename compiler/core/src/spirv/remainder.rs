//! Remainders of floats, which are exact: Vulkan's own are made of a quotient that is rounded.

use spirv::{GlslStd450Op as Glsl, Op};

use super::float::word_of;
use super::kind::{F64, Kind};
use super::out::{Id, Out, refs};

/// Of a float: bits of its fraction, its mask, and how far a remainder may move so that its word holds it.
fn layout(kind: Kind) -> (u32, u64, u32) {
    if kind == F64 { (52, (1 << 52) - 1, 11) } else { (23, (1 << 23) - 1, 8) }
}

impl Out {
    /// `a - b * trunc(a / b)`, exactly; with the sign of `a`. NaN where `b` is 0 or `a` has no end.
    pub(super) fn float_rem(&mut self, kind: Kind, a: Id, b: Id) -> Id {
        let name = if kind == F64 { "rem_f64" } else { "rem_f32" };
        self.helper(name, kind, &[(kind, a), (kind, b)], |out, args| out.rem_of(kind, args[0], args[1]))
    }

    /// The remainder that is not negative.
    pub(super) fn float_rem_euclid(&mut self, kind: Kind, a: Id, b: Id) -> Id {
        let ty = self.register(kind);
        let (rest, size) = (self.float_rem(kind, a, b), self.abs_float(kind, b));
        let moved = self.exact(Op::FAdd, ty, &[rest, size]);
        let zero = self.real(kind, 0.0);
        let below = self.test(Op::FOrdLessThan, rest, zero);
        self.select(kind, below, moved, rest)
    }

    /// The quotient without its fraction, moved where the remainder is negative.
    pub(super) fn float_div_euclid(&mut self, kind: Kind, a: Id, b: Id) -> Id {
        let ty = self.register(kind);
        let (rest, zero) = (self.float_rem(kind, a, b), self.real(kind, 0.0));
        let quotient = self.exact(Op::FDiv, ty, &[a, b]);
        let whole = self.glsl(Glsl::Trunc, ty, &[quotient]);
        let (one, less) = (self.real(kind, 1.0), self.real(kind, -1.0));
        let ahead = self.test(Op::FOrdGreaterThan, b, zero);
        let step = self.select(kind, ahead, less, one);
        let moved = self.exact(Op::FAdd, ty, &[whole, step]);
        let below = self.test(Op::FOrdLessThan, rest, zero);
        self.select(kind, below, moved, whole)
    }

    /// A float of a word without a sign: its whole number in units of its exponent, and this exponent.
    fn parts(&mut self, kind: Kind, size: Id) -> (Id, Id) {
        let (word, (fraction, mask, _)) = (word_of(kind), layout(kind));
        let ty = self.register(word);
        let (places, mask, zero) =
            (self.number(word, i64::from(fraction)), self.constant(word, mask), self.number(word, 0));
        let (hidden, one) = (self.constant(word, 1 << fraction), self.number(word, 1));
        let exponent = self.op(Op::ShiftRightLogical, ty, &[size, places]);
        let low = self.op(Op::BitwiseAnd, ty, &[size, mask]);
        let normal = self.op(Op::BitwiseOr, ty, &[low, hidden]);
        let is_normal = self.test(Op::INotEqual, exponent, zero);
        (self.select(word, is_normal, normal, low), self.select(word, is_normal, exponent, one))
    }

    fn rem_of(&mut self, kind: Kind, a: Id, b: Id) -> Id {
        let word = word_of(kind);
        let ty = self.register(word);
        let x = self.reinterpret(word, a);
        let (size_x, size_y) = (self.size(kind, a), self.size(kind, b));
        let sign = self.op(Op::BitwiseXor, ty, &[x, size_x]);
        let ((mx, ex), (my, ey)) = (self.parts(kind, size_x), self.parts(kind, size_y));
        let zero = self.number(word, 0);
        let none = self.test(Op::IEqual, size_y, zero);
        // What divides nothing is not divided by.
        let one = self.number(word, 1);
        let divisor = self.select(word, none, one, my);
        let above = self.test(Op::UGreaterThan, ex, ey);
        let far = self.op(Op::ISub, ty, &[ex, ey]);
        let far = self.select(word, above, far, zero);
        let rest = self.long_division(kind, mx, divisor, far);
        let bits = self.float_of(kind, rest, ey);
        let bits = self.op(Op::BitwiseOr, ty, &[bits, sign]);
        let smaller = self.test(Op::ULessThan, size_x, size_y);
        let bits = self.select(word, smaller, x, bits);
        let out = self.reinterpret(kind, bits);
        let (endless, nan_a, nan_b) =
            (self.beside_endless(Op::IEqual, kind, a), self.is_nan(kind, a), self.is_nan(kind, b));
        let nan = self.test(Op::LogicalOr, nan_a, nan_b);
        let undefined = self.test(Op::LogicalOr, none, endless);
        let undefined = self.test(Op::LogicalOr, undefined, nan);
        let not_a_number = self.real(kind, f64::NAN);
        self.select(kind, undefined, not_a_number, out)
    }

    /// `m * 2^far` modulo `divisor`, some bits at a time: what is left is smaller than the divisor and fits with them.
    fn long_division(&mut self, kind: Kind, m: Id, divisor: Id, far: Id) -> Id {
        let (word, (_, _, most)) = (word_of(kind), layout(kind));
        let ty = self.register(word);
        let first = self.op(Op::UMod, ty, &[m, divisor]);
        let (zero, most) = (self.number(word, 0), self.number(word, i64::from(most)));
        let before = self.here();
        let [head, check, inside, next, merge, rest, left, later, fewer] = [0; 9].map(|_: u32| self.id());
        self.branch(head);
        self.begin(head);
        self.push(Op::Phi, Some(ty), Some(rest), refs(&[first, before, later, next]));
        self.push(Op::Phi, Some(ty), Some(left), refs(&[far, before, fewer, next]));
        self.loop_merge(merge, next, false);
        self.branch(check);
        self.begin(check);
        let more = self.test(Op::INotEqual, left, zero);
        self.branch_if(more, inside, merge);
        self.begin(inside);
        let many = self.test(Op::UGreaterThan, left, most);
        let step = self.select(word, many, most, left);
        let moved = self.op(Op::ShiftLeftLogical, ty, &[rest, step]);
        self.push(Op::UMod, Some(ty), Some(later), refs(&[moved, divisor]));
        self.push(Op::ISub, Some(ty), Some(fewer), refs(&[left, step]));
        self.branch(next);
        self.begin(next);
        self.branch(head);
        self.begin(merge);
        rest
    }

    /// The bits of a whole number in units of an exponent: a float holds the number itself, whose exponent moves.
    fn float_of(&mut self, kind: Kind, number: Id, exponent: Id) -> Id {
        let (word, (fraction, mask, _)) = (word_of(kind), layout(kind));
        let (ty, float) = (self.register(word), self.register(kind));
        let bias = if kind == F64 { 1023 } else { 127 } + i64::from(fraction);
        let value = self.op(Op::ConvertUToF, float, &[number]);
        let bits = self.reinterpret(word, value);
        let (places, mask, bias) =
            (self.number(word, i64::from(fraction)), self.constant(word, mask), self.number(word, bias));
        let (zero, one) = (self.number(word, 0), self.number(word, 1));
        let own = self.op(Op::ShiftRightLogical, ty, &[bits, places]);
        let sum = self.op(Op::IAdd, ty, &[own, exponent]);
        let is_normal = self.test(Op::UGreaterThan, sum, bias);
        let moved = self.op(Op::ISub, ty, &[sum, bias]);
        let moved = self.op(Op::ShiftLeftLogical, ty, &[moved, places]);
        let low = self.op(Op::BitwiseAnd, ty, &[bits, mask]);
        let normal = self.op(Op::BitwiseOr, ty, &[low, moved]);
        // Below the least normal number the bits are the number in units of the least exponent.
        let up = self.op(Op::ISub, ty, &[exponent, one]);
        let up = self.select(word, is_normal, zero, up);
        let small = self.op(Op::ShiftLeftLogical, ty, &[number, up]);
        let bits = self.select(word, is_normal, normal, small);
        let none = self.test(Op::IEqual, number, zero);
        self.select(word, none, zero, bits)
    }
}
