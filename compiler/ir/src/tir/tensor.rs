//! Copies of parts of a tensor to shared memory, each begun by one thread, and the objects there that tell when they have
//! arrived.

use super::{Expr, ExprId, Intrinsic, PrimFunc};

/// What a thread does with an `mbarrier`, an element of 64 bits in shared memory. It is all that a store stores, there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mbarrier {
    /// `mbarrier_init(n)`: phases begin, the first one has number 0. Each ends once there were `n` arrivals and as many
    /// bytes came as were announced in it.
    Init,
    /// `mbarrier_expect(n)`: arrives, and announces so many bytes.
    Expect,
    /// `mbarrier_wait(p)`: waits for the end of the phase that goes on or went on last whose number is even (`p` 0) or odd
    /// (1). What has arrived in it may be touched then.
    Wait,
}

impl Mbarrier {
    /// All with their names.
    pub const ALL: [(&'static str, Mbarrier); 3] =
        [("mbarrier_init", Mbarrier::Init), ("mbarrier_expect", Mbarrier::Expect), ("mbarrier_wait", Mbarrier::Wait)];

    /// Its name.
    pub fn name(self) -> &'static str {
        Mbarrier::ALL.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| *name)
    }
}

/// Bytes of a line of a box: chunks of 16 bytes lie in an order that differs from line to line
/// ([`of_line`]), which begins anew at each multiple of 1,024 bytes.
pub const LINE: i64 = 128;

/// Axes of a tensor, at most.
pub const MAX_AXES: usize = 5;

/// Elements of a box along an axis, at most.
pub const MAX_BOX: i64 = 256;

/// An axis of the tensor that [`Intrinsic::CopyTensor`] copies a box of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Axis {
    /// Where the box begins.
    pub at: ExprId,
    /// Elements of the box.
    pub width: i64,
    /// Elements of the tensor.
    pub extent: i64,
    /// Elements from one to the next.
    pub stride: i64,
}

/// A copy of a box, as [`Intrinsic::CopyTensor`] says it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorCopy {
    /// The load of the `mbarrier` that is told of what arrives.
    pub tells: ExprId,
    /// The load of the tensor's first element.
    pub first: ExprId,
    /// The axes of the tensor, the innermost one first.
    pub axes: Vec<Axis>,
}

impl TensorCopy {
    /// The copy that a value is, if its extents are numbers.
    pub fn of(func: &PrimFunc, value: ExprId) -> Option<TensorCopy> {
        let Expr::Call(Intrinsic::CopyTensor, args, _) = func.exprs.get(value) else { return None };
        let [tells, first, axes @ ..] = args.as_slice() else { return None };
        let axes = axes.chunks_exact(4).map(|axis| {
            let number = |n: usize| func.literal(*axis.get(n)?);
            Some(Axis { at: *axis.first()?, width: number(1)?, extent: number(2)?, stride: number(3)? })
        });
        Some(TensorCopy { tells: *tells, first: *first, axes: axes.collect::<Option<_>>()? })
    }

    /// Elements of the box.
    pub fn elements(&self) -> i64 {
        self.axes.iter().fold(1, |n: i64, axis| n.saturating_mul(axis.width))
    }

    /// What is wrong with its axes, of elements of so many bytes.
    pub fn fault(&self, size: i64) -> Option<&'static str> {
        let Some(inner) = self.axes.first() else { return Some("has no axes") };
        let strides = || self.axes.iter().skip(1).map(|axis| axis.stride.checked_mul(size));
        if self.axes.len() > MAX_AXES {
            Some("has more than 5 axes")
        } else if inner.stride != 1 || inner.width.checked_mul(size) != Some(LINE) {
            Some("has no lines of 128 bytes side by side")
        } else if self.axes.iter().any(|axis| !(1..=MAX_BOX).contains(&axis.width)) {
            Some("is wider than 256 elements")
        } else if self.axes.iter().any(|axis| !(1..=1 << 32).contains(&axis.extent)) {
            Some("is of a tensor with an extent below 1 or above 2^32")
        } else if strides().any(|bytes| bytes.is_none_or(|n| n % 16 != 0 || !(1..1 << 40).contains(&n))) {
            Some("is of a tensor whose strides are no multiples of 16 bytes below 2^40")
        } else {
            None
        }
    }
}

/// Where an element of a line lies, of so many bytes: the line's number, and the element's.
pub fn of_line(line: i64, at: i64, size: i64) -> i64 {
    let chunk = 16 / size;
    line * LINE / size + ((at / chunk) ^ (line % 8)) * chunk + at % chunk
}
