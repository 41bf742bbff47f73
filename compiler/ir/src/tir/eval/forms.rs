//! Indices as sums of variables times numbers, which is told once for each expression of a call: most accesses then take a
//! few products, where they would walk an expression.

use super::few::Lanes;
use crate::op::BinaryOp;
use crate::tir::{Elem, Expr, ExprId, PrimFunc, VarId};
use crate::{DType, Scalar};

/// What a term is a multiple of.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Atom {
    Var(VarId),
    /// Another index by a number above 0, rounded down.
    Quotient(ExprId, i64),
    /// What is left of it.
    Remainder(ExprId, i64),
}

/// An index, modulo 2^64 as all of them are computed.
#[derive(Clone, Default, Debug)]
struct Form {
    constant: i64,
    /// How much is added from one lane to the next.
    per_lane: i64,
    terms: Vec<(Atom, i64)>,
    /// Terms of this index and of those that its atoms ask for.
    size: usize,
}

impl Form {
    fn number(constant: i64) -> Self {
        Form { constant, ..Form::default() }
    }

    fn atom(atom: Atom, size: usize) -> Self {
        Form { terms: vec![(atom, 1)], size: size + 1, ..Form::default() }
    }

    fn is_number(&self) -> bool {
        self.terms.is_empty() && self.per_lane == 0
    }

    fn add(mut self, other: &Form, factor: i64) -> Self {
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(factor));
        self.per_lane = self.per_lane.wrapping_add(other.per_lane.wrapping_mul(factor));
        for (atom, times) in &other.terms {
            let times = times.wrapping_mul(factor);
            match self.terms.iter_mut().find(|(own, _)| own == atom) {
                Some((_, own)) => *own = own.wrapping_add(times),
                None => self.terms.push((*atom, times)),
            }
        }
        self.size += other.size;
        self
    }
}

/// More terms are walked: where indices share parts, walking computes each of them once.
const MOST: usize = 16;

/// What is known of an expression.
#[derive(Clone, Default)]
enum Answer {
    #[default]
    NotAsked,
    NoForm,
    Form(Form),
}

/// The forms of a function's indices.
pub(super) struct Forms(Vec<Answer>);

impl Forms {
    pub(super) fn new(func: &PrimFunc) -> Self {
        Forms(vec![Answer::default(); func.exprs.len()])
    }

    /// The value of an index in a lane, if it is such a sum of variables that are bound and known for sure.
    pub(super) fn value(&mut self, func: &PrimFunc, vars: &[Lanes], id: ExprId, lane: u16) -> Option<i64> {
        if matches!(self.0.get(id.0 as usize)?, Answer::NotAsked) {
            self.ask(func, id);
        }
        self.of(vars, id, lane)
    }

    fn of(&self, vars: &[Lanes], id: ExprId, lane: u16) -> Option<i64> {
        let Answer::Form(form) = &self.0[id.0 as usize] else { return None };
        let mut value = form.constant.wrapping_add(form.per_lane.wrapping_mul(i64::from(lane)));
        for (atom, times) in &form.terms {
            let of = match *atom {
                Atom::Var(var) => vars[var.0 as usize].index_at(lane)?,
                Atom::Quotient(id, by) => self.of(vars, id, lane)?.div_euclid(by),
                Atom::Remainder(id, by) => self.of(vars, id, lane)?.rem_euclid(by),
            };
            value = value.wrapping_add(of.wrapping_mul(*times));
        }
        Some(value)
    }

    /// Finds the form of an expression, and those of its parts.
    fn ask(&mut self, func: &PrimFunc, id: ExprId) -> Option<Form> {
        match &self.0[id.0 as usize] {
            Answer::Form(form) => return Some(form.clone()),
            Answer::NoForm => return None,
            Answer::NotAsked => {}
        }
        let found = self.found(func, id).filter(|form| form.size <= MOST);
        self.0[id.0 as usize] = found.clone().map_or(Answer::NoForm, Answer::Form);
        found
    }

