//! Index expressions and conditions of tir as the prover reads them.

use std::collections::BTreeSet;

use crate::arith::{Fact, IntExpr, Prover, Sym, View};
use crate::op::{BinaryOp, CmpOp, UnaryOp};
use crate::tir::{BufId, BufUse, Elem, Expr, ExprId, Param, PrimFunc, Scope, VarId, expr_vars, operands};
use crate::{DType, Scalar};

/// What only the range of a dtype is as great as.
const FAR: u64 = 1 << 62;

/// What a dim may be multiplied by without leaving 64 bits.
const SMALL: i64 = 1 << 16;

/// A constant that may be multiplied by [`SMALL`] ones and added to others.
const NEAR: u64 = 1 << 40;

/// Reads expressions of one function. What is not integer arithmetic becomes an atom with the range of its dtype.
pub struct Viewer<'f> {
    func: &'f PrimFunc,
    /// What is known here.
    pub prover: Prover,
    /// How many atoms were made for values that may differ each time they are read.
    fresh: usize,
    /// Symbols that any 64 bits may stand for: no memory has to be as large as they are. Arithmetic on them may wrap.
    wild: BTreeSet<Sym>,
    /// Those that stand for sums and products which may have wrapped.
    wrapped: BTreeSet<Sym>,
}

impl<'f> Viewer<'f> {
    /// A reader that knows the function's facts and nothing of its loops yet.
    pub fn new(func: &'f PrimFunc) -> Self {
        let mut prover = Prover::new();
        for fact in &func.facts {
            prover.assume(fact.clone());
        }
        Viewer { func, prover, fresh: 0, wild: wild_params(func), wrapped: BTreeSet::new() }
    }

