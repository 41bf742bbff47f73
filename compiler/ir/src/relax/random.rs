//! Random modules for tests: well-formed, deterministic from a seed, with every kind of binding and region.
//!
//! What is generated can be interpreted if every dim is at least 1, but for calls out of the module.

use crate::arith::{Fact, IntExpr, Sym};
use crate::op::{ArgOp, BinaryOp, CmpOp, ElementOp, ReduceOp, UnaryOp};
use crate::relax::{
    Builder, Extern, FactDecl, Function, Linkage, Op, ParamKind, Region, SliceAxis, SymDecl, SymKind, TensorType, Type,
    ValueId,
};
use crate::{DType, Loc, Module, Scalar};

/// A module with an entry and, for some seeds, a function that it calls.
pub fn random_module(seed: u64) -> Module {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut module = Module { entry: "entry".to_string(), sources: vec!["entry".to_string()], ..Module::default() };
    if random.below(4) == 0 {
        let callee = Generator::new("callee", &mut random).callee();
        module.functions.insert("callee".to_string(), crate::Function::Relax(callee));
    }
    let calls = module.relax("callee").is_some();
    let entry = Generator::new("entry", &mut random).entry(calls);
    module.functions.insert("entry".to_string(), crate::Function::Relax(entry));
    module
}

/// A generator of numbers, the same everywhere.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// One that begins with a seed.
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    fn pick<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len())]
    }
}

const NAMES: &[&str] = &["", "x", "é", "a \"b\"", "at 0:1", "{", "// no", "range(1, 2)", "\\n\n"];

struct Generator<'r> {
    b: Builder,
    random: &'r mut Random,
    /// Values that may be read here.
    values: Vec<ValueId>,
    syms: usize,
    depth: usize,
    calls: bool,
}

impl<'r> Generator<'r> {
    fn new(name: &str, random: &'r mut Random) -> Self {
        Generator { b: Builder::new(name), random, values: Vec::new(), syms: 0, depth: 0, calls: false }
    }

    /// `f(x: f32[N]) -> f32[N]`.
    fn callee(mut self) -> Function {
        let x = self.param(ParamKind::Input, vec![self.dim()], DType::F32, 0);
        self.bindings(3);
        let y = self.b.element(ElementOp::Unary(UnaryOp::Neg), &[x]).unwrap_or(x);
        self.b.finish(&[y])
    }

    fn entry(mut self, calls: bool) -> Function {
        self.calls = calls;
        let n = self.dim();
        self.param(ParamKind::Input, vec![n.clone()], DType::F32, 0);
        self.param(ParamKind::State, vec![n, IntExpr::from(2)], DType::F32, 1);
        self.param(ParamKind::Scalar, vec![], DType::I32, 2);
        if self.random.below(2) == 0 {
            let fact = Fact::le(&self.dim(), &IntExpr::from(64));
            self.b.add_fact(FactDecl { fact, text: "N <= 64".to_string(), loc: Loc { function: 0, node: 3 } });
        }
        let count = 2 + self.random.below(10);
        self.bindings(count);
        let state = self.b.function().params[1].value;
        if let Ok(value) = self.b.element(ElementOp::Unary(UnaryOp::Abs), &[state])
            && self.random.below(2) == 0
        {
            let _ = self.b.emit(Op::StoreState { param: 1 }, &[value]);
        }
        let results: Vec<ValueId> = self.values.iter().rev().copied().filter(|v| self.is_tensor(*v)).take(2).collect();
        self.b.finish(&results)
    }

    fn dim(&self) -> IntExpr {
        IntExpr::var(Sym::new("N"))
    }

    fn param(&mut self, kind: ParamKind, shape: Vec<IntExpr>, dtype: DType, position: usize) -> ValueId {
        if position == 0 {
            let kind = SymKind::Dim { param: 0, axis: 0 };
            self.b.declare_sym(SymDecl { sym: Sym::new("N"), kind, loc: Loc::default() });
        }
        let name = *self.random.pick(NAMES);
        let value = self.b.param(kind, TensorType { dtype, shape }, name, position, Loc::default());
        self.values.push(value);
        value
    }

    fn is_tensor(&self, value: ValueId) -> bool {
        self.b.ty(value).tensor().is_some()
    }

    fn any(&mut self) -> ValueId {
        let tensors: Vec<ValueId> = self.values.iter().copied().filter(|v| self.is_tensor(*v)).collect();
        *self.random.pick(&tensors)
    }

    /// A float tensor.
    fn float(&mut self) -> ValueId {
        let floats =
            self.values.iter().copied().filter(|v| self.is_tensor(*v) && self.b.tensor(*v).dtype == DType::F32);
        let floats: Vec<ValueId> = floats.collect();
        *self.random.pick(&floats)
    }

    fn bindings(&mut self, count: usize) {
        for _ in 0..count {
            let node = self.random.below(90) as u32;
            self.b.set_loc(Loc { function: 0, node });
            if let Some(value) = self.binding() {
                let name = *self.random.pick(NAMES);
                self.b.name_value(value, name);
                self.values.push(value);
            }
        }
    }

