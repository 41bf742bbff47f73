//! Standard architectures as graphs: every weight is a parameter.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{Activation, BinaryOp, ElementOp, ReduceOp, UnaryOp};
use tenfold_ir::relax::{Builder, ConvLayout, DataLayout, Op, ParamKind, PoolOp, TensorType, ValueId, Window};
use tenfold_ir::{ConstBytes, ConstData, ConstId, DType, Function, Loc, Module, Scalar};

/// A graph in the making.
pub(crate) struct Graph {
    pub b: Builder,
    name: String,
    params: usize,
    constants: Vec<ConstData>,
}

fn shape(dims: &[i64]) -> Vec<IntExpr> {
    dims.iter().map(|d| IntExpr::from(*d)).collect()
}

impl Graph {
    pub(crate) fn new(name: &str) -> Self {
        Graph { b: Builder::new(name), name: name.to_string(), params: 0, constants: Vec::new() }
    }

    pub(crate) fn param(&mut self, dims: &[i64]) -> ValueId {
        let position = self.params;
        self.params += 1;
        let ty = TensorType { dtype: DType::F32, shape: shape(dims) };
        self.b.param(ParamKind::Input, ty, &format!("w{position}"), position, Loc::default())
    }

    fn constant(&mut self, dims: &[i64], values: &[f32]) -> ValueId {
        let name = format!("c{}", self.constants.len());
        let bytes: Vec<u8> = values.iter().flat_map(|x| x.to_le_bytes()).collect();
        let (extents, bytes) = (dims.iter().map(|n| *n as u64).collect(), ConstBytes::Inline(bytes.into()));
        let of = ConstId(self.constants.len() as u32);
        self.constants.push(ConstData { hash: name.clone(), name, dtype: DType::F32, shape: extents, bytes });
        self.b.constant(of, TensorType { dtype: DType::F32, shape: shape(dims) })
    }

    fn emit(&mut self, op: Op, args: &[ValueId]) -> ValueId {
        self.b.emit(op, args).expect("the graph is typed")
    }

    fn element(&mut self, op: ElementOp, args: &[ValueId]) -> ValueId {
        self.emit(Op::Element(op), args)
    }

    fn lit(&mut self, value: f64) -> ValueId {
        self.b.scalar(Scalar::float(DType::F32, value))
    }

    fn dims(&self, v: ValueId) -> Vec<i64> {
        self.b.tensor(v).shape.iter().map(|d| d.as_const().expect("an extent")).collect()
    }

    fn add(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.element(ElementOp::Binary(BinaryOp::Add), &[a, b])
    }

    fn mul(&mut self, a: ValueId, b: ValueId) -> ValueId {
        self.element(ElementOp::Binary(BinaryOp::Mul), &[a, b])
    }

    fn act(&mut self, f: Activation, x: ValueId) -> ValueId {
        self.element(ElementOp::Activation(f), &[x])
    }

    fn conv(&mut self, x: ValueId, out: i64, k: i64, stride: i64, groups: i64) -> ValueId {
        let channels = self.dims(x)[1];
        let (w, b) = (self.param(&[out, channels / groups, k, k]), self.param(&[out]));
        let window =
            Window { kernel: vec![k, k], strides: vec![stride; 2], pads: vec![k / 2; 4], dilations: vec![1, 1] };
        self.emit(Op::Conv { window, group: groups, layout: ConvLayout::default() }, &[x, w, b])
    }

    fn flat_mean(&mut self, x: ValueId) -> ValueId {
        let mean = self.emit(Op::Reduce { op: ReduceOp::Mean, axes: vec![2, 3], keepdims: true }, &[x]);
        let dims = self.dims(mean);
        self.emit(Op::Reshape { shape: shape(&[dims[0], dims[1]]) }, &[mean])
    }

    /// `x w^T + b`.
    fn gemm(&mut self, x: ValueId, out: i64) -> ValueId {
        let inner = self.dims(x)[1];
        let (w, b) = (self.param(&[out, inner]), self.param(&[out]));
        let t = self.emit(Op::Transpose { perm: vec![1, 0] }, &[w]);
        let y = self.emit(Op::MatMul, &[x, t]);
        self.add(y, b)
    }

    fn linear(&mut self, x: ValueId, inner: i64, out: i64) -> ValueId {
        let (w, b) = (self.param(&[inner, out]), self.param(&[out]));
        let y = self.emit(Op::MatMul, &[x, w]);
        self.add(y, b)
    }

    fn norm(&mut self, x: ValueId, d: i64) -> ValueId {
        let (scale, bias) = (self.param(&[d]), self.param(&[d]));
        let epsilon = tenfold_ir::op::Real::new(1e-12);
        self.emit(Op::LayerNorm { axis: 2, epsilon }, &[x, scale, bias])
    }

