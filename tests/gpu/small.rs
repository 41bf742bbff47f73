//! The functions that are measured, at sizes that interpreters take.

use tenfold_core::Device;
use tenfold_core::pass::PassContext;
use tenfold_ir::DType;

use crate::case::{Case, Given};
use crate::chips;
use crate::data::ordinary;
use crate::functions::Function;

/// What it is compiled with for the sizes that are measured, or for the small ones.
pub(crate) fn context(function: &Function, device: Device, is_small: bool) -> PassContext {
    let mut context = chips::context(device);
    for (key, value) in function.settings.iter().filter(|_| is_small) {
        context.set_text(key, value).expect("a setting");
    }
    context
}

/// The function of the small sizes on random data.
pub(crate) fn small(function: &Function) -> Case {
    let dtype = if function.dtype == "bf16" { DType::BF16 } else { DType::F32 };
    let inputs = function.inputs(function.small).into_iter().enumerate();
    let given = inputs.map(|(n, count)| Given { cells: ordinary(dtype, count, n as u64 + 1), strides: Vec::new() });
    Case {
        name: "measured".into(),
        module: function.module(function.small),
        syms: Vec::new(),
        given: given.collect(),
        wanted: Vec::new(),
    }
}
