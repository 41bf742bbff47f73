//! `FuseOpsByPattern`: parts of the graph that a table names are computed by functions outside the module.
//!
//! Each row is a pattern and a function of the user's crate. Where the pattern matches, one `call_dps` of the function
//! stands for all of its operators: what the names of the pattern catch are the operands, in the order in which the
//! pattern names them, and the function fills the result, which comes last. Rows are tried from the top over the whole
//! graph, so that larger patterns stand before smaller ones. Phase: before the operators become kernels. The function
//! must compute what the pattern says; the compiler cannot check it.

use tenfold_ir::relax::{Binding, Extern, Linkage, Op, TensorType, Type, ValueId, op_name};
use tenfold_ir::{DType, Module};

use super::pattern::Pattern;
use super::rewrite::{Rewriter, rewrite};
use crate::CompileError;
use crate::pass::{Pass, PassPhase, wrong};

/// What may keep a match from being taken: given the operands' types and the result's.
pub type Accepts = fn(&[TensorType], &TensorType) -> bool;

/// A row: a pattern and what computes it.
#[derive(Clone, Debug)]
pub struct ExternPattern {
    /// The pattern, `relu(add(matmul(x, w), b))`: see `compiler/docs/relax.md`.
    pub pattern: String,
    /// The function's path as the user's crate names it.
    pub path: String,
    /// Its calling convention.
    pub linkage: Linkage,
    /// Whether the extents of all operands follow them, axis by axis, as `i64`: a C function gets pointers alone
    /// otherwise. A Rust function gets views, which know their extents.
    pub extents: bool,
    /// Whether it takes tensors of these types; `None` takes all.
    pub accepts: Option<Accepts>,
}

/// The pass for a table, to be added to a pipeline. An error is a pattern that cannot be read.
pub fn fuse_ops_by_pattern(table: Vec<ExternPattern>) -> Result<Pass, CompileError> {
    let table = ExternTable::read(table)?;
    let run = move |module: &mut Module, _: &crate::pass::PassContext| {
        table.apply(module);
        Ok(())
    };
    Ok(Pass::module("FuseOpsByPattern", run).in_phase(PassPhase::Import).about("calls functions outside the module"))
}

/// A table whose patterns are read.
#[derive(Debug)]
pub struct ExternTable {
    rows: Vec<Row>,
}

impl ExternTable {
    /// Reads the patterns.
    ///
    /// # Errors
    ///
    /// A pattern that cannot be read or that matches no operator.
    pub fn read(table: Vec<ExternPattern>) -> Result<ExternTable, CompileError> {
        let rows = table.into_iter().map(Row::read).collect::<Result<_, _>>()?;
        Ok(ExternTable { rows })
    }

    /// Puts a call in the place of whatever a pattern matches.
    pub fn apply(&self, module: &mut Module) {
        for row in &self.rows {
            rewrite(module, &mut |cx: &mut Rewriter<'_>, binding: &Binding| row.call(cx, binding));
        }
    }
}

/// A row, read.
#[derive(Debug)]
struct Row {
    row: ExternPattern,
    pattern: Pattern,
    operands: Vec<String>,
}

impl Row {
    fn read(row: ExternPattern) -> Result<Row, CompileError> {
        let pattern = Pattern::parse(&row.pattern)
            .map_err(|error| wrong(format!("the pattern `{}` cannot be read: {error}", row.pattern), None))?;
        if pattern.roots().is_empty() {
            let help = "begin with an op: `matmul(x, w)`";
            return Err(wrong(format!("the pattern `{}` matches no op", row.pattern), Some(help.into())));
        }
        let mut operands = Vec::new();
        pattern.leaves(&mut operands);
        Ok(Row { row, pattern, operands })
    }

    fn call(&self, cx: &mut Rewriter<'_>, binding: &Binding) -> Option<ValueId> {
        let result = cx.tensor(binding.out)?.clone();
        let caught = self.pattern.catch_root(cx, op_name(&binding.op), &binding.args)?;
        let mut args: Vec<ValueId> = self.operands.iter().filter_map(|name| caught.get(name).copied()).collect();
        let types: Option<Vec<TensorType>> = args.iter().map(|arg| cx.tensor(*arg).cloned()).collect();
        if self.row.accepts.is_some_and(|accepts| !types.as_ref().is_some_and(|types| accepts(types, &result))) {
            return None;
        }
        if self.row.extents {
            args.extend(extents(cx, types.unwrap_or_default())?);
        }
        let callee = Extern::new(self.row.path.clone(), self.row.linkage);
        let op = Op::CallDps { callee, results: vec![result.clone()] };
        Some(cx.emit_typed(op, &args, Type::Tensor(result)))
    }
}

/// The extents of tensors as values.
fn extents(cx: &mut Rewriter<'_>, types: Vec<TensorType>) -> Option<Vec<ValueId>> {
    let all = types.into_iter().flat_map(|ty| ty.shape);
    all.map(|expr| cx.emit(Op::IndexValue { expr, dtype: DType::I64 }, &[])).collect()
}
