//! The contexts that a thread has entered.

use std::cell::RefCell;
use std::marker::PhantomData;

use super::PassContext;
use crate::{CompileError, Target};

thread_local! {
    static STACK: RefCell<Vec<PassContext>> = const { RefCell::new(Vec::new()) };
    /// The current context of a thread that has entered none.
    static DEFAULT: PassContext = PassContext::new(Target::host());
}

impl PassContext {
    /// The context that was entered last on this thread; one with every default, for this machine, if there is none.
    pub fn current() -> PassContext {
        STACK.with_borrow(|stack| stack.last().cloned()).unwrap_or_else(|| DEFAULT.with(PassContext::clone))
    }

    /// Makes it the current context of this thread until the scope ends. If an instrument refuses, it is not entered.
    pub fn enter(&self) -> Result<PassScope, CompileError> {
        self.instruments.enter()?;
        let depth = STACK.with_borrow_mut(|stack| {
            stack.push(self.clone());
            stack.len() - 1
        });
        Ok(PassScope { context: self.clone(), depth, open: true, thread: PhantomData })
    }
}

/// The time for which a context is the current one.
#[must_use = "the context is left where this value ends"]
pub struct PassScope {
    context: PassContext,
    depth: usize,
    open: bool,
    /// The stack is one thread's.
    thread: PhantomData<*const ()>,
}

impl PassScope {
    /// Leaves the context and says what its instruments have to say. A scope that just ends leaves it all the same;
    /// what they say is then among the context's diagnostics.
    pub fn exit(mut self) -> Result<(), CompileError> {
        self.leave()
    }

    fn leave(&mut self) -> Result<(), CompileError> {
        if !std::mem::take(&mut self.open) {
            return Ok(());
        }
        STACK.with_borrow_mut(|stack| stack.truncate(self.depth));
        self.context.instruments.exit()
    }
}

impl Drop for PassScope {
    fn drop(&mut self) {
        if let Err(error) = self.leave() {
            self.context.emit(error);
        }
    }
}
