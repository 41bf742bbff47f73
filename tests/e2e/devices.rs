//! Functions for devices all the way: attribute, build script, linker, driver.

use crate::package::{Package, manifest};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use tenfold::blob::{Blob, BlobModule};
use tenfold::program::Program;
use tenfold::{Cuda, DeviceFault, Error, Vulkan};
use tenfold_abi::blob::{ALIGN, MAGIC};
use tenfold_tests::{ptxas, tools};

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
    let features = manifest(NAME, "2024").replace("features = [\"std\"]", "features = [\"cuda\", \"vulkan\"]");
    package.write("Cargo.toml", &features);
    package.write("src/main.rs", include_str!("devices/main.rs"));
    package.cargo(&["build"]).ok();
    let program = package.program();
    imports(&program);
    cuda(&program, &package.directory.join("driver"));
    vulkan(&program, &package.directory.join("loader"));
}

/// That the blobs in a program begin with the host's code, which imports a program for each device of its function.
fn imports(program: &Path) {
    let file = std::fs::read(program).expect("the program");
    let mut found = BTreeSet::new();
    // What is linked at a multiple of 16 begins at one in the file.
    for at in (0..file.len()).step_by(ALIGN).filter(|at| file[*at..].starts_with(&MAGIC)) {
        let length = file.get(at + 16..at + 24).and_then(|word| Some(u64::from_le_bytes(word.try_into().ok()?)));
        let Some(bytes) = length.and_then(|length| file[at..].get(..usize::try_from(length).ok()?)) else { continue };
        // The magic alone stands in the runtime's code, too.
        let mut room = vec![0; bytes.len() + ALIGN];
        let start = room.as_ptr().align_offset(ALIGN);
        room[start..][..bytes.len()].copy_from_slice(bytes);
        let Ok(blob) = Blob::read(&room[start..][..bytes.len()]) else { continue };
        let keys: Vec<String> = blob.modules().map(|module| module.key.to_string()).collect();
        assert_eq!(blob.imports(0).collect::<Vec<_>>(), (1..keys.len()).collect::<Vec<_>>(), "{keys:?}");
        assert!((1..keys.len()).all(|number| blob.imports(number).next().is_none()), "{keys:?}");
        blob.modules().for_each(assembled);
        found.insert(keys.join(" "));
    }
    let wanted = [
        "_lib nvptx:sm_80 nvptx:sm_90a",
        "_lib nvptx:sm_90a nvptx:sm_80 spirv",
        "_lib spirv nvptx:sm_80",
        "_lib spirv nvptx:sm_80 nvptx:sm_90a",
    ];
    assert_eq!(found, wanted.map(String::from).into());
}

/// That the assembler takes each kernel of a program for CUDA.
fn assembled(module: BlobModule<'_>) {
    let Some(chip) = module.key.strip_prefix("nvptx:") else { return };
    if ptxas::path().is_none() {
        return ptxas::skip();
    }
    let program = Program::read(module.payload).expect("a program");
    for kernel in program.kernels() {
        let text = std::str::from_utf8(kernel.code).expect("PTX");
        let usage = ptxas::assemble(text, chip).unwrap_or_else(|why| panic!("{}: {why}", kernel.name));
        assert_eq!(usage.spills, 0, "{}: {usage:?}", kernel.name);
    }
}

fn vulkan(program: &Path, folder: &Path) {
    std::fs::create_dir_all(folder.join("absent")).expect("a folder can be made");
    // What is found first is no library.
    std::fs::write(folder.join("absent/libvulkan.so.1"), "").expect("a file can be written");
    run(program, "absent", &[("LD_LIBRARY_PATH", &folder.join("absent"))]);
    // Held, so that the loader is among what this process has opened.
    let _gpu = match Vulkan::new() {
        Ok(gpu) => gpu,
        Err(why) => return tools::skip(&format!("a Vulkan device ({why})"), "tests/vulkan.sh installs one"),
    };
    run(program, "there", &[]);
    if let Some(loader) = between(folder) {
        let fault = Path::new("pipelines:1");
        let variables = [("LD_LIBRARY_PATH", folder), ("TENFOLD_TEST_LOADER", &*loader), ("TENFOLD_TEST_FAULT", fault)];
        run(program, "refused", &variables);
    }
}

