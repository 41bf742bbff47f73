//! Builds prim-funcs: expressions with their types, statements in nested scopes.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Access, BufId, BufUse, BufferData, Elem, Expr, ExprId, Intrinsic, IterVar, Param, PrimFunc, Scope, Stmt, Ty,
    VarData, VarId,
};
use crate::arith::{IntExpr, Sym, View};
use crate::op::{BinaryOp, CmpOp, UnaryOp};
use crate::{DType, Scalar};

/// Something that a scope holds; `Let` and `Alloc` hold for the rest of it.
#[derive(Clone)]
enum Item {
    Let(VarId, ExprId),
    Alloc(BufId),
    Stmt(Stmt),
}

/// Builds one prim-func.
#[derive(Clone)]
pub struct Builder {
    func: PrimFunc,
    names: BTreeSet<String>,
    /// The suffix to try first behind a base.
    tried: BTreeMap<String, usize>,
    vars: BTreeMap<Sym, VarId>,
    /// Symbols of index values that depend on data, and what they stand for.
    atoms: BTreeMap<Sym, ExprId>,
    /// Names kept for dims.
    reserved: BTreeSet<String>,
    /// Divisors that are known to be positive.
    positive: BTreeSet<IntExpr>,
    scopes: Vec<Vec<Item>>,
}

impl Builder {
    /// Starts a function.
    pub fn new(name: &str) -> Self {
        Builder {
            func: PrimFunc::new(name),
            names: BTreeSet::new(),
            tried: BTreeMap::new(),
            vars: BTreeMap::new(),
            atoms: BTreeMap::new(),
            reserved: BTreeSet::new(),
            positive: BTreeSet::new(),
            scopes: vec![Vec::new()],
        }
    }

    /// Continues a function, to rewrite its body with new expressions and variables. The names of its blocks are taken.
    pub fn resume(func: PrimFunc) -> Self {
        let names = func.vars.iter().map(|v| v.sym.to_string());
        let mut names: BTreeSet<String> = names.chain(func.buffers.iter().map(|b| b.name.clone())).collect();
        func.body.walk(&mut |stmt| {
            if let Stmt::Block(block) = stmt {
                names.insert(block.name.clone());
            }
        });
        let vars = func.vars.iter().enumerate().map(|(i, v)| (v.sym.clone(), VarId(i as u32))).collect();
        Builder {
            func,
            names,
            tried: BTreeMap::new(),
            vars,
            atoms: BTreeMap::new(),
            reserved: BTreeSet::new(),
            positive: BTreeSet::new(),
            scopes: vec![Vec::new()],
        }
    }

    /// The function so far.
    pub fn func(&self) -> &PrimFunc {
        &self.func
    }

    /// The function so far, to set its flags and facts.
    pub fn func_mut(&mut self) -> &mut PrimFunc {
        &mut self.func
    }

    /// Ends the function: what was pushed is its body.
    pub fn finish(mut self) -> PrimFunc {
        let items = self.scopes.pop().unwrap_or_default();
        self.func.body = fold(items);
        self.func
    }

    /// A name that nothing has: `base`, or made unique from it.
    pub fn fresh_name(&mut self, base: &str) -> String {
        self.unique(base)
    }

    fn unique(&mut self, base: &str) -> String {
        let base = if base.is_empty() { "t" } else { base };
        let mut name = base.to_string();
        // Where the last search ended, so that many copies of one name cost one look each.
        let mut n = self.tried.get(base).copied().unwrap_or(1);
        while self.reserved.contains(&name) || !self.names.insert(name.clone()) {
            name = format!("{base}_{n}");
            n += 1;
        }
        self.tried.insert(base.to_string(), n);
        name
    }

    // Variables, buffers, parameters.

    /// A new variable; its name is `base` or made unique from it.
    pub fn var(&mut self, base: &str, ty: Ty) -> VarId {
        let sym = Sym::new(self.unique(base));
        let id = VarId(self.func.vars.len() as u32);
        self.vars.insert(sym.clone(), id);
        self.func.vars.push(VarData { sym, ty });
        id
    }

    /// A new index variable.
    pub fn index_var(&mut self, base: &str) -> VarId {
        self.var(base, Ty::index())
    }

    /// The symbol of a variable.
    pub fn sym(&self, var: VarId) -> &Sym {
        &self.func.vars[var.0 as usize].sym
    }

    /// The variable of that symbol.
    pub fn var_of(&self, sym: &Sym) -> Option<VarId> {
        self.vars.get(sym).copied()
    }

