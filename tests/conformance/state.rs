//! Random programs over states: read, updated, stored, swapped and returned in every order, the same in every run.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, ElementOp, ReduceOp, UnaryOp};
use tenfold_ir::relax::{Function as Graph, Op, ParamKind, SliceAxis, Type, ValueId};
use tenfold_ir::{DType, Function};

use crate::case::{Case, Make, fixed};
use crate::data::Random;

const PROGRAMS: u64 = 48;
const STEPS: usize = 14;

pub(crate) fn cases() -> Vec<Case> {
    (0..PROGRAMS).map(program).collect()
}

/// What a program may use: values and their shapes, and what each state holds by now.
struct Program {
    m: Make,
    random: Random,
    pool: Vec<(ValueId, Vec<IntExpr>)>,
    held: Vec<ValueId>,
    rows: IntExpr,
    callee: Option<Graph>,
}

/// Three states `[rows, 3]`, an input of that shape, a constant and a row; `rows` is a named dim in half of them.
fn program(seed: u64) -> Case {
    let random = Random::new(77_000 + seed);
    let mut m = Make::new(&format!("state_{seed}"));
    let named = seed % 2 == 1;
    let rows = if named { m.dim("N", [4, 0, 1, 7][(seed / 2 % 4) as usize], 0, 0) } else { 4.into() };
    let shape = vec![rows.clone(), 3.into()];
    let held: Vec<ValueId> = (0..3).map(|_| m.state(DType::I32, &shape)).collect();
    let x = m.input(DType::I32, &shape);
    let row = m.input(DType::I32, &fixed(&[3]));
    let mut pool: Vec<_> = held.iter().map(|v| (*v, shape.clone())).collect();
    pool.extend([(x, shape.clone()), (row, fixed(&[3]))]);
    if !named {
        pool.push((m.constant(DType::I32, &[4, 3]), shape.clone()));
    }
    let callee = seed.is_multiple_of(3).then(|| callee(&format!("state_{seed}_callee"), &rows));
    let mut p = Program { m, random, pool, held, rows, callee };
    for _ in 0..STEPS {
        p.step();
    }
    p.finish()
}

/// Updates its state, returns what it held before and a reshape of what it holds now.
fn callee(name: &str, rows: &IntExpr) -> Graph {
    let mut m = Make::new(name);
    let shape = match rows.as_const() {
        Some(_) => fixed(&[4, 3]),
        None => vec![m.dim("M", 0, 0, 0), 3.into()],
    };
    let state = m.state(DType::I32, &shape);
    let part = m.input(DType::I32, &shape);
    let twice = m.element(ElementOp::Binary(BinaryOp::Add), &[part, state]);
    let column = SliceAxis { begin: 1.into(), extent: 2.into(), step: 1 };
    let all = SliceAxis { begin: 0.into(), extent: shape[0].clone(), step: 1 };
    let from = SliceAxis { begin: 0.into(), extent: 2.into(), step: 1 };
    let moved = m.emit(Op::Slice { axes: vec![all.clone(), from], drop: vec![] }, &[twice]);
    let new = m.emit(Op::SliceUpdate { axes: vec![all, column], drop: vec![] }, &[state, moved]);
    m.emit(Op::StoreState { param: 0 }, &[new]);
    let flat = m.emit(Op::Reshape { shape: vec![&shape[0] * &IntExpr::from(3)] }, &[new]);
    m.b.finish(&[state, flat])
}

impl Program {
    fn shape(&self) -> Vec<IntExpr> {
        vec![self.rows.clone(), 3.into()]
    }

    /// A value of the states' shape; the newest and the states are the likeliest.
    fn full(&mut self) -> ValueId {
        if self.random.below(3) == 0 {
            return self.random.pick(&self.held.clone());
        }
        let shape = self.shape();
        let all: Vec<ValueId> = self.pool.iter().filter(|(_, s)| *s == shape).map(|(v, _)| *v).collect();
        let back = self.random.below(all.len()).min(self.random.below(all.len()));
        all[all.len() - 1 - back]
    }

    fn any(&mut self) -> ValueId {
        let n = self.random.below(self.pool.len());
        self.pool[n].0
    }

    fn push(&mut self, op: Op, args: &[ValueId]) -> Option<ValueId> {
        let value = self.m.b.emit(op, args).ok()?;
        let Type::Tensor(ty) = self.m.b.ty(value).clone() else { return None };
        self.pool.push((value, ty.shape));
        Some(value)
    }

    fn rows_axis(&mut self) -> SliceAxis {
        match self.rows.as_const() {
            Some(n) => {
                let begin = self.random.below(n as usize) as i64;
                let extent = 1 + self.random.below((n - begin) as usize) as i64;
                self.turned(begin, extent)
            }
            None => SliceAxis { begin: 0.into(), extent: self.rows.clone(), step: 1 },
        }
    }

