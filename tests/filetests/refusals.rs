//! Every refusal of a schedule primitive stands in what a file of `schedule` expects.
//!
//! The texts are those of the sources: what is given to `Refusal::err`, `Refusal::new` and the closures `no`, by itself or
//! as the name of what was made before.

use std::path::{Path, PathBuf};

/// What no file shows: the texts of traces and functions or another refusal come before it, or only a mistake of ours
/// would have it.
const UNSHOWN: [&str; 15] = [
    "`{e}` of the map has no extent over dims",
    "`{name}` passes its input to a function",
    "`{rv}` is not of this schedule",
    "`{}` is not written here",
    "block `{}` does not store into `{}` itself",
    "index `{e}` of the map has no bounds",
    "its result would break a law: {law}",
    "the dtype of `{name}`",
    "the index depends on data",
    "the loop is gone",
    "the part of `{}` that is touched has no bounds",
    "the part to compute depends on data",
    "there is no such primitive",
    "what it reads is computed beside or after what reads it",
    "what it reads is computed in the same statement as what reads it",
];

/// What makes a refusal.
const CALLS: [&str; 3] = ["Refusal::err(", "Refusal::new(", "no("];

fn sources(folder: &Path, all: &mut Vec<PathBuf>) {
    for path in crate::sorted(folder) {
        match path.is_dir() {
            true => sources(&path, all),
            false => all.push(path),
        }
    }
}

/// The literals of a text of Rust that are words, lines that were broken joined.
fn literals(code: &str) -> Vec<String> {
    let (mut all, mut rest) = (Vec::new(), code);
    while let Some((_, after)) = rest.split_once('"') {
        let mut end = 0;
        while !after[end..].starts_with('"') {
            end +=
                if after[end..].starts_with('\\') { 2 } else { after[end..].chars().next().map_or(1, char::len_utf8) };
        }
        let lines = after[..end].split("\\\n").map(str::trim_start);
        all.push(lines.collect::<Vec<_>>().concat());
        rest = &after[end + 1..];
    }
    all.retain(|text| text.contains(' '));
    all
}

/// The texts that a call is given first: a literal, or those of the `let` of a name.
fn given(before: &str, call: &str) -> Vec<String> {
    let call = call.trim_start().trim_start_matches('&').trim_start_matches("format!(").trim_start();
    if call.starts_with('"') {
        return literals(call).into_iter().take(1).collect();
    }
    let name: String = call.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    let made = before.rfind(&format!("let {name} = ")).map(|at| literals(&before[at..]));
    made.unwrap_or_default()
}

/// A text, and the folder of the primitive whose source has it, if no other shares that.
type Of = (String, Option<String>);

/// The folder of files of a primitive that a source is about.
fn folder(source: &Path) -> Option<String> {
    let name = source.file_stem()?.to_string_lossy();
    let folder = format!("/schedule/{name}/");
    let there = tenfold_tests::tools::root().join("tests/filetests/schedule").join(&*name).is_dir();
    there.then_some(folder)
}

fn refusals() -> Vec<Of> {
    let mut files = Vec::new();
    sources(&tenfold_tests::tools::root().join("compiler/core/src/schedule"), &mut files);
    let mut all = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source file is text");
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for call in CALLS {
            let own = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let calls = code.match_indices(call).filter(|(at, _)| own(*at));
            let texts = calls.flat_map(|(at, _)| given(&code[..at], &code[at + call.len()..]));
            all.extend(texts.map(|text| (text, folder(&file))));
        }
    }
    all.sort();
    all.dedup();
    all
}

/// Whether a line has the pieces of a text, what stands in braces apart, in their order.
fn shows(line: &str, text: &str) -> bool {
    let pieces = text.split('{').map(|piece| piece.split_once('}').map_or(piece, |(_, after)| after));
    let mut rest = Some(line);
    for piece in pieces {
        rest = rest.and_then(|rest| rest.split_once(piece)).map(|(_, after)| after);
    }
    rest.is_some()
}

#[test]
fn every_refusal_has_a_file() {
    let of_schedule = |path: &PathBuf| path.to_string_lossy().contains("/schedule/");
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("the file can be read");
        (path.to_string_lossy().into_owned(), text)
    };
    let files: Vec<(String, String)> = crate::files().into_iter().filter(of_schedule).map(read).collect();
    let lines = files.iter().flat_map(|(path, text)| text.lines().map(move |line| (path, line)));
    let lines: Vec<(&String, &str)> = lines.filter(|(_, line)| line.starts_with("; error: ")).collect();
    let refusals = refusals();
    assert!(refusals.len() >= 200, "only {} refusals were found", refusals.len());
    let own = |path: &str, of: &Option<String>| of.as_ref().is_none_or(|folder| path.contains(folder));
    let shown = |(text, of): &Of| lines.iter().any(|(path, line)| own(path, of) && shows(line, text));
    let missing: Vec<&String> = refusals.iter().filter(|of| !shown(of)).map(|(text, _)| text).collect();
    assert_eq!(missing, UNSHOWN, "refusals without a file in tests/filetests/schedule");
}
