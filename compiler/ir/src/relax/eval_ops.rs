//! Ops on whole tensors of bounded scalars, each as its definition reads.

use super::{PadMode, PoolOp, Window};
use crate::eval::bounded::{binary, cast, exp_nonpositive, unary};
use crate::eval::value::{indices, unravel};
use crate::eval::{self, Bounded, Sum, Value};
use crate::op::{ArgOp, BinaryOp, ElementOp, ReduceOp, UnaryOp};
use crate::{DType, Scalar};

/// The dtype in which sums and products accumulate.
fn accumulator(dtype: DType) -> DType {
    if dtype.is_half() { DType::F32 } else { dtype }
}

/// A tensor of `shape` with `f` at each index.
fn tabulate(dtype: DType, shape: &[usize], f: impl FnMut(Vec<usize>) -> Bounded) -> Value {
    Value { dtype, shape: shape.to_vec(), data: indices(shape).map(f).collect() }
}

/// The element that broadcasting puts at `index`.
fn broadcast_at(x: &Value, index: &[usize]) -> Bounded {
    let skip = index.len() - x.shape.len();
    let at: Vec<usize> =
        x.shape.iter().zip(&index[skip..]).map(|(extent, i)| if *extent == 1 { 0 } else { *i }).collect();
    x.at(&at)
}

/// The shape that operands broadcast to.
fn broadcast_shape<'s>(shapes: impl Iterator<Item = &'s [usize]> + Clone) -> Vec<usize> {
    let rank = shapes.clone().map(<[usize]>::len).max().unwrap_or(0);
    let mut out = vec![1; rank];
    for shape in shapes {
        let skip = rank - shape.len();
        for (axis, extent) in shape.iter().enumerate().filter(|(_, extent)| **extent != 1) {
            out[skip + axis] = *extent;
        }
    }
    out
}

pub(super) fn element(op: ElementOp, args: &[&Value]) -> Value {
    let shape = broadcast_shape(args.iter().map(|arg| arg.shape.as_slice()));
    let at = |index: Vec<usize>| {
        let scalars: Vec<Bounded> = args.iter().map(|arg| broadcast_at(arg, &index)).collect();
        eval::element(op, &scalars)
    };
    let dtypes: Vec<DType> = args.iter().map(|arg| arg.dtype).collect();
    // A checked op has a dtype; of an unchecked one the first operand's will do.
    let dtype = super::element_dtype(op, &dtypes).unwrap_or(dtypes[0]);
    tabulate(dtype, &shape, at)
}

/// The sum or product in any order; not yet rounded to a half.
fn running(op: BinaryOp, terms: &[Bounded], dtype: DType) -> Bounded {
    let start = if op == BinaryOp::Mul { Scalar::one(dtype) } else { Scalar::zero(dtype) };
    let mut sum = Sum::new(op, Bounded::exact(start));
    terms.iter().for_each(|term| sum.add(*term));
    let certain = dtype.is_float() || terms.iter().all(|term| term.is_exact());
    if certain { sum.total() } else { sum.total().unknown() }
}

fn total(terms: &[Bounded], dtype: DType) -> Bounded {
    running(BinaryOp::Add, terms, dtype)
}

fn fold(op: BinaryOp, start: Scalar, terms: &[Bounded]) -> Bounded {
    terms.iter().fold(Bounded::exact(start), |acc, term| binary(op, acc, *term))
}

/// A reduction of scalars of one dtype.
pub(crate) fn reduce_all(op: ReduceOp, dtype: DType, terms: &[Bounded]) -> Bounded {
    let wide = accumulator(dtype);
    let widened = || terms.iter().map(|term| cast(wide, *term)).collect::<Vec<_>>();
    match op {
        ReduceOp::Sum => cast(dtype, total(&widened(), wide)),
        ReduceOp::Mean => {
            let count = Bounded::exact(Scalar::int(wide, terms.len() as i128));
            cast(dtype, binary(BinaryOp::Div, total(&widened(), wide), count))
        }
        ReduceOp::Prod => cast(dtype, running(BinaryOp::Mul, &widened(), wide)),
        ReduceOp::Max => fold(BinaryOp::Max, Scalar::least(dtype), terms),
        ReduceOp::Min => fold(BinaryOp::Min, Scalar::greatest(dtype), terms),
        ReduceOp::Any => any(terms, true),
        ReduceOp::All => any(terms, false),
    }
}