    fn columns_axis(&mut self) -> SliceAxis {
        let begin = self.random.below(3) as i64;
        let extent = 1 + self.random.below((3 - begin) as usize) as i64;
        self.turned(begin, extent)
    }

    /// The same part, backwards now and then.
    fn turned(&mut self, begin: i64, extent: i64) -> SliceAxis {
        if self.random.below(3) == 0 {
            return SliceAxis { begin: (begin + extent - 1).into(), extent: extent.into(), step: -1 };
        }
        SliceAxis { begin: begin.into(), extent: extent.into(), step: 1 }
    }

    fn step(&mut self) {
        let x = self.full();
        match self.random.below(12) {
            0 | 1 => {
                let op = self.random.pick(&[BinaryOp::Add, BinaryOp::Sub, BinaryOp::Max]);
                let y = self.any();
                self.push(Op::Element(ElementOp::Binary(op)), &[x, y]);
            }
            2 => {
                self.push(Op::Element(ElementOp::Unary(UnaryOp::Neg)), &[x]);
            }
            3 => {
                let flat = self.push(Op::Reshape { shape: vec![&self.rows * &IntExpr::from(3)] }, &[x]);
                let shape = self.shape();
                if let Some(flat) = flat.filter(|_| self.random.below(2) == 0) {
                    self.push(Op::Reshape { shape }, &[flat]);
                }
            }
            4 => {
                let t = self.push(Op::Transpose { perm: vec![1, 0] }, &[x]);
                if let Some(t) = t {
                    self.push(Op::Transpose { perm: vec![1, 0] }, &[t]);
                }
            }
            5 => {
                self.push(Op::Reduce { op: ReduceOp::Sum, axes: vec![0], keepdims: false }, &[x]);
            }
            6..=8 => self.update(x),
            9 if self.callee.is_some() => self.call(x),
            _ => self.store(x),
        }
    }

    /// A part takes a part of the same or another value, a value that is broadcast, or a changed part of itself.
    fn update(&mut self, x: ValueId) {
        let axes = vec![self.rows_axis(), self.columns_axis()];
        let y = if self.random.below(2) == 0 { x } else { self.full() };
        let Some(part) = self.push(Op::Slice { axes: axes.clone(), drop: vec![] }, &[y]) else { return };
        let part = match self.random.below(3) {
            0 => part,
            1 => self.push(Op::Element(ElementOp::Unary(UnaryOp::Neg)), &[part]).unwrap_or(part),
            _ => self.m.lit(DType::I32, 5.0),
        };
        // The same part elsewhere, so that source and destination overlap.
        let (rows, columns) = (self.rows_axis(), self.columns_axis());
        let fits = |a: &SliceAxis, b: &SliceAxis| a.extent == b.extent;
        let to = [rows, columns].into_iter().zip(&axes).map(|(a, b)| if fits(&a, b) { a } else { b.clone() });
        self.push(Op::SliceUpdate { axes: to.collect(), drop: vec![] }, &[x, part]);
    }

    fn store(&mut self, x: ValueId) {
        let param = self.random.below(3);
        if self.m.b.emit(Op::StoreState { param }, &[x]).is_ok() {
            self.held[param] = x;
        }
    }

    fn call(&mut self, x: ValueId) {
        let Some(callee) = &self.callee else { return };
        let param = self.random.below(3);
        let state = self.held[param];
        let full = self.m.b.ty(state).clone();
        let Type::Tensor(flat) = full.clone() else { return };
        let size = &flat.shape[0] * &IntExpr::from(3);
        let flat = Type::Tensor(tenfold_ir::relax::TensorType { shape: vec![size.clone()], ..flat });
        let result = Type::Tuple(vec![full.clone(), flat, full]);
        let op = Op::CallFn { func: callee.name.clone(), syms: Vec::new(), result };
        let Ok(out) = self.m.b.emit(op, &[state, x]) else { return };
        self.push(Op::TupleGet(0), &[out]);
        self.push(Op::TupleGet(1), &[out]);
        if let Some(new) = self.push(Op::TupleGet(2), &[out])
            && self.m.b.emit(Op::StoreState { param }, &[new]).is_ok()
        {
            self.held[param] = new;
        }
    }

    fn finish(mut self) -> Case {
        let mut results: Vec<ValueId> = (0..3).map(|_| self.any()).collect();
        results.push(self.pool[self.pool.len() - 1].0);
        results.push(self.random.pick(&self.held));
        results.push(results[0]);
        let callee = self.callee.take();
        let mut case = self.m.done(&results);
        if let Some(callee) = callee {
            debug_assert!(callee.params.iter().any(|p| p.kind == ParamKind::State));
            case.module.functions.insert(callee.name.clone(), Function::Relax(callee));
        }
        case
    }
}
