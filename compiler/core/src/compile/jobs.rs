//! Work on several threads, as many as whoever runs the build has to spare.

use std::any::Any;
use std::fmt::Debug;
use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

/// How long it takes until another thread is asked for again.
const ASK_AGAIN: Duration = Duration::from_millis(10);

/// Who lends threads.
pub trait Jobs: Debug + Send + Sync {
    /// The most threads at one time, the caller's own among them.
    fn most(&self) -> usize;

    /// One more than the caller's own, if there is one.
    fn acquire(&self) -> Lent;
}

/// What became of the wish for another thread.
pub enum Lent {
    /// It may run for as long as this is held.
    Thread(Box<dyn Any + Send>),
    /// None is to spare now.
    NotNow,
    /// There will be none.
    Never,
}

/// Nobody lends any.
#[derive(Clone, Copy, Debug)]
pub struct Alone;

impl Jobs for Alone {
    fn most(&self) -> usize {
        1
    }

    fn acquire(&self) -> Lent {
        Lent::Never
    }
}

/// Runs `work` on the caller's thread and on others, each with a number of its own, for as long as something waits:
/// `work` takes pieces until there are none. Says how many threads there were.
pub fn on_threads(jobs: &dyn Jobs, waiting: impl Fn() -> usize, work: impl Fn(usize) + Sync) -> usize {
    let most = jobs.most().min(waiting());
    if most < 2 {
        work(0);
        return 1;
    }
    thread::scope(|scope| {
        let work = &work;
        // What the caller's thread may do, which asks for others meanwhile.
        let mut running = vec![scope.spawn(move || work(0))];
        while waiting() > 0 && running.len() < most {
            match jobs.acquire() {
                Lent::Thread(lease) => {
                    let number = running.len();
                    running.push(scope.spawn(move || {
                        work(number);
                        drop(lease);
                    }));
                }
                Lent::NotNow => thread::sleep(ASK_AGAIN),
                Lent::Never => break,
            }
        }
        let threads = running.len();
        for thread in running {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
        threads
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Lends so many threads, and knows how many it was asked for.
    #[derive(Debug)]
    struct Few(usize, AtomicUsize);

    impl Jobs for Few {
        fn most(&self) -> usize {
            8
        }

        fn acquire(&self) -> Lent {
            let lent = self.1.fetch_add(1, Ordering::SeqCst);
            if lent < self.0 { Lent::Thread(Box::new(())) } else { Lent::Never }
        }
    }

    fn pieces(jobs: &dyn Jobs, count: usize) -> (usize, BTreeSet<usize>) {
        let (next, done) = (AtomicUsize::new(0), Mutex::new(BTreeSet::new()));
        let waiting = || count.saturating_sub(next.load(Ordering::SeqCst));
        let threads = on_threads(jobs, waiting, |_| {
            loop {
                let at = next.fetch_add(1, Ordering::SeqCst);
                if at >= count {
                    break;
                }
                thread::sleep(Duration::from_millis(1));
                assert!(done.lock().expect("no piece fails").insert(at), "each piece once");
            }
        });
        (threads, done.into_inner().expect("no piece fails"))
    }

    #[test]
    fn every_piece_is_done_by_no_more_threads_than_are_lent() {
        assert_eq!(pieces(&Alone, 20), (1, (0..20).collect()));
        let (threads, done) = pieces(&Few(2, AtomicUsize::new(0)), 20);
        assert!(threads <= 3, "{threads}");
        assert_eq!(done, (0..20).collect());
        assert_eq!(pieces(&Few(2, AtomicUsize::new(0)), 0), (1, BTreeSet::new()));
    }

    #[test]
    fn a_panic_on_a_lent_thread_is_the_callers() {
        let few = Few(1, AtomicUsize::new(0));
        let panicked = AtomicUsize::new(0);
        let waiting = || 2 - 2 * panicked.load(Ordering::SeqCst);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            on_threads(&few, waiting, |number| {
                while number == 0 && waiting() > 0 {
                    thread::sleep(Duration::from_millis(1));
                }
                if number == 1 {
                    panicked.store(1, Ordering::SeqCst);
                    std::panic::panic_any("the piece fails");
                }
            })
        }));
        let payload = caught.expect_err("the panic comes through");
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"the piece fails"));
    }
}
