//! The memories among which `pool(…)` splits the workspace: their names, and that they can have a size.

use super::Signature;
use crate::ast::Pool;
use crate::code::Code;
use crate::diagnostic::{Diagnostic, Diagnostics};

/// What the module beside the function has by these names: `STACK_BYTES`, `Params`.
const TAKEN: [&str; 7] = ["code", "on_device", "params", "self", "stack", "weight", "workspace"];

/// The names in the order of the source, without those that are wrong; none where no memory can have a size.
pub(super) fn read(pools: &[Pool], signature: &Signature, diagnostics: &mut Diagnostics) -> Vec<String> {
    let mut names = Vec::new();
    for (place, pool) in pools.iter().enumerate() {
        let (node, name) = (pool.name.node, &pool.name.text);
        if let Some(error) = of_name(pool) {
            diagnostics.report(error);
        } else if let Some(first) = pools[..place].iter().find(|other| pool_type(&other.name.text) == pool_type(name)) {
            let message = format!("two memories are called `{name}`");
            let error = Diagnostic::new(node, Code::NameTwice, message).label(first.name.node, "the first one");
            diagnostics.report(error.help("rename one of them; `_` does not tell names apart"));
        } else {
            names.push(name.clone());
        }
    }
    let unbounded: Vec<String> = signature.unbounded().iter().map(|sym| format!("`{sym}`")).collect();
    if let Some(first) = pools.first().filter(|_| !unbounded.is_empty()) {
        let message =
            format!("a workspace that is split needs a constant size, and nothing bounds {}", unbounded.join(", "));
        let error = Diagnostic::new(first.node, Code::Limit, message);
        diagnostics.report(error.help("bound it: `#[tensor_fn(dims(B <= 64))]`"));
        names.clear();
    }
    names
}

/// What is wrong with a name: constants, types and parameters are called by it, in Rust and in C.
fn of_name(pool: &Pool) -> Option<Diagnostic> {
    let name = &pool.name.text;
    let refuse = |message: String, help: &str| {
        Some(Diagnostic::new(pool.name.node, Code::AttributeArgument, message).help(help))
    };
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) {
        let help = "write lower-case letters of ASCII, digits and `_`: `pool(dtcm = \"64K\")`";
        return refuse(format!("`{name}` cannot be the name of a memory"), help);
    }
    if TAKEN.contains(&name.as_str()) {
        let help = "call it as the memory map does: `pool(dtcm = \"64K\", psram = \"8M\")`";
        return refuse(format!("the module of the function has `{name}` for something else"), help);
    }
    None
}

/// The name of the type of a memory's bytes: `AxiSram` of `axi_sram`.
pub fn pool_type(pool: &str) -> String {
    let capital = |part: &str| part[..1].to_ascii_uppercase() + &part[1..];
    pool.split('_').filter(|part| part.is_ascii() && !part.is_empty()).map(capital).collect()
}

#[cfg(test)]
mod tests {
    use super::pool_type;

    #[test]
    fn names_of_types() {
        assert_eq!(["dtcm", "axi_sram", "bank_1", "_", "größe"].map(pool_type), ["Dtcm", "AxiSram", "Bank1", "", ""]);
    }
}
