//! Names that a C or C++ compiler takes as they are.

use crate::environment::symbol_part;

/// Words of C, of C++, and of the headers that ours includes; those of our own prototypes too.
const TAKEN: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "auto",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "compl",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "context",
    "continue",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "linux",
    "long",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "offsetof",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "union",
    "unix",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "workspace",
    "xor",
    "xor_eq",
];

/// A name with nothing in it that C does not take, and which no word of C has.
pub(super) fn parameter(name: &str) -> String {
    let mut clean = symbol_part(name);
    if clean.starts_with(|c: char| c.is_ascii_digit() || c == '_') {
        clean.insert(0, 'x');
    }
    if TAKEN.contains(&clean.as_str()) {
        clean.push('_');
    }
    clean
}

/// The parameter that is a memory, which a tensor of its name is not.
pub(super) fn memory(name: &str) -> String {
    format!("{}_memory", symbol_part(name))
}

/// A part of the name of a macro.
pub(super) fn capital(name: &str) -> String {
    symbol_part(name).to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_in_order() {
        assert!(TAKEN.is_sorted());
    }

    #[test]
    fn names() {
        let cases = [("x", "x"), ("register", "register_"), ("new", "new_"), ("_x", "x_x"), ("größe", "gr__e")];
        for (name, expected) in cases {
            assert_eq!(parameter(name), expected);
        }
        assert_eq!(capital("net_1"), "NET_1");
    }
}
