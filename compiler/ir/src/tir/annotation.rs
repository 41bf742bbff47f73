//! What a schedule asks of the passes that come after it: data on loops and blocks.
//!
//! An annotation never changes what a function computes. The pass named at each kind reads it and takes it away;
//! whoever knows nothing of one leaves it where it is.

use super::BufId;

/// Something asked for a loop or a block.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Annotation {
    /// Of a loop over statements: stage and place of each in the pipelined body (`InjectSoftwarePipeline`).
    SoftwarePipeline {
        /// How many iterations after the first stage each statement runs.
        stages: Vec<u32>,
        /// Its place in the body that results.
        order: Vec<u32>,
    },
    /// Of a loop: what its iterations fill has room for two of them (`InjectDoubleBuffer`).
    DoubleBuffer(BufId),
    /// Of a block: the distance along an axis is `factor` times something plus `offset` (`StorageRewrite`).
    StorageAlign {
        /// Whose.
        buf: BufId,
        /// Along this axis.
        axis: u32,
        /// In elements.
        factor: i64,
        /// In elements.
        offset: i64,
    },
    /// Of a loop: the loops inside that have no more than so many iterations are unrolled (`UnrollLoop`).
    PragmaUnroll {
        /// Iterations of all loops unrolled, multiplied.
        max_step: i64,
        /// Copied out by the pass; else left to the back end.
        explicit: bool,
    },
    /// Of a loop: to be cut where its conditions change (`LoopPartition`).
    LoopPartition,
    /// Of a loop: elements of a buffer are fetched that many iterations ahead (`InjectPrefetch`).
    Prefetch {
        /// What.
        buf: BufId,
        /// How far ahead.
        ahead: i64,
    },
    /// Of a loop: what its iterations read of a buffer after the next so many ones is fetched bit by bit during these
    /// (`InjectPrefetch`).
    PrefetchNext {
        /// What.
        buf: BufId,
        /// Iterations, after which others read what lies behind.
        turns: i64,
    },
    /// Of a loop bound to threads: iterations accumulate into the same elements (`LowerCrossThreadReduction`).
    CrossThread,
    /// Of a loop: its iterations run on threads where they are independent and that pays (`ParallelizeLoops`).
    AutoParallel,
    /// Of a loop inside of a parallel one: threads share its iterations, and those of all others that are annotated so inside
    /// of the same one, in the place of the parallel loop's (`ParallelizeLoops`, `LowerParallelLoops`). All have as many,
    /// and none touches what another one does, whichever iteration of the parallel loop either belongs to.
    Shared,
    /// Of a block that copies: its loops are made by `LowerAutoCopy`.
    AutoCopy,
    /// Of the loop over the rows of a product of matrices, whose columns and then terms are the loops inside: back ends
    /// compute it in registers that are matrices, where the target has such.
    MatrixTile,
    /// Anything else, by name.
    User {
        /// The name.
        key: String,
        /// What it says.
        value: AnnValue,
    },
}

/// The value of an [`Annotation::User`].
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum AnnValue {
    /// A number.
    Int(i64),
    /// A text.
    Text(String),
}

impl Annotation {
    /// The buffer that it speaks of, if it does.
    pub fn buffer(&self) -> Option<BufId> {
        match self {
            Annotation::DoubleBuffer(buf)
            | Annotation::StorageAlign { buf, .. }
            | Annotation::Prefetch { buf, .. }
            | Annotation::PrefetchNext { buf, .. } => Some(*buf),
            Annotation::SoftwarePipeline { .. }
            | Annotation::PragmaUnroll { .. }
            | Annotation::LoopPartition
            | Annotation::CrossThread
            | Annotation::AutoParallel
            | Annotation::Shared
            | Annotation::AutoCopy
            | Annotation::MatrixTile
            | Annotation::User { .. } => None,
        }
    }

    /// The same, with its buffer replaced.
    pub fn map_buffer(mut self, f: &mut impl FnMut(BufId) -> BufId) -> Self {
        match &mut self {
            Annotation::DoubleBuffer(buf)
            | Annotation::StorageAlign { buf, .. }
            | Annotation::Prefetch { buf, .. }
            | Annotation::PrefetchNext { buf, .. } => *buf = f(*buf),
            Annotation::SoftwarePipeline { .. }
            | Annotation::PragmaUnroll { .. }
            | Annotation::LoopPartition
            | Annotation::CrossThread
            | Annotation::AutoParallel
            | Annotation::Shared
            | Annotation::AutoCopy
            | Annotation::MatrixTile
            | Annotation::User { .. } => {}
        }
        self
    }
}
