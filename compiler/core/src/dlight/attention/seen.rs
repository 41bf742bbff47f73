//! Which keys a query sees, where positions alone tell: causal masks, and windows around a query.
//!
//! The score of any other key is negative infinity, and its weight 0: what is 0 times a value is left out, whatever the value
//! is, so that blocks of keys that no query of a tile sees need neither be read nor multiplied.

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::op::{BinaryOp, CmpOp, UnaryOp};
use tenfold_ir::tir::{Builder, Elem, Expr, ExprId, Param, PrimFunc, VarId, Viewer, expr_vars};
use tenfold_ir::{DType, Scalar};

use super::found::{Attention, is};

/// The keys that queries see.
pub(super) struct Seen {
    /// What the score of a key is that is seen.
    pub score: ExprId,
    /// The first key that a query sees, and the one behind the last, if positions tell: both over the iterator of queries,
    /// and no less for a later query.
    pub begin: Option<ExprId>,
    pub end: Option<ExprId>,
    /// Whether later queries see more keys.
    pub grows: bool,
}

impl Seen {
    /// What of keys is seen by a score, if it says so.
    pub(super) fn of(b: &mut Builder, found: &Attention, score: ExprId) -> Option<Seen> {
        let row = found.row.as_ref()?.var;
        let sym = b.sym(row).clone();
        let mut reader = Reader { row, sym: sym.clone(), key: found.key.var, begin: None, end: None };
        let score = reader.without_masks(b, score);
        if reader.begin.is_none() && reader.end.is_none() {
            return None;
        }
        let grows = reader.end.as_ref().is_some_and(|end| end.vars().contains(&sym));
        let [begin, end] = [reader.begin, reader.end].map(|it| it.map(|it| b.int_expr(&it)));
        Some(Seen { score, begin, end, grows })
    }
}

/// What has been read of a score.
struct Reader {
    row: VarId,
    sym: Sym,
    key: VarId,
    begin: Option<IntExpr>,
    end: Option<IntExpr>,
}

/// `key` and `row` times some numbers, and what is neither.
#[derive(Clone)]
struct Line {
    key: i64,
    row: i64,
    rest: IntExpr,
}

impl Reader {
    /// A score as it is where all masks of positions let the key be seen; these are read.
    fn without_masks(&mut self, b: &mut Builder, id: ExprId) -> ExprId {
        match *b.func().exprs.get(id) {
            Expr::Select(cond, x, y) | Expr::If(cond, x, y) => {
                let func = b.func();
                if is(func, y, Scalar::least) && self.takes(func, cond, true) {
                    self.without_masks(b, x)
                } else if is(func, x, Scalar::least) && self.takes(func, cond, false) {
                    self.without_masks(b, y)
                } else {
                    id
                }
            }
            Expr::Binary(BinaryOp::Add, x, y) => {
                if self.is_bias(b.func(), y) {
                    return self.without_masks(b, x);
                }
                if self.is_bias(b.func(), x) {
                    return self.without_masks(b, y);
                }
                let (left, right) = (self.without_masks(b, x), self.without_masks(b, y));
                if (left, right) == (x, y) { id } else { b.add(left, right) }
            }
            Expr::Binary(op @ (BinaryOp::Mul | BinaryOp::Div), x, y) if is_positive(b.func(), y) => {
                let left = self.without_masks(b, x);
                if left == x { id } else { b.binary(op, left, y) }
            }
            _ => id,
        }
    }

    /// Whether a term is 0 where positions let a key be seen, and negative infinity elsewhere.
    fn is_bias(&mut self, func: &PrimFunc, id: ExprId) -> bool {
        let (Expr::Select(cond, x, y) | Expr::If(cond, x, y)) = *func.exprs.get(id) else { return false };
        let seen = is(func, x, Scalar::zero) && is(func, y, Scalar::least) && self.takes(func, cond, true);
        seen || is(func, x, Scalar::least) && is(func, y, Scalar::zero) && self.takes(func, cond, false)
    }

    /// Reads what a condition that is so says of keys, if that is all that it says.
    fn takes(&mut self, func: &PrimFunc, cond: ExprId, so: bool) -> bool {
        let before = (self.begin.clone(), self.end.clone());
        let taken = self.read(func, cond, so);
        if !taken {
            (self.begin, self.end) = before;
        }
        taken
    }

