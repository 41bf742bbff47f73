//! What the commands do.

use std::path::PathBuf;

use tenfold_core::Target;
use tenfold_core::pass::{self, PassContext};
use tenfold_ir::arith::Sym;
use tenfold_ir::{Function, Module, relax, tir};

use crate::case::{Case, Given};
use crate::file::{File, difference};
use crate::{interpret, native};

/// The lines that a file's command gives.
pub(crate) fn run(file: &File) -> Result<Vec<String>, String> {
    let words: Vec<&str> = file.command.iter().map(String::as_str).collect();
    match &words[..] {
        ["roundtrip"] => roundtrip(file),
        ["verify"] => Ok(errors(&file.module)),
        ["pass", names @ ..] => passes(file, names),
        ["run"] => call(file),
        ["schedule"] => crate::schedule::run(file),
        _ => Err(format!("there is no command `test {}`", words.join(" "))),
    }
}

pub(crate) fn text(module: &Module) -> String {
    let texts = module.functions.values().map(|f| match f {
        Function::Relax(f) => relax::print_function(f),
        Function::Prim(f) => tir::print(module, f),
    });
    texts.collect::<Vec<_>>().join("\n")
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

fn passes(file: &File, names: &[&str]) -> Result<Vec<String>, String> {
    let mut context = PassContext::new(Target::from_triple("x86_64-unknown-linux-gnu", &[]));
    for (key, value) in &file.settings {
        context.set_text(key, value).map_err(|e| e.message)?;
    }
    let mut module = file.module.clone();
    for name in names {
        let pass = pass::get(name).map_err(|e| e.message)?;
        if let Err(e) = pass::run_pass(&pass, &mut module, &context) {
            return Ok(lines(&format!("error: {}", e.message)));
        }
    }
    Ok(lines(&text(&module)))
}

/// What the function leaves, by the interpreter; every back end must agree.
fn call(file: &File) -> Result<Vec<String>, String> {
    let target = Target::from_triple(&native::host(), &[]);
    let syms: Vec<(Sym, i64)> = file.syms.iter().map(|(n, v)| (Sym::new(n), *v)).collect();
    let given: Vec<Given> = file.inputs.iter().map(|i| Given { cells: i.cells.clone(), strides: Vec::new() }).collect();
    let name = file.module.entry.clone();
    let prepared = match file.module.functions.get(&name) {
        Some(Function::Relax(_)) => {
            interpret::prepare(Case { name, module: file.module.clone(), syms, given }, &target)?
        }
        Some(Function::Prim(_)) => interpret::prepare_prim(file.module.clone(), &syms, given, &target)?,
        None => return Err("there is no function".into()),
    };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("filetests").join(&prepared.name);
    for backend in native::backends() {
        let folder = folder.join(backend.name());
        let errors = native::compare(std::slice::from_ref(&prepared), &*backend, &target, &folder);
        if let Some(first) = errors.first() {
            return Err(first.clone());
        }
    }
    let mut out = Vec::new();
    for (arg, actual) in prepared.actual.iter().enumerate() {
        if let interpret::Actual::Buffer { dtype, usage, .. } = actual
            && *usage != tir::BufUse::In
        {
            let cells = prepared.expected[&arg].iter();
            let cells: Vec<String> = cells.map(|c| c.map_or("_".into(), |c| relax::scalar_text(c.value))).collect();
            out.push(format!("{dtype}: {}", cells.join(" ")));
        }
    }
    Ok(out)
}
