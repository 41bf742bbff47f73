//! Shapes of convolutions and pools in any layout: those of the plain ones, with axes in another order.

use super::show;
use super::window;
use crate::arith::Prover;
use crate::ops::{At, OpError, OpErrorKind};
use crate::relax::layout::has_name;
use crate::relax::{ConvLayout, DataLayout, Part, TensorType, Window, dim, plain_shape, stored_shape};

pub(super) fn conv(
    prover: &Prover,
    window: &Window,
    group: i64,
    layout: ConvLayout,
    args: &[TensorType],
) -> Result<TensorType, OpError> {
    let spatial = window.kernel.len();
    if layout == ConvLayout::default() || args.len() < 2 {
        return window::conv(prover, window, group, args);
    }
    let Some(result) = layout.result() else {
        let message = format!(
            "expected blocks in both layouts or in none, found `{}` and `{}`",
            layout.data.text(spatial),
            layout.kernel.text(spatial)
        );
        return Err(attribute("kernel_layout", message));
    };
    named("data_layout", spatial)?;
    let mut plain = args.to_vec();
    plain[0] = in_plain_order(prover, 0, &layout.data.text(spatial), &layout.data.parts(spatial), &args[0])?;
    plain[1] = in_plain_order(prover, 1, &layout.kernel.text(spatial), &layout.kernel.parts(spatial), &args[1])?;
    let out = window::conv(prover, window, group, &plain)?;
    Ok(TensorType { shape: stored_shape(&result.parts(spatial), &out.shape), ..out })
}

pub(super) fn pool(
    prover: &Prover,
    window: &Window,
    ceil_mode: bool,
    layout: DataLayout,
    x: &TensorType,
) -> Result<TensorType, OpError> {
    let spatial = window.kernel.len();
    if layout == DataLayout::default() {
        return window::pool(prover, window, ceil_mode, x);
    }
    named("layout", spatial)?;
    let parts = layout.parts(spatial);
    let plain = in_plain_order(prover, 0, &layout.text(spatial), &parts, x)?;
    let out = window::pool(prover, window, ceil_mode, &plain)?;
    Ok(TensorType { shape: stored_shape(&parts, &out.shape), ..out })
}

fn attribute(name: &str, message: String) -> OpError {
    OpError::new(At::Attr(name.to_string()), OpErrorKind::Attribute, message)
}

/// An error unless layouts have names for so many spatial axes.
fn named(name: &str, spatial: usize) -> Result<(), OpError> {
    if has_name(spatial) {
        return Ok(());
    }
    Err(attribute(name, format!("expected one to three spatial axes in another layout, found {spatial}")))
}

/// The type of an operand in plain order, if it has the axes of its layout.
fn in_plain_order(
    prover: &Prover,
    i: usize,
    layout: &str,
    parts: &[Part],
    x: &TensorType,
) -> Result<TensorType, OpError> {
    let fits = |(part, extent): (&Part, _)| match part {
        Part::Inner(_, block) => dim::equal(prover, &dim::int(*block), extent),
        Part::Whole(_) | Part::Outer(..) => true,
    };
    if x.shape.len() == parts.len() && parts.iter().zip(&x.shape).all(fits) {
        return Ok(TensorType { dtype: x.dtype, shape: plain_shape(parts, &x.shape) });
    }
    let message = format!("expected the axes of `{layout}`, found `{}`", show(x));
    Err(OpError::new(At::Arg(i), OpErrorKind::Rank, message))
}
