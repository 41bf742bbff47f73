//! Asks for weights before they are read: each comes from memory once in a call, and from so many places that nobody else
//! does.

use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{Builder, Expr, ExprId, Stmt};

use super::found::TAPS;
use super::written::{Block, Kernel, Panel};
use crate::dlight::emit::{Places, Strip, at, plus, times};

/// Elements of a window.
const ELEMENTS: i64 = TAPS * TAPS;

/// The block of terms that comes next, of the next panel behind the last one.
pub(super) struct Next<'a> {
    strip: &'a Strip,
    /// Where it begins along the first axis of terms, and how much it is.
    block: Block,
    /// Its first channel.
    channel: ExprId,
}

impl<'a> Next<'a> {
    /// What comes behind a block.
    pub(super) fn of(b: &mut Builder, kernel: &Kernel<'_>, (panel, strip): (Panel, &'a Strip), block: Block) -> Self {
        let (more, all) = (b.index(block.extent), b.index(kernel.found.terms[0].extent));
        let end = plus(b, block.begin, more);
        let (inside, zero, width) = (b.compare(CmpOp::Lt, end, all), b.index(0), b.index(strip.width()));
        let (begin, offset) = (b.select(inside, end, zero), b.select(inside, zero, width));
        Next { strip, block: Block { begin, ..block }, channel: plus(b, panel.channel, offset) }
    }

    /// While a product takes so many terms from one on, asks for as many weights as all products together have to ask for:
    /// each for one element of the windows, in a part of the terms.
    pub(super) fn ask(&self, b: &mut Builder, kernel: &Kernel<'_>, product: ExprId, (first, terms): (ExprId, i64)) {
        let found = kernel.found;
        let products = kernel.plan.size.products();
        let parts = products / ELEMENTS;
        let part = by(b, BinaryOp::DivEuclid, product, ELEMENTS);
        let element = by(b, BinaryOp::RemEuclid, product, ELEMENTS);
        let taps = [BinaryOp::DivEuclid, BinaryOp::RemEuclid].map(|op| by(b, op, element, TAPS));
        let before = times(b, part, self.block.extent * found.unit() / parts);
        let own = by(b, BinaryOp::DivEuclid, first, parts);
        let begin = plus(b, before, own);
        let (mut body, ()) = b.scope(|b| {
            for n in 0..(terms / parts).max(1) {
                let n = b.index(n);
                let term = plus(b, begin, n);
                let mut places = self.places(b, kernel, term);
                places.extend(found.slides.iter().map(|s| s.tap).zip(taps));
                for v in 0..self.strip.vectors {
                    let offset = b.index(v * self.strip.lanes);
                    places.insert(found.channel.var, plus(b, self.channel, offset));
                    let weight = at(b, found.weight, &places, None);
                    if let Expr::Load { buf, index, .. } = b.func().exprs.get(weight).clone() {
                        b.push(Stmt::Prefetch { buf, index });
                    }
                }
            }
        });
        if products % ELEMENTS != 0 {
            let some = b.index(parts * ELEMENTS);
            let cond = b.compare(CmpOp::Lt, product, some);
            body = Stmt::If { cond, then: Box::new(body), otherwise: None };
        }
        b.push(body);
    }

    /// A term of the block, as iterators.
    fn places(&self, b: &mut Builder, kernel: &Kernel<'_>, term: ExprId) -> Places {
        let mut rest = term;
        let mut places = Places::new();
        for (n, axis) in kernel.found.terms.iter().enumerate().rev() {
            if n == 0 {
                places.insert(axis.var, plus(b, self.block.begin, rest));
            } else {
                places.insert(axis.var, by(b, BinaryOp::RemEuclid, rest, axis.extent));
                rest = by(b, BinaryOp::DivEuclid, rest, axis.extent);
            }
        }
        places
    }
}

/// An operation with a number.
fn by(b: &mut Builder, op: BinaryOp, x: ExprId, n: i64) -> ExprId {
    let n = b.index(n);
    b.binary(op, x, n)
}
