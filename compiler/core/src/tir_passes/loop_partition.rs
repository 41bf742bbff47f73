//! `LoopPartition`: a loop is cut where its conditions change, so that in its main part none has to be asked.
//!
//! Runs on any phase. A loop that is marked, or with `LoopPartition.every` each, becomes up to three: what comes first,
//! a main part in which the conditions that depend on its variable are decided whatever the loops inside do, and what
//! is left. Loops with more than `LoopPartition.max_size` statements and expressions, three times counted, stay whole.
//! Iterations run in the same order.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::{Domain, Fact, IntExpr, IntervalSet, Range, Sym};
use tenfold_ir::tir::copy::{copy, size, stem};
use tenfold_ir::tir::{
    Annotation, Builder, Expr, ExprId, ExprMap, LoopKind, PrimFunc, Stmt, Ty, VarId, Viewer, operands,
};
use tenfold_ir::{Module, Scalar};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{ConfigKey, FlagKey, IntKey, Pass, PassContext, PassPhase, Remark};

const EVERY: FlagKey =
    FlagKey { name: "LoopPartition.every", default: false, doc: "whether loops are cut that no schedule has marked" };

const MAX_SIZE: IntKey = IntKey {
    name: "LoopPartition.max_size",
    default: 4096,
    least: 0,
    greatest: 1 << 24,
    doc: "statements and expressions that the parts of one loop may have",
};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("LoopPartition", &run)
    .in_phase(PassPhase::Flat)
    .at_level(1)
    .reads(&[ConfigKey::Flag(&EVERY), ConfigKey::Int(&MAX_SIZE)])
    .about("cuts marked loops where their conditions change");

fn run(func: PrimFunc, _: &Module, context: &PassContext) -> Result<PrimFunc, CompileError> {
    let cuts = find(&func, context.flag(&EVERY));
    Ok(rewrite_body(func, |b, body| body.map(&mut |stmt| part(b, stmt, &cuts, context))))
}

/// Where a loop is cut, and what holds in its main part.
#[derive(Default)]
struct Cut {
    /// The main part begins at none of these or behind it.
    from: Vec<IntExpr>,
    /// And ends before each of these.
    to: Vec<IntExpr>,
    decided: BTreeMap<ExprId, bool>,
}

// Finding.

fn marked(annotations: &[Annotation]) -> bool {
    annotations.contains(&Annotation::LoopPartition)
}

fn find(func: &PrimFunc, every: bool) -> BTreeMap<VarId, Cut> {
    let mut cuts = BTreeMap::new();
    Viewer::new(func).walk(&func.body, &mut |v, stmt| {
        if let Stmt::For { var, min, extent, kind, annotations, body } = stmt
            && (every || marked(annotations))
            && !matches!(kind, LoopKind::ThreadBound(_) | LoopKind::VThread)
            && func.vars[var.0 as usize].ty == Ty::index()
        {
            let inside: BTreeSet<Sym> = {
                let mut all = BTreeSet::new();
                body.walk(&mut |s| all.extend(s.bound().into_iter().map(|var| v.sym(var))));
                all
            };
            let (start, count) = (v.int(*min), v.int(*extent));
            let mut look = Look { var: v.sym(*var), start, count, inside, domain: Domain::new(), cut: Cut::default() };
            look.stmt(v, body);
            if !look.cut.decided.is_empty() {
                cuts.insert(*var, look.cut);
            }
        }
    });
    cuts
}

struct Look {
    var: Sym,
    start: IntExpr,
    count: IntExpr,
    /// What the body binds.
    inside: BTreeSet<Sym>,
    domain: Domain,
    cut: Cut,
}

impl Look {
    fn stmt(&mut self, v: &mut Viewer<'_>, stmt: &Stmt) {
        for id in stmt.exprs() {
            self.expr(v, id, &mut BTreeSet::new());
        }
        if let Stmt::If { cond, .. } = stmt {
            self.cond(v, *cond);
        }
        let outer = self.domain.clone();
        if let Stmt::For { var, min, extent, .. } = stmt {
            let range = Range::new(v.int(*min), v.int(*extent));
            self.domain.push(v.sym(*var), range);
        }
        stmt.children().into_iter().for_each(|s| self.stmt(v, s));
        self.domain = outer;
    }

