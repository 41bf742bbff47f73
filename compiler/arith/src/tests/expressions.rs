//! Canonical form, text and values.

use super::super::{Fact, IntExpr, Sym, View};
use super::e;
use super::random::Random;

#[test]
fn equal_polynomials_are_equal_values() {
    for (a, b) in [
        ("(x + y) * (x - y)", "x*x - y*y"),
        ("x + 1 + x - 2*x", "1"),
        ("floordiv(8*x + 3, 8)", "x"),
        ("floordiv(8*x + y + 17, 8)", "x + 2 + floordiv(y + 1, 8)"),
        ("floordiv(floordiv(x, 3), 4)", "floordiv(x, 12)"),
        ("floordiv(x, -4)", "floordiv(-x, 4)"),
        ("floordiv(4*x + 3, 8)", "floordiv(x, 2)"),
        ("floormod(8*x + 11, 8)", "3"),
        ("floormod(floormod(x, 16), 8)", "floormod(x, 8)"),
        ("min(x, x + 1)", "x"),
        ("max(x, x + 1)", "x + 1"),
        ("(6*x) / 3", "2*x"),
        ("x / 0", "0"),
        ("x % 0", "x"),
        ("min(a, b)", "min(b, a)"),
    ] {
        assert_eq!(e(a), e(b), "{a}");
    }
}

#[test]
fn text_reads_well() {
    for text in [
        "160*f + n",
        "(N - 352) / 160",
        "N - i - 1",
        "8 - i",
        "-i",
        "2*((N - 352) / 160) + 1",
        "floordiv(a, b)",
        "W*floormod(a, 8) + min(a, b)",
        "x % 8 - y / 3",
        "-9223372036854775808",
        "N - 9223372036854775808",
        "N - 9223372036854775808*i",
    ] {
        assert_eq!(e(text).to_string(), text);
    }
    for text in
        ["i < N", "N >= 1", "B <= 64", "N % 8 == 0", "i + 2 <= N", "i != 3", "a == b", "i >= 0 && (a < b || b < a)"]
    {
        assert_eq!(Fact::parse(text).expect(text).to_string(), text.replace("i != 3", "i - 3 != 0"));
    }
    for text in
        ["", "1 +", "(", "foo(1)", "99999999999999999999", "a b", "min(a)", "é+", &"(".repeat(5000), &"-".repeat(5000)]
    {
        assert!(IntExpr::parse(text).is_err(), "{text}");
        assert!(Fact::parse(text).is_err(), "{text}");
    }
}

/// All or any of one fact prints as that fact, and inside of others in parentheses where it needs them.
#[test]
fn facts_of_one_fact_read_back() {
    let odd = Fact::parse("(N + 1) % 2 == 0").expect("a fact");
    let one = |fact: &Fact| Fact::And(vec![fact.clone()]);
    let both = Fact::And(vec![odd.clone(), odd.clone()]);
    for (fact, text) in [
        (one(&odd), "(N + 1) % 2 == 0"),
        (Fact::Or(vec![one(&odd), odd.clone()]), "(N + 1) % 2 == 0 || (N + 1) % 2 == 0"),
        (Fact::Or(vec![one(&one(&both)), odd.clone()]), "((N + 1) % 2 == 0 && (N + 1) % 2 == 0) || (N + 1) % 2 == 0"),
        (Fact::Or(vec![Fact::And(Vec::new()), odd.clone()]), "0 == 0 || (N + 1) % 2 == 0"),
    ] {
        assert_eq!(fact.to_string(), text);
        assert_eq!(Fact::parse(text).expect(text).to_string(), text);
    }
}

#[test]
fn overflow_is_opaque_and_never_panics() {
    let max = IntExpr::constant(i64::MAX);
    let sum = &max + &max;
    assert_eq!(sum.as_const(), None);
    assert_eq!(sum.eval(&|_| None), None);
    assert_eq!(IntExpr::parse(&sum.to_string()), Ok(sum.clone()));
    assert!(matches!(sum.view(), View::Add(_)));
    let least = IntExpr::constant(i64::MIN);
    for value in [-&least, least.floor_div(&(-1).into()), &least - 1, &least * &least, least.trunc_rem(&(-1).into())] {
        assert!(value.as_const().is_none_or(|it| it == 0));
    }
    let mut deep = IntExpr::var("x");
    for at in 0..500 {
        deep = (&deep + &deep * at).minimum(&IntExpr::var("y")).floor_div(&3.into());
    }
    assert!(!deep.to_string().is_empty());
}

#[test]
fn operations_equal_brute_force_evaluation() {
    let mut random = Random::new(1);
    for _ in 0..3000 {
        let (expr, tree) = random.expr(&["x", "y", "z"], 4);
        let reread = IntExpr::parse(&expr.to_string());
        assert_eq!(reread.as_ref(), Ok(&expr));
        for _ in 0..6 {
            let (x, y, z) = (random.within(-12, 12), random.within(-12, 12), random.within(-12, 12));
            let value = tree.eval(&|name| match name {
                "x" => x,
                "y" => y,
                _ => z,
            });
            let env = |sym: &Sym| {
                Some(match sym.as_str() {
                    "x" => x,
                    "y" => y,
                    _ => z,
                })
            };
            if let Some(found) = expr.eval(&env) {
                assert_eq!(i128::from(found), value, "{expr} at {x} {y} {z}");
            }
            let fixed = expr.substitute(&|sym| env(sym).map(IntExpr::constant));
            if let Some(found) = fixed.as_const() {
                assert_eq!(i128::from(found), value, "{expr} substituted at {x} {y} {z}");
            }
        }
    }
}
