//! Sums of integers times factors that the model has, rounded to integers: in fixed point.
//!
//! A product of floats may be off by a part in 2^23, so a sum near the middle between two integers may go to the wrong
//! one, and in a deep network that moves all that follows. A factor of as many bits as leave room for the product in 64
//! is off by far less, and it is the same on machines without floats. (Jacob et al. 2018, "Quantization and Training of
//! Neural Networks for Efficient Integer-Arithmetic-Only Inference", section 2.2.)

use tenfold_ir::op::BinaryOp;
use tenfold_ir::relax::ValueId;
use tenfold_ir::{DType, Scalar};

use crate::elem::Elem;
use crate::value::Outcome;
use crate::walk::{Cx, integers};

/// Integers, and what each of them counts for.
pub(crate) struct Term {
    /// The integers, of 32 bits.
    pub(crate) sum: ValueId,
    /// No element is further from 0.
    pub(crate) reach: i64,
    /// One factor, or one per extent of the axis.
    pub(crate) factors: Vec<f64>,
}

/// Bits of a product, and of a sum of two with what rounding adds to it.
const ROOM: i32 = 61;
/// Bits of a factor that its float is known to.
const KNOWN: i32 = 52;
/// The most places that a product is shifted by.
const PLACES: i32 = 61;

/// Factors in fixed point: one integer for each term, and the places of their fractions.
struct Fixed {
    factors: Vec<i64>,
    places: i64,
}

/// The factors of all terms at one extent of the axis, if all are numbers above 0 that are not too large.
fn fixed(terms: &[Term], at: usize) -> Option<Fixed> {
    let own = |term: &Term| term.factors[at.min(term.factors.len() - 1)];
    let mut places = PLACES;
    for term in terms {
        let factor = own(term);
        if !(factor.is_normal() && factor > 0.0) {
            return None;
        }
        let bits = 64 - term.reach.leading_zeros() as i32;
        let exponent = (factor.to_bits() >> 52) as i32 - 1023;
        places = places.min((ROOM - bits).min(KNOWN) - 1 - exponent);
    }
    let whole = |term: &Term| (own(term) * f64::from(places).exp2()).round() as i64;
    (places >= 1).then(|| Fixed { factors: terms.iter().map(whole).collect(), places: i64::from(places) })
}

/// `Σ sum · factor` of one or two terms, to the nearest integer with ties to even, in 64 bits; nothing where a factor has
/// no such form. Several factors go along `axis`.
pub(crate) fn rounded(cx: &mut Cx<'_>, terms: &[Term], axis: usize) -> Outcome<Option<ValueId>> {
    let count = terms.iter().map(|term| term.factors.len()).max().unwrap_or(0);
    let Some(all) = (0..count).map(|at| fixed(terms, at)).collect::<Option<Vec<Fixed>>>() else { return Ok(None) };
    let Some(rank) = terms.iter().map(|term| cx.rank(term.sum)).max() else { return Ok(None) };
    let mut product = None;
    for (n, term) in terms.iter().enumerate() {
        let sum = cx.cast(term.sum, DType::I64)?;
        let factors = whole(cx, all.iter().map(|fixed| fixed.factors[n]).collect(), axis, rank)?;
        let next = cx.binary(BinaryOp::Mul, sum, factors)?;
        product = Some(match product {
            Some(before) => cx.binary(BinaryOp::Add, before, next)?,
            None => next,
        });
    }
    let Some(product) = product else { return Ok(None) };
    let places = whole(cx, all.iter().map(|fixed| fixed.places).collect(), axis, rank)?;
    let below_half = whole(cx, all.iter().map(|fixed| (1 << (fixed.places - 1)) - 1).collect(), axis, rank)?;
    // A half goes up where what stands before it is odd.
    let floor = cx.binary(BinaryOp::Shr, product, places)?;
    let one = cx.b.scalar(Scalar::int(DType::I64, 1));
    let odd = cx.binary(BinaryOp::And, floor, one)?;
    let up = cx.binary(BinaryOp::Add, below_half, odd)?;
    let moved = cx.binary(BinaryOp::Add, product, up)?;
    cx.binary(BinaryOp::Shr, moved, places).map(Some)
}

/// Integers along an axis of a tensor of that rank; one, or equal ones, are a scalar.
fn whole(cx: &mut Cx<'_>, values: Vec<i64>, axis: usize, rank: usize) -> Outcome<ValueId> {
    if let Some(one) = values.first().filter(|one| values.iter().all(|value| value == *one)) {
        return Ok(cx.b.scalar(Scalar::int(DType::I64, i128::from(*one))));
    }
    let flat = cx.constant(&integers(Elem::Int64, vec![values.len() as u64], &values))?;
    cx.along(flat, axis, rank)
}