    fn read(&mut self, func: &PrimFunc, cond: ExprId, so: bool) -> bool {
        match *func.exprs.get(cond) {
            Expr::Unary(UnaryOp::Not, x) => self.read(func, x, !so),
            Expr::Binary(BinaryOp::And, x, y) if so => self.read(func, x, so) && self.read(func, y, so),
            Expr::Binary(BinaryOp::Or, x, y) if !so => self.read(func, x, so) && self.read(func, y, so),
            Expr::If(x, y, no) | Expr::Select(x, y, no) if so && is(func, no, Scalar::zero) => {
                self.read(func, x, so) && self.read(func, y, so)
            }
            Expr::If(x, yes, y) | Expr::Select(x, yes, y) if !so && is(func, yes, Scalar::one) => {
                self.read(func, x, so) && self.read(func, y, so)
            }
            Expr::Compare(op, x, y) => {
                let Some((x, y)) = self.line(func, x).zip(self.line(func, y)) else { return false };
                self.compared(if so { op } else { opposite(op) }, &x, &y)
            }
            _ => false,
        }
    }

    /// Reads what a comparison says of keys.
    fn compared(&mut self, op: CmpOp, x: &Line, y: &Line) -> bool {
        // What is not negative.
        let at_least = match op {
            CmpOp::Le => y.less(x),
            CmpOp::Ge => x.less(y),
            CmpOp::Lt => y.less(x).less(&Line::number(1)),
            CmpOp::Gt => x.less(y).less(&Line::number(1)),
            CmpOp::Eq | CmpOp::Ne => return false,
        };
        match (at_least.key, at_least.row) {
            (-1, 0 | 1) => {
                let end = &self.of_row(&at_least) + 1;
                self.end = Some(self.end.take().map_or(end.clone(), |other| other.minimum(&end)));
            }
            (1, 0 | -1) => {
                let begin = self.of_row(&Line::number(0).less(&at_least));
                self.begin = Some(self.begin.take().map_or(begin.clone(), |other| other.maximum(&begin)));
            }
            _ => return false,
        }
        true
    }

    /// What is no key, over the symbol of the query.
    fn of_row(&self, line: &Line) -> IntExpr {
        &(&IntExpr::var(self.sym.clone()) * line.row) + &line.rest
    }

    /// An integer that no arithmetic on its way wraps, as a line.
    fn line(&self, func: &PrimFunc, id: ExprId) -> Option<Line> {
        if !is_wide(func, id) {
            return None;
        }
        match *func.exprs.get(id) {
            Expr::Index(n) => Some(Line::number(n)),
            Expr::Const(n) => i64::try_from(n.to_i128()).ok().filter(|n| n.abs() <= FAR).map(Line::number),
            Expr::Var(v) if v == self.key => Some(Line { key: 1, ..Line::number(0) }),
            Expr::Var(v) if v == self.row => Some(Line { row: 1, ..Line::number(0) }),
            Expr::Cast(_, x) => self.line(func, x),
            Expr::Binary(BinaryOp::Add, x, y) => {
                let (x, y) = (self.line(func, x)?, self.line(func, y)?);
                Some(x.less(&Line::number(0).less(&y)))
            }
            Expr::Binary(BinaryOp::Sub, x, y) => Some(self.line(func, x)?.less(&self.line(func, y)?)),
            _ => of_dims(func, id),
        }
    }
}

impl Line {
    fn number(n: i64) -> Line {
        Line { key: 0, row: 0, rest: n.into() }
    }

    fn less(&self, other: &Line) -> Line {
        Line { key: self.key - other.key, row: self.row - other.row, rest: &self.rest - &other.rest }
    }
}

/// A number that no position is as far off as.
const FAR: i64 = 1 << 48;

/// Whether an expression is of 64 bits with a sign.
fn is_wide(func: &PrimFunc, id: ExprId) -> bool {
    matches!(func.exprs.ty(id).elem, Elem::Index | Elem::Scalar(DType::I64))
}

/// An index that is made of parameters alone, such that 64 bits hold it.
fn of_dims(func: &PrimFunc, id: ExprId) -> Option<Line> {
    let known = expr_vars(func, id).into_iter().all(|var| func.params.contains(&Param::Value(var)));
    if func.exprs.ty(id).elem != Elem::Index || !known || func.loads(id) {
        return None;
    }
    let mut viewer = Viewer::new(func);
    let rest = viewer.int(id);
    let known = rest.vars().iter().all(|sym| func.vars.iter().any(|var| var.sym == *sym));
    (known && viewer.fits(&rest)).then_some(Line { key: 0, row: 0, rest })
}

/// The comparison that holds where another one does not, of integers.
fn opposite(op: CmpOp) -> CmpOp {
    match op {
        CmpOp::Eq => CmpOp::Ne,
        CmpOp::Ne => CmpOp::Eq,
        CmpOp::Lt => CmpOp::Ge,
        CmpOp::Le => CmpOp::Gt,
        CmpOp::Gt => CmpOp::Le,
        CmpOp::Ge => CmpOp::Lt,
    }
}

/// Whether an expression is a number above 0, which keeps infinities.
fn is_positive(func: &PrimFunc, id: ExprId) -> bool {
    matches!(func.exprs.get(id), Expr::Const(n) if n.dtype.is_float() && n.to_f64() > 0.0 && n.to_f64().is_finite())
}
