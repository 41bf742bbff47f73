//! Sums of products of neighbours, as many as a word of 32 bits holds.

use super::bounded::{self, Bounded};
use super::sum::Sum;
use crate::op::BinaryOp;
use crate::{DType, Scalar};

/// The sum of the products of the four integers of 8 bits in each of two i32, with a sign or without.
pub fn dot4(x: Scalar, y: Scalar, signed: [bool; 2]) -> Scalar {
    let byte = |of: Scalar, signed: bool, n: u32| {
        let byte = (of.bits >> (8 * n)) as u8;
        if signed { i128::from(byte as i8) } else { i128::from(byte) }
    };
    Scalar::int(DType::I32, (0..4).map(|n| byte(x, signed[0], n) * byte(y, signed[1], n)).sum())
}

/// The sum of the products of integers, the first half of which are those of the one operand.
pub fn products(elements: &[Bounded]) -> Bounded {
    let (x, y) = elements.split_at(elements.len() / 2);
    let products = x.iter().zip(y).map(|(x, y)| x.value.to_i128() * y.value.to_i128());
    let value = Bounded::exact(Scalar::int(DType::I32, products.sum()));
    if elements.iter().all(|element| element.is_exact()) { value } else { value.unknown() }
}

/// An `i32` with products of integers added, which wraps.
pub fn added(to: Bounded, pairs: &[(Bounded, Bounded)]) -> Bounded {
    let products = pairs.iter().map(|(x, y)| x.value.to_i128() * y.value.to_i128());
    let value = Bounded::exact(Scalar::int(DType::I32, to.value.to_i128() + products.sum::<i128>()));
    let is_exact = to.is_exact() && pairs.iter().all(|(x, y)| x.is_exact() && y.is_exact());
    if is_exact { value } else { value.unknown() }
}

/// Elements as one i32, the first one lowest.
pub fn word(elements: &[Bounded]) -> Bounded {
    let bits = elements.iter().rev().fold(0u64, |bits, element| {
        let width = 8 * element.value.dtype.size_bytes() as u32;
        bits << width | element.value.bits & ((1 << width) - 1)
    });
    let value = Bounded::exact(Scalar::int(DType::I32, i128::from(bits as u32 as i32)));
    if elements.iter().all(|element| element.is_exact()) { value } else { value.unknown() }
}

/// The two bf16 that an i32 holds, the lower one first.
pub fn halves(word: Bounded) -> [Bounded; 2] {
    [0, 16].map(|at| {
        let half = Bounded::exact(Scalar { dtype: DType::BF16, bits: word.value.bits >> at & 0xffff });
        if word.is_exact() { half } else { half.unknown() }
    })
}

/// The least normal f32 and bf16.
const LEAST: f64 = f32::MIN_POSITIVE as f64;

/// Of larger products every bit is that of a normal number, and so is what sums of them leave.
const SMALL: f64 = LEAST * (1u64 << 26) as f64;

/// A product of two bf16 in f32, where the least may be taken for 0: factors, and what is left of a sum.
pub fn product(x: Bounded, y: Bounded) -> Bounded {
    let [x, y] = [x, y].map(|half| bounded::cast(DType::F32, half));
    let product = bounded::binary(BinaryOp::Mul, x, y);
    let gone = |of: Bounded| of.get().abs() < LEAST + of.error && !(of.is_exact() && of.get() == 0.0);
    let factors = if gone(x) || gone(y) { product.get().abs() } else { 0.0 };
    let zero = product.is_exact() && product.get() == 0.0 && (x.get() == 0.0 || y.get() == 0.0);
    let sums = if product.get().abs() < SMALL && !zero { LEAST } else { 0.0 };
    let lost = factors + sums;
    // Infinity times what may be 0 may be no number.
    Bounded { error: if lost.is_nan() { f64::INFINITY } else { product.error + lost }, ..product }
}

/// A half, read once for all products that it is a factor of.
#[derive(Clone, Copy, Debug)]
pub struct Factor {
    /// What it is.
    pub half: Bounded,
    real: f64,
    /// Whether every implementation has it, and nothing takes it for 0.
    is_plain: bool,
}

