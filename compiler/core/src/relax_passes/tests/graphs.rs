//! Random graphs, the same in every run: passes in random order, with the interpreter before and after each.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{Activation, ArgOp, BinaryOp, CmpOp, ElementOp, ReduceOp, UnaryOp};
use tenfold_ir::relax::{
    self, Binding, BindingBlock, BlockKind, Builder, Op, ParamKind, Region, SliceAxis, SymDecl, SymKind, TensorType,
    Type, ValueId,
};
use tenfold_ir::{ConstBytes, ConstData, DType, Loc, Module, arith::Sym};

use super::{Random, context, entry, module_of, refuted, run, values};
use crate::pass::{find, run_pass};

const GRAPHS: u64 = 600;
const STEPS: usize = 14;

/// Passes that keep results, opt-in ones off.
const PASSES: &[&str] = &[
    "CanonicalizeCast",
    "CanonicalizeOps",
    "CombineParallelConv2D",
    "CombineParallelMatmul",
    "DeadCodeElimination",
    "DynamicToStatic",
    "EliminateCommonSubexpr",
    "FoldConstant",
    "FoldScaleAxis",
    "LiftTransformParams",
    "Normalize",
    "SimplifyExpr",
    "SimplifyInference",
];

/// A graph that grows by operators its values' shapes allow.
struct Graph {
    b: Builder,
    random: Random,
    dtype: DType,
    pool: Vec<ValueId>,
    constants: Vec<ConstData>,
}

/// The graph of a seed with so many steps, and what it is called with.
pub(super) fn graph(seed: u64, steps: usize) -> (Module, Vec<tenfold_ir::eval::Value>) {
    let mut random = Random::new(seed + 1);
    let dtype = random.pick(&[DType::F32, DType::F32, DType::F16, DType::I32, DType::I8]);
    let mut g = Graph { b: Builder::new("f"), random, dtype, pool: Vec::new(), constants: Vec::new() };
    let mut inputs = Vec::new();
    for position in 0..3 {
        let shape: Vec<usize> = (0..g.random.below(3) + 1).map(|_| 1 + g.random.below(4)).collect();
        inputs.push(values(&mut g.random, dtype, &shape));
        let ty = TensorType { dtype, shape: shape.iter().map(|n| IntExpr::from(*n as i64)).collect() };
        g.pool.push(g.b.param(ParamKind::Input, ty, "x", position, Loc::default()));
    }
    let ty = TensorType { dtype: DType::Bool, shape: Vec::new() };
    let condition = g.b.param(ParamKind::Scalar, ty, "c", 3, Loc::default());
    inputs.push(values(&mut g.random, DType::Bool, &[]));
    let mut left = 4 * steps;
    while g.pool.len() < steps + 3 && left > 0 {
        g.step();
        left -= 1;
    }
    let results: Vec<ValueId> = g.pool.iter().rev().take(3).copied().collect();
    let mut func = g.b.finish(&results);
    nest(&mut func, condition, &mut g.random);
    let mut module = module_of(relax::renumbered(&func));
    module.constants = g.constants;
    (module, inputs)
}

impl Graph {
    fn any(&mut self) -> ValueId {
        let n = self.pool.len();
        let back = self.random.below(n).min(self.random.below(n));
        self.pool[n - 1 - back]
    }

    fn shape(&self, v: ValueId) -> Vec<i64> {
        self.b.tensor(v).shape.iter().filter_map(IntExpr::as_const).collect()
    }

    fn push(&mut self, op: Op, args: &[ValueId]) {
        let Ok(value) = self.b.emit(op, args) else { return };
        let Type::Tensor(ty) = self.b.ty(value) else { return };
        if ty.dtype == self.dtype && self.shape(value).iter().product::<i64>() <= 60 {
            self.pool.push(value);
        }
    }

    fn constant(&mut self, shape: &[i64]) -> ValueId {
        let shape: Vec<usize> = shape.iter().map(|n| *n as usize).collect();
        let bytes = values(&mut self.random, self.dtype, &shape).to_bytes();
        let shape: Vec<u64> = shape.iter().map(|n| *n as u64).collect();
        let hash = tenfold_ir::content::of_bytes(self.dtype, &shape, &bytes);
        let ty = TensorType { dtype: self.dtype, shape: shape.iter().map(|n| IntExpr::from(*n as i64)).collect() };
        let (name, bytes) = ("w".to_string(), ConstBytes::Inline(bytes.into()));
        self.constants.push(ConstData { hash, name, dtype: self.dtype, shape, bytes });
        self.b.constant(tenfold_ir::ConstId(self.constants.len() as u32 - 1), ty)
    }

