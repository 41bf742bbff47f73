//! Random functions of tir: every kind of statement and expression, lawful, the same for one seed on every machine.
//!
//! What they compute is of no interest (their indices may lie anywhere); what prints, parses, verifies, hashes and
//! rewrites them is.

use super::{
    Access, AnnValue, Annotation, Barrier, Block, BufId, BufUse, Builder, CallArg, Elem, Expr, ExprId, Intrinsic,
    IterKind, IterVar, LoopKind, MatchBuffer, OpPattern, Phase, PrimFunc, Region, Scope, Stmt, ThreadAxis, Ty, VarId,
};
use crate::arith::{Fact, IntExpr};
use crate::op::{BinaryOp, CmpOp, UnaryOp};
use crate::{DType, Function, Loc, Module, Scalar};

/// A module with a random function called `f`, and one that it calls.
pub fn module(seed: u64) -> Module {
    let mut module = Module { entry: "f".into(), sources: vec!["f".into()], ..Module::default() };
    let bytes: Vec<u8> = (0..8).map(|i| (seed >> (8 * i)) as u8).collect();
    let hash = format!("{:032x}", crate::relax::fnv1a(&bytes));
    let bytes = crate::ConstBytes::Inline(bytes.into());
    module.constants.push(crate::ConstData { hash, name: "c \"x\"".into(), dtype: DType::I16, shape: vec![4], bytes });
    for func in [callee(), Gen::new(seed).function()] {
        module.functions.insert(func.name.clone(), Function::Prim(func));
    }
    module
}

fn callee() -> PrimFunc {
    let mut b = Builder::new("callee");
    let out = b.buffer_param("out", DType::F32, vec![4.into()], BufUse::InOut);
    let n = b.var("n", Ty::index());
    b.func_mut().params.push(super::Param::Value(n));
    let (at, value) = (b.read(n), b.float(DType::F32, 1.0));
    b.push(Stmt::Store { buf: out, index: vec![at], value, access: Access::Unchecked });
    b.func_mut().phase = Phase::Flat;
    b.finish()
}

/// A generator of numbers that are the same everywhere.
#[derive(Clone)]
pub struct Rng(u64);

impl Rng {
    /// One that begins with `seed`.
    pub fn new(seed: u64) -> Self {
        Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.bits() >> 33) % n as u64) as usize
    }
    /// One of several.
    pub fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

struct Gen {
    rng: Rng,
    b: Builder,
    /// Variables and buffers that may be used here.
    vars: Vec<VarId>,
    bufs: Vec<BufId>,
    /// Buffers that may be written among them.
    writable: Vec<BufId>,
    axes: Vec<LoopKind>,
    exported: bool,
    flat: bool,
}

