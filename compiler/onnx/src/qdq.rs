//! Quantised arithmetic behind `DequantizeLinear`: operators of floats whose operands were dequantised become operators
//! of integers.
//!
//! `Σ (s (q - z)) (t (p - u))` is `s t Σ (q - z) (p - u)`, and the sum is exact. The walk remembers of every
//! dequantised tensor what it was (`Quantized`), and of every float that is a scaled integer what that integer is
//! (`Scaled`), so that a quantisation behind it scales once. Operators that only move elements, and maxima, work on the
//! integers themselves. All else is said in `exact.rs`.
//! A sum that stays one of floats leaves a note with the reason.

use std::collections::BTreeMap;
use std::rc::Rc;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, ReduceOp};
use tenfold_ir::relax::{ConvLayout, Op, PadMode, ValueId, Window};
use tenfold_ir::{DType, Scalar};

use crate::call::Call;
use crate::elem::Elem;
use crate::emit::int;
use crate::exact::Exact;
use crate::fixed::Term;
use crate::ops::{Convert, limits, table, window};
use crate::tensor::TensorData;
use crate::value::{Outcome, Value};
use crate::walk::Cx;

/// A tensor of quantised integers, with what it stands for: `scale · (q - zero)`.
#[derive(Clone, Debug)]
pub(crate) struct Quantized {
    /// The integers.
    pub(crate) q: ValueId,
    /// Their type.
    pub(crate) elem: Elem,
    /// One scale, or one per extent of `axis`.
    pub(crate) scale: Vec<f32>,
    /// As many zero points.
    pub(crate) zero: Vec<i64>,
    /// The axis that several scales go along.
    pub(crate) axis: usize,
    /// The integers as they stand in the file, if they do.
    pub(crate) data: Option<Rc<TensorData>>,
    /// Whether those are a matrix that is turned here.
    pub(crate) turned: bool,
}

/// A float that is an integer times one factor, or one per channel.
#[derive(Clone, Debug)]
pub(crate) struct Scaled {
    /// The integers, of 32 bits.
    pub(crate) sum: ValueId,
    /// No element of it is further from 0.
    pub(crate) reach: i64,
    /// The factors.
    pub(crate) scale: Vec<f64>,
    /// The axis that several factors go along.
    pub(crate) axis: usize,
}

/// What the walk remembers of values of floats.
#[derive(Default)]
pub(crate) struct Quantization {
    pub(crate) values: BTreeMap<ValueId, Rc<Quantized>>,
    pub(crate) sums: BTreeMap<ValueId, Rc<Scaled>>,
    /// Sums of two tensors that were dequantised.
    pub(crate) added: BTreeMap<ValueId, [Rc<Quantized>; 2]>,
    /// What other floats are rounded from.
    pub(crate) exact: BTreeMap<ValueId, Exact>,
    /// Nodes that work on dequantised tensors and stay operators of floats, with the reason.
    pub(crate) notes: Vec<(String, String)>,
}

impl Quantization {
    /// Whether a float is computed from quantised tensors, and it is known what it is rounded from.
    pub(crate) fn knows(&self, x: ValueId) -> bool {
        self.values.contains_key(&x)
            || self.sums.contains_key(&x)
            || self.added.contains_key(&x)
            || self.exact.contains_key(&x)
    }
}

/// The integers of an operator, or why there are none.
type Attempt<T> = Outcome<Result<T, String>>;

/// Elements of a bias that are looked at.
const MOST_BIASES: usize = 1 << 16;

/// Operators that give every element of their first operand a place, or repeat it, and no other value.
const MOVES: &[&str] = &[
    "DepthToSpace",
    "Expand",
    "Flatten",
    "Gather",
    "GatherElements",
    "GatherND",
    "GlobalMaxPool",
    "Identity",
    "MaxPool",
    "Reshape",
    "Slice",
    "SpaceToDepth",
    "Split",
    "Squeeze",
    "Tile",
    "Transpose",
    "Unsqueeze",
];

