//! `LowerParallelLoops`: what a parallel loop does becomes a function of its own, which is called with parts of the turns.
//!
//! Runs on flat tir, for targets that have threads; elsewhere such a loop runs where it stands. The function takes what
//! the loop uses of what is around it, then the first turn of a part and how many there are. The call says how many
//! turns there are and about how long one takes: who runs them decides how many threads are worth it. Loops inside of a
//! parallel one run where they stand, and so does one whose turns check something or share memory of the stack. Where
//! threads share lines inside of the loop, its function takes the first line of a part and how many there are.

use std::collections::BTreeSet;

use tenfold_ir::Module;
use tenfold_ir::arith::{Fact, IntExpr, Sym};
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::copy::Bound;
use tenfold_ir::tir::{
    Annotation, BufId, Builder, ExprId, FuncKind, Launch, LoopKind, Param, Phase, PrimFunc, Scope, Stmt, Ty, Viewer,
    free_vars, own_accesses, written,
};

use super::outline::{Captured, insert};
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase, Remark};
use crate::work::Work;

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("LowerParallelLoops", &run)
    .in_phase(PassPhase::Flat)
    .at_level(1)
    .about("makes functions of parallel loops, and calls that split their turns among threads in their places");

fn run(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    if !context.target.hosted {
        return Ok(());
    }
    let names: Vec<String> = module.functions.keys().cloned().collect();
    for name in names {
        let parallel = |s: &Stmt| matches!(s, Stmt::For { kind: LoopKind::Parallel, .. });
        let ours = |f: &&PrimFunc| f.kind == FuncKind::Host && f.phase >= Phase::Flat;
        let Some(func) = module.prim(&name).filter(ours).cloned() else { continue };
        if !func.body.any(&mut |s| parallel(s)) {
            continue;
        }
        let func = super::rewrite_body(func, |b, body| Outlined { module, context }.stmt(b, body));
        insert(module, func);
    }
    Ok(())
}

struct Outlined<'a> {
    module: &'a mut Module,
    context: &'a PassContext,
}

impl Outlined<'_> {
    fn stmt(&mut self, b: &mut Builder, stmt: Stmt) -> Stmt {
        let Stmt::For { var, min, extent, kind: LoopKind::Parallel, annotations, body } = stmt else {
            return stmt.map_children(&mut |s| self.stmt(b, s));
        };
        let body = Box::new(serial(*body));
        let it = Stmt::For { var, min, extent, kind: LoopKind::Serial, annotations, body };
        let refusal = refusal(b.func(), &it);
        let (name, place) = (&b.func().name, format!("loop `{}`", b.sym(var)));
        self.context.remark(|| match refusal {
            Some(why) => Remark::missed(PASS.info.name, name, place, why),
            None => Remark::applied(PASS.info.name, name, place, "its turns are split among threads"),
        });
        if refusal.is_some() { unshared(it) } else { self.outline(b, it) }
    }

    /// The call in place of a loop, whose function is added to the others.
    fn outline(&mut self, b: &mut Builder, it: Stmt) -> Stmt {
        let Stmt::For { var, min, extent, kind, annotations, body } = it else { return it };
        // A loop of less than no turns has none; a call has to say so.
        let extent = counted(b, extent);
        let whole = Stmt::For { var, min, extent, kind, annotations, body };
        let lines = lines(b.func(), &whole);
        let whole = if lines.is_none() { unshared(whole) } else { whole };
        let turns = lines.map_or(extent, |lines| b.index(lines));
        let work = self.work(b, &whole, lines);
        let captured = Captured::of(b.func(), &whole);
        let name = self.module.unique_name(&format!("{}_parallel", b.func().name));
        let args = captured.args(b);
        insert(self.module, part(b.func(), name.clone(), whole, &captured, lines));
        Stmt::Call { func: name, args, launch: Some(Launch::Threads { turns, work }) }
    }

    /// About how many cycles a turn takes, or one of so many lines, of what is known outside of the loop.
    fn work(&self, b: &mut Builder, it: &Stmt, lines: Option<i64>) -> ExprId {
        let known = free_vars(b.func(), it);
        let outside: BTreeSet<Sym> = known.into_iter().map(|v| b.sym(v).clone()).collect();
        let mut work = Work::new(b.func(), self.context.target.vector_bytes(), outside);
        let cycles = match (lines, it) {
            (Some(lines), _) => &work.cycles(it).floor_div(&IntExpr::from(lines)) + 1,
            (None, Stmt::For { body, .. }) => work.cycles(body),
            (None, other) => work.cycles(other),
        };
        b.int_expr(&cycles)
    }
}

/// How many lines threads share inside of a loop, if they do: all loops of lines are still as they were, and nothing is
/// written outside of them but what a part has for itself.
fn lines(func: &PrimFunc, it: &Stmt) -> Option<i64> {
    let mut inside = Bound::default();
    inside.collect(it);
    let mut extents = BTreeSet::new();
    lines_inside(func, it, &inside, &mut extents)?;
    extents.pop_first().filter(|_| extents.is_empty())
}

