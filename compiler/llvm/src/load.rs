//! LLVM at run time: found without a linker, loaded by name, tried before it is trusted.
//!
//! It knows libraries, not programs to compile.

#[cfg(test)]
#[expect(dead_code, reason = "the build script is its user")]
mod jumps;
mod ladder;
mod smoke;
mod table;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use inkwell::llvm_sys::core::LLVMGetVersion;
use libloading::Library;

pub use ladder::{Env, Found, OLDEST_MAJOR, Rung, find};

/// The proof that LLVM is loaded; everything that calls it takes one.
#[derive(Clone, Copy, Debug)]
pub struct Llvm {
    version: Version,
    // Only `load` makes one.
    _private: (),
}

impl Llvm {
    /// The version that the library reports.
    pub fn version(&self) -> Version {
        self.version
    }
}

/// A version as the library reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// 22 of 22.1.2.
    pub major: u32,
    /// 1 of 22.1.2.
    pub minor: u32,
    /// 2 of 22.1.2.
    pub patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Why there is no LLVM to work with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// The search ended on the last rung.
    NotFound {
        /// What was looked at, and why it was not taken.
        tried: Vec<(PathBuf, String)>,
    },
    /// The file is no library that this program can open.
    Open {
        /// The file.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// The file is a library, but not LLVM.
    NotLlvm {
        /// The file.
        path: PathBuf,
    },
    /// The library is older than [`OLDEST_MAJOR`].
    TooOld {
        /// The file.
        path: PathBuf,
        /// What it is.
        version: Version,
    },
    /// The library does not compile a function of three lines.
    Smoke {
        /// The file.
        path: PathBuf,
        /// What it is.
        version: Version,
        /// What went wrong.
        why: String,
    },
    /// Another library is loaded already; a process holds one.
    Another {
        /// The file that was asked for.
        path: PathBuf,
        /// The file that is loaded.
        loaded: PathBuf,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::NotFound { tried } => {
                write!(f, "no LLVM {OLDEST_MAJOR} or newer was found")?;
                for (path, why) in tried {
                    write!(f, "\n  `{}` {why}", path.display())?;
                }
                write!(
                    f,
                    "\n  use a toolchain of rustup from 1.95 on, or install libLLVM {OLDEST_MAJOR}; \
                     `TENFOLD_LLVM=none` compiles through C instead"
                )
            }
            LoadError::Open { path, why } => write!(f, "cannot load `{}`: {why}", path.display()),
            LoadError::NotLlvm { path } => write!(
                f,
                "`{}` is no LLVM: it has no `LLVMGetVersion`; set `TENFOLD_LLVM` to a libLLVM",
                path.display()
            ),
            LoadError::TooOld { path, version } => {
                write!(f, "`{}` is LLVM {version}; {OLDEST_MAJOR} or newer is needed", path.display())
            }
            LoadError::Smoke { path, version, why } => write!(
                f,
                "LLVM {version} at `{}` does not work: {why}; set `TENFOLD_LLVM` to another, or to \
                 `none`",
                path.display()
            ),
            LoadError::Another { path, loaded } => {
                write!(f, "`{}` cannot be loaded: this process holds `{}`", path.display(), loaded.display())
            }
        }
    }
}

impl std::error::Error for LoadError {}

/// The library that this process holds, with what its first use showed.
static LOADED: Mutex<Option<(PathBuf, Result<Llvm, LoadError>)>> = Mutex::new(None);

/// Loads what [`find`] found and tries it on a small function.
///
/// LLVM may abort the process, so this is called where an abort is survived: in a child.
pub fn load(found: &Found) -> Result<Llvm, LoadError> {
    let Some(path) = &found.path else {
        return Err(LoadError::NotFound { tried: found.tried.clone() });
    };
    let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
    match &*loaded {
        Some((held, outcome)) if held == path => outcome.clone(),
        Some((held, _)) => Err(LoadError::Another { path: path.clone(), loaded: held.clone() }),
        None => {
            let library = open(path)?;
            let outcome = start(path, &library);
            // Never closed: the table holds its addresses.
            std::mem::forget(library);
            *loaded = Some((path.clone(), outcome.clone()));
            outcome
        }
    }
}

fn open(path: &Path) -> Result<Library, LoadError> {
    // SAFETY: the initialisers of libLLVM register targets and options, nothing else; that a
    // file of this name is libLLVM is what its owner says.
    let library = unsafe { Library::new(path) }
        .map_err(|error| LoadError::Open { path: path.to_owned(), why: innermost(&error) })?;
    // SAFETY: only asked for, not called.
    match unsafe { library.get::<*mut ()>(c"LLVMGetVersion") } {
        Ok(_) => Ok(library),
        Err(_) => Err(LoadError::NotLlvm { path: path.to_owned() }),
    }
}

fn start(path: &Path, library: &Library) -> Result<Llvm, LoadError> {
    table::fill(library);
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: the jump leads to the library's function, which writes three integers.
    unsafe { LLVMGetVersion(&mut major, &mut minor, &mut patch) };
    let version = Version { major, minor, patch };
    if major < OLDEST_MAJOR {
        return Err(LoadError::TooOld { path: path.to_owned(), version });
    }
    smoke::test().map_err(|why| LoadError::Smoke { path: path.to_owned(), version, why })?;
    Ok(Llvm { version, _private: () })
}

/// The cause at the end of an error's chain, which is what the system says.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}
