//! A test per row of a table of rules, made from the row: both sides are interpreted on ordinary and special values.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::eval::Bounded;
use tenfold_ir::op::{BinaryOp, ElementOp};
use tenfold_ir::relax::{Builder, ParamKind, TensorType, ValueId};
use tenfold_ir::{DType, Loc, Module};

use super::super::pattern::{Must, Pattern};
use super::super::rewrite::rewrite_one;
use super::super::rules::{Apply, Math, Rule, Table, element_of};
use super::{Random, entry, module_of, run, scalar, values};
use crate::relax_passes::{canonicalize_ops, simplify_rules};

const LENGTH: usize = 24;
const TRIES: u64 = 30;
const DTYPES: [DType; 9] =
    [DType::F32, DType::F64, DType::F16, DType::BF16, DType::I8, DType::I32, DType::U16, DType::I64, DType::Bool];

/// How a row's variables are made.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// As parameters, and the value is the result.
    Plain,
    /// As products, and the value is added to a parameter: what a target could contract.
    InSum,
}

struct Make {
    b: Builder,
    random: Random,
    form: Form,
    params: Vec<DType>,
    names: BTreeMap<String, ValueId>,
}

impl Make {
    fn param(&mut self, dtype: DType) -> ValueId {
        let ty = TensorType { dtype, shape: vec![IntExpr::from(LENGTH as i64)] };
        self.params.push(dtype);
        self.b.param(ParamKind::Input, ty, "x", self.params.len() - 1, Loc::default())
    }

    fn variable(&mut self, dtype: DType, must: Must) -> Option<ValueId> {
        if must.constant {
            let value = scalar(&mut self.random, dtype);
            return Some(self.b.scalar(value));
        }
        if self.form == Form::InSum && dtype.is_float() {
            let (p, q) = (self.param(dtype), self.param(dtype));
            return self.b.element(ElementOp::Binary(BinaryOp::Mul), &[p, q]).ok();
        }
        Some(self.param(dtype))
    }

    fn build(&mut self, pattern: &Pattern, dtype: DType) -> Option<ValueId> {
        match pattern {
            Pattern::Any { name, must } => match self.names.get(name) {
                Some(known) => Some(*known),
                None => {
                    let value = self.variable(dtype, *must)?;
                    self.names.insert(name.clone(), value);
                    Some(value)
                }
            },
            Pattern::Number(number) => {
                let value = tenfold_ir::Scalar::float(dtype, *number);
                (value.to_f64() == *number).then(|| self.b.scalar(value))
            }
            Pattern::Op { words, args, name, .. } => {
                let word = &words[self.random.below(words.len())];
                let of = |i: usize| if word == "select" && i == 0 { DType::Bool } else { dtype };
                let args: Option<Vec<ValueId>> = args.iter().enumerate().map(|(i, a)| self.build(a, of(i))).collect();
                let value = self.b.element(element_of(word)?, &args?).ok()?;
                if let Some(name) = name {
                    self.names.insert(name.clone(), value);
                }
                Some(value)
            }
        }
    }
}

/// A function of the row's left side.
fn left(rule: &Rule, dtype: DType, form: Form, seed: u64) -> Option<(Module, Vec<DType>)> {
    let pattern = Pattern::parse(rule.from).expect("a pattern");
    let mut make =
        Make { b: Builder::new("f"), random: Random::new(seed), form, params: Vec::new(), names: BTreeMap::new() };
    let mut value = make.build(&pattern, dtype)?;
    if form == Form::InSum && make.b.tensor(value).dtype.is_float() {
        let p = make.param(make.b.tensor(value).dtype);
        value = make.b.element(ElementOp::Binary(BinaryOp::Add), &[value, p]).ok()?;
    }
    Some((module_of(make.b.finish(&[value])), make.params))
}

/// Applies the row alone; whether it did anything.
fn apply(rule: &Rule, module: &mut Module) -> bool {
    let table: &'static Table = Box::leak(Box::new(Table::read(&[*rule])));
    rewrite_one(module, "f", &mut Apply::of(table, true))
}

/// Whether every value that `after` may have is one that `before` may have.
fn inside(before: Bounded, after: Bounded) -> bool {
    if before.is_unknown() {
        return true;
    }
    let (a, b) = (before.get(), after.get());
    if !before.value.dtype.is_float() || before.is_exact() {
        let alike = a.is_nan() && b.is_nan() && before.value.dtype.is_float();
        return after.is_exact() && (before.value == after.value || alike);
    }
    a == b && before.error >= after.error || (a - b).abs() + after.error <= before.error
}

