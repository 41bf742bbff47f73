//! A function as a text, in place of an object.
//!
//! Budgets are not checked here: a function that is over one is what somebody wants to look at.

use super::member::Member;
use super::{backend, device, variants};
use crate::worker::message::{Compiled, Request};
use std::path::Path;
use tenfold_core::pass::{PassContext, Remark};
use tenfold_core::show::{self, Ask, Explain, ExplainStep, explain};
use tenfold_core::tune::{self, How};
use tenfold_core::{Artefact, Backend, BackendError, Budgets, CodegenOptions, Device, Options, Stage, Target, c};
use tenfold_ir::Module;
use tenfold_syntax::ast::NodeId;
use tenfold_syntax::{Code, Diagnostic};

/// The answer to what is asked, of the variant that is asked for.
pub(super) fn of(
    ask: &Ask,
    module: Module,
    remarks: &[Remark],
    context: &PassContext,
    member: &Member,
    request: &Request,
) -> Result<Compiled, Vec<Diagnostic>> {
    if let Ask::Explain(asked) = ask {
        return explained(asked, module, context, member, request);
    }
    if let Ask::Kernels(folder) = ask {
        return kernels(folder, module, context, member, request);
    }
    if let Ask::Stage(stage @ (Stage::Spirv | Stage::Ptx)) = ask {
        return kernels_of_devices(*stage, module, context, member, request);
    }
    let backend = backend_of(ask).map_err(|error| vec![error])?;
    let levels = super::levels(request, &context.target, &*backend)?;
    let mut options = Options {
        codegen: CodegenOptions { lines: member.lines.clone(), ..CodegenOptions::default() },
        budgets: Budgets::default(),
        strict: super::is_strict(member),
        symbol: request.symbol.clone(),
        passes: super::passes(member, &context.target)?,
        section: super::section(member),
        ..Options::default()
    };
    variants::ask(&mut options, &context.target, &levels);
    if *ask != Ask::Executions {
        let target = variants::target_of(&request.variant, &context.target, &levels).map_err(|error| vec![error])?;
        let chosen = context.with_target(target);
        options.variants.clear();
        return of_variant(ask, module, remarks, &chosen, options, &*backend);
    }
    of_variant(ask, module, remarks, context, options, &*backend)
}

/// The kernels for Vulkan or for CUDA, for each chip that the function or the build is for; whether there is one or not.
fn kernels_of_devices(
    stage: Stage,
    module: Module,
    context: &PassContext,
    member: &Member,
    request: &Request,
) -> Result<Compiled, Vec<Diagnostic>> {
    let wanted = device::wanted(member, request).map_err(|error| vec![error])?;
    let of_stage = wanted.into_iter().filter(|wanted| wanted.is_ptx() == (stage == Stage::Ptx));
    let mut targets: Vec<Target> = of_stage.map(|wanted| wanted.target).collect();
    if targets.is_empty() {
        targets.push(if stage == Stage::Ptx { Device::Sm80 } else { Device::Spirv }.target());
    }
    let backend = backend_of(&Ask::Stage(stage)).map_err(|error| vec![error])?;
    let mut text = String::new();
    for target in targets {
        let passes = super::passes_of_device(member, &target).map_err(|error| vec![super::diagnostic(error)])?;
        let options = Options { strict: super::is_strict(member), passes, ..Options::default() };
        let made = tenfold_core::compile_device(module.clone(), target, context, &options, &*backend);
        text += &made.map_err(|error| vec![super::diagnostic(error)])?.text;
    }
    Ok(Compiled { text, ..Compiled::default() })
}

/// What makes the text of a stage.
fn backend_of(ask: &Ask) -> Result<Box<dyn Backend>, Diagnostic> {
    match ask {
        Ask::Stage(stage @ (Stage::Llvm | Stage::Asm | Stage::Ptx)) => backend::llvm().map_err(|why| {
            let text = format!("the stage `{}` needs LLVM: {why}", stage.name());
            Diagnostic::new(NodeId::FUNCTION, Code::Environment, text)
        }),
        ask => Ok(Box::new(NoObject { has_variants: *ask != Ask::Stage(Stage::C) })),
    }
}

fn of_variant(
    ask: &Ask,
    module: Module,
    remarks: &[Remark],
    context: &PassContext,
    mut options: Options,
    backend: &dyn Backend,
) -> Result<Compiled, Vec<Diagnostic>> {
    let text = match ask {
        Ask::Stage(stage) => {
            options.codegen.texts = vec![*stage];
            let made = tenfold_core::compile(module, context, &options, backend);
            let made = made.map_err(|errors| errors.into_iter().map(super::diagnostic).collect::<Vec<_>>())?;
            made.artefact.texts.into_iter().find_map(|(of, text)| (of == *stage).then_some(text)).unwrap_or_default()
        }
        ask => {
            let text = show::answer(ask, module, context, &options).map_err(|error| vec![super::diagnostic(error)])?;
            let own = remarks.iter().filter(|_| *ask == Ask::Remarks).map(|remark| format!("{remark}\n"));
            own.collect::<String>() + &text
        }
    };
    Ok(Compiled { text, ..Compiled::default() })
}

