//! What is ordered before what, so that races are found however warps happen to take turns.

/// Threads of a warp.
pub(crate) const LANES: u32 = 32;

/// Who copies for each of so many mbarriers, beside the warps: what one has brought is seen by who waited there.
const ENGINES: usize = 16;

/// The order of one group: what each warp knows that others have done. Each access has the time at which it was made, and
/// time goes on where threads meet.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    group: u32,
    clock: u32,
    /// Warps, and behind them those who copy.
    warps: usize,
    /// By warp, then by other warp: all that the other one did before that time is ordered before what the warp does now.
    seen: Vec<u32>,
    /// By warp: when its own threads met.
    met: Vec<u32>,
    /// By warp: when it showed what it wrote to those who read by another way.
    shown: Vec<u32>,
}

/// What a warp hands on where it arrives, for those that wait there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Released(Vec<u32>);

/// Who makes an access, and where in the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Who<'a> {
    pub(crate) order: &'a Order,
    /// The number of the thread in its group.
    pub(crate) thread: u32,
    pub(crate) line: u32,
}

/// An access that was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) group: u32,
    /// 0 is none.
    pub(crate) time: u32,
    pub(crate) line: u32,
    pub(crate) thread: u16,
    /// Which of four bytes.
    pub(crate) bytes: u8,
    pub(crate) access: Access,
}

/// Kinds of accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Access {
    #[default]
    Read,
    /// By the way on which nothing that the kernel writes may be read.
    ReadConstant,
    Write,
}

impl Order {
    pub(crate) fn new(group: u32, warps: usize) -> Self {
        let all = warps + ENGINES;
        let mut shown = vec![0; all];
        shown[warps..].fill(u32::MAX);
        Self { group, clock: 1, warps: all, seen: vec![1; all * all], met: vec![1; all], shown }
    }

    /// Who copies for an mbarrier, as if it were a warp. What it writes needs no fence.
    pub(crate) fn engine(&self, mbarrier: usize) -> usize {
        self.warps - ENGINES + mbarrier % ENGINES
    }

    /// Whether a number of a thread is that of who copies.
    pub(crate) fn copies(&self, thread: u16) -> bool {
        usize::from(thread) >= (self.warps - ENGINES) * LANES as usize
    }

    /// Something comes later than all before it.
    pub(crate) fn later(&mut self) {
        self.clock += 1;
    }

    /// All of these warps meet.
    pub(crate) fn meet(&mut self, warps: &[usize]) {
        let mut all = Released::default();
        warps.iter().for_each(|warp| self.release(*warp, &mut all));
        for warp in warps {
            self.acquire(*warp, &all);
            self.met[*warp] = self.clock;
        }
    }

    /// The threads of a warp meet.
    pub(crate) fn meet_in(&mut self, warp: usize) {
        self.clock += 1;
        self.met[warp] = self.clock;
    }

    /// A warp shows what it wrote to those who read by another way (`fence.proxy.async`).
    pub(crate) fn show(&mut self, warp: usize) {
        self.clock += 1;
        self.shown[warp] = self.clock;
    }

    /// Whether it was shown what an access wrote.
    pub(crate) fn is_shown(&self, made: &Made) -> bool {
        made.group != self.group || made.time < self.shown[usize::from(made.thread) / LANES as usize]
    }

    /// A warp says what it has done and seen.
    pub(crate) fn release(&mut self, warp: usize, to: &mut Released) {
        self.clock += 1;
        to.0.resize(self.warps, 0);
        let seen = &self.seen[warp * self.warps..][..self.warps];
        to.0.iter_mut().zip(seen).for_each(|(to, seen)| *to = (*to).max(*seen));
        to.0[warp] = self.clock;
    }

    /// A warp sees what others said.
    pub(crate) fn acquire(&mut self, warp: usize, from: &Released) {
        let seen = &mut self.seen[warp * self.warps..][..self.warps];
        seen.iter_mut().zip(&from.0).for_each(|(seen, from)| *seen = (*seen).max(*from));
    }
}

