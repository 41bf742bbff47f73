//! Memory of a device, and what is kept of it for the next who needs as much.

use core::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ash::vk;

use super::shared::Shared;
use crate::{DeviceFault, device::store::lock};

/// What is kept for later, at most.
const KEPT: u64 = 256 << 20;

/// A buffer and the memory that belongs to it alone.
pub(super) struct Block {
    pub(super) buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    /// Where the processor sees it, if it does.
    mapped: Option<NonNull<u8>>,
    pub(super) bytes: u64,
    visible: bool,
}

// SAFETY: `mapped` is an address in memory that belongs to this block, which any thread may use.
unsafe impl Send for Block {}
// SAFETY: nothing behind `&Block` reads or writes what `mapped` points to; `Memory` says when that is done.
unsafe impl Sync for Block {}

impl Block {
    /// # Safety
    ///
    /// No submission that names the block is on its way.
    pub(super) unsafe fn free(self, device: &ash::Device) {
        // SAFETY: as the caller says; memory that is freed is unmapped.
        unsafe {
            device.destroy_buffer(self.buffer, None);
            device.free_memory(self.memory, None);
        }
    }
}

/// Memory of a device. It goes back when nobody holds it, tensors and submissions alike.
pub struct Memory {
    shared: Arc<Shared>,
    /// There is one until it is dropped.
    block: Option<Block>,
    /// The last submission that names it.
    ticket: AtomicU64,
}

impl Memory {
    /// So many bytes, at least; `visible` to the processor, or as close to the device as there is.
    pub(super) fn new(shared: &Arc<Shared>, bytes: u64, visible: bool) -> Result<Self, DeviceFault> {
        shared.alive()?;
        let no_memory = DeviceFault::OutOfMemory { bytes };
        let bytes = class(bytes).filter(|bytes| *bytes <= shared.limits.allocation).ok_or(no_memory)?;
        let kept = lock(&shared.spare).get_mut(&(bytes, visible)).and_then(std::vec::Vec::pop);
        let block = match kept {
            Some(block) => block,
            None => allocate(shared, bytes, visible).or_else(|why| match why {
                // What is kept, and what done work still holds, may be what is missing.
                DeviceFault::OutOfMemory { .. } => {
                    shared.wait_for_all()?;
                    forget(shared);
                    allocate(shared, bytes, visible)
                }
                why => Err(why),
            })?,
        };
        Ok(Self { shared: Arc::clone(shared), block: Some(block), ticket: AtomicU64::new(0) })
    }

    pub(super) fn is_of(&self, shared: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.shared, shared)
    }

    pub(super) fn buffer(&self) -> vk::Buffer {
        self.block.as_ref().map_or(vk::Buffer::null(), |block| block.buffer)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.block.as_ref().map_or(0, |block| block.bytes)
    }

    /// The last submission that names it.
    pub(super) fn ticket(&self) -> u64 {
        self.ticket.load(Ordering::Acquire)
    }

    pub(super) fn used_by(&self, ticket: u64) {
        self.ticket.fetch_max(ticket, Ordering::AcqRel);
    }

    /// Whether the processor reaches it.
    pub(super) fn is_visible(&self) -> bool {
        self.block.as_ref().is_some_and(|block| block.mapped.is_some())
    }

    /// Copies bytes into memory that nobody else holds and no submission names.
    pub(super) fn write(&mut self, data: &[u8]) -> Result<(), DeviceFault> {
        // SAFETY: `&mut self` keeps others away, and what is new was submitted nowhere.
        unsafe { self.overwrite(data) }
    }

    /// Copies bytes into it.
    ///
    /// # Safety
    ///
    /// Nobody else reads or writes it, and no submission that names it is on its way.
    pub(super) unsafe fn overwrite(&self, data: &[u8]) -> Result<(), DeviceFault> {
        let (at, bytes) = self.mapped()?;
        if data.len() as u64 > bytes {
            return Err(DeviceFault::Operands);
        }
        // SAFETY: there are so many bytes at `at`, and they are the caller's alone.
        unsafe { core::ptr::copy_nonoverlapping(data.as_ptr(), at.as_ptr(), data.len()) };
        Ok(())
    }

    /// Zeros memory that nobody else holds and no submission names.
    pub(super) fn clear(&mut self) -> Result<(), DeviceFault> {
        let (at, bytes) = self.mapped()?;
        // SAFETY: as for `write`.
        unsafe { core::ptr::write_bytes(at.as_ptr(), 0, bytes as usize) };
        Ok(())
    }

    /// Copies bytes out of it once no submission that names it is on its way.
    pub(super) fn read(&self, data: &mut [u8]) -> Result<(), DeviceFault> {
        let (at, bytes) = self.mapped()?;
        if data.len() as u64 > bytes {
            return Err(DeviceFault::Operands);
        }
        self.shared.wait(self.ticket())?;
        // SAFETY: there are so many bytes at `at`. Who submits work that writes it borrows its tensor mutably, and this
        // one is borrowed; all such work before was waited for.
        unsafe { core::ptr::copy_nonoverlapping(at.as_ptr(), data.as_mut_ptr(), data.len()) };
        Ok(())
    }

    fn mapped(&self) -> Result<(NonNull<u8>, u64), DeviceFault> {
        let block = self.block.as_ref().and_then(|block| Some((block.mapped?, block.bytes)));
        block.ok_or(DeviceFault::Operands)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // A submission that names it holds it, so none is on its way.
        let Some(block) = self.block.take() else { return };
        let mut spare = lock(&self.shared.spare);
        let kept: u64 = spare.iter().map(|((bytes, _), blocks)| bytes * blocks.len() as u64).sum();
        if kept.saturating_add(block.bytes) <= KEPT {
            spare.entry((block.bytes, block.visible)).or_default().push(block);
        } else {
            // SAFETY: as above.
            unsafe { block.free(&self.shared.raw) };
        }
    }
}

