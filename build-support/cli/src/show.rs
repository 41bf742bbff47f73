//! `cargo tenfold show`, `diff` and `graph`: one function as a text or a page, in the child.

use crate::{Outcome, errors, output};
use std::path::Path;
use tenfold_build::look::{self, Error, Function, Functions};
use tenfold_core::show::Ask;

/// Prints the text.
pub(crate) fn run(ask: &Ask, variant: Option<&str>, name: &str) -> Outcome {
    told(answer(ask, variant, name), |text| {
        output::say(text.trim_end());
        output::say("\n");
        Ok(())
    })
}

/// Writes the picture.
pub(crate) fn graph(name: &str, file: Option<&Path>) -> Outcome {
    told(answer(&Ask::Graph, None, name), |text| match file {
        None => {
            output::say(text);
            Ok(())
        }
        Some(file) => {
            std::fs::write(file, text).map_err(|error| format!("`{}` cannot be written: {error}", file.display()))
        }
    })
}

/// What a function says, or what is wrong with it; else what is wrong with the question.
type Answer = Result<Result<String, Vec<Error>>, String>;

fn answer(ask: &Ask, variant: Option<&str>, name: &str) -> Answer {
    let found = look::names()?;
    let number = choose(&found, name)?;
    of(&found, number, ask, variant)
}

/// What is asked of a variant of the function of a number.
pub(crate) fn of(found: &Functions, number: usize, ask: &Ask, variant: Option<&str>) -> Answer {
    match look::text(number, ask, variant)? {
        Err(refused) if refused.is_empty() => Err(errors::unsaid(&found.functions[number])),
        text => Ok(text),
    }
}

fn told(answer: Answer, say: impl FnOnce(&str) -> Result<(), String>) -> Outcome {
    let said = match answer {
        Ok(Ok(text)) => say(&text),
        Ok(Err(refused)) => {
            let texts: Vec<String> = refused.iter().map(errors::text).collect();
            eprint!("{}", texts.join("\n"));
            return Outcome::Bad;
        }
        Err(error) => Err(error),
    };
    match said {
        Ok(()) => Outcome::Good,
        Err(error) => {
            output::complain(&error);
            Outcome::Bad
        }
    }
}

/// The function that a path, or the end of one, means.
pub(crate) fn choose(found: &Functions, name: &str) -> Result<usize, String> {
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
pub(crate) fn full(function: &Function) -> String {
    let rest = function.path.strip_prefix("crate").unwrap_or(&function.path);
    format!("{}{rest}", function.krate)
}

/// Whether the name is the path or its end, at a `::`; a generic function without values is the first of its instances.
fn fits(function: &Function, name: &str) -> bool {
    let ends = |path: &str| path.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with("::"));
    let full = full(function);
    !name.is_empty() && [&function.path, &full].into_iter().any(|path| ends(path) || ends(without_values(path)))
}

/// `crate::axpy` of `crate::axpy::<f32>`.
fn without_values(path: &str) -> &str {
    path.split("::<").next().unwrap_or(path)
}

fn unknown(found: &Functions, name: &str) -> String {
    if let Some(skipped) = found.skipped.iter().find(|skipped| skipped.name == name) {
        return format!("`{name}` at {}:{} is not built; `cargo tenfold list` says why", skipped.file, skipped.line);
    }
    if found.functions.is_empty() {
        return format!("there is no function `{name}`: the package has no tensor function");
    }
    let last = |path: &str| without_values(path).rsplit("::").next().unwrap_or_default().to_string();
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