    /// An index parameter that stands for a dim or index value called `sym`; the one that is there if it is.
    pub fn dim_param(&mut self, sym: &Sym) -> VarId {
        if let Some(var) = self.vars.get(sym) {
            return *var;
        }
        self.reserved.remove(sym.as_str());
        let var = self.index_var(&sym.to_string());
        self.func.params.push(Param::Value(var));
        var
    }

    /// The variable of a symbol that is no parameter, and whose name was kept.
    pub fn sym_var(&mut self, sym: &Sym) -> VarId {
        self.reserved.remove(sym.as_str());
        self.index_var(sym.as_str())
    }

    /// Keeps a name for a symbol whose variable, perhaps a parameter, is made later.
    pub fn reserve(&mut self, sym: &Sym) {
        if !self.vars.contains_key(sym) {
            self.reserved.insert(sym.to_string());
        }
    }

    /// A scalar parameter.
    pub fn scalar_param(&mut self, base: &str, dtype: DType) -> VarId {
        let var = self.var(base, Ty::scalar(dtype));
        self.func.params.push(Param::Value(var));
        var
    }

    /// A new buffer without strides.
    pub fn buffer(&mut self, base: &str, dtype: DType, shape: Vec<IntExpr>, scope: Scope) -> BufId {
        let name = self.unique(base);
        self.func.buffers.push(BufferData { name, dtype, shape, strides: None, scope, offset: None, range: None });
        BufId(self.func.buffers.len() as u32 - 1)
    }

    /// A parameter buffer.
    pub fn buffer_param(&mut self, base: &str, dtype: DType, shape: Vec<IntExpr>, usage: BufUse) -> BufId {
        let buf = self.buffer(base, dtype, shape, Scope::Param);
        self.func.params.push(Param::Buffer(buf, usage));
        buf
    }

    /// The data of a buffer.
    pub fn buf(&self, buf: BufId) -> &BufferData {
        &self.func.buffers[buf.0 as usize]
    }

    /// The data of a buffer, to set strides, range or offset.
    pub fn buf_mut(&mut self, buf: BufId) -> &mut BufferData {
        &mut self.func.buffers[buf.0 as usize]
    }

    // Expressions.

    /// Type of an expression.
    pub fn ty(&self, e: ExprId) -> Ty {
        self.func.exprs.ty(e)
    }

    fn intern(&mut self, expr: Expr, ty: Ty) -> ExprId {
        self.func.exprs.intern(expr, ty)
    }

    /// Any expression with its type, as a rewrite has rebuilt it.
    pub fn raw(&mut self, expr: Expr, ty: Ty) -> ExprId {
        self.intern(expr, ty)
    }

    /// A literal.
    pub fn scalar(&mut self, value: Scalar) -> ExprId {
        self.intern(Expr::Const(value), Ty::scalar(value.dtype))
    }

    /// A float (or integer) literal of a dtype.
    pub fn float(&mut self, dtype: DType, value: f64) -> ExprId {
        self.scalar(Scalar::float(dtype, value))
    }

    /// A literal of the same element type as `like`.
    pub fn int_like(&mut self, like: ExprId, value: i64) -> ExprId {
        match self.ty(like).elem {
            Elem::Scalar(dtype) => self.scalar(Scalar::int(dtype, i128::from(value))),
            Elem::Index => self.index(value),
        }
    }

    /// A literal index.
    pub fn index(&mut self, value: i64) -> ExprId {
        self.intern(Expr::Index(value), Ty::index())
    }

    /// A variable's value.
    pub fn read(&mut self, var: VarId) -> ExprId {
        let ty = self.func.vars[var.0 as usize].ty;
        self.intern(Expr::Var(var), ty)
    }

    /// One operand.
    pub fn unary(&mut self, op: UnaryOp, a: ExprId) -> ExprId {
        let ty = match op {
            UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite => {
                Ty { elem: Elem::Scalar(DType::Bool), lanes: self.ty(a).lanes }
            }
            _ => self.ty(a),
        };
        self.intern(Expr::Unary(op, a), ty)
    }

    /// `base, base + stride, …`.
    pub fn ramp(&mut self, base: ExprId, stride: ExprId, lanes: u16) -> ExprId {
        let ty = Ty { lanes, ..self.ty(base) };
        self.intern(Expr::Ramp(base, stride, lanes), ty)
    }

    /// Lanes picked from those of `vectors`, of which there is one at least.
    pub fn shuffle(&mut self, vectors: Vec<ExprId>, lanes: Vec<u16>) -> ExprId {
        let ty = Ty { lanes: lanes.len() as u16, ..self.ty(vectors[0]) };
        self.intern(Expr::Shuffle(vectors, lanes), ty)
    }

