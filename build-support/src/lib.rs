//! Compiles the `#[tensor_fn]` functions of a crate while its build script runs.
//!
//! ```no_run
//! // in `main` of build.rs
//! tenfold_build::compile();
//! ```
//!
//! The call finds the functions of the library, the binaries, tests, examples and benches, compiles what changed since
//! the last run and tells the attribute, through one file in `OUT_DIR`, what to link. It writes to `OUT_DIR` alone and
//! never fails because of a function: errors stand at the function's own tokens when rustc compiles the crate.
//!
//! Nothing here is part of the user's program.

mod cfg;
mod compiler;
mod environment;
mod files;
mod front;
mod library;
mod object;
mod out;
mod records;
mod report;
mod resolve;
mod roots;
mod run;
mod scan;
mod target;
mod told;
mod user;
mod uses;
mod walk;
mod weights;
mod worker;

pub use library::SystemLib;
#[doc(hidden)]
pub use run::look;
pub use target::{Kind, Target, TargetError};
pub use tenfold_core::pass::{ConfigValue, PassContext, PassPhase};
/// What [`Build::extern_patterns`] takes: a pattern and the function that computes it.
pub use tenfold_core::{Accepts, ExternPattern};
/// The representations that passes work on.
pub use tenfold_ir as ir;
#[doc(hidden)]
pub use weights::holds_tensor;

use environment::Environment;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Duration;
use tenfold_core::ExternTable;
use tenfold_core::pass::UserPass;
use tenfold_ir::Module;
use tenfold_syntax::index::Index;

/// Compiles the tensor functions of the package whose build script calls this.
///
/// ```no_run
/// // in `main` of build.rs
/// tenfold_build::compile();
/// ```
///
/// It never panics and never ends the process: what is wrong with a function is an error at the function, once rustc
/// meets it.
pub fn compile() {
    Build::new().compile();
}

/// How to compile the tensor functions of a package.
///
/// ```no_run
/// // in `main` of build.rs
/// use std::time::Duration;
///
/// tenfold_build::Build::new().time_limit(Duration::from_secs(600)).compile();
/// ```
///
/// It chooses passes, sets them, and adds own ones. `compiler/docs/passes.md` lists passes, settings and phases. The
/// environment has the last word: `TENFOLD_OPT_LEVEL`, `TENFOLD_DISABLE`, ….
///
/// ```no_run
/// // in `main` of build.rs
/// use tenfold_build::{Build, PassPhase};
///
/// Build::new()
///     .opt_level(3)
///     .disable("PadConv")
///     .config("UnrollLoop.auto_max_step", 16)
///     .add_pass(PassPhase::Fusion, "AtMostTen", |module, _| {
///         if module.functions.len() > 10 { Err("more than ten kernels".into()) } else { Ok(()) }
///     })
///     .compile();
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is compiled before `compile` is called"]
pub struct Build {
    time_limit: Option<Duration>,
    /// As the environment would say it.
    settings: Vec<(String, String)>,
    passes: Vec<UserPass>,
}

impl Build {
    /// The settings of [`compile`].
    pub fn new() -> Self {
        Self::default()
    }

    /// The most time for one function; the environment's `TENFOLD_TIME_LIMIT` goes first.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Passes of a higher level do not run; 2 by default, 3 is the highest. What [`Build`] is told wrongly (a level, a
    /// pass or a setting that there is not) is an error at every function.
    pub fn opt_level(self, level: u32) -> Self {
        self.set("TENFOLD_OPT_LEVEL", level.to_string())
    }

    /// Has a pass run whatever its level.
    pub fn require(self, pass: &str) -> Self {
        self.set("TENFOLD_REQUIRE", pass.into())
    }

    /// Has a pass never run. Passes that lower cannot be left out.
    pub fn disable(self, pass: &str) -> Self {
        self.set("TENFOLD_DISABLE", pass.into())
    }

