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
mod hash;
mod object;
mod out;
mod report;
mod resolve;
mod roots;
mod run;
mod scan;
mod uses;
mod walk;
mod weights;
mod worker;

#[doc(hidden)]
pub use run::look;

use environment::Environment;
use std::panic::{self, AssertUnwindSafe};
use std::time::Duration;
use tenfold_syntax::index::Index;

/// Compiles the tensor functions of the package whose build script calls this.
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
#[derive(Clone, Debug, Default)]
#[must_use = "nothing is compiled before `compile` is called"]
pub struct Build {
    time_limit: Option<Duration>,
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

    /// Compiles.
    ///
    /// It never panics and never ends the process. What is wrong with the environment becomes a warning of cargo and
    /// an error at the functions.
    pub fn compile(&self) {
        worker::start::keep();
        worker::serve_if_worker();
        let mut environment = match Environment::of_process() {
            Ok(environment) => environment,
            Err(variable) => {
                eprintln!("tenfold: this is no build script that cargo runs: `{variable}` is not set");
                return;
            }
        };
        if let (Some(limit), None) = (self.time_limit, std::env::var_os("TENFOLD_TIME_LIMIT")) {
            environment.options.seconds = limit.as_secs().max(1);
        }
        for variable in environment::variables() {
            println!("cargo::rerun-if-env-changed={variable}");
        }
        let done = panic::catch_unwind(AssertUnwindSafe(|| run::run(&environment)));
        let fault = match done {
            Ok(Ok(done)) => return tell(&done),
            Ok(Err(error)) => format!("`OUT_DIR` cannot be written to: {error}"),
            Err(payload) => worker::panic_text(&*payload),
        };
        give_up(&environment, fault);
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
    println!("cargo::rerun-if-changed={}", environment.package.display());
}
