//! A crate in a directory of its own, and real cargo on it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tenfold_tests::outside;

/// The workspace that is tested.
pub(crate) fn checkout() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.canonicalize().expect("the workspace is there")
}

/// Where everything of these tests lies. The dependencies are built once for all packages.
fn base() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("e2e")
}

/// A crate, deleted before it is made and left for a look afterwards.
pub(crate) struct Package {
    /// Its directory.
    pub(crate) directory: PathBuf,
    /// Its name, which no other test has.
    pub(crate) name: String,
    target: PathBuf,
    environment: BTreeMap<String, String>,
}

/// What cargo did.
pub(crate) struct Outcome {
    /// Whether it succeeded.
    pub(crate) success: bool,
    /// Its standard output.
    pub(crate) stdout: String,
    /// Its standard error.
    pub(crate) stderr: String,
}

impl Outcome {
    /// Fails the test unless cargo succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert!(self.success, "cargo failed\n{}\n{}", self.stdout, self.stderr);
        self
    }

    /// Fails the test unless cargo failed.
    #[track_caller]
    pub(crate) fn err(self) -> Self {
        assert!(!self.success, "cargo succeeded\n{}\n{}", self.stdout, self.stderr);
        self
    }

    /// How many errors rustc reported whose text begins so.
    pub(crate) fn errors(&self, text: &str) -> usize {
        let line = format!("error: {text}");
        self.stderr.lines().filter(|l| l.starts_with(&line)).count()
    }

    /// Fails the test unless standard error holds a text.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "`{text}` is not in\n{}", self.stderr);
        self
    }
}

/// What the build script's report says.
#[derive(Debug, PartialEq)]
pub(crate) struct Report {
    /// Functions compiled in the last run.
    pub(crate) compiled: u64,
    /// Functions known from earlier runs.
    pub(crate) cached: u64,
    /// Workers at one time.
    pub(crate) workers: u64,
    /// Milliseconds of the last run.
    pub(crate) total_ms: f64,
}

/// The manifest of a package that depends on the checkout.
pub(crate) fn manifest(name: &str, edition: &str) -> String {
    let root = checkout();
    let root = root.display();
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"{edition}\"\npublish = false\n\n\
         [dependencies]\ntenfold = {{ path = \"{root}/runtime\", features = [\"std\"] }}\n\n\
         [build-dependencies]\ntenfold-build = {{ path = \"{root}/build-support\" }}\n\n[workspace]\n"
    )
}

/// The build script of three lines.
pub(crate) const BUILD_SCRIPT: &str = "fn main() {\n    tenfold_build::compile();\n}\n";

/// A function that doubles four elements.
pub(crate) fn doubles(name: &str) -> String {
    format!("/// Doubles.\n#[tensor_fn]\npub fn {name}(x: Tensor<f32, 4>) -> Tensor<f32, 4> {{\n    x * 2.0\n}}\n")
}

impl Package {
    /// A package with a manifest, a build script and a library of this text.
    pub(crate) fn new(name: &str, library: &str) -> Self {
        let package = Self::bare(name);
        package.write("Cargo.toml", &manifest(name, "2024"));
        package.write("build.rs", BUILD_SCRIPT);
        package.write("src/lib.rs", library);
        package
    }

    /// A directory with nothing but the checkout's lock file in it.
    pub(crate) fn bare(name: &str) -> Self {
        Self::at(&base().join(name), name)
    }

    /// The same in a directory of the caller's choice.
    pub(crate) fn at(directory: &Path, name: &str) -> Self {
        if directory.exists() {
            make_writable(directory);
            fs::remove_dir_all(directory).expect("the old package can be removed");
        }
        fs::create_dir_all(directory).expect("a directory can be made");
        let package = Self {
            directory: directory.to_path_buf(),
            name: name.into(),
            target: base().join("target"),
            environment: BTreeMap::new(),
        };
        package.forget();
        // the same versions as the checkout's, so that nothing is fetched
        let lock = fs::read_to_string(checkout().join("Cargo.lock")).expect("the lock file is there");
        package.write("Cargo.lock", &lock);
        package
    }

    /// With another target directory.
    pub(crate) fn target(mut self, target: &Path) -> Self {
        self.target = target.to_path_buf();
        self
    }

    /// With a variable in cargo's environment.
    pub(crate) fn env(mut self, key: &str, value: &str) -> Self {
        self.environment.insert(key.into(), value.into());
        self
    }