/// `any` looks for true, `all` for false: one certain hit decides whatever is in doubt beside it.
fn any(terms: &[Bounded], wanted: bool) -> Bounded {
    let hit = |term: &&Bounded| (term.value.bits != 0) == wanted;
    let found = terms.iter().any(|term| hit(&term));
    let certain = terms.iter().any(|term| hit(&term) && term.is_exact()) || terms.iter().all(|term| term.is_exact());
    let value = Scalar::bool(found == wanted);
    if certain { Bounded::exact(value) } else { Bounded::exact(value).unknown() }
}

/// Indices of the operand that agree with a kept index, with the reduced axes running.
fn gathered(x: &Value, axes: &[usize], kept: &[usize]) -> Vec<Bounded> {
    let reduced: Vec<usize> = axes.iter().map(|axis| x.shape[*axis]).collect();
    let full = |inner: Vec<usize>| {
        let (mut kept, mut inner) = (kept.iter(), inner.iter());
        let index: Vec<usize> = (0..x.shape.len())
            .map(|axis| *if axes.contains(&axis) { inner.next() } else { kept.next() }.unwrap_or(&0))
            .collect();
        x.at(&index)
    };
    indices(&reduced).map(full).collect()
}

/// The shapes of what stays: without and with the reduced axes.
fn kept_shapes(x: &Value, axes: &[usize], keepdims: bool) -> (Vec<usize>, Vec<usize>) {
    let stays = |axis: &usize| !axes.contains(axis);
    let bare: Vec<usize> = (0..x.shape.len()).filter(stays).map(|axis| x.shape[axis]).collect();
    let kept = (0..x.shape.len()).map(|axis| if stays(&axis) { x.shape[axis] } else { 1 }).collect();
    if keepdims { (bare, kept) } else { (bare.clone(), bare) }
}

pub(super) fn reduce(op: ReduceOp, axes: &[usize], keepdims: bool, x: &Value) -> Value {
    let (bare, shape) = kept_shapes(x, axes, keepdims);
    let value = tabulate(x.dtype, &bare, |kept| reduce_all(op, x.dtype, &gathered(x, axes, &kept)));
    Value { shape, ..value }
}

/// Whether the bounds leave no doubt which of two floats is the larger, or whether one is NaN.
fn apart(a: Bounded, b: Bounded) -> bool {
    let (x, y) = (a.get(), b.get());
    x.is_nan() || y.is_nan() || (x - y).abs() > a.error + b.error
}

/// Index of the extreme of scalars: the first of equals, or the first NaN.
pub(crate) fn arg_all(op: ArgOp, terms: &[Bounded]) -> Bounded {
    let better = |a: Bounded, b: Bounded| {
        let (a, b) = (a.value, b.value);
        if a.dtype.is_float() {
            let (x, y) = (a.to_f64(), b.to_f64());
            return !y.is_nan() && (x.is_nan() || if op == ArgOp::ArgMax { x > y } else { x < y });
        }
        if op == ArgOp::ArgMax { a.to_i128() > b.to_i128() } else { a.to_i128() < b.to_i128() }
    };
    let mut best = 0;
    for i in 1..terms.len() {
        if better(terms[i], terms[best]) {
            best = i;
        }
    }
    let certain = terms.iter().enumerate().all(|(i, term)| {
        let both_exact = term.is_exact() && terms[best].is_exact();
        let clear = !term.is_unknown() && !terms[best].is_unknown() && apart(*term, terms[best]);
        i == best || both_exact || (term.value.dtype.is_float() && clear)
    });
    let place = Scalar::int(DType::I64, best as i128);
    if certain { Bounded::exact(place) } else { Bounded::exact(place).unknown() }
}

