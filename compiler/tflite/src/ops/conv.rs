//! Convolutions and products with weights.

use tenfold_ir::DType;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::relax::{ConvLayout, DataLayout, KernelLayout, Op, ValueId, Window};

use super::{Activation, Family, Kind, Results, kind};
use crate::fixed::Multiplier;
use crate::walk::{Call, Cx, Outcome, Quant, fault};

pub(super) const FAMILY: Family = &[
    ("CONV_2D", |cx, call| conv(cx, call, false)),
    ("DEPTHWISE_CONV_2D", |cx, call| conv(cx, call, true)),
    ("FULLY_CONNECTED", fully_connected),
];

/// Extents of windows and steps, at most.
const MOST: i64 = 1 << 20;

/// What channels last lie in: data `NHWC`, weights `HWIO`.
pub(super) const LAYOUT: ConvLayout = ConvLayout { data: DataLayout::ChannelsLast, kernel: KernelLayout::OutLast };

/// Padding before and after an axis.
pub(super) fn padding(same: bool, extent: i64, reach: i64, stride: i64) -> Outcome<(i64, i64)> {
    if !same {
        return match extent >= reach {
            true => Ok((0, 0)),
            false => fault(format!("a window of {reach} does not fit into an extent of {extent}")),
        };
    }
    let total = (((extent + stride - 1) / stride - 1) * stride + reach - extent).max(0);
    Ok((total / 2, total - total / 2))
}

/// The option `padding`: whether results are as many as elements, by steps.
pub(super) fn is_same(code: u8) -> Outcome<bool> {
    match code {
        0 => Ok(true),
        1 => Ok(false),
        other => fault(format!("its padding has the number {other}, and SAME is 0, VALID 1")),
    }
}

/// A number that is a step or an extent.
pub(super) fn positive(value: i32, what: &str) -> Outcome<i64> {
    match i64::from(value) {
        value if (1..=MOST).contains(&value) => Ok(value),
        value => fault(format!("its {what} is {value}, and must be from 1 to {MOST}")),
    }
}

/// Weights of a convolution as the language lays them out, and their number of outputs.
struct Weights {
    /// `[height, width, inputs of a group, outputs]`.
    shape: [i64; 4],
    bytes: Vec<u8>,
}

/// `[outputs, height, width, inputs]` as `[height, width, inputs, outputs]`, or the latter as it stands.
fn weights(call: &Call<'_>, depthwise: bool, dtype: DType) -> Outcome<Weights> {
    let (own, shape, bytes) = call.known(1, "the weights")?;
    let [a, b, c, d] = shape[..] else {
        return fault(format!("its weights must have 4 axes, found {shape:?}"));
    };
    if own != dtype {
        return fault(format!("its weights must have elements of {dtype}, found {own}"));
    }
    if depthwise {
        return match a {
            1 => Ok(Weights { shape: [b, c, 1, d], bytes: bytes.to_vec() }),
            _ => fault(format!("the first extent of its weights must be 1, found {a}")),
        };
    }
    let (rows, columns) = (a as usize, (b * c * d) as usize);
    Ok(Weights { shape: [b, c, d, a], bytes: turned(bytes, rows, columns, dtype.size_bytes()) })
}

/// A matrix with its rows as columns.
fn turned(bytes: &[u8], rows: usize, columns: usize, size: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for column in 0..columns {
        for row in 0..rows {
            let at = (row * columns + column) * size;
            out.extend_from_slice(&bytes[at..at + size]);
        }
    }
    out
}

/// Where windows of a convolution are, and how many groups there are.
struct Places {
    window: Window,
    group: i64,
}

