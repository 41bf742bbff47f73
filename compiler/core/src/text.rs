//! Text of a module, for dumps and `cargo tenfold show`.

use tenfold_ir::{Function, Module, relax, tir};

/// Every function in the order of its name.
pub(crate) fn module_text(module: &Module) -> String {
    let texts = module.functions.values().map(|f| match f {
        Function::Relax(f) => relax::print_function(f),
        Function::Prim(f) => tir::print(module, f),
    });
    texts.collect::<Vec<_>>().join("\n")
}
