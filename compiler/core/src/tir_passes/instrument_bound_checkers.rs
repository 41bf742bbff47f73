//! `InstrumentBoundCheckers`: every access is checked while it runs.
//!
//! A debugging aid, off unless `InstrumentBoundCheckers.on` is set: all accesses but those that the user vouches for are
//! proven in every build. Runs while accesses have one index per axis. A statement runs only if all that it reads and
//! writes lies inside; else the exported function ends with a status that names the access. Functions that are not
//! exported have no status: they get a buffer for the number of the first access that failed, and go on. A load behind a
//! condition is checked where the condition holds.

use std::collections::BTreeMap;

use tenfold_ir::op::{CmpOp, UnaryOp};
use tenfold_ir::tir::{
    Access, BufId, BufUse, Builder, CallArg, Expr, ExprId, FuncKind, Phase, PrimFunc, Scope, Stmt, operands,
};
use tenfold_ir::{DType, Function, Module, Scalar};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{ConfigKey, FlagKey, Pass, PassContext, PassPhase};

const ON: FlagKey = FlagKey {
    name: "InstrumentBoundCheckers.on",
    default: false,
    doc: "whether every access is checked while it runs",
};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("InstrumentBoundCheckers", &run)
    .in_phase(PassPhase::Loops)
    .reads(&[ConfigKey::Flag(&ON)])
    .about("checks every access while it runs, where a setting asks for it");

/// Texts of checks in functions without a status, with their numbers.
type Numbers = BTreeMap<String, i128>;

fn run(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    if !context.flag(&ON) {
        return Ok(());
    }
    let wanted = |f: &PrimFunc| f.phase < Phase::Flat && f.kind == FuncKind::Host;
    let inner: Vec<String> = module.prims().filter(|f| wanted(f) && !f.exported).map(|f| f.name.clone()).collect();
    let mut numbers = Numbers::new();
    // First those that are called, whose numbers their callers ask for.
    for exported in [false, true] {
        for function in module.functions.values_mut() {
            if let Function::Prim(f) = function
                && wanted(f)
                && f.exported == exported
            {
                *f = instrument(f.clone(), &inner, &mut numbers);
            }
        }
    }
    Ok(())
}

fn instrument(func: PrimFunc, inner: &[String], numbers: &mut Numbers) -> PrimFunc {
    let (exported, calls) = (func.exported, calls_any(&func.body, inner));
    rewrite_body(func, |b, body| {
        let status = match exported {
            true if !calls => None,
            true => Some(b.buffer("status", DType::I32, vec![1.into()], Scope::Local)),
            false => Some(b.buffer_param("status", DType::I32, vec![1.into()], BufUse::InOut)),
        };
        let mut work = Work { b, exported, status, inner, numbers };
        let body = body.map(&mut |stmt| work.checked(stmt));
        match status.filter(|_| exported) {
            Some(buf) => {
                let none = work.store_status(0);
                Stmt::Alloc { buf, body: Box::new(Stmt::seq(none.into_iter().chain([body]))) }
            }
            None => body,
        }
    })
}

fn calls_any(body: &Stmt, inner: &[String]) -> bool {
    body.any(&mut |s| matches!(s, Stmt::Call { func, .. } if inner.contains(func)))
}

struct Work<'a> {
    b: &'a mut Builder,
    exported: bool,
    /// Where the number of what failed goes.
    status: Option<BufId>,
    inner: &'a [String],
    numbers: &'a mut Numbers,
}

