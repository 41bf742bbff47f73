//! Steps whose operands must fit one another.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{Activation, ArgOp, BinaryOp, CmpOp, ElementOp, Real, ReduceOp, UnaryOp};
use tenfold_ir::relax::{ConvLayout, DataLayout, Op, PadMode, PoolOp, SliceAxis, ValueId, Window};
use tenfold_ir::{DType, Scalar};

use super::Grow;

const UNARY: &[UnaryOp] = &[
    UnaryOp::Neg,
    UnaryOp::Not,
    UnaryOp::Abs,
    UnaryOp::Sign,
    UnaryOp::Square,
    UnaryOp::Floor,
    UnaryOp::Sqrt,
    UnaryOp::Exp,
    UnaryOp::Tanh,
    UnaryOp::Sigmoid,
];
const BINARY: &[BinaryOp] = &[
    BinaryOp::Add,
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Mul,
    BinaryOp::Max,
    BinaryOp::Min,
    BinaryOp::Div,
    BinaryOp::Rem,
    BinaryOp::DivEuclid,
    BinaryOp::RemEuclid,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::Shl,
    BinaryOp::Shr,
];
const COMPARE: &[CmpOp] = &[CmpOp::Eq, CmpOp::Ne, CmpOp::Lt, CmpOp::Le, CmpOp::Gt, CmpOp::Ge];

impl Grow {
    /// Element by element, on values of one dtype.
    pub(super) fn element(&mut self) {
        let x = self.any();
        match self.random.below(8) {
            0 | 1 => {
                let op = self.random.pick(UNARY);
                self.push(Op::Element(ElementOp::Unary(op)), &[x]);
            }
            2 => {
                let op = self.random.pick(&[Activation::Relu, Activation::Gelu, Activation::Softsign]);
                self.push(Op::Element(ElementOp::Activation(op)), &[x]);
            }
            3 => self.choose(x),
            _ => self.binary(x),
        }
    }

    /// A second operand: of the pool, a literal or a constant.
    fn other(&mut self, x: ValueId) -> ValueId {
        let dtype = self.dtype(x);
        match self.random.below(8) {
            0 => {
                let value = [0.0, 1.0, 2.0, -1.0, 0.5][self.random.below(5)];
                let literal = if dtype.is_float() { Scalar::float(dtype, value) } else { Scalar::one(dtype) };
                self.b.scalar(literal)
            }
            1 => {
                let last = self.shape(x).last().and_then(IntExpr::as_const).unwrap_or(1);
                self.constant(dtype, &[last])
            }
            _ => self.any_of(dtype).unwrap_or(x),
        }
    }

    fn binary(&mut self, x: ValueId) {
        let y = self.other(x);
        let op = self.random.pick(BINARY);
        let args = if self.chance(2) { [x, y] } else { [y, x] };
        self.push(Op::Element(ElementOp::Binary(op)), &args);
    }

    fn choose(&mut self, x: ValueId) {
        let y = self.other(x);
        let op = self.random.pick(COMPARE);
        let Some(holds) = self.push(Op::Element(ElementOp::Compare(op)), &[x, y]) else { return };
        if self.chance(2) {
            self.push(Op::Element(ElementOp::Select), &[holds, x, y]);
        }
    }

    pub(super) fn cast(&mut self) {
        let x = self.any();
        let n = self.random.below(self.dtypes.len());
        let to = if self.chance(3) { self.random.pick(&DType::ALL) } else { self.dtypes[n] };
        self.push(Op::Element(ElementOp::Cast(to)), &[x]);
    }

