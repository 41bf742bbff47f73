//! `cargo tenfold explain`: for each kernel of a function how it was scheduled and why, what it has to do, what this
//! machine could do at best, and what was measured.
//!
//! A function is explained for numbers in the place of its dims. Its passes run once with a watcher; what they saw is
//! put together here, and nothing of it changes what is compiled. Times come from a program that a caller compiles and
//! runs (`program`), since this crate starts none.

mod capture;
mod chart;
mod count;
mod dims;
mod hints;
mod json;
mod kernel;
mod measured;
mod memory;
mod pools;
mod program;
mod report;
mod roof;
mod sites;
mod text;

use std::collections::BTreeMap;
use std::path::Path;

use tenfold_ir::Module;
use tenfold_ir::arith::Sym;
use tenfold_ir::relax::{self, Op};
use tenfold_ir::tir::{BufferData, Scope};

use super::Planned;
use crate::compile::for_device;
use crate::flops::weight_bytes;
use crate::pass::{self, PassContext, UserPass};
use crate::target::Gpu;
use crate::{Backend, Budgets, CodegenOptions, CompileError, Options, Target, compile, pipeline};
use capture::{Captured, Watch};
use kernel::{Call, Kernel};
use program::Program;

pub use measured::Measured;
pub use program::{CHECKS, FILES, INPUTS, constants_text, random};

/// A function and its kernels, without times.
pub struct Explained {
    planned: Planned,
    target: Target,
    /// The GPU that the target is taken for, if it is a device.
    gpu: Option<&'static Gpu>,
    given: BTreeMap<String, i64>,
    dims: BTreeMap<Sym, i64>,
    kernels: Vec<Kernel>,
    /// In the order in which the function calls its kernels.
    calls: Vec<Call>,
    /// Bytes that a call touches: what is passed, constants, the workspace.
    data: u64,
}

/// What is said of a function.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// For a terminal.
    pub text: String,
    /// One object.
    pub json: String,
    /// A page that loads nothing.
    pub html: String,
}

/// Runs the passes of a function and explains what they did.
pub fn explain(
    mut module: Module,
    context: &PassContext,
    passes: &[UserPass],
    given: &BTreeMap<String, i64>,
) -> Result<Explained, CompileError> {
    let dims = dims_of(&module, given)?;
    let (context, watch) = watched(context);
    pass::run(&pipeline::with(passes), &mut module, &context)?;
    Explained::new(&watch.take(), &context.target, given, &dims)
}

/// The same for a device, whose kernels nothing measures: `options` say whether the function is strict, and its passes.
/// The name of a GPU is empty where none was named.
///
/// # Errors
/// What the device does not take, a GPU that is no such device, or numbers that the function does not take.
pub fn explain_device(
    mut module: Module,
    (target, gpu): (&Target, &str),
    context: &PassContext,
    options: &Options,
    given: &BTreeMap<String, i64>,
) -> Result<Explained, CompileError> {
    let gpu = gpu_of(target, gpu).map_err(|why| pass::wrong(why, None))?;
    let dims = dims_of(&module, given)?;
    let (context, watch) = watched(&for_device(target.clone(), context, options)?);
    pass::run(&pipeline::device_with(&options.passes), &mut module, &context)?;
    if let Some(error) = context.take_diagnostics().into_iter().next() {
        return Err(error);
    }
    Ok(Explained { gpu, ..Explained::new(&watch.take(), target, given, &dims)? })
}

/// The GPU of that name, or the largest one of the chip, if it is known.
fn gpu_of(target: &Target, name: &str) -> Result<Option<&'static Gpu>, String> {
    match target.device {
        Some(device) if !name.is_empty() => device.gpu_of_name(name).map(Some),
        Some(device) => Ok(device.gpu()),
        None => Ok(None),
    }
}

/// Compiles a function so that its kernels are timed, and writes the program that does it into a folder: what is
/// left is to make a program of [`FILES`] and to run it with the path of [`INPUTS`] and a number of seconds. Also
/// explains what passes did. Where the function cannot be called alone, the reason takes the place of the program.
pub fn compile_timed(
    module: Module,
    context: &PassContext,
    options: &Options,
    backend: &dyn Backend,
    given: &BTreeMap<String, i64>,
    folder: &Path,
) -> Result<(Explained, Result<(), String>), Vec<CompileError>> {
    let one = |error: CompileError| vec![error];
    let dims = dims_of(&module, given).map_err(one)?;
    let (context, watch) = watched(context);
    let options = Options {
        codegen: CodegenOptions::default(),
        budgets: Budgets::default(),
        symbol: program::ENTRY.into(),
        passes: options.passes.iter().cloned().chain([sites::timed()]).collect(),
        ..options.clone()
    };
    let made = compile(module, &context, &options, backend)?;
    let seen = watch.take();
    let explained = Explained::new(&seen, &context.target, given, &dims).map_err(one)?;
    let written = explained.program(&seen, &dims, backend.name()).and_then(|program| program.write(&made, folder));
    Ok((explained, written))
}

/// Numbers for the symbols of a function as the front end made it.
fn dims_of(module: &Module, given: &BTreeMap<String, i64>) -> Result<BTreeMap<Sym, i64>, CompileError> {
    match module.relax(&module.entry) {
        Some(func) => dims::bound(func, given),
        None => Ok(BTreeMap::new()),
    }
}