    /// One lane of a vector.
    pub fn extract(&mut self, vector: ExprId, lane: u16) -> ExprId {
        self.shuffle(vec![vector], vec![lane])
    }

    /// A vector with one lane replaced.
    pub fn insert_lane(&mut self, vector: ExprId, lane: u16, value: ExprId) -> ExprId {
        let lanes = self.ty(vector).lanes;
        let picked = (0..lanes).map(|i| if i == lane { lanes } else { i }).collect();
        self.shuffle(vec![vector, value], picked)
    }

    /// Vectors behind one another.
    pub fn concat(&mut self, vectors: Vec<ExprId>) -> ExprId {
        let lanes: u16 = vectors.iter().map(|v| self.ty(*v).lanes).sum();
        self.shuffle(vectors, (0..lanes).collect())
    }

    /// One value in every lane, unless it has them already.
    pub fn broadcast(&mut self, a: ExprId, lanes: u16) -> ExprId {
        let ty = self.ty(a);
        if lanes == 1 || ty.lanes == lanes {
            return a;
        }
        self.intern(Expr::Broadcast(a, lanes), Ty { lanes, ..ty })
    }

    /// Operands of one number of lanes: a scalar beside a vector is broadcast.
    fn level<const N: usize>(&mut self, operands: [ExprId; N]) -> [ExprId; N] {
        let lanes = operands.iter().map(|e| self.ty(*e).lanes).max().unwrap_or(1);
        operands.map(|e| self.broadcast(e, lanes))
    }

    /// Two operands of one type; a scalar beside a vector is broadcast.
    pub fn binary(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> ExprId {
        let [a, b] = self.level([a, b]);
        let ty = self.ty(a);
        self.intern(Expr::Binary(op, a, b), ty)
    }

    /// `a + b`.
    pub fn add(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Add, a, b)
    }

