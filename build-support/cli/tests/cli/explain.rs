//! `cargo tenfold explain`. What is measured is never compared with a number: it is there, or the reason that it is not.

use crate::onnx::{has_cc, support};
use crate::package::{DOUBLE, Package};
use serde_json::Value;
use std::process::Command;
use tenfold_tests::tools;

/// Two products, one of them with a symbolic extent, and a function of the crate.
const LIBRARY: &str = "#[tensor_fn(dims(B <= 64))]\npub fn net(x: Tensor<f32, B, 32>, w: Tensor<f32, 32, 32>) -> Tensor<f32, B, 32> {\n    \
                       let h = x.matmul(w);\n    h.relu().matmul(w)\n}\n\
                       #[tensor_fn]\npub fn outside(x: Tensor<f32, 4>) -> Tensor<f32, 4> {\n    \
                       let y: Tensor<f32, 4> = extern_call!(crate::host, x);\n    y\n}\n\
                       #[tensor_fn]\npub fn checked(x: Tensor<f32, 4>, n: usize) -> Tensor<f32, 4> {\n    \
                       assert!(n > 100, \"n is large\");\n    x * 2.0\n}\n\
                       #[tensor_fn]\n#[schedule(|s| { let [i] = s.loops(\"own\"); s.vectorize(i); })]\n\
                       pub fn own(x: Tensor<f32, 8>) -> Tensor<f32, 8> {\n    compute(|i| x[[i]] + 1.0)\n}\n";

fn package(name: &str) -> Package {
    Package::new(name, &format!("{DOUBLE}{LIBRARY}"))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn what_cannot_be_explained_is_one_error() {
    let package = package("explain-errors");
    for (line, text) in [
        ("explain nothing", "error: there is no function `nothing`"),
        ("explain net", "error[T0809]: `net` is explained for numbers, and `B` has none"),
        ("explain net --dim C=3", "error[T0809]: `net` has no dim `C`"),
        ("explain net --dim B=65", "error[T0809]: `net` refuses these dims: `B <= 64` does not hold"),
        ("explain checked --dim n=5", "error[T0809]: `checked` refuses these dims: `n is large` does not hold"),
        ("explain none.onnx", "error: `none.onnx` cannot be read: No such file or directory"),
    ] {
        let outcome = package.run(line);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""), "{line}: {outcome:?}");
        assert!(outcome.stderr.starts_with(text), "{line}: {outcome:?}");
    }
}

#[test]
fn what_cannot_be_measured_is_explained_without_times() {
    let package = package("explain-unmeasured");
    for (line, reason) in [
        ("explain net --dim B=8 --no-run", "not measured: `--no-run` was given"),
        ("explain outside", "not measured: it calls `crate::host`, which only a program of its crate has"),
        ("explain double --target aarch64-unknown-linux-gnu", "not measured: this machine is "),
    ] {
        let outcome = package.run(line);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{line}: {outcome:?}");
        assert!(outcome.stdout.lines().nth(1).is_some_and(|l| l.starts_with(reason)), "{line}: {outcome:?}");
    }
    let found = json(&package.run("explain net --dim B=8 --no-run --json").stdout);
    assert_eq!(found["dims"]["B"], 8, "{found}");
    let kernels = found["kernels"].as_array().expect("kernels");
    let flops: u64 = kernels.iter().filter_map(|kernel| kernel["flops"].as_u64()).sum();
    assert_eq!(flops, 2 * 2 * 8 * 32 * 32 + 8 * 32, "{found}");
    assert!(kernels.iter().all(|kernel| kernel["rule"] == "contraction" && kernel["seconds"].is_null()), "{found}");
}

/// A product of halves, which warps multiply.
const ON_DEVICES: &str = "#[tensor_fn]\npub fn scores(x: Tensor<f16, 256, 256>, y: Tensor<f16, 256, 256>) -> Tensor<f16, 256, 256> {\n    \
                          relu(matmul(x, y))\n}\n";

