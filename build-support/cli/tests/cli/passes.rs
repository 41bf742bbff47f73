//! `cargo tenfold show` around passes, `diff`, `graph` and `stats`.

use crate::package::{DOUBLE, Package};

/// Three kernels' worth of work, with a matmul in the middle.
const NET: &str = "#[tensor_fn]\npub fn net(x: Tensor<f32, 4, 8>, w: Tensor<f32, 8, 8>) -> Tensor<f32, 4, 8> {\n    \
                   let h = x.matmul(w);\n    let h = h.relu();\n    h.matmul(w)\n}\n";

fn package(name: &str) -> Package {
    Package::new(name, &format!("{DOUBLE}{NET}")).env("TENFOLD_LLVM", "none").env("CC", "/nowhere/cc")
}

#[test]
fn around_passes() {
    let package = package("passes-show");
    let list = package.run("show double --passes");
    assert_eq!((list.code, list.stderr.as_str()), (Some(0), ""), "{list:?}");
    assert!(list.stdout.starts_with("  1  InlineCalls"), "{list:?}");
    assert!(list.stdout.contains("LowerOpaqueBlock"), "{list:?}");
    let before = package.run("show double --before InlineCalls");
    assert!(before.stdout.starts_with("relax @double phase imported {\n"), "{before:?}");
    let after = package.run("show double --after InlineCalls");
    assert!(after.stdout.starts_with("relax @double phase normalised {\n"), "{after:?}");
    assert_eq!(package.run("show double --after 1").stdout, after.stdout);
    let after = package.run("show double --after FlattenBuffer");
    assert!(after.stdout.contains("phase flat"), "{after:?}");
    let missing = package.run("show double --after 99");
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.stderr.contains("`99` did not run; `--passes` lists what did"), "{missing:?}");
    let timing = package.run("show double --timing");
    assert!(timing.stdout.ends_with("all passes\n"), "{timing:?}");
}

#[test]
fn the_environment_chooses_passes() {
    let package = package("passes-env").env("TENFOLD_DISABLE", "DeadCodeElimination");
    let list = package.run("show double --passes");
    assert!(!list.stdout.contains("DeadCodeElimination"), "{list:?}");
    let package = package.env("TENFOLD_OPT_LEVEL", "fast");
    let wrong = package.run("show double --passes");
    assert_eq!(wrong.code, Some(1), "{wrong:?}");
    assert!(
        wrong.stderr.starts_with("error[T0809]: `TENFOLD_OPT_LEVEL=fast`: expected a level from 0 to 3"),
        "{wrong:?}"
    );
}

#[test]
fn differences() {
    let package = package("passes-diff");
    let diff = package.run("diff double InlineCalls LowerEntry");
    assert_eq!(diff.code, Some(0), "{diff:?}");
    let start = "--- after InlineCalls\n+++ after LowerEntry\n@@ ";
    assert!(diff.stdout.starts_with(start), "{diff:?}");
    assert!(diff.stdout.contains("\n-relax @double phase normalised {\n"), "{diff:?}");
    let same = package.run("diff double VerifyBounds VerifyBounds");
    assert_eq!(same.stdout, "nothing differs between VerifyBounds and VerifyBounds\n");
}

#[test]
fn a_page_that_needs_nothing_else() {
    let package = package("passes-graph");
    let page = package.run("graph net");
    assert_eq!((page.code, page.stderr.as_str()), (Some(0), ""), "{page:?}");
    let text = page.stdout;
    assert!(text.starts_with("<!DOCTYPE html>\n") && text.ends_with("</html>\n"), "{text}");
    for part in ["f32[4, 8]", "Memory over time", "class=\"memory\"", "<rect class=\"c0\""] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
    let loads = ["<script", "<link", "src=", "href=", "url(", "@import"];
    assert!(loads.iter().all(|load| !text.contains(load)), "{text}");
    assert_eq!(text.matches("<svg").count(), text.matches("</svg>").count());
    assert_eq!(text.matches("<g ").count(), text.matches("</g>").count());
    assert_eq!(package.run("graph net -o net.html").stdout, "");
    assert_eq!(package.read("net.html"), text);
}

#[test]
fn numbers() {
    let package = package("passes-stats");
    let all = package.run("stats --json");
    assert_eq!((all.code, all.stderr.as_str()), (Some(0), ""), "{all:?}");
    let value: serde_json::Value = serde_json::from_str(&all.stdout).expect("JSON");
    let [double, net] = value.as_array().expect("an array").as_slice() else { panic!("{all:?}") };
    assert_eq!(double["function"], "lib:passes_stats::double");
    assert_eq!((&double["kernels"], &double["workspace_bytes"]), (&1.into(), &0.into()), "{all:?}");
    assert_eq!(double["weight_bytes"], 0, "{all:?}");
    let kernels = net["kernels"].as_u64().expect("a number");
    assert!((2..=3).contains(&kernels), "{all:?}");
    // What is between the matmuls is one tensor of 4 by 8, unless it is fused away.
    let (live, workspace) = (net["live_bytes"].as_u64().unwrap(), net["workspace_bytes"].as_u64().unwrap());
    assert!(live <= workspace && workspace >= 128, "{all:?}");
    assert_eq!((&net["input_copies"], &net["result_copies"]), (&0.into(), &0.into()), "{all:?}");
    let one = package.run("stats double");
    assert!(one.stdout.starts_with("lib:passes_stats::double\n"), "{one:?}");
    assert!(one.stdout.contains("  kernels           1\n"), "{one:?}");
}

#[test]
fn a_parameter_that_is_returned_is_copied_once() {
    let library = "#[tensor_fn]\npub fn same(x: Tensor<f32, 4>) -> Tensor<f32, 4> {\n    x\n}\n";
    let package = Package::new("passes-copy", library).env("TENFOLD_LLVM", "none").env("CC", "/nowhere/cc");
    let found = package.run("stats --json same");
    let value: serde_json::Value = serde_json::from_str(&found.stdout).expect("JSON");
    assert_eq!((&value[0]["input_copies"], &value[0]["result_copies"]), (&1.into(), &1.into()), "{found:?}");
}