/// The machine's own driver, if there is one, and one that says how kernels are started.
fn cuda(program: &Path, folder: &Path) {
    match Cuda::new() {
        Ok(_) => run(program, "cuda", &[]),
        Err(Error::Device { why: DeviceFault::NoDriver { .. }, .. }) => run(program, "cuda absent", &[]),
        Err(why) => println!("no device of CUDA's here: {why}"),
    }
    if !tools::has("cc") || !cfg!(target_os = "linux") {
        return tools::skip("a C compiler on Linux", "install one, such as gcc");
    }
    compiled("devices/launches.c", folder, "libcuda.so", &[]);
    for (capability, chip) in [("90", "sm_90a"), ("80", "sm_80"), ("120", "sm_80")] {
        let log = folder.join(format!("{capability}.log"));
        let _ = std::fs::remove_file(&log);
        let log_and = |fault| {
            [
                ("LD_LIBRARY_PATH", folder),
                ("TENFOLD_TEST_LOG", &*log),
                ("TENFOLD_TEST_CAPABILITY", Path::new(capability)),
                ("TENFOLD_TEST_FAULT", Path::new(fault)),
            ]
        };
        run(program, "cuda launches", &log_and(""));
        launched(&std::fs::read_to_string(&log).expect("the driver has written"), chip);
        run(program, "cuda refused", &log_and("load"));
        let _ = std::fs::remove_file(&log);
        run(program, "cuda scheduled", &log_and(""));
        let lines = std::fs::read_to_string(&log).expect("the driver has written");
        assert!(lines.lines().any(|line| line.contains(" grid 7 1 1 block 40 1 1 ")), "{lines}");
        let _ = std::fs::remove_file(&log);
        run(program, "cuda shared", &log_and(""));
        shared(&std::fs::read_to_string(&log).expect("the driver has written"), chip);
    }
}

/// That a log has the launch of the kernel that adds a window of 512 elements.
fn launched(log: &str, chip: &str) {
    let line = log.lines().next().unwrap_or_default();
    let words: Vec<&str> = line.split_whitespace().collect();
    let [kernel, target, "grid", x, "1", "1", "block", n, "1", "1", "shared", "0", "args", args @ ..] = &words[..]
    else {
        panic!("{log}");
    };
    assert!(kernel.contains("kernel") && *target == chip, "{line}");
    let threads = x.parse::<u64>().expect("a number") * n.parse::<u64>().expect("a number");
    // A thread may take several elements.
    assert!((32..=1024).contains(&threads), "{line}");
    assert_eq!(args, ["2048"; 3], "{line}");
    // A call that was recorded is started again.
    let (again, log): (Vec<&str>, Vec<&str>) = log.lines().partition(|line| line.starts_with("graph"));
    assert_eq!(again, ["graph of 1"; 2], "{log:?}");
    // One function is for the one chip alone.
    let other = |line: &&str| !line.contains(&format!(" {chip} "));
    let others: Vec<&str> = log.iter().copied().filter(other).collect();
    assert!(others.iter().all(|line| line.starts_with("total") && line.contains(" sm_80 ")), "{log:?}");
}

/// That a log has the launches of a product, one by itself and one in a graph, with as much shared memory as the chip's
/// kernel takes: the driver starts none with more than 48 KB that was not asked for.
fn shared(log: &str, chip: &str) {
    let (again, log): (Vec<&str>, Vec<&str>) = log.lines().partition(|line| line.starts_with("graph"));
    assert_eq!(again, ["graph of 1"; 2], "{log:?}");
    let of = |line: &&str| line.split_once(" shared ")?.1.split(' ').next()?.parse().ok();
    let bytes: Vec<u32> = log.iter().filter_map(of).collect();
    assert!(bytes.len() == 2 && bytes[0] == bytes[1], "{log:?}");
    assert_eq!(bytes[0] > 48 << 10, chip == "sm_90a", "{log:?}");
}

/// A library in the folder that stands between a program and the loader; the loader's path.
fn between(folder: &Path) -> Option<PathBuf> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mut paths = maps.lines().filter_map(|line| line.split_whitespace().last());
    let (Some(loader), true) = (paths.find(|path| path.contains("/libvulkan.so")), tools::has("cc")) else {
        tools::skip("a C compiler on Linux", "install one, such as gcc");
        return None;
    };
    compiled("devices/fault.c", folder, "libvulkan.so.1", &["-ldl"]);
    Some(loader.into())
}

/// Makes a library of a source of the tests.
fn compiled(source: &str, folder: &Path, name: &str, options: &[&str]) {
    std::fs::create_dir_all(folder).expect("a folder can be made");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-o"]).arg(folder.join(name)).arg(source).args(options);
    let made = compiler.output().expect("the compiler starts");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}