    fn found(&mut self, func: &PrimFunc, id: ExprId) -> Option<Form> {
        if func.exprs.ty(id).elem != Elem::Index {
            return None;
        }
        match func.exprs.get(id) {
            Expr::Index(i) => Some(Form::number(*i)),
            Expr::Const(Scalar { dtype: DType::I64, bits }) => Some(Form::number(*bits as i64)),
            Expr::Var(var) => Some(Form::atom(Atom::Var(*var), 0)),
            Expr::Broadcast(a, _) => self.ask(func, *a),
            Expr::Ramp(base, stride, _) => {
                let (base, stride) = (self.ask(func, *base)?, self.ask(func, *stride)?);
                stride.is_number().then_some(Form { per_lane: stride.constant, ..base })
            }
            Expr::Binary(op, a, b) => {
                let (x, y) = (self.ask(func, *a)?, self.ask(func, *b)?);
                match op {
                    BinaryOp::Add => Some(x.add(&y, 1)),
                    BinaryOp::Sub => Some(x.add(&y, -1)),
                    BinaryOp::Mul if y.is_number() => Some(Form::default().add(&x, y.constant)),
                    BinaryOp::Mul if x.is_number() => Some(Form::default().add(&y, x.constant)),
                    BinaryOp::DivEuclid if y.is_number() && y.constant > 0 => {
                        Some(Form::atom(Atom::Quotient(*a, y.constant), x.size))
                    }
                    BinaryOp::RemEuclid if y.is_number() && y.constant > 0 => {
                        Some(Form::atom(Atom::Remainder(*a, y.constant), x.size))
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::Bounded;
    use crate::tir::{Builder, Ty};

    /// `9 * (x + lane) - 2 * y + floordiv(x + lane, 4) + floormod(x + lane, 4)` in vectors of 3, with what each needs.
    #[test]
    fn sums_have_the_values_that_walking_gives() {
        let mut b = Builder::new("f");
        let (x, y) = (b.index_var("x"), b.index_var("y"));
        let (rx, ry) = (b.read(x), b.read(y));
        let [one, two, four, nine] = [1, 2, 4, 9].map(|n| b.index(n));
        let vector = Ty { lanes: 3, ..Ty::index() };
        let ramp = b.raw(Expr::Ramp(rx, one, 3), vector);
        let all = |b: &mut Builder, id| b.raw(Expr::Broadcast(id, 3), vector);
        let [y3, two3, four3, nine3] = [ry, two, four, nine].map(|id| all(&mut b, id));
        let mut op = |op, l, r| b.binary(op, l, r);
        let (first, second) = (op(BinaryOp::Mul, ramp, nine3), op(BinaryOp::Mul, two3, y3));
        let sum = op(BinaryOp::Sub, first, second);
        let (quotient, rest) = (op(BinaryOp::DivEuclid, ramp, four3), op(BinaryOp::RemEuclid, ramp, four3));
        let both = op(BinaryOp::Add, quotient, rest);
        let whole = op(BinaryOp::Add, sum, both);
        let product = op(BinaryOp::Mul, ramp, y3);
        let func = b.finish();
        let mut forms = Forms::new(&func);
        let mut vars = vec![Lanes::default(); func.vars.len()];
        assert_eq!(forms.value(&func, &vars, whole, 0), None);
        for (at_x, at_y) in [(0, 0), (7, 3), (-6, 5), (i64::MAX, i64::MIN)] {
            vars[x.0 as usize] = Lanes::one(Bounded::index(at_x));
            vars[y.0 as usize] = Lanes::one(Bounded::index(at_y));
            for lane in 0..3 {
                let n = at_x.wrapping_add(i64::from(lane));
                let wanted = n.wrapping_mul(9).wrapping_sub(at_y.wrapping_mul(2));
                let wanted = wanted.wrapping_add(n.div_euclid(4)).wrapping_add(n.rem_euclid(4));
                assert_eq!(forms.value(&func, &vars, whole, lane), Some(wanted), "{at_x} {at_y} {lane}");
            }
        }
        assert_eq!(forms.value(&func, &vars, product, 0), None);
        vars[y.0 as usize] = Lanes::one(Bounded::index(1).unknown());
        assert_eq!(forms.value(&func, &vars, whole, 0), None);
    }
}
