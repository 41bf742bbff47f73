//! Schedules: a prim-func of blocks, rewritten step by step without changing what it computes.
//!
//! A [`Schedule`] holds a function and hands out references to its blocks, loops and numbers. Each primitive is one
//! file of `primitives/`: it checks that it may be applied, says what is in the way if not, and leaves the function as
//! it was then. What was applied stands in a [`Trace`], which prints, parses and replays.
//!
//! A block is referred to by its name, a loop by its variable; both are unique in a function and keep their meaning
//! while the tree around them changes.
//!
//! This module must not know targets, back ends, Rust syntax or which schedule is a good one.

mod analysis;
mod apply;
mod args;
mod edit;
mod error;
mod handle;
mod inline;
mod layout;
mod matching;
mod motion;
mod nest;
mod primitives;
mod program;
mod stage;
mod state;
mod table;
mod trace;
mod trace_text;
mod tree;

pub use apply::apply;
pub use args::{Arg, IndexMap};
pub use error::{Refusal, ScheduleError};
pub use handle::{BlockRV, ExprRV, LoopRV, Rv};
pub use primitives::PRIMITIVES;
pub use program::{Binds, Program, Step, What, Written};
pub use state::Schedule;
pub use table::{Gives, Kind, ParamInfo, Primitive};
pub use trace::{Instruction, Trace};
