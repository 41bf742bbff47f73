//! What a run did, for people and for tools.

use std::fmt::Write as _;
use std::time::Duration;

/// What became of a function in this run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Status {
    /// Compiled now.
    Compiled,
    /// Known from an earlier run.
    Cached,
    /// Has errors.
    #[default]
    Refused,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Compiled => "compiled",
            Self::Cached => "cached",
            Self::Refused => "refused",
        }
    }
}

/// A function's line.
#[derive(Default)]
pub(crate) struct Line {
    /// With its modules.
    pub(crate) name: String,
    /// Its entry point; empty if it has errors.
    pub(crate) symbol: String,
    /// What became of it.
    pub(crate) status: Status,
    /// How long its compilation took in this run.
    pub(crate) time: Duration,
    /// Milliseconds by stage, when it was compiled.
    pub(crate) stages: Vec<(String, u64)>,
    /// The most memory that its worker had up to its end, when it was compiled.
    pub(crate) peak: Option<u64>,
    /// What an importer left as it was, when it was compiled.
    pub(crate) remarks: Vec<String>,
    /// Bytes of workspace, if bounded.
    pub(crate) workspace: Option<u64>,
    /// Bytes in each memory among which it is split.
    pub(crate) pools: Vec<(String, u64)>,
    /// Bytes of constants.
    pub(crate) weights: u64,
    /// Bytes of stack, if known.
    pub(crate) stack: Option<u64>,
    /// Bytes of code by variant, the best first, the baseline last.
    pub(crate) code: Vec<(String, u64)>,
    /// Bytes of the program for a device, if there is one.
    pub(crate) device: Option<u64>,
}

/// What a run did.
pub(crate) struct Report {
    /// In the order of the index.
    pub(crate) lines: Vec<Line>,
    /// Distinct functions handed to workers.
    pub(crate) compiled: usize,
    /// Distinct functions known from an earlier run.
    pub(crate) cached: usize,
    /// Workers at one time.
    pub(crate) workers: usize,
    /// Worker processes started.
    pub(crate) started: usize,
    /// Source files read.
    pub(crate) files: usize,
    /// Which code generator.
    pub(crate) backend: String,
    /// From the start to the list of functions.
    pub(crate) walk: Duration,
    /// From the start to the end.
    pub(crate) total: Duration,
}

fn millis(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e3)
}

impl Report {
    /// For people.
    pub(crate) fn text(&self) -> String {
        let mut out = format!(
            "{} functions: {} compiled by {} workers, {} cached\n{} files read; walk {} ms, all {} ms; {}\n\n",
            self.lines.len(),
            self.compiled,
            self.workers,
            self.cached,
            self.files,
            millis(self.walk),
            millis(self.total),
            self.backend
        );
        let bytes = |value: Option<u64>| value.map_or("?".into(), |value| value.to_string());
        for line in &self.lines {
            let _ = writeln!(
                out,
                "{:<9} {:>9} ms  workspace {:>10}  weights {:>10}  stack {:>8}  {}",
                line.status.name(),
                millis(line.time),
                bytes(line.workspace),
                line.weights,
                bytes(line.stack),
                line.name
            );
            for (pool, bytes) in &line.pools {
                let _ = writeln!(out, "          {bytes:>9} bytes of workspace in {pool}");
            }
            for (stage, time) in &line.stages {
                let _ = writeln!(out, "          {time:>9} ms  {stage}");
            }
            if let Some(peak) = line.peak {
                let _ = writeln!(out, "          {:>9} MB  peak memory", peak >> 20);
            }
            for (variant, code) in &line.code {
                let _ = writeln!(out, "          {:>9} KB  code, {variant}", code.div_ceil(1024));
            }
            if let Some(bytes) = line.device {
                let _ = writeln!(out, "          {:>9} KB  program for a device", bytes.div_ceil(1024));
            }
            for remark in &line.remarks {
                let _ = writeln!(out, "          {remark}");
            }
        }
        out
    }

    /// For tools.
    pub(crate) fn json(&self) -> String {
        let number = |value: Option<u64>| value.map_or("null".into(), |value| value.to_string());
        let lines: Vec<String> = self
            .lines
            .iter()
            .map(|line| {
                let numbers = |all: &[(String, u64)]| {
                    let fields: Vec<_> = all.iter().map(|(name, n)| format!("{}: {n}", quoted(name))).collect();
                    fields.join(", ")
                };
                let remarks: Vec<_> = line.remarks.iter().map(|remark| quoted(remark)).collect();
                format!(
                    "    {{\"name\": {}, \"symbol\": {}, \"status\": \"{}\", \"ms\": {}, \"workspace\": {}, \"pools\": {{{}}}, \"weights\": {}, \"stack\": {}, \"code\": {{{}}}, \"device\": {}, \"stages\": {{{}}}, \"peak\": {}, \"remarks\": [{}]}}",
                    quoted(&line.name),
                    quoted(&line.symbol),
                    line.status.name(),
                    millis(line.time),
                    number(line.workspace),
                    numbers(&line.pools),
                    line.weights,
                    number(line.stack),
                    numbers(&line.code),
                    number(line.device),
                    numbers(&line.stages),
                    number(line.peak),
                    remarks.join(", ")
                )
            })
            .collect();
        format!(
            "{{\n  \"compiled\": {},\n  \"cached\": {},\n  \"workers\": {},\n  \"started\": {},\n  \"files_read\": {},\n  \"walk_ms\": {},\n  \"total_ms\": {},\n  \"backend\": {},\n  \"functions\": [\n{}\n  ]\n}}\n",
            self.compiled,
            self.cached,
            self.workers,
            self.started,
            self.files,
            millis(self.walk),
            millis(self.total),
            quoted(&self.backend),
            lines.join(",\n")
        )
    }
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
