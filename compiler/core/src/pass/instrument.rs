//! Watchers of passes, and the rules of a list of them.

use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

use tenfold_ir::{Loc, Module};

use super::{PassInfo, Remark};
use crate::CompileError;

/// Watches passes. Every method has a default that does nothing.
///
/// What a method refuses ends the compilation of the function at hand.
pub trait PassInstrument: Send {
    /// The context becomes the current one.
    fn enter_pass_ctx(&mut self) -> Result<(), CompileError> {
        Ok(())
    }
    /// The context is the current one no longer.
    fn exit_pass_ctx(&mut self) -> Result<(), CompileError> {
        Ok(())
    }
    /// Whether the pass may run; one `false` is enough to skip it. Not asked about passes that the context requires.
    fn should_run(&mut self, _pass: &PassInfo, _module: &Module) -> Result<bool, CompileError> {
        Ok(true)
    }
    /// Before a pass that runs.
    fn run_before_pass(&mut self, _pass: &PassInfo, _module: &Module) -> Result<(), CompileError> {
        Ok(())
    }
    /// After a pass that has run.
    fn run_after_pass(&mut self, _pass: &PassInfo, _module: &Module) -> Result<(), CompileError> {
        Ok(())
    }
    /// A pass that runs says what it did, or why it did not.
    fn remark(&mut self, _remark: &Remark) -> Result<(), CompileError> {
        Ok(())
    }
}

type List = Vec<Box<dyn PassInstrument>>;

/// The watchers of a context and its clones, in order.
#[derive(Clone, Default)]
pub(super) struct Instruments(Arc<Mutex<List>>);

thread_local! {
    /// Whether a watcher of this thread is at work.
    static AT_WORK: Cell<bool> = const { Cell::new(false) };
}

/// A watcher at work; it ends with the value, whatever happens.
struct AtWork;

impl AtWork {
    /// A watcher that ran passes would wait for itself.
    fn begin() -> Result<AtWork, CompileError> {
        if AT_WORK.replace(true) {
            let message = "an instrument runs a pass or changes a context while it watches";
            return Err(super::wrong(message, Some("keep what it saw, and run passes afterwards".into())));
        }
        Ok(AtWork)
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        AT_WORK.set(false);
    }
}

impl Instruments {
    fn with<T>(&self, act: impl FnOnce(&mut List) -> Result<T, CompileError>) -> Result<T, CompileError> {
        let _at_work = AtWork::begin()?;
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn push(&self, instrument: Box<dyn PassInstrument>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(instrument);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// A list of its own, empty.
    pub(super) fn alone(&mut self) {
        *self = Instruments::default();
    }

    pub(super) fn set(&self, new: List) -> Result<(), CompileError> {
        self.with(|list| {
            *list = new;
            Ok(())
        })
    }

    /// All enter. If one refuses, those that had entered exit and the list is empty from then on.
    pub(super) fn enter(&self) -> Result<(), CompileError> {
        self.with(|list| {
            for at in 0..list.len() {
                let Err(error) = list[at].enter_pass_ctx() else { continue };
                let entered = std::mem::take(list).into_iter().take(at);
                // The first error is the one to tell.
                entered.for_each(|mut instrument| drop(instrument.exit_pass_ctx()));
                return Err(error);
            }
            Ok(())
        })
    }

    /// All exit. If one refuses, those behind it do not, and the list is empty from then on.
    pub(super) fn exit(&self) -> Result<(), CompileError> {
        self.with(|list| {
            let outcome = list.iter_mut().try_for_each(|instrument| instrument.exit_pass_ctx());
            if outcome.is_err() {
                list.clear();
            }
            outcome
        })
    }

    /// Whether all let the pass run; every one is asked.
    pub(super) fn should_run(&self, pass: &PassInfo, module: &Module) -> Result<bool, CompileError> {
        self.with(|list| {
            let answers = list.iter_mut().map(|instrument| instrument.should_run(pass, module));
            answers.collect::<Result<Vec<bool>, _>>().map(|all| all.into_iter().all(|may| may))
        })
    }

    pub(super) fn before(&self, pass: &PassInfo, module: &Module) -> Result<(), CompileError> {
        self.with(|list| list.iter_mut().try_for_each(|instrument| instrument.run_before_pass(pass, module)))
    }

    pub(super) fn after(&self, pass: &PassInfo, module: &Module) -> Result<(), CompileError> {
        self.with(|list| list.iter_mut().try_for_each(|instrument| instrument.run_after_pass(pass, module)))
    }

    /// Nothing is made where nobody listens.
    pub(super) fn remark(&self, make: impl FnOnce() -> Remark) -> Result<(), CompileError> {
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
            return Ok(());
        }
        let remark = make();
        self.with(|list| list.iter_mut().try_for_each(|instrument| instrument.remark(&remark)))
    }
}

/// A bug of ours that an instrument saw.
pub(super) fn broken(message: String) -> CompileError {
    CompileError::internal(Loc::default(), message)
}