fn check_exact(rule: &Rule, dtype: DType, form: Form, seed: u64) -> bool {
    let Some((before, params)) = left(rule, dtype, form, seed) else { return false };
    let mut after = before.clone();
    if !apply(rule, &mut after) {
        return false;
    }
    let mut random = Random::new(seed + 1000);
    let inputs: Vec<_> = params.iter().map(|dtype| values(&mut random, *dtype, &[LENGTH])).collect();
    let old = run(&before, &inputs).expect("the left side runs");
    let new = run(&after, &inputs).expect("the right side runs");
    for (i, (a, b)) in old.results[0].data.iter().zip(&new.results[0].data).enumerate() {
        let at: Vec<_> = inputs.iter().map(|v| v.data[i].value).collect();
        assert!(inside(*a, *b), "{} of {dtype}, seed {seed}, at {at:?}: {a:?} became {b:?}", rule.name);
    }
    true
}

/// Over numbers where every function is defined, both sides of a fast rule are one real function.
fn check_fast(rule: &Rule, seed: u64) -> bool {
    let Some((before, params)) = left(rule, DType::F64, Form::Plain, seed) else { return false };
    let mut after = before.clone();
    if !apply(rule, &mut after) {
        return false;
    }
    let mut random = Random::new(seed + 1000);
    let mut tame = |dtype| {
        let data: Vec<f64> = (0..LENGTH).map(|_| 0.5 + random.below(1000) as f64 / 700.0).collect();
        tenfold_ir::eval::Value::of(dtype, &[LENGTH], &data)
    };
    let inputs: Vec<_> = params.iter().map(|dtype| tame(*dtype)).collect();
    let (old, new) = (run(&before, &inputs).expect("runs"), run(&after, &inputs).expect("runs"));
    for (a, b) in old.results[0].to_f64().into_iter().zip(new.results[0].to_f64()) {
        let same = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-12 * a.abs().max(1.0) || !a.is_finite();
        assert!(same, "{}, seed {seed}: {a} became {b}", rule.name);
    }
    true
}

/// A fast rule that no value refutes should be an exact one.
fn differs(rule: &Rule) -> bool {
    let differs = |dtype, seed| {
        let Some((before, params)) = left(rule, dtype, Form::Plain, seed) else { return false };
        let mut after = before.clone();
        apply(rule, &mut after);
        let mut random = Random::new(seed + 1000);
        let inputs: Vec<_> = params.iter().map(|dtype| values(&mut random, *dtype, &[LENGTH])).collect();
        let (old, new) = (run(&before, &inputs).expect("runs"), run(&after, &inputs).expect("runs"));
        old.results[0].data.iter().zip(&new.results[0].data).any(|(a, b)| !inside(*a, *b))
    };
    [DType::F32, DType::F16].into_iter().any(|dtype| (0..TRIES).any(|seed| differs(dtype, seed)))
}

fn check(rule: &Rule) {
    Pattern::parse(rule.to).expect("a replacement");
    let mut fired = 0;
    for seed in 0..TRIES {
        if rule.math == Math::Fast {
            fired += usize::from(check_fast(rule, seed));
            continue;
        }
        for dtype in DTYPES.into_iter().filter(|dtype| rule.on.takes(*dtype)) {
            fired += usize::from(check_exact(rule, dtype, Form::Plain, seed));
            check_exact(rule, dtype, Form::InSum, seed);
        }
    }
    assert!(fired > 0, "{} never applies to its own pattern", rule.name);
    assert!(rule.math != Math::Fast || differs(rule), "{} is exact", rule.name);
}

/// Checks every row, and tells of all that do not hold.
fn check_all(rules: &[Rule]) {
    let wrong = |rule: &&Rule| std::panic::catch_unwind(|| check(rule)).is_err();
    let wrong: Vec<&str> = rules.iter().filter(wrong).map(|rule| rule.name).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn rows_of_simplify_expr_hold() {
    check_all(simplify_rules::RULES);
}

#[test]
fn rows_of_canonicalize_ops_hold() {
    check_all(canonicalize_ops::RULES);
}

#[test]
fn names_of_rows_are_unique() {
    let mut names: Vec<&str> = simplify_rules::RULES.iter().chain(canonicalize_ops::RULES).map(|r| r.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn a_row_is_tried_on_its_entry() {
    // The harness itself: a wrong row is found.
    let wrong = super::super::rules::rule("wrong", "add(x, 0)", "x", super::super::rules::On::Float, Math::Exact);
    let found = std::panic::catch_unwind(|| check(&wrong));
    assert!(found.is_err());
    let module = left(&wrong, DType::F32, Form::Plain, 1).expect("builds").0;
    assert_eq!(entry(&module).name, "f");
}
