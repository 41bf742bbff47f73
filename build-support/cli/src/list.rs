//! `cargo tenfold list`: the functions of a package, in the child.

use crate::{Outcome, errors, output};
use serde_json::{Value, json};
use std::env;
use tenfold_build::look::{self, Error, Function, Functions, Place};
use tenfold_syntax::index::{Artefact, SkipReason, Skipped};

/// Prints the functions.
pub(crate) fn run(as_json: bool) -> Outcome {
    let found = match look::functions() {
        Ok(found) => found,
        Err(error) => {
            output::complain(&error);
            return Outcome::Bad;
        }
    };
    output::say(&if as_json { json(&found) } else { text(&found) });
    let all = found.functions.iter().all(|function| function.artefact.is_some());
    if all { Outcome::Good } else { Outcome::Bad }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}

/// The back end in words: `llvm 22.1-rust-1.95.0-stable` or `c`.
fn backend(found: &Functions) -> &str {
    match found.backend.as_str() {
        "none" => "c",
        other => other.split(',').next().unwrap_or(other),
    }
}

fn text(found: &Functions) -> String {
    let (name, version) = (variable("CARGO_PKG_NAME"), variable("CARGO_PKG_VERSION"));
    if found.functions.is_empty() && found.skipped.is_empty() {
        return format!("{name} {version} has no tensor function\n");
    }
    let mut out = format!("{name} {version} for {}, by {}; sizes in bytes\n", variable("TARGET"), backend(found));
    let rows: Vec<[String; 8]> = found.functions.iter().map(row).collect();
    let mut widths = HEAD.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for krate in crates(found) {
        out += &format!("\n{krate}\n{}", line(&HEAD, &widths));
        for (function, row) in found.functions.iter().zip(&rows).filter(|(function, _)| function.krate == krate) {
            let cells: Vec<&str> = row.iter().map(String::as_str).collect();
            out += &line(&cells, &widths);
            out += &format!("    {}\n", function.signature);
            out += &over_dims(function);
        }
    }
    if !found.skipped.is_empty() {
        out += "\nnot built\n";
    }
    for Skipped { file, line, name, reason } in &found.skipped {
        out += &format!("  {name}  {file}:{line}  {}\n", why(*reason));
    }
    for function in &found.functions {
        for error in &function.errors {
            out += &format!("\n{}", errors::text(error));
        }
        if function.errors.is_empty() && function.artefact.is_none() {
            out += &format!("\nerror: {}\n", errors::unsaid(function));
        }
    }
    out
}

/// The crates in the order in which they were met.
fn crates(found: &Functions) -> Vec<&str> {
    let mut crates: Vec<&str> = Vec::new();
    for function in &found.functions {
        if !crates.contains(&function.krate.as_str()) {
            crates.push(&function.krate);
        }
    }
    crates
}

const HEAD: [&str; 8] = ["function", "at", "state", "code", "weights", "workspace", "stack", "flops"];

/// Columns from here on are numbers.
const NUMBERS: usize = 3;

fn row(function: &Function) -> [String; 8] {
    let at = format!("{}:{}", function.file, function.line);
    let Some(artefact) = &function.artefact else {
        let none = || "-".to_string();
        return [function.path.clone(), at, "error".into(), none(), none(), none(), none(), none()];
    };
    let number = |value: Option<u64>| value.map_or("-".into(), |value| value.to_string());
    [
        function.path.clone(),
        at,
        "compiled".into(),
        artefact.code_bytes.to_string(),
        artefact.weight_bytes.to_string(),
        artefact.workspace_bytes.map_or_else(|| cell(&artefact.workspace_expr), |bytes| bytes.to_string()),
        number(artefact.stack_bytes),
        if artefact.flops_expr.is_empty() { "-".into() } else { cell(&artefact.flops_expr) },
    ]
}

/// Characters that a size may have in its column.
const SHORT: usize = 16;

/// A size in its column; a long expression over the dims stands below.
fn cell(size: &str) -> String {
    if size.len() <= SHORT { size.into() } else { "over dims".into() }
}

/// The sizes that are too long for their columns.
fn over_dims(function: &Function) -> String {
    let Some(artefact) = &function.artefact else { return String::new() };
    let workspace = artefact.workspace_bytes.map_or(artefact.workspace_expr.as_str(), |_| "");
    let long = [("workspace", workspace), ("flops", artefact.flops_expr.as_str())];
    let long = long.into_iter().filter(|(_, size)| size.len() > SHORT);
    long.map(|(name, size)| format!("    {name}: {size}\n")).collect()
}

fn line(cells: &[&str], widths: &[usize; 8]) -> String {
    let mut out = String::new();
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let space = " ".repeat(width - cell.chars().count());
        out += "  ";
        out += &if column < NUMBERS { format!("{cell}{space}") } else { format!("{space}{cell}") };
    }
    out.trim_end().to_string() + "\n"
}

fn why(reason: SkipReason) -> &'static str {
    match reason {
        SkipReason::Cfg => "a `cfg` turns it off",
        SkipReason::MacroRules => "it stands inside `macro_rules!`, where a build script cannot see what it becomes",
        SkipReason::Unreadable => "it is no function that can be read",
    }
}

fn json(found: &Functions) -> String {
    let functions: Vec<Value> =
        found.functions.iter().map(|function| json_function(function, backend(found))).collect();
    let skipped = found.skipped.iter().map(|skipped| {
        json!({
            "name": skipped.name, "file": skipped.file, "line": skipped.line,
            "state": "not built", "why": why(skipped.reason),
        })
    });
    let value = json!({
        "package": variable("CARGO_PKG_NAME"),
        "version": variable("CARGO_PKG_VERSION"),
        "target": variable("TARGET"),
        "functions": functions,
        "not_built": skipped.collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}

fn json_function(function: &Function, backend: &str) -> Value {
    let mut value = json!({
        "crate": function.krate,
        "path": function.path,
        "file": function.file,
        "line": function.line,
        "signature": function.signature,
        "state": if function.artefact.is_some() { "compiled" } else { "error" },
        "errors": function.errors.iter().map(json_error).collect::<Vec<_>>(),
    });
    if let Some(artefact) = &function.artefact {
        let Artefact {
            symbol, workspace_bytes, workspace_expr, weight_bytes, code_bytes, stack_bytes, flops_expr, ..
        } = artefact;
        for (key, member) in [
            ("backend", json!(backend)),
            ("symbol", json!(symbol)),
            ("code_bytes", json!(code_bytes)),
            ("weight_bytes", json!(weight_bytes)),
            ("workspace_bytes", json!(workspace_bytes)),
            ("workspace", json!(workspace_expr)),
            ("stack_bytes", json!(stack_bytes)),
            ("flops", json!(flops_expr)),
        ] {
            value[key] = member;
        }
    }
    value
}

fn json_error(error: &Error) -> Value {
    let labels: Vec<Value> = error.labels.iter().map(|(place, text)| json_place(place, text)).collect();
    let mut value = json_place(&error.place, &error.message);
    value["code"] = json!(error.code.number());
    value["help"] = json!(error.help);
    value["labels"] = json!(labels);
    value
}

fn json_place(place: &Place, message: &str) -> Value {
    let Place { file, line, column, length, text } = place;
    json!({ "message": message, "file": file, "line": line, "column": column, "length": length, "text": text })
}
