//! Redoes the laws of `ir.rs`, except the bounds of accesses, which `bounds.rs` proves.
//!
//! One walk over the statements and one look at each expression, so that it can run after every pass. Every error is
//! collected, with the text of the place.

use std::collections::BTreeSet;

mod place;
mod rules;
#[cfg(test)]
mod tests;

pub use rules::{RULES, UNWRITABLE};

use super::verify_types::{describe, type_error};
use super::{
    Block, BufId, BufUse, CallArg, Elem, Expr, ExprId, FuncKind, Intrinsic, Launch, LoopKind, MatchBuffer, Param,
    Phase, PrimFunc, Scope, Stmt, Ty, VarId, operands,
};
use crate::arith::{IntExpr, Prover, Sym};
use crate::op::{BinaryOp, UnaryOp};
use crate::relax::{Rule, Violation};
use crate::{DType, Module};

/// The laws that a function breaks, one text each.
pub fn verify(module: &Module, func: &PrimFunc) -> Vec<String> {
    violations(module, func).into_iter().map(|v| v.text).collect()
}

/// The laws that a function breaks, with the rules that they break.
pub fn violations(module: &Module, func: &PrimFunc) -> Vec<Violation> {
    let mut check = Check {
        module,
        func,
        errors: Vec::new(),
        bound: vec![false; func.vars.len()],
        ever: vec![false; func.vars.len()],
        live: vec![false; func.buffers.len()],
        written: BTreeSet::new(),
        blocks: BTreeSet::new(),
        typed: vec![false; func.exprs.len()],
        seen: vec![0; func.exprs.len()],
        now: 0,
        axes: Vec::new(),
        whole: 0,
        stored: None,
    };
    check.names();
    check.params();
    if func.kind == FuncKind::Extern {
        check.external();
        return check.errors;
    }
    check.device();
    check.buffers();
    check.stmt(&func.body);
    check.outputs();
    check.errors
}

struct Check<'f> {
    module: &'f Module,
    func: &'f PrimFunc,
    errors: Vec<Violation>,
    /// Variables that hold here, and those that were bound anywhere.
    bound: Vec<bool>,
    ever: Vec<bool>,
    /// Buffers that may be used here.
    live: Vec<bool>,
    written: BTreeSet<BufId>,
    blocks: BTreeSet<String>,
    /// Expressions whose types were checked, and in which statement each was last seen.
    typed: Vec<bool>,
    seen: Vec<u32>,
    now: u32,
    /// Thread axes of the loops around.
    axes: Vec<LoopKind>,
    /// How many threads along x are around, if it is a constant and they are alone, else 0.
    whole: i64,
    /// What the statement stores, and where.
    stored: Option<(ExprId, BufId, Option<ExprId>)>,
}

impl<'f> Check<'f> {
    fn fail(&mut self, rule: &'static Rule, text: impl Into<String>) {
        self.errors.push(Violation { rule, text: text.into() });
    }

    fn sym(&self, var: VarId) -> String {
        self.func.vars.get(var.0 as usize).map_or_else(|| format!("variable {}", var.0), |v| v.sym.to_string())
    }

    fn buf(&self, buf: BufId) -> String {
        self.func.buffers.get(buf.0 as usize).map_or_else(|| format!("buffer {}", buf.0), |b| b.name.clone())
    }

    fn text(&self, e: ExprId) -> String {
        describe(self.func, e)
    }

    fn names(&mut self) {
        let vars = self.func.vars.iter().map(|v| v.sym.to_string());
        let names: Vec<String> = vars.chain(self.func.buffers.iter().map(|b| b.name.clone())).collect();
        let mut seen = BTreeSet::new();
        for name in names {
            if !seen.insert(name.clone()) {
                self.fail(rules::NAMES, format!("two things are called `{name}`"));
            }
        }
    }

