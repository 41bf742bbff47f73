//! Compiled cases: many functions in one shared object, called through shims in C.

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use libloading::Library;
use tenfold::rt::Context;
use tenfold_core::c::CBackend;
use tenfold_core::pass::PassContext;
use tenfold_core::{Backend, CodegenOptions, Target, constant_symbol};
use tenfold_ir::tir::{BufUse, Elem, Param, PrimFunc, Scope};
use tenfold_ir::{ConstBytes, DType, Function, Module, Scalar};

use crate::case::Case;
use crate::interpret::outside::IN_C;
use crate::interpret::{Actual, Prepared, check, check_defined};

#[allow(dead_code, reason = "each test uses a part of it")]
#[path = "runnable.rs"]
pub(crate) mod runnable;

use runnable::{Level, Levels};

/// Bytes around every buffer that must stay as they are.
const FENCE: usize = 64;
const MARK: u8 = 0xa5;

/// Compiles the cases with a back end and compares every result; gives what is wrong.
pub(crate) fn compare(prepared: &[Prepared], backend: &dyn Backend, target: &Target, folder: &Path) -> Vec<String> {
    let mut errors = Vec::new();
    for (n, batch) in prepared.chunks(64).enumerate() {
        let folder = folder.join(format!("batch{n}"));
        match build(batch, backend, target, &folder) {
            Ok(library) => errors.extend(called(&library, batch, backend)),
            Err(e) => {
                let found = alone(batch, backend, target, &folder);
                let together = found.is_empty() && !exceeded(&e);
                errors.extend(together.then(|| format!("{}: only together: {e}", backend.name())));
                errors.extend(found);
            }
        }
    }
    errors
}

/// What is wrong with cases that cannot be built together: each function is built alone.
fn alone(batch: &[Prepared], backend: &dyn Backend, target: &Target, folder: &Path) -> Vec<String> {
    let functions = batch.chunk_by(|a, b| a.name == b.name).enumerate();
    let wrong =
        functions.flat_map(|(n, calls)| match build(calls, backend, target, &folder.join(format!("case{n}"))) {
            Ok(library) => called(&library, calls, backend),
            Err(e) => vec![format!("{}: {}: {e}", backend.name(), calls[0].name)],
        });
    wrong.collect()
}

/// What is wrong with what cases compute.
fn called(library: &Library, batch: &[Prepared], backend: &dyn Backend) -> Vec<String> {
    let wrong = batch.iter().enumerate().filter_map(|(n, case)| {
        let error = call(library, n, case).err()?;
        Some(format!("{}: {}: {error}", backend.name(), case.name))
    });
    wrong.collect()
}

/// Whether an error is that the C compiler took more time or memory than `limited-cc.sh` gives it. Then nothing is known
/// of the case: GCC 12 takes whatever there is for some powers of sums that stay the same in a loop.
pub(crate) fn exceeded(error: &str) -> bool {
    let said = ["CPU time limit exceeded", "out of memory allocating", "virtual memory exhausted"];
    said.iter().any(|text| error.contains(text))
}

/// One module of all: names are unique, constants are those of the cases.
pub(crate) fn merge(batch: &[Prepared]) -> Module {
    let mut merged = Module { entry: batch[0].name.clone(), ..Module::default() };
    for (n, case) in batch.iter().enumerate() {
        // One function called again stands behind its first call.
        if n > 0 && batch[n - 1].name == case.name {
            continue;
        }
        merged.sources.extend(case.module.sources.iter().cloned());
        for (name, function) in &case.module.functions {
            let mut function = function.clone();
            if let Function::Prim(prim) = &mut function {
                for buffer in &mut prim.buffers {
                    if let Scope::Const(id) = buffer.scope {
                        buffer.scope = Scope::Const(merged.add_constant(case.module.constant(id).clone()));
                    }
                }
            }
            merged.functions.insert(name.clone(), function);
        }
    }
    merged
}

