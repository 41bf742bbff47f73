//! How long passes take.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tenfold_ir::Module;

use super::{PassInfo, PassInstrument};
use crate::CompileError;

/// Measures every pass; passes inside a sequential pass stand below it.
pub struct Timing {
    running: Vec<(usize, Instant)>,
    table: TimingTable,
    print: bool,
}

/// What a [`Timing`] has measured so far. A clone shows the same.
#[derive(Clone, Debug, Default)]
pub struct TimingTable(Arc<Mutex<Vec<Row>>>);

#[derive(Clone, Debug)]
struct Row {
    name: &'static str,
    depth: usize,
    time: Duration,
}

impl Timing {
    /// A watcher, and the table it fills.
    pub fn new() -> (Self, TimingTable) {
        let table = TimingTable::default();
        (Timing { running: Vec::new(), table: table.clone(), print: false }, table)
    }

    /// A watcher that prints its table to standard error where its context is left.
    pub fn printing() -> Self {
        Timing { print: true, ..Timing::new().0 }
    }
}

impl PassInstrument for Timing {
    fn run_before_pass(&mut self, pass: &PassInfo, _module: &Module) -> Result<(), CompileError> {
        let row = Row { name: pass.name, depth: self.running.len(), time: Duration::ZERO };
        let at = self.table.with(|rows| {
            rows.push(row);
            rows.len() - 1
        });
        self.running.push((at, Instant::now()));
        Ok(())
    }

    fn run_after_pass(&mut self, pass: &PassInfo, _module: &Module) -> Result<(), CompileError> {
        // A pass that failed has no end: what it had begun goes with it.
        while let Some((at, start)) = self.running.pop() {
            let own = self.table.with(|rows| {
                rows[at].time = start.elapsed();
                rows[at].name == pass.name
            });
            if own {
                break;
            }
        }
        Ok(())
    }

    fn exit_pass_ctx(&mut self) -> Result<(), CompileError> {
        if self.print {
            eprint!("{}", self.table.text());
        }
        Ok(())
    }
}

impl TimingTable {
    fn with<T>(&self, act: impl FnOnce(&mut Vec<Row>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Name, depth and time of every pass, in the order in which they began.
    pub fn rows(&self) -> Vec<(&'static str, usize, Duration)> {
        self.with(|rows| rows.iter().map(|r| (r.name, r.depth, r.time)).collect())
    }

    /// The time of the passes that stand in no other.
    pub fn total(&self) -> Duration {
        self.rows().iter().filter(|(_, depth, _)| *depth == 0).map(|(_, _, time)| *time).sum()
    }

    /// A line per pass: microseconds, share, name.
    pub fn text(&self) -> String {
        let total = self.total();
        let whole = total.as_secs_f64().max(f64::MIN_POSITIVE);
        let mut out = String::new();
        for (name, depth, time) in self.rows() {
            let share = 100.0 * time.as_secs_f64() / whole;
            let _ = writeln!(out, "{:>10} us {share:>5.1} %  {}{name}", time.as_micros(), "  ".repeat(depth));
        }
        let _ = writeln!(out, "{:>10} us {:>5.1} %  all passes", total.as_micros(), 100.0);
        out
    }
}
