//! Random graphs, the same in every run: each grows by operators that its values' shapes allow.

use tenfold_ir::DType;
use tenfold_ir::op::{Activation, ArgOp, BinaryOp, CmpOp, ElementOp, Real, ReduceOp, UnaryOp};
use tenfold_ir::relax::{ConvLayout, Op, PadMode, SliceAxis, Type, ValueId, Window};

use crate::case::{Case, Make, fixed};
use crate::data::Random;

const GRAPHS: u64 = 40;
const STEPS: usize = 12;

pub(crate) fn cases() -> Vec<Case> {
    (0..GRAPHS).map(|seed| grow(&format!("random_{seed}"), seed, &steps(seed), 4)).collect()
}

/// The seeds of a graph's steps: what a step does follows from its seed and from what is there.
fn steps(seed: u64) -> Vec<u64> {
    let mut random = Random::new(1000 + seed);
    (0..STEPS * 2).map(|_| random.bits()).collect()
}

/// The values of a graph that later operators may use.
struct Graph {
    m: Make,
    random: Random,
    pool: Vec<(ValueId, Vec<i64>)>,
}

/// The graph of these steps; the newest of its values are its results.
fn grow(name: &str, seed: u64, steps: &[u64], results: usize) -> Case {
    let random = Random::new(1000 + seed);
    let mut g = Graph { m: Make::new(name), random, pool: Vec::new() };
    let dtype = if seed % 5 == 4 { DType::I32 } else { DType::F32 };
    for _ in 0..3 {
        let shape: Vec<i64> = (0..1 + g.random.below(3)).map(|_| 1 + g.random.below(5) as i64).collect();
        let value = g.m.input(dtype, &fixed(&shape));
        g.pool.push((value, shape));
    }
    for step in steps {
        g.random = Random::new(*step);
        g.step(dtype);
    }
    let results: Vec<ValueId> = g.pool.iter().rev().take(results).map(|(v, _)| *v).collect();
    g.m.done(&results)
}

impl Graph {
    fn any(&mut self) -> (ValueId, Vec<i64>) {
        // The newest are the likeliest, so that graphs grow deep.
        let n = self.pool.len();
        let back = self.random.below(n).min(self.random.below(n));
        self.pool[n - 1 - back].clone()
    }

    /// Adds what an operator gives, if it accepts its operands and the result is of the graph's dtype.
    fn push(&mut self, op: Op, args: &[ValueId]) -> bool {
        let Ok(value) = self.m.b.emit(op, args) else { return false };
        let Type::Tensor(ty) = self.m.b.ty(value).clone() else { return false };
        let shape: Option<Vec<i64>> = ty.shape.iter().map(|d| d.as_const()).collect();
        let first = self.m.b.tensor(self.pool[0].0).dtype;
        match shape {
            Some(shape) if ty.dtype == first && shape.iter().product::<i64>() <= 400 => {
                self.pool.push((value, shape));
                true
            }
            Some(_) | None => false,
        }
    }

    fn step(&mut self, dtype: DType) -> bool {
        let (x, shape) = self.any();
        let rank = shape.len();
        let axis = self.random.below(rank.max(1)).min(rank.saturating_sub(1));
        match self.random.below(13) {
            0 => self.unary(x, dtype),
            1 | 2 => self.binary(x),
            3 if rank > 0 => {
                let op = self.random.pick(&[ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min]);
                let keepdims = self.random.bits() & 1 == 1;
                self.push(Op::Reduce { op, axes: vec![axis], keepdims }, &[x])
            }
            4 if rank > 0 => {
                let (rows, columns) = (shape[rank - 1], 1 + self.random.below(6) as i64);
                let w = self.m.constant(dtype, &[rows, columns]);
                self.push(Op::MatMul, &[x, w])
            }
            5 => {
                let by = 1 + self.random.below(rank.max(1));
                self.push(Op::Transpose { perm: (0..rank).map(|i| (i + by) % rank).collect() }, &[x])
            }
            6 => self.push(Op::Reshape { shape: fixed(&[shape.iter().product()]) }, &[x]),
            7 if rank > 0 => self.push(Op::Concat { axis }, &[x, x]),
            8 if rank > 0 => self.slice(x, &shape),
            9 if rank > 0 => {
                let pad: Vec<i64> = (0..rank).map(|_| self.random.below(2) as i64).collect();
                let mode = self.random.pick(&[PadMode::Edge, PadMode::Wrap]);
                self.push(Op::Pad { mode, before: fixed(&pad), after: fixed(&pad) }, &[x])
            }
            10 if rank > 0 && dtype.is_float() => self.push(Op::Softmax { axis, log: false }, &[x]),
            11 if rank > 0 && dtype.is_float() => self.norm(x, &shape, axis),
            11 if rank > 0 => {
                let op = Op::ArgReduce { op: ArgOp::ArgMax, axis: Some(axis), keepdims: true };
                let Ok(place) = self.m.b.emit(op, &[x]) else { return false };
                self.push(Op::Element(ElementOp::Cast(dtype)), &[place])
            }
            12 if rank >= 2 => self.conv(x, dtype, &shape),
            _ => false,
        }
    }

