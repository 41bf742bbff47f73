//! What passes have made of a function at the points that are explained, and what they said.

use std::sync::{Arc, Mutex, PoisonError};

use tenfold_ir::Module;

use crate::CompileError;
use crate::pass::{PassInfo, PassInstrument, Remark};

/// The first of these ends what is computed and begins how: until then nothing schedules.
const SCHEDULERS: [&str; 6] = [
    "ApplySchedule",
    "PrepackWeights",
    "ApplyDefaultSchedule",
    "FuseLoops",
    "DataflowUseInplaceCalls",
    "AllocateWorkspace",
];

/// The module at points of the pipeline.
#[derive(Clone, Debug, Default)]
pub(super) struct Captured {
    /// Groups of operators as relax functions, if there are any.
    pub(super) groups: Option<Module>,
    /// Kernels before any schedule.
    pub(super) plain: Option<Module>,
    /// With the planned graph as the entry.
    pub(super) planned: Option<Module>,
    /// With the entry that calls the kernels.
    pub(super) lowered: Option<Module>,
    /// What passes said, in order.
    pub(super) remarks: Vec<Remark>,
}

/// Watches a run for it. A clone shows the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch(Arc<Mutex<Captured>>);

impl Watch {
    fn with<T>(&self, act: impl FnOnce(&mut Captured) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// What was seen.
    pub(super) fn take(&self) -> Captured {
        self.with(std::mem::take)
    }
}

impl PassInstrument for Watch {
    fn run_before_pass(&mut self, pass: &PassInfo, module: &Module) -> Result<(), CompileError> {
        self.with(|seen| {
            if SCHEDULERS.contains(&pass.name) && seen.plain.is_none() {
                seen.plain = Some(module.clone());
            }
            if pass.name == "LowerEntry" {
                seen.planned = Some(module.clone());
            }
        });
        Ok(())
    }

    fn run_after_pass(&mut self, pass: &PassInfo, module: &Module) -> Result<(), CompileError> {
        self.with(|seen| match pass.name {
            "FuseOps" => seen.groups = Some(module.clone()),
            "LowerEntry" => seen.lowered = Some(module.clone()),
            _ => {}
        });
        Ok(())
    }

    fn remark(&mut self, remark: &Remark) -> Result<(), CompileError> {
        self.with(|seen| seen.remarks.push(remark.clone()));
        Ok(())
    }
}
