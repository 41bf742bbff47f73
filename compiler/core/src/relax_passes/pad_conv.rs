//! `PadConv`: a convolution with padding becomes a `pad` and a convolution without; so does a maximum over windows for
//! a target without vectors.
//!
//! `conv(x, w, pads = p)  ->  conv(pad(x, 0, p), w)`: the loops lose a condition per tap, and vectorise. A maximum is
//! padded by the least value there is. Where targets have vectors the schedule of windows asks no condition per element,
//! and needs no copy.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::ElementOp;
use tenfold_ir::relax::{
    self, Binding, DataLayout, Op, PadMode, Part, PoolOp, TensorType, Type, ValueData, ValueId, Window,
};
use tenfold_ir::{Function, Module, Scalar};

use super::widened::widening;
use crate::CompileError;
use crate::dlight::pooling::needs_no_padding;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("PadConv", &pad_conv)
    .in_phase(PassPhase::Graph)
    .at_level(1)
    .about("takes padding out of the loops of convolutions, and of maxima over windows for targets without vectors");

/// Runs on the entry.
pub(crate) fn pad_conv(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let entry = module.entry.clone();
    if let Some(Function::Relax(func)) = module.functions.get_mut(&entry) {
        let (narrow, maxima) = (widening(func), !needs_no_padding(&context.target));
        for block in 0..func.blocks.len() {
            let bindings = std::mem::take(&mut func.blocks[block].bindings);
            let padded = bindings.into_iter().flat_map(|b| expand(func, b, &narrow, maxima)).collect();
            func.blocks[block].bindings = padded;
        }
        *func = relax::renumbered(func);
    }
    Ok(())
}

/// The bindings that replace one; of maxima, too, where these are to be padded.
fn expand(
    func: &mut relax::Function,
    mut conv: Binding,
    narrow: &BTreeMap<ValueId, ValueId>,
    maxima: bool,
) -> Vec<Binding> {
    let tensor = |x: ValueId| func.values[x.0 as usize].ty.tensor().cloned();
    let (Some(ty), Some(out)) = (conv.args.first().and_then(|x| tensor(*x)), tensor(conv.out)) else {
        return vec![conv];
    };
    let (window, data, with) = match &mut conv.op {
        Op::Conv { window, layout, .. } => (window, layout.data, Scalar::zero(ty.dtype)),
        Op::Pool { op: PoolOp::Max, window, layout, ceil_mode } if maxima => {
            if *ceil_mode && let Some(pads) = whole_windows(window, *layout, &ty.shape, &out.shape) {
                (window.pads, *ceil_mode) = (pads, false);
            }
            (window, *layout, Scalar::least(ty.dtype))
        }
        _ => return vec![conv],
    };
    if window.pads.iter().all(|p| *p == 0) {
        return vec![conv];
    }
    let spatial = window.pads.len() / 2;
    let parts = data.parts(spatial);
    let sides = |from: usize| {
        let own = |part: &Part| part.axis().checked_sub(2).map_or(0, |axis| window.pads[from + axis]);
        parts.iter().map(|part| IntExpr::from(own(part))).collect::<Vec<_>>()
    };
    let (before, after) = (sides(0), sides(spatial));
    let shape: Vec<IntExpr> = (0..ty.shape.len()).map(|a| &(&ty.shape[a] + &before[a]) + &after[a]).collect();
    window.pads.fill(0);
    // What a convolution widens as it reads it is padded before that: with 0, which stays 0.
    let narrow = narrow.get(&conv.args[0]).filter(|_| matches!(conv.op, Op::Conv { .. }));
    let source = narrow.copied().unwrap_or(conv.args[0]);
    let dtype = func.values[source.0 as usize].ty.tensor().map_or(ty.dtype, |ty| ty.dtype);
    let with = if narrow.is_some() { Scalar::zero(dtype) } else { with };
    let filler = value(func, conv.out, TensorType { dtype, shape: Vec::new() });
    let padded = value(func, conv.out, TensorType { dtype, shape: Vec::clone(&shape) });
    let scalar = Binding::new(filler, Op::Scalar(with), Vec::new());
    let pad = Op::Pad { mode: PadMode::Constant, before, after };
    let pad = Binding::new(padded, pad, vec![source, filler]);
    conv.args[0] = padded;
    if narrow.is_none() {
        return vec![scalar, pad, conv];
    }
    let wide = value(func, conv.out, TensorType { dtype: ty.dtype, shape });
    conv.args[0] = wide;
    vec![scalar, pad, Binding::new(wide, Op::Element(ElementOp::Cast(ty.dtype)), vec![padded]), conv]
}

/// Padding behind which as many windows are whole: were it made of elements, one that begins there would count too.
fn whole_windows(window: &Window, data: DataLayout, x: &[IntExpr], out: &[IntExpr]) -> Option<Vec<i64>> {
    let (mut pads, spatial) = (window.pads.clone(), window.kernel.len());
    for (place, part) in data.parts(spatial).iter().enumerate() {
        let Some(axis) = part.axis().checked_sub(2) else { continue };
        let read = (out[place].as_const()? - 1) * window.strides[axis] + window.reach(axis);
        pads[spatial + axis] = (read - x[place].as_const()? - pads[axis]).max(0);
    }
    Some(pads)
}

/// A new value at the place of another.
fn value(func: &mut relax::Function, like: ValueId, ty: TensorType) -> ValueId {
    let loc = func.values[like.0 as usize].loc;
    func.values.push(ValueData { ty: Type::Tensor(ty), name: "pad".into(), loc, range: None });
    ValueId(func.values.len() as u32 - 1)
}
