//! Places in the user's source, as numbers.
//!
//! A place is a node of a tensor function's syntax tree. The tree's owner turns it into a span; this crate cannot.

use std::fmt;

/// A node of one tensor function's syntax tree. Function 0 is the one being compiled; others are its callees, in
/// the order of [`crate::Module::sources`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Loc {
    /// Index into [`crate::Module::sources`].
    pub function: u32,
    /// Number of the node, in pre-order.
    pub node: u32,
}

impl Loc {
    /// The place of node `node` in the function being compiled.
    pub fn node(node: u32) -> Self {
        Loc { function: 0, node }
    }
}

impl fmt::Display for Loc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.function, self.node)
    }
}
