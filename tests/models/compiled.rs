//! A module as machine code in this process.
#![allow(unsafe_code, reason = "calls what the back end compiled")]

use std::ffi::c_void;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use libloading::Library;
use tenfold::rt::Context;
use tenfold_core::pass::{self, PassContext};
use tenfold_core::{Backend, CodegenOptions, PIPELINE, Target};
use tenfold_ir::tir::{BufUse, Param, PrimFunc};
use tenfold_ir::{ConstBytes, Module};

/// The features of this machine that code may use, in rustc's words.
pub(crate) fn host_target() -> Target {
    let mut features: Vec<&str> = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        macro_rules! found {
            ($($name:tt)*) => { $(if std::is_x86_feature_detected!($name) { features.push($name); })* };
        }
        found!("sse3" "ssse3" "sse4.1" "sse4.2" "avx" "avx2" "fma" "f16c" "bmi1" "bmi2" "avx512f" "avx512bw"
            "avx512cd" "avx512dq" "avx512vl" "avx512fp16" "sse4a");
    }
    let host = Target::host();
    Target::from_triple(&host.triple, &features)
}

/// Takes every argument from an array.
type Shim = unsafe extern "C" fn(*mut *mut f32, *const c_void) -> i32;

/// An entry that can be called.
pub(crate) struct Compiled {
    shim: Shim,
    /// Holds the code.
    _library: Library,
    /// Bytes of each argument and how it is used.
    pub args: Vec<(usize, BufUse)>,
    /// Bytes of the object.
    #[allow(dead_code, reason = "the benchmark alone prints it")]
    pub object: usize,
}

/// Every pass over a module, and the bytes of workspace that it needs.
pub(crate) fn lowered(module: &Module, context: &PassContext) -> (Module, usize) {
    let mut module = module.clone();
    let planned = PIPELINE.iter().position(|p| p.info.name == "LowerEntry").expect("it is there");
    pass::run(&PIPELINE[..planned], &mut module, context).unwrap_or_else(|e| panic!("{e:?}"));
    let plan = module.relax(&module.entry).and_then(|f| f.plan.as_ref());
    let workspace = plan.and_then(|p| p.workspace_bound).expect("a bound");
    pass::run(&PIPELINE[planned..], &mut module, context).unwrap_or_else(|e| panic!("{e:?}"));
    (module, workspace as usize)
}

/// What the back end makes of a lowered module, in a shared library in `folder`.
pub(crate) fn compiled(
    module: &Module,
    workspace: usize,
    backend: &dyn Backend,
    target: &Target,
    folder: &Path,
) -> Compiled {
    std::fs::create_dir_all(folder).expect("a folder");
    let artefact = backend.build(module, target, &CodegenOptions::default()).expect("it compiles");
    let entry = module.prim(&module.entry).expect("an entry");
    let [object, shim, library] = ["model.o", "shim.c", "model.so"].map(|name| folder.join(name));
    std::fs::write(&object, &artefact.object).expect("it can be written");
    std::fs::write(&shim, shim_source(module, entry)).expect("it can be written");
    let mut cc = Command::new("cc");
    let done = cc.args(["-shared", "-fPIC", "-O1", "-w", "-o"]).args([&library, &shim, &object]).status();
    assert!(done.is_ok_and(|s| s.success()), "cc links");
    // SAFETY: the library holds the entry alone and has no initialisers.
    let library = unsafe { Library::new(&library) }.expect("it loads");
    // SAFETY: the shim has this type.
    let shim = unsafe { *library.get::<Shim>(b"call").expect("the shim is there") };
    let args = entry.params.iter().map(|p| match p {
        Param::Buffer(buf, usage) => {
            let data = &entry.buffers[buf.0 as usize];
            let count: i64 = data.shape.iter().map(|d| d.as_const().expect("an extent")).product();
            (count as usize * data.dtype.size_bytes(), *usage)
        }
        Param::Value(_) => (8, BufUse::In),
        Param::Workspace => (workspace, BufUse::InOut),
    });
    Compiled { shim, _library: library, args: args.collect(), object: artefact.object.len() }
}

