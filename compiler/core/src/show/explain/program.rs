//! A program that calls a function on random inputs and times its kernels: an object, constants, and what is generated
//! of C around `measure.c`.
//!
//! Kernels are timed where they run, between the others: the caches hold what the kernels before have left there,
//! indices are those that the function computes, and no kernel needs a caller of its own.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::tir::{BufUse, BufferData, Elem, Param, PrimFunc};
use tenfold_ir::{ConstBytes, ConstData, DType, Scalar};

use crate::Compiled;
use crate::backend::constant_symbol;

/// The symbol of the function.
pub(super) const ENTRY: &str = "tenfold_explained";

/// What is the same for every function.
const MEASURE: &str = include_str!("measure.c");

/// Sizes that bandwidth is measured for, each twice the one before, as far as the function's data are larger.
const SIZES: std::ops::RangeInclusive<u32> = 14..=28;

/// The files that a C compiler makes a program of, in the order in which it takes them.
pub const FILES: [&str; 3] = ["measure.c", "constants.s", "kernels.o"];

/// The elements of the inputs, the program's first argument.
pub const INPUTS: &str = "inputs.bin";

/// A line for each thing that the function asks of what it is given; a call that breaks one has its number as status.
pub const CHECKS: &str = "checks";

/// A compiled function and how it is called.
pub(super) struct Program<'a> {
    /// The entry as it was lowered.
    pub(super) entry: &'a PrimFunc,
    /// Numbers for its symbols.
    pub(super) dims: &'a BTreeMap<Sym, i64>,
    /// Calls of kernels in it.
    pub(super) sites: usize,
    /// Bytes of its workspace.
    pub(super) workspace: u64,
    /// Bytes of a vector of the target.
    pub(super) vector_bytes: u32,
    /// Bytes that a call touches.
    pub(super) data: u64,
    /// What generated the code.
    pub(super) backend: &'a str,
}

impl Program<'_> {
    /// Writes the program into a folder.
    pub(super) fn write(&self, made: &Compiled, folder: &Path) -> Result<(), String> {
        let write = |name: &str, content: &[u8]| {
            let path = folder.join(name);
            fs::write(&path, content).map_err(|e| unwritable(&path, &e))
        };
        let (source, inputs) = self.source()?;
        write("call.h", source.as_bytes())?;
        write("measure.c", MEASURE.as_bytes())?;
        write("kernels.o", &made.artefact.object)?;
        write(INPUTS, &inputs)?;
        write(CHECKS, made.checks.join("\n").as_bytes())?;
        write("constants.s", constants_text(&made.constants, folder)?.as_bytes())
    }

    /// What the program is told of the function, and the elements of its inputs.
    fn source(&self) -> Result<(String, Vec<u8>), String> {
        let (mut types, mut args, mut opened, mut inputs) = (Vec::new(), Vec::new(), String::new(), Vec::new());
        for param in &self.entry.params {
            match param {
                Param::Buffer(buf, usage) => {
                    let data = &self.entry.buffers[buf.0 as usize];
                    let bytes = self.bytes(data)?;
                    let (at, read) = (args.len(), *usage != BufUse::Out);
                    let _ = writeln!(opened, "    p[{at}] = take({bytes}ull);");
                    if read {
                        let _ = writeln!(opened, "    if (fread(p[{at}], 1, {bytes}ull, in) != {bytes}ull) return 0;");
                        inputs.extend(random(data.dtype, bytes / data.dtype.size_bytes() as u64));
                    }
                    types.push("void *");
                    args.push(format!("p[{at}]"));
                }
                Param::Value(var) => {
                    let data = &self.entry.vars[var.0 as usize];
                    let (ty, value) = match data.ty.elem {
                        Elem::Index => ("ptrdiff_t", self.number(&IntExpr::var(data.sym.clone()))?.to_string()),
                        Elem::Scalar(dtype) => scalar(dtype),
                    };
                    types.push(ty);
                    args.push(format!("({ty}){value}"));
                }
                Param::Workspace => {
                    let at = args.len();
                    let _ = writeln!(opened, "    p[{at}] = take({}ull);", self.workspace);
                    types.push("void *");
                    args.push(format!("p[{at}]"));
                }
            }
        }
        let levels: Vec<String> = self.levels().map(|bytes| format!("{bytes}ull")).collect();
        let count = args.len().max(1);
        let (types, args) = (types.join(", "), args.join(", "));
        let gap = if types.is_empty() { "" } else { ", " };
        let source = format!(
            "#define SITES {}\n#define VECTOR {}\n#define BACKEND \"{}\"\nstatic const size_t levels[] = {{{}}};\nstatic void *p[{count}];\n\
             extern int32_t {ENTRY}({types}{gap}const void *);\n\
             static int32_t call(void) {{ return {ENTRY}({args}{gap}context); }}\n\
             static int open_inputs(const char *path) {{\n    FILE *in = fopen(path, \"rb\");\n    \
             if (!in) return 0;\n{opened}    return !fclose(in);\n}}\n",
            self.sites,
            self.vector_bytes.max(16),
            self.backend,
            levels.join(", "),
        );
        Ok((source, inputs))
    }

    /// Sizes up to the first one that holds the data of a call.
    fn levels(&self) -> impl Iterator<Item = u64> {
        let data = self.data;
        SIZES.map(|power| 1 << power).take_while(move |bytes| *bytes < 2 * data || *bytes == 1 << SIZES.start())
    }

    fn number(&self, e: &IntExpr) -> Result<i64, String> {
        let value = e.eval(&|sym| self.dims.get(sym).copied());
        value.ok_or_else(|| format!("`{e}` is no number before the call"))
    }

    fn bytes(&self, data: &BufferData) -> Result<u64, String> {
        let mut bytes = data.dtype.size_bytes() as u64;
        for extent in &data.shape {
            let extent = u64::try_from(self.number(extent)?).unwrap_or(0);
            bytes = bytes.checked_mul(extent).ok_or_else(|| format!("`{}` is larger than memory", data.name))?;
        }
        Ok(bytes)
    }
}

