//! The verifier: redoes every law of `ir.rs` and of the function's phase, and reports all that do not hold.
//!
//! 1. Arguments have smaller numbers than the result, and are defined before it.
//! 2. A value is bound once.
//! 3. A dataflow block holds pure bindings, an effect block effects.
//! 4. Extents and index expressions use symbols that are declared, and bound ones only after they are bound.
//! 5. Types are what the op's rule gives under the function's facts; constants, callees and state agree with theirs.
//! 6. The phase's ops: see [`Phase`]. A planned function has a place for each value.

use std::collections::BTreeSet;

use super::build::block_kind;
use super::print::type_text;
use super::{Binding, BlockKind, Function, Op, ParamKind, Phase, SymKind, TensorType, Type, ValueId, dim, infer};
use crate::arith::{IntExpr, Prover, Sym};
use crate::{Module, tir};

/// The laws that a function breaks, one text each, in the order of its bindings.
pub fn verify(module: &Module, func: &Function) -> Vec<String> {
    let mut verifier = Verifier {
        module,
        func,
        prover: prover(func),
        defined: BTreeSet::new(),
        syms: BTreeSet::new(),
        errors: Vec::new(),
    };
    verifier.function();
    verifier.errors
}

/// What is known in a function: dims and `usize` parameters are not negative, and its facts hold.
pub fn prover(func: &Function) -> Prover {
    let mut prover = Prover::new();
    for decl in &func.syms {
        let natural = match decl.kind {
            SymKind::Dim { .. } | SymKind::IndexParam { unsigned: true, .. } => true,
            SymKind::IndexParam { unsigned: false, .. } | SymKind::Stride { .. } | SymKind::Bound(_) => false,
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
    prover
}

struct Verifier<'m> {
    module: &'m Module,
    func: &'m Function,
    prover: Prover,
    defined: BTreeSet<ValueId>,
    syms: BTreeSet<Sym>,
    errors: Vec<String>,
}

impl Verifier<'_> {
    fn fail(&mut self, value: ValueId, message: impl Into<String>) {
        self.errors.push(format!("v{}: {}", value.0, message.into()));
    }

    fn function(&mut self) {
        let func = self.func;
        self.symbols();
        for param in &func.params {
            self.define(param.value);
            if let Some(data) = func.values.get(param.value.0 as usize) {
                self.check_type(param.value, &data.ty);
                if param.kind == ParamKind::Scalar && !matches!(&data.ty, Type::Tensor(t) if t.shape.is_empty()) {
                    self.fail(param.value, "a scalar parameter has rank 0");
                }
            }
        }
        for block in &func.blocks {
            for binding in &block.bindings {
                if block_kind(&binding.op) != block.kind {
                    let (kind, other) = match block.kind {
                        BlockKind::Dataflow => ("a dataflow", "an effect"),
                        BlockKind::Effect => ("an effect", "a pure binding"),
                    };
                    self.fail(binding.out, format!("{kind} block holds {other}"));
                }
                self.binding(binding);
            }
        }
        for result in &func.results {
            if !self.defined.contains(result) {
                self.fail(*result, "is returned but not defined");
            }
        }
        self.plan();
    }

    fn symbols(&mut self) {
        let func = self.func;
        let mut seen = BTreeSet::new();
        for decl in &func.syms {
            if !seen.insert(decl.sym.clone()) {
                self.errors.push(format!("symbol `{}` is declared twice", decl.sym));
            }
            match &decl.kind {
                SymKind::Dim { .. } | SymKind::IndexParam { .. } | SymKind::Stride { .. } => {
                    self.syms.insert(decl.sym.clone());
                }
                SymKind::Bound(value) => {
                    if value.0 as usize >= func.values.len() {
                        self.errors.push(format!("symbol `{}` is bound to v{}, which is not there", decl.sym, value.0));
                    }
                }
            }
        }
        for fact in &func.facts {
            if let Some(sym) = fact.fact.vars().into_iter().find(|sym| !seen.contains(sym)) {
                self.errors.push(format!("fact `{}` uses `{sym}`, which is not declared", fact.fact));
            }
        }
    }

    fn define(&mut self, value: ValueId) {
        if value.0 as usize >= self.func.values.len() {
            self.fail(value, "has no entry among the values");
        }
        if !self.defined.insert(value) {
            self.fail(value, "is bound twice");
        }
        let bound = self.func.syms.iter().filter(|decl| decl.kind == SymKind::Bound(value));
        self.syms.extend(bound.map(|decl| decl.sym.clone()));
    }

    fn binding(&mut self, binding: &Binding) {
        let mut types = Vec::new();
        for arg in &binding.args {
            if arg.0 >= binding.out.0 {
                self.fail(binding.out, format!("uses v{}, whose number is not smaller", arg.0));
            }
            if !self.defined.contains(arg) {
                self.fail(binding.out, format!("uses v{}, which is not defined before it", arg.0));
            }
            match self.func.values.get(arg.0 as usize) {
                Some(data) => types.push(data.ty.clone()),
                None => return self.define(binding.out),
            }
        }
        self.define(binding.out);
        let Some(data) = self.func.values.get(binding.out.0 as usize) else { return };
        self.check_type(binding.out, &data.ty);
        match infer(&self.prover, &binding.op, &types) {
            Err(error) => self.fail(binding.out, error.message),
            Ok(Some(ty)) if !same_type(&self.prover, &ty, &data.ty) => {
                self.fail(binding.out, format!("has type `{}`, expected `{}`", type_text(&data.ty), type_text(&ty)));
            }
            Ok(_) => {}
        }
        self.references(binding, &types, &data.ty);
        self.phase(binding, &data.ty);
    }

    /// Extents use known symbols.
    fn check_type(&mut self, value: ValueId, ty: &Type) {
        match ty {
            Type::Tensor(tensor) => tensor.shape.iter().for_each(|extent| self.check_expr(value, extent)),
            Type::Tuple(items) => items.iter().for_each(|item| self.check_type(value, item)),
        }
    }

    fn check_expr(&mut self, value: ValueId, expr: &IntExpr) {
        if let Some(sym) = expr.vars().into_iter().find(|sym| !self.syms.contains(sym)) {
            self.fail(value, format!("`{expr}` uses `{sym}`, which is not bound here"));
        }
    }

    /// What an op names outside the function: constants, callees, state, symbols.
    fn references(&mut self, binding: &Binding, args: &[Type], ty: &Type) {
        let out = binding.out;
        match &binding.op {
            Op::Const(id) => match self.module.constants.get(id.0 as usize) {
                None => self.fail(out, format!("c{} is no constant of the module", id.0)),
                Some(data) => {
                    let shape = data.shape.iter().map(|n| dim::int(i64::try_from(*n).unwrap_or(i64::MAX))).collect();
                    let found = Type::Tensor(TensorType { dtype: data.dtype, shape });
                    if found != *ty {
                        self.fail(
                            out,
                            format!("c{} has type `{}`, found `{}`", id.0, type_text(&found), type_text(ty)),
                        );
                    }
                }
            },
            Op::CallTir { func, syms, results, in_place } => {
                syms.iter().for_each(|expr| self.check_expr(out, expr));
                let wanted = binding.args.len() + syms.len();
                self.callee(out, func, wanted, results, in_place);
                for (i, operand) in in_place.iter().enumerate() {
                    let operand = operand.and_then(|j| args.get(j));
                    if let (Some(operand), Some(result)) = (operand, results.get(i))
                        && !same_type(&self.prover, operand, &Type::Tensor(result.clone()))
                    {
                        self.fail(out, format!("result {i} updates an operand of another type in place"));
                    }
                }
            }
            Op::CallFn { func, .. } => {
                if self.module.relax(func).is_none() {
                    self.fail(out, format!("`@{func}` is no relax function of the module"));
                }
            }
            Op::BindIndex(sym) => {
                let declared = self.func.syms.iter().any(|decl| decl.sym == *sym && decl.kind == SymKind::Bound(out));
                if !declared {
                    self.fail(out, format!("binds `{sym}`, which is not declared as bound to it"));
                }
            }
            Op::StoreState { param } => self.store(out, *param, args),
            Op::IndexValue { expr, .. } => self.check_expr(out, expr),
            Op::Slice { axes, .. } | Op::SliceUpdate { axes, .. } => {
                axes.iter().for_each(|axis| self.check_expr(out, &axis.begin));
            }
            Op::Arange { start, step, .. } => [start, step].into_iter().for_each(|expr| self.check_expr(out, expr)),
            Op::Scalar(_)
            | Op::Element(_)
            | Op::Reduce { .. }
            | Op::ArgReduce { .. }
            | Op::MatMul
            | Op::Softmax { .. }
            | Op::LayerNorm { .. }
            | Op::Reshape { .. }
            | Op::Transpose { .. }
            | Op::BroadcastTo { .. }
            | Op::Concat { .. }
            | Op::Pad { .. }
            | Op::Conv { .. }
            | Op::Pool { .. }
            | Op::Full { .. }
            | Op::Tuple
            | Op::TupleGet(_)
            | Op::MatchShape { .. }
            | Op::Later { .. } => {}
        }
    }

    /// A prim-func takes as many buffers and indices as are passed.
    fn callee(&mut self, out: ValueId, name: &str, inputs: usize, results: &[TensorType], in_place: &[Option<usize>]) {
        if in_place.len() != results.len() {
            self.fail(out, format!("`in_place` has {} entries for {} results", in_place.len(), results.len()));
        }
        match self.module.prim(name) {
            None => self.fail(out, format!("`@{name}` is no prim-func of the module")),
            Some(callee) => {
                let extra = in_place.iter().filter(|operand| operand.is_none()).count();
                let workspace = callee.params.iter().filter(|p| matches!(p, tir::Param::Workspace)).count();
                let expected = callee.params.len() - workspace;
                if expected != inputs + extra {
                    let found = inputs + extra;
                    self.fail(
                        out,
                        format!("`@{name}` takes {expected} parameters, found {found} operands and results"),
                    );
                }
            }
        }
    }

    fn store(&mut self, out: ValueId, param: usize, args: &[Type]) {
        match self.func.params.get(param) {
            Some(state) if state.kind == ParamKind::State => {
                let ty = self.func.values.get(state.value.0 as usize).map(|data| &data.ty);
                if let (Some(ty), [value]) = (ty, args)
                    && !same_type(&self.prover, ty, value)
                {
                    let message = format!("stores `{}` into state of type `{}`", type_text(value), type_text(ty));
                    self.fail(out, message);
                }
            }
            Some(_) => self.fail(out, format!("parameter {param} is no state")),
            None => self.fail(out, format!("there is no parameter {param}")),
        }
    }

    fn phase(&mut self, binding: &Binding, ty: &Type) {
        let phase = self.func.phase;
        if phase == Phase::Imported {
            return;
        }
        let nested = matches!(ty, Type::Tuple(items) if items.iter().any(|item| matches!(item, Type::Tuple(_))));
        if nested {
            self.fail(binding.out, format!("a tuple in a tuple in phase {phase:?}"));
        }
        let fits = match &binding.op {
            Op::CallFn { .. } => false,
            Op::CallTir { .. }
            | Op::Const(_)
            | Op::Tuple
            | Op::TupleGet(_)
            | Op::Reshape { .. }
            | Op::BindIndex(_)
            | Op::MatchShape { .. }
            | Op::StoreState { .. } => true,
            Op::Scalar(_)
            | Op::IndexValue { .. }
            | Op::Element(_)
            | Op::Reduce { .. }
            | Op::ArgReduce { .. }
            | Op::MatMul
            | Op::Softmax { .. }
            | Op::LayerNorm { .. }
            | Op::Transpose { .. }
            | Op::BroadcastTo { .. }
            | Op::Concat { .. }
            | Op::Slice { .. }
            | Op::SliceUpdate { .. }
            | Op::Pad { .. }
            | Op::Conv { .. }
            | Op::Pool { .. }
            | Op::Full { .. }
            | Op::Arange { .. }
            | Op::Later { .. } => phase < Phase::Legalised,
        };
        if !fits {
            let name = super::op_name(&binding.op);
            self.fail(binding.out, format!("`{name}` has no place in phase {phase:?}"));
        }
    }

    fn plan(&mut self) {
        match (&self.func.plan, self.func.phase) {
            (None, Phase::Planned) => self.errors.push("a planned function has a plan".to_string()),
            (Some(_), Phase::Imported | Phase::Normalised | Phase::Legalised) => {
                self.errors.push("only a planned function has a plan".to_string());
            }
            (Some(plan), Phase::Planned) => {
                for value in self.defined.clone() {
                    if plan.places.get(value.0 as usize).is_none_or(Option::is_none) {
                        self.fail(value, "has no place in the plan");
                    }
                }
            }
            (None, Phase::Imported | Phase::Normalised | Phase::Legalised) => {}
        }
    }
}

fn same_type(prover: &Prover, a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Tensor(a), Type::Tensor(b)) => a.dtype == b.dtype && dim::same_shape(prover, &a.shape, &b.shape),
        (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_type(prover, a, b)),
        (Type::Tensor(_), Type::Tuple(_)) | (Type::Tuple(_), Type::Tensor(_)) => false,
    }
}
