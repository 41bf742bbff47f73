//! What tests write in C around compiled cases.

/// A constant of these bytes, as the objects of cases look for it.
pub fn constant(symbol: &str, bytes: &[u8]) -> String {
    // As a text: of a list, compilers remember each number.
    let text: String = bytes.iter().map(|byte| format!("\\{byte:03o}")).collect();
    let length = bytes.len().max(1);
    format!(
        "__attribute__((visibility(\"hidden\"), aligned(64))) const unsigned char {symbol}[{length}] = \"{text}\";\n"
    )
}