    pub(crate) fn done(mut self, result: ValueId) -> Module {
        let mut module = Module { entry: self.name.clone(), sources: vec![self.name.clone()], ..Module::default() };
        for kernel in self.b.take_kernels() {
            module.functions.insert(kernel.name.clone(), Function::Prim(kernel));
        }
        let func = self.b.finish(&[result]);
        module.functions.insert(self.name, Function::Relax(func));
        Module { constants: self.constants, ..module }
    }
}

/// One product of matrices.
pub(crate) fn gemm(m: i64, n: i64, k: i64) -> Module {
    let mut g = Graph::new("gemm");
    let (a, b) = (g.param(&[m, k]), g.param(&[k, n]));
    let y = g.emit(Op::MatMul, &[a, b]);
    g.done(y)
}

/// A product by a constant, and a hyperbolic tangent behind it if that is wanted.
pub(crate) fn by_constant([m, n, k]: [i64; 3], weights: &[f32], function: bool) -> Module {
    let mut g = Graph::new("by_constant");
    let x = g.param(&[1, m, k]);
    let w = g.constant(&[k, n], weights);
    let y = g.emit(Op::MatMul, &[x, w]);
    let y = if function { g.element(ElementOp::Unary(UnaryOp::Tanh), &[y]) } else { y };
    g.done(y)
}

/// The same with what it adds to, and a layer norm behind it.
pub(crate) fn normed([m, n, k]: [i64; 3], weights: &[f32]) -> Module {
    let mut g = Graph::new("normed");
    let (x, before) = (g.param(&[1, m, k]), g.param(&[1, m, n]));
    let w = g.constant(&[k, n], weights);
    let y = g.emit(Op::MatMul, &[x, w]);
    let sum = g.add(before, y);
    let y = g.norm(sum, n);
    g.done(y)
}

/// A convolution of single pixels of two images by constants, which is added to something.
pub(crate) fn pointwise([lines, pixels]: [i64; 2], [channels, out]: [i64; 2], weights: &[f32]) -> Module {
    let mut g = Graph::new("pointwise");
    let (x, before) = (g.param(&[2, lines, pixels, channels]), g.param(&[2, lines, pixels, out]));
    let w = g.constant(&[out, channels, 1, 1], weights);
    let window = Window { kernel: vec![1; 2], strides: vec![1; 2], pads: vec![0; 4], dilations: vec![1; 2] };
    let layout = ConvLayout { data: DataLayout::ChannelsLast, ..ConvLayout::default() };
    let y = g.emit(Op::Conv { window, group: 1, layout }, &[x, w]);
    let y = g.add(y, before);
    let y = g.act(Activation::Relu, y);
    g.done(y)
}

/// A convolution of images by windows of 3 by 3 with given weights, from so many channels to so many, and a rectifier.
pub(crate) fn by_windows([images, lines, pixels]: [i64; 3], [channels, out]: [i64; 2], weights: &[f32]) -> Module {
    let mut g = Graph::new("by_windows");
    let x = g.param(&[images, lines, pixels, channels]);
    let w = g.constant(&[out, channels, 3, 3], weights);
    let window = Window { kernel: vec![3; 2], strides: vec![1; 2], pads: vec![1; 4], dilations: vec![1; 2] };
    let layout = ConvLayout { data: DataLayout::ChannelsLast, ..ConvLayout::default() };
    let y = g.emit(Op::Conv { window, group: 1, layout }, &[x, w]);
    let y = g.act(Activation::Relu, y);
    g.done(y)
}

/// 784 pixels, two hidden layers, ten classes.
pub(crate) fn mlp() -> Module {
    let mut g = Graph::new("mlp");
    let x = g.param(&[1, 784]);
    let x = g.linear(x, 784, 512);
    let x = g.act(Activation::Relu, x);
    let x = g.linear(x, 512, 256);
    let x = g.act(Activation::Relu, x);
    let y = g.linear(x, 256, 10);
    g.done(y)
}

/// One convolution with its activation.
pub(crate) fn conv(channels: i64, out: i64, k: i64, stride: i64, pixels: i64, groups: i64) -> Module {
    let mut g = Graph::new("conv");
    let x = g.param(&[1, channels, pixels, pixels]);
    let y = g.conv(x, out, k, stride, groups);
    let y = g.act(Activation::Relu, y);
    g.done(y)
}

