//! What an entry point gets besides its arguments: who runs the turns of its parallel loops.
//!
//! `compiler/docs/threads.md` says why it is as it is.

mod pool;
mod region;
mod scope;

use crate::threads;
use core::cell::Cell;
use core::ffi::c_void;
use pool::POOL;
pub(crate) use region::MOST;
use region::{Body, Region};
pub(crate) use scope::{executed, limited};

/// Cycles of a core that a thread must have to do: some times what it costs to hand a part over.
const PART: i64 = 10_000;

/// Parts of a thread's share, of which another thread may take some.
const CHUNKS: i64 = 4;

/// Cycles that a call must have spent alone in loops that could have been split before it wakes threads that sleep:
/// waking them costs about as much.
const COLD: i64 = 150_000;

/// What compiled code calls for a loop of `turns`, of which each takes about `work` cycles.
type Split =
    unsafe extern "C" fn(context: *const Context, body: Body, captures: *const c_void, turns: isize, work: isize);

/// What one call of a function passes on: compiled code reads the first field.
#[repr(C)]
pub struct Context {
    split: Split,
    spent: Cell<i64>,
}

impl Context {
    /// For one call.
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        Self { split, spent: Cell::new(0) }
    }

    /// As an entry point takes it.
    #[inline]
    #[must_use]
    pub const fn as_ptr(&self) -> *const c_void {
        core::ptr::from_ref(self).cast()
    }

    /// The threads that are worth it, at most `threads`, for a loop of so many cycles.
    fn worth(turns: isize, all: i64, threads: usize) -> usize {
        let parts = (all / PART).min(turns as i64).max(1);
        usize::try_from(parts).unwrap_or(usize::MAX).min(threads).min(MOST)
    }
}

impl Default for Context {
    fn default() -> Self {
        Self::new()
    }
}

unsafe extern "C" fn split(context: *const Context, body: Body, captures: *const c_void, turns: isize, work: isize) {
    let scope = scope::current();
    let all = (turns as i64).saturating_mul((work as i64).max(1));
    let threads = match scope.limit {
        1 => 1,
        limit => scope.executor().map_or_else(threads::get, threads::Executor::threads).min(limit),
    };
    let threads = Context::worth(turns, all, threads);
    // SAFETY: compiled code passes the context that its entry point got, and the body with its captures.
    unsafe {
        if threads < 2 || !(*context).shared(&scope, (body, captures), turns, (threads, all)) {
            body(captures, 0, turns);
        }
    }
}

impl Context {
    /// Runs a loop on threads; not if there are none to be had now.
    ///
    /// # Safety
    ///
    /// As [`Region::new`].
    unsafe fn shared(
        &self,
        scope: &scope::Scope,
        (body, captures): (Body, *const c_void),
        turns: isize,
        (threads, all): (usize, i64),
    ) -> bool {
        let most = (threads as i64 * CHUNKS).min(turns as i64);
        let chunks = (all / PART * 2).clamp(threads as i64, most.max(threads as i64)) as u32;
        // SAFETY: the caller's promise.
        let region = || unsafe { Region::new(body, captures, turns, chunks, threads) };
        if let Some(executor) = scope.executor() {
            let region = region();
            executor.run(threads, &|thread| scope::alone(|| region.help(thread)));
            // Whatever the executor has left out.
            region.help(0);
            return true;
        }
        let Some(held) = POOL.hold() else { return false };
        if !held.awake(threads - 1) {
            let before = self.spent.get();
            let spent = before.saturating_add(all);
            self.spent.set(spent);
            // The first such loop of a call tells how densely calls come.
            let often = before == 0 && held.often();
            if !often && spent < COLD {
                return false;
            }
            held.start(threads - 1);
        }
        let region = region();
        scope::alone(|| held.run(&region));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_worth_it_where_each_has_a_part_to_do() {
        let much = i64::MAX;
        for (turns, all, threads, wanted) in [
            (0, much, 8, 1),
            (1, much, 8, 1),
            (3, much, 8, 3),
            (1000, much, 8, 8),
            (1000, much, 1000, MOST),
            (1000, PART - 1, 8, 1),
            (1000, 2 * PART - 1, 8, 1),
            (1000, 2 * PART, 8, 2),
            (1000, 7 * PART, 8, 7),
        ] {
            assert_eq!(Context::worth(turns, all, threads), wanted, "{turns} turns of {all} cycles on {threads}");
        }
    }
}
