//! Loops that entry points hand to their context: each turn runs once, whoever runs it and however many want to.

use core::ffi::c_void;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

use tenfold::rt::Context;
use tenfold::threads::{self, Executor};

/// Enough cycles for a part of its own, and for waking whoever sleeps.
const MUCH: isize = 1 << 40;

type Body = unsafe extern "C" fn(*const c_void, isize, isize);
type Split = unsafe extern "C" fn(*const c_void, Body, *const c_void, isize, isize);

/// What compiled code does with a parallel loop.
fn split(context: &Context, body: Body, captures: *const c_void, turns: isize, work: isize) {
    let context = context.as_ptr();
    // SAFETY: the first word of a context is the function, as the convention has it.
    unsafe { context.cast::<Split>().read()(context, body, captures, turns, work) }
}

/// What the turns of a loop leave behind.
struct Seen {
    counts: Vec<AtomicU32>,
    threads: Mutex<BTreeSet<String>>,
    /// Another loop inside of each part, if it has turns.
    nested: Option<Box<Seen>>,
    parts: AtomicUsize,
}

impl Seen {
    fn new(turns: usize, nested: Option<Box<Seen>>) -> Seen {
        let counts = (0..turns).map(|_| AtomicU32::new(0)).collect();
        Seen { counts, threads: Mutex::default(), nested, parts: AtomicUsize::new(0) }
    }

    fn run(&self, context: &Context, work: isize) {
        split(context, count, core::ptr::from_ref(self).cast(), self.counts.len() as isize, work);
    }

    fn all_were_run(&self, times: u32) {
        let wrong = self.counts.iter().position(|n| n.load(Ordering::Relaxed) != times);
        assert_eq!(wrong, None, "a turn of {} did not run {times} times", self.counts.len());
    }

    fn threads(&self) -> usize {
        self.threads.lock().expect("nobody panics").len()
    }
}

fn name(id: ThreadId) -> String {
    format!("{id:?}")
}

unsafe extern "C" fn count(captures: *const c_void, begin: isize, count: isize) {
    // SAFETY: `Seen::run` passes itself, and returns after the last part.
    let seen = unsafe { &*captures.cast::<Seen>() };
    seen.parts.fetch_add(1, Ordering::Relaxed);
    seen.threads.lock().expect("nobody panics").insert(name(thread::current().id()));
    for turn in begin..begin + count {
        seen.counts[turn as usize].fetch_add(1, Ordering::Relaxed);
    }
    if let Some(nested) = &seen.nested {
        nested.run(&Context::new(), MUCH);
    }
}

#[test]
fn each_turn_runs_once_whatever_its_number() {
    threads::set(4).expect("a number");
    let context = Context::new();
    for turns in [0, 1, 2, 3, 4, 5, 7, 16, 63, 64, 65, 1000] {
        for limit in [1, 2, 3, 7, 64, 1000] {
            let seen = Seen::new(turns, None);
            threads::limit(limit, || seen.run(&context, MUCH));
            seen.all_were_run(1);
            assert!(seen.threads() <= limit.min(4));
        }
    }
}

#[test]
fn little_work_stays_on_its_thread() {
    threads::set(4).expect("a number");
    let context = Context::new();
    let seen = Seen::new(1000, None);
    seen.run(&context, 1);
    seen.all_were_run(1);
    assert_eq!(seen.parts.load(Ordering::Relaxed), 1);
    assert_eq!(*seen.threads.lock().expect("nobody panics"), BTreeSet::from([name(thread::current().id())]));
}

#[test]
fn a_limit_of_one_is_one_part() {
    let seen = Seen::new(1000, None);
    threads::limit(1, || threads::limit(8, || seen.run(&Context::new(), MUCH)));
    seen.all_were_run(1);
    assert_eq!(seen.parts.load(Ordering::Relaxed), 1);
}

#[test]
fn loops_inside_of_loops_stay_on_their_thread() {
    let executor = Lazy::new(4, |n| (0..n).collect());
    for _ in 0..50 {
        let seen = Seen::new(100, Some(Box::new(Seen::new(10, None))));
        threads::with(&executor, || seen.run(&Context::new(), MUCH));
        seen.all_were_run(1);
        let parts = seen.parts.load(Ordering::Relaxed) as u32;
        let nested = seen.nested.as_ref().expect("it has one");
        nested.all_were_run(parts);
        assert_eq!(nested.parts.load(Ordering::Relaxed) as u32, parts, "an inner loop is one part");
    }
}

/// Many callers at once, each with loops of its own: the pool has one at a time, the others run alone.
#[test]
fn callers_from_many_threads_share_the_pool() {
    const CALLERS: usize = 6;
    threads::set(3).expect("a number");
    thread::scope(|scope| {
        for caller in 0..CALLERS {
            scope.spawn(move || {
                let context = Context::new();
                for round in 0..400 {
                    let seen = Seen::new((caller * 31 + round * 7) % 97, None);
                    threads::limit(round % 5, || seen.run(&context, MUCH));
                    seen.all_were_run(1);
                    if round % 100 == 99 {
                        // Long enough for the workers to fall asleep.
                        thread::sleep(std::time::Duration::from_millis(2));
                    }
                }
            });
        }
    });
}

/// An executor that does as little as it may.
struct Lazy {
    threads: usize,
    parts: fn(usize) -> Vec<usize>,
    asked: AtomicUsize,
    /// How many parts it was asked for, in all.
    wanted: AtomicUsize,
}

