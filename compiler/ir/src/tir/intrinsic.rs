//! Functions that hardware has, or that passes write out.

use super::{Dot, Group, Mbarrier, Warp};

/// Functions that are neither a [`UnaryOp`](crate::op::UnaryOp) nor a [`BinaryOp`](crate::op::BinaryOp).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Intrinsic {
    /// `fma(a, b, c)`: one rounding.
    Fma,
    /// `q_multiply_shift(x, multiplier, shift)` of i32.
    QMultiplyShift,
    /// `nearest_int(x)` of floats of 32 or 64 bits: the nearest integer in i32, ties to even, where it lies within ±2^22 or
    /// ±2^30. Of others nothing is said.
    NearestInt,
    /// The bits of a float as an integer of its width, or back; the target dtype is the expression's type.
    Bitcast,
    /// `lookup(i, x0, …)` of an i32 and eight or sixteen i32 or f32: the one whose number the low bits of `i` are.
    Lookup,
    /// `scalef(x, n)` of f32: x 2^⌊n⌋, rounded once, of a finite n; NaN of NaN.
    Scalef,
    /// `exp_nonpositive(x)` of f32 or f64: e^x of x <= 0, or NaN; an x of f32 may be taken to be 2^-28 of it off.
    ExpNonpositive,
    /// `ex2(x)` of f32: 2^x as NVIDIA's units for functions have it, 2.1 ulp off at most, 0 where that is subnormal.
    Ex2,
    /// `word4(a, b, c, d)` of integers of 8 bits, `word2(a, b)` of bf16: their bits as one i32, the first one lowest.
    Word,
    /// `dot4_u8i8(a, b)`, `dot2_bf16(a, b)` of i32: both are words; the sum of the products of what they hold.
    /// `dot8(a, …, b, …)`, `dot16(a, …, b, …)` of i8: the elements of the one operand, then those of the other one.
    Dot(Dot),
    /// `ldmatrix(row)`, `mma(a, b, c)`: what the threads of a warp do together, with a part of each operand a thread.
    Warp(Warp),
    /// `group_sum(x)` and its kin: what the threads of a block make of a value of each.
    Group(Group),
    /// `copy_async(x)` of 16 bytes side by side in memory of all blocks: all that is stored, to as many in shared memory.
    /// They are there behind the next barrier of the block that does not leave them; nobody touches them before.
    CopyAsync,
    /// `copy_tensor<ty>(full[n], x[0], at, width, extent, stride, …)`: a box of a tensor, four operands an axis, the
    /// innermost one first: all that is stored, to neighbours in shared memory that begin at a multiple of 1,024 bytes, in
    /// the order of [`of_line`](super::tensor::of_line). What lies outside of the tensor is 0. One thread begins it; it is
    /// there for who has waited ([`Mbarrier::Wait`]) for the phase of `full[n]` in which it was begun, and nobody touches it before.
    CopyTensor,
    /// `until_aligned(x[i], n)`: how many elements lie between `x[i]`, which is not read, and the first one from there on
    /// whose address is a multiple of n bytes, a power of two. It depends on where memory is: what a program computes must
    /// be the same for any number from 0 to below n over the size of an element.
    UntilAligned,
    /// `mbarrier_init(n)` and its kin.
    Mbarrier(Mbarrier),
}
