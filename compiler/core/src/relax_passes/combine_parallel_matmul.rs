//! `CombineParallelMatmul`: products of one value with several constant matrices become one product.
//!
//! `x · A`, `x · B`  ->  parts of `x · [A B]`, with the additions and the activation that all of them have. Queries,
//! keys and values of attention are the case that it is for. Phase: before the operators become kernels. No result
//! changes.

use tenfold_ir::Module;
use tenfold_ir::relax::{self, Binding, Op};

use super::combine::{Family, combine};
use crate::CompileError;
use crate::pass::{ConfigKey, IntKey, Pass, PassContext, PassPhase};

/// How many products are worth one.
const BRANCHES: IntKey = IntKey {
    name: "CombineParallelMatmul.branches",
    default: 2,
    least: 2,
    greatest: 1 << 20,
    doc: "the least number of products of one value that become one",
};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("CombineParallelMatmul", &combine_parallel_matmul)
    .in_phase(PassPhase::Graph)
    .at_level(1)
    .reads(&[ConfigKey::Int(&BRANCHES)])
    .about("makes one product of several that read one value with constant weights");

/// Runs on every relax function.
pub(crate) fn combine_parallel_matmul(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    combine(module, &Products, usize::try_from(context.int(&BRANCHES)).unwrap_or(usize::MAX));
    Ok(())
}

struct Products;

impl Family for Products {
    fn kin(&self, func: &relax::Function, binding: &Binding) -> Option<String> {
        let weight = func.values[binding.args.get(1)?.0 as usize].ty.tensor()?;
        let matrix = binding.op == Op::MatMul && weight.shape.len() == 2;
        matrix.then(|| format!("{} {}", weight.dtype, weight.shape[0]))
    }

    fn weight_axis(&self) -> usize {
        1
    }

    fn result_axis(&self, rank: usize) -> usize {
        rank - 1
    }
}
