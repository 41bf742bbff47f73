//! Images so many times as large, whose elements are those next to them: each is repeated, and no place is computed.

use super::{
    Axis, Builder, IntExpr, Made, Method, Mode, Nearest, Op, OpError, Scale, Transform, ValueId, dim, reshape,
};

/// Times up to which elements are repeated.
const MOST: i64 = 64;

/// How often each element of an axis stands in the result, one behind the other, where the nearest neighbours are no others.
fn times(axis: &Axis, method: &Method) -> Option<i64> {
    let times = (2..=MOST).find(|n| axis.out == &axis.extent * &dim::int(*n))?;
    let exact = match axis.scale {
        Scale::Known(scale) => scale == times as f64,
        Scale::Quotient => true,
    };
    // Places of the first group are less than half an element away from their own; those of `asymmetric` are behind it.
    let rounded = matches!(method.nearest, Nearest::RoundPreferFloor | Nearest::RoundPreferCeil);
    let own = match method.transform {
        Transform::HalfPixel | Transform::PytorchHalfPixel | Transform::HalfPixelSymmetric => rounded,
        Transform::Asymmetric => match method.nearest {
            Nearest::Floor => true,
            Nearest::RoundPreferFloor => times == 2,
            Nearest::RoundPreferCeil | Nearest::Ceil => false,
        },
        Transform::AlignCorners | Transform::TfCropAndResize => false,
    };
    (method.mode == Mode::Nearest && exact && own).then_some(times)
}

/// A tensor with its elements repeated along some of these axes, and the others.
pub(super) fn repeated(
    b: &mut Builder,
    x: ValueId,
    axes: Vec<Axis>,
    method: &Method,
) -> Result<(ValueId, Vec<Axis>), OpError> {
    let (repeated, rest): (Vec<_>, Vec<_>) = axes.into_iter().partition(|axis| times(axis, method).is_some());
    if repeated.is_empty() {
        return Ok((x, rest));
    }
    let (mut apart, mut wide, mut out) = (Vec::new(), Vec::new(), Vec::new());
    for (n, extent) in b.tensor(x).shape.clone().into_iter().enumerate() {
        apart.push(extent.clone());
        wide.push(extent.clone());
        let times = repeated.iter().find(|axis| axis.axis == n).and_then(|axis| times(axis, method));
        if let Some(times) = times {
            apart.push(dim::int(1));
            wide.push(dim::int(times));
        }
        out.push(&extent * &dim::int(times.unwrap_or(1)));
    }
    Ok((spread(b, x, &apart, wide, &out)?, rest))
}

/// Axes of one element as longer ones, which then belong to those before them.
fn spread(b: &mut Builder, x: ValueId, apart: &[IntExpr], wide: Vec<IntExpr>, out: &[IntExpr]) -> Made {
    let x = reshape(b, x, apart)?;
    let x = b.emit(Op::BroadcastTo { shape: wide }, &[x])?;
    reshape(b, x, out)
}
