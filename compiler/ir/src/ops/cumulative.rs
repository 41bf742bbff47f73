//! Running sums and products, in order.

use super::call::{axis_attr, bool_attr, tensor};
use super::check::numbers;
use super::compose::working;
use super::entry::AXIS;
use super::error::OpError;
use super::kernel::Kernel;
use super::{AttrDef, OpCall, OpDef};
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
    AXIS,
    AttrDef { name: "exclusive", ty: "bool = false", doc: "whether an element itself does not count" },
    AttrDef { name: "reverse", ty: "bool = false", doc: "from the end of the axis" },
];

pub(super) static TABLE: &[OpDef] = &[
    graph!(
        "cumsum",
        "CumSum",
        "x",
        1,
        ATTRS,
        |b, call| cumulative(b, call, "cumsum", BinaryOp::Add),
        "Running sums along an axis, in order; f16 and bf16 are summed in f32."
    ),
    graph!(
        "cumprod",
        "CumProd",
        "x",
        1,
        ATTRS,
        |b, call| cumulative(b, call, "cumprod", BinaryOp::Mul),
        "Running products along an axis, in order; f16 and bf16 are multiplied in f32."
    ),
];
