//! Schedules.

use super::{Expr, Name, NodeId, Text};

/// `#[schedule(target = "x86-64", |s| { … })]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Its place.
    pub node: NodeId,
    /// `"x86-64"`; none for every target without its own.
    pub target: Option<Text>,
    /// `s`.
    pub handle: Name,
    /// In source order.
    pub steps: Vec<ScheduleStep>,
}

/// `let [jo, ji] = s.split(j, [_, 16]);`.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleStep {
    /// Its place.
    pub node: NodeId,
    /// `[jo, ji]`.
    pub binds: Option<ScheduleBind>,
    /// `split`.
    pub primitive: Name,
    /// `j, [_, 16]`.
    pub args: Vec<ScheduleArg>,
}

/// What a [`ScheduleStep`] binds.
#[derive(Clone, Debug, PartialEq)]
pub enum ScheduleBind {
    /// `let b = …`.
    One(Name),
    /// `let [i, j] = …`, `let (i, _) = …`; `_` is a name too.
    Several(Vec<Name>),
}

/// An argument of a schedule's primitive.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleArg {
    /// Its place.
    pub node: NodeId,
    /// What it is.
    pub kind: ScheduleArgKind,
}

/// The kinds of a [`ScheduleArg`].
#[derive(Clone, Debug, PartialEq)]
pub enum ScheduleArgKind {
    /// `ji`: bound by an earlier step.
    Name(String),
    /// `16`, `-1`.
    Int(i64),
    /// `true`.
    Bool(bool),
    /// `"blur"`.
    Text(String),
    /// `_`: to be inferred.
    Infer,
    /// `[_, 16]`.
    List(Vec<ScheduleArg>),
    /// `depth = 2`.
    Named(Name, Box<ScheduleArg>),
    /// `|i, j| [j, i]`: an index map.
    Closure(Expr),
    /// Refused, and reported.
    Error,
}
