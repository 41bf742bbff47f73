//! What a pass has changed, as a unified diff of the module's text.

use tenfold_ir::Module;

use super::dump::{names, pass_or_all};
use super::{PassInfo, PassInstrument, unified};
use crate::CompileError;
use crate::text::module_text;

/// What is done with a diff.
type Sink = Box<dyn FnMut(&PassInfo, &str) + Send>;

/// Hands the diff of every pass named that changed something to a sink.
pub struct DiffPasses {
    passes: Vec<&'static str>,
    /// The texts before passes that are running.
    before: Vec<String>,
    sink: Sink,
}

impl DiffPasses {
    /// Of the passes named, with a comma between them, or of `all`.
    pub fn parse(text: &str, sink: impl FnMut(&PassInfo, &str) + Send + 'static) -> Result<Self, CompileError> {
        let names = text.split(',').map(str::trim).filter(|p| !p.is_empty());
        let passes = names.map(pass_or_all).collect::<Result<_, _>>()?;
        Ok(DiffPasses { passes, before: Vec::new(), sink: Box::new(sink) })
    }

    /// The same, printed to standard error.
    pub fn printing(text: &str) -> Result<Self, CompileError> {
        DiffPasses::parse(text, |_, diff| eprint!("{diff}"))
    }
}

impl PassInstrument for DiffPasses {
    fn run_before_pass(&mut self, pass: &PassInfo, module: &Module) -> Result<(), CompileError> {
        if names(&self.passes, pass) {
            self.before.push(module_text(module));
        }
        Ok(())
    }

    fn run_after_pass(&mut self, pass: &PassInfo, module: &Module) -> Result<(), CompileError> {
        if names(&self.passes, pass)
            && let Some(before) = self.before.pop()
        {
            let titles = (format!("before {}", pass.name), format!("after {}", pass.name));
            let diff = unified(&before, &module_text(module), &titles.0, &titles.1);
            if !diff.is_empty() {
                (self.sink)(pass, &diff);
            }
        }
        Ok(())
    }
}
