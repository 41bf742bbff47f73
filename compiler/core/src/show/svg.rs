//! The pictures: a graph in layers, and memory over time. Plain SVG that needs nothing from elsewhere.

use std::fmt::Write as _;

use tenfold_ir::relax;

use super::graph::{Graph, Kind, Node};
use super::layout::{Point, layout};
use super::stats::Piece;

const WIDTH: f64 = 260.0;
const LINE: f64 = 15.0;
/// Lines of a kind that a box has; the rest are counted.
const LINES: usize = 8;
/// Between the shapes of two arrows.
const SHAPE: f64 = 11.0;
/// Characters that fit into a box.
const CHARACTERS: usize = 34;

/// A text as it stands in XML.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A text cut to what a box holds.
fn cut(text: &str) -> String {
    if text.chars().count() <= CHARACTERS {
        return escaped(text);
    }
    escaped(&text.chars().take(CHARACTERS - 1).chain(['…']).collect::<String>())
}

/// The lines of a box, each with its class.
fn lines(node: &Node) -> Vec<(&'static str, String)> {
    let mut all = vec![("title", node.title.clone()), ("type", node.ty.clone())];
    all.extend(node.notes.iter().map(|note| ("note", note.clone())));
    for (class, mark, list) in [("member", "·", &node.members), ("weight", "◂", &node.constants)] {
        all.extend(list.iter().take(LINES).map(|text| (class, format!("{mark} {text}"))));
        if list.len() > LINES {
            all.push((class, format!("and {} more", list.len() - LINES)));
        }
    }
    all
}

fn height(node: &Node) -> f64 {
    LINE * lines(node).len() as f64 + 10.0
}

/// Boxes in layers from top to bottom, arrows from what is read to what reads it.
pub(super) fn graph(graph: &Graph) -> String {
    let sizes: Vec<(f64, f64)> = graph.nodes.iter().map(|node| (WIDTH, height(node))).collect();
    let edges: Vec<(usize, usize)> = graph.edges.iter().map(|(from, to, _)| (*from, *to)).collect();
    let layout = layout(&sizes, &edges);
    let (wide, high) = layout.size;
    let start = layout.boxes.first().map_or(0.0, |(x, _)| x + WIDTH / 2.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide:.0} {high:.0}\" data-start=\"{start:.0}\">\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\"/></marker></defs>\n"
    );
    for ((_, _, ty), route) in graph.edges.iter().zip(&layout.routes) {
        let path = path(route);
        let _ = writeln!(out, "<path class=\"edge\" d=\"{path}\"><title>{}</title></path>", escaped(ty));
    }
    for (number, ((_, to, ty), route)) in graph.edges.iter().zip(&layout.routes).enumerate() {
        // Shapes of arrows into one box stand one below the other.
        let before = graph.edges[..number].iter().filter(|(_, other, _)| other == to).count();
        let (x, y) = middle(route);
        let y = y + SHAPE * before as f64;
        let _ = writeln!(out, "<text class=\"shape\" x=\"{x:.0}\" y=\"{y:.0}\">{}</text>", cut(ty));
    }
    for (number, node) in graph.nodes.iter().enumerate() {
        boxed(&mut out, number, node, layout.boxes[number]);
    }
    out + "</svg>\n"
}

/// A line through points that leaves and enters each downwards.
fn path(route: &[Point]) -> String {
    let mut path = format!("M{:.0} {:.0}", route[0].0, route[0].1);
    for pair in route.windows(2) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        let middle = (y0 + y1) / 2.0;
        let _ = write!(path, " C{x0:.0} {middle:.0} {x1:.0} {middle:.0} {x1:.0} {y1:.0}");
    }
    path
}

/// Where the shape of an arrow stands: between the last two layers, where arrows into one box come from different sides.
fn middle(route: &[Point]) -> Point {
    let (from, to) = (route[route.len().saturating_sub(2)], route[route.len() - 1]);
    ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0 + 4.0)
}

/// How much of the time a box takes, in steps: the colour of its border.
fn heat(node: &Node) -> &'static str {
    match node.share {
        Some(share) if share >= 0.2 => " hot",
        Some(share) if share >= 0.05 => " warm",
        Some(_) | None => "",
    }
}

fn class(node: &Node) -> &'static str {
    match node.kind {
        Kind::Input => "input",
        Kind::Kernel if node.members.len() > 1 => "group",
        Kind::Kernel => "kernel",
        Kind::Control => "control",
        Kind::View => "view",
        Kind::Result => "result",
    }
}

