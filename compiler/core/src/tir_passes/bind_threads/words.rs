//! Products of integers of 8 bits, four terms at once: four elements of a factor are one word, and a term of the sum is
//! that of the products of two words. Sums of integers wrap, so that any order gives the same bits.

use std::collections::BTreeMap;

use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{Dot, Elem, Expr, ExprId, Intrinsic, PrimFunc, Ty, substitution};
use tenfold_ir::{DType, Scalar};

use super::product::Product;
use super::{Bind, Loop};
use crate::tir_passes::kernel::constant;

/// Terms of a word.
const WORD: i64 = 4;

/// Terms from which on words are worth it.
const TERMS: i64 = 16;

impl Product {
    /// The same product of words, if its factors are integers of 8 bits that are widened to 32.
    pub(super) fn in_words(self, bind: &mut Bind<'_>) -> Product {
        let func = bind.b.func();
        let known = self.terms.iter().try_fold(1i64, |n, l| n.checked_mul(constant(func, l.extent)?));
        let many = known.is_none_or(|n| n >= TERMS);
        let bytes = [self.x, self.y].map(|factor| widened(func, factor));
        let ([Some((x, of_x)), Some((y, of_y))], true) = (bytes, many && self.is_of_i32(func)) else { return self };
        let count = bind.count(&self.terms);
        let number = bind.b.index_var("word");
        let word = Loop { var: number, min: bind.b.index(0), extent: bind.parts(count, WORD) };
        let open = (known.is_none_or(|n| n % WORD != 0)).then_some(count);
        let [x, y] = [x, y].map(|factor| bind.word(factor, &self.terms, word, open));
        let dot = Dot::Bytes { signed: [of_x == DType::I8, of_y == DType::I8] };
        let term = bind.b.call(Intrinsic::Dot(dot), vec![x, y], Ty::scalar(DType::I32));
        Product { terms: vec![word], term, x, y, ..self }
    }

    /// Whether what is added is the product itself, in 32 bits.
    fn is_of_i32(&self, func: &PrimFunc) -> bool {
        matches!(func.exprs.get(self.term), Expr::Binary(BinaryOp::Mul, ..))
            && func.exprs.ty(self.term).elem == Elem::Scalar(DType::I32)
    }
}

/// What a factor widens, and its dtype.
pub(super) fn widened(func: &PrimFunc, factor: ExprId) -> Option<(ExprId, DType)> {
    let Expr::Cast(to, of) = *func.exprs.get(factor) else { return None };
    match func.exprs.ty(of).elem {
        Elem::Scalar(dtype @ (DType::I8 | DType::U8)) if to == Ty::scalar(DType::I32) => Some((of, dtype)),
        Elem::Scalar(_) | Elem::Index => None,
    }
}

impl Bind<'_> {
    /// Four elements of a factor; 0 beyond the last one, where there may be fewer.
    fn word(&mut self, factor: ExprId, terms: &[Loop], word: Loop, open: Option<ExprId>) -> ExprId {
        let (number, four) = (self.b.read(word.var), self.b.index(WORD));
        let first = self.b.mul(number, four);
        let dtype = match self.b.ty(factor).elem {
            Elem::Scalar(dtype) => dtype,
            Elem::Index => DType::I64,
        };
        let zero = self.b.scalar(Scalar::zero(dtype));
        let mut all = Vec::new();
        for n in 0..WORD {
            let n = self.b.index(n);
            let term = self.b.add(first, n);
            let to: BTreeMap<_, _> = self.places(term, terms).into_iter().collect();
            let value = substitution(&to).expr(self.b, factor);
            all.push(match open {
                Some(count) => {
                    let inside = self.b.compare(CmpOp::Lt, term, count);
                    self.b.if_(inside, value, zero)
                }
                None => value,
            });
        }
        self.b.call(Intrinsic::Word, all, Ty::scalar(DType::I32))
    }
}
