//! The verifier: redoes every law of `ir.rs` and of the function's phase, and reports all that do not hold.
//!
//! The rules are data ([`RULES`]); what checks them stands beside the data it reads: `binding` for one binding, `calls`
//! for what a binding names outside the function, `phase` for phases and plans.

mod binding;
mod calls;
mod phase;
mod rules;

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Binding, BindingBlock, BlockKind, Definitions, Function, Op, ParamKind, Region, SymKind, TensorType, Type,
    ValueData, ValueId, binding_kind, dim,
};
use crate::Module;
use crate::arith::{IntExpr, Prover, Sym};

pub use rules::{RULES, Rule};

/// A rule that a function breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The rule.
    pub rule: &'static Rule,
    /// Where, and what was expected.
    pub text: String,
}

/// The laws that a function breaks, one text each, in the order of its bindings.
pub fn verify(module: &Module, func: &Function) -> Vec<String> {
    violations(module, func).into_iter().map(|violation| violation.text).collect()
}

/// The laws that a function breaks, in the order of its bindings.
pub fn violations(module: &Module, func: &Function) -> Vec<Violation> {
    let mut verifier = Verifier {
        module,
        func,
        definitions: func.definitions(),
        prover: prover(func),
        bound: vec![false; func.values.len()],
        visible: vec![false; func.values.len()],
        scope: Vec::new(),
        binds: binds(func),
        syms: BTreeSet::new(),
        depth: 0,
        errors: Vec::new(),
    };
    verifier.function();
    verifier.errors
}

/// What is known in a function: dims and `usize` parameters are not negative, its facts hold, and so do the ranges of
/// the values to which symbols are bound.
pub fn prover(func: &Function) -> Prover {
    let mut prover = Prover::new();
    for decl in &func.syms {
        let natural = match decl.kind {
            SymKind::Dim { .. } | SymKind::IndexParam { unsigned: true, .. } => true,
            SymKind::IndexParam { unsigned: false, .. }
            | SymKind::Stride { .. }
            | SymKind::Bound(_)
            | SymKind::Loop(_) => false,
        };
        dim::declare(&mut prover, &decl.sym, natural);
    }
    // A parameter is there, so what its extents compute to is not negative.
    for param in &func.params {
        if let Some(Type::Tensor(ty)) = func.values.get(param.value.0 as usize).map(|value| &value.ty) {
            ty.shape.iter().for_each(|dim| prover.assume_ge(dim, &IntExpr::from(0)));
        }
    }
    for fact in &func.facts {
        prover.assume(fact.fact.clone());
    }
    for decl in &func.syms {
        if let SymKind::Bound(value) = decl.kind
            && let Some(data) = func.values.get(value.0 as usize)
        {
            assume_bound(&mut prover, &decl.sym, data);
        }
    }
    prover
}

/// A symbol that is bound to an integer lies in its range; one that is bound to a shape is an extent.
fn assume_bound(prover: &mut Prover, sym: &Sym, data: &ValueData) {
    match (&data.ty, &data.range) {
        (Type::Tensor(ty), Some((lo, hi))) if ty.shape.is_empty() => prover.assume_range(sym, lo, hi),
        (Type::Tensor(ty), None) if ty.shape.is_empty() => {}
        (Type::Tensor(_) | Type::Shape(_), _) => dim::declare(prover, sym, true),
        (Type::Tuple(_), _) => {}
    }
}

/// Symbols by the value that binds them.
fn binds(func: &Function) -> BTreeMap<ValueId, Vec<Sym>> {
    let mut binds: BTreeMap<ValueId, Vec<Sym>> = BTreeMap::new();
    for decl in &func.syms {
        if let SymKind::Bound(value) = decl.kind {
            binds.entry(value).or_default().push(decl.sym.clone());
        }
    }
    binds
}

struct Verifier<'m> {
    module: &'m Module,
    func: &'m Function,
    definitions: Definitions<'m>,
    prover: Prover,
    /// Values that are bound somewhere.
    bound: Vec<bool>,
    /// Values that may be read here.
    visible: Vec<bool>,
    /// Values and symbols that became visible, innermost region last, so that they can be taken back.
    scope: Vec<Named>,
    binds: BTreeMap<ValueId, Vec<Sym>>,
    syms: BTreeSet<Sym>,
    depth: usize,
    errors: Vec<Violation>,
}

/// Something that a region makes known.
enum Named {
    Value(ValueId),
    Symbol(Sym),
}

impl<'m> Verifier<'m> {
    fn fail(&mut self, rule: &'static Rule, value: ValueId, message: impl Into<String>) {
        self.complain(rule, format!("v{}: {}", value.0, message.into()));
    }

    fn complain(&mut self, rule: &'static Rule, text: String) {
        self.errors.push(Violation { rule, text });
    }

    fn function(&mut self) {
        let func = self.func;
        self.symbols();
        func.params.iter().for_each(|param| self.param(param.value, param.kind));
        self.blocks(&func.blocks);
        for result in &func.results {
            if !self.is_visible(*result) {
                self.fail(rules::RESULT, *result, "is returned but not defined");
            }
        }
        self.recursion();
        self.plan();
    }

    fn param(&mut self, value: ValueId, kind: ParamKind) {
        self.define(value);
        match self.ty(value) {
            Some(Type::Tensor(ty)) if kind == ParamKind::Scalar && !ty.shape.is_empty() => {
                self.fail(rules::PARAM, value, "a scalar parameter has rank 0");
            }
            Some(ty @ Type::Tensor(_)) => self.check_type(value, ty),
            Some(Type::Tuple(_) | Type::Shape(_)) => self.fail(rules::PARAM, value, "a parameter is a tensor"),
            None => {}
        }
    }