/// Sums of products, and means: operators whose integer form is another operator.
const SUMS: &[&str] = &["AveragePool", "Conv", "ConvTranspose", "Einsum", "Gemm", "GlobalAveragePool", "MatMul"];

impl Quantized {
    pub(crate) fn per_tensor(&self) -> bool {
        self.scale.len() == 1
    }

    /// Whether a greater integer stands for a greater number.
    fn keeps_order(&self) -> bool {
        self.per_tensor() && self.scale[0] > 0.0
    }

    /// Whether equal integers stand for equal numbers.
    pub(crate) fn stands_for_the_same(&self, other: &Quantized) -> bool {
        let own = |of: &Quantized| (of.elem, of.scale.clone(), of.zero.clone());
        self.per_tensor() && own(self) == own(other)
    }

    /// The greatest distance of an element from its zero point.
    fn reach(&self) -> i64 {
        let (low, high) = limits(self.elem).unwrap_or((0, 0));
        self.zero.iter().map(|zero| (zero - low).max(high - zero)).max().unwrap_or(0)
    }
}

impl<'m> Cx<'m> {
    /// What a value of the walk was before it was dequantised.
    pub(crate) fn quantized(&self, value: &Value) -> Option<Rc<Quantized>> {
        match value {
            Value::Node(id, Elem::Float) => self.quant.values.get(id).cloned(),
            Value::Node(..) | Value::Known(_) | Value::Ints(_) | Value::None | Value::Poison => None,
        }
    }

    /// What becomes the nearest integer when a float is divided by `scale`, and the axis of its factors: multiples of
    /// integers, or of sums of products, or the sum of two such.
    pub(crate) fn terms(&mut self, x: ValueId, scale: f32) -> Outcome<Option<(Vec<Term>, usize)>> {
        let over = |factor: f64| factor / f64::from(scale);
        if let Some(of) = self.quant.sums.get(&x) {
            let factors = of.scale.iter().map(|factor| over(*factor)).collect();
            return Ok(Some((vec![Term { sum: of.sum, reach: of.reach, factors }], of.axis)));
        }
        let own = self.quant.values.get(&x).filter(|of| of.per_tensor()).map(|of| vec![of.clone()]);
        let Some(all) = own.or_else(|| self.quant.added.get(&x).map(|both| both.to_vec())) else { return Ok(None) };
        let mut terms = Vec::new();
        for of in all {
            let (sum, factors) = (factor(self, &of, false)?.x, vec![over(f64::from(of.scale[0]))]);
            terms.push(Term { sum, reach: of.reach(), factors });
        }
        Ok(Some((terms, 0)))
    }

    /// `scale · (q - zero)` as a value of the function, of which the walk remembers what it was.
    pub(crate) fn dequantized(&mut self, of: Quantized) -> Outcome<ValueId> {
        let y = self.numbers(&of, DType::F32)?;
        self.quant.values.insert(y, Rc::new(of));
        Ok(y)
    }

    /// `scale · (q - zero)` in floats of that type.
    pub(crate) fn numbers(&mut self, of: &Quantized, dtype: DType) -> Outcome<ValueId> {
        let x = factor(self, of, false)?.x;
        let x = self.cast(x, dtype)?;
        let scale: Vec<f64> = of.scale.iter().map(|scale| f64::from(*scale)).collect();
        let scale = self.spread(dtype, &scale, of.axis, self.rank(x))?;
        self.binary(BinaryOp::Mul, x, scale)
    }

    /// Numbers along an axis of a tensor of that rank; one number is a scalar.
    pub(crate) fn spread(&mut self, dtype: DType, values: &[f64], axis: usize, rank: usize) -> Outcome<ValueId> {
        if let [one] = values {
            return Ok(self.b.scalar(Scalar::float(dtype, *one)));
        }
        let flat = table(self, dtype, values)?;
        self.along(flat, axis, rank)
    }

    /// `sum · scale` as floats, of which the walk remembers what they are.
    fn rescaled(&mut self, of: Scaled) -> Outcome<ValueId> {
        let y = self.scaled(&of, DType::F32)?;
        self.quant.sums.insert(y, Rc::new(of));
        Ok(y)
    }