    fn params(&mut self) {
        let mut workspaces = 0;
        for param in &self.func.params {
            match param {
                Param::Value(var) => self.bind(*var),
                Param::Buffer(buf, _) => match self.func.buffers.get(buf.0 as usize) {
                    Some(data) if data.scope != Scope::Param => {
                        self.fail(rules::PARAM, format!("parameter `{}` has a scope of its own", data.name));
                    }
                    Some(_) if self.live[buf.0 as usize] => {
                        self.fail(rules::PARAM, format!("`{}` is two parameters", self.buf(*buf)));
                    }
                    Some(_) => self.live[buf.0 as usize] = true,
                    None => self.fail(rules::EXISTS, format!("parameter buffer {} does not exist", buf.0)),
                },
                Param::Workspace => workspaces += 1,
            }
        }
        if workspaces > self.func.pools.len().max(1) {
            self.fail(rules::WORKSPACE, format!("{workspaces} workspace parameters"));
        }
        if !self.func.pools.is_empty() && workspaces != self.func.pools.len() {
            self.fail(rules::WORKSPACE, format!("{} pools, {workspaces} parameters", self.func.pools.len()));
        }
        for fact in &self.func.facts {
            for sym in fact.vars() {
                self.known(&sym, &format!("the fact `{fact}`"));
            }
        }
    }

    /// Whether a symbol is a variable of the function at all.
    fn known(&mut self, sym: &Sym, place: &str) {
        if !self.func.vars.iter().any(|v| v.sym == *sym) {
            self.fail(rules::SYMBOLS, format!("{place} uses `{sym}`, which is no variable"));
        }
    }

    fn buffers(&mut self) {
        let workspace = self.func.params.contains(&Param::Workspace);
        for (index, data) in self.func.buffers.iter().enumerate() {
            let name = &data.name;
            let ranges = data.range.iter().flat_map(|(lo, hi)| [lo, hi]);
            let exprs: Vec<&IntExpr> =
                data.shape.iter().chain(data.strides.iter().flatten()).chain(&data.offset).chain(ranges).collect();
            for sym in exprs.iter().flat_map(|e| e.vars()).collect::<BTreeSet<_>>() {
                self.known(&sym, &format!("buffer `{name}`"));
            }
            if self.func.phase >= Phase::Flat && data.shape.len() != 1 {
                self.fail(
                    rules::FLAT_RANK,
                    format!("`{name}` has rank {}, expected 1 in phase flat", data.shape.len()),
                );
            }
            match data.scope {
                Scope::Const(id) => match self.module.constants.get(id.0 as usize) {
                    Some(constant) if constant.dtype != data.dtype => {
                        self.fail(
                            rules::CONSTANT,
                            format!("`{name}` has type `{}`, its constant `{}`", data.dtype, constant.dtype),
                        );
                    }
                    Some(_) => self.live[index] = true,
                    None => self.fail(rules::EXISTS, format!("`{name}` names constant {}, which does not exist", id.0)),
                },
                Scope::Workspace => {
                    self.live[index] = true;
                    if !workspace || data.offset.is_none() {
                        self.fail(rules::WORKSPACE, format!("`{name}` needs a workspace parameter and an offset"));
                    } else if !self.is_in_a_pool(data) {
                        self.fail(rules::WORKSPACE, format!("`{name}` lies in no pool alone"));
                    }
                }
                Scope::Param
                | Scope::Global
                | Scope::Local
                | Scope::Shared
                | Scope::SharedDyn
                | Scope::Warp
                | Scope::View => {}
            }
        }
    }

    /// Whether a part of a workspace of several memories lies in one of them, as far as facts bound its size.
    fn is_in_a_pool(&self, data: &super::BufferData) -> bool {
        let Some(offset) = data.offset.as_ref().filter(|_| !self.func.pools.is_empty()) else { return true };
        let (pool, offset) = self.func.in_pool(offset);
        let mut prover = Prover::new();
        self.func.facts.iter().for_each(|fact| prover.assume(fact.clone()));
        let element = IntExpr::from(data.dtype.size_bytes() as i64);
        let bytes = data.shape.iter().fold(element, |bytes, extent| &bytes * extent);
        let end = prover.const_bounds(&(&offset + &bytes)).1;
        end.is_none_or(|end| u64::try_from(end).is_ok_and(|end| end <= self.func.pools[pool]))
    }

    fn outputs(&mut self) {
        for param in &self.func.params {
            // Of an output without elements nothing has to be written.
            if let Param::Buffer(buf, BufUse::Out) = param
                && !self.written.contains(buf)
                && !self.func.buffers[buf.0 as usize].shape.iter().any(|d| d.as_const() == Some(0))
            {
                self.fail(rules::OUTPUT, format!("output `{}` is never written", self.buf(*buf)));
            }
        }
    }