    /// The function that is read.
    pub fn func(&self) -> &'f PrimFunc {
        self.func
    }

    /// The symbol of a variable.
    pub fn sym(&self, var: VarId) -> Sym {
        self.func.vars[var.0 as usize].sym.clone()
    }

    /// Whether arithmetic on `e` may leave 64 bits: it has a symbol that may be anything.
    pub fn is_wild(&self, e: &IntExpr) -> bool {
        !self.wild.is_empty() && e.vars().iter().any(|sym| self.wild.contains(sym))
    }

    /// Takes a variable for one that any 64 bits may stand for.
    pub fn set_wild(&mut self, sym: Sym) {
        self.wild.insert(sym);
    }

    /// Whether a value is surely held by 64 bits: what it is made of is bounded by extents, or it is.
    pub fn fits(&self, e: &IntExpr) -> bool {
        if self.is_extent(e) || self.of_extents(e) || self.is_bounded(e) {
            return true;
        }
        let (lo, hi) = self.prover.bounds(e);
        let near = |end: IntExpr| match end.as_const() {
            Some(n) => n.unsigned_abs() < FAR,
            // A sum of numbers alone that is no number has overflown.
            None => !end.vars().is_empty() && self.of_extents(&end),
        };
        // The bounds of a dtype overflow first and hide nearer ones, which a proof finds.
        let far = IntExpr::from(FAR as i64);
        (lo.is_some_and(near) && hi.is_some_and(near))
            || (self.prover.prove_ge0(&(e + &far)) && self.prover.prove_ge0(&(&far - e)))
    }

    /// Whether a value is an axis of a buffer or counts its elements: terms of it may be greater, as those of
    /// `n * n - n`.
    fn is_extent(&self, e: &IntExpr) -> bool {
        self.func.buffers.iter().any(|buf| buf.shape.contains(e) || elements(&buf.shape) == *e)
    }

    /// Whether a value is made of what extents bound.
    fn of_extents(&self, e: &IntExpr) -> bool {
        !self.is_wild(e) && products(e).iter().all(|factors| self.in_memory(factors))
    }

    /// Whether the symbols of `e` that may be anything are known to be no greater than what is in memory, and `e` is no
    /// great multiple of one nor of two of them. Bounds of `e` itself may be lost where facts go in circles.
    fn is_bounded(&self, e: &IntExpr) -> bool {
        let known = |end: &IntExpr| end.as_const().is_some() || !end.vars().is_empty();
        let end = |end: Option<IntExpr>| end.is_some_and(|it| known(&it) && self.of_extents(&it) && is_slight(&it));
        let ends = |sym: &Sym| {
            let (lo, hi) = self.prover.bounds(&IntExpr::var(sym.clone()));
            end(lo) && end(hi)
        };
        let held = |factors: &Vec<IntExpr>| !factors.iter().any(|it| self.is_wild(it)) && self.in_memory(factors);
        let apart = is_slight(e) && products(e).iter().all(held);
        apart && e.vars().iter().filter(|sym| self.wild.contains(sym)).all(ends)
    }

    /// A sum, difference or product: the exact value if 64 bits hold it, else whatever the machine makes of it.
    fn held(&mut self, id: ExprId, op: BinaryOp, a: ExprId, b: ExprId) -> IntExpr {
        let (x, y) = (self.int(a), self.int(b));
        let Some(exact) = combined(op, &x, &y) else { return self.atom(id) };
        if self.fits(&exact) {
            self.same_as_seen(id, &exact);
            return exact;
        }
        let whole = self.modular(id);
        if whole == exact || !self.fits(&whole) {
            return self.any(id);
        }
        self.same_as_seen(id, &whole);
        whole
    }

    /// The value of sums and products of sums and products: whatever wraps on the way, it is this modulo 2^64.
    fn modular(&mut self, id: ExprId) -> IntExpr {
        match *self.func.exprs.get(id) {
            Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Shl), a, b)
                if self.func.exprs.ty(id).elem == Elem::Index =>
            {
                let (x, y) = (self.modular(a), self.modular(b));
                combined(op, &x, &y).unwrap_or_else(|| self.int(id))
            }
            _ => self.int(id),
        }
    }

    /// A value that may be any 64 bits.
    fn any(&mut self, id: ExprId) -> IntExpr {
        let atom = self.atom(id);
        if let Some(sym) = atom.as_var() {
            self.set_wild(sym.clone());
            self.wrapped.insert(sym.clone());
        }
        atom
    }

    /// Whether a fact is about a sum or a product that may have wrapped, so that it says less than its text.
    pub fn is_wrapped(&self, fact: &Fact) -> bool {
        !self.wrapped.is_disjoint(&fact.vars())
    }

    /// An integer as an index: an unsigned one of 2^63 or more is a negative index.
    fn index_of(&mut self, id: ExprId, a: ExprId) -> IntExpr {
        let exact = self.int(a);
        if self.func.exprs.ty(a).elem != Elem::Scalar(DType::U64) {
            return exact;
        }
        if self.prover.prove_le(&exact, &IntExpr::from(FAR as i64)) {
            self.same_as_seen(id, &exact);
            return exact;
        }
        self.any(id)
    }

    /// Before a condition bounded it, an expression may have been seen as whatever the machine makes of it, and
    /// conditions may speak of that.
    fn same_as_seen(&mut self, id: ExprId, exact: &IntExpr) {
        let seen = Sym::new(format!("%{}", id.0));
        if self.wild.contains(&seen) && self.steady(id) {
            self.prover.assume_eq(&IntExpr::var(seen), exact);
        }
    }

    /// Whether memory bounds a product: of one buffer there is an axis for each factor that is not small, or one for
    /// all of them, or its elements are as many. One dim is never too large, but the product of two may be, as `k * k`
    /// where no buffer is so large.
    fn in_memory(&self, factors: &[IntExpr]) -> bool {
        let small = |e: &&IntExpr| !self.prover.prove_le(e, &IntExpr::from(SMALL));
        let large: Vec<&IntExpr> = factors.iter().filter(small).collect();
        let product = elements(factors);
        large.len() < 2
            || self.func.buffers.iter().any(|buf| {
                let mut axes: Vec<&IntExpr> = buf.shape.iter().collect();
                let each = large.iter().all(|e| {
                    let at = axes.iter().position(|extent| self.prover.prove_le(e, extent));
                    at.map(|at| axes.remove(at)).is_some()
                });
                each || buf
                    .shape
                    .iter()
                    .chain([&elements(&buf.shape)])
                    .any(|extent| self.prover.prove_le(&product, extent))
            })
    }

    /// An integer expression of any integer type as mathematical integers.
    pub fn int(&mut self, id: ExprId) -> IntExpr {
        let index = matches!(self.func.exprs.ty(id).elem, Elem::Index);
        match self.func.exprs.get(id).clone() {
            Expr::Index(i) => IntExpr::from(i),
            Expr::Const(s) if !s.dtype.is_float() => {
                i64::try_from(s.to_i128()).map_or_else(|_| self.atom(id), IntExpr::from)
            }
            Expr::Var(v) => {
                let data = &self.func.vars[v.0 as usize];
                if index { IntExpr::var(data.sym.clone()) } else { self.ranged(data.sym.clone(), id) }
            }
            Expr::Binary(op, a, b) => self.binary(id, op, a, b, index),
            Expr::Cast(_, a) if index && !self.is_float(a) => self.index_of(id, a),
            Expr::Load { buf, .. } => {
                let atom = self.atom(id);
                // A range whose ends are themselves not held says nothing.
                if let Some((lo, hi)) = self.func.buffers[buf.0 as usize].range.clone()
                    && (self.fits(&lo) || lo.as_var().is_some())
                    && (self.fits(&hi) || (&hi - 1).as_var().is_some())
                {
                    self.prover.assume_le(&lo, &atom);
                    self.prover.assume_lt(&atom, &hi);
                }
                atom
            }
            Expr::Select(c, a, b) | Expr::If(c, a, b) => self.choice(id, c, a, b),
            Expr::Const(_)
            | Expr::Unary(..)
            | Expr::Compare(..)
            | Expr::Cast(..)
            | Expr::Call(..)
            | Expr::Ramp(..)
            | Expr::Broadcast(..)
            | Expr::Shuffle(..) => self.atom(id),
        }
    }

    fn is_float(&self, id: ExprId) -> bool {
        matches!(self.func.exprs.ty(id).elem, Elem::Scalar(d) if d.is_float())
    }

    /// Arithmetic on index values is exact; on dtypes it may wrap, so only what cannot is looked into.
    fn binary(&mut self, id: ExprId, op: BinaryOp, a: ExprId, b: ExprId, index: bool) -> IntExpr {
        let float = self.is_float(id);
        match op {
            BinaryOp::Min if !float => self.int(a).minimum(&self.int(b)),
            BinaryOp::Max if !float => self.int(a).maximum(&self.int(b)),
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Shl if index => self.held(id, op, a, b),
            BinaryOp::Div if index => self.int(a).trunc_div(&self.int(b)),
            BinaryOp::Rem if index => self.int(a).trunc_rem(&self.int(b)),
            BinaryOp::DivEuclid if index => self.euclid(id, a, b, true),
            BinaryOp::RemEuclid => self.euclid(id, a, b, false),
            BinaryOp::Shr if index => match self.int(b).as_const() {
                Some(n) if (0..62).contains(&n) => self.int(a).floor_div(&IntExpr::from(1i64 << n)),
                _ => self.atom(id),
            },
            BinaryOp::And if !float => self.masked(id, a, b),
            _ => self.atom(id),
        }
    }

    /// With a divisor that is positive, Euclidean division is floor division.
    fn euclid(&mut self, id: ExprId, a: ExprId, b: ExprId, quotient: bool) -> IntExpr {
        let divisor = self.int(b);
        if self.prover.prove_ge0(&(&divisor - 1)) && !self.is_float(id) {
            // Proofs about the quotient look for it again, with fewer steps.
            if divisor.as_const().is_none() {
                self.prover.assume_ge(&divisor, &IntExpr::from(1));
            }
            let dividend = self.int(a);
            return if quotient { dividend.floor_div(&divisor) } else { dividend.floor_mod(&divisor) };
        }
        self.atom(id)
    }

    /// `x & c` lies in 0..=c for a constant c >= 0.
    fn masked(&mut self, id: ExprId, a: ExprId, b: ExprId) -> IntExpr {
        let atom = self.atom(id);
        for side in [a, b] {
            if let Some(c) = self.int(side).as_const().filter(|c| *c >= 0) {
                self.prover.assume_ge(&atom, &IntExpr::from(0));
                self.prover.assume_le(&atom, &IntExpr::from(c));
            }
        }
        atom
    }

    /// A value that is one of two: whatever holds of both holds of it.
    fn choice(&mut self, id: ExprId, c: ExprId, a: ExprId, b: ExprId) -> IntExpr {
        let (x, y) = (self.int(a), self.int(b));
        if x == y {
            return x;
        }
        let atom = self.atom(id);
        let fact = self.fact(c);
        let (is_x, is_y) = (Fact::eq(&atom, &x), Fact::eq(&atom, &y));
        let both = match fact {
            Some(f) => Fact::Or(vec![Fact::And(vec![f.clone(), is_x]), Fact::And(vec![f.negate(), is_y])]),
            None => Fact::Or(vec![is_x, is_y]),
        };
        self.prover.assume(both);
        if self.is_wild(&atom) {
            self.assume_hull(&atom, &x, &y);
        }
        if self.prover.prove_le(&x, &y) {
            self.assume_between(&atom, &x, &y);
        } else if self.prover.prove_le(&y, &x) {
            self.assume_between(&atom, &y, &x);
        }
        atom
    }

    /// `atom` is one of `least` and `greatest`: said without alternatives, of which a proof looks into few.
    fn assume_between(&mut self, atom: &IntExpr, least: &IntExpr, greatest: &IntExpr) {
        self.prover.assume_le(least, atom);
        self.prover.assume_le(atom, greatest);
    }

    /// `atom` is `x` or `y`: it lies between the ends of both, which alternatives do not show as bounds.
    fn assume_hull(&mut self, atom: &IntExpr, x: &IntExpr, y: &IntExpr) {
        let ((a, b), (c, d)) = (self.prover.bounds(x), self.prover.bounds(y));
        let number = |end: Option<IntExpr>| end.and_then(|end| end.as_const());
        if let (Some(a), Some(c)) = (number(a), number(c)) {
            self.prover.assume_ge(atom, &IntExpr::from(a.min(c)));
        }
        if let (Some(b), Some(d)) = (number(b), number(d)) {
            self.prover.assume_le(atom, &IntExpr::from(b.max(d)));
        }
    }

    /// A name for a value that is not looked into: the same one each time only if nothing can change the value.
    fn atom(&mut self, id: ExprId) -> IntExpr {
        if self.steady(id) {
            return self.ranged(Sym::new(format!("%{}", id.0)), id);
        }
        self.fresh += 1;
        self.ranged(Sym::new(format!("%{}.{}", id.0, self.fresh)), id)
    }

    /// Whether an expression reads only memory that the function does not write.
    fn steady(&self, id: ExprId) -> bool {
        let expr = self.func.exprs.get(id);
        let here = match expr {
            Expr::Load { buf, .. } => self.read_only(*buf),
            _ => true,
        };
        here && operands(expr).into_iter().all(|o| self.steady(o))
    }

    fn read_only(&self, buf: BufId) -> bool {
        let input = Param::Buffer(buf, BufUse::In);
        matches!(self.func.buffers[buf.0 as usize].scope, Scope::Const(_)) || self.func.params.contains(&input)
    }

    /// Whether a value depends on data of 64 bits, on a float, or on a symbol that may be anything.
    fn any_bits(&self, id: ExprId) -> bool {
        let expr = self.func.exprs.get(id);
        let here = match expr {
            Expr::Load { .. } | Expr::Call(..) => match self.func.exprs.ty(id).elem {
                Elem::Index => true,
                Elem::Scalar(dtype) => dtype.is_float() || matches!(dtype, DType::I64 | DType::U64),
            },
            Expr::Var(v) => {
                let data = &self.func.vars[v.0 as usize];
                self.wild.contains(&data.sym) || !matches!(data.ty.elem, Elem::Index)
            }
            _ => false,
        };
        here || operands(expr).into_iter().any(|o| self.any_bits(o))
    }

    fn ranged(&mut self, sym: Sym, id: ExprId) -> IntExpr {
        if self.any_bits(id) {
            self.wild.insert(sym.clone());
        }
        let atom = IntExpr::var(sym);
        if let Elem::Scalar(dtype) = self.func.exprs.ty(id).elem
            && !dtype.is_float()
        {
            let bounds = [Scalar::least(dtype).to_i128(), Scalar::greatest(dtype).to_i128()];
            // What is above the least number of 64 bits by so much no constant says.
            if let Some(lo) = i64::try_from(bounds[0]).ok().filter(|lo| *lo > i64::MIN) {
                self.prover.assume_ge(&atom, &IntExpr::from(lo));
            }
            if let Ok(hi) = i64::try_from(bounds[1]) {
                self.prover.assume_le(&atom, &IntExpr::from(hi));
            }
        }
        atom
    }

    /// By how much a value grows with a symbol, if by a number: nobody knows where a part of it that is not looked into depends
    /// on that.
    pub fn step(&self, e: &IntExpr, sym: &Sym) -> Option<i64> {
        if e.vars().iter().any(|part| self.is_hidden_in(sym, part)) {
            return None;
        }
        let next = IntExpr::var(sym.clone()) + IntExpr::from(1);
        (&e.substitute(&|s| (s == sym).then(|| next.clone())) - e).as_const()
    }

    /// Whether a name stands for a value that depends on a symbol.
    fn is_hidden_in(&self, sym: &Sym, name: &Sym) -> bool {
        let number = name.as_str().strip_prefix('%').and_then(|text| text.split('.').next());
        let Some(id) = number.and_then(|text| text.parse().ok()) else { return false };
        expr_vars(self.func, ExprId(id)).into_iter().any(|var| self.func.vars[var.0 as usize].sym == *sym)
    }

    /// What a condition says, if it is one over integers. Both it and its negation may be assumed.
    pub fn fact(&mut self, id: ExprId) -> Option<Fact> {
        match self.func.exprs.get(id).clone() {
            Expr::Compare(op, a, b) if !self.is_float(a) => {
                let (a, b) = (self.int(a), self.int(b));
                Some(match op {
                    CmpOp::Eq => Fact::eq(&a, &b),
                    CmpOp::Ne => Fact::ne(&a, &b),
                    CmpOp::Lt => Fact::lt(&a, &b),
                    CmpOp::Le => Fact::le(&a, &b),
                    CmpOp::Gt => Fact::gt(&a, &b),
                    CmpOp::Ge => Fact::ge(&a, &b),
                })
            }
            Expr::If(c, a, b) | Expr::Select(c, a, b) => {
                if self.is_bool(b, false) {
                    return Some(Fact::And(vec![self.fact(c)?, self.fact(a)?]));
                }
                if self.is_bool(a, true) {
                    return Some(Fact::Or(vec![self.fact(c)?, self.fact(b)?]));
                }
                None
            }
            Expr::Binary(BinaryOp::And, a, b) => Some(Fact::And(vec![self.fact(a)?, self.fact(b)?])),
            Expr::Binary(BinaryOp::Or, a, b) => Some(Fact::Or(vec![self.fact(a)?, self.fact(b)?])),
            Expr::Unary(UnaryOp::Not, a) => Some(self.fact(a)?.negate()),
            _ => None,
        }
    }

    /// What a condition that holds says at least: of a conjunction, the parts that can be read.
    pub fn holds(&mut self, id: ExprId) -> Vec<Fact> {
        self.says(id, true)
    }

    /// What a condition that does not hold says at least: of a disjunction, the negations of the parts.
    pub fn fails(&mut self, id: ExprId) -> Vec<Fact> {
        self.says(id, false)
    }

    /// What a condition of this truth says at least. Of two of which one must be so, it is what both say.
    fn says(&mut self, id: ExprId, truth: bool) -> Vec<Fact> {
        match self.func.exprs.get(id).clone() {
            Expr::Unary(UnaryOp::Not, a) => self.says(a, !truth),
            Expr::Binary(BinaryOp::And, a, b) => self.joined(a, b, truth, truth),
            Expr::Binary(BinaryOp::Or, a, b) => self.joined(a, b, truth, !truth),
            Expr::If(c, a, b) | Expr::Select(c, a, b) if self.is_bool(b, false) => self.joined(c, a, truth, truth),
            Expr::If(c, a, b) | Expr::Select(c, a, b) if self.is_bool(a, true) => self.joined(c, b, truth, !truth),
            _ => self.fact(id).map(|fact| if truth { fact } else { fact.negate() }).into_iter().collect(),
        }
    }

    /// What two conditions of this truth say, if `both` are so or if one is.
    fn joined(&mut self, a: ExprId, b: ExprId, truth: bool, both: bool) -> Vec<Fact> {
        let (x, y) = (self.says(a, truth), self.says(b, truth));
        match (both, x.is_empty() || y.is_empty()) {
            (true, _) => [x, y].concat(),
            (false, true) => Vec::new(),
            (false, false) => vec![Fact::Or(vec![all_of(x), all_of(y)])],
        }
    }

    fn is_bool(&self, id: ExprId, value: bool) -> bool {
        *self.func.exprs.get(id) == Expr::Const(Scalar { dtype: DType::Bool, bits: u64::from(value) })
    }
}

