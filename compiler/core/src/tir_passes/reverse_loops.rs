//! `ReverseLoops`: a kernel whose result is smaller than what it reads goes backwards.
//!
//! Where there is no operating system, `PlanMemory` lets results lie over operands. What grows ends up in front of what
//! it is made of, and what shrinks behind it if it is written from its end on: so the larger ones of a chain share one
//! place, and the smaller ones between them another one in it. Forwards, each would begin before the one before.
//!
//! From phase `scheduled`, for kernels that are one nest of loops, if turns of the outermost one touch elements of their
//! own. What a turn computes stays as it is.

use std::collections::BTreeMap;

use tenfold_ir::Module;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{BufId, BufUse, Builder, Expr, LoopKind, Param, Phase, PrimFunc, Stmt, Viewer, substitution};

use super::rewrite_body;
use super::vectorize_loop::dependence;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};
use crate::plan::distance::distance;
use crate::plan::overlaps::in_turn;

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("ReverseLoops", &reverse_loops)
    .in_phase(PassPhase::Memory)
    .at_level(1)
    .about("lets kernels go backwards whose result may lie over the end of what they read, on targets without threads");

fn reverse_loops(func: PrimFunc, _: &Module, context: &PassContext) -> Result<PrimFunc, CompileError> {
    if func.exported || func.phase != Phase::Scheduled || !in_turn(&context.target) || !shrinks(&func) {
        return Ok(func);
    }
    let Some(nest) = nest(&func, &func.body).filter(|nest| dependence(&mut Viewer::new(&func), nest).is_none()) else {
        return Ok(func);
    };
    let nest = nest.clone();
    let reversed = rewrite_body(func.clone(), |b, body| backwards(b, body, &nest));
    Ok(if lies_behind(&reversed) { reversed } else { func })
}

/// The operands and results of one dtype of which the operand has more bytes.
fn pairs(func: &PrimFunc) -> Vec<(BufId, BufId)> {
    let used = |wanted: BufUse| {
        func.params.iter().filter_map(move |param| match param {
            Param::Buffer(buf, usage) if *usage == wanted => Some(*buf),
            Param::Buffer(..) | Param::Value(_) | Param::Workspace => None,
        })
    };
    let data = |buf: BufId| &func.buffers[buf.0 as usize];
    let smaller = |from: BufId, to: BufId| {
        data(from).dtype == data(to).dtype
            && data(to).bytes().zip(data(from).bytes()).is_some_and(|(to, from)| to < from)
    };
    let of = |to: BufId| used(BufUse::In).filter(move |from| smaller(*from, to)).map(move |from| (from, to));
    used(BufUse::Out).flat_map(of).collect()
}

fn shrinks(func: &PrimFunc) -> bool {
    !pairs(func).is_empty()
}

/// Whether a result may begin inside of an operand.
fn lies_behind(func: &PrimFunc) -> bool {
    let size = |buf: BufId| func.buffers[buf.0 as usize].bytes().unwrap_or(0);
    pairs(func).into_iter().any(|(from, to)| distance(func, from, to).is_some_and(|apart| apart.back < size(from)))
}

/// The one loop around all that a kernel does.
fn nest<'s>(func: &PrimFunc, stmt: &'s Stmt) -> Option<&'s Stmt> {
    let number = |id| matches!(func.exprs.get(id), Expr::Index(_));
    match stmt {
        Stmt::For { min, extent, kind: LoopKind::Serial, .. } => {
            (*func.exprs.get(*min) == Expr::Index(0) && number(*extent)).then_some(stmt)
        }
        Stmt::Alloc { body, .. } | Stmt::At(_, body) => nest(func, body),
        Stmt::Seq(all) => match &all[..] {
            [one] => nest(func, one),
            _ => None,
        },
        _ => None,
    }
}

/// The body with the last turn of the loop first.
fn backwards(b: &mut Builder, stmt: Stmt, nest: &Stmt) -> Stmt {
    match stmt {
        Stmt::For { var, min, extent, kind, annotations, body } if matches!(nest, Stmt::For { var: it, .. } if *it == var) =>
        {
            let one = b.index(1);
            let last = b.binary(BinaryOp::Sub, extent, one);
            let turn = b.read(var);
            let turn = b.binary(BinaryOp::Sub, last, turn);
            let to = BTreeMap::from([(var, turn)]);
            let body = Box::new(substitution(&to).stmt(b, *body));
            Stmt::For { var, min, extent, kind, annotations, body }
        }
        other => other.map_children(&mut |child| backwards(b, child, nest)),
    }
}