const ARITH: [BinaryOp; 5] = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Min, BinaryOp::Max];
const WHOLE: [BinaryOp; 9] = [
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
const FLOATS: [UnaryOp; 12] = [
    UnaryOp::Exp,
    UnaryOp::Log1p,
    UnaryOp::Floor,
    UnaryOp::Round,
    UnaryOp::Sqrt,
    UnaryOp::Rsqrt,
    UnaryOp::Sin,
    UnaryOp::Tanh,
    UnaryOp::Erf,
    UnaryOp::Sigmoid,
    UnaryOp::Reciprocal,
    UnaryOp::Atan,
];
const PATTERNS: [Option<OpPattern>; 8] = [
    None,
    Some(OpPattern::ElementWise),
    Some(OpPattern::Broadcast),
    Some(OpPattern::Injective),
    Some(OpPattern::CommReduce),
    Some(OpPattern::OutEWiseFusable),
    Some(OpPattern::Tuple),
    Some(OpPattern::Opaque),
];

impl Gen {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let (exported, flat) = (rng.below(2) == 0, rng.below(2) == 0);
        let (vars, bufs, writable, axes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Gen { rng, b: Builder::new("f"), vars, bufs, writable, axes, exported, flat }
    }

    fn function(mut self) -> PrimFunc {
        let n = self.b.dim_param(&"N".into());
        self.vars.push(n);
        let scalar = self.b.scalar_param("s", DType::F32);
        let vector = self.b.var("w", Ty { lanes: 4, ..Ty::scalar(DType::I32) });
        self.b.func_mut().params.push(super::Param::Value(vector));
        self.vars.extend([scalar, vector]);
        for usage in [BufUse::In, BufUse::Out, BufUse::InOut] {
            let (dtype, shape) = (self.dtype(), self.shape());
            let buf = self.b.buffer_param("p", dtype, shape, usage);
            self.bufs.push(buf);
            if usage != BufUse::In {
                self.writable.push(buf);
            }
        }
        let of = self.b.buffer_param("q", DType::F32, vec![4.into()], BufUse::InOut);
        let constant = self.b.buffer("c", DType::I16, vec![4.into()], Scope::Const(crate::ConstId(0)));
        self.bufs.extend([of, constant]);
        self.writable.push(of);
        self.decorate(of);
        let body = self.stmt(4);
        let last: Vec<Stmt> = self.writable.clone().into_iter().map(|buf| self.store(buf, 1)).collect();
        self.b.push(Stmt::Seq(std::iter::once(body).chain(last).collect()));
        self.b.finish()
    }

    fn decorate(&mut self, strided: BufId) {
        let (n, two) = (IntExpr::var("N"), IntExpr::from(2));
        if self.rng.below(3) == 0 {
            self.b.buf_mut(strided).strides = Some(vec![n.clone()]);
        }
        let (exported, flat) = (self.exported, self.flat);
        let (strict, pattern) = (self.rng.below(2) == 0, self.rng.of(&PATTERNS));
        let phase = if flat { Phase::Flat } else { self.rng.of(&[Phase::Blocks, Phase::Scheduled]) };
        let func = self.b.func_mut();
        func.facts.push(Fact::ge(&n, &two));
        func.facts.push(Fact::Or(vec![Fact::lt(&n, &100.into()), Fact::eq(&n.floor_mod(&two), &0.into())]));
        (func.exported, func.strict, func.pattern, func.phase) = (exported, strict, pattern, phase);
        func.loc = Loc { function: 0, node: 7 };
    }

    fn dtype(&mut self) -> DType {
        self.rng.of(&DType::ALL)
    }

    fn shape(&mut self) -> Vec<IntExpr> {
        let n = IntExpr::var("N");
        let extents = [IntExpr::from(4), n.clone(), &n * &IntExpr::from(3), (&n + &1.into()).floor_div(&2.into())];
        let rank = if self.flat { 1 } else { self.rng.below(4) };
        (0..rank).map(|_| extents[self.rng.below(extents.len())].clone()).collect()
    }

    // Expressions.

    fn of_type(&mut self, ty: Ty, depth: u32) -> ExprId {
        let vars = self.vars.iter().copied().filter(|v| self.b.func().vars[v.0 as usize].ty == ty);
        let vars: Vec<VarId> = vars.collect();
        if !vars.is_empty() && self.rng.below(3) == 0 {
            let var = self.rng.of(&vars);
            return self.b.read(var);
        }
        if ty.lanes > 1 {
            return self.vector(ty, depth);
        }
        if depth == 0 {
            return self.literal(ty);
        }
        match ty.elem {
            Elem::Index => self.index(depth - 1),
            Elem::Scalar(DType::Bool) => self.cond(depth - 1),
            Elem::Scalar(dtype) => self.number(dtype, depth - 1),
        }
    }

    fn literal(&mut self, ty: Ty) -> ExprId {
        match ty.elem {
            Elem::Index => {
                let value = self.rng.bits() as i64 >> self.rng.of(&[1, 33, 58, 61]);
                self.b.index(value)
            }
            Elem::Scalar(DType::Bool) => {
                let value = self.rng.below(2) == 0;
                self.b.scalar(Scalar::bool(value))
            }
            Elem::Scalar(dtype) => {
                let bits = self.rng.bits() & (u64::MAX >> (64 - 8 * dtype.size_bytes()));
                let small = Scalar::int(dtype, i128::from(bits as u8));
                let value = if self.rng.below(2) == 0 { small } else { Scalar { dtype, bits } };
                self.b.scalar(value)
            }
        }
    }

    fn vector(&mut self, ty: Ty, depth: u32) -> ExprId {
        let scalar = Ty { lanes: 1, ..ty };
        let is_number = ty.elem != Elem::Scalar(DType::Bool);
        match self.rng.below(if depth == 0 { 1 } else { 4 }) {
            1 if is_number => {
                let (base, stride) = (self.of_type(scalar, depth - 1), self.of_type(scalar, 0));
                self.b.ramp(base, stride, ty.lanes)
            }
            2 => {
                let parts = vec![self.of_type(Ty { lanes: 4, ..ty }, depth - 1), self.of_type(scalar, depth - 1)];
                let lanes = (0..ty.lanes).map(|_| self.rng.below(5) as u16).collect();
                self.b.shuffle(parts, lanes)
            }
            3 if is_number => {
                let (x, y) = (self.of_type(ty, depth - 1), self.of_type(ty, depth - 1));
                let op = self.rng.of(&ARITH);
                self.b.binary(op, x, y)
            }
            _ => {
                let value = self.of_type(scalar, depth.saturating_sub(1));
                self.b.broadcast(value, ty.lanes)
            }
        }
    }

    fn pair(&mut self, ty: Ty, depth: u32) -> (ExprId, ExprId) {
        (self.of_type(ty, depth), self.of_type(ty, depth))
    }

    fn choice(&mut self, ty: Ty, depth: u32) -> ExprId {
        let cond = self.of_type(Ty::bool(), depth);
        let (x, y) = self.pair(ty, depth);
        if self.rng.below(2) == 0 { self.b.if_(cond, x, y) } else { self.b.select(cond, x, y) }
    }

    fn index(&mut self, depth: u32) -> ExprId {
        let ty = Ty::index();
        match self.rng.below(5) {
            0 => self.choice(ty, depth),
            1 => {
                let value = self.of_type(Ty::scalar(DType::I32), depth);
                self.b.to_index(value)
            }
            2 => {
                let lane = self.of_type(Ty { lanes: 4, ..ty }, depth);
                let at = self.rng.below(4) as u16;
                self.b.extract(lane, at)
            }
            n => {
                let op = if n == 3 { self.rng.of(&ARITH) } else { self.rng.of(&WHOLE) };
                let (x, y) = self.pair(ty, depth);
                self.b.binary(op, x, y)
            }
        }
    }

    fn cond(&mut self, depth: u32) -> ExprId {
        match self.rng.below(3) {
            0 => {
                let value = self.of_type(Ty::bool(), depth);
                self.b.unary(UnaryOp::Not, value)
            }
            1 => self.choice(Ty::bool(), depth),
            _ => {
                let ty = if self.rng.below(2) == 0 { Ty::index() } else { Ty::scalar(self.dtype()) };
                let (op, (x, y)) = (self.rng.of(CmpOp::ALL), self.pair(ty, depth));
                self.b.compare(op, x, y)
            }
        }
    }

    fn number(&mut self, dtype: DType, depth: u32) -> ExprId {
        let ty = Ty::scalar(dtype);
        let loads: Vec<BufId> = self.bufs.iter().copied().filter(|b| self.b.buf(*b).dtype == dtype).collect();
        match self.rng.below(7) {
            0 if !loads.is_empty() => {
                let buf = self.rng.of(&loads);
                let (index, access) = (self.indices(buf, depth), self.access());
                self.b.load(buf, index, access)
            }
            1 => self.choice(ty, depth),
            2 => {
                let from = Ty::scalar(self.dtype());
                let value = self.of_type(from, depth);
                self.b.cast(dtype, value)
            }
            3 => self.intrinsic(dtype, depth),
            4 if dtype.is_float() => {
                let (op, value) = (self.rng.of(&FLOATS), self.of_type(ty, depth));
                self.b.unary(op, value)
            }
            5 => {
                let (op, value) = (self.rng.of(&[UnaryOp::Neg, UnaryOp::Abs, UnaryOp::Sign]), self.of_type(ty, depth));
                self.b.unary(op, value)
            }
            n => {
                let whole = n == 6 && !dtype.is_float();
                let op = if whole { self.rng.of(&WHOLE) } else { self.rng.of(&ARITH) };
                let (x, y) = self.pair(ty, depth);
                self.b.binary(op, x, y)
            }
        }
    }

    fn intrinsic(&mut self, dtype: DType, depth: u32) -> ExprId {
        let ty = Ty::scalar(dtype);
        let args = vec![self.of_type(ty, depth), self.of_type(ty, depth), self.of_type(ty, depth)];
        match dtype {
            DType::I32 => self.b.call(Intrinsic::QMultiplyShift, args, ty),
            DType::F32 => {
                let bits = self.of_type(Ty::scalar(DType::U32), depth);
                self.b.call(Intrinsic::Bitcast, vec![bits], ty)
            }
            _ => self.b.call(Intrinsic::Fma, args, ty),
        }
    }

    fn indices(&mut self, buf: BufId, depth: u32) -> Vec<ExprId> {
        (0..self.b.buf(buf).shape.len()).map(|_| self.of_type(Ty::index(), depth)).collect()
    }

    fn access(&mut self) -> Access {
        self.rng.of(&[Access::Proven, Access::Unchecked])
    }

    // Statements.

    fn store(&mut self, buf: BufId, depth: u32) -> Stmt {
        let mut index = self.indices(buf, depth);
        let lanes = self.rng.of(&[1u16, 1, 4]);
        let dtype = self.b.buf(buf).dtype;
        match index.first_mut() {
            Some(first) if lanes > 1 => *first = self.of_type(Ty { lanes, ..Ty::index() }, depth),
            _ => {
                let value = self.of_type(Ty::scalar(dtype), depth);
                return Stmt::Store { buf, index, value, access: self.access() };
            }
        }
        let value = self.of_type(Ty { lanes, ..Ty::scalar(dtype) }, depth);
        Stmt::Store { buf, index, value, access: self.access() }
    }

    fn stmt(&mut self, depth: u32) -> Stmt {
        if depth == 0 {
            return self.leaf();
        }
        match self.rng.below(9) {
            0 | 1 => Stmt::Seq((0..2 + self.rng.below(3)).map(|_| self.stmt(depth - 1)).collect()),
            2 => self.loop_(depth - 1),
            3 => Stmt::While { cond: self.of_type(Ty::bool(), 2), body: Box::new(self.stmt(depth - 1)) },
            4 => {
                let cond = self.of_type(Ty::bool(), 2);
                let then = Box::new(self.stmt(depth - 1));
                let otherwise = (self.rng.below(2) == 0).then(|| Box::new(self.stmt(depth - 1)));
                Stmt::If { cond, then, otherwise }
            }
            5 => self.let_(depth - 1),
            6 => self.alloc(depth - 1),
            7 if !self.flat => self.block(depth - 1),
            _ => Stmt::At(Loc { function: 0, node: self.rng.below(100) as u32 }, Box::new(self.stmt(depth - 1))),
        }
    }

    fn leaf(&mut self) -> Stmt {
        match self.rng.below(6) {
            0 => {
                let ty = Ty::scalar(self.dtype());
                Stmt::Evaluate(self.of_type(ty, 4))
            }
            1 => {
                let buf = self.rng.of(&self.bufs.clone());
                Stmt::Prefetch { buf, index: self.indices(buf, 1) }
            }
            2 if !self.axes.is_empty() => {
                let scope = self.rng.of(&[Scope::Shared, Scope::SharedDyn, Scope::Warp]);
                Stmt::Barrier(Barrier { scope, leaves: self.rng.of(&[0, 0, 1, 2]) })
            }
            3 if self.exported => {
                Stmt::Assert { cond: self.of_type(Ty::bool(), 2), text: "\"N\" // is\ttoo {small}, \\ or ü".into() }
            }
            4 => {
                let n = CallArg::Value(self.of_type(Ty::index(), 2));
                let out = self.writable.iter().copied().find(|b| self.b.buf(*b).name == "q");
                let args = vec![CallArg::Buffer(out.unwrap_or(self.writable[0])), n];
                Stmt::Call { func: "callee".into(), args, launch: None }
            }
            _ => {
                let buf = self.rng.of(&self.writable.clone());
                self.store(buf, 3)
            }
        }
    }

    fn loop_(&mut self, depth: u32) -> Stmt {
        let (min, extent) = (self.of_type(Ty::index(), 2), self.of_type(Ty::index(), 1));
        let mut kind = self.rng.of(&super::print::LOOP_KINDS);
        let thread = |k: &LoopKind| matches!(k, LoopKind::ThreadBound(ThreadAxis::Thread(_)));
        let block = matches!(kind, LoopKind::ThreadBound(ThreadAxis::Block(_)));
        if self.axes.contains(&kind) || block && self.axes.iter().any(thread) {
            kind = LoopKind::Serial;
        }
        let bound = matches!(kind, LoopKind::ThreadBound(_));
        let var = self.b.index_var("i");
        self.vars.push(var);
        self.axes.extend(bound.then_some(kind));
        let body = self.stmt(depth);
        self.vars.pop();
        if bound {
            self.axes.pop();
        }
        let mut annotations = self.annotations();
        let parts = body.pipeline_parts().len() as u32;
        if self.rng.below(4) == 0 {
            annotations.push(Annotation::SoftwarePipeline {
                stages: (0..parts).map(|_| self.rng.below(3) as u32).collect(),
                order: (0..parts).rev().collect(),
            });
        }
        Stmt::For { var, min, extent, kind, annotations, body: Box::new(body) }
    }

    fn annotations(&mut self) -> Vec<Annotation> {
        let buf = self.rng.of(&self.bufs.clone());
        let text = AnnValue::Text("a, b) \"c\" // d".into());
        let all = [
            Annotation::DoubleBuffer(buf),
            Annotation::StorageAlign { buf, axis: 0, factor: 32, offset: -8 },
            Annotation::PragmaUnroll { max_step: 16, explicit: self.rng.below(2) == 0 },
            Annotation::LoopPartition,
            Annotation::Prefetch { buf, ahead: 2 },
            Annotation::PrefetchNext { buf, turns: 1 },
            Annotation::CrossThread,
            Annotation::AutoParallel,
            Annotation::Shared,
            Annotation::AutoCopy,
            Annotation::MatrixTile,
            Annotation::User { key: "my.key".into(), value: text },
            Annotation::User { key: "n".into(), value: AnnValue::Int(-3) },
        ];
        (0..self.rng.below(3)).map(|_| all[self.rng.below(all.len())].clone()).collect()
    }

    fn let_(&mut self, depth: u32) -> Stmt {
        let elem = if self.rng.below(2) == 0 { Elem::Index } else { Elem::Scalar(self.dtype()) };
        let ty = Ty { elem, lanes: self.rng.of(&[1, 1, 4]) };
        let value = self.of_type(ty, 4);
        let var = self.b.var("v", ty);
        self.vars.push(var);
        let body = Box::new(self.stmt(depth));
        self.vars.pop();
        Stmt::Let { var, value, body }
    }

    fn new_buffer(&mut self) -> BufId {
        let scopes = [Scope::Global, Scope::Local, Scope::Shared, Scope::SharedDyn, Scope::Warp];
        let (scope, dtype, shape) = (self.rng.of(&scopes), self.dtype(), self.shape());
        let buf = self.b.buffer("t", dtype, shape, scope);
        if scope == Scope::SharedDyn {
            self.b.buf_mut(buf).offset = Some(&IntExpr::var("N") * &IntExpr::from(16));
        }
        if dtype.is_int() && self.rng.below(2) == 0 {
            self.b.buf_mut(buf).range = Some((IntExpr::from(-1), IntExpr::var("N")));
        }
        buf
    }

    fn alive<R>(&mut self, bufs: &[BufId], f: impl FnOnce(&mut Self) -> R) -> R {
        let (all, written) = (self.bufs.len(), self.writable.len());
        self.bufs.extend(bufs);
        self.writable.extend(bufs);
        let result = f(self);
        self.bufs.truncate(all);
        self.writable.truncate(written);
        result
    }

    fn alloc(&mut self, depth: u32) -> Stmt {
        let buf = self.new_buffer();
        let body = self.alive(&[buf], |g| Box::new(g.stmt(depth)));
        Stmt::Alloc { buf, body }
    }

    fn region(&mut self) -> Region {
        let buf = self.rng.of(&self.writable.clone());
        let rank = self.b.buf(buf).shape.len();
        let ranges = (0..rank).map(|_| self.pair(Ty::index(), 1)).collect();
        Region { buf, ranges }
    }

    fn block(&mut self, depth: u32) -> Stmt {
        let name = self.b.fresh_name("block");
        let mut iters = Vec::new();
        for _ in 0..self.rng.below(3) {
            let (extent, value) = (self.of_type(Ty::index(), 1), self.of_type(Ty::index(), 2));
            let kind = self.rng.of(&[IterKind::Spatial, IterKind::Reduce, IterKind::Ordered]);
            iters.push(IterVar { var: self.b.index_var("b"), extent, kind, value });
        }
        let vars = self.vars.len();
        self.vars.extend(iters.iter().map(|i| i.var));
        let (reads, writes) = (vec![self.region()], vec![self.region()]);
        let (alloc, matched) = (self.new_buffer(), self.region());
        let whole = self.b.buf(matched.buf).clone();
        let view = self.b.buffer("view", whole.dtype, whole.shape, Scope::View);
        let predicate = (self.rng.below(2) == 0).then(|| self.of_type(Ty::bool(), 2));
        let (init, body, annotations) = self.alive(&[alloc, view], |g| {
            let init = (g.rng.below(2) == 0).then(|| g.stmt(depth.min(1)));
            (init, g.stmt(depth), g.annotations())
        });
        self.vars.truncate(vars);
        let (allocs, matches) = (vec![alloc], vec![MatchBuffer { view, region: matched }]);
        Stmt::Block(Box::new(Block { name, iters, reads, writes, init, predicate, allocs, matches, annotations, body }))
    }
}

/// What an expression of the generator may be, for those that count kinds.
pub fn kind(expr: &Expr) -> &'static str {
    match expr {
        Expr::Const(_) => "const",
        Expr::Index(_) => "index",
        Expr::Var(_) => "var",
        Expr::Unary(..) => "unary",
        Expr::Binary(..) => "binary",
        Expr::Compare(..) => "compare",
        Expr::If(..) => "if",
        Expr::Select(..) => "select",
        Expr::Cast(..) => "cast",
        Expr::Load { .. } => "load",
        Expr::Call(..) => "call",
        Expr::Ramp(..) => "ramp",
        Expr::Broadcast(..) => "broadcast",
        Expr::Shuffle(..) => "shuffle",
    }
}
