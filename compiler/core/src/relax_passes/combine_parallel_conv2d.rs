//! `CombineParallelConv2D`: convolutions of one value with several constant weights become one with more channels.
//!
//! They must agree in window, strides, padding and dilation and have one group; all have a bias or none has. The
//! branches of an inception block are the case that it is for. Phase: before the operators become kernels. No result
//! changes. (The name is TVM's; other numbers of spatial axes do as well.)

use tenfold_ir::Module;
use tenfold_ir::relax::{self, Binding, ConvLayout, Op};

use super::combine::{Family, combine};
use crate::CompileError;
use crate::pass::{ConfigKey, IntKey, Pass, PassContext, PassPhase};

/// How many convolutions are worth one.
const BRANCHES: IntKey = IntKey {
    name: "CombineParallelConv2D.branches",
    default: 3,
    least: 2,
    greatest: 1 << 20,
    doc: "the least number of convolutions of one value that become one",
};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("CombineParallelConv2D", &combine_parallel_conv2d)
    .in_phase(PassPhase::Graph)
    .at_level(1)
    .reads(&[ConfigKey::Int(&BRANCHES)])
    .about("makes one convolution of several that read one value with constant weights");

/// Runs on every relax function.
pub(crate) fn combine_parallel_conv2d(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    combine(module, &Convolutions, usize::try_from(context.int(&BRANCHES)).unwrap_or(usize::MAX));
    Ok(())
}

struct Convolutions;

impl Family for Convolutions {
    fn kin(&self, func: &relax::Function, binding: &Binding) -> Option<String> {
        let Op::Conv { window, group: 1, layout: ConvLayout::PLAIN } = &binding.op else { return None };
        let weight = func.values[binding.args.get(1)?.0 as usize].ty.tensor()?;
        Some(format!("{} {window:?} {}", weight.dtype, binding.args.len()))
    }

    fn weight_axis(&self) -> usize {
        0
    }

    fn result_axis(&self, _rank: usize) -> usize {
        1
    }
}