    /// Sets a setting of a pass: `"UnrollLoop.auto_max_step", 16`.
    pub fn config(self, key: &str, value: impl Into<ConfigValue>) -> Self {
        self.set("TENFOLD_CONFIG", format!("{key}={}", value.into()))
    }

    /// Which codes each function has besides that for every processor of the target: `"all"` levels above it (for
    /// x86-64 v2, v3, v4 and, for products of 8-bit integers or of `bf16`, `x86-64-v4-vnni`, `x86-64-v4-bf16` and
    /// `x86-64-v4-amx`, for AArch64 `aarch64-dotprod` and `aarch64-i8mm` for those of integers), none of them
    /// (`"baseline"`), or a list, `"x86-64-v3, x86-64-v4"`. A program takes the best that its processor runs. Where nothing is said,
    /// builds that optimise have all, and others none. The environment's `TENFOLD_VARIANTS` goes first; a name that there
    /// is not is an error at every function.
    pub fn variants(self, variants: &str) -> Self {
        self.set("TENFOLD_VARIANTS", variants.into())
    }

    /// What code is made for, as far as it is not what cargo builds for: a [`Target`], or a text as it reads one.
    ///
    /// ```no_run
    /// // in `main` of build.rs
    /// tenfold_build::Build::new().target("llvm -mcpu=cortex-m4").compile();
    /// ```
    ///
    /// A target of another name than cargo's holds for [`Build::system_lib`] alone: a crate that is built for this machine
    /// may so make a library for another.
    ///
    /// Devices, of which there may be several, have every function compiled for them as well, as if it said so itself
    /// by `targets("cpu", "spirv")`. One with its own `targets(…)` keeps to these.
    ///
    /// ```no_run
    /// // in `main` of build.rs
    /// tenfold_build::Build::new().target("spirv").target("nvptx:sm_80").compile();
    /// ```
    ///
    /// The environment's `TENFOLD_TARGET` takes the place of all of them; it names several with `;` between them. A text that
    /// is no target is an error at every function.
    pub fn target(self, target: impl ToString) -> Self {
        self.set(target::VARIABLE, target.to_string())
    }