    fn ty(&self, value: ValueId) -> Option<&'m Type> {
        self.func.values.get(value.0 as usize).map(|data| &data.ty)
    }

    fn symbols(&mut self) {
        let func = self.func;
        let mut seen = BTreeSet::new();
        for decl in &func.syms {
            if !seen.insert(&decl.sym) {
                self.complain(rules::SYM_ONCE, format!("symbol `{}` is declared twice", decl.sym));
            }
            match &decl.kind {
                SymKind::Dim { .. } | SymKind::IndexParam { .. } | SymKind::Stride { .. } => {
                    self.syms.insert(decl.sym.clone());
                }
                SymKind::Bound(value) | SymKind::Loop(value) => {
                    if value.0 as usize >= func.values.len() {
                        let text = format!("symbol `{}` is bound to v{}, which is not there", decl.sym, value.0);
                        self.complain(rules::SYM_BOUND, text);
                    }
                }
            }
        }
        for fact in &func.facts {
            if let Some(sym) = fact.fact.vars().into_iter().find(|sym| !self.syms.contains(sym)) {
                let text = format!("fact `{}` uses `{sym}`, which is not declared", fact.fact);
                self.complain(rules::FACT, text);
            }
        }
    }

    fn is_visible(&self, value: ValueId) -> bool {
        self.visible.get(value.0 as usize).copied().unwrap_or(false)
    }

    /// Makes a value and the symbols that are bound to it known.
    fn define(&mut self, value: ValueId) {
        let Some(bound) = self.bound.get_mut(value.0 as usize) else {
            return self.fail(rules::ENTRY, value, "has no entry among the values");
        };
        if std::mem::replace(bound, true) {
            self.fail(rules::ONCE, value, "is bound twice");
        }
        self.visible[value.0 as usize] = true;
        self.scope.push(Named::Value(value));
        for sym in self.binds.get(&value).cloned().unwrap_or_default() {
            self.know(sym);
        }
    }

    fn know(&mut self, sym: Sym) {
        if self.syms.insert(sym.clone()) {
            self.scope.push(Named::Symbol(sym));
        }
    }

    /// Runs `f` in a scope of its own: what becomes known in it is forgotten.
    fn scoped(&mut self, f: impl FnOnce(&mut Self)) {
        let mark = self.scope.len();
        self.prover.push_scope();
        self.depth += 1;
        f(self);
        self.depth -= 1;
        self.prover.pop_scope();
        for named in self.scope.split_off(mark) {
            match named {
                Named::Value(value) => self.visible[value.0 as usize] = false,
                Named::Symbol(sym) => drop(self.syms.remove(&sym)),
            }
        }
    }

    fn blocks(&mut self, blocks: &'m [BindingBlock]) {
        for block in blocks {
            for binding in &block.bindings {
                if binding_kind(binding) != block.kind {
                    let text = match block.kind {
                        BlockKind::Dataflow => "a dataflow block holds an effect",
                        BlockKind::Effect => "an effect block holds a pure binding",
                    };
                    self.fail(rules::KIND, binding.out, text);
                }
                self.binding(binding);
            }
        }
    }

    /// Extents use known symbols.
    fn check_type(&mut self, value: ValueId, ty: &Type) {
        match ty {
            Type::Tensor(tensor) => tensor.shape.iter().for_each(|extent| self.check_expr(value, extent)),
            Type::Tuple(items) => items.iter().for_each(|item| self.check_type(value, item)),
            Type::Shape(_) => {}
        }
    }

    fn check_expr(&mut self, value: ValueId, expr: &IntExpr) {
        if let Some(sym) = expr.vars().into_iter().find(|sym| !self.syms.contains(sym)) {
            self.fail(rules::EXPR, value, format!("`{expr}` uses `{sym}`, which is not bound here"));
        }
    }
}

/// Whether two types are provably equal.
fn same_type(prover: &Prover, a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Tensor(a), Type::Tensor(b)) => same_tensor(prover, a, b),
        (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_type(prover, a, b)),
        (Type::Shape(a), Type::Shape(b)) => a == b,
        (Type::Tensor(_) | Type::Tuple(_) | Type::Shape(_), _) => false,
    }
}

fn same_tensor(prover: &Prover, a: &TensorType, b: &TensorType) -> bool {
    a.dtype == b.dtype && dim::same_shape(prover, &a.shape, &b.shape)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relax::parse_function;

    fn broken(change: impl FnOnce(&mut Function)) -> Vec<&'static str> {
        let text = "relax @f phase imported {
          param v0: f32[4] = input 0 \"x\"
          dataflow {
            v1: f32[4] = neg(v0)
            v2: f32[4] = exp(v1)
          }
          return v2
        }";
        let mut func = parse_function(text).expect("the text reads");
        assert_eq!(verify(&Module::default(), &func), Vec::<String>::new());
        change(&mut func);
        violations(&Module::default(), &func).into_iter().map(|violation| violation.rule.name).collect()
    }

    /// What no text can say.
    #[test]
    fn values_are_bound_once_and_have_entries() {
        assert!(broken(|func| func.blocks[0].bindings[1].out = ValueId(1)).contains(&"bound_once"));
        assert!(broken(|func| func.values.truncate(2)).contains(&"value_entry"));
    }

    #[test]
    fn rules_have_names_of_their_own() {
        let names: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).collect();
        assert_eq!(names.len(), RULES.len());
        assert!(RULES.iter().all(|rule| rule.doc.ends_with('.')));
    }
}
