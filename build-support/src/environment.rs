//! What cargo tells a build script.

use crate::compiler::variants;
use crate::target::{self, Target as Chosen, TargetError, Targets};
use crate::worker::message::{Options, Target};
use std::env;
use std::path::PathBuf;
use tenfold_abi::{BASELINE, FAMILIES};
use tenfold_core::pass::VARIABLES;
use tenfold_syntax::index::Owner;

/// Seconds for one function that has one code, unless `TENFOLD_TIME_LIMIT` says otherwise.
const SECONDS: u64 = 300;

/// Variables on which the outcome depends besides those of the passes, for cargo to watch.
const OTHERS: [&str; 5] = ["TENFOLD_LLVM", "TENFOLD_TIME_LIMIT", "TENFOLD_FAULT", variants::VARIABLE, target::VARIABLE];

/// Variables on which the outcome depends, for cargo to watch.
pub(crate) fn variables() -> impl Iterator<Item = &'static str> {
    OTHERS.into_iter().chain(VARIABLES.iter().map(|variable| variable.name))
}

/// What the environment says of passes.
fn passes() -> Vec<(String, String)> {
    let set = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    VARIABLES.iter().filter_map(|v| Some((v.name.to_string(), set(v.name)?))).collect()
}

/// What cargo tells a build script.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    /// The package's directory.
    pub(crate) package: PathBuf,
    /// `OUT_DIR`; nothing else is written to.
    pub(crate) out: PathBuf,
    /// `CARGO_PKG_NAME`.
    pub(crate) name: String,
    /// `CARGO_PKG_VERSION`.
    pub(crate) version: String,
    /// What is compiled for.
    pub(crate) target: Target,
    /// How.
    pub(crate) options: Options,
    /// What is wrong with it, so that nothing can be compiled.
    pub(crate) fault: Option<String>,
}

impl Environment {
    /// Of this process; the name of a missing variable if it is no build script.
    pub(crate) fn of_process() -> Result<Self, String> {
        let need = |name: &str| env::var(name).map_err(|_| name.to_string());
        let mut cfg: Vec<(String, String)> = env::vars_os()
            .filter_map(|(key, value)| {
                let key = key.to_str()?.strip_prefix("CARGO_CFG_TARGET_")?.to_string();
                Some((key, value.into_string().ok()?))
            })
            .collect();
        cfg.sort();
        let or_empty = |name| env::var(name).unwrap_or_default();
        // quick builds have one code
        let optimised = env::var("OPT_LEVEL").is_ok_and(|level| level != "0");
        let levels = FAMILIES.iter().map(|levels| levels.len() as u64).max().unwrap_or(0);
        let codes = if optimised { 1 + levels } else { 1 };
        let seconds = or_empty("TENFOLD_TIME_LIMIT").parse().unwrap_or(codes * SECONDS);
        Ok(Self {
            package: need("CARGO_MANIFEST_DIR")?.into(),
            out: need("OUT_DIR")?.into(),
            name: need("CARGO_PKG_NAME")?,
            version: need("CARGO_PKG_VERSION")?,
            target: Target { triple: need("TARGET")?, host: need("HOST")?, cfg, ..Target::default() },
            options: Options {
                llvm: or_empty("TENFOLD_LLVM"),
                script: Vec::new(),
                passes: passes(),
                variants: or_empty(variants::VARIABLE),
                optimised,
                seconds,
                fault: or_empty("TENFOLD_FAULT"),
            },
            fault: None,
        })
    }

    /// Takes over what the build script says; the environment's own time limit goes first.
    pub(crate) fn follow(&mut self, seconds: Option<u64>, settings: &[(String, String)]) {
        if let (Some(seconds), None) = (seconds, env::var_os("TENFOLD_TIME_LIMIT")) {
            self.options.seconds = seconds.max(1);
        }
        self.options.script = settings.to_vec();
        let script = settings.iter().filter(|(variable, _)| variable == target::VARIABLE);
        let script: Vec<&str> = script.map(|(_, text)| text.as_str()).collect();
        let (from, texts) = match (target::of_environment(), script.as_slice()) {
            (Some(text), _) => (format!("`{}={text}`", target::VARIABLE), text),
            (None, []) => return,
            (None, script) => {
                (format!("`target(\"{}\")` in the build script", script.join("\").target(\"")), script.join(";"))
            }
        };
        if let Err(error) = self.have_targets(&texts) {
            self.fault = Some(format!("{from}: {error}"));
        }
    }

    /// Takes over targets, if there are such.
    fn have_targets(&mut self, texts: &str) -> Result<(), TargetError> {
        let Targets { processor, devices } = Targets::read([texts])?;
        self.target.devices = devices.iter().map(ToString::to_string).collect();
        let Some(processor) = processor else { return Ok(()) };
        processor.check(processor.own_triple().unwrap_or(&self.target.triple))?;
        self.target.chosen = processor.to_string();
        self.of_library().target.core().with_keys(&processor.own_keys()).map(drop).map_err(TargetError::from)
    }

    /// What the crate itself is compiled for: a target that is not cargo's is that of a library.
    pub(crate) fn of_crate(&self) -> Self {
        let mut environment = self.clone();
        let other = |chosen: &Chosen| chosen.own_triple().is_some_and(|triple| triple != self.target.triple);
        if self.target.chosen().as_ref().is_some_and(other) {
            environment.target.chosen.clear();
        }
        environment
    }

    /// The same for a library for programs in C: nothing chooses there among codes.
    pub(crate) fn of_library(&self) -> Self {
        let mut environment = self.clone();
        environment.options.variants = BASELINE.into();
        let chosen = self.target.chosen();
        let triple = chosen.as_ref().and_then(|chosen| chosen.own_triple());
        if let Some(triple) = triple.filter(|triple| *triple != self.target.triple) {
            environment.target.triple = triple.into();
            // What cargo says is of another target.
            environment.target.cfg.clear();
        }
        environment
    }

    /// What is never there: cargo runs a build script that watches it in every build.
    pub(crate) fn never(&self) -> PathBuf {
        self.out.join("tenfold/again")
    }

    /// Whether workers print something that the user has asked for.
    pub(crate) fn prints(&self) -> bool {
        let prints = |name: &str| VARIABLES.iter().any(|variable| variable.name == name && variable.prints);
        self.options.passes.iter().any(|(name, _)| prints(name))
    }

    /// Whose index this run writes.
    pub(crate) fn owner(&self) -> Owner {
        Owner::new(&self.name, &self.version, &self.package.to_string_lossy())
    }

    /// The package's name as it stands in symbols.
    pub(crate) fn symbol_prefix(&self) -> String {
        symbol_part(&self.name)
    }
}

/// A text with nothing in it that an assembler or a linker minds. What this makes equal, a hash tells apart.
pub(crate) fn symbol_part(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
