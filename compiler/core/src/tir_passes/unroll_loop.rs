//! `UnrollLoop`: loops marked `unrolled` are copied out, and small serial loops where the context asks for it.
//!
//! Runs on any phase. A copy has its own variables and buffers. A marked loop whose extent is not a constant, or whose
//! copies would be larger than `UnrollLoop.max_size`, becomes serial. A loop may ask the same of the loops inside of it,
//! or ask the back end to. What a loop computes never changes, nor the
//! order it does it in.

use std::collections::BTreeMap;

use tenfold_ir::Module;
use tenfold_ir::tir::{Annotation, Builder, Expr, LoopKind, PrimFunc, Stmt, VarId};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{ConfigKey, IntKey, Pass, PassContext, PassPhase, Remark};
use tenfold_ir::tir::copy::{copy, keep_buffers, size, substitute};

/// Steps that an unmarked loop may have to be copied out.
const AUTO_MAX_STEP: IntKey = IntKey {
    name: "UnrollLoop.auto_max_step",
    default: 0,
    least: 0,
    greatest: 1 << 20,
    doc: "steps that an unmarked loop may have, inner loops' multiplied, to be copied out; 0 leaves all of them alone",
};

/// What the copies of one loop may have.
const MAX_SIZE: IntKey = IntKey {
    name: "UnrollLoop.max_size",
    default: 16384,
    least: 0,
    greatest: 1 << 24,
    doc: "statements and expressions that the copies of one loop may have",
};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("UnrollLoop", &run)
    .in_phase(PassPhase::Flat)
    .at_level(1)
    .reads(&[ConfigKey::Int(&AUTO_MAX_STEP), ConfigKey::Int(&MAX_SIZE)])
    .about("copies out loops marked `unrolled`, and small serial loops where a setting asks for it");

fn run(func: PrimFunc, _: &Module, context: &PassContext) -> Result<PrimFunc, CompileError> {
    let limits = Limits { steps: context.int(&AUTO_MAX_STEP), size: context.int(&MAX_SIZE), explicit: true, context };
    Ok(keep_buffers(rewrite_body(func, |b, body| unroll(b, body, limits).0)))
}

#[derive(Clone, Copy)]
struct Limits<'c> {
    /// Of loops without a mark.
    steps: i64,
    size: i64,
    /// Copied out here; else left to the back end.
    explicit: bool,
    /// Who is told.
    context: &'c PassContext,
}

impl Limits<'_> {
    /// The limits inside of a loop: what it asks for itself, if it does.
    fn inside(self, annotations: &mut Vec<Annotation>) -> Self {
        let mut limits = self;
        annotations.retain(|a| match *a {
            Annotation::PragmaUnroll { max_step, explicit } => {
                (limits.steps, limits.explicit) = (max_step, explicit);
                false
            }
            _ => true,
        });
        limits
    }

    fn applied(self, b: &Builder, var: VarId, turns: i64) {
        let what = || format!("copied out {turns} times");
        self.context.remark(|| Remark::applied(PASS.info.name, &b.func().name, place(b, var), what()));
    }

    fn missed(self, b: &Builder, var: VarId, why: &dyn Fn() -> String) {
        self.context.remark(|| Remark::missed(PASS.info.name, &b.func().name, place(b, var), why()));
    }
}

fn place(b: &Builder, var: VarId) -> String {
    format!("loop `{}`", b.sym(var))
}

/// The statement with loops copied out, and how many steps it has.
fn unroll(b: &mut Builder, mut stmt: Stmt, limits: Limits<'_>) -> (Stmt, i64) {
    let inside = match &mut stmt {
        Stmt::For { annotations, .. } => limits.inside(annotations),
        _ => limits,
    };
    let mut steps = 1;
    let stmt = stmt.map_children(&mut |s| {
        let (s, inner) = unroll(b, s, inside);
        steps = steps.max(inner);
        s
    });
    let Stmt::For { var, min, extent, kind, annotations, body } = stmt else { return (stmt, steps) };
    let turns = match b.func().exprs.get(extent) {
        Expr::Index(turns) => Some((*turns).max(0)),
        _ => None,
    };
    let total = turns.map(|n| n.saturating_mul(steps));
    let small = total.is_some_and(|n| n <= limits.steps);
    let (wanted, marked) = match kind {
        LoopKind::Unrolled => (turns, true),
        LoopKind::Serial | LoopKind::Reduction => (turns.filter(|_| small && limits.steps > 0), false),
        LoopKind::Parallel | LoopKind::Vectorized | LoopKind::ThreadBound(_) | LoopKind::VThread => (None, false),
    };
    let total = total.unwrap_or(i64::MAX);
    if let Some(turns) = wanted {
        if !marked && !limits.explicit {
            return (Stmt::For { var, min, extent, kind: LoopKind::Unrolled, annotations, body }, total);
        }
        let size = turns.saturating_mul(size(b, &body) as i64);
        if size <= limits.size {
            limits.applied(b, var, turns);
            return (copies(b, var, min, turns, *body), total);
        }
        let most = limits.size;
        limits.missed(b, var, &|| {
            format!("its copies have {size} statements and expressions, `{}` is {most}", MAX_SIZE.name)
        });
    } else if marked {
        limits.missed(b, var, &|| "its extent is not a constant".into());
    }
    let kind = if marked { LoopKind::Serial } else { kind };
    (Stmt::For { var, min, extent, kind, annotations, body }, total)
}

fn copies(b: &mut Builder, var: VarId, min: tenfold_ir::tir::ExprId, turns: i64, body: Stmt) -> Stmt {
    let mut all = Vec::new();
    for turn in 0..turns {
        let at = match *b.func().exprs.get(min) {
            Expr::Index(first) => b.index(first.wrapping_add(turn)),
            _ => {
                let turn = b.index(turn);
                b.add(min, turn)
            }
        };
        let value = BTreeMap::from([(var, at)]);
        // The last one takes the body itself.
        let one = if turn + 1 == turns { substitute(b, body.clone(), &value) } else { copy(b, &body, &value) };
        all.push(one);
    }
    Stmt::seq(all)
}