impl Who<'_> {
    /// Whether an access was made before this one in every order of the threads.
    fn follows(&self, made: &Made) -> bool {
        let (order, then) = (self.order, u32::from(made.thread));
        if made.group != order.group {
            return false;
        }
        let (warp, other) = ((self.thread / LANES) as usize, (then / LANES) as usize);
        then == self.thread
            || made.time < if warp == other { order.met[warp] } else { order.seen[warp * order.warps + other] }
    }

    pub(crate) fn made(&self, access: Access, bytes: u8) -> Made {
        let (group, time) = (self.order.group, self.order.clock);
        Made { group, time, line: self.line, thread: self.thread as u16, bytes, access }
    }

    /// Whether an access that was made must not meet this one.
    fn races(&self, made: &Made, access: Access, bytes: u8) -> bool {
        if made.time == 0 || made.bytes & bytes == 0 {
            return false;
        }
        match (made.access, access) {
            (Access::Read | Access::ReadConstant, Access::Read | Access::ReadConstant) => false,
            // However they are ordered.
            (Access::ReadConstant, Access::Write) | (Access::Write, Access::ReadConstant) => true,
            (Access::Write, Access::Read | Access::Write) | (Access::Read, Access::Write) => !self.follows(made),
        }
    }
}

/// The accesses to four bytes that may still meet one that must not come beside them. Where there are more the oldest is
/// forgotten, so that a race may be missed and none is made up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cell([Made; 4]);

impl Cell {
    /// Makes an access; gives one that it races with.
    pub(crate) fn touch(&mut self, who: &Who<'_>, access: Access, bytes: u8) -> Option<Made> {
        self.conflict(who, access, bytes).or_else(|| {
            self.note(who, access, bytes);
            None
        })
    }

    /// An access that this one races with.
    pub(crate) fn conflict(&self, who: &Who<'_>, access: Access, bytes: u8) -> Option<Made> {
        self.0.iter().find(|made| who.races(made, access, bytes)).copied()
    }

    /// Keeps an access in mind.
    pub(crate) fn note(&mut self, who: &Who<'_>, access: Access, bytes: u8) {
        let writes = access == Access::Write;
        // What races with the older one and comes behind this one races with this one as well.
        let covers = |made: &Made| {
            made.bytes & !bytes == 0
                && who.follows(made)
                && (writes || made.access == access || made.access == Access::Read)
        };
        let at = self.0.iter().position(|made| made.time == 0 || covers(made)).unwrap_or_else(|| {
            let oldest = (0..self.0.len()).min_by_key(|n| self.0[*n].time);
            oldest.unwrap_or(0)
        });
        self.0[at] = who.made(access, bytes);
    }

    /// The last write of one of these bytes.
    pub(crate) fn writer(&self, bytes: u8) -> Option<Made> {
        let writes = |made: &&Made| made.access == Access::Write && made.bytes & bytes != 0 && made.time != 0;
        self.0.iter().filter(writes).max_by_key(|made| made.time).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::{Access, Cell, Order, Released, Who};

    fn touch(cell: &mut Cell, order: &Order, thread: u32, access: Access) -> bool {
        cell.touch(&Who { order, thread, line: 1 }, access, 15).is_some()
    }

    #[test]
    fn writes_race_until_threads_meet() {
        let (mut order, mut cell) = (Order::new(0, 2), Cell::default());
        assert!(!touch(&mut cell, &order, 0, Access::Write));
        assert!(touch(&mut cell, &order, 1, Access::Read) && touch(&mut cell, &order, 40, Access::Write));
        order.meet_in(0);
        assert!(!touch(&mut cell, &order, 1, Access::Read) && touch(&mut cell, &order, 40, Access::Read));
        order.meet(&[0, 1]);
        assert!(!touch(&mut cell, &order, 40, Access::Write));
        assert!(touch(&mut cell, &order, 0, Access::Read));
    }

    #[test]
    fn what_is_handed_on_is_seen_by_who_takes_it() {
        let (mut order, mut cell, mut released) = (Order::new(0, 3), Cell::default(), Released::default());
        assert!(!touch(&mut cell, &order, 0, Access::Write));
        order.release(0, &mut released);
        assert!(touch(&mut cell, &order, 32, Access::Read));
        order.acquire(1, &released);
        assert!(!touch(&mut cell, &order, 32, Access::Read) && touch(&mut cell, &order, 64, Access::Read));
        // What was written behind it is not.
        assert!(!touch(&mut cell, &order, 32, Access::Read) && touch(&mut cell, &order, 0, Access::Write));
    }

    #[test]
    fn groups_never_meet() {
        let (first, mut second, mut cell) = (Order::new(0, 1), Order::new(1, 1), Cell::default());
        assert!(!touch(&mut cell, &first, 0, Access::Read) && !touch(&mut cell, &second, 0, Access::Read));
        second.meet(&[0]);
        assert!(touch(&mut cell, &second, 0, Access::Write));
    }
}
