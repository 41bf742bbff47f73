//! Elements moved between channels and space, and grids of coordinates.

use super::call::{int_attr, list, missing, tensor, word_attr};
use super::check::{attr_error, rank};
use super::compose::{reshape, transpose};
use super::error::{At, OpError, OpErrorKind, show_tensor};
use super::{AttrDef, OpCall, OpDef};
use crate::arith::IntExpr;
use crate::relax::{Builder, Op, TensorType, ValueId, dim};

fn blocksize(call: &OpCall) -> Result<i64, OpError> {
    match int_attr(call, "blocksize")? {
        None => Err(missing("blocksize", "2")),
        Some(n) if (1..1 << 16).contains(&n) => Ok(n),
        Some(n) => Err(attr_error("blocksize", format!("expected 1 to 65535 for `blocksize`, found {n}"))),
    }
}

/// An extent divided by a number that provably divides it.
fn divided(b: &Builder, x: &TensorType, axis: usize, by: i64) -> Result<IntExpr, OpError> {
    let extent = &x.shape[axis];
    let part = dim::div_floor(extent, by);
    if dim::equal(&b.prover, &(&part * &dim::int(by)), extent) {
        return Ok(part);
    }
    let message = format!("axis {axis} of `{}` is not proven to be a multiple of {by}", show_tensor(x));
    let error = OpError::new(At::Arg(0), OpErrorKind::Dims, message);
    Err(if dim::as_int(extent).is_some() {
        error
    } else {
        error.help(format!("state a fact: `dims({extent} % {by} == 0)`"))
    })
}

fn depth_to_space(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    rank(0, &ty, 4)?;
    let n = blocksize(call)?;
    let depth = divided(b, &ty, 1, n * n)?;
    let [batch, _, h, w] = [0, 1, 2, 3].map(|axis| ty.shape[axis].clone());
    let block = dim::int(n);
    let (split, perm) = match word_attr(call, "mode", &["dcr", "crd"])? {
        0 => ([batch.clone(), block.clone(), block.clone(), depth.clone(), h.clone(), w.clone()], [0, 3, 4, 1, 5, 2]),
        _ => ([batch.clone(), depth.clone(), block.clone(), block.clone(), h.clone(), w.clone()], [0, 1, 4, 2, 5, 3]),
    };
    let y = reshape(b, x, &split)?;
    let y = transpose(b, y, &perm)?;
    reshape(b, y, &[batch, depth, h * block.clone(), w * block])
}

fn space_to_depth(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    rank(0, &ty, 4)?;
    let n = blocksize(call)?;
    let (rows, columns) = (divided(b, &ty, 2, n)?, divided(b, &ty, 3, n)?);
    let (batch, channels, block) = (ty.shape[0].clone(), ty.shape[1].clone(), dim::int(n));
    let split = [batch.clone(), channels.clone(), rows.clone(), block.clone(), columns.clone(), block];
    let perm = [[0, 3, 5, 1, 2, 4], [0, 1, 3, 5, 2, 4]][word_attr(call, "mode", &["dcr", "crd"])?];
    let y = reshape(b, x, &split)?;
    let y = transpose(b, y, &perm)?;
    reshape(b, y, &[batch, channels * dim::int(n * n), rows, columns])
}

/// NumPy's meshgrid: each vector repeated along the axes of the others.
fn meshgrid(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let vectors = list(b, call, 0)?;
    let swapped = word_attr(call, "indexing", &["xy", "ij"])? == 0 && vectors.len() > 1;
    let mut shape = Vec::new();
    for (i, vector) in vectors.iter().enumerate() {
        match b.tensor(*vector).shape.as_slice() {
            [extent] => shape.push(extent.clone()),
            _ => {
                let message = format!("expected vectors, found `{}` at place {i}", show_tensor(b.tensor(*vector)));
                return Err(OpError::new(At::Arg(0), OpErrorKind::Rank, message));
            }
        }
    }
    if swapped {
        shape.swap(0, 1);
    }
    let axis_of = |i: usize| if swapped && i < 2 { 1 - i } else { i };
    let mut grids = Vec::new();
    for (i, vector) in vectors.iter().enumerate() {
        let mut own = vec![dim::int(1); shape.len()];
        own[axis_of(i)] = shape[axis_of(i)].clone();
        let flat = reshape(b, *vector, &own)?;
        grids.push(b.emit(Op::BroadcastTo { shape: shape.clone() }, &[flat])?);
    }
    if grids.is_empty() {
        return Err(OpError::new(At::Arg(0), OpErrorKind::Operand, "expected a vector in the list"));
    }
    b.emit(Op::Tuple, &grids)
}

const BLOCKSIZE: AttrDef = AttrDef { name: "blocksize", ty: "int", doc: "rows and columns of a block" };
const MODE: AttrDef = AttrDef {
    name: "mode",
    ty: "\"dcr\" | \"crd\" = \"dcr\"",
    doc: "whether a channel's number is (row, column, depth) or (depth, row, column)",
};

pub(super) static TABLE: &[OpDef] = &[
    graph!(
        "depth_to_space",
        "DepthToSpace",
        "x",
        1,
        &[BLOCKSIZE, MODE,],
        depth_to_space,
        "Channels of [N, C, H, W] spread over blocks of the image: [N, C / blocksize², H · blocksize, W · blocksize]."
    ),
    graph!(
        "space_to_depth",
        "SpaceToDepth",
        "x",
        1,
        &[BLOCKSIZE, MODE],
        space_to_depth,
        "Blocks of the image as channels: [N, C · blocksize², H / blocksize, W / blocksize]; the inverse of depth_to_space."
    ),
    graph!(
        "meshgrid",
        "",
        "[x, …]",
        1,
        &[AttrDef {
            name: "indexing",
            ty: "\"xy\" | \"ij\" = \"xy\"",
            doc: "whether the first vector goes along axis 1 and the second along axis 0, or each along its own"
        }],
        meshgrid,
        "A tuple with each vector repeated along the axes of the others: the coordinates of a grid."
    ),
];