    /// Writes a file.
    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.directory.join(file);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("directory");
        fs::write(path, text).expect("the file can be written");
    }

    /// A file's text.
    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.directory.join(file)).unwrap_or_default()
    }

    /// Replaces a text in a file that has it.
    #[track_caller]
    pub(crate) fn edit(&self, file: &str, from: &str, to: &str) {
        let text = self.read(file);
        assert!(text.contains(from), "`{from}` is not in `{file}`");
        self.write(file, &text.replace(from, to));
    }

    /// Runs a command of cargo for a release.
    pub(crate) fn release(&self, command: &str, arguments: &[&str]) -> Outcome {
        self.cargo(&[&[command], &outside::RELEASE[..], arguments].concat())
    }

    /// Runs cargo.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Outcome {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        // what this test's own cargo says is not meant for another package
        for (key, _) in std::env::vars_os() {
            let key = key.to_string_lossy().into_owned();
            let ours = key.starts_with("CARGO_") && !matches!(key.as_str(), "CARGO_HOME" | "CARGO_NET_OFFLINE");
            if ours || key == "OUT_DIR" || (key.starts_with("TENFOLD_") && key != "TENFOLD_LLVM") || key == "RUSTFLAGS"
            {
                command.env_remove(key);
            }
        }
        let (name, arguments) = arguments.split_first().expect("a command of cargo");
        command
            // Behind the command: another program, such as Clippy, does not see what stands before it.
            .arg(name)
            .args(outside::PROOFS)
            .args(arguments)
            .current_dir(&self.directory)
            .env("CARGO_TARGET_DIR", &self.target)
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_TERM_COLOR", "never")
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .envs(&self.environment);
        let output = command.output().expect("cargo can be started");
        Outcome {
            success: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Removes what earlier runs of the tests left in its output directories.
    fn forget(&self) {
        for out in self.out_dirs() {
            let _ = fs::remove_dir_all(&out);
            let _ = fs::create_dir_all(&out);
        }
    }

    /// The newest output directory of its build script.
    pub(crate) fn out_dir(&self) -> PathBuf {
        let mut found = self.out_dirs();
        let time = |path: &PathBuf| {
            let report = fs::metadata(path.join("tenfold/report.json"));
            report.and_then(|m| m.modified()).ok()
        };
        found.sort_by_key(time);
        found.pop().expect("the build script ran")
    }

    /// The program that cargo built last for this machine.
    pub(crate) fn program(&self) -> PathBuf {
        self.target.join("debug").join(&self.name)
    }

    /// The program that cargo built last for another machine.
    pub(crate) fn program_for(&self, triple: &str) -> PathBuf {
        self.target.join(triple).join("debug").join(&self.name)
    }

    fn out_dirs(&self) -> Vec<PathBuf> {
        let build = self.target.join("debug/build");
        let prefix = format!("{}-", self.name);
        let is_hash = |rest: &str| rest.len() == 16 && rest.bytes().all(|b| b.is_ascii_hexdigit());
        fs::read_dir(build)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.strip_prefix(&prefix).is_some_and(is_hash)
            })
            .map(|path| path.join("out"))
            .filter(|path| path.join("tenfold/index").is_file())
            .collect()
    }

    /// What the build script's last run did.
    pub(crate) fn report(&self) -> Report {
        let text = fs::read_to_string(self.out_dir().join("tenfold/report.json"));
        let text = text.expect("there is a report");
        let number = |key: &str| -> f64 {
            let key = format!("\"{key}\": ");
            let at = text.find(&key).expect("the key is there") + key.len();
            let rest = &text[at..];
            let end = rest.find([',', '\n']).unwrap_or(rest.len());
            rest[..end].parse().expect("a number")
        };
        Report {
            compiled: number("compiled") as u64,
            cached: number("cached") as u64,
            workers: number("workers") as u64,
            total_ms: number("total_ms"),
        }
    }

    /// The archives of the last run by name, with their bytes.
    pub(crate) fn archives(&self) -> BTreeMap<String, Vec<u8>> {
        let directory = self.out_dir().join("tenfold");
        fs::read_dir(directory)
            .expect("an output directory")
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|e| e == "a"))
            .map(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                (name, fs::read(&path).expect("an archive"))
            })
            .collect()
    }
}

/// A read-only directory cannot be removed.
fn make_writable(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            make_writable(&path);
        }
    }
    set_read_only(directory, false);
}

/// Changes who may write into a directory.
pub(crate) fn set_read_only(directory: &Path, read_only: bool) {
    if let Ok(data) = fs::metadata(directory) {
        let mut permissions = data.permissions();
        permissions.set_readonly(read_only);
        let _ = fs::set_permissions(directory, permissions);
    }
}
