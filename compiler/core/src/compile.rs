//! One compilation, from the front end's module to an artefact, or to one for each variant.

mod code;
mod device;
mod jobs;
mod merge;
mod products;

use std::sync::Arc;
use std::time::Duration;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::{ConstData, Loc, Module};

use crate::Target;
use crate::backend::{Artefact, Backend, CodegenOptions, Stage};
use crate::budget::{Budgets, check_stack, check_weights};
use crate::error::CompileError;
use crate::externs::ExternCall;
use crate::flops::bytes_of;
use crate::pass::{PassContext, UserPass};
use crate::text::module_text;
use code::{Code, Made};
pub(crate) use device::for_device;
pub use device::{DeviceCode, DeviceModule, compile_device, pack_devices};
pub use jobs::{Alone, Jobs, Lent, on_threads};
pub(crate) use products::{changes, dots, gaining};

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
    /// What is made besides the code for the context's target.
    pub variants: Vec<Variant>,
    /// The target whose tiles constants are laid out for, which all code reads; none is the context's.
    pub layout: Option<Target>,
    /// Who lends threads, on which variants are compiled side by side; none is nobody.
    pub jobs: Option<Arc<dyn Jobs>>,
    /// The pass to begin with, where the module is past those before it; none is the first.
    pub begin: Option<&'static str>,
}

/// Code that is made besides that for the context's target.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub target: Target,
}

/// The symbol of a variant's entry.
pub fn variant_symbol(symbol: &str, variant: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    format!("{symbol}__{}", variant.chars().map(word).collect::<String>())
}

/// What a compilation gives.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// The object and the texts asked for.
    pub artefact: Artefact,
    /// The objects of the variants by name, in their order, without those that would be no better than the one before;
    /// the entry of each is its [`variant_symbol`].
    pub variants: Vec<(String, Artefact)>,
    /// Bytes of workspace over the named dims: as many as each variant needs.
    pub workspace: Option<IntExpr>,
    /// The greatest such number, if every dim in it is bounded.
    pub workspace_bound: Option<u64>,
    /// Bytes in each of the memories among which the workspace is split, whose sum the workspace is; none if it is one.
    pub pools: Vec<u64>,
    /// Bytes of constants.
    pub weights: u64,
    /// The constants that the objects refer to, as [`crate::constant_symbol`]s: what must be linked beside them.
    pub constants: Vec<ConstData>,
    /// Worst-case stack, if the back end knows it.
    pub stack: Option<u64>,
    /// The texts of the run-time checks, in the order of their status codes.
    pub checks: Vec<String>,
    /// How long the passes took, and the back end.
    pub times: [Duration; 2],
    /// Float operations of a call, if every extent is a constant.
    pub flops: Option<u64>,
    /// The Rust functions outside that the objects call, each with the symbol of the shim they expect.
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
    module: Module,
    context: &PassContext,
    options: &Options,
    backend: &dyn Backend,
) -> Result<Compiled, Vec<CompileError>> {
    let relax = options.codegen.texts.contains(&Stage::Relax).then(|| module_text(&module));
    let one = |error: CompileError| vec![error];
    let code = Code { options, backend, shared: code::shared(module, context, options).map_err(one)? };
    let mut made = code.all(context).map_err(one)?.into_iter();
    let Some(Made { compiled: mut out, mut module, mut over }) = made.next() else {
        return Err(vec![CompileError::internal(Loc::default(), "there is no code for the target")]);
    };
    for (variant, made) in code.variants(&context.target).into_iter().zip(made) {
        merge::add(&mut out, &variant.name, made.compiled).map_err(one)?;
        (module, over) = (made.module, over.or(made.over));
    }
    out.times[0] += code.shared.time;
    out.artefact.texts.extend(relax.map(|t| (Stage::Relax, t)));
    out.weights = bytes_of(&out.constants);
    let others = [check_weights(&module, options, out.weights), check_stack(options, out.stack, &out.artefact.deepest)];
    let errors: Vec<CompileError> = over.into_iter().chain(others.into_iter().flatten()).collect();
    if errors.is_empty() { Ok(out) } else { Err(errors) }
}