pub(super) fn arg_reduce(op: ArgOp, axis: Option<usize>, keepdims: bool, x: &Value) -> Result<Value, String> {
    let axes: Vec<usize> = axis.map_or_else(|| (0..x.shape.len()).collect(), |axis| vec![axis]);
    if axes.iter().any(|axis| x.shape[*axis] == 0) {
        return Err("nothing has no extreme".to_string());
    }
    let (bare, shape) = kept_shapes(x, &axes, keepdims);
    let value = tabulate(DType::I64, &bare, |kept| arg_all(op, &gathered(x, &axes, &kept)));
    Ok(Value { shape, ..value })
}

/// Σ a · b, accumulated wide and rounded once; each product may be contracted into the sum.
fn dot(dtype: DType, factors: &[(Bounded, Bounded)], start: Option<Bounded>) -> Bounded {
    let wide = accumulator(dtype);
    let product = |(a, b): &(Bounded, Bounded)| binary(BinaryOp::Mul, cast(wide, *a), cast(wide, *b));
    let mut terms: Vec<Bounded> = factors.iter().map(product).collect();
    terms.extend(start.map(|start| cast(wide, start)));
    // A start of 0 adds a rounding of nothing: it only counts as a term.
    cast(dtype, total(&terms, wide))
}

pub(super) fn matmul(a: &Value, b: &Value) -> Value {
    let wide_a = if a.shape.len() == 1 { Value { shape: vec![1, a.shape[0]], ..a.clone() } } else { a.clone() };
    let wide_b = if b.shape.len() == 1 { Value { shape: vec![b.shape[0], 1], ..b.clone() } } else { b.clone() };
    let (ra, rb) = (wide_a.shape.len(), wide_b.shape.len());
    let (rows, inner, columns) = (wide_a.shape[ra - 2], wide_a.shape[ra - 1], wide_b.shape[rb - 1]);
    let batches = [&wide_a.shape[..ra - 2], &wide_b.shape[..rb - 2]];
    let mut shape = broadcast_shape(batches.into_iter());
    let batch = shape.len();
    shape.extend([rows, columns]);
    let value = tabulate(a.dtype, &shape, |index| {
        let (i, j) = (index[batch], index[batch + 1]);
        let pick = |x: &Value, row: usize, column: usize| {
            let own = x.shape.len() - 2;
            let skip = batch - own;
            let mut at: Vec<usize> =
                (0..own).map(|axis| if x.shape[axis] == 1 { 0 } else { index[skip + axis] }).collect();
            at.extend([row, column]);
            x.at(&at)
        };
        let factors: Vec<(Bounded, Bounded)> = (0..inner).map(|k| (pick(&wide_a, i, k), pick(&wide_b, k, j))).collect();
        dot(a.dtype, &factors, None)
    });
    let mut shape = value.shape.clone();
    if b.shape.len() == 1 {
        shape.pop();
    }
    if a.shape.len() == 1 {
        shape.remove(batch);
    }
    Value { shape, ..value }
}

/// Rows along an axis: for each index of the other axes the elements, and where they go.
fn rows(x: &Value, axis: usize, mut f: impl FnMut(&[Bounded]) -> Vec<Bounded>) -> Value {
    let mut out = x.clone();
    let mut outer = x.shape.clone();
    outer[axis] = 1;
    for start in indices(&outer) {
        let at = |i: usize| {
            let mut index = start.clone();
            index[axis] = i;
            x.offset(&index)
        };
        let row: Vec<Bounded> = (0..x.shape[axis]).map(|i| x.data[at(i)]).collect();
        for (i, num) in f(&row).into_iter().enumerate() {
            out.data[at(i)] = num;
        }
    }
    out
}

pub(super) fn softmax(axis: usize, log: bool, x: &Value) -> Value {
    let wide = accumulator(x.dtype);
    if x.data.is_empty() {
        return x.clone();
    }
    rows(x, axis, |row| {
        let row: Vec<Bounded> = row.iter().map(|num| cast(wide, *num)).collect();
        softmax_row(&row, wide, log).into_iter().map(|num| cast(x.dtype, num)).collect()
    })
}

