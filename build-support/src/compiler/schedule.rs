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

/// What a schedule may be for.
#[derive(Clone, Copy)]
enum Of {
    Processor(Arch),
    Nvidia,
    Vulkan,
}

impl Of {
    fn is(self, target: &Target) -> bool {
        match (self, target.device) {
            (Of::Processor(arch), None) => arch == target.arch,
            (Of::Nvidia, Some(device)) => device.is_ptx(),
            (Of::Vulkan, Some(device)) => !device.is_ptx(),
            (Of::Processor(_), Some(_)) | (Of::Nvidia | Of::Vulkan, None) => false,
        }
    }
}

/// The names of targets that a schedule may be for.
const TARGETS: &[(&str, Of)] = &[
    ("x86-64", Of::Processor(Arch::X86_64)),
    ("aarch64", Of::Processor(Arch::Aarch64)),
    ("arm", Of::Processor(Arch::Arm)),
    ("riscv32", Of::Processor(Arch::Riscv32)),
    ("riscv64", Of::Processor(Arch::Riscv64)),
    ("wasm32", Of::Processor(Arch::Wasm32)),
    ("nvptx", Of::Nvidia),
    ("spirv", Of::Vulkan),
];

/// The pass that applies the schedule for a target: its own, or the one for every processor.
pub(super) fn pass(function: &TensorFn, target: &Target, strict: bool) -> Result<Option<UserPass>, CompileError> {
    let mut chosen = None;
    for schedule in &function.schedules {
        match &schedule.target {
            None if target.device.is_some() => {}
            None => chosen = chosen.or(Some(schedule)),
            Some(text) => {
                let known = TARGETS.iter().find(|(name, _)| *name == text.value);
                let Some((_, of)) = known else { return Err(unknown_target(schedule, &text.value)) };
                if of.is(target) {
                    chosen = Some(schedule);
                }
            }
        }
    }
    if let Some(schedule) = chosen.filter(|_| target.device.is_some()) {
        threads_of_devices(schedule)?;
    }
    chosen.map(|schedule| program(schedule, strict).map(Program::pass)).transpose()
}

/// That no loop runs on threads of a processor.
fn threads_of_devices(schedule: &Schedule) -> Result<(), CompileError> {
    let Some(step) = schedule.steps.iter().find(|step| step.primitive.text == "parallel") else { return Ok(()) };
    let help = "bind the loop to an axis of the device's threads: `s.bind(i, \"blockIdx.x\")`";
    Err(refused(step.node, "`parallel` is for threads of a processor, not of a device".into(), help.into()))
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
