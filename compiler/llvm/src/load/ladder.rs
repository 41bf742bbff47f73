//! Which LLVM would be loaded, found without loading it.
//!
//! It knows file names and places, not functions.

use std::{
    env,
    ffi::{OsStr, OsString},
    fmt, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The oldest major that the back end works with.
pub const OLDEST_MAJOR: u32 = 22;

/// What the choice depends on.
#[derive(Clone, Debug, Default)]
pub struct Env {
    /// The value of `TENFOLD_LLVM`.
    pub choice: Option<OsString>,
    /// The compiler whose LLVM is the first rung.
    pub rustc: OsString,
    /// The folders where a system LLVM is looked for.
    pub system: Vec<PathBuf>,
}

impl Env {
    /// The environment of this process: `TENFOLD_LLVM`, `RUSTC`, and the usual folders.
    pub fn from_process() -> Env {
        Env {
            choice: env::var_os("TENFOLD_LLVM").filter(|value| !value.is_empty()),
            rustc: env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()),
            system: usual_folders(),
        }
    }
}

/// A rung of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rung {
    /// The library that the Rust compiler ships.
    Rustc,
    /// A library that the system holds.
    System,
    /// A library that `TENFOLD_LLVM` names.
    Path,
    /// No LLVM; the C back end is used.
    None,
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rung::Rustc => "rustc",
            Rung::System => "system",
            Rung::Path => "path",
            Rung::None => "none",
        })
    }
}

/// The outcome of the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The rung that was reached.
    pub rung: Rung,
    /// The library's file, unless the rung is `None`.
    pub path: Option<PathBuf>,
    /// What the file's name says of its version, such as `22.1-rust-1.95.0-stable`.
    pub version: Option<String>,
    /// The file's length, which tells apart what the name does not.
    pub bytes: u64,
    /// What was looked at before, and why it was not taken.
    pub tried: Vec<(PathBuf, String)>,
}

impl Found {
    /// What a cache key takes of the choice: no path, so that two machines can agree.
    pub fn identity(&self) -> String {
        match self.rung {
            Rung::None => "none".to_owned(),
            Rung::Rustc | Rung::System | Rung::Path => {
                let version = self.version.as_deref().unwrap_or("of unknown version");
                format!("llvm {version}, {} bytes", self.bytes)
            }
        }
    }

    fn none(tried: Vec<(PathBuf, String)>) -> Found {
        Found { rung: Rung::None, path: None, version: None, bytes: 0, tried }
    }
}

/// Walks the ladder as `TENFOLD_LLVM` says: rustc's own LLVM, then a system's, then none.
pub fn find(env: &Env) -> Found {
    let mut tried = Vec::new();
    let refused =
        |tried: &mut Vec<_>| cannot_load().inspect(|why| tried.push((PathBuf::from("dlopen"), (*why).to_owned())));
    let candidate = match env.choice.as_deref().and_then(OsStr::to_str) {
        Some("none") => None,
        _ if refused(&mut tried).is_some() => None,
        Some("rustc") => in_rustc(env, &mut tried).map(|file| (Rung::Rustc, file)),
        Some("system") => in_folders(&env.system, &mut tried).map(|file| (Rung::System, file)),
        None if env.choice.is_none() => in_rustc(env, &mut tried)
            .map(|file| (Rung::Rustc, file))
            .or_else(|| in_folders(&env.system, &mut tried).map(|file| (Rung::System, file))),
        Some(_) | None => {
            let named = PathBuf::from(env.choice.clone().unwrap_or_default());
            // a bare name would be opened from the system's folders, not from where it was judged
            let named = std::path::absolute(&named).unwrap_or(named);
            at_path(&named, &mut tried).map(|file| (Rung::Path, file))
        }
    };
    match candidate {
        Some((rung, file)) => Found { rung, path: Some(file.path), version: file.version, bytes: file.bytes, tried },
        None => Found::none(tried),
    }
}

