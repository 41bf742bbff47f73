#![allow(unsafe_code, reason = "calls what it has compiled")]
//! A strict function adds in the order that its text says, whatever the registers of the target are.

use std::ffi::c_void;
use std::path::PathBuf;

use tenfold_core::c::CBackend;
use tenfold_core::pass::PassContext;
use tenfold_core::{Options, Target, compile};
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::ReduceOp;
use tenfold_ir::relax::{Builder, Op, ParamKind, TensorType};
use tenfold_ir::{DType, Function, Loc, Module};

const ROWS: usize = 3;
const TERMS: usize = 500;
const COLUMNS: usize = 40;

fn host() -> String {
    let out = std::process::Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let text = String::from_utf8(out.stdout).expect("rustc prints text");
    text.lines().find_map(|l| l.strip_prefix("host: ")).expect("rustc names its host").to_string()
}

fn ty(shape: [usize; 2]) -> TensorType {
    TensorType { dtype: DType::F32, shape: shape.map(|n| IntExpr::from(n as i64)).to_vec() }
}

/// A product and the sums of its rows' factors: long sums in tiles, and in lanes.
fn sums() -> Module {
    let mut b = Builder::new("sums");
    let x = b.param(ParamKind::Input, ty([ROWS, TERMS]), "x", 0, Loc::default());
    let w = b.param(ParamKind::Input, ty([TERMS, COLUMNS]), "w", 1, Loc::default());
    let product = b.emit(Op::MatMul, &[x, w]).expect("it types");
    let rows = b.emit(Op::Reduce { op: ReduceOp::Sum, axes: vec![1], keepdims: false }, &[x]).expect("it types");
    let mut module = Module { entry: "sums".into(), sources: vec!["sums".into()], ..Module::default() };
    module.functions.insert("sums".into(), Function::Relax(b.finish(&[product, rows])));
    module
}

/// The bits of both results of the code for a target.
fn bits(name: &str, target: &Target, strict: bool, x: &[f32], w: &[f32]) -> Vec<u32> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("strict-{name}-{strict}"));
    let backend = CBackend { folder: folder.clone(), host: host(), compiler: None };
    let options = Options { strict, ..Options::default() };
    let compiled = compile(sums(), &PassContext::new(target.clone()), &options, &backend).expect("it compiles");
    let source = std::fs::read_to_string(folder.join("sums.c")).expect("the source is there");
    let (c, so) = (folder.join("visible.c"), folder.join("lib.so"));
    std::fs::write(&c, source.replace("visibility(\"hidden\")", "visibility(\"default\")")).expect("it is written");
    let status = std::process::Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&so).arg(&c).status();
    assert!(status.expect("cc runs").success());
    // SAFETY: the library was made above and has no initialisers.
    let library = unsafe { libloading::Library::new(&so) }.expect("it loads");
    type Entry = unsafe extern "C" fn(*const f32, *const f32, *mut f32, *mut f32, *mut c_void, *const c_void) -> i32;
    // SAFETY: the convention gives this function this type.
    let entry = unsafe { library.get::<Entry>(b"sums") }.expect("the entry is exported");
    let (mut y, mut z) = (vec![0f32; ROWS * COLUMNS], vec![0f32; ROWS]);
    let bytes = compiled.workspace.map_or(0, |w| w.eval(&|_| None).expect("it is a number"));
    let mut workspace = vec![0u128; (bytes as usize).div_ceil(16) + 8];
    let aligned = workspace.as_mut_ptr().wrapping_byte_add(workspace.as_ptr().cast::<u8>().align_offset(64));
    // SAFETY: the buffers have the shapes of the signature.
    let status =
        unsafe { entry(x.as_ptr(), w.as_ptr(), y.as_mut_ptr(), z.as_mut_ptr(), aligned.cast(), std::ptr::null()) };
    assert_eq!(status, 0);
    y.into_iter().chain(z).map(f32::to_bits).collect()
}

#[test]
fn every_level_gives_the_bits_of_the_plain_sum() {
    let wave = |count: usize, step: f64| (0..count).map(|n| (n as f64 * step).sin() as f32).collect::<Vec<f32>>();
    let (x, w) = (wave(ROWS * TERMS, 0.37), wave(TERMS * COLUMNS, 0.11));
    let term = |i: usize, j: usize, k: usize| x[i * TERMS + k] * w[k * COLUMNS + j];
    let product = (0..ROWS * COLUMNS).map(|n| (0..TERMS).fold(0f32, |sum, k| sum + term(n / COLUMNS, n % COLUMNS, k)));
    let rows = (0..ROWS).map(|i| x[i * TERMS..][..TERMS].iter().fold(0f32, |sum, x| sum + x));
    let wanted: Vec<u32> = product.chain(rows).map(f32::to_bits).collect();
    let plain = Target::from_triple(&host(), &[]);
    let levels = plain.levels().into_iter().map(|level| (level.name, plain.with_level(&level)));
    for (name, target) in std::iter::once(("baseline", plain.clone())).chain(levels) {
        assert_eq!(bits(name, &target, true, &x, &w), wanted, "{name}");
    }
    // What is not strict is summed in blocks and lanes.
    assert_ne!(bits("baseline", &plain, false, &x, &w), wanted);
}