/// A C function that takes every argument from an array, and the constants.
fn shim_source(module: &Module, entry: &PrimFunc) -> String {
    let mut out = "#include <stdint.h>\n".to_string();
    for constant in &module.constants {
        let ConstBytes::Inline(bytes) = &constant.bytes else { continue };
        // As a text: of a list, compilers remember each number.
        let text: String = bytes.iter().map(|byte| format!("\\{byte:03o}")).collect();
        let (symbol, length) = (tenfold_core::constant_symbol(&constant.hash), bytes.len().max(1));
        let _ = writeln!(
            out,
            "__attribute__((visibility(\"hidden\"), aligned(64))) const unsigned char {symbol}[{length}] = \"{text}\";",
        );
    }
    let name = &entry.name;
    let types = vec!["void *"; entry.params.len()].join(", ");
    let args: Vec<String> = (0..entry.params.len()).map(|i| format!("p[{i}]")).collect();
    let _ = writeln!(out, "extern __attribute__((visibility(\"hidden\"))) int32_t {name}({types}, const void *);");
    let _ = writeln!(out, "int32_t call(void **p, void *c) {{ return {name}({}, c); }}", args.join(", "));
    out
}

/// Memory that begins at a cache line, or so many words behind one.
pub(crate) struct Memory {
    words: Vec<f32>,
    start: usize,
    len: usize,
}

impl Memory {
    /// Zeros, so many words behind a line.
    pub(crate) fn new(bytes: usize, behind: usize) -> Memory {
        let len = bytes.div_ceil(4);
        let words = vec![0.0; len + 16 + behind];
        let start = words.as_ptr().align_offset(64) + behind;
        Memory { words, start, len }
    }

    /// Whether what lies beside it is what it was.
    #[allow(dead_code, reason = "a benchmark does not ask")]
    pub(crate) fn is_alone(&self) -> bool {
        let (before, rest) = self.words.split_at(self.start);
        before.iter().chain(&rest[self.len..]).all(|word| word.to_bits() == 0)
    }

    pub(crate) fn floats(&mut self) -> &mut [f32] {
        &mut self.words[self.start..self.start + self.len]
    }
}

/// The arguments of a call, ready to be passed: what a call costs beside them is the callee's own.
#[allow(dead_code, reason = "a benchmark alone times calls as short as that")]
pub(crate) struct Arguments {
    pub(crate) memory: Vec<Memory>,
    pointers: Vec<*mut f32>,
    context: Context,
}

#[allow(dead_code, reason = "a benchmark alone times calls as short as that")]
impl Compiled {
    /// Memory for every argument, of which the first are filled.
    pub(crate) fn arguments(&self, filled: &[&[f32]]) -> Arguments {
        let mut memory = self.memory();
        memory.iter_mut().zip(filled).for_each(|(m, from)| m.floats()[..from.len()].copy_from_slice(from));
        let pointers = memory.iter_mut().map(|m| m.floats().as_mut_ptr()).collect();
        Arguments { memory, pointers, context: Context::new() }
    }

    /// Calls the entry on what [`Compiled::arguments`] of it gave.
    pub(crate) fn call_with(&self, arguments: &mut Arguments) {
        // SAFETY: there is a pointer for each parameter, to memory of the size that its shape asks for.
        let status = unsafe { (self.shim)(arguments.pointers.as_mut_ptr(), arguments.context.as_ptr()) };
        assert_eq!(status, 0);
    }
}

impl Compiled {
    /// Memory for every argument.
    pub(crate) fn memory(&self) -> Vec<Memory> {
        self.memory_behind_line(0)
    }

    /// Memory for every argument, so many words behind a line.
    pub(crate) fn memory_behind_line(&self, behind: usize) -> Vec<Memory> {
        self.args.iter().map(|(bytes, _)| Memory::new(*bytes, behind)).collect()
    }

    /// Calls the entry on memory of [`Compiled::memory`].
    #[allow(dead_code, reason = "a benchmark of short calls has its arguments ready")]
    pub(crate) fn call(&self, memory: &mut [Memory]) {
        const FEW: usize = 16;
        assert_eq!(memory.len(), self.args.len());
        let context = Context::new();
        // A call of few arguments allocates nothing: it may be short.
        let (mut few, mut many) = ([std::ptr::null_mut(); FEW], Vec::new());
        many.resize(if memory.len() > FEW { memory.len() } else { 0 }, std::ptr::null_mut());
        let pointers = if many.is_empty() { &mut few[..] } else { &mut many[..] };
        pointers.iter_mut().zip(memory).for_each(|(pointer, m)| *pointer = m.floats().as_mut_ptr());
        // SAFETY: the shim takes as many pointers as the entry has parameters, each to memory of the size that its
        // shape asks for.
        let status = unsafe { (self.shim)(pointers.as_mut_ptr(), context.as_ptr()) };
        assert_eq!(status, 0);
    }
}