/// Why this program can load no library at all, if it cannot.
fn cannot_load() -> Option<&'static str> {
    if cfg!(target_feature = "crt-static") && cfg!(target_env = "musl") {
        Some("a statically linked program cannot load libraries")
    } else if !cfg!(tenfold_jumps) {
        Some("Tenfold has no jump table for this machine's processor")
    } else {
        None
    }
}

/// A file that may be LLVM.
struct Candidate {
    path: PathBuf,
    version: Option<String>,
    bytes: u64,
}

type Tried = Vec<(PathBuf, String)>;

fn in_rustc(env: &Env, tried: &mut Tried) -> Option<Candidate> {
    let name = PathBuf::from(&env.rustc);
    let out = match Command::new(&env.rustc).args(["--print", "sysroot"]).output() {
        Ok(out) if out.status.success() => out.stdout,
        Ok(out) => {
            let said = String::from_utf8_lossy(&out.stderr).lines().next().map(str::to_owned);
            tried.push((name, format!("`--print sysroot` failed: {}", said.unwrap_or_default())));
            return None;
        }
        Err(error) => {
            tried.push((name, format!("does not start: {error}")));
            return None;
        }
    };
    let sysroot = PathBuf::from(String::from_utf8_lossy(&out).trim());
    let folders = [sysroot.join("lib")];
    let seen = tried.len();
    let found = in_folders(&folders, tried);
    if found.is_none() && tried.len() == seen {
        let [folder] = folders;
        tried.push((folder, "this compiler ships no LLVM library of its own".to_owned()));
    }
    found
}

/// The acceptable library with the lowest version: the one nearest to what is tested.
fn in_folders(folders: &[PathBuf], tried: &mut Tried) -> Option<Candidate> {
    let mut good: Vec<Candidate> = Vec::new();
    for folder in folders {
        let Ok(entries) = fs::read_dir(folder) else {
            continue;
        };
        let mut files: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.file_name().and_then(OsStr::to_str).is_some_and(is_llvm))
            .collect();
        files.sort();
        for path in files {
            match judge(&path) {
                Ok(candidate) => good.push(candidate),
                Err(why) => tried.push((path, why)),
            }
        }
    }
    good.into_iter().min_by_key(|candidate| {
        let number = candidate.version.as_deref().map_or((u32::MAX, 0), numbers);
        (number, candidate.path.as_os_str().len())
    })
}

fn at_path(named: &Path, tried: &mut Tried) -> Option<Candidate> {
    if named.is_dir() {
        let seen = tried.len();
        let found = in_folders(&[named.to_owned()], tried);
        if found.is_none() && tried.len() == seen {
            tried.push((named.to_owned(), "the folder holds no `libLLVM`".to_owned()));
        }
        return found;
    }
    match judge(named) {
        Ok(candidate) => Some(candidate),
        Err(why) => {
            tried.push((named.to_owned(), why));
            None
        }
    }
}

fn is_llvm(name: &str) -> bool {
    let Some(rest) = name.strip_prefix("libLLVM") else {
        return false;
    };
    rest == ".dylib"
        || rest.starts_with(".so")
        || rest.starts_with('-') && (rest.contains(".so") || rest.ends_with(".dylib"))
}

/// Takes a file whose length and name allow it to be a LLVM that is new enough.
fn judge(path: &Path) -> Result<Candidate, String> {
    /// rustup's toolchains hold a linker script of 42 bytes beside the library.
    const LEAST_BYTES: u64 = 1 << 20;
    let real = fs::canonicalize(path).map_err(|error| format!("cannot be read: {error}"))?;
    let bytes = fs::metadata(&real).map_err(|error| format!("cannot be read: {error}"))?.len();
    if bytes < LEAST_BYTES {
        return Err("is no library but a linker script or a stub".to_owned());
    }
    let name = |path: &Path| path.file_name().and_then(OsStr::to_str).and_then(version_in);
    let version = name(&real).or_else(|| name(path));
    if let Some(version) = &version {
        let (major, _) = numbers(version);
        if major < OLDEST_MAJOR {
            return Err(format!("is LLVM {major}; {OLDEST_MAJOR} or newer is needed"));
        }
    }
    Ok(Candidate { path: path.to_owned(), version, bytes })
}

