//! Rows of the operators' tables, and attributes that operators of several families have.

use super::AttrDef;

/// A row: name, ONNX's name, operands, how many (`2`, or `(2, 3)`), attributes, how it is made, texts.
macro_rules! entry {
    (@arity ($least:literal, $most:literal)) => {
        ($least, $most)
    };
    (@arity $exactly:literal) => {
        ($exactly, $exactly)
    };
    (
        $kind:ident, $typed:literal,
        $name:literal, $onnx:literal, $signature:literal, $arity:tt, $attrs:expr, $build:expr, $doc:literal
    ) => {
        $crate::ops::OpDef {
            name: $name,
            onnx: $onnx,
            signature: $signature,
            arity: entry!(@arity $arity),
            attrs: $attrs,
            typed: $typed,
            doc: $doc,
            kind: $crate::ops::OpKind::$kind($build),
        }
    };
}

/// An operator on whole tensors.
macro_rules! graph {
    ($($row:tt)+) => {
        entry!(Graph, false, $($row)+)
    };
}

/// An operator on whole tensors that takes a dtype in a turbofish.
macro_rules! typed {
    ($($row:tt)+) => {
        entry!(Graph, true, $($row)+)
    };
}

/// An operator that works element by element.
macro_rules! element {
    ($($row:tt)+) => {
        entry!(Element, false, $($row)+)
    };
}

pub(super) const AXIS: AttrDef =
    AttrDef { name: "axis", ty: "int = -1", doc: "the axis; negative counts from the end" };
pub(super) const AXES: AttrDef =
    AttrDef { name: "axis", ty: "int | list = all", doc: "the axis or axes to reduce; negative counts from the end" };
pub(super) const KEEPDIMS: AttrDef =
    AttrDef { name: "keepdims", ty: "bool = false", doc: "keep reduced axes with extent 1" };
pub(super) const FIRST_AXIS: AttrDef = AttrDef { name: "axis", ty: "int = -1", doc: "first normalised axis" };
pub(super) const EPSILON: AttrDef = AttrDef { name: "epsilon", ty: "float = 1e-5", doc: "added to the variance" };
