//! Sources and the exact errors they give: `data/diagnostics.txt`. `TENFOLD_BLESS=1` writes what is found.

use tenfold_syntax::{parse_text, render::render};

fn found(source: &str) -> String {
    let parsed = parse_text(source);
    render(source, &parsed.spans, &parsed.diagnostics)
}

#[test]
fn exact_texts() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/diagnostics.txt");
    let file = std::fs::read_to_string(path).unwrap();
    let (mut written, mut wrong) = (String::new(), Vec::new());
    for case in file.split("=== ").skip(1) {
        let (title, rest) = case.split_once('\n').unwrap();
        let (source, expected) = rest.split_once("---\n").unwrap();
        let found = found(source);
        if found != expected {
            wrong.push(format!("{title}\nexpected:\n{expected}\nfound:\n{found}"));
        }
        written += &format!("=== {title}\n{source}---\n{found}");
    }
    if std::env::var_os("TENFOLD_BLESS").is_some() {
        std::fs::write(path, written).unwrap();
    } else {
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn every_syntax_code_has_a_case() {
    let cases = concat!(include_str!("data/diagnostics.txt"), "T0117 T0118");
    for code in tenfold_syntax::Code::ALL.iter().filter(|c| c.number().starts_with("T01")) {
        assert!(cases.contains(code.number()), "{code} has no case");
    }
}
