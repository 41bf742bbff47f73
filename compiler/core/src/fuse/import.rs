//! Takes the body of one prim-func into another.

use std::collections::{BTreeMap, HashMap};

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::tir::copy::stem;
use tenfold_ir::tir::{Block, BufId, BufferData, Builder, Expr, ExprId, Param, PrimFunc, Stmt, VarId, map_operands};

/// What of a function means what in another.
pub(crate) struct Import<'f> {
    from: &'f PrimFunc,
    vars: BTreeMap<VarId, ExprId>,
    syms: BTreeMap<Sym, IntExpr>,
    bufs: BTreeMap<BufId, BufId>,
    memo: HashMap<ExprId, ExprId>,
}

impl<'f> Import<'f> {
    /// Index parameters have the values `syms`, in their order; buffer parameters stand for `bufs`, in theirs.
    pub(crate) fn new(b: &mut Builder, from: &'f PrimFunc, syms: &[IntExpr], bufs: &[BufId]) -> Import<'f> {
        let mut import =
            Import { from, vars: BTreeMap::new(), syms: BTreeMap::new(), bufs: BTreeMap::new(), memo: HashMap::new() };
        let params = from.params.iter().filter_map(|p| match p {
            Param::Value(var) => Some(*var),
            Param::Buffer(..) | Param::Workspace => None,
        });
        for (var, value) in params.zip(syms) {
            let id = b.int_expr(value);
            import.vars.insert(var, id);
            import.syms.insert(from.vars[var.0 as usize].sym.clone(), value.clone());
        }
        import.stand_for(bufs);
        import
    }

    /// Buffer parameters, in their order, stand for these.
    pub(crate) fn stand_for(&mut self, bufs: &[BufId]) {
        let params = self.from.params.iter().filter_map(|p| match p {
            Param::Buffer(buf, _) => Some(*buf),
            Param::Value(_) | Param::Workspace => None,
        });
        self.bufs.extend(params.zip(bufs.iter().copied()));
    }

    /// The body, with everything that it binds renamed, and the facts that it rests on.
    pub(crate) fn body(mut self, b: &mut Builder) -> Stmt {
        let syms = &self.syms;
        let facts: Vec<_> = self.from.facts.iter().map(|f| f.substitute(&|s| syms.get(s).cloned())).collect();
        for fact in facts {
            if !b.func().facts.contains(&fact) {
                b.func_mut().facts.push(fact);
            }
        }
        self.stmt(b, self.from.body.clone())
    }

    fn stmt(&mut self, b: &mut Builder, stmt: Stmt) -> Stmt {
        let stmt = stmt.map_exprs(&mut |e| self.expr(b, e));
        let stmt = stmt.map_buffers(&mut |buf| self.buf(b, buf));
        let stmt = stmt.map_bound(&mut |var| self.bound(b, var));
        let stmt = stmt.map_children(&mut |s| self.stmt(b, s));
        match stmt {
            Stmt::Block(block) => {
                let name = b.fresh_name(stem(&block.name));
                Stmt::Block(Box::new(Block { name, ..*block }))
            }
            other => other,
        }
    }

    fn expr(&mut self, b: &mut Builder, id: ExprId) -> ExprId {
        if let Some(done) = self.memo.get(&id) {
            return *done;
        }
        let new = match self.from.exprs.get(id).clone() {
            Expr::Var(var) => self.var(b, var),
            expr => {
                let expr = match map_operands(expr, &mut |e| self.expr(b, e)) {
                    Expr::Load { buf, index, access } => Expr::Load { buf: self.buf(b, buf), index, access },
                    other => other,
                };
                b.raw(expr, self.from.exprs.ty(id))
            }
        };
        self.memo.insert(id, new);
        new
    }

    /// The value of a variable: a new one for one that the body binds.
    fn var(&mut self, b: &mut Builder, var: VarId) -> ExprId {
        if let Some(value) = self.vars.get(&var) {
            return *value;
        }
        let data = &self.from.vars[var.0 as usize];
        let new = b.var(stem(data.sym.as_str()), data.ty);
        let value = b.read(new);
        self.syms.insert(data.sym.clone(), IntExpr::var(b.sym(new).clone()));
        self.vars.insert(var, value);
        value
    }

    fn bound(&mut self, b: &mut Builder, var: VarId) -> VarId {
        let value = self.var(b, var);
        match b.func().exprs.get(value) {
            Expr::Var(new) => *new,
            // Parameters alone have other values, and nothing binds them again.
            _ => var,
        }
    }

    fn buf(&mut self, b: &mut Builder, buf: BufId) -> BufId {
        if let Some(to) = self.bufs.get(&buf) {
            return *to;
        }
        let data = self.from.buffers[buf.0 as usize].clone();
        let new = b.buffer(stem(&data.name), data.dtype, Vec::new(), data.scope);
        let data = self.renamed(data);
        *b.buf_mut(new) = BufferData { name: b.buf(new).name.clone(), ..data };
        self.bufs.insert(buf, new);
        new
    }

    /// A buffer of the function over the other's symbols.
    pub(crate) fn renamed(&self, data: BufferData) -> BufferData {
        let to = |e: &IntExpr| e.substitute(&|s| self.syms.get(s).cloned());
        BufferData {
            shape: data.shape.iter().map(to).collect(),
            strides: data.strides.as_ref().map(|all| all.iter().map(to).collect()),
            range: data.range.as_ref().map(|(lo, hi)| (to(lo), to(hi))),
            ..data
        }
    }
}

/// The function with nothing in its tables that its body does not use.
pub(crate) fn cleaned(func: &PrimFunc) -> PrimFunc {
    let mut b = Builder::new(&func.name);
    let mut syms = Vec::new();
    for param in &func.params {
        if let Param::Value(var) = param {
            let sym = &func.vars[var.0 as usize].sym;
            b.dim_param(sym);
            syms.push(IntExpr::var(sym.clone()));
        }
    }
    let mut bufs = Vec::new();
    for param in &func.params {
        if let Param::Buffer(buf, usage) = param {
            let data = &func.buffers[buf.0 as usize];
            let new = b.buffer_param(&data.name, data.dtype, Vec::new(), *usage);
            *b.buf_mut(new) = BufferData { name: b.buf(new).name.clone(), ..data.clone() };
            bufs.push(new);
        }
    }
    let body = Import::new(&mut b, func, &syms, &bufs).body(&mut b);
    b.push(body);
    let made = b.finish();
    PrimFunc {
        params: made.params,
        facts: made.facts,
        vars: made.vars,
        buffers: made.buffers,
        exprs: made.exprs,
        body: made.body,
        ..func.clone()
    }
}
