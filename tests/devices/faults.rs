//! Machines without a driver, and drivers that fail, in processes of their own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tenfold::{Device, DeviceCode, DeviceFault, DeviceTensor, Error, Status, Vulkan};
use tenfold_tests::tools;

use crate::program::{Row, call, check, linked, row, twice};
use crate::{copies, events, gpu, recorded, why};

/// Runs one of the cases below in a process with these variables, and gives what it and its driver say.
pub(crate) fn child(case: &str, variables: &[(&str, &Path)]) -> String {
    let mut command = Command::new(std::env::current_exe().expect("this test has a file"));
    command.args(["--exact", "faults::a_case", "--nocapture"]).env("TENFOLD_TEST_CASE", case);
    variables.iter().for_each(|(name, value)| {
        command.env(name, value);
    });
    let out = command.output().expect("this test starts again");
    let text = [out.stdout, out.stderr].map(|it| String::from_utf8_lossy(&it).into_owned()).concat();
    assert!(out.status.success() && text.contains("the case is over"), "{case}: {text}");
    text
}

/// What the processes do.
#[test]
fn a_case() {
    let Ok(case) = std::env::var("TENFOLD_TEST_CASE") else { return };
    match case.as_str() {
        "no driver" => assert!(matches!(why(Vulkan::new()), DeviceFault::NoDriver { .. })),
        "everything" => everything(&open(), linked(&twice())),
        "wait" => lost_while_waiting(),
        "submit" => lost_while_submitting(),
        "threads" => lost_with_threads(&open(), linked(&twice())),
        "recorded" => lost_recorded(),
        "event" => lost_before_an_event(),
        "queue" => lost_in_the_queue(),
        "one of two" => one_of_two(&open(), &open(), linked(&twice())),
        "memory" => out_of_memory(),
        "memory is kept" => kept_memory(),
        "memory of a call" => memory_of_a_call(),
        "memory comes back" => check(&open(), linked(&twice()), 9).expect("it does the second time"),
        "refused" => refused_once(),
        "pipelines" => crate::pipelines::named_by_a_variable(),
        other => {
            let known = crate::cuda::case(other) || crate::old::case(other) || crate::sweep::case(other);
            assert!(known, "no case is called {other}");
        }
    }
    println!("the case is over");
}

fn open() -> Vulkan {
    Vulkan::new().expect("there is a driver")
}

fn everything(gpu: &Vulkan, code: DeviceCode) {
    (0..70).for_each(|n| check(gpu, code, 8 + n).expect("the device works"));
    recorded::works(gpu, code);
    events::works(gpu, code);
    copies::works(gpu, code);
}