impl Work<'_> {
    /// A statement that runs only if all that it touches itself lies inside.
    fn checked(&mut self, stmt: Stmt) -> Stmt {
        let mut checks = Checks { b: self.b, made: Vec::new(), guards: Vec::new() };
        stmt.exprs().into_iter().for_each(|e| checks.expr(e));
        if let Stmt::Store { buf, index, .. } = &stmt {
            checks.access(*buf, index);
        }
        let made = checks.made;
        match stmt {
            // Its condition is asked before each turn; why it ended is asked behind it.
            Stmt::While { cond, body } => {
                let no = self.b.scalar(Scalar::bool(false));
                let cond = made.iter().rev().fold(cond, |cond, (check, _)| self.b.if_(*check, cond, no));
                self.guard(made, Stmt::While { cond, body }, false)
            }
            // Its predicate and what its iterators are stand inside of it.
            Stmt::Block(_) => stmt,
            Stmt::Call { func, mut args, launch } if self.inner.contains(&func) => {
                args.extend(self.status.map(CallArg::Buffer));
                let behind = self.ask(&func);
                let call = self.guard(made, Stmt::Call { func, args, launch }, true);
                Stmt::seq([call].into_iter().chain(behind))
            }
            other => self.guard(made, other, true),
        }
    }

    /// A statement with its checks before it, or behind it where it makes them itself.
    fn guard(&mut self, made: Vec<(ExprId, String)>, stmt: Stmt, before: bool) -> Stmt {
        if self.exported {
            let asserts: Vec<Stmt> = made.into_iter().map(|(cond, text)| Stmt::Assert { cond, text }).collect();
            let (first, last) = if before { (asserts, Vec::new()) } else { (Vec::new(), asserts) };
            return Stmt::seq(first.into_iter().chain([stmt]).chain(last));
        }
        let (mut out, mut failures) = (stmt, Vec::new());
        for (cond, text) in made.into_iter().rev() {
            let failed = Box::new(self.fail(text));
            if before {
                out = Stmt::If { cond, then: Box::new(out), otherwise: Some(failed) };
            } else {
                let cond = self.b.unary(UnaryOp::Not, cond);
                failures.insert(0, Stmt::If { cond, then: failed, otherwise: None });
            }
        }
        Stmt::seq([out].into_iter().chain(failures))
    }

    /// The first failure is the one that is told.
    fn fail(&mut self, text: String) -> Stmt {
        let next = self.numbers.len() as i128 + 1;
        let number = *self.numbers.entry(text).or_insert(next);
        let Some(store) = self.store_status(number) else { return Stmt::nop() };
        let Some(cond) = self.status_is(CmpOp::Eq, 0) else { return Stmt::nop() };
        Stmt::If { cond, then: Box::new(store), otherwise: None }
    }

    fn store_status(&mut self, number: i128) -> Option<Stmt> {
        let buf = self.status?;
        let (zero, value) = (self.b.index(0), self.b.scalar(Scalar::int(DType::I32, number)));
        Some(Stmt::Store { buf, index: vec![zero], value, access: Access::Proven })
    }

    fn status_is(&mut self, op: CmpOp, number: i128) -> Option<ExprId> {
        let zero = self.b.index(0);
        let found = self.b.load(self.status?, vec![zero], Access::Proven);
        let number = self.b.scalar(Scalar::int(DType::I32, number));
        Some(self.b.compare(op, found, number))
    }

    /// What a called function may have found.
    fn ask(&mut self, func: &str) -> Vec<Stmt> {
        if !self.exported {
            return Vec::new();
        }
        let head = format!("`{func}`:");
        let own: Vec<(String, i128)> =
            self.numbers.iter().filter(|(text, _)| text.starts_with(&head)).map(|(t, n)| (t.clone(), *n)).collect();
        own.into_iter()
            .filter_map(|(text, n)| Some(Stmt::Assert { cond: self.status_is(CmpOp::Ne, n)?, text }))
            .collect()
    }
}

struct Checks<'b> {
    b: &'b mut Builder,
    /// What must hold, with what does not if it does not.
    made: Vec<(ExprId, String)>,
    /// Conditions that hold where the expression is evaluated.
    guards: Vec<ExprId>,
}

impl Checks<'_> {
    fn expr(&mut self, id: ExprId) {
        if self.b.ty(id).lanes > 1 {
            return;
        }
        match self.b.func().exprs.get(id).clone() {
            Expr::If(c, x, y) => {
                self.expr(c);
                self.under(c, x);
                let not = self.b.unary(UnaryOp::Not, c);
                self.under(not, y);
            }
            Expr::Load { buf, index, .. } => {
                index.iter().for_each(|i| self.expr(*i));
                self.access(buf, &index);
            }
            expr => operands(&expr).into_iter().for_each(|e| self.expr(e)),
        }
    }

    fn under(&mut self, guard: ExprId, id: ExprId) {
        if self.b.func().loads(id) {
            self.guards.push(guard);
            self.expr(id);
            self.guards.pop();
        }
    }

    fn access(&mut self, buf: BufId, index: &[ExprId]) {
        let data = self.b.buf(buf).clone();
        for (axis, (i, extent)) in index.iter().zip(&data.shape).enumerate() {
            if self.b.ty(*i).lanes > 1 {
                continue;
            }
            let (i, extent, zero) = (self.b.to_index(*i), self.b.int_expr(extent), self.b.index(0));
            let (above, below) = (self.b.compare(CmpOp::Ge, i, zero), self.b.compare(CmpOp::Lt, i, extent));
            let mut cond = self.b.and(above, below);
            let yes = self.b.scalar(Scalar::bool(true));
            for guard in self.guards.iter().rev() {
                cond = self.b.if_(*guard, cond, yes);
            }
            let func = &self.b.func().name;
            let text = format!("`{func}`: an index of axis {axis} of `{}` is out of bounds", data.name);
            let check = (cond, text);
            if !self.made.contains(&check) {
                self.made.push(check);
            }
        }
    }
}
