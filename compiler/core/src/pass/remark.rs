//! What passes say of code that they could not make better, or did: remarks, for people who look for time.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::PassInstrument;
use crate::CompileError;

/// Whether a pass did what it is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RemarkKind {
    /// It did.
    Applied,
    /// It did not, for the reason that the remark gives.
    Missed,
}

/// What a pass did, or why it did not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remark {
    /// The pass.
    pub pass: &'static str,
    /// The function of the module.
    pub function: String,
    /// Where in it: ``loop `i` ``; empty for the whole of it.
    pub place: String,
    /// Whether it did.
    pub kind: RemarkKind,
    /// What it did, or the reason.
    pub text: String,
    /// What it chose, by name.
    pub details: Vec<(&'static str, String)>,
}

impl Remark {
    /// A pass left something as it was.
    pub fn missed(pass: &'static str, function: &str, place: String, why: impl fmt::Display) -> Self {
        Remark {
            pass,
            function: function.into(),
            place,
            kind: RemarkKind::Missed,
            text: why.to_string(),
            details: Vec::new(),
        }
    }

    /// A pass did what it is for.
    pub fn applied(pass: &'static str, function: &str, place: String, what: impl fmt::Display) -> Self {
        Remark {
            pass,
            function: function.into(),
            place,
            kind: RemarkKind::Applied,
            text: what.to_string(),
            details: Vec::new(),
        }
    }

    /// The same with what it chose.
    pub fn with(self, details: Vec<(&'static str, String)>) -> Self {
        Remark { details, ..self }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            RemarkKind::Applied => "applied",
            RemarkKind::Missed => "missed ",
        };
        let gap = if self.place.is_empty() { "" } else { ", " };
        write!(f, "{kind} {} {}{gap}{}: {}", self.pass, self.function, self.place, self.text)?;
        self.details.iter().try_for_each(|(name, text)| write!(f, "; {name}: {text}"))
    }
}

/// Keeps remarks, in the order in which passes make them. A clone shows the same.
#[derive(Clone, Debug, Default)]
pub struct Remarks {
    said: Arc<Mutex<Vec<Remark>>>,
    print: bool,
}

impl Remarks {
    /// A watcher that prints remarks to standard error.
    pub fn printing() -> Self {
        Remarks { print: true, ..Remarks::default() }
    }

    /// What was said so far.
    pub fn all(&self) -> Vec<Remark> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl PassInstrument for Remarks {
    fn remark(&mut self, remark: &Remark) -> Result<(), CompileError> {
        if self.print {
            eprintln!("{remark}");
        }
        self.said.lock().unwrap_or_else(PoisonError::into_inner).push(remark.clone());
        Ok(())
    }
}
