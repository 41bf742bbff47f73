//! Fourier transforms: Stockham's algorithm over the prime factors of a known length, the sum itself over an unknown one.
//!
//! Complex numbers are a last axis of 2. Twiddles are a table that the graph computes in f64, at build time where the
//! length is known. Halves are computed in f32.

use super::call::{axis_attr, bool_attr, index_attr, tensor};
use super::check::{floats, some};
use super::compose::{arange, cast, div, index_value, moved, transpose, unary, with, working};
use super::entry::AXIS;
use super::error::{At, OpError, OpErrorKind, show_tensor};
use super::kernel::{Buf, Ex, Kernel};
use super::{AttrDef, OpCall, OpDef};
use crate::DType;
use crate::arith::IntExpr;
use crate::op::{BinaryOp, UnaryOp};
use crate::relax::{Builder, TensorType, ValueId, dim};

/// The greatest factor whose butterfly is written out.
const WRITTEN_OUT: i64 = 7;

/// A complex number.
type Complex<'k> = (Ex<'k>, Ex<'k>);

/// What a transform reads and gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Complex numbers, as many as come in.
    Whole,
    /// Real numbers; of what comes out the first half and one.
    FromReal,
    /// The first half and one; what comes out is real.
    ToReal,
}

/// One transform: axis 0 is the batch, axis 1 what is transformed.
struct Transform {
    form: Form,
    inverse: bool,
    /// Length.
    n: IntExpr,
    /// Of the numbers inside.
    dtype: DType,
}

/// The factors of a length: odd ones first, so that what cancels in the last stages cancels exactly.
fn factors(n: i64) -> Vec<i64> {
    let (mut rest, mut all, mut even) = (n, Vec::new(), Vec::new());
    for p in [4, 2] {
        while rest > 1 && rest % p == 0 {
            even.push(p);
            rest /= p;
        }
    }
    for p in [3, 5, 7] {
        while rest > 1 && rest % p == 0 {
            all.push(p);
            rest /= p;
        }
    }
    let mut p = 11;
    while p * p <= rest {
        while rest % p == 0 {
            all.push(p);
            rest /= p;
        }
        p += 2;
    }
    if rest > 1 {
        all.push(rest);
    }
    [all, even].concat()
}

/// `cos` and `-sin` of `2π t / n`: the n-th roots of one.
fn roots(b: &mut Builder, n: &IntExpr, dtype: DType) -> Result<(ValueId, ValueId), OpError> {
    let count = arange(b, DType::F64, n)?;
    let length = index_value(b, DType::F64, n)?;
    let turn = with(b, BinaryOp::Mul, count, std::f64::consts::TAU)?;
    let angle = div(b, turn, length)?;
    let (re, im) = (unary(b, UnaryOp::Cos, angle)?, unary(b, UnaryOp::Sin, angle)?);
    let im = with(b, BinaryOp::Mul, im, -1.0)?;
    Ok((cast(b, dtype, re)?, cast(b, dtype, im)?))
}

/// `x * (re + i im)` for numbers known now.
fn by_number<'k>((a, b): Complex<'k>, (re, im): (f64, f64)) -> Complex<'k> {
    let near = |x: f64, y: f64| (x - y).abs() < 1e-12;
    if near(re, 1.0) && near(im, 0.0) {
        (a, b)
    } else if near(re, -1.0) && near(im, 0.0) {
        (-a, -b)
    } else if near(re, 0.0) && near(im, 1.0) {
        (-b, a)
    } else if near(re, 0.0) && near(im, -1.0) {
        (b, -a)
    } else {
        (a * re - b * im, a * im + b * re)
    }
}

fn times<'k>((a, b): Complex<'k>, (c, d): Complex<'k>) -> Complex<'k> {
    (a * c - b * d, a * d + b * c)
}

fn plus<'k>((a, b): Complex<'k>, (c, d): Complex<'k>) -> Complex<'k> {
    (a + c, b + d)
}

/// The roots of one as a kernel reads them.
#[derive(Clone, Copy)]
struct Table<'k> {
    re: Buf<'k>,
    im: Buf<'k>,
    inverse: bool,
}

impl<'k> Table<'k> {
    fn at(self, t: Ex<'k>) -> Complex<'k> {
        let (re, im) = (self.re.at(&[t]), self.im.at(&[t]));
        (re, if self.inverse { -im } else { im })
    }
}

fn load<'k>(x: Buf<'k>, t: Ex<'k>) -> Complex<'k> {
    (x.at(&[t, x.k().int(0)]), x.at(&[t, x.k().int(1)]))
}

fn store<'k>(x: Buf<'k>, t: Ex<'k>, (re, im): Complex<'k>) {
    x.put(&[t, x.k().int(0)], re);
    x.put(&[t, x.k().int(1)], im);
}