    // Scopes.

    fn bind(&mut self, var: VarId) {
        match self.ever.get_mut(var.0 as usize) {
            Some(ever) if *ever => self.fail(rules::ONCE, format!("`{}` is bound twice", self.sym(var))),
            Some(ever) => {
                *ever = true;
                self.bound[var.0 as usize] = true;
            }
            None => self.fail(rules::EXISTS, format!("variable {} does not exist", var.0)),
        }
    }

    fn inside(&mut self, vars: &[VarId], f: impl FnOnce(&mut Self)) {
        vars.iter().for_each(|v| self.bind(*v));
        f(self);
        for var in vars {
            if let Some(bound) = self.bound.get_mut(var.0 as usize) {
                *bound = false;
            }
        }
    }

    // Expressions.

    /// Checks an expression of the current statement: its types, its variables, its buffers.
    fn expr(&mut self, id: ExprId) {
        let Some(seen) = self.seen.get_mut(id.0 as usize) else {
            return self.fail(rules::EXISTS, format!("expression {} does not exist", id.0));
        };
        if *seen == self.now {
            return;
        }
        *seen = self.now;
        let func = self.func;
        let expr = func.exprs.get(id);
        for operand in operands(expr) {
            if operand.0 >= id.0 {
                return self.fail(
                    rules::ORDER,
                    format!("expression {} has operand {}, which is not below it", id.0, operand.0),
                );
            }
            self.expr(operand);
        }
        match expr {
            Expr::Var(var) if !self.bound.get(var.0 as usize).is_some_and(|b| *b) => {
                self.fail(rules::BOUND, format!("`{}` is used where it is not bound", self.sym(*var)));
            }
            Expr::Load { buf, index, .. } => self.access(*buf, index),
            Expr::Call(Intrinsic::Warp(f), args, _) => self.warp(*f, id, args),
            Expr::Call(Intrinsic::Group(f), ..) => self.group(*f, id),
            Expr::Call(Intrinsic::CopyAsync, args, _) => self.copy_async(id, args),
            Expr::Call(Intrinsic::CopyTensor, ..) => self.copy_tensor(id),
            Expr::Call(Intrinsic::UntilAligned, args, _) => self.until_aligned(args),
            Expr::Call(Intrinsic::Mbarrier(f), ..) => self.mbarrier(*f, id),
            Expr::Const(_)
            | Expr::Index(_)
            | Expr::Var(_)
            | Expr::Unary(..)
            | Expr::Binary(..)
            | Expr::Compare(..)
            | Expr::If(..)
            | Expr::Select(..)
            | Expr::Cast(..)
            | Expr::Call(..)
            | Expr::Ramp(..)
            | Expr::Broadcast(..)
            | Expr::Shuffle(..) => {}
        }
        if !std::mem::replace(&mut self.typed[id.0 as usize], true) {
            if let Some(error) = type_error(func, id) {
                self.fail(rules::TYPES, format!("{error} in `{}`", self.text(id)));
            }
            if func.phase == Phase::Target && must_be_expanded(func, expr) {
                self.fail(rules::EXPANDED, format!("`{}` is not expanded in phase target", self.text(id)));
            }
        }
    }

    fn typed(&mut self, rule: &'static Rule, id: ExprId, expected: &str, ok: impl FnOnce(Ty) -> bool) {
        self.expr(id);
        if (id.0 as usize) < self.func.exprs.len() {
            let ty = self.func.exprs.ty(id);
            if !ok(ty) {
                self.fail(rule, format!("expected {expected}, found `{ty}`: `{}`", self.text(id)));
            }
        }
    }

    fn index(&mut self, id: ExprId) {
        self.typed(rules::INDEX, id, "an index", |ty| ty == Ty::index());
    }

    fn cond(&mut self, id: ExprId) {
        self.typed(rules::CONDITION, id, "`bool`", |ty| ty == Ty::bool());
    }