fn softmax_row(row: &[Bounded], dtype: DType, log: bool) -> Vec<Bounded> {
    let max = fold(BinaryOp::Max, Scalar::least(dtype), row);
    // The largest is subtracted from all; that it is uncertain moves numerator and denominator alike, and a bound of
    // each by itself would count it twice. Shifting by the centre keeps the bound of the operand alone.
    let centre = if max.is_unknown() { max } else { Bounded::exact(max.value) };
    let doubt = if max.is_unknown() { 0.0 } else { max.error };
    let shifted: Vec<Bounded> = row.iter().map(|num| binary(BinaryOp::Sub, *num, centre)).collect();
    let powers: Vec<Bounded> = shifted.iter().map(|num| exp_nonpositive(*num)).collect();
    let sum = total(&powers, dtype);
    // What remains of the doubt: other roundings of the difference and of the exponential.
    let loosen = |num: Bounded, scale: f64| {
        let extra = doubt * 4.0 * (eval::ulp(dtype, 1.0) / 2.0) * scale;
        if num.is_unknown() || extra == 0.0 { num } else { Bounded::new(num.value, num.error + extra) }
    };
    let inverse = binary(BinaryOp::Div, Bounded::exact(Scalar::one(dtype)), sum);
    let finish = |(shifted, power): (&Bounded, &Bounded)| {
        if log {
            loosen(binary(BinaryOp::Sub, *shifted, unary(UnaryOp::Log, sum)), 1.0)
        } else {
            loosen(binary(BinaryOp::Mul, *power, inverse), 1.0)
        }
    };
    shifted.iter().zip(&powers).map(finish).collect()
}

/// (x - mean) · (scale / √(variance + epsilon)) + bias; for halves in f32, rounded once.
pub(super) fn batch_norm(axis: usize, epsilon: f64, args: &[&Value]) -> Value {
    let x = args[0];
    let wide = accumulator(x.dtype);
    let epsilon = Bounded::exact(Scalar::float(wide, epsilon));
    tabulate(x.dtype, &x.shape, |index| {
        let [scale, bias, mean, variance] = [1, 2, 3, 4].map(|i| cast(wide, args[i].data[index[axis]]));
        let inverse = unary(UnaryOp::Rsqrt, binary(BinaryOp::Add, variance, epsilon));
        let factor = binary(BinaryOp::Mul, scale, inverse);
        let apart = binary(BinaryOp::Sub, cast(wide, x.at(&index)), mean);
        cast(x.dtype, binary(BinaryOp::Add, binary(BinaryOp::Mul, apart, factor), bias))
    })
}

pub(super) fn layer_norm(axis: usize, epsilon: f64, args: &[&Value]) -> Value {
    let x = args[0];
    let wide = accumulator(x.dtype);
    let row_shape = x.shape[axis..].to_vec();
    let count: usize = row_shape.iter().product();
    if x.data.is_empty() {
        return x.clone();
    }
    let data = x.data.chunks(count).enumerate().flat_map(|(start, row)| {
        let row: Vec<Bounded> = row.iter().map(|num| cast(wide, *num)).collect();
        let inverse_and_mean = normalise(&row, wide, epsilon);
        let finish = move |(i, value): (usize, Bounded)| {
            let index = unravel(&x.shape, start * count + i);
            let (mean, inverse) = inverse_and_mean;
            let difference = binary(BinaryOp::Sub, value, mean);
            let mut out = binary(BinaryOp::Mul, difference, inverse);
            out = binary(BinaryOp::Mul, out, cast(wide, broadcast_at(args[1], &index)));
            if let Some(bias) = args.get(2) {
                out = binary(BinaryOp::Add, out, cast(wide, broadcast_at(bias, &index)));
            }
            cast(x.dtype, out)
        };
        row.into_iter().enumerate().map(finish).collect::<Vec<_>>()
    });
    Value { dtype: x.dtype, shape: x.shape.clone(), data: data.collect() }
}