/// Khronos' validation looks at what the driver is given.
#[test]
fn validation_finds_nothing() {
    if gpu().is_none() {
        return;
    }
    let variables = [
        ("VK_INSTANCE_LAYERS", "VK_LAYER_KHRONOS_validation"),
        ("VK_LAYER_ENABLES", "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT"),
        ("VK_LOADER_DEBUG", "layer"),
    ];
    let text = child("everything", &variables.map(|(name, value)| (name, Path::new(value))));
    if !text.contains("Insert instance layer \"VK_LAYER_KHRONOS_validation\"") {
        return tools::skip("Khronos' validation of Vulkan", "tests/vulkan.sh installs it");
    }
    let found: Vec<&str> = text.lines().filter(|line| line.contains("Validation Error")).collect();
    assert!(found.is_empty(), "{found:#?}");
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

/// What was submitted before the loss is lost with it, whether it is waited for by download, by event or by stream.
fn lost_in_the_queue() {
    let (gpu, code) = (open(), linked(&twice()));
    let x = DeviceTensor::upload(&gpu, row(9).view()).expect("there is memory");
    let mut all: Vec<_> = (0..5).map(|_| Row::zeros(&gpu, [9]).expect("there is memory")).collect();
    let event = gpu.stream().and_then(|stream| stream.event().map(drop));
    event.expect("the device works");
    let submitted = all.iter_mut().map(|y| call(&gpu, code, 1.0, &x, y)).collect::<Vec<_>>();
    let lost = submitted.iter().position(|it| it.is_err()).expect("one of the calls meets the fault");
    assert!(lost > 0 && submitted[..lost].iter().all(|it| *it == Ok(Status::OK)), "{submitted:?}");
    assert!(submitted[lost..].iter().all(|it| matches!(why(*it), DeviceFault::Lost)), "{submitted:?}");
    assert!(all.iter().all(|y| why(y.download(&gpu)) == DeviceFault::Lost));
    assert_eq!(why(all[0].write(&gpu, row(9).view())), DeviceFault::Lost);
    let again = open();
    assert_eq!(why(x.download(&again)), DeviceFault::OtherDevice);
}

fn lost_recorded() {
    let (gpu, code) = (open(), linked(&twice()));
    let recorded = recorded::on(&gpu).recorded();
    let x = DeviceTensor::upload(&gpu, row(9).view()).expect("there is memory");
    let mut y = Row::zeros(&gpu, [9]).expect("there is memory");
    assert_eq!(recorded::call(&recorded, code, 1.0, &x, &mut y), Ok(Status::OK));
    for a in [1.0, 1.0, 2.0] {
        assert_eq!(why(recorded::call(&recorded, code, a, &x, &mut y)), DeviceFault::Lost);
    }
    drop(x);
    drop(recorded);
    assert_eq!(why(y.download(&gpu)), DeviceFault::Lost);
}

fn lost_before_an_event() {
    let (gpu, code) = (open(), linked(&twice()));
    let stream = gpu.stream().expect("the device works");
    let x = DeviceTensor::upload(&gpu, row(9).view()).expect("there is memory");
    let mut y = Row::zeros(&gpu, [9]).expect("there is memory");
    assert_eq!(call(&gpu, code, 1.0, &x, &mut y), Ok(Status::OK));
    let event = stream.event().expect("the device works");
    assert_eq!(why(event.synchronize()), DeviceFault::Lost);
    assert_eq!(why(event.is_done()), DeviceFault::Lost);
    assert_eq!(why(event.since(&event)), DeviceFault::Lost);
    assert_eq!(why(stream.event()), DeviceFault::Lost);
}

/// A call that finds no memory for its workspace has done nothing, and the device works on.
fn memory_of_a_call() {
    let (gpu, code) = (open(), linked(&twice()));
    let x = DeviceTensor::upload(&gpu, row(9).view()).expect("there is memory");
    let mut y = Row::zeros(&gpu, [9]).expect("there is memory");
    assert!(matches!(why(call(&gpu, code, 1.0, &x, &mut y)), DeviceFault::OutOfMemory { bytes: 292.. }));
    let recorded = recorded::on(&gpu).recorded();
    let found = why(recorded::call(&recorded, code, 1.0, &x, &mut y));
    assert!(matches!(found, DeviceFault::OutOfMemory { bytes: 292.. }), "{found:?}");
    assert_eq!(y.download(&gpu).expect("the device works still"), [0.0; 9]);
    assert_eq!(x.download(&gpu).expect("the device works still"), row(9));
}

/// The driver would take the kernel the second time, but is not asked again.
fn refused_once() {
    let (gpu, code) = (open(), linked(&twice()));
    for _ in 0..2 {
        let found = why(check(&gpu, code, 9));
        assert!(matches!(found, DeviceFault::Kernel { kernel: "scale", .. }), "{found:?}");
    }
}

/// Each thread's calls end, well or with the fault; recorded calls as well.
pub(crate) fn lost_with_threads<D: Device + Sync>(gpu: &D, code: DeviceCode) {
    let ends = |result: Result<(), Error>| match result {
        Ok(()) => true,
        Err(Error::Device { why: DeviceFault::Lost, .. }) => false,
        Err(other) => panic!("{other}"),
    };
    let twice = recorded::on(gpu).recorded();
    let again = |n: usize| {
        let x = DeviceTensor::upload(gpu, row(n).view())?;
        let mut y = Row::zeros(gpu, [n])?;
        (0..3).try_for_each(|_| recorded::call(&twice, code, 2.0, &x, &mut y).map(drop))?;
        y.download(gpu).map(drop)
    };
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| assert!(!(0..20).all(|n| ends(check(gpu, code, 8 + n)))));
            scope.spawn(|| assert!(!(0..20).all(|n| ends(again(8 + n)))));
        }
    });
}

/// The first submission loses its device; the other works on, and takes nothing of it.
pub(crate) fn one_of_two<D: Device>(one: &D, two: &D, code: DeviceCode) {
    let lost = Error::Device { kind: one.kind(), why: DeviceFault::Lost };
    let x = DeviceTensor::upload(one, row(9).view()).expect("there is memory");
    let mut y = Row::zeros(one, [9]).expect("there is memory");
    assert_eq!(call(one, code, 2.0, &x, &mut y), Err(lost));
    assert_eq!(check(one, code, 9), Err(lost));
    for n in [9, 65, 1000] {
        check(two, code, n).expect("the other device works");
    }
    let other = Error::Device { kind: one.kind(), why: DeviceFault::OtherDevice };
    assert_eq!(call(two, code, 2.0, &x, &mut y), Err(other));
    drop((x, y));
    check(two, code, 9).expect("the other device works");
}

/// What was dropped is kept for the next tensor of its size, and given back before there is none for another size.
fn kept_memory() {
    let gpu = open();
    for n in 0..12 {
        let zeros = Row::zeros(&gpu, [1000 << n]).unwrap_or_else(|error| panic!("{n}: {error}"));
        assert_eq!(zeros.download(&gpu).expect("the device works")[[0]], 0.0);
    }
    check(&gpu, linked(&twice()), 9).expect("there is room for a call");
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
    let cases = [
        ("wait", "wait:1"),
        ("submit", "submit:2"),
        ("threads", "wait:7"),
        // Behind the event and two calls.
        ("queue", "submit:4"),
        ("one of two", "submit=1"),
        ("recorded", "submit:2"),
        ("event", "wait:1"),
        ("memory", "memory:2"),
        // The two tensors, the constant, the workspace.
        ("memory of a call", "memory:4"),
        ("memory comes back", "memory=4"),
        ("memory is kept", "room:6"),
        ("refused", "pipelines=1"),
        // These say themselves what fails.
        ("each call fails", "none"),
        ("each call loses the device", "none"),
    ];
    for (case, fault) in cases {
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

/// A library that stands between this program and the loader: the folder it lies in, and the loader's path. It is made
/// once, since tests run side by side.
pub(crate) fn between() -> Option<(PathBuf, PathBuf)> {
    static MADE: OnceLock<Option<(PathBuf, PathBuf)>> = OnceLock::new();
    MADE.get_or_init(made_between).clone()
}

fn made_between() -> Option<(PathBuf, PathBuf)> {
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
