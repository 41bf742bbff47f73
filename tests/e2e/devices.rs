//! Functions for devices all the way: attribute, build script, linker, driver.

use crate::package::{Package, manifest};
use std::path::{Path, PathBuf};
use std::process::Command;
use tenfold::Vulkan;
use tenfold_tests::tools;

const NAME: &str = "e2e-devices";

/// Runs the program in an environment of its own.
#[track_caller]
fn run(program: &Path, case: &str, environment: &[(&str, &Path)]) {
    let mut command = Command::new(program);
    let output = command.arg(case).envs(environment.iter().copied()).output().expect("the program starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && stdout.trim() == "done", "{case}: {stdout}\n{stderr}");
}

#[test]
fn a_device_computes_what_the_processor_does() {
    let package = Package::new(NAME, include_str!("devices/lib.rs"));
    let features = manifest(NAME, "2024").replace("features = [\"std\"]", "features = [\"vulkan\"]");
    package.write("Cargo.toml", &features);
    package.write("src/main.rs", include_str!("devices/main.rs"));
    package.cargo(&["build"]).ok();
    let program = package.program("debug");
    let folder = package.directory.join("loader");
    std::fs::create_dir_all(folder.join("absent")).expect("a folder can be made");
    // What is found first is no library.
    std::fs::write(folder.join("absent/libvulkan.so.1"), "").expect("a file can be written");
    run(&program, "absent", &[("LD_LIBRARY_PATH", &folder.join("absent"))]);
    // Held, so that the loader is among what this process has opened.
    let _gpu = match Vulkan::new() {
        Ok(gpu) => gpu,
        Err(why) => return tools::skip(&format!("a Vulkan device ({why})"), "tests/vulkan.sh installs one"),
    };
    run(&program, "there", &[]);
    if let Some(loader) = between(&folder) {
        let fault = Path::new("pipelines:1");
        let variables =
            [("LD_LIBRARY_PATH", &*folder), ("TENFOLD_TEST_LOADER", &*loader), ("TENFOLD_TEST_FAULT", fault)];
        run(&program, "refused", &variables);
    }
}

/// A library in the folder that stands between a program and the loader; the loader's path.
fn between(folder: &Path) -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut paths = maps.lines().filter_map(|line| line.split_whitespace().last());
    let (Some(loader), true) = (paths.find(|path| path.contains("/libvulkan.so")), tools::has("cc")) else {
        tools::skip("a C compiler on Linux", "install one, such as gcc");
        return None;
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("devices/fault.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(folder.join("libvulkan.so.1")).arg(source).arg("-ldl");
    let made = compiler.output().expect("the compiler starts");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(loader.into())
}