    /// Adds a pass behind the last one of a phase, in every function. What it refuses is an error on the function; so
    /// is a module that breaks a law behind it. Accesses are proven again, which is why it cannot stand behind
    /// [`PassPhase::Loops`]. From [`PassPhase::Schedule`] on it runs once for each variant.
    ///
    /// The build script's `main` runs again in every process that compiles, up to [`Build::compile`]: what else it
    /// does should stand behind that.
    pub fn add_pass<F>(mut self, phase: PassPhase, name: &'static str, run: F) -> Self
    where
        F: Fn(&mut Module, &PassContext) -> Result<(), String> + Send + Sync + 'static,
    {
        self.passes.push(UserPass::new(phase, name, Arc::new(run)));
        self
    }

    /// The same at any phase. Behind [`PassPhase::Loops`] nothing checks that every access stays inside its buffer: a
    /// pass there that gets one wrong makes a safe function access memory that is not its own.
    pub fn add_trusted_pass<F>(mut self, phase: PassPhase, name: &'static str, run: F) -> Self
    where
        F: Fn(&mut Module, &PassContext) -> Result<(), String> + Send + Sync + 'static,
    {
        self.passes.push(UserPass::trusted(phase, name, Arc::new(run)));
        self
    }

    /// Has functions of this crate, or of C, compute what patterns match. Rows are tried from the top over the whole
    /// graph, as the source has it; `compiler/docs/relax.md` says what a pattern is. That a function computes what its
    /// pattern says is the caller's word.
    ///
    /// ```no_run
    /// // in `main` of build.rs
    /// use tenfold_build::{Build, ExternPattern, ir::relax::Linkage};
    ///
    /// Build::new()
    ///     .extern_patterns(vec![ExternPattern {
    ///         pattern: "relu(add(matmul(x, w):once, b):once)".into(),
    ///         path: "crate::fast::dense".into(),
    ///         linkage: Linkage::Rust,
    ///         extents: false,
    ///         accepts: None,
    ///     }])
    ///     .compile();
    /// ```
    pub fn extern_patterns(self, table: Vec<ExternPattern>) -> Self {
        let table = ExternTable::read(table).map_err(|error| error.message);
        self.add_pass(PassPhase::Import, "FuseOpsByPattern", move |module, _| {
            table.as_ref().map(|table| table.apply(module)).map_err(Clone::clone)
        })
    }

    fn set(mut self, variable: &str, value: String) -> Self {
        self.settings.push((variable.into(), value));
        self
    }

    /// Compiles.
    ///
    /// It never panics and never ends the process. What is wrong with the environment becomes a warning of cargo and
    /// an error at the functions.
    pub fn compile(&self) {
        let _ = self.compiled();
    }

    /// Compiles, and makes a library for programs in C out of the functions that are `pub` in the package's library:
    /// `lib<package>.a`, which needs nothing of Rust, and `<package>.h`. Each is `<package>_<function>` there.
    ///
    /// ```no_run
    /// // in `main` of build.rs
    /// if let Some(library) = tenfold_build::Build::new().system_lib() {
    ///     println!("cargo::warning=the header is {}", library.header.display());
    /// }
    /// ```
    ///
    /// The files lie in `OUT_DIR`; `cargo tenfold lib` makes them without a build, for any target. None is there where a
    /// function does not compile, which is an error at the function, or cannot be called from C, which is a warning.
    /// `compiler/docs/embedded.md` says what the header has.
    pub fn system_lib(&self) -> Option<SystemLib> {
        let environment = self.compiled()?.of_library();
        let made = panic::catch_unwind(AssertUnwindSafe(|| run::system_lib(&environment)));
        match made.unwrap_or_else(|payload| Err(worker::panic_text(&*payload))) {
            Ok(made) => Some(made),
            Err(text) => {
                println!("cargo::warning=there is no library for C: {text}");
                None
            }
        }
    }

    /// Compiles; none if this is no build script.
    fn compiled(&self) -> Option<Environment> {
        worker::start::keep();
        user::set(&self.passes);
        worker::serve_if_worker();
        told::tell_if_asked(self.time_limit, &self.settings);
        let mut environment = match Environment::of_process() {
            Ok(environment) => environment,
            Err(variable) => {
                eprintln!("tenfold: this is no build script that cargo runs: `{variable}` is not set");
                return None;
            }
        };
        environment.follow(self.time_limit.map(|limit| limit.as_secs()), &self.settings);
        for variable in environment::variables() {
            println!("cargo::rerun-if-env-changed={variable}");
        }
        if let Some(fault) = &environment.fault {
            give_up(&environment, fault.clone());
            return None;
        }
        let done = panic::catch_unwind(AssertUnwindSafe(|| run::run(&environment.of_crate())));
        let fault = match done {
            Ok(Ok(done)) => {
                tell(&done);
                return Some(environment);
            }
            Ok(Err(error)) => format!("`OUT_DIR` cannot be written to: {error}"),
            Err(payload) => worker::panic_text(&*payload),
        };
        give_up(&environment, fault);
        None
    }
}

/// What cargo must know.
fn tell(done: &run::Done) {
    for path in &done.watch {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    for warning in &done.warnings {
        println!("cargo::warning={warning}");
    }
    println!("cargo::rustc-link-search=native={}", done.search.display());
}

/// Nothing was compiled: the attribute says why, at each function.
fn give_up(environment: &Environment, fault: String) {
    println!("cargo::warning=tenfold compiled nothing: {fault}");
    let index = Index {
        abi: tenfold_abi::ABI_VERSION,
        compiler: env!("CARGO_PKG_VERSION").into(),
        owner: environment.owner(),
        faults: vec![fault],
        ..Index::default()
    };
    if let Err(error) = run::write_index(&environment.out, &index) {
        println!("cargo::warning=tenfold cannot write its index: {error}");
    }
    println!("cargo::rerun-if-changed={}", environment.never().display());
}