    /// A binding of some kind; `None` where the kind does not fit what was picked.
    fn binding(&mut self) -> Option<ValueId> {
        match self.random.below(20) {
            0..=2 => self.element(),
            3 => self.reduction(),
            4 => self.movement(),
            5 => self.slice(),
            6 => Some(self.b.scalar(Scalar::float(DType::F32, f64::from(self.random.below(9) as u32) - 4.5))),
            7 => {
                let expr = &(&self.dim() * &IntExpr::from(2)) + &IntExpr::from(self.random.below(5) as i64);
                self.b.emit(Op::IndexValue { expr, dtype: DType::I64 }, &[]).ok()
            }
            8 => self.tuple(),
            9 => self.shapes(),
            10 => self.match_shape(),
            11 => self.bind_index(),
            12 => self.external(),
            13 => self.packed(),
            14 => self.call(),
            15 | 16 => self.branch(),
            17 | 18 => self.counted(),
            _ => self.repeated(),
        }
    }

    fn element(&mut self) -> Option<ValueId> {
        let x = self.float();
        let y = self.float();
        let unary = *self.random.pick(&[UnaryOp::Neg, UnaryOp::Abs, UnaryOp::Square, UnaryOp::Sign]);
        let binary = *self.random.pick(&[BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Max]);
        match self.random.below(4) {
            0 => self.b.element(ElementOp::Unary(unary), &[x]).ok(),
            1 => self.b.element(ElementOp::Cast(DType::I32), &[x]).ok(),
            2 => self.b.element(ElementOp::Compare(CmpOp::Le), &[x, y]).ok(),
            _ => self.b.element(ElementOp::Binary(binary), &[x, y]).ok(),
        }
    }

    fn reduction(&mut self) -> Option<ValueId> {
        let x = self.float();
        let rank = self.b.tensor(x).shape.len();
        let axes = (0..rank).filter(|_| self.random.below(2) == 0).collect();
        let keepdims = self.random.below(2) == 0;
        match self.random.below(3) {
            0 => self.b.emit(Op::ArgReduce { op: ArgOp::ArgMax, axis: None, keepdims }, &[x]).ok(),
            1 => self.b.emit(Op::Reduce { op: ReduceOp::Sum, axes, keepdims }, &[x]).ok(),
            _ => self.b.emit(Op::Reduce { op: ReduceOp::Max, axes, keepdims }, &[x]).ok(),
        }
    }

    fn movement(&mut self) -> Option<ValueId> {
        let x = self.any();
        let shape = self.b.tensor(x).shape.clone();
        match self.random.below(4) {
            0 => self.b.emit(Op::Transpose { perm: (0..shape.len()).rev().collect() }, &[x]).ok(),
            1 => self.b.emit(Op::Concat { axis: 0 }, &[x, x]).ok(),
            2 => {
                self.b.emit(Op::Reshape { shape: vec![shape.iter().fold(IntExpr::from(1), |n, d| &n * d)] }, &[x]).ok()
            }
            _ => {
                let shape = std::iter::once(IntExpr::from(2)).chain(shape).collect();
                self.b.emit(Op::BroadcastTo { shape }, &[x]).ok()
            }
        }
    }

    /// All of a tensor, or its axes backwards, or an update of it with itself.
    fn slice(&mut self) -> Option<ValueId> {
        let x = self.any();
        let shape = self.b.tensor(x).shape.clone();
        let axes: Vec<SliceAxis> =
            shape.into_iter().map(|extent| SliceAxis { begin: IntExpr::from(0), extent, step: 1 }).collect();
        if self.random.below(2) == 0 {
            self.b.emit(Op::SliceUpdate { axes, drop: Vec::new() }, &[x, x]).ok()
        } else {
            self.b.emit(Op::Slice { axes, drop: Vec::new() }, &[x]).ok()
        }
    }

    fn tuple(&mut self) -> Option<ValueId> {
        let (x, y) = (*self.random.pick(&self.values.clone()), self.any());
        let pair = self.b.emit(Op::Tuple, &[x, y]).ok()?;
        self.values.push(pair);
        self.b.emit(Op::TupleGet(self.random.below(2)), &[pair]).ok()
    }

    fn shapes(&mut self) -> Option<ValueId> {
        let x = self.any();
        let shape = self.b.emit(Op::ShapeOf, &[x]).ok()?;
        self.values.push(shape);
        let tensor = self.b.emit(Op::ShapeToTensor, &[shape]).ok()?;
        match self.random.below(3) {
            0 => Some(tensor),
            1 => self.b.emit(Op::TensorToShape, &[tensor]).ok(),
            _ => self.b.emit(Op::Shape { dims: vec![self.dim(), IntExpr::from(3)] }, &[]).ok(),
        }
    }

    fn sym(&mut self, base: &str) -> Sym {
        self.syms += 1;
        Sym::new(format!("{base}{}", self.syms))
    }

    fn declare(&mut self, sym: Sym, kind: SymKind) {
        self.b.declare_sym(SymDecl { sym, kind, loc: Loc::default() });
    }

