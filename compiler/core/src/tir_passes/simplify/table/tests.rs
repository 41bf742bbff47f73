//! Every row is read, true, and applied; and the page that lists them.

use std::fmt::Write as _;
use std::path::Path;

use tenfold_ir::eval::scalar_ops;

use super::super::rules::Rule;
use super::*;

/// Both sides of a rule.
fn sides(rule: &Rule) -> (Node, Node) {
    let side = |text| read(text).unwrap_or_else(|| panic!("`{text}` cannot be read"));
    (side(rule.from), side(rule.to))
}

/// dtypes of the operands for which a rule must hold.
fn dtypes(on: On) -> &'static [DType] {
    match on {
        On::Any => &[DType::I8, DType::Bool, DType::F32],
        On::Int => &[DType::I8, DType::U8],
        On::Unsigned => &[DType::U8],
        On::Bool => &[DType::Bool],
        On::Exact => &[DType::I8, DType::U8, DType::Bool],
    }
}

fn values(dtype: DType) -> Vec<Scalar> {
    const INTS: &[i128] = &[0, 1, -1, 2, 3, -3, 7, 64, 100, 127, -128, -127];
    const FLOATS: &[f64] = &[0.0, -0.0, 1.0, -2.5, f64::NAN, f64::INFINITY];
    match dtype {
        DType::Bool => vec![Scalar::bool(false), Scalar::bool(true)],
        _ if dtype.is_float() => FLOATS.iter().map(|n| Scalar::float(dtype, *n)).collect(),
        _ => INTS.iter().map(|n| Scalar::int(dtype, *n)).collect(),
    }
}

/// The names of a side; `c` is what choices are made by.
fn names(node: &Node, out: &mut Vec<char>) {
    match node {
        Node::Name(name) if !out.contains(name) => out.push(*name),
        Node::Name(_) | Node::Int(_) | Node::Bool(_) => {}
        Node::Apply(_, parts) => parts.iter().for_each(|part| names(part, out)),
    }
}

fn eval(node: &Node, dtype: DType, given: &[(char, Scalar)]) -> Scalar {
    match node {
        Node::Name(name) => given.iter().find(|(it, _)| it == name).expect("a name of the other side").1,
        Node::Int(n) => Scalar::int(dtype, i128::from(*n)),
        Node::Bool(value) => Scalar::bool(*value),
        Node::Apply(head, parts) => {
            let parts: Vec<Scalar> = parts.iter().map(|part| eval(part, dtype, given)).collect();
            match (head, &parts[..]) {
                (Head::Unary(op), [x]) => scalar_ops::unary(*op, *x),
                (Head::Binary(op), [x, y]) => scalar_ops::binary(*op, *x, *y),
                (Head::Compare(op), [x, y]) => Scalar::bool(scalar_ops::compare(*op, *x, *y)),
                (Head::Choose, [c, x, y]) => {
                    if c.bits != 0 {
                        *x
                    } else {
                        *y
                    }
                }
                _ => panic!("{node:?} has another number of operands"),
            }
        }
    }
}

#[test]
fn every_rule_is_true() {
    for rule in RULES {
        let (from, to) = sides(rule);
        let mut all = Vec::new();
        names(&from, &mut all);
        for dtype in dtypes(rule.on) {
            let of: Vec<Vec<Scalar>> =
                all.iter().map(|name| values(if *name == 'c' { DType::Bool } else { *dtype })).collect();
            let count: usize = of.iter().map(Vec::len).product();
            for point in 0..count {
                let mut at = point;
                let pick = |(name, of): (&char, &Vec<Scalar>)| {
                    let value = of[at % of.len()];
                    at /= of.len();
                    (*name, value)
                };
                let given: Vec<(char, Scalar)> = all.iter().zip(&of).map(pick).collect();
                let (a, b) = (eval(&from, *dtype, &given), eval(&to, *dtype, &given));
                assert_eq!(a, b, "{} -> {} at {given:?}", rule.from, rule.to);
            }
        }
    }
}

/// The node of a side over parameters.
fn built(b: &mut Builder, node: &Node, dtype: DType, given: &[(char, ExprId)]) -> ExprId {
    match node {
        Node::Name(name) => given.iter().find(|(it, _)| it == name).expect("a name of the other side").1,
        Node::Int(n) => b.scalar(Scalar::int(dtype, i128::from(*n))),
        Node::Bool(value) => b.scalar(Scalar::bool(*value)),
        Node::Apply(head, parts) => {
            let ids: Vec<ExprId> = parts.iter().map(|part| built(b, part, dtype, given)).collect();
            let ty = match head {
                Head::Compare(_) => Ty::bool(),
                Head::Choose => b.ty(ids[1]),
                Head::Unary(_) | Head::Binary(_) => b.ty(ids[0]),
            };
            let expr = head.on(&ids, true).expect("as many operands as it takes");
            fold::expr(b, expr, ty)
        }
    }
}

#[test]
fn every_rule_is_applied() {
    for rule in RULES {
        let (from, to) = sides(rule);
        let mut all = Vec::new();
        names(&from, &mut all);
        for dtype in dtypes(rule.on) {
            let mut b = Builder::new("f");
            let mut given = Vec::new();
            for name in &all {
                let var = b.scalar_param(&name.to_string(), if *name == 'c' { DType::Bool } else { *dtype });
                given.push((*name, b.read(var)));
            }
            let (a, b) = (built(&mut b, &from, *dtype, &given), built(&mut b, &to, *dtype, &given));
            assert_eq!(a, b, "{} does not become {} of {dtype}", rule.from, rule.to);
        }
    }
}

#[test]
fn the_page_of_rules_is_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/simplifier-tir.md");
    let mut made = String::from(HEAD);
    for rule in RULES {
        let on = match rule.on {
            On::Any => "every type",
            On::Int => "indices, integers",
            On::Unsigned => "integers without a sign",
            On::Bool => "`bool`",
            On::Exact => "all but floats",
        };
        let _ = writeln!(made, "| `{}` | `{}` | {on} |", rule.from, rule.to);
    }
    if std::env::var_os("TENFOLD_BLESS").is_some() {
        std::fs::write(&path, &made).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == made, "compiler/docs/simplifier-tir.md is stale; TENFOLD_BLESS=1 writes it");
}

const HEAD: &str = "\
# Rules of expressions of tir

This page is made from the table that `Simplify` applies (`compiler/core/src/tir_passes/simplify/rules.rs`); a test
compares the two, and `TENFOLD_BLESS=1 cargo test -p tenfold-core --lib simplify` writes it.

Letters stand for any expression. `choose` is an `if` or a `select`, and stays what it was. Operations on literals alone
are computed. Integers wrap. Every row is checked at all points of a box, and that it is applied; indices become
polynomials behind it, by the rules of `simplifier.md`, and comparisons that a proof decides become literals.

| from | to | operands |
|---|---|---|
";
