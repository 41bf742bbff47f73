//! The text of a module around every pass that ran.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};

use tenfold_ir::Module;

use super::Run;
use crate::CompileError;
use crate::pass::{self, PassInfo, PassInstrument, unified};
use crate::text::module_text;

/// One run of a pass.
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) before: String,
    pub(super) after: String,
}

/// All runs, in order.
pub(super) struct Trace(Vec<Step>);

#[derive(Clone, Default)]
struct Keep(Arc<Mutex<Vec<Step>>>);

impl Keep {
    fn with<T>(&self, act: impl FnOnce(&mut Vec<Step>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl PassInstrument for Keep {
    fn run_before_pass(&mut self, pass: &PassInfo, module: &Module) -> Result<(), CompileError> {
        let step = Step { name: pass.name, before: module_text(module), after: String::new() };
        self.with(|steps| steps.push(step));
        Ok(())
    }

    fn run_after_pass(&mut self, pass: &PassInfo, module: &Module) -> Result<(), CompileError> {
        let text = module_text(module);
        self.with(|steps| {
            // Passes inside a sequential one came behind it.
            let open = steps.iter_mut().rev().find(|step| step.name == pass.name && step.after.is_empty());
            open.map(|step| step.after = text)
        });
        Ok(())
    }
}

/// Runs the pipeline.
pub(super) fn run(mut module: Module, run: &Run<'_>) -> Result<Trace, CompileError> {
    let keep = Keep::default();
    run.watched(&mut module, run.context, Box::new(keep.clone()))?;
    Ok(Trace(keep.with(std::mem::take)))
}

impl Trace {
    /// The first run of a pass of that name, or the run of that number.
    pub(super) fn find(&self, name: &str) -> Result<&Step, CompileError> {
        let number = name.parse::<usize>().ok().and_then(|n| self.0.get(n.checked_sub(1)?));
        let found = number.or_else(|| self.0.iter().find(|step| step.name == name));
        found.ok_or_else(|| {
            let help = pass::near(name, self.0.iter().map(|step| step.name));
            pass::wrong(format!("`{name}` did not run; `--passes` lists what did"), help)
        })
    }

    /// A line per run: number, name, lines that went and came.
    pub(super) fn list(&self) -> String {
        let mut out = String::new();
        for (number, step) in self.0.iter().enumerate() {
            let diff = unified(&step.before, &step.after, "", "");
            let count = |mark| diff.lines().skip(2).filter(|line| line.starts_with(mark)).count();
            let change = match (count('-'), count('+')) {
                (0, 0) => String::new(),
                (gone, come) => format!("-{gone} +{come}"),
            };
            let _ = writeln!(out, "{:>3}  {:<24}{change}", number + 1, step.name);
        }
        out.lines().map(|line| line.trim_end().to_string() + "\n").collect()
    }
}
