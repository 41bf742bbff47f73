//! What `cargo tenfold` asks: the functions of a package and the text of one. No part of the interface for build
//! scripts.
//!
//! The process looks like a build script to it: cargo's variables say which package and which target. It finds and
//! compiles as a build does, and writes to `OUT_DIR` alone.

pub(super) mod place;

use super::system::NoLibrary;
use super::{Item, Naming, Outcomes, Run};
use crate::environment::Environment;
use crate::files::Hashes;
use crate::library::SystemLib;
use crate::target::{self, Targets};
use crate::told::{self, Told};
use crate::user;
use crate::worker::message::{Answer, Request};
use crate::worker::{self, Job};
use crate::{roots, walk};
use place::Places;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;
use tenfold_core::show::Ask;
use tenfold_syntax::index::{Artefact, SkipReason, Skipped};
use tenfold_syntax::{Code, Diagnostic};

pub use place::Place;

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// The crate that it belongs to: `lib:digits`, `test:smoke`, `doctest:src/lib.rs:7`.
    pub krate: String,
    /// Its path there: `crate::nn::mlp`; of a generic one, an instance: `crate::nn::axpy::<f32>`.
    pub path: String,
    /// Relative to the package, `/` between components.
    pub file: String,
    /// The line of its name, counted from 1.
    pub line: u32,
    /// From its visibility to its result, on one line.
    pub signature: String,
    /// Whether it stands in an `impl` or a `trait`, where none is compiled.
    pub associated: bool,
    /// What there is to link; none if there are errors.
    pub artefact: Option<Artefact>,
    /// What is wrong with it.
    pub errors: Vec<Error>,
}

/// What is wrong with a function, at its place in the file.
#[derive(Clone, Debug)]
pub struct Error {
    /// Which error.
    pub code: Code,
    /// Expected and found.
    pub message: String,
    /// The next step.
    pub help: Option<String>,
    /// The offending expression.
    pub place: Place,
    /// Other places and what they have to do with it.
    pub labels: Vec<(Place, String)>,
}

/// The functions of a package.
#[derive(Clone, Debug)]
pub struct Functions {
    /// With what code was generated: `llvm 22.1-rust-1.95.0-stable, 191011432 bytes`, or `none` for C.
    pub backend: String,
    /// In the order of the crates and of the text.
    pub functions: Vec<Function>,
    /// Those that were seen and left alone.
    pub skipped: Vec<Skipped>,
}

/// Does a worker's part if this process is one, and makes sure that this process can start workers.
///
/// It comes first in `main`.
pub fn serve() {
    worker::start::keep();
    worker::serve_if_worker();
}

/// The variable that has a build script write down what it chose, into the file that it names. The script ends with
/// code 1.
pub const TELL: &str = told::VARIABLE;

/// The variable that names targets.
pub const TARGET: &str = target::VARIABLE;

/// The devices among the targets that the environment names; none where it names something that is no target.
pub fn devices() -> Vec<String> {
    let text = target::of_environment().unwrap_or_default();
    let targets = Targets::read([text.as_str()]).unwrap_or_default();
    targets.devices.iter().map(ToString::to_string).collect()
}

/// The device that a target's text names, as the compiler knows it; or that it names none.
pub fn device(text: &str) -> Result<tenfold_core::Target, String> {
    let target: crate::Target = text.parse().map_err(|error: crate::TargetError| error.to_string())?;
    let device = target.device().map_err(|error| error.to_string())?;
    device.ok_or_else(|| format!("`{target}` is no device; write `--device spirv` or `--device nvptx:sm_80`"))
}

/// Follows what a build script has written down; none of its text can be read if it is of another version.
pub fn follow(file: &Path) -> Result<(), String> {
    let told = Told::read(file).ok_or("the build script's `tenfold-build` is of another version than this program")?;
    user::borrow(&told);
    TOLD.get_or_init(|| told);
    Ok(())
}

static TOLD: OnceLock<Told> = OnceLock::new();

/// The functions, without a word of how they are compiled.
pub fn names() -> Result<Functions, String> {
    with_run(|run, skipped| Ok(run.functions(skipped, &Outcomes::new())))
}

/// The functions, each compiled.
pub fn functions() -> Result<Functions, String> {
    with_run(|run, skipped| {
        let mut outcomes = run.look_up();
        run.compile_missing(&mut outcomes).map_err(unwritable)?;
        Ok(run.functions(skipped, &outcomes))
    })
}

