//! A program for this machine of an imported model: the object of the compiler, the constants, and a `main` in C that
//! reads the inputs from a file and writes the results to another.
//!
//! It is a process of its own, so that whatever the model does ends there.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use tenfold_core::c::CBackend;
use tenfold_core::pass::PassContext;
use tenfold_core::show::explain::constants_text;
use tenfold_core::{Backend, Options, Target, compile};
use tenfold_llvm::{Env, LlvmBackend, find, load};
use tenfold_onnx::{Import, Port};

use super::{measured, tune};

/// The symbol of the function.
const ENTRY: &str = "tenfold_onnx_model";

/// A program that calls a model.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    path: PathBuf,
    linked: Linked,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
}

/// LLVM as a build finds it, or the C back end where `TENFOLD_LLVM` asks for none; that one writes below `folder`.
pub(crate) fn backend(folder: &Path) -> Result<Box<dyn Backend>, String> {
    let environment = Env::from_process();
    if environment.choice.as_deref().is_some_and(|choice| choice == "none") {
        let host = Target::host().triple;
        return Ok(Box::new(CBackend { folder: folder.join("c"), host, compiler: None }));
    }
    let found = find(&environment);
    let llvm = load(&found).map_err(|error| format!("{error}; `cargo tenfold doctor` says what is missing"))?;
    Ok(Box::new(LlvmBackend::new(llvm, &found)))
}

/// What a model is linked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Linked {
    /// A program that makes one call.
    Program,
    /// A library that is called by this program, started anew, on so many threads.
    Library { threads: usize },
}

/// Compiles a model and links it into a folder.
pub(crate) fn build(
    import: Import,
    backend: &dyn Backend,
    target: &Target,
    folder: &Path,
    linked: Linked,
) -> Result<Program, String> {
    let Import { module, inputs, outputs, .. } = import;
    let context = PassContext::from_env(target.clone(), &|name| env::var(name).ok()).map_err(|e| e.message)?;
    let context = context.with_tuned(tune::records());
    let options = Options { symbol: ENTRY.into(), ..Options::default() };
    let made = compile(module, &context, &options, backend);
    let made = made.map_err(|errors| {
        let texts: Vec<String> = errors.iter().map(|e| e.message.clone()).collect();
        texts.join("; ")
    })?;
    let workspace = made.workspace_bound.unwrap_or(0);
    let sizes = |ports: &[Port]| ports.iter().map(bytes).collect::<Result<Vec<u64>, String>>();
    let (ins, outs) = (sizes(&inputs)?, sizes(&outputs)?);
    let write = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, content).map_err(|e| format!("`{}` cannot be written: {e}", path.display()))?;
        Ok::<_, String>(path)
    };
    let object = write("model.o", &made.artefact.object)?;
    let begins = if target.has("amx-tile") { ASKS } else { "" };
    let main = write("main.c", main_source(&ins, &outs, workspace, begins).as_bytes())?;
    let constants = write("constants.s", constants_text(&made.constants, folder)?.as_bytes())?;
    let path = folder.join("model");
    let mut cc = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    if linked != Linked::Program {
        cc.args(["-shared", "-fPIC"]);
    }
    cc.args(["-O1", "-w", "-o"]).arg(&path).args([&main, &constants, &object]);
    let out = cc.output().map_err(|e| format!("the C compiler cannot be started: {e}"))?;
    match out.status.success() {
        true => Ok(Program { path, linked, inputs, outputs }),
        false => Err(format!("it does not link: {}", String::from_utf8_lossy(&out.stderr).trim())),
    }
}

/// Bytes of a tensor.
pub(crate) fn bytes(port: &Port) -> Result<u64, String> {
    let extent = |d: &tenfold_ir::arith::IntExpr| d.as_const().and_then(|n| u64::try_from(n).ok());
    let count = port.shape.iter().try_fold(1u64, |n, d| n.checked_mul(extent(d)?));
    let size = port.elem.storage().map(|dtype| dtype.size_bytes() as u64);
    let bytes = count.zip(size).and_then(|(count, size)| count.checked_mul(size));
    bytes.ok_or_else(|| format!("`{}` has no fixed size: {:?}; bind its dims", port.name, port.shape))
}

/// Asks Linux for registers that are matrices, which it gives to no process that has not: `ARCH_REQ_XCOMP_PERM` for the
/// state of their number.
const ASKS: &str = r#"
    if (syscall(158, 0x1023, 18)) { fputs("the system does not let programs use AMX\n", stderr); return 5; }"#;

