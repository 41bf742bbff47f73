//! The fixed-point arithmetic of TFLite's integer kernels, as numbers of the build: what tables hold, and what operators
//! of the graph must equal. Products round twice, as the reference does: to 31 bits below the point, halves up, and then
//! to an integer, halves away from zero.

/// A factor below one times a power of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Multiplier {
    /// Its fraction, times 2^31: 0, or at least 2^30.
    pub(crate) fraction: i32,
    /// Its power of two.
    pub(crate) shift: i32,
}

impl Multiplier {
    /// The nearest one to a factor that is not below 0.
    pub(crate) fn of(factor: f64) -> Multiplier {
        if factor == 0.0 || !factor.is_finite() {
            return Multiplier { fraction: 0, shift: 0 };
        }
        // 0.5 <= fraction < 1
        let mut shift = 0;
        let mut fraction = factor;
        while fraction >= 1.0 {
            fraction /= 2.0;
            shift += 1;
        }
        while fraction < 0.5 {
            fraction *= 2.0;
            shift -= 1;
        }
        let mut whole = (fraction * f64::from(1u32 << 31)).round() as i64;
        if whole == 1 << 31 {
            whole /= 2;
            shift += 1;
        }
        match shift {
            ..-31 => Multiplier { fraction: 0, shift: 0 },
            31.. => Multiplier { fraction: i32::MAX, shift: 30 },
            _ => Multiplier { fraction: whole as i32, shift },
        }
    }

    /// `x` times the factor, rounded.
    pub(crate) fn times(self, x: i32) -> i32 {
        let moved = x.wrapping_shl(self.shift.max(0) as u32);
        divided(doubled_high(moved, self.fraction), (-self.shift).max(0) as u32)
    }
}

/// The high half of twice a product, rounded to nearest with halves up, saturating.
pub(crate) fn doubled_high(a: i32, b: i32) -> i32 {
    if a == i32::MIN && b == i32::MIN {
        return i32::MAX;
    }
    ((i64::from(a) * i64::from(b) + (1 << 30)) >> 31) as i32
}

/// `x / 2^places`, rounded to nearest with halves away from zero.
pub(crate) fn divided(x: i32, places: u32) -> i32 {
    if places == 0 {
        return x;
    }
    let (x, half) = (i64::from(x), 1i64 << (places - 1));
    ((x + half + (x >> 63)) >> places) as i32
}

/// `x · 2^places`, saturating.
fn raised(x: i32, places: u32) -> i32 {
    (i64::from(x) << places).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

/// A number with `integer` bits before the point, with others: saturated or rounded.
fn rescaled(x: i32, from: i32, to: i32) -> i32 {
    if from >= to { raised(x, (from - to) as u32) } else { divided(x, (to - from) as u32) }
}

/// `e^x` of `-1/4 <= x < 0` without integer bits, by a polynomial of degree 4 about -1/8.
fn exp_near(x: i32) -> i32 {
    let term = 1_895_147_668i32; // e^(-1/8)
    let third = 715_827_883; // 1/3
    let x = x.wrapping_add(1 << 28);
    let square = doubled_high(x, x);
    let cube = doubled_high(square, x);
    let fourth = doubled_high(square, square);
    let quarter = divided(fourth, 2);
    let rest = divided(doubled_high(quarter.wrapping_add(cube), third).wrapping_add(square), 1);
    term.wrapping_add(doubled_high(term, x.wrapping_add(rest)))
}

/// `e^x` of x <= 0 with `integer` bits before the point, without integer bits.
pub(crate) fn exp(x: i32, integer: i32) -> i32 {
    let fraction = 31 - integer;
    let quarter = 1i32 << (fraction - 2);
    let within = (x & (quarter - 1)).wrapping_sub(quarter);
    let mut result = exp_near(rescaled(within, integer, 0));
    let rest = within.wrapping_sub(x);
    // e^(-2^power)
    let factors = [
        (-2, 1_672_461_947),
        (-1, 1_302_514_674),
        (0, 790_015_084),
        (1, 290_630_308),
        (2, 39_332_535),
        (3, 720_401),
        (4, 242),
    ];
    for (power, factor) in factors {
        if integer > power && rest & (1i32.wrapping_shl((fraction + power) as u32)) != 0 {
            result = doubled_high(result, factor);
        }
    }
    if integer > 5 && x < -(1i32 << (fraction + 5)) {
        result = 0;
    }
    if x == 0 { i32::MAX } else { result }
}

/// Half of a sum, rounded with halves away from zero.
fn half_sum(a: i32, b: i32) -> i32 {
    let sum = i64::from(a) + i64::from(b);
    ((sum + if sum >= 0 { 1 } else { -1 }) / 2) as i32
}

/// `1 / (1 + x)` twice without integer bits; the first with two: three steps of Newton's from 48/17 - 32/17 of half
/// the divisor.
fn reciprocal_with_two(x: i32) -> i32 {
    let divisor = half_sum(x, i32::MAX);
    let mut result = 1_515_870_810i32.wrapping_add(doubled_high(divisor, -1_010_580_540));
    for _ in 0..3 {
        let error = (1i32 << 29).wrapping_sub(doubled_high(divisor, result));
        result = result.wrapping_add(rescaled(doubled_high(result, error), 4, 2));
    }
    result
}

/// `1 / (1 + x)` of `0 <= x < 1`, all without integer bits.
pub(crate) fn one_over_one_plus(x: i32) -> i32 {
    rescaled(reciprocal_with_two(x), 1, 0)
}

/// `(1 - x) / (1 + x)` of `0 <= x < 1`.
fn one_minus_over_one_plus(x: i32) -> i32 {
    rescaled(reciprocal_with_two(x).wrapping_sub(1 << 29), 2, 0)
}

/// `1 / (1 + e^-x)` of x with `integer` bits before the point.
pub(crate) fn logistic(x: i32, integer: i32) -> i32 {
    let above = one_over_one_plus(exp(if x > 0 { -x } else { x }, integer));
    match x {
        0 => 1 << 30,
        1.. => above,
        _ => i32::MAX - above,
    }
}

/// `tanh x` of x with `integer` bits before the point.
pub(crate) fn tanh(x: i32, integer: i32) -> i32 {
    let negative = if x > 0 { -x } else { x };
    // twice the number is the same bits with one more integer bit
    let below = one_minus_over_one_plus(exp(negative, integer + 1));
    match x {
        0 => 0,
        1.. => below,
        _ => -below,
    }
}
