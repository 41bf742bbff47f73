//! The back end as the compiler sees it: tir in, an object out.

use inkwell::{
    context::Context,
    module::Module as LlvmModule,
    passes::PassBuilderOptions,
    targets::{FileType, TargetMachine},
};
use tenfold_core::{Artefact, Backend, BackendError, CodegenOptions, Stage, Target};
use tenfold_ir::{Module, tir::PrimFunc};

use crate::{Found, Llvm, diagnostics::Diagnostics, emit, machine::Machine, stack, transpose::transpose};

/// Compiles through the loaded LLVM.
#[derive(Clone, Debug)]
pub struct LlvmBackend {
    llvm: Llvm,
    identity: String,
}

impl LlvmBackend {
    /// The back end over what `load` gave for `found`.
    pub fn new(llvm: Llvm, found: &Found) -> LlvmBackend {
        LlvmBackend { llvm, identity: found.identity() }
    }
}

impl Backend for LlvmBackend {
    fn name(&self) -> &'static str {
        "llvm"
    }

    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn build(&self, module: &Module, target: &Target, options: &CodegenOptions) -> Result<Artefact, BackendError> {
        let work = || Machine::of(target).and_then(|machine| build(self.llvm, &machine, module, target, options));
        with_deep_stack(work).map_err(BackendError::ours)
    }

    fn kernel(&self, module: &Module, func: &PrimFunc, name: &str, target: &Target) -> Result<String, BackendError> {
        let work = || {
            let machine = Machine::of(target)?;
            kernel(&machine, &machine.open(self.llvm)?, module, func, name, target)
        };
        with_deep_stack(work).map_err(BackendError::ours)
    }
}

/// The PTX of a device function.
pub(crate) fn kernel(
    machine: &Machine,
    opened: &TargetMachine,
    module: &Module,
    func: &PrimFunc,
    name: &str,
    target: &Target,
) -> Result<String, String> {
    let context = Context::create();
    let diagnostics = Diagnostics::listen(&context);
    let out = emit::device::emit(&context, machine, opened, module, func, name, target)?;
    verify(&out)?;
    out.run_passes(pipeline(target), opened, passes()).map_err(|error| error.to_string())?;
    opened.set_asm_verbosity(false);
    let buffer = opened.write_to_memory_buffer(&out, FileType::Assembly).map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&bytes(&buffer)).trim_end_matches('\0').to_owned();
    let error = diagnostics.errors().into_iter().next();
    drop(out);
    drop(context);
    drop(diagnostics);
    error.map_or(Ok(text), Err)
}

/// Runs `work` where deep expressions fit: build scripts are not optimised, so that each level takes kilobytes.
fn with_deep_stack<T: Send>(work: impl FnOnce() -> Result<T, String> + Send) -> Result<T, String> {
    // Memory of a stack is taken from the system when it is touched.
    const BYTES: usize = 256 << 20;
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(BYTES).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| format!("no thread can be started: {error}"))?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Compiles for a machine, which tests may describe as poorer than the target is.
pub(crate) fn build(
    llvm: Llvm,
    machine: &Machine,
    module: &Module,
    target: &Target,
    options: &CodegenOptions,
) -> Result<Artefact, String> {
    let opened = machine.open(llvm)?;
    let context = Context::create();
    let diagnostics = Diagnostics::listen(&context);
    let module = &*transpose(module, target);
    let out = emit::emit(&context, machine, &opened, module, target, options)?;
    verify(&out)?;
    out.run_passes(pipeline(target), &opened, passes()).map_err(|error| error.to_string())?;

    let mut artefact = Artefact::default();
    if options.texts.contains(&Stage::Llvm) {
        artefact.texts.insert(Stage::Llvm, out.print_to_string().to_string());
    }
    // Writing an object changes the module, so the text is written from a copy.
    if options.texts.contains(&Stage::Asm) {
        let copy = out.clone();
        artefact.texts.insert(Stage::Asm, text(&opened, &copy)?);
    }
    let before = diagnostics.frames().len();
    let object = opened.write_to_memory_buffer(&out, FileType::Object).map_err(|error| error.to_string())?;
    if let Some(error) = diagnostics.errors().first() {
        return Err(error.clone());
    }
    artefact.object = bytes(&object);
    if let Some(deepest) = stack::worst(module, target, &diagnostics.frames()[before..], &artefact.object) {
        artefact.stack = Some(deepest.iter().map(|(_, bytes)| bytes).sum());
        artefact.deepest = deepest;
    }
    drop(out);
    drop(context);
    drop(diagnostics);
    Ok(artefact)
}

/// The contents of a buffer; LLVM ends it with a zero byte that is not part of them.
fn bytes(buffer: &inkwell::memory_buffer::MemoryBuffer) -> Vec<u8> {
    let slice = buffer.as_slice();
    slice[..buffer.get_size().min(slice.len())].to_vec()
}

fn text(opened: &TargetMachine, module: &LlvmModule) -> Result<String, String> {
    opened.set_asm_verbosity(true);
    let buffer = opened.write_to_memory_buffer(module, FileType::Assembly).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&bytes(&buffer)).trim_end_matches('\0').to_owned())
}

/// Says which function is broken; it is always a bug of ours.
fn verify(module: &LlvmModule) -> Result<(), String> {
    let Err(error) = module.verify() else { return Ok(()) };
    let broken = module
        .get_functions()
        .find(|function| !function.verify(false))
        .map(|function| function.get_name().to_string_lossy().into_owned());
    let name = broken.unwrap_or_else(|| "the module".to_owned());
    Err(format!("LLVM refuses the code of `{name}`: {}", error.to_string().trim_end()))
}

/// Where programs are small, code is not unrolled for speed alone.
fn pipeline(target: &Target) -> &'static str {
    if target.hosted { "default<O3>" } else { "default<O2>" }
}

fn passes() -> PassBuilderOptions {
    let options = PassBuilderOptions::create();
    options.set_loop_vectorization(true);
    options.set_loop_slp_vectorization(true);
    options.set_loop_interleaving(true);
    options.set_loop_unrolling(true);
    options
}
