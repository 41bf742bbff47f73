//! Values to compute on: special ones, and random ones that are the same in every run.

use tenfold_ir::{DType, Scalar};

/// A generator of the same numbers in every run.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `n`, which is not 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// From -1 to 1.
    pub(crate) fn unit(&mut self) -> f64 {
        self.bits() as f64 / u64::MAX as f64 * 2.0 - 1.0
    }

    /// One of several.
    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// Ordinary values: floats from -2 to 2 on a grid, integers of a few units or any bits.
pub(crate) fn ordinary(dtype: DType, n: usize, seed: u64) -> Vec<Scalar> {
    let mut random = Random::new(seed);
    let one = |random: &mut Random| match dtype {
        DType::Bool => Scalar::bool(random.bits() & 1 == 1),
        _ if dtype.is_float() => Scalar::float(dtype, random.unit() * 2.0),
        _ if random.below(4) == 0 => Scalar::int(dtype, i128::from(random.bits())),
        _ => Scalar::int(dtype, random.below(21) as i128 - 10),
    };
    (0..n).map(|_| one(&mut random)).collect()
}

/// Values at which operators go wrong.
pub(crate) fn special(dtype: DType) -> Vec<Scalar> {
    if dtype == DType::Bool {
        return vec![Scalar::bool(false), Scalar::bool(true)];
    }
    if !dtype.is_float() {
        let least = Scalar::least(dtype).to_i128();
        let most = Scalar::greatest(dtype).to_i128();
        let bits = i128::from(dtype.bits());
        let all = [0, 1, 2, 3, 5, 7, -1, -2, -3, -7, 10, least, least + 1, most, most - 1, bits, bits - 1, bits + 1];
        return all.into_iter().map(|v| Scalar::int(dtype, v)).collect();
    }
    let (big, tiny, least) = match dtype {
        DType::F16 => (65504.0, 2f64.powi(-14), 2f64.powi(-24)),
        DType::BF16 => (3.389_531_389_251_535_5e38, 2f64.powi(-126), 2f64.powi(-133)),
        DType::F32 => (f64::from(f32::MAX), 2f64.powi(-126), 2f64.powi(-149)),
        _ => (f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1)),
    };
    let positive = [
        0.0,
        least,
        tiny,
        1e-3,
        0.1,
        0.25,
        0.499_999,
        0.5,
        0.75,
        1.0,
        1.5,
        2.0,
        2.5,
        3.0,
        3.5,
        7.9,
        10.0,
        88.5,
        100.0,
        710.0,
        65000.0,
        1e10,
        2e19,
        big,
        f64::INFINITY,
    ];
    let mut all: Vec<Scalar> = positive.iter().map(|v| Scalar::float(dtype, *v)).collect();
    all.extend(positive.iter().map(|v| Scalar::float(dtype, -v)));
    all.push(Scalar::float(dtype, f64::NAN));
    all
}

/// The special values of a type of floats, then ones of any bits and ones of every magnitude, `count` in all.
pub(crate) fn magnitudes(dtype: DType, count: usize, random: &mut Random) -> Vec<Scalar> {
    let mut all = special(dtype);
    while all.len() < count {
        let bits = random.bits();
        all.push(match all.len() % 4 {
            0 | 1 => Scalar::from_le_bytes(dtype, &bits.to_le_bytes()[..dtype.size_bytes()]),
            2 => Scalar::float(dtype, random.unit() * 4.0),
            _ => Scalar::float(dtype, random.unit() * 100.0),
        });
    }
    all
}

/// A few of the special values, for operators of two operands over all pairs.
pub(crate) fn telling(dtype: DType) -> Vec<Scalar> {
    if !dtype.is_float() {
        return special(dtype);
    }
    let values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.0,
        -2.0,
        3.0,
        -3.5,
        1e-3,
        7.25,
        -100.0,
        60000.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];
    values.iter().map(|v| Scalar::float(dtype, *v)).collect()
}