    /// Shapes and places of elements alone.
    pub(super) fn movement(&mut self) {
        let x = self.any();
        let shape = self.shape(x);
        let rank = shape.len();
        match self.random.below(7) {
            0 | 1 => {
                let by = self.random.below(rank.max(1));
                let mut perm: Vec<usize> = (0..rank).map(|i| (i + by) % rank.max(1)).collect();
                if rank > 1 && self.chance(3) {
                    perm.swap(0, 1);
                }
                self.push(Op::Transpose { perm }, &[x]);
            }
            2 | 3 => {
                let shape = self.reshaped(&shape);
                self.push(Op::Reshape { shape }, &[x]);
            }
            4 => {
                let mut wider = shape;
                if self.chance(2) {
                    wider.insert(0, self.extent());
                }
                let extent = self.extent();
                if let Some(axis) = wider.iter_mut().find(|d| d.as_const() == Some(1)) {
                    *axis = extent;
                }
                self.push(Op::BroadcastTo { shape: wider }, &[x]);
            }
            5 if rank > 0 => self.concat(x, rank),
            6 if rank > 0 => self.pad(x, rank),
            _ => {}
        }
    }

    /// The same number of elements in other axes.
    fn reshaped(&mut self, shape: &[IntExpr]) -> Vec<IntExpr> {
        let mut new = shape.to_vec();
        match self.random.below(4) {
            0 => vec![new.iter().fold(IntExpr::from(1), |n, d| &n * d)],
            1 if new.len() > 1 => {
                let at = self.random.below(new.len() - 1);
                let second = new.remove(at + 1);
                new[at] = &new[at] * &second;
                new
            }
            2 if !new.is_empty() => {
                let at = self.random.below(new.len());
                if let Some(n) = new[at].as_const().filter(|n| n % 2 == 0) {
                    new[at] = IntExpr::from(n / 2);
                    new.insert(at, IntExpr::from(2));
                }
                new
            }
            _ => {
                let at = self.random.below(new.len() + 1);
                new.insert(at, IntExpr::from(1));
                new
            }
        }
    }

    pub(super) fn concat(&mut self, x: ValueId, rank: usize) {
        let axis = self.random.below(rank);
        let dtype = self.dtype(x);
        let other = self.any_with(|g, v| g.dtype(v) == dtype && g.b.tensor(v).shape.len() == rank).unwrap_or(x);
        if self.push(Op::Concat { axis }, &[x, other]).is_none() {
            self.push(Op::Concat { axis }, &[x, x, x]);
        }
    }

    fn pad(&mut self, x: ValueId, rank: usize) {
        let before: Vec<IntExpr> = (0..rank).map(|_| IntExpr::from(self.random.below(3) as i64)).collect();
        let after: Vec<IntExpr> = (0..rank).map(|_| IntExpr::from(self.random.below(3) as i64)).collect();
        let mode = self.random.pick(&[PadMode::Constant, PadMode::Edge, PadMode::Reflect, PadMode::Wrap]);
        let fill = self.b.scalar(Scalar::one(self.dtype(x)));
        let args = if mode == PadMode::Constant { vec![x, fill] } else { vec![x] };
        self.push(Op::Pad { mode, before, after }, &args);
    }

    /// A part of an axis: of a number of elements any, of a named dim what is proven to be there.
    fn part(&mut self, extent: &IntExpr) -> SliceAxis {
        let whole = SliceAxis { begin: IntExpr::from(0), extent: extent.clone(), step: 1 };
        let Some(n) = extent.as_const() else {
            return match self.random.below(5) {
                0 => SliceAxis { begin: extent - 1, extent: extent.clone(), step: -1 },
                3 => SliceAxis { begin: IntExpr::from(0), extent: (extent + 1).floor_div(&IntExpr::from(2)), step: 2 },
                1 => SliceAxis { begin: IntExpr::from(1), extent: extent - 1, step: 1 },
                2 => SliceAxis { begin: IntExpr::from(0), extent: IntExpr::from(1), step: 1 },
                _ => whole,
            };
        };
        if n == 0 || self.chance(3) {
            return whole;
        }
        let begin = self.random.below(n as usize) as i64;
        let step = self.random.pick(&[1, 1, 2, -1, -2, 3]);
        let most = if step > 0 { (n - 1 - begin) / step + 1 } else { begin / -step + 1 };
        let count = 1 + self.random.below(most as usize) as i64;
        SliceAxis { begin: begin.into(), extent: count.into(), step }
    }