/// Rules and estimates of kernels for devices; nothing of it is a measurement.
#[test]
fn devices_are_explained_by_what_their_makers_say() {
    let package = Package::new("explain-devices", ON_DEVICES);
    let outcome = package.run("explain scores --device nvptx:sm_80 -o page.html");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    let lines: Vec<&str> = outcome.stdout.lines().take(3).collect();
    assert_eq!(lines[0], "scores for nvptx -mcpu=sm_80", "{outcome:?}");
    assert_eq!(lines[1], "not measured: kernels for devices are not run here", "{outcome:?}");
    assert!(lines[2].starts_with("estimated for A100 (SXM, 80 GB): 19.5 TFLOP/s of f32"), "{outcome:?}");
    let page = package.read("page.html");
    assert!(page.contains("estimated for A100") && page.contains("<th>estimate</th>"), "{page}");
    let found = json(&package.run("explain scores --device nvptx:sm_80 --json").stdout);
    assert_eq!(found["model"]["bytes_per_second"], 2.039e12, "{found}");
    let kernels = found["kernels"].as_array().expect("kernels");
    let product = kernels.iter().find(|kernel| kernel["rule"] == "matrices").expect("a product by warps");
    assert!(product["flops"].as_u64() >= Some(2 * 256 * 256 * 256), "{found}");
    assert!(kernels.iter().all(|kernel| kernel["seconds"].is_null() && kernel["roof_seconds"].is_number()), "{found}");
    // Nobody knows which GPU it is, and what kernels do is known still.
    let mut line = package.command("explain scores --device");
    let output = line.arg("spirv -keys=generic").output().expect("the program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("scores for spirv -vulkan=1.1 -keys=generic\n") && text.contains("turns"), "{text}");
    let outcome = package.run("explain scores --device spirv");
    assert!(outcome.stdout.contains("not estimated: the device may be any GPU; `--gpu NAME` takes one of `a100`, "));
    assert!(outcome.stdout.contains("tiles") && !outcome.stdout.contains("bound by"), "{outcome:?}");
    let outcome = package.run("explain scores --device vulkan");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
}

/// A GPU of the table, by its own figures.
#[test]
fn a_gpu_that_is_named_has_an_estimate() {
    let package = Package::new("explain-gpu", ON_DEVICES);
    let found = |gpu: &str| json(&package.run(&format!("explain scores --device spirv --gpu {gpu} --json")).stdout);
    let (small, large) = (found("steam-deck"), found("rtx-4090"));
    assert_eq!((&small["model"]["name"], &large["model"]["name"]), (&"Steam Deck".into(), &"GeForce RTX 4090".into()));
    assert!(small["model"]["matrix_flops_per_second"].is_null(), "{small}");
    let seconds = |found: &Value| {
        let kernels = found["kernels"].as_array().expect("kernels").iter();
        kernels.map(|kernel| kernel["roof_seconds"].as_f64().expect("an estimate")).sum::<f64>()
    };
    // 2 · 256³ and 256² operations, at 1.6 and at 82.6 tera of a second
    let least = (2.0 * 256f64.powi(3) + 256f64.powi(2)) / 1.6e12;
    assert!((seconds(&small) / least - 1.0).abs() < 0.01, "{small}");
    assert!((10.0..82.6 / 1.6 + 0.1).contains(&(seconds(&small) / seconds(&large))), "{small} {large}");
    let text = package.run("explain scores --device spirv --gpu m1").stdout;
    assert!(text.contains("estimated for Apple M1 (8 cores): 2.60 TFLOP/s of f32, 68.3 GB/s"), "{text}");
    assert!(text.contains("bound by") && !text.contains("by warps"), "{text}");
    let outcome = package.run("explain scores --device nvptx:sm_90a --gpu m1");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    assert!(
        outcome.stderr.contains("`m1` is no GPU that kernels for `nvptx -mcpu=sm_90a` are estimated for; there is")
    );
}

/// A whole model for a device, without a package.
#[test]
fn a_model_is_explained_for_devices() {
    let package = Package::bare("explain-model-devices");
    let path = crate::firmware::root().join("tests/tflite/models/kws.tflite");
    std::fs::copy(path, package.path("kws.tflite")).expect("the model");
    let outcome = package.run("explain kws.tflite --device spirv --gpu rx-7900-xtx -o kws.html");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    assert!(outcome.stdout.contains("not measured: kernels for devices are not run here"), "{outcome:?}");
    assert!(outcome.stdout.contains("estimated for Radeon RX 7900 XTX: 61.4 TFLOP/s"), "{outcome:?}");
    assert!(package.read("kws.html").contains("estimated for Radeon"), "{outcome:?}");
    for device in ["spirv", "nvptx:sm_80", "nvptx:sm_90a"] {
        let found = json(&package.run(&format!("explain kws.tflite --device {device} --json")).stdout);
        let kernels = found["kernels"].as_array().expect("kernels");
        let ints: u64 = kernels.iter().filter_map(|kernel| kernel["integer_operations"].as_u64()).sum();
        // 2 657 000 products are added up
        assert!(ints > 2 * 2_600_000, "{device}: {found}");
        let known = kernels.iter().all(|kernel| kernel["roof_seconds"].is_number());
        assert_eq!(known, device != "spirv", "{device}: {found}");
    }
    // An environment that names a device is no obstacle to asking for one.
    let package = package.env("TENFOLD_TARGET", "spirv");
    assert_eq!(package.run("explain kws.tflite --device spirv").code, Some(0));
    let outcome = package.run("explain kws.tflite --no-run");
    assert!(outcome.stderr.contains("`explain` is for processors alone"), "{outcome:?}");
    let outcome = package.run("explain kws.tflite --device spirv --gpu voodoo");
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
}

/// Which memory a tensor lies in.
#[test]
fn memories_are_listed() {
    let library = "#[tensor_fn(pool(fast = \"1K\", slow = \"64K\"))]\n\
                   pub fn net(x: Tensor<f32, 8, 16>, w: Tensor<f32, 16, 32>) -> Tensor<f32, 8, 8> {\n    \
                   let wide = matmul(x, w);\n    let square = matmul(wide, transpose(wide));\n    \
                   let fourth = matmul(square, square);\n    matmul(fourth, square) + fourth\n}\n";
    let package = Package::new("explain-pools", library);
    let outcome = package.run("explain net --no-run");
    assert!(outcome.stdout.contains("\nmemories\n`fast` "), "{outcome:?}");
    let found = json(&package.run("explain net --no-run --json").stdout);
    let [fast, slow] = found["pools"].as_array().map_or(&[][..], Vec::as_slice) else { panic!("{found}") };
    assert_eq!((&fast["name"], &slow["name"]), (&"fast".into(), &"slow".into()), "{found}");
    let names = |pool: &Value| {
        let all = pool["tensors"].as_array().cloned().unwrap_or_default();
        all.iter().map(|tensor| tensor["name"].to_string()).collect::<Vec<_>>()
    };
    // Small squares are read more often for their size than what they are made of.
    assert!(names(fast).contains(&"\"fourth\"".into()) && names(slow).contains(&"\"wide\"".into()), "{found}");
}

#[test]
fn a_schedule_of_the_users_is_said() {
    let package = package("explain-schedule");
    let outcome = package.run("explain own --no-run");
    assert!(outcome.stdout.contains("#[schedule]\n  steps: "), "{outcome:?}");
    assert!(outcome.stdout.contains("s.vectorize("), "{outcome:?}");
    let remarks = package.run("show own --remarks");
    assert!(remarks.stdout.contains("applied ApplySchedule own"), "{remarks:?}");
    let remarks = package.run("show net --remarks");
    assert!(remarks.stdout.contains("; tile: "), "{remarks:?}");
}

#[test]
fn kernels_are_timed() {
    if !has_cc() {
        return;
    }
    let package = package("explain-timed");
    let outcome = package.run("explain net --dim B=8 --seconds 0.05 --json -o net.html");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    let found = json(&outcome.stdout);
    assert!(found["not_measured"].is_null() && found["seconds"].as_f64().is_some_and(|s| s > 0.0), "{found}");
    let machine = &found["machine"];
    let through = if std::env::var("TENFOLD_LLVM").is_ok_and(|choice| choice == "none") { "c" } else { "llvm" };
    assert_eq!(machine["backend"], through, "{found}");
    for figure in ["measured_hertz", "measured_f32_flops_per_second"] {
        assert!(machine[figure].as_f64().is_some_and(|n| n > 1e6), "{found}");
    }
    for kernel in found["kernels"].as_array().expect("kernels") {
        assert!(kernel["calls"] == 1 && kernel["bound_by"].is_string(), "{found}");
        assert!(kernel["seconds_of_calls"].as_array().is_some_and(|all| all.iter().all(Value::is_number)), "{found}");
    }
    let page = package.read("net.html");
    for part in ["Kernels by time", "class=\"roofs\"", "class=\"shape\"", "Memory over time", "<tr data-node=\"node"] {
        assert!(page.contains(part), "`{part}` is not in {page}");
    }
    let names = page.replace("http://www.w3.org/2000/svg", "").replace("url(#", "");
    let loads = ["<link", "<img", "<iframe", "src=", "href=", "url(", "@import", "import(", "fetch(", "://", "XMLHttp"];
    assert!(loads.iter().all(|load| !names.contains(load)), "{page}");
    assert_eq!(crate::passes::unclosed(&page), Ok(()), "{page}");
}

#[test]
fn kernels_are_timed_on_several_threads() {
    if !has_cc() {
        return;
    }
    let package = package("explain-threads");
    let outcome = package.run("explain net --dim B=8 --seconds 0.05 --threads 2 --json");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    let found = json(&outcome.stdout);
    assert_eq!(found["machine"]["threads"], 2, "{found}");
    assert!(found["kernels"][0]["seconds"].is_number(), "{found}");
    let refused = package.run("explain net --dim B=8 --threads 0");
    assert!(refused.stderr.contains("a call takes 1 to 64 threads: write `--threads 1`"), "{refused:?}");
}

#[test]
fn code_of_the_c_back_end_is_timed_and_named() {
    if !has_cc() {
        return;
    }
    let package = package("explain-c").env("TENFOLD_LLVM", "none");
    let outcome = package.run("explain double --seconds 0.05");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    assert!(outcome.stdout.lines().next().is_some_and(|line| line.contains("compiled through C")), "{outcome:?}");
}

#[test]
fn a_model_is_explained() {
    if !has_cc() {
        return;
    }
    let package = Package::bare("explain-model");
    let model = "input x: float[N, 16]\nconst w: float[16, 16] = 1\ny = MatMul(x, w)\nz = Relu(y)\noutput z";
    let model = model.replace("= 1\n", &format!("= {}\n", vec!["1"; 256].join(", ")));
    std::fs::write(package.path("net.onnx"), support::model(&model)).expect("a file");
    let outcome = package.run("explain net.onnx --dim N=4 --seconds 0.05 --json -o net.html");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    let found = json(&outcome.stdout);
    let kernel = &found["kernels"][0];
    assert_eq!((&kernel["flops"], &kernel["rule"]), (&(2 * 4 * 256 + 4 * 16).into(), &"contraction".into()), "{found}");
    assert!(kernel["seconds"].is_number(), "{found}");
    assert!(package.read("net.html").starts_with("<!DOCTYPE html>"));
    let text = package.run("explain net.onnx --no-run");
    assert!(text.stdout.contains("not measured: `--no-run` was given"), "{text:?}");
}

/// A browser without a window, if there is one.
fn browser() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = names.into_iter().find(|name| Command::new(name).arg("--version").output().is_ok());
    if found.is_none() {
        tools::skip("Chromium", "tests/browser.sh installs it");
    }
    found
}

