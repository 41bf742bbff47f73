//! A package in a folder of its own, and the program run in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A package.
#[derive(Default)]
pub(crate) struct Package {
    directory: PathBuf,
    environment: Vec<(String, String)>,
}

/// What the program did.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Its exit code.
    pub(crate) code: Option<i32>,
    /// What it printed.
    pub(crate) stdout: String,
    /// What it printed beside that.
    pub(crate) stderr: String,
}

/// A manifest whose dependencies lie in the checkout.
pub(crate) fn manifest(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().expect("the checkout");
    let root = root.display();
    format!(
        "[package]\nname = \"{name}\"\nversion = \"0.3.0\"\nedition = \"2024\"\n\n[features]\nextra = []\n\n\
         [dependencies]\ntenfold = {{ path = \"{root}/runtime\", features = [\"std\"] }}\n\n\
         [build-dependencies]\ntenfold-build = {{ path = \"{root}/build-support\" }}\n\n[workspace]\n"
    )
}

/// A function that doubles four elements.
pub(crate) const DOUBLE: &str = "#[tensor_fn]\npub fn double(x: Tensor<f32, 4>) -> Tensor<f32, 4> {\n    x * 2.0\n}\n";

impl Package {
    /// A folder with nothing in it.
    pub(crate) fn bare(name: &str) -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).expect("a folder");
        Self { directory, environment: Vec::new() }
    }

    /// A package with a manifest, a build script and a library of this text.
    pub(crate) fn new(name: &str, library: &str) -> Self {
        let package = Self::bare(name);
        package.write("Cargo.toml", &manifest(name));
        package.write("build.rs", "fn main() {\n    tenfold_build::compile();\n}\n");
        package.write("src/lib.rs", library);
        package
    }

    /// A path in it.
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.directory.join(file)
    }

    /// Writes a file.
    pub(crate) fn write(&self, file: &str, text: &str) {
        let path = self.directory.join(file);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("a folder");
        fs::write(path, text).expect("the file can be written");
    }

    /// A file's text.
    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.directory.join(file)).unwrap_or_default()
    }

    /// Removes a file.
    pub(crate) fn remove(&self, file: &str) {
        fs::remove_file(self.directory.join(file)).expect("the file is there");
    }

    /// With a variable in the program's environment.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// `cargo-tenfold tenfold …`, as cargo runs it.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-tenfold"));
        for (name, _) in std::env::vars_os() {
            let shown = name.to_string_lossy();
            // what the test's own cargo says is not meant for another package
            let is_cargos = shown.starts_with("CARGO_") && !matches!(&*shown, "CARGO_HOME" | "CARGO_NET_OFFLINE");
            if is_cargos || matches!(&*shown, "OUT_DIR" | "RUSTFLAGS") {
                command.env_remove(&name);
            }
        }
        command
            .arg("tenfold")
            .args(line.split_whitespace())
            .current_dir(&self.directory)
            .env("CARGO_TARGET_DIR", self.directory.join("target"))
            .env("CARGO_NET_OFFLINE", "true")
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// What that does.
    pub(crate) fn run(&self, line: &str) -> Outcome {
        let output = self.command(line).output().expect("the program starts");
        Outcome {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}
