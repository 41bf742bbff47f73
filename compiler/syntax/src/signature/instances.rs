//! The instances of a generic function: every choice of values for its generic parameters.

use std::fmt;

use tenfold_abi::DType;

use super::{Signature, signature_of};
use crate::ast::{Expr, ExprKind, GenericKind, Literal, TensorFn};
use crate::diagnostic::{Diagnostic, Diagnostics};

/// What a generic parameter stands for in an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GenericValue {
    /// `T = [f32, f16]`.
    Dtype(DType),
    /// `K = [3, 5]`.
    Const(i64),
}

impl fmt::Display for GenericValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GenericValue::Dtype(dtype) => f.write_str(dtype.name()),
            GenericValue::Const(value) => write!(f, "{value}"),
        }
    }
}

/// A value for each generic parameter, in the order of their declaration; none of a function that is not generic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Instance {
    values: Vec<(String, GenericValue)>,
}

impl Instance {
    /// An instance by its values.
    pub(crate) fn new(values: Vec<(String, GenericValue)>) -> Self {
        Instance { values }
    }

    /// What a parameter stands for.
    pub fn get(&self, name: &str) -> Option<GenericValue> {
        self.values.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// The number of a constant.
    pub(crate) fn constant(&self, name: &str) -> Option<i64> {
        match self.get(name)? {
            GenericValue::Const(value) => Some(value),
            GenericValue::Dtype(_) => None,
        }
    }

    /// Its values, in the order of their declaration.
    pub fn values(&self) -> impl Iterator<Item = GenericValue> {
        self.values.iter().map(|(_, value)| *value)
    }

    /// Whether it is the one instance of a function that is not generic.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Its name in the function's module: `of_f32_3`.
    pub fn name(&self) -> String {
        self.values().fold("of".to_string(), |name, value| format!("{name}_{value}"))
    }

    /// As a call writes it: `::<f32, 3>`; nothing for a function that is not generic.
    pub fn turbofish(&self) -> String {
        let values: Vec<String> = self.values().map(|value| value.to_string()).collect();
        if values.is_empty() { String::new() } else { format!("::<{}>", values.join(", ")) }
    }
}

/// In words: `T = f32, K = 3`.
impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        f.write_str(&parts.join(", "))
    }
}

/// The instances of a function: every choice of values, the last parameter varying fastest; an empty one if it is not
/// generic. A parameter without values, which is reported, has one of the commonest, so that the rest is checked.
pub fn instances(function: &TensorFn) -> Vec<Instance> {
    let mut all = vec![Instance::default()];
    for generic in &function.generics {
        let values = values_of(function, &generic.name.text, generic.kind);
        let choices = |so_far: Instance| {
            let with = |value: &GenericValue| {
                let mut next = so_far.clone();
                next.values.push((generic.name.text.clone(), *value));
                next
            };
            values.iter().map(with).collect::<Vec<_>>()
        };
        all = all.into_iter().flat_map(choices).collect();
    }
    all
}

/// The values of one generic parameter.
pub(crate) fn values_of(function: &TensorFn, name: &str, kind: GenericKind) -> Vec<GenericValue> {
    let list = function.attributes.instances.iter().find(|i| i.name.text == name);
    let written = list.into_iter().flat_map(|list| &list.values);
    let mut values: Vec<GenericValue> = Vec::new();
    for value in written.filter_map(|value| generic_value(kind, value)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    if values.is_empty() {
        values.push(match kind {
            GenericKind::Dtype => GenericValue::Dtype(DType::F32),
            GenericKind::Const => GenericValue::Const(3),
        });
    }
    values
}

/// A value as the attribute or a turbofish writes it.
pub(crate) fn generic_value(kind: GenericKind, value: &Expr) -> Option<GenericValue> {
    match (kind, &value.kind) {
        (GenericKind::Dtype, ExprKind::Name(name)) => DType::from_any_name(name).map(GenericValue::Dtype),
        (GenericKind::Const, ExprKind::Literal(Literal::Int { value, .. })) => {
            i64::try_from(*value).ok().map(GenericValue::Const)
        }
        (GenericKind::Dtype | GenericKind::Const, _) => None,
    }
}

/// The signature of every instance. Whether the Rust function can fail is the same for all, so that a call by type has
/// one form: it can if one of them can. None if an error leaves nothing to go by.
pub fn signatures(function: &TensorFn) -> Option<Vec<(Instance, Signature)>> {
    let of = |instance: Instance| Some((signature_of(function, &instance).0?, instance));
    let all: Option<Vec<_>> = instances(function).into_iter().map(of).collect();
    let mut all: Vec<(Instance, Signature)> = all?.into_iter().map(|(signature, of)| (of, signature)).collect();
    let fallible = all.iter().any(|(_, signature)| signature.fallible);
    for (_, signature) in &mut all {
        signature.fallible = fallible;
    }
    Some(all)
}

/// The errors of all instances as those of their function: what is wrong with each is said once, what is wrong with some
/// says with which.
pub fn errors_of_all(found: Vec<(Instance, Vec<Diagnostic>)>) -> Diagnostics {
    let mut all = Diagnostics::default();
    let everywhere = |error: &Diagnostic| found.iter().all(|(_, errors)| errors.contains(error));
    let mut with: Vec<(Diagnostic, Vec<String>)> = Vec::new();
    for (instance, errors) in &found {
        for error in errors {
            match with.iter_mut().find(|(known, _)| known == error) {
                Some((_, instances)) => instances.push(instance.to_string()),
                None => with.push((error.clone(), vec![instance.to_string()])),
            }
        }
    }
    for (mut error, instances) in with {
        if !everywhere(&error) {
            // behind the first line: what follows is a table
            let end = error.message.find('\n').unwrap_or(error.message.len());
            error.message.insert_str(end, &format!(", with `{}`", instances.join("`, `")));
        }
        all.report(error);
    }
    all.sort();
    all
}
