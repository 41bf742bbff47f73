//! Models over operators of which ONNX has no cases. `data/values.txt`, which `data/values.py` writes, has under each
//! `=== title` a model in the text of `support`, and behind `---` its inputs (`<`) and what it gives for them (`>`).

use std::path::Path;

use crate::onnx::{has_cc, support};
use crate::package::Package;

/// A folder of ONNX's form.
fn write(folder: &Path, model: &str, tensors: &str) {
    let set = folder.join("test_data_set_0");
    std::fs::create_dir_all(&set).expect("a folder");
    std::fs::write(folder.join("model.onnx"), support::model(model)).expect("a file");
    for (mark, kind) in [("< ", "input"), ("> ", "output")] {
        for (i, text) in tensors.lines().filter_map(|line| line.strip_prefix(mark)).enumerate() {
            let file = set.join(format!("{kind}_{i}.pb"));
            std::fs::write(file, support::tensor(text).into_bytes()).expect("a file");
        }
    }
}

#[test]
fn models_give_what_numpy_does() {
    if !has_cc() {
        return;
    }
    let package = Package::bare("onnx-values");
    let folder = package.path("cases");
    let text = include_str!("../data/values.txt");
    let mut count = 0;
    for (n, case) in text.split("=== ").skip(1).enumerate() {
        let (title, rest) = case.split_once('\n').expect("a title");
        let (model, tensors) = rest.split_once("---\n").expect("tensors behind the model");
        let words: String = title.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        write(&folder.join(format!("{n:02}-{words}")), model, tensors);
        count += 1;
    }
    let outcome = package.run("check-onnx cases --jobs 2");
    assert_eq!(outcome.stdout, format!("{count} passed, 0 failed, 0 skipped\n"));
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
}
