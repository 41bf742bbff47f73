//! A call as a graph of the driver's: its launches are handed over once and started again by one call of the driver.
//!
//! Graphs are built node by node. Capture of a stream would take up what other threads submit to it meanwhile.

use std::{sync::Arc, vec::Vec};

use super::{
    Cuda,
    api::{GraphApi, Handle, KernelNode, graph_api},
    call::{self, Launch, Loaded, Ready},
    context::Context,
    memory::Memory,
};
use crate::{DeviceCode, DeviceFault, Operands, Status};

/// A graph that the driver has made ready to start, and what its kernels use.
///
/// The driver does not lock graphs: who starts this one has it alone.
pub struct Recording {
    context: Arc<Context>,
    /// None if the call has nothing to do.
    ready: Option<(&'static GraphApi, Handle)>,
    _loaded: Arc<Loaded>,
    _memory: Vec<Arc<Memory>>,
}

// SAFETY: the driver's handles may be used by any thread where the context is current.
unsafe impl Send for Recording {}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some((graphs, ready)) = self.ready {
            // SAFETY: nobody else has it. Where it is running the driver frees it once it is done, and its memory goes
            // back behind it in the stream.
            let _ = self.context.within("cuGraphExecDestroy", |_| unsafe { (graphs.destroy_exec)(ready) });
        }
    }
}

/// Records a call; or gives the status of a check that does not hold.
pub(super) fn record(
    device: &Cuda,
    code: DeviceCode,
    operands: &Operands<'_, Arc<Memory>>,
) -> Result<Result<Recording, Status>, DeviceFault> {
    let Ready { loaded, call } = match call::prepare(device, code, operands)? {
        Ok(ready) => ready,
        Err(status) => return Ok(Err(status)),
    };
    let ready = if call.starts.is_empty() {
        None
    } else {
        let mut graph = Graph::new(&device.context)?;
        for start in &call.starts {
            let waits = start.waits;
            graph.add(Launch::new(&loaded, &call.buffers, start)?, waits)?;
        }
        Some((graph.api, graph.instantiate()?))
    };
    let memory = call.buffers.into_iter().map(|bound| bound.memory).collect();
    Ok(Ok(Recording { context: Arc::clone(&device.context), ready, _loaded: loaded, _memory: memory }))
}

/// Starts a recorded call.
pub(super) fn replay(device: &Cuda, recording: &mut Recording) -> Result<(), DeviceFault> {
    let context = &device.context;
    match recording.ready {
        // SAFETY: the kernels take their arguments, as who made them has promised; what they use is held, and the
        // recording is borrowed alone.
        Some((graphs, ready)) => context.within("cuGraphLaunch", |_| unsafe { (graphs.launch)(ready, context.stream) }),
        None => context.alive(),
    }
}

/// A graph that is being built.
struct Graph<'c> {
    context: &'c Context,
    api: &'static GraphApi,
    raw: Handle,
    /// The launches before the last wait, which those behind it follow.
    before: Vec<Handle>,
    /// The launches behind it.
    since: Vec<Handle>,
}

impl<'c> Graph<'c> {
    fn new(context: &'c Context) -> Result<Self, DeviceFault> {
        let (api, mut raw) = (graph_api()?, core::ptr::null_mut());
        // SAFETY: the driver writes one handle.
        context.within("cuGraphCreate", |_| unsafe { (api.create)(&mut raw, 0) })?;
        Ok(Self { context, api, raw, before: Vec::new(), since: Vec::new() })
    }

    /// Adds a launch, behind all before it if it waits for them.
    fn add(&mut self, mut launch: Launch<'_>, waits: bool) -> Result<(), DeviceFault> {
        if waits {
            self.before = core::mem::take(&mut self.since);
        }
        let mut arguments = launch.arguments();
        let ((grid, block), shared) = (launch.sizes(), launch.start.shared as u32);
        let extra = core::ptr::null_mut();
        let node = KernelNode {
            function: launch.kernel.function,
            grid,
            block,
            shared,
            arguments: arguments.as_mut_ptr(),
            extra,
        };
        let (mut raw, before) = (core::ptr::null_mut(), &self.before);
        // SAFETY: the graph and the nodes before are there; the driver copies the arguments before it returns.
        let added = self.context.within("cuGraphAddKernelNode", |_| unsafe {
            (self.api.add_kernel)(&mut raw, self.raw, before.as_ptr(), before.len(), &node)
        });
        added.map_err(|why| launch.refused(why))?;
        self.since.push(raw);
        Ok(())
    }

    /// What the driver starts.
    fn instantiate(&self) -> Result<Handle, DeviceFault> {
        let mut ready = core::ptr::null_mut();
        // SAFETY: the graph is there; what is made of it does not need it.
        self.context
            .within("cuGraphInstantiate", |_| unsafe { (self.api.instantiate)(&mut ready, self.raw, 0) })
            .map(|()| ready)
    }
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        // SAFETY: nobody else has it.
        let _ = self.context.within("cuGraphDestroy", |_| unsafe { (self.api.destroy)(self.raw) });
    }
}
