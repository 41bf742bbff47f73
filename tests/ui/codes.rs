//! Which errors the cases hold.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use tenfold_syntax::Code;
use tenfold_ui_tests::{TOPICS, root};

/// Codes that no source and no build provokes, with the reason.
const UNREACHABLE: &[(Code, &str)] = &[];

/// The files of a folder of cases with one ending: name and text.
fn files(topic: &str, ending: &str) -> BTreeMap<String, String> {
    let directory = root().join("tests/ui").join(topic);
    let entries = fs::read_dir(directory).expect("the topic has cases").flatten();
    let paths = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == ending));
    let name = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    paths.map(|path| (name(&path), fs::read_to_string(&path).expect("a case is text"))).collect()
}

/// The numbers of codes in a text of errors.
fn numbers(text: &str, found: &mut BTreeSet<String>) {
    for (at, _) in text.match_indices("[T") {
        if let Some((number, _)) = text[at + 1..].split_once(']') {
            found.insert(number.to_string());
        }
    }
}

#[test]
fn every_code_has_a_case() {
    let mut seen = BTreeSet::new();
    for topic in TOPICS {
        files(topic, "stderr").values().for_each(|text| numbers(text, &mut seen));
    }
    let data = ["diagnostics", "semantics"].map(|name| format!("compiler/syntax/tests/data/{name}.txt"));
    for list in data.into_iter().chain(["tests/diagnostics/expected.txt".to_string()]) {
        numbers(&fs::read_to_string(root().join(list)).expect("the list is there"), &mut seen);
    }
    let absent = |code: &&Code| !seen.contains(code.number());
    let missing: Vec<&Code> = Code::ALL.iter().filter(absent).collect();
    let excused: Vec<&Code> = UNREACHABLE.iter().map(|(code, _)| code).collect();
    assert_eq!(missing, excused, "codes without a case, and those that are known to have none");
}

#[test]
fn there_are_cases_enough() {
    let items: usize = TOPICS.iter().map(|topic| files(topic, "stderr").len()).sum();
    assert!(items >= 60, "{items} cases on what the item alone decides");
    let builds = fs::read_to_string(root().join("tests/diagnostics/expected.txt")).expect("the list is there");
    let builds = builds.matches("error: [T").count();
    assert!(builds >= 20, "{builds} cases on what the build decides");
}

/// An index that is out of range by one is refused at the index, with the range that it has.
#[test]
fn off_by_one_is_refused_at_the_index() {
    let (programs, errors) = (files("off_by_one", "rs"), files("off_by_one", "stderr"));
    assert!(programs.len() >= 10, "{} programs", programs.len());
    for (name, program) in programs {
        let marked = program.lines().position(|line| line.ends_with("// off by one")).expect("a line is marked") + 1;
        let text = errors.get(&name).unwrap_or_else(|| panic!("`{name}` compiles"));
        let blocks: Vec<&str> = text.split("\n\n").filter(|block| block.contains("[T04")).collect();
        let [block] = blocks[..] else { panic!("`{name}` has {} errors of an index\n{text}", blocks.len()) };
        assert!(block.contains(&format!("{name}.rs:{marked}:")), "`{name}` is refused at another line\n{block}");
        assert!(["lies in", "is -", "index is"].iter().any(|w| block.contains(w)), "`{name}`: no range\n{block}");
    }
}
