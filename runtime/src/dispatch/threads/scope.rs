//! What a thread's calls may use: how many threads, and whose.

use crate::threads::Executor;
use core::cell::Cell;
use std::thread_local;

/// What holds on this thread.
#[derive(Clone, Copy)]
pub(super) struct Scope {
    /// The most threads of a call.
    pub(super) limit: usize,
    executor: Option<*const (dyn Executor + 'static)>,
}

thread_local! {
    static SCOPE: Cell<Scope> = const { Cell::new(Scope { limit: usize::MAX, executor: None }) };
}

/// Puts back what held before.
struct Restore(Scope);

impl Drop for Restore {
    fn drop(&mut self) {
        SCOPE.set(self.0);
    }
}

/// What holds on this thread; one thread where it ends already.
pub(super) fn current() -> Scope {
    SCOPE.try_with(Cell::get).unwrap_or(Scope { limit: 1, executor: None })
}

fn within<R>(scope: Scope, f: impl FnOnce() -> R) -> R {
    let _restore = Restore(SCOPE.replace(scope));
    f()
}

/// Calls inside use at most so many threads.
pub(crate) fn limited<R>(threads: usize, f: impl FnOnce() -> R) -> R {
    let now = current();
    within(Scope { limit: now.limit.min(threads.max(1)), ..now }, f)
}

/// Calls inside stay on this thread.
pub(super) fn alone<R>(f: impl FnOnce() -> R) -> R {
    limited(1, f)
}

/// Calls inside run on the threads of an executor.
pub(crate) fn executed<R>(executor: &dyn Executor, f: impl FnOnce() -> R) -> R {
    // SAFETY: only the lifetime changes. The pointer is taken back before the borrow ends, and no other thread sees it.
    let executor = unsafe { core::mem::transmute::<&dyn Executor, &'static dyn Executor>(executor) };
    within(Scope { executor: Some(core::ptr::from_ref(executor)), ..current() }, f)
}

impl Scope {
    /// The executor of the caller, if it has one.
    pub(super) fn executor(&self) -> Option<&dyn Executor> {
        // SAFETY: `executed` borrows the executor as long as a scope with its pointer is the thread's, and a scope is
        // asked within the call that read it.
        self.executor.map(|executor| unsafe { &*executor })
    }
}
