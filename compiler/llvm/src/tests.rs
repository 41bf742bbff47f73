//! Functions compiled for this machine, linked by its C compiler and called.

mod casts;
mod floats;
mod integers;
mod lookups;
mod math;
mod networks;
mod objects;
mod pieces;
mod random;
mod stack;
mod statements;
mod streams;
mod transpose;
mod variants;

use std::{
    env, fs,
    path::Path,
    process::Command,
    ptr,
    sync::atomic::{AtomicUsize, Ordering},
};

use libloading::Library;
use tenfold_core::{Artefact, CodegenOptions, Target};
use tenfold_ir::{
    DType, Function, Module, Scalar,
    arith::{IntExpr, Sym},
    tir::{Access, BufUse, Builder, ExprId, Phase, PrimFunc},
};

use crate::{Llvm, Rung, backend, machine::FloatUnit, machine::Machine};

/// Of a call without threads.
type Context = *const u8;

/// LLVM, unless it is switched off or absent where it need not be present.
pub(crate) fn llvm() -> Option<Llvm> {
    let found = crate::find(&crate::Env::from_process());
    let off = env::var_os("TENFOLD_LLVM").is_some_and(|value| value == "none");
    let must = env::var_os("TENFOLD_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    if found.rung == Rung::None && (off || !must) {
        eprintln!("skipped: no LLVM; looked at {:?}", found.tried);
        return None;
    }
    Some(crate::load(&found).unwrap_or_else(|error| panic!("{error}")))
}

/// This machine's Rust target.
fn host() -> Target {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let out = Command::new(rustc).arg("-vV").output().expect("rustc starts");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let triple = text.lines().find_map(|line| line.strip_prefix("host: "));
    Target::from_triple(triple.expect("rustc names its host"), &[])
}

fn module(prims: Vec<PrimFunc>) -> Module {
    let mut module = Module { entry: prims[0].name.clone(), ..Module::default() };
    for prim in prims {
        module.functions.insert(prim.name.clone(), Function::Prim(prim));
    }
    module
}

