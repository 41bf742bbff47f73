//! What is chosen by its value: how much it is depends on data. Each gives tensors that hold the most there can be, 0
//! behind what was found, and as its last result how much was found.

use super::call::{axis_attr, bool_attr, int_attr, tensor};
use super::check::{computed, rank};
use super::error::OpError;
use super::kernel::{Buf, Cell, Ex, Kernel};
use super::order::{Run, before, sorted_by, with_axis, without};
use super::{AttrDef, OpCall, OpDef};
use crate::DType;
use crate::arith::IntExpr;
use crate::op::BinaryOp;
use crate::relax::{Builder, Op, TensorType, Type, ValueId, dim};

/// What a kernel gives, of whose last result it is known that it counts up to `most`.
pub(super) fn counted(b: &mut Builder, made: ValueId, most: &IntExpr) -> Result<ValueId, OpError> {
    let Type::Tuple(items) = b.ty(made) else { return Ok(made) };
    let all = 0..items.len();
    let parts = all.map(|i| b.emit(Op::TupleGet(i), &[made])).collect::<Result<Vec<_>, _>>()?;
    if let Some(count) = parts.last() {
        b.set_range(*count, dim::int(0), most + &dim::int(1));
    }
    b.emit(Op::Tuple, &parts)
}

/// The first operand from `i` on that an axis is named of: with its axis, or flattened and the only one.
fn along(b: &mut Builder, call: &OpCall, i: usize) -> Result<(ValueId, TensorType, usize), OpError> {
    let (x, ty) = tensor(b, call, i)?;
    if int_attr(call, "axis")?.is_some() {
        let axis = axis_attr(call, &ty, 0)?;
        return Ok((x, ty, axis));
    }
    let flat = super::compose::reshape(b, x, &[dim::product(&ty.shape)])?;
    let ty = b.tensor(flat).clone();
    Ok((flat, ty, 0))
}

fn scalar_count() -> TensorType {
    TensorType { dtype: DType::I64, shape: Vec::new() }
}

/// The places of elements other than 0.
fn nonzero(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    computed(0, &ty)?;
    let (axes, total) = (ty.shape.len(), dim::product(&ty.shape));
    let k = Kernel::new(b, "nonzero");
    let from = k.input(b, x);
    let places = k.output(TensorType { dtype: DType::I64, shape: vec![dim::int(axes as i64), total.clone()] });
    let count = k.output(scalar_count());
    k.each("clear", places, |_| places.zero());
    k.once("nonzero", || {
        let found = k.cell("found", k.int(0));
        let extents: Vec<Ex<'_>> = (0..axes).map(|axis| from.dim(axis)).collect();
        k.for_all("i", &extents, |i| {
            let value = from.at(i);
            let holds = if ty.dtype.is_bool() { value } else { value.differs(0) };
            let at = found.get();
            k.if_(holds.and(at.ge(0)).and(at.lt(k.dim(&total))), || {
                for (axis, index) in i.iter().enumerate() {
                    places.put(&[k.int(axis as i64), at], index.cast(DType::I64));
                }
                found.set(at + 1);
            });
        });
        count.put(&[], found.get().cast(DType::I64));
    });
    let made = k.finish(b)?;
    counted(b, made, &total)
}

/// Whether part `a` along an axis surely stands before part `b`: the first elements that differ say.
fn part_before<'k>(k: &'k Kernel, from: Buf<'k>, axis: usize, (a, b): (Ex<'k>, Ex<'k>)) -> Ex<'k> {
    let [a, b] = [a, b].map(|part| k.clamped(part.index().bound("part"), from.dim(axis)));
    let verdict = k.cell("verdict", k.int(0));
    let outer: Vec<Ex<'k>> = without(&from.shape(), axis).iter().map(|extent| k.dim(extent)).collect();
    k.for_all("p", &outer, |i| {
        let (x, y) = (from.at(&with_axis(i, axis, a)), from.at(&with_axis(i, axis, b)));
        k.if_(verdict.now().equals(0), || {
            k.if_(before(x, y, false), || verdict.set(1));
            k.if_(before(y, x, false), || verdict.set(2));
        });
    });
    verdict.now().equals(1)
}

