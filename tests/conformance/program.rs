//! Cases in a program of their own, which this machine or a simulator of another runs: what they are given comes from
//! standard input, and what they leave goes to standard output.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use tenfold_core::{Backend, CodegenOptions, Target};
use tenfold_ir::tir::{BufUse, PrimFunc};
use tenfold_tests::tools;

use crate::interpret::{Actual, Prepared};
use crate::native::{content, merge, shim_source};

pub(crate) const AARCH64: &str = "aarch64-unknown-linux-gnu";

/// Whether this machine can link and run programs for AArch64; else a line says what is missing.
pub(crate) fn has_aarch64() -> bool {
    let missing = ["aarch64-linux-gnu-gcc", "qemu-aarch64"].into_iter().find(|tool| !tools::has(tool));
    missing.inspect(|tool| tools::skip(tool, "run tests/aarch64.sh")).is_none()
}

/// The program around the cases.
const MAIN: &str = include_str!("program.c");

/// What links and runs programs for a target.
pub(crate) struct Machine {
    compiler: String,
    simulator: Option<[&'static str; 3]>,
}

impl Machine {
    pub(crate) fn host() -> Machine {
        Machine { compiler: std::env::var("CC").unwrap_or_else(|_| "cc".into()), simulator: None }
    }

    /// Programs are linked statically, so that the simulator needs no libraries.
    pub(crate) fn aarch64() -> Machine {
        Machine { compiler: "aarch64-linux-gnu-gcc".into(), simulator: Some(["qemu-aarch64", "-cpu", "max"]) }
    }

    fn link(&self, program: &Path, sources: &[&Path]) -> Result<(), String> {
        let mut cc = Command::new(&self.compiler);
        cc.args(["-O0", "-w", "-static", "-o"]).arg(program).args(sources);
        let out = cc.output().map_err(|e| format!("cannot start {}: {e}", self.compiler))?;
        let text = String::from_utf8_lossy(&out.stderr);
        if out.status.success() { Ok(()) } else { Err(text.chars().take(2000).collect()) }
    }

    fn command(&self, program: &Path) -> Command {
        let Some([simulator, arguments @ ..]) = self.simulator else { return Command::new(program) };
        let mut command = Command::new(simulator);
        command.args(arguments).arg(program);
        command
    }
}

/// Whether a call writes an argument.
pub(crate) fn is_written(argument: &Actual) -> bool {
    matches!(argument, Actual::Buffer { usage: BufUse::Out | BufUse::InOut, .. })
}

/// What each case leaves in the buffers that it writes.
pub(crate) fn run(
    batch: &[Prepared],
    backend: &dyn Backend,
    target: &Target,
    machine: &Machine,
    folder: &Path,
) -> Result<Vec<Vec<Vec<u8>>>, String> {
    std::fs::create_dir_all(folder).map_err(|e| e.to_string())?;
    let module = merge(batch);
    let artefact = backend.build(&module, target, &CodegenOptions::default()).map_err(|e| e.message)?;
    let entries: Vec<&PrimFunc> = batch.iter().filter_map(|case| case.module.prim(&case.name)).collect();
    let names: Vec<String> = (0..entries.len()).map(|n| format!("shim_{n}")).collect();
    let shims = shim_source(&module, &entries);
    let text = format!("{shims}\nstatic int32_t (*const SHIMS[])(void **, void *) = {{{}}};\n{MAIN}", names.join(", "));
    let (object, source, program) = (folder.join("cases.o"), folder.join("main.c"), folder.join("program"));
    std::fs::write(&object, &artefact.object).map_err(|e| e.to_string())?;
    std::fs::write(&source, text).map_err(|e| e.to_string())?;
    machine.link(&program, &[&source, &object])?;
    let left = call(machine.command(&program), batch)?;
    std::fs::remove_dir_all(folder).map_err(|e| e.to_string())?;
    cut(&left, batch)
}

/// Starts the program, gives it all arguments and takes what it prints.
fn call(mut command: Command, batch: &[Prepared]) -> Result<Vec<u8>, String> {
    let mut arguments = Vec::new();
    for case in batch {
        arguments.extend((case.actual.len() as u64).to_le_bytes());
        for argument in &case.actual {
            let bytes = content(argument);
            arguments.extend((bytes.len() as u64).to_le_bytes());
            arguments.extend(u64::from(is_written(argument)).to_le_bytes());
            arguments.extend(bytes);
        }
    }
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|e| format!("{command:?} does not start: {e}"))?;
    let mut stdin = child.stdin.take().ok_or("no standard input")?;
    // It prints while it reads.
    let out = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(&arguments));
        child.wait_with_output()
    });
    let out = out.map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&out.stderr);
    if out.status.success() { Ok(out.stdout) } else { Err(format!("{command:?}: {}: {text}", out.status)) }
}

fn cut(mut left: &[u8], batch: &[Prepared]) -> Result<Vec<Vec<Vec<u8>>>, String> {
    let mut all = Vec::new();
    for case in batch {
        let mut buffers = Vec::new();
        for argument in case.actual.iter().filter(|argument| is_written(argument)) {
            let (bytes, rest) =
                left.split_at_checked(content(argument).len()).ok_or("the program printed too little")?;
            buffers.push(bytes.to_vec());
            left = rest;
        }
        all.push(buffers);
    }
    if left.is_empty() { Ok(all) } else { Err("the program printed too much".into()) }
}
