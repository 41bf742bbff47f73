//! What an opened device keeps: the programs that ran, and their constants.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    vec::Vec,
};

use super::{DeviceCode, DeviceFault};
use crate::program::Program;

/// Where bytes of the binary lie, and what else tells them from others.
type Key = (usize, usize);

/// Programs that are ready to run, and constants on the device.
pub(super) struct Store<L, M> {
    /// By what tells their code from others'. What the device refuses is not tried again.
    programs: Mutex<HashMap<Key, Result<Arc<L>, DeviceFault>>>,
    /// By where they lie and how long they are.
    constants: Mutex<HashMap<Key, Arc<M>>>,
}

impl<L, M> Default for Store<L, M> {
    fn default() -> Self {
        Self { programs: Mutex::default(), constants: Mutex::default() }
    }
}

impl<L, M> Store<L, M> {
    /// The program of a function, made ready once.
    pub(super) fn program(
        &self,
        code: DeviceCode,
        ready: impl FnOnce() -> Result<L, DeviceFault>,
    ) -> Result<Arc<L>, DeviceFault> {
        let mut programs = lock(&self.programs);
        if let Some(found) = programs.get(&code.key()) {
            return found.clone();
        }
        let made = ready().map(Arc::new);
        if made.as_ref().err().is_none_or(DeviceFault::is_refusal) {
            programs.insert(code.key(), made.clone());
        }
        made
    }

    /// The constants that a program counts, each copied to the device once. Of those that only other devices' programs read
    /// it has no bytes.
    pub(super) fn constants(
        &self,
        code: DeviceCode,
        program: &Program<'static>,
        copy: impl Fn(&'static [u8]) -> Result<Arc<M>, DeviceFault>,
    ) -> Result<Vec<Option<Arc<M>>>, DeviceFault> {
        let of = |(at, bytes): (usize, usize)| match code.constants().get(at) {
            Some(data) if data.len() == bytes => self.constant(data, &copy).map(Some),
            Some(_) if bytes == 0 => Ok(None),
            _ => Err(DeviceFault::Operands),
        };
        program.constants().enumerate().map(of).collect()
    }

    fn constant(
        &self,
        data: &'static [u8],
        copy: impl Fn(&'static [u8]) -> Result<Arc<M>, DeviceFault>,
    ) -> Result<Arc<M>, DeviceFault> {
        let mut constants = lock(&self.constants);
        let key = (data.as_ptr() as usize, data.len());
        if let Some(memory) = constants.get(&key) {
            return Ok(Arc::clone(memory));
        }
        let memory = copy(data)?;
        constants.insert(key, Arc::clone(&memory));
        Ok(memory)
    }
}

/// What a lock guards, also after a thread panicked while it held it: each change is one step.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
