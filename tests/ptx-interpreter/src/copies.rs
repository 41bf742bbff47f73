//! Copies that go on by themselves (`cp.async`). What they bring is in shared memory when the thread that began them has
//! waited; until then whoever looks there finds a fault.

use crate::fault::Result;
use crate::group::Group;
use crate::op::{Address, Source};
use crate::order::{Access, LANES, Who};
use crate::warp::{Warp, lanes};

/// Bytes of one copy, at most.
const MOST: usize = 16;

/// A copy that is on its way.
#[derive(Clone, Debug)]
struct Copy {
    lane: usize,
    /// Which of the thread's groups it belongs to.
    group: u32,
    to: u64,
    data: [u8; MOST],
    len: usize,
}

/// The copies of a warp's threads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies {
    pending: Vec<Copy>,
    /// By thread: how many groups it has closed.
    closed: [u32; LANES as usize],
}

/// A copy as the instruction says it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copying {
    pub(crate) to: Address,
    pub(crate) from: Address,
    pub(crate) len: usize,
    /// How many bytes are read; the others are zeros.
    pub(crate) read: Option<Source>,
}

impl Copies {
    /// What a thread has written stays its group's.
    pub(crate) fn commit(&mut self, active: u32) {
        lanes(active).for_each(|lane| self.closed[lane] += 1);
    }
}

impl Group<'_> {
    /// Begins copies.
    pub(crate) fn copy(&mut self, warp: &mut Warp, copying: &Copying, active: u32, line: u32) -> Result {
        let (to, from) = (self.addresses(warp, &copying.to, active)?, self.addresses(warp, &copying.from, active)?);
        let read = copying.read.map(|read| warp.read(self.launch.kernel, read, active)).transpose()?;
        for lane in lanes(active) {
            let Self { global, shared, order, .. } = &mut *self;
            let who = Who { order, thread: warp.number as u32 * LANES + lane as u32, line };
            let count = read.map_or(copying.len, |read| copying.len.min(read[lane] as usize));
            let mut data = [0; MOST];
            if count > 0 {
                let there =
                    global.at(from[lane], &who)?.read_part(from[lane], copying.len, count, &who, Access::Read)?;
                data[..count].copy_from_slice(there);
            }
            shared.expect(to[lane], copying.len, &who)?;
            let group = warp.copies.closed[lane];
            warp.copies.pending.push(Copy { lane, group, to: to[lane], data, len: copying.len });
        }
        Ok(())
    }

    /// Waits for all groups of copies of each thread but so many, or for all copies.
    pub(crate) fn wait_for_copies(&mut self, warp: &mut Warp, leaves: Option<u32>, active: u32, line: u32) -> Result {
        let Self { shared, order, .. } = &mut *self;
        let Copies { pending, closed } = &mut warp.copies;
        let is_done = |copy: &Copy| {
            let end = leaves.map_or(u32::MAX, |leaves| closed[copy.lane].saturating_sub(leaves));
            active >> copy.lane & 1 == 1 && copy.group < end
        };
        for copy in pending.iter().filter(|copy| is_done(copy)) {
            let who = Who { order, thread: warp.number as u32 * LANES + copy.lane as u32, line };
            shared.arrive(copy.to, &copy.data[..copy.len], &who)?;
        }
        pending.retain(|copy| !is_done(copy));
        Ok(())
    }
}