    fn step(&mut self) {
        let x = self.any();
        let shape = self.shape(x);
        let axis = self.random.below(shape.len());
        match self.random.below(14) {
            0 | 1 => self.unary(x),
            2..=4 => self.binary(x),
            5 => {
                let value = super::scalar(&mut self.random, self.dtype);
                let scalar = self.b.scalar(value);
                let op = self.random.pick(&[BinaryOp::Add, BinaryOp::Mul, BinaryOp::Sub, BinaryOp::Max, BinaryOp::Min]);
                self.push(Op::Element(ElementOp::Binary(op)), &[x, scalar]);
            }
            6 => {
                let shape = if self.random.bits() & 1 == 0 { shape } else { vec![shape.last().copied().unwrap_or(1)] };
                let c = self.constant(&shape);
                self.pool.push(c);
            }
            7 if !shape.is_empty() => {
                let op = self.random.pick(&[ReduceOp::Sum, ReduceOp::Max, ReduceOp::Min]);
                self.push(Op::Reduce { op, axes: vec![axis], keepdims: self.dtype.is_float() }, &[x]);
            }
            8 if !shape.is_empty() => self.siblings(x, *shape.last().unwrap_or(&1)),
            9 => {
                let mut perm: Vec<usize> = (0..shape.len()).collect();
                perm.rotate_left(axis);
                self.push(Op::Transpose { perm }, &[x]);
            }
            10 => {
                let count = shape.iter().product::<i64>();
                self.push(Op::Reshape { shape: vec![IntExpr::from(count), IntExpr::from(1)] }, &[x]);
            }
            11 if !shape.is_empty() => self.slice(x, axis, &shape),
            12 if !shape.is_empty() => self.push(Op::Concat { axis }, &[x, x]),
            _ => self.choice(x),
        }
    }

    /// Products of one value, with what often follows them.
    fn siblings(&mut self, x: ValueId, rows: i64) {
        let mut all = Vec::new();
        for columns in [3, 3, 1].into_iter().take(1 + self.random.below(3)) {
            let (w, bias) = (self.constant(&[rows, columns]), self.constant(&[columns]));
            let op = self.random.pick(&[BinaryOp::Add, BinaryOp::Add, BinaryOp::Mul]);
            let Ok(product) = self.b.emit(Op::MatMul, &[x, w]) else { return };
            let Ok(shifted) = self.b.element(ElementOp::Binary(op), &[product, bias]) else { return };
            let relu = self.b.element(ElementOp::Activation(Activation::Relu), &[shifted]);
            all.extend(if self.random.below(3) == 0 { Ok(shifted) } else { relu });
        }
        if let Some(first) = all.first().copied() {
            let last = all.iter().skip(1).fold(first, |sum, next| {
                self.b.element(ElementOp::Binary(BinaryOp::Add), &[sum, *next]).unwrap_or(sum)
            });
            let op = Op::Element(ElementOp::Unary(UnaryOp::Neg));
            self.push(op, &[last]);
        }
    }

    fn unary(&mut self, x: ValueId) {
        use UnaryOp as U;
        let op = self.random.pick(&[U::Neg, U::Neg, U::Abs, U::Square, U::Exp, U::Floor, U::Sigmoid, U::Sign]);
        let op = if self.random.below(4) == 0 { ElementOp::Activation(Activation::Relu) } else { ElementOp::Unary(op) };
        self.push(Op::Element(op), &[x]);
    }

    fn binary(&mut self, x: ValueId) {
        use BinaryOp as B;
        let y = self.any();
        let op = self.random.pick(&[B::Add, B::Sub, B::Mul, B::Max, B::Min, B::Add, B::Mul, B::Div]);
        let args = if self.random.below(5) == 0 { [x, x] } else { [x, y] };
        self.push(Op::Element(ElementOp::Binary(op)), &args);
    }

    fn slice(&mut self, x: ValueId, axis: usize, shape: &[i64]) {
        let cut = |(i, n): (usize, &i64)| {
            let begin = i64::from(i == axis && *n > 1);
            SliceAxis { begin: IntExpr::from(begin), extent: IntExpr::from(n - begin), step: 1 }
        };
        let axes = shape.iter().enumerate().map(cut).collect();
        self.push(Op::Slice { axes, drop: Vec::new() }, &[x]);
    }

    /// A comparison and a choice, or a conversion there and back.
    fn choice(&mut self, x: ValueId) {
        if self.random.bits() & 1 == 0 {
            let via = self.random.pick(&[DType::F64, DType::I32, DType::F32, DType::I64]);
            let Ok(there) = self.b.element(ElementOp::Cast(via), &[x]) else { return };
            return self.push(Op::Element(ElementOp::Cast(self.dtype)), &[there]);
        }
        let y = self.any();
        let op = self.random.pick(&[CmpOp::Lt, CmpOp::Eq, CmpOp::Ge]);
        let Ok(test) = self.b.element(ElementOp::Compare(op), &[x, y]) else { return };
        let test = if self.random.bits() & 1 == 0 {
            self.b.element(ElementOp::Unary(UnaryOp::Not), &[test]).unwrap_or(test)
        } else {
            test
        };
        self.push(Op::Element(ElementOp::Select), &[test, x, y]);
        self.push(Op::ArgReduce { op: ArgOp::ArgMax, axis: None, keepdims: false }, &[x]);
    }
}

