//! Every rule of simplification is true, is read, and is applied; and the page that lists them.

use std::fmt::Write as _;
use std::path::Path;

use super::super::rewrite::{Table, is_constant, simplified};
use super::super::rules::{FORMS, RULES, Rule};
use super::super::{Fact, IntExpr, Prover, Sym};
use super::{e, given};

/// All conditions of a rule, as facts.
fn conditions(rule: &Rule) -> Vec<Fact> {
    rule.when.iter().chain(rule.find.when()).map(|it| Fact::parse(it).expect(it)).collect()
}

/// The names of a rule.
fn names(rule: &Rule) -> Vec<Sym> {
    let mut all = e(rule.from).vars();
    all.extend(e(rule.to).vars());
    conditions(rule).iter().for_each(|fact| all.extend(fact.vars()));
    all.into_iter().collect()
}

/// The values of names in one point of a box, the first name's changing fastest.
fn point(names: &[Sym], mut at: usize) -> Option<Vec<(Sym, i64)>> {
    // Constants that have divisors, and both signs.
    const CONSTANTS: &[i64] = &[2, 4, 8, 3, 12, 1, 6, 0, -1, -2, -4, 5];
    const OTHERS: &[i64] = &[0, 1, -1, 2, 3, -3, 5, 7, -8, 9, 12, -13, 16];
    let mut values = Vec::new();
    for sym in names {
        let of = if is_constant(sym.as_str()) { CONSTANTS } else { OTHERS };
        values.push((sym.clone(), of[at % of.len()]));
        at /= of.len();
    }
    (at == 0).then_some(values)
}

fn points(names: &[Sym]) -> impl Iterator<Item = Vec<(Sym, i64)>> {
    (0..).map_while(|at| point(names, at))
}

fn value(values: &[(Sym, i64)], sym: &Sym) -> Option<i64> {
    values.iter().find(|(name, _)| name == sym).map(|(_, value)| *value)
}

#[test]
fn every_rule_is_true() {
    for rule in RULES {
        let (from, to, when) = (e(rule.from), e(rule.to), conditions(rule));
        let mut met = 0;
        for values in points(&names(rule)) {
            let env = |sym: &Sym| value(&values, sym);
            if when.iter().all(|fact| fact.eval(&env) == Some(true)) {
                met += 1;
                assert_eq!(from.eval(&env), to.eval(&env), "{} at {values:?}", rule.name);
            }
        }
        assert!(met >= 12, "{}: its conditions hold at {met} points", rule.name);
    }
}

/// A rule by itself changes an expression of its form: for some constants, under its conditions as facts.
#[test]
fn every_rule_is_applied() {
    for rule in RULES {
        let table = Table::read([rule]);
        assert_eq!(table.len(), 1, "{} cannot be read", rule.name);
        let constants: Vec<Sym> = names(rule).into_iter().filter(|sym| is_constant(sym.as_str())).collect();
        let fires = points(&constants).any(|values| {
            let map = |sym: &Sym| value(&values, sym).map(IntExpr::constant);
            let (from, to) = (e(rule.from).substitute(&map), e(rule.to).substitute(&map));
            let mut prover = Prover::new();
            conditions(rule).iter().for_each(|fact| prover.assume(fact.substitute(&map)));
            // What is added beside it shows that it is found in a sum.
            let beside = e("p + 7*q*q");
            let made = simplified(&prover, &table, &(&from + &beside));
            !prover.contradictory() && made != &from + &beside && made == simplified(&prover, &table, &(to + beside))
        });
        assert!(fires || rule.shorter && fires_where_shorter(rule, &table), "{} is never applied", rule.name);
    }
}

/// Of rules that are applied only where that makes a sum shorter, what makes it so.
fn fires_where_shorter(rule: &Rule, table: &Table) -> bool {
    const SUMS: &[&str] = &[
        "floormod(x, y) + y*floordiv(x, y)",
        "x % y + y*(x / y)",
        "p + q - 4*floordiv(p + q, 4)",
        "min(8*i + 8, N) - 8*i",
        "max(8*i + 8, N) - 8*i",
        "j + min(8*i + 8, N) - 8*i",
        "j + max(8*i + 8, N) - 8*i",
    ];
    SUMS.iter().any(|text| simplified(&Prover::new(), table, &e(text)) != e(text)) && !rule.to.is_empty()
}

#[test]
fn forms_are_one_value() {
    for (name, from, to) in FORMS {
        assert_eq!(e(from), e(to), "{name}");
    }
}

