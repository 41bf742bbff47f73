//! Tuning: the decisions of the default schedule rules made explicit, looked for by measurement, and kept in records.
//!
//! A rule asks before it decides (`asked`). In a build nobody answers, and the rule's own choice holds, unless the
//! package has a record for the kernel. `cargo tenfold tune` takes the kernels of a function one by one
//! (`kernel`), looks for decisions under which each is faster (`search`), and writes records. Whatever is answered,
//! the kernel is right: what could be wrong is not offered, and what a primitive refuses is no schedule.

mod asked;
mod candidate;
mod decisions;
mod kernel;
mod model;
mod program;
mod random;
mod records;
mod search;
mod tuned;

pub use asked::Offer;
pub use candidate::Candidate;
pub use decisions::Decisions;
pub use kernel::{How, Kernel, Written, kernels, read_all, write_all};
pub use program::{Built, FILES, INPUTS, Times, build, write_inputs};
pub use random::Random;
pub use records::{Entry, Gain, RECORDS, Records};
pub use search::{Outcome, Search, Trial};
pub use tuned::Tuned;

pub(crate) use asked::{Answers, Asked};
pub(crate) use records::target_name;
pub(crate) use tuned::Point;
