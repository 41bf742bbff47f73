//! What is wrong with a call of an operator, and how types look in such texts.

use std::fmt::Write;

use crate::arith::IntExpr;
use crate::relax::{TensorType, Type};

/// Which part of a call an error is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum At {
    /// The call as a whole.
    Call,
    /// Positional operand `0`.
    Arg(usize),
    /// A named attribute.
    Attr(String),
}

/// What kind of mistake it is; the front end maps it to a code.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OpErrorKind {
    /// Too few or too many operands.
    Arity,
    /// An operand of the wrong sort (a shape for a tensor, …).
    Operand,
    /// A dtype that the operator does not take, or operands that disagree.
    DType,
    /// A literal that the dtype does not hold.
    Literal,
    /// Wrong rank.
    Rank,
    /// Shapes that do not broadcast.
    Broadcast,
    /// Extents that are not (provably) equal.
    Dims,
    /// An unknown, missing or ill-valued attribute.
    Attribute,
    /// An axis outside the rank.
    Axis,
    /// An extent that must be proven non-empty, or a range not proven inside.
    Range,
}

/// A mistake in a call of an operator: expected, found, next step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpError {
    /// Where.
    pub at: At,
    /// What kind.
    pub kind: OpErrorKind,
    /// What was expected and found.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// Another operand to point at (where the other dim or dtype came from), with a text.
    pub also: Option<(At, String)>,
}

impl OpError {
    /// An error without help and without a second place.
    pub fn new(at: At, kind: OpErrorKind, message: impl Into<String>) -> Self {
        OpError { at, kind, message: message.into(), help: None, also: None }
    }

    /// Adds the next step.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Adds another operand to point at.
    #[must_use]
    pub fn also(mut self, at: At, text: impl Into<String>) -> Self {
        self.also = Some((at, text.into()));
        self
    }
}

/// A shape as the user writes it: `[N, 64]`.
pub fn show_shape(shape: &[IntExpr]) -> String {
    let dims: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!("[{}]", dims.join(", "))
}

/// A type as the user writes it: `Tensor<f32, N, 64>`, `f32`, `(f32, i64)`.
pub fn show_type(ty: &Type) -> String {
    match ty {
        Type::Tensor(tensor) => show_tensor(tensor),
        Type::Tuple(items) => {
            let items: Vec<String> = items.iter().map(show_type).collect();
            format!("({})", items.join(", "))
        }
        Type::Shape(rank) => format!("shape of rank {rank}"),
    }
}

/// A tensor type as the user writes it.
pub fn show_tensor(ty: &TensorType) -> String {
    if ty.shape.is_empty() {
        return ty.dtype.name().to_string();
    }
    let mut out = format!("Tensor<{}", ty.dtype);
    for dim in &ty.shape {
        let text = dim.to_string();
        let plain = text.chars().all(|c| c.is_alphanumeric() || c == '_');
        let _ = if plain { write!(out, ", {text}") } else { write!(out, ", {{ {text} }}") };
    }
    out.push('>');
    out
}

/// `1 operand`, `2 operands`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// The candidate nearest to `name`, if it is near enough to be what was meant.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|c| (edit_distance(name, c), c))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, c)| c)
}

/// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`.
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        assert_eq!(nearest("sofmax", ["softmax", "max"]), Some("softmax"));
        assert_eq!(nearest("axsi", ["axis", "keepdims"]), Some("axis"));
        assert_eq!(nearest("frobnicate", ["softmax", "max"]), None);
    }
}
