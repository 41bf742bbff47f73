//! The context of a run: which passes run, with what configuration, watched by whom.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use super::{DumpFiles, PassInfo, PassInstrument, PrintPasses};
use crate::Target;

/// Says which passes run and who watches them.
pub struct PassContext {
    /// Passes of a higher level do not run; 2 by default.
    pub opt_level: u32,
    /// Passes that run whatever their level, by name.
    pub required: BTreeSet<String>,
    /// Passes that never run, by name.
    pub disabled: BTreeSet<String>,
    /// Settings by registered key.
    pub config: BTreeMap<&'static str, i64>,
    /// Watchers, in order.
    pub instruments: RefCell<Vec<Box<dyn PassInstrument>>>,
    /// What code is generated for.
    pub target: Target,
}

impl PassContext {
    /// A context with every default.
    pub fn new(target: Target) -> Self {
        PassContext {
            opt_level: 2,
            required: BTreeSet::new(),
            disabled: BTreeSet::new(),
            config: BTreeMap::new(),
            instruments: RefCell::new(Vec::new()),
            target,
        }
    }

    /// A context with the watchers that the environment asks for: `TENFOLD_DUMP=dir` writes the module after every
    /// pass, `TENFOLD_PRINT=before:Name,after:Name` prints it. Nothing else of the environment is read.
    pub fn from_env(target: Target, env: &dyn Fn(&str) -> Option<String>) -> Self {
        let mut context = PassContext::new(target);
        if let Some(folder) = env("TENFOLD_DUMP").filter(|v| !v.is_empty()) {
            context.watch(Box::new(DumpFiles::new(folder.into())));
        }
        if let Some(passes) = env("TENFOLD_PRINT").filter(|v| !v.is_empty()) {
            context.watch(Box::new(PrintPasses::parse(&passes)));
        }
        context
    }

    /// The enable rule: disabled, then required, then the level.
    pub fn enables(&self, pass: &PassInfo) -> bool {
        if self.disabled.contains(pass.name) {
            return false;
        }
        if self.required.contains(pass.name) {
            return true;
        }
        self.opt_level >= pass.opt_level
    }

    /// Adds a watcher.
    pub fn watch(&mut self, instrument: Box<dyn PassInstrument>) {
        self.instruments.get_mut().push(instrument);
    }
}
