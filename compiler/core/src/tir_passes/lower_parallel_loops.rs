//! `LowerParallelLoops`: what a parallel loop does becomes a function of its own, which is called with parts of the turns.
//!
//! Runs on flat tir, for targets that have threads; elsewhere such a loop runs where it stands. The function takes what
//! the loop uses of what is around it, then the first turn of a part and how many there are. The call says how many
//! turns there are and about how long one takes: who runs them decides how many threads are worth it. Loops inside of a
//! parallel one run where they stand, and so does one whose turns check something or share memory of the stack.

use std::collections::BTreeSet;

use tenfold_ir::arith::{Fact, IntExpr, Sym};
use tenfold_ir::tir::copy::{Bound, keep_buffers};
use tenfold_ir::tir::{
    BufId, BufUse, BufferData, Builder, CallArg, ExprId, FuncKind, Launch, LoopKind, Param, Phase, PrimFunc, Scope,
    Stmt, Ty, VarId, Viewer, free_vars, read, written,
};
use tenfold_ir::{Function, Module};

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
        let mut outlined = Outlined { module, context, parts: Vec::new() };
        let func = super::rewrite_body(func, |b, body| outlined.stmt(b, body));
        let parts = outlined.parts;
        module.functions.insert(name, Function::Prim(keep_buffers(func)));
        for part in parts {
            module.functions.insert(part.name.clone(), Function::Prim(keep_buffers(part)));
        }
    }
    Ok(())
}

struct Outlined<'a> {
    module: &'a Module,
    context: &'a PassContext,
    parts: Vec<PrimFunc>,
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
        if refusal.is_some() { it } else { self.outline(b, it) }
    }

    /// The call in place of a loop, whose function is added to the others.
    fn outline(&mut self, b: &mut Builder, it: Stmt) -> Stmt {
        let Stmt::For { var, min, extent, kind, annotations, body } = it else { return it };
        let whole = Stmt::For { var, min, extent, kind, annotations: annotations.clone(), body };
        let work = self.work(b, &whole, extent);
        let (buffers, values) = captured(b.func(), &whole);
        let name = self.name(b.func());
        let mut args: Vec<CallArg> = buffers.iter().map(|(buf, _)| CallArg::Buffer(*buf)).collect();
        args.extend(values.iter().map(|v| CallArg::Value(b.read(*v))));
        self.parts.push(part(b.func(), &name, whole, (&buffers, &values)));
        Stmt::Call { func: name, args, launch: Some(Launch::Threads { turns: extent, work }) }
    }

    /// About how many cycles a turn takes, of what is known outside of the loop.
    fn work(&self, b: &mut Builder, it: &Stmt, extent: ExprId) -> ExprId {
        let known = free_vars(b.func(), it);
        let outside: BTreeSet<Sym> = known.into_iter().map(|v| b.sym(v).clone()).collect();
        let Stmt::For { body, .. } = it else { return extent };
        let cycles = Work::new(b.func(), self.context.target.vector_bytes(), outside).cycles(body);
        b.int_expr(&cycles)
    }

    fn name(&self, func: &PrimFunc) -> String {
        let base = format!("{}_parallel", func.name);
        let taken = |n: &String| self.module.functions.contains_key(n) || self.parts.iter().any(|p| p.name == *n);
        let name = (0..).map(|n| if n == 0 { base.clone() } else { format!("{base}_{n}") }).find(|n| !taken(n));
        name.unwrap_or(base)
    }
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
    if it.any(&mut |s| matches!(s, Stmt::Assert { .. } | Stmt::Call { launch: Some(_), .. } | Stmt::Barrier(_))) {
        return Some("a check in it ends the whole call");
    }
    let mut inside = Bound::default();
    inside.collect(it);
    let shared = |buf: &BufId| {
        let scope = func.buffers[buf.0 as usize].scope;
        !inside.bufs.contains(buf) && !matches!(scope, Scope::Param | Scope::Workspace)
    };
    written(func, it).iter().any(shared).then_some("its turns write to memory that only one thread has")
}

/// Buffers and values that a loop needs from outside.
fn captured(func: &PrimFunc, it: &Stmt) -> (Vec<(BufId, BufUse)>, Vec<VarId>) {
    let (reads, writes) = (read(func, it), written(func, it));
    let mut inside = Bound::default();
    inside.collect(it);
    let mut asked: BTreeSet<BufId> = BTreeSet::new();
    it.walk(&mut |s| {
        if let Stmt::Prefetch { buf, .. } = s {
            asked.insert(*buf);
        }
    });
    let mut vars = free_vars(func, it);
    let mut buffers = Vec::new();
    for buf in reads.iter().chain(&writes).chain(&asked).copied().collect::<BTreeSet<_>>() {
        let data = &func.buffers[buf.0 as usize];
        vars.extend(symbols(data).iter().filter_map(|sym| var_of(func, sym)));
        if !inside.bufs.contains(&buf) && !matches!(data.scope, Scope::Const(_)) {
            buffers.push((buf, if writes.contains(&buf) { BufUse::InOut } else { BufUse::In }));
        }
    }
    (buffers, vars.into_iter().collect())
}

fn symbols(data: &BufferData) -> BTreeSet<Sym> {
    let range = data.range.iter().flat_map(|(lo, hi)| [lo, hi]);
    let all = data.shape.iter().chain(data.strides.iter().flatten()).chain(range);
    all.flat_map(IntExpr::vars).collect()
}

fn var_of(func: &PrimFunc, sym: &Sym) -> Option<VarId> {
    func.vars.iter().position(|v| v.sym == *sym).map(|at| VarId(at as u32))
}

/// The function that runs a part of a loop.
fn part(func: &PrimFunc, name: &str, it: Stmt, (buffers, values): (&[(BufId, BufUse)], &[VarId])) -> PrimFunc {
    let Stmt::For { var, min, extent, kind, annotations, body } = it else { return func.clone() };
    let known: BTreeSet<Sym> = values.iter().map(|v| func.vars[v.0 as usize].sym.clone()).collect();
    let mut part = PrimFunc { name: name.to_string(), exported: false, params: Vec::new(), ..func.clone() };
    for (buf, usage) in buffers {
        let data = &mut part.buffers[buf.0 as usize];
        (data.scope, data.offset) = (Scope::Param, None);
        part.params.push(Param::Buffer(*buf, *usage));
    }
    part.params.extend(values.iter().map(|v| Param::Value(*v)));
    part.facts.retain(|fact| fact.vars().into_iter().all(|sym| known.contains(&sym)));
    let mut b = Builder::resume(part);
    b.func_mut().body = Stmt::nop();
    let (begin, count) = (b.index_var("begin"), b.index_var("count"));
    b.func_mut().params.extend([Param::Value(begin), Param::Value(count)]);
    let (from, turns) = (IntExpr::var(b.sym(begin).clone()), IntExpr::var(b.sym(count).clone()));
    let all = Viewer::new(func).int(extent);
    b.func_mut().facts.extend([Fact::ge(&from, &IntExpr::from(0)), Fact::ge(&turns, &IntExpr::from(0))]);
    if all.vars().iter().all(|sym| known.contains(sym)) {
        b.func_mut().facts.push(Fact::le(&(&from + &turns), &all));
    }
    let (begin, count) = (b.read(begin), b.read(count));
    let min = if b.func().literal(min) == Some(0) { begin } else { b.add(min, begin) };
    b.push(Stmt::For { var, min, extent: count, kind, annotations, body });
    b.finish()
}
