//! `ConvertLayout` on random networks of convolutions: they compute the same, and data is laid out anew where it comes
//! in and goes out, not between.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::eval::Value;
use tenfold_ir::op::{Activation, BinaryOp, ElementOp, Real, ReduceOp};
use tenfold_ir::relax::{
    Binding, Builder, ConvLayout, DataLayout, Op, PadMode, ParamKind, PoolOp, TensorType, Type, ValueId, Window,
    structurally_equal,
};
use tenfold_ir::{DType, Loc, Module, Scalar};

use super::{Random, context, entry, module_of, refuted, run, values};
use crate::pass;

/// A network in the making: every weight is a parameter.
struct Net {
    b: Builder,
    random: Random,
    params: Vec<Vec<usize>>,
}

fn shape(dims: &[i64]) -> Vec<IntExpr> {
    dims.iter().map(|d| IntExpr::from(*d)).collect()
}

impl Net {
    fn new(seed: u64) -> Self {
        Net { b: Builder::new("net"), random: Random::new(seed), params: Vec::new() }
    }

    fn param(&mut self, dims: &[i64]) -> ValueId {
        let position = self.params.len();
        self.params.push(dims.iter().map(|d| *d as usize).collect());
        let ty = TensorType { dtype: DType::F32, shape: shape(dims) };
        self.b.param(ParamKind::Input, ty, &format!("p{position}"), position, Loc::default())
    }

    fn dims(&self, v: ValueId) -> Vec<i64> {
        self.b.tensor(v).shape.iter().map(|d| d.as_const().expect("an extent")).collect()
    }

    fn window(&mut self, dims: &[i64]) -> Window {
        let spatial = dims.len() - 2;
        let kernel: Vec<i64> = dims[2..].iter().map(|d| 1 + self.random.below(3.min(*d as usize)) as i64).collect();
        let pads = (0..2 * spatial).map(|i| (kernel[i % spatial] - 1).min(self.random.below(2) as i64)).collect();
        let strides = (0..spatial).map(|_| 1 + self.random.below(2) as i64).collect();
        Window { kernel, strides, pads, dilations: vec![1; spatial] }
    }

    fn conv(&mut self, x: ValueId) -> Option<ValueId> {
        let dims = self.dims(x);
        let window = self.window(&dims);
        let group = self.random.pick(&[1, 1, dims[1], if dims[1] % 2 == 0 { 2 } else { 1 }]);
        let out = group * self.random.pick(&[1, 2, 4]);
        let w = self.param(&[&[out, dims[1] / group], window.kernel.as_slice()].concat());
        let mut args = vec![x, w];
        if self.random.below(2) == 0 {
            args.push(self.param(&[out]));
        }
        self.b.emit(Op::Conv { window, group, layout: ConvLayout::PLAIN }, &args).ok()
    }

    /// Something that a layout goes through, or ends at.
    fn step(&mut self, x: ValueId) -> Option<ValueId> {
        let dims = self.dims(x);
        let add = Op::Element(ElementOp::Binary(BinaryOp::Add));
        match self.random.below(10) {
            0..=2 => self.conv(x),
            3 => self.b.emit(Op::Element(ElementOp::Activation(Activation::Relu)), &[x]).ok(),
            4 => {
                let ones = vec![1; dims.len() - 2];
                let wide: &[i64] = &self.random.pick(&[[1, dims[1]], [dims[0], 1]]);
                let other = match self.random.below(3) {
                    0 => self.param(&dims),
                    1 => self.param(&[wide, &ones].concat()),
                    _ => self.param(&[&dims[1..2], ones.as_slice()].concat()),
                };
                self.b.emit(add, &[x, other]).ok()
            }
            5 => {
                let window = self.window(&dims);
                let op = self.random.pick(&[PoolOp::Max, PoolOp::Average { count_include_pad: false }]);
                let layout = DataLayout::ChannelsFirst;
                self.b.emit(Op::Pool { op, window, ceil_mode: false, layout }, &[x]).ok()
            }
            6 => {
                let norm: Vec<ValueId> = [x].into_iter().chain((0..4).map(|_| self.param(&[dims[1]]))).collect();
                self.b.emit(Op::BatchNorm { axis: 1, epsilon: Real::new(2.5) }, &norm).ok()
            }
            7 => {
                let y = self.b.emit(add, &[x, x]).ok()?;
                let axis = self.random.below(dims.len());
                self.b.emit(Op::Concat { axis }, &[x, y]).ok()
            }
            8 => {
                let zero = self.b.scalar(Scalar::float(DType::F32, 0.5));
                let sides: Vec<i64> = dims.iter().map(|_| self.random.below(2) as i64).collect();
                let op = Op::Pad { mode: PadMode::Constant, before: shape(&sides), after: shape(&sides) };
                self.b.emit(op, &[x, zero]).ok()
            }
            _ => {
                let axes: Vec<usize> = (0..dims.len()).filter(|_| self.random.below(2) == 0).collect();
                let mean = self.b.emit(Op::Reduce { op: ReduceOp::Mean, axes, keepdims: true }, &[x]).ok()?;
                self.b.emit(add, &[x, mean]).ok()
            }
        }
    }

