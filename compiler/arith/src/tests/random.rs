//! A small deterministic generator (xorshift), so that failures repeat.

use super::super::IntExpr;

pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(super) fn below(&mut self, n: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % n as u64) as i64
    }

    pub(super) fn within(&mut self, low: i64, high: i64) -> i64 {
        low + self.below(high - low + 1)
    }

    pub(super) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as i64) as usize]
    }

    /// An expression over `names` and the same as an evaluation tree.
    pub(super) fn expr(&mut self, names: &[&'static str], depth: u32) -> (IntExpr, Tree) {
        if depth == 0 || self.below(5) == 0 {
            if self.below(2) == 0 {
                let value = self.within(-9, 9);
                return (value.into(), Tree::Const(value));
            }
            let name = *self.pick(names);
            return (IntExpr::var(name), Tree::Var(name));
        }
        let ((a, x), (b, y)) = (self.expr(names, depth - 1), self.expr(names, depth - 1));
        let op = self.below(9) as usize;
        let expr = match op {
            0 => &a + &b,
            1 => &a - &b,
            2 => &a * &b,
            3 => a.floor_div(&b),
            4 => a.floor_mod(&b),
            5 => a.trunc_div(&b),
            6 => a.trunc_rem(&b),
            7 => a.minimum(&b),
            _ => a.maximum(&b),
        };
        (expr, Tree::Op(op, Box::new((x, y))))
    }
}

/// What an expression was built from, evaluated without any simplification.
pub(super) enum Tree {
    Const(i64),
    Var(&'static str),
    Op(usize, Box<(Tree, Tree)>),
}

impl Tree {
    pub(super) fn eval(&self, env: &impl Fn(&str) -> i64) -> i128 {
        let (op, sides) = match self {
            Tree::Const(value) => return i128::from(*value),
            Tree::Var(name) => return i128::from(env(name)),
            Tree::Op(op, sides) => (op, sides),
        };
        let (a, b) = (sides.0.eval(env), sides.1.eval(env));
        let floor =
            |a: i128, b: i128| if b == 0 { 0 } else { a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0) };
        match op {
            0 => a + b,
            1 => a - b,
            2 => a * b,
            3 => floor(a, b),
            4 => a - b * floor(a, b),
            5 => {
                if b == 0 {
                    0
                } else {
                    a / b
                }
            }
            6 => {
                if b == 0 {
                    a
                } else {
                    a % b
                }
            }
            7 => a.min(b),
            _ => a.max(b),
        }
    }
}
