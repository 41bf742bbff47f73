//! A function as a text, in place of an object.
//!
//! Budgets are not checked here: a function that is over one is what somebody wants to look at.

use super::backend;
use super::member::Member;
use crate::worker::message::{Compiled, Request};
use std::path::Path;
use tenfold_core::pass::{PassContext, Remark};
use tenfold_core::show::{self, Ask, Explain, ExplainStep, explain};
use tenfold_core::{Artefact, Backend, BackendError, Budgets, CodegenOptions, Options, Stage, Target, c};
use tenfold_ir::Module;
use tenfold_syntax::ast::NodeId;
use tenfold_syntax::{Code, Diagnostic};

/// The answer to what is asked.
pub(super) fn of(
    ask: &Ask,
    module: Module,
    remarks: &[Remark],
    context: &PassContext,
    member: &Member,
    request: &Request,
) -> Result<Compiled, Vec<Diagnostic>> {
    match ask {
        Ask::Stage(stage) => of_stage(*stage, module, context, member, request),
        Ask::Explain(explain) => explained(explain, module, context, member, request),
        Ask::Remarks if !remarks.is_empty() => {
            let rest = of(ask, module, &[], context, member, request)?;
            let own: String = remarks.iter().map(|remark| format!("{remark}\n")).collect();
            Ok(Compiled { text: own + &rest.text, ..rest })
        }
        ask => {
            let passes = super::passes(member, &context.target)?;
            let text = show::answer(ask, module, context, &passes).map_err(|error| vec![super::diagnostic(error)])?;
            Ok(Compiled { text, ..Compiled::default() })
        }
    }
}

fn of_stage(
    stage: Stage,
    module: Module,
    context: &PassContext,
    member: &Member,
    request: &Request,
) -> Result<Compiled, Vec<Diagnostic>> {
    let backend: Box<dyn Backend> = match stage {
        Stage::Relax | Stage::Tir | Stage::C => Box::new(NoObject),
        Stage::Llvm | Stage::Asm => backend::llvm().map_err(|why| {
            let text = format!("the stage `{}` needs LLVM: {why}", stage.name());
            vec![Diagnostic::new(NodeId::FUNCTION, Code::Environment, text)]
        })?,
    };
    let options = Options {
        codegen: CodegenOptions { lines: member.lines.clone(), texts: vec![stage], ..CodegenOptions::default() },
        budgets: Budgets::default(),
        strict: super::is_strict(member),
        symbol: request.symbol.clone(),
        passes: super::passes(member, &context.target)?,
        section: super::section(member),
    };
    let made = tenfold_core::compile(module, context, &options, &*backend);
    let mut made = made.map_err(|errors| errors.into_iter().map(super::diagnostic).collect::<Vec<_>>())?;
    let text = made.artefact.texts.remove(&stage).unwrap_or_default();
    Ok(Compiled { text, ..Compiled::default() })
}

/// The program that times a function, or the report of what it has measured, in the folder that is asked for.
fn explained(
    asked: &Explain,
    module: Module,
    context: &PassContext,
    member: &Member,
    request: &Request,
) -> Result<Compiled, Vec<Diagnostic>> {
    let folder = Path::new(&asked.folder);
    let passes = super::passes(member, &context.target)?;
    let text = match asked.step {
        ExplainStep::Compile => {
            let options = Options { strict: super::is_strict(member), passes, ..Options::default() };
            let backend = backend::choose(request);
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

/// Prints C and compiles nothing, so that the stages before code need neither LLVM nor a C compiler.
struct NoObject;

impl Backend for NoObject {
    fn name(&self) -> &'static str {
        "text"
    }

    fn identity(&self) -> String {
        "text".into()
    }

    fn build(&self, module: &Module, _: &Target, options: &CodegenOptions) -> Result<Artefact, BackendError> {
        let mut artefact = Artefact::default();
        if options.texts.contains(&Stage::C) {
            artefact.texts.insert(Stage::C, c::emit(module));
        }
        Ok(artefact)
    }
}