    /// `sum · scale` in floats of that type.
    pub(crate) fn scaled(&mut self, of: &Scaled, dtype: DType) -> Outcome<ValueId> {
        let x = self.cast(of.sum, dtype)?;
        let scale = self.spread(dtype, &of.scale, of.axis, self.rank(of.sum))?;
        self.binary(BinaryOp::Mul, x, scale)
    }
}

/// The results of a node of floats on integers, if its operands were dequantised and it has such a form.
pub(crate) fn on_integers<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, convert: Convert) -> Outcome<Option<Vec<Value>>> {
    let name = call.node.op_type;
    let known: Vec<_> = call.inputs.iter().map(|value| cx.quantized(value)).collect();
    let Some(first) = known.first().cloned().flatten() else {
        if SUMS.contains(&name) && known.iter().any(Option::is_some) {
            note(cx, call, "its first operand was not dequantised".into());
        }
        return Ok(None);
    };
    if MOVES.contains(&name) && first.keeps_order() && (name == "Split" || !call.wants(1)) {
        return moved(cx, call, convert, &first, 1).map(Some);
    }
    if name == "Concat" && known.iter().all(|of| of.as_ref().is_some_and(|of| of.stands_for_the_same(&first))) {
        return moved(cx, call, convert, &first, known.len()).map(Some);
    }
    if let ("Add", [_, Some(second)]) = (name, &known[..]) {
        return added(cx, call, convert, [&first, second]).map(Some);
    }
    if let ("Mul", [_, Some(second)]) = (name, &known[..])
        && let Ok(reach) = fits(1, &first, second)
        && first.per_tensor()
        && second.per_tensor()
    {
        return multiplied(cx, [&first, second], reach).map(Some);
    }
    if !SUMS.contains(&name) {
        return Ok(None);
    }
    let attempt = match name {
        "Conv" => conv(cx, call, &first)?,
        "MatMul" => matmul(cx, call, &first)?,
        "Gemm" => gemm(cx, call, &first)?,
        "GlobalAveragePool" => global_mean(cx, &first)?,
        "AveragePool" => average_pool(cx, call, &first)?,
        other => Err(format!("{other} has no form on integers")),
    };
    match attempt {
        Ok(y) => cx.one(y).map(Some),
        Err(why) => {
            note(cx, call, why);
            Ok(None)
        }
    }
}

fn note(cx: &mut Cx<'_>, call: &Call<'_, '_>, why: String) {
    cx.quant.notes.push((crate::walk::place(call.node), why));
}

/// A sum of two dequantised tensors: one of floats, of which the walk remembers what it is made of.
fn added<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, convert: Convert, of: [&Rc<Quantized>; 2]) -> Outcome<Vec<Value>> {
    let results = convert(cx, call)?;
    if let (Some(Value::Node(sum, _)), true) = (results.first(), of.iter().all(|of| of.per_tensor())) {
        cx.quant.added.insert(*sum, of.map(Rc::clone));
    }
    Ok(results)
}

/// A product of two dequantised tensors, element by element.
fn multiplied(cx: &mut Cx<'_>, of: [&Rc<Quantized>; 2], reach: i64) -> Outcome<Vec<Value>> {
    let (a, b) = (factor(cx, of[0], false)?.x, factor(cx, of[1], false)?.x);
    let sum = cx.binary(BinaryOp::Mul, a, b)?;
    let y = cx.rescaled(Scaled { sum, reach, scale: product_scales(of[0], of[1]), axis: 0 })?;
    cx.one(y)
}

/// A movement of the integers of the first `count` operands, dequantised where it ends.
fn moved<'m>(
    cx: &mut Cx<'m>,
    call: &Call<'_, 'm>,
    convert: Convert,
    of: &Quantized,
    count: usize,
) -> Outcome<Vec<Value>> {
    let mut inner = call.clone();
    for input in inner.inputs.iter_mut().take(count) {
        if let Some(own) = cx.quantized(input) {
            *input = Value::Node(own.q, own.elem);
        }
    }
    let results = convert(cx, &inner)?;
    let back = |value: Value| match value {
        Value::Node(q, elem) if elem == of.elem => {
            let y = cx.dequantized(Quantized { q, data: None, ..of.clone() })?;
            Ok(cx.plain(y))
        }
        other => Ok(other),
    };
    results.into_iter().map(back).collect()
}

