//! The expression: a polynomial with `i64` coefficients over atoms, canonical by construction.
//!
//! Terms are sorted by monomial, none has coefficient zero, and each monomial's atoms are sorted, so equal
//! polynomials are equal values. A coefficient that leaves `i64` never wraps and never panics: the sum or product
//! that would have it is kept whole as an opaque atom, of which polynomial arithmetic knows nothing.

use super::atom::{Atom, Monomial};
use super::sym::Sym;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An integer expression: immutable, cheap to clone, equal if and only if its canonical forms are.
///
/// The order is structural, for sorted containers; it says nothing of values. `min` and `max` always mean the value.
#[derive(Clone, PartialEq, Eq)]
pub struct IntExpr(Arc<Poly>);

struct Poly {
    terms: Vec<(Monomial, i64)>,
    constant: i64,
    depth: u32,
    size: u32,
    /// What is hashed of it, once it was; 0 before.
    digest: AtomicU64,
}

impl Poly {
    /// A number that equal polynomials have.
    fn digest(&self) -> u64 {
        let known = self.digest.load(Relaxed);
        if known != 0 {
            return known;
        }
        // Of operands their numbers are hashed, so nothing is gone through twice.
        let mut hasher = DefaultHasher::new();
        (&self.terms, self.constant).hash(&mut hasher);
        let digest = hasher.finish().max(1);
        self.digest.store(digest, Relaxed);
        digest
    }
}

// Depth and size follow from the terms: where sizes differ, these do.
impl PartialEq for Poly {
    fn eq(&self, other: &Self) -> bool {
        self.constant == other.constant && self.size == other.size && self.terms == other.terms
    }
}

impl Eq for Poly {}

impl Hash for IntExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.digest());
    }
}

impl IntExpr {
    /// The constant `value`.
    pub fn constant(value: i64) -> Self {
        Self::from_terms(Vec::new(), value)
    }

    /// The variable `sym`.
    pub fn var(sym: impl Into<Sym>) -> Self {
        Self::from_monomial(Monomial::of(Atom::Var(sym.into())), 1)
    }

    /// The value, if the expression is a constant.
    pub fn as_const(&self) -> Option<i64> {
        self.terms().is_empty().then_some(self.0.constant)
    }

    /// The variable, if the expression is one.
    pub fn as_var(&self) -> Option<&Sym> {
        match self.as_atom()? {
            Atom::Var(sym) => Some(sym),
            Atom::FloorDiv(..)
            | Atom::FloorMod(..)
            | Atom::TruncDiv(..)
            | Atom::TruncRem(..)
            | Atom::Min(..)
            | Atom::Max(..)
            | Atom::Sum(..)
            | Atom::Product(..) => None,
        }
    }

    /// All variables, those inside divisions and the like included.
    pub fn vars(&self) -> BTreeSet<Sym> {
        let mut out = BTreeSet::new();
        self.collect_vars(&mut out);
        out
    }

    fn collect_vars(&self, out: &mut BTreeSet<Sym>) {
        for atom in self.terms().iter().flat_map(|(m, _)| m.atoms()) {
            match atom {
                Atom::Var(sym) => {
                    out.insert(sym.clone());
                }
                Atom::FloorDiv(a, b)
                | Atom::FloorMod(a, b)
                | Atom::TruncDiv(a, b)
                | Atom::TruncRem(a, b)
                | Atom::Min(a, b)
                | Atom::Max(a, b)
                | Atom::Sum(a, b)
                | Atom::Product(a, b) => {
                    a.collect_vars(out);
                    b.collect_vars(out);
                }
            }
        }
    }

    /// Terms must be sorted, distinct and without zero coefficients.
    pub(super) fn from_terms(terms: Vec<(Monomial, i64)>, constant: i64) -> Self {
        let (mut depth, mut size) = (0u32, 1u32);
        for atom in terms.iter().flat_map(|(m, _)| m.atoms()) {
            depth = depth.max(atom.depth());
            size = size.saturating_add(atom.size());
        }
        Self(Arc::new(Poly { terms, constant, depth, size, digest: AtomicU64::new(0) }))
    }

    pub(super) fn from_monomial(monomial: Monomial, coefficient: i64) -> Self {
        match coefficient {
            0 => Self::constant(0),
            _ => Self::from_terms(vec![(monomial, coefficient)], 0),
        }
    }

    pub(super) fn terms(&self) -> &[(Monomial, i64)] {
        &self.0.terms
    }

    pub(super) fn constant_term(&self) -> i64 {
        self.0.constant
    }

    pub(super) fn depth(&self) -> u32 {
        self.0.depth
    }

    pub(super) fn size(&self) -> u32 {
        self.0.size
    }

    /// The atom, if the expression is one.
    pub(super) fn as_atom(&self) -> Option<&Atom> {
        match (self.terms(), self.0.constant) {
            ([(monomial, 1)], 0) => monomial.single(),
            _ => None,
        }
    }

    /// The distinct atoms at the top of the expression, in order.
    pub(super) fn top_atoms(&self) -> BTreeSet<&Atom> {
        self.terms().iter().flat_map(|(m, _)| m.atoms()).collect()
    }

    pub(super) fn is_zero(&self) -> bool {
        self.as_const() == Some(0)
    }
}

impl PartialOrd for IntExpr {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for IntExpr {
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Ordering::Equal;
        }
        (&self.0.terms, self.0.constant).cmp(&(&other.0.terms, other.0.constant))
    }

    // Without these `a.min(b)` on owned values would silently mean the structural order.
    fn min(self, other: Self) -> Self {
        self.minimum(&other)
    }

    fn max(self, other: Self) -> Self {
        self.maximum(&other)
    }
}

impl fmt::Debug for IntExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl From<i64> for IntExpr {
    fn from(value: i64) -> Self {
        Self::constant(value)
    }
}

impl From<Sym> for IntExpr {
    fn from(sym: Sym) -> Self {
        Self::var(sym)
    }
}

impl From<&Sym> for IntExpr {
    fn from(sym: &Sym) -> Self {
        Self::var(sym.clone())
    }
}
