//! One binding: its operands, its type, its regions.

use super::{Binding, Op, Region, Sym, SymKind, Type, ValueId, Verifier, rules, same_type};
use crate::arith::IntExpr;
use crate::relax::infer;
use crate::relax::infer::one_or_tuple_of;
use crate::relax::print::type_text;
use crate::relax::region_facts;

impl<'m> Verifier<'m> {
    pub(super) fn binding(&mut self, binding: &'m Binding) {
        let out = binding.out;
        let Some(types) = self.operands(binding) else { return self.define(out) };
        self.regions(binding, &types);
        self.define(out);
        let Some(ty) = self.ty(out) else { return };
        self.check_type(out, ty);
        match infer(&self.prover, &binding.op, &types) {
            Err(error) => self.fail(rules::OPERANDS, out, error.message),
            Ok(Some(expected)) => self.expect_type(out, &expected, ty),
            Ok(None) => {}
        }
        self.references(binding, &types, ty);
        self.phase(binding, ty);
        self.learn(binding, &types);
    }

    fn expect_type(&mut self, out: ValueId, expected: &Type, found: &Type) {
        if !same_type(&self.prover, expected, found) {
            let text = format!("has type `{}`, expected `{}`", type_text(found), type_text(expected));
            self.fail(rules::TYPE, out, text);
        }
    }

    /// The operands' types; `None` if one has none.
    fn operands(&mut self, binding: &Binding) -> Option<Vec<Type>> {
        for arg in &binding.args {
            if arg.0 >= binding.out.0 {
                self.fail(rules::ORDER, binding.out, format!("uses v{}, whose number is not smaller", arg.0));
            }
            if !self.is_visible(*arg) {
                self.fail(rules::DEFINED, binding.out, format!("uses v{}, which is not defined before it", arg.0));
            }
        }
        binding.args.iter().map(|arg| self.ty(*arg).cloned()).collect()
    }

    /// What holds once a binding has run: a checked shape is the operand's.
    fn learn(&mut self, binding: &Binding, args: &[Type]) {
        match (&binding.op, args) {
            (Op::MatchShape { shape }, [Type::Tensor(x)]) => {
                shape.iter().zip(&x.shape).for_each(|(a, b)| self.prover.assume_eq(a, b));
            }
            (Op::Assert { fact, .. }, _) => self.prover.assume(fact.clone()),
            _ => {}
        }
    }

    fn regions(&mut self, binding: &'m Binding, args: &[Type]) {
        let expected = match &binding.op {
            Op::If | Op::While => 2,
            Op::For { .. } => 1,
            _ => 0,
        };
        if binding.regions.len() != expected {
            let text = format!("has {} regions, expected {expected}", binding.regions.len());
            return self.fail(rules::REGIONS, binding.out, text);
        }
        match (&binding.op, binding.regions.as_slice()) {
            (Op::If, [then, otherwise]) => {
                self.branch(binding, 0, then);
                self.branch(binding, 1, otherwise);
            }
            (Op::For { var, begin, extent, step }, [body]) => {
                self.check_expr(binding.out, begin);
                self.check_expr(binding.out, extent);
                self.variable(binding.out, var, *step);
                self.scoped(|inner| {
                    inner.turn(var, begin, extent, *step);
                    inner.body(binding, body, args);
                });
            }
            (Op::While, [cond, body]) => {
                self.scoped(|inner| inner.condition(binding, cond, args));
                self.scoped(|inner| inner.body(binding, body, args));
            }
            _ => {}
        }
    }

    fn variable(&mut self, out: ValueId, var: &Sym, step: i64) {
        if !self.func.syms.iter().any(|decl| decl.sym == *var && decl.kind == SymKind::Loop(out)) {
            self.fail(rules::LOOP_VAR, out, format!("`{var}` is not declared as its variable"));
        }
        if step == 0 {
            self.fail(rules::LOOP_VAR, out, "the step is 0");
        }
    }