/// Collects how many turns loops of lines have; nothing where they cannot be shared.
fn lines_inside(func: &PrimFunc, stmt: &Stmt, inside: &Bound, extents: &mut BTreeSet<i64>) -> Option<()> {
    if let Stmt::For { min, extent, annotations, .. } = stmt
        && annotations.contains(&Annotation::Shared)
    {
        extents.insert(func.literal(*extent).filter(|_| func.literal(*min) == Some(0))?);
        return Some(());
    }
    let writes = own_accesses(func, stmt).into_iter().any(|it| it.write && !inside.bufs.contains(&it.buf));
    if writes {
        return None;
    }
    stmt.children().into_iter().try_for_each(|child| lines_inside(func, child, inside, extents))
}

/// The statement without loops that are shared.
fn unshared(stmt: Stmt) -> Stmt {
    stmt.map(&mut |s| match s {
        Stmt::For { var, min, extent, kind, mut annotations, body } => {
            annotations.retain(|it| *it != Annotation::Shared);
            Stmt::For { var, min, extent, kind, annotations, body }
        }
        other => other,
    })
}

/// The statement for some of the lines.
fn of_lines(stmt: Stmt, begin: ExprId, count: ExprId) -> Stmt {
    let some = stmt.map(&mut |s| match s {
        Stmt::For { var, kind, annotations, body, .. } if annotations.contains(&Annotation::Shared) => {
            Stmt::For { var, min: begin, extent: count, kind, annotations, body }
        }
        other => other,
    });
    unshared(some)
}

/// How many turns a loop has, which is no negative number.
fn counted(b: &mut Builder, extent: ExprId) -> ExprId {
    let mut viewer = Viewer::new(b.func());
    let turns = viewer.int(extent);
    if viewer.prover.prove_ge0(&turns) {
        return extent;
    }
    let none = b.index(0);
    b.binary(BinaryOp::Max, extent, none)
}

/// Loops inside of a parallel one run on its thread.
fn serial(stmt: Stmt) -> Stmt {
    stmt.map(&mut |s| match s {
        Stmt::For { var, min, extent, kind: LoopKind::Parallel, annotations, body } => {
            Stmt::For { var, min, extent, kind: LoopKind::Serial, annotations, body }
        }
        other => other,
    })
}

/// Why a loop cannot be a function of its own.
fn refusal(func: &PrimFunc, it: &Stmt) -> Option<&'static str> {
    let Stmt::For { var, .. } = it else { return Some("it is no loop") };
    if func.vars[var.0 as usize].ty != Ty::index() {
        return Some("its variable is no index");
    }
    if it.any(&mut |s| matches!(s, Stmt::Assert { .. })) {
        return Some("a check in it ends the whole call");
    }
    if it.any(&mut |s| matches!(s, Stmt::Call { launch: Some(_), .. })) {
        return Some("a call in it is itself split among threads");
    }
    if it.any(&mut |s| matches!(s, Stmt::Barrier(_))) {
        return Some("a barrier in it waits for threads that run other turns");
    }
    let mut inside = Bound::default();
    inside.collect(it);
    let shared = |buf: &BufId| {
        let scope = func.buffers[buf.0 as usize].scope;
        !inside.bufs.contains(buf) && !matches!(scope, Scope::Param | Scope::Workspace)
    };
    written(func, it).iter().any(shared).then_some("its turns write to memory that only one thread has")
}

/// The function that runs a part of a loop, or of so many lines inside of it.
fn part(func: &PrimFunc, name: String, it: Stmt, captured: &Captured, lines: Option<i64>) -> PrimFunc {
    let Stmt::For { var, min, extent, kind, annotations, body } = it else { return func.clone() };
    let known = captured.known(func);
    let mut b = Builder::resume(captured.function(func, name, Stmt::nop()));
    let (begin, count) = (b.index_var("begin"), b.index_var("count"));
    b.func_mut().params.extend([Param::Value(begin), Param::Value(count)]);
    let (from, turns) = (IntExpr::var(b.sym(begin).clone()), IntExpr::var(b.sym(count).clone()));
    let all = lines.map_or_else(|| Viewer::new(func).int(extent), IntExpr::from);
    b.func_mut().facts.extend([Fact::ge(&from, &IntExpr::from(0)), Fact::ge(&turns, &IntExpr::from(0))]);
    if all.vars().iter().all(|sym| known.contains(sym)) {
        b.func_mut().facts.push(Fact::le(&(&from + &turns), &all));
    }
    let (begin, count) = (b.read(begin), b.read(count));
    if lines.is_some() {
        b.push(of_lines(Stmt::For { var, min, extent, kind, annotations, body }, begin, count));
        return b.finish();
    }
    let min = if b.func().literal(min) == Some(0) { begin } else { b.add(min, begin) };
    b.push(Stmt::For { var, min, extent: count, kind, annotations, body });
    b.finish()
}
