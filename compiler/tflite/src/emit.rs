//! What converters build with: operators of the language and of relax, and TFLite's fixed point as operators.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp, ElementOp, ReduceOp, UnaryOp};
use tenfold_ir::ops::{self, Arg, AttrValue, OpCall};
use tenfold_ir::relax::{Op, PadMode, SliceAxis, ValueId};
use tenfold_ir::{DType, Scalar};

use crate::fixed::Multiplier;
use crate::walk::{Cx, Outcome, Quant, fault};

/// A list of integers as an attribute.
pub(crate) fn list(values: &[i64]) -> AttrValue {
    AttrValue::List(values.iter().map(|n| AttrValue::Int(IntExpr::from(*n))).collect())
}

fn exprs(shape: &[i64]) -> Vec<IntExpr> {
    shape.iter().map(|n| IntExpr::from(*n)).collect()
}

impl Cx<'_> {
    /// An operator of the language.
    pub(crate) fn op(&mut self, name: &str, args: &[ValueId], attrs: &[(&str, AttrValue)]) -> Outcome<ValueId> {
        self.language(name, args.iter().map(|a| Arg::Value(*a)).collect(), attrs)
    }

    /// An operator of the language, of operands of any kind.
    pub(crate) fn language(&mut self, name: &str, args: Vec<Arg>, attrs: &[(&str, AttrValue)]) -> Outcome<ValueId> {
        let Some(def) = ops::lookup(name) else { return fault(format!("the language has no operator `{name}`")) };
        let attrs: BTreeMap<String, AttrValue> = attrs.iter().map(|(n, v)| ((*n).to_string(), v.clone())).collect();
        Ok(ops::apply(&mut self.b, def, &OpCall { args, attrs, dtype: None })?)
    }

    /// An op of relax.
    pub(crate) fn emit(&mut self, op: Op, args: &[ValueId]) -> Outcome<ValueId> {
        Ok(self.b.emit(op, args)?)
    }

    /// `op(x)`.
    pub(crate) fn unary(&mut self, op: UnaryOp, x: ValueId) -> Outcome<ValueId> {
        Ok(self.b.element(ElementOp::Unary(op), &[x])?)
    }

    /// `op(a, b)`.
    pub(crate) fn binary(&mut self, op: BinaryOp, a: ValueId, b: ValueId) -> Outcome<ValueId> {
        Ok(self.b.element(ElementOp::Binary(op), &[a, b])?)
    }

    /// `op(a, b)`, the number of the dtype of `a`.
    pub(crate) fn with(&mut self, op: BinaryOp, a: ValueId, b: i64) -> Outcome<ValueId> {
        let b = self.int(self.dtype(a), b);
        self.binary(op, a, b)
    }

    /// `a op b` as bools.
    pub(crate) fn compare(&mut self, op: CmpOp, a: ValueId, b: ValueId) -> Outcome<ValueId> {
        Ok(self.b.element(ElementOp::Compare(op), &[a, b])?)
    }

    /// `condition ? a : b`.
    pub(crate) fn select(&mut self, condition: ValueId, a: ValueId, b: ValueId) -> Outcome<ValueId> {
        Ok(self.b.element(ElementOp::Select, &[condition, a, b])?)
    }

    /// `x as dtype`.
    pub(crate) fn cast(&mut self, x: ValueId, dtype: DType) -> Outcome<ValueId> {
        if self.dtype(x) == dtype { Ok(x) } else { Ok(self.b.element(ElementOp::Cast(dtype), &[x])?) }
    }

    /// Type of an element.
    pub(crate) fn dtype(&self, x: ValueId) -> DType {
        self.b.tensor(x).dtype
    }

    /// Extents, all of which are numbers.
    pub(crate) fn shape(&self, x: ValueId) -> Vec<i64> {
        self.b.tensor(x).shape.iter().map(|d| d.as_const().unwrap_or(0)).collect()
    }

    /// A literal.
    pub(crate) fn int(&mut self, dtype: DType, value: i64) -> ValueId {
        self.b.scalar(Scalar::int(dtype, i128::from(value)))
    }

    /// A literal.
    pub(crate) fn float(&mut self, value: f32) -> ValueId {
        self.b.scalar(Scalar::float(DType::F32, f64::from(value)))
    }

    /// Another shape.
    pub(crate) fn reshape(&mut self, x: ValueId, shape: &[i64]) -> Outcome<ValueId> {
        let (own, count) = (self.shape(x), shape.iter().try_fold(1i64, |n, d| n.checked_mul(*d)));
        if own == shape {
            return Ok(x);
        }
        if count != Some(own.iter().product()) || shape.iter().any(|d| *d < 0) {
            return fault(format!("elements of the extents {own:?} cannot have the extents {shape:?}"));
        }
        self.emit(Op::Reshape { shape: exprs(shape) }, &[x])
    }

    /// Axes permuted.
    pub(crate) fn transpose(&mut self, x: ValueId, perm: &[usize]) -> Outcome<ValueId> {
        self.emit(Op::Transpose { perm: perm.to_vec() }, &[x])
    }

    /// A reduction over axes, which are sorted.
    pub(crate) fn reduce(&mut self, op: ReduceOp, x: ValueId, axes: &[usize], keepdims: bool) -> Outcome<ValueId> {
        self.emit(Op::Reduce { op, axes: axes.to_vec(), keepdims }, &[x])
    }

    /// Elements around a tensor.
    pub(crate) fn pad(&mut self, x: ValueId, before: &[i64], after: &[i64], filler: ValueId) -> Outcome<ValueId> {
        if before.iter().chain(after).all(|n| *n == 0) {
            return Ok(x);
        }
        let (before, after) = (exprs(before), exprs(after));
        self.emit(Op::Pad { mode: PadMode::Constant, before, after }, &[x, filler])
    }

    /// `(begin, extent, step)` of each axis; those in `drop` are left out of the shape.
    pub(crate) fn slice(&mut self, x: ValueId, axes: &[(i64, i64, i64)], drop: Vec<usize>) -> Outcome<ValueId> {
        let axis = |(begin, extent, step): &(i64, i64, i64)| SliceAxis {
            begin: IntExpr::from(*begin),
            extent: IntExpr::from(*extent),
            step: *step,
        };
        self.emit(Op::Slice { axes: axes.iter().map(axis).collect(), drop }, &[x])
    }

    /// Integers of 32 bits as a vector; one, or equal ones, as a literal.
    pub(crate) fn vector(&mut self, values: &[i32]) -> ValueId {
        match values.first() {
            Some(first) if values.iter().all(|value| value == first) => self.int(DType::I32, i64::from(*first)),
            _ => self.i32s(&[values.len() as i64], values),
        }
    }

    /// The same of 64 bits.
    fn long_vector(&mut self, values: &[i64]) -> ValueId {
        match values.first() {
            Some(first) if values.iter().all(|value| value == first) => self.int(DType::I64, *first),
            _ => {
                let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                self.computed(DType::I64, &[values.len() as i64], bytes)
            }
        }
    }

    /// Integers of 32 bits as a constant.
    pub(crate) fn i32s(&mut self, shape: &[i64], values: &[i32]) -> ValueId {
        self.computed(DType::I32, shape, values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    /// The integer of a table for each of 8 bits, which a function gives of integers with a sign.
    pub(crate) fn table(&mut self, x: ValueId, dtype: DType, of: impl Fn(i32) -> Scalar) -> Outcome<ValueId> {
        let bytes = (0..=u8::MAX).flat_map(|code| of(i32::from(code as i8)).to_le_bytes().to_vec()).collect();
        let table = self.computed(dtype, &[256], bytes);
        let codes = self.cast(x, DType::U8)?;
        self.op("take", &[table, codes], &[("axis", AttrValue::Int(IntExpr::from(0)))])
    }

    /// A table of integers of 8 bits.
    pub(crate) fn table8(&mut self, x: ValueId, of: impl Fn(i32) -> i32) -> Outcome<ValueId> {
        self.table(x, DType::I8, |q| Scalar::int(DType::I8, i128::from(of(q).clamp(-128, 127))))
    }

    /// Integers of 32 bits, none further from 0 than `reach`, times a factor, or one per element of the last axis.
    pub(crate) fn times(&mut self, x: ValueId, reach: i64, by: &[Multiplier]) -> Outcome<ValueId> {
        let mut x = x;
        let left: Vec<i32> = by.iter().map(|m| m.shift.max(0)).collect();
        if left.iter().any(|n| *n > 0) {
            let places = self.vector(&left);
            x = self.binary(BinaryOp::Shl, x, places)?;
        }
        let fractions: Vec<i32> = by.iter().map(|m| m.fraction).collect();
        let fraction = self.vector(&fractions);
        let most = left.iter().max().map_or(0, |n| reach.saturating_mul(1 << n));
        let high = self.doubled_high(x, fraction, most)?;
        let right: Vec<i32> = by.iter().map(|m| (-m.shift).max(0)).collect();
        self.divided((high, most), x, &right)
    }

    /// The same rounded once, with halves up.
    pub(crate) fn times_once(&mut self, x: ValueId, by: &[Multiplier]) -> Outcome<ValueId> {
        let fractions: Vec<i32> = by.iter().map(|m| m.fraction).collect();
        let places: Vec<i64> = by.iter().map(|m| i64::from(31 - m.shift)).collect();
        let halves: Vec<i64> = places.iter().map(|n| 1 << (n - 1)).collect();
        let fraction = self.vector(&fractions);
        let (x, fraction) = (self.cast(x, DType::I64)?, self.cast(fraction, DType::I64)?);
        let product = self.binary(BinaryOp::Mul, x, fraction)?;
        let (halves, places) = (self.long_vector(&halves), self.long_vector(&places));
        let moved = self.binary(BinaryOp::Add, product, halves)?;
        let y = self.binary(BinaryOp::Shr, moved, places)?;
        self.cast(y, DType::I32)
    }

    /// The high half of twice a product, halves up. Where there is room, one factor is doubled, so that the half is a
    /// word of the product: processors have an instruction for that.
    pub(crate) fn doubled_high(&mut self, a: ValueId, b: ValueId, reach: i64) -> Outcome<ValueId> {
        let has_room = reach < 1 << 30;
        let a = if has_room { self.with(BinaryOp::Shl, a, 1)? } else { a };
        let places = if has_room { 32 } else { 31 };
        let (a, b) = (self.cast(a, DType::I64)?, self.cast(b, DType::I64)?);
        let product = self.binary(BinaryOp::Mul, a, b)?;
        let moved = self.with(BinaryOp::Add, product, 1 << (places - 1))?;
        let high = self.with(BinaryOp::Shr, moved, places)?;
        self.cast(high, DType::I32)
    }

    /// `x / 2^places`, halves away from zero; one number of places or one per element of the last axis. None of x is
    /// further from 0 than `reach`. `like` is below 0 where x is, or x is 0: kernels compute it again for less than what
    /// keeping x takes, and of 0 as of -1 less than half is left.
    fn divided(&mut self, (x, reach): (ValueId, i64), like: ValueId, places: &[i32]) -> Outcome<ValueId> {
        let halves: Vec<i32> = places.iter().map(|n| if *n == 0 { 0 } else { 1 << (n - 1) }).collect();
        let most = halves.iter().max().copied().unwrap_or(0);
        if most == 0 {
            return Ok(x);
        }
        if reach + i64::from(most) > i64::from(i32::MAX) {
            let places = self.vector(places);
            return self.divided_by(x, places);
        }
        let mut below = self.with(BinaryOp::Shr, like, 31)?;
        if places.contains(&0) {
            let masks: Vec<i32> = places.iter().map(|n| if *n == 0 { 0 } else { -1 }).collect();
            let mask = self.vector(&masks);
            below = self.binary(BinaryOp::And, below, mask)?;
        }
        let moved = self.binary(BinaryOp::Add, x, below)?;
        let halves = self.vector(&halves);
        let moved = self.binary(BinaryOp::Add, moved, halves)?;
        let places = self.vector(places);
        self.binary(BinaryOp::Shr, moved, places)
    }

    /// The same of any integers of 32 bits, by as many places as a value says.
    pub(crate) fn divided_by(&mut self, x: ValueId, places: ValueId) -> Outcome<ValueId> {
        let one = self.int(DType::I32, 1);
        let unit = self.binary(BinaryOp::Shl, one, places)?;
        let mask = self.with(BinaryOp::Sub, unit, 1)?;
        let rest = self.binary(BinaryOp::And, x, mask)?;
        let half = self.with(BinaryOp::Shr, mask, 1)?;
        let below = self.with(BinaryOp::Shr, x, 31)?;
        // of a negative number half is not enough
        let least = self.binary(BinaryOp::Sub, half, below)?;
        let is_up = self.compare(CmpOp::Gt, rest, least)?;
        let up = self.cast(is_up, DType::I32)?;
        let whole = self.binary(BinaryOp::Shr, x, places)?;
        self.binary(BinaryOp::Add, whole, up)
    }

    /// How many of these powers of two a number of 32 bits is not below.
    pub(crate) fn powers_below(&mut self, x: ValueId, powers: impl Iterator<Item = i32>) -> Outcome<ValueId> {
        let mut count = self.int(DType::I32, 0);
        for power in powers {
            let bound = self.int(DType::I32, 1 << power);
            let is_above = self.compare(CmpOp::Ge, x, bound)?;
            let above = self.cast(is_above, DType::I32)?;
            count = self.binary(BinaryOp::Add, count, above)?;
        }
        Ok(count)
    }

    /// `x · 2^places`, saturating.
    pub(crate) fn raised(&mut self, x: ValueId, places: u32) -> Outcome<ValueId> {
        let x = self.with(BinaryOp::Max, x, i64::from(i32::MIN >> places))?;
        let most = self.int(DType::I32, i64::from(i32::MAX >> places));
        let is_above = self.compare(CmpOp::Gt, x, most)?;
        let moved = self.with(BinaryOp::Shl, x, i64::from(places))?;
        let greatest = self.int(DType::I32, i64::from(i32::MAX));
        self.select(is_above, greatest, moved)
    }

    /// `x - zero` of integers of 8 bits, in 32.
    pub(crate) fn centred(&mut self, x: ValueId, of: Quant) -> Outcome<ValueId> {
        let wide = self.cast(x, DType::I32)?;
        if of.zero == 0 { Ok(wide) } else { self.with(BinaryOp::Sub, wide, i64::from(of.zero)) }
    }

    /// `x + zero`, clamped, in 8 bits.
    pub(crate) fn quantised(&mut self, x: ValueId, of: Quant, (low, high): (i32, i32)) -> Outcome<ValueId> {
        let moved = if of.zero == 0 { x } else { self.with(BinaryOp::Add, x, i64::from(of.zero))? };
        let moved = self.with(BinaryOp::Max, moved, i64::from(low))?;
        let moved = self.with(BinaryOp::Min, moved, i64::from(high))?;
        self.cast(moved, DType::I8)
    }
}