/// Parts of a tensor along an axis, of which equal ones are a group.
struct Groups<'k> {
    /// The group of each part, those with smaller parts first.
    of: Buf<'k>,
    /// The first part of each group.
    first: Buf<'k>,
    n: Ex<'k>,
}

impl<'k> Groups<'k> {
    /// Sorts the parts; there is one at least. `found` becomes the number of groups.
    fn new(k: &'k Kernel, from: Buf<'k>, axis: usize, found: Cell<'k>) -> Self {
        let extent = &from.shape()[axis];
        let n = k.dim(extent);
        let flat = from.shape().len() == 1;
        let less = |a: Ex<'k>, b: Ex<'k>| if flat { before(a, b, false) } else { part_before(k, from, axis, (a, b)) };
        let dtype = if flat { from.dtype() } else { DType::I64 };
        let run = sorted_by(k, extent, dtype, |t| if flat { from.at(&[t]) } else { t.cast(DType::I64) }, &less);
        let list = std::slice::from_ref(extent);
        let groups = Groups { of: k.temp("group", DType::I64, list), first: k.temp("first", DType::I64, list), n };
        k.for_("t", n, |t| groups.join(k, run, t, found, &less));
        groups
    }

    /// Part `t` of those in order begins a group if it differs from the one before it.
    fn join(&self, k: &'k Kernel, run: Run<'k>, t: Ex<'k>, found: Cell<'k>, less: super::order::Less<'_, 'k>) {
        let place = run.place.at(&[t]).bound("place");
        let differs = less(run.value.at(&[k.clamped(t - 1, self.n)]), run.value.at(&[t]));
        k.if_(t.equals(0).or(differs), || {
            self.first.put(&[k.clamped(found.now(), self.n)], place);
            found.set(found.now() + 1);
        });
        self.of.put(&[k.clamped(place.index(), self.n)], (found.now() - 1).cast(DType::I64));
    }

    /// Numbers the groups anew, in the order in which their first parts stand.
    fn renumber(&self, k: &'k Kernel, extent: &IntExpr) {
        let number = k.temp("number", DType::I64, std::slice::from_ref(extent));
        let next = k.cell("next", k.int(0));
        k.for_("t", self.n, |t| {
            let group = k.clamped(self.of.at(&[t]).index().bound("group"), self.n);
            k.if_(self.first.at(&[group]).index().equals(t), || {
                number.put(&[group], next.now().cast(DType::I64));
                next.set(next.now() + 1);
            });
            self.of.put(&[t], number.at(&[group]));
        });
        k.for_("t", self.n, |t| {
            let last = self.n - 1 - t;
            self.first.put(&[k.clamped(self.of.at(&[last]).index().bound("group"), self.n)], last.cast(DType::I64));
        });
    }
}

/// Lists that `unique` gives beside the parts themselves.
const LISTS: [&str; 3] = ["return_index", "return_inverse", "return_counts"];

fn unique(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty, axis) = along(b, call, 0)?;
    computed(0, &ty)?;
    let ascending = bool_attr(call, "sorted", true)?;
    let extent = &ty.shape[axis];
    let k = Kernel::new(b, "unique");
    let from = k.input(b, x);
    let out = k.output(ty.clone());
    let list = || TensorType { dtype: DType::I64, shape: vec![extent.clone()] };
    let mut lists = [None; 3];
    for (slot, name) in lists.iter_mut().zip(LISTS) {
        *slot = bool_attr(call, name, false)?.then(|| k.output(list()));
    }
    let count = k.output(scalar_count());
    for buf in std::iter::once(out).chain(lists.into_iter().flatten()) {
        k.each("clear", buf, |_| buf.zero());
    }
    k.once("unique", || {
        let found = k.cell("found", k.int(0));
        k.if_(from.dim(axis).ge(1), || {
            let groups = Groups::new(&k, from, axis, found);
            if !ascending {
                groups.renumber(&k, extent);
            }
            k.for_("t", groups.n, |t| told(&k, (from, out, axis), lists, &groups, t));
        });
        count.put(&[], found.get().cast(DType::I64));
    });
    let made = k.finish(b)?;
    counted(b, made, extent)
}

