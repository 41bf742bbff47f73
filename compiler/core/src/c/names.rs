//! Names that C accepts.

use std::collections::BTreeSet;

/// Words that C or the prelude has taken.
const TAKEN: &[&str] = &[
    "auto",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "typedef",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
    "bool",
    "true",
    "false",
    "workspace",
    "asm",
    "typeof",
    "NULL",
    "INFINITY",
    "NAN",
    "linux",
    "unix",
    "main",
];

/// Gives each thing a name of its own.
#[derive(Default)]
pub(super) struct Names {
    used: BTreeSet<String>,
}

impl Names {
    /// Names that are taken as they are.
    pub(super) fn keep(&mut self, names: &[&str]) {
        self.used.extend(names.iter().map(|name| (*name).to_string()));
    }

    /// A name like `base` that is not used yet.
    pub(super) fn fresh(&mut self, base: &str) -> String {
        let mut clean: String =
            base.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
        if clean.is_empty() || clean.starts_with(|c: char| c.is_ascii_digit() || c == '_') || clean.starts_with("tf_") {
            clean.insert(0, 'x');
        }
        if TAKEN.contains(&clean.as_str()) {
            clean.push('_');
        }
        let mut name = clean.clone();
        let mut n = 1;
        while !self.used.insert(name.clone()) {
            name = format!("{clean}_{n}");
            n += 1;
        }
        name
    }
}
