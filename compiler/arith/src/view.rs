//! What code generators see of an expression.

use super::atom::Atom;
use super::expr::IntExpr;
use super::sym::Sym;

/// One level of an expression. Sums and products have at least two operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum View {
    /// A constant.
    Const(i64),
    /// A variable.
    Var(Sym),
    /// A sum.
    Add(Vec<IntExpr>),
    /// A product.
    Mul(Vec<IntExpr>),
    /// Division rounding down; by zero it is 0.
    FloorDiv(IntExpr, IntExpr),
    /// What [`View::FloorDiv`] leaves; by zero it is the dividend.
    FloorMod(IntExpr, IntExpr),
    /// Division rounding towards zero; by zero it is 0.
    TruncDiv(IntExpr, IntExpr),
    /// What [`View::TruncDiv`] leaves; by zero it is the dividend.
    TruncRem(IntExpr, IntExpr),
    /// The lesser.
    Min(IntExpr, IntExpr),
    /// The greater.
    Max(IntExpr, IntExpr),
}

impl IntExpr {
    /// The outermost operation and its operands.
    pub fn view(&self) -> View {
        match self.terms() {
            [] => View::Const(self.constant_term()),
            [(monomial, coefficient)] if self.constant_term() == 0 => {
                let atoms = monomial.atoms().iter();
                let mut factors: Vec<IntExpr> = atoms.map(|atom| atom.clone().into_expr()).collect();
                if *coefficient != 1 {
                    factors.insert(0, IntExpr::constant(*coefficient));
                }
                match (factors.len(), monomial.single()) {
                    (1, Some(atom)) => view_atom(atom),
                    _ => View::Mul(factors),
                }
            }
            terms => {
                let mut addends: Vec<IntExpr> =
                    terms.iter().map(|(m, c)| IntExpr::from_monomial(m.clone(), *c)).collect();
                if self.constant_term() != 0 {
                    addends.push(IntExpr::constant(self.constant_term()));
                }
                View::Add(addends)
            }
        }
    }
}

fn view_atom(atom: &Atom) -> View {
    match atom {
        Atom::Var(sym) => View::Var(sym.clone()),
        Atom::FloorDiv(a, b) => View::FloorDiv(a.clone(), b.clone()),
        Atom::FloorMod(a, b) => View::FloorMod(a.clone(), b.clone()),
        Atom::TruncDiv(a, b) => View::TruncDiv(a.clone(), b.clone()),
        Atom::TruncRem(a, b) => View::TruncRem(a.clone(), b.clone()),
        Atom::Min(a, b) => View::Min(a.clone(), b.clone()),
        Atom::Max(a, b) => View::Max(a.clone(), b.clone()),
        Atom::Sum(a, b) => View::Add(vec![a.clone(), b.clone()]),
        Atom::Product(a, b) => View::Mul(vec![a.clone(), b.clone()]),
    }
}