/// What part `t` says of its group.
fn told<'k>(
    k: &'k Kernel,
    (from, out, axis): (Buf<'k>, Buf<'k>, usize),
    [index, inverse, counts]: [Option<Buf<'k>>; 3],
    groups: &Groups<'k>,
    t: Ex<'k>,
) {
    let group = k.clamped(groups.of.at(&[t]).index().bound("group"), groups.n);
    if let Some(inverse) = inverse {
        inverse.put(&[t], group.cast(DType::I64));
    }
    if let Some(counts) = counts {
        counts.put(&[group], counts.at(&[group]) + 1);
    }
    k.if_(groups.first.at(&[group]).index().equals(t), || {
        if let Some(index) = index {
            index.put(&[group], t.cast(DType::I64));
        }
        let outer: Vec<Ex<'k>> = without(&from.shape(), axis).iter().map(|extent| k.dim(extent)).collect();
        k.for_all("i", &outer, |i| out.put(&with_axis(i, axis, group), from.at(&with_axis(i, axis, t))));
    });
}

/// The parts along an axis for which a condition holds, moved to the front; what follows is 0.
fn compress(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (cond, flags) = tensor(b, call, 0)?;
    if !flags.dtype.is_bool() {
        return Err(super::check::dtype_error(0, "bools", &flags).help("compare first: `x != 0`"));
    }
    rank(0, &flags, 1)?;
    let (x, ty, axis) = along(b, call, 1)?;
    let k = Kernel::new(b, "compress");
    let (from, holds) = (k.input(b, x), k.input(b, cond));
    let out = k.output(ty.clone());
    let count = k.output(scalar_count());
    k.each("clear", out, |_| out.zero());
    k.once("compress", || {
        let found = k.cell("found", k.int(0));
        k.for_("t", from.dim(axis).binary(BinaryOp::Min, holds.dim(0)), |t| {
            let to = found.get();
            k.if_(holds.at(&[t]).and(to.ge(0)).and(to.lt(from.dim(axis))), || {
                let outer: Vec<Ex<'_>> = without(&ty.shape, axis).iter().map(|extent| k.dim(extent)).collect();
                k.for_all("i", &outer, |i| out.put(&with_axis(i, axis, to), from.at(&with_axis(i, axis, t))));
                found.set(to + 1);
            });
        });
        count.put(&[], found.get().cast(DType::I64));
    });
    let made = k.finish(b)?;
    counted(b, made, &ty.shape[axis])
}

const fn list(name: &'static str, doc: &'static str) -> AttrDef {
    AttrDef { name, ty: "bool = false", doc }
}

pub(super) static TABLE: &[OpDef] = &[
    graph!(
        "nonzero",
        "NonZero",
        "x",
        1,
        &[],
        nonzero,
        "Indices of the elements other than 0, [rank, elements], and how many there are; behind them stands 0."
    ),
    graph!(
        "unique",
        "Unique",
        "x",
        1,
        &[
            AttrDef { name: "axis", ty: "int = flattened", doc: "the axis whose parts are compared" },
            AttrDef { name: "sorted", ty: "bool = true", doc: "in ascending order, else as they first stand" },
            list("return_index", "also where each stands first"),
            list("return_inverse", "also which of them each element (or part) of x is"),
            list("return_counts", "also how often each stands"),
        ],
        unique,
        "The different elements, or parts along an axis, the lists asked for, as i64, and how many there are; behind them stands 0. NaN equals NaN."
    ),
    graph!(
        "compress",
        "Compress",
        "condition, x",
        2,
        &[AttrDef { name: "axis", ty: "int = flattened", doc: "the axis that `condition` goes along" }],
        compress,
        "The parts of x for which a vector of bools holds, moved to the front, and how many there are; behind them stands 0."
    ),
];
