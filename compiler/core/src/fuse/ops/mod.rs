//! The parts of `FuseOps`.

pub(super) mod copies;
pub(super) mod dominators;
pub(super) mod graph;
pub(super) mod group;
pub(super) mod partition;
