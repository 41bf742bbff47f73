//! What goes wrong.

use std::fmt;

/// A text that is no PTX, or of instructions that are not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    line: u32,
    what: String,
}

impl Error {
    pub(crate) fn at(line: u32, what: String) -> Self {
        Self { line, what }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for Error {}

/// What a kernel does that it must not: where it stands in the text, and which thread did it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kernel.
    pub kernel: String,
    /// The line of the text.
    pub line: u32,
    /// The opcode that stands there.
    pub opcode: String,
    /// The group.
    pub group: [u32; 3],
    /// The thread, or the first of a warp, counted along x, then y, then z.
    pub thread: u32,
    /// What it does.
    pub what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernel, line, opcode, group: [x, y, z], thread, what } = self;
        write!(f, "`{kernel}`, line {line}, `{opcode}`: thread {thread} of group {x}, {y}, {z}: {what}")
    }
}

impl std::error::Error for Fault {}

/// What is wrong, and the number of the thread in its warp where one does it.
#[derive(Clone, Debug)]
pub(crate) struct Wrong {
    pub(crate) lane: u32,
    pub(crate) what: String,
}

impl Wrong {
    pub(crate) fn new(lane: u32, what: impl Into<String>) -> Self {
        Self { lane, what: what.into() }
    }
}

pub(crate) type Result<T = ()> = std::result::Result<T, Box<Wrong>>;

/// What is wrong, as a result.
pub(crate) fn wrong<T>(lane: u32, what: impl Into<String>) -> Result<T> {
    Err(Box::new(Wrong::new(lane, what)))
}
