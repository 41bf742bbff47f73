//! A loop whose turns several threads run: in chunks, each of which is run once.
//!
//! Every thread has a share of neighbouring chunks and takes them from the front; who is done with its own takes from
//! the back of another's. So the same thread meets the same elements in one loop after another, and nobody waits for a
//! thread that the system does not run: what it has not begun, others do. Which thread runs a chunk never changes what
//! the chunk computes.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU64, Ordering};

/// Code that runs `count` turns of a loop from `begin` on.
pub(super) type Body = unsafe extern "C" fn(captures: *const c_void, begin: isize, count: isize);

/// The most threads that run one loop.
pub(crate) const MOST: usize = 64;

/// A loop that is running.
pub(super) struct Region {
    body: Body,
    captures: *const c_void,
    turns: isize,
    chunks: u32,
    threads: usize,
    /// First chunk and the one behind the last of what is left of each thread's share.
    shares: [AtomicU64; MOST],
}

// SAFETY: the captures are read alone, and turns of the loop touch elements of their own; the compiler has proven it
// before it made the loop parallel.
unsafe impl Sync for Region {}

impl Region {
    /// A loop in so many chunks, shared evenly among so many threads.
    ///
    /// # Safety
    ///
    /// `body` may be called with `captures` for every part of `0..turns`, on any thread, as long as the region lives.
    pub(super) unsafe fn new(body: Body, captures: *const c_void, turns: isize, chunks: u32, threads: usize) -> Self {
        let threads = threads.clamp(1, MOST);
        let region = Self { body, captures, turns, chunks, threads, shares: [const { AtomicU64::new(0) }; MOST] };
        let bound = |thread: usize| (u64::from(chunks) * thread as u64 / threads as u64) as u32;
        for (thread, share) in region.shares.iter().take(threads).enumerate() {
            share.store(packed(bound(thread), bound(thread + 1)), Ordering::Relaxed);
        }
        region
    }

    /// How many threads have a share.
    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Runs chunks until all have been begun: first those of a thread's own share, then those of others.
    pub(super) fn help(&self, thread: usize) {
        let own = thread % self.threads;
        while let Some(chunk) = take(&self.shares[own], first) {
            self.chunk(chunk);
        }
        for other in (1..self.threads).map(|n| (own + n) % self.threads) {
            while let Some(chunk) = take(&self.shares[other], last) {
                self.chunk(chunk);
            }
        }
    }

    fn chunk(&self, chunk: u32) {
        let (each, more) = (self.turns / self.chunks as isize, self.turns % self.chunks as isize);
        let begin = |chunk: isize| chunk * each + chunk.min(more);
        let (from, to) = (begin(chunk as isize), begin(chunk as isize + 1));
        // SAFETY: whoever made the region vouches for every part of its turns; `take` gives each chunk out once.
        unsafe { (self.body)(self.captures, from, to - from) }
    }
}

fn packed(begin: u32, end: u32) -> u64 {
    u64::from(begin) << 32 | u64::from(end)
}

/// The chunk at the front of a share, and what is left.
fn first(begin: u32, end: u32) -> (u32, u64) {
    (begin, packed(begin + 1, end))
}

/// The chunk at the back of a share, and what is left.
fn last(begin: u32, end: u32) -> (u32, u64) {
    (end - 1, packed(begin, end - 1))
}

/// Takes a chunk of a share that has one.
fn take(share: &AtomicU64, which: fn(u32, u32) -> (u32, u64)) -> Option<u32> {
    // Chunks hand nothing to one another: what they wrote is seen when the region ends.
    let next = |old: u64| {
        let (begin, end) = ((old >> 32) as u32, old as u32);
        (begin < end).then(|| which(begin, end))
    };
    let taken = share.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |old| Some(next(old)?.1));
    next(taken.ok()?).map(|(chunk, _)| chunk)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::vec;
    use std::vec::Vec;

    unsafe extern "C" fn note(captures: *const c_void, begin: isize, count: isize) {
        // SAFETY: `order` passes its own.
        let parts = unsafe { &*captures.cast::<Mutex<Vec<(isize, isize)>>>() };
        parts.lock().expect("nobody panics").push((begin, count));
    }

    /// The parts that threads run, one after the other, as first turn and number.
    fn order(turns: isize, chunks: u32, threads: usize, helping: &[usize]) -> Vec<(isize, isize)> {
        let parts: Mutex<Vec<(isize, isize)>> = Mutex::default();
        // SAFETY: `note` takes any part on any thread, and `parts` outlives the region.
        let region = unsafe { Region::new(note, core::ptr::from_ref(&parts).cast(), turns, chunks, threads) };
        helping.iter().for_each(|thread| region.help(*thread));
        parts.into_inner().expect("nobody panics")
    }

    #[test]
    fn its_own_share_from_the_front_then_the_others_from_the_back() {
        let begins: Vec<isize> = order(8, 8, 2, &[1]).into_iter().map(|(begin, _)| begin).collect();
        assert_eq!(begins, [4, 5, 6, 7, 3, 2, 1, 0]);
        let begins: Vec<isize> = order(6, 6, 3, &[4, 0]).into_iter().map(|(begin, _)| begin).collect();
        assert_eq!(begins, [2, 3, 5, 4, 1, 0]);
    }

    #[test]
    fn chunks_are_as_even_as_can_be() {
        assert_eq!(order(10, 4, 1, &[0]), [(0, 3), (3, 3), (6, 2), (8, 2)]);
        assert_eq!(order(0, 1, 1, &[0]), [(0, 0)]);
        assert_eq!(order(2, 1, MOST + 1, &[0]), vec![(0, 2)]);
    }
}
