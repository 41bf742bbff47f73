//! Sources and the exact errors of meaning they give, in `data/semantics.txt`, and the modules that they become, in
//! `data/modules.txt`. `TENFOLD_BLESS=1` writes what is found.

#[path = "support/elaborated.rs"]
mod elaborated;

use tenfold_ir::{Function, relax, tir};
use tenfold_syntax::elaborate::{ItemAlone, elaborate};
use tenfold_syntax::{parse_text, render::render};

/// Compares each case of a file with what is found, or writes it.
fn check(file: &str, found: impl Fn(&str) -> String) {
    let path = format!("{}/tests/data/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let (mut written, mut wrong) = (String::new(), Vec::new());
    for case in text.split("=== ").skip(1) {
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
fn exact_texts() {
    check("semantics.txt", errors);
}

#[test]
fn exact_modules() {
    check("modules.txt", module);
}

/// The module of a source, printed; it obeys the laws of both IRs.
fn module(source: &str) -> String {
    let (_, done) = elaborated::elaborated(source);
    let Some(module) = done.and_then(|d| d.module) else { return errors(source) };
    let mut text = String::new();
    for function in module.functions.values() {
        let (printed, broken) = match function {
            Function::Relax(f) => (relax::print_function(f), relax::verify(&module, f)),
            Function::Prim(f) => {
                let mut broken = tir::verify(&module, f);
                broken.extend(tir::verify_bounds(f));
                (tir::print(&module, f), broken)
            }
        };
        assert!(broken.is_empty(), "{broken:#?}\n{printed}");
        text += &printed;
        text += if printed.ends_with('\n') { "" } else { "\n" };
    }
    text
}

#[test]
fn every_code_of_meaning_has_a_case() {
    // T05 and T06 need files and targets; the build script's tests have them.
    let cases = include_str!("data/semantics.txt");
    for code in tenfold_syntax::Code::ALL {
        let group = &code.number()[..3];
        if ["T02", "T03", "T04"].contains(&group) {
            assert!(cases.contains(&format!("error[{}]", code.number())), "{code} has no case");
        }
    }
}

/// What becomes of each program of the language's reference: a module.
#[test]
fn programs_of_the_reference() {
    let text = include_str!("../../../tests/programs/src/reference.rs");
    let starts: Vec<usize> = text.match_indices("#[tensor_fn").map(|(at, _)| at).collect();
    let functions: Vec<&str> = starts
        .iter()
        .map(|at| &text[*at..])
        .map(|rest| &rest[..rest.find("\n}\n").map_or(rest.len(), |end| end + 3)])
        .collect();
    let mut outcome = String::new();
    for (i, function) in functions.iter().enumerate() {
        let others = functions.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, f)| *f);
        let whole: Vec<&str> = std::iter::once(*function).chain(others).collect();
        let (parsed, done) = elaborated::elaborated(&whole.join("+++\n"));
        let (name, done) = (parsed.function.unwrap().name.text, done.unwrap());
        let errors: Vec<&str> = done.diagnostics.iter().map(|d| d.message.as_str()).collect();
        let text = if done.module.is_some() { "a module".to_string() } else { errors.join("; ") };
        // The macro sees the item alone, and must not say more than the build does.
        let alone = elaborate(&parse_text(function).function.unwrap(), &ItemAlone);
        assert!(
            alone.diagnostics.iter().all(|d| errors.contains(&d.message.as_str())),
            "{name}: {:?}",
            alone.diagnostics
        );
        outcome += &format!("{name}: {text}\n");
    }
    let expected = "\
norm: a module
attend: a module
bilateral: a module
fir: a module
biquads: a module
fft_stage: a module
fft512: a module
kmeans: a module
prefix_sum: a module
life: a module
conv_s8: a module
beam: a module
log_mel: a module
kalman: a module
histogram: a module
largest: a module
resize: a module
";
    assert_eq!(outcome, expected);
}

/// Every error of the first function, rendered.
fn errors(text: &str) -> String {
    let (parsed, done) = elaborated::elaborated(text);
    let mut all = parsed.diagnostics.clone();
    if let Some(done) = done {
        all.extend(done.diagnostics);
    }
    let source = text.split("+++\n").next().unwrap_or_default();
    render(source, &parsed.spans, &all)
}
