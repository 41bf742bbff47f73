//! One function from text to object. It runs in a worker, so whatever it does to the process ends there.

mod backend;
mod constants;
mod device;
mod fault;
mod member;
mod model;
mod schedule;
mod shims;
mod sources;
mod text;
pub(crate) mod variants;

use crate::worker::message::{Answer, Compiled, Request};
use crate::{records, target, user};
use member::Member;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use tenfold_abi::Level;
use tenfold_core::pass::{PassContext, UserPass};
use tenfold_core::tune::Tuned;
use tenfold_core::{Backend, Budgets, CodegenOptions, CompileError, ErrorKind, Jobs, Options, Target};
use tenfold_ir::relax::PoolInfo;
use tenfold_ir::{Function, Loc, Module};
use tenfold_syntax::ast::{Budget, BudgetOf, NodeId, Pool};
use tenfold_syntax::elaborate::elaborate_instance;
use tenfold_syntax::{Code, Diagnostic};

pub(crate) use backend::identity;
pub(crate) use sources::version;

/// Compiles a function, its variants on as many threads as are lent.
pub(crate) fn compile(request: &Request, jobs: &Arc<dyn Jobs>) -> Answer {
    fault::have(request);
    match attempt(request, jobs) {
        Ok(compiled) => Answer::Compiled(Box::new(compiled)),
        Err(diagnostics) => Answer::Refused(diagnostics),
    }
}

fn attempt(request: &Request, jobs: &Arc<dyn Jobs>) -> Result<Compiled, Vec<Diagnostic>> {
    let begin = Instant::now();
    let Some(member) = Member::of(request) else {
        return Err(Vec::new());
    };
    let elaborated = elaborate_instance(&member.tree, &member, &member.instance);
    let (mut module, remarks) = match (&member.tree.attributes.model, elaborated.module) {
        (_, Some(module)) => (module, Vec::new()),
        (Some(of), None) if elaborated.diagnostics.is_empty() => model::module(&member, of, &member.instance)?,
        (_, None) => return Err(elaborated.diagnostics.into_iter().collect()),
    };
    have_pools(&mut module, &member.tree.attributes.pools);
    let own = shims::of_source(&module, &request.symbol);
    let front = begin.elapsed();
    let target = request.target.core();
    let context = context(target, request, &member).map_err(|error| vec![diagnostic(error)])?;
    if let Some(ask) = &request.text {
        return text::of(ask, module, &remarks, &context, &member, request);
    }
    remarks.iter().for_each(|remark| context.remark(|| remark.clone()));
    let backend = backend::choose(request).map_err(|error| vec![error])?;
    let levels = levels(request, &context.target, &*backend)?;
    let mut options = Options {
        codegen: CodegenOptions { lines: member.lines.clone(), ..CodegenOptions::default() },
        budgets: budgets(&member.tree.attributes.budgets),
        strict: is_strict(&member),
        symbol: request.symbol.clone(),
        passes: passes(&member, &context.target)?,
        section: section(&member),
        jobs: Some(jobs.clone()),
        ..Options::default()
    };
    variants::ask(&mut options, &context.target, &levels);
    let devices = device::wanted(&member, request).map_err(|error| vec![error])?;
    let for_devices = if devices.is_empty() { Module::default() } else { module.clone() };
    let made = tenfold_core::compile(module, &context, &options, &*backend);
    let made = made.map_err(|errors| errors.into_iter().map(diagnostic).collect::<Vec<_>>())?;
    let device = device::compile(&devices, &member, &for_devices, &context, &options, &*backend, request);
    let device = device.map_err(|error| vec![error])?;
    let compiled = begin.elapsed();
    let constants = constants::publish(request, &made.constants, &options.section).map_err(|error| vec![error])?;
    let [passes, code] = made.times;
    let times = [("front end", front), ("passes", passes), ("code", code), ("constants", begin.elapsed() - compiled)];
    write_object(&request.object, &made.artefact.object)?;
    for (name, artefact) in &made.variants {
        write_object(&variants::object(&request.object, name), &artefact.object)?;
    }
    let levels: Vec<Level> = levels.into_iter().filter(|l| made.variants.iter().any(|(n, _)| n == l.name)).collect();
    let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Ok(Compiled {
        workspace_bytes: made.workspace_bound.or(made.workspace.is_none().then_some(0)),
        workspace_expr: made.workspace.map_or("0".into(), |size| size.to_string()),
        pools: member.tree.attributes.pools.iter().map(|pool| pool.name.text.clone()).zip(made.pools).collect(),
        stack_bytes: made.stack,
        flops_expr: made.flops.map(|flops| flops.to_string()).unwrap_or_default(),
        checks: made.checks,
        shims: shims::with_passes(own, &made.externs, &request.symbol),
        code_bytes: 0,
        variants: variants::described(request, &context.target, &levels),
        constants,
        device,
        times: times.into_iter().map(|(stage, time)| (stage.into(), millis(time))).collect(),
        peak_bytes: peak_bytes(),
        remarks: remarks.iter().map(ToString::to_string).collect(),
        refused: context.tuned.refusals(),
        text: String::new(),
    })
}