/// A stage: of `n = p · m · s` numbers `[p, m, s]` to `[m, p, s]`, by butterflies of `p`, all known.
fn stage<'k>(k: &'k Kernel, (from, to): (Buf<'k>, Buf<'k>), roots: Table<'k>, (p, m, s): (i64, i64, i64)) {
    let sign = if roots.inverse { 1.0 } else { -1.0 };
    let unit = |n: i64| {
        let angle = sign * std::f64::consts::TAU * (n % p) as f64 / p as f64;
        (angle.cos(), angle.sin())
    };
    k.for_("m", k.int(m), |at| {
        let turn = |h: i64| if h == 0 { None } else { Some(bound(roots.at(at * (h * s)))) };
        let turns: Vec<Option<Complex<'k>>> = (0..p).map(turn).collect();
        k.for_("s", k.int(s), |inner| {
            let one = |j: i64| bound(load(from, (at + j * m) * s + inner));
            let x: Vec<Complex<'k>> = (0..p).map(one).collect();
            for h in 0..p {
                let terms = x.iter().enumerate().map(|(j, x)| by_number(*x, unit(j as i64 * h)));
                let Some(sum) = terms.reduce(plus) else { continue };
                let value = turns[h as usize].map_or(sum, |turn| times(bound(sum), turn));
                store(to, (at * p + h) * s + inner, value);
            }
        });
    });
}

fn bound<'k>((a, b): Complex<'k>) -> Complex<'k> {
    (a.bound("re"), b.bound("im"))
}

/// A stage of a factor that is large or not known, by sums.
fn sums<'k>(
    k: &'k Kernel,
    (from, to): (Buf<'k>, Buf<'k>),
    roots: Table<'k>,
    (p, m, s): (Ex<'k>, Ex<'k>, Ex<'k>),
    dtype: DType,
) {
    let n = roots.re.dim(0);
    k.for_all("h", &[m, p, s], |i| {
        let (at, h, inner) = (i[0], i[1], i[2]);
        let (re, im) = (k.cell("re", k.lit(dtype, 0.0)), k.cell("im", k.lit(dtype, 0.0)));
        k.for_("j", p, |j| {
            let turn = bound(roots.at((j * h * (m * s) + at * h * s).modulo(n)));
            let (a, b) = times(bound(load(from, (j * m + at) * s + inner)), turn);
            re.set(re.now() + a);
            im.set(im.now() + b);
        });
        store(to, (at * p + h) * s + inner, (re.get(), im.get()));
    });
}

/// All stages; the numbers are in one of the two buffers afterwards.
fn stages<'k>(k: &'k Kernel, (a, b): (Buf<'k>, Buf<'k>), roots: Table<'k>, n: &IntExpr, dtype: DType) -> Buf<'k> {
    let Some(length) = dim::as_int(n) else {
        sums(k, (a, b), roots, (k.dim(n), k.int(1), k.int(1)), dtype);
        return b;
    };
    let (mut from, mut to, mut done) = (a, b, 1);
    for p in if length > 1 { factors(length) } else { Vec::new() } {
        let m = length / (done * p);
        if p <= WRITTEN_OUT {
            stage(k, (from, to), roots, (p, m, done));
        } else {
            sums(k, (from, to), roots, (k.int(p), k.int(m), k.int(done)), dtype);
        }
        (from, to, done) = (to, from, done * p);
    }
    from
}

/// The kernel of a transform of `x`, `[batch, length]` and a last axis of 2 where it is complex.
fn kernel(b: &mut Builder, x: ValueId, t: &Transform) -> Result<ValueId, OpError> {
    let (re, im) = roots(b, &t.n, t.dtype)?;
    let half = &dim::div_floor(&t.n, 2) + &dim::int(1);
    let ty = b.tensor(x).clone();
    let mut shape = vec![ty.shape[0].clone(), if t.form == Form::FromReal { half } else { t.n.clone() }];
    if t.form != Form::ToReal {
        shape.push(dim::int(2));
    }
    let some = some(b, &t.n);
    let k = Kernel::new(b, "fourier");
    let from = k.input(b, x);
    let roots = Table { re: k.input(b, re), im: k.input(b, im), inverse: t.inverse };
    let out = k.output(TensorType { dtype: ty.dtype, shape });
    let row = |i: Ex<'_>| {
        let pair = [t.n.clone(), dim::int(2)];
        let (a, c) = (k.temp("a", t.dtype, &pair), k.temp("b", t.dtype, &pair));
        begin(&k, (from, a), i, t);
        let result = stages(&k, (a, c), roots, &t.n, t.dtype);
        end(&k, (result, out), i, t);
    };
    // Of nothing comes 0: half of it and one is one number.
    let nothing = |i| {
        let extents: Vec<Ex<'_>> = (1..out.shape().len()).map(|axis| out.dim(axis)).collect();
        k.for_all("z", &extents, |z| out.put(&[&[i], z].concat(), out.zero()));
    };
    k.block("fourier", &ty.shape[..1], |i| {
        if some {
            row(i[0]);
        } else {
            k.if_else(k.dim(&t.n).ge(1), || row(i[0]), || nothing(i[0]));
        }
    });
    k.finish(b)
}

