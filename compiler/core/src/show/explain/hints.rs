//! What to look at: findings in the order of what they are worth.

use super::Explained;
use super::kernel::NONE;
use super::measured::Measured;
use super::report::{Row, Rows};
use super::roof::Bound;
use super::text::{percent, time};

/// The share of the time from which on a finding is worth a line.
const WORTH: f64 = 0.1;

/// The share of the time that a kernel could win and that is worth a line, and the most such lines.
const GAIN: (f64, usize) = (0.03, 3);

/// The part of its roof below which a kernel could be faster.
const LOW: f64 = 0.7;

/// How many times its least a kernel's usual time is where something else runs on the machine.
const BUSY: f64 = 1.25;

/// Seconds below which a kernel is short: what a call and its first loads take shows.
const SHORT: f64 = 2e-6;

/// Lines for what a finding is about.
type Finding = fn(&Explained, &Rows, f64) -> Vec<String>;

/// In the order in which they are printed.
const FINDINGS: &[Finding] = &[far_from_the_roof, bound_by_memory, short_kernels, between_kernels];

/// Findings, each a line.
pub(super) fn hints(explained: &Explained, rows: &Rows, measured: Option<&Measured>) -> Vec<String> {
    let Some(measured) = measured else { return unscheduled(explained, rows) };
    let whole = (rows.total.seconds.unwrap_or(0.0) + rows.between.unwrap_or(0.0)).max(1e-12);
    let found = FINDINGS.iter().flat_map(|finding| finding(explained, rows, whole));
    busy(measured).into_iter().chain(found).chain(unscheduled(explained, rows)).collect()
}

/// Times are no better than the machine was idle.
fn busy(measured: &Measured) -> Option<String> {
    let more = measured.unrest();
    (more >= BUSY).then(|| format!("kernels usually take {more:.1} times their least time: was the machine busy?"))
}

fn share(row: &Row, whole: f64) -> f64 {
    row.seconds.unwrap_or(0.0) / whole
}

fn far_from_the_roof(explained: &Explained, rows: &Rows, whole: f64) -> Vec<String> {
    let gain = |row: &Row| Some(row.seconds? - row.least?.0);
    let is_far = |row: &Row| row.of_roof().is_some_and(|part| part < LOW);
    let worth = |row: &&Row| is_far(row) && gain(row).is_some_and(|gain| gain / whole >= GAIN.0);
    let mut far: Vec<&Row> = rows.rows.iter().filter(worth).collect();
    far.sort_by(|a, b| gain(b).partial_cmp(&gain(a)).unwrap_or(std::cmp::Ordering::Equal));
    let line = |row: &Row| {
        let (part, (least, bound)) = (row.of_roof()?, row.least?);
        let kernel = &explained.kernels[row.kernel];
        let gain = row.seconds? - least;
        let why = match (bound, kernel.missed.first()) {
            (_, Some(missed)) => format!("; {missed}"),
            (Bound::Compute, None) if kernel.schedule.rule == "fallback" && is_plain(row) => {
                "; it computes more than it moves, and no rule for contractions took it".into()
            }
            (Bound::Memory | Bound::Compute, None) => String::new(),
        };
        Some(format!(
            "`{}` takes {} of the time at {} of its roof, {}: up to {} a call to win{why}",
            explained.short(row.kernel),
            percent(share(row, whole)),
            percent(part),
            bound.name(),
            time(gain),
        ))
    };
    far.into_iter().take(GAIN.1).filter_map(line).collect()
}

/// Whether a kernel is mostly sums and products, not functions.
fn is_plain(row: &Row) -> bool {
    row.work.is_some_and(|work| work.effort < 2 * (work.flops + work.ints))
}

fn bound_by_memory(_: &Explained, rows: &Rows, whole: f64) -> Vec<String> {
    let bound = |row: &&Row| row.least.is_some_and(|(_, bound)| bound == Bound::Memory);
    let (count, seconds) =
        rows.rows.iter().filter(bound).fold((0, 0.0), |(n, s), row| (n + 1, s + row.seconds.unwrap_or(0.0)));
    let several = count > 1 && seconds / whole >= WORTH;
    let line = || {
        format!(
            "{count} kernels that memory bounds take {} of the time: fewer passes over the same values (joined kernels, \
             narrower types) is what helps them; `show --remarks` says why they are not joined",
            percent(seconds / whole)
        )
    };
    several.then(line).into_iter().collect()
}

fn short_kernels(_: &Explained, rows: &Rows, whole: f64) -> Vec<String> {
    let is_short = |row: &&Row| match (row.seconds, row.times) {
        (Some(seconds), Some(times)) if times > 0 => seconds / (times as f64) < SHORT,
        _ => false,
    };
    let short: Vec<&Row> = rows.rows.iter().filter(is_short).collect();
    let (times, seconds) =
        short.iter().fold((0, 0.0), |(n, s), row| (n + row.times.unwrap_or(0), s + row.seconds.unwrap_or(0.0)));
    let line = || {
        let part = percent(seconds / whole);
        format!("{times} calls of kernels take less than {} each and {part} of the time together", time(SHORT))
    };
    (short.len() > 1 && whole > 10.0 * SHORT && seconds / whole >= WORTH).then(line).into_iter().collect()
}

fn between_kernels(_: &Explained, rows: &Rows, whole: f64) -> Vec<String> {
    let between = rows.between.unwrap_or(0.0);
    let line = || {
        format!("{} of the time passes between kernels: copies, branches, loops of the graph", percent(between / whole))
    };
    (between / whole >= WORTH && between > SHORT).then(line).into_iter().collect()
}

/// Kernels that keep the loops of their definition.
fn unscheduled(explained: &Explained, rows: &Rows) -> Vec<String> {
    let plain = rows.rows.iter().filter(|row| explained.kernels[row.kernel].schedule.rule == NONE.0);
    plain
        .map(|row| {
            format!("`{}` has no schedule: it runs as it is defined, a step at a time", explained.short(row.kernel))
        })
        .collect()
}
