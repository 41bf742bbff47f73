//! Text of a module.
use tenfold_ir::Module;
/// Text.
pub fn module_text(_: &Module) -> String {
    String::new()
}