    fn module(mut self) -> (Module, Vec<Value>) {
        let spatial = 1 + self.random.below(2);
        let channels = self.random.pick(&[1, 3, 4, 6, 8]);
        let x = self.param(&[&[2, channels], [4, 3][..spatial].as_ref()].concat());
        let mut at = self.conv(x).unwrap_or(x);
        for _ in 0..2 + self.random.below(6) {
            at = self.step(at).filter(|y| self.dims(*y).iter().product::<i64>() < 600).unwrap_or(at);
        }
        let last =
            self.b.emit(Op::Reduce { op: ReduceOp::Max, axes: (2..2 + spatial).collect(), keepdims: false }, &[at]);
        let last = last.expect("the spatial axes are there");
        let inputs = self.params.iter().map(|dims| values(&mut self.random, DType::F32, dims)).collect();
        (module_of(self.b.finish(&[last, at])), inputs)
    }
}

const SETTINGS: [(&str, &str); 5] =
    [("NHWC", ""), ("NHWC", "OIHW"), ("NCHW", "HWIO"), ("NCHW4c", ""), ("NCHW8c", "OIHW2i4o")];

fn converted(module: &Module, (data, kernel): (&str, &str)) -> Module {
    let mut context = context();
    context.set_text("ConvertLayout.data", data).expect("a setting");
    context.set_text("ConvertLayout.kernel", kernel).expect("a setting");
    let mut after = module.clone();
    let pass = pass::get("ConvertLayout").expect("a pass");
    pass::run_pass(&pass, &mut after, &context).unwrap_or_else(|e| panic!("{data} {kernel}: {e:?}"));
    after
}

#[test]
fn random_networks_compute_the_same() {
    let mut changed = 0;
    for seed in 0..200 {
        let (module, inputs) = Net::new(seed).module();
        let before = run(&module, &inputs).expect("the network runs");
        let setting = SETTINGS[seed as usize % SETTINGS.len()];
        let after = converted(&module, setting);
        changed += usize::from(!structurally_equal((&module, entry(&module)), (&after, entry(&after))));
        let found = run(&after, &inputs).expect("the converted network runs");
        if let Some(wrong) = refuted(&before, &found) {
            panic!("seed {seed} {setting:?}: {wrong}\n{}", tenfold_ir::functions_text(&after));
        }
    }
    assert!(changed > 150, "only {changed} networks changed");
}

/// Transposes of what is no weight.
fn data_moves(module: &Module) -> usize {
    let func = entry(module);
    let weights: Vec<ValueId> = func.params.iter().skip(1).map(|p| p.value).collect();
    let of_data = |args: &[ValueId]| {
        let from = args.first().and_then(|x| func.bindings().find(|b| b.out == *x));
        // Blocks are cut first.
        let root = from.filter(|b| matches!(b.op, Op::Reshape { .. })).map_or(args[0], |b| b.args[0]);
        !weights.contains(&root)
    };
    func.bindings().filter(|b| matches!(b.op, Op::Transpose { .. }) && of_data(&b.args)).count()
}

#[test]
fn data_is_laid_out_where_it_comes_in_and_goes_out() {
    let mut net = Net::new(7);
    let x = net.param(&[1, 8, 6, 6]);
    let mut at = x;
    for _ in 0..3 {
        let w = net.param(&[8, 8, 3, 3]);
        let window = Window { kernel: vec![3, 3], strides: vec![1, 1], pads: vec![1; 4], dilations: vec![1, 1] };
        let y = net.b.emit(Op::Conv { window, group: 1, layout: ConvLayout::PLAIN }, &[at, w]).expect("typed");
        let norm: Vec<ValueId> = [y].into_iter().chain((0..4).map(|_| net.param(&[8]))).collect();
        let y = net.b.emit(Op::BatchNorm { axis: 1, epsilon: Real::new(1e-5) }, &norm).expect("typed");
        let y = net.b.emit(Op::Element(ElementOp::Activation(Activation::Relu)), &[y]).expect("typed");
        at = net.b.emit(Op::Element(ElementOp::Binary(BinaryOp::Add)), &[y, at]).expect("typed");
    }
    let module = module_of(net.b.finish(&[at]));
    for setting in [("NHWC", ""), ("NCHW4c", "")] {
        let after = converted(&module, setting);
        assert_eq!(data_moves(&after), 2, "{setting:?}\n{}", tenfold_ir::functions_text(&after));
        let convs =
            entry(&after).bindings().filter(|b| matches!(b.op, Op::Conv { layout, .. } if layout != ConvLayout::PLAIN));
        assert_eq!(convs.count(), 3);
        let Type::Tensor(ty) = &entry(&after).values[entry(&after).results[0].0 as usize].ty else {
            panic!("a tensor")
        };
        assert_eq!(ty.shape, shape(&[1, 8, 6, 6]));
    }
}

/// Of a strict function the target does not choose the order of sums; a setting may.
#[test]
fn strict_functions_keep_their_layout() {
    let mut net = Net::new(8);
    let (x, w) = (net.param(&[1, 16, 6, 6]), net.param(&[16, 16, 3, 3]));
    let window = Window { kernel: vec![3, 3], strides: vec![1, 1], pads: vec![1; 4], dilations: vec![1, 1] };
    let y = net.b.emit(Op::Conv { window, group: 1, layout: ConvLayout::PLAIN }, &[x, w]).expect("typed");
    let module = module_of(net.b.finish(&[y]));
    let mut set = context().with_strict(true);
    set.set("ConvertLayout.data", "NHWC").expect("a setting");
    for (context, plain) in [(context(), false), (context().with_strict(true), true), (set, false)] {
        let mut after = module.clone();
        pass::run_pass(&super::super::convert_layout::PASS, &mut after, &context).expect("the pass runs");
        let laid = |b: &Binding| matches!(b.op, Op::Conv { layout, .. } if layout != ConvLayout::PLAIN);
        assert_eq!(entry(&after).bindings().any(laid), !plain, "strict: {}", context.strict);
    }
}
