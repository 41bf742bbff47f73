//! Images so many times as large, whose elements are those next to them: each is repeated, and no place is computed.

use super::super::compose::repeat;
use super::{Axis, Builder, Method, Mode, Nearest, OpError, Scale, Transform, ValueId, dim};

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
    let all: Vec<(usize, i64)> = axes.iter().filter_map(|axis| Some((axis.axis, times(axis, method)?))).collect();
    if all.is_empty() {
        return Ok((x, axes));
    }
    let (mut apart, mut wide, mut out) = (Vec::new(), Vec::new(), Vec::new());
    for (n, extent) in b.tensor(x).shape.clone().into_iter().enumerate() {
        apart.push(extent.clone());
        wide.push(extent.clone());
        let times = all.iter().find(|(axis, _)| *axis == n).map(|(_, times)| *times);
        if let Some(times) = times {
            apart.push(dim::int(1));
            wide.push(dim::int(times));
        }
        out.push(&extent * &dim::int(times.unwrap_or(1)));
    }
    let rest = axes.into_iter().filter(|axis| all.iter().all(|(own, _)| *own != axis.axis)).collect();
    Ok((repeat(b, x, &apart, wide, &out)?, rest))
}
