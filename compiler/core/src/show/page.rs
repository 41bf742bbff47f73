//! The page of a function: one file of HTML that loads nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use tenfold_ir::arith::Sym;
use tenfold_ir::tir;

use super::Planned;
use super::graph::{Graph, Kind};
use super::stats::{Stats, pieces};
use super::svg::{self, Time, bytes, escaped};
use crate::Target;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What a page says besides the function's graph, its memory and its kernels.
#[derive(Default)]
pub(super) struct More {
    /// Elements that stand first.
    pub(super) first: String,
    /// Of a kernel, what stands before its text.
    pub(super) of_kernels: BTreeMap<String, String>,
    /// Numbers for symbols; the greatest extents where there are none.
    pub(super) dims: BTreeMap<Sym, i64>,
    /// How long the ticks of a walk over the function last; each as long as any other if it is not known.
    pub(super) time: Option<Time>,
}

/// The page of a function's graph.
pub(super) fn page(planned: &Planned, target: &Target) -> String {
    with(planned, target, &Graph::of(planned), &More::default())
}

/// A page with more on it.
pub(super) fn with(planned: &Planned, target: &Target, graph: &Graph, more: &More) -> String {
    let name = escaped(&planned.module.entry);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{name}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{name}</h1>\n<p>for {}</p>\n",
        escaped(&target.to_string())
    );
    out += &more.first;
    numbers(&mut out, &Stats::of(planned));
    drawing(&mut out, graph);
    memory(&mut out, planned, graph, more);
    kernels(&mut out, planned, graph, more);
    let _ = writeln!(out, "<script>\n{SCRIPT}</script>\n</body>\n</html>");
    out
}

fn numbers(out: &mut String, stats: &Stats) {
    let bounded = |n: Option<u64>| n.map_or("no bound".into(), bytes);
    let mut rows = vec![
        ("kernels", stats.kernels.to_string()),
        ("different kernels", stats.distinct_kernels.to_string()),
        ("workspace", bounded(stats.workspace_bytes)),
        ("most alive at once", bounded(stats.live_bytes)),
        ("copies of inputs", stats.input_copies.to_string()),
        ("copies into results", stats.result_copies.to_string()),
        ("weights", bytes(stats.weight_bytes)),
    ];
    if stats.workspace.parse::<u64>().is_err() {
        rows.push(("workspace over the dims, in bytes", stats.workspace.clone()));
    }
    let pairs: String =
        rows.iter().map(|(name, value)| format!("<div><dt>{name}</dt><dd>{}</dd></div>\n", escaped(value))).collect();
    let _ = writeln!(out, "<dl>\n{pairs}</dl>");
}

fn drawing(out: &mut String, graph: &Graph) {
    *out += "<h2>Graph</h2>\n<p>A blue box is a kernel: its result, the operators that were joined in it (·) and the \
             weights that it reads (◂). A dashed box only names memory. Drag and turn the wheel to look around; click \
             a box for its kernel's text.</p>\n";
    let buttons = [("closer", "+"), ("farther", "−"), ("actual", "1:1"), ("whole", "all")];
    let buttons = buttons.map(|(act, text)| format!("<button data-act=\"{act}\">{text}</button>")).concat();
    let _ = writeln!(
        out,
        "<div class=\"panes\">\n<div class=\"stage\">\n{}<div class=\"tools\">{buttons}</div>\n</div>\n\
         <div id=\"detail\">Nothing is chosen.</div>\n</div>",
        svg::graph(graph)
    );
}

fn memory(out: &mut String, planned: &Planned, graph: &Graph, more: &More) {
    *out += "<h2>Memory over time</h2>\n";
    let Some(func) = planned.module.relax(&planned.module.entry) else { return };
    match pieces(func, &more.dims) {
        None => *out += "<p>A dim without a bound keeps the workspace's offsets from being numbers.</p>\n",
        Some(pieces) if pieces.is_empty() => *out += "<p>Nothing lives in the workspace.</p>\n",
        Some(pieces) => {
            *out += "<p>Each rectangle is a value: when it lives to the right, its bytes of the workspace upwards. Click \
                     one for the kernel that writes it.</p>\n";
            let of_calls = Time::of_calls(&pieces);
            *out += &svg::memory(func, graph, &pieces, more.time.as_ref().unwrap_or(&of_calls));
        }
    }
}

/// The text of each kernel, once.
fn kernels(out: &mut String, planned: &Planned, graph: &Graph, more: &More) {
    *out += "<h2>Kernels</h2>\n";
    let mut seen = BTreeSet::new();
    for node in graph.nodes.iter().filter(|n| n.kind == Kind::Kernel) {
        let Some(prim) = planned.module.prim(&node.kernel).filter(|_| seen.insert(&node.kernel)) else { continue };
        let (title, ty, members) = (escaped(&node.kernel), escaped(&node.ty), escaped(&node.members.join(", ")));
        let text = escaped(&tir::print(&planned.module, prim));
        let about = more.of_kernels.get(&node.kernel).map_or("", String::as_str);
        let _ = writeln!(
            out,
            "<details data-kernel=\"{title}\"><summary><b>{title}</b> <span>{ty} · {members}</span></summary>\n\
             {about}<pre>{text}</pre></details>"
        );
    }
}