/// An operand of a sum of products. Its zero point is 0, or stays to be taken from the sum.
struct Factor {
    /// The integers in 32 bits, of which some zero point is still to be taken.
    x: ValueId,
    /// That zero point.
    left: i64,
}

/// `q` in 32 bits. A zero point per tensor is left to the caller, if it can be taken from the sum.
fn factor(cx: &mut Cx<'_>, of: &Quantized, later: bool) -> Outcome<Factor> {
    let x = cx.cast(of.q, DType::I32)?;
    match of.zero.as_slice() {
        zeros if zeros.iter().all(|zero| *zero == 0) => Ok(Factor { x, left: 0 }),
        [zero] if later => Ok(Factor { x, left: *zero }),
        zeros => {
            let zeros: Vec<f64> = zeros.iter().map(|zero| *zero as f64).collect();
            let zero = cx.spread(DType::I32, &zeros, of.axis, cx.rank(of.q))?;
            Ok(Factor { x: cx.binary(BinaryOp::Sub, x, zero)?, left: 0 })
        }
    }
}

/// How far from 0 sums of so many products are at most, if they fit 32 bits.
fn fits(count: i64, x: &Quantized, w: &Quantized) -> Result<i64, String> {
    let most = count.checked_mul(x.reach()).and_then(|n| n.checked_mul(w.reach()));
    match most {
        Some(n) if n <= 1 << 30 => Ok(n),
        _ => Err(format!("sums of {count} products of {} and {} may not fit 32 bits", x.elem, w.elem)),
    }
}

/// `Σ (p - u)` over all axes but one of a tensor of the file: what one unit of the other zero point adds to the sum.
fn sums_along(of: &Quantized, keep: usize) -> Option<Vec<i64>> {
    let data = of.data.as_ref()?;
    let shape: Vec<usize> = data.shape.iter().map(|n| *n as usize).collect();
    let keep = if of.turned { 1 - keep.min(1) } else { keep };
    let (count, inner) = (*shape.get(keep)?, shape[keep + 1..].iter().product::<usize>().max(1));
    let dtype = data.elem.storage()?;
    let bytes = data.bytes().ok()?;
    let mut sums = vec![0i64; count];
    for (i, element) in bytes.chunks_exact(dtype.size_bytes()).enumerate() {
        let at = i / inner % count;
        let value = match dtype {
            DType::I8 => i64::from(element[0] as i8),
            DType::U8 => i64::from(element[0]),
            _ => Scalar::from_le_bytes(dtype, element).to_i128() as i64,
        };
        sums[at] += value - of.zero[if of.per_tensor() { 0 } else { at }];
    }
    Some(sums)
}

/// The factors of a product of a tensor with one scale and one with a scale per channel.
fn product_scales(x: &Quantized, w: &Quantized) -> Vec<f64> {
    w.scale.iter().map(|scale| f64::from(x.scale[0]) * f64::from(*scale)).collect()
}

/// What is added to a sum per channel: an integer bias, and what zero points leave.
#[derive(Default)]
struct Bias {
    integers: Option<ValueId>,
    /// How far from 0 the integers are at most.
    reach: i64,
    floats: Option<ValueId>,
}