/// `main INPUT OUTPUT` makes one call, on one thread, behind what it `begins` with; a library of it has the steps as
/// functions.
fn main_source(ins: &[u64], outs: &[u64], workspace: u64, begins: &str) -> String {
    let list = |sizes: &[u64]| {
        let texts: Vec<String> = sizes.iter().map(u64::to_string).collect();
        format!("{}0", texts.iter().map(|t| format!("{t}, ")).collect::<String>())
    };
    let count = ins.len() + outs.len() + 1;
    let types = vec!["void *"; count].join(", ");
    let args: Vec<String> = (0..count).map(|i| format!("p[{i}]")).collect();
    format!(
        r#"#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern int32_t {ENTRY}({types}, const void *);
static const size_t ins[] = {{{ins}}}, outs[] = {{{outs}}};
static void *p[{count}];
static void *take(size_t n) {{
    void *q = 0;
    if (posix_memalign(&q, 64, n + 64)) {{ fputs("out of memory\n", stderr); exit(3); }}
    memset(q, 0xa5, n + 64);
    return q;
}}
int32_t tenfold_call(const void *context) {{ return {ENTRY}({args}, context); }}
int tenfold_open(const char *path) {{
    FILE *in = fopen(path, "rb");
    if (!in) return 2;
    for (int i = 0; i < {n_in}; i++) {{
        p[i] = take(ins[i]);
        if (fread(p[i], 1, ins[i], in) != ins[i]) return 2;
    }}
    fclose(in);
    for (int i = 0; i < {n_out}; i++) p[{n_in} + i] = take(outs[i]);
    p[{count} - 1] = take({workspace}ull);
    return 0;
}}
int tenfold_write(const char *path) {{
    FILE *out = fopen(path, "wb");
    if (!out) return 2;
    for (int i = 0; i < {n_out}; i++)
        if (fwrite(p[{n_in} + i], 1, outs[i], out) != outs[i]) return 2;
    return fclose(out) ? 2 : 0;
}}
int main(int argc, char **argv) {{{begins}
    if (argc < 3 || tenfold_open(argv[1])) return 2;
    int32_t status = tenfold_call(0);
    if (status) {{ fprintf(stderr, "status %d\n", status); return 4; }}
    return tenfold_write(argv[2]);
}}
"#,
        ins = list(ins),
        outs = list(outs),
        args = args.join(", "),
        n_in = ins.len(),
        n_out = outs.len(),
    )
}

impl Program {
    /// The results' bytes of a call, and what the program prints.
    pub(crate) fn call(
        &self,
        inputs: &[Vec<u8>],
        seconds: Option<f64>,
        limit: Duration,
    ) -> Result<(Vec<Vec<u8>>, String), String> {
        for (port, given) in self.inputs.iter().zip(inputs) {
            let expected = bytes(port)?;
            if given.len() as u64 != expected {
                return Err(format!("`{}` takes {expected} bytes, found {}", port.name, given.len()));
            }
        }
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let (input, output) = (folder.join("input.bin"), folder.join("output.bin"));
        fs::write(&input, inputs.concat()).map_err(|e| format!("`{}`: {e}", input.display()))?;
        let mut command = match self.linked {
            Linked::Program => Command::new(&self.path),
            Linked::Library { threads } => measured::command(&self.path, threads)?,
        };
        command.args([&input, &output]).args(seconds.map(|s| s.to_string()));
        let said = run(command, limit)?;
        let all = fs::read(&output).map_err(|e| format!("`{}`: {e}", output.display()))?;
        let mut rest = all.as_slice();
        let mut results = Vec::new();
        for port in &self.outputs {
            let (own, behind) = rest.split_at((bytes(port)? as usize).min(rest.len()));
            results.push(own.to_vec());
            rest = behind;
        }
        Ok((results, said))
    }
}

/// Runs a program to its end or to the end of its time.
pub(crate) fn run(mut command: Command, limit: Duration) -> Result<String, String> {
    let begin = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("the compiled program cannot be started: {e}"))?;
    loop {
        match child.try_wait().map_err(|e| e.to_string())? {
            Some(_) => break,
            None if begin.elapsed() > limit => {
                child.kill().and_then(|()| child.wait()).map_err(|e| e.to_string())?;
                return Err(format!("the compiled program ran for more than {} s", limit.as_secs()));
            }
            None => thread::sleep(Duration::from_millis(if begin.elapsed().as_millis() < 50 { 1 } else { 10 })),
        }
    }
    let out = child.wait_with_output().map_err(|e| e.to_string())?;
    match out.status.success() {
        true => Ok(String::from_utf8_lossy(&out.stdout).into_owned()),
        false => Err(format!("the compiled program ends with {}", out.status)),
    }
}
