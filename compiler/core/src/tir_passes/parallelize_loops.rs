//! `ParallelizeLoops`: loops that a default schedule has annotated become parallel, where that is right and pays.
//!
//! Runs on plain loops that still have an index per axis, when memory that one turn alone uses is allocated in it. The
//! outermost loop counts whose turns are proven to touch elements of their own; loops directly inside of each other
//! become one while there are few turns, so that threads get even shares. A loop that has too little to do on threads
//! stays as it is. No turn depends on how many threads there are, so neither do results.

mod little;
mod shared;

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::Module;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{Annotation, Builder, ExprId, LoopKind, Param, Phase, PrimFunc, Stmt, VarId, Viewer};

use super::rewrite_body;
use super::vectorize_loop::dependence;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase, Remark};
use crate::work::{LEAST, Work};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("ParallelizeLoops", &run)
    .in_phase(PassPhase::Loops)
    .at_level(1)
    .about("lets loops of default schedules run on threads, where their turns are independent and have enough to do");

/// Turns that are enough for even shares: with as many, the longest of two to eight shares has less than an eighth
/// more than the others.
const EVEN: i64 = 48;

/// Why a loop runs on threads, or not: in the order in which they are asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Answer {
    /// One turn is nothing to share, and loops inside may have more.
    OneTurn,
    /// Handing it over takes as long as to do it.
    TooLittle,
    /// Turns may meet.
    Dependent,
    /// It runs on threads, with so many loops directly inside.
    Parallel(usize),
    /// It runs on threads, which share the lines that each turn goes over.
    Shared,
}

impl Answer {
    fn reason(self) -> &'static str {
        match self {
            Answer::OneTurn => "it has one turn",
            Answer::TooLittle => "it has too little to do for threads",
            Answer::Dependent => "its turns are not proven to touch elements of their own",
            Answer::Parallel(_) => "its turns run on threads",
            Answer::Shared => "the lines inside of it run on threads",
        }
    }
}

fn run(func: PrimFunc, _: &Module, context: &PassContext) -> Result<PrimFunc, CompileError> {
    let asked =
        |s: &Stmt| matches!(s, Stmt::For { annotations, .. } if annotations.contains(&Annotation::AutoParallel));
    if !func.body.any(&mut |s| asked(s)) {
        return Ok(func);
    }
    let answers =
        if func.phase < Phase::Flat && context.target.hosted { answers(&func, context) } else { Answers::default() };
    for (var, answer) in &answers.found {
        let (name, place) = (&func.name, format!("loop `{}`", func.vars[var.0 as usize].sym));
        context.remark(|| match answer {
            Answer::Parallel(_) | Answer::Shared => Remark::applied(PASS.info.name, name, place, answer.reason()),
            _ => Remark::missed(PASS.info.name, name, place, answer.reason()),
        });
    }
    let func = rewrite_body(func, |b, body| marked(b, body, &answers.found));
    Ok(little::taken_in(func, context.target.vector_bytes()))
}

/// What was found out, in the order of the loops.
#[derive(Default)]
struct Answers {
    found: BTreeMap<VarId, Answer>,
    /// Loops that may be asked.
    open: BTreeSet<VarId>,
    /// The loop directly inside of a parallel one that could become one with it: its own, and the parallel one's.
    next: Option<(VarId, VarId, i64)>,
}

fn answers(func: &PrimFunc, context: &PassContext) -> Answers {
    let outside: BTreeSet<_> = func
        .params
        .iter()
        .filter_map(|p| match p {
            Param::Value(var) => Some(func.vars[var.0 as usize].sym.clone()),
            Param::Buffer(..) | Param::Workspace => None,
        })
        .collect();
    let mut work = Work::new(func, context.target.vector_bytes(), outside);
    let mut all = Answers::default();
    Viewer::new(func).walk(&func.body, &mut |viewer, stmt| {
        if let Stmt::For { var, annotations, .. } = stmt {
            if annotations.contains(&Annotation::AutoParallel) {
                all.open.insert(*var);
            }
            all.ask(viewer, &mut work, stmt);
        }
    });
    all
}

impl Answers {
    fn ask(&mut self, viewer: &mut Viewer<'_>, work: &mut Work<'_>, stmt: &Stmt) {
        let Stmt::For { var, extent, kind: LoopKind::Serial, body, .. } = stmt else { return };
        let turns = viewer.int(*extent).as_const();
        if let Some((head, at, so_far)) = self.next
            && at == *var
        {
            self.next = None;
            if let (Some(turns), Some(Answer::Parallel(n))) = (turns, self.found.get(&head).copied())
                && dependence(viewer, stmt).is_none()
            {
                self.found.insert(head, Answer::Parallel(n + 1));
                self.follow(head, body, so_far.saturating_mul(turns));
            }
            return;
        }
        if !self.open.contains(var) {
            return;
        }
        let answer = if turns == Some(1) {
            Answer::OneTurn
        } else if work.cycles(stmt).as_const().is_some_and(|cycles| cycles < LEAST) {
            Answer::TooLittle
        } else if dependence(viewer, stmt).is_some() {
            Answer::Dependent
        } else if shared::shares_lines(viewer.func(), stmt) {
            Answer::Shared
        } else {
            Answer::Parallel(0)
        };
        self.found.insert(*var, answer);
        match answer {
            Answer::OneTurn | Answer::Dependent => self.open(body),
            Answer::TooLittle | Answer::Shared => {}
            Answer::Parallel(_) => turns.into_iter().for_each(|turns| self.follow(*var, body, turns)),
        }
    }

