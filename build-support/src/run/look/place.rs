//! From nodes to lines and columns of the file.
//!
//! The front end has read two texts that were cut out of the file: what stands in the attribute and the function below
//! it. Their lines are lines of the file, indented or behind the `///` of a doc test.

use super::Error;
use crate::run::Item;
use proc_macro2::{Span, TokenStream};
use std::fs;
use std::path::Path;
use std::str::FromStr as _;
use tenfold_syntax::ast::NodeId;
use tenfold_syntax::{Diagnostic, Parsed, parse_item};

/// A place in a file of the package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Relative to the package, `/` between components.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    /// In characters, counted from 1.
    pub column: u32,
    /// How many characters of the line it covers.
    pub length: u32,
    /// The line.
    pub text: String,
}

/// The places of a function's nodes.
pub(super) struct Places<'a> {
    item: &'a Item,
    parsed: Parsed,
    lines: Vec<String>,
}

impl<'a> Places<'a> {
    pub(super) fn of(item: &'a Item, package: &Path) -> Self {
        let function = &item.found.function;
        let tokens = |text: &str| TokenStream::from_str(text).unwrap_or_default();
        let parsed = parse_item(tokens(&function.argument), tokens(&function.text));
        let text = fs::read_to_string(package.join(&item.found.file)).unwrap_or_default();
        Self { item, parsed, lines: text.lines().map(String::from).collect() }
    }

    /// What is wrong with the item alone.
    pub(super) fn take_diagnostics(&mut self) -> Vec<Diagnostic> {
        std::mem::take(&mut self.parsed.diagnostics).into_iter().collect()
    }

    pub(super) fn error(&self, diagnostic: &Diagnostic) -> Error {
        let labels = diagnostic.labels.iter().map(|(node, text)| (self.place(*node), text.clone()));
        Error {
            code: diagnostic.code,
            message: diagnostic.message.clone(),
            help: diagnostic.help.clone(),
            place: self.place(diagnostic.node),
            labels: labels.collect(),
        }
    }

    fn place(&self, node: NodeId) -> Place {
        let function = &self.item.found.function;
        let (first, last) = self.parsed.spans.get(node);
        let name = self.parsed.spans.get(NodeId::FUNCTION).0;
        // each text that is read counts as a file of its own
        let (text, line) = if first.file() == name.file() {
            let line = function.line as usize + first.start().line;
            (&function.text, line.saturating_sub(name.start().line))
        } else {
            (&function.argument, self.line_of_argument() + first.start().line.saturating_sub(1))
        };
        let line = line + doctest_line(&self.item.found.krate) as usize;
        let cut = text.lines().nth(first.start().line.saturating_sub(1)).unwrap_or_default();
        let whole = self.lines.get(line.saturating_sub(1)).filter(|whole| whole.contains(cut));
        let whole = whole.map_or(cut, String::as_str);
        let before = whole.find(cut).map_or(0, |at| whole[..at].chars().count());
        Place {
            file: self.item.found.file.clone(),
            line: line as u32,
            column: (before + first.start().column + 1) as u32,
            length: length(first, last, cut) as u32,
            text: whole.trim_end().to_string(),
        }
    }

    /// The nearest line above the name in which the attribute's argument begins.
    fn line_of_argument(&self) -> usize {
        let function = &self.item.found.function;
        let name = (function.line + doctest_line(&self.item.found.krate)) as usize;
        let begin = function.argument.lines().next().unwrap_or_default();
        let above = self.lines.iter().take(name).rposition(|line| line.contains("tensor_fn") && line.contains(begin));
        let offset = doctest_line(&self.item.found.krate) as usize;
        above.map_or(name, |line| line + 1).saturating_sub(offset)
    }
}

/// The line above a doc test, whose own lines are counted from it; 0 for other crates.
pub(super) fn doctest_line(krate: &str) -> u32 {
    let place = krate.strip_prefix("doctest:");
    place.and_then(|place| place.rsplit_once(':')?.1.parse().ok()).unwrap_or(0)
}

/// Characters from the first to the last token, up to the end of the line.
fn length(first: Span, last: Span, line: &str) -> usize {
    let start = first.start();
    let end = last.end();
    let end = if end.line == start.line { end.column } else { line.trim_end().chars().count() };
    end.saturating_sub(start.column).max(1)
}

/// A function's text up to its body, with single spaces.
pub(in crate::run) fn signature(text: &str) -> String {
    let mut depth = 0_usize;
    let mut end = text.len();
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match c {
            // a computed dim stands in braces, but inside `<…>`
            '<' | '(' | '[' => depth += 1,
            '>' if before == '-' => {}
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            '{' | ';' if depth == 0 => {
                end = at;
                break;
            }
            _ => {}
        }
        before = c;
    }
    // other attributes stand above it
    let mut rest = text[..end].trim();
    while let Some(behind) = rest.strip_prefix("#[").and_then(after_bracket) {
        rest = behind.trim_start();
    }
    let lines = rest.lines().map(|line| line.split("//").next().unwrap_or_default());
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    let joined = words.join(" ");
    joined.replace("( ", "(").replace(", )", ")").replace("< ", "<").replace(", >", ">")
}

/// What follows the `]` that closes an open `[`.
fn after_bracket(text: &str) -> Option<&str> {
    let mut depth = 1_usize;
    for (at, c) in text.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return text.get(at + 1..);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_end_before_the_body() {
        let cases = [
            (
                "pub fn f(x: Tensor<f32, N>) -> Tensor<f32, { N - 2 }> {\n    x\n}",
                "pub fn f(x: Tensor<f32, N>) -> Tensor<f32, { N - 2 }>",
            ),
            (
                "#[inline]\n#[allow(a[0])]\nfn f(\n    x: Tensor<f32, 4>, // the input\n    k: f32,\n) -> Tensor<f32, 4> {}",
                "fn f(x: Tensor<f32, 4>, k: f32) -> Tensor<f32, 4>",
            ),
            ("fn net(x: Tensor<f32, 4>) -> Tensor<f32, 4>;", "fn net(x: Tensor<f32, 4>) -> Tensor<f32, 4>"),
        ];
        for (text, expected) in cases {
            assert_eq!(signature(text), expected);
        }
    }
}
