//! Errors as text with the source underlined, for reports and tests. The macro and the build script do not need it:
//! there rustc shows the source.

use std::ops::Range;

use crate::ast::NodeId;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::spans::SpanTable;

/// Renders every error of a function that was parsed from `source`.
pub fn render(source: &str, spans: &SpanTable, diagnostics: &Diagnostics) -> String {
    let all: Vec<String> = diagnostics.iter().map(|d| render_one(source, spans, d)).collect();
    all.join("\n")
}

fn render_one(source: &str, spans: &SpanTable, d: &Diagnostic) -> String {
    let mut text = format!("error[{}]: {}\n", d.code, d.message);
    text += &snippet(source, spans, d.node, '^', "");
    for (node, label) in &d.labels {
        text += &snippet(source, spans, *node, '-', &format!(" {label}"));
    }
    if let Some(help) = &d.help {
        text += &format!("  = help: {help}\n");
    }
    text
}

fn snippet(source: &str, spans: &SpanTable, node: NodeId, mark: char, note: &str) -> String {
    let bytes = spans.bytes(node);
    let Some(line) = line_of(source, bytes.start) else {
        return String::new();
    };
    let number = source[..line.start].matches('\n').count() + 1;
    let before = source[line.start..bytes.start].chars().count();
    let end = bytes.end.clamp(bytes.start, line.end);
    let marked = source.get(bytes.start..end).map_or(1, |s| s.chars().count().max(1));
    let more = if bytes.end > line.end { "…" } else { "" };
    format!(
        "{number:4} | {}\n     | {}{}{more}{note}\n",
        &source[line],
        " ".repeat(before),
        mark.to_string().repeat(marked),
    )
}

/// The line that holds a byte, without its end.
fn line_of(source: &str, at: usize) -> Option<Range<usize>> {
    let start = source.get(..at)?.rfind('\n').map_or(0, |i| i + 1);
    let end = source[at..].find('\n').map_or(source.len(), |i| at + i);
    Some(start..end)
}
