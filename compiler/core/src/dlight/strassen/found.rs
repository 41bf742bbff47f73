//! What a product of matrices by a constant in panels is, wherever its axes stand.

use tenfold_ir::DType;
use tenfold_ir::tir::{ExprId, IterKind};

use crate::dlight::contraction::is_instructions;
use crate::dlight::kernel::{contraction, epilogue};
use crate::dlight::winograd::{Axis, Ends, axes_of_kind, operands};
use crate::fuse::stage::Staged;

/// A product of matrices, over the iterators of its results.
pub(super) struct Product {
    pub dtype: DType,
    /// Iterators with one value.
    pub outer: Vec<Axis>,
    /// Rows of the results.
    pub row: Axis,
    /// Their columns, which lie in panels.
    pub column: Axis,
    /// How wide these are.
    pub panel: i64,
    /// Terms of each sum, which are neighbours in the data.
    pub term: Axis,
    /// An element of the data.
    pub data: ExprId,
    /// A weight.
    pub weight: ExprId,
    /// What its sums begin and end with.
    pub ends: Ends,
    /// Whether results take functions, whose constants need registers.
    pub functions: bool,
}

/// The product that a kernel is, if it is no other one.
pub(super) fn product(staged: &mut Staged) -> Option<Product> {
    if staged.b.func().strict {
        return None;
    }
    let found = contraction(staged)?;
    let stage = staged.stages[found.stage].clone();
    let func = staged.b.func();
    let dtype = func.buffers[found.acc.0 as usize].dtype;
    let [data, weight] = operands(staged, &found, &stage)?;
    let (mut spatial, terms) =
        (axes_of_kind(func, &stage, IterKind::Spatial)?, axes_of_kind(func, &stage, IterKind::Reduce)?);
    let [term] = <[Axis; 1]>::try_from(terms).ok()?;
    let (columns, panel) = weight.panel?;
    let at = spatial.iter().position(|a| a.var == columns && data.ignores(a.var))?;
    let column = spatial.remove(at);
    let at = spatial.iter().position(|a| a.extent > 1 && weight.ignores(a.var) && !data.ignores(a.var))?;
    let row = spatial.remove(at);
    let alone = spatial.iter().all(|a| a.extent == 1);
    if dtype != DType::F32 || !alone || !data.along(term.var) || weight.ignores(term.var) {
        return None;
    }
    let functions = epilogue(staged, &found).is_some_and(|(n, _)| !is_instructions(staged, n, false));
    let ends = Ends::of(staged, &found, column.var)?;
    let (data, weight) = (data.load, weight.load);
    Some(Product { dtype, outer: spatial, row, column, panel, term, data, weight, ends, functions })
}
