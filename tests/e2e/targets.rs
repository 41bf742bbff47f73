//! Devices that a whole build is for.

use crate::package::{Package, doubles, manifest};
use tenfold::Vulkan;
use tenfold_tests::tools;

const HEAD: &str = "//! Functions.\nuse tenfold::prelude::*;\n";

/// A library of a function without targets, one for the processor alone, and one with targets of its own.
fn library() -> String {
    let host = doubles("host").replace("#[tensor_fn]", "#[tensor_fn(targets(\"cpu\"))]");
    let own = doubles("own").replace("#[tensor_fn]", "#[tensor_fn(targets(\"cpu\", \"spirv\"))]");
    format!("{HEAD}{}{host}{own}", doubles("both"))
}

/// A loop over data, which devices do not take.
const WHILE: &str = "/// Halves.\n#[tensor_fn]\npub fn halves(x: Tensor<f32, 4>) -> Tensor<f32, 4> {\n    let mut y = x;\n    \
                     while sum(y) > 1.0 {\n        y = y / 2.0;\n    }\n    y\n}\n";

/// Calls on the processor by what functions for devices have.
const PROGRAM: &str = "//! Calls.
use e2e_targets::{both, host};
use tenfold::{Cpu, DeviceTensor, Fixed, Tensor};

type Four = DeviceTensor<Cpu, f32, (Fixed<4>,)>;

fn main() {
    let x = Four::upload(&Cpu, Tensor::from([1.0_f32; 4]).view()).unwrap();
    let mut y = Four::zeros(&Cpu, [4]).unwrap();
    both::on(&Cpu).or_host().recorded().call(&x, &mut y).unwrap();
    host::on(&Cpu).call(&x, &mut y).unwrap();
}
";

/// The functions that have code for devices, each with the keys of its modules.
fn devices(package: &Package) -> Vec<(String, Vec<&'static str>)> {
    let index = std::fs::read_to_string(package.out_dir().join("tenfold/index")).expect("an index");
    let archives = package.archives();
    let mut found = Vec::new();
    let mut name = "";
    for line in index.lines() {
        if let Some(rest) = line.strip_prefix("fn ") {
            name = rest.split(' ').next().unwrap_or_default();
        }
        if let Some(rest) = line.strip_prefix("device ") {
            let archive = rest.split(' ').next().unwrap_or_default();
            let bytes = &archives[&format!("lib{archive}.a")];
            let has = |key: &&str| bytes.windows(key.len()).any(|part| part == key.as_bytes());
            found.push((name.to_string(), ["spirv", "nvptx:sm_80", "nvptx:sm_90a"].into_iter().filter(has).collect()));
        }
    }
    found.sort();
    found
}

#[test]
fn a_build_is_for_devices() {
    let package = Package::new("e2e-targets", &library());
    package.write("src/main.rs", PROGRAM);
    package.write(
        "build.rs",
        "fn main() {\n    tenfold_build::Build::new().target(\"spirv\").target(\"nvptx:sm_80 -keys=gpu\").compile();\n}\n",
    );
    package.cargo(&["build"]).ok();
    let both = ("both".to_string(), vec!["spirv", "nvptx:sm_80"]);
    let own = ("own".to_string(), vec!["spirv"]);
    assert_eq!(devices(&package), [both, own.clone()]);
    // the environment takes the place of what the script says
    let package = package.env("TENFOLD_TARGET", "cpu; nvptx:sm_90a");
    package.cargo(&["build"]).ok();
    assert_eq!(devices(&package), [("both".to_string(), vec!["nvptx:sm_90a"]), own]);
    let package = package.env("TENFOLD_TARGET", "nvptx:sm_75");
    let outcome = package.cargo(&["check"]).err();
    let text = "`both` was not compiled: `TENFOLD_TARGET=nvptx:sm_75`: `nvptx -mcpu=sm_75` is no device that kernels are \
                compiled for";
    outcome.says(text);
}

#[test]
fn what_a_device_of_the_build_does_not_take_is_an_error_of_the_function() {
    let package = Package::new("e2e-targets-refused", &format!("{HEAD}{}{WHILE}", doubles("f")));
    package.write("build.rs", "fn main() {\n    tenfold_build::Build::new().target(\"spirv\").compile();\n}\n");
    package.write(
        "src/main.rs",
        "//! Calls.\nfn main() {\n    let _ = e2e_targets_refused::halves::on(&tenfold::Cpu).or_host();\n}\n",
    );
    let outcome = package.cargo(&["check"]).err();
    let outcome =
        outcome.says("because the whole build is for `spirv -vulkan=1.1`; `targets(\"cpu\")` keeps this function out");
    assert_eq!(outcome.errors(""), 2, "{}", outcome.stderr);
    package.edit("src/lib.rs", "/// Halves.\n#[tensor_fn]", "/// Halves.\n#[tensor_fn(targets(\"cpu\"))]");
    package.write(
        "src/main.rs",
        "//! Calls.\nfn main() {\n    let _ = e2e_targets_refused::f::on(&tenfold::Cpu).or_host();\n}\n",
    );
    package.cargo(&["check"]).ok();
}

/// Runs on the first device of Vulkan's, or says why not.
const ON_VULKAN: &str = "//! Calls.
use e2e_targets_controls::f;
use tenfold::{DeviceTensor, Error, Fixed, Tensor, Vulkan};

type Four = DeviceTensor<Vulkan, f32, (Fixed<4>,)>;

fn called(gpu: &Vulkan) -> Result<f32, Error> {
    let x = Four::upload(gpu, Tensor::from([1e-40_f32; 4]).view())?;
    let mut y = Four::zeros(gpu, [4])?;
    f::on(gpu).call(&x, &mut y)?;
    Ok(y.download(gpu)?.as_slice()[3])
}

fn main() {
    match called(&Vulkan::new().unwrap()) {
        Ok(y) => println!(\"{}\", y == 2.0 * 1e-40),
        Err(why) => println!(\"{why}\"),
    }
}
";

/// A device that promises what is asked for computes so; another one refuses the function by name of what it lacks.
#[test]
fn float_controls_are_asked_of_a_device() {
    if let Err(why) = Vulkan::new() {
        return tools::skip(&format!("a Vulkan device ({why})"), "tests/vulkan.sh installs one");
    }
    let name = "e2e-targets-controls";
    let package = Package::new(name, &format!("{HEAD}{}", doubles("f")));
    package.write("Cargo.toml", &manifest(name, "2024").replace("features = [\"std\"]", "features = [\"vulkan\"]"));
    package.write("src/main.rs", ON_VULKAN);
    let mut package = package;
    let subnormal: &[&str] = &["true\n"];
    for (feature, lacks, said) in [
        ("denorm-preserve-f32", "subnormal f32", subnormal),
        ("rounding-mode-rte-f32", "f32 rounded to the nearest even", &["true\n", "false\n"]),
    ] {
        package = package.env("TENFOLD_TARGET", &format!("spirv -mattr=+{feature}"));
        let found = package.cargo(&["run", "-q"]).ok().stdout;
        assert!(said.contains(&&*found) || (found.starts_with("vulkan: ") && found.contains(lacks)), "{found}");
    }
}