fn compile(llvm: Llvm, machine: &Machine, module: &Module, target: &Target) -> Artefact {
    backend::build(llvm, machine, module, target, &CodegenOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// A compiled module in this process.
struct Loaded(Library);

impl Loaded {
    fn new(object: &[u8]) -> Loaded {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let folder = env::temp_dir().join("tenfold-llvm-tests");
        fs::create_dir_all(&folder).expect("a temporary folder can be made");
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}", std::process::id());
        let (from, to) = (folder.join(format!("{name}.o")), folder.join(format!("{name}.so")));
        fs::write(&from, object).expect("the object can be written");
        link(&from, &to);
        // SAFETY: the library is the object that was compiled just now; it has no initialisers.
        let library = unsafe { Library::new(&to) }.expect("the library can be loaded");
        let _ = (fs::remove_file(from), fs::remove_file(to));
        Loaded(library)
    }

    fn address(&self, name: &str) -> *const () {
        // SAFETY: the callers know the type; the library outlives the address, as `self` does.
        let symbol = unsafe { self.0.get::<*const ()>(name.as_bytes()) };
        *symbol.expect("the function is in the library")
    }

    /// Calls a function of `inputs`, one output and a length. Each is its elements' bytes.
    fn call(&self, name: &str, inputs: &[&[u8]], output: &mut [u8], length: usize) {
        let at = self.address(name);
        let n = length as isize;
        let out = output.as_mut_ptr();
        // SAFETY: the tests declare the functions with these parameters, over buffers of
        // `length` elements.
        let status = unsafe {
            match inputs {
                [a] => {
                    let f: extern "C" fn(*const u8, *mut u8, isize, Context) -> i32 = std::mem::transmute(at);
                    f(a.as_ptr(), out, n, ptr::null())
                }
                [a, b] => {
                    let f: extern "C" fn(*const u8, *const u8, *mut u8, isize, Context) -> i32 =
                        std::mem::transmute(at);
                    f(a.as_ptr(), b.as_ptr(), out, n, ptr::null())
                }
                [a, b, c] => {
                    let f: extern "C" fn(*const u8, *const u8, *const u8, *mut u8, isize, Context) -> i32 =
                        std::mem::transmute(at);
                    f(a.as_ptr(), b.as_ptr(), c.as_ptr(), out, n, ptr::null())
                }
                _ => panic!("one to three inputs"),
            }
        };
        assert_eq!(status, 0);
    }
}

fn link(object: &Path, library: &Path) {
    let cc = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let out = Command::new(cc)
        .args(["-shared", "-nostdlib", "-o"])
        .args([library, object])
        .output()
        .expect("the C compiler starts");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

/// `out[i] = f(a[i], b[i], …)` for `i` in `0..n`.
fn elementwise(
    name: &str,
    inputs: &[DType],
    output: DType,
    f: impl FnOnce(&mut Builder, &[ExprId]) -> ExprId,
) -> PrimFunc {
    let mut b = Builder::new(name);
    let n = Sym::new("n");
    let shape = vec![IntExpr::var(n.clone())];
    let mut bufs = Vec::new();
    for dtype in inputs {
        bufs.push(b.buffer_param("x", *dtype, shape.clone(), BufUse::In));
    }
    let out = b.buffer_param("out", output, shape, BufUse::Out);
    let length = b.dim_param(&n);
    let extent = b.read(length);
    let i = b.index_var("i");
    b.for_(i, extent, |b| {
        let at = b.read(i);
        let values: Vec<ExprId> = bufs.iter().map(|buf| b.load(*buf, vec![at], Access::Proven)).collect();
        let value = f(b, &values);
        b.store(out, vec![at], value);
    });
    b.func_mut().exported = true;
    b.func_mut().phase = Phase::Target;
    b.finish()
}

/// The bytes of scalars, one after the other.
fn bytes(values: &[Scalar]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn scalars(dtype: DType, bytes: &[u8]) -> Vec<Scalar> {
    bytes.chunks(dtype.size_bytes()).map(|part| Scalar::from_le_bytes(dtype, part)).collect()
}

/// Values near every edge of a dtype.
fn edges(dtype: DType) -> Vec<Scalar> {
    if dtype.is_bool() {
        return vec![Scalar::bool(false), Scalar::bool(true)];
    }
    if dtype.is_int() {
        let mut all: Vec<i128> = vec![0, 1, 2, 3, 5, 7, 8, 31, 32, 63, 64, 100, 127, 128, 200, 255];
        let (least, greatest) = (Scalar::least(dtype).to_i128(), Scalar::greatest(dtype).to_i128());
        all.extend([greatest, greatest - 1, greatest / 2, greatest / 2 + 1, greatest / 3]);
        all.extend([least, least + 1, least / 2, least / 2 - 1]);
        all.extend(all.clone().iter().map(|value| -value));
        let mut all: Vec<Scalar> = all.into_iter().map(|value| Scalar::int(dtype, value)).collect();
        all.sort();
        all.dedup();
        return all;
    }
    let mut all = vec![
        0.0,
        1.0,
        0.5,
        0.49999997,
        1.5,
        2.5,
        3.5,
        0.1,
        2.0,
        3.0,
        7.25,
        100.0,
        127.5,
        255.0,
        255.5,
        256.0,
        1e-5,
        1e-8,
        1e-40,
        5e-324,
        1e-310,
        65504.0,
        65519.0,
        65520.0,
        65536.0,
        1e5,
        8388607.5,
        8388608.0,
        8388609.0,
        2147483647.0,
        2147483648.0,
        4294967296.0,
        9e18,
        2e19,
        1e30,
        3.4e38,
        1e300,
        4503599627370495.5,
        4503599627370496.0,
        6.1e-5,
        6.0e-8,
        2.9e-8,
        f64::INFINITY,
        f64::NAN,
        std::f64::consts::PI,
        1.0009765625,
        1.00048828125,
        1.00390625,
    ];
    all.extend(all.clone().iter().map(|value| -value));
    all.into_iter().map(|value| Scalar::float(dtype, value)).collect()
}

/// Every pair of two lists, as two lists.
fn pairs(a: &[Scalar], b: &[Scalar]) -> (Vec<Scalar>, Vec<Scalar>) {
    let both = a.iter().flat_map(|x| b.iter().map(move |y| (*x, *y)));
    both.unzip()
}

/// The host as it is, and the host with fewer float instructions.
fn machines() -> Vec<(&'static str, Target, Machine)> {
    let plain = host();
    let of = |target: &Target| Machine::of(target).expect("the host is known");
    let mut all = vec![("plain", plain.clone(), of(&plain))];
    let soft = Machine { float: FloatUnit::default(), ..of(&plain) };
    all.push(("soft", plain.clone(), soft));
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx2")
        && std::is_x86_feature_detected!("fma")
        && std::is_x86_feature_detected!("f16c")
    {
        let rich = Target::from_triple(&plain.triple, &["avx2", "avx", "f16c", "fma", "sse4.1"]);
        all.push(("rich", rich.clone(), of(&rich)));
    }
    all
}

/// Compiles `prims` for each machine and hands each library to `f`.
fn on_machines(prims: Vec<PrimFunc>, f: impl Fn(&str, &Loaded)) {
    let Some(llvm) = llvm() else { return };
    let module = module(prims);
    for (name, target, machine) in machines() {
        let artefact = compile(llvm, &machine, &module, &target);
        f(name, &Loaded::new(&artefact.object));
    }
}