/// Mean, and 1 / √(variance + epsilon).
fn normalise(row: &[Bounded], dtype: DType, epsilon: f64) -> (Bounded, Bounded) {
    let mean = reduce_all(ReduceOp::Mean, dtype, row);
    let squares: Vec<Bounded> = row
        .iter()
        .map(|value| {
            let difference = binary(BinaryOp::Sub, *value, mean);
            binary(BinaryOp::Mul, difference, difference)
        })
        .collect();
    let variance = reduce_all(ReduceOp::Mean, dtype, &squares);
    // A variance is not negative, however uncertain; where its bound reaches below 0, epsilon alone is certain.
    let safe = binary(BinaryOp::Add, variance, Bounded::exact(Scalar::float(dtype, epsilon)));
    (mean, unary(UnaryOp::Rsqrt, safe))
}

pub(super) fn transpose(perm: &[usize], x: &Value) -> Value {
    let shape: Vec<usize> = perm.iter().map(|axis| x.shape[*axis]).collect();
    tabulate(x.dtype, &shape, |index| {
        let mut at = vec![0; index.len()];
        for (i, axis) in perm.iter().enumerate() {
            at[*axis] = index[i];
        }
        x.at(&at)
    })
}

pub(super) fn broadcast_to(shape: &[usize], x: &Value) -> Value {
    tabulate(x.dtype, shape, |index| broadcast_at(x, &index))
}

pub(super) fn concat(axis: usize, args: &[&Value]) -> Value {
    let mut shape = args[0].shape.clone();
    shape[axis] = args.iter().map(|arg| arg.shape[axis]).sum();
    tabulate(args[0].dtype, &shape, |mut index| {
        let mut which = 0;
        while index[axis] >= args[which].shape[axis] {
            index[axis] -= args[which].shape[axis];
            which += 1;
        }
        args[which].at(&index)
    })
}

/// The operand's index of a part's index: `begin + i * step` per axis.
fn source(parts: &[(i64, usize, i64)], index: &[usize], shape: &[usize]) -> Result<Vec<usize>, String> {
    let each = parts.iter().zip(index).zip(shape).enumerate();
    each.map(|(axis, (((begin, _, step), i), extent))| {
        let at = begin + *i as i64 * step;
        usize::try_from(at)
            .ok()
            .filter(|at| at < extent)
            .ok_or_else(|| format!("index {at} of axis {axis}, which has {extent}"))
    })
    .collect()
}

pub(super) fn slice(parts: &[(i64, usize, i64)], drop: &[usize], x: &Value) -> Result<Value, String> {
    let full: Vec<usize> = parts.iter().map(|(_, extent, _)| *extent).collect();
    let data =
        indices(&full).map(|index| source(parts, &index, &x.shape).map(|at| x.at(&at))).collect::<Result<_, _>>()?;
    let shape = (0..full.len()).filter(|axis| !drop.contains(axis)).map(|axis| full[axis]).collect();
    Ok(Value { dtype: x.dtype, shape, data })
}

pub(super) fn slice_update(
    parts: &[(i64, usize, i64)],
    drop: &[usize],
    dst: &Value,
    src: &Value,
) -> Result<Value, String> {
    let full: Vec<usize> = parts.iter().map(|(_, extent, _)| *extent).collect();
    let mut out = dst.clone();
    for index in indices(&full) {
        let own: Vec<usize> = (0..full.len()).filter(|axis| !drop.contains(axis)).map(|axis| index[axis]).collect();
        let at = out.offset(&source(parts, &index, &dst.shape)?);
        out.data[at] = if src.shape.is_empty() { src.data[0] } else { src.at(&own) };
    }
    Ok(out)
}

pub(super) fn pad(mode: PadMode, before: &[i64], after: &[i64], args: &[&Value]) -> Value {
    let x = args[0];
    let shape: Vec<usize> =
        x.shape.iter().enumerate().map(|(axis, extent)| (before[axis] + after[axis]) as usize + extent).collect();
    tabulate(x.dtype, &shape, |index| {
        let mut at = Vec::new();
        for (axis, i) in index.iter().enumerate() {
            match padded(mode, *i as i64 - before[axis], x.shape[axis] as i64) {
                Some(i) => at.push(i as usize),
                None => return args[1].data[0],
            }
        }
        x.at(&at)
    })
}

