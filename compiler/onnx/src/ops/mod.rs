//! The operators of ONNX that are imported: one row each, and how it becomes operators of the language.

mod attention;
mod batches;
mod cast;
mod chance;
mod control;
mod element;
mod index;
mod loss;
mod ngrams;
mod nn;
mod order;
mod quant;
mod recurrent;
mod reduce;
mod resize;
mod shape;
mod signal;
mod training;
mod turns;
mod vision;

pub(crate) use cast::table;
pub(crate) use nn::window;
pub(crate) use quant::limits;
pub(crate) use shape::slice_ends;

use crate::call::Call;
use crate::value::{Outcome, Value};
use crate::walk::Cx;

/// Converts a node.
pub(crate) type Convert = for<'c, 'm> fn(&mut Cx<'m>, &Call<'c, 'm>) -> Outcome<Vec<Value>>;

/// An operator.
#[derive(Clone, Copy)]
pub(crate) struct OnnxOp {
    /// Its operator set; empty for ONNX's own.
    pub(crate) domain: &'static str,
    /// Its name.
    pub(crate) name: &'static str,
    /// The first version of the operator set that has it.
    pub(crate) since: i64,
    /// What it becomes.
    pub(crate) convert: Convert,
}

/// A row of ONNX's own operator set.
pub(crate) const fn op(name: &'static str, since: i64, convert: Convert) -> OnnxOp {
    OnnxOp { domain: "", name, since, convert }
}

/// A node that is an operator of the language, operand by operand and attribute by attribute.
pub(crate) fn same<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, name: &str) -> Outcome<Vec<Value>> {
    let args = call.operands(cx)?;
    let results = cx.entry(call, name, args)?;
    cx.plains(&results)
}

/// Every operator, family by family.
pub(crate) fn all() -> impl Iterator<Item = &'static OnnxOp> {
    let families = [
        attention::TABLE,
        cast::TABLE,
        control::TABLE,
        element::TABLE,
        index::TABLE,
        loss::TABLE,
        ngrams::TABLE,
        nn::TABLE,
        quant::TABLE,
        recurrent::TABLE,
        reduce::TABLE,
        signal::TABLE,
        order::TABLE,
        chance::TABLE,
        resize::TABLE,
        shape::TABLE,
        vision::TABLE,
        training::TABLE,
    ];
    families.into_iter().flatten()
}

/// The operator of that name.
pub(crate) fn lookup(domain: &str, name: &str) -> Option<&'static OnnxOp> {
    all().find(|op| op.domain == domain && op.name == name)
}
