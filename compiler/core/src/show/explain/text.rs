//! The report as text: a line per kernel, then what to look at.

use std::fmt::Write as _;

use super::Explained;
use super::hints::hints;
use super::measured::Measured;
use super::memory;
use super::pools;
use super::report::{Row, Rows};
use super::roof::{ASSUMED, ASSUMED_OF_DEVICES};
use crate::show::svg::bytes;

/// A column: its head, and the cell of a row.
type Column<'a> = (&'static str, Box<dyn Fn(&Row) -> String + 'a>);

/// The report.
pub(super) fn text(explained: &Explained, rows: &Rows, measured: Result<&Measured, &str>) -> String {
    let mut out = head(explained, measured);
    if rows.rows.is_empty() {
        return out + "it has no kernels\n";
    }
    out.push('\n');
    out += &table(&cells(explained, rows, measured.is_ok()));
    if let Some(between) = rows.between.filter(|_| measured.is_ok()) {
        let _ = writeln!(out, "{} of a call pass between kernels", time(between));
    }
    out += &memory::text(explained, rows);
    out += &pools::text(explained);
    out += &schedules(explained, rows);
    let hints = hints(explained, rows, measured.ok());
    if !hints.is_empty() {
        out += "\nwhat to look at\n";
        hints.iter().for_each(|hint| out += &format!("- {hint}\n"));
    }
    let assumed = assumed(explained, measured.is_ok());
    if !assumed.is_empty() {
        let _ = writeln!(out, "\nassumed: {}", assumed.join("; "));
    }
    out
}

/// What roofs rest on that is not measured.
pub(super) fn assumed(explained: &Explained, measured: bool) -> &'static [&'static str] {
    match (measured, explained.gpu) {
        (true, _) => &ASSUMED,
        (false, Some(_)) => &ASSUMED_OF_DEVICES,
        (false, None) => &[],
    }
}

/// What the least times of a device's kernels are made of; nothing of a processor.
fn estimated(explained: &Explained) -> String {
    match (explained.target.device, explained.gpu) {
        (None, _) => String::new(),
        (Some(device), None) => {
            format!("not estimated: the device may be any GPU; `--gpu NAME` takes one of {}\n", device.gpu_names())
        }
        (Some(device), Some(gpu)) => {
            let matrices = gpu.matrices.filter(|_| device.is_ptx()).map_or(String::new(), |matrices| {
                format!(" {} TFLOP/s of products of halves by warps,", figure(matrices * 1e-12))
            });
            format!(
                "estimated for {}: {} TFLOP/s of f32,{matrices} {} GB/s, as its maker says\n",
                gpu.title,
                figure(gpu.flops * 1e-12),
                figure(gpu.bandwidth * 1e-9),
            )
        }
    }
}

/// So many threads in words.
fn threads(count: u64) -> String {
    if count == 1 { "one thread".into() } else { format!("at most {count} threads") }
}

/// What was asked, and the machine.
pub(super) fn head(explained: &Explained, measured: Result<&Measured, &str>) -> String {
    let dims: Vec<String> = explained.given.iter().map(|(name, n)| format!("{name} = {n}")).collect();
    let dims = if dims.is_empty() { String::new() } else { format!(" with {}", dims.join(", ")) };
    let name = &explained.planned.module.entry;
    match measured {
        Err(why) => {
            let target = explained.target_name();
            format!("{name}{dims} for {target}\nnot measured: {why}\n{}", estimated(explained))
        }
        Ok(measured) => {
            let [median, least, _] = measured.whole.map(time);
            let lanes = explained.target.vector_bytes().max(16) / 4;
            let mut out = format!(
                "{name}{dims}: {median} a call on {}, the median of {}; {least} at least; {}\n",
                threads(measured.threads),
                measured.calls,
                code(&measured.backend)
            );
            let per_cycle = measured.peak / measured.clock / f64::from(2 * lanes) / measured.threads.max(1) as f64;
            let _ = writeln!(
                out,
                "peak {} GFLOP/s of f32, measured: vectors of {lanes}, {} fused multiplications a cycle at {} GHz",
                figure(measured.peak * 1e-9),
                figure(per_cycle),
                figure(measured.clock * 1e-9),
            );
            let (read, copied) = measured.bandwidth(explained.data);
            let _ = writeln!(
                out,
                "memory {} GB/s read and {} GB/s copied, measured within the {} that a call touches",
                figure(read * 1e-9),
                figure(copied * 1e-9),
                bytes(explained.data),
            );
            out
        }
    }
}

/// What generated the code: a reader should know that LLVM did not.
fn code(backend: &str) -> &'static str {
    if backend == "c" { "compiled through C, which LLVM does better" } else { "compiled through LLVM" }
}

/// Heads, a line per kernel, and the total.
pub(super) fn cells(explained: &Explained, rows: &Rows, measured: bool) -> Vec<Vec<String>> {
    let columns = columns(explained, rows, measured);
    let mut all = vec![columns.iter().map(|(head, _)| head.to_string()).collect()];
    all.extend(rows.rows.iter().map(|row| columns.iter().map(|(_, cell)| cell(row)).collect::<Vec<String>>()));
    if rows.rows.len() > 1 {
        let mut total: Vec<String> = columns.iter().map(|(_, cell)| cell(&rows.total)).collect();
        for ((head, _), cell) in columns.iter().zip(&mut total) {
            match *head {
                "kernel" => *cell = format!("all {}", rows.rows.len()),
                "bound by" | "rule" | "tile" => cell.clear(),
                _ => {}
            }
        }
        all.push(total);
    }
    all
}

