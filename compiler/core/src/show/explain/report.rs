//! The rows of the report: a kernel each, with all of its calls.

use super::Explained;
use super::kernel::{Call, Work};
use super::measured::Measured;
use super::roof::{Bound, estimate, least};

/// A kernel over all of its calls in one call of the function.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// Which kernel.
    pub(super) kernel: usize,
    /// How often it runs, if that is known.
    pub(super) times: Option<u64>,
    /// What it does in all; nothing where data decide.
    pub(super) work: Option<Work>,
    /// Seconds that it takes.
    pub(super) seconds: Option<f64>,
    /// Seconds that it takes at least, and why no fewer.
    pub(super) least: Option<(f64, Bound)>,
}

impl Row {
    /// The part of the roof that is reached.
    pub(super) fn of_roof(&self) -> Option<f64> {
        let (least, _) = self.least?;
        self.seconds.filter(|seconds| *seconds > 0.0).map(|seconds| least / seconds)
    }

    /// Operations on elements for each byte that moves.
    pub(super) fn intensity(&self) -> Option<f64> {
        let work = self.work.filter(|work| work.bytes() > 0)?;
        Some((work.flops + work.ints) as f64 / work.bytes() as f64)
    }
}

/// All of them.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    /// By time where it was measured, else in the order of the calls.
    pub(super) rows: Vec<Row>,
    /// Seconds of each call of the entry, by its number.
    pub(super) calls: Vec<Option<f64>>,
    /// All rows in one; `kernel` says nothing.
    pub(super) total: Row,
    /// Seconds of a call that no kernel takes.
    pub(super) between: Option<f64>,
}

impl Rows {
    pub(super) fn of(explained: &Explained, measured: Option<&Measured>) -> Rows {
        let site = |number: usize| measured.and_then(|measured| measured.site(number));
        let single = |(number, call): (usize, &Call)| {
            let times = measured.map_or(call.times, |_| site(number).map(|(_, times)| times));
            let at_least = |work: Work| match (measured, explained.gpu) {
                (Some(measured), _) => Some(least(&work, explained.data, measured, &explained.target)),
                (None, Some(gpu)) => Some(estimate(&work, &explained.kernels[call.kernel].schedule.rule, gpu)),
                (None, None) => None,
            };
            let each = call.work.and_then(at_least);
            let each = each.map(|(least, bound)| (least * times.unwrap_or(1) as f64, bound));
            let work = call.work.zip(times).map(|(work, times)| repeated(&work, times));
            Row { kernel: call.kernel, times, work, seconds: site(number).map(|(seconds, _)| seconds), least: each }
        };
        let calls: Vec<Row> = explained.calls.iter().enumerate().map(single).collect();
        let mut rows: Vec<Row> = (0..explained.kernels.len())
            .filter_map(|kernel| calls.iter().filter(|row| row.kernel == kernel).cloned().reduce(joined))
            .collect();
        rows.sort_by(|a, b| b.seconds.partial_cmp(&a.seconds).unwrap_or(std::cmp::Ordering::Equal));
        let total = rows.iter().cloned().reduce(joined).unwrap_or(Row {
            kernel: 0,
            times: Some(0),
            work: Some(Work::default()),
            seconds: measured.map(|_| 0.0),
            least: None,
        });
        let between = measured.map(Measured::between);
        Rows { rows, calls: calls.iter().map(|row| row.seconds).collect(), total, between }
    }
}

fn repeated(work: &Work, times: u64) -> Work {
    let pair = |(read, written): (u64, u64)| (read.saturating_mul(times), written.saturating_mul(times));
    Work {
        flops: work.flops.saturating_mul(times),
        ints: work.ints.saturating_mul(times),
        effort: work.effort.saturating_mul(times),
        of_halves: work.of_halves.saturating_mul(times),
        outside: pair(work.outside),
        inside: pair(work.inside),
        of_bytes: work.of_bytes,
    }
}

/// Two rows in one; what one of them does not know is not known.
fn joined(a: Row, b: Row) -> Row {
    let pair = |a: (u64, u64), b: (u64, u64)| (a.0 + b.0, a.1 + b.1);
    let work = a.work.zip(b.work).map(|(a, b)| Work {
        flops: a.flops + b.flops,
        ints: a.ints + b.ints,
        effort: a.effort + b.effort,
        of_halves: a.of_halves + b.of_halves,
        outside: pair(a.outside, b.outside),
        inside: pair(a.inside, b.inside),
        of_bytes: a.of_bytes || b.of_bytes,
    });
    // The bound of what takes longer.
    let least = a.least.zip(b.least).map(|(a, b)| (a.0 + b.0, if a.0 >= b.0 { a.1 } else { b.1 }));
    Row {
        kernel: a.kernel,
        times: a.times.zip(b.times).map(|(a, b)| a + b),
        work,
        seconds: a.seconds.zip(b.seconds).map(|(a, b)| a + b),
        least,
    }
}