/// The bias of a sum with these factors: integers if it was dequantised from such, with the factors as its scales.
fn bias<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, i: usize, scales: &[f64]) -> Outcome<Bias> {
    if !call.has(i) {
        return Ok(Bias::default());
    }
    let same = |of: &Quantized| {
        let own = |at: usize| f64::from(of.scale[at.min(of.scale.len() - 1)]);
        let near = |(at, scale): (usize, &f64)| (own(at) - scale).abs() <= scale.abs() * 1e-5;
        of.elem == Elem::Int32
            && of.zero.iter().all(|zero| *zero == 0)
            && (of.scale.len() <= scales.len())
            && scales.iter().enumerate().all(near)
    };
    match cx.quantized(call.value(i)?).filter(|of| same(of)) {
        Some(of) => Ok(Bias { integers: Some(of.q), reach: furthest(&of), floats: None }),
        None => Ok(Bias { floats: Some(call.x(cx, i)?), ..Bias::default() }),
    }
}

/// How far from 0 integers of 32 bits are at most.
fn furthest(of: &Quantized) -> i64 {
    let data = of.data.as_ref().and_then(|data| data.scalars(MOST_BIASES));
    let most = data.and_then(|all| all.iter().map(|value| value.to_i128().unsigned_abs() as i64).max());
    most.unwrap_or(1 << 31)
}

/// `x + Σ bias`, the vectors along `axis` of a tensor of that rank.
fn with_vector(cx: &mut Cx<'_>, x: ValueId, vector: ValueId, axis: usize) -> Outcome<ValueId> {
    let rank = cx.rank(x);
    let mut vector = vector;
    if cx.rank(vector) == 1 {
        vector = cx.along(vector, axis, rank)?;
    }
    cx.binary(BinaryOp::Add, x, vector)
}

/// A sum of products with its bias, as floats.
fn finished(cx: &mut Cx<'_>, of: Scaled, bias: &Bias) -> Outcome<ValueId> {
    let axis = of.axis;
    let sum = match bias.integers {
        Some(vector) => with_vector(cx, of.sum, vector, axis)?,
        None => of.sum,
    };
    let y = cx.rescaled(Scaled { sum, reach: of.reach + bias.reach, ..of })?;
    match bias.floats {
        Some(vector) => with_vector(cx, y, vector, axis),
        None => Ok(y),
    }
}

/// `sum - zero · sums`, where `sums` are of the other operand along `axis`.
fn without_zero(cx: &mut Cx<'_>, sum: ValueId, zero: i64, sums: &[i64], axis: usize) -> Outcome<ValueId> {
    if zero == 0 {
        return Ok(sum);
    }
    let offsets: Vec<f64> = sums.iter().map(|s| (s * zero) as i32 as f64).collect();
    let vector = cx.spread(DType::I32, &offsets, axis, cx.rank(sum))?;
    cx.binary(BinaryOp::Sub, sum, vector)
}

fn conv<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, x: &Rc<Quantized>) -> Attempt<ValueId> {
    let Some(w) = cx.quantized(call.value(1)?) else { return Ok(Err("its weights were not dequantised".into())) };
    if !x.per_tensor() {
        return Ok(Err("its operand has several scales".into()));
    }
    if !w.per_tensor() && w.axis != 0 {
        return Ok(Err(format!("its weights have scales along axis {}, not per output channel", w.axis)));
    }
    let weights = cx.fixed(w.q)?;
    if weights.len() < 3 || cx.rank(x.q) != weights.len() {
        return Ok(Err("it has no spatial axes".into()));
    }
    let reach = match fits(weights[1..].iter().product(), x, &w) {
        Ok(reach) => reach,
        Err(why) => return Ok(Err(why)),
    };
    let sum = conv_sum(cx, call, x, &w)?;
    let scale = product_scales(x, &w);
    let bias = bias(cx, call, 2, &scale)?;
    finished(cx, Scaled { sum, reach, scale, axis: 1 }, &bias).map(Ok)
}

/// `Σ (x - zero) (w - zero)` over windows, padded with the zero point.
pub(crate) fn conv_sum<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, x: &Quantized, w: &Quantized) -> Outcome<ValueId> {
    let (dims, weights) = (cx.dims(x.q), cx.fixed(w.q)?);
    let kernel = weights.get(2..).unwrap_or_default().to_vec();
    let mut window = window(call, dims.get(2..).unwrap_or_default(), kernel)?;
    let sums = sums_along(w, 0);
    let mut x = x.clone();
    if sums.is_some() && x.zero != [0] {
        x.q = padded(cx, &x, &mut window)?;
    }
    let (left, right) = (factor(cx, &x, sums.is_some())?, factor(cx, w, false)?);
    let group = call.int_or("group", 1)?;
    let sum = cx.emit(Op::Conv { window, group, layout: ConvLayout::PLAIN }, &[left.x, right.x])?;
    without_zero(cx, sum, left.left, &sums.unwrap_or_default(), 1)
}

