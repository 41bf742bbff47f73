//! A firmware in C with the digits MLP, as a library: its classes are those of the host.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::package::Package;

const IMAGES: usize = 20;

/// A board of QEMU, with its target and how GCC is told of it.
struct Board {
    machine: &'static str,
    target: &'static str,
    flags: &'static [&'static str],
}

const BOARDS: [Board; 2] = [
    Board {
        machine: "mps2-an386",
        target: "thumbv7em-none-eabihf",
        flags: &["-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
    },
    // Without a float unit: arithmetic comes from libgcc.
    Board { machine: "mps2-an385", target: "thumbv7m-none-eabi", flags: &["-mcpu=cortex-m3", "-mfloat-abi=soft"] },
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the checkout")
}

/// Whether the tools are there; a line says which one is not.
fn has_tools() -> bool {
    let has = |tool: &&str| Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    let Some(absent) = ["arm-none-eabi-gcc", "qemu-system-arm"].into_iter().find(|tool| !has(tool)) else {
        return true;
    };
    let line = format!("skipped: {absent} is absent; run tests/firmware/setup.sh");
    assert!(std::env::var_os("TENFOLD_REQUIRE_TOOLS").is_none_or(|value| value != "1"), "{line}");
    println!("{line}");
    false
}

/// The classes of the first images by the host's reference.
fn expected() -> String {
    let bytes = fs::read(root().join("examples/digits/data/mlp_reference.npy")).expect("the reference");
    let values: Vec<f32> = bytes[128..] // NumPy pads its header so that the data begins here
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let class = |row: &[f32]| (0..10).fold(0, |best, d| if row[d] > row[best] { d } else { best });
    values.chunks_exact(10).take(IMAGES).map(|row| format!("{}\n", class(row))).collect()
}

fn compiler(board: &Board, library: &Path) -> Command {
    let mut cc = Command::new("arm-none-eabi-gcc");
    cc.current_dir(library).args(board.flags).args(["-mthumb", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]);
    cc.args(["-O2", "-ffreestanding", "-fno-tree-loop-distribute-patterns", "-nostdlib", "-I."]);
    cc.arg(root().join("tests/firmware/c/main.c"));
    cc
}

#[test]
fn a_firmware_in_c_sees_the_same_digits() {
    if !has_tools() {
        return;
    }
    let package = Package::bare("lib-firmware");
    let manifest = root().join("examples/digits/Cargo.toml");
    for board in &BOARDS {
        let (target, library) = (board.target, package.path(board.target));
        let line = format!("lib --manifest-path {} --target {target} --output {target}", manifest.display());
        let outcome = package.run(&line);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        fs::copy(root().join("examples/digits/data/test_images.npy"), library.join("test_images.npy"))
            .expect("the images");
        let script = root().join("tests/firmware/mps2.ld");
        let mut cc = compiler(board, &library);
        cc.args(["-Wl,--gc-sections", "-L.", "-ldigits", "-lgcc", "-o", "firmware", "-T"]).arg(script);
        let output = cc.output().expect("GCC starts");
        assert!(output.status.success(), "{target}: {}", String::from_utf8_lossy(&output.stderr));
        let output = Command::new("qemu-system-arm")
            .current_dir(&library)
            .args([
                "-M",
                board.machine,
                "-nographic",
                "-monitor",
                "none",
                "-serial",
                "none",
                "-chardev",
                "stdio,id=console",
            ])
            .args(["-semihosting-config", "enable=on,target=native,chardev=console", "-kernel", "firmware"])
            .stdin(Stdio::null())
            .output()
            .expect("the simulator starts");
        assert!(output.status.success(), "{target}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected(), "{target}");
        // The other board's convention for floats is refused before anything is linked.
        let other = BOARDS.iter().find(|other| other.target != target).expect("there are two");
        let output = compiler(other, &library).arg("-fsyntax-only").output().expect("GCC starts");
        assert!(!output.status.success(), "{target} is taken with {:?}", other.flags);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("#error \"this library passes floats in "), "{target}: {text}");
    }
}
