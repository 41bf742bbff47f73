//! Arithmetic on two operands, element by element.

use tenfold_ir::DType;
use tenfold_ir::op::{BinaryOp, CmpOp, ElementOp};
use tenfold_ir::relax::ValueId;

use super::{Activation, Family, Kind, Results, common};
use crate::fixed::Multiplier;
use crate::walk::{Call, Cx, Outcome, fault};

pub(super) const FAMILY: Family = &[
    ("ADD", |cx, call| sum(cx, call, BinaryOp::Add)),
    ("SUB", |cx, call| sum(cx, call, BinaryOp::Sub)),
    ("MUL", mul),
    ("DIV", |cx, call| floats(cx, call, BinaryOp::Div, true)),
    ("POW", |cx, call| floats(cx, call, BinaryOp::Pow, false)),
    ("SQUARED_DIFFERENCE", squared_difference),
    ("MAXIMUM", |cx, call| extreme(cx, call, BinaryOp::Max)),
    ("MINIMUM", |cx, call| extreme(cx, call, BinaryOp::Min)),
    ("PRELU", prelu),
];

fn operands<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Outcome<[ValueId; 2]> {
    Ok([call.x(cx, 0)?, call.x(cx, 1)?])
}

/// An operator of floats, and the activation behind it if it has one.
fn floats<'m>(cx: &mut Cx<'m>, call: &Call<'m>, op: BinaryOp, activated: bool) -> Results {
    if common(call, &[0, 1])? != Kind::Float {
        return fault("it is supported on f32 alone");
    }
    let [a, b] = operands(cx, call)?;
    let activation = if activated { Activation::of(call.byte(0)?)? } else { Activation::None };
    let y = cx.binary(op, a, b)?;
    Ok(vec![activation.floats(cx, y)?])
}

/// Bits that integers are moved by before they are added.
const ROOM: u32 = 20;

fn sum<'m>(cx: &mut Cx<'m>, call: &Call<'m>, op: BinaryOp) -> Results {
    if common(call, &[0, 1])? == Kind::Float {
        return floats(cx, call, op, true);
    }
    let activation = Activation::of(call.byte(0)?)?;
    let (left, right, out) = (call.quant(0)?, call.quant(1)?, call.out_quant()?);
    let most = f64::from(2.0 * left.scale.max(right.scale));
    let mut scaled = Vec::new();
    let both = operands(cx, call)?;
    let shape = cx.shape(both[0]);
    // as vectors, so that what computes the operands stores their bytes, and no words
    let is_flat = shape == cx.shape(both[1]);
    for (x, of) in both.into_iter().zip([left, right]) {
        let x = if is_flat { cx.reshape(x, &[shape.iter().product()])? } else { x };
        let x = cx.centred(x, of)?;
        let x = cx.with(BinaryOp::Shl, x, i64::from(ROOM))?;
        scaled.push(cx.times(x, 255 << ROOM, &[Multiplier::of(f64::from(of.scale) / most)])?);
    }
    let y = cx.binary(op, scaled[0], scaled[1])?;
    // each is at most half of what it was moved to
    let by = Multiplier::of(most / (f64::from(1 << ROOM) * f64::from(out.scale)));
    let y = cx.times(y, 256 << ROOM, &[by])?;
    let y = cx.quantised(y, out, activation.integers(out))?;
    Ok(vec![if is_flat { cx.reshape(y, &shape)? } else { y }])
}

fn mul<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    if common(call, &[0, 1])? == Kind::Float {
        return floats(cx, call, BinaryOp::Mul, true);
    }
    let activation = Activation::of(call.byte(0)?)?;
    let (left, right, out) = (call.quant(0)?, call.quant(1)?, call.out_quant()?);
    let [a, b] = operands(cx, call)?;
    let (a, b) = (cx.centred(a, left)?, cx.centred(b, right)?);
    let y = cx.binary(BinaryOp::Mul, a, b)?;
    let by = Multiplier::of(f64::from(left.scale * right.scale / out.scale));
    let y = cx.times(y, 255 * 255, &[by])?;
    Ok(vec![cx.quantised(y, out, activation.integers(out))?])
}

fn squared_difference<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let difference = floats(cx, call, BinaryOp::Sub, false)?[0];
    Ok(vec![cx.binary(BinaryOp::Mul, difference, difference)?])
}

/// The greater or the smaller, of what has one scale.
fn extreme<'m>(cx: &mut Cx<'m>, call: &Call<'m>, op: BinaryOp) -> Results {
    if common(call, &[0, 1])? == Kind::Int8 {
        let all = [call.quant(0)?, call.quant(1)?, call.out_quant()?];
        if all[0] != all[1] || all[0] != all[2] {
            return fault("its operands and its result must have one scale and one zero point");
        }
    }
    let [a, b] = operands(cx, call)?;
    Ok(vec![cx.binary(op, a, b)?])
}

fn prelu<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let kind = common(call, &[0, 1])?;
    let [x, slope] = operands(cx, call)?;
    if kind == Kind::Float {
        return Ok(vec![cx.b.element(ElementOp::Prelu, &[x, slope])?]);
    }
    let (own, alpha, out) = (call.quant(0)?, call.quant(1)?, call.out_quant()?);
    let (x, slope) = (cx.centred(x, own)?, cx.centred(slope, alpha)?);
    let above = Multiplier::of(f64::from(own.scale / out.scale));
    let below = Multiplier::of(f64::from(own.scale * alpha.scale / out.scale));
    let product = cx.binary(BinaryOp::Mul, x, slope)?;
    let (above, below) = (cx.times(x, 255, &[above])?, cx.times(product, 255 * 255, &[below])?);
    let zero = cx.int(DType::I32, 0);
    let is_above = cx.compare(CmpOp::Ge, x, zero)?;
    let y = cx.select(is_above, above, below)?;
    Ok(vec![cx.quantised(y, out, (-128, 127))?])
}