/// `22.1-rust-1.95.0-stable` of `libLLVM.so.22.1-rust-1.95.0-stable`.
fn version_in(name: &str) -> Option<String> {
    let rest = name.strip_prefix("libLLVM")?;
    let rest = rest.strip_suffix(".dylib").unwrap_or(rest);
    let text = match rest.strip_prefix(".so.") {
        Some(text) => text,
        None => rest.strip_prefix('-')?.split(".so").next()?,
    };
    text.starts_with(|c: char| c.is_ascii_digit()).then(|| text.to_owned())
}

/// The major and minor that a version begins with.
fn numbers(version: &str) -> (u32, u32) {
    let mut parts = version.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().ok());
    let mut next = || parts.next().flatten().unwrap_or(0);
    (next(), next())
}

fn usual_folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = [
        format!("/usr/lib/{}-linux-gnu", env::consts::ARCH),
        "/usr/lib64".to_owned(),
        "/usr/lib".to_owned(),
        "/usr/local/lib".to_owned(),
        "/opt/homebrew/opt/llvm/lib".to_owned(),
        "/usr/local/opt/llvm/lib".to_owned(),
    ]
    .map(PathBuf::from)
    .into();
    let mut versioned: Vec<PathBuf> = fs::read_dir("/usr/lib")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.file_name().and_then(OsStr::to_str).is_some_and(is_versioned))
        .map(|path| path.join("lib"))
        .collect();
    versioned.sort();
    folders.append(&mut versioned);
    folders
}

/// `llvm-22`, as Debian names the folders of its versions.
fn is_versioned(name: &str) -> bool {
    name.strip_prefix("llvm-").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_from_file_names() {
        let cases = [
            ("libLLVM.so.22.1-rust-1.95.0-stable", Some("22.1-rust-1.95.0-stable")),
            ("libLLVM-22-rust-1.95.0-stable.so", Some("22-rust-1.95.0-stable")),
            ("libLLVM.so.22.1", Some("22.1")),
            ("libLLVM-14.so.1", Some("14")),
            ("libLLVM-19.1.7.so", Some("19.1.7")),
            ("libLLVM.so", None),
            ("libLLVM.dylib", None),
        ];
        for (name, version) in cases {
            assert_eq!(version_in(name).as_deref(), version, "{name}");
            assert!(is_llvm(name), "{name}");
        }
        assert!(!is_llvm("libLLVMX86CodeGen.a"));
        assert!(!is_llvm("libLLVM.a"));
        assert_eq!(numbers("22.1-rust-1.95.0-stable"), (22, 1));
    }

    fn env(choice: &str) -> Env {
        Env { choice: Some(choice.into()), ..Env::from_process() }
    }

    #[test]
    fn none_is_an_answer() {
        let found = find(&env("none"));
        assert_eq!((found.rung, found.identity().as_str()), (Rung::None, "none"));
        assert!(found.tried.is_empty());
    }

    #[test]
    fn what_is_not_taken_is_explained() {
        let found = find(&env("/nowhere/libLLVM.so.22.1"));
        assert_eq!(found.rung, Rung::None);
        assert!(found.tried[0].1.contains("cannot be read"), "{:?}", found.tried);

        let mut lost = env("rustc");
        lost.rustc = "/nowhere/rustc".into();
        let found = find(&lost);
        assert_eq!(found.rung, Rung::None);
        assert!(found.tried[0].1.contains("does not start"), "{:?}", found.tried);
    }

    #[test]
    fn the_identity_holds_no_path() {
        let found = find(&Env { choice: None, ..Env::from_process() });
        assert!(!found.identity().contains('/'), "{}", found.identity());
    }
}
