//! Memory: how long it is, which of its bytes were written, and who used them.

use crate::fault::{Result, wrong};
use crate::order::{Access, Cell, LANES, Made, Who};

/// What is known of a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Byte {
    /// Nobody wrote it.
    Unknown,
    Known,
    /// A copy that was not waited for is writing it.
    Arriving,
}

/// What is found where nothing was written, so that it does not pass for a number that was meant.
const GARBAGE: u8 = 0xA5;

/// What is read at once, at most; memory comes in multiples of it.
const ATOM: usize = 16;

/// Bytes that were read, the first of these.
pub(crate) struct Looked {
    pub(crate) bytes: [u8; ATOM],
    pub(crate) unknown: [bool; ATOM],
    /// Why some of them are not known.
    pub(crate) why: Option<String>,
}

/// That an access begins at a multiple of its length.
fn aligned(at: u64, len: usize, who: &Who<'_>, verb: &str) -> Result {
    if at.is_multiple_of(len as u64) {
        return Ok(());
    }
    wrong(who.thread % LANES, format!("{verb} {len} bytes at {at:#x}, which is no multiple of {len}"))
}

/// A piece of memory.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub(crate) base: u64,
    /// What it is called in texts.
    name: &'static str,
    bytes: Vec<u8>,
    state: Vec<Byte>,
    /// Accesses to each four bytes, where they are looked at.
    cells: Vec<Cell>,
}

