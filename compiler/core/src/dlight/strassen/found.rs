//! What a product of matrices by a constant in panels is, wherever its axes stand.

use tenfold_ir::DType;
use tenfold_ir::tir::{ExprId, IterKind};

use crate::dlight::contraction::is_instructions;
use crate::dlight::kernel::{Operand, contraction, epilogue};
use crate::dlight::winograd::{Axis, Ends, axes_of_kind, operands};
use crate::fuse::stage::Staged;

/// A product of matrices, over the iterators of its results.
pub(super) struct Product {
    pub dtype: DType,
    /// What is a product for itself with each of its values.
    pub outer: Vec<Axis>,
    /// Lines of rows, if those lie in an even number of lines.
    pub line: Option<Axis>,
    /// Rows of the results, all or of a line.
    pub row: Axis,
    /// Their columns, which lie in panels.
    pub column: Axis,
    /// How wide these are.
    pub panel: i64,
    /// Terms of each sum, which are neighbours in the data.
    pub term: Axis,
    /// Elements from one row of the data to the next, if that is a number.
    pub apart: Option<i64>,
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
    let images = spatial.iter().all(|a| weight.ignores(a.var));
    if dtype != DType::F32 || !images || !data.along(term.var) || weight.ignores(term.var) {
        return None;
    }
    let (line, row) = rows(&mut spatial, &data)?;
    let functions = epilogue(staged, &found).is_some_and(|(n, _)| !is_instructions(staged, n, false));
    let ends = Ends::of(staged, &found, column.var)?;
    let (apart, data, weight) = (data.step(row.var), data.load, weight.load);
    Some(Product { dtype, outer: spatial, line, row, column, panel, term, apart, data, weight, ends, functions })
}

/// Lines, if their number is even, and rows: the axes along which the data has the least between neighbours, taken out
/// of those of the results.
fn rows(spatial: &mut Vec<Axis>, data: &Operand) -> Option<(Option<Axis>, Axis)> {
    spatial.sort_by_key(|a| std::cmp::Reverse(data.step(a.var)));
    let row = spatial.pop().filter(|a| !data.ignores(a.var))?;
    let line = spatial.pop_if(|a| a.extent % 2 == 0 && !data.ignores(a.var));
    Some((line, row))
}
