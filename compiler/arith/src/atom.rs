//! Atoms and monomials: what a polynomial is made of.

use super::expr::IntExpr;
use super::limits;
use super::sym::Sym;
use std::sync::Arc;

/// What polynomial arithmetic does not look into.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Atom {
    Var(Sym),
    FloorDiv(IntExpr, IntExpr),
    FloorMod(IntExpr, IntExpr),
    TruncDiv(IntExpr, IntExpr),
    TruncRem(IntExpr, IntExpr),
    Min(IntExpr, IntExpr),
    Max(IntExpr, IntExpr),
    /// A sum whose coefficients do not fit or whose terms are too many.
    Sum(IntExpr, IntExpr),
    /// A product of which the same holds.
    Product(IntExpr, IntExpr),
}

impl Atom {
    /// The two operands of an atom that is no variable.
    pub(super) fn operands(&self) -> Option<(&IntExpr, &IntExpr)> {
        match self {
            Atom::Var(_) => None,
            Atom::FloorDiv(a, b)
            | Atom::FloorMod(a, b)
            | Atom::TruncDiv(a, b)
            | Atom::TruncRem(a, b)
            | Atom::Min(a, b)
            | Atom::Max(a, b)
            | Atom::Sum(a, b)
            | Atom::Product(a, b) => Some((a, b)),
        }
    }

    /// This atom as an expression, or a variable named after its text when it is too large.
    pub(super) fn into_expr(self) -> IntExpr {
        let atom = if self.depth() > limits::DEPTH || self.size() > limits::SIZE {
            Atom::Var(Sym::new(super::print::atom_text(&self)))
        } else {
            self
        };
        IntExpr::from_monomial(Monomial::of(atom), 1)
    }

    pub(super) fn depth(&self) -> u32 {
        self.operands().map_or(0, |(a, b)| 1 + a.depth().max(b.depth()))
    }

    pub(super) fn size(&self) -> u32 {
        self.operands().map_or(1, |(a, b)| a.size().saturating_add(b.size()).saturating_add(1))
    }
}

/// A product of one or more atoms, sorted; a power repeats its atom.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Monomial(Arc<[Atom]>);

impl Monomial {
    pub(super) fn of(atom: Atom) -> Self {
        Self(Arc::from([atom]))
    }

    pub(super) fn atoms(&self) -> &[Atom] {
        &self.0
    }

    pub(super) fn degree(&self) -> usize {
        self.0.len()
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        let mut atoms: Vec<Atom> = self.0.iter().chain(other.0.iter()).cloned().collect();
        atoms.sort();
        Self(Arc::from(atoms))
    }

    /// The only atom, if there is but one.
    pub(super) fn single(&self) -> Option<&Atom> {
        match &*self.0 {
            [atom] => Some(atom),
            _ => None,
        }
    }

    /// What is left after one factor `atom` is taken out: `None` if there is none, `Some(None)` for one.
    pub(super) fn without(&self, atom: &Atom) -> Option<Option<Monomial>> {
        let at = self.0.iter().position(|it| it == atom)?;
        let mut rest = self.0.to_vec();
        rest.remove(at);
        Some((!rest.is_empty()).then(|| Self(Arc::from(rest))))
    }

    /// The quotient by `other` if it divides this monomial: `Some(None)` is one.
    pub(super) fn over(&self, other: &Monomial) -> Option<Option<Monomial>> {
        let mut rest = self.0.to_vec();
        for atom in other.atoms() {
            let at = rest.iter().position(|it| it == atom)?;
            rest.remove(at);
        }
        Some((!rest.is_empty()).then(|| Self(Arc::from(rest))))
    }
}
