//! `VectorizeLoop`: loops marked `vectorized` become vector statements.
//!
//! Runs on flat tir; before that phase it does nothing. A loop of a few lanes becomes one vector of each statement, a
//! longer one a serial loop over vectors as wide as the target's and one shorter vector of what is left, one of unknown
//! extent such a loop and a serial rest. What
//! cannot run side by side ([`Reason`]) becomes a serial loop. Statements run one after the other over all lanes, which
//! is the same, as no iteration reads or writes what another one writes.

mod lanes;
mod legal;
mod repeated;

pub(super) use legal::dependence;

use std::collections::BTreeMap;
use std::fmt;

use tenfold_ir::Module;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{BufId, Builder, Expr, ExprId, LoopKind, Phase, PrimFunc, Stmt, Ty, VarId, Viewer};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase, Remark};
use crate::target::Device;
use tenfold_ir::tir::copy::{copy, keep_buffers, substitute};

/// Why a loop stays one of scalars.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Reason {
    /// The target has no vectors.
    NoVectors,
    /// Iterations may meet in this buffer.
    Dependence(String),
    /// It writes a part of the workspace, which others may share.
    Workspace,
    /// Its body has too many accesses to compare.
    TooLarge,
    /// A statement that has no vector form.
    Statement(&'static str),
    /// An expression that has no vector form.
    Expression(&'static str),
    /// Nothing in its body would be a vector.
    NoUse,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NoVectors => write!(f, "the target has no vector registers"),
            Reason::Dependence(buf) => write!(f, "iterations may meet in `{buf}`"),
            Reason::Workspace => write!(f, "it writes memory that values share"),
            Reason::TooLarge => write!(f, "its body has too many accesses to compare"),
            Reason::Statement(what) | Reason::Expression(what) => write!(f, "its body has {what}"),
            Reason::NoUse => write!(f, "no statement of its body has a vector form"),
        }
    }
}

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("VectorizeLoop", &run)
    .in_phase(PassPhase::Flat)
    .at_level(1)
    .about("makes vectors of loops marked `vectorized`");

fn run(func: PrimFunc, _: &Module, context: &PassContext) -> Result<PrimFunc, CompileError> {
    if func.phase < Phase::Flat {
        return Ok(func);
    }
    let refused = refusals(&func, context);
    Ok(keep_buffers(rewrite_body(func, |b, body| loops(b, body, &refused, context))))
}

/// What the function as it is says against each of its marked loops.
fn refusals(func: &PrimFunc, context: &PassContext) -> BTreeMap<VarId, Option<Reason>> {
    let mut all = BTreeMap::new();
    Viewer::new(func).walk(&func.body, &mut |viewer, stmt| {
        if let Stmt::For { var, kind: LoopKind::Vectorized, .. } = stmt {
            let narrow = vector_bytes(context) == 0;
            let reason = if narrow { Some(Reason::NoVectors) } else { legal::dependence(viewer, stmt) };
            all.insert(*var, reason);
        }
    });
    all
}

/// Bytes of a vector: of PTX those of one access of memory.
fn vector_bytes(context: &PassContext) -> u32 {
    if context.target.device.is_some_and(Device::is_ptx) { 16 } else { context.target.vector_bytes() }
}

/// The statement without marked loops, inner ones first.
fn loops(b: &mut Builder, stmt: Stmt, refused: &BTreeMap<VarId, Option<Reason>>, context: &PassContext) -> Stmt {
    let stmt = stmt.map_children(&mut |s| loops(b, s, refused, context));
    match stmt {
        Stmt::For { var, min, extent, kind: LoopKind::Vectorized, annotations, body } => {
            let reason = refused.get(&var).cloned().flatten();
            let vector = match reason {
                Some(reason) => Err(reason),
                None => vectorize(b, var, min, extent, &body, vector_bytes(context)),
            };
            say(b, var, vector.as_ref().err(), context);
            vector.unwrap_or(Stmt::For { var, min, extent, kind: LoopKind::Serial, annotations, body })
        }
        other => other,
    }
}