    /// Conditions of choices.
    fn expr(&mut self, v: &mut Viewer<'_>, id: ExprId, seen: &mut BTreeSet<ExprId>) {
        if !seen.insert(id) {
            return;
        }
        if let Expr::If(c, ..) | Expr::Select(c, ..) = v.func().exprs.get(id) {
            self.cond(v, *c);
        }
        operands(v.func().exprs.get(id)).into_iter().for_each(|e| self.expr(v, e, seen));
    }

    /// Each part of a condition that is a conjunction.
    fn cond(&mut self, v: &mut Viewer<'_>, id: ExprId) {
        match v.func().exprs.get(id) {
            Expr::Compare(..) => {
                if let Some(fact) = v.fact(id) {
                    self.fact(v, id, &fact);
                }
            }
            expr => operands(expr).into_iter().for_each(|e| {
                if matches!(v.func().exprs.get(e), Expr::Compare(..) | Expr::If(..)) {
                    self.cond(v, e);
                }
            }),
        }
    }

    fn fact(&mut self, v: &Viewer<'_>, id: ExprId, fact: &Fact) {
        match fact {
            Fact::NonNegative(e) => {
                if let Some((factor, rest)) = self.linear(e)
                    && let Some(least) = self.least(v, &rest)
                {
                    self.holds_where(id, factor, &least);
                }
            }
            // What is asked of the first or the last iteration alone is false in between.
            Fact::Zero(e) => self.is_end(v, id, e, false),
            Fact::NonZero(e) => self.is_end(v, id, e, true),
            Fact::Divisible(..) | Fact::And(_) | Fact::Or(_) => {}
        }
    }

    /// `factor * var + least >= 0`.
    fn holds_where(&mut self, id: ExprId, factor: i64, least: &IntExpr) {
        let size = IntExpr::from(factor.saturating_abs());
        if factor > 0 {
            // Rounded up.
            let from = (-least + &size - 1).floor_div(&size);
            self.cut.from.push(from);
        } else {
            self.cut.to.push(least.floor_div(&size) + 1);
        }
        self.cut.decided.insert(id, true);
    }

    fn is_end(&mut self, v: &Viewer<'_>, id: ExprId, e: &IntExpr, holds: bool) {
        let Some((factor @ (1 | -1), rest)) = self.linear(e) else { return };
        let Some(at) = self.free(&rest).then(|| if factor == 1 { -&rest } else { rest.clone() }) else { return };
        if v.prover.prove_eq(&at, &self.start) {
            self.cut.from.push(&at + 1);
        } else if v.prover.prove_eq(&at, &(&self.start + &self.count - 1)) {
            self.cut.to.push(at);
        } else {
            return;
        }
        self.cut.decided.insert(id, holds);
    }

    /// An expression as a multiple of the loop's variable and a rest without it.
    fn linear(&self, e: &IntExpr) -> Option<(i64, IntExpr)> {
        let at = |n: IntExpr| e.substitute(&|sym| (*sym == self.var).then(|| n.clone()));
        let var = IntExpr::var(self.var.clone());
        let factor = (at(&var + 1) - e).as_const().filter(|f| *f != 0)?;
        let rest = e - &(&var * factor);
        (!rest.vars().contains(&self.var)).then_some((factor, rest))
    }

    /// Whether an expression is the same in every iteration, and known before the loop.
    fn free(&self, e: &IntExpr) -> bool {
        e.vars().iter().all(|sym| !self.inside.contains(sym) && !sym.as_str().starts_with('%'))
    }

    /// The least value over the loops inside.
    fn least(&self, v: &Viewer<'_>, e: &IntExpr) -> Option<IntExpr> {
        let least = IntervalSet::of(e, &self.domain, &v.prover).min()?.clone();
        (self.free(&least) && !least.vars().contains(&self.var)).then_some(least)
    }
}

// Cutting.

/// The cut of a loop, or why it stays whole.
fn cut_of<'c>(b: &Builder, body: &Stmt, cut: Option<&'c Cut>, largest: i64) -> Result<&'c Cut, String> {
    let cut = cut.ok_or("no condition in it changes at a place that is known before the loop")?;
    let size = 3 * size(b, body) as i64;
    if size > largest {
        return Err(format!("its parts have {size} statements and expressions, `{}` is {largest}", MAX_SIZE.name));
    }
    Ok(cut)
}