    /// A part of a value, and now and then the value with that part changed.
    pub(super) fn slice(&mut self) {
        let x = self.any();
        let shape = self.shape(x);
        let axes: Vec<SliceAxis> = shape.iter().map(|d| self.part(d)).collect();
        let one = |a: &SliceAxis| a.extent.as_const() == Some(1);
        let drop: Vec<usize> = (0..axes.len()).filter(|n| one(&axes[*n]) && self.random.below(2) == 0).collect();
        let Some(part) = self.push(Op::Slice { axes: axes.clone(), drop: drop.clone() }, &[x]) else { return };
        if !self.chance(2) {
            return;
        }
        let shape = self.shape(part);
        let dtype = self.dtype(x);
        let fits = self.any_with(|g, v| g.dtype(v) == dtype && g.shape(v) == shape).unwrap_or(part);
        let scalar = self.b.scalar(Scalar::one(dtype));
        let source = if self.chance(4) { scalar } else { fits };
        self.push(Op::SliceUpdate { axes, drop }, &[x, source]);
    }

    pub(super) fn reduction(&mut self) {
        let x = self.any();
        let rank = self.shape(x).len();
        let keepdims = self.chance(2);
        let axes: Vec<usize> = (0..rank).filter(|_| self.random.below(2) == 0).collect();
        let bools = [ReduceOp::Any, ReduceOp::All];
        let numbers = [ReduceOp::Sum, ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min, ReduceOp::Mean];
        if self.chance(4) {
            let op = self.random.pick(&[ArgOp::ArgMax, ArgOp::ArgMin]);
            let axis = if rank > 0 && self.chance(2) { Some(self.random.below(rank)) } else { None };
            self.push(Op::ArgReduce { op, axis, keepdims }, &[x]);
            return;
        }
        let op = if self.dtype(x).is_bool() { self.random.pick(&bools) } else { self.random.pick(&numbers) };
        self.push(Op::Reduce { op, axes, keepdims }, &[x]);
    }

    /// A product with a constant, or with a value that fits by chance.
    pub(super) fn product(&mut self) {
        let x = self.any();
        let (dtype, shape) = (self.dtype(x), self.shape(x));
        let Some(k) = shape.last().and_then(IntExpr::as_const) else {
            let turned: Vec<usize> = (0..shape.len()).rev().collect();
            if let Some(y) = self.push(Op::Transpose { perm: turned }, &[x]) {
                self.push(Op::MatMul, &[x, y]);
            }
            return;
        };
        let columns = 1 + self.random.below(6) as i64;
        let w = self.constant(dtype, &[k, columns]);
        let v = self.constant(dtype, &[k]);
        let weights = if self.chance(5) { v } else { w };
        if self.push(Op::MatMul, &[x, weights]).is_some() && self.chance(3) {
            let again = self.constant(dtype, &[k, columns]);
            self.push(Op::MatMul, &[x, again]);
        }
    }

    fn axis_window(&mut self, spatial: usize, least: i64) -> Window {
        let mut list = |from: i64, to: usize, count: usize| -> Vec<i64> {
            (0..count).map(|_| from + self.random.below(to) as i64).collect()
        };
        let kernel = list(1, 3.min(least.max(1) as usize), spatial);
        let strides = list(1, 2, spatial);
        let dilations = list(1, 2, spatial);
        let mut pads = list(0, 2, 2 * spatial);
        for (n, pad) in pads.iter_mut().enumerate() {
            *pad = (*pad).min(kernel[n % spatial] - 1);
        }
        Window { kernel, strides, pads, dilations }
    }

    /// A convolution or a pool over a value as batch, channels and spatial axes.
    pub(super) fn window(&mut self) {
        let Some(x) = self.any_with(|g, v| {
            let shape = g.shape(v);
            shape.len() >= 3 && shape.len() <= 4 && shape[1].as_const().is_some_and(|c| c > 0)
        }) else {
            return self.image();
        };
        let shape = self.shape(x);
        let (spatial, channels) = (shape.len() - 2, shape[1].as_const().unwrap_or(1));
        let least = shape[2..].iter().filter_map(IntExpr::as_const).min().unwrap_or(1);
        let window = self.axis_window(spatial, least);
        match self.random.below(4) {
            0 => {
                let op = PoolOp::Average { count_include_pad: self.chance(2) };
                let ceil_mode = self.chance(2);
                self.push(Op::Pool { op, window, ceil_mode, layout: DataLayout::default() }, &[x]);
            }
            1 => {
                let ceil_mode = self.chance(2);
                self.push(Op::Pool { op: PoolOp::Max, window, ceil_mode, layout: DataLayout::default() }, &[x]);
            }
            _ => self.conv(x, window, channels),
        }
    }