/// Puts some operators into branches and loops of their own.
fn nest(func: &mut relax::Function, condition: ValueId, random: &mut Random) {
    let mut syms = Vec::new();
    let mut outs = std::mem::take(&mut func.blocks);
    for binding in outs.iter_mut().flat_map(|block| &mut block.bindings) {
        let same = |v: &ValueId| func.values[v.0 as usize].ty == func.values[binding.out.0 as usize].ty;
        let fits = matches!(binding.op, Op::Element(_)) && binding.args.first().is_some_and(same);
        if !fits || random.below(4) != 0 {
            continue;
        }
        let (op, args) = (binding.op.clone(), binding.args.clone());
        let ty = func.values[binding.out.0 as usize].ty.clone();
        if random.bits() & 1 == 0 {
            let then = body(func, &ty, &op, &args);
            let other = body(func, &ty, &op, &args);
            (binding.op, binding.args) = (Op::If, vec![condition]);
            binding.regions = vec![region(Vec::new(), then), region(Vec::new(), other)];
        } else {
            let carried = func.add_value(ty.clone(), "carried", Loc::default());
            let inner = body(func, &ty, &op, &[&[carried], &args[1..]].concat());
            let var = Sym::new(format!("i{}", binding.out.0));
            syms.push(SymDecl { sym: var.clone(), kind: SymKind::Loop(binding.out), loc: Loc::default() });
            let extent = IntExpr::from(random.below(3) as i64);
            binding.op = Op::For { var, begin: IntExpr::from(0), extent, step: 1 };
            binding.args = args[..1].to_vec();
            binding.regions = vec![region(vec![carried], inner)];
        }
    }
    func.blocks = outs;
    func.syms.extend(syms);
}

/// The operator, and its value with two signs that undo each other.
fn body(func: &mut relax::Function, ty: &Type, op: &Op, args: &[ValueId]) -> Vec<Binding> {
    let mut all = vec![Binding::new(func.add_value(ty.clone(), "a", Loc::default()), op.clone(), args.to_vec())];
    if ty.tensor().is_some_and(|t| !t.dtype.is_bool()) {
        for _ in 0..2 {
            let last = all[all.len() - 1].out;
            let neg = Op::Element(ElementOp::Unary(UnaryOp::Neg));
            all.push(Binding::new(func.add_value(ty.clone(), "n", Loc::default()), neg, vec![last]));
        }
    }
    all
}

fn region(params: Vec<ValueId>, bindings: Vec<Binding>) -> Region {
    let results = bindings.last().map(|b| b.out).into_iter().collect();
    Region { params, blocks: vec![BindingBlock { kind: BlockKind::Dataflow, bindings }], results }
}

/// What is wrong with a graph of a seed and its passes, if anything.
fn failure(seed: u64, steps: usize, passes: &[&str]) -> Option<String> {
    let (mut module, inputs) = graph(seed, steps);
    let context = context();
    let errors = relax::verify(&module, entry(&module));
    assert!(errors.is_empty(), "seed {seed}: {errors:?}");
    let Ok(mut before) = run(&module, &inputs) else { return None };
    let mut random = Random::new(seed + 77);
    for _ in 0..passes.len() {
        let name = random.pick(passes);
        let old = relax::print_function(entry(&module));
        let pass = find(name)?;
        if let Err(error) = run_pass(pass, &mut module, &context) {
            return Some(format!("{name}: {}\n{old}", error.message));
        }
        let new = relax::print_function(entry(&module));
        let found = match run(&module, &inputs) {
            Err(error) => Some(error),
            Ok(after) => refuted(&before, &after).or_else(|| {
                before = after;
                None
            }),
        };
        if let Some(found) = found {
            return Some(format!("{name}: {found}\n{old}\nbecame\n{new}"));
        }
    }
    None
}

/// Runs the passes over the graphs of all seeds; of a graph that fails, the least that fails is shown.
pub(super) fn check(passes: &[&str], seeds: std::ops::Range<u64>) {
    for seed in seeds {
        if failure(seed, STEPS, passes).is_some() {
            let least = (1..=STEPS).find_map(|steps| failure(seed, steps, passes));
            panic!("seed {seed}: {}", least.unwrap_or_default());
        }
    }
}

#[test]
fn results_are_kept_in_any_order_of_passes() {
    check(PASSES, 0..GRAPHS);
}

#[test]
fn graphs_run_and_passes_change_them() {
    let (mut ran, mut changed) = (0, 0);
    for seed in 0..100 {
        let (module, inputs) = graph(seed, STEPS);
        ran += usize::from(run(&module, &inputs).is_ok());
        let mut after = module.clone();
        for name in PASSES {
            run_pass(find(name).expect("a pass"), &mut after, &context()).expect("the pass runs");
        }
        changed += usize::from(entry(&module).bindings().count() > entry(&after).bindings().count() + 2);
    }
    assert!(ran >= 95 && changed >= 80, "{ran} graphs ran, {changed} became smaller");
}
