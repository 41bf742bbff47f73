//! Random functions: loops of every kind, branches, variables, allocations, stores, choices, vectors as loops.

use tenfold_ir::DType;
use tenfold_ir::op::{BinaryOp, CmpOp, UnaryOp};
use tenfold_ir::tir::{Access, BufId, BufUse, Builder, ExprId, LoopKind, Phase, PrimFunc, Scope, Stmt, VarId};

/// A small generator of numbers: the same seed, the same function.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % n.max(1)
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Rows and columns of every tensor.
const ROWS: i64 = 4;
const COLUMNS: i64 = 8;

/// What can be used at a place.
#[derive(Clone, Default)]
struct Here {
    /// Index variables, and values that they stay below, if they are known to be non-negative.
    indices: Vec<(VarId, Option<i64>)>,
    ints: Vec<VarId>,
    floats: Vec<VarId>,
    /// Buffers of rank 2 that may be read, and of those that may be written.
    read: Vec<BufId>,
    write: Vec<BufId>,
}

struct Maker<'r> {
    b: Builder,
    r: &'r mut Random,
    /// Statements that may still be made.
    left: usize,
}

/// A function of phase `scheduled` that reads `x` and `k`, and changes `y` and `q`.
pub(crate) fn function(r: &mut Random) -> PrimFunc {
    let mut b = Builder::new("f");
    b.func_mut().phase = Phase::Scheduled;
    let shape = || vec![ROWS.into(), COLUMNS.into()];
    let n = b.dim_param(&"N".into());
    let x = b.buffer_param("x", DType::F32, shape(), BufUse::In);
    let k = b.buffer_param("k", DType::I32, shape(), BufUse::In);
    let y = b.buffer_param("y", DType::F32, shape(), BufUse::InOut);
    let q = b.buffer_param("q", DType::I32, shape(), BufUse::InOut);
    let here = Here { indices: vec![(n, None)], read: vec![x, k, y, q], write: vec![y, q], ..Here::default() };
    let left = 4 + r.below(12);
    let mut maker = Maker { b, r, left };
    for _ in 0..1 + maker.r.below(3) {
        let stmt = maker.stmt(&here, 0);
        maker.b.push(stmt);
    }
    maker.b.finish()
}

