//! Functions that are broken in ways that only the build sees.

pub mod a;
pub mod b;
pub mod budgets;
pub mod calls;
pub mod cfgs;
pub mod devices;
pub mod files;
pub mod generics;
pub mod scheduled;