fn places(call: &Call<'_>, depthwise: bool, x: &[i64], w: [i64; 4]) -> Outcome<Places> {
    let [_, height, width, channels] = x[..] else {
        return fault(format!("its operand must have 4 axes, found {x:?}"));
    };
    if call.options().is_none() {
        return fault("its options are missing");
    }
    let dilation = if depthwise { (6, 5) } else { (5, 4) };
    let strides = [positive(call.option(2, 0)?, "stride")?, positive(call.option(1, 0)?, "stride")?];
    let dilations =
        [positive(call.option(dilation.0, 1)?, "dilation")?, positive(call.option(dilation.1, 1)?, "dilation")?];
    let [kh, kw, inputs, outputs] = w;
    if kh < 1 || kw < 1 || inputs < 1 || outputs < 1 || channels < 1 {
        return fault(format!("its weights {w:?} or its operand {x:?} have no elements"));
    }
    if channels % inputs != 0 || outputs % (channels / inputs) != 0 {
        return fault(format!("{outputs} outputs of {inputs} channels do not go over {channels} channels"));
    }
    let same = is_same(call.byte(0)?)?;
    let reach = [(kh - 1) * dilations[0] + 1, (kw - 1) * dilations[1] + 1];
    let (top, bottom) = padding(same, height, reach[0], strides[0])?;
    let (left, right) = padding(same, width, reach[1], strides[1])?;
    let pads = vec![top, left, bottom, right];
    let window = Window { kernel: vec![kh, kw], strides: strides.to_vec(), pads, dilations: dilations.to_vec() };
    Ok(Places { window, group: channels / inputs })
}

fn conv<'m>(cx: &mut Cx<'m>, call: &Call<'m>, depthwise: bool) -> Results {
    let kind = kind(call, 0)?;
    let x = call.x(cx, 0)?;
    let dtype = cx.dtype(x);
    let weights = weights(call, depthwise, dtype)?;
    let Places { mut window, group } = places(call, depthwise, &cx.shape(x), weights.shape)?;
    let outputs = weights.shape[3] as usize;
    let activation = Activation::of(call.byte(if depthwise { 4 } else { 3 })?)?;
    let w = cx.constant(call.tensor(1)?.name, dtype, &weights.shape, weights.bytes.clone());
    if kind == Kind::Float {
        let y = cx.emit(Op::Conv { window, group, layout: LAYOUT }, &[x, w])?;
        return biased(cx, call, y, outputs, activation);
    }
    let sum = Sum::of(call, &weights.bytes, outputs, Rounding::Twice)?;
    let pads = std::mem::replace(&mut window.pads, vec![0; 4]);
    let filler = cx.int(DType::I8, i64::from(sum.x.zero));
    let x = cx.pad(x, &[0, pads[0], pads[1], 0], &[0, pads[2], pads[3], 0], filler)?;
    let (x, w) = (cx.cast(x, DType::I32)?, cx.cast(w, DType::I32)?);
    let y = cx.emit(Op::Conv { window, group, layout: LAYOUT }, &[x, w])?;
    sum.finished(cx, y, activation).map(|y| vec![y])
}

/// Floats with a bias per output, and what follows.
fn biased<'m>(cx: &mut Cx<'m>, call: &Call<'m>, y: ValueId, outputs: usize, activation: Activation) -> Results {
    let mut y = y;
    if call.has(2) {
        let bias = call.x(cx, 2)?;
        if cx.dtype(bias) != DType::F32 || cx.shape(bias).iter().product::<i64>() != outputs as i64 {
            return fault(format!("its bias must have {outputs} elements of f32, found {:?}", cx.shape(bias)));
        }
        let bias = cx.reshape(bias, &[outputs as i64])?;
        y = cx.binary(BinaryOp::Add, y, bias)?;
    }
    Ok(vec![activation.floats(cx, y)?])
}

/// What becomes of sums of products of integers of 8 bits: `Σ (x - zero) w + bias`, scaled per output.
struct Sum {
    x: Quant,
    out: Quant,
    /// What is added to `Σ x w`.
    bias: Vec<i32>,
    /// No sum with its bias is further from 0.
    reach: i64,
    by: Vec<Multiplier>,
    rounding: Rounding,
}

