//! The report as a page: the picture of the graph with times on it, a table, the roofs with the kernels below them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::hints::hints;
use super::measured::Measured;
use super::report::{Row, Rows};
use super::roof::ASSUMED;
use super::text::{assumed, cells, figure, head, percent, time};
use super::{Explained, Kernel};
use crate::show::graph::Graph;
use crate::show::page::{self, More};
use crate::show::svg::{Time, escaped};
use crate::timeline::Timeline;

/// The page.
pub(super) fn page(explained: &Explained, rows: &Rows, measured: Result<&Measured, &str>) -> String {
    let mut graph = Graph::of(&explained.planned);
    notes(explained, rows, &mut graph);
    let mut first: String =
        head(explained, measured).lines().map(|line| format!("<p>{}</p>\n", escaped(line))).collect();
    first += &table(explained, rows, &graph, measured.is_ok());
    if let Ok(measured) = measured {
        first += &roofs(explained, rows, &graph, measured);
    } else if explained.gpu.is_some() {
        let assumed = escaped(&assumed(explained, false).join("; "));
        let _ = writeln!(first, "<p>An estimate is the least time that a kernel may take. Assumed: {assumed}.</p>");
    }
    let found = hints(explained, rows, measured.ok());
    if !found.is_empty() {
        let items: String = found.iter().map(|hint| format!("<li>{}</li>\n", escaped(hint))).collect();
        let _ = writeln!(first, "<h2>What to look at</h2>\n<ul>\n{items}</ul>");
    }
    let of_kernels = explained.kernels.iter().map(|kernel| (kernel.name.clone(), about(kernel))).collect();
    let dims = explained.dims.clone();
    let more = More { first, of_kernels, dims, time: measured.is_ok().then(|| clock(explained, rows)) };
    page::with(&explained.planned, &explained.target, &graph, &more)
}

/// What stands in the boxes of kernels.
fn notes(explained: &Explained, rows: &Rows, graph: &mut Graph) {
    let whole = rows.total.seconds.filter(|seconds| *seconds > 0.0);
    for (call, seconds) in explained.calls.iter().zip(&rows.calls) {
        let Some(node) = call.value.and_then(|value| graph.maker(value)) else { continue };
        let schedule = &explained.kernels[call.kernel].schedule;
        let tile = if schedule.tile().is_empty() { String::new() } else { format!(", tile {}", schedule.tile()) };
        let node = &mut graph.nodes[node];
        if let Some((seconds, whole)) = seconds.zip(whole) {
            node.share = Some(seconds / whole);
            node.notes.push(format!("{}, {}", time(seconds), percent(seconds / whole)));
        }
        node.notes.push(format!("{}{tile}", schedule.rule));
    }
}

/// The first box of a kernel, for a click.
fn of_kernel(explained: &Explained, graph: &Graph, kernel: usize) -> String {
    let call = explained.calls.iter().find(|call| call.kernel == kernel);
    let node = call.and_then(|call| graph.maker(call.value?));
    node.map_or(String::new(), |node| format!(" data-node=\"node{node}\""))
}

fn table(explained: &Explained, rows: &Rows, graph: &Graph, measured: bool) -> String {
    let mut out = String::from("<h2>Kernels by time</h2>\n<table>\n");
    if !measured {
        out = String::from("<h2>What kernels do</h2>\n<table>\n");
    }
    for (n, line) in cells(explained, rows, measured).iter().enumerate() {
        let (open, cell) = match n {
            0 => ("<tr>".to_string(), "th"),
            n => {
                let row = rows.rows.get(n - 1);
                (row.map_or("<tr>".into(), |row| format!("<tr{}>", of_kernel(explained, graph, row.kernel))), "td")
            }
        };
        let line: String = line.iter().map(|text| format!("<{cell}>{}</{cell}>", escaped(text))).collect();
        let _ = writeln!(out, "{open}{line}</tr>");
    }
    out + "</table>\n"
}

/// What stands before a kernel's text.
fn about(kernel: &Kernel) -> String {
    let mut out = format!("<p>{}: {}</p>\n", escaped(&kernel.schedule.rule), escaped(&kernel.schedule.reason));
    let choices = kernel.schedule.choices.iter().map(|(name, text)| format!("{name}: {text}"));
    let lines: String =
        choices.chain(kernel.missed.iter().cloned()).map(|line| format!("<li>{}</li>\n", escaped(&line))).collect();
    if !lines.is_empty() {
        let _ = writeln!(out, "<ul class=\"about\">\n{lines}</ul>");
    }
    out
}

/// When each tick of a walk over the function begins, in seconds: kernels run one after another.
fn clock(explained: &Explained, rows: &Rows) -> Time {
    let module = &explained.planned.module;
    let mut lasts: BTreeMap<usize, f64> = BTreeMap::new();
    let mut end = 1;
    if let Some(func) = module.relax(&module.entry) {
        let times = Timeline::new(func);
        let ends = times.reads.iter().flatten().chain(&times.made);
        end = ends.max().map_or(1, |tick| tick + 1);
        for (call, seconds) in explained.calls.iter().zip(&rows.calls) {
            let Some((value, seconds)) = call.value.zip(*seconds) else { continue };
            *lasts.entry(times.made[value.0 as usize]).or_default() += seconds;
        }
    }
    let mut now = 0.0;
    let begins = (0..=end).map(|tick| {
        let begin = now;
        now += lasts.get(&tick).copied().unwrap_or(0.0);
        begin
    });
    Time { begins: begins.collect(), text: time }
}

