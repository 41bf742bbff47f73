//! What the program has measured, as it prints it.

use std::collections::BTreeMap;

/// Times of a function, and what the machine can do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// What generated the code.
    pub(super) backend: String,
    /// Threads that a call may use.
    pub(super) threads: u64,
    /// A call without clocks inside, in seconds: median, least, greatest.
    pub(super) whole: [f64; 3],
    /// How many calls were timed.
    pub(super) calls: u64,
    /// What a clock adds to the time of a kernel, in seconds.
    pub(super) tick: f64,
    /// Seconds of a call with clocks that pass outside of kernels.
    between: f64,
    /// The sums of the sites' usual and least seconds.
    usual: f64,
    least: f64,
    /// Seconds that the kernel of a site takes in one call of the function, and how often it runs in it.
    pub(super) sites: BTreeMap<usize, (f64, u64)>,
    /// Cycles of a second.
    pub(super) clock: f64,
    /// Float operations of a second, on all threads.
    pub(super) peak: f64,
    /// Bytes, and bytes of a second that are read or copied where so many are touched again and again.
    pub(super) levels: Vec<(u64, f64, f64)>,
}

/// A nanosecond.
const NANO: f64 = 1e-9;

impl Measured {
    /// From the program's text; else what it said instead.
    pub fn parse(text: &str) -> Result<Measured, String> {
        let mut all = Measured::default();
        for line in text.lines() {
            let (word, rest) = line.split_once(' ').ok_or_else(|| unread(line))?;
            if word == "backend" {
                all.backend = rest.into();
                continue;
            }
            let numbers = rest.split(' ').map(|n| n.parse::<f64>().ok().filter(|n| n.is_finite()));
            let numbers: Vec<f64> = numbers.collect::<Option<_>>().ok_or_else(|| unread(line))?;
            match (word, numbers.as_slice()) {
                ("status", [status]) => return Err(format!("status {status}")),
                ("tick", [ns]) => all.tick = ns * NANO,
                ("between", [ns]) => all.between = ns * NANO,
                ("whole", [median, least, greatest, calls]) => {
                    all.whole = [median, least, greatest].map(|ns| ns * NANO);
                    all.calls = *calls as u64;
                }
                ("site", [number, ns, times, least]) => {
                    all.sites.insert(*number as usize, (ns * NANO, *times as u64));
                    all.usual += ns * NANO;
                    all.least += least * NANO;
                }
                ("threads", [threads]) => all.threads = *threads as u64,
                ("clock", [hertz]) => all.clock = *hertz,
                ("peak", [flops]) => all.peak = *flops,
                ("level", [bytes, read, copied]) => all.levels.push((*bytes as u64, *read, *copied)),
                _ => return Err(unread(line)),
            }
        }
        // A call is timed by two clocks, as a kernel is.
        all.whole = all.whole.map(|seconds| (seconds - all.tick).max(0.0));
        match all.calls > 0 && all.peak > 0.0 && all.clock > 0.0 && !all.levels.is_empty() {
            true => Ok(all),
            false => Err("the program that measures said too little".into()),
        }
    }

    /// Seconds of a site without its clocks, and how often it runs.
    pub(super) fn site(&self, number: usize) -> Option<(f64, u64)> {
        let (seconds, times) = self.sites.get(&number)?;
        Some(((seconds - self.tick * *times as f64).max(0.0), *times))
    }

    /// How many times its least a kernel's usual time is, over all of them.
    pub(super) fn unrest(&self) -> f64 {
        if self.least > 0.0 { self.usual / self.least } else { 1.0 }
    }

    /// Seconds of a call that pass outside of kernels, clocks not counted.
    pub(super) fn between(&self) -> f64 {
        // Those of kernels, and the two around the call.
        let clocks = 1 + self.sites.values().map(|(_, times)| times).sum::<u64>();
        (self.between - self.tick * clocks as f64).max(0.0)
    }

    /// Seconds to read and write so many bytes that lie among `within` bytes which are touched again and again: what is
    /// both read and written is copied, the rest streams by itself.
    pub(super) fn moving(&self, (read, written): (u64, u64), within: u64) -> f64 {
        let (reading, copying) = self.bandwidth(within);
        let copied = 2 * read.min(written);
        let rest = read.max(written) - read.min(written);
        copied as f64 / copying + rest as f64 / reading.max(copying)
    }

    /// Bytes of a second that are read and copied within so many bytes: between two sizes that were tried, the time for
    /// a byte goes from the one to the other as the size does, in powers of two.
    pub(super) fn bandwidth(&self, within: u64) -> (f64, f64) {
        let above = self.levels.iter().position(|(bytes, ..)| *bytes >= within);
        let high = above.unwrap_or(self.levels.len().saturating_sub(1));
        let low = if above.is_some() { high.saturating_sub(1) } else { high };
        let (Some((from, ..)), Some((to, ..))) = (self.levels.get(low), self.levels.get(high)) else {
            return (1.0, 1.0);
        };
        let part = match from < to {
            true => ((within.max(*from) as f64 / *from as f64).log2() / (*to as f64 / *from as f64).log2()).min(1.0),
            false => 0.0,
        };
        let between = |of: fn(&(u64, f64, f64)) -> f64| {
            1.0 / ((1.0 - part) / of(&self.levels[low]) + part / of(&self.levels[high]))
        };
        (between(|level| level.1), between(|level| level.2))
    }
}

fn unread(line: &str) -> String {
    format!("the program that measures said `{line}`")
}