impl Sum {
    /// Of weights whose last axis is that of the outputs.
    fn of(call: &Call<'_>, weights: &[u8], outputs: usize, rounding: Rounding) -> Outcome<Sum> {
        let tensor = call.tensor(1)?;
        let (x, out) = (call.quant(0)?, call.out_quant()?);
        let scales = tensor.scales.as_slice();
        let along = usize::try_from(tensor.axis).ok().and_then(|axis| tensor.shape.get(axis)).copied();
        if scales.len() > 1 && along != Some(outputs as i64) {
            return fault(format!("the scales of its weights go along axis {}, not that of outputs", tensor.axis));
        }
        if scales.len() != 1 && scales.len() != outputs || scales.iter().any(|s| !(s.is_finite() && *s > 0.0)) {
            let found = scales.len();
            return fault(format!("its weights must have one scale above 0, or {outputs}, found {found}"));
        }
        if tensor.zeros.iter().any(|zero| *zero != 0) {
            return fault("its weights must have the zero point 0");
        }
        let given = bias(call, outputs)?;
        let (mut sums, mut reaches) = (vec![0i64; outputs], vec![0i64; outputs]);
        for (at, w) in weights.iter().enumerate() {
            let w = i64::from(*w as i8);
            sums[at % outputs] += w;
            reaches[at % outputs] += w.abs();
        }
        let is_short = rounding == Rounding::Once && scales.len() == 1;
        let furthest = i64::from((127 - x.zero).max(x.zero + 128));
        let folded = |at: usize| i64::from(given[at]) - sums[at] * i64::from(x.zero);
        // sums wrap, so that what is folded may, too
        let mut bias: Vec<i32> = (0..outputs).map(|at| folded(at) as i32).collect();
        let mut by: Vec<Multiplier> = scales.iter().map(|scale| multiplier(x, *scale, out, is_short)).collect();
        let mut most: Vec<i64> = (0..outputs).map(|at| reaches[at] * furthest + i64::from(given[at]).abs()).collect();
        if rounding == Rounding::Twice && by.len() == outputs {
            let is_fixed: Vec<bool> = reaches.iter().map(|reach| *reach == 0).collect();
            let places = places_of(by.iter().zip(&is_fixed).filter(|(_, fixed)| !**fixed).map(|(by, _)| *by));
            for at in (0..outputs).filter(|at| is_fixed[*at]) {
                (bias[at], by[at]) = fixed(bias[at], by[at], places);
                most[at] = i64::from(bias[at]).abs();
            }
        }
        Ok(Sum { x, out, bias, reach: most.into_iter().max().unwrap_or(0), by, rounding })
    }

    fn finished(&self, cx: &mut Cx<'_>, sum: ValueId, activation: Activation) -> Outcome<ValueId> {
        let bias = cx.vector(&self.bias);
        let sum = cx.binary(BinaryOp::Add, sum, bias)?;
        let y = match self.rounding {
            Rounding::Once => cx.times_once(sum, &self.by)?,
            Rounding::Twice => cx.times(sum, self.reach, &self.by)?,
        };
        cx.quantised(y, self.out, activation.integers(self.out))
    }
}

/// Places that some output is moved down by, so that those whose numbers are free do not differ; at least one, and few
/// enough for their sums to have room.
fn places_of(live: impl Iterator<Item = Multiplier>) -> u32 {
    live.filter_map(|by| u32::try_from(-by.shift).ok()).filter(|places| (1..=16).contains(places)).min().unwrap_or(1)
}

/// Bias and factor of an output whose weights are all 0: it is one number, and so it stays, of a sum like those of the
/// others. Training leaves such outputs with a tiny scale and a bias of 2^30, with which no sum would have a bit to spare.
fn fixed(bias: i32, by: Multiplier, places: u32) -> (i32, Multiplier) {
    // what is further away is the end of 8 bits, whatever the zero point
    let number = by.times(bias).clamp(-512, 511);
    (number << (places + 1), Multiplier { fraction: 1 << 30, shift: -(places as i32) })
}

/// How the reference rounds what it scales.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rounding {
    /// At the point (`FULLY_CONNECTED`).
    Once,
    /// 31 bits below the point, then there (`CONV_2D`, `DEPTHWISE_CONV_2D`).
    Twice,
}

/// The factor of a sum. Where one is for all outputs of a product, the product of the scales has 32 bits.
fn multiplier(x: Quant, scale: f32, out: Quant, is_short: bool) -> Multiplier {
    let product = if is_short { f64::from(x.scale * scale) } else { f64::from(x.scale) * f64::from(scale) };
    Multiplier::of(product / f64::from(out.scale))
}

