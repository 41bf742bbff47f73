//! A program that calls a kernel with two schedules, compares them and times them in turn: two objects, their
//! constants, and what is generated of C around `tune.c`.

use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

use tenfold_ir::DType;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::relax::TensorType;

use super::kernel::{BEGIN, Kernel};
use super::{Records, Tuned};
use crate::pass::PassContext;
use crate::show::explain::{constants_text, random};
use crate::{Backend, Compiled, Options, compile};

/// What is the same for every kernel.
const MEASURE: &str = include_str!("tune.c");

/// The symbols of the kernel with its default schedule and with another one.
const SYMBOLS: [&str; 2] = ["tenfold_default", "tenfold_tuned"];

/// The files that a C compiler makes a program of, in the order in which it takes them.
pub const FILES: [&str; 4] = ["tune.c", "constants.s", "default.o", "tuned.o"];

/// The elements of the inputs, the program's first argument; the second one is a number of seconds.
pub const INPUTS: &str = "inputs.bin";

/// A compiled kernel.
#[derive(Clone, Debug)]
pub struct Built {
    made: Compiled,
    /// Its symbol: the first is the default schedule's.
    which: usize,
}

/// Nanoseconds of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// With the default schedule.
    pub default: f64,
    /// With the other one.
    pub tuned: f64,
}

/// Compiles a kernel: with its default schedule, or as the one record for it says.
///
/// # Errors
/// Those of the passes and the back end, and a record that does not find its kernel or does not fit.
pub fn build(
    kernel: &Kernel,
    records: Option<Records>,
    context: &PassContext,
    backend: &dyn Backend,
) -> Result<Built, String> {
    let which = usize::from(records.is_some());
    let tuned = Tuned::by(records.unwrap_or_default());
    let context = context.with_target(kernel.target.clone()).with_tuned(tuned.clone());
    let options = Options {
        symbol: SYMBOLS[which].into(),
        strict: kernel.strict,
        layout: kernel.layout.clone(),
        begin: Some(BEGIN),
        ..Options::default()
    };
    let made = compile(kernel.module.clone(), &context, &options, backend);
    let made = made.map_err(|errors| errors.iter().map(|e| e.message.clone()).collect::<Vec<_>>().join("; "))?;
    match (tuned.refusals().into_iter().next(), which == 1 && tuned.used().is_empty()) {
        (Some(why), _) => Err(why),
        (None, true) => Err("its record does not find the kernel".into()),
        (None, false) => Ok(Built { made, which }),
    }
}

impl Built {
    /// Writes its object into a folder.
    ///
    /// # Errors
    /// What the file system says.
    pub fn write(&self, folder: &Path) -> Result<(), String> {
        write(&folder.join(FILES[2 + self.which]), &self.made.artefact.object)
    }

    /// Writes the rest of the program that compares it with the default into the folder of both objects.
    ///
    /// # Errors
    /// What the file system says, and kernels of elements that nothing is known of.
    pub fn write_program(&self, default: &Built, kernel: &Kernel, folder: &Path) -> Result<(), String> {
        let mut constants = self.made.constants.clone();
        let known: Vec<String> = constants.iter().map(|c| c.hash.clone()).collect();
        constants.extend(default.made.constants.iter().filter(|c| !known.contains(&c.hash)).cloned());
        let workspace = [self, default].iter().map(|b| b.made.workspace_bound.unwrap_or(0)).max().unwrap_or(0);
        write(&folder.join(FILES[0]), MEASURE.as_bytes())?;
        write(&folder.join("call.h"), source(kernel, workspace)?.as_bytes())?;
        write(&folder.join(FILES[1]), constants_text(&constants, folder)?.as_bytes())
    }
}

impl Times {
    /// What the program has printed.
    ///
    /// # Errors
    /// What it says in the place of times.
    pub fn parse(said: &str) -> Result<Times, String> {
        let words: Vec<&str> = said.split_whitespace().collect();
        match words[..] {
            ["times", default, tuned, _] => match (default.parse::<f64>(), tuned.parse::<f64>()) {
                (Ok(default), Ok(tuned)) if default > 0.0 && tuned > 0.0 => Ok(Times { default, tuned }),
                _ => Err(format!("the program that measures said `{}`", said.trim())),
            },
            ["wrong", result] => Err(format!("its result {result} is not that of the default schedule")),
            ["status", status] => Err(format!("a call ends with status {status}")),
            _ => Err(format!("the program that measures said `{}`", said.trim())),
        }
    }
}

