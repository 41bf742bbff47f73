//! The crate's own threads: they wait a little where they are, then sleep, and cost nothing where there is no work.
//!
//! One region runs at a time. Who finds the pool busy runs its loop itself, so that calls from many threads, or from
//! inside of a call, never make more threads than there are. A region is open while there is something to begin;
//! workers that come too late find it closed, and its owner waits for those alone that are inside.

use super::region::{MOST, Region};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::OnceLock;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long a worker looks for work before it sleeps. Longer than what lies between two loops of a call that is not
/// parallel, shorter than what waking it costs.
const WATCH: Duration = Duration::from_micros(50);

/// What lies between two calls that find workers asleep, where work comes densely: with workers that are awake it is about
/// half, within which they look for work.
const DENSE: Duration = WATCH.saturating_mul(2);

/// Looks between two looks at the clock.
const LOOKS: u32 = 64;

/// In the state: a worker is inside.
const INSIDE: u64 = 1;
/// In the state: all workers that are inside.
const ALL_INSIDE: u64 = 0xffff;
/// In the state: workers may come in.
const OPEN: u64 = 0x1_0000;
/// In the state: one region later.
const NEXT: u64 = 0x2_0000;

/// A worker as others see it.
struct Worker {
    thread: OnceLock<Thread>,
    asleep: AtomicBool,
}

/// The threads of a program.
pub(super) struct Pool {
    busy: AtomicBool,
    /// Which region it is, whether it is open, how many workers are inside.
    state: AtomicU64,
    region: AtomicPtr<Region>,
    /// How many workers there are.
    started: AtomicUsize,
    /// When somebody last had work for a worker that slept, in nanoseconds since the first who did.
    missed: AtomicU64,
    workers: [Worker; MOST - 1],
}

/// The one pool.
pub(super) static POOL: Pool = Pool::new();

/// The pool while one caller has it.
pub(super) struct Held(&'static Pool);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.busy.store(false, Ordering::Release);
    }
}

impl Pool {
    /// A pool without workers.
    const fn new() -> Pool {
        Pool {
            busy: AtomicBool::new(false),
            state: AtomicU64::new(0),
            region: AtomicPtr::new(null_mut()),
            started: AtomicUsize::new(0),
            missed: AtomicU64::new(0),
            workers: [const { Worker { thread: OnceLock::new(), asleep: AtomicBool::new(false) } }; MOST - 1],
        }
    }

    /// The pool, unless somebody has it.
    pub(super) fn hold(&'static self) -> Option<Held> {
        let free = self.busy.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        // Not made unless it is held: its drop lets go.
        free.is_ok().then(|| Held(self))
    }
}

impl Held {
    /// Whether so many workers are there and the first is awake, so that they cost nothing.
    pub(super) fn awake(&self, workers: usize) -> bool {
        self.0.started.load(Ordering::Acquire) >= workers && !self.0.workers[0].asleep.load(Ordering::Relaxed)
    }

