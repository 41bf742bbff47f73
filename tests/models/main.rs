//! Standard models: how many kernels they become, how much memory these share, and that they compute what the graph
//! says.
#![allow(unsafe_code, reason = "calls what the back ends compiled")]

mod aligned;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/case.rs"]
mod case;
mod compiled;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/data.rs"]
mod data;
#[allow(dead_code, reason = "the benchmark uses more of it")]
mod graphs;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/interpret.rs"]
mod interpret;
mod long;
#[path = "../benches/graphs/mod.rs"]
mod long_graphs;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/native.rs"]
mod native;
mod rows;
mod sums;
mod whole;

use std::path::PathBuf;

use case::{Case, Given};
use tenfold_core::pass::PassContext;
use tenfold_core::show::{Ask, answer};
use tenfold_core::{Options, Target};
use tenfold_ir::{DType, Module, relax};

/// A number of the answer.
fn number(json: &str, key: &str) -> u64 {
    let line = json.lines().find(|l| l.trim().starts_with(&format!("\"{key}\":"))).expect("the number is there");
    line.split(':').nth(1).map(|n| n.trim().trim_end_matches(',')).and_then(|n| n.parse().ok()).expect("a number")
}

fn stats(module: Module) -> String {
    let context = PassContext::new(Target::from_triple("x86_64-unknown-linux-gnu", &[]));
    answer(&Ask::Stats, module, &context, &Options::default()).expect("it compiles")
}

fn check(module: Module, most: u64) {
    let name = module.entry.clone();
    let json = stats(module);
    let [kernels, workspace, live] = ["kernels", "workspace_bytes", "live_bytes"].map(|key| number(&json, key));
    println!("{name}: {kernels} kernels, {workspace} bytes of workspace, {live} bytes alive at most");
    assert!(kernels <= most, "{name} has {kernels} kernels, at most {most} are wanted");
    assert!(workspace * 10 <= live * 11, "{name} takes {workspace} bytes where {live} are alive");
    let copies = ["input_copies", "result_copies"].map(|key| number(&json, key));
    assert_eq!(copies, [0, 0], "{name} copies inputs and results");
}

#[test]
fn resnet50_has_a_kernel_per_convolution() {
    check(graphs::resnet50(1, 224), 58);
}

#[test]
fn mobilenetv2_has_a_kernel_per_convolution() {
    check(graphs::mobilenetv2(1, 224), 56);
}

#[test]
fn minilm_has_eight_kernels_per_layer() {
    check(graphs::minilm(128, 384, 12, 1536, 6), 6 * 8);
}

/// Left for a look: `target/tmp/models/NAME.html`.
fn page(module: Module) {
    let (name, kernels) = (module.entry.clone(), number(&stats(module.clone()), "kernels"));
    let context = PassContext::new(Target::from_triple("x86_64-unknown-linux-gnu", &[]));
    let page = answer(&Ask::Graph, module, &context, &Options::default()).expect("it compiles");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("models");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join(format!("{name}.html")), &page).expect("the file can be written");
    let boxes = page.matches("<g id=\"node").count() as u64;
    assert!(boxes > kernels, "{name}: {boxes} boxes for {kernels} kernels");
    assert!(page.len() < 4 << 20, "{name}: the page has {} bytes", page.len());
    // weights have no boxes: a drawing as wide as they are many could not be looked at
    let wide: f64 =
        page.split("viewBox=\"0 0 ").nth(1).and_then(|t| t.split(' ').next()?.parse().ok()).expect("a width");
    assert!(wide < 4000.0, "{name}: the drawing is {wide} wide");
}

#[test]
fn pages_of_models_can_be_looked_at() {
    page(graphs::resnet50(1, 224));
    page(graphs::minilm(128, 384, 12, 1536, 6));
}

/// Both interpreters and every back end agree.
fn computes(module: Module) {
    let context = PassContext::new(Target::from_triple(&native::host(), &[]));
    computes_with(module, &context, "plain");
}

/// The same with convolutions in other layouts.
fn computes_in(module: Module, layout: &str) {
    let mut context = PassContext::new(Target::from_triple(&native::host(), &[]));
    context.set_text("ConvertLayout.data", layout).expect("the setting is known");
    computes_with(module, &context, layout);
}

fn computes_with(module: Module, context: &PassContext, settings: &str) {
    let name = module.entry.clone();
    let func = module.relax(&name).expect("a graph").clone();
    let given = func.params.iter().enumerate().map(|(n, param)| {
        let relax::Type::Tensor(ty) = &func.values[param.value.0 as usize].ty else {
            return Given { cells: Vec::new(), strides: Vec::new() };
        };
        let count: i64 = ty.shape.iter().map(|d| d.as_const().expect("an extent")).product();
        Given { cells: data::ordinary(DType::F32, count as usize, n as u64), strides: Vec::new() }
    });
    let case = Case { name: name.clone(), given: given.collect(), module, syms: Vec::new(), wanted: Vec::new() };
    let prepared = interpret::prepare_with(case, context).expect("the interpreters agree");
    for backend in native::backends() {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("models").join(&name).join(settings);
        let folder = folder.join(backend.name());
        let errors = native::compare(std::slice::from_ref(&prepared), &*backend, &context.target, &folder);
        assert!(errors.is_empty(), "{}", errors.join("\n"));
    }
}

#[test]
fn a_small_resnet50_computes_what_it_says() {
    computes(graphs::resnet50(32, 32));
}

#[test]
fn a_small_mobilenetv2_computes_what_it_says() {
    computes(graphs::mobilenetv2(16, 32));
}

#[test]
fn a_small_resnet50_computes_the_same_in_other_layouts() {
    computes_in(graphs::resnet50(32, 32), "NCHW");
    computes_in(graphs::resnet50(32, 32), "NHWC");
    computes_in(graphs::resnet50(32, 32), "NCHW4c");
}

#[test]
fn a_small_mobilenetv2_computes_the_same_in_other_layouts() {
    computes_in(graphs::mobilenetv2(16, 32), "NCHW");
    computes_in(graphs::mobilenetv2(16, 32), "NHWC");
    computes_in(graphs::mobilenetv2(16, 32), "NCHW4c");
}

#[test]
fn a_small_minilm_computes_what_it_says() {
    computes(graphs::minilm(6, 8, 2, 12, 2));
}