    fn access(&mut self, buf: BufId, index: &[ExprId]) {
        let name = self.buf(buf);
        if !self.live.get(buf.0 as usize).is_some_and(|l| *l) {
            return self.fail(rules::LIVE, format!("`{name}` is used where it does not live"));
        }
        let rank = self.func.buffers[buf.0 as usize].shape.len();
        if index.len() != rank {
            self.fail(rules::COUNT, format!("{} indices for `{name}` of rank {rank}", index.len()));
        }
        for i in index {
            self.typed(rules::INDEX, *i, "an integer index", |ty| match ty.elem {
                Elem::Index => true,
                Elem::Scalar(dtype) => dtype.is_int(),
            });
        }
    }

    fn write(&mut self, buf: BufId) {
        self.written.insert(buf);
        let input = self.func.params.contains(&Param::Buffer(buf, BufUse::In));
        let constant = self.func.buffers.get(buf.0 as usize).is_some_and(|b| matches!(b.scope, Scope::Const(_)));
        if input || constant {
            self.fail(
                rules::READ_ONLY,
                format!("`{}` is written, but is {}", self.buf(buf), if input { "an input" } else { "a constant" }),
            );
        }
    }

    // Statements.

    fn stmt(&mut self, stmt: &Stmt) {
        self.now += 1;
        self.stored = match stmt {
            Stmt::Store { buf, index, value, .. } => Some((*value, *buf, index.last().copied())),
            _ => None,
        };
        match stmt {
            Stmt::Seq(all) => all.iter().for_each(|s| self.stmt(s)),
            Stmt::For { var, min, extent, kind, annotations, body } => {
                self.annotations(annotations, body);
                let ty = self.counter(*var);
                for end in [*min, *extent] {
                    self.typed(rules::INDEX, end, &format!("`{ty}`"), |found| found == ty);
                }
                let around = self.whole;
                self.whole = self.along_x(*kind, *min, *extent);
                self.inside(&[*var], |c| c.within(*kind, |c| c.stmt(body)));
                self.whole = around;
            }
            Stmt::While { cond, body } => {
                self.cond(*cond);
                self.stmt(body);
            }
            Stmt::If { cond, then, otherwise } => {
                self.cond(*cond);
                self.stmt(then);
                otherwise.iter().for_each(|s| self.stmt(s));
            }
            Stmt::Let { var, value, body } => {
                let expected = self.func.vars.get(var.0 as usize).map(|v| v.ty);
                self.typed(rules::LET, *value, &format!("the type of `{}`", self.sym(*var)), |ty| Some(ty) == expected);
                self.inside(&[*var], |c| c.stmt(body));
            }
            Stmt::Alloc { buf, body } => self.alloc(*buf, body),
            Stmt::Store { buf, index, value, .. } => self.store(*buf, index, *value),
            Stmt::Block(block) => self.block(block),
            Stmt::Evaluate(e) => self.expr(*e),
            Stmt::Call { func, args, launch } => {
                self.call(func, args, launch.map_or(0, Launch::given));
                self.launch(func, launch.as_ref());
            }
            Stmt::Barrier(barrier) => self.barrier(barrier.scope),
            Stmt::Assert { cond, .. } => {
                self.cond(*cond);
                if !self.func.exported {
                    self.fail(rules::ASSERT, "an assert in a function that is not exported, which has no status");
                }
            }
            Stmt::Prefetch { buf, index } => self.access(*buf, index),
            Stmt::At(_, body) => self.stmt(body),
        }
    }

    /// The type that a loop counts in: an index, or from phase flat on an `i32`.
    fn counter(&mut self, var: VarId) -> Ty {
        let narrow = Ty::scalar(DType::I32);
        if self.func.phase >= Phase::Flat && self.func.vars.get(var.0 as usize).is_some_and(|v| v.ty == narrow) {
            return narrow;
        }
        self.loop_var(var);
        Ty::index()
    }

    fn loop_var(&mut self, var: VarId) {
        if self.func.vars.get(var.0 as usize).is_some_and(|v| v.ty != Ty::index()) {
            self.fail(rules::LOOP_VAR, format!("loop variable `{}` is no index", self.sym(var)));
        }
    }

    fn alloc(&mut self, buf: BufId, body: &Stmt) {
        self.enter(buf, false);
        self.stmt(body);
        self.leave(buf);
    }

