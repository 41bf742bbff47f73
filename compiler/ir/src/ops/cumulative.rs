//! Running sums and products, in order.

use super::call::{axis_attr, bool_attr, tensor};
use super::check::numbers;
use super::compose::working;
use super::error::OpError;
use super::kernel::Kernel;
use super::{AttrDef, OpCall, OpDef, OpKind};
use crate::Scalar;
use crate::op::BinaryOp;
use crate::relax::{Builder, ValueId};

fn cumulative(b: &mut Builder, call: &OpCall, name: &str, op: BinaryOp) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    numbers(0, &ty)?;
    let axis = axis_attr(call, &ty, -1)?;
    let (exclusive, reverse) = (bool_attr(call, "exclusive", false)?, bool_attr(call, "reverse", false)?);
    let wide = working(ty.dtype);
    let unit = if op == BinaryOp::Mul { Scalar::one(wide) } else { Scalar::zero(wide) };
    let outer = [&ty.shape[..axis], &ty.shape[axis + 1..]].concat();
    let k = Kernel::new(b, name);
    let from = k.input(b, x);
    let out = k.output(ty.clone());
    let n = from.dim(axis);
    k.block(name, &outer, |i| {
        let so_far = k.cell("so_far", k.scalar(unit));
        k.for_("t", n, |t| {
            let at = if reverse { n - 1 - t } else { t };
            let index = [&i[..axis], &[at], &i[axis..]].concat();
            let before = so_far.get();
            let after = before.binary(op, from.at(&index).cast(wide)).bound("after");
            so_far.set(after);
            out.put(&index, if exclusive { before } else { after }.cast(ty.dtype));
        });
    });
    k.finish(b)
}

const ATTRS: &[AttrDef] = &[
    AttrDef { name: "axis", ty: "int = -1", doc: "the axis; negative counts from the end" },
    AttrDef { name: "exclusive", ty: "bool = false", doc: "whether an element itself does not count" },
    AttrDef { name: "reverse", ty: "bool = false", doc: "from the end of the axis" },
];

pub(super) static TABLE: &[OpDef] = &[
    OpDef {
        name: "cumsum",
        onnx: "CumSum",
        signature: "x",
        arity: (1, 1),
        attrs: ATTRS,
        typed: false,
        doc: "Running sums along an axis, in order; f16 and bf16 are summed in f32.",
        kind: OpKind::Graph(|b, call| cumulative(b, call, "cumsum", BinaryOp::Add)),
    },
    OpDef {
        name: "cumprod",
        onnx: "CumProd",
        signature: "x",
        arity: (1, 1),
        attrs: ATTRS,
        typed: false,
        doc: "Running products along an axis, in order; f16 and bf16 are multiplied in f32.",
        kind: OpKind::Graph(|b, call| cumulative(b, call, "cumprod", BinaryOp::Mul)),
    },
];
