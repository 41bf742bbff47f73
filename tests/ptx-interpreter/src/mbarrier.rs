//! Barriers in shared memory (`mbarrier`), at which threads arrive and copies tell how many bytes have come.

use std::collections::BTreeMap;

use crate::fault::{Result, wrong};
use crate::group::Group;
use crate::op::{Address, Register, Source};
use crate::order::{Access, LANES, Order, Released, Who};
use crate::warp::{Warp, lanes};

/// Bytes of one.
const BYTES: usize = 8;

/// Arrivals that one can wait for, and bytes.
const COUNTS: std::ops::RangeInclusive<u64> = 1..=(1 << 20) - 1;
const MOST_BYTES: i64 = (1 << 20) - 1;

/// A barrier.
#[derive(Clone, Debug)]
struct Mbarrier {
    /// Arrivals of each phase, and those that this one still waits for.
    arrivals: u64,
    left: u64,
    /// Bytes that have yet to come.
    bytes: i64,
    /// How many phases are over.
    over: u64,
    /// What those who arrived have done: in this phase, and up to the end of the last one.
    told: Released,
    before: Released,
}

/// The barriers of a group, by their addresses.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mbarriers(BTreeMap<u64, Mbarrier>);

/// What an instruction does with a barrier.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    /// So many threads arrive in each phase.
    Init(Source),
    /// Nobody uses it any more.
    End,
    Arrive,
    /// So many bytes are to come, before a thread arrives.
    ArriveExpect(Source),
    /// Whether the phase of this parity is over.
    Test {
        parity: Source,
        to: Register,
    },
}

impl Mbarrier {
    /// Goes on to the next phase where nothing is left of this one.
    fn settle(&mut self) {
        if self.left == 0 && self.bytes == 0 {
            self.over += 1;
            self.left = self.arrivals;
            self.before = self.told.clone();
        }
    }
}

impl Mbarriers {
    fn get(&mut self, at: u64, lane: u32) -> Result<&mut Mbarrier> {
        self.0.get_mut(&at).map_or_else(|| wrong(lane, format!("there is no mbarrier at {at:#x}")), Ok)
    }

    /// Which of the barriers one is.
    pub(crate) fn number(&self, at: u64) -> usize {
        self.0.keys().position(|known| *known == at).unwrap_or(0)
    }

    /// Bytes that a copy was to bring have come, which the order says of `who`.
    pub(crate) fn came(&mut self, at: u64, bytes: usize, order: &mut Order, who: usize) -> Result {
        let barrier = self.get(at, 0)?;
        barrier.bytes -= bytes as i64;
        order.release(who, &mut barrier.told);
        if barrier.bytes < -MOST_BYTES {
            return wrong(0, "more bytes come than an mbarrier can count");
        }
        barrier.settle();
        Ok(())
    }
}

impl Group<'_> {
    /// Does something with the barriers that threads name.
    pub(crate) fn mbarrier(&mut self, warp: &mut Warp, act: &Act, at: &Address, active: u32, line: u32) -> Result {
        let at = self.addresses(warp, at, active)?;
        let kernel = self.launch.kernel;
        let number = match act {
            Act::Init(n) | Act::ArriveExpect(n) | Act::Test { parity: n, .. } => warp.read(kernel, *n, active)?,
            Act::End | Act::Arrive => [0; LANES as usize],
        };
        let mut found = [0; LANES as usize];
        for lane in lanes(active) {
            let (at, thread) = (at[lane], warp.number as u32 * LANES + lane as u32);
            let Self { shared, order, mbarriers, .. } = &mut *self;
            let who = Who { order, thread, line };
            match act {
                Act::Init(_) => {
                    shared.write(at, &[0xB5; BYTES], &who, Access::Write)?;
                    if !COUNTS.contains(&number[lane]) {
                        return wrong(lane as u32, format!("an mbarrier for {} arrivals", number[lane]));
                    }
                    mbarriers.begin(at, number[lane]);
                }
                Act::End => {
                    shared.write(at, &[0; BYTES], &who, Access::Write)?;
                    mbarriers.get(at, lane as u32)?;
                    mbarriers.0.remove(&at);
                }
                Act::Arrive | Act::ArriveExpect(_) => {
                    shared.read(at, BYTES, &who, Access::Read)?;
                    let barrier = mbarriers.get(at, lane as u32)?;
                    barrier.bytes += number[lane] as i64;
                    if barrier.left == 0 || barrier.bytes > MOST_BYTES {
                        return wrong(
                            lane as u32,
                            "arrives at an mbarrier at which all have arrived, or that counts no more",
                        );
                    }
                    barrier.left -= 1;
                    order.release(warp.number, &mut barrier.told);
                    barrier.settle();
                }
                Act::Test { .. } => {
                    shared.read(at, BYTES, &who, Access::Read)?;
                    let barrier = mbarriers.get(at, lane as u32)?;
                    // The phase of the other parity is the one that runs, so that this one is over.
                    let over = barrier.over & 1 != number[lane] & 1;
                    found[lane] = u64::from(over);
                    warp.yields |= !over;
                    if over {
                        order.acquire(warp.number, &barrier.before);
                    }
                }
            }
        }
        if let Act::Test { to, .. } = act {
            warp.write(*to, active, &found);
        }
        Ok(())
    }
}

impl Mbarriers {
    fn begin(&mut self, at: u64, arrivals: u64) {
        let (told, before) = (Released::default(), Released::default());
        self.0.insert(at, Mbarrier { arrivals, left: arrivals, bytes: 0, over: 0, told, before });
    }
}