/// The bias of each output, 0 if it is left out.
fn bias(call: &Call<'_>, outputs: usize) -> Outcome<Vec<i32>> {
    if !call.has(2) {
        return Ok(vec![0; outputs]);
    }
    let (dtype, shape, bytes) = call.known(2, "the bias")?;
    let values: Vec<i32> = bytes.as_chunks::<4>().0.iter().map(|b| i32::from_le_bytes(*b)).collect();
    match dtype {
        DType::I32 if values.len() == outputs => Ok(values),
        other => fault(format!("its bias must have {outputs} elements of i32, found {shape:?} of {other}")),
    }
}

fn fully_connected<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let kind = kind(call, 0)?;
    let x = call.x(cx, 0)?;
    let (own, shape, bytes) = call.known(1, "the weights")?;
    let [outputs, inputs] = shape[..] else { return fault(format!("its weights must have 2 axes, found {shape:?}")) };
    if own != cx.dtype(x) {
        return fault(format!("its weights must have elements of {}, found {own}", cx.dtype(x)));
    }
    if call.byte(1)? != 0 {
        return fault("its weights are shuffled, which is not supported");
    }
    let extents = cx.shape(x);
    let count: i64 = extents.iter().product();
    if inputs < 1 || outputs < 1 || count % inputs != 0 {
        return fault(format!("weights of {shape:?} do not go over an operand of {extents:?}"));
    }
    let rows = cx.reshape(x, &[count / inputs, inputs])?;
    let bytes = turned(bytes, outputs as usize, inputs as usize, own.size_bytes());
    let w = cx.constant(call.tensor(1)?.name, own, &[inputs, outputs], bytes.clone());
    let activation = Activation::of(call.byte(0)?)?;
    let y = if kind == Kind::Float {
        let y = cx.emit(Op::MatMul, &[rows, w])?;
        biased(cx, call, y, outputs as usize, activation)?[0]
    } else {
        let sum = Sum::of(call, &bytes, outputs as usize, Rounding::Once)?;
        let (rows, w) = (cx.cast(rows, DType::I32)?, cx.cast(w, DType::I32)?);
        let y = cx.emit(Op::MatMul, &[rows, w])?;
        sum.finished(cx, y, activation)?
    };
    let keeps = call.byte(2)? != 0 && extents.last() == Some(&inputs);
    let head = if keeps { extents[..extents.len() - 1].to_vec() } else { vec![count / inputs] };
    Ok(vec![cx.reshape(y, &[head, vec![outputs]].concat())?])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the zero point, and whatever the others are moved by.
    #[test]
    fn an_output_without_weights_stays_its_number() {
        let biases = [0, 1, -1, 77, -4096, 1 << 29, -(1 << 29), 1_073_741_952, -1_073_741_760, i32::MAX, i32::MIN];
        let factors = [0.0, 1e-12, 3e-10, 4.7e-9, 0.001, 0.37, 0.5, 0.99, 1.0, 3.5, 1e9].map(Multiplier::of);
        for (bias, by, places) in biases
            .iter()
            .flat_map(|bias| factors.iter().flat_map(move |by| [1, 2, 9, 16].map(|places| (*bias, *by, places))))
        {
            let (small, factor) = fixed(bias, by, places);
            assert!(small.abs() < 1 << 29 && factor.shift < 0, "{bias} {by:?}: {small} {factor:?}");
            for zero in [-128, 0, 127] {
                let byte = |number: i32| (i64::from(number) + zero).clamp(-128, 127);
                assert_eq!(byte(factor.times(small)), byte(by.times(bias)), "{bias} {by:?} {places}");
            }
        }
    }

    #[test]
    fn an_output_without_weights_is_moved_as_another_one_is() {
        let of = |shifts: &[i32]| places_of(shifts.iter().map(|shift| Multiplier { fraction: 1 << 30, shift: *shift }));
        assert_eq!([of(&[]), of(&[0, 3]), of(&[-9, -7, -8]), of(&[-30])], [1, 1, 7, 1]);
    }
}