/// The rules as users of the prover meet them, several at once.
#[test]
fn rules_work_together() {
    let cases: &[(&[&str], &str, &str)] = &[
        (&["x >= 0", "x < 4", "y >= 0", "y < 4"], "floordiv(4*y + x, 16)", "0"),
        (&["x >= 0", "x < 4"], "floordiv(16*z + 4*y + x, 16)", "z + floordiv(y, 4)"),
        (&["x >= 0", "x < 4"], "floormod(16*z + 4*y + x, 16)", "4*floormod(y, 4) + x"),
        (&["i >= 0", "j >= 0", "j < N - 2", "N >= 3"], "floordiv(i*(N - 2) + j, N - 2)", "i"),
        (&["i >= 0", "j >= 0", "j < N - 2", "N >= 3"], "floormod(i*(N - 2) + j, N - 2)", "j"),
        (&[], "4*floormod(floordiv(x, 4), 8) + floormod(x, 4)", "floormod(x, 32)"),
        (&[], "12*floormod(floordiv(x, 4), 8) + 3*floormod(x, 4) + y", "3*floormod(x, 32) + y"),
        (&[], "N*floormod(floordiv(x, 4), 8)*4 + N*floormod(x, 4)", "N*floormod(x, 32)"),
        (&[], "floormod(floormod(x, 8) + floormod(y, 8), 4)", "floormod(x + y, 4)"),
        (&["x % 8 == 0"], "floordiv(x, 4)*4 + 1", "x + 1"),
        (&["x >= 8", "x < 16"], "floormod(x, 8)", "x - 8"),
        (&["x % 4 == 3"], "floormod(x, 2)", "1"),
        (&["x % 2 == 1", "y % 4 == 0"], "floormod(x + y, 2)", "1"),
        (&["x == 3"], "x*c", "3*c"),
        (&["x >= 0", "x <= 9"], "max(min(x, 9), 0)", "x"),
        (&[], "min(8*i + 8, N) - 8*i", "min(8, N - 8*i)"),
        (&[], "min(4*x, 8*y + 4*z)", "4*min(x, 2*y + z)"),
        (&[], "x*y - y*floordiv(x, 4)*4", "y*floormod(x, 4)"),
        (&["x >= 0"], "(x / 3) / 4", "floordiv(x, 12)"),
    ];
    for (facts, from, to) in cases {
        assert_eq!(given(facts).simplify(&e(from)), e(to), "{from} under {facts:?}");
    }
}

#[test]
fn the_page_of_rules_is_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/simplifier.md");
    let made = page();
    if std::env::var_os("TENFOLD_BLESS").is_some() {
        std::fs::write(&path, &made).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == made, "compiler/docs/simplifier.md is stale; TENFOLD_BLESS=1 writes it");
}

fn page() -> String {
    let mut out = String::from(HEAD);
    for rule in RULES {
        let when: Vec<String> = rule.when.iter().chain(rule.find.when()).map(|it| format!("`{it}`")).collect();
        let more = if rule.shorter { vec!["the sum gets shorter".to_string()] } else { Vec::new() };
        let when = [when, more].concat().join(", ");
        let _ = writeln!(out, "| {} | `{}` | `{}` | {when} |", rule.name, rule.from, rule.to);
    }
    out.push_str(FORM_HEAD);
    for (name, from, to) in FORMS {
        let _ = writeln!(out, "| {name} | `{from}` | `{to}` |");
    }
    out
}

const HEAD: &str = "\
# Rules of integer expressions

This page is made from the tables that the simplifier of `compiler/arith/src` applies (`rules.rs`); a test compares
the two, and `TENFOLD_BLESS=1 cargo test -p tenfold-arith --lib rules` writes it.

`c`, `c1`, … stand for constants and every other name for any expression. A row is applied where its conditions are
proven from what encloses the expression: by linear arithmetic, constant bounds and residues. `k` and `r` are constants
that are looked for: the one quotient that the range of `x` leaves, and the one remainder that its residues leave. Rows
are tried from the top. Every row is checked at all points of a box, and that it is applied.

| rule | from | to | when |
|---|---|---|---|
";

const FORM_HEAD: &str = "
## Forms

What holds whatever the variables are is no rule: an expression is brought to one form as it is made, so that the two
sides are one value. A polynomial over divisions, remainders, minima and maxima has its terms in one order; multiples
are taken out of divisions by constants.

| form | from | to |
|---|---|---|
";

#[test]
fn a_remainder_lies_below_its_divisor_though_weaker_facts_follow() {
    let mut prover = Prover::new();
    let (i, n) = (IntExpr::var("i"), IntExpr::var("N"));
    prover.assume_ge(&n, &1.into());
    prover.assume_ge(&n, &0.into());
    prover.assume_range(&Sym::new("loop"), &0.into(), &(&n + 6));
    prover.assume_range(&Sym::new("i"), &0.into(), &(&n + 6));
    prover.assume_eq(&i, &IntExpr::var("loop"));
    let it = (&i - 3).floor_mod(&n);
    assert!(prover.prove_ge0(&it));
    assert!(prover.prove_lt(&it, &n));
}