    /// A buffer begins to live.
    fn enter(&mut self, buf: BufId, view: bool) {
        let index = buf.0 as usize;
        let Some(data) = self.func.buffers.get(index) else {
            return self.fail(rules::EXISTS, format!("buffer {index} does not exist"));
        };
        if !view && !is_allocated(data.scope) {
            self.fail(rules::ALLOC, format!("`{}` is allocated, but lives elsewhere", data.name));
        }
        if view && data.scope != Scope::View {
            self.fail(rules::VIEW, format!("`{}` is matched, but is no view", data.name));
        }
        if std::mem::replace(&mut self.live[index], true) {
            self.fail(rules::ALLOC, format!("`{}` is allocated inside its own life", data.name));
        }
    }

    fn leave(&mut self, buf: BufId) {
        if let Some(live) = self.live.get_mut(buf.0 as usize) {
            *live = false;
        }
    }

    fn match_buffer(&mut self, m: &MatchBuffer) {
        let begins: Vec<ExprId> = m.region.ranges.iter().map(|(begin, _)| *begin).collect();
        self.access(m.region.buf, &begins);
        let bufs = (self.func.buffers.get(m.view.0 as usize), self.func.buffers.get(m.region.buf.0 as usize));
        if let (Some(view), Some(whole)) = bufs {
            if view.dtype != whole.dtype {
                self.fail(
                    rules::VIEW,
                    format!("`{}` has type `{}`, what it views `{}`", view.name, view.dtype, whole.dtype),
                );
            }
            if view.shape.len() > m.region.ranges.len() {
                self.fail(rules::VIEW, format!("`{}` has more axes than what it views", view.name));
            }
            if view.strides.is_some() {
                self.fail(rules::VIEW, format!("`{}` is a view and has the distances of `{}`", view.name, whole.name));
            }
        }
        self.enter(m.view, true);
    }

    fn store(&mut self, buf: BufId, index: &[ExprId], value: ExprId) {
        self.access(buf, index);
        self.write(buf);
        if let Some(data) = self.func.buffers.get(buf.0 as usize) {
            let dtype = data.dtype;
            let lanes = self.lanes(index);
            let expected = format!("`{}` for `{}`", Ty { lanes, ..Ty::scalar(dtype) }, data.name);
            self.typed(rules::STORED, value, &expected, |ty| ty.elem == Elem::Scalar(dtype) && ty.lanes == lanes);
        }
    }

    fn block(&mut self, block: &Block) {
        if self.func.phase >= Phase::Flat {
            self.fail(rules::FLAT_BLOCKS, format!("block `{}` in phase flat", block.name));
        }
        if !self.blocks.insert(block.name.clone()) {
            self.fail(rules::BLOCK_NAMES, format!("two blocks are called `{}`", block.name));
        }
        for iter in &block.iters {
            self.loop_var(iter.var);
            self.index(iter.value);
            self.index(iter.extent);
        }
        let vars: Vec<VarId> = block.iters.iter().map(|i| i.var).collect();
        self.inside(&vars, |c| {
            c.now += 1;
            for region in block.reads.iter().chain(&block.writes) {
                region.ranges.iter().for_each(|(begin, extent)| {
                    c.index(*begin);
                    c.index(*extent);
                });
            }
            block.predicate.iter().for_each(|p| c.cond(*p));
            c.annotations(&block.annotations, &block.body);
            block.allocs.iter().for_each(|b| c.enter(*b, false));
            block.matches.iter().for_each(|m| c.match_buffer(m));
            block.init.iter().for_each(|s| c.stmt(s));
            c.stmt(&block.body);
            // What is written through a view is written.
            let through = block.matches.iter().rev().filter(|m| c.written.contains(&m.view)).map(|m| m.region.buf);
            through.collect::<Vec<_>>().into_iter().for_each(|buf| c.write(buf));
            let gone = block.allocs.iter().copied().chain(block.matches.iter().map(|m| m.view));
            gone.for_each(|b| c.leave(b));
        });
    }