/// The integers with the padding of a window, which is left without one. Padding is zero, so it is the zero point.
fn padded(cx: &mut Cx<'_>, x: &Quantized, window: &mut Window) -> Outcome<ValueId> {
    if window.pads.iter().all(|pad| *pad == 0) {
        return Ok(x.q);
    }
    let (before, after) = window.pads.split_at(window.pads.len() / 2);
    let sides = |pads: &[i64]| [0, 0].iter().chain(pads).map(|pad| int(*pad)).collect::<Vec<IntExpr>>();
    let (before, after) = (sides(before), sides(after));
    window.pads.fill(0);
    let filler = Scalar::int(cx.dtype(x.q), i128::from(x.zero[0]));
    let filler = cx.b.scalar(filler);
    cx.emit(Op::Pad { mode: PadMode::Constant, before, after }, &[x.q, filler])
}

fn matmul<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, a: &Rc<Quantized>) -> Attempt<ValueId> {
    let Some(b) = cx.quantized(call.value(1)?) else { return Ok(Err("its second operand was not dequantised".into())) };
    product(cx, a, &b, &Bias::default())
}

/// A matrix product of quantised operands, the second with a scale per column or one for all.
fn product(cx: &mut Cx<'_>, a: &Quantized, b: &Quantized, bias: &Bias) -> Attempt<ValueId> {
    let (ranks, columns) = ((cx.rank(a.q), cx.rank(b.q)), cx.rank(b.q).saturating_sub(1));
    if ranks.0 < 2 || ranks.1 < 2 {
        return Ok(Err("an operand is a vector".into()));
    }
    if !a.per_tensor() || !(b.per_tensor() || b.axis == columns) {
        return Ok(Err("an operand has scales that do not go along columns of the second".into()));
    }
    let Some(count) = cx.dims(a.q)[ranks.0 - 1].as_const() else {
        return Ok(Err("the number of products in a sum is not known".into()));
    };
    let reach = match fits(count, a, b) {
        Ok(reach) => reach,
        Err(why) => return Ok(Err(why)),
    };
    let sum = product_sum(cx, a, b)?;
    let axis = cx.rank(sum) - 1;
    finished(cx, Scaled { sum, reach, scale: product_scales(a, b), axis }, bias).map(Ok)
}

/// `Σ (a - zero) (b - zero)` over the inner axis.
pub(crate) fn product_sum(cx: &mut Cx<'_>, a: &Quantized, b: &Quantized) -> Outcome<ValueId> {
    let sums = if cx.rank(b.q) == 2 { sums_along(b, 1) } else { None };
    let (left, right) = (factor(cx, a, sums.is_some())?, factor(cx, b, false)?);
    let sum = cx.emit(Op::MatMul, &[left.x, right.x])?;
    let axis = cx.rank(sum).saturating_sub(1);
    without_zero(cx, sum, left.left, &sums.unwrap_or_default(), axis)
}

fn gemm<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, a: &Rc<Quantized>) -> Attempt<ValueId> {
    let Some(b) = cx.quantized(call.value(1)?) else { return Ok(Err("its second operand was not dequantised".into())) };
    if call.float_or("alpha", 1.0)? != 1.0 || (call.has(2) && call.float_or("beta", 1.0)? != 1.0) {
        return Ok(Err("its factors `alpha` and `beta` are not 1".into()));
    }
    let a = turned(cx, call, "transA", a)?;
    let b = turned(cx, call, "transB", &b)?;
    let bias = bias(cx, call, 2, &product_scales(&a, &b))?;
    product(cx, &a, &b, &bias)
}

