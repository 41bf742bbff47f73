//! Graphs as models have them, of extents at which tiles, vectors and threads begin: convolutions of images and of series,
//! products of rows, attention, and what stands between them.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{Activation, BinaryOp, ElementOp, ReduceOp, UnaryOp};
use tenfold_ir::relax::{ConvLayout, DataLayout, Op, ParamKind, PoolOp, SymKind, TensorType, ValueId, Window};
use tenfold_ir::{DType, Loc, Scalar};

use super::Grow;
use super::params::Choice;

/// Elements that a value may have.
pub(super) const MOST: i64 = 8_000;
/// Multiplications that one operator may take.
const WORK: i64 = 120_000;
/// Around the widths of vectors, and the blocks of channels and tiles.
const FEATURES: [i64; 12] = [1, 3, 4, 7, 8, 12, 15, 16, 17, 24, 32, 33];
const DTYPES: [DType; 8] =
    [DType::F32, DType::F32, DType::F32, DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32];

impl Grow {
    /// An image as batch, channels and spatial axes, or rows of a series in a batch; some extents are a call's.
    pub(super) fn layer_params(&mut self) -> Vec<Choice> {
        self.dtypes = vec![self.random.pick(&DTYPES)];
        let image = self.chance(2);
        let (rank, features) = if image { (4, 1) } else { (3, 2) };
        let (mut shape, mut chosen) = (Vec::new(), Vec::new());
        for axis in 0..rank {
            let extent = match axis {
                _ if axis == features => self.random.pick(&FEATURES),
                0 => 1 + self.random.below(3) as i64,
                _ if image => 5 + self.random.below(14) as i64,
                _ => 1 + self.random.below(40) as i64,
            };
            if axis == features || !self.chance(3) {
                shape.push(IntExpr::from(extent));
                continue;
            }
            let least = (extent - self.random.below(8) as i64).max(if self.chance(4) { 0 } else { 1 });
            let between = least + self.random.below((extent - least + 1) as usize) as i64;
            let kind = SymKind::Dim { param: 0, axis };
            chosen.push(self.dim(["B", "T", "H", "W"][axis], kind, least, vec![extent, least, between]));
            shape.extend(self.dims.last().cloned());
        }
        let ty = TensorType { dtype: self.dtypes[0], shape };
        let value = self.b.param(ParamKind::Input, ty, "x0", 0, Loc::default());
        self.pool.push(value);
        chosen
    }

    pub(super) fn layer_step(&mut self) {
        let x = self.any();
        match (self.shape(x).len(), self.random.below(14)) {
            (4, 0..=4) => self.layer_conv(x),
            (4, 5) => self.layer_pool(x),
            (4, 6) => self.gate(x),
            (3, 0..=2) => self.dense(x),
            (3, 3 | 4) => self.attention(x),
            (3, 5 | 6) => self.series(x),
            (_, 7) => self.norm(),
            (_, 8 | 9) => self.joined(x),
            (_, 10) => self.activated(x),
            (rank, 11) if rank > 1 => self.concat(x, rank),
            (_, 12) => self.movement(),
            _ => self.reduction(),
        }
    }

    fn features(&self, x: ValueId, axis: usize) -> Option<i64> {
        self.shape(x).get(axis)?.as_const().filter(|n| *n > 0)
    }

    fn layer_conv(&mut self, x: ValueId) {
        let (dtype, shape) = (self.dtype(x), self.shape(x));
        let Some(channels) = self.features(x, 1) else { return };
        let group = match self.random.below(8) {
            0..=2 => channels,
            3 if channels % 2 == 0 => 2,
            _ => 1,
        };
        let each = if group == channels { 1 + self.random.below(2) as i64 } else { self.random.pick(&FEATURES) };
        let filters = if group == channels { group * each } else { (each + group - 1) / group * group };
        let window = self.layer_window(shape.len() - 2, &[1, 1, 2, 3, 3, 3, 5]);
        let taps = window.kernel.iter().product::<i64>() * (channels / group);
        let places = self.most(&shape).unwrap_or(i64::MAX) / channels;
        if places.saturating_mul(filters * taps) > WORK {
            return;
        }
        let mut weights = vec![filters, channels / group];
        weights.extend(&window.kernel);
        let mut args = vec![x, self.constant(dtype, &weights)];
        if self.chance(2) {
            args.push(self.constant(dtype, &[filters]));
        }
        let y = self.push(Op::Conv { window, group, layout: ConvLayout::PLAIN }, &args);
        self.behind(y);
    }

    /// One kernel, stride and dilation for all axes; the image keeps its size, loses its borders, or has some more behind.
    fn layer_window(&mut self, spatial: usize, kernels: &[i64]) -> Window {
        let kernel = self.random.pick(kernels);
        let (stride, dilation) = (self.random.pick(&[1, 1, 1, 2]), self.random.pick(&[1, 1, 1, 2]));
        let before = if self.chance(3) { 0 } else { dilation * (kernel - 1) / 2 };
        let after = before + self.random.pick(&[0, 0, 0, 1]);
        let mut pads = vec![before; spatial];
        pads.extend(vec![after.min(kernel - 1); spatial]);
        Window {
            kernel: vec![kernel; spatial],
            strides: vec![stride; spatial],
            pads,
            dilations: vec![dilation; spatial],
        }
    }

