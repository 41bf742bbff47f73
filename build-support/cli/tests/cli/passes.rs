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
    let names = text.replace("http://www.w3.org/2000/svg", "").replace("url(#", "");
    let loads = ["<link", "<img", "<iframe", "src=", "href=", "url(", "@import", "import(", "fetch(", "://", "XMLHttp"];
    assert!(loads.iter().all(|load| !names.contains(load)), "{text}");
    assert_eq!(unclosed(&text), Ok(()), "{text}");
    // the graph is three boxes of kernels or two, and each has its text
    let kernels = text.matches(" data-kernel=\"").count() - text.matches("<details data-kernel=\"").count();
    assert!((2..=3).contains(&kernels), "{text}");
    assert!(text.contains("<pre>prim @"), "{text}");
    assert_eq!(package.run("graph net -o net.html").stdout, "");
    assert_eq!(package.read("net.html"), text);
}

/// The first element that does not end where it should. Script and style hold text alone.
pub(crate) fn unclosed(page: &str) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page.strip_prefix("<!DOCTYPE html>").ok_or("no doctype")?;
    while let Some(at) = rest.find('<') {
        let end = at + rest[at..].find('>').ok_or("a tag has no end")?;
        let (tag, behind) = (&rest[at + 1..end], &rest[end + 1..]);
        let name = tag.trim_matches('/').split_whitespace().next().unwrap_or_default();
        rest = behind;
        if tag.starts_with('/') {
            let last = open.pop();
            if last != Some(name) {
                return Err(format!("`</{name}>` ends {last:?}"));
            }
        } else if !tag.ends_with('/') && name != "meta" {
            open.push(name);
        }
        if matches!(name, "script" | "style") && !tag.starts_with('/') {
            rest = &rest[rest.find("</").ok_or("no end of a text")?..];
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("{open:?} do not end")) }
}

#[test]
fn remarks_say_what_became_of_marked_loops() {
    let marked = |calls: &str| {
        let schedule = format!("#[schedule(|s| {{ let [i] = s.loops(\"double\"); {calls} }})]\npub fn");
        DOUBLE.replace("pub fn", &schedule)
    };
    let library =
        format!("{}mod long {{\n{}}}\n", marked("s.vectorize(i);"), marked("s.unroll(i);").replace("; 4", "; N"));
    let package =
        Package::new("passes-remarks", &library.replacen("mod long {\n", "mod long {\nuse tenfold::prelude::*;\n", 1));
    let package = package.env("TENFOLD_LLVM", "none").env("CC", "/nowhere/cc");
    let remarks = package.run("show crate::double --remarks");
    assert_eq!((remarks.code, remarks.stderr.as_str()), (Some(0), ""), "{remarks:?}");
    assert!(remarks.stdout.contains("applied VectorizeLoop double"), "{remarks:?}");
    let remarks = package.run("show long::double --remarks");
    assert!(remarks.stdout.contains("applied UnrollLoop double"), "{remarks:?}");
}

#[test]
fn bisecting_names_the_pass() {
    let package = package("passes-bisect");
    // a command that fails from the fourth execution on
    package.write("check.sh", "echo \"$TENFOLD_BISECT\" >> tried.txt\ntest \"${TENFOLD_BISECT#double:}\" -lt 4\n");
    let found = package.run("bisect double -- sh check.sh");
    assert_eq!((found.code, found.stderr.as_str()), (Some(0), ""), "{found:?}");
    let executions = package.run("show double --passes").stdout;
    assert!(found.stdout.contains(", execution 4 of "), "{found:?} {executions}");
    assert!(package.read("tried.txt").lines().all(|line| line.starts_with("double:")));
    let good = package.run("bisect double -- true");
    assert_eq!(good.code, Some(1), "{good:?}");
    assert!(good.stderr.contains("the command succeeds with every pass"), "{good:?}");
    let bad = package.run("bisect double -- false");
    assert!(bad.stderr.contains("the command fails without any pass"), "{bad:?}");
    let nowhere = package.run("bisect double -- /nowhere/cmd");
    assert!(nowhere.stderr.contains("`/nowhere/cmd` does not start"), "{nowhere:?}");
    assert_eq!(package.run("bisect triple -- true").code, Some(1));
}

/// The dependencies of build scripts are compiled once for all tests that build: in one folder, and under the settings of
/// `tests/e2e`, without which cargo takes them for other crates; that of proofs, in the cargo that the program starts.
fn with_script(name: &str, calls: &str) -> Package {
    let target = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("e2e/target");
    let package = package(name).env("CARGO_TARGET_DIR", &target.display().to_string());
    let package = package.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
    let lock = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    package.write("Cargo.lock", &std::fs::read_to_string(lock).expect("the lock file is there"));
    let script = format!(
        "use tenfold_build::{{Build, PassPhase}};\n\nfn main() {{\n    println!(\"cargo::rerun-if-changed=build.rs\");\n    \
         Build::new(){calls}.compile();\n}}\n"
    );
    package.write("build.rs", &script);
    package.write(".cargo/config.toml", "[profile.dev.package.tenfold-arith]\nopt-level = 2\n");
    package
}

#[test]
fn what_a_build_script_chooses_is_seen() {
    let calls = ".disable(\"DeadCodeElimination\").add_pass(PassPhase::Fusion, \"Mine\", |_, _| Ok(()))";
    let package = with_script("passes-script", calls);
    let list = package.run("show double --passes");
    assert_eq!(list.code, Some(0), "{list:?}");
    assert!(!list.stdout.contains("DeadCodeElimination"), "{list:?}");
    assert!(list.stdout.contains("Mine"), "{list:?}");
    // a pass that refuses is an error on the function, here as in a build
    let refuses = ".add_pass(PassPhase::Fusion, \"Never\", |_, _| Err(\"not today\".into()))";
    let package = with_script("passes-refuses", refuses);
    let stats = package.run("stats double");
    assert_eq!(stats.code, Some(1), "{stats:?}");
    assert!(stats.stderr.contains("the pass `Never` of the build script refuses: not today"), "{stats:?}");
    // one that does not compile is said, and the rest is shown
    let package = with_script("passes-broken", ".no_such_method()");
    let list = package.run("show double --passes");
    assert_eq!(list.code, Some(0), "{list:?}");
    let warning = "warning: what the build script chooses is not seen: it cannot be compiled: error";
    assert!(list.stderr.contains(warning), "{list:?}");
    assert!(list.stdout.contains("DeadCodeElimination"), "{list:?}");
}

#[test]
fn files_that_a_build_script_makes_are_there() {
    let package = with_script("passes-made", "");
    let weights = "#[tensor_fn]\npub fn half(x: Tensor<u8, 2>) -> Tensor<u8, 2> {\n    const W: Tensor<u8, 2> = \
                   npy!(\"$OUT_DIR/w.npy\");\n    x / W\n}\n";
    package.write("src/lib.rs", weights);
    let script = r#"fn main() {
    let header = b"\x93NUMPY\x01\x00\x3c\x00{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }  \n";
    let out = std::env::var_os("OUT_DIR").unwrap();
    std::fs::write(std::path::Path::new(&out).join("w.npy"), [&header[..], &[2, 2]].concat()).unwrap();
    tenfold_build::compile();
}
"#;
    package.write("build.rs", script);
    let stats = package.run("show half --stage relax");
    assert_eq!((stats.code, stats.stdout.contains("@half")), (Some(0), true), "{stats:?}");
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
