//! The parts of `FuseOps`.

mod attention;
pub(super) mod copies;
pub(super) mod dominators;
pub(super) mod graph;
pub(super) mod group;
pub(super) mod partition;
