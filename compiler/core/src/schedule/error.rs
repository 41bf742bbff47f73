//! Why a primitive was not applied.

use std::fmt;

/// What is in the way of a primitive, and what to do about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// What is in the way, by the names of blocks, loops and buffers.
    pub obstacle: String,
    /// The next step.
    pub help: String,
}

impl Refusal {
    /// A refusal.
    pub fn new(obstacle: impl Into<String>, help: impl Into<String>) -> Self {
        Refusal { obstacle: obstacle.into(), help: help.into() }
    }

    /// `Err` with a refusal.
    pub fn err<T>(obstacle: impl Into<String>, help: impl Into<String>) -> Result<T, Self> {
        Err(Refusal::new(obstacle, help))
    }
}

/// A primitive that was not applied. The function is as it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScheduleError {
    /// The primitive's name.
    pub primitive: String,
    /// The call as it was asked for, with names of blocks and loops.
    pub asked: String,
    /// What is in the way.
    pub obstacle: String,
    /// The next step.
    pub help: String,
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` cannot be applied: {}; {}", self.asked, self.obstacle, self.help)
    }
}

impl std::error::Error for ScheduleError {}