/// What the program has printed, or why there is none, in the folder of an explanation.
pub const MEASURED: [&str; 2] = ["measured", "unmeasured"];

/// The report as text, JSON and HTML, in the folder of an explanation.
pub const REPORT: [&str; 3] = ["report.txt", "report.json", "report.html"];

/// Writes the report into the folder in which [`MEASURED`] says what there is to report.
pub fn report_in(explained: &Explained, folder: &Path) -> Result<(), String> {
    let read = |name: &str| std::fs::read_to_string(folder.join(name));
    let measured = match read(MEASURED[0]) {
        Ok(text) => Measured::parse(&text),
        Err(_) => Err(read(MEASURED[1]).unwrap_or_else(|_| "nobody asked for it".into())),
    };
    let Report { text, json, html } = explained.report(measured.as_ref().map_err(String::as_str));
    REPORT.iter().zip([text, json, html]).try_for_each(|(name, content)| {
        let path = folder.join(name);
        std::fs::write(&path, content).map_err(|error| format!("`{}` cannot be written: {error}", path.display()))
    })
}

/// A context of its own with a watcher.
fn watched(context: &PassContext) -> (PassContext, Watch) {
    let mut context = context.clone();
    context.alone();
    let watch = Watch::default();
    context.watch(Box::new(watch.clone()));
    (context, watch)
}

impl Explained {
    fn new(
        seen: &Captured,
        target: &Target,
        given: &BTreeMap<String, i64>,
        dims: &BTreeMap<Sym, i64>,
    ) -> Result<Explained, CompileError> {
        let missing = || pass::wrong("the passes that memory and the entry come from did not run", None);
        let planned = seen.planned.clone().ok_or_else(missing)?;
        let lowered = seen.lowered.as_ref().ok_or_else(missing)?;
        let (kernels, calls) = kernel::all(seen, &planned, lowered, dims);
        let data = passed(lowered, dims) + weight_bytes(lowered) + workspace(&planned, dims);
        let planned = Planned { module: planned, groups: seen.groups.clone() };
        Ok(Explained {
            planned,
            target: target.clone(),
            gpu: None,
            given: given.clone(),
            dims: dims.clone(),
            kernels,
            calls,
            data,
        })
    }

    /// How the function is called from C; or why it is not.
    fn program<'a>(
        &self,
        seen: &'a Captured,
        dims: &'a BTreeMap<Sym, i64>,
        backend: &'a str,
    ) -> Result<Program<'a>, String> {
        let lowered = seen.lowered.as_ref().ok_or("it was not lowered")?;
        let graph = self.planned.module.relax(&self.planned.module.entry);
        let callee = graph.into_iter().flat_map(relax::Function::bindings).find_map(|binding| match &binding.op {
            Op::CallDps { callee, .. } | Op::CallPacked { callee, .. } => Some(&callee.path),
            _ => None,
        });
        if let Some(path) = callee {
            return Err(format!("it calls `{path}`, which only a program of its crate has"));
        }
        let entry = lowered.prim(&lowered.entry).ok_or("it has no entry")?;
        Ok(Program {
            entry,
            dims,
            sites: self.calls.len(),
            workspace: workspace(&self.planned.module, dims),
            vector_bytes: self.target.vector_bytes(),
            data: self.data,
            backend,
        })
    }

    /// What is said of it, with times and rates where it was measured; else with the reason that it was not.
    pub fn report(&self, measured: Result<&Measured, &str>) -> Report {
        let rows = report::Rows::of(self, measured.ok());
        Report {
            text: text::text(self, &rows, measured),
            json: json::json(self, &rows, measured),
            html: chart::page(self, &rows, measured),
        }
    }
}

/// Bytes of the buffers that a caller passes.
fn passed(lowered: &Module, dims: &BTreeMap<Sym, i64>) -> u64 {
    let buffers = lowered.prim(&lowered.entry).map_or(&[][..], |entry| &entry.buffers);
    let bytes = |buffer: &BufferData| {
        let extents = buffer.shape.iter().map(|d| d.eval(&|sym| dims.get(sym).copied()).unwrap_or(0).max(0) as u64);
        extents.fold(buffer.dtype.size_bytes() as u64, u64::saturating_mul)
    };
    buffers.iter().filter(|buffer| buffer.scope == Scope::Param).map(bytes).fold(0, u64::saturating_add)
}

/// Bytes of the workspace.
fn workspace(planned: &Module, dims: &BTreeMap<Sym, i64>) -> u64 {
    let plan = planned.relax(&planned.entry).and_then(|func| func.plan.as_ref());
    let bytes = plan.and_then(|plan| plan.workspace.as_ref()?.eval(&|sym| dims.get(sym).copied()));
    bytes.unwrap_or(0).max(0) as u64
}

impl Explained {
    /// The target as the user names it.
    fn target_name(&self) -> String {
        let Some(device) = self.target.device else { return self.target.triple.clone() };
        let keys: Vec<&str> = self.target.keys.iter().map(|key| key.name()).collect();
        if keys.is_empty() { device.to_string() } else { format!("{device} -keys={}", keys.join(",")) }
    }

    /// A kernel's name without the function's.
    fn short(&self, kernel: usize) -> &str {
        super::graph::short(&self.planned.module, &self.kernels[kernel].name)
    }
}