fn build(batch: &[Prepared], backend: &dyn Backend, target: &Target, folder: &Path) -> Result<Library, String> {
    std::fs::create_dir_all(folder).map_err(|e| e.to_string())?;
    let module = merge(batch);
    let artefact = backend.build(&module, target, &CodegenOptions::default()).map_err(|e| e.message)?;
    // No math library, nor anything else that a program need not have; what it calls itself is there.
    let called: Vec<&str> = module.functions.keys().filter_map(|name| name.strip_prefix("extern$")).collect();
    let mut foreign = tenfold_tests::elf::unexpected(&artefact.object);
    foreign.retain(|name| !called.contains(&name.as_str()));
    if !foreign.is_empty() {
        return Err(format!("the object asks the linker for {}", foreign.join(", ")));
    }
    let entries: Vec<&PrimFunc> = batch.iter().filter_map(|c| c.module.prim(&c.name)).collect();
    let (object, shims, library) = (folder.join("cases.o"), folder.join("shims.c"), folder.join("cases.so"));
    std::fs::write(&object, &artefact.object).map_err(|e| e.to_string())?;
    std::fs::write(&shims, shim_source(&module, &entries)).map_err(|e| e.to_string())?;
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    let out = cc.args(["-shared", "-fPIC", "-O0", "-w", "-o"]).args([&library, &shims, &object]).output();
    let out = out.map_err(|e| format!("cannot start the C compiler: {e}"))?;
    if !out.status.success() {
        return Err(String::from_utf8_lossy(&out.stderr).chars().take(2000).collect());
    }
    // SAFETY: the library holds the cases alone and has no initialisers.
    unsafe { Library::new(&library) }.map_err(|e| e.to_string())
}

/// C functions that take every argument from an array, and the constants.
pub(crate) fn shim_source(module: &Module, entries: &[&PrimFunc]) -> String {
    let mut out = format!("#include <stdint.h>\n#include <stddef.h>\n{IN_C}");
    for constant in &module.constants {
        let ConstBytes::Inline(bytes) = &constant.bytes else { continue };
        // As a text: of a list, compilers remember each number.
        let text: String = bytes.iter().map(|byte| format!("\\{byte:03o}")).collect();
        let (symbol, length) = (constant_symbol(&constant.hash), bytes.len().max(1));
        let _ = writeln!(
            out,
            "__attribute__((visibility(\"hidden\"), aligned(64))) const unsigned char {symbol}[{length}] = \"{text}\";",
        );
    }
    for (index, entry) in entries.iter().enumerate() {
        let again = index > 0 && entries[index - 1].name == entry.name;
        let types: Vec<&str> = entry.params.iter().map(|p| c_type(entry, p)).collect();
        let args: Vec<String> = types
            .iter()
            .enumerate()
            .map(|(i, ty)| if *ty == "void *" { format!("p[{i}]") } else { format!("*({ty} *)p[{i}]") })
            .collect();
        let name = &entry.name;
        let types: String = types.iter().map(|ty| format!("{ty}, ")).collect();
        if !again {
            let _ =
                writeln!(out, "extern __attribute__((visibility(\"hidden\"))) int32_t {name}({types}const void *);");
        }
        let args: String = args.iter().map(|arg| format!("{arg}, ")).collect();
        let _ = writeln!(out, "int32_t shim_{index}(void **p, void *c) {{ return {name}({args}c); }}");
    }
    out
}

fn c_type(entry: &PrimFunc, param: &Param) -> &'static str {
    let Param::Value(var) = param else { return "void *" };
    match entry.vars[var.0 as usize].ty.elem {
        Elem::Index => "ptrdiff_t",
        Elem::Scalar(dtype) => match dtype {
            DType::Bool | DType::U8 | DType::U4 => "uint8_t",
            DType::F8E4M3FN | DType::F8E4M3FNUZ | DType::F8E5M2 | DType::F8E5M2FNUZ => "uint8_t",
            DType::I8 | DType::I4 => "int8_t",
            DType::I16 => "int16_t",
            DType::U16 | DType::F16 | DType::BF16 => "uint16_t",
            DType::I32 => "int32_t",
            DType::U32 => "uint32_t",
            DType::I64 => "int64_t",
            DType::U64 => "uint64_t",
            DType::F32 => "float",
            DType::F64 => "double",
        },
    }
}

/// Aligned memory between two fences.
struct Fenced {
    words: Vec<u128>,
    bytes: usize,
}

impl Fenced {
    fn new(content: &[u8]) -> Self {
        let mut fenced = Fenced { words: Vec::new(), bytes: content.len() };
        fenced.words = vec![u128::from_ne_bytes([MARK; 16]); (content.len() + 2 * FENCE + 64).div_ceil(16)];
        let start = fenced.start();
        fenced.all()[start..start + content.len()].copy_from_slice(content);
        fenced
    }

    fn all(&mut self) -> &mut [u8] {
        let len = self.words.len() * 16;
        // SAFETY: any bytes are a valid u128 and the reverse; the length is that of the words.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), len) }
    }