/// What is exact modulo 2^64, if this is.
fn combined(op: BinaryOp, x: &IntExpr, y: &IntExpr) -> Option<IntExpr> {
    match op {
        BinaryOp::Add => Some(x + y),
        BinaryOp::Sub => Some(x - y),
        BinaryOp::Mul => Some(x * y),
        BinaryOp::Shl => y.as_const().filter(|n| (0..62).contains(n)).map(|n| x * &IntExpr::from(1i64 << n)),
        _ => None,
    }
}

/// Facts as one.
fn all_of(mut facts: Vec<Fact>) -> Fact {
    match facts.len() {
        1 => facts.remove(0),
        _ => Fact::And(facts),
    }
}

/// Whether `e` is a sum of a constant and small multiples.
fn is_slight(e: &IntExpr) -> bool {
    let term = |e: &IntExpr| match e.view() {
        View::Const(n) => n.unsigned_abs() <= NEAR,
        View::Mul(parts) => parts.iter().filter_map(IntExpr::as_const).all(|n| n.unsigned_abs() <= SMALL as u64),
        _ => true,
    };
    match e.view() {
        View::Add(terms) => terms.iter().all(term),
        _ => term(e),
    }
}

/// The product of extents.
fn elements(extents: &[IntExpr]) -> IntExpr {
    extents.iter().fold(IntExpr::from(1), |all, extent| &all * extent)
}

