//! What is wrong with a model: every problem, with the node it belongs to.

use std::fmt;

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The node, tensor or part of the file; empty for the whole model.
    pub place: String,
    /// What was expected and found.
    pub message: String,
    /// What of the signature it is about, if one is written beside the model.
    pub about: About,
}

/// What a problem is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The model alone.
    Model,
    /// The number of inputs.
    Inputs,
    /// An input, counted from 0.
    Input(usize),
}

/// Why a model cannot be imported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImportError {
    /// Every problem, in the order of the nodes.
    pub problems: Vec<Problem>,
    /// Inputs whose values decide shapes; the import may succeed if [`crate::Options::values`] gives them.
    pub wanted: Vec<String>,
}

impl ImportError {
    pub(crate) fn of(message: impl Into<String>) -> Self {
        let problem = Problem { place: String::new(), message: message.into(), about: About::Model };
        ImportError { problems: vec![problem], wanted: Vec::new() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.is_empty() {
            true => f.write_str(&self.message),
            false => write!(f, "{}: {}", self.place, self.message),
        }
    }
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.problems.iter().map(Problem::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for ImportError {}
