//! Elements to the device and back.

use core::marker::PhantomData;
use core::mem::size_of_val;
use std::sync::Arc;

use ash::vk;

use super::{Vulkan, VulkanBuffer, memory::Memory, queue::Kept, shared::Shared};
use crate::{DeviceFault, Element, device::make_valid};

/// Copies elements to the device.
pub(super) fn upload<T: Element>(device: &Vulkan, data: &[T]) -> Result<VulkanBuffer<T>, DeviceFault> {
    let memory = upload_bytes(&device.shared, bytes_of(data))?;
    Ok(VulkanBuffer { memory, len: data.len(), elements: PhantomData })
}

fn bytes_of<T: Element>(data: &[T]) -> &[u8] {
    // SAFETY: elements are plain numbers without padding, so each of their bytes can be read.
    unsafe { core::slice::from_raw_parts(data.as_ptr().cast::<u8>(), size_of_val(data)) }
}

/// Copies elements in the place of others, behind what was submitted before.
pub(super) fn write<T: Element>(device: &Vulkan, to: &mut VulkanBuffer<T>, data: &[T]) -> Result<(), DeviceFault> {
    let shared = &device.shared;
    check(shared, to, data.len())?;
    if to.memory.is_visible() && shared.is_done(to.memory.ticket())? {
        // SAFETY: the caller has the tensor alone, and no submission that names its memory is on its way.
        return unsafe { to.memory.overwrite(bytes_of(data)) };
    }
    let mut staging = Memory::new(shared, size_of_val(data) as u64, true)?;
    staging.write(bytes_of(data))?;
    copy(shared, &Arc::new(staging), &to.memory, size_of_val(data))
}

/// That a buffer is the device's, and as long as it should be.
fn check<T>(shared: &Arc<Shared>, buffer: &VulkanBuffer<T>, len: usize) -> Result<(), DeviceFault> {
    shared.alive()?;
    match buffer.memory.is_of(shared) {
        false => Err(DeviceFault::OtherDevice),
        true if buffer.len != len => Err(DeviceFault::Operands),
        true => Ok(()),
    }
}

/// So many elements whose every bit is 0.
pub(super) fn zeros<T: Element>(device: &Vulkan, len: usize) -> Result<VulkanBuffer<T>, DeviceFault> {
    let bytes = (len as u64).checked_mul(size_of::<T>() as u64);
    let bytes = bytes.ok_or(DeviceFault::OutOfMemory { bytes: u64::MAX })?;
    let mut memory = Memory::new(&device.shared, bytes, false)?;
    if memory.is_visible() {
        memory.clear()?;
        return Ok(VulkanBuffer { memory: Arc::new(memory), len, elements: PhantomData });
    }
    let memory = Arc::new(memory);
    let (buffer, all) = (memory.buffer(), memory.bytes());
    let kept = Kept { memory: [Arc::clone(&memory)].into(), ..Kept::default() };
    device.shared.submit(kept, |device, command| {
        // SAFETY: the buffer is kept until the commands are done.
        unsafe { device.cmd_fill_buffer(command, buffer, 0, all, 0) };
    })?;
    Ok(VulkanBuffer { memory, len, elements: PhantomData })
}

/// Copies elements from the device, once all work on them is done.
pub(super) fn download<T: Element>(device: &Vulkan, from: &VulkanBuffer<T>, data: &mut [T]) -> Result<(), DeviceFault> {
    check(&device.shared, from, data.len())?;
    let len = size_of_val(data);
    // SAFETY: elements are plain numbers without padding; below, bytes become none that an element cannot have, and
    // where the copy fails the elements are as they were.
    let bytes = unsafe { core::slice::from_raw_parts_mut(data.as_mut_ptr().cast::<u8>(), len) };
    download_bytes(&device.shared, &from.memory, bytes)?;
    make_valid(T::DTYPE, bytes);
    Ok(())
}

/// Begins to copy elements to where the processor reaches them.
pub(super) fn fetch<T: Element>(device: &Vulkan, from: &VulkanBuffer<T>) -> Result<VulkanBuffer<T>, DeviceFault> {
    check(&device.shared, from, from.len)?;
    let bytes = from.len * size_of::<T>();
    let staging = Arc::new(Memory::new(&device.shared, bytes as u64, true)?);
    copy(&device.shared, &from.memory, &staging, bytes)?;
    Ok(VulkanBuffer { memory: staging, len: from.len, elements: PhantomData })
}

/// Copies bytes into new memory of the device.
pub(super) fn upload_bytes(shared: &Arc<Shared>, bytes: &[u8]) -> Result<Arc<Memory>, DeviceFault> {
    let mut memory = Memory::new(shared, bytes.len() as u64, false)?;
    if memory.is_visible() {
        memory.write(bytes)?;
        return Ok(Arc::new(memory));
    }
    let mut staging = Memory::new(shared, bytes.len() as u64, true)?;
    staging.write(bytes)?;
    let memory = Arc::new(memory);
    copy(shared, &Arc::new(staging), &memory, bytes.len())?;
    Ok(memory)
}

fn download_bytes(shared: &Arc<Shared>, from: &Arc<Memory>, bytes: &mut [u8]) -> Result<(), DeviceFault> {
    if from.is_visible() {
        return from.read(bytes);
    }
    let staging = Arc::new(Memory::new(shared, bytes.len() as u64, true)?);
    copy(shared, from, &staging, bytes.len())?;
    staging.read(bytes)
}

fn copy(shared: &Arc<Shared>, from: &Arc<Memory>, to: &Arc<Memory>, bytes: usize) -> Result<(), DeviceFault> {
    if bytes == 0 {
        return Ok(());
    }
    let (source, target) = (from.buffer(), to.buffer());
    let kept = Kept { memory: [Arc::clone(from), Arc::clone(to)].into(), ..Kept::default() };
    let region = [vk::BufferCopy::default().size(bytes as u64)];
    shared.submit(kept, |device, command| {
        // SAFETY: both buffers are kept until the commands are done, and have as many bytes.
        unsafe { device.cmd_copy_buffer(command, source, target, &region) };
    })?;
    Ok(())
}