    /// Something to convolve.
    fn image(&mut self) {
        let spatial = 1 + self.random.below(2);
        let mut shape = vec![1 + self.random.below(2) as i64, 1 + self.random.below(4) as i64];
        shape.extend((0..spatial).map(|_| 2 + self.random.below(4) as i64));
        let dtype = self.dtypes[0];
        let image = self.constant(dtype, &shape);
        let scalar = self.any_with(|g, v| g.dtype(v) == dtype && g.shape(v).is_empty());
        let Some(scalar) = scalar else { return self.keep(image) };
        self.push(Op::Element(ElementOp::Binary(BinaryOp::Mul)), &[image, scalar]);
    }

    fn conv(&mut self, x: ValueId, window: Window, channels: i64) {
        let dtype = self.dtype(x);
        let group = if self.chance(3) { channels } else { 1 };
        let filters = group * (1 + self.random.below(3) as i64);
        let mut shape = vec![filters, channels / group];
        shape.extend(&window.kernel);
        let mut args = vec![x, self.constant(dtype, &shape)];
        if self.chance(2) {
            args.push(self.constant(dtype, &[filters]));
        }
        self.push(Op::Conv { window, group, layout: ConvLayout::PLAIN }, &args);
    }

    pub(super) fn norm(&mut self) {
        let Some(x) = self.any_with(|g, v| g.dtype(v).is_float() && !g.shape(v).is_empty()) else { return };
        let (dtype, shape) = (self.dtype(x), self.shape(x));
        let rank = shape.len();
        let axis = self.random.below(rank);
        let epsilon = Real::new(1e-2);
        let known: Option<Vec<i64>> = shape[axis..].iter().map(IntExpr::as_const).collect();
        match (self.random.below(4), known) {
            (0 | 1, _) => {
                let log = self.chance(3);
                self.push(Op::Softmax { axis, log }, &[x]);
            }
            (2, Some(known)) => {
                let mut args = vec![x, self.constant(dtype, &known)];
                if self.chance(2) {
                    args.push(self.constant(dtype, &known));
                }
                self.push(Op::LayerNorm { axis, epsilon }, &args);
            }
            (_, Some(known)) => {
                let mut args = vec![x];
                (0..3).for_each(|_| args.push(self.constant(dtype, &known[..1])));
                let variance = self.constant(dtype, &known[..1]);
                let positive = ElementOp::Unary(UnaryOp::Square);
                let Ok(variance) = self.b.element(positive, &[variance]) else { return };
                args.push(variance);
                self.push(Op::BatchNorm { axis, epsilon }, &args);
            }
            (_, None) => {}
        }
    }

    /// A value of no operands.
    pub(super) fn make(&mut self) {
        let n = self.random.below(self.dtypes.len());
        let dtype = self.dtypes[n];
        match self.random.below(4) {
            0 => {
                let shape = self.new_shape(None);
                let fixed: Option<Vec<i64>> = shape.iter().map(IntExpr::as_const).collect();
                let value = self.constant(dtype, &fixed.unwrap_or_default());
                self.keep(value);
            }
            1 => {
                let expr = &self.extent() * &self.extent();
                self.push(Op::IndexValue { expr, dtype }, &[]);
            }
            2 => {
                let extent = self.extent();
                let (start, step) = (self.random.below(5) as i64 - 2, self.random.pick(&[1, 2, -1]));
                self.push(Op::Arange { start: start.into(), step: step.into(), extent, dtype }, &[]);
            }
            _ => {
                let shape = self.new_shape(None);
                let Some(value) = self.any_with(|g, v| g.shape(v).is_empty()) else { return };
                self.push(Op::Full { shape }, &[value]);
            }
        }
    }
}