fn boxed(out: &mut String, number: usize, node: &Node, (x, y): Point) {
    let kernel =
        if node.kind == Kind::Kernel { format!(" data-kernel=\"{}\"", escaped(&node.kernel)) } else { String::new() };
    let _ =
        writeln!(out, "<g id=\"node{number}\" class=\"node {}{}\" tabindex=\"0\"{kernel}>", class(node), heat(node));
    let parts = [
        &[node.title.clone(), node.ty.clone()],
        node.notes.as_slice(),
        node.members.as_slice(),
        node.constants.as_slice(),
    ];
    let _ = writeln!(out, "<title>{}</title>", escaped(parts.concat().join("\n").trim_end()));
    let _ = writeln!(out, "<rect x=\"{x:.0}\" y=\"{y:.0}\" width=\"{WIDTH}\" height=\"{}\" rx=\"5\"/>", height(node));
    for (n, (class, text)) in lines(node).iter().enumerate() {
        let y = y + LINE * (n + 1) as f64 + 2.0;
        let _ = writeln!(out, "<text class=\"{class}\" x=\"{:.0}\" y=\"{y:.0}\">{}</text>", x + 8.0, cut(text));
    }
    *out += "</g>\n";
}

/// The plot of memory, in pixels.
const PLOT: (f64, f64) = (1000.0, 320.0);

/// What runs to the right where memory is drawn: ticks of the walk over the function.
pub(super) struct Time {
    /// Where each tick begins, from 0 on; the last one is the end.
    pub(super) begins: Vec<f64>,
    /// The text at a place of the axis.
    pub(super) text: fn(f64) -> String,
}

impl Time {
    /// Every tick as long as any other.
    pub(super) fn of_calls(pieces: &[Piece]) -> Time {
        let end = pieces.iter().map(|p| p.life.last + 1).max().unwrap_or(1).max(1);
        Time { begins: (0..=end).map(|tick| tick as f64).collect(), text: |at| format!("call {at:.0}") }
    }

    fn end(&self) -> f64 {
        self.begins.last().copied().filter(|end| *end > 0.0).unwrap_or(1.0)
    }

    /// In pixels.
    fn at(&self, tick: usize) -> f64 {
        PLOT.0 * self.begins.get(tick).copied().unwrap_or(self.end()) / self.end()
    }
}

/// A rectangle per value: time to the right, bytes of the workspace upwards.
pub(super) fn memory(func: &relax::Function, graph: &Graph, pieces: &[Piece], time: &Time) -> String {
    let top = pieces.iter().map(|p| p.offset + p.bytes).max().unwrap_or(1).max(1);
    let (wide, high) = PLOT;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"memory\" viewBox=\"0 0 {} {}\">\n\
         <rect class=\"plot\" x=\"0\" y=\"0\" width=\"{wide}\" height=\"{high}\"/>\n",
        wide + 90.0,
        high + 24.0
    );
    for (number, piece) in pieces.iter().enumerate() {
        rectangle(&mut out, func, graph, (number, piece), (time, top as f64));
    }
    for part in 0..=4_u64 {
        let y = high - high * part as f64 / 4.0;
        let at = bytes(top * part / 4);
        let _ = writeln!(out, "<text class=\"axis\" x=\"{}\" y=\"{:.0}\">{at}</text>", wide + 6.0, y.max(8.0) + 3.0);
        let (x, text) = (wide * part as f64 / 4.0, (time.text)(time.end() * part as f64 / 4.0));
        let anchor = match part {
            0 => "start",
            4 => "end",
            _ => "middle",
        };
        let y = high + 16.0;
        let _ = writeln!(out, "<text class=\"axis\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>");
    }
    out + "</svg>\n"
}

fn rectangle(
    out: &mut String,
    func: &relax::Function,
    graph: &Graph,
    (number, piece): (usize, &Piece),
    (time, top): (&Time, f64),
) {
    let (x, end) = (time.at(piece.life.first), time.at(piece.life.last + 1));
    let w = (end - x).max(1.0);
    let h = PLOT.1 * piece.bytes as f64 / top;
    let y = PLOT.1 - PLOT.1 * piece.offset as f64 / top - h;
    let value = piece.life.home.0;
    let data = &func.values[value.0 as usize];
    let (name, ty, life) = (&data.name, relax::type_text(&data.ty), &piece.life);
    let place = format!("bytes {} to {}", piece.offset, piece.offset + piece.bytes);
    let title = format!("{name} {ty}\n{place}\nfrom call {} to {}", life.first, life.last);
    let node = graph.maker(value).map_or(String::new(), |node| format!(" data-node=\"node{node}\""));
    let color = number % 6;
    let _ = writeln!(
        out,
        "<rect class=\"c{color}\"{node} x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\"><title>{}</title></rect>",
        escaped(&title)
    );
}

/// A number of bytes as a person reads it.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    let mut size = count as f64;
    let mut unit = "bytes";
    for larger in UNITS {
        if size < 1024.0 {
            break;
        }
        (size, unit) = (size / 1024.0, larger);
    }
    if unit == "bytes" { format!("{count} bytes") } else { format!("{size:.1} {unit}") }
}