impl Lazy {
    fn new(threads: usize, parts: fn(usize) -> Vec<usize>) -> Lazy {
        Lazy { threads, parts, asked: AtomicUsize::new(0), wanted: AtomicUsize::new(0) }
    }
}

impl Executor for Lazy {
    fn threads(&self) -> usize {
        self.threads
    }

    fn run(&self, parts: usize, task: &(dyn Fn(usize) + Sync)) {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.wanted.fetch_add(parts, Ordering::Relaxed);
        thread::scope(|scope| {
            for part in (self.parts)(parts) {
                scope.spawn(move || task(part));
            }
        });
    }
}

#[test]
fn an_executor_may_leave_parts_out_or_begin_them_twice() {
    let parts: [fn(usize) -> Vec<usize>; 5] = [
        |n| (0..n).collect(),
        |_| Vec::new(),
        |n| vec![n - 1],
        |n| (0..n).chain(0..n).collect(),
        |n| (0..n + 3).rev().collect(),
    ];
    for parts in parts {
        let executor = Lazy::new(3, parts);
        let seen = Seen::new(101, None);
        threads::with(&executor, || seen.run(&Context::new(), MUCH));
        seen.all_were_run(1);
        assert_eq!(executor.asked.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn an_executor_is_the_callers_for_as_long_as_it_says() {
    let executor = Lazy::new(2, |n| (0..n).collect());
    let seen = Seen::new(10, None);
    threads::with(&executor, || threads::limit(1, || seen.run(&Context::new(), MUCH)));
    assert_eq!(executor.asked.load(Ordering::Relaxed), 0, "the limit holds for it, too");
    threads::with(&executor, || seen.run(&Context::new(), MUCH));
    threads::set(2).expect("a number");
    seen.run(&Context::new(), MUCH);
    assert_eq!(executor.asked.load(Ordering::Relaxed), 1);
    seen.all_were_run(3);
}

#[test]
fn an_executor_is_asked_for_no_more_threads_than_a_call_may_use() {
    let wanted = |threads: usize, limit: usize| {
        let executor = Lazy::new(threads, |n| (0..n).collect());
        let seen = Seen::new(100, None);
        threads::with(&executor, || threads::limit(limit, || seen.run(&Context::new(), MUCH)));
        seen.all_were_run(1);
        executor.wanted.load(Ordering::Relaxed)
    };
    assert_eq!([wanted(4, 2), wanted(4, 8), wanted(2, 8)], [2, 4, 2]);
}

#[test]
fn numbers_of_threads_are_checked() {
    let error = threads::set(0).expect_err("there is none");
    assert_eq!(error.to_string(), "`threads::set` takes a number of threads from 1 to 64, not `0`");
    assert!(threads::set(threads::MOST + 1).is_err());
}

/// What a test prints in a process of its own, with so many threads by the environment.
fn child(test: &str, threads: &str) -> String {
    let mut command = std::process::Command::new(std::env::current_exe().expect("it has a path"));
    command.args(["--exact", "--nocapture", test]).env("TENFOLD_THREADS", threads);
    let out = command.output().expect("it starts");
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{text}");
    text
}

/// A child of this test, since the environment is that of a process.
#[test]
fn the_environment_says_how_many() {
    let run = |value: &str| child("threads::as_told_by_the_environment", value);
    assert!(run("3").contains("threads: 3\n"));
    let text = run("many");
    let error = "tenfold: `TENFOLD_THREADS` takes a number of threads from 1 to 64, not `many`; ";
    assert_eq!(text.matches(error).count(), 1, "{text}");
}

/// The test above starts it with a variable. By itself it sees how many processors there are.
#[test]
fn as_told_by_the_environment() {
    let first = threads::get();
    println!("threads: {first}");
    assert!((1..=64).contains(&first));
    assert_eq!(threads::get(), first);
}

/// A child of this test, since workers that another test has started may be awake.
#[test]
fn workers_that_sleep_are_not_woken_for_a_little_now_and_then() {
    let text = child("threads::parts_of_one_call_after_another", "4");
    assert!(text.contains("calls: 1 1 1 1 1 1 1\nloops: 1 1 1 1 1 1 4\n"), "{text}");
}

/// The test above starts it in a process without workers. With the others it may find them awake.
#[test]
fn parts_of_one_call_after_another() {
    let parts = |context: &Context| {
        // Longer than a worker waits, or work would come densely.
        thread::sleep(Duration::from_millis(1));
        let seen = Seen::new(4, None);
        seen.run(context, 6_000);
        seen.all_were_run(1);
        seen.parts.load(Ordering::Relaxed).to_string()
    };
    println!("calls: {}", [(); 7].map(|()| parts(&Context::new())).join(" "));
    let context = Context::new();
    println!("loops: {}", [(); 7].map(|()| parts(&context)).join(" "));
}

thread_local! {
    /// Whether a guard was dropped on a thread that ends.
    static LATE: Cell<Option<Late>> = const { Cell::new(None) };
}

struct Late;

impl Drop for Late {
    fn drop(&mut self) {
        let seen = Seen::new(10, None);
        seen.run(&Context::new(), MUCH);
        seen.all_were_run(1);
    }
}

#[test]
fn a_call_while_a_thread_ends_is_a_call() {
    thread::spawn(|| LATE.set(Some(Late))).join().expect("it does not panic");
}