    /// A convolution along the last axis; what lacks one gets it.
    fn conv(&mut self, x: ValueId, dtype: DType, shape: &[i64]) -> bool {
        let full: Vec<i64> = (shape.len()..3).map(|_| 1).chain(shape.iter().copied()).collect();
        let Ok(x) = self.m.b.emit(Op::Reshape { shape: fixed(&full) }, &[x]) else { return false };
        let kernel: Vec<i64> = full[2..].iter().map(|d| 1 + self.random.below((*d).min(3) as usize) as i64).collect();
        let pads = (0..2 * kernel.len()).map(|_| self.random.below(2) as i64).collect();
        let group = self.random.pick(&[1, full[1]]);
        let out = group * (1 + self.random.below(3) as i64);
        let w = self.m.constant(dtype, &[&[out, full[1] / group], kernel.as_slice()].concat());
        let (strides, dilations) = (vec![1; kernel.len()], vec![1; kernel.len()]);
        let window = Window { kernel, strides, pads, dilations };
        self.push(Op::Conv { window, group, layout: ConvLayout::PLAIN }, &[x, w])
    }

    fn unary(&mut self, x: ValueId, dtype: DType) -> bool {
        let float = [
            ElementOp::Activation(Activation::Relu),
            ElementOp::Activation(Activation::Softsign),
            ElementOp::Activation(Activation::Gelu),
            ElementOp::Unary(UnaryOp::Tanh),
            ElementOp::Unary(UnaryOp::Sigmoid),
            ElementOp::Unary(UnaryOp::Abs),
            ElementOp::Unary(UnaryOp::Neg),
        ];
        let ints = [UnaryOp::Abs, UnaryOp::Neg, UnaryOp::Not, UnaryOp::Sign].map(ElementOp::Unary);
        let op = if dtype.is_float() { self.random.pick(&float) } else { self.random.pick(&ints) };
        self.push(Op::Element(op), &[x])
    }

    fn binary(&mut self, x: ValueId) -> bool {
        let (y, _) = self.any();
        if self.random.below(4) == 0 {
            let compare = Op::Element(ElementOp::Compare(CmpOp::Lt));
            let Ok(less) = self.m.b.emit(compare, &[x, y]) else { return false };
            return self.push(Op::Element(ElementOp::Select), &[less, x, y]);
        }
        let op = self.random.pick(&[BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Max, BinaryOp::Min]);
        self.push(Op::Element(ElementOp::Binary(op)), &[x, y])
    }

    fn slice(&mut self, x: ValueId, shape: &[i64]) -> bool {
        let axes: Vec<SliceAxis> = shape
            .iter()
            .map(|d| {
                let begin = self.random.below(*d as usize) as i64;
                let extent = (d - begin - self.random.below((d - begin) as usize) as i64).max(1);
                SliceAxis { begin: begin.into(), extent: extent.into(), step: 1 }
            })
            .collect();
        let op = Op::Slice { axes: axes.clone(), drop: vec![] };
        if self.random.below(2) == 0 || !self.push(op.clone(), &[x]) {
            return false;
        }
        let (part, _) = self.pool[self.pool.len() - 1];
        let changed = Op::Element(ElementOp::Unary(UnaryOp::Neg));
        let Ok(changed) = self.m.b.emit(changed, &[part]) else { return false };
        self.push(Op::SliceUpdate { axes, drop: vec![] }, &[x, changed])
    }

    fn norm(&mut self, x: ValueId, shape: &[i64], axis: usize) -> bool {
        let scale = self.m.constant(DType::F32, &shape[axis..]);
        self.push(Op::LayerNorm { axis, epsilon: Real::new(1e-2) }, &[x, scale])
    }
}
