//! `extern_call!`: functions of the user's crate and of C.
//!
//! Where a value is wanted, the call is pure and fills results of the type that is written; as a statement it is an
//! effect, which may update what it is given as `&mut`.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::ops::Literal;
use tenfold_ir::relax::{Extern, Linkage, Op, TensorType, Type, ValueId};
use tenfold_ir::{DType, Scalar};

use super::cx::Elaborator;
use super::value::{Value, VariableKind};
use crate::ast::{Expr, ExprKind, Name, NodeId, Path, Stmt, StmtKind};
use crate::code::Code;
use crate::diagnostic::Diagnostic;

/// What is passed.
#[derive(Default)]
struct Operands {
    values: Vec<ValueId>,
    nodes: Vec<NodeId>,
    /// Operands that are updated, each with its variable.
    updates: Vec<(usize, usize)>,
}

/// Words that no function of C has for a name.
const WORDS_OF_C: [&str; 34] = [
    "auto", "bool", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
    "float", "for", "goto", "if", "inline", "int", "long", "register", "restrict", "return", "short", "signed",
    "sizeof", "static", "struct", "switch", "typedef", "union", "unsigned", "void", "while",
];

impl<'a> Elaborator<'a> {
    /// `extern_call!(path, …)`.
    pub(super) fn extern_call(
        &mut self,
        node: NodeId,
        path: &'a Path,
        args: &'a [Expr],
        hint: Option<&Type>,
    ) -> Value<'a> {
        if self.inside {
            let message = "a closure over elements calls no function outside";
            return self.fail(node, Code::TensorInClosure, message, "call it outside of the closure, on whole tensors");
        }
        let operands = self.extern_operands(args);
        let callee = self.outside(path);
        let (Some(operands), Some(callee)) = (operands, callee) else { return Value::Unknown };
        match hint {
            Some(ty) => self.extern_value(node, path, callee, operands, ty),
            None => self.extern_effect(node, path, callee, operands),
        }
    }

    /// The function: of C inside of `unsafe`, where it has a name and no path.
    fn outside(&mut self, path: &Path) -> Option<Extern> {
        let linkage = if self.vouched && path.segments.len() == 1 { Linkage::C } else { Linkage::Rust };
        let mut callee = Extern::new(path.segments.join("::"), linkage);
        if linkage == Linkage::C {
            let plain = path.segments[0].is_ascii() && !WORDS_OF_C.contains(&path.segments[0].as_str());
            if !plain {
                let message = format!("no function of C is called `{path}`");
                self.fail(path.node, Code::ExternCall, message, "write the name that C knows it by");
                return None;
            }
        } else {
            callee.symbol = self.frame.environment.symbol().to_string();
        }
        Some(callee)
    }

    fn extern_operands(&mut self, args: &'a [Expr]) -> Option<Operands> {
        let mut all = Operands::default();
        let mut fine = true;
        for arg in args {
            let value = match &arg.kind {
                ExprKind::MutRef(name) => self.updated(arg.node, name, &mut all),
                _ => self.extern_operand(arg),
            };
            match value {
                Some(value) => {
                    all.values.push(value);
                    all.nodes.push(arg.node);
                }
                None => fine = false,
            }
        }
        fine.then_some(all)
    }

    /// An index value goes as an `i64`, as an integer without suffix does.
    fn extern_operand(&mut self, arg: &'a Expr) -> Option<ValueId> {
        let index = match self.expr(arg, None) {
            Value::Index(e) => e,
            Value::Literal(Literal::Int(n)) => match i64::try_from(n) {
                Ok(n) => IntExpr::from(n),
                Err(_) => {
                    let message = format!("`{n}` does not fit an `i64`");
                    self.fail(arg.node, Code::LiteralRange, message, "write the dtype behind it: `3u64`");
                    return None;
                }
            },
            value => return self.as_tensor(arg.node, &value),
        };
        if let Some(n) = index.as_const() {
            self.graph.set_loc(self.loc(arg.node));
            return Some(self.graph.scalar(Scalar::int(DType::I64, i128::from(n))));
        }
        self.emit(arg.node, Op::IndexValue { expr: index, dtype: DType::I64 }, &[], &[])
    }

    /// `&mut s`.
    fn updated(&mut self, node: NodeId, name: &Name, all: &mut Operands) -> Option<ValueId> {
        let Some(var) = self.find(&name.text) else {
            self.unknown_name(name.node, &name.text);
            return None;
        };
        if self.vars[var].kind == VariableKind::Fixed {
            let error = Diagnostic::new(node, Code::NotMutable, format!("`{}` cannot be updated", name.text))
                .label(self.vars[var].node, "it is bound here without `mut`")
                .help("pass state, or a variable bound with `let mut`");
            self.report(error);
            return None;
        }
        if all.updates.iter().any(|(_, other)| *other == var) {
            let message = format!("`{}` is passed as `&mut` twice", name.text);
            self.fail(node, Code::Operand, message, "what a function updates does not overlap: pass it once");
            return None;
        }
        let value = self.variable(var);
        let value = self.as_tensor(node, &value)?;
        all.updates.push((all.values.len(), var));
        Some(value)
    }

    /// The symbol of the shim: one for each call and kind of operands, whatever the shapes are.
    fn shim(&self, path: &Path, callee: &mut Extern, types: &[TensorType]) {
        if callee.linkage == Linkage::C || callee.symbol.is_empty() {
            return;
        }
        let kinds = types.iter().map(|ty| format!("_{}_{}", ty.dtype.name(), ty.shape.len()));
        callee.symbol += &format!("_x{}{}", path.node.0, kinds.collect::<String>());
    }

    fn types_of(&self, operands: &Operands) -> Vec<TensorType> {
        operands.values.iter().map(|v| self.graph.tensor(*v).clone()).collect()
    }

    fn extern_value(
        &mut self,
        node: NodeId,
        path: &Path,
        mut callee: Extern,
        operands: Operands,
        ty: &Type,
    ) -> Value<'a> {
        if let Some((operand, _)) = operands.updates.first() {
            let message = "a call that gives a value updates nothing";
            let help = format!(
                "let it stand as a statement, and take the result as `&mut`: `extern_call!({path}, …, &mut y);`"
            );
            return self.fail(operands.nodes[*operand], Code::ExternCall, message, help);
        }
        let Some(results) = self.extern_results(node, ty) else { return Value::Unknown };
        let mut types = self.types_of(&operands);
        types.extend(results.iter().cloned());
        self.shim(path, &mut callee, &types);
        // The place of the path: the attribute prints the shim with its tokens.
        match self.emit(path.node, Op::CallDps { callee, results }, &operands.values, &operands.nodes) {
            Some(v) => self.unpacked(node, v),
            None => Value::Unknown,
        }
    }

    /// Tensors of extents that are not negative.
    fn extern_results(&mut self, node: NodeId, ty: &Type) -> Option<Vec<TensorType>> {
        let items = match ty {
            Type::Tuple(items) => items.as_slice(),
            one => std::slice::from_ref(one),
        };
        let all: Option<Vec<TensorType>> = items.iter().map(|item| item.tensor().cloned()).collect();
        let Some(all) = all else {
            self.fail(node, Code::ExternCall, "a result is a tensor or a scalar", "take nested tuples apart");
            return None;
        };
        for extent in all.iter().flat_map(|ty| &ty.shape) {
            if !crate::extent::non_negative(self.prover(), extent) {
                let message = format!("the extent `{extent}` of the result is not proven to be 0 or more");
                self.fail(node, Code::NegativeExtent, message, "state a fact in `dims(…)` or `assert!`");
                return None;
            }
        }
        Some(all)
    }

    fn extern_effect(&mut self, node: NodeId, path: &Path, mut callee: Extern, operands: Operands) -> Value<'a> {
        let types = self.types_of(&operands);
        self.shim(path, &mut callee, &types);
        let updates: Vec<usize> = operands.updates.iter().map(|(operand, _)| *operand).collect();
        let count = updates.len();
        let op = Op::CallPacked { callee, updates };
        let Some(v) = self.emit(path.node, op, &operands.values, &operands.nodes) else { return Value::Unknown };
        for (index, (_, var)) in operands.updates.iter().enumerate() {
            let part = if count == 1 { Some(v) } else { self.emit(node, Op::TupleGet(index), &[v], &[]) };
            let name = self.vars[*var].name.clone();
            let value = part.map_or(Value::Unknown, Value::Tensor);
            self.vars[*var].value = self.named_value(&name, value);
        }
        Value::Unit
    }

    /// Says that a type must be written, where a value is expected of a call that has none.
    pub(super) fn untyped_extern(&mut self, e: &'a Expr) -> bool {
        let Some(node) = extern_in(e) else { return false };
        let message = "the type of what `extern_call!` gives is not written";
        self.fail(node, Code::ExternCall, message, "write `let y: Tensor<f32, N> = extern_call!(…);`");
        true
    }
}

/// The `extern_call!` that an expression is, `unsafe` around it or not.
pub(super) fn extern_in(e: &Expr) -> Option<NodeId> {
    match &e.kind {
        ExprKind::ExternCall { .. } => Some(e.node),
        ExprKind::Unsafe(block) | ExprKind::Block(block) => match (&block.value, block.stmts.last()) {
            (Some(value), _) => extern_in(value),
            (None, Some(Stmt { kind: StmtKind::Expr(last), .. })) => extern_in(last),
            (None, _) => None,
        },
        _ => None,
    }
}
