//! Which execution of a pass breaks a module.

use std::sync::{Arc, Mutex, PoisonError};

use tenfold_ir::Module;

use super::{PassInfo, PassInstrument, registry};
use crate::CompileError;

/// Lets only the first executions of passes run. Passes that lower always run and are not counted, since there is no
/// code without them.
#[derive(Clone, Debug)]
pub struct BisectLimit {
    limit: usize,
    /// The only function whose passes are counted; every one if it is empty.
    function: String,
    asked: Arc<Mutex<Vec<&'static str>>>,
}

impl BisectLimit {
    /// The first `limit` executions.
    pub fn new(limit: usize) -> Self {
        BisectLimit { limit, function: String::new(), asked: Arc::default() }
    }

    /// The same in modules of that entry alone; all passes run in others.
    pub fn of(self, function: &str) -> Self {
        BisectLimit { function: function.into(), ..self }
    }

    /// How many executions may run.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The executions that were asked for, run or not.
    pub fn asked(&self) -> Vec<&'static str> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many executions were asked for, run or not.
    pub fn count(&self) -> usize {
        self.asked().len()
    }

    /// The last pass that was let through.
    pub fn last(&self) -> Option<&'static str> {
        self.asked().get(..self.limit.min(self.count()))?.last().copied()
    }
}

impl PassInstrument for BisectLimit {
    fn should_run(&mut self, pass: &PassInfo, module: &Module) -> Result<bool, CompileError> {
        let others = !self.function.is_empty() && self.function != module.entry;
        if others || registry::find(pass.name).is_some_and(|known| known.lowering) {
            return Ok(true);
        }
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push(pass.name);
        Ok(asked.len() <= self.limit)
    }
}

/// The execution that a module goes bad with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Suspect {
    /// Its number, from 1 on: `TENFOLD_BISECT` set to it is bad, one less is good.
    pub execution: usize,
    /// The pass.
    pub pass: &'static str,
}

/// Finds the first execution with which `is_good` is false, by halving. `is_good` compiles with the limit as one of
/// its context's instruments and says whether what came out is right; an interpreter that computes something else
/// makes it false. None if the whole pipeline is good, or if it is bad without any optional pass.
pub fn bisect(mut is_good: impl FnMut(BisectLimit) -> bool) -> Option<Suspect> {
    let all = BisectLimit::new(usize::MAX);
    if is_good(all.clone()) || !is_good(BisectLimit::new(0)) {
        return None;
    }
    let execution = halve(all.count(), |limit| is_good(BisectLimit::new(limit)));
    let limit = BisectLimit::new(execution);
    is_good(limit.clone());
    limit.last().map(|pass| Suspect { execution, pass })
}

/// The least number up to `bad` that is bad, where 0 is good and `bad` is not.
pub fn halve(mut bad: usize, mut is_good: impl FnMut(usize) -> bool) -> usize {
    let mut good = 0;
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if is_good(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    bad
}