/// The program that times a function, or the report of what it has measured, in the folder that is asked for: of the best
/// variant that the machine runs.
fn explained(
    asked: &Explain,
    module: Module,
    context: &PassContext,
    member: &Member,
    request: &Request,
) -> Result<Compiled, Vec<Diagnostic>> {
    let folder = Path::new(&asked.folder);
    if let Ok(Some(target)) = asked.device.parse::<crate::Target>().and_then(|target| target.device()) {
        return explained_on(&target, asked, module, context, member);
    }
    let backend = backend::choose(request).map_err(|error| vec![error])?;
    let levels = super::levels(request, &context.target, &*backend)?;
    let context = &context.with_target(variants::at_most(&request.variant, &context.target, &levels));
    let passes = super::passes(member, &context.target)?;
    let text = match asked.step {
        ExplainStep::Compile => {
            let options = Options { strict: super::is_strict(member), passes, ..Options::default() };
            let made = explain::compile_timed(module, context, &options, &*backend, &asked.dims, folder);
            let (_, written) = made.map_err(|errors| errors.into_iter().map(super::diagnostic).collect::<Vec<_>>())?;
            written.err().unwrap_or_default()
        }
        ExplainStep::Report => {
            let explained = explain::explain(module, context, &passes, &asked.dims);
            let explained = explained.map_err(|error| vec![super::diagnostic(error)])?;
            explain::report_in(&explained, folder)
                .map_err(|text| vec![Diagnostic::new(NodeId::FUNCTION, Code::Environment, text)])?;
            String::new()
        }
    };
    Ok(Compiled { text, ..Compiled::default() })
}

/// The report for a device, on which nothing is measured.
fn explained_on(
    target: &Target,
    asked: &Explain,
    module: Module,
    context: &PassContext,
    member: &Member,
) -> Result<Compiled, Vec<Diagnostic>> {
    let one = |error| vec![super::diagnostic(error)];
    let passes = super::passes_of_device(member, target).map_err(one)?;
    let options = Options { strict: super::is_strict(member), passes, ..Options::default() };
    let explained =
        explain::explain_device(module, (target, &asked.gpu), context, &options, &asked.dims).map_err(one)?;
    explain::report_in(&explained, Path::new(&asked.folder))
        .map_err(|text| vec![Diagnostic::new(NodeId::FUNCTION, Code::Environment, text)])?;
    Ok(Compiled::default())
}

/// The kernels of the variant that is asked for, each in a folder: a line of text for each, and for each that cannot be
/// tuned.
fn kernels(
    folder: &str,
    module: Module,
    context: &PassContext,
    member: &Member,
    request: &Request,
) -> Result<Compiled, Vec<Diagnostic>> {
    let backend = backend::choose(request).map_err(|error| vec![error])?;
    let levels = super::levels(request, &context.target, &*backend)?;
    let context = &context.with_target(variants::at_most(&request.variant, &context.target, &levels));
    let settings = request.options.script.iter().filter(|(variable, _)| variable != variants::VARIABLE);
    let how = How {
        layout: levels.last().map(|widest| context.target.with_level(widest)),
        strict: super::is_strict(member),
        passes: super::passes(member, &context.target)?,
        settings: settings.cloned().collect(),
    };
    let (kernels, others) = tune::kernels(module, context, &how).map_err(|error| vec![super::diagnostic(error)])?;
    let text = tune::write_all(&kernels, &others, Path::new(folder));
    let text = text.map_err(|text| vec![Diagnostic::new(NodeId::FUNCTION, Code::Environment, text)])?;
    Ok(Compiled { text, ..Compiled::default() })
}

/// Prints C and compiles nothing, so that the stages before code need neither LLVM nor a C compiler.
struct NoObject {
    has_variants: bool,
}

impl Backend for NoObject {
    fn name(&self) -> &'static str {
        "text"
    }

    fn identity(&self) -> String {
        "text".into()
    }

    fn has_variants(&self) -> bool {
        self.has_variants
    }

    fn build(&self, module: &Module, _: &Target, options: &CodegenOptions) -> Result<Artefact, BackendError> {
        let mut artefact = Artefact::default();
        if options.texts.contains(&Stage::C) {
            artefact.texts.insert(Stage::C, c::emit(module));
        }
        Ok(artefact)
    }
}