/// The C type of a scalar that is passed by value, and a number for it: 16 bits of floats are passed as they are.
fn scalar(dtype: DType) -> (&'static str, String) {
    let bits = |value: u16| ("uint16_t", value.to_string());
    match dtype {
        DType::F32 => ("float", "0.5f".into()),
        DType::F64 => ("double", "0.5".into()),
        DType::F16 => bits(tenfold_ir::scalar::f64_to_f16(0.5)),
        DType::BF16 => bits(tenfold_ir::scalar::f64_to_bf16(0.5)),
        DType::Bool => ("uint8_t", "1".into()),
        DType::I8 | DType::I4 => ("int8_t", "3".into()),
        DType::I16 => ("int16_t", "3".into()),
        DType::I32 => ("int32_t", "3".into()),
        DType::I64 => ("int64_t", "3".into()),
        DType::U16 => ("uint16_t", "3".into()),
        DType::U32 => ("uint32_t", "3".into()),
        DType::U64 => ("uint64_t", "3".into()),
        DType::U8 | DType::U4 => ("uint8_t", "3".into()),
        DType::F8E4M3FN | DType::F8E5M2 | DType::F8E4M3FNUZ | DType::F8E5M2FNUZ => {
            ("uint8_t", Scalar::float(dtype, 0.5).to_le_bytes().first().copied().unwrap_or(0).to_string())
        }
    }
}

/// So many elements: numbers from 0 to below 1, or integers below 10; the same in every run.
pub fn random(dtype: DType, count: u64) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut out = Vec::new();
    for _ in 0..count {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        let unit = (state >> 40) as f64 / (1u64 << 24) as f64;
        let value = match dtype {
            dtype if dtype.is_float() => Scalar::float(dtype, unit),
            dtype if dtype.is_bool() => Scalar::bool(unit >= 0.5),
            dtype => Scalar::int(dtype, (unit * 10.0) as i128),
        };
        out.extend(value.to_le_bytes());
    }
    out
}

/// Assembly that puts constants into a program, those of files from their places in them; the bytes of others are
/// written into the folder.
pub fn constants_text(all: &[ConstData], folder: &Path) -> Result<String, String> {
    let mut text = String::from(".section .rodata\n");
    for data in all {
        let symbol = constant_symbol(&data.hash);
        let (path, offset, len) = match &data.bytes {
            ConstBytes::Inline(bytes) => {
                let path = folder.join(format!("{}.bin", data.hash));
                fs::write(&path, bytes).map_err(|e| unwritable(&path, &e))?;
                (path, 0, bytes.len() as u64)
            }
            ConstBytes::File { path, offset, len } => (path.clone(), *offset, *len),
        };
        let path: PathBuf = path.canonicalize().map_err(|e| format!("`{}` cannot be read: {e}", path.display()))?;
        let _ = writeln!(text, ".balign 64\n.globl {symbol}\n.hidden {symbol}\n{symbol}:");
        match len {
            0 => text += ".byte 0\n",
            _ => {
                let _ = writeln!(text, ".incbin {:?}, {offset}, {len}", path.to_string_lossy());
            }
        }
    }
    Ok(text + ".section .note.GNU-stack,\"\",@progbits\n")
}

fn unwritable(path: &Path, error: &io::Error) -> String {
    format!("`{}` cannot be written: {error}", path.display())
}