/// The levels that a function has code for; what is compiled through C has one.
fn levels(request: &Request, target: &Target, backend: &dyn Backend) -> Result<Vec<Level>, Vec<Diagnostic>> {
    let levels = variants::levels(request, target).map_err(|error| vec![error])?;
    Ok(if backend.has_variants() { levels } else { Vec::new() })
}

fn write_object(path: &str, bytes: &[u8]) -> Result<(), Vec<Diagnostic>> {
    std::fs::write(path, bytes).map_err(|error| {
        let text = format!("`{path}` cannot be written: {error}");
        vec![Diagnostic::new(NodeId::FUNCTION, Code::Environment, text)]
    })
}

/// The most memory that this process has had, where the system says so.
fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// What the build script asks for, then what its environment does, then what the function says itself.
fn context(target: Target, request: &Request, member: &Member) -> Result<PassContext, CompileError> {
    let mut context = PassContext::new(target).with_strict(is_strict(member));
    let others = [variants::VARIABLE, target::VARIABLE];
    let settings = request.options.script.iter().filter(|(variable, _)| !others.contains(&variable.as_str()));
    for (variable, value) in settings {
        context.apply(variable, value).map_err(|error| {
            let method = variable.trim_start_matches("TENFOLD_").to_lowercase();
            CompileError { message: format!("`{method}({value})` in the build script: {}", error.message), ..error }
        })?;
    }
    let set = |name: &str| request.options.passes.iter().find(|(known, _)| known == name);
    context.follow(&|name| set(name).map(|(_, value)| value.clone()))?;
    context.tuned = Tuned::by(records::of(Path::new(&request.package)).0);
    if member.tree.attributes.precision.as_ref().is_some_and(|precision| precision.value == "bf16") {
        context.set("ToMixedPrecision.dtype", "bf16")?;
        context.set("ToMixedPrecision.out_dtype", "f32")?;
    }
    Ok(context)
}

/// The function's own schedule, then what the build script adds.
fn passes(member: &Member, target: &Target) -> Result<Vec<UserPass>, Vec<Diagnostic>> {
    let own = schedule::pass(&member.tree, target, is_strict(member)).map_err(|error| vec![diagnostic(error)])?;
    Ok(own.into_iter().chain(user::passes().iter().cloned()).collect())
}

/// The function's own schedule for a device. What the build script adds is for processors.
fn passes_of_device(member: &Member, target: &Target) -> Result<Vec<UserPass>, CompileError> {
    Ok(schedule::pass(&member.tree, target, is_strict(member))?.into_iter().collect())
}

/// Splits the workspace of the entry among the memories that the attribute names.
fn have_pools(module: &mut Module, pools: &[Pool]) {
    let of =
        |pool: &Pool| PoolInfo { name: pool.name.text.clone(), bytes: pool.size.bytes, loc: Loc::node(pool.node.0) };
    if let Some(Function::Relax(entry)) = module.functions.get_mut(&module.entry) {
        entry.pools = pools.iter().map(of).collect();
    }
}

/// The section of the constants; empty for the usual one.
fn section(member: &Member) -> String {
    member.tree.attributes.weights_section.as_ref().map_or(String::new(), |text| text.value.clone())
}

fn is_strict(member: &Member) -> bool {
    member.tree.attributes.numerics.as_ref().is_some_and(|n| n.value == "strict")
}

fn budgets(written: &[Budget]) -> Budgets {
    let of = |wanted: BudgetOf| {
        let budget = written.iter().find(|budget| budget.of == wanted)?;
        Some((budget.limit.bytes, Loc::node(budget.node.0)))
    };
    Budgets { workspace: of(BudgetOf::Workspace), weights: of(BudgetOf::Weights), stack: of(BudgetOf::Stack) }
}

/// An error of the pipeline at its node; what lies in a callee stands at the function.
fn diagnostic(error: CompileError) -> Diagnostic {
    let code = match error.kind {
        ErrorKind::Extern => Code::ExternCall,
        ErrorKind::WorkspaceBudget => Code::WorkspaceBudget,
        ErrorKind::PoolBudget => Code::PoolBudget,
        ErrorKind::WeightsBudget => Code::WeightsBudget,
        ErrorKind::StackBudget => Code::StackBudget,
        ErrorKind::Schedule => Code::Schedule,
        ErrorKind::Target => Code::Target,
        ErrorKind::Limit => Code::Limit,
        ErrorKind::Passes => Code::Passes,
        ErrorKind::Internal => Code::Internal,
    };
    let node = if error.loc.function == 0 { NodeId(error.loc.node) } else { NodeId::FUNCTION };
    let mut out = Diagnostic::new(node, code, error.message);
    out.help = error.help;
    out
}