    /// First byte of the content: aligned to 64 bytes, behind a fence.
    fn start(&mut self) -> usize {
        let at = self.words.as_ptr() as usize;
        FENCE + (64 - at % 64) % 64
    }

    fn pointer(&mut self) -> *mut u8 {
        let start = self.start();
        self.all()[start..].as_mut_ptr()
    }

    fn content(&mut self) -> &[u8] {
        let (start, bytes) = (self.start(), self.bytes);
        &self.all()[start..start + bytes]
    }

    fn intact(&mut self) -> bool {
        let (start, bytes) = (self.start(), self.bytes);
        let all = self.all();
        all[..start].iter().chain(&all[start + bytes..]).all(|b| *b == MARK)
    }
}

/// The bytes of the last buffer of each case after its call.
pub(crate) fn outputs(
    batch: &[Prepared],
    backend: &dyn Backend,
    target: &Target,
    folder: &Path,
) -> Result<Vec<Vec<u8>>, String> {
    let library = build(batch, backend, target, folder)?;
    let called = batch.iter().enumerate().map(|(n, case)| {
        let mut memory = invoke(&library, n, case)?;
        Ok(memory.last_mut().map(|m| m.content().to_vec()).unwrap_or_default())
    });
    called.collect()
}

/// Calls a case; its memory afterwards.
fn invoke(library: &Library, index: usize, case: &Prepared) -> Result<Vec<Fenced>, String> {
    let mut memory: Vec<Fenced> = case.actual.iter().map(|a| Fenced::new(&content(a))).collect();
    let mut pointers: Vec<*mut u8> = memory.iter_mut().map(Fenced::pointer).collect();
    type Shim = unsafe extern "C" fn(*mut *mut u8, *const c_void) -> i32;
    let context = Context::new();
    // SAFETY: the shim has this type and takes as many pointers as the entry has parameters, each to memory of the
    // size that its shape asks for, and the context of a call.
    let status = unsafe {
        let shim = library.get::<Shim>(format!("shim_{index}").as_bytes()).map_err(|e| e.to_string())?;
        shim(pointers.as_mut_ptr(), context.as_ptr())
    };
    if status != 0 {
        return Err(format!("status {status}"));
    }
    Ok(memory)
}

fn call(library: &Library, index: usize, case: &Prepared) -> Result<(), String> {
    let mut memory = invoke(library, index, case)?;
    for (arg, fenced) in memory.iter_mut().enumerate() {
        if !fenced.intact() {
            return Err(format!("bytes around argument {arg} were written"));
        }
        let Actual::Buffer { dtype, usage, .. } = &case.actual[arg] else { continue };
        if *usage == BufUse::In && fenced.content() != content(&case.actual[arg]) {
            return Err(format!("input {arg} was written"));
        }
        check_buffer(case, arg, *dtype, fenced.content())?;
    }
    Ok(())
}

/// Whether the bytes of a buffer are what the interpreters admit.
pub(crate) fn check_buffer(case: &Prepared, arg: usize, dtype: DType, bytes: &[u8]) -> Result<(), String> {
    let found = bytes.chunks_exact(dtype.size_bytes()).map(|b| Scalar::from_le_bytes(dtype, b));
    for (n, (expected, found)) in case.expected[&arg].iter().zip(found).enumerate() {
        check(arg, n, *expected, Some(found))?;
        if let Some(defined) = case.definition.get(&arg).and_then(|d| d.get(n)) {
            check_defined(arg, n, *defined, Some(found))?;
        }
    }
    Ok(())
}

/// The bytes an argument begins with; outputs and the workspace hold rubbish.
pub(crate) fn content(actual: &Actual) -> Vec<u8> {
    match actual {
        Actual::Buffer { dtype, cells, .. } => {
            let rubbish = vec![MARK; dtype.size_bytes()];
            cells.iter().flat_map(|c| c.map_or(rubbish.clone(), |c| c.to_le_bytes())).collect()
        }
        Actual::Scalar(value) => value.to_le_bytes(),
        Actual::Index(value) => value.to_le_bytes().to_vec(),
        Actual::Workspace(bytes) => vec![MARK; *bytes],
    }
}

/// This machine's Rust target.
pub(crate) fn host() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let out = Command::new(rustc).arg("-vV").output().expect("rustc starts");
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let line = text.lines().find_map(|l| l.strip_prefix("host: ").map(str::to_string));
    line.expect("rustc names its host")
}

