//! Sorting and searching. NaN is greater than every number, and equals keep their order.

use super::call::{axis_attr, bool_attr, index_attr, missing, tensor};
use super::check::{computed, floats, numbers, rank, same_dtype};
use super::entry::AXIS;
use super::error::{At, OpError, OpErrorKind, show_tensor};
use super::kernel::{Buf, Cell, Ex, Kernel};
use super::{Arg, AttrDef, AttrValue, OpCall, OpDef};
use crate::DType;
use crate::arith::IntExpr;
use crate::op::ArgOp;
use crate::relax::{Builder, Op, TensorType, ValueId, dim};

/// The greatest `k` for which the elements kept are searched from the end; more are sorted.
const FEW: i64 = 32;

/// Elements of a run that one search says something about: some vectors of them.
const RUN: i64 = 32;
// Behind the first run all that are kept are there.
const _: () = assert!(RUN >= FEW);

/// Whether `a` surely stands before `b` in ascending or descending order.
pub(super) fn before<'k>(a: Ex<'k>, b: Ex<'k>, descending: bool) -> Ex<'k> {
    let (small, great) = if descending { (b, a) } else { (a, b) };
    match a.dtype() {
        Some(dtype) if dtype.is_float() => small.lt(great).or(great.is_nan().and(small.is_nan().not())),
        Some(DType::Bool) => small.not().and(great),
        Some(_) | None => small.lt(great),
    }
}

/// Values and their places.
#[derive(Clone, Copy)]
pub(super) struct Run<'k> {
    pub(super) value: Buf<'k>,
    pub(super) place: Buf<'k>,
}

impl<'k> Run<'k> {
    fn new(k: &'k Kernel, dtype: DType, n: &IntExpr) -> Self {
        let n = std::slice::from_ref(n);
        Run { value: k.temp("value", dtype, n), place: k.temp("place", DType::I64, n) }
    }

    fn copy(self, to: Ex<'k>, from: Run<'k>, at: Ex<'k>) {
        self.value.put(&[to], from.value.at(&[at]));
        self.place.put(&[to], from.place.at(&[at]));
    }
}

/// The elements that `key` gives, in ascending or descending order. There is one element at least.
fn sorted<'k>(k: &'k Kernel, n: &IntExpr, dtype: DType, descending: bool, key: impl Fn(Ex<'k>) -> Ex<'k>) -> Run<'k> {
    sorted_by(k, n, dtype, key, &|a, b| before(a, b, descending))
}

/// Whether the first of two keys surely stands before the second; it may push statements that find it out.
pub(super) type Less<'l, 'k> = &'l dyn Fn(Ex<'k>, Ex<'k>) -> Ex<'k>;

/// The keys in the order that `less` says, by merging runs from the bottom up. There is one at least.
pub(super) fn sorted_by<'k>(
    k: &'k Kernel,
    n: &IntExpr,
    dtype: DType,
    key: impl Fn(Ex<'k>) -> Ex<'k>,
    less: Less<'_, 'k>,
) -> Run<'k> {
    let (a, b) = (Run::new(k, dtype, n), Run::new(k, dtype, n));
    let n = k.dim(n);
    k.for_("t", n, |t| {
        a.value.put(&[t], key(t));
        a.place.put(&[t], t.cast(DType::I64));
    });
    let width = k.cell("width", k.int(1));
    k.while_(width.now().lt(n), || {
        merge(k, (a, b), n, width.now(), less);
        merge(k, (b, a), n, width.now() * 2, less);
        width.set(width.now() * 4);
    });
    a
}

/// Merges neighbouring runs of `width` elements. Ends of runs and the choice are variables, of which a proof need know
/// nothing: every index is clamped.
fn merge<'k>(k: &'k Kernel, (from, to): (Run<'k>, Run<'k>), n: Ex<'k>, width: Ex<'k>, less: Less<'_, 'k>) {
    let start = k.cell("start", k.int(0));
    k.while_(start.now().lt(n), || {
        let low = start.now();
        let (middle, high) = (k.cell("middle", (low + width).min(n)), k.cell("high", (low + width * 2).min(n)));
        let (left, right) = (k.cell("left", low), k.cell("right", middle.now()));
        k.for_in("t", low, high.now(), |t| {
            let (i, j) = (left.now(), right.now());
            let (at, other) = (k.clamped(i, n), k.clamped(j, n));
            let smaller = less(from.value.at(&[other]), from.value.at(&[at]));
            let first = k.cell("first", i.lt(middle.now()).and(j.ge(high.now()).or(smaller.not())));
            let t = k.clamped(t, n);
            let advance = |cell: Cell<'k>, at: Ex<'k>| {
                to.copy(t, from, at);
                cell.set(cell.now() + 1);
            };
            k.if_else(first.now(), || advance(left, at), || advance(right, other));
        });
        start.set(low + width * 2);
    });
}

