//! Machines without a driver, and drivers that fail, in processes of their own.

use std::path::{Path, PathBuf};
use std::process::Command;

use tenfold::{Device, DeviceFault, DeviceTensor, Error, Status, Vulkan};
use tenfold_tests::tools;

use crate::program::{Row, call, check, linked, row, twice};
use crate::{gpu, why};

/// Runs one of the cases below in a process with these variables.
pub(crate) fn child(case: &str, variables: &[(&str, &Path)]) {
    let mut command = Command::new(std::env::current_exe().expect("this test has a file"));
    command.args(["--exact", "faults::a_case", "--nocapture"]).env("TENFOLD_TEST_CASE", case);
    variables.iter().for_each(|(name, value)| {
        command.env(name, value);
    });
    let out = command.output().expect("this test starts again");
    let text = [out.stdout, out.stderr].map(|it| String::from_utf8_lossy(&it).into_owned()).concat();
    assert!(out.status.success() && text.contains("the case is over"), "{case}: {text}");
}

/// What the processes do.
#[test]
fn a_case() {
    let Ok(case) = std::env::var("TENFOLD_TEST_CASE") else { return };
    match case.as_str() {
        "no driver" => assert!(matches!(why(Vulkan::new()), DeviceFault::NoDriver { .. })),
        "wait" => lost_while_waiting(),
        "submit" => lost_while_submitting(),
        "threads" => lost_with_threads(),
        "memory" => out_of_memory(),
        "pipelines" => crate::pipelines::named_by_a_variable(),
        other => assert!(crate::cuda::case(other), "no case is called {other}"),
    }
    println!("the case is over");
}

fn open() -> Vulkan {
    Vulkan::new().expect("there is a driver")
}

fn lost_while_waiting() {
    let (gpu, code) = (open(), linked(&twice()));
    let x = DeviceTensor::upload(&gpu, row(9).view()).expect("there is memory");
    let mut y = Row::zeros(&gpu, [9]).expect("there is memory");
    assert_eq!(call(&gpu, code, 1.0, &x, &mut y), Ok(Status::OK));
    assert_eq!(why(y.download(&gpu)), DeviceFault::Lost);
    // From here on nothing works, and nothing waits.
    assert_eq!(why(x.download(&gpu)), DeviceFault::Lost);
    assert_eq!(why(call(&gpu, code, 1.0, &x, &mut y)), DeviceFault::Lost);
    assert_eq!(why(Row::zeros(&gpu, [9])), DeviceFault::Lost);
    assert_eq!(why(gpu.stream().map(|_| ())), DeviceFault::Lost);
    drop(gpu);
    drop((x, y));
}

fn lost_while_submitting() {
    let (gpu, code) = (open(), linked(&twice()));
    let x = DeviceTensor::upload(&gpu, row(9).view()).expect("there is memory");
    let mut y = Row::zeros(&gpu, [9]).expect("there is memory");
    assert_eq!(call(&gpu, code, 1.0, &x, &mut y), Ok(Status::OK));
    assert_eq!(why(call(&gpu, code, 1.0, &x, &mut y)), DeviceFault::Lost);
    assert_eq!(why(y.download(&gpu)), DeviceFault::Lost);
}

/// Each thread's calls end, well or with the fault.
fn lost_with_threads() {
    let (gpu, code) = (open(), linked(&twice()));
    let ends = |result: Result<(), Error>| match result {
        Ok(()) => true,
        Err(Error::Device { why: DeviceFault::Lost, .. }) => false,
        Err(other) => panic!("{other}"),
    };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert!(!(0..20).all(|n| ends(check(&gpu, code, 8 + n)))));
        }
    });
}

fn out_of_memory() {
    let gpu = open();
    let first = DeviceTensor::upload(&gpu, row(9).view()).expect("there is memory");
    assert!(matches!(why(Row::zeros(&gpu, [5000])), DeviceFault::OutOfMemory { bytes: 20_000.. }));
    assert_eq!(first.download(&gpu).expect("the device works still"), row(9));
}

#[test]
fn without_a_driver_there_is_an_error() {
    let folder = folder("no_loader");
    // What is found first is no library.
    std::fs::write(folder.join("libvulkan.so.1"), "").expect("a file can be written");
    child("no driver", &[("LD_LIBRARY_PATH", &folder)]);
    let none = folder.join("none.json");
    if gpu().is_some() {
        child("no driver", &[("VK_ICD_FILENAMES", &none), ("VK_DRIVER_FILES", &none)]);
    }
}

#[test]
fn a_driver_that_fails_is_an_error() {
    let Some((folder, loader)) = between() else { return };
    for (case, fault) in [("wait", "wait:1"), ("submit", "submit:2"), ("threads", "wait:7"), ("memory", "memory:2")] {
        let fault = Path::new(fault);
        let variables =
            [("LD_LIBRARY_PATH", &*folder), ("TENFOLD_TEST_LOADER", &*loader), ("TENFOLD_TEST_FAULT", fault)];
        child(case, &variables);
    }
}

pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("devices").join(name);
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    folder
}

/// A library that stands between this program and the loader: the folder it lies in, and the loader's path.
fn between() -> Option<(PathBuf, PathBuf)> {
    gpu()?;
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let loader =
        maps.lines().filter_map(|line| line.split_whitespace().last()).find(|path| path.contains("/libvulkan.so"));
    let (Some(loader), true) = (loader, tools::has("cc")) else {
        tools::skip("a C compiler on Linux", "install one, such as gcc");
        return None;
    };
    let folder = folder("between");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("devices/fault.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o"]);
    let made =
        compiler.arg(folder.join("libvulkan.so.1")).arg(source).arg("-ldl").output().expect("the compiler starts");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some((folder, loader.into()))
}
