//! Errors in functions, with the source under them.

use std::fmt::Write as _;
use tenfold_build::look::{Error, Function, Place};
use tenfold_syntax::Code;

/// One error with everything that belongs to it.
pub(crate) fn text(error: &Error) -> String {
    // what is wrong with the machine has no place in the source
    if error.code == Code::Environment {
        return format!("error: {}\n", error.message);
    }
    let mut out = format!("error[{}]: {}\n", error.code, error.message);
    snippet(&mut out, &error.place, '^', "");
    for (place, label) in &error.labels {
        snippet(&mut out, place, '-', label);
    }
    if let Some(help) = &error.help {
        let _ = writeln!(out, "  = help: {}", help.replace('\n', "\n    "));
    }
    out
}

/// Why a function without an error of its own is not compiled.
pub(crate) fn unsaid(function: &Function) -> String {
    let Function { path, file, line, associated, .. } = function;
    if *associated {
        format!(
            "`{path}` at {file}:{line} stands in an `impl` or a `trait`; move it out, so that a module can stand beside it"
        )
    } else {
        format!("`{path}` at {file}:{line} calls a function that has errors")
    }
}

fn snippet(out: &mut String, place: &Place, mark: char, label: &str) {
    let Place { file, line, column, length, text } = place;
    let marks = mark.to_string().repeat(*length as usize);
    let before = " ".repeat(column.saturating_sub(1) as usize);
    let _ = writeln!(out, "  --> {file}:{line}:{column}");
    let _ = writeln!(out, "{line:>5} | {text}");
    let _ = writeln!(out, "      | {}", format!("{before}{marks} {label}").trim_end());
}