    /// The call gives arguments for all parameters but the last `given`.
    fn call(&mut self, name: &str, args: &[CallArg], given: usize) {
        let Some(callee) = self.module.prim(name) else {
            return self.fail(rules::CALLEE, format!("`{name}` is called, but is no prim-func of the module"));
        };
        if callee.params.len() != args.len() + given {
            let (expected, found) = (callee.params.len().saturating_sub(given), args.len());
            return self.fail(rules::ARGUMENTS, format!("`{name}` takes {expected} arguments, found {found}"));
        }
        for (n, (param, arg)) in callee.params.iter().zip(args).enumerate() {
            match (param, arg) {
                (Param::Value(var), CallArg::Value(e)) => {
                    let expected = callee.vars[var.0 as usize].ty;
                    let what = format!("`{expected}` for parameter {n} of `{name}`");
                    self.typed(rules::ARGUMENTS, *e, &what, |ty| ty == expected);
                }
                (Param::Buffer(theirs, usage), CallArg::Buffer(ours)) => {
                    self.pass(name, n, (callee, &callee.buffers[theirs.0 as usize]), *ours, *usage);
                }
                (Param::Value(_) | Param::Buffer(..) | Param::Workspace, _) => {
                    self.fail(
                        rules::ARGUMENTS,
                        format!("argument {n} of `{name}` is of another kind than its parameter"),
                    );
                }
            }
        }
    }

    fn pass(
        &mut self,
        name: &str,
        n: usize,
        (callee, theirs): (&PrimFunc, &super::BufferData),
        ours: BufId,
        usage: BufUse,
    ) {
        let Some(data) = self.func.buffers.get(ours.0 as usize) else {
            return self.fail(rules::EXISTS, format!("buffer {} does not exist", ours.0));
        };
        if !self.live[ours.0 as usize] {
            self.fail(rules::LIVE, format!("`{}` is used where it does not live", data.name));
        }
        if data.dtype != theirs.dtype {
            let (expected, found) = (theirs.dtype, data.dtype);
            self.fail(
                rules::ARGUMENTS,
                format!("argument {n} of `{name}`: expected elements of `{expected}`, found `{found}`"),
            );
        }
        // A reshaped value is the same memory under another shape; of a pointer nothing is known.
        let count = |b: &super::BufferData| b.shape.iter().try_fold(1i64, |n, d| n.checked_mul(d.as_const()?));
        if let (Some(expected), Some(found)) = (count(theirs), count(data))
            && callee.kind != FuncKind::Extern
            && expected != found
        {
            self.fail(
                rules::ARGUMENTS,
                format!("argument {n} of `{name}`: expected {expected} elements, found {found}"),
            );
        }
        if usage != BufUse::In {
            self.write(ours);
        }
    }
}

/// Whether buffers of a scope are allocated where they are used.
fn is_allocated(scope: Scope) -> bool {
    matches!(scope, Scope::Global | Scope::Local | Scope::Shared | Scope::SharedDyn | Scope::Warp)
}

/// Whether `LowerMath` should have replaced it.
fn must_be_expanded(func: &PrimFunc, expr: &Expr) -> bool {
    let float = |e: ExprId| matches!(func.exprs.ty(e).elem, Elem::Scalar(d) if d.is_float());
    match expr {
        Expr::Unary(op, x) => float(*x) && crate::eval::ulps(*op) > 0.5 || *op == UnaryOp::Square,
        Expr::Binary(BinaryOp::Pow | BinaryOp::Atan2, ..)
        | Expr::Call(Intrinsic::QMultiplyShift | Intrinsic::NearestInt | Intrinsic::ExpNonpositive, ..) => true,
        Expr::Const(_)
        | Expr::Index(_)
        | Expr::Var(_)
        | Expr::Binary(..)
        | Expr::Compare(..)
        | Expr::If(..)
        | Expr::Select(..)
        | Expr::Cast(..)
        | Expr::Load { .. }
        | Expr::Call(
            Intrinsic::Fma
            | Intrinsic::Bitcast
            | Intrinsic::Lookup
            | Intrinsic::Scalef
            | Intrinsic::Ex2
            | Intrinsic::Word
            | Intrinsic::Dot(_)
            | Intrinsic::Warp(_)
            | Intrinsic::Group(_)
            | Intrinsic::UntilAligned
            | Intrinsic::CopyAsync
            | Intrinsic::CopyTensor
            | Intrinsic::Mbarrier(_),
            ..,
        )
        | Expr::Ramp(..)
        | Expr::Broadcast(..)
        | Expr::Shuffle(..) => false,
    }
}