    fn match_shape(&mut self) -> Option<ValueId> {
        let x = self.any();
        let rank = self.b.tensor(x).shape.len();
        let syms: Vec<Sym> = (0..rank).map(|_| self.sym("m")).collect();
        let shape = syms.iter().map(|sym| IntExpr::var(sym.clone())).collect();
        let out = self.b.emit(Op::MatchShape { shape }, &[x]).ok()?;
        syms.into_iter().for_each(|sym| self.declare(sym, SymKind::Bound(out)));
        Some(out)
    }

    fn bind_index(&mut self) -> Option<ValueId> {
        let seven = self.b.scalar(Scalar::int(DType::I64, 7));
        let sym = self.sym("k");
        let out = self.b.emit(Op::BindIndex(sym.clone()), &[seven]).ok()?;
        self.declare(sym.clone(), SymKind::Bound(out));
        let zero = self.b.scalar(Scalar::float(DType::F32, f64::NAN));
        let fact = Fact::ge(&IntExpr::var(sym.clone()), &IntExpr::from(1));
        self.b.emit(Op::Assert { fact, text: (*self.random.pick(NAMES)).to_string() }, &[]).ok()?;
        self.b.emit(Op::Full { shape: vec![IntExpr::var(sym)] }, &[zero]).ok()
    }

    fn external(&mut self) -> Option<ValueId> {
        let x = self.any();
        let ty = self.b.tensor(x).clone();
        let results = vec![ty; 1 + self.random.below(2)];
        self.b.emit(Op::CallDps { callee: Extern::new("f", Linkage::C), results }, &[x]).ok()
    }

    fn packed(&mut self) -> Option<ValueId> {
        let x = self.any();
        let updates = (0..self.random.below(2)).collect();
        self.b.emit(Op::CallPacked { callee: Extern::new("self::g {", Linkage::Rust), updates }, &[x]).ok()
    }

    fn call(&mut self) -> Option<ValueId> {
        let x = self.b.function().params[0].value;
        let result = self.b.ty(x).clone();
        let op = Op::CallFn { func: "callee".to_string(), syms: Vec::new(), result };
        if self.calls { self.b.emit(op, &[x]).ok() } else { None }
    }

    // Regions.

    /// A region that takes and gives values like `args`.
    fn region(&mut self, args: &[ValueId], results: impl FnOnce(&mut Self, &[ValueId]) -> Vec<ValueId>) -> Region {
        let visible = self.values.len();
        self.b.open_body(Vec::new());
        self.depth += 1;
        let types: Vec<Type> = args.iter().map(|arg| self.b.ty(*arg).clone()).collect();
        let params: Vec<ValueId> = types.into_iter().map(|ty| self.b.region_param(ty, "")).collect();
        self.values.extend(&params);
        let count = self.random.below(4);
        self.bindings(count);
        let results = results(self, &params);
        self.depth -= 1;
        self.values.truncate(visible);
        Region { params, blocks: self.b.close_body(), results }
    }

    /// The same value again, computed anew or as it is.
    fn next(&mut self, value: ValueId) -> ValueId {
        let op = ElementOp::Unary(UnaryOp::Abs);
        match self.random.below(2) {
            0 => self.b.element(op, &[value]).unwrap_or(value),
            _ => value,
        }
    }

    fn condition(&mut self) -> ValueId {
        self.b.scalar(Scalar::bool(false))
    }

    fn branch(&mut self) -> Option<ValueId> {
        if self.depth > 2 {
            return None;
        }
        let cond = self.condition();
        let x = self.float();
        let ty = self.b.ty(x).clone();
        let then = self.region(&[], |me, _| vec![me.next(x)]);
        let otherwise = self.region(&[], |me, _| vec![me.next(x)]);
        Some(self.b.emit_regions(Op::If, &[cond], vec![then, otherwise], ty))
    }

    fn carried(&mut self) -> (Vec<ValueId>, Type) {
        let args: Vec<ValueId> = (0..1 + self.random.below(3)).map(|_| self.float()).collect();
        let mut types: Vec<Type> = args.iter().map(|arg| self.b.ty(*arg).clone()).collect();
        let ty = if types.len() == 1 { types.remove(0) } else { Type::Tuple(types) };
        (args, ty)
    }

    fn counted(&mut self) -> Option<ValueId> {
        if self.depth > 2 {
            return None;
        }
        let (args, ty) = self.carried();
        let var = self.sym("i");
        let body = self.region(&args, |me, now| now.iter().map(|value| me.next(*value)).collect());
        let step = *self.random.pick(&[1, 2, -1]);
        let extent = IntExpr::from(self.random.below(4) as i64);
        let op = Op::For { var: var.clone(), begin: self.dim(), extent, step };
        let out = self.b.emit_regions(op, &args, vec![body], ty);
        self.declare(var, SymKind::Loop(out));
        Some(out)
    }

    fn repeated(&mut self) -> Option<ValueId> {
        if self.depth > 2 {
            return None;
        }
        let (args, ty) = self.carried();
        let cond = self.region(&args, |me, _| vec![me.condition()]);
        let body = self.region(&args, |me, now| now.iter().map(|value| me.next(*value)).collect());
        Some(self.b.emit_regions(Op::While, &args, vec![cond, body], ty))
    }
}