/// Memory is the same if it lies in the same place; its elements say nothing.
impl PartialEq for Memory {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self, other)
    }
}

impl core::fmt::Debug for Memory {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Memory({} bytes)", self.bytes())
    }
}

/// How much is taken for so many bytes: few different sizes, so that what is kept is of use. None if it is too much.
fn class(bytes: u64) -> Option<u64> {
    const WHOLE: u64 = 1 << 20;
    if bytes <= WHOLE { Some(bytes.next_power_of_two().max(256)) } else { bytes.checked_next_multiple_of(WHOLE) }
}

/// Gives back what is kept.
fn forget(shared: &Shared) {
    for block in lock(&shared.spare).drain().flat_map(|(_, blocks)| blocks) {
        // SAFETY: what is kept was dropped, and submissions hold what they name.
        unsafe { block.free(&shared.raw) };
    }
}

fn allocate(shared: &Shared, bytes: u64, visible: bool) -> Result<Block, DeviceFault> {
    let usage =
        vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
    let info = vk::BufferCreateInfo::default().size(bytes).usage(usage);
    let fault = |call, code| match shared.fault(call, code) {
        DeviceFault::OutOfMemory { .. } => DeviceFault::OutOfMemory { bytes },
        why => why,
    };
    // SAFETY: the device lives.
    let buffer = unsafe { shared.raw.create_buffer(&info, None) }.map_err(|code| fault("vkCreateBuffer", code))?;
    let memory = back(shared, buffer, visible).map_err(|code| fault("vkAllocateMemory", code));
    match memory {
        Ok((memory, mapped)) => Ok(Block { buffer, memory, mapped, bytes, visible }),
        Err(why) => {
            // SAFETY: the buffer was just made, and nobody has seen it.
            unsafe { shared.raw.destroy_buffer(buffer, None) };
            Err(why)
        }
    }
}

/// Memory behind a buffer, and where the processor sees it.
fn back(
    shared: &Shared,
    buffer: vk::Buffer,
    visible: bool,
) -> Result<(vk::DeviceMemory, Option<NonNull<u8>>), vk::Result> {
    // SAFETY: the device and the buffer live; memory is freed again where it cannot be used.
    unsafe {
        let needs = shared.raw.get_buffer_memory_requirements(buffer);
        let kind = kind_of(shared, needs.memory_type_bits, visible).ok_or(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY)?;
        let info = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(kind);
        let memory = shared.raw.allocate_memory(&info, None)?;
        let bound = shared.raw.bind_buffer_memory(buffer, memory, 0).and_then(|()| {
            let flags = shared.memories.memory_types[kind as usize].property_flags;
            if !flags.contains(VISIBLE) {
                return Ok(None);
            }
            let at = shared.raw.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())?;
            Ok(NonNull::new(at.cast::<u8>()))
        });
        bound.map(|mapped| (memory, mapped)).inspect_err(|_| shared.raw.free_memory(memory, None))
    }
}

const VISIBLE: vk::MemoryPropertyFlags = vk::MemoryPropertyFlags::from_raw(
    vk::MemoryPropertyFlags::HOST_VISIBLE.as_raw() | vk::MemoryPropertyFlags::HOST_COHERENT.as_raw(),
);

/// The kind of memory to take of those that a buffer allows.
fn kind_of(shared: &Shared, allowed: u32, visible: bool) -> Option<u32> {
    let own = vk::MemoryPropertyFlags::DEVICE_LOCAL;
    // A discrete GPU has little memory of its own that the processor sees: it is left to others.
    let wanted = match (visible, shared.info.kind) {
        (true, _) => [VISIBLE, VISIBLE, VISIBLE],
        (false, "discrete") => [own, own, vk::MemoryPropertyFlags::empty()],
        (false, _) => [own | VISIBLE, own, vk::MemoryPropertyFlags::empty()],
    };
    wanted.into_iter().find_map(|wanted| {
        let kinds = shared.memories.memory_types_as_slice().iter().enumerate();
        let fits =
            |(at, kind): &(usize, &vk::MemoryType)| allowed >> at & 1 == 1 && kind.property_flags.contains(wanted);
        kinds.into_iter().find(fits).map(|(at, _)| at as u32)
    })
}
