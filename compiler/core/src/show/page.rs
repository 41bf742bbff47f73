//! The page of a function: one file of HTML that loads nothing.

use std::fmt::Write as _;

use super::Planned;
use super::graph::{Graph, Kind};
use super::stats::{Stats, pieces};
use super::svg::{self, escaped};
use crate::{CompileError, Target};

const STYLE: &str = "\
body { font: 14px sans-serif; margin: 2em; color: #222 }
table { border-collapse: collapse; margin: 1em 0 } td, th { border: 1px solid #ccc; padding: 3px 9px; text-align: left }
.scroll { overflow: auto; border: 1px solid #ccc; max-height: 80vh }
text { font: 12px monospace } .title { font-weight: bold } .type { fill: #555 } .member { fill: #333 }
.edge { fill: none; stroke: #999 } rect { stroke: #555; fill: #fff }
.input rect { fill: #dff0d8 } .constant rect { fill: #eee } .kernel rect { fill: #d9e8fb } .group rect { fill: #b9d4f7 }
.view rect { fill: #fff; stroke-dasharray: 4 } .result rect { fill: #fbe3c8 }
.memory { border: 1px solid #ccc } .memory rect { stroke: #fff }
.c0 { fill: #4e79a7 } .c1 { fill: #f28e2b } .c2 { fill: #59a14f } .c3 { fill: #b07aa1 } .c4 { fill: #e15759 }
.c5 { fill: #76b7b2 }
";

/// The page.
pub(super) fn page(planned: &Planned, target: &Target) -> Result<String, CompileError> {
    let name = escaped(&planned.module.entry);
    let graph = Graph::of(planned);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{name}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{name}</h1>\n<p>for {}</p>\n",
        escaped(&target.to_string())
    );
    numbers(&mut out, &Stats::of(planned));
    out += "<h2>Graph</h2>\n<p>A blue box is a kernel with the operators that were joined in it; a dashed one only names \
            memory. Types stand at boxes and, under the pointer, at arrows.</p>\n";
    let _ = writeln!(out, "<div class=\"scroll\">\n{}</div>", svg::graph(&graph));
    memory(&mut out, planned);
    groups(&mut out, &graph);
    out += "</body>\n</html>\n";
    Ok(out)
}

fn numbers(out: &mut String, stats: &Stats) {
    let bytes = |n: Option<u64>| n.map_or("no bound".into(), |n| n.to_string());
    let rows = [
        ("kernels", stats.kernels.to_string()),
        ("different kernels", stats.distinct_kernels.to_string()),
        ("workspace, bytes", bytes(stats.workspace_bytes)),
        ("workspace over the dims", stats.workspace.clone()),
        ("most alive at once, bytes", bytes(stats.live_bytes)),
        ("copies of inputs", stats.input_copies.to_string()),
        ("copies into results", stats.result_copies.to_string()),
        ("weights, bytes", stats.weight_bytes.to_string()),
    ];
    *out += "<table>\n";
    for (name, value) in rows {
        let _ = writeln!(out, "<tr><th>{name}</th><td>{}</td></tr>", escaped(&value));
    }
    *out += "</table>\n";
}

fn memory(out: &mut String, planned: &Planned) {
    *out += "<h2>Memory over time</h2>\n";
    let Some(func) = planned.module.relax(&planned.module.entry) else { return };
    match pieces(func) {
        None => *out += "<p>A dim without a bound keeps the workspace's offsets from being numbers.</p>\n",
        Some(pieces) if pieces.is_empty() => *out += "<p>Nothing lives in the workspace.</p>\n",
        Some(pieces) => {
            *out += "<p>Each rectangle is a value: its calls to the right, its bytes of the workspace upwards.</p>\n";
            *out += &svg::memory(func, &pieces);
        }
    }
}

fn groups(out: &mut String, graph: &Graph) {
    *out += "<h2>Kernels</h2>\n<table>\n<tr><th>kernel</th><th>result</th><th>operators</th></tr>\n";
    for node in graph.nodes.iter().filter(|n| n.kind == Kind::Kernel) {
        let members = escaped(&node.members.join(", "));
        let (title, ty) = (escaped(&node.title), escaped(&node.ty));
        let _ = writeln!(out, "<tr><td>{title}</td><td>{ty}</td><td>{members}</td></tr>");
    }
    *out += "</table>\n";
}
