//! The report as one JSON object. What is not known is null.

use super::Explained;
use super::measured::Measured;
use super::memory::{Moment, moments};
use super::pools::{Pool, pools};
use super::report::{Row, Rows};
use super::roof::{ASSUMED, ASSUMED_OF_DEVICES};
use crate::target::Gpu;

/// The object.
pub(super) fn json(explained: &Explained, rows: &Rows, measured: Result<&Measured, &str>) -> String {
    let dims = explained.given.iter().map(|(name, n)| (name.as_str(), n.to_string()));
    let kernels: Vec<String> = rows.rows.iter().map(|row| kernel(explained, rows, row)).collect();
    let [whole, least, greatest] = measured.map_or([None; 3], |m| m.whole.map(Some));
    let fields = [
        ("function", quoted(&explained.planned.module.entry)),
        ("target", quoted(&explained.target.to_string())),
        ("dims", object(dims)),
        ("not_measured", measured.err().map_or("null".into(), quoted)),
        ("seconds", number(whole)),
        ("least_seconds", number(least)),
        ("greatest_seconds", number(greatest)),
        ("seconds_between_kernels", number(rows.between)),
        ("data_bytes", explained.data.to_string()),
        ("machine", measured.map_or("null".into(), machine)),
        ("model", explained.gpu.map_or("null".into(), model)),
        ("kernels", list(&kernels)),
        ("memory", memory(explained, rows)),
        ("pools", list(&pools(explained).iter().map(pool).collect::<Vec<_>>())),
    ];
    object(fields.into_iter()) + "\n"
}

/// Bytes of the workspace that are alive while each call runs.
fn memory(explained: &Explained, rows: &Rows) -> String {
    let Some(moments) = moments(explained, rows) else { return "null".into() };
    let one = |moment: &Moment| {
        let fields = [
            ("kernel", quoted(&explained.kernels[explained.calls[moment.call].kernel].name)),
            ("begins_at_seconds", number(moment.begin)),
            ("alive_bytes", moment.alive.to_string()),
        ];
        object(fields.into_iter())
    };
    list(&moments.iter().map(one).collect::<Vec<_>>())
}

/// A memory of the workspace.
fn pool(of: &Pool) -> String {
    let tensor = |(name, offset, bytes): &(String, u64, u64)| {
        let fields = [("name", quoted(name)), ("offset", offset.to_string()), ("bytes", bytes.to_string())];
        object(fields.into_iter())
    };
    let fields = [
        ("name", quoted(&of.name)),
        ("used_bytes", of.used.to_string()),
        ("bytes", of.limit.to_string()),
        ("tensors", list(&of.tensors.iter().map(tensor).collect::<Vec<_>>())),
    ];
    object(fields.into_iter())
}

/// What estimates rest on.
fn model(of: &Gpu) -> String {
    let assumed: Vec<String> = ASSUMED_OF_DEVICES.iter().map(|text| quoted(text)).collect();
    let fields = [
        ("name", quoted(of.title)),
        ("f32_flops_per_second", number(Some(of.flops))),
        ("matrix_flops_per_second", number(of.matrices)),
        ("bytes_per_second", number(Some(of.bandwidth))),
        ("assumed", list(&assumed)),
    ];
    object(fields.into_iter())
}

fn machine(measured: &Measured) -> String {
    let level = |(bytes, read, copied): &(u64, f64, f64)| {
        let fields = [
            ("bytes", bytes.to_string()),
            ("read_bytes_per_second", number(Some(*read))),
            ("copied_bytes_per_second", number(Some(*copied))),
        ];
        object(fields.into_iter())
    };
    let levels: Vec<String> = measured.levels.iter().map(level).collect();
    let assumed: Vec<String> = ASSUMED.iter().map(|text| quoted(text)).collect();
    let fields = [
        ("measured_hertz", number(Some(measured.clock))),
        ("measured_f32_flops_per_second", number(Some(measured.peak))),
        ("measured_memory", list(&levels)),
        ("assumed", list(&assumed)),
        ("threads", measured.threads.to_string()),
        ("backend", quoted(&measured.backend)),
    ];
    object(fields.into_iter())
}

fn kernel(explained: &Explained, rows: &Rows, row: &Row) -> String {
    let kernel = &explained.kernels[row.kernel];
    let count = |n: Option<u64>| n.map_or("null".into(), |n| n.to_string());
    let work = row.work;
    let calls = explained.calls.iter().zip(&rows.calls).filter(|(call, _)| call.kernel == row.kernel);
    let calls: Vec<String> = calls.map(|(_, seconds)| number(*seconds)).collect();
    let choices = kernel.schedule.choices.iter().map(|(name, text)| (*name, quoted(text)));
    let missed: Vec<String> = kernel.missed.iter().map(|text| quoted(text)).collect();
    let fields = [
        ("kernel", quoted(&kernel.name)),
        ("rule", quoted(&kernel.schedule.rule)),
        ("reason", quoted(&kernel.schedule.reason)),
        ("choices", object(choices)),
        ("missed", list(&missed)),
        ("calls", count(row.times)),
        ("flops", count(work.map(|w| w.flops))),
        ("integer_operations", count(work.map(|w| w.ints))),
        ("bytes_read", count(work.map(|w| w.outside.0 + w.inside.0))),
        ("bytes_written", count(work.map(|w| w.outside.1 + w.inside.1))),
        ("seconds", number(row.seconds)),
        ("seconds_of_calls", list(&calls)),
        ("roof_seconds", number(row.least.map(|(seconds, _)| seconds))),
        ("bound_by", row.least.map_or("null".into(), |(_, bound)| quoted(bound.name()))),
        ("of_roof", number(row.of_roof())),
    ];
    object(fields.into_iter())
}

fn number(value: Option<f64>) -> String {
    value.filter(|v| v.is_finite()).map_or("null".into(), |v| format!("{v:e}"))
}

fn list(items: &[String]) -> String {
    format!("[{}]", items.join(", "))
}

fn object<'a>(fields: impl Iterator<Item = (&'a str, String)>) -> String {
    let fields: Vec<String> = fields.map(|(name, value)| format!("{}: {value}", quoted(name))).collect();
    format!("{{{}}}", fields.join(", "))
}

/// A text as it stands in JSON.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            '\n' => out += "\\n",
            c if c.is_control() => out += &format!("\\u{:04x}", c as u32),
            c => out.push(c),
        }
    }
    out + "\""
}