/// What is asked of a function, which is named by its place in what [`names`] gives; of the widest variant, unless one is
/// named.
pub fn text(number: usize, ask: &Ask, variant: Option<&str>) -> Result<Result<String, Vec<Error>>, String> {
    with_run(|run, _| {
        let item = run.items.get(number).ok_or("there is no such function")?;
        let mut errors = run.errors_of_item(item);
        errors.extend(run.placed(item, &item.errors));
        if run.is_sound(number) {
            let variant = variant.unwrap_or_default().to_string();
            let request = Request { text: Some(ask.clone()), variant, ..run.request(number) };
            let mut jobs = [Job { request, answer: None, time: Duration::ZERO }];
            worker::run(&mut jobs, &run.directory.join("cache"));
            match jobs.into_iter().next().and_then(|job| job.answer) {
                Some(Answer::Compiled(compiled)) => return Ok(Ok(compiled.text)),
                Some(Answer::Refused(refused)) => errors.extend(run.placed(item, &refused)),
                None => {}
            }
        }
        Ok(Err(errors))
    })
}

/// A library for programs in C with the `pub` functions of the package's library, in `OUT_DIR`.
pub fn system_lib() -> Result<Result<SystemLib, Vec<Error>>, String> {
    with_named(Naming::Plain, |run, skipped| {
        // a library is not written without a function that its author believes to be in it
        if let Some(Skipped { file, line, name, .. }) = skipped.iter().find(|s| s.reason == SkipReason::Unreadable) {
            return Err(format!("`{name}` at {file}:{line} is no function that can be read; `cargo check` says why"));
        }
        match run.system_lib() {
            Ok(made) => Ok(Ok(made)),
            Err(NoLibrary::Said(text)) => Err(text),
            Err(NoLibrary::Functions(refused)) => {
                let errors = |(number, diagnostics): (usize, Vec<Diagnostic>)| {
                    let item = &run.items[number];
                    let mut errors = run.errors_of_item(item);
                    errors.extend(run.placed(item, &diagnostics));
                    errors
                };
                Ok(Err(refused.into_iter().flat_map(errors).collect()))
            }
        }
    })
}

fn unwritable(error: std::io::Error) -> String {
    format!("`OUT_DIR` cannot be written to: {error}")
}

fn with_run<T>(act: impl FnOnce(&Run<'_>, Vec<Skipped>) -> Result<T, String>) -> Result<T, String> {
    with_named(Naming::Hashed, act)
}

fn with_named<T>(naming: Naming, act: impl FnOnce(&Run<'_>, Vec<Skipped>) -> Result<T, String>) -> Result<T, String> {
    let mut environment = Environment::of_process().map_err(|variable| format!("`{variable}` is not set"))?;
    // what a release has
    environment.options.optimised = true;
    let told = TOLD.get();
    let settings = told.map_or(&[][..], |told| &told.settings);
    environment.follow(told.and_then(|told| told.seconds), settings);
    if let Some(fault) = &environment.fault {
        return Err(fault.clone());
    }
    let environment = if naming == Naming::Plain { environment.of_library() } else { environment.of_crate() };
    let directory = environment.out.join("tenfold");
    fs::create_dir_all(directory.join("cache")).map_err(unwritable)?;
    let mut seen = walk::walk(&environment.package, &roots::of(&environment.package));
    let mut hashes = Hashes::load(&directory.join("cache/files"));
    let run = Run::new(&environment, naming, directory, &mut seen, &mut hashes);
    act(&run, seen.skipped.into_iter().collect())
}

impl Run<'_> {
    fn functions(&self, skipped: Vec<Skipped>, outcomes: &Outcomes) -> Functions {
        let entries = self.instance_entries(outcomes);
        let functions = self.items.iter().zip(entries).map(|(item, entry)| {
            let mut errors = self.errors_of_item(item);
            errors.extend(self.placed(item, &entry.diagnostics));
            Function {
                krate: item.found.krate.clone(),
                path: item.path() + &item.generics().turbofish(),
                file: item.found.file.clone(),
                line: item.found.function.line + place::doctest_line(&item.found.krate),
                signature: place::signature(&item.found.function.text),
                associated: item.found.function.associated,
                artefact: entry.artefacts.into_iter().next(),
                errors,
            }
        });
        Functions { backend: self.backend.clone(), functions: functions.collect(), skipped }
    }

    /// What the item alone is refused for: the macro says it in a build.
    fn errors_of_item(&self, item: &Item) -> Vec<Error> {
        let mut places = Places::of(item, &self.environment.package);
        let own = places.take_diagnostics();
        own.iter().map(|d| places.error(d)).collect()
    }

    fn placed(&self, item: &Item, diagnostics: &[Diagnostic]) -> Vec<Error> {
        if diagnostics.is_empty() {
            return Vec::new();
        }
        let places = Places::of(item, &self.environment.package);
        diagnostics.iter().map(|d| places.error(d)).collect()
    }
}