/// What rates are counted in: so marks are round.
const GIGA: f64 = 1e-9;

/// The plot, in pixels.
const PLOT: (f64, f64) = (760.0, 340.0);

/// A scale of powers of two, in pixels.
struct Scale {
    from: f64,
    to: f64,
    pixels: f64,
}

impl Scale {
    fn around(all: impl Iterator<Item = f64>, pixels: f64) -> Scale {
        let logs: Vec<f64> = all.filter(|v| v.is_finite() && *v > 0.0).map(f64::log2).collect();
        let (from, to) = logs.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)));
        match from.is_finite() {
            true => Scale { from: from.floor() - 1.0, to: to.ceil() + 1.0, pixels },
            false => Scale { from: 0.0, to: 1.0, pixels },
        }
    }

    fn at(&self, value: f64) -> f64 {
        (value.max(f64::MIN_POSITIVE).log2() - self.from) / (self.to - self.from) * self.pixels
    }

    /// Powers of two of which no more than some stand beside one another.
    fn marks(&self) -> Vec<f64> {
        let every = ((self.to - self.from) / 8.0).ceil().max(1.0) as i32;
        (self.from as i32..=self.to as i32).filter(|n| n % every == 0).map(|n| f64::from(n).exp2()).collect()
    }
}

/// Operations of a second over operations for each byte: kernels as dots, and what the machine can do as lines.
fn roofs(explained: &Explained, rows: &Rows, graph: &Graph, measured: &Measured) -> String {
    let dot = |row: &Row| {
        let (work, seconds) = (row.work?, row.seconds.filter(|s| *s > 0.0)?);
        let rate = (work.flops + work.ints) as f64 / seconds * GIGA;
        (rate > 0.0).then_some((row.clone(), row.intensity()?, rate))
    };
    let dots: Vec<(Row, f64, f64)> = rows.rows.iter().filter_map(dot).collect();
    if dots.is_empty() {
        return String::new();
    }
    let peak = measured.peak * GIGA;
    let within = |bytes| {
        let (read, copied) = measured.bandwidth(bytes);
        read.max(copied) * GIGA
    };
    let (near, far) = (within(0), within(explained.data));
    let ridge = peak / far;
    let x = Scale::around(dots.iter().map(|(_, intensity, _)| *intensity).chain([ridge]), PLOT.0);
    let y = Scale::around(dots.iter().map(|(.., rate)| *rate).chain([peak]), PLOT.1);
    let mut out = format!(
        "<h2>Roofs</h2>\n<p>Operations of a second over operations for each byte that moves. A dot is a kernel, as large \
         as its share of the time; click one for its text. Above the lines this machine cannot go: {} GFLOP/s, and \
         memory where all data of a call fit (solid) and where few fit (dashed). Kernels by rules winograd and \
         strassen multiply less often than is counted, and may lie above.</p>\n\
         <svg xmlns=\"http://www.w3.org/2000/svg\" class=\"roofs\" viewBox=\"-70 -10 {} {}\">\n\
         <rect class=\"plot\" x=\"0\" y=\"0\" width=\"{}\" height=\"{}\"/>\n",
        figure(peak),
        PLOT.0 + 90.0,
        PLOT.1 + 50.0,
        PLOT.0,
        PLOT.1
    );
    axes(&mut out, &x, &y);
    for (class, bandwidth) in [("roof", far), ("roof near", near)] {
        let corner = peak / bandwidth;
        let left = x.from.exp2().max(y.from.exp2() / bandwidth).min(corner);
        let points = [(left, left * bandwidth), (corner, peak), (x.to.exp2(), peak)];
        let points = points.map(|(a, b)| format!("{:.1},{:.1}", x.at(a), PLOT.1 - y.at(b)));
        let _ = writeln!(out, "<polyline class=\"{class}\" points=\"{}\"/>", points.join(" "));
    }
    let whole = rows.total.seconds.unwrap_or(1.0);
    for (row, intensity, rate) in &dots {
        let radius = 4.0 + 14.0 * (row.seconds.unwrap_or(0.0) / whole).sqrt();
        let click = of_kernel(explained, graph, row.kernel);
        let name = escaped(explained.short(row.kernel));
        let _ = writeln!(
            out,
            "<circle class=\"c0\"{click} cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\"><title>{name}: {} GFLOP/s at {} \
             operations a byte</title></circle>",
            x.at(*intensity),
            PLOT.1 - y.at(*rate),
            figure(*rate),
            figure(*intensity)
        );
    }
    let assumed = ASSUMED.map(escaped).join("; ");
    out + &format!("</svg>\n<p>Assumed: {assumed}.</p>\n")
}

fn axes(out: &mut String, x: &Scale, y: &Scale) {
    for mark in x.marks() {
        let (at, below) = (x.at(mark), PLOT.1 + 16.0);
        let _ = writeln!(
            out,
            "<text class=\"axis\" x=\"{at:.0}\" y=\"{below}\" text-anchor=\"middle\">{}</text>",
            figure(mark)
        );
    }
    for mark in y.marks() {
        let at = PLOT.1 - y.at(mark) + 4.0;
        let text = figure(mark);
        let _ = writeln!(out, "<text class=\"axis\" x=\"-6\" y=\"{at:.0}\" text-anchor=\"end\">{text} G/s</text>");
    }
    let (middle, below) = (PLOT.0 / 2.0, PLOT.1 + 34.0);
    let _ = writeln!(
        out,
        "<text class=\"axis\" x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\">operations a byte</text>"
    );
}