/// What comes in, as complex numbers of the length.
fn begin<'k>(k: &'k Kernel, (from, a): (Buf<'k>, Buf<'k>), i: Ex<'k>, t: &Transform) {
    let (zero, one) = (k.int(0), k.int(1));
    let n = k.dim(&t.n);
    k.for_("t", n, |at| {
        let number = match t.form {
            Form::FromReal => (from.at(&[i, at]).cast(t.dtype), k.lit(t.dtype, 0.0)),
            Form::Whole => (from.at(&[i, at, zero]).cast(t.dtype), from.at(&[i, at, one]).cast(t.dtype)),
            // The other half is the first one mirrored.
            Form::ToReal => {
                let extent = from.dim(1);
                let first = at.lt(extent);
                let source = k.clamped(first.select(at, n - at), extent);
                let im = from.at(&[i, source, one]).cast(t.dtype);
                (from.at(&[i, source, zero]).cast(t.dtype), first.select(im, -im))
            }
        };
        store(a, at, number);
    });
}

/// What goes out: an inverse is divided by the length.
fn end<'k>(k: &'k Kernel, (from, out): (Buf<'k>, Buf<'k>), i: Ex<'k>, t: &Transform) {
    let scale = |x: Ex<'k>| if t.inverse { x / k.dim(&t.n).cast(t.dtype) } else { x };
    k.for_("t", out.dim(1), |at| {
        let (re, im) = load(from, at);
        if t.form == Form::ToReal {
            return out.put(&[i, at], scale(re).cast(out.dtype()));
        }
        out.put(&[i, at, k.int(0)], scale(re).cast(out.dtype()));
        out.put(&[i, at, k.int(1)], scale(im).cast(out.dtype()));
    });
}

/// A transform along an axis of `x`; the last axis of complex numbers is none of `rank`.
fn transformed(b: &mut Builder, x: ValueId, axis: usize, rank: usize, t: &Transform) -> Result<ValueId, OpError> {
    let (mut perm, mut back) = moved(rank, axis, rank - 1);
    if t.form != Form::FromReal {
        perm.push(rank);
    }
    if t.form != Form::ToReal {
        back.push(rank);
    }
    let x = transpose(b, x, &perm)?;
    let shape = b.tensor(x).shape.clone();
    let outer = &shape[..rank - 1];
    let flat = [&[dim::product(outer)], &shape[rank - 1..]].concat();
    let x = super::compose::reshape(b, x, &flat)?;
    let y = kernel(b, x, t)?;
    let shape = [outer, &b.tensor(y).shape[1..]].concat();
    let y = super::compose::reshape(b, y, &shape)?;
    transpose(b, y, &back)
}

fn transform(dtype: DType, form: Form, inverse: bool, n: &IntExpr) -> Transform {
    Transform { form, inverse, n: n.clone(), dtype: working(dtype) }
}

pub(super) fn rfft(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    floats(0, &ty)?;
    let axis = axis_attr(call, &ty, -1)?;
    transformed(b, x, axis, ty.shape.len(), &transform(ty.dtype, Form::FromReal, false, &ty.shape[axis]))
}

/// The operand as complex numbers, and its type without their axis.
fn complex(b: &mut Builder, call: &OpCall) -> Result<(ValueId, TensorType), OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    floats(0, &ty)?;
    if ty.shape.len() < 2 || dim::as_int(&ty.shape[ty.shape.len() - 1]) != Some(2) {
        let message = format!("expected complex numbers, a last axis of 2, found `{}`", show_tensor(&ty));
        return Err(OpError::new(At::Arg(0), OpErrorKind::Dims, message).help("`rfft` takes real numbers"));
    }
    Ok((x, TensorType { dtype: ty.dtype, shape: ty.shape[..ty.shape.len() - 1].to_vec() }))
}

fn fft(b: &mut Builder, call: &OpCall, inverse: bool) -> Result<ValueId, OpError> {
    let (x, ty) = complex(b, call)?;
    let axis = axis_attr(call, &ty, -1)?;
    transformed(b, x, axis, ty.shape.len(), &transform(ty.dtype, Form::Whole, inverse, &ty.shape[axis]))
}