    fn layer_pool(&mut self, x: ValueId) {
        let mut window = self.layer_window(2, &[2, 3]);
        window.dilations = vec![1; 2];
        window.pads = vec![(window.kernel[0] - 1) / 2; 4];
        let op = if self.chance(2) { PoolOp::Max } else { PoolOp::Average { count_include_pad: self.chance(2) } };
        self.push(Op::Pool { op, window, ceil_mode: false, layout: DataLayout::default() }, &[x]);
    }

    /// Channels times what follows from the mean of each.
    fn gate(&mut self, x: ValueId) {
        let (dtype, Some(channels)) = (self.dtype(x), self.features(x, 1)) else { return };
        let mean = self.push(Op::Reduce { op: ReduceOp::Mean, axes: vec![2, 3], keepdims: true }, &[x]);
        let Some(mean) = mean else { return };
        let weights = self.constant(dtype, &[channels, channels, 1, 1]);
        let op = Op::Conv { window: self.layer_window(2, &[1]), group: 1, layout: ConvLayout::PLAIN };
        let Some(y) = self.push(op, &[mean, weights]) else { return };
        let sigmoid = Op::Element(ElementOp::Unary(UnaryOp::Sigmoid));
        let Some(y) = self.push(sigmoid, &[y]) else { return };
        self.push(Op::Element(ElementOp::Binary(BinaryOp::Mul)), &[x, y]);
    }

    /// A product, if it is not too much work.
    fn times(&mut self, x: ValueId, y: ValueId) -> Option<ValueId> {
        let columns = self.shape(y).last()?.clone();
        let work = self.most(&self.shape(x))?.checked_mul(self.most(&[columns])?)?;
        if work > WORK {
            return None;
        }
        self.push(Op::MatMul, &[x, y])
    }

    fn dense(&mut self, x: ValueId) {
        let last = self.shape(x).len() - 1;
        let (dtype, Some(rows)) = (self.dtype(x), self.features(x, last)) else { return };
        let columns = self.random.pick(&FEATURES);
        let weights = self.constant(dtype, &[rows, columns]);
        let Some(mut y) = self.times(x, weights) else { return };
        if self.chance(2) {
            let bias = self.constant(dtype, &[columns]);
            y = self.push(Op::Element(ElementOp::Binary(BinaryOp::Add)), &[y, bias]).unwrap_or(y);
        }
        self.behind(Some(y));
    }

    /// What often stands behind a product.
    fn behind(&mut self, y: Option<ValueId>) {
        if let Some(y) = y.filter(|_| self.chance(2)) {
            self.activated(y);
        }
    }

    fn activated(&mut self, x: ValueId) {
        let op = match self.random.below(4) {
            0 => ElementOp::Activation(Activation::Gelu),
            1 => ElementOp::Unary(UnaryOp::Sigmoid),
            2 => ElementOp::Unary(UnaryOp::Tanh),
            _ => ElementOp::Activation(Activation::Relu),
        };
        self.push(Op::Element(op), &[x]);
    }

    /// With another value of its shape, or with itself.
    fn joined(&mut self, x: ValueId) {
        let (dtype, shape) = (self.dtype(x), self.shape(x));
        let other = self.any_with(|g, v| v != x && g.dtype(v) == dtype && g.shape(v) == shape).unwrap_or(x);
        let op = self.random.pick(&[BinaryOp::Add, BinaryOp::Add, BinaryOp::Mul, BinaryOp::Sub, BinaryOp::Max]);
        self.push(Op::Element(ElementOp::Binary(op)), &[x, other]);
    }

    /// A convolution along the rows.
    fn series(&mut self, x: ValueId) {
        let Some(turned) = self.push(Op::Transpose { perm: vec![0, 2, 1] }, &[x]) else { return };
        self.layer_conv(turned);
        let Some(y) = self.pool.last().copied().filter(|y| *y != turned) else { return };
        self.push(Op::Transpose { perm: vec![0, 2, 1] }, &[y]);
    }

    fn attention(&mut self, x: ValueId) {
        let (dtype, shape) = (self.dtype(x), self.shape(x));
        let Some(features) = self.features(x, 2) else { return };
        let (heads, size) = (self.random.pick(&[1, 2, 4]), self.random.pick(&[3, 4, 8, 16]));
        let part = |g: &mut Self, perm: &[usize]| {
            let weights = g.constant(dtype, &[features, heads * size]);
            let y = g.times(x, weights)?;
            let apart = vec![shape[0].clone(), shape[1].clone(), heads.into(), size.into()];
            let y = g.push(Op::Reshape { shape: apart }, &[y])?;
            g.push(Op::Transpose { perm: perm.to_vec() }, &[y])
        };
        let parts = (part(self, &[0, 2, 1, 3]), part(self, &[0, 2, 3, 1]), part(self, &[0, 2, 1, 3]));
        let (Some(queries), Some(keys), Some(values)) = parts else { return };
        let Some(scores) = self.times(queries, keys) else { return };
        let scale = self.b.scalar(Scalar::float(dtype, 0.125));
        let Some(scores) = self.push(Op::Element(ElementOp::Binary(BinaryOp::Mul)), &[scores, scale]) else { return };
        let Some(weights) = self.push(Op::Softmax { axis: 3, log: false }, &[scores]) else { return };
        let Some(y) = self.times(weights, values) else { return };
        let Some(y) = self.push(Op::Transpose { perm: vec![0, 2, 1, 3] }, &[y]) else { return };
        let joined = vec![shape[0].clone(), shape[1].clone(), (heads * size).into()];
        let Some(y) = self.push(Op::Reshape { shape: joined }, &[y]) else { return };
        self.dense(y);
    }
}
