//! Errors by node, collected. Knows no places: the macro and the build script own what a node's place is.

use crate::ast::NodeId;
use crate::code::Code;

/// An error at a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Diagnostic {
    /// The offending sub-expression.
    pub node: NodeId,
    /// What went wrong.
    pub code: Code,
    /// Expected and found; lower case, without a full stop, code in backticks.
    pub message: String,
    /// The next step: what to write instead.
    pub help: Option<String>,
    /// Other places and what they have to do with it, such as where a dim was bound.
    pub labels: Vec<(NodeId, String)>,
}

impl Diagnostic {
    /// An error with neither help nor labels.
    pub fn new(node: NodeId, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic { node, code, message: as_written(message.into()), help: None, labels: Vec::new() }
    }

    /// Adds the next step.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(as_written(help.into()));
        self
    }

    /// Adds another place.
    pub fn label(mut self, node: NodeId, text: impl Into<String>) -> Diagnostic {
        self.labels.push((node, as_written(text.into())));
        self
    }
}

/// The errors of a function, in the order found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Errors of one function that are kept: more help nobody.
    pub const MOST: usize = 200;

    /// Adds an error, unless the same one is there already, or [`Diagnostics::MOST`] are.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        if self.list.len() < Self::MOST && !self.list.contains(&diagnostic) {
            self.list.push(diagnostic);
        }
    }

    /// Adds all of another's.
    pub fn extend(&mut self, other: Diagnostics) {
        for diagnostic in other.list {
            self.report(diagnostic);
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// In the order found.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// Orders them by place, which is how a reader meets them.
    pub fn sort(&mut self) {
        self.list.sort_by_key(|d| d.node);
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

/// A text in which divisions of integer expressions stand as in the source: `N / 3` for `floordiv(N, 3)`.
fn as_written(text: String) -> String {
    let mut text = text;
    // The last one has no other inside.
    while let Some((at, name, symbol)) = division(&text) {
        let open = at + name.len();
        let Some((first, second, end)) = arguments(&text, open) else { return text };
        let quotient = format!("{} {symbol} {}", grouped(first), grouped(second));
        let factor = text[..at].ends_with(['*', '-']) || text[end..].starts_with('*');
        let written = if factor { format!("({quotient})") } else { quotient };
        text.replace_range(at..end, &written);
    }
    text
}

fn division(text: &str) -> Option<(usize, &'static str, char)> {
    let names = [("floordiv(", '/'), ("floormod(", '%')];
    names.into_iter().filter_map(|(name, symbol)| Some((text.rfind(name)?, name, symbol))).max()
}

/// The two arguments between a parenthesis that was opened before `open` and where it is closed.
fn arguments(text: &str, open: usize) -> Option<(&str, &str, usize)> {
    let (mut depth, mut comma) = (0, None);
    for (at, c) in text[open..].char_indices().map(|(at, c)| (open + at, c)) {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => {
                return comma.map(|comma| (text[open..comma].trim(), text[comma + 1..at].trim(), at + 1));
            }
            ')' => depth -= 1,
            ',' if depth == 0 && comma.is_none() => comma = Some(at),
            _ => {}
        }
    }
    None
}

fn grouped(operand: &str) -> String {
    if operand.contains([' ', '*', '-']) { format!("({operand})") } else { operand.to_string() }
}
