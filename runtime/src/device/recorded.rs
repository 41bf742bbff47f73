//! Calls that were recorded, each with what it was called with: a call that is the same submits it again.
//!
//! Who calls shows each tensor anew, so the rules of borrowing hold for a call that is submitted again as for any other;
//! and what a recording names is compared with it, so none is ever submitted for other tensors.

use std::{
    sync::{Mutex, PoisonError},
    vec::Vec,
};

use super::{Device, DeviceCode, Operands, ScalarBits};
use crate::{Error, Status};

/// Recordings that are kept: enough for tensors that take turns.
const KEPT: usize = 4;

/// The recordings of a function, that which was used last at the end.
pub(super) struct Recordings<D: Device>(Mutex<Vec<Recorded<D>>>);

impl<D: Device> Default for Recordings<D> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<D: Device> Recordings<D> {
    /// Submits what was recorded of this call, which is recorded first if it is new.
    ///
    /// # Safety
    ///
    /// That of [`Device`]'s `run`.
    ///
    /// # Errors
    ///
    /// The device cannot run it, or has failed.
    #[allow(unsafe_code, reason = "types do not say what a program writes")]
    pub(super) unsafe fn run(
        &self,
        device: &D,
        code: DeviceCode,
        operands: &Operands<'_, D::Memory>,
    ) -> Result<Status, Error> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut recorded = match all.iter().position(|it| it.call.is(code, operands)) {
            Some(at) => all.remove(at),
            None => match device.record(code, operands)? {
                Ok(work) => Recorded { call: Call::of(code, operands), work },
                Err(status) => return Ok(status),
            },
        };
        if all.len() == KEPT {
            all.remove(0);
        }
        // SAFETY: the caller's, since the operands are those that were recorded.
        let submitted = unsafe { device.replay(&mut recorded.work) };
        all.push(recorded);
        submitted.map(|()| Status::OK)
    }
}

struct Recorded<D: Device> {
    call: Call<D::Memory>,
    work: D::Recording,
}

/// What a call was given. It holds the memory, so that no other can lie in its place.
struct Call<M> {
    code: (usize, usize),
    params: Vec<(M, usize)>,
    results: Vec<(M, usize)>,
    scalars: Vec<ScalarBits>,
    dims: Vec<i64>,
}

impl<M: Clone + PartialEq> Call<M> {
    fn of(code: DeviceCode, operands: &Operands<'_, M>) -> Self {
        let held = |all: &[(&M, usize)]| all.iter().map(|(memory, bytes)| ((*memory).clone(), *bytes)).collect();
        Self {
            code: code.key(),
            params: held(operands.params),
            results: held(operands.results),
            scalars: operands.scalars.into(),
            dims: operands.dims.into(),
        }
    }

    /// Whether another call is given the same.
    fn is(&self, code: DeviceCode, operands: &Operands<'_, M>) -> bool {
        let same = |held: &[(M, usize)], all: &[(&M, usize)]| {
            held.len() == all.len() && held.iter().zip(all).all(|(held, it)| held.0 == *it.0 && held.1 == it.1)
        };
        self.code == code.key()
            && self.scalars == operands.scalars
            && self.dims == operands.dims
            && same(&self.params, operands.params)
            && same(&self.results, operands.results)
    }
}
