//! The parts of the pipeline, by name.

/// A part of the pipeline. A user's pass of a phase runs after the last of the compiler's passes of that phase.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PassPhase {
    /// The graph as the front end made it; after it there is one graph without calls of relax functions or tuples.
    Import,
    /// Graph passes: from graph to graph.
    Graph,
    /// Operators become kernels, and kernels are joined.
    Fusion,
    /// Kernels are scheduled.
    Schedule,
    /// Every value gets a place, and the graph becomes the entry.
    Memory,
    /// Loop nests with blocks; buffers have axes.
    Blocks,
    /// Plain loops; buffers still have axes.
    Loops,
    /// One index per access.
    Flat,
    /// What back ends take.
    Target,
}

impl PassPhase {
    /// Every phase, in the order of the pipeline.
    pub const ALL: [PassPhase; 9] = [
        PassPhase::Import,
        PassPhase::Graph,
        PassPhase::Fusion,
        PassPhase::Schedule,
        PassPhase::Memory,
        PassPhase::Blocks,
        PassPhase::Loops,
        PassPhase::Flat,
        PassPhase::Target,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            PassPhase::Import => "Import",
            PassPhase::Graph => "Graph",
            PassPhase::Fusion => "Fusion",
            PassPhase::Schedule => "Schedule",
            PassPhase::Memory => "Memory",
            PassPhase::Blocks => "Blocks",
            PassPhase::Loops => "Loops",
            PassPhase::Flat => "Flat",
            PassPhase::Target => "Target",
        }
    }

    /// What holds after it.
    pub fn about(self) -> &'static str {
        match self {
            PassPhase::Import => "one graph: callees' bodies take the place of calls, and tuples are gone",
            PassPhase::Graph => "a graph that computes the same with less",
            PassPhase::Fusion => "a prim-func and a `call_tir` per kernel",
            PassPhase::Schedule => "loop nests as fast as the target allows",
            PassPhase::Memory => "a place for every value, and an entry that calls the kernels",
            PassPhase::Blocks => "every access is proven to lie inside its buffer",
            PassPhase::Loops => "plain loops over buffers that still have axes",
            PassPhase::Flat => "one index per access",
            PassPhase::Target => "what back ends take",
        }
    }
}