/// What a person does: clicks on a row, on a box of the graph, on a value of the memory. Each shows a kernel's text.
const CLICKS: &str = r##"
const said = [], shown = () => `${document.querySelector("#detail h3").textContent}: ${document.querySelector("#detail pre").textContent}`;
const click = (one, kinds) => {
  const { x, y } = one.getBoundingClientRect(), at = { clientX: x + 9, clientY: y + 9, bubbles: true };
  document.querySelector("#detail").replaceChildren();
  for (const kind of kinds) one.dispatchEvent(new PointerEvent(kind, at));
  said.push(shown().split("(")[0]);
};
click(document.querySelector("tr[data-node]"), ["click"]);
click(document.querySelector(".node.kernel, .node.group"), ["pointerdown", "pointerup"]);
click(document.querySelector(".memory [data-node]"), ["click"]);
document.title = said.join("; ");
"##;

#[test]
fn a_click_shows_the_text_of_a_kernel() {
    let Some(browser) = browser() else { return };
    let package = package("explain-browser");
    let outcome = package.run("explain net --dim B=8 --no-run -o net.html");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let page = package.read("net.html").replace("</body>", &format!("<script>{CLICKS}</script></body>"));
    package.write("clicked.html", &page);
    let url = format!("file://{}", package.path("clicked.html").display());
    let flags = ["--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom"];
    let out = Command::new(browser).args(flags).arg(&url).output().expect("the browser starts");
    let dom = String::from_utf8_lossy(&out.stdout);
    let title = dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next()).unwrap_or_default();
    let said: Vec<&str> = title.split("; ").collect();
    assert_eq!(said.len(), 3, "{title}: {}", String::from_utf8_lossy(&out.stderr));
    for text in said {
        let (name, prim) = text.split_once(": ").expect("a kernel and its text");
        assert_eq!(prim, format!("prim @net.{name}"), "{title}");
    }
}