impl Factor {
    /// Of a half.
    pub fn new(half: Bounded) -> Factor {
        let real = half.get();
        let is_normal = (LEAST..=f64::from(f32::MAX)).contains(&real.abs());
        Factor { half, real, is_plain: half.is_exact() && (is_normal || real == 0.0) }
    }
}

/// Adds the [`product`] of two bf16, or of two f16, to a sum of f32. Most are exact, which is soon told.
pub fn add_product(sum: &mut Sum, x: Factor, y: Factor) {
    let real = x.real * y.real;
    let is_exact = (SMALL..=f64::from(f32::MAX)).contains(&real.abs()) || real == 0.0;
    if x.is_plain && y.is_plain && is_exact {
        sum.add_exact(real);
    } else {
        sum.add(product(x.half, y.half));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int(value: i32) -> Scalar {
        Scalar::int(DType::I32, i128::from(value))
    }

    #[test]
    fn products_of_bytes_know_signs() {
        let word = |bytes: [u8; 4]| int(i32::from_le_bytes(bytes));
        let (x, y) = (word([255, 1, 128, 2]), word([128, 255, 255, 3]));
        let dots = [
            ([false, false], 255 * 128 + 255 + 128 * 255 + 6),
            ([false, true], 255 * -128 - 1 - 128 + 6),
            ([true, false], -128 + 255 - 128 * 255 + 6),
            ([true, true], 128 - 1 + 128 + 6),
        ];
        for (signed, sum) in dots {
            assert_eq!(dot4(x, y, signed).to_i128(), sum, "{signed:?}");
        }
    }

    #[test]
    fn elements_are_given_one_by_one() {
        let elements = [-128, 3, 5, -128, 7, -1].map(|n| Bounded::exact(Scalar::int(DType::I8, n)));
        assert_eq!(products(&elements).value, int(128 * 128 + 3 * 7 - 5));
        let [mut some @ .., _] = elements;
        some[0] = some[0].unknown();
        assert!(products(&some[..4]).is_unknown());
    }

    fn half(value: f64) -> Bounded {
        Bounded::exact(Scalar::float(DType::BF16, value))
    }

    #[test]
    fn words_are_taken_apart_as_they_are_put_together() {
        let [x, y] = [half(-1.5), half(0.25)];
        assert_eq!(halves(word(&[x, y])), [x, y]);
        assert!(halves(word(&[x, y.unknown()])).iter().all(|half| half.is_unknown()));
        let bytes = [-1, 2, -128, 127].map(|n| Bounded::exact(Scalar::int(DType::I8, n)));
        assert_eq!(word(&bytes).value, int(i32::from_le_bytes([255, 2, 128, 127])));
    }

    #[test]
    fn products_are_added_as_they_are_made() {
        let least = f64::from(f32::MIN_POSITIVE);
        let reals = [0.0, -0.0, 1.5, -3.015625, 1e-10, 3e38, least, least / 4.0, f64::INFINITY, f64::NAN];
        let all: Vec<Bounded> =
            reals.into_iter().map(half).chain([Bounded::new(half(1.5).value, 0.25), half(2.0).unknown()]).collect();
        for (x, y) in all.iter().flat_map(|x| all.iter().map(move |y| (*x, *y))) {
            let [mut as_factors, mut as_terms] =
                [0.75, 0.75].map(|start| Sum::new(BinaryOp::Add, Bounded::exact(Scalar::float(DType::F32, start))));
            add_product(&mut as_factors, Factor::new(x), Factor::new(y));
            as_terms.add(product(x, y));
            assert_eq!(format!("{:?}", as_factors), format!("{:?}", as_terms), "{x:?} {y:?}");
        }
    }

    #[test]
    fn products_are_exact_where_all_is_normal() {
        for (x, y) in [(1.0078125, -3.015625), (0.0, 7.0), (1e-10, 1e-15), (f64::INFINITY, 1.0)] {
            assert!(product(half(x), half(y)).is_exact(), "{x} {y}");
        }
        let least = f64::from(f32::MIN_POSITIVE);
        assert!(product(half(least / 4.0), half(1e30)).error >= least / 4.0 * 1e30);
        assert!(product(half(least), half(0.5)).error >= least / 2.0);
        assert!(product(half(least / 2.0), half(f64::INFINITY)).is_unknown());
    }
}
