//! How much work one query may do, whatever it is made of: a bound that no nesting of bounded searches exceeds.

use super::limits;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is left. A clone has a count of its own, so that what one prover does says nothing of another's answers.
#[derive(Debug)]
pub(super) struct Meter(Arc<AtomicUsize>);

impl Meter {
    /// A query begins.
    pub(super) fn begin(&self) {
        self.0.store(limits::WORK, Ordering::Relaxed);
    }

    /// Whether so much was left; what is not left ends the query.
    pub(super) fn spend(&self, work: usize) -> bool {
        let left = self.0.load(Ordering::Relaxed).checked_sub(work);
        self.0.store(left.unwrap_or(0), Ordering::Relaxed);
        left.is_some()
    }

    /// How much is left: nothing once more was asked for than there was.
    pub(super) fn left(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// The same count, for a part of the same query.
    pub(super) fn share(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl Default for Meter {
    fn default() -> Self {
        Self(Arc::new(AtomicUsize::new(limits::WORK)))
    }
}

impl Clone for Meter {
    fn clone(&self) -> Self {
        Self::default()
    }
}
