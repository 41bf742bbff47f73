//! `cargo tenfold list`.

use crate::package::{DOUBLE, Package};
use serde_json::Value;

/// Sizes and back ends differ from machine to machine.
fn masked(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        let is_row = words.len() == 8 && words[2] == "compiled";
        match is_row {
            true => {
                words[3] = "#";
                words[6] = "#";
                out += &words.join(" ");
            }
            false if line.ends_with("sizes in bytes") => out += line.split(" for ").next().unwrap_or_default(),
            false if words.first() == Some(&"function") => out += &words.join(" "),
            false => out += line,
        }
        out.push('\n');
    }
    out
}

#[test]
fn functions_of_every_crate() {
    let library = format!("use tenfold::prelude::*;\n\npub mod nn;\n\n{DOUBLE}");
    let package = Package::new("list-all", &library);
    package.write(
        "src/nn.rs",
        "use tenfold::prelude::*;\n\n#[tensor_fn(dims(B <= 8))]\npub(crate) fn total(\n    x: Tensor<f32, B, 4>, // rows\n) \
         -> Tensor<f32, B> {\n    sum(x * 2.0, axis = 1)\n}\n",
    );
    package.write(
        "tests/t.rs",
        "use tenfold::prelude::*;\n#[tensor_fn]\nfn neg(x: Tensor<i32, 4>) -> Tensor<i32, 4> { -x }\n",
    );
    let outcome = package.run("list");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(
        masked(&outcome.stdout),
        "list-all 0.3.0

lib:list_all
function at state code weights workspace stack flops
crate::nn::total src/nn.rs:4 compiled # 0 0 # -
    pub(crate) fn total(x: Tensor<f32, B, 4>) -> Tensor<f32, B>
crate::double src/lib.rs:6 compiled # 0 0 # 4
    pub fn double(x: Tensor<f32, 4>) -> Tensor<f32, 4>

test:t
function at state code weights workspace stack flops
crate::neg tests/t.rs:3 compiled # 0 0 # 0
    fn neg(x: Tensor<i32, 4>) -> Tensor<i32, 4>
"
    );
    assert_eq!(outcome.stderr, "");
    let again = package.run("list");
    assert_eq!(again.stdout, outcome.stdout);
}

const ERRORS: &str = r#"use tenfold::prelude::*;

#[tensor_fn(dims(B <= 4), dimz(B))]
pub fn unknown(x: Tensor<f32, B>) -> Tensor<f32, B> {
    x
}

mod inner {
    use super::*;

    #[tensor_fn] pub fn mismatch(x: Tensor<f32, 3>, y: Tensor<f32, 4>) -> Tensor<f32, 4> {
        x + y
    }
}

/// Not right.
///
/// ```
/// # use tenfold::prelude::*;
/// #[tensor_fn]
/// fn documented(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
///     x + nope
/// }
/// ```
#[tensor_fn(weights <= "16")]
pub fn over(x: Tensor<f32, 8>) -> Tensor<f32, 8> {
    const W: Tensor<f32, 8> = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    x * W
}

#[cfg(feature = "extra")]
#[tensor_fn]
pub fn extra(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    x
}

macro_rules! hide {
    () => {
        #[tensor_fn]
        pub fn hidden(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
            x
        }
    };
}
"#;

/// Where the errors stand, without their words, which have tests of their own.
fn places(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for error in text.split("\nerror[").skip(1) {
        let number = error.split(']').next().unwrap_or_default();
        let place = error.lines().skip_while(|line| !line.starts_with("  --> ")).take(3);
        let words: Vec<&str> = place.flat_map(str::split_whitespace).collect();
        found.push(format!("{number} {}", words.join(" ")));
    }
    found
}

#[test]
fn errors_stand_at_their_places() {
    let package = Package::new("list-errors", ERRORS);
    let outcome = package.run("list");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert_eq!(
        places(&outcome.stdout),
        [
            "T0109 --> src/lib.rs:3:27 3 | #[tensor_fn(dims(B <= 4), dimz(B))] | ^^^^^^^",
            "T0302 --> src/lib.rs:12:13 12 | x + y | ^",
            "T0201 --> src/lib.rs:22:13 22 | /// x + nope | ^^^^",
            "T0602 --> src/lib.rs:25:13 25 | #[tensor_fn(weights <= \"16\")] | ^^^^^^^^^^^^^^^",
        ],
        "{}",
        outcome.stdout
    );
    let not_built = "\nnot built\n  extra  src/lib.rs:33  a `cfg` turns it off\n  hidden  src/lib.rs:40  it stands inside `macro_rules!`, \
                     where a build script cannot see what it becomes\n";
    assert!(outcome.stdout.contains(not_built), "{}", outcome.stdout);
    let with = package.run("list --features extra");
    assert!(with.stdout.contains("  crate::extra "), "{with:?}");
}

#[test]
fn json_says_the_same() {
    let package = Package::new("list-json", ERRORS);
    let outcome = package.run("list --json -F extra");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let value: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_eq!(value["package"], "list-json");
    let functions = value["functions"].as_array().expect("a list");
    let of = |path: &str| functions.iter().find(|f| f["path"] == path).unwrap_or_else(|| panic!("{path}: {value:#}"));
    let extra = of("crate::extra");
    assert_eq!((&extra["state"], &extra["line"]), (&"compiled".into(), &33.into()));
    assert!(extra["code_bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{extra:#}");
    assert!(extra["symbol"].as_str().is_some_and(|symbol| symbol.starts_with("__tenfold_list_json_")), "{extra:#}");
    let mismatch = of("crate::inner::mismatch");
    assert_eq!(mismatch["state"], "error");
    let error = &mismatch["errors"][0];
    assert_eq!((&error["code"], &error["line"], &error["column"]), (&"T0302".into(), &12.into(), &13.into()));
    assert_eq!(value["not_built"][0]["name"], "hidden");
}

#[test]
fn what_cannot_be_listed() {
    let package = Package::new("list-none", "//! Nothing.\n");
    assert_eq!(package.run("list").stdout, "list-none 0.3.0 has no tensor function\n");
    let cases = [
        ("list -p other", "error: the workspace has no package `other`; it has `list-none`\n"),
        ("list -F fast", "error: `list-none` has no feature `fast`; it has `extra`\n"),
        ("list --manifest-path no/Cargo.toml", "error: manifest path `no/Cargo.toml` does not exist\n"),
    ];
    for (line, text) in cases {
        let outcome = package.run(line);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), text), "{line}");
    }
    let outcome = package.run("list --target pdp11-dec-unix");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("pdp11-dec-unix"), "{outcome:?}");
}

#[test]
fn a_missing_build_script_is_said() {
    let package = Package::new("list-script", DOUBLE);
    package.remove("build.rs");
    let outcome = package.run("list");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stderr.starts_with("warning: build script: the package has none"), "{outcome:?}");
}

/// A code generator that aborts costs the function that it was at.
#[test]
fn an_abort_ends_a_worker() {
    let two = format!("{DOUBLE}{}", DOUBLE.replace("double", "twice"));
    let package = Package::new("list-abort", &two).env("TENFOLD_FAULT", "abort:twice");
    let outcome = package.run("list --json");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let value: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_eq!(value["functions"][0]["state"], "compiled");
    let text = value["functions"][1]["errors"][0]["message"].as_str().unwrap_or_default();
    assert!(text.contains("the code generator died"), "{text}");
}
