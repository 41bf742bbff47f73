//! Which execution of a pass breaks a module.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tenfold_ir::Module;

use super::{PassInfo, PassInstrument, registry};
use crate::CompileError;

/// Lets only the first executions of passes run. Passes that lower always run and are not counted, since there is no
/// code without them.
#[derive(Clone, Debug)]
pub struct BisectLimit {
    limit: usize,
    count: Arc<AtomicUsize>,
    last: Arc<Mutex<Option<&'static str>>>,
}

impl BisectLimit {
    /// The first `limit` executions.
    pub fn new(limit: usize) -> Self {
        BisectLimit { limit, count: Arc::default(), last: Arc::default() }
    }

    /// How many executions were asked for, run or not.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// The last pass that was let through.
    pub fn last(&self) -> Option<&'static str> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PassInstrument for BisectLimit {
    fn should_run(&mut self, pass: &PassInfo, _module: &Module) -> Result<bool, CompileError> {
        if registry::find(pass.name).is_some_and(|known| known.lowering) {
            return Ok(true);
        }
        let may = self.count.fetch_add(1, Ordering::Relaxed) < self.limit;
        if may {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(pass.name);
        }
        Ok(may)
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
    let (mut good, mut bad) = (0, all.count());
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if is_good(BisectLimit::new(middle)) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    let limit = BisectLimit::new(bad);
    is_good(limit.clone());
    limit.last().map(|pass| Suspect { execution: bad, pass })
}