fn say(b: &Builder, var: VarId, reason: Option<&Reason>, context: &PassContext) {
    let (function, place) = (&b.func().name, format!("loop `{}`", b.sym(var)));
    context.remark(|| match reason {
        None => Remark::applied(PASS.info.name, function, place, "it runs on vectors"),
        Some(reason) => Remark::missed(PASS.info.name, function, place, reason),
    });
}

/// The loop as vectors, or why not.
fn vectorize(
    b: &mut Builder,
    var: VarId,
    min: ExprId,
    extent: ExprId,
    body: &Stmt,
    vector_bytes: u32,
) -> Result<Stmt, Reason> {
    // Arithmetic that was narrowed is no longer known to be exact.
    if b.func().vars[var.0 as usize].ty != Ty::index() {
        return Err(Reason::NoUse);
    }
    let width = vector_bytes / widest(b, body).max(1);
    let width = width.clamp(2, 64);
    if let Expr::Index(turns) = *b.func().exprs.get(extent) {
        if turns <= 1 {
            return Err(Reason::NoUse);
        }
        // Four registers' worth is still one operation; the back end splits it.
        if turns <= i64::from(4 * width) {
            return lanes::vector(b, var, min, turns as u16, body);
        }
    }
    strips(b, var, min, extent, body, width as u16)
}

/// Bytes of the widest element that the body touches.
fn widest(b: &Builder, body: &Stmt) -> u32 {
    let func = b.func();
    let mut touched: Vec<BufId> = Vec::new();
    body.walk(&mut |s| {
        if let Stmt::Store { buf, .. } = s {
            touched.push(*buf);
        }
    });
    touched.extend(func.exprs_in(body).into_iter().filter_map(|e| match func.exprs.get(e) {
        Expr::Load { buf, .. } => Some(*buf),
        _ => None,
    }));
    touched.into_iter().map(|buf| b.buf(buf).dtype.size_bytes() as u32).max().unwrap_or(1)
}

/// A serial loop over vectors, and what is left: a shorter vector, or scalars where nobody knows how many they are.
fn strips(b: &mut Builder, var: VarId, min: ExprId, extent: ExprId, body: &Stmt, width: u16) -> Result<Stmt, Reason> {
    let (zero, lanes) = (b.index(0), b.index(i64::from(width)));
    let turns = match *b.func().exprs.get(extent) {
        Expr::Index(_) => extent,
        _ => b.binary(BinaryOp::Max, extent, zero),
    };
    let (whole, rest) = match *b.func().exprs.get(turns) {
        Expr::Index(n) => (b.index(n / i64::from(width)), b.index(n % i64::from(width))),
        _ => (b.binary(BinaryOp::DivEuclid, turns, lanes), b.binary(BinaryOp::RemEuclid, turns, lanes)),
    };
    let name = b.sym(var).as_str().to_string();
    let outer = b.index_var(&format!("{name}_v"));
    let step = b.read(outer);
    let offset = b.mul(step, lanes);
    let first = lanes::plus(b, min, offset);
    let vectors = lanes::vector(b, var, first, width, body)?;
    let vectors = Stmt::loop_(outer, zero, whole, LoopKind::Serial, vectors);
    let left = match *b.func().exprs.get(rest) {
        Expr::Index(0) => return Ok(vectors),
        Expr::Index(n) => n,
        _ => 0,
    };
    let done = lanes::times(b, whole, lanes);
    let start = lanes::plus(b, min, done);
    if left > 1 {
        let tail = lanes::vector(b, var, start, left as u16, body)?;
        return Ok(Stmt::seq([vectors, tail]));
    }
    let last = b.index_var(&name);
    let at = b.read(last);
    let tail = copy(b, body, &BTreeMap::from([(var, at)]));
    let tail = Stmt::loop_(last, start, rest, LoopKind::Serial, tail);
    Ok(Stmt::seq([vectors, tail]))
}

/// The statement for one lane after the other: `var` counts from `min`.
fn one_by_one(b: &mut Builder, var: VarId, min: ExprId, lanes: u16, stmt: Stmt) -> Stmt {
    let name = b.sym(var).as_str().to_string();
    let (lane, extent) = (b.index_var(&name), b.index(i64::from(lanes)));
    let at = b.read(lane);
    let body = substitute(b, stmt, &BTreeMap::from([(var, at)]));
    Stmt::loop_(lane, min, extent, LoopKind::Serial, body)
}