    /// Lets the loops of a statement be asked; what is computed in registers that are matrices is one piece.
    fn open(&mut self, stmt: &Stmt) {
        if let Stmt::For { var, .. } = stmt {
            if is_matrix(stmt) {
                return;
            }
            self.open.insert(*var);
        }
        stmt.children().into_iter().for_each(|child| self.open(child));
    }

    /// The loop that could become one with a parallel one of so many turns.
    fn follow(&mut self, head: VarId, body: &Stmt, turns: i64) {
        if let inner @ Stmt::For { var, kind: LoopKind::Serial, .. } = body.bare()
            && turns < EVEN
            && !is_matrix(inner)
        {
            self.next = Some((head, *var, turns));
        }
    }
}

/// Whether a loop is over the rows of a product that is computed as one.
fn is_matrix(stmt: &Stmt) -> bool {
    matches!(stmt, Stmt::For { annotations, .. } if annotations.contains(&Annotation::MatrixTile))
}

/// The body with the loops that were found made parallel, and nothing asked any more.
fn marked(b: &mut Builder, stmt: Stmt, found: &BTreeMap<VarId, Answer>) -> Stmt {
    let Stmt::For { var, min, extent, kind, mut annotations, body } = stmt else {
        return stmt.map_children(&mut |s| marked(b, s, found));
    };
    annotations.retain(|a| *a != Annotation::AutoParallel);
    match found.get(&var) {
        Some(Answer::Parallel(0)) => Stmt::For { var, min, extent, kind: LoopKind::Parallel, annotations, body },
        Some(Answer::Shared) => {
            let body = Box::new(shared::with_shared_lines(*body));
            Stmt::For { var, min, extent, kind: LoopKind::Parallel, annotations, body }
        }
        Some(Answer::Parallel(more)) => fused(b, (var, min, extent), *more, *body, annotations),
        Some(Answer::OneTurn | Answer::TooLittle | Answer::Dependent) | None => {
            let body = Box::new(marked(b, *body, found));
            Stmt::For { var, min, extent, kind, annotations, body }
        }
    }
}

/// What a loop is asked for, of one that turns so many times as often; nothing where that is no number.
fn annotation_of_fused(it: Annotation, times: Option<i64>) -> Option<Annotation> {
    match it {
        Annotation::AutoParallel => None,
        Annotation::PrefetchNext { buf, turns } => {
            Some(Annotation::PrefetchNext { buf, turns: turns.checked_mul(times?)? })
        }
        Annotation::Prefetch { buf, ahead } => Some(Annotation::Prefetch { buf, ahead: ahead.checked_mul(times?)? }),
        other => Some(other),
    }
}

/// One parallel loop over the turns of several that stand directly inside of each other.
fn fused(
    b: &mut Builder,
    first: (VarId, ExprId, ExprId),
    more: usize,
    mut body: Stmt,
    annotations: Vec<Annotation>,
) -> Stmt {
    let mut loops = vec![(first, annotations)];
    while loops.len() <= more {
        match peeled(body) {
            Stmt::For { var, min, extent, annotations, body: inner, .. } => {
                loops.push(((var, min, extent), annotations));
                body = *inner;
            }
            other => {
                body = other;
                break;
            }
        }
    }
    let var = b.index_var(&format!("{}_fused", b.sym(first.0)));
    let mut rest = b.read(var);
    let mut values = Vec::new();
    let (mut turns, mut times, mut annotations) = (b.index(1), Some(1_i64), Vec::new());
    for (n, ((var, min, extent), asked)) in loops.into_iter().enumerate().rev() {
        annotations.splice(0..0, asked.into_iter().filter_map(|it| annotation_of_fused(it, times)));
        let own = if n == 0 { rest } else { b.binary(BinaryOp::RemEuclid, rest, extent) };
        values.push((var, if b.func().literal(min) == Some(0) { own } else { b.add(min, own) }));
        rest = b.binary(BinaryOp::DivEuclid, rest, extent);
        turns = b.mul(extent, turns);
        times = times.zip(b.func().literal(extent)).and_then(|(n, more)| n.checked_mul(more));
    }
    let body = values.into_iter().fold(body, |body, (var, value)| Stmt::Let { var, value, body: Box::new(body) });
    let zero = b.index(0);
    Stmt::For { var, min: zero, extent: turns, kind: LoopKind::Parallel, annotations, body: Box::new(body) }
}

/// A loop without what stands around it alone.
fn peeled(stmt: Stmt) -> Stmt {
    match stmt {
        Stmt::At(_, body) => peeled(*body),
        Stmt::Seq(mut all) if all.len() == 1 => peeled(all.remove(0)),
        other => other,
    }
}
