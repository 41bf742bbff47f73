//! Placeholder until the folder `arith` takes its place: whoever adds `arith/mod.rs` deletes this file.
#![allow(missing_docs)]
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Sym(Arc<str>);
impl Sym {
    pub fn new(s: &str) -> Sym {
        Sym(s.into())
    }
}
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum View {
    Const(i64),
    Var(Sym),
    Add(Vec<IntExpr>),
    Mul(Vec<IntExpr>),
    FloorDiv(IntExpr, IntExpr),
    FloorMod(IntExpr, IntExpr),
    TruncDiv(IntExpr, IntExpr),
    TruncRem(IntExpr, IntExpr),
    Min(IntExpr, IntExpr),
    Max(IntExpr, IntExpr),
}
#[derive(Clone, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct IntExpr(Arc<View>);
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Fact {
    NonNegative(IntExpr),
    Zero(IntExpr),
    NonZero(IntExpr),
    Divisible(IntExpr, i64),
}
impl Fact {
    pub fn vars(&self) -> BTreeSet<Sym> {
        match self {
            Fact::NonNegative(e) | Fact::Zero(e) | Fact::NonZero(e) | Fact::Divisible(e, _) => e.vars(),
        }
    }
}
impl From<i64> for IntExpr {
    fn from(v: i64) -> Self {
        IntExpr(Arc::new(View::Const(v)))
    }
}
impl IntExpr {
    pub fn var(s: Sym) -> Self {
        IntExpr(Arc::new(View::Var(s)))
    }
    pub fn view(&self) -> View {
        (*self.0).clone()
    }
    pub fn as_const(&self) -> Option<i64> {
        match &*self.0 {
            View::Const(v) => Some(*v),
            _ => None,
        }
    }
    pub fn vars(&self) -> BTreeSet<Sym> {
        match &*self.0 {
            View::Const(_) => BTreeSet::new(),
            View::Var(s) => BTreeSet::from([s.clone()]),
            View::Add(v) | View::Mul(v) => v.iter().flat_map(|e| e.vars()).collect(),
            View::FloorDiv(a, b)
            | View::FloorMod(a, b)
            | View::TruncDiv(a, b)
            | View::TruncRem(a, b)
            | View::Min(a, b)
            | View::Max(a, b) => a.vars().union(&b.vars()).cloned().collect(),
        }
    }
    pub fn substitute(&self, _f: &impl Fn(&Sym) -> Option<IntExpr>) -> IntExpr {
        self.clone()
    }
    pub fn floor_div(&self, o: &IntExpr) -> IntExpr {
        match (self.as_const(), o.as_const()) {
            (Some(a), Some(b)) => a.div_euclid(b).into(),
            _ => IntExpr(Arc::new(View::FloorDiv(self.clone(), o.clone()))),
        }
    }
    pub fn trunc_div(&self, o: &IntExpr) -> IntExpr {
        match (self.as_const(), o.as_const()) {
            (Some(a), Some(b)) => (a / b).into(),
            _ => IntExpr(Arc::new(View::TruncDiv(self.clone(), o.clone()))),
        }
    }
}
macro_rules! op { ($t:ident, $m:ident, $v:ident, $e:tt) => {
impl std::ops::$t<&IntExpr> for &IntExpr { type Output = IntExpr; fn $m(self, o: &IntExpr) -> IntExpr { match (self.as_const(), o.as_const()) { (Some(a), Some(b)) => (a $e b).into(), _ => IntExpr(Arc::new(View::$v(vec![self.clone(), o.clone()]))) } } }
} }
op!(Add, add, Add, +);
op!(Mul, mul, Mul, *);
impl fmt::Display for Sym {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl fmt::Display for IntExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}
#[derive(Clone, Default, Debug)]
pub struct Prover;
impl Prover {
    pub fn new() -> Self {
        Prover
    }
    pub fn assume(&mut self, _f: Fact) {}
    pub fn const_bounds(&self, _e: &IntExpr) -> (Option<i64>, Option<i64>) {
        (None, None)
    }
}
