//! What a schedule must know of a function before it may change it.

mod access;
mod class;
mod flow;
mod injective;
mod order;
mod region;

pub(super) use access::{Access, Accesses, accesses, loads_in, uses_var, vars_of};
pub(super) use class::{Class, class_of, outputs_of, private, require_complete, spatial_index};
pub(super) use flow::{consumers, producers, readers, touched, writers};
pub(super) use injective::{Digits, injective};
pub(super) use order::{any_order, independent, loops_with_extents};
pub(super) use region::{binding, prover_at, region_of};