/// The factors of each product of more than one value.
fn products(e: &IntExpr) -> Vec<Vec<IntExpr>> {
    let factors = |e: &IntExpr| match e.view() {
        View::Mul(parts) => Some(parts.into_iter().filter(|it| it.as_const().is_none()).collect::<Vec<_>>()),
        View::Const(_)
        | View::Var(_)
        | View::Add(_)
        | View::FloorDiv(..)
        | View::FloorMod(..)
        | View::TruncDiv(..)
        | View::TruncRem(..)
        | View::Min(..)
        | View::Max(..) => None,
    };
    let terms = match e.view() {
        View::Add(terms) => terms,
        _ => vec![e.clone()],
    };
    terms.iter().filter_map(factors).filter(|it| it.len() > 1).collect()
}

/// Index parameters of which no buffer has an extent: values of the user's, not dims of what is in memory.
fn wild_params(func: &PrimFunc) -> BTreeSet<Sym> {
    let shapes = func.buffers.iter().flat_map(|buf| buf.shape.iter().chain(buf.strides.iter().flatten()));
    let dims: BTreeSet<Sym> = shapes.flat_map(|extent| extent.vars()).collect();
    let value = |param: &Param| match param {
        Param::Value(var) => Some(func.vars[var.0 as usize].sym.clone()),
        Param::Buffer(..) | Param::Workspace => None,
    };
    func.params.iter().filter_map(value).filter(|sym| !dims.contains(sym)).collect()
}
