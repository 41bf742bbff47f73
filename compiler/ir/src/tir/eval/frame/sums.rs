//! Sums whose terms may come in any order: accumulations, and products of `bf16` that are added.

use super::{BufId, Cell, Expr, ExprId, Frame, View};
use crate::eval::{Bounded, Sum, bounded, dot};
use crate::op::BinaryOp;
use crate::tir::{Dot, Intrinsic, PrimFunc};
use crate::{DType, Scalar};

/// What an accumulation adds.
#[derive(Clone, Copy)]
pub(super) enum Term {
    One(ExprId),
    Product(ExprId, ExprId),
}

/// Whether an expression is a sum of products of floats, which are terms of what it is added to.
pub(in crate::tir::eval) fn is_of_floats(func: &PrimFunc, id: ExprId) -> bool {
    matches!(func.exprs.get(id), Expr::Call(Intrinsic::Dot(Dot::Bf16), ..))
}

impl Frame<'_, '_> {
    /// The operator and the term of `buf[i] = buf[i] op term` where the order of terms is free.
    pub(super) fn accumulation(&self, buf: BufId, at: &[ExprId], value: ExprId) -> Option<(BinaryOp, Term)> {
        if self.reductions == 0 || self.func.strict {
            return None;
        }
        let same =
            |e: ExprId| matches!(self.func.exprs.get(e), Expr::Load { buf: b, index, .. } if *b == buf && index == at);
        match self.func.exprs.get(value) {
            Expr::Binary(op, x, y) if Sum::matters(*op, self.func.buffers[buf.0 as usize].dtype) => {
                if same(*x) {
                    return Some((*op, Term::One(*y)));
                }
                same(*y).then_some((*op, Term::One(*x)))
            }
            Expr::Call(Intrinsic::Fma, args, _) if args.len() == 3 && same(args[2]) => {
                Some((BinaryOp::Add, Term::Product(args[0], args[1])))
            }
            _ => None,
        }
    }

    pub(super) fn accumulate(
        &mut self,
        op: BinaryOp,
        term: Term,
        (view, cell): (View, i64),
        dtype: DType,
        lane: u16,
    ) -> Result<Cell, String> {
        let (first, more) = match term {
            Term::One(e) if op == BinaryOp::Add => self.terms(e, lane)?,
            Term::One(e) => (self.expr(e, lane)?, None),
            Term::Product(a, b) => {
                let (a, b) = (self.expr(a, lane)?, self.expr(b, lane)?);
                (bounded::binary(BinaryOp::Mul, a, b), None)
            }
        };
        let memory = &self.machine.memories[view.memory];
        let old = memory.get(cell, dtype).ok_or("an accumulator is read before it is written")?;
        let mut sum = memory.sum(cell).filter(|s| s.op() == op).unwrap_or_else(|| Sum::new(op, old));
        sum.add(first);
        more.into_iter().for_each(|term| sum.add(term));
        Ok(Cell { value: sum.total(), sum: Some(sum) })
    }

    /// What an expression adds to a sum: itself, or the two products that it is a sum of.
    fn terms(&mut self, id: ExprId, lane: u16) -> Result<(Bounded, Option<Bounded>), String> {
        match self.func.exprs.get(id) {
            Expr::Call(Intrinsic::Dot(Dot::Bf16), args, _) => {
                let [first, second] = self.products(args, lane)?;
                Ok((first, Some(second)))
            }
            _ => Ok((self.expr(id, lane)?, None)),
        }
    }

    /// A value and products of floats, added in any order.
    pub(in crate::tir::eval) fn added(
        &mut self,
        start: Option<ExprId>,
        dot: ExprId,
        lane: u16,
    ) -> Result<Bounded, String> {
        let start = match start {
            Some(start) => self.expr(start, lane)?,
            None => Bounded::exact(Scalar::zero(DType::F32)),
        };
        let mut sum = Sum::new(BinaryOp::Add, start);
        let (first, more) = self.terms(dot, lane)?;
        sum.add(first);
        more.into_iter().for_each(|term| sum.add(term));
        Ok(sum.total())
    }

    /// The products of the `bf16` in two words.
    fn products(&mut self, words: &[ExprId], lane: u16) -> Result<[Bounded; 2], String> {
        let [x, y] = words[..] else { return Err(format!("{} words for products", words.len())) };
        let ([a, b], [c, d]) = (self.halves(x, lane)?, self.halves(y, lane)?);
        Ok([dot::product(a, c), dot::product(b, d)])
    }

    /// The `bf16` in a word: what it is made of has bounds that its bits have not.
    fn halves(&mut self, word: ExprId, lane: u16) -> Result<[Bounded; 2], String> {
        match self.func.exprs.get(word) {
            Expr::Broadcast(word, _) => self.halves(*word, 0),
            Expr::Call(Intrinsic::Word, args, _) => match args[..] {
                [a, b] => Ok([self.expr(a, lane)?, self.expr(b, lane)?]),
                _ => Err(format!("a word of {} where two `bf16` are expected", args.len())),
            },
            _ => Ok(dot::halves(self.expr(word, lane)?)),
        }
    }
}
