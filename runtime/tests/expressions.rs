//! Arithmetic of dim expressions, against integers that are wide enough.

use tenfold::rt;

const VALUES: [i64; 15] =
    [i64::MIN, i64::MIN + 1, -(1 << 32), -64, -7, -2, -1, 0, 1, 2, 3, 64, 1 << 31, i64::MAX - 1, i64::MAX];

/// Applies an operation to every pair, and compares with what it should be.
fn check(name: &str, ours: impl Fn(i64, i64) -> Option<i64>, oracle: impl Fn(i128, i128) -> i128) {
    for a in VALUES {
        for b in VALUES {
            let expected = i64::try_from(oracle(a.into(), b.into())).ok();
            assert_eq!(ours(a, b), expected, "{name}({a}, {b})");
        }
    }
}

#[test]
fn operations_are_exact_or_nothing() {
    check("add", rt::add, |a, b| a + b);
    check("sub", rt::sub, |a, b| a - b);
    check("mul", rt::mul, |a, b| a * b);
    check("min", rt::min, Ord::min);
    check("max", rt::max, Ord::max);
    check("neg", |a, _| rt::neg(a), |a, _| -a);
    check("shl", rt::shl, |a, b| a.saturating_mul(1 << (b & 63)));
    check("shr", rt::shr, |a, b| a >> (b & 63));
}

#[test]
fn division_by_zero_is_defined() {
    check("div", rt::div, |a, b| if b == 0 { 0 } else { a / b });
    check("rem", rt::rem, |a, b| if b == 0 { a } else { a % b });
    check("div_euclid", rt::div_euclid, |a, b| if b == 0 { 0 } else { a.div_euclid(b) });
    check("rem_euclid", rt::rem_euclid, |a, b| if b == 0 { a } else { a.rem_euclid(b) });
    check("floor_div", rt::floor_div, |a, b| match b {
        0 => 0,
        _ => (a - (a % b + b) % b) / b,
    });
}

#[test]
fn expressions_nest_and_nothing_spreads() {
    assert_eq!(rt::div(rt::sub(480_i64, 352_i64), 160_i64), Some(0));
    assert_eq!(rt::add(rt::mul(i64::MAX, 2_i64), 1_i64), None);
    assert_eq!(rt::round_up(65_i64, 64_i64), Some(128));
    assert_eq!(rt::bytes(rt::mul(i64::MAX, 4_i64)), usize::MAX);
    assert_eq!(rt::bytes(-1_i64), usize::MAX);
    assert_eq!(rt::extent("e", -1_i64).unwrap_err().to_string(), "the extent `e` is -1, which is negative");
    assert_eq!(rt::extent("{ N * N }", None).unwrap_err().to_string(), "`{ N * N }` is too large for this machine");
}

#[test]
fn index_values_saturate() {
    assert_eq!(rt::index(usize::MAX), isize::MAX as i64);
    assert_eq!(rt::index(-3_isize), -3);
}