/// Writes the elements that a kernel is called with.
///
/// # Errors
/// What the file system says.
pub fn write_inputs(kernel: &Kernel, path: &Path) -> Result<(), String> {
    let (inputs, _) = types(kernel)?;
    let mut all = Vec::new();
    for ty in &inputs {
        all.extend(random(ty.dtype, bytes(ty)? / ty.dtype.size_bytes() as u64));
    }
    write(path, &all)
}

fn types(kernel: &Kernel) -> Result<(Vec<TensorType>, Vec<TensorType>), String> {
    kernel.types().ok_or_else(|| format!("`{}` takes or gives what is no tensor", kernel.name))
}

fn bytes(ty: &TensorType) -> Result<u64, String> {
    let size = ty.dtype.size_bytes() as u64;
    let extent = |d: &IntExpr| d.as_const().and_then(|n| u64::try_from(n).ok());
    let all = ty.shape.iter().try_fold(size, |n, d| n.checked_mul(extent(d)?));
    all.ok_or_else(|| "an extent is no number".to_string())
}

/// How both are called.
fn source(kernel: &Kernel, workspace: u64) -> Result<String, String> {
    let (inputs, outputs) = types(kernel)?;
    let count = inputs.len() + outputs.len() + 1;
    let (mut opened, mut results) = (String::new(), String::new());
    for (at, ty) in inputs.iter().enumerate() {
        let bytes = bytes(ty)?;
        let _ = writeln!(opened, "    p[{at}] = take({bytes}ull);");
        let _ = writeln!(opened, "    if (fread(p[{at}], 1, {bytes}ull, in) != {bytes}ull) return 0;");
    }
    for (at, ty) in (inputs.len()..).zip(&outputs) {
        let bytes = bytes(ty)?;
        let _ = writeln!(opened, "    p[{at}] = take({bytes}ull);");
        let _ = write!(results, "{{{at}, {}, {bytes}ull}}, ", kind(ty.dtype));
    }
    let _ = writeln!(opened, "    p[{}] = take({workspace}ull);", count - 1);
    let types = vec!["void *"; count].join(", ");
    let args: Vec<String> = (0..count).map(|n| format!("p[{n}]")).collect();
    let args = args.join(", ");
    let mut out = format!("#define RESULTS {}\nstatic void *p[{count}];\n", outputs.len());
    let _ = writeln!(out, "static const struct result results[] = {{{results}}};");
    for (symbol, name) in SYMBOLS.iter().zip(["call_default", "call_tuned"]) {
        let _ = writeln!(out, "extern int32_t {symbol}({types}, const void *);");
        let _ = writeln!(out, "static int32_t {name}(void) {{ return {symbol}({args}, 0); }}");
    }
    let _ = write!(
        out,
        "static int open_inputs(const char *path) {{\n    FILE *in = fopen(path, \"rb\");\n    \
         if (!in) return 0;\n{opened}    return !fclose(in);\n}}\n"
    );
    Ok(out)
}

/// How elements are compared.
fn kind(dtype: DType) -> &'static str {
    match dtype {
        DType::F16 => "F16",
        DType::BF16 => "BF16",
        DType::F32 => "F32",
        DType::F64 => "F64",
        DType::Bool
        | DType::I4
        | DType::I8
        | DType::I16
        | DType::I32
        | DType::I64
        | DType::U4
        | DType::U8
        | DType::U16
        | DType::U32
        | DType::U64
        | DType::F8E4M3FN
        | DType::F8E5M2
        | DType::F8E4M3FNUZ
        | DType::F8E5M2FNUZ => "EXACT",
    }
}

fn write(path: &Path, content: &[u8]) -> Result<(), String> {
    let failed = |error: io::Error| format!("`{}` cannot be written: {error}", path.display());
    fs::write(path, content).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_program_says_is_times_or_a_reason() {
        assert_eq!(Times::parse("times 20.5 10.25 9\n"), Ok(Times { default: 20.5, tuned: 10.25 }));
        for (said, why) in [
            ("wrong 1\n", "its result 1 is not that of the default schedule"),
            ("status 3\n", "a call ends with status 3"),
            ("times 1 0 9", "the program that measures said `times 1 0 9`"),
            ("", "the program that measures said ``"),
        ] {
            assert_eq!(Times::parse(said), Err(why.to_string()));
        }
    }
}
