//! What the commands do.

use std::path::Path;

use tenfold_core::pass::{self, PassContext};
use tenfold_core::{Backend, Device, PIPELINE, Target};
use tenfold_ir::arith::Sym;
use tenfold_ir::eval::Bounded;
use tenfold_ir::{DType, Function, Module, relax, tir};

use crate::case::{Case, Given};
use crate::file::{File, difference};
use crate::native::runnable::{Level, Levels};
use crate::{interpret, native};

/// The lines that a file's command gives; what back ends make of it lies in `folder`.
pub(crate) fn run(file: &File, folder: &Path) -> Result<Vec<String>, String> {
    let words: Vec<&str> = file.command.iter().map(String::as_str).collect();
    match &words[..] {
        ["roundtrip"] => roundtrip(file),
        ["verify"] => Ok(errors(&file.module)),
        ["pass", names @ ..] => passes(file, &names.join(",")),
        ["run"] => call(file, folder),
        ["eval"] => Ok(outcome(&file.module, file).unwrap_or_else(|e| vec![format!("error: {e}")])),
        ["race"] => match outcome(&file.module, file) {
            Err(e) if e.contains("a race on") => Ok(vec![format!("error: {e}")]),
            Err(e) => Err(format!("expected a race, found: {e}")),
            Ok(_) => Err("expected a race, found none".into()),
        },
        ["parse"] => file.refused.clone().map(|e| vec![e]).ok_or_else(|| "expected a text that does not parse".into()),
        ["spirv", features @ ..] => crate::spirv::run(file, features),
        ["ptx"] => crate::ptx::run(file),
        ["schedule"] => crate::schedule::run(file),
        _ => Err(format!("there is no command `test {}`", words.join(" "))),
    }
}

pub(crate) fn text(module: &Module) -> String {
    tenfold_ir::functions_text(module)
}

pub(crate) fn lines(text: &str) -> Vec<String> {
    text.trim_end().lines().map(str::to_string).collect()
}

/// The text reads back as it prints; nothing more is expected.
fn roundtrip(file: &File) -> Result<Vec<String>, String> {
    let (source, printed) = (lines(&file.source), lines(&text(&file.module)));
    if source == printed { Ok(Vec::new()) } else { Err(difference(&source, &printed)) }
}

fn errors(module: &Module) -> Vec<String> {
    let of = |f: &Function| match f {
        Function::Relax(f) => relax::verify(module, f),
        Function::Prim(f) => [tir::verify(module, f), tir::verify_bounds(f)].concat(),
    };
    module.functions.values().flat_map(of).map(|e| format!("error: {e}")).collect()
}

/// The module after the passes. Where the entry is a prim-func and the file says what it is called with, the
/// interpreter runs it before and after, and both must give the same.
fn passes(file: &File, names: &str) -> Result<Vec<String>, String> {
    let triple = file.target.as_deref().unwrap_or("x86_64-unknown-linux-gnu");
    let machine = |features: &str| match Device::from_text(triple) {
        Ok(device) => device.target(),
        Err(_) => Target::from_triple(triple, &features.split(',').collect::<Vec<_>>()),
    };
    let mut context = PassContext::new(machine(&file.features));
    if let Some(level) = file.opt_level {
        context.opt_level = level;
    }
    for (key, value) in &file.config {
        context.set_text(key, value).map_err(|e| e.message)?;
    }
    let mut module = file.module.clone();
    for name in names.split(',').map(str::trim).filter(|n| !n.is_empty()) {
        let pass = pass::get(name).map_err(|e| e.message)?;
        let layout = file.layout.as_deref().filter(|_| lays_out(name));
        let context = layout.map_or_else(|| context.clone(), |features| context.with_target(machine(features)));
        if let Err(e) = pass::run_pass(&pass, &mut module, &context) {
            return Ok(lines(&format!("error: {}", e.message)));
        }
    }
    let mut out = lines(&text(&module));
    if (!file.inputs.is_empty() || !file.syms.is_empty()) && file.module.prim(&file.module.entry).is_some() {
        let (before, after) = (outcome(&file.module, file), outcome(&module, file)?);
        match before {
            Ok(before) if before != after => {
                return Err(format!("the pass changes what is computed: before {before:?}, after {after:?}"));
            }
            Ok(_) => {}
            Err(e) => out.push(format!("before: error: {e}")),
        }
        out.extend(after.into_iter().map(|line| format!("gives {line}")));
    }
    Ok(out)
}