    /// Whether work comes so densely that a worker that is woken now is still awake when more of it comes. To be asked
    /// each time when there is work and no worker is awake.
    pub(super) fn often(&self) -> bool {
        static FIRST: OnceLock<Instant> = OnceLock::new();
        let since = FIRST.get_or_init(Instant::now).elapsed();
        self.0.missed_at(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Starts workers until there are so many, or the system has no more.
    pub(super) fn start(&self, workers: usize) {
        for number in self.0.started.load(Ordering::Acquire)..workers.min(MOST - 1) {
            let pool = self.0;
            let named = thread::Builder::new().name(std::format!("tenfold-{number}"));
            let Ok(worker) = named.spawn(move || pool.work(number)) else { return };
            // A worker is started once, by who holds the pool.
            let _ = self.0.workers[number].thread.set(worker.thread().clone());
            self.0.started.store(number + 1, Ordering::Release);
        }
    }

    /// Runs a region with all that come; back when nobody is inside of it any more.
    pub(super) fn run(&self, region: &Region) {
        let pool = self.0;
        pool.region.store(core::ptr::from_ref(region).cast_mut(), Ordering::Relaxed);
        let before = pool.state.load(Ordering::Relaxed);
        pool.state.store((before & !(OPEN | ALL_INSIDE)).wrapping_add(NEXT) | OPEN, Ordering::SeqCst);
        pool.wake(0);
        region.help(0);
        pool.state.fetch_and(!OPEN, Ordering::AcqRel);
        let mut looks = 0;
        while pool.state.load(Ordering::Acquire) & ALL_INSIDE != 0 {
            // A worker may have lost its processor: then it is not for us to keep ours.
            looks += 1;
            if looks < 1 << 12 { core::hint::spin_loop() } else { thread::yield_now() }
        }
    }
}

impl Pool {
    /// Notes that there was work for a worker that slept; whether that is so for the second time within a short while.
    fn missed_at(&self, now: u64) -> bool {
        let before = self.missed.swap(now.max(1), Ordering::Relaxed);
        before > 0 && Duration::from_nanos(now.saturating_sub(before)) < DENSE
    }

    /// Wakes a worker that sleeps.
    fn wake(&self, number: usize) {
        let Some(worker) = self.workers.get(number) else { return };
        if worker.asleep.load(Ordering::SeqCst)
            && worker.asleep.swap(false, Ordering::SeqCst)
            && let Some(thread) = worker.thread.get()
        {
            thread.unpark();
        }
    }

    /// What a worker does as long as the program runs.
    fn work(&self, number: usize) {
        let mut seen = 0;
        loop {
            seen = self.wait(number, seen);
            if self.enter(seen) {
                // SAFETY: the region that the pointer shows lives until its owner, which waits for the count of those
                // inside, has seen this worker leave.
                let region = unsafe { &*self.region.load(Ordering::Relaxed) };
                if number + 1 < region.threads() {
                    // Those who wake others wake two each, so that no one wakes them all.
                    [2 * number + 1, 2 * number + 2].into_iter().for_each(|other| self.wake(other));
                    super::scope::alone(|| region.help(number + 1));
                }
                self.state.fetch_sub(INSIDE, Ordering::Release);
            }
        }
    }

    /// Counts a worker in, unless the region is closed or another one has begun.
    fn enter(&self, seen: u64) -> bool {
        let counted = |now: u64| (now & OPEN != 0 && now / NEXT == seen).then_some(now + INSIDE);
        self.state.fetch_update(Ordering::AcqRel, Ordering::Relaxed, counted).is_ok()
    }

    /// Whether there is a region that a worker has not seen.
    fn fresh(&self, seen: u64, order: Ordering) -> Option<u64> {
        let now = self.state.load(order);
        (now & OPEN != 0 && now / NEXT != seen).then_some(now / NEXT)
    }

    /// Waits for the next region: on the spot for a while, then asleep.
    fn wait(&self, number: usize, seen: u64) -> u64 {
        let asleep = &self.workers[number].asleep;
        let mut since = Instant::now();
        loop {
            for _ in 0..LOOKS {
                if let Some(next) = self.fresh(seen, Ordering::Relaxed) {
                    return next;
                }
                core::hint::spin_loop();
            }
            if since.elapsed() < WATCH {
                continue;
            }
            asleep.store(true, Ordering::SeqCst);
            // Who opens a region looks for sleepers afterwards, so that one of both sees the other.
            if self.fresh(seen, Ordering::SeqCst).is_none() {
                thread::park();
            }
            asleep.store(false, Ordering::SeqCst);
            since = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ffi::c_void;
    use std::collections::BTreeSet;
    use std::string::String;
    use std::sync::{Condvar, Mutex};
    use std::thread::ThreadId;

    /// Who has run a part of a region, and how many have to meet in it before anybody goes on.
    struct Met {
        threads: Mutex<BTreeSet<String>>,
        changed: Condvar,
        wanted: usize,
    }

    fn name(id: ThreadId) -> String {
        std::format!("{id:?}")
    }

    unsafe extern "C" fn meet(captures: *const c_void, _: isize, _: isize) {
        // SAFETY: `met` passes its own, and returns after the last part.
        let met = unsafe { &*captures.cast::<Met>() };
        let mut threads = met.threads.lock().expect("nobody panics");
        threads.insert(name(thread::current().id()));
        met.changed.notify_all();
        let fewer = |threads: &mut BTreeSet<String>| threads.len() < met.wanted;
        // Those who do not come let the test fail and not hang.
        drop(met.changed.wait_timeout_while(threads, Duration::from_secs(60), fewer).expect("nobody panics"));
    }

    /// The threads that ran a region of so many parts for so many threads.
    fn met(pool: &Held, parts: u32, threads: usize, wanted: usize) -> usize {
        let met = Met { threads: Mutex::default(), changed: Condvar::new(), wanted };
        // SAFETY: `meet` takes what it is given for any part, on any thread, and `met` outlives the region.
        let region = unsafe { Region::new(meet, core::ptr::from_ref(&met).cast(), parts as isize, parts, threads) };
        pool.run(&region);
        met.threads.into_inner().expect("nobody panics").len()
    }

    #[test]
    fn one_caller_has_it_at_a_time() {
        static POOL: Pool = Pool::new();
        let held = POOL.hold().expect("it is free");
        assert!(POOL.hold().is_none());
        drop(held);
        assert!(POOL.hold().is_some());
    }

    #[test]
    fn workers_are_started_once_and_come_however_deep_they_sleep() {
        static POOL: Pool = Pool::new();
        let held = POOL.hold().expect("it is free");
        assert!(!held.awake(1), "there is none yet");
        for wanted in [2, 5, 3] {
            held.start(wanted);
        }
        assert_eq!(POOL.started.load(Ordering::Acquire), 5);
        assert!(!held.awake(6), "there are five");
        for _ in 0..20 {
            while !POOL.workers.iter().take(5).all(|worker| worker.asleep.load(Ordering::SeqCst)) {
                thread::yield_now();
            }
            assert_eq!(met(&held, 6, 6, 6), 6);
        }
    }

    #[test]
    fn a_region_has_no_more_threads_than_it_asks_for() {
        static POOL: Pool = Pool::new();
        let held = POOL.hold().expect("it is free");
        held.start(5);
        for _ in 0..20 {
            assert_eq!(met(&held, 64, 2, 2), 2);
        }
    }

    #[test]
    fn work_that_comes_densely_is_told_from_work_that_does_not() {
        static POOL: Pool = Pool::new();
        let wait = DENSE.as_nanos() as u64;
        let asked = [(0, false), (wait - 1, true), (wait, true), (2 * wait, false), (9 * wait, false)];
        for (at, often) in asked {
            assert_eq!(POOL.missed_at(at), often, "at {at} ns");
        }
    }

    #[test]
    fn who_comes_late_finds_it_closed() {
        static POOL: Pool = Pool::new();
        assert_eq!(POOL.fresh(0, Ordering::Relaxed), None);
        POOL.state.store((3 * NEXT) | OPEN, Ordering::Relaxed);
        assert_eq!(POOL.fresh(2, Ordering::Relaxed), Some(3));
        assert_eq!(POOL.fresh(3, Ordering::Relaxed), None, "it was seen");
        assert!(!POOL.enter(2), "another one has begun");
        assert!(POOL.enter(3));
        assert_eq!(POOL.state.load(Ordering::Relaxed), (3 * NEXT) | OPEN | INSIDE);
        POOL.state.store(3 * NEXT, Ordering::Relaxed);
        assert!(!POOL.enter(3), "it is closed");
        assert_eq!(POOL.fresh(2, Ordering::Relaxed), None);
        assert_eq!(POOL.state.load(Ordering::Relaxed), 3 * NEXT);
    }
}