fn irfft(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = complex(b, call)?;
    let axis = axis_attr(call, &ty, -1)?;
    let extent = &ty.shape[axis];
    let n = index_attr(call, "n")?.unwrap_or(&(extent - &dim::int(1)) * &dim::int(2));
    let half = &dim::div_floor(&n, 2) + &dim::int(1);
    if !dim::equal(&b.prover, &half, extent) || !dim::at_most(&b.prover, &dim::int(0), &n) {
        let message = format!("`n = {n}` comes from {half} numbers, found `{extent}` at axis {axis}");
        return Err(
            OpError::new(At::Attr("n".into()), OpErrorKind::Dims, message).help("slice or pad what is transformed")
        );
    }
    transformed(b, x, axis, ty.shape.len(), &transform(ty.dtype, Form::ToReal, true, &n))
}

/// Frames of a signal, each times a window, transformed: `[batch, frames, numbers, 2]`.
fn stft(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let (window, weights) = tensor(b, call, 1)?;
    floats(0, &ty)?;
    super::check::rank(0, &ty, 2)?;
    super::check::rank(1, &weights, 1)?;
    super::check::same_dtype(1, &weights, &ty)?;
    let step = super::call::int_attr(call, "frame_step")?.ok_or_else(|| super::call::missing("frame_step", "160"))?;
    let onesided = bool_attr(call, "onesided", true)?;
    let (length, signal) = (&weights.shape[0], &ty.shape[1]);
    if step < 1 {
        return Err(super::check::attr_error(
            "frame_step",
            format!("expected 1 or more for `frame_step`, found {step}"),
        ));
    }
    if !dim::at_most(&b.prover, length, signal) {
        let message = format!("a frame of {length} is not proven to fit into `{signal}` samples");
        return Err(OpError::new(At::Arg(0), OpErrorKind::Range, message)
            .help(format!("state a fact: `dims({signal} >= {length})`")));
    }
    let frames = &dim::div_floor(&(signal - length), step) + &dim::int(1);
    let k = Kernel::new(b, "frames");
    let (from, by) = (k.input(b, x), k.input(b, window));
    let out = k.output(TensorType { dtype: ty.dtype, shape: vec![ty.shape[0].clone(), frames, length.clone()] });
    k.each("frames", out, |i| from.at(&[i[0], i[1] * step + i[2]]) * by.at(&[i[2]]));
    let framed = k.finish(b)?;
    if onesided {
        return transformed(b, framed, 2, 3, &transform(ty.dtype, Form::FromReal, false, length));
    }
    let zeros = super::compose::with(b, BinaryOp::Mul, framed, 0.0)?;
    let shape = [b.tensor(framed).shape.as_slice(), &[dim::int(1)]].concat();
    let parts = [super::compose::reshape(b, framed, &shape)?, super::compose::reshape(b, zeros, &shape)?];
    let whole = b.emit(crate::relax::Op::Concat { axis: 3 }, &parts)?;
    transformed(b, whole, 2, 3, &transform(ty.dtype, Form::Whole, false, length))
}

pub(super) static TABLE: &[OpDef] = &[
    graph!(
        "rfft",
        "DFT",
        "x",
        1,
        &[AXIS],
        rfft,
        "Fourier transform of real numbers along an axis: n / 2 + 1 complex numbers, a last axis of 2."
    ),
    graph!(
        "irfft",
        "DFT",
        "x",
        1,
        &[AXIS, AttrDef { name: "n", ty: "int = 2 · (extent - 1)", doc: "how many real numbers come out" }],
        irfft,
        "Inverse of rfft: real numbers from the first half of their transform (complex, a last axis of 2)."
    ),
    graph!(
        "fft",
        "DFT",
        "x",
        1,
        &[AXIS],
        |b, call| fft(b, call, false),
        "Fourier transform of complex numbers (a last axis of 2) along an axis."
    ),
    graph!(
        "ifft",
        "DFT",
        "x",
        1,
        &[AXIS],
        |b, call| fft(b, call, true),
        "Inverse Fourier transform of complex numbers (a last axis of 2) along an axis."
    ),
    graph!(
        "stft",
        "STFT",
        "x, window",
        2,
        &[
            AttrDef { name: "frame_step", ty: "int", doc: "samples from one frame to the next" },
            AttrDef { name: "onesided", ty: "bool = true", doc: "only the first half and one of each transform" },
        ],
        stft,
        "Transforms of frames of real signals [batch, samples], each times the window: [batch, frames, numbers, 2]."
    ),
];
