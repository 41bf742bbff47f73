//! What a schedule must know of a function before it may change it.

mod access;
mod boxes;
mod class;
mod flow;
mod injective;
mod order;
mod region;
mod strips;

pub(super) use access::{Accesses, accesses, exprs_of, loads_in, uses_var, vars_of};
pub(super) use boxes::fills_box;
pub(super) use class::{Class, class_of, outputs_of, private, require_complete, spatial_index};
pub(super) use flow::{consumers, producers, raw_touches, raw_writes, readers, touched, writers};
pub(super) use injective::{Digits, injective};
pub(super) use order::{any_order, independent};
pub(super) use region::{bounded_region, prover_at, region_of};
