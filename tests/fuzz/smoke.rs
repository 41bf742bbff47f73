//! The fuzzers' targets on their corpora, changed in the same ways in every run; and on every file in which one of them
//! once found something. `TENFOLD_FUZZ_RUNS` sets how many inputs each target gets.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tenfold_core::blob::Module;

mod readers;
mod targets;

/// A small generator of random numbers, the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }
}

fn folder(kind: &str, target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(kind).join(target)
}

/// The files of a folder, by name.
fn files(folder: &Path) -> Vec<Vec<u8>> {
    let Ok(found) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = found.filter_map(|file| Some(file.ok()?.path())).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a file of a corpus can be read")).collect()
}

/// One change: bytes set, taken out, doubled, or spliced in from another file.
fn change(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    const TELLING: &[u8] = b"\0\x01\x7f\x80\xff(){}[]<>,;:=+-*/%#@!\"'0129axNi_. \n";
    let (at, len) = (random.below(bytes.len() + 1), random.below(12));
    let end = (at + len).min(bytes.len());
    match random.below(5) {
        0 => bytes.insert(at, TELLING[random.below(TELLING.len())]),
        1 => drop(bytes.drain(at..end)),
        2 => {
            let part = bytes[at..end].to_vec();
            bytes.splice(at..at, part);
        }
        3 if at < bytes.len() => bytes[at] = TELLING[random.below(TELLING.len())],
        _ => {
            let other = &corpus[random.below(corpus.len())];
            let from = random.below(other.len() + 1);
            let to = (from + random.below(24)).min(other.len());
            bytes.splice(at..end, other[from..to].iter().copied());
        }
    }
}

