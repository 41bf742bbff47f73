//! `const W: Tensor<f32, 64, 32> = …;`.

use std::sync::Arc;

use tenfold_ir::ops::{Literal, show_tensor};
use tenfold_ir::relax::{TensorType, Type};
use tenfold_ir::{ConstBytes, ConstData, Scalar, content};

use super::ConstLookup;
use super::cx::Elaborator;
use super::value::{Value, VariableKind};
use crate::ast::{Block, ConstSource, Expr, ExprKind, Name, NodeId, StmtKind};
use crate::code::Code;
use crate::diagnostic::Diagnostic;

impl<'a> Elaborator<'a> {
    /// Binds the constants of a block, which are seen in all of it.
    pub(super) fn consts(&mut self, block: &'a Block) {
        for stmt in &block.stmts {
            if let StmtKind::Const { name, ty, source } = &stmt.kind {
                if self.frame.dims.contains_key(&name.text) {
                    let message = format!("`{}` is a constant and a dim", name.text);
                    self.fail(name.node, Code::NameTwice, message, "rename one of them");
                }
                let written = self.written_type(ty);
                let value = self.constant(name, written.as_ref(), source, ty.node);
                self.bind(&name.text, name.node, VariableKind::Fixed, value);
            }
        }
    }

    fn constant(&mut self, name: &'a Name, ty: Option<&Type>, source: &'a ConstSource, ty_node: NodeId) -> Value<'a> {
        let node = match source {
            ConstSource::Value(value) => value.node,
            ConstSource::Safetensors { file, .. } | ConstSource::Npz { file, .. } | ConstSource::Npy { file } => {
                file.node
            }
        };
        match source {
            ConstSource::Value(value) => self.constant_value(name, ty, value, ty_node),
            ConstSource::Safetensors { .. } | ConstSource::Npz { .. } | ConstSource::Npy { .. } => {
                let Some(Type::Tensor(ty)) = ty else { return Value::Unknown };
                match self.frame.environment.constant(source, node) {
                    ConstLookup::Unknown => {
                        self.unknown = true;
                        self.placeholder(&Type::Tensor(ty.clone()), "constant")
                    }
                    ConstLookup::Error(error) => {
                        self.report(error);
                        self.placeholder(&Type::Tensor(ty.clone()), "constant")
                    }
                    ConstLookup::Found(data) => self.found_constant(name, ty, data, node, ty_node),
                }
            }
        }
    }

    fn found_constant(
        &mut self,
        name: &Name,
        ty: &TensorType,
        mut data: ConstData,
        node: NodeId,
        ty_node: NodeId,
    ) -> Value<'a> {
        let found = TensorType {
            dtype: data.dtype,
            shape: data.shape.iter().map(|n| i64::try_from(*n).unwrap_or(i64::MAX).into()).collect(),
        };
        if !self.same_type(&Type::Tensor(found.clone()), &Type::Tensor(ty.clone())) {
            let message = format!(
                "`{}` is written as `{}`, and the file holds `{}`",
                name.text,
                show_tensor(ty),
                show_tensor(&found)
            );
            let error = Diagnostic::new(ty_node, Code::ConstMismatch, message)
                .label(node, "read from here")
                .help("write the type that the file has, and convert where it is used");
            self.report(error);
            return self.placeholder(&Type::Tensor(ty.clone()), "constant");
        }
        data.name.clone_from(&name.text);
        self.emit_constant(name, found, data)
    }

    fn emit_constant(&mut self, name: &Name, ty: TensorType, data: ConstData) -> Value<'a> {
        let id = self.module.add_constant(data);
        self.graph.set_loc(self.loc(name.node));
        let v = self.graph.constant(id, ty);
        self.named_values.insert(v);
        self.graph.name_value(v, &name.text);
        Value::Tensor(v)
    }

    fn constant_value(&mut self, name: &'a Name, ty: Option<&Type>, value: &'a Expr, ty_node: NodeId) -> Value<'a> {
        if let ExprKind::Array(items) = &value.kind {
            return match ty {
                Some(Type::Tensor(ty)) => self.array(name, ty, value, items),
                Some(Type::Tuple(_) | Type::Shape(_)) | None => Value::Unknown,
            };
        }
        let given = self.expr(value, ty);
        let Some(ty) = ty else { return Value::Unknown };
        match self.expect(value.node, given, ty, "the constant", ty_node) {
            Value::Unknown => self.placeholder(ty, "constant"),
            value => value,
        }
    }

    /// `[0.135, 0.607]`, nested for more axes.
    fn array(&mut self, name: &'a Name, ty: &TensorType, whole: &'a Expr, items: &'a [Expr]) -> Value<'a> {
        let mut shape = Vec::new();
        for dim in &ty.shape {
            match dim.as_const().and_then(|n| u64::try_from(n).ok()) {
                Some(n) => shape.push(n),
                None => {
                    let message = format!("a constant has fixed extents, found `{dim}`");
                    return self.fail(name.node, Code::DimExpression, message, format!("fix it: `dims({dim} = 8)`"));
                }
            }
        }
        let mut scalars = Vec::new();
        if !self.array_items(whole, items, ty, &shape, &mut scalars) {
            return self.placeholder(&Type::Tensor(ty.clone()), "constant");
        }
        let bytes: Vec<u8> = scalars.iter().flat_map(|s: &Scalar| s.to_le_bytes()).collect();
        let data = ConstData {
            hash: content::of_bytes(ty.dtype, &shape, &bytes),
            name: name.text.clone(),
            dtype: ty.dtype,
            shape,
            bytes: ConstBytes::Inline(Arc::from(bytes)),
        };
        self.emit_constant(name, ty.clone(), data)
    }

    fn array_items(
        &mut self,
        at: &'a Expr,
        items: &'a [Expr],
        ty: &TensorType,
        shape: &[u64],
        out: &mut Vec<Scalar>,
    ) -> bool {
        let Some((first, rest)) = shape.split_first() else {
            let message = format!("this array is nested deeper than `{}` has axes", show_tensor(ty));
            self.fail(at.node, Code::Rank, message, "write one level of brackets per axis");
            return false;
        };
        if items.len() as u64 != *first {
            let message = format!("expected {first} elements, found {}", items.len());
            self.fail(at.node, Code::DimMismatch, message, format!("the type is `{}`", show_tensor(ty)));
            return false;
        }
        let mut fine = true;
        for item in items {
            fine &= match &item.kind {
                ExprKind::Array(inner) => self.array_items(item, inner, ty, rest, out),
                _ if !rest.is_empty() => {
                    let message = format!("expected an array of {} elements", rest[0]);
                    self.fail(item.node, Code::Rank, message, "write one level of brackets per axis");
                    false
                }
                _ => self.array_item(item, ty, out),
            };
        }
        fine
    }

    fn array_item(&mut self, item: &'a Expr, ty: &TensorType, out: &mut Vec<Scalar>) -> bool {
        let value = self.expr(item, None);
        let value = match value {
            Value::Index(e) => match e.as_const() {
                Some(n) => self.literal_as(item.node, Literal::Int(i128::from(n)), ty.dtype),
                None => Value::Index(e),
            },
            value => self.coerce(item.node, value, ty.dtype),
        };
        match value {
            Value::Fixed(s) if s.dtype == ty.dtype => {
                out.push(s);
                true
            }
            Value::Unknown => false,
            other => {
                let message = format!("expected a constant of `{}`, found {}", ty.dtype, self.describe(&other));
                self.fail(item.node, Code::DtypeMismatch, message, "write a literal");
                false
            }
        }
    }
}