/// ResNet-50; `width` divides channels, `pixels` is the side of the image.
pub(crate) fn resnet50(width: i64, pixels: i64) -> Module {
    let mut g = Graph::new("resnet50");
    let x = g.param(&[1, 3, pixels, pixels]);
    let x = g.conv(x, 64 / width, 7, 2, 1);
    let x = g.act(Activation::Relu, x);
    let window = Window { kernel: vec![3, 3], strides: vec![2, 2], pads: vec![1; 4], dilations: vec![1, 1] };
    let mut x = g.emit(Op::Pool { op: PoolOp::Max, window, ceil_mode: false, layout: DataLayout::default() }, &[x]);
    for (channels, blocks, stride) in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)] {
        let channels = channels / width;
        for i in 0..blocks {
            let stride = if i == 0 { stride } else { 1 };
            let y = g.conv(x, channels, 1, 1, 1);
            let y = g.act(Activation::Relu, y);
            let y = g.conv(y, channels, 3, stride, 1);
            let y = g.act(Activation::Relu, y);
            let y = g.conv(y, 4 * channels, 1, 1, 1);
            let side = if i == 0 { g.conv(x, 4 * channels, 1, stride, 1) } else { x };
            let sum = g.add(y, side);
            x = g.act(Activation::Relu, sum);
        }
    }
    let x = g.flat_mean(x);
    let y = g.gemm(x, 1000 / width);
    g.done(y)
}

/// MobileNetV2.
pub(crate) fn mobilenetv2(width: i64, pixels: i64) -> Module {
    let mut g = Graph::new("mobilenetv2");
    let of = |c: i64| (c / width).max(1);
    let x = g.param(&[1, 3, pixels, pixels]);
    let x = g.conv(x, of(32), 3, 2, 1);
    let mut x = g.act(Activation::Relu6, x);
    for (t, out, n, stride) in
        [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]
    {
        for i in 0..n {
            let (stride, channels) = (if i == 0 { stride } else { 1 }, g.dims(x)[1]);
            let mut y = x;
            if t > 1 {
                y = g.conv(y, channels * t, 1, 1, 1);
                y = g.act(Activation::Relu6, y);
            }
            y = g.conv(y, channels * t, 3, stride, channels * t);
            y = g.act(Activation::Relu6, y);
            y = g.conv(y, of(out), 1, 1, 1);
            x = if stride == 1 && channels == of(out) { g.add(y, x) } else { y };
        }
    }
    let x = g.conv(x, of(1280), 1, 1, 1);
    let x = g.act(Activation::Relu6, x);
    let x = g.flat_mean(x);
    let y = g.gemm(x, of(1000));
    g.done(y)
}

/// The encoder of MiniLM: `s` positions, `d` features, `h` heads, `f` features inside.
pub(crate) fn minilm(s: i64, d: i64, h: i64, f: i64, layers: usize) -> Module {
    let mut g = Graph::new("minilm");
    let mut x = g.param(&[1, s, d]);
    for _ in 0..layers {
        let heads = [vec![0, 2, 1, 3], vec![0, 2, 3, 1], vec![0, 2, 1, 3]];
        let parts = [g.linear(x, d, d), g.linear(x, d, d), g.linear(x, d, d)];
        let split: Vec<ValueId> = parts
            .into_iter()
            .zip(heads)
            .map(|(part, perm)| {
                let part = g.emit(Op::Reshape { shape: shape(&[1, s, h, d / h]) }, &[part]);
                g.emit(Op::Transpose { perm }, &[part])
            })
            .collect();
        let scores = g.emit(Op::MatMul, &[split[0], split[1]]);
        let scale = g.lit(((d / h) as f64).powf(-0.5));
        let scaled = g.mul(scores, scale);
        let a = g.emit(Op::Softmax { axis: 3, log: false }, &[scaled]);
        let o = g.emit(Op::MatMul, &[a, split[2]]);
        let o = g.emit(Op::Transpose { perm: vec![0, 2, 1, 3] }, &[o]);
        let o = g.emit(Op::Reshape { shape: shape(&[1, s, d]) }, &[o]);
        let o = g.linear(o, d, d);
        let sum = g.add(x, o);
        x = g.norm(sum, d);
        let u = g.linear(x, d, f);
        let half = g.lit(std::f64::consts::FRAC_1_SQRT_2);
        let e = g.mul(u, half);
        let e = g.element(ElementOp::Unary(UnaryOp::Erf), &[e]);
        let one = g.lit(1.0);
        let e = g.add(e, one);
        let ue = g.mul(u, e);
        let half = g.lit(0.5);
        let gelu = g.mul(ue, half);
        let down = g.linear(gelu, f, d);
        let sum = g.add(x, down);
        x = g.norm(sum, d);
    }
    g.done(x)
}
