//! The pictures: a graph in layers, and memory over time. Plain SVG that needs nothing from elsewhere.

use std::fmt::Write as _;

use tenfold_ir::relax;

use super::graph::{Graph, Kind, Node};
use super::stats::Piece;

const WIDTH: usize = 230;
const GAP: usize = 30;
const LINE: usize = 15;
/// Members of a group that are named; the rest are counted.
const MEMBERS: usize = 8;

/// A text as it stands in XML.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A text cut to what a box holds.
fn cut(text: &str) -> String {
    const MOST: usize = 34;
    if text.chars().count() <= MOST {
        return escaped(text);
    }
    escaped(&text.chars().take(MOST - 1).chain(['…']).collect::<String>())
}

fn lines(node: &Node) -> Vec<String> {
    let mut all: Vec<String> = node.members.iter().take(MEMBERS).map(|m| format!("· {m}")).collect();
    if node.members.len() > MEMBERS {
        all.push(format!("and {} more", node.members.len() - MEMBERS));
    }
    all
}

fn height(node: &Node) -> usize {
    2 * LINE + 10 + LINE * lines(node).len()
}

/// Boxes in layers from top to bottom, arrows from what is read to what reads it.
pub(super) fn graph(graph: &Graph) -> String {
    let layers = graph.nodes.iter().map(|n| n.layer + 1).max().unwrap_or(0);
    let mut heights = vec![0; layers];
    graph.nodes.iter().for_each(|n| heights[n.layer] = height(n).max(heights[n.layer]));
    let tops: Vec<usize> = heights
        .iter()
        .scan(GAP, |y, h| {
            let top = *y;
            *y += h + 2 * GAP;
            Some(top)
        })
        .collect();
    let x = |node: &Node| GAP + node.row * (WIDTH + GAP);
    let wide = graph.nodes.iter().map(|n| x(n) + WIDTH + GAP).max().unwrap_or(0);
    let high = tops.last().zip(heights.last()).map_or(0, |(top, height)| top + height + GAP);
    let mut out = format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{high}\">\n");
    for (from, to, ty) in &graph.edges {
        let (a, b) = (&graph.nodes[*from], &graph.nodes[*to]);
        let (x0, y0) = (x(a) + WIDTH / 2, tops[a.layer] + height(a));
        let (x1, y1) = (x(b) + WIDTH / 2, tops[b.layer]);
        let bend = (y1.saturating_sub(y0) / 2).max(GAP);
        let path = format!("M{x0} {y0} C{x0} {} {x1} {} {x1} {y1}", y0 + bend, y1.saturating_sub(bend));
        let _ = writeln!(out, "<path class=\"edge\" d=\"{path}\"><title>{}</title></path>", escaped(ty));
    }
    for node in &graph.nodes {
        boxed(&mut out, node, x(node), tops[node.layer]);
    }
    out + "</svg>\n"
}

fn boxed(out: &mut String, node: &Node, x: usize, y: usize) {
    let class = match node.kind {
        Kind::Input => "input",
        Kind::Constant => "constant",
        Kind::Kernel if node.members.len() > 1 => "group",
        Kind::Kernel => "kernel",
        Kind::View => "view",
        Kind::Result => "result",
    };
    let title = format!("{}\n{}\n{}", node.title, node.ty, node.members.join("\n"));
    let _ = writeln!(out, "<g class=\"{class}\"><title>{}</title>", escaped(title.trim_end()));
    let _ = writeln!(out, "<rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{}\" rx=\"5\"/>", height(node));
    let mut line = |class: &str, number: usize, text: &str| {
        let (x, y) = (x + 8, y + LINE * number + 2);
        let _ = writeln!(out, "<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>", cut(text));
    };
    line("title", 1, &node.title);
    line("type", 2, &node.ty);
    for (number, member) in lines(node).iter().enumerate() {
        line("member", number + 3, member);
    }
    *out += "</g>\n";
}

/// A rectangle per value: time to the right, in calls; bytes of the workspace upwards.
pub(super) fn memory(func: &relax::Function, pieces: &[Piece]) -> String {
    const WIDE: f64 = 1000.0;
    const HIGH: f64 = 320.0;
    let end = pieces.iter().map(|p| p.life.last + 1).max().unwrap_or(1).max(1) as f64;
    let top = pieces.iter().map(|p| p.offset + p.bytes).max().unwrap_or(1).max(1) as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"memory\" width=\"{}\" height=\"{}\">\n",
        WIDE + 2.0,
        HIGH + 2.0
    );
    for (number, piece) in pieces.iter().enumerate() {
        let (first, last) = (piece.life.first as f64, piece.life.last as f64 + 1.0);
        let (x, w) = (WIDE * first / end, WIDE * (last - first) / end);
        let h = HIGH * piece.bytes as f64 / top;
        let y = HIGH - HIGH * piece.offset as f64 / top - h;
        let data = &func.values[piece.life.home.0.0 as usize];
        let title = format!(
            "{} {}\nbytes {} to {}\nfrom call {} to {}",
            data.name,
            relax::type_text(&data.ty),
            piece.offset,
            piece.offset + piece.bytes,
            piece.life.first,
            piece.life.last
        );
        let _ = writeln!(
            out,
            "<rect class=\"c{}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\"><title>{}</title></rect>",
            number % 6,
            escaped(&title)
        );
    }
    out + "</svg>\n"
}
