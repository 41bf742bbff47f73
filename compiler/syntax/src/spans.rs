//! Where each node stands, beside the tree.

use proc_macro2::Span;
use std::ops::Range;

use crate::ast::NodeId;

/// First and last token of every node.
#[derive(Clone, Debug, Default)]
pub struct SpanTable {
    places: Vec<(Span, Span)>,
}

impl SpanTable {
    /// The spans of the first and the last token of a node; a node that this table does not have gets those of the
    /// function's name.
    pub fn get(&self, node: NodeId) -> (Span, Span) {
        self.places
            .get(node.0 as usize)
            .or(self.places.first())
            .copied()
            .unwrap_or_else(|| (Span::call_site(), Span::call_site()))
    }

    /// Bytes of a node in the parsed text. Means nothing for tokens that came from rustc.
    pub fn bytes(&self, node: NodeId) -> Range<usize> {
        let (first, last) = self.get(node);
        let start = first.byte_range().start;
        start..last.byte_range().end.max(start)
    }

    /// The line of a node's first token in the parsed text, from 1. Means nothing for tokens that came from rustc.
    pub fn line(&self, node: NodeId) -> usize {
        self.get(node).0.start().line
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Numbers the next node.
    pub(crate) fn push(&mut self, place: (Span, Span)) -> NodeId {
        let node = NodeId(u32::try_from(self.places.len()).unwrap_or(u32::MAX));
        self.places.push(place);
        node
    }
}