/// The back ends that this machine has.
pub(crate) fn backends() -> Vec<Box<dyn Backend>> {
    backends_in(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("conformance-c"))
}

/// The C back end with the C compiler behind a script in this folder.
fn through(folder: PathBuf, script: &str) -> CBackend {
    CBackend { folder, host: host(), compiler: Some(tenfold_tests::tools::root().join("tests").join(script)) }
}

/// The same, which write in a folder of the caller's: functions of one name are one file there.
pub(crate) fn backends_in(folder: PathBuf) -> Vec<Box<dyn Backend>> {
    let mut all: Vec<Box<dyn Backend>> = Vec::new();
    if tenfold_tests::tools::has("cc") {
        all.push(Box::new(through(folder, "limited-cc.sh")));
    } else {
        tenfold_tests::tools::skip("cc", "`apt-get install gcc` installs it");
    }
    if std::env::var_os("TENFOLD_LLVM").is_some_and(|v| v == "none") {
        println!("LLVM is switched off by TENFOLD_LLVM=none");
        return all;
    }
    let found = tenfold_llvm::find(&tenfold_llvm::Env::from_process());
    match tenfold_llvm::load(&found) {
        Ok(llvm) => all.push(Box::new(tenfold_llvm::LlvmBackend::new(llvm, &found))),
        Err(e) => tenfold_tests::tools::skip("LLVM", &format!("{e}; rustup's toolchain 1.95 carries it")),
    }
    all
}

/// What is wrong with cases over all back ends and levels, each case by its name; empty if nothing is.
pub(crate) fn run(cases: Vec<Case>, topic: &str) -> Vec<String> {
    let levels = Levels::here();
    let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names.len(), cases.len(), "two cases of {topic} have one name");
    let mut errors = Vec::new();
    for level in levels.all() {
        let has = |n: &usize| levels.of_many(*n).iter().any(|of| of.name == level.name);
        let of: Vec<Case> = (0..cases.len()).filter(has).map(|n| cases[n].clone()).collect();
        if !of.is_empty() {
            errors.extend(run_at(level, levels.layout(level), of, topic));
        }
    }
    errors
}

/// The same at one level.
fn run_at(level: &Level, layout: &Target, cases: Vec<Case>, topic: &str) -> Vec<String> {
    let (count, start, context) = (cases.len(), Instant::now(), PassContext::new(level.target.clone()));
    let (mut prepared, mut errors) = (Vec::new(), Vec::new());
    // Each eighth case first, which are those that C optimises.
    let (first, others): (Vec<_>, Vec<_>) = cases.into_iter().enumerate().partition(|(n, _)| n % 8 == 0);
    for (_, case) in first.into_iter().chain(others) {
        match crate::interpret::prepare_for(case, &context, layout) {
            Ok(case) => prepared.push(case),
            Err(e) => errors.push(e),
        }
    }
    let mut times = format!("{:.1} s passes and interpreters", start.elapsed().as_secs_f64());
    for backend in backends().into_iter().filter(|backend| level.is_baseline() || backend.name() == "llvm") {
        let start = Instant::now();
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("conformance").join(topic);
        let folder = folder.join(level.name).join(backend.name());
        if backend.name() == "c" {
            errors.extend(compare_in_c(&prepared, &*backend, &level.target, &folder));
        } else {
            errors.extend(compare(&prepared, &*backend, &level.target, &folder));
        }
        times += &format!(", {:.1} s {}", start.elapsed().as_secs_f64(), backend.name());
    }
    println!("{topic}, {}: {count} functions, {} mistakes, {times}", level.name, errors.len());
    errors.into_iter().map(|error| format!("{}: {error}", level.name)).collect()
}

/// Compares what C computes: each eighth function is optimised, all with `TENFOLD_ALL=1`.
fn compare_in_c(prepared: &[Prepared], optimising: &dyn Backend, target: &Target, folder: &Path) -> Vec<String> {
    let every = if std::env::var_os("TENFOLD_ALL").is_some() { prepared.len() } else { prepared.len().div_ceil(8) };
    let (optimised, others) = prepared.split_at(every);
    let quick = through(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("conformance-quick"), "quick-cc.sh");
    let mut errors = compare(optimised, optimising, target, &folder.join("optimised"));
    errors.extend(compare(others, &quick, target, &folder.join("quick")));
    errors
}