/// An index with one more axis.
pub(super) fn with_axis<'k>(outer: &[Ex<'k>], axis: usize, at: Ex<'k>) -> Vec<Ex<'k>> {
    [&outer[..axis], &[at], &outer[axis..]].concat()
}

pub(super) fn without(shape: &[IntExpr], axis: usize) -> Vec<IntExpr> {
    [&shape[..axis], &shape[axis + 1..]].concat()
}

fn sort(b: &mut Builder, call: &OpCall, places: bool) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    computed(0, &ty)?;
    let axis = axis_attr(call, &ty, -1)?;
    let descending = bool_attr(call, "descending", false)?;
    let k = Kernel::new(b, if places { "argsort" } else { "sort" });
    let from = k.input(b, x);
    let dtype = if places { DType::I64 } else { ty.dtype };
    let out = k.output(TensorType { dtype, shape: ty.shape.clone() });
    let n = from.dim(axis);
    k.block("sort", &without(&ty.shape, axis), |outer| {
        k.if_(n.ge(1), || {
            let run = sorted(&k, &ty.shape[axis], ty.dtype, descending, |t| from.at(&with_axis(outer, axis, t)));
            let all = if places { run.place } else { run.value };
            k.for_("t", n, |t| out.put(&with_axis(outer, axis, t), all.at(&[t])));
        });
    });
    let value = k.finish(b)?;
    if places {
        b.set_range(value, dim::int(0), ty.shape[axis].clone());
    }
    Ok(value)
}

/// The middle of the elements in order, of an even number the mean of the two.
fn median(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (mut x, mut ty) = tensor(b, call, 0)?;
    floats(0, &ty)?;
    let rank = ty.shape.len();
    let keepdims = bool_attr(call, "keepdims", false)?;
    let axis = super::call::int_attr(call, "axis")?.map(|_| axis_attr(call, &ty, 0)).transpose()?;
    let axis = axis.unwrap_or_else(|| {
        ty.shape = vec![dim::product(&ty.shape)];
        0
    });
    x = super::compose::reshape(b, x, &ty.shape)?;
    let wide = super::compose::working(ty.dtype);
    let k = Kernel::new(b, "median");
    let from = k.input(b, x);
    let shape = without(&ty.shape, axis);
    let out = k.output(TensorType { dtype: ty.dtype, shape: shape.clone() });
    let n = from.dim(axis);
    k.block("median", &shape, |outer| {
        let value = k.cell("median", k.lit(wide, f64::NAN));
        k.if_(n.ge(1), || {
            let run = sorted(&k, &ty.shape[axis], ty.dtype, false, |t| from.at(&with_axis(outer, axis, t)));
            // NaN is the last
            let [low, high, last] =
                [(n - 1) / 2, n / 2, n - 1].map(|place| run.value.at(&[k.clamped(place, n)]).cast(wide));
            let middle = n.modulo(2).equals(1).choose(high, low * 0.5 + high * 0.5);
            value.set(last.is_nan().choose(last, middle));
        });
        out.put(outer, value.now().cast(ty.dtype));
    });
    let y = k.finish(b)?;
    if !keepdims {
        return Ok(y);
    }
    let kept = if rank == shape.len() + 1 {
        [&shape[..axis], &[dim::int(1)], &shape[axis..]].concat()
    } else {
        vec![dim::int(1); rank]
    };
    super::compose::reshape(b, y, &kept)
}

