//! One compilation, from the front end's module to an artefact.

use std::time::{Duration, Instant};

use tenfold_ir::arith::IntExpr;
use tenfold_ir::content::Hasher;
use tenfold_ir::{ConstData, ConstId, Loc, Module};

use crate::backend::{Artefact, Backend, BackendError, CodegenOptions, Fault, Stage};
use crate::budget::{Budgets, check_stack, check_weights, check_workspace};
use crate::error::{CompileError, ErrorKind};
use crate::externs::{ExternCall, name_calls};
use crate::flops::{flops, used_constants, weight_bytes};
use crate::pass::{self, PassContext, UserPass};
use crate::pipeline;
use crate::text::module_text;

/// What a compilation is asked for besides the module.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// For the back end.
    pub codegen: CodegenOptions,
    /// What the function may use.
    pub budgets: Budgets,
    /// Symbol of the entry in the object.
    pub symbol: String,
    /// `numerics = "strict"`: no reassociation, no contraction.
    pub strict: bool,
    /// The user's passes.
    pub passes: Vec<UserPass>,
    /// The section that constants are linked into; empty for that of read-only data.
    pub section: String,
}

/// What a compilation gives.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// The object and the texts asked for.
    pub artefact: Artefact,
    /// Bytes of workspace over the named dims.
    pub workspace: Option<IntExpr>,
    /// The greatest such number, if every dim in it is bounded.
    pub workspace_bound: Option<u64>,
    /// Bytes of constants.
    pub weights: u64,
    /// The constants that the object refers to, as [`crate::constant_symbol`]s.
    pub constants: Vec<ConstId>,
    /// The same constants with their bytes: what must be linked beside the object.
    pub constant_data: Vec<ConstData>,
    /// Worst-case stack, if the back end knows it.
    pub stack: Option<u64>,
    /// The texts of the run-time checks, in the order of their status codes.
    pub checks: Vec<String>,
    /// How long the passes took, and the back end.
    pub times: [Duration; 2],
    /// Float operations of a call, if every extent is a constant.
    pub flops: Option<u64>,
    /// The Rust functions outside that the object calls, each with the symbol of the shim it expects.
    pub externs: Vec<ExternCall>,
}

/// Runs the pipeline, checks the budgets and calls the back end. Every error belongs to a node of the source.
pub fn compile(
    module: Module,
    context: &PassContext,
    options: &Options,
    backend: &dyn Backend,
) -> Result<Compiled, Vec<CompileError>> {
    let scope = context.enter().map_err(|e| vec![e])?;
    let compiled = attempt(module, context, options, backend);
    let left = scope.exit();
    let said = context.take_diagnostics();
    match (compiled, left) {
        (Err(errors), _) if said.is_empty() => Err(errors),
        (Err(errors), _) => {
            let others = errors.into_iter().filter(|e| !said.contains(e)).collect::<Vec<_>>();
            Err([said, others].concat())
        }
        (Ok(_), Err(error)) => Err(vec![error]),
        (Ok(_), Ok(())) if !said.is_empty() => Err(said),
        (Ok(compiled), Ok(())) => Ok(compiled),
    }
}

fn attempt(
    mut module: Module,
    context: &PassContext,
    options: &Options,
    backend: &dyn Backend,
) -> Result<Compiled, Vec<CompileError>> {
    let begin = Instant::now();
    let mut out = Compiled::default();
    let relax = options.codegen.texts.contains(&Stage::Relax).then(|| module_text(&module));
    let passes = pipeline::with(&options.passes);
    let (graph, rest) = split_before("LowerEntry", &passes);
    let (entry, loops) = split_before("VerifyBounds", rest);
    pass::run(graph, &mut module, context).map_err(|e| vec![e])?;
    out.externs = name_calls(&mut module, &options.symbol);
    let planned = module.relax(&module.entry.clone()).cloned();
    let plan = planned.as_ref().and_then(|f| f.plan.clone()).unwrap_or_default();
    pass::run(entry, &mut module, context).map_err(|e| vec![e])?;
    let tir = options.codegen.texts.contains(&Stage::Tir).then(|| module_text(&module));
    pass::run(loops, &mut module, context).map_err(|e| vec![e])?;
    place_constants(&mut module, &options.section);
    out.workspace = plan.workspace;
    out.workspace_bound = plan.workspace_bound;
    out.weights = weight_bytes(&module);
    out.constants = used_constants(&module).into_iter().collect();
    out.constant_data = out.constants.iter().map(|id| module.constant(*id).clone()).collect();
    out.flops = flops(&module);
    out.checks = module.prim(&module.entry).map(tenfold_ir::tir::PrimFunc::checks).unwrap_or_default();
    let mut errors = Vec::new();
    if let Some(func) = &planned {
        errors.extend(check_workspace(func, &module, options, out.workspace_bound));
    }
    errors.extend(check_weights(&module, options, out.weights));
    rename_entry(&mut module, &options.symbol);
    if options.strict {
        make_strict(&mut module);
    }
    let passes = begin.elapsed();
    let built = backend.build(&module, &context.target, &options.codegen);
    out.artefact = built.map_err(|e| vec![backend_error(backend.name(), e)])?;
    out.times = [passes, begin.elapsed() - passes];
    out.artefact.texts.extend(relax.map(|t| (Stage::Relax, t)));
    out.artefact.texts.extend(tir.map(|t| (Stage::Tir, t)));
    out.stack = out.artefact.stack;
    errors.extend(check_stack(options, out.stack));
    if errors.is_empty() { Ok(out) } else { Err(errors) }
}

fn backend_error(name: &str, error: BackendError) -> CompileError {
    match error.fault {
        Fault::Ours => CompileError::internal(Loc::default(), format!("the {name} back end failed: {}", error.message)),
        Fault::Machine => {
            CompileError { kind: ErrorKind::Target, loc: Loc::default(), message: error.message, help: error.help }
        }
    }
}

/// The passes before the one of that name, and it with those after it.
fn split_before<'a>(name: &str, table: &'a [pass::Pass]) -> (&'a [pass::Pass], &'a [pass::Pass]) {
    table.split_at(table.iter().position(|p| p.info.name == name).unwrap_or(table.len()))
}

/// A constant in a section of the user's choice is not the equal one elsewhere: each has its own symbol.
fn place_constants(module: &mut Module, section: &str) {
    if section.is_empty() {
        return;
    }
    for data in &mut module.constants {
        data.hash = Hasher::new().field(data.hash.as_bytes()).field(section.as_bytes()).finish();
    }
}

fn make_strict(module: &mut Module) {
    for function in module.functions.values_mut() {
        if let tenfold_ir::Function::Prim(f) = function {
            f.strict = true;
        }
    }
}

fn rename_entry(module: &mut Module, symbol: &str) {
    if symbol.is_empty() || module.entry == symbol {
        return;
    }
    if let Some(mut function) = module.functions.remove(&module.entry) {
        if let tenfold_ir::Function::Prim(f) = &mut function {
            f.name = symbol.to_string();
        }
        module.functions.insert(symbol.to_string(), function);
        module.entry = symbol.to_string();
    }
}
