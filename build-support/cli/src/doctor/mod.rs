//! `cargo tenfold doctor`: what a build finds on this machine.
//!
//! Each check adds lines to a [`Report`]. A line is `ok`, `warn` or `problem`; a problem is what keeps a function from
//! being compiled, and nothing else.

mod c;
mod graph;
mod llvm;
mod package;
mod rust;
mod trial;

use crate::Outcome;
use crate::arguments::Arguments;
use crate::config::Config;
use crate::output;
use crate::rustc::Rustc;
use std::fmt;

pub(crate) use llvm::child;
pub(crate) use package::check as check_build_script;
pub(crate) use trial::run as run_trial;

/// How a check went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// As it should be.
    Ok,
    /// Functions compile, but not as they could.
    Warn,
    /// Functions do not compile.
    Problem,
}

impl Level {
    fn text(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Problem => "problem",
        }
    }
}

/// One finding.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    level: Level,
    topic: &'static str,
    text: String,
    details: Vec<String>,
    next: Option<String>,
}

impl Line {
    /// What was found, in words.
    pub(crate) fn new(level: Level, topic: &'static str, text: impl Into<String>) -> Self {
        Self { level, topic, text: text.into(), details: Vec::new(), next: None }
    }

    /// More of the same.
    pub(crate) fn detail(mut self, text: impl Into<String>) -> Self {
        self.details.push(text.into());
        self
    }

    /// What to do.
    pub(crate) fn next(mut self, text: impl Into<String>) -> Self {
        self.next = Some(text.into());
        self
    }

    /// What to do, unless nothing need be done.
    pub(crate) fn next_if(self, needed: bool, text: &str) -> Self {
        if needed { self.next(text) } else { self }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indent = " ".repeat(9);
        writeln!(f, "{:<8} {}: {}", self.level.text(), self.topic, self.text.replace('\n', &format!("\n{indent}")))?;
        for detail in &self.details {
            writeln!(f, "{indent}{}", detail.replace('\n', &format!("\n{indent}")))?;
        }
        match &self.next {
            Some(next) => writeln!(f, "{indent}next: {next}"),
            None => Ok(()),
        }
    }
}

/// What was found so far. It is printed line by line, since some checks take a while.
#[derive(Default)]
pub(crate) struct Report {
    worst: Option<Level>,
}

impl Report {
    /// Adds a finding.
    pub(crate) fn add(&mut self, line: Line) {
        self.worst = self.worst.max(Some(line.level));
        output::say(&line.to_string());
    }
}

/// Looks at everything.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut report = Report::default();
    let rustc = match Rustc::find() {
        Ok(rustc) => rustc,
        Err(error) => {
            let line = Line::new(Level::Problem, "rustc", error);
            report.add(line.next("install Rust with rustup (https://rustup.rs), or set `RUSTC`"));
            return end(&report);
        }
    };
    rust::look(&rustc, &mut report);
    let config = Config::read();
    let target = config.target(arguments, &rustc.host);
    rust::target(&rustc, &target, &mut report);
    let has_llvm = llvm::look(&rustc, &target, &mut report);
    c::look(&rustc.host, &target, has_llvm, &mut report);
    trial::look(&rustc, &config, &target, &mut report);
    package::look(arguments, &mut report);
    end(&report)
}

fn end(report: &Report) -> Outcome {
    match report.worst {
        Some(Level::Problem) => {
            output::say("\nA function cannot be compiled here.\n");
            Outcome::Bad
        }
        Some(Level::Ok | Level::Warn) | None => {
            output::say("\nA function can be compiled here.\n");
            Outcome::Good
        }
    }
}
