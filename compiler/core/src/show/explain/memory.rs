//! The memory of the workspace over time: how much of it is alive while each kernel runs.

use std::fmt::Write as _;

use super::Explained;
use super::report::Rows;
use super::text::{number, time};
use crate::show::stats::{alive, pieces};
use crate::show::svg::bytes;
use crate::timeline::Timeline;

/// While a call runs.
pub(super) struct Moment {
    /// The number of the call.
    pub(super) call: usize,
    /// When it begins, in seconds, if that was measured.
    pub(super) begin: Option<f64>,
    /// Bytes of values that are alive then.
    pub(super) alive: u64,
}

/// A moment for each call that makes a value; nothing where extents of values are no numbers before the call.
pub(super) fn moments(explained: &Explained, rows: &Rows) -> Option<Vec<Moment>> {
    let module = &explained.planned.module;
    let func = module.relax(&module.entry)?;
    let (times, lives) = (Timeline::new(func), alive(pieces(func, &explained.dims)?));
    let mut begin = 0.0;
    let mut all = Vec::new();
    for (number, (call, seconds)) in explained.calls.iter().zip(&rows.calls).enumerate() {
        if let Some(value) = call.value {
            let tick = times.made[value.0 as usize];
            let here = lives.iter().filter(|(first, last, _)| (*first..=*last).contains(&tick));
            all.push(Moment {
                call: number,
                begin: seconds.map(|_| begin),
                alive: here.map(|(.., bytes)| bytes).sum(),
            });
        }
        begin += seconds.unwrap_or(0.0);
    }
    Some(all)
}

/// Lines of the picture, and characters of its widest one.
const SIZE: (usize, usize) = (24, 32);

/// A line per call, of long functions one for several: the most that is alive in them.
pub(super) fn text(explained: &Explained, rows: &Rows) -> String {
    let Some(moments) = moments(explained, rows) else {
        return "\nmemory over time: extents of values are not known before the call\n".into();
    };
    let most = moments.iter().map(|moment| moment.alive).max().unwrap_or(0);
    if most == 0 {
        return "\nmemory over time: nothing lives in the workspace\n".into();
    }
    let mut out = format!("\nmemory over time, at most {}\n", bytes(most));
    for together in moments.chunks(moments.len().div_ceil(SIZE.0)) {
        let Some(top) = together.iter().max_by_key(|moment| moment.alive) else { continue };
        let begin = together[0].begin.map_or_else(|| number(together[0].call), time);
        let bar = "#".repeat((top.alive as f64 / most as f64 * SIZE.1 as f64).ceil() as usize);
        let more = if together.len() > 1 { format!(" and {} more", together.len() - 1) } else { String::new() };
        let name = explained.short(explained.calls[top.call].kernel);
        let (alive, wide) = (bytes(top.alive), SIZE.1);
        let _ = writeln!(out, "{begin:>8}  {alive:>9}  {bar:<wide$}  {name}{more}");
    }
    out
}