/// Where an index outside an axis of `extent` reads; `None` where the constant stands.
fn padded(mode: PadMode, i: i64, extent: i64) -> Option<i64> {
    if (0..extent).contains(&i) {
        return Some(i);
    }
    match mode {
        PadMode::Constant => None,
        PadMode::Edge => Some(i.clamp(0, extent - 1)),
        PadMode::Wrap => Some(i.rem_euclid(extent)),
        PadMode::Reflect => {
            let period = 2 * (extent - 1);
            let i = i.rem_euclid(period.max(1));
            Some(if i < extent { i } else { period - i })
        }
    }
}

/// The spatial index that tap `tap` of the window at `at` reads, before it is known to lie inside.
fn tap_index(window: &Window, axis: usize, at: usize, tap: usize) -> i64 {
    at as i64 * window.strides[axis] + tap as i64 * window.dilations[axis] - window.pads[axis]
}

/// The operand's index of a tap, or `None` where padding lies.
fn tap(window: &Window, x: &Value, first: &[usize], at: &[usize], tap: &[usize]) -> Option<Vec<usize>> {
    let mut index = first.to_vec();
    for axis in 0..tap.len() {
        let i = tap_index(window, axis, at[axis], tap[axis]);
        index.push(usize::try_from(i).ok().filter(|i| *i < x.shape[2 + axis])?);
    }
    Some(index)
}

pub(super) fn conv(window: &Window, group: i64, args: &[&Value]) -> Value {
    let (x, w) = (args[0], args[1]);
    let spatial = window.kernel.len();
    let mut shape = vec![x.shape[0], w.shape[0]];
    for axis in 0..spatial {
        let reach = (window.kernel[axis] - 1) * window.dilations[axis] + 1;
        let room = x.shape[2 + axis] as i64 + window.pads[axis] + window.pads[axis + spatial] - reach;
        shape.push((room.div_euclid(window.strides[axis]) + 1).max(0) as usize);
    }
    let per_group = w.shape[0] / group as usize;
    let taps: Vec<Vec<usize>> = indices(&w.shape[1..]).collect();
    tabulate(x.dtype, &shape, |out| {
        let first = out[1] / per_group.max(1) * w.shape[1];
        let factors: Vec<(Bounded, Bounded)> = taps
            .iter()
            .filter_map(|t| {
                let at = tap(window, x, &[out[0], first + t[0]], &out[2..], &t[1..])?;
                let weight: Vec<usize> = std::iter::once(out[1]).chain(t.iter().copied()).collect();
                Some((x.at(&at), w.at(&weight)))
            })
            .collect();
        dot(x.dtype, &factors, args.get(2).map(|bias| bias.data[out[1]]))
    })
}

pub(super) fn pool(op: PoolOp, window: &Window, shape: &[usize], x: &Value) -> Value {
    let kernel: Vec<usize> = window.kernel.iter().map(|n| *n as usize).collect();
    let wide = accumulator(x.dtype);
    tabulate(x.dtype, shape, |out| {
        let taps: Vec<Vec<usize>> = indices(&kernel).collect();
        let inside: Vec<Bounded> =
            taps.iter().filter_map(|t| tap(window, x, &out[..2], &out[2..], t)).map(|at| x.at(&at)).collect();
        match op {
            PoolOp::Max => fold(BinaryOp::Max, Scalar::least(x.dtype), &inside),
            PoolOp::Average { count_include_pad } => {
                let near = |t: &Vec<usize>| {
                    (0..t.len()).all(|axis| {
                        let end = x.shape[2 + axis] as i64 + window.pads[axis + t.len()];
                        tap_index(window, axis, out[2 + axis], t[axis]) < end
                    })
                };
                let count = if count_include_pad { taps.iter().filter(|t| near(t)).count() } else { inside.len() };
                let terms: Vec<Bounded> = inside.iter().map(|num| cast(wide, *num)).collect();
                let count = Bounded::exact(Scalar::int(wide, count as i128));
                cast(x.dtype, binary(BinaryOp::Div, total(&terms, wide), count))
            }
        }
    })
}