fn part(b: &mut Builder, stmt: Stmt, cuts: &BTreeMap<VarId, Cut>, context: &PassContext) -> Stmt {
    let Stmt::For { var, min, extent, kind, mut annotations, body } = stmt else { return stmt };
    let asked = marked(&annotations) || cuts.contains_key(&var);
    annotations.retain(|a| *a != Annotation::LoopPartition);
    let cut = cut_of(b, &body, cuts.get(&var), context.int(&MAX_SIZE));
    if asked {
        let (function, place) = (&b.func().name, format!("loop `{}`", b.sym(var)));
        context.remark(|| match &cut {
            Ok(_) => Remark::applied(PASS.info.name, function, place, "no condition is asked in its main part"),
            Err(why) => Remark::missed(PASS.info.name, function, place, why),
        });
    }
    let Ok(cut) = cut else {
        return Stmt::For { var, min, extent, kind, annotations, body };
    };
    let end = plus(b, min, extent);
    let end = larger(b, min, end);
    let from = cut.from.iter().fold(min, |at, e| {
        let e = b.int_expr(e);
        larger(b, at, e)
    });
    let from = smaller(b, from, end);
    let to = cut.to.iter().fold(end, |at, e| {
        let e = b.int_expr(e);
        smaller(b, at, e)
    });
    let to = larger(b, to, from);
    let first = piece(b, (var, kind), (min, from), &body);
    let last = piece(b, (var, kind), (to, end), &body);
    let count = minus(b, to, from);
    let body = decide(b, *body, &cut.decided);
    let main = Stmt::For { var, min: from, extent: count, kind, annotations, body: Box::new(body) };
    Stmt::seq([first, main, last])
}

/// The loop from one place to another, as it was; nothing where there is nothing.
fn piece(b: &mut Builder, (var, kind): (VarId, LoopKind), (from, to): (ExprId, ExprId), body: &Stmt) -> Stmt {
    let count = minus(b, to, from);
    if matches!(b.func().exprs.get(count), Expr::Index(n) if *n <= 0) {
        return Stmt::nop();
    }
    let name = stem(b.sym(var).as_str()).to_string();
    let own = b.index_var(&name);
    let at = b.read(own);
    let body = copy(b, body, &BTreeMap::from([(var, at)]));
    Stmt::loop_(own, from, count, kind, body)
}

fn decide(b: &mut Builder, body: Stmt, decided: &BTreeMap<ExprId, bool>) -> Stmt {
    let known: BTreeMap<ExprId, ExprId> =
        decided.iter().map(|(id, holds)| (*id, b.scalar(Scalar::bool(*holds)))).collect();
    ExprMap::new(|_: &mut Builder, id| known.get(&id).copied().unwrap_or(id)).stmt(b, body)
}

// Arithmetic on bounds, done at once where they are numbers.

fn numbers(b: &Builder, x: ExprId, y: ExprId) -> Option<(i64, i64)> {
    match (b.func().exprs.get(x), b.func().exprs.get(y)) {
        (Expr::Index(x), Expr::Index(y)) => Some((*x, *y)),
        _ => None,
    }
}

fn plus(b: &mut Builder, x: ExprId, y: ExprId) -> ExprId {
    match numbers(b, x, y) {
        Some((p, q)) => b.index(p.saturating_add(q)),
        None if matches!(b.func().exprs.get(x), Expr::Index(0)) => y,
        None => b.add(x, y),
    }
}

fn minus(b: &mut Builder, x: ExprId, y: ExprId) -> ExprId {
    match numbers(b, x, y) {
        Some((p, q)) => b.index(p.saturating_sub(q)),
        None if x == y => b.index(0),
        None => b.sub(x, y),
    }
}

fn larger(b: &mut Builder, x: ExprId, y: ExprId) -> ExprId {
    match numbers(b, x, y) {
        Some((p, q)) => b.index(p.max(q)),
        None if x == y => x,
        None => b.binary(tenfold_ir::op::BinaryOp::Max, x, y),
    }
}

fn smaller(b: &mut Builder, x: ExprId, y: ExprId) -> ExprId {
    match numbers(b, x, y) {
        Some((p, q)) => b.index(p.min(q)),
        None if x == y => x,
        None => b.binary(tenfold_ir::op::BinaryOp::Min, x, y),
    }
}
