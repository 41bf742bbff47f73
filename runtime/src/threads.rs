//! Threads: how many a call may use, and whose they are.
//!
//! Loops of a function that are parallel and have enough to do run on threads of this crate: as many as the program
//! may use processors, or what the variable `TENFOLD_THREADS` or [`set`] says. They start with the first call that is
//! worth it, look for work for a short while after a loop, then sleep. One call at a time has them: another one that
//! runs beside it, or inside of it, stays on its own thread. Results are the same for every number of threads, to the
//! last bit.
//!
//! ```
//! use tenfold::threads;
//!
//! threads::set(2)?;
//! let sum = threads::limit(1, || 1 + 1); // calls of tensor functions inside stay on this thread
//! assert_eq!(sum, 2);
//! # Ok::<(), threads::ThreadsError>(())
//! ```

use crate::dispatch;
use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::format;
use std::string::String;

/// The variable that says how many threads a program's calls use.
const VARIABLE: &str = "TENFOLD_THREADS";

/// The most threads that one call uses.
pub const MOST: usize = dispatch::MOST;

/// What was set; 0 before anybody has asked.
static THREADS: AtomicUsize = AtomicUsize::new(0);

/// Threads of the caller's, in the place of this crate's own.
///
/// ```
/// use tenfold::threads::{self, Executor};
///
/// struct Scoped;
///
/// impl Executor for Scoped {
///     fn threads(&self) -> usize {
///         2
///     }
///
///     fn run(&self, parts: usize, task: &(dyn Fn(usize) + Sync)) {
///         std::thread::scope(|scope| {
///             (1..parts).for_each(|part| drop(scope.spawn(move || task(part))));
///             task(0);
///         });
///     }
/// }
///
/// threads::with(&Scoped, || { /* calls of tensor functions */ });
/// ```
pub trait Executor: Sync {
    /// How many threads it has, that of the caller included.
    fn threads(&self) -> usize;

    /// Calls `task` with each number below `parts`, on as many threads as there are. A part that it leaves out, or that
    /// begins late, is done by the others; so no order is asked for, and `task(0)` alone does all of it.
    fn run(&self, parts: usize, task: &(dyn Fn(usize) + Sync));
}

/// A number of threads that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadsError {
    from: &'static str,
    found: String,
}

impl fmt::Display for ThreadsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` takes a number of threads from 1 to {MOST}, not `{}`", self.from, self.found)
    }
}

impl core::error::Error for ThreadsError {}

/// Sets how many threads a call may use, that of the caller included; 1 keeps every call on its own thread.
///
/// # Errors
///
/// The number is 0 or greater than [`MOST`].
pub fn set(threads: usize) -> Result<(), ThreadsError> {
    let threads = checked("threads::set", threads, || format!("{threads}"))?;
    THREADS.store(threads, Ordering::Relaxed);
    Ok(())
}

fn checked(from: &'static str, threads: usize, found: impl FnOnce() -> String) -> Result<usize, ThreadsError> {
    if (1..=MOST).contains(&threads) { Ok(threads) } else { Err(ThreadsError { from, found: found() }) }
}

/// How many threads the variable `TENFOLD_THREADS` asks for; none if it is not set or empty.
///
/// # Errors
///
/// What it holds is no number from 1 to [`MOST`]. Calls then say so once, on standard error, and go on as if it were
/// not set.
pub fn from_env() -> Result<Option<usize>, ThreadsError> {
    let Some(text) = std::env::var_os(VARIABLE).filter(|text| !text.is_empty()) else { return Ok(None) };
    let text = text.to_string_lossy();
    let threads = text.trim().parse().unwrap_or(0);
    checked(VARIABLE, threads, || text.clone().into_owned()).map(Some)
}

/// How many threads a call may use.
#[must_use]
pub fn get() -> usize {
    match THREADS.load(Ordering::Relaxed) {
        0 => initial(),
        threads => threads,
    }
}

/// What holds until somebody sets another number; an error of the environment is told once.
#[cold]
fn initial() -> usize {
    let (asked, error) = match from_env() {
        Ok(asked) => (asked, None),
        Err(error) => (None, Some(error)),
    };
    let threads = asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from).min(MOST));
    match THREADS.compare_exchange(0, threads, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => {
            if let Some(error) = error {
                std::eprintln!("tenfold: {error}; {threads} are used");
            }
            threads
        }
        Err(set) => set,
    }
}

/// Lets calls inside of `f` use at most so many threads; 0 counts as 1. Limits inside of limits only lower it.
pub fn limit<R>(threads: usize, f: impl FnOnce() -> R) -> R {
    dispatch::limited(threads, f)
}

/// Lets calls inside of `f` run on the threads of an executor.
pub fn with<R>(executor: &dyn Executor, f: impl FnOnce() -> R) -> R {
    dispatch::executed(executor, f)
}
