//! What all threads of a block do together: reductions, whatever number of threads the device runs side by side.

use crate::op::{BinaryOp, ReduceOp};

/// A function of a block: what it gives each thread is made of what all of them give, in any order. It is all that a
/// store stores, and every thread of the block reaches that store. It is no barrier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Group {
    /// `group_sum(x)`.
    Sum,
    /// `group_prod(x)`.
    Prod,
    /// `group_max(x)`.
    Max,
    /// `group_min(x)`.
    Min,
}

impl Group {
    /// All with their names.
    pub const ALL: [(&'static str, Group); 4] =
        [("group_sum", Group::Sum), ("group_prod", Group::Prod), ("group_max", Group::Max), ("group_min", Group::Min)];

    /// Its name.
    pub fn name(self) -> &'static str {
        Group::ALL.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| *name)
    }

    /// The function that reduces so, if there is one.
    pub fn of(op: ReduceOp) -> Option<Group> {
        match op {
            ReduceOp::Sum => Some(Group::Sum),
            ReduceOp::Prod => Some(Group::Prod),
            ReduceOp::Max => Some(Group::Max),
            ReduceOp::Min => Some(Group::Min),
            ReduceOp::Mean | ReduceOp::Any | ReduceOp::All => None,
        }
    }

    /// How what two threads give becomes one.
    pub fn combiner(self) -> BinaryOp {
        match self {
            Group::Sum => BinaryOp::Add,
            Group::Prod => BinaryOp::Mul,
            Group::Max => BinaryOp::Max,
            Group::Min => BinaryOp::Min,
        }
    }
}
