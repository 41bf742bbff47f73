//! Tables of rules `pattern -> replacement`, and what applies them.
//!
//! A rule is a row: both sides are texts in the language of [`super::pattern`], so that a test can be made from the
//! row alone. The engine knows no rule.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::ElementOp;
use tenfold_ir::relax::{self, Binding, Op, ValueId, op_name};
use tenfold_ir::{DType, Scalar};

use super::pattern::{Caught, Pattern};
use super::rewrite::{Rewriter, Visit};

/// dtypes of `x` for which a rule holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum On {
    /// Every dtype.
    Any,
    /// All but bool.
    Number,
    /// Floats and signed integers.
    Signed,
    /// Floats.
    Float,
    /// Integers.
    Int,
    /// Bool.
    Bool,
    /// Bool and integers.
    Bits,
}

impl On {
    /// Whether it holds for a dtype.
    pub(crate) fn takes(self, dtype: DType) -> bool {
        match self {
            On::Any => true,
            On::Number => !dtype.is_bool(),
            On::Signed => matches!(dtype, DType::I8 | DType::I16 | DType::I32 | DType::I64) || dtype.is_float(),
            On::Float => dtype.is_float(),
            On::Int => dtype.is_int(),
            On::Bool => dtype.is_bool(),
            On::Bits => !dtype.is_float(),
        }
    }
}

/// Whether a rule keeps results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Math {
    /// Results stay within what the language allows for the pattern: bit for bit, or inside its bound.
    Exact,
    /// As exact, but the replacement may hand a product to a sum, which contracts it: not where `x` or `y` is one.
    Reveals,
    /// Real numbers are kept, floats are not: rounding, NaN, infinities and signs of zero may change.
    Fast,
}

/// What else must hold of what was caught.
pub(crate) type When = fn(&mut Rewriter<'_>, &Caught) -> bool;

/// A row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// Its name, for tests.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests name the row that does not hold"))]
    pub(crate) name: &'static str,
    /// The pattern; `x` is its first value.
    pub(crate) from: &'static str,
    /// What stands for it.
    pub(crate) to: &'static str,
    /// dtypes of `x`.
    pub(crate) on: On,
    /// Whether results are kept.
    pub(crate) math: Math,
    /// What else must hold.
    pub(crate) when: Option<When>,
}

/// A row without a condition.
pub(crate) const fn rule(name: &'static str, from: &'static str, to: &'static str, on: On, math: Math) -> Rule {
    Rule { name, from, to, on, math, when: None }
}

impl Rule {
    /// The row with a condition.
    pub(crate) const fn when(mut self, when: When) -> Rule {
        self.when = Some(when);
        self
    }
}

/// A row, read.
pub(crate) struct Ready {
    rule: Rule,
    from: Pattern,
    to: Pattern,
}

/// A table, read, by the word of the pattern's root.
#[derive(Default)]
pub(crate) struct Table {
    by_root: BTreeMap<String, Vec<Ready>>,
}

impl Table {
    /// Reads the rows. A row that cannot be read has no effect; a test reads every row.
    pub(crate) fn read(rows: &[Rule]) -> Table {
        let mut table = Table::default();
        for rule in rows {
            let (Ok(from), Ok(to)) = (Pattern::parse(rule.from), Pattern::parse(rule.to)) else { continue };
            for root in from.roots() {
                let ready = Ready { rule: *rule, from: from.clone(), to: to.clone() };
                table.by_root.entry(root.clone()).or_default().push(ready);
            }
        }
        table
    }
}

/// Applies a table at each binding.
pub(crate) struct Apply {
    table: &'static Table,
    fast: bool,
}

impl Apply {
    /// With or without the rules that do not keep floats.
    pub(crate) fn new(table: &'static OnceLock<Table>, rows: &[Rule], fast: bool) -> Apply {
        Apply { table: table.get_or_init(|| Table::read(rows)), fast }
    }

    /// With a table at hand.
    #[cfg(test)]
    pub(crate) fn of(table: &'static Table, fast: bool) -> Apply {
        Apply { table, fast }
    }

    /// The value that stands for the result of `op`, if a rule applies. What a rule gives is looked at again.
    fn value(&self, cx: &mut Rewriter<'_>, word: &str, args: &[ValueId], out: ValueId) -> Option<ValueId> {
        let mut found = self.once(cx, word, args, out)?;
        for _ in 0..ROUNDS {
            let Some(def) = cx.def(found).cloned() else { break };
            let Some(next) = self.once(cx, op_name(&def.op), &def.args, out) else { break };
            found = next;
        }
        Some(found)
    }

    fn once(&self, cx: &mut Rewriter<'_>, word: &str, args: &[ValueId], out: ValueId) -> Option<ValueId> {
        let rules = self.table.by_root.get(word)?;
        rules.iter().filter(|r| self.fast || r.rule.math != Math::Fast).find_map(|r| r.apply(cx, word, args, out))
    }
}

/// How often what a rule gave is looked at again.
const ROUNDS: usize = 8;

impl Visit for Apply {
    fn binding(&mut self, cx: &mut Rewriter<'_>, binding: &Binding) -> Option<ValueId> {
        cx.tensor(binding.out)?;
        self.value(cx, op_name(&binding.op), &binding.args, binding.out)
    }
}

