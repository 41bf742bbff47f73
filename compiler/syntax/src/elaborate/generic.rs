//! Which instance of a generic function a call means: what its turbofish says, else what its operands are.

use tenfold_ir::relax::{TensorType, Type};

use super::cx::Elaborator;
use super::inline::Argument;
use crate::ast::{Call, Expr, ExprKind, Generic, GenericKind, Name, TensorFn, TypeKind};
use crate::code::Code;
use crate::signature::{GenericValue, Instance, values_of};

impl<'a> Elaborator<'a> {
    /// The instance that a call means; `None` if there is none, which is reported.
    pub(super) fn instance_of(
        &mut self,
        call: &'a Call,
        function: &'a TensorFn,
        args: &[Argument<'a>],
    ) -> Option<Instance> {
        let (generics, given) = (&function.generics, &call.turbofish);
        if !given.is_empty() && given.len() != generics.len() {
            let takes = super::show::count(generics.len(), "generic parameter");
            let message = format!("`{}` has {takes}, found {}", call.callee, given.len());
            let help = format!("write `{}{}(…)`", call.callee, example(function));
            self.fail(call.callee.node, Code::GenericInstances, message, help);
            return None;
        }
        let mut values = Vec::new();
        for (position, generic) in generics.iter().enumerate() {
            let value = match given.get(position) {
                Some(written) => self.generic_argument(generic, written)?,
                None => self.inferred(call, function, generic, args)?,
            };
            self.is_listed(call, function, generic, value)?;
            values.push((generic.name.text.clone(), value));
        }
        Some(Instance::new(values))
    }

    /// What a turbofish says.
    fn generic_argument(&mut self, generic: &Generic, written: &'a Expr) -> Option<GenericValue> {
        match (generic.kind, &written.kind) {
            (GenericKind::Dtype, ExprKind::Name(name)) => {
                self.dtype(&Name { node: written.node, text: name.clone() }).map(GenericValue::Dtype)
            }
            (GenericKind::Const, _) => match self.written_extent(written)?.as_const() {
                Some(value) => Some(GenericValue::Const(value)),
                None => {
                    let message = format!("`{}` is a constant, and this is not", generic.name.text);
                    self.fail(written.node, Code::GenericInstances, message, "write a number, `self::f::<3>(x)`");
                    None
                }
            },
            (GenericKind::Dtype, _) => {
                let message = format!("`{}` is a dtype", generic.name.text);
                self.fail(written.node, Code::GenericInstances, message, "write its name, `self::f::<f32>(x)`");
                None
            }
        }
    }

    /// What the operands say.
    fn inferred(
        &mut self,
        call: &Call,
        function: &TensorFn,
        generic: &Generic,
        args: &[Argument<'a>],
    ) -> Option<GenericValue> {
        let name = &generic.name.text;
        for (param, arg) in function.params.iter().zip(args) {
            let Some(Type::Tensor(found)) = self.type_of(&arg.value) else { continue };
            if let Some(value) = told(&param.ty.kind, &found, generic) {
                return Some(value);
            }
        }
        let message = format!("no operand says what `{name}` of `{}` is", call.callee);
        let help = format!("write `{}{}(…)`", call.callee, example(function));
        self.fail(call.callee.node, Code::GenericInstances, message, help);
        None
    }

    /// Reports a value for which the function has no instance.
    fn is_listed(&mut self, call: &Call, function: &TensorFn, generic: &Generic, value: GenericValue) -> Option<()> {
        let name = &generic.name.text;
        let listed = values_of(function, name, generic.kind);
        if listed.contains(&value) {
            return Some(());
        }
        let listed: Vec<String> = listed.iter().map(|value| value.to_string()).collect();
        let message = format!("`{}` has no instance with `{name} = {value}`", call.callee);
        let help = format!("list it where the function stands: `{name} = [{}, {value}]`", listed.join(", "));
        self.fail(call.callee.node, Code::GenericInstances, message, help);
        None
    }
}

/// What an operand for a parameter of that type says of a generic parameter.
fn told(param: &TypeKind, found: &TensorType, generic: &Generic) -> Option<GenericValue> {
    let name = &generic.name.text;
    match (generic.kind, param) {
        (GenericKind::Dtype, TypeKind::Tensor(ty)) if ty.dtype.text == *name => Some(GenericValue::Dtype(found.dtype)),
        (GenericKind::Dtype, TypeKind::Scalar(ty)) if ty == name => Some(GenericValue::Dtype(found.dtype)),
        (GenericKind::Const, TypeKind::Tensor(ty)) => {
            let stands = |dim: &Expr| matches!(&dim.kind, ExprKind::Name(dim) if dim == name);
            let axis = ty.dims.iter().position(stands)?;
            found.shape.get(axis)?.as_const().map(GenericValue::Const)
        }
        _ => None,
    }
}

/// A turbofish that the function takes.
fn example(function: &TensorFn) -> String {
    crate::signature::instances(function).first().map(Instance::turbofish).unwrap_or_default()
}
