//! The pipeline in two parts: what every variant shares, and what each target has for itself.
//!
//! The first ends where constants have their last layout, so that they are there once and every variant reads the same.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tenfold_ir::{Function, Loc, Module, content::Hasher};

use super::jobs::{Alone, on_threads};
use super::products::gaining;
use super::{Compiled, Options, Variant, variant_symbol};
use crate::Target;
use crate::backend::{Backend, BackendError, Fault, Stage};
use crate::budget::{check_pools, check_workspace};
use crate::error::{CompileError, ErrorKind};
use crate::externs::name_calls;
use crate::flops::{flops, used_constants};
use crate::pass::{self, Pass, PassContext};
use crate::pipeline;
use crate::text::module_text;

/// What every variant begins with.
pub(super) struct Shared {
    /// Behind the pass that lays out constants.
    module: Module,
    /// The passes that each variant still has to go through.
    rest: Vec<Pass>,
    /// How long it took.
    pub(super) time: Duration,
}

/// Runs the passes that all code shares, for the target whose tiles constants are laid out for.
pub(super) fn shared(mut module: Module, context: &PassContext, options: &Options) -> Result<Shared, CompileError> {
    let begin = Instant::now();
    let passes = pipeline::with(&options.passes);
    let passes = options.begin.map_or(&passes[..], |name| pipeline::split_before(name, &passes).1);
    let (first, rest) = pipeline::split_shared(passes);
    let context = &context.with_strict(options.strict);
    match &options.layout {
        Some(target) => pass::run(first, &mut module, &context.with_target(target.clone()))?,
        None => pass::run(first, &mut module, context)?,
    }
    // Before schedules choose the order of sums.
    if options.strict {
        make_strict(&mut module);
    }
    Ok(Shared { module, rest: rest.to_vec(), time: begin.elapsed() })
}

/// What makes code for each target.
pub(super) struct Code<'a> {
    pub(super) options: &'a Options,
    pub(super) backend: &'a dyn Backend,
    pub(super) shared: Shared,
}

/// What was made for a target.
pub(super) struct Made {
    pub(super) compiled: Compiled,
    /// What the back end was given.
    pub(super) module: Module,
    /// A workspace that is over its budget.
    pub(super) over: Option<CompileError>,
}

impl Code<'_> {
    /// The variants that the function gains from.
    pub(super) fn variants(&self, baseline: &Target) -> Vec<&Variant> {
        gaining(&self.shared.module, baseline, &self.options.variants)
    }

    /// The code for the context's target, then that of each variant: side by side where threads are lent. Watchers of
    /// passes see one target after another.
    pub(super) fn all(&self, context: &PassContext) -> Result<Vec<Made>, CompileError> {
        let own = (context.apart(context.target.clone()), self.options.symbol.clone());
        let variant = |it: &Variant| (context.apart(it.target.clone()), variant_symbol(&self.options.symbol, &it.name));
        let wanted: Vec<(PassContext, String)> =
            [own].into_iter().chain(self.variants(&context.target).into_iter().map(variant)).collect();
        let jobs = self.options.jobs.as_deref().filter(|_| !context.is_watched()).unwrap_or(&Alone);
        let (next, made) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
        let waiting = || wanted.len().saturating_sub(next.load(Ordering::Relaxed));
        on_threads(jobs, waiting, |_| {
            while let Some((at, (context, symbol))) = {
                let at = next.fetch_add(1, Ordering::Relaxed);
                wanted.get(at).map(|it| (at, it))
            } {
                let one = self.of(context, symbol);
                // Of several that fail the first is told; those before it have begun.
                if one.is_err() {
                    next.store(wanted.len(), Ordering::Relaxed);
                }
                made.lock().unwrap_or_else(PoisonError::into_inner).insert(at, one);
            }
        });
        wanted.iter().flat_map(|(own, _)| own.take_diagnostics()).for_each(|error| context.emit(error));
        made.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().collect()
    }

    /// The code for the context's target, whose entry has that symbol. Functions outside are called by symbols that
    /// follow from the options' own, whatever the entry's is.
    pub(super) fn of(&self, context: &PassContext, symbol: &str) -> Result<Made, CompileError> {
        let begin = Instant::now();
        let (options, mut module) = (self.options, self.shared.module.clone());
        let (graph, rest) = pipeline::split_before("LowerEntry", &self.shared.rest);
        let (entry, loops) = pipeline::split_before("VerifyBounds", rest);
        pass::run(graph, &mut module, context)?;
        let mut out = Compiled { externs: name_calls(&mut module, &options.symbol), ..Compiled::default() };
        let planned = module.relax(&module.entry.clone()).cloned();
        let plan = planned.as_ref().and_then(|f| f.plan.clone()).unwrap_or_default();
        pass::run(entry, &mut module, context)?;
        let tir = options.codegen.texts.contains(&Stage::Tir).then(|| module_text(&module));
        pass::run(loops, &mut module, context)?;
        place_constants(&mut module, &options.section);
        out.workspace = plan.workspace;
        out.workspace_bound = plan.workspace_bound;
        out.pools = plan.pools;
        out.constants = used_constants(&module).into_iter().map(|id| module.constant(id).clone()).collect();
        out.flops = flops(&module);
        out.checks = module.prim(&module.entry).map(tenfold_ir::tir::PrimFunc::checks).unwrap_or_default();
        let over = planned.and_then(|func| {
            let over = check_workspace(&func, &module, options, out.workspace_bound);
            over.or_else(|| check_pools(&func, &module, options))
        });
        rename_entry(&mut module, symbol);
        if options.strict {
            make_strict(&mut module);
        }
        let passes = begin.elapsed();
        let built = self.backend.build(&module, &context.target, &options.codegen);
        out.artefact = built.map_err(|e| backend_error(self.backend.name(), e))?;
        out.times = [passes, begin.elapsed() - passes];
        out.artefact.texts.extend(tir.map(|t| (Stage::Tir, t)));
        out.stack = out.artefact.stack;
        Ok(Made { compiled: out, module, over })
    }
}

fn backend_error(name: &str, error: BackendError) -> CompileError {
    match error.fault {
        Fault::Ours => CompileError::internal(Loc::default(), format!("the {name} back end failed: {}", error.message)),
        Fault::Machine => {
            CompileError { kind: ErrorKind::Target, loc: Loc::default(), message: error.message, help: error.help }
        }
    }
}

/// A constant in a section of the user's choice is not the equal one elsewhere: each has its own symbol.
pub(super) fn place_constants(module: &mut Module, section: &str) {
    if section.is_empty() {
        return;
    }
    for data in &mut module.constants {
        data.hash = Hasher::new().field(data.hash.as_bytes()).field(section.as_bytes()).finish();
    }
}

pub(super) fn make_strict(module: &mut Module) {
    for function in module.functions.values_mut() {
        if let Function::Prim(f) = function {
            f.strict = true;
        }
    }
}

fn rename_entry(module: &mut Module, symbol: &str) {
    if symbol.is_empty() || module.entry == symbol {
        return;
    }
    if let Some(mut function) = module.functions.remove(&module.entry) {
        if let Function::Prim(f) = &mut function {
            f.name = symbol.to_string();
        }
        module.functions.insert(symbol.to_string(), function);
        module.entry = symbol.to_string();
    }
}