fn top_k(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    numbers(0, &ty)?;
    let axis = axis_attr(call, &ty, -1)?;
    let largest = bool_attr(call, "largest", true)?;
    let count = index_attr(call, "k")?.ok_or_else(|| missing("k", "5"))?;
    let inside = dim::at_most(&b.prover, &dim::int(0), &count) && dim::at_most(&b.prover, &count, &ty.shape[axis]);
    if !inside {
        let (extent, shown) = (&ty.shape[axis], show_tensor(&ty));
        let message = format!("`k = {count}` is not proven to lie in 0..={extent}, axis {axis} of `{shown}`");
        return Err(OpError::new(At::Attr("k".into()), OpErrorKind::Range, message)
            .help(format!("state a fact: `dims({extent} >= {count})`")));
    }
    if dim::as_int(&count) == Some(1) && (largest || !ty.dtype.is_float()) {
        return best(b, x, axis, largest);
    }
    let mut shape = ty.shape.clone();
    shape[axis] = count.clone();
    let k = Kernel::new(b, "top_k");
    let from = k.input(b, x);
    let value = k.output(TensorType { dtype: ty.dtype, shape: shape.clone() });
    let out = Run { value, place: k.output(TensorType { dtype: DType::I64, shape }) };
    k.block("top_k", &without(&ty.shape, axis), |outer| match dim::as_int(&count) {
        Some(n) if n <= FEW => keep_best(&k, (from, out), (outer, axis), n, largest),
        Some(_) | None => k.if_(from.dim(axis).ge(1), || {
            let run = sorted(&k, &ty.shape[axis], ty.dtype, largest, |t| from.at(&with_axis(outer, axis, t)));
            k.for_("t", k.dim(&count), |t| {
                let to = with_axis(outer, axis, t);
                out.value.put(&to, run.value.at(&[t]));
                out.place.put(&to, run.place.at(&[t]));
            });
        }),
    });
    k.finish(b)
}

/// The one best element: a search that runs in vectors. Of the smallest floats NaN is the last, and of `argmin` the first.
fn best(b: &mut Builder, x: ValueId, axis: usize, largest: bool) -> Result<ValueId, OpError> {
    let op = if largest { ArgOp::ArgMax } else { ArgOp::ArgMin };
    let place = b.emit(Op::ArgReduce { op, axis: Some(axis), keepdims: true }, &[x])?;
    let attrs = [("axis".to_string(), AttrValue::Int(dim::int(axis as i64)))].into();
    let call = OpCall { args: vec![Arg::Value(x), Arg::Value(place)], attrs, dtype: None };
    let value = super::gather::take_along_axis(b, &call)?;
    b.emit(Op::Tuple, &[value, place])
}

