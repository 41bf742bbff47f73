//! Statements: bindings and assignments.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::ops::{show_shape, show_type};
use tenfold_ir::relax::{Op, SliceAxis, TensorType, Type, ValueId};
use tenfold_ir::tir::Expr as TirExpr;

use super::cx::Elaborator;
use super::index::{Indexed, slice_axes, whole_tensor};
use super::value::{Value, VariableKind};
use crate::ast::{
    self, BinaryOp, Block, Expr, ExprKind, NodeId, Pattern, PatternKind, Stmt, StmtKind, Target, TargetKind, TypeKind,
};
use crate::code::Code;
use crate::diagnostic::Diagnostic;
use crate::signature::Signature;

impl<'a> Elaborator<'a> {
    /// The body of the function: its results in order.
    pub(super) fn function_body(&mut self, body: &'a Block, signature: &Signature) -> Option<Vec<ValueId>> {
        let types: Vec<Type> = signature
            .results
            .iter()
            .map(|r| Type::Tensor(TensorType { dtype: r.dtype, shape: r.dims.clone() }))
            .collect();
        let whole = match (types.as_slice(), signature.result_is_tuple) {
            ([], false) => None,
            ([one], false) => Some(one.clone()),
            (several, _) => Some(Type::Tuple(several.to_vec())),
        };
        let at = self.frame.function.result.as_ref().map_or(NodeId::FUNCTION, |ty| ty.node);
        let value = self.body_block(body, whole.as_ref());
        let node = body.value.as_ref().map_or(body.node, |e| e.node);
        let value = match (value, &whole) {
            (Value::Tuple(values), Some(Type::Tuple(types))) if values.len() == types.len() => {
                let components = values.into_iter().zip(types).enumerate();
                Value::Tuple(components.map(|(i, (v, t))| self.component(body, node, i, v, t, at)).collect())
            }
            (value, _) => self.result(node, value, whole.as_ref(), at),
        };
        let mut results = Vec::new();
        self.result_values(node, &value, &mut results)?;
        Some(results)
    }