impl Maker<'_> {
    fn body(&mut self, here: &Here, depth: usize) -> Stmt {
        let count = 1 + self.r.below(3);
        Stmt::seq((0..count).map(|_| self.stmt(here, depth + 1)).collect::<Vec<_>>())
    }

    fn stmt(&mut self, here: &Here, depth: usize) -> Stmt {
        if self.left == 0 || depth > 4 {
            return self.store(here);
        }
        self.left -= 1;
        match self.r.below(12) {
            0..=4 => self.loop_(here, depth),
            5 | 6 => self.branch(here, depth),
            7 => self.let_(here, depth),
            8 => self.alloc(here, depth),
            9 if depth < 3 => self.while_(here, depth),
            _ => self.store(here),
        }
    }

    fn loop_(&mut self, here: &Here, depth: usize) -> Stmt {
        let kind = self.r.pick(&[
            LoopKind::Serial,
            LoopKind::Serial,
            LoopKind::Reduction,
            LoopKind::Unrolled,
            LoopKind::Vectorized,
            LoopKind::Vectorized,
            LoopKind::Parallel,
        ]);
        let most = self.r.pick(&[0, 1, 2, 3, 4, 8, 8, 17]);
        let var = self.b.index_var("i");
        let (min, limit) = if self.r.chance(70) { (self.b.index(0), Some(most)) } else { self.start(here, most) };
        let (extent, limit) = match self.r.below(5) {
            0 => (self.b.read(here.indices[0].0), None),
            1 => self.inner_extent(here, limit),
            _ => (self.b.index(most), limit),
        };
        let mut inside = here.clone();
        inside.indices.push((var, limit));
        // Iterations of a parallel loop must not depend on one another, which nothing here sees to.
        let kind = if kind == LoopKind::Parallel { LoopKind::Serial } else { kind };
        let body = self.body(&inside, depth);
        Stmt::loop_(var, min, extent, kind, body)
    }

    fn start(&mut self, here: &Here, most: i64) -> (ExprId, Option<i64>) {
        let (var, limit) = here.indices[self.r.below(here.indices.len())];
        match (self.r.chance(50), limit) {
            (true, Some(limit)) => (self.b.read(var), Some(limit + most)),
            _ => (self.b.index(2), Some(most + 2)),
        }
    }

    /// As many turns as an outer variable says.
    fn inner_extent(&mut self, here: &Here, limit: Option<i64>) -> (ExprId, Option<i64>) {
        let (var, bound) = here.indices[self.r.below(here.indices.len())];
        let read = self.b.read(var);
        match (bound, limit) {
            (Some(bound), Some(limit)) => (read, Some(bound + limit)),
            _ => (self.b.index(2), limit.map(|l| l + 2)),
        }
    }

    fn branch(&mut self, here: &Here, depth: usize) -> Stmt {
        let cond = self.cond(here, 1);
        let then = Box::new(self.body(here, depth));
        let otherwise = self.r.chance(40).then(|| Box::new(self.body(here, depth)));
        Stmt::If { cond, then, otherwise }
    }

    fn let_(&mut self, here: &Here, depth: usize) -> Stmt {
        let mut inside = here.clone();
        let (var, value) = match self.r.below(3) {
            0 => {
                let value = self.index(here, 2);
                let var = self.b.index_var("n");
                inside.indices.push((var, None));
                (var, value)
            }
            1 => {
                let value = self.int(here, 3);
                let var = self.b.var("s", self.b.ty(value));
                inside.ints.push(var);
                (var, value)
            }
            _ => {
                let value = self.float(here, 3);
                let var = self.b.var("t", self.b.ty(value));
                inside.floats.push(var);
                (var, value)
            }
        };
        let body = Box::new(self.body(&inside, depth));
        Stmt::Let { var, value, body }
    }

    /// A tensor of its own, filled first.
    fn alloc(&mut self, here: &Here, depth: usize) -> Stmt {
        let dtype = self.r.pick(&[DType::F32, DType::I32]);
        let buf = self.b.buffer("a", dtype, vec![ROWS.into(), COLUMNS.into()], Scope::Local);
        let (i, j) = (self.b.index_var("r"), self.b.index_var("c"));
        let value = if dtype == DType::F32 { self.float(here, 1) } else { self.int(here, 1) };
        let at = vec![self.b.read(i), self.b.read(j)];
        let store = Stmt::Store { buf, index: at, value, access: Access::Proven };
        let (zero, rows, columns) = (self.b.index(0), self.b.index(ROWS), self.b.index(COLUMNS));
        let kind = self.r.pick(&[LoopKind::Serial, LoopKind::Vectorized]);
        let row = Stmt::loop_(j, zero, columns, kind, store);
        let fill = Stmt::loop_(i, zero, rows, LoopKind::Serial, row);
        let mut inside = here.clone();
        inside.read.push(buf);
        inside.write.push(buf);
        let rest = self.body(&inside, depth);
        Stmt::Alloc { buf, body: Box::new(Stmt::seq([fill, rest])) }
    }

    /// A few turns, counted in memory.
    fn while_(&mut self, here: &Here, depth: usize) -> Stmt {
        let buf = self.b.buffer("w", DType::I32, vec![1.into()], Scope::Local);
        let at = vec![self.b.index(0)];
        let turns = 1 + self.r_below(3);
        let (zero, one, most) = (self.int_literal(0), self.int_literal(1), self.int_literal(turns));
        let old = self.b.load(buf, at.clone(), Access::Proven);
        let (cond, next) = (self.b.compare(CmpOp::Lt, old, most), self.b.add(old, one));
        let store = |value| Stmt::Store { buf, index: at.clone(), value, access: Access::Proven };
        let body = self.body(here, depth);
        let turns = Stmt::While { cond, body: Box::new(Stmt::seq([body, store(next)])) };
        Stmt::Alloc { buf, body: Box::new(Stmt::seq([store(zero), turns])) }
    }

    fn r_below(&mut self, n: usize) -> i64 {
        self.r.below(n) as i64
    }

    fn int_literal(&mut self, value: i64) -> ExprId {
        self.b.scalar(tenfold_ir::Scalar::int(DType::I32, i128::from(value)))
    }

    fn store(&mut self, here: &Here) -> Stmt {
        let buf = self.r.pick(&here.write);
        let index = self.place(here);
        let float = self.b.buf(buf).dtype == DType::F32;
        let mut value = if float { self.float(here, 3) } else { self.int(here, 3) };
        if self.r.chance(40) {
            let old = self.b.load(buf, index.clone(), Access::Proven);
            value = self.b.add(old, value);
        }
        Stmt::Store { buf, index, value, access: Access::Proven }
    }

    // Expressions.

    /// A row and a column.
    fn place(&mut self, here: &Here) -> Vec<ExprId> {
        vec![self.inside(here, ROWS), self.inside(here, COLUMNS)]
    }

    /// An index below an extent.
    fn inside(&mut self, here: &Here, extent: i64) -> ExprId {
        let fitting: Vec<VarId> =
            here.indices.iter().filter(|(_, l)| l.is_some_and(|l| l <= extent)).map(|(v, _)| *v).collect();
        if !fitting.is_empty() && self.r.chance(60) {
            let read = self.r.pick(&fitting);
            let read = self.b.read(read);
            let last = self.b.index(extent - 1);
            return if self.r.chance(20) { self.b.sub(last, read) } else { read };
        }
        if self.r.chance(30) {
            let n = self.r_below(extent as usize);
            return self.b.index(n);
        }
        let (e, n) = (self.index(here, 1), self.b.index(extent));
        self.b.binary(BinaryOp::RemEuclid, e, n)
    }

    fn index(&mut self, here: &Here, depth: usize) -> ExprId {
        if depth == 0 || self.r.chance(30) {
            if self.r.chance(70) {
                let (var, _) = here.indices[self.r.below(here.indices.len())];
                return self.b.read(var);
            }
            let n = self.r_below(10) - 2;
            return self.b.index(n);
        }
        let (x, y) = (self.index(here, depth - 1), self.index(here, depth - 1));
        let small = 1 + self.r_below(5);
        let small = self.b.index(small);
        match self.r.below(8) {
            0 | 1 => self.b.add(x, y),
            2 => self.b.sub(x, y),
            3 => self.b.mul(x, small),
            4 => self.b.binary(BinaryOp::DivEuclid, x, small),
            5 => self.b.binary(BinaryOp::RemEuclid, x, small),
            6 => self.b.binary(BinaryOp::Min, x, y),
            _ => self.b.binary(BinaryOp::Max, x, y),
        }
    }

    fn cond(&mut self, here: &Here, depth: usize) -> ExprId {
        if depth > 0 && self.r.chance(25) {
            let (x, y) = (self.cond(here, depth - 1), self.cond(here, depth - 1));
            return match self.r.below(3) {
                0 => self.b.and(x, y),
                1 => self.b.or(x, y),
                _ => self.b.unary(UnaryOp::Not, x),
            };
        }
        let op = self.r.pick(&[CmpOp::Eq, CmpOp::Ne, CmpOp::Lt, CmpOp::Le, CmpOp::Gt, CmpOp::Ge]);
        let (x, y) = match self.r.below(4) {
            0 => (self.int(here, 1), self.int(here, 1)),
            1 => (self.float(here, 1), self.float(here, 1)),
            _ => (self.index(here, 1), self.index(here, 1)),
        };
        self.b.compare(op, x, y)
    }

    fn load(&mut self, here: &Here, dtype: DType) -> ExprId {
        let all: Vec<BufId> = here.read.iter().copied().filter(|b| self.b.buf(*b).dtype == dtype).collect();
        let (buf, index) = (self.r.pick(&all), self.place(here));
        self.b.load(buf, index, Access::Proven)
    }

    fn int(&mut self, here: &Here, depth: usize) -> ExprId {
        if depth == 0 || self.r.chance(20) {
            return match self.r.below(3) {
                0 if !here.ints.is_empty() => {
                    let var = self.r.pick(&here.ints);
                    self.b.read(var)
                }
                1 => self.load(here, DType::I32),
                _ => {
                    let n = self.r_below(9) - 4;
                    self.int_literal(n)
                }
            };
        }
        if self.r.chance(15) {
            let index = self.index(here, 1);
            return self.b.cast(DType::I32, index);
        }
        if let Some(choice) = self.choice(here, depth, Self::int) {
            return choice;
        }
        let op = self.r.pick(&[
            BinaryOp::Add,
            BinaryOp::Sub,
            BinaryOp::Mul,
            BinaryOp::Div,
            BinaryOp::RemEuclid,
            BinaryOp::Min,
            BinaryOp::And,
            BinaryOp::Shl,
        ]);
        let (x, y) = (self.int(here, depth - 1), self.int(here, depth - 1));
        self.b.binary(op, x, y)
    }

    fn float(&mut self, here: &Here, depth: usize) -> ExprId {
        if depth == 0 || self.r.chance(20) {
            return match self.r.below(3) {
                0 if !here.floats.is_empty() => {
                    let var = self.r.pick(&here.floats);
                    self.b.read(var)
                }
                1 => self.load(here, DType::F32),
                _ => {
                    let n = self.r_below(9) as f64 / 2.0 - 2.0;
                    self.b.float(DType::F32, n)
                }
            };
        }
        if self.r.chance(15) {
            let int = self.int(here, 1);
            return self.b.cast(DType::F32, int);
        }
        if let Some(choice) = self.choice(here, depth, Self::float) {
            return choice;
        }
        let (x, y) = (self.float(here, depth - 1), self.float(here, depth - 1));
        match self.r.below(6) {
            0 => self.b.mul(x, y),
            1 => self.b.sub(x, y),
            2 => self.b.binary(BinaryOp::Max, x, y),
            3 => self.b.unary(UnaryOp::Abs, x),
            4 => self.b.unary(UnaryOp::Floor, x),
            _ => self.b.add(x, y),
        }
    }

    fn choice(&mut self, here: &Here, depth: usize, f: fn(&mut Self, &Here, usize) -> ExprId) -> Option<ExprId> {
        if !self.r.chance(12) {
            return None;
        }
        let (c, x, y) = (self.cond(here, 1), f(self, here, depth - 1), f(self, here, depth - 1));
        Some(if self.r.chance(50) { self.b.if_(c, x, y) } else { self.b.select(c, x, y) })
    }
}