/// The `count` best elements, kept in order while all are seen; a new one moves those behind it. Few of many are better than
/// the last that is kept, which a search in vectors says of a run of them.
fn keep_best<'k>(
    k: &'k Kernel,
    (from, out): (Buf<'k>, Run<'k>),
    (outer, axis): (&[Ex<'k>], usize),
    count: i64,
    largest: bool,
) {
    if count == 0 {
        return;
    }
    let n = from.dim(axis);
    let element = |t: Ex<'k>| from.at(&with_axis(outer, axis, t));
    let slot = |s: Ex<'k>| with_axis(outer, axis, k.clamped(s, k.int(count)));
    k.for_("run", (n + (RUN - 1)).euclid(RUN), |run| {
        let begin = run * RUN;
        let end = (begin + RUN).min(n);
        // In the first run places are free. A sum of words is a loop that LLVM makes vectors of, and `or` is none.
        let better = k.cell("better", run.equals(0).cast(DType::I32));
        k.if_(run.ge(1), || {
            let last = out.value.at(&slot(k.int(count - 1))).bound("last");
            k.for_in("t", begin, end, |t| {
                let one = before(element(t).bound("new"), last, largest).cast(DType::I32);
                better.set(better.now() + one);
            });
        });
        k.if_(better.now().differs(0), || {
            k.for_in("t", begin, end, |t| keep(k, (element(t).bound("new"), t), out, &slot, (count, largest)));
        });
    });
}

/// Element `t` at its place among the best so far, if it is one of them.
fn keep<'k>(
    k: &'k Kernel,
    (new, t): (Ex<'k>, Ex<'k>),
    out: Run<'k>,
    slot: &impl Fn(Ex<'k>) -> Vec<Ex<'k>>,
    (count, largest): (i64, bool),
) {
    let free = k.cell("free", t.min(count));
    let worse = before(new, out.value.at(&slot(free.now() - 1)), largest);
    k.while_(free.now().gt(0).and(worse), || {
        let s = free.now();
        k.if_(s.lt(count), || {
            out.value.put(&slot(s), out.value.at(&slot(s - 1)));
            out.place.put(&slot(s), out.place.at(&slot(s - 1)));
        });
        free.set(s - 1);
    });
    let s = free.now();
    k.if_(s.lt(count), || {
        out.value.put(&slot(s), new);
        out.place.put(&slot(s), t.cast(DType::I64));
    });
}

/// Where values belong in a sorted vector, by halving.
fn searchsorted(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (sorted, ty) = tensor(b, call, 0)?;
    let (values, wanted) = tensor(b, call, 1)?;
    computed(0, &ty)?;
    rank(0, &ty, 1)?;
    same_dtype(1, &wanted, &ty)?;
    let right = super::call::word_attr(call, "side", &["left", "right"])? == 1;
    let k = Kernel::new(b, "searchsorted");
    let (table, of) = (k.input(b, sorted), k.input(b, values));
    let out = k.output(TensorType { dtype: DType::I64, shape: wanted.shape });
    let n = table.dim(0);
    k.block("searchsorted", &out.shape(), |i| {
        let value = of.at(i).bound("wanted");
        let (low, high) = (k.cell("low", k.int(0)), k.cell("high", n));
        k.if_(n.ge(1), || {
            k.while_(low.now().lt(high.now()), || {
                let (lo, hi) = (low.now(), high.now());
                let middle = k.cell("middle", lo + (hi - lo).euclid(2));
                let there = table.at(&[k.clamped(middle.now(), n)]);
                let passed = if right { before(value, there, false).not() } else { before(there, value, false) };
                k.if_else(passed, || low.set(middle.now() + 1), || high.set(middle.now()));
            });
        });
        out.put(i, low.get().cast(DType::I64));
    });
    let value = k.finish(b)?;
    b.set_range(value, dim::int(0), &ty.shape[0] + &dim::int(1));
    Ok(value)
}

/// How many values lie in each of equal parts of a range.
fn histogram(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    floats(0, &ty)?;
    let bins = super::call::int_attr(call, "bins")?.unwrap_or(10);
    let (low, high) =
        (super::call::float_attr(call, "min", 0.0)?.get(), super::call::float_attr(call, "max", 1.0)?.get());
    if bins < 1 || low.partial_cmp(&high) != Some(std::cmp::Ordering::Less) {
        return Err(super::check::attr_error("bins", "expected 1 or more bins, and `min` below `max`"));
    }
    let k = Kernel::new(b, "histogram");
    let from = k.input(b, x);
    let out = k.output(TensorType { dtype: DType::I64, shape: vec![dim::int(bins)] });
    k.each("clear", out, |_| out.zero());
    k.once("histogram", || {
        let extents: Vec<Ex<'_>> = (0..ty.shape.len()).map(|axis| from.dim(axis)).collect();
        k.for_all("i", &extents, |i| {
            let value = from.at(i);
            k.if_(value.ge(low).and(value.le(high)), || {
                let part = ((value - low) * (bins as f64 / (high - low))).cast(DType::I64).index();
                let at = [k.clamped(part, k.int(bins))];
                out.put(&at, out.at(&at) + 1);
            });
        });
    });
    k.finish(b)
}

const DESCENDING: AttrDef = AttrDef { name: "descending", ty: "bool = false", doc: "the greatest first" };

pub(super) static TABLE: &[OpDef] = &[
    graph!(
        "top_k",
        "TopK",
        "x",
        1,
        &[
            AttrDef { name: "k", ty: "int", doc: "how many" },
            AXIS,
            AttrDef { name: "largest", ty: "bool = true", doc: "the largest, else the smallest" }
        ],
        top_k,
        "The k largest elements along an axis in descending order, and their indices as i64; of equals the first, and NaN is the largest."
    ),
    graph!(
        "sort",
        "",
        "x",
        1,
        &[AXIS, DESCENDING],
        |b, call| sort(b, call, false),
        "Elements in ascending order along an axis; NaN last."
    ),
    graph!(
        "argsort",
        "",
        "x",
        1,
        &[AXIS, DESCENDING],
        |b, call| sort(b, call, true),
        "Indices that sort an axis, as i64; equals keep their order."
    ),
    graph!(
        "median",
        "",
        "x",
        1,
        &[
            AttrDef { name: "axis", ty: "int = flattened", doc: "the axis; negative counts from the end" },
            super::entry::KEEPDIMS,
        ],
        median,
        "The middle of the elements in order, of an even number the mean of the two; NaN if one is, and over nothing."
    ),
    graph!(
        "searchsorted",
        "",
        "sorted, values",
        2,
        &[AttrDef {
            name: "side",
            ty: "\"left\" | \"right\" = \"left\"",
            doc: "before or behind elements that are equal"
        }],
        searchsorted,
        "Where values belong in a vector in ascending order, as i64: how many of its elements are smaller."
    ),
    graph!(
        "histogram",
        "",
        "x",
        1,
        &[
            AttrDef { name: "bins", ty: "int = 10", doc: "number of parts" },
            AttrDef { name: "min", ty: "float = 0.0", doc: "where the first part begins" },
            AttrDef { name: "max", ty: "float = 1.0", doc: "where the last part ends, which belongs to it" },
        ],
        histogram,
        "How many elements lie in each of equal parts of a range, as i64; what lies outside is not counted."
    ),
];