    /// `a - b`.
    pub fn sub(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Sub, a, b)
    }

    /// `a * b`.
    pub fn mul(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Mul, a, b)
    }

    /// `a / b`.
    pub fn div(&mut self, a: ExprId, b: ExprId) -> ExprId {
        self.binary(BinaryOp::Div, a, b)
    }

    /// A comparison.
    pub fn compare(&mut self, op: CmpOp, a: ExprId, b: ExprId) -> ExprId {
        let [a, b] = self.level([a, b]);
        let ty = Ty { elem: Elem::Scalar(DType::Bool), lanes: self.ty(a).lanes };
        self.intern(Expr::Compare(op, a, b), ty)
    }

    /// `cond ? a : b`, only the branch taken being evaluated.
    pub fn if_(&mut self, cond: ExprId, a: ExprId, b: ExprId) -> ExprId {
        let [a, b] = self.level([a, b]);
        let ty = self.ty(a);
        self.intern(Expr::If(cond, a, b), ty)
    }

    /// `a && b`, `b` evaluated only if `a` holds.
    pub fn and(&mut self, a: ExprId, b: ExprId) -> ExprId {
        let no = self.scalar(Scalar::bool(false));
        self.if_(a, b, no)
    }

    /// `a || b`, `b` evaluated only if `a` does not hold.
    pub fn or(&mut self, a: ExprId, b: ExprId) -> ExprId {
        let yes = self.scalar(Scalar::bool(true));
        self.if_(a, yes, b)
    }

    /// Both evaluated, one chosen; in each lane where the condition has lanes.
    pub fn select(&mut self, cond: ExprId, a: ExprId, b: ExprId) -> ExprId {
        let lanes = self.ty(cond).lanes;
        let [a, b] = self.level([a, b]).map(|e| self.broadcast(e, lanes));
        let ty = self.ty(a);
        self.intern(Expr::Select(cond, a, b), ty)
    }

    /// Conversion to a dtype.
    pub fn cast(&mut self, dtype: DType, a: ExprId) -> ExprId {
        let ty = Ty { elem: Elem::Scalar(dtype), lanes: self.ty(a).lanes };
        if self.ty(a) == ty { a } else { self.intern(Expr::Cast(ty, a), ty) }
    }

    /// An integer's value as an index.
    pub fn to_index(&mut self, a: ExprId) -> ExprId {
        let ty = Ty { elem: Elem::Index, lanes: self.ty(a).lanes };
        if self.ty(a) == ty { a } else { self.intern(Expr::Cast(ty, a), ty) }
    }

    /// An element.
    pub fn load(&mut self, buf: BufId, index: Vec<ExprId>, access: Access) -> ExprId {
        let ty = Ty::scalar(self.buf(buf).dtype);
        self.intern(Expr::Load { buf, index, access }, ty)
    }

    /// Another function, of as many lanes as its arguments.
    pub fn call(&mut self, f: Intrinsic, args: Vec<ExprId>, ty: Ty) -> ExprId {
        let lanes = args.iter().map(|e| self.ty(*e).lanes).max().unwrap_or(1);
        let args = args.into_iter().map(|e| self.broadcast(e, lanes)).collect();
        let ty = Ty { lanes, ..ty };
        self.intern(Expr::Call(f, args, ty), ty)
    }

    /// e^x of an x that is no greater than 0, or NaN, of f32 or f64.
    pub fn exp_nonpositive(&mut self, x: ExprId) -> ExprId {
        let ty = self.ty(x);
        self.call(Intrinsic::ExpNonpositive, vec![x], ty)
    }

    /// Lets a symbol stand for an index expression in what [`Builder::int_expr`] is given. No later variable has it.
    pub fn bind_atom(&mut self, sym: Sym, of: ExprId) {
        self.names.insert(sym.to_string());
        self.atoms.insert(sym, of);
    }

    /// Lets [`Builder::int_expr`] take a divisor to be positive, which makes its division a Euclidean one.
    pub fn know_positive(&mut self, divisor: IntExpr) {
        self.positive.insert(divisor);
    }

    fn is_positive(&self, divisor: &IntExpr) -> bool {
        divisor.as_const().is_some_and(|c| c > 0) || self.positive.contains(divisor)
    }

    /// An integer expression as an index expression. Its symbols are variables of this function; one that is not
    /// becomes an index parameter.
    pub fn int_expr(&mut self, e: &IntExpr) -> ExprId {
        match e.view() {
            View::Const(c) => self.index(c),
            View::Var(sym) => match self.atoms.get(&sym) {
                Some(of) => *of,
                None => {
                    let var = self.dim_param(&sym);
                    self.read(var)
                }
            },
            View::Add(terms) => self.chain(BinaryOp::Add, 0, &terms),
            View::Mul(factors) => self.chain(BinaryOp::Mul, 1, &factors),
            View::FloorDiv(a, b) => self.floor_div(&a, &b),
            View::FloorMod(a, b) => {
                let (x, y) = (self.int_expr(&a), self.int_expr(&b));
                if self.is_positive(&b) {
                    return self.binary(BinaryOp::RemEuclid, x, y);
                }
                let q = self.floor_div(&a, &b);
                let p = self.mul(q, y);
                self.sub(x, p)
            }
            View::TruncDiv(a, b) => self.pair(BinaryOp::Div, &a, &b),
            View::TruncRem(a, b) => self.pair(BinaryOp::Rem, &a, &b),
            View::Min(a, b) => self.pair(BinaryOp::Min, &a, &b),
            View::Max(a, b) => self.pair(BinaryOp::Max, &a, &b),
        }
    }

    fn pair(&mut self, op: BinaryOp, a: &IntExpr, b: &IntExpr) -> ExprId {
        let (x, y) = (self.int_expr(a), self.int_expr(b));
        self.binary(op, x, y)
    }

    fn chain(&mut self, op: BinaryOp, unit: i64, parts: &[IntExpr]) -> ExprId {
        let mut all = None;
        for part in parts {
            let x = self.int_expr(part);
            all = Some(match all {
                None => x,
                Some(a) => self.binary(op, a, x),
            });
        }
        all.unwrap_or_else(|| self.index(unit))
    }

    /// Floor division: Euclidean where the divisor is known to be positive, else truncation corrected by one.
    fn floor_div(&mut self, a: &IntExpr, b: &IntExpr) -> ExprId {
        let (x, y) = (self.int_expr(a), self.int_expr(b));
        if self.is_positive(b) {
            return self.binary(BinaryOp::DivEuclid, x, y);
        }
        let (q, r, zero) = (self.div(x, y), self.binary(BinaryOp::Rem, x, y), self.index(0));
        let one = self.index(1);
        let inexact = self.compare(CmpOp::Ne, r, zero);
        let (rn, yn) = (self.compare(CmpOp::Lt, r, zero), self.compare(CmpOp::Lt, y, zero));
        let differ = self.compare(CmpOp::Ne, rn, yn);
        let both = self.and(inexact, differ);
        let less = self.sub(q, one);
        self.select(both, less, q)
    }

    // Statements.

    /// Adds a statement to the current scope.
    pub fn push(&mut self, stmt: Stmt) {
        self.top().push(Item::Stmt(stmt));
    }

    fn top(&mut self) -> &mut Vec<Item> {
        if self.scopes.is_empty() {
            self.scopes.push(Vec::new());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    /// Binds a new variable for the rest of the current scope.
    pub fn let_(&mut self, base: &str, value: ExprId) -> VarId {
        let var = self.var(base, self.ty(value));
        self.top().push(Item::Let(var, value));
        var
    }

    /// Binds an existing variable for the rest of the current scope.
    pub fn bind(&mut self, var: VarId, value: ExprId) {
        self.top().push(Item::Let(var, value));
    }

    /// A new buffer that lives for the rest of the current scope.
    pub fn alloc(&mut self, base: &str, dtype: DType, shape: Vec<IntExpr>, scope: Scope) -> BufId {
        let buf = self.buffer(base, dtype, shape, scope);
        self.top().push(Item::Alloc(buf));
        buf
    }

    /// A scalar in memory: a `Local` buffer of rank 0, holding `value`.
    pub fn local(&mut self, base: &str, value: ExprId) -> BufId {
        let dtype = match self.ty(value).elem {
            Elem::Scalar(dtype) => dtype,
            Elem::Index => DType::I64,
        };
        let buf = self.alloc(base, dtype, Vec::new(), Scope::Local);
        let value = self.cast(dtype, value);
        self.store(buf, Vec::new(), value);
        buf
    }

    /// Writes an element, proven.
    pub fn store(&mut self, buf: BufId, index: Vec<ExprId>, value: ExprId) {
        self.push(Stmt::Store { buf, index, value, access: Access::Proven });
    }

    /// Reads a scalar made by [`Builder::local`].
    pub fn read_local(&mut self, buf: BufId) -> ExprId {
        self.load(buf, Vec::new(), Access::Proven)
    }

    /// What `f` pushes, as one statement.
    pub fn scope<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> (Stmt, R) {
        self.open_scope();
        let result = f(self);
        (self.close_scope(), result)
    }

    /// Begins a scope, which [`Builder::close_scope`] ends.
    pub fn open_scope(&mut self) {
        self.scopes.push(Vec::new());
    }

    /// Ends the innermost scope: what was pushed in it, as one statement.
    pub fn close_scope(&mut self) -> Stmt {
        fold(self.scopes.pop().unwrap_or_default())
    }

    /// `for var in 0..extent`, serial; `f` pushes the body.
    pub fn for_(&mut self, var: VarId, extent: ExprId, f: impl FnOnce(&mut Self)) {
        let min = self.index(0);
        let (body, ()) = self.scope(f);
        self.push(Stmt::loop_(var, min, extent, super::LoopKind::Serial, body));
    }

    /// Pushes loops `0..extent` for every iterator, and inside them the block with the iterators bound to them.
    /// Loops of reduce iterators are [`super::LoopKind::Reduction`]s.
    pub fn nest(&mut self, name: &str, iters: &[(VarId, ExprId, super::IterKind)], init: Option<Stmt>, body: Stmt) {
        let block_name = self.unique(name);
        let mut loops = Vec::new();
        let mut bound = Vec::new();
        for (var, extent, kind) in iters {
            let base = format!("{}_l", self.sym(*var));
            let loop_var = self.index_var(&base);
            let value = self.read(loop_var);
            let order = match kind {
                super::IterKind::Reduce => super::LoopKind::Reduction,
                super::IterKind::Spatial | super::IterKind::Ordered => super::LoopKind::Serial,
            };
            loops.push((loop_var, *extent, order));
            bound.push(IterVar { var: *var, extent: *extent, kind: *kind, value });
        }
        let block = super::Block { iters: bound, init, ..super::Block::new(block_name, body) };
        let min = self.index(0);
        let mut stmt = Stmt::Block(Box::new(block));
        for (var, extent, kind) in loops.into_iter().rev() {
            stmt = Stmt::loop_(var, min, extent, kind, stmt);
        }
        self.push(stmt);
    }
}

/// Items as one statement: what follows a `let` or an allocation is its body.
fn fold(items: Vec<Item>) -> Stmt {
    let mut rest: Vec<Stmt> = Vec::new();
    for item in items.into_iter().rev() {
        match item {
            Item::Stmt(stmt) => rest.insert(0, stmt),
            Item::Let(var, value) => {
                let body = Box::new(seq(std::mem::take(&mut rest)));
                rest = vec![Stmt::Let { var, value, body }];
            }
            Item::Alloc(buf) => {
                let body = Box::new(seq(std::mem::take(&mut rest)));
                rest = vec![Stmt::Alloc { buf, body }];
            }
        }
    }
    seq(rest)
}

fn seq(mut stmts: Vec<Stmt>) -> Stmt {
    if stmts.len() == 1 { stmts.remove(0) } else { Stmt::Seq(stmts) }
}