/// An operand of `Gemm` as it enters the product.
fn turned<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, attribute: &str, of: &Quantized) -> Outcome<Quantized> {
    if call.int_or(attribute, 0)? == 0 || cx.rank(of.q) != 2 {
        return Ok(of.clone());
    }
    let q = cx.transpose(of.q, &[1, 0])?;
    Ok(Quantized { q, axis: 1 - of.axis.min(1), turned: !of.turned, ..of.clone() })
}

/// The mean over all spatial axes: an exact sum, divided when it is scaled.
fn global_mean(cx: &mut Cx<'_>, x: &Rc<Quantized>) -> Attempt<ValueId> {
    let dims = cx.dims(x.q);
    let count = dims.get(2..).unwrap_or_default().iter().try_fold(1i64, |n, d| n.checked_mul(d.as_const()?));
    let Some(count) = count.filter(|n| *n > 0 && x.per_tensor() && n.saturating_mul(x.reach()) < 1 << 30) else {
        return Ok(Err("its extents or scales do not allow a sum in 32 bits".into()));
    };
    let wide = cx.cast(x.q, DType::I32)?;
    let axes: Vec<usize> = (2..dims.len()).collect();
    let sum = cx.reduce(ReduceOp::Sum, wide, &axes, true)?;
    let offset = cx.b.scalar(Scalar::int(DType::I32, i128::from(count * x.zero[0])));
    let sum = cx.binary(BinaryOp::Sub, sum, offset)?;
    let scale = vec![f64::from(x.scale[0]) / count as f64];
    cx.rescaled(Scaled { sum, reach: count * x.reach(), scale, axis: 0 }).map(Ok)
}

/// Ones that a convolution is made of, at most.
const MOST_ONES: i64 = 1 << 24;

/// The mean over windows of one size: sums by a convolution with ones, channel by channel.
fn average_pool<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, x: &Rc<Quantized>) -> Attempt<ValueId> {
    let dims = cx.dims(x.q);
    let Some(channels) = dims.get(1).and_then(IntExpr::as_const).filter(|_| x.per_tensor()) else {
        return Ok(Err("its channels or scales do not allow a sum in 32 bits".into()));
    };
    let kernel = call.ints("kernel_shape")?.unwrap_or_default();
    let window = window(call, dims.get(2..).unwrap_or_default(), kernel.clone())?;
    let whole = window.pads.iter().all(|pad| *pad == 0) || call.int_or("count_include_pad", 0)? != 0;
    if !whole || call.int_or("ceil_mode", 0)? != 0 {
        return Ok(Err("its windows at the border have fewer elements".into()));
    }
    let count = kernel.iter().try_fold(1i64, |n, extent| n.checked_mul(*extent));
    let few = |count: &i64| count.checked_mul(channels).is_some_and(|ones| ones <= MOST_ONES);
    let Some(count) = count.filter(few) else {
        return Ok(Err("its windows are too large for a convolution with ones".into()));
    };
    let shape: Vec<u64> = [channels, 1].iter().chain(&kernel).map(|n| *n as u64).collect();
    let ones = vec![1u8; (channels * count) as usize];
    let data = crate::tensor::Elements::Bytes(tenfold_ir::ConstBytes::Inline(ones.into()));
    let data = Rc::new(TensorData { elem: Elem::Int8, shape, data });
    let q = cx.constant(&data)?;
    let w =
        Quantized { q, elem: Elem::Int8, scale: vec![1.0], zero: vec![0], axis: 0, data: Some(data), turned: false };
    let reach = match fits(count, x, &w) {
        Ok(reach) => reach,
        Err(why) => return Ok(Err(why)),
    };
    let mut depthwise = call.clone();
    depthwise.attributes.insert("group", crate::proto::AttributeValue::Int(channels));
    let sum = conv_sum(cx, &depthwise, x, &w)?;
    let scale = vec![f64::from(x.scale[0]) / count as f64];
    cx.rescaled(Scaled { sum, reach, scale, axis: 0 }).map(Ok)
}