fn columns<'a>(explained: &'a Explained, rows: &'a Rows, measured: bool) -> Vec<Column<'a>> {
    let unknown = || "-".to_string();
    let whole = rows.total.seconds.unwrap_or(0.0);
    let operations = if rows.rows.iter().any(|row| row.work.is_some_and(|w| w.ints > 0)) { "Gop/s" } else { "GFLOP/s" };
    let rate = |row: &Row, of: fn(&super::kernel::Work) -> u64| {
        let (work, seconds) = (row.work?, row.seconds.filter(|s| *s > 0.0)?);
        Some(figure(of(&work) as f64 / seconds * 1e-9))
    };
    let known = |cell: Option<String>| cell.unwrap_or_else(|| "-".into());
    let mut all: Vec<Column<'a>> = Vec::new();
    if measured {
        all.push(("time", Box::new(move |row| row.seconds.map_or_else(unknown, time))));
        all.push(("share", Box::new(move |row| known(row.seconds.map(|s| percent(s / whole.max(1e-12)))))));
        all.push((operations, Box::new(move |row| known(rate(row, |w| w.flops + w.ints)))));
        all.push(("GB/s", Box::new(move |row| known(rate(row, super::kernel::Work::bytes)))));
    } else {
        all.push(("op", Box::new(move |row| known(row.work.map(|w| scaled(w.flops + w.ints))))));
        all.push(("moved", Box::new(move |row| known(row.work.map(|w| bytes(w.bytes()))))));
    }
    all.push(("op/byte", Box::new(move |row| known(row.intensity().map(figure)))));
    if measured {
        all.push(("bound by", Box::new(move |row| known(row.least.map(|(_, bound)| bound.name().into())))));
        all.push(("of roof", Box::new(move |row| known(row.of_roof().map(percent)))));
    } else if explained.gpu.is_some() {
        all.push(("estimate", Box::new(move |row| known(row.least.map(|(seconds, _)| time(seconds))))));
        all.push(("bound by", Box::new(move |row| known(row.least.map(|(_, bound)| bound.name().into())))));
    }
    all.push(("calls", Box::new(move |row| known(row.times.map(|n| n.to_string())))));
    all.push(("kernel", Box::new(|row| explained.short(row.kernel).to_string())));
    all.push(("rule", Box::new(|row| explained.kernels[row.kernel].schedule.rule.clone())));
    all.push(("tile", Box::new(|row| explained.kernels[row.kernel].schedule.tile().to_string())));
    all
}

/// Columns of which those with words stand at the left.
fn table(cells: &[Vec<String>]) -> String {
    let Some(heads) = cells.first() else { return String::new() };
    let width = |n: usize| cells.iter().map(|row| row[n].chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for row in cells {
        let mut line = String::new();
        for (n, cell) in row.iter().enumerate() {
            let wide = width(n);
            match heads[n].as_str() {
                "kernel" | "rule" | "tile" | "bound by" => drop(write!(line, "{cell:<wide$}  ")),
                _ => drop(write!(line, "{cell:>wide$}  ")),
            }
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

/// How each kernel was scheduled: what was chosen, what bounded it; then why a rule is one.
fn schedules(explained: &Explained, rows: &Rows) -> String {
    let mut out = String::from("\nschedules\n");
    let mut rules: Vec<(&str, &str)> = Vec::new();
    for row in &rows.rows {
        let schedule = &explained.kernels[row.kernel].schedule;
        let _ = writeln!(out, "{}: {}", explained.short(row.kernel), schedule.rule);
        for (name, text) in &schedule.choices {
            let _ = writeln!(out, "  {name}: {text}");
        }
        if schedule.is_users() {
            let _ = writeln!(out, "  steps: {}", schedule.reason);
        } else if !rules.contains(&(&schedule.rule, &schedule.reason)) {
            rules.push((&schedule.rule, &schedule.reason));
        }
    }
    out.push('\n');
    rules.iter().for_each(|(rule, reason)| out += &format!("{rule}: {reason}\n"));
    out
}

/// Three digits, no more than are known.
pub(super) fn figure(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 0.1 || v == 0.0 => format!("{v:.2}"),
        v if v >= 0.001 => format!("{v:.3}"),
        v => format!("{v:.1e}"),
    }
}

/// A time as a person reads it.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{} s", figure(s)),
        s if s >= 1e-3 => format!("{} ms", figure(s * 1e3)),
        s if s >= 1e-6 => format!("{} µs", figure(s * 1e6)),
        s => format!("{:.0} ns", s * 1e9),
    }
}

/// The number of a call, counted from 1.
pub(super) fn number(call: usize) -> String {
    format!("call {}", call + 1)
}

/// A part as a percentage.
pub(super) fn percent(part: f64) -> String {
    if part >= 0.0995 || part == 0.0 { format!("{:.0} %", part * 100.0) } else { format!("{:.1} %", part * 100.0) }
}

/// A count with a unit of a thousand.
pub(super) fn scaled(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..10_000_000 => format!("{} k", figure(count as f64 * 1e-3)),
        10_000_000..10_000_000_000 => format!("{} M", figure(count as f64 * 1e-6)),
        _ => format!("{} G", figure(count as f64 * 1e-9)),
    }
}
