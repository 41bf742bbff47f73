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
        Diagnostic { node, code, message: message.into(), help: None, labels: Vec::new() }
    }

    /// Adds the next step.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Adds another place.
    pub fn label(mut self, node: NodeId, text: impl Into<String>) -> Diagnostic {
        self.labels.push((node, text.into()));
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