    /// What is known of the variable in a turn.
    fn turn(&mut self, var: &Sym, begin: &IntExpr, extent: &IntExpr, step: i64) {
        self.know(var.clone());
        let var = IntExpr::var(var.clone());
        let last = begin + &(&(extent - &IntExpr::from(1)) * &IntExpr::from(step));
        let (least, greatest) = if step > 0 { (begin, &last) } else { (&last, begin) };
        self.prover.assume_ge(extent, &IntExpr::from(1));
        self.prover.assume_ge(&var, least);
        self.prover.assume_le(&var, greatest);
    }

    fn inside(&mut self, binding: &Binding, region: &'m Region) {
        for param in &region.params {
            if param.0 >= binding.out.0 {
                self.fail(rules::ORDER, binding.out, format!("holds v{}, whose number is not smaller", param.0));
            }
            self.define(*param);
            if let Some(ty) = self.ty(*param) {
                self.check_type(*param, ty);
            }
        }
        self.blocks(&region.blocks);
        for inner in region.blocks.iter().flat_map(|block| &block.bindings).filter(|inner| inner.out >= binding.out) {
            self.fail(rules::ORDER, binding.out, format!("holds v{}, whose number is not smaller", inner.out.0));
        }
        for result in region.results.iter().filter(|result| !self.visible.get(result.0 as usize).is_some_and(|v| *v)) {
            self.errors.push(super::Violation {
                rule: rules::DEFINED,
                text: format!("v{}: its region gives v{}, which is not defined in it", binding.out.0, result.0),
            });
        }
    }

    fn types(&self, values: &[ValueId]) -> Vec<Type> {
        values.iter().filter_map(|value| self.ty(*value).cloned()).collect()
    }

    fn branch(&mut self, binding: &'m Binding, index: usize, region: &'m Region) {
        if !region.params.is_empty() {
            self.fail(rules::BRANCHES, binding.out, "a branch takes no values");
        }
        let Some(expected) = self.ty(binding.out) else { return };
        self.scoped(|inner| {
            let known = region_facts(inner.func, binding, index, &inner.definitions, &|| inner.prover.clone());
            known.into_iter().for_each(|fact| inner.prover.assume(fact));
            inner.inside(binding, region);
            let found = one_or_tuple_of(inner.types(&region.results));
            if !same_type(&inner.prover, expected, &found) {
                let text = format!("a branch gives `{}`, expected `{}`", type_text(&found), type_text(expected));
                inner.fail(rules::BRANCHES, binding.out, text);
            }
        });
    }

    fn carried(&mut self, binding: &Binding, values: &[ValueId], args: &[Type], verb: &str) {
        let found = self.types(values);
        let same = found.len() == args.len() && found.iter().zip(args).all(|(a, b)| same_type(&self.prover, a, b));
        if !same {
            let (found, expected) = (Type::Tuple(found), Type::Tuple(args.to_vec()));
            let text = format!("its region {verb} `{}`, expected `{}`", type_text(&found), type_text(&expected));
            self.fail(rules::CARRIED, binding.out, text);
        }
    }

    fn body(&mut self, binding: &'m Binding, region: &'m Region, args: &[Type]) {
        self.carried(binding, &region.params, args, "takes");
        self.inside(binding, region);
        self.carried(binding, &region.results, args, "gives");
    }

    fn condition(&mut self, binding: &'m Binding, region: &'m Region, args: &[Type]) {
        self.carried(binding, &region.params, args, "takes");
        self.inside(binding, region);
        let found = self.types(&region.results);
        let is_bool = matches!(&found[..], [Type::Tensor(ty)] if ty.dtype.is_bool() && ty.shape.is_empty());
        if !is_bool {
            let text = format!("its condition gives `{}`, expected one `bool`", type_text(&Type::Tuple(found)));
            self.fail(rules::CONDITION, binding.out, text);
        }
    }
}
