//! Small models and the graphs that they become, or what is wrong with them. `TENFOLD_BLESS=1` writes `data/*.txt`:
//! under each `=== title` a model in the text of `support`, and behind `---` what comes of it.

mod support;

use std::path::Path;

use tenfold_ir::Function;
use tenfold_ir::relax::{print_function, verify};
use tenfold_onnx::{Options, import};

/// The entry's text, or the problems.
fn result(text: &str) -> String {
    match import(&support::model(text), None, &Options::default()) {
        Ok(imported) => {
            let module = &imported.module;
            let entry = module.relax(&module.entry).expect("the entry is a graph");
            for function in module.functions.values() {
                if let Function::Relax(f) = function {
                    let broken = verify(module, f);
                    assert!(broken.is_empty(), "{broken:?}\n{}", print_function(f));
                }
            }
            print_function(entry)
        }
        Err(error) => format!("{error}\n"),
    }
}

fn check(file: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file);
    let text = std::fs::read_to_string(&path).expect("the file can be read");
    let mut out = String::new();
    for case in text.split("=== ").skip(1) {
        let (title, rest) = case.split_once('\n').expect("a title");
        let model = rest.split("---\n").next().unwrap_or_default();
        out += &format!("=== {title}\n{model}---\n{}", result(model));
    }
    if std::env::var_os("TENFOLD_BLESS").is_some() {
        std::fs::write(&path, &out).expect("the file can be written");
    }
    let different = text.split("=== ").zip(out.split("=== ")).find(|(a, b)| a != b);
    assert!(text == out, "{file}: {different:#?}");
}

#[test]
fn shapes_are_followed() {
    check("shapes.txt");
}

#[test]
fn operators_become_those_of_the_language() {
    check("operators.txt");
}

#[test]
fn lengths_may_depend_on_data() {
    check("lengths.txt");
}

#[test]
fn problems_are_all_told() {
    check("problems.txt");
}

/// Sixty models that nobody should trust: each is refused, with one problem.
#[test]
fn hostile_models_are_refused() {
    check("hostile.txt");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hostile.txt");
    let text = std::fs::read_to_string(path).expect("the file can be read");
    let models: Vec<_> = text.split("=== ").skip(1).filter_map(|case| case.split_once('\n')).collect();
    assert!(models.len() >= 60, "there are {}", models.len());
    for (title, rest) in models {
        let model = rest.split("---\n").next().unwrap_or_default();
        let error = import(&support::model(model), None, &Options::default()).err();
        let problems = error.map_or(0, |error| error.problems.len());
        assert_eq!(problems, 1, "{title}");
    }
}
