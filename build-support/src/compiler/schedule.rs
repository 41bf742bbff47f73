//! `#[schedule]`: the tree's steps as the compiler's.

use tenfold_core::pass::UserPass;
use tenfold_core::schedule::{Binds, IndexMap, Program, Step, What, Written};
use tenfold_core::target::Arch;
use tenfold_core::{CompileError, ErrorKind, Target};
use tenfold_ir::Loc;
use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_syntax::ast::{
    BinaryOp, Expr, ExprKind, Literal, NodeId, PatternKind, Schedule, ScheduleArg, ScheduleArgKind, ScheduleBind,
    TensorFn, UnaryOp,
};

/// The names of targets that a schedule may be for.
const TARGETS: &[(&str, Option<Arch>)] = &[
    ("x86-64", Some(Arch::X86_64)),
    ("aarch64", Some(Arch::Aarch64)),
    ("arm", Some(Arch::Arm)),
    ("riscv32", Some(Arch::Riscv32)),
    ("riscv64", Some(Arch::Riscv64)),
    ("wasm32", Some(Arch::Wasm32)),
    // Schedules for devices come with a later version: one is read and waits.
    ("nvptx", None),
    ("spirv", None),
];

/// The pass that applies the schedule for a target: its own, or the one for every target.
pub(super) fn pass(function: &TensorFn, target: &Target, strict: bool) -> Result<Option<UserPass>, CompileError> {
    let mut chosen = None;
    for schedule in &function.schedules {
        match &schedule.target {
            None => chosen = chosen.or(Some(schedule)),
            Some(text) => {
                let known = TARGETS.iter().find(|(name, _)| *name == text.value);
                let Some((_, arch)) = known else { return Err(unknown_target(schedule, &text.value)) };
                if *arch == Some(target.arch) {
                    chosen = Some(schedule);
                }
            }
        }
    }
    chosen.map(|schedule| program(schedule, strict).map(Program::pass)).transpose()
}

fn unknown_target(schedule: &Schedule, found: &str) -> CompileError {
    let names: Vec<String> = TARGETS.iter().map(|(name, _)| format!("`{name}`")).collect();
    let node = schedule.target.as_ref().map_or(schedule.node, |text| text.node);
    refused(node, format!("there is no target `{found}`"), format!("the targets are {}", names.join(", ")))
}

fn refused(node: NodeId, message: String, help: String) -> CompileError {
    CompileError { kind: ErrorKind::Schedule, loc: Loc::node(node.0), message, help: Some(help) }
}

fn program(schedule: &Schedule, strict: bool) -> Result<Program, CompileError> {
    let mut steps = Vec::new();
    for step in &schedule.steps {
        let binds = match &step.binds {
            None => Binds::Nothing,
            Some(ScheduleBind::One(name)) => Binds::One(name.text.clone()),
            Some(ScheduleBind::Several(names)) => Binds::Each(names.iter().map(|n| n.text.clone()).collect()),
        };
        let args = step.args.iter().map(written).collect::<Result<_, _>>()?;
        steps.push(Step { node: step.node.0, binds, primitive: step.primitive.text.clone(), args });
    }
    Ok(Program { steps, strict })
}

fn written(arg: &ScheduleArg) -> Result<Written, CompileError> {
    let what = match &arg.kind {
        ScheduleArgKind::Name(name) => What::Name(name.clone()),
        ScheduleArgKind::Int(n) => What::Int(*n),
        ScheduleArgKind::Bool(b) => What::Bool(*b),
        ScheduleArgKind::Text(text) => What::Text(text.clone()),
        ScheduleArgKind::Infer => What::Infer,
        ScheduleArgKind::List(all) => What::List(all.iter().map(written).collect::<Result<_, _>>()?),
        ScheduleArgKind::Named(name, arg) => What::Named(name.text.clone(), Box::new(written(arg)?)),
        ScheduleArgKind::Closure(closure) => What::Map(map(closure)?),
        ScheduleArgKind::Error => What::Infer,
    };
    Ok(Written { node: arg.node.0, what })
}

/// `|i, j| [i / 4, j]`: indices are not negative, so division and remainder round down.
fn map(closure: &Expr) -> Result<IndexMap, CompileError> {
    let wrong = |node| {
        let help = "write indices by `+`, `-`, `*`, `/`, `%` and numbers: `|i, j| [i / 4, j, i % 4]`";
        refused(node, "this is no map of indices".into(), help.into())
    };
    let ExprKind::Closure { params, body } = &closure.kind else { return Err(wrong(closure.node)) };
    let name = |p: &tenfold_syntax::ast::Pattern| match &p.kind {
        PatternKind::Name { name, .. } => Some(Sym::new(name)),
        _ => None,
    };
    let params: Option<Vec<Sym>> = params.iter().map(name).collect();
    let params = params.ok_or_else(|| wrong(closure.node))?;
    let results = match &body.kind {
        ExprKind::Array(all) => all.iter().collect(),
        _ => vec![&**body],
    };
    let one = |e: &Expr| index(e, &params).ok_or_else(|| wrong(e.node));
    let results = results.into_iter().map(one).collect::<Result<Vec<_>, _>>()?;
    Ok(IndexMap { params, results })
}

fn index(e: &Expr, params: &[Sym]) -> Option<IntExpr> {
    match &e.kind {
        ExprKind::Literal(Literal::Int { value, suffix: None }) => i64::try_from(*value).ok().map(IntExpr::from),
        ExprKind::Name(name) => params.iter().find(|p| p.as_str() == name).map(IntExpr::from),
        ExprKind::Unary(UnaryOp::Neg, inner) => index(inner, params).map(|e| -e),
        ExprKind::Binary(op, a, b) => {
            let (a, b) = (index(a, params)?, index(b, params)?);
            match op {
                BinaryOp::Add => Some(a + b),
                BinaryOp::Sub => Some(a - b),
                BinaryOp::Mul => Some(a * b),
                BinaryOp::Div => Some(a.floor_div(&b)),
                BinaryOp::Rem => Some(a.floor_mod(&b)),
                _ => None,
            }
        }
        _ => None,
    }
}
