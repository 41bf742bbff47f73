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
use crate::emit::int;
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
/// Bits that a float of 64 bits keeps of a product.
const KEPT: i32 = f64::MANTISSA_DIGITS as i32;
/// How far off the fewer bits of a factor may put an integer.
const CLOSE: f64 = 1.0 / (1 << 20) as f64;

/// Factors in fixed point: one integer for each term, and the places of their fractions.
struct Fixed {
    factors: Vec<i64>,
    places: i64,
}

/// How many bits products may have: as many as integers of 64 bits have room for, or as floats of as many bits keep.
#[derive(Clone, Copy)]
enum Bits {
    Integer,
    Float,
}

/// The factors of all terms at one extent of the axis, if all are numbers above 0 that are not too large, and no result up to
/// `most` is far off.
fn fixed(terms: &[Term], at: usize, (bits, most): (Bits, i64)) -> Option<Fixed> {
    let own = |term: &Term| term.factors[at.min(term.factors.len() - 1)];
    let mut places = PLACES;
    for term in terms {
        let factor = own(term);
        if !(factor.is_normal() && factor > 0.0) {
            return None;
        }
        let reach = bits_of(term.reach);
        let exponent = (factor.to_bits() >> 52) as i32 - 1023;
        let room = match bits {
            Bits::Integer => (ROOM - reach).min(KNOWN),
            Bits::Float => KEPT - terms.len() as i32 - reach,
        };
        let mut fits = room - 1 - exponent;
        if let (Bits::Float, [_]) = (bits, terms) {
            // What is clipped may be rounded.
            fits = fits.max(KEPT - bits_of(most + 1)).min((ROOM - reach).min(KNOWN) - 1 - exponent);
        }
        places = places.min(fits);
    }
    let off = |term: &Term| (term.reach as f64).min((most + 1) as f64 / own(term)) * f64::from(-places - 1).exp2();
    let close = matches!(bits, Bits::Integer) || terms.iter().map(off).sum::<f64>() <= CLOSE;
    let whole = |term: &Term| (own(term) * f64::from(places).exp2()).round() as i64;
    (places >= 1 && close).then(|| Fixed { factors: terms.iter().map(whole).collect(), places: i64::from(places) })
}

fn bits_of(n: i64) -> i32 {
    64 - n.leading_zeros() as i32
}

/// `Σ sum · factor` of one or two terms, to the nearest integer with ties to even, in 64 bits; nothing where a factor has
/// no such form. Several factors go along `axis`. What is further from 0 than `most` will be clipped.
///
/// Where floats of 64 bits would give the same result in each bit and factors are close enough then, they have no more bits
/// than that: processors with vectors of such floats scale in these (`ScaleInFloats`).
pub(crate) fn rounded(cx: &mut Cx<'_>, terms: &[Term], axis: usize, most: i64) -> Outcome<Option<ValueId>> {
    let count = terms.iter().map(|term| term.factors.len()).max().unwrap_or(0);
    let all = |bits| (0..count).map(|at| fixed(terms, at, (bits, most))).collect::<Option<Vec<Fixed>>>();
    let Some(all) = all(Bits::Float).or_else(|| all(Bits::Integer)) else { return Ok(None) };
    let Some(rank) = terms.iter().map(|term| cx.rank(term.sum)).max() else { return Ok(None) };
    for Term { sum, reach, .. } in terms {
        // How far a sum of many products may be is not seen in their types.
        if cx.b.range(*sum).is_none() {
            cx.b.set_range(*sum, int(-reach), int(reach + 1));
        }
    }
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