fn fuzz(name: &str) {
    let runs = std::env::var("TENFOLD_FUZZ_RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let mut all = targets::TARGETS.iter().chain(readers::READERS);
    let (_, target) = all.find(|(it, _)| *it == name).expect("a target of this name");
    let corpus = files(&folder("corpus", name));
    assert!(!corpus.is_empty(), "{name} has no corpus");
    corpus.iter().chain(&files(&folder("found", name))).for_each(|bytes| target(bytes));
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut slowest = Duration::ZERO;
    for _ in 0..runs {
        let mut bytes = corpus[random.below(corpus.len())].clone();
        (0..=random.below(6)).for_each(|_| change(&mut bytes, &corpus, &mut random));
        let start = Instant::now();
        let result = std::panic::catch_unwind(|| target(&bytes));
        slowest = slowest.max(start.elapsed());
        if let Err(panic) = result {
            eprintln!("{name} panics on {:?}", String::from_utf8_lossy(&bytes));
            std::panic::resume_unwind(panic);
        }
    }
    assert!(slowest < Duration::from_secs(20), "one input took {slowest:?}");
}

#[test]
fn syntax() {
    fuzz("syntax");
}

#[test]
fn relax() {
    fuzz("relax");
}

#[test]
fn tir() {
    fuzz("tir");
}

#[test]
fn arith() {
    fuzz("arith");
}

#[test]
fn blob() {
    fuzz("blob");
}

#[test]
fn program() {
    fuzz("program");
}

#[test]
fn safetensors() {
    fuzz("safetensors");
}

#[test]
fn npy() {
    fuzz("npy");
}

#[test]
fn npz() {
    fuzz("npz");
}

#[test]
fn index() {
    fuzz("index");
}

#[test]
fn onnx() {
    fuzz("onnx");
}

#[test]
fn tflite() {
    fuzz("tflite");
}

#[test]
fn blobs_read_back_as_they_are_written() {
    let module = |key: &str, len: usize, imports: &[usize]| Module {
        key: key.to_string(),
        payload: (0..len).map(|at| at as u8).collect(),
        imports: imports.to_vec(),
    };
    let modules = [Module::host(vec![1, 2]), module("nvptx", 33, &[2]), module("spirv", 64, &[])];
    let written = tenfold_core::blob::write(&modules).expect("modules make a blob");
    assert_eq!(written, files(&folder("corpus", "blob"))[0], "the layout has changed: then it has a new version");
    let mut room = vec![0; written.len() + 16];
    let start = room.as_ptr().align_offset(16);
    room[start..start + written.len()].copy_from_slice(&written);
    let bytes = &room[start..start + written.len()];
    let blob = tenfold::blob::Blob::read(bytes).expect("a blob reads back");
    let found: Vec<_> = blob.modules().map(|module| (module.key, module.payload)).collect();
    let given: Vec<_> = modules.iter().map(|module| (module.key.as_str(), &module.payload[..])).collect();
    assert_eq!(found, given);
    for (at, module) in modules.iter().enumerate() {
        assert_eq!(blob.imports(at).collect::<Vec<_>>(), module.imports);
    }
    assert!(blob.find("_lib").is_some_and(|host| host.is_host()) && blob.find("cuda").is_none());
    every_damage_is_seen(bytes);
}

/// A program of two kernels, whose second one waits for the first.
fn two_kernels() -> tenfold_core::program::Program {
    use tenfold_abi::{DType, program::*};
    let mut program =
        tenfold_core::program::Program { dims: 1, params: 1, results: 1, scalars: 1, ..Default::default() };
    let (n, four, zero, one) = (
        program.node(Node::Dim(0)),
        program.node(Node::Const(4)),
        program.node(Node::Const(0)),
        program.node(Node::Const(1)),
    );
    let bytes = program.node(Node::Of(Operation::Mul, n, four));
    program.workspace = bytes;
    let buffer = |place, access, bytes| Buffer { place, dtype: DType::F32, access, bytes };
    program.buffers = vec![
        buffer(Place::Param(0), Access::In, bytes),
        buffer(Place::Workspace(zero), Access::InOut, bytes),
        buffer(Place::Constant(0), Access::In, four),
        buffer(Place::Result(0), Access::Out, bytes),
    ];
    program.constants = vec![tenfold_core::program::Constant { hash: "00".into(), bytes: 4 }];
    program.kernels = ["scale", "shift"]
        .map(|name| tenfold_core::program::Code {
            name: name.into(),
            code: name.bytes().cycle().take(40).collect(),
            local: [64, 1, 1],
            features: Feature::F16.bit(),
            ..<_>::default()
        })
        .into();
    let launch = |kernel, args| Step::Launch { kernel, grid: [n, one, one], shared: zero, args };
    program.steps = vec![Step::Check { holds: n, check: 1 }, launch(0, (0, 4)), Step::Barrier, launch(1, (4, 8))];
    program.args = vec![
        Arg::Buffer(0),
        Arg::Buffer(1),
        Arg::I32(n),
        Arg::Scalar(0, DType::F32),
        Arg::Buffer(1),
        Arg::Buffer(2),
        Arg::Buffer(3),
        Arg::Map(0),
    ];
    let mut axes = [MapAxis::default(); MAX_AXES];
    axes[0] = MapAxis { width: 32, extent: n, stride: 0 };
    program.maps = vec![Map { buffer: 1, dtype: DType::F32, rank: 1, axes }];
    program
}

#[test]
fn programs_read_back_as_they_are_written() {
    let given = two_kernels();
    let written = given.write().expect("a program is written");
    assert_eq!(written, files(&folder("corpus", "program"))[0], "the layout has changed: then it has a new version");
    let read = tenfold::program::Program::read(&written).expect("a program reads back");
    assert_eq!(read.steps().collect::<Vec<_>>(), given.steps);
    assert_eq!(read.buffers().collect::<Vec<_>>(), given.buffers);
    assert_eq!(read.args((0, 8)).collect::<Vec<_>>(), given.args);
    assert_eq!(read.map(0), Some(given.maps[0]));
    assert_eq!(read.constants().collect::<Vec<_>>(), [4]);
    for (read, given) in read.kernels().zip(&given.kernels) {
        assert_eq!((read.name, read.code, read.local), (&given.name[..], &given.code[..], given.local));
    }
    let mut values = vec![0; read.nodes()];
    read.evaluate(&[9], &mut values).expect("the extents are small");
    assert_eq!(values[read.workspace()], 36);
}

/// No byte of a blob can change unseen.
fn every_damage_is_seen(whole: &[u8]) {
    let mut room = vec![0; whole.len() + 16];
    let start = room.as_ptr().align_offset(16);
    for at in 0..whole.len() {
        let bytes = &mut room[start..start + whole.len()];
        bytes.copy_from_slice(whole);
        bytes[at] ^= 0x10;
        assert!(tenfold::blob::Blob::read(bytes).is_err(), "byte {at}");
        assert!(tenfold::blob::Blob::read(&room[start..start + at]).is_err(), "the first {at} bytes");
    }
}

#[test]
fn what_is_no_module_is_not_written() {
    let module = |key: &str, imports: &[usize]| Module { key: key.into(), payload: vec![1], imports: imports.into() };
    assert!(tenfold_core::blob::write(&[module("a", &[]), module("a", &[])]).is_err());
    assert!(tenfold_core::blob::write(&[module("a", &[0])]).is_err());
    assert!(tenfold_core::blob::write(&[module("a", &[1])]).is_err());
    assert!(tenfold_core::blob::write(&[module("", &[])]).is_err());
    assert!(tenfold_core::blob::write(&[module("_import_tree", &[])]).is_err());
    assert!(tenfold_core::blob::write(&[module("_lib", &[])]).is_err());
}