impl Ready {
    fn apply(&self, cx: &mut Rewriter<'_>, word: &str, args: &[ValueId], out: ValueId) -> Option<ValueId> {
        let caught = self.from.catch_root(cx, word, args)?;
        let x = *caught.get("x")?;
        let dtype = cx.dtype(x)?;
        if !self.rule.on.takes(dtype) || self.rule.when.is_some_and(|when| !when(cx, &caught)) {
            return None;
        }
        if self.rule.math == Math::Reveals && dtype.is_float() && caught.values().any(|v| may_contract(cx, *v, DEPTH)) {
            return None;
        }
        self.build(cx, &caught, out)
    }

    fn build(&self, cx: &mut Rewriter<'_>, caught: &Caught, out: ValueId) -> Option<ValueId> {
        let ty = cx.tensor(out)?.clone();
        let value = match &self.to {
            Pattern::Number(number) => cx.splat_of(number_of(ty.dtype, *number)?, &ty.shape),
            // What is caught is checked before anything is emitted.
            Pattern::Any { name, .. } => *caught.get(name)?,
            Pattern::Op { .. } if !fits(cx, &self.to, caught, &ty.shape) => return None,
            Pattern::Op { .. } => emit(cx, &self.to, caught, ty.dtype)?,
        };
        cx.same_type(value, out).then_some(value)
    }
}

/// Whether what the replacement reads has the result's shape between them, so that broadcasting gives it again.
fn fits(cx: &Rewriter<'_>, to: &Pattern, caught: &Caught, shape: &[IntExpr]) -> bool {
    match to {
        Pattern::Any { name, .. } => caught.get(name).is_some_and(|v| cx.same_shape(cx.shape(*v), shape)),
        Pattern::Number(_) => false,
        Pattern::Op { args, .. } => {
            args.iter().any(|arg| fits(cx, arg, caught, shape)) || covers(cx, to, caught, shape)
        }
    }
}

/// Whether every axis of `shape` has its extent from some operand.
fn covers(cx: &Rewriter<'_>, to: &Pattern, caught: &Caught, shape: &[IntExpr]) -> bool {
    let mut names = Vec::new();
    leaves(to, &mut names);
    let has = |axis: usize| {
        names.iter().filter_map(|name| caught.get(*name)).any(|v| {
            let own = cx.shape(*v);
            let back = shape.len() - axis;
            own.len() >= back && cx.same_shape(&own[own.len() - back..][..1], &shape[axis..=axis])
        })
    };
    (0..shape.len()).all(has)
}

fn leaves<'p>(pattern: &'p Pattern, out: &mut Vec<&'p str>) {
    match pattern {
        Pattern::Any { name, .. } => out.push(name),
        Pattern::Number(_) => {}
        Pattern::Op { args, .. } => args.iter().for_each(|arg| leaves(arg, out)),
    }
}

/// A number as a scalar, if the dtype holds it.
fn number_of(dtype: DType, number: f64) -> Option<Scalar> {
    let scalar = Scalar::float(dtype, number);
    (dtype.is_float() || scalar.to_f64() == number).then_some(scalar)
}

/// Emits a replacement; numbers have the dtype of the operands beside them.
fn emit(cx: &mut Rewriter<'_>, to: &Pattern, caught: &Caught, dtype: DType) -> Option<ValueId> {
    match to {
        Pattern::Any { name, .. } => caught.get(name).copied(),
        Pattern::Number(number) => {
            let scalar = number_of(dtype, *number)?;
            Some(cx.scalar(scalar))
        }
        Pattern::Op { words, args, .. } => {
            let op = element_of(words.first()?)?;
            let mut names = Vec::new();
            args.iter().for_each(|arg| leaves(arg, &mut names));
            let beside = names.iter().find_map(|name| cx.dtype(*caught.get(*name)?)).unwrap_or(dtype);
            let args: Option<Vec<ValueId>> = args.iter().map(|arg| emit(cx, arg, caught, beside)).collect();
            cx.emit(Op::Element(op), &args?)
        }
    }
}

/// The elementwise operator of a word.
pub(crate) fn element_of(word: &str) -> Option<ElementOp> {
    relax::plain_element(word)
}

/// How far a product is looked for.
const DEPTH: usize = 8;

/// Whether a sum could take this value as a product that is not yet rounded.
fn may_contract(cx: &Rewriter<'_>, v: ValueId, depth: usize) -> bool {
    let Some(def) = cx.def(v) else { return false };
    match &def.op {
        Op::Element(op) => match relax::element_name(*op) {
            "mul" | "square" => true,
            "cast" | "select" => depth == 0 || def.args.iter().any(|arg| may_contract(cx, *arg, depth - 1)),
            _ => false,
        },
        Op::Reshape { .. }
        | Op::Transpose { .. }
        | Op::BroadcastTo { .. }
        | Op::Concat { .. }
        | Op::Slice { .. }
        | Op::SliceUpdate { .. }
        | Op::Pad { .. }
        | Op::Full { .. }
        | Op::TupleGet(_)
        | Op::Tuple => depth == 0 || def.args.iter().any(|arg| may_contract(cx, *arg, depth - 1)),
        Op::If | Op::For { .. } | Op::While => true,
        _ => false,
    }
}
