//! Watchers of passes.

use std::time::{Duration, Instant};

use tenfold_ir::Module;

use super::PassInfo;
use crate::CompileError;

/// Watches passes. Every method has a default that does nothing.
pub trait PassInstrument {
    /// Whether the pass may run; one `false` is enough to skip it.
    fn should_run(&mut self, _pass: &PassInfo, _module: &Module) -> bool {
        true
    }
    /// Before a pass.
    fn before(&mut self, _pass: &PassInfo, _module: &Module) -> Result<(), CompileError> {
        Ok(())
    }
    /// After a pass.
    fn after(&mut self, _pass: &PassInfo, _module: &Module) -> Result<(), CompileError> {
        Ok(())
    }
}

/// Measures each pass.
#[derive(Default)]
pub struct Timing {
    started: Option<Instant>,
    report: std::rc::Rc<std::cell::RefCell<Vec<(&'static str, Duration)>>>,
}

impl Timing {
    /// A watcher, and the list it fills.
    #[allow(clippy::type_complexity, reason = "the shared list is the whole interface")]
    pub fn new() -> (Self, std::rc::Rc<std::cell::RefCell<Vec<(&'static str, Duration)>>>) {
        let timing = Timing::default();
        let report = timing.report.clone();
        (timing, report)
    }
}

impl PassInstrument for Timing {
    fn before(&mut self, _pass: &PassInfo, _module: &Module) -> Result<(), CompileError> {
        self.started = Some(Instant::now());
        Ok(())
    }

    fn after(&mut self, pass: &PassInfo, _module: &Module) -> Result<(), CompileError> {
        let elapsed = self.started.take().map(|s| s.elapsed()).unwrap_or_default();
        self.report.borrow_mut().push((pass.name, elapsed));
        Ok(())
    }
}
