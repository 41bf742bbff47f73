//! A node as its converter sees it: operands and attributes.

use std::collections::BTreeMap;

use tenfold_ir::ops::{Arg, AttrDef, AttrValue};
use tenfold_ir::relax::ValueId;

use crate::elem::Elem;
use crate::proto::{AttributeValue, Graph, Node};
use crate::value::{Fault, Outcome, Value, fault};
use crate::walk::Cx;

/// A node with what its names mean.
#[derive(Clone)]
pub(crate) struct Call<'c, 'm> {
    pub(crate) node: &'c Node<'m>,
    /// Version of the operator set that the graph imports.
    pub(crate) version: i64,
    /// Operands; those left out are [`Value::None`].
    pub(crate) inputs: Vec<Value>,
    /// Attributes by name, references to those of a function resolved.
    pub(crate) attributes: BTreeMap<&'m str, AttributeValue<'m>>,
}

impl<'m> Call<'_, 'm> {
    /// Whether operand `i` is there.
    pub(crate) fn has(&self, i: usize) -> bool {
        !matches!(self.inputs.get(i), None | Some(Value::None))
    }

    /// Whether result `i` is asked for.
    pub(crate) fn wants(&self, i: usize) -> bool {
        self.node.outputs.get(i).is_some_and(|name| !name.is_empty())
    }

    /// Operand `i`.
    pub(crate) fn value(&self, i: usize) -> Outcome<&Value> {
        match self.inputs.get(i) {
            None | Some(Value::None) => fault(format!("operand {i} is missing")),
            Some(value) => Ok(value),
        }
    }

    /// Operand `i` as a tensor of the function, of a type that operators compute with.
    pub(crate) fn x(&self, cx: &mut Cx<'m>, i: usize) -> Outcome<ValueId> {
        let (id, elem) = self.any(cx, i)?;
        if elem.is_plain() { Ok(id) } else { fault(format!("elements of type {elem} are not supported here")) }
    }

    /// Operand `i` as a tensor of the function, of any type.
    pub(crate) fn any(&self, cx: &mut Cx<'m>, i: usize) -> Outcome<(ValueId, Elem)> {
        let value = self.value(i)?;
        Ok((cx.node(value)?, cx.elem(value)?))
    }

    /// Operand `i`, if it is there.
    pub(crate) fn optional(&self, cx: &mut Cx<'m>, i: usize) -> Outcome<Option<ValueId>> {
        if self.has(i) { self.x(cx, i).map(Some) } else { Ok(None) }
    }

    /// All operands.
    pub(crate) fn all(&self, cx: &mut Cx<'m>) -> Outcome<Vec<ValueId>> {
        (0..self.inputs.len()).map(|i| self.x(cx, i)).collect()
    }

    fn wrong<T>(&self, name: &str, expected: &str) -> Outcome<T> {
        let found = match self.attributes.get(name) {
            Some(AttributeValue::Other(what)) => format!(", found {what}"),
            Some(_) | None => String::new(),
        };
        fault(format!("expected {expected} for the attribute `{name}`{found}"))
    }

    /// All operands in their places as those of an operator of the language, in which `[]` is one that is left out.
    pub(crate) fn operands(&self, cx: &mut Cx<'m>) -> Outcome<Vec<Arg>> {
        let operand = |i| Ok(self.optional(cx, i)?.map_or(Arg::List(Vec::new()), Arg::Value));
        let mut all = (0..self.inputs.len()).map(operand).collect::<Outcome<Vec<Arg>>>()?;
        while matches!(all.last(), Some(Arg::List(_))) {
            all.pop();
        }
        Ok(all)
    }

    /// An attribute as an operator of the language takes it: words in lower case, 0 and 1 as bools.
    pub(crate) fn entry_attribute(&self, of: &AttrDef) -> Outcome<Option<AttrValue>> {
        let Some(value) = self.attributes.get(of.name) else { return Ok(None) };
        let words = of.ty.starts_with(['"', 'l']);
        let text = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            AttrValue::Text(if words { text.to_ascii_lowercase() } else { text })
        };
        Ok(Some(match value {
            AttributeValue::Int(value) if of.ty.starts_with("bool") => AttrValue::Bool(*value != 0),
            AttributeValue::Int(value) => AttrValue::Int((*value).into()),
            AttributeValue::Float(value) => AttrValue::Float(f64::from(*value)),
            AttributeValue::Ints(list) => AttrValue::List(list.iter().map(|n| AttrValue::Int((*n).into())).collect()),
            AttributeValue::Floats(list) => {
                AttrValue::List(list.iter().map(|x| AttrValue::Float(f64::from(*x))).collect())
            }
            AttributeValue::String([]) => return Ok(None),
            AttributeValue::String(bytes) => text(bytes),
            AttributeValue::Strings(list) => AttrValue::List(list.iter().map(|bytes| text(bytes)).collect()),
            _ => return self.wrong(of.name, "a value that the language has"),
        }))
    }

    /// An integer attribute.
    pub(crate) fn int(&self, name: &str) -> Outcome<Option<i64>> {
        match self.attributes.get(name) {
            None => Ok(None),
            Some(AttributeValue::Int(value)) => Ok(Some(*value)),
            Some(_) => self.wrong(name, "an integer"),
        }
    }

    /// An integer attribute or its default.
    pub(crate) fn int_or(&self, name: &str, default: i64) -> Outcome<i64> {
        Ok(self.int(name)?.unwrap_or(default))
    }

    /// A float attribute.
    pub(crate) fn float(&self, name: &str) -> Outcome<Option<f32>> {
        match self.attributes.get(name) {
            None => Ok(None),
            Some(AttributeValue::Float(value)) => Ok(Some(*value)),
            Some(_) => self.wrong(name, "a float"),
        }
    }

    /// A float attribute or its default.
    pub(crate) fn float_or(&self, name: &str, default: f32) -> Outcome<f32> {
        Ok(self.float(name)?.unwrap_or(default))
    }

    /// A list of integers.
    pub(crate) fn ints(&self, name: &str) -> Outcome<Option<Vec<i64>>> {
        match self.attributes.get(name) {
            None => Ok(None),
            Some(AttributeValue::Ints(values)) => Ok(Some(values.clone())),
            Some(_) => self.wrong(name, "a list of integers"),
        }
    }

    /// A list of floats.
    pub(crate) fn floats(&self, name: &str) -> Outcome<Option<Vec<f32>>> {
        match self.attributes.get(name) {
            None => Ok(None),
            Some(AttributeValue::Floats(values)) => Ok(Some(values.clone())),
            Some(_) => self.wrong(name, "a list of floats"),
        }
    }

    /// A text.
    pub(crate) fn text(&self, name: &str, default: &str) -> Outcome<String> {
        match self.attributes.get(name) {
            None => Ok(default.to_string()),
            Some(AttributeValue::String(bytes)) => Ok(String::from_utf8_lossy(bytes).into_owned()),
            Some(_) => self.wrong(name, "a string"),
        }
    }

    /// A graph.
    pub(crate) fn graph(&self, name: &str) -> Outcome<&Graph<'m>> {
        match self.attributes.get(name) {
            Some(AttributeValue::Graph(graph)) => Ok(graph),
            Some(_) => self.wrong(name, "a graph"),
            None => fault(format!("the attribute `{name}` is missing")),
        }
    }

    /// The axes of a tensor of that rank that the operand `i` or the attribute `name` names, counted from the front;
    /// `None` if neither is there.
    pub(crate) fn axes(&self, cx: &mut Cx<'m>, i: usize, name: &str, rank: usize) -> Outcome<Option<Vec<usize>>> {
        let written = match self.ints(name)? {
            Some(axes) => Some(axes),
            None if self.has(i) => Some(cx.i64s(self.value(i)?)?),
            None => None,
        };
        written.map(|axes| axes.into_iter().map(|axis| axis_of(axis, rank)).collect()).transpose()
    }

    /// The attribute `axis` of a tensor of that rank.
    pub(crate) fn axis(&self, default: i64, rank: usize) -> Outcome<usize> {
        axis_of(self.int_or("axis", default)?, rank)
    }
}

/// An axis counted from the front.
pub(crate) fn axis_of(axis: i64, rank: usize) -> Outcome<usize> {
    let counted = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    match usize::try_from(counted) {
        Ok(axis) if axis < rank => Ok(axis),
        _ => Err(Fault::Message(format!("axis {axis} is outside of rank {rank}"))),
    }
}
