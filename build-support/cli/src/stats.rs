//! `cargo tenfold stats`: the numbers of functions, in the child.

use crate::{Outcome, errors, output, show};
use serde_json::{Value, json};
use tenfold_build::look::{self, Functions};
use tenfold_core::show::Ask;

/// Prints the numbers of one function or of all.
pub(crate) fn run(as_json: bool, name: Option<&str>) -> Outcome {
    match found(name) {
        Ok((rows, outcome)) => {
            output::say(&if as_json { format!("{:#}\n", Value::Array(rows)) } else { text(&rows) });
            outcome
        }
        Err(error) => {
            output::complain(&error);
            Outcome::Bad
        }
    }
}

/// An object per function. What is wrong with a function goes to standard error.
fn found(name: Option<&str>) -> Result<(Vec<Value>, Outcome), String> {
    let functions = look::names()?;
    let numbers = match name {
        Some(name) => vec![show::choose(&functions, name)?],
        None => (0..functions.functions.len()).collect(),
    };
    let mut rows = Vec::new();
    let mut outcome = Outcome::Good;
    for number in numbers {
        match one(&functions, number) {
            Ok(row) => rows.push(row),
            Err(error) => {
                eprint!("{error}");
                outcome = Outcome::Bad;
            }
        }
    }
    Ok((rows, outcome))
}

fn one(functions: &Functions, number: usize) -> Result<Value, String> {
    let text = show::of(functions, number, &Ask::Stats, None).map_err(|error| format!("error: {error}\n"))?;
    let text = text.map_err(|refused| refused.iter().map(errors::text).collect::<String>())?;
    let mut row: Value = serde_json::from_str(&text).map_err(|error| format!("error: {error}\n"))?;
    row["function"] = json!(show::full(&functions.functions[number]));
    Ok(row)
}

/// A block per function.
fn text(rows: &[Value]) -> String {
    let block = |row: &Value| {
        let name = row["function"].as_str().unwrap_or_default();
        let pairs = row.as_object().into_iter().flatten().filter(|(key, _)| *key != "function");
        let lines = pairs.map(|(key, value)| {
            let value = value.as_str().map_or_else(|| value.to_string(), String::from);
            format!("  {:<18}{value}\n", key.replace('_', " "))
        });
        format!("{name}\n{}", lines.collect::<String>())
    };
    rows.iter().map(block).collect::<Vec<_>>().join("\n")
}
