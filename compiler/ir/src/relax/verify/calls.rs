//! What a binding names beside values: constants, callees, state, symbols.

use std::collections::BTreeSet;

use super::{Binding, Function, Op, ParamKind, SymKind, TensorType, Type, ValueId, Verifier, dim, rules, same_type};
use crate::relax::print::type_text;
use crate::tir;

impl Verifier<'_> {
    pub(super) fn references(&mut self, binding: &Binding, args: &[Type], ty: &Type) {
        let out = binding.out;
        match &binding.op {
            Op::Const(id) => self.constant(out, *id, ty),
            Op::CallTir { func, syms, results, in_place } => {
                syms.iter().for_each(|expr| self.check_expr(out, expr));
                self.callee(out, func, binding.args.len() + syms.len(), results, in_place);
                self.in_place(out, results, in_place, args);
            }
            Op::CallFn { func, syms, .. } => {
                syms.iter().for_each(|expr| self.check_expr(out, expr));
                self.relax_callee(out, func, syms.len(), args, ty);
            }
            Op::CallDps { callee, .. } => self.external(out, &callee.path, &[]),
            Op::CallPacked { callee, updates } => self.external(out, &callee.path, updates),
            Op::BindIndex(sym) => {
                let declared = self.func.syms.iter().any(|decl| decl.sym == *sym && decl.kind == SymKind::Bound(out));
                if !declared {
                    let text = format!("binds `{sym}`, which is not declared as bound to it");
                    self.fail(rules::SYM_BOUND, out, text);
                }
            }
            Op::StoreState { param } => self.store(out, *param, args),
            Op::IndexValue { expr, .. } => self.check_expr(out, expr),
            Op::Slice { axes, .. } | Op::SliceUpdate { axes, .. } => {
                for axis in axes {
                    self.check_expr(out, &axis.begin);
                    self.check_expr(out, &axis.extent);
                }
            }
            Op::Arange { start, step, .. } => [start, step].into_iter().for_each(|expr| self.check_expr(out, expr)),
            Op::Shape { dims } | Op::MatchShape { shape: dims } => {
                dims.iter().for_each(|expr| self.check_expr(out, expr));
            }
            Op::Assert { fact, .. } => {
                if let Some(sym) = fact.vars().into_iter().find(|sym| !self.syms.contains(sym)) {
                    self.fail(rules::EXPR, out, format!("`{fact}` uses `{sym}`, which is not bound here"));
                }
            }
            Op::Pad { before, after, .. } => before.iter().chain(after).for_each(|expr| self.check_expr(out, expr)),
            Op::Scalar(_)
            | Op::Element(_)
            | Op::Reduce { .. }
            | Op::ArgReduce { .. }
            | Op::MatMul
            | Op::Softmax { .. }
            | Op::LayerNorm { .. }
            | Op::BatchNorm { .. }
            | Op::Reshape { .. }
            | Op::Transpose { .. }
            | Op::BroadcastTo { .. }
            | Op::Concat { .. }
            | Op::Conv { .. }
            | Op::Pool { .. }
            | Op::Full { .. }
            | Op::Tuple
            | Op::TupleGet(_)
            | Op::If
            | Op::For { .. }
            | Op::While
            | Op::ShapeOf
            | Op::ShapeToTensor
            | Op::TensorToShape
            | Op::Later { .. } => {}
        }
    }

    fn constant(&mut self, out: ValueId, id: crate::ConstId, ty: &Type) {
        let Some(data) = self.module.constants.get(id.0 as usize) else {
            return self.fail(rules::CONSTANT, out, format!("c{} is no constant of the module", id.0));
        };
        let shape = data.shape.iter().map(|n| dim::int(i64::try_from(*n).unwrap_or(i64::MAX))).collect();
        let found = Type::Tensor(TensorType { dtype: data.dtype, shape });
        if found != *ty {
            let text = format!("c{} has type `{}`, found `{}`", id.0, type_text(&found), type_text(ty));
            self.fail(rules::CONSTANT, out, text);
        }
    }

    /// A prim-func takes as many buffers and indices as are passed.
    fn callee(&mut self, out: ValueId, name: &str, inputs: usize, results: &[TensorType], in_place: &[Option<usize>]) {
        if in_place.len() != results.len() {
            let text = format!("`in_place` has {} entries for {} results", in_place.len(), results.len());
            self.fail(rules::IN_PLACE, out, text);
        }
        let Some(callee) = self.module.prim(name) else {
            return self.fail(rules::PRIM, out, format!("`@{name}` is no prim-func of the module"));
        };
        let extra = in_place.iter().filter(|operand| operand.is_none()).count();
        let workspace = callee.params.iter().filter(|p| matches!(p, tir::Param::Workspace)).count();
        let (expected, found) = (callee.params.len() - workspace, inputs + extra);
        if expected != found {
            let text = format!("`@{name}` takes {expected} parameters, found {found} operands and results");
            self.fail(rules::PRIM, out, text);
        }
    }

    fn in_place(&mut self, out: ValueId, results: &[TensorType], in_place: &[Option<usize>], args: &[Type]) {
        for (i, (result, operand)) in results.iter().zip(in_place).enumerate() {
            let Some(operand) = operand else { continue };
            let same = args.get(*operand).is_some_and(|a| same_type(&self.prover, a, &Type::Tensor(result.clone())));
            if !same {
                let text = format!("result {i} updates an operand of another type in place");
                self.fail(rules::IN_PLACE, out, text);
            }
        }
    }

    /// A relax function takes operands of its parameters' dtypes and ranks and gives the type that the call has.
    fn relax_callee(&mut self, out: ValueId, name: &str, indices: usize, args: &[Type], ty: &Type) {
        let Some(callee) = self.module.relax(name) else {
            return self.fail(rules::CALLEE, out, format!("`@{name}` is no relax function of the module"));
        };
        let wanted = callee.syms.iter().filter(|decl| matches!(decl.kind, SymKind::IndexParam { .. })).count();
        if (callee.params.len(), wanted) != (args.len(), indices) {
            let text = format!(
                "`@{name}` takes {} operands and {wanted} indices, found {} and {indices}",
                callee.params.len(),
                args.len()
            );
            return self.fail(rules::CALLEE, out, text);
        }
        let of = |value: ValueId| callee.values.get(value.0 as usize).map(|data| kind_of(&data.ty));
        for (i, (param, arg)) in callee.params.iter().zip(args).enumerate() {
            if of(param.value).is_some_and(|expected| expected != kind_of(arg)) {
                let text = format!("operand {i} of `@{name}` is `{}`, which it does not take", type_text(arg));
                self.fail(rules::CALLEE, out, text);
            }
        }
        let states = callee.params.iter().filter(|param| param.kind == ParamKind::State).map(|param| param.value);
        let given: Option<Vec<Kind>> = callee.results.iter().copied().chain(states).map(of).collect();
        let given = given.map(|mut kinds| if kinds.len() == 1 { kinds.remove(0) } else { Kind::Tuple(kinds) });
        if given.is_some_and(|given| given != kind_of(ty)) {
            self.fail(rules::CALLEE, out, format!("`@{name}` does not give `{}`", type_text(ty)));
        }
    }

    /// No function is reached from itself by calls; reported once, at the first call that leads back.
    pub(super) fn recursion(&mut self) {
        let func = self.func;
        if !self.reaches(calls(func), &func.name) {
            return;
        }
        let leads_back = |binding: &&Binding| matches!(&binding.op, Op::CallFn { func: callee, .. } if self.reaches([callee.as_str()], &func.name));
        if let Some(binding) = func.bindings().find(leads_back) {
            self.fail(rules::RECURSION, binding.out, format!("the call leads back to `@{}`", func.name));
        }
    }

    fn reaches<'n>(&'n self, from: impl IntoIterator<Item = &'n str>, to: &str) -> bool {
        let mut seen = BTreeSet::new();
        let mut queue: Vec<&str> = from.into_iter().collect();
        while let Some(name) = queue.pop() {
            if name == to {
                return true;
            }
            if seen.insert(name) {
                queue.extend(self.module.relax(name).into_iter().flat_map(calls));
            }
        }
        false
    }

    fn external(&mut self, out: ValueId, path: &str, updates: &[usize]) {
        if path.is_empty() {
            self.fail(rules::EXTERNAL, out, "the path is empty");
        }
        if updates.iter().collect::<BTreeSet<_>>().len() != updates.len() {
            self.fail(rules::EXTERNAL, out, "an operand is updated twice");
        }
    }

    fn store(&mut self, out: ValueId, param: usize, args: &[Type]) {
        if self.depth > 0 {
            self.fail(rules::STORE_OUTSIDE, out, "stores state in a region");
        }
        match self.func.params.get(param) {
            Some(state) if state.kind == ParamKind::State => {
                if let (Some(ty), [value]) = (self.ty(state.value), args)
                    && !same_type(&self.prover, ty, value)
                {
                    let text = format!("stores `{}` into state of type `{}`", type_text(value), type_text(ty));
                    self.fail(rules::STATE, out, text);
                }
            }
            Some(_) => self.fail(rules::STATE, out, format!("parameter {param} is no state")),
            None => self.fail(rules::STATE, out, format!("there is no parameter {param}")),
        }
    }
}

/// Names of the relax functions that a function calls.
fn calls(func: &Function) -> impl Iterator<Item = &str> {
    func.bindings().filter_map(|binding| match &binding.op {
        Op::CallFn { func, .. } => Some(func.as_str()),
        _ => None,
    })
}

/// A type without its extents, which stand in the callee's symbols.
#[derive(PartialEq, Eq)]
enum Kind {
    Tensor(crate::DType, usize),
    Tuple(Vec<Kind>),
    Shape(usize),
}

fn kind_of(ty: &Type) -> Kind {
    match ty {
        Type::Tensor(tensor) => Kind::Tensor(tensor.dtype, tensor.shape.len()),
        Type::Tuple(items) => Kind::Tuple(items.iter().map(kind_of).collect()),
        Type::Shape(rank) => Kind::Shape(*rank),
    }
}