    /// A component of the result, at its own place if it is written as a tuple.
    fn component(
        &mut self,
        body: &'a Block,
        node: NodeId,
        i: usize,
        value: Value<'a>,
        ty: &Type,
        at: NodeId,
    ) -> Value<'a> {
        let node = match body.value.as_deref().map(|e| &e.kind) {
            Some(ExprKind::Tuple(items)) => items.get(i).map_or(node, |item| item.node),
            _ => node,
        };
        let at = match self.frame.function.result.as_ref().map(|ty| &ty.kind) {
            Some(TypeKind::Tuple(items)) => items.get(i).map_or(at, |item| item.node),
            _ => at,
        };
        self.expect(node, value, ty, "the result", at)
    }

    /// The body without leaving its scope, so that state can be stored.
    fn body_block(&mut self, block: &'a Block, hint: Option<&Type>) -> Value<'a> {
        self.consts(block);
        let (last, stmts) = match (&block.value, block.stmts.split_last()) {
            (None, Some((last, stmts))) if hint.is_some() => (Some(last), stmts),
            _ => (None, block.stmts.as_slice()),
        };
        for stmt in stmts {
            self.stmt(stmt);
        }
        match (&block.value, last.map(|stmt| &stmt.kind)) {
            (Some(value), _) => self.expr(value, hint),
            (None, Some(StmtKind::Expr(e))) => self.last_statement(e, hint),
            (None, Some(StmtKind::Error)) => self.error_value(),
            (None, Some(_)) => {
                last.into_iter().for_each(|stmt| self.stmt(stmt));
                Value::Unit
            }
            (None, None) => Value::Unit,
        }
    }

    /// An expression with `;` behind it where the result is to stand.
    fn last_statement(&mut self, e: &'a Expr, hint: Option<&Type>) -> Value<'a> {
        match self.expr(e, hint) {
            Value::Unit => Value::Unit,
            Value::Unknown => Value::Unknown,
            _ => {
                let message = "the function ends without a value: the `;` behind this drops it";
                self.fail(e.node, Code::ResultMissing, message, "leave out the `;`")
            }
        }
    }

    /// The value of a body with the type that is written for it.
    pub(super) fn result(&mut self, node: NodeId, value: Value<'a>, ty: Option<&Type>, at: NodeId) -> Value<'a> {
        match (ty, value) {
            (_, Value::Unknown) => Value::Unknown,
            (None, Value::Unit) => Value::Unit,
            (None, value) => {
                let message =
                    format!("the function has no result, and its last expression gives {}", self.describe(&value));
                self.fail(node, Code::ResultMissing, message, "write the type, `-> Tensor<f32, N>`, or end with `;`")
            }
            (Some(ty), Value::Unit) => {
                let message = format!("the result is `{}`, and the function ends without a value", show_type(ty));
                let error =
                    Diagnostic::new(at, Code::ResultMissing, message).help("let the last expression stand without `;`");
                self.report(error);
                Value::Unknown
            }
            (Some(ty), value) => self.expect(node, value, ty, "the result", at),
        }
    }

    fn result_values(&mut self, node: NodeId, value: &Value<'a>, results: &mut Vec<ValueId>) -> Option<()> {
        match value {
            Value::Unit => Some(()),
            Value::Tuple(items) => {
                for item in items {
                    self.result_values(node, item, results)?;
                }
                Some(())
            }
            value => {
                results.push(self.as_tensor(node, value)?);
                Some(())
            }
        }
    }

    pub(super) fn stmt(&mut self, stmt: &'a Stmt) {
        self.graph.set_loc(self.loc(stmt.node));
        match &stmt.kind {
            StmtKind::Let { pattern, ty, value } => self.let_stmt(pattern, ty.as_ref(), value),
            // Seen in the whole block, so bound before its statements; asserts are facts of the signature.
            StmtKind::Const { .. } | StmtKind::Assert { .. } => {}
            StmtKind::Assign { target, op, value } => self.assign(stmt.node, target, *op, value),
            StmtKind::For { unroll, variable, range, body } => self.for_stmt(stmt.node, *unroll, variable, range, body),
            StmtKind::While { condition, body } => self.while_stmt(stmt.node, condition, body),
            StmtKind::Expr(e) => {
                let value = self.expr(e, None);
                if !matches!(value, Value::Unit | Value::Unknown)
                    && !matches!(e.kind, ExprKind::Block(_) | ExprKind::If { .. })
                {
                    let message = format!("this gives {}, which nothing uses", self.describe(&value));
                    self.fail(
                        e.node,
                        Code::Unused,
                        message,
                        "bind it: `let y = …;`, or let it be the result, without `;`",
                    );
                }
            }
            StmtKind::Error => {
                self.unknown = true;
            }
        }
    }

    // let

    fn let_stmt(&mut self, pattern: &'a Pattern, ty: Option<&'a ast::Type>, value: &'a Expr) {
        let name = match &pattern.kind {
            PatternKind::Name { name, .. } => Some(name.clone()),
            PatternKind::Ignore | PatternKind::Tuple(_) | PatternKind::Error => first_name(pattern),
        };
        let index = ty.is_some_and(|ty| matches!(&ty.kind, TypeKind::Scalar(s) if s == "usize" || s == "isize"));
        let written = match ty {
            Some(ty) if !index => self.written_type(ty),
            Some(_) | None => None,
        };
        let given = self.named(name.as_deref(), |me| me.expr(value, written.as_ref()));
        let found = match (ty, written) {
            (Some(_), _) if index => match self.index_of(value, &given) {
                Some(e) => Value::Index(e),
                None => Value::Unknown,
            },
            (Some(ty), Some(written)) => {
                let known = !given.is_unknown();
                let found = self.expect(value.node, given, &written, "the type", ty.node);
                if known { found } else { self.unknown_of(&written) }
            }
            (Some(_), None) => Value::Unknown,
            (None, _) if matches!(given, Value::Unit) && self.untyped_extern(value) => Value::Unknown,
            (None, _) => given,
        };
        self.bind_pattern(pattern, found);
    }

    /// What stands for a value that is unknown but whose type is written: no error follows from it.
    fn unknown_of(&mut self, ty: &Type) -> Value<'a> {
        if self.inside || self.diagnostics.is_empty() && !self.unknown {
            return Value::Unknown;
        }
        self.placeholder(ty, "unknown")
    }

    /// A value of this type that nothing is known of; the function is refused or erroneous.
    pub(super) fn placeholder(&mut self, ty: &Type, name: &str) -> Value<'a> {
        let op = Op::Later { name: name.to_string(), result: ty.clone() };
        match self.emit(NodeId::FUNCTION, op, &[], &[]) {
            Some(v) => self.unpacked(NodeId::FUNCTION, v),
            None => Value::Unknown,
        }
    }

    /// Binds what a pattern names.
    pub(super) fn bind_pattern(&mut self, pattern: &'a Pattern, value: Value<'a>) {
        match &pattern.kind {
            PatternKind::Name { name, mutable } => {
                let kind = if *mutable { VariableKind::Mutable } else { VariableKind::Fixed };
                let value = self.named_value(name, value);
                if self.frame.dims.contains_key(name) && name.starts_with(char::is_uppercase) {
                    let message = format!("`{name}` is a dim");
                    self.fail(pattern.node, Code::NameTwice, message, "give the variable another name");
                }
                let var = self.bind(name, pattern.node, kind, value);
                if *mutable && self.inside && self.statements {
                    self.make_cell(var);
                }
            }
            PatternKind::Ignore => {}
            PatternKind::Error => self.unknown = true,
            PatternKind::Tuple(items) => match value {
                Value::Tuple(values) if values.len() == items.len() => {
                    for (item, value) in items.iter().zip(values) {
                        self.bind_pattern(item, value);
                    }
                }
                value => {
                    if !value.is_unknown() {
                        let message =
                            format!("expected a tuple of {} values, found {}", items.len(), self.describe(&value));
                        self.fail(pattern.node, Code::TypeMismatch, message, "name as many components as there are");
                    }
                    for item in items {
                        self.bind_pattern(item, Value::Unknown);
                    }
                }
            },
        }
    }

    /// The value under its name: a tensor is called so in reports, a scalar of a kernel is computed once.
    pub(super) fn named_value(&mut self, name: &str, value: Value<'a>) -> Value<'a> {
        match value {
            Value::Tensor(v) => {
                let is_param = self.graph.function().params.iter().any(|p| p.value == v);
                if !is_param && self.named_values.insert(v) {
                    self.graph.name_value(v, name);
                }
                Value::Tensor(v)
            }
            Value::Scalar(e) if self.inside && self.kernel.branches == 0 => {
                if matches!(self.kernel.b.func().exprs.get(e), TirExpr::Const(_) | TirExpr::Var(_)) {
                    return Value::Scalar(e);
                }
                let cond = self.cond_of(&Value::Scalar(e));
                let (lo, hi) = self.range_of(e);
                let base = if self.syms.contains(name) { format!("{name}_v") } else { name.to_string() };
                let var = self.kernel.b.let_(&base, e);
                let read = self.kernel.b.read(var);
                self.set_cond(&Value::Scalar(read), cond);
                if let (Some(lo), Some(hi)) = (lo, hi) {
                    self.kernel.ranges.insert(read, (lo, hi + 1));
                }
                Value::Scalar(read)
            }
            value => value,
        }
    }

    // Assignment

    fn assign(&mut self, node: NodeId, target: &'a Target, op: Option<BinaryOp>, value: &'a Expr) {
        let name = match &target.kind {
            TargetKind::Name(name) => Some(name.clone()),
            TargetKind::Element { .. } | TargetKind::Tuple(_) | TargetKind::Ignore | TargetKind::Error => None,
        };
        let hint = self.target_type(target, value);
        let given = self.named(name.as_deref(), |me| me.expr(value, hint.as_ref()));
        if matches!(given, Value::Unit) && self.untyped_extern(value) {
            return;
        }
        let given = match op {
            None => given,
            Some(op) => {
                let before = self.target_value(target);
                self.binary_values(node, op, (before, target.node), (given, value.node))
            }
        };
        self.assign_to(target, given, value.node);
    }

    /// The type of a variable that a function outside is to give a value: such a call has the type that is written.
    fn target_type(&self, target: &Target, value: &Expr) -> Option<Type> {
        let TargetKind::Name(name) = &target.kind else { return None };
        super::extern_call::extern_in(value)?;
        self.type_of(&self.vars[self.find(name)?].value)
    }

    /// The value of a target, for `+=`.
    fn target_value(&mut self, target: &'a Target) -> Value<'a> {
        match &target.kind {
            TargetKind::Name(name) => match self.find(name) {
                Some(var) => self.variable(var),
                None => Value::Unknown, // reported where it is assigned
            },
            TargetKind::Element { tensor, indices } => {
                let Some(var) = self.find(&tensor.text) else { return Value::Unknown };
                let Value::Tensor(v) = self.vars[var].value.clone() else { return Value::Unknown };
                let ty = self.graph.tensor(v).clone();
                let of = Indexed { text: &tensor.text, ty: &ty, store: true };
                let Some(axes) = self.axes(target.node, &of, indices) else { return Value::Unknown };
                if self.inside { self.load(target.node, v, &axes) } else { self.slice(target.node, v, &axes) }
            }
            TargetKind::Tuple(_) => {
                let message = "an operator assigns to one target";
                self.fail(target.node, Code::TypeMismatch, message, "write one assignment per component")
            }
            TargetKind::Ignore | TargetKind::Error => Value::Unknown,
        }
    }

    fn assign_to(&mut self, target: &'a Target, value: Value<'a>, value_node: NodeId) {
        match &target.kind {
            TargetKind::Name(name) => {
                if self.is_scalar_state(name) {
                    return self.store(target, (target.node, name), &[], value, value_node);
                }
                let Some(var) = self.assignable(target.node, name, false) else { return };
                if self.inside {
                    return self.assign_in_kernel(var, value, value_node);
                }
                let before = self.vars[var].value.clone();
                let value = self.kept(value_node, &before, value, var);
                let value = self.named_value(name, value);
                self.vars[var].value = value;
            }
            TargetKind::Element { tensor, indices } => {
                self.store(target, (tensor.node, &tensor.text), indices, value, value_node);
            }
            TargetKind::Tuple(items) => match value {
                Value::Tuple(values) if values.len() == items.len() => {
                    for (item, value) in items.iter().zip(values) {
                        self.assign_to(item, value, value_node);
                    }
                }
                value => {
                    if !value.is_unknown() {
                        let message =
                            format!("expected a tuple of {} values, found {}", items.len(), self.describe(&value));
                        self.fail(
                            value_node,
                            Code::TypeMismatch,
                            message,
                            "give as many components as there are targets",
                        );
                    }
                }
            },
            TargetKind::Ignore => {}
            TargetKind::Error => self.unknown = true,
        }
    }

    /// Whether the name is state of rank 0, which is assigned to like a scalar: it has no axes to write.
    fn is_scalar_state(&self, name: &str) -> bool {
        let var = self.find(name).map(|var| &self.vars[var]);
        var.is_some_and(|var| {
            matches!(var.kind, VariableKind::State)
                && matches!(&var.value, Value::Tensor(v) if self.graph.tensor(*v).shape.is_empty())
        })
    }

    /// The variable that is assigned to; what may not be is reported.
    fn assignable(&mut self, node: NodeId, name: &str, part: bool) -> Option<usize> {
        let Some(var) = self.find(name) else {
            self.unknown_name(node, name);
            return None;
        };
        if self.inside && !self.statements {
            let message = "a closure over elements does not assign";
            self.fail(node, Code::NotMutable, message, "bind a new name with `let`, or carry the value with `fold`");
            return None;
        }
        match self.vars[var].kind {
            VariableKind::Mutable => Some(var),
            VariableKind::State if part => Some(var),
            VariableKind::State => {
                let rank = match &self.vars[var].value {
                    Value::Tensor(v) => self.graph.tensor(*v).shape.len(),
                    _ => 1,
                };
                let all = vec![".."; rank.max(1)].join(", ");
                let message = format!("`{name}` is state, which is updated in place");
                self.fail(node, Code::NotMutable, message, format!("write `{name}[[{all}]] = …`"));
                None
            }
            VariableKind::Fixed => {
                let bound = self.vars[var].node;
                let is_param = self.frame.function.params.iter().any(|p| p.node == bound);
                let help = if is_param {
                    format!("copy it: `let mut {name} = {name};`, or take it as state: `{name}: &mut Tensor<…>`")
                } else {
                    format!("write `let mut {name}`")
                };
                let error = Diagnostic::new(node, Code::NotMutable, format!("`{name}` cannot be assigned to"))
                    .label(bound, "it is bound here without `mut`")
                    .help(help);
                self.report(error);
                None
            }
        }
    }

    /// A new value of a variable: it keeps its dtype.
    pub(super) fn kept(&mut self, node: NodeId, before: &Value<'a>, value: Value<'a>, var: usize) -> Value<'a> {
        let Some(Type::Tensor(old)) = self.type_of(before) else {
            // A literal has no dtype yet, and an index value stays one.
            return match (before, value) {
                (Value::Index(_), Value::Literal(tenfold_ir::ops::Literal::Int(n))) => {
                    i64::try_from(n).map_or(Value::Unknown, |n| Value::Index(IntExpr::from(n)))
                }
                (_, value) => value,
            };
        };
        let value = self.coerce(node, value, old.dtype);
        match self.type_of(&value) {
            Some(Type::Tensor(new)) if new.dtype == old.dtype => value,
            None if value.is_unknown() => value,
            _ => {
                let found = self.describe(&value);
                let name = self.vars[var].name.clone();
                let error = Diagnostic::new(
                    node,
                    Code::DtypeMismatch,
                    format!("`{name}` holds `{}`, found {found}", old.dtype),
                )
                .label(self.vars[var].node, "it is bound here")
                .help(format!("convert it: `… as {}`", old.dtype));
                self.report(error);
                Value::Unknown
            }
        }
    }

    /// `x[[i, ..]] = e`.
    fn store(
        &mut self,
        target: &'a Target,
        (tensor_node, tensor): (NodeId, &str),
        indices: &'a [Expr],
        value: Value<'a>,
        value_node: NodeId,
    ) {
        let Some(var) = self.assignable(tensor_node, tensor, true) else {
            self.indices_of_unknown(indices);
            return;
        };
        let whole = self.vars[var].value.clone();
        let Some(dst) = self.indexed(tensor_node, tensor, &whole) else {
            self.indices_of_unknown(indices);
            return;
        };
        if self.inside {
            return self.store_element(target, (tensor, indices), dst, value, value_node);
        }
        let node = target.node;
        let ty = self.graph.tensor(dst).clone();
        let of = Indexed { text: tensor, ty: &ty, store: true };
        let axes = self.axes(node, &of, indices);
        let value = self.coerce(value_node, value, ty.dtype);
        let src = self.as_tensor(value_node, &value);
        let (Some(axes), Some(src)) = (axes, src) else { return };
        let (axes, drop) = slice_axes(&axes);
        let found = self.graph.tensor(src).clone();
        if !self.fits(node, &found, &ty, (&axes, &drop), (tensor, value_node)) {
            return;
        }
        let new = if whole_tensor(&axes, &drop, &ty.shape) {
            if found.shape.len() == ty.shape.len() {
                Some(src)
            } else {
                self.emit(node, Op::Full { shape: ty.shape.clone() }, &[src], &[])
            }
        } else {
            let new = self.emit(node, Op::SliceUpdate { axes, drop }, &[dst, src], &[tensor_node, value_node]);
            if let Some(v) = new {
                self.named_values.insert(v);
                self.graph.name_value(v, tensor);
            }
            new
        };
        if let Some(new) = new {
            self.vars[var].value = Value::Tensor(new);
        }
    }

    /// Whether a value can be stored to a part: equal dtype and shape, or a scalar.
    fn fits(
        &mut self,
        node: NodeId,
        found: &TensorType,
        ty: &TensorType,
        (axes, drop): (&[SliceAxis], &[usize]),
        (name, at): (&str, NodeId),
    ) -> bool {
        if found.dtype != ty.dtype {
            let message = format!("`{name}` holds `{}`, found `{}`", ty.dtype, found.dtype);
            self.fail(at, Code::DtypeMismatch, message, format!("convert it: `… as {}`", ty.dtype));
            return false;
        }
        let kept = axes.iter().enumerate().filter(|(i, _)| !drop.contains(i));
        let shape: Vec<IntExpr> = kept.map(|(_, axis)| axis.extent.clone()).collect();
        let equal = shape.len() == found.shape.len()
            && shape.iter().zip(&found.shape).all(|(a, b)| self.prover().prove_eq(a, b));
        if equal || found.shape.is_empty() {
            return true;
        }
        let code = if shape.len() == found.shape.len() { Code::DimMismatch } else { Code::Rank };
        let message = format!("this part has shape `{}`, found `{}`", show_shape(&shape), show_shape(&found.shape));
        let error = Diagnostic::new(at, code, message.clone()).label(node, format!("a part of `{name}`"));
        let error = self.with_origins(error, &message);
        self.report(error.help("give equal shapes, or a scalar"));
        false
    }

    // Forms that the graph has and this version does not compile, or checks at run time.

    /// `match_shape(e, [M, 4])`.
    pub(super) fn match_shape(
        &mut self,
        node: NodeId,
        value: &'a Expr,
        dims: &'a [Expr],
        hint: Option<&Type>,
    ) -> Value<'a> {
        let found = self.expr(value, hint);
        if self.inside {
            let message = "a closure over elements holds scalars, and `match_shape` takes a tensor";
            return self.fail(node, Code::TensorInClosure, message, "call it outside of the closure");
        }
        let Some(v) = self.as_tensor(value.node, &found) else {
            for dim in dims {
                if let ExprKind::Name(name) = &dim.kind
                    && self.is_new_dim(name)
                {
                    self.bind(name, dim.node, VariableKind::Fixed, Value::Unknown);
                }
            }
            return Value::Unknown;
        };
        let shape = self.graph.tensor(v).shape.clone();
        if shape.len() != dims.len() {
            let message = format!("expected rank {}, found {}", dims.len(), self.describe(&found));
            return self.fail(node, Code::Rank, message, "a shape names every axis");
        }
        let mut checked = false;
        let mut all = Vec::new();
        for (dim, extent) in dims.iter().zip(&shape) {
            if let ExprKind::Name(name) = &dim.kind
                && self.is_new_dim(name)
            {
                self.frame.dims.insert(name.clone(), extent.clone());
                all.push(extent.clone());
                continue;
            }
            let Some(expected) = self.written_extent(dim) else { return Value::Unknown };
            if self.meets_an_axis_by_wrapping(&expected) {
                let message = format!("`{expected}` may wrap, so that an axis which is equal to it says nothing of it");
                return self.fail(dim.node, Code::Limit, message, "bound what it is made of: `assert!(n <= N);`");
            }
            if let Some((a, b)) = expected.as_const().zip(extent.as_const()).filter(|(a, b)| a != b) {
                let message = format!("this axis has {b} elements, expected {a}");
                return self.fail(dim.node, Code::DimMismatch, message, "the two never agree");
            }
            if self.prover().prove_ne(&expected, extent) {
                let message = format!("this axis has `{extent}` elements, expected `{expected}`");
                return self.fail(dim.node, Code::DimMismatch, message, "the two never agree");
            }
            checked |= !self.prover().prove_eq(&expected, extent);
            self.graph.prover.assume_eq(&expected, extent);
            all.push(expected);
        }
        if !checked {
            return found;
        }
        match self.emit(node, Op::MatchShape { shape: all }, &[v], &[value.node]) {
            Some(v) => Value::Tensor(v),
            None => Value::Unknown,
        }
    }

    fn is_new_dim(&self, name: &str) -> bool {
        !self.frame.dims.contains_key(name) && self.find(name).is_none()
    }
}

fn first_name(pattern: &Pattern) -> Option<String> {
    let mut names = Vec::new();
    crate::search::bound_names(&pattern.kind, &mut names);
    names.into_iter().next()
}