/// Whether a pass is one of those that all variants share, up to the last layout of constants.
fn lays_out(name: &str) -> bool {
    let at = |name: &str| PIPELINE.iter().position(|pass| pass.info.name == name);
    at(name).is_some_and(|n| Some(n) <= at("PrepackWeights"))
}

/// What the entry leaves in the buffers that it writes, by the interpreter.
fn outcome(module: &Module, file: &File) -> Result<Vec<String>, String> {
    let syms: Vec<(Sym, i64)> = file.syms.iter().map(|(n, v)| (Sym::new(n), *v)).collect();
    let given: Vec<Given> = file.inputs.iter().map(|i| Given { cells: i.cells.clone(), strides: Vec::new() }).collect();
    let left = interpret::interpret_prim(module, &syms, given)?;
    Ok(left.iter().map(|(dtype, cells)| line(*dtype, cells)).collect())
}

/// A buffer's elements; `_` is one that nothing was written to.
fn line(dtype: DType, cells: &[Option<Bounded>]) -> String {
    let cells = cells.iter().map(|c| c.map_or("_".into(), |c| relax::scalar_text(c.value)));
    [format!("{dtype}:")].into_iter().chain(cells).collect::<Vec<_>>().join(" ")
}

/// What the function leaves, by the interpreter; every back end must agree.
fn call(file: &File, folder: &Path) -> Result<Vec<String>, String> {
    let (levels, backends) = (Levels::here(), native::backends_in(folder.join("c")));
    // Files take the levels above the baseline in turn, by what stands in them.
    let turn = file.source.bytes().map(usize::from).sum();
    let above = levels.of_case(turn).into_iter().filter(|level| !level.is_baseline());
    let at =
        |level: &Level| call_at(file, (&levels, level), &backends, folder).map_err(|e| format!("{}: {e}", level.name));
    // What floats give may differ from level to level in its last bits: it is compared with the interpreter alone.
    let lines = at(levels.baseline())?;
    above.map(at).collect::<Result<Vec<_>, String>>()?;
    Ok(lines)
}

/// The same for one level.
fn call_at(
    file: &File,
    (levels, level): (&Levels, &Level),
    backends: &[Box<dyn Backend>],
    folder: &Path,
) -> Result<Vec<String>, String> {
    let syms: Vec<(Sym, i64)> = file.syms.iter().map(|(n, v)| (Sym::new(n), *v)).collect();
    let given: Vec<Given> = file.inputs.iter().map(|i| Given { cells: i.cells.clone(), strides: Vec::new() }).collect();
    let name = file.module.entry.clone();
    let prepared = match file.module.functions.get(&name) {
        Some(Function::Relax(_)) => {
            let case = Case { name, module: file.module.clone(), syms, given, wanted: Vec::new() };
            interpret::prepare_for(case, &PassContext::new(level.target.clone()), levels.layout(level))?
        }
        Some(Function::Prim(_)) => interpret::prepare_prim(file.module.clone(), &syms, given, &level.target)?,
        None => return Err("there is no function".into()),
    };
    let folder = folder.join(&prepared.name).join(level.name);
    for backend in backends.iter().filter(|backend| level.is_baseline() || backend.name() == "llvm") {
        let folder = folder.join(backend.name());
        let errors = native::compare(std::slice::from_ref(&prepared), &**backend, &level.target, &folder);
        if let Some(first) = errors.first() {
            return Err(first.clone());
        }
    }
    let mut out = Vec::new();
    for (arg, actual) in prepared.actual.iter().enumerate() {
        if let interpret::Actual::Buffer { dtype, usage, .. } = actual
            && *usage != tir::BufUse::In
        {
            out.push(line(*dtype, &prepared.expected[&arg]));
        }
    }
    Ok(out)
}