impl Region {
    pub(crate) fn new(name: &'static str, base: u64, len: usize) -> Self {
        Self { base, name, bytes: vec![GARBAGE; len], state: vec![Byte::Unknown; len], cells: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets who used it: what comes next comes behind everything.
    pub(crate) fn begin(&mut self) {
        self.cells.clear();
    }

    /// Whether an address lies in it, or right behind it where it is empty.
    pub(crate) fn holds(&self, at: u64) -> bool {
        at >= self.base && at - self.base < self.len().max(1) as u64
    }

    /// Writes what the host has.
    pub(crate) fn put(&mut self, offset: usize, data: &[u8]) -> std::result::Result<(), String> {
        let to = self.bytes.get_mut(offset..offset + data.len());
        to.ok_or("bytes behind the end of a buffer are written by the host")?.copy_from_slice(data);
        self.state[offset..offset + data.len()].fill(Byte::Known);
        Ok(())
    }

    /// What the host reads.
    pub(crate) fn get(&self, offset: usize, len: usize) -> std::result::Result<&[u8], String> {
        let bytes =
            self.bytes.get(offset..offset + len).ok_or("bytes behind the end of a buffer are read by the host")?;
        let unknown = self.state[offset..offset + len].iter().position(|state| *state != Byte::Known);
        unknown
            .map_or(Ok(bytes), |at| Err(format!("the host reads byte {} of a buffer, which nobody wrote", offset + at)))
    }

    fn beyond(&self, at: u64, len: usize, verb: &str) -> String {
        format!("{verb} {len} bytes at {at:#x} of {} with {} bytes at {:#x}", self.name, self.len(), self.base)
    }

    /// Where an access of so many bytes begins, if all lies here.
    fn inside(&self, at: u64, len: usize, who: &Who<'_>, verb: &str) -> Result<usize> {
        let offset = at.checked_sub(self.base).filter(|offset| *offset + len as u64 <= self.len() as u64);
        offset.map_or_else(|| wrong(who.thread % LANES, self.beyond(at, len, verb)), |offset| Ok(offset as usize))
    }

    /// The same of an access that has to be aligned.
    fn place(&self, at: u64, len: usize, who: &Who<'_>, verb: &str) -> Result<usize> {
        aligned(at, len, who, verb)?;
        self.inside(at, len, who, verb)
    }

    /// Looks who else uses bytes, and notes who does now.
    fn touch(&mut self, offset: usize, len: usize, who: &Who<'_>, access: Access, checked: bool) -> Result {
        if self.cells.is_empty() {
            self.cells = vec![Cell::default(); self.len().div_ceil(4)];
        }
        let mut at = offset;
        while at < offset + len {
            let end = (at / 4 * 4 + 4).min(offset + len);
            let bytes = (at..end).fold(0, |mask, byte| mask | 1 << (byte % 4));
            let cell = &mut self.cells[at / 4];
            let made = if checked {
                cell.touch(who, access, bytes)
            } else {
                cell.note(who, access, bytes);
                None
            };
            if let Some(made) = made {
                return wrong(who.thread % LANES, self.race(at, who, access, &made));
            }
            at = end;
        }
        Ok(())
    }

    fn race(&self, offset: usize, who: &Who<'_>, access: Access, made: &Made) -> String {
        let verb = |access| match access {
            Access::Read => "reads",
            Access::ReadConstant => "reads, as what no thread writes,",
            Access::Write => "writes",
        };
        let (at, name) = (self.base + offset as u64, self.name);
        let by = if made.group == who.made(access, 0).group { "the group" } else { "another group" };
        let (thread, line, then) = (made.thread, made.line, verb(made.access));
        let other = match who.order.copies(thread) {
            true => format!("the copy of a box in line {line} {then}"),
            false => format!("thread {thread} of {by} {then} in line {line}"),
        };
        format!("a race: {} {name} at {at:#x}, which {other}", verb(access))
    }

    fn known(&self, offset: usize, len: usize, who: &Who<'_>, verb: &str) -> Result {
        let Some(at) = self.state[offset..offset + len].iter().position(|byte| *byte != Byte::Known) else {
            return Ok(());
        };
        let (address, name) = (self.base + (offset + at) as u64, self.name);
        let what = match self.state[offset + at] {
            Byte::Arriving => "that a copy is still writing",
            _ => "that nobody has written",
        };
        wrong(who.thread % LANES, format!("{verb} a byte of {name} at {address:#x} {what}"))
    }

    /// Reads bytes, all of which have to be known.
    pub(crate) fn read(&mut self, at: u64, len: usize, who: &Who<'_>, access: Access) -> Result<&[u8]> {
        self.read_part(at, len, len, who, access)
    }

    /// Reads the first of so many bytes, which are aligned all together.
    pub(crate) fn read_part(
        &mut self,
        at: u64,
        len: usize,
        read: usize,
        who: &Who<'_>,
        access: Access,
    ) -> Result<&[u8]> {
        aligned(at, len, who, "reads")?;
        let offset = self.inside(at, read, who, "reads")?;
        self.known(offset, read, who, "reads")?;
        self.touch(offset, read, who, access, true)?;
        Ok(&self.bytes[offset..offset + read])
    }

    /// Reads bytes, of which some may not be known: what nobody wrote, what another thread may be writing, and what lies
    /// behind the end where the beginning does not, since memory comes in pieces of at least 16 bytes.
    pub(crate) fn look(&mut self, at: u64, len: usize, who: &Who<'_>, access: Option<Access>) -> Result<Looked> {
        let behind = (self.base + self.len() as u64).saturating_sub(at) as usize;
        let inside = if self.holds(at) && len <= ATOM { len.min(behind) } else { len };
        aligned(at, len, who, "reads")?;
        let offset = self.inside(at, inside, who, "reads")?;
        let mut looked = Looked { bytes: [GARBAGE; ATOM], unknown: [true; ATOM], why: None };
        looked.bytes[..inside].copy_from_slice(&self.bytes[offset..offset + inside]);
        let mut from = 0;
        while from < inside {
            let end = ((offset + from) / 4 * 4 + 4 - offset).min(inside);
            let (here, count) = (offset + from, end - from);
            let known = self.known(here, count, who, "reads");
            let raced = access.map_or(Ok(()), |access| self.touch(here, count, who, access, true));
            for n in from..end {
                looked.unknown[n] = raced.is_err() || self.state[offset + n] != Byte::Known;
            }
            looked.why = looked.why.or(known.and(raced).err().map(|wrong| wrong.what));
            from = end;
        }
        if inside < len {
            looked.why = looked.why.or(Some(self.beyond(at, len, "reads")));
        }
        Ok(looked)
    }

    /// Reads parameters, of a block that begins at 0.
    pub(crate) fn parameter(&self, at: u64, len: usize, who: &Who<'_>) -> Result<Looked> {
        let offset = self.place(at, len, who, "reads")?;
        let mut looked = Looked { bytes: [GARBAGE; ATOM], unknown: [false; ATOM], why: None };
        looked.bytes[..len].copy_from_slice(&self.bytes[offset..offset + len]);
        Ok(looked)
    }

    /// Writes bytes. One who writes what is there already does nobody harm.
    pub(crate) fn write(&mut self, at: u64, data: &[u8], who: &Who<'_>, access: Access) -> Result {
        let offset = self.place(at, data.len(), who, "writes")?;
        let range = offset..offset + data.len();
        if self.state[range.clone()].contains(&Byte::Arriving) {
            return self.known(offset, data.len(), who, "writes");
        }
        let same = self.bytes[range.clone()] == *data && !self.state[range.clone()].contains(&Byte::Unknown);
        self.touch(offset, data.len(), who, access, !same)?;
        self.bytes[range.clone()].copy_from_slice(data);
        self.state[range].fill(Byte::Known);
        Ok(())
    }

    /// Writes bytes of memory that is the thread's own, of which some may not be known.
    pub(crate) fn write_own(&mut self, at: u64, data: &[u8], unknown: u64, who: &Who<'_>) -> Result {
        let offset = self.place(at, data.len(), who, "writes")?;
        for (n, byte) in data.iter().enumerate() {
            self.bytes[offset + n] = *byte;
            self.state[offset + n] = if unknown >> n & 1 == 1 { Byte::Unknown } else { Byte::Known };
        }
        Ok(())
    }

    /// A copy begins to write bytes, which the thread will wait for.
    pub(crate) fn expect(&mut self, at: u64, len: usize, who: &Who<'_>) -> Result {
        let offset = self.place(at, len, who, "copies")?;
        self.touch(offset, len, who, Access::Write, true)?;
        self.await_copy(at, len, who)
    }

    /// A copy begins to write bytes, which others will wait for.
    pub(crate) fn await_copy(&mut self, at: u64, len: usize, who: &Who<'_>) -> Result {
        let offset = self.place(at, len, who, "copies")?;
        if self.state[offset..offset + len].contains(&Byte::Arriving) {
            return self.known(offset, len, who, "copies to");
        }
        for cell in offset / 4..(offset + len).div_ceil(4) {
            let made = self.cells.get(cell).and_then(|cell| cell.conflict(who, Access::Write, 15));
            if let Some(made) = made {
                return wrong(who.thread % LANES, self.race(4 * cell, who, Access::Write, &made));
            }
        }
        self.bytes[offset..offset + len].fill(GARBAGE);
        self.state[offset..offset + len].fill(Byte::Arriving);
        Ok(())
    }

    /// What a copy brings is there.
    pub(crate) fn arrive(&mut self, at: u64, data: &[u8], who: &Who<'_>) -> Result {
        let offset = self.place(at, data.len(), who, "copies")?;
        self.touch(offset, data.len(), who, Access::Write, false)?;
        self.bytes[offset..offset + data.len()].copy_from_slice(data);
        self.state[offset..offset + data.len()].fill(Byte::Known);
        Ok(())
    }

    /// Who wrote bytes last.
    pub(crate) fn writer(&self, at: u64) -> Option<Made> {
        let offset = at.checked_sub(self.base)? as usize;
        self.cells.get(offset / 4)?.writer(1 << (offset % 4))
    }
}

/// Where buffers begin, and what lies between them and belongs to nobody.
const FIRST: u64 = 0x7F00_0000_0000;
const GAP: u64 = 4096;

/// The memory of a device: buffers that the host asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Global {
    /// By address.
    regions: Vec<Region>,
    end: u64,
    /// The buffer that was used last.
    last: usize,
}

impl Global {
    /// A buffer of so many bytes.
    pub(crate) fn allocate(&mut self, bytes: usize) -> u64 {
        let base = self.end.max(FIRST);
        self.end = (base + bytes as u64).next_multiple_of(256) + GAP;
        self.regions.push(Region::new("a buffer", base, bytes));
        base
    }

    /// Whether there was such a buffer.
    pub(crate) fn free(&mut self, base: u64) -> bool {
        let before = self.regions.len();
        self.regions.retain(|region| region.base != base);
        self.last = 0;
        self.regions.len() < before
    }

    /// The buffer in which an address lies, or the one before it.
    pub(crate) fn region(&mut self, at: u64) -> Option<&mut Region> {
        if !self.regions.get(self.last).is_some_and(|region| region.holds(at)) {
            self.last = self.regions.partition_point(|region| region.base <= at).checked_sub(1)?;
        }
        self.regions.get_mut(self.last)
    }

    /// The buffer of an access of the device.
    pub(crate) fn at(&mut self, at: u64, who: &Who<'_>) -> Result<&mut Region> {
        let lane = who.thread % LANES;
        self.region(at).map_or_else(|| wrong(lane, format!("there is no memory at {at:#x}")), Ok)
    }

    /// A launch begins, behind those before it.
    pub(crate) fn begin(&mut self) {
        self.regions.iter_mut().for_each(Region::begin);
    }
}
