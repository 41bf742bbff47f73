//! `cargo tenfold show`: one function as the text of a stage, in the child.

use crate::{Outcome, errors, output};
use tenfold_build::look::{self, Function, Functions};
use tenfold_core::Stage;

/// Prints the text.
pub(crate) fn run(stage: Stage, name: &str) -> Outcome {
    let text = look::names().and_then(|found| {
        let number = choose(&found, name)?;
        match look::text(number, stage)? {
            Err(refused) if refused.is_empty() => Err(errors::unsaid(&found.functions[number])),
            text => Ok(text),
        }
    });
    match text {
        Ok(Ok(text)) => {
            output::say(text.trim_end());
            output::say("\n");
            Outcome::Good
        }
        Ok(Err(refused)) => {
            let texts: Vec<String> = refused.iter().map(errors::text).collect();
            eprint!("{}", texts.join("\n"));
            Outcome::Bad
        }
        Err(error) => {
            output::complain(&error);
            Outcome::Bad
        }
    }
}

/// The function that a path, or the end of one, means.
fn choose(found: &Functions, name: &str) -> Result<usize, String> {
    let functions = &found.functions;
    let fitting: Vec<usize> = (0..functions.len()).filter(|number| fits(&functions[*number], name)).collect();
    // a file that two crates share holds each function once
    let place = |number: &usize| (&functions[*number].file, functions[*number].line);
    match fitting.as_slice() {
        [] => Err(unknown(found, name)),
        [first, rest @ ..] if rest.iter().all(|other| place(other) == place(first)) => Ok(*first),
        several => {
            let lines = several.iter().map(|number| format!("\n  {}", described(&functions[*number])));
            let lines: String = lines.collect();
            Err(format!(
                "`{name}` means {} functions; write more of the path, from the crate on if need be:{lines}",
                several.len()
            ))
        }
    }
}

fn described(function: &Function) -> String {
    format!("{}  {}:{}", full(function), function.file, function.line)
}

/// `lib:digits::nn::mlp`.
fn full(function: &Function) -> String {
    let rest = function.path.strip_prefix("crate").unwrap_or(&function.path);
    format!("{}{rest}", function.krate)
}

/// Whether the name is the path or its end, at a `::`.
fn fits(function: &Function, name: &str) -> bool {
    let ends = |path: &str| path.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with("::"));
    !name.is_empty() && (ends(&function.path) || ends(&full(function)))
}

fn unknown(found: &Functions, name: &str) -> String {
    if let Some(skipped) = found.skipped.iter().find(|skipped| skipped.name == name) {
        return format!("`{name}` at {}:{} is not built; `cargo tenfold list` says why", skipped.file, skipped.line);
    }
    if found.functions.is_empty() {
        return format!("there is no function `{name}`: the package has no tensor function");
    }
    let last = |path: &str| path.rsplit("::").next().unwrap_or_default().to_string();
    let names: Vec<String> = found.functions.iter().map(|function| last(&function.path)).collect();
    let near = tenfold_ir::ops::nearest(&last(name), names.iter().map(String::as_str));
    let near = near.map_or(String::new(), |near| format!("; a similar name is `{near}`"));
    format!("there is no function `{name}`{near}; `cargo tenfold list` names them all")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(krate: &str, path: &str, line: u32) -> Function {
        Function {
            krate: krate.into(),
            path: path.into(),
            file: "src/lib.rs".into(),
            line,
            signature: String::new(),
            associated: false,
            artefact: None,
            errors: Vec::new(),
        }
    }

    #[test]
    fn a_name_is_the_end_of_a_path() {
        let functions = vec![
            function("lib:p", "crate::mlp", 1),
            function("lib:p", "crate::nn::mlp", 2),
            function("lib:p", "crate::nn::cnn", 3),
            function("bin:p", "crate::nn::cnn", 3),
            function("test:t", "crate::mlp", 9),
        ];
        let found = Functions { backend: String::new(), functions, skipped: Vec::new() };
        let choose = |name: &str| choose(&found, name);
        assert_eq!(choose("nn::mlp"), Ok(1));
        assert_eq!(choose("crate::nn::mlp"), Ok(1));
        assert_eq!(choose("cnn"), Ok(2));
        assert_eq!(choose("lib:p::mlp"), Ok(0));
        assert_eq!(choose("test:t::mlp"), Ok(4));
        assert_eq!(
            choose("crate::mlp"),
            Err("`crate::mlp` means 2 functions; write more of the path, from the crate on if need be:\n  \
                 lib:p::mlp  src/lib.rs:1\n  test:t::mlp  src/lib.rs:9"
                .into())
        );
        assert_eq!(
            choose("nn::cmn"),
            Err("there is no function `nn::cmn`; a similar name is `cnn`; `cargo tenfold list` names them all".into())
        );
        assert!(choose("lp").is_err());
        assert!(choose("").is_err());
    }
}
