//! Crates outside of the workspace, as a user has them: no profile of ours holds for them.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

use crate::tools;

/// Arguments with which cargo optimises the compiler's proofs in a crate outside, as the workspace and the README have it:
/// what those tests wait for is the compiler, and most of its work are proofs. One list for all cargos that share a target
/// folder, which else would build the compiler again for one another.
pub const PROOFS: [&str; 2] = ["--config", "profile.dev.package.tenfold-arith.opt-level=2"];

/// Arguments with which cargo builds as for a release: its settings, in the profile `dev`. There cargo finds the compiler that
/// it has built for other tests; `--release`, and any `lto` of a profile, would have it build another one. The first command of
/// the README has both in `.ci/run`.
pub const RELEASE: [&str; 10] = [
    "--config",
    "profile.dev.opt-level=3",
    "--config",
    "profile.dev.debug-assertions=false",
    "--config",
    "profile.dev.overflow-checks=false",
    "--config",
    "profile.dev.build-override.debug-assertions=true",
    "--config",
    "profile.dev.build-override.overflow-checks=true",
];

/// Writes the manifest of a crate that depends on this checkout, the build script of three lines, and the lock file of
/// the workspace, so that nothing is fetched.
///
/// # Errors
///
/// The folder cannot be written to.
pub fn write(folder: &Path, name: &str) -> io::Result<()> {
    let path = |of: &str| format!("{{ path = {:?} }}", tools::root().join(of));
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\ntenfold = {}\n\n[build-dependencies]\ntenfold-build = {}\n\n[workspace]\n",
        path("runtime"),
        path("build-support")
    );
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("build.rs"), "fn main() {\n    tenfold_build::compile();\n}\n")?;
    fs::copy(tools::root().join("Cargo.lock"), folder.join("Cargo.lock")).map(drop)
}

/// Cargo in a folder, with a target directory of the caller's.
pub fn cargo(folder: &Path, target: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(folder).env("CARGO_TARGET_DIR", target).env_remove("OUT_DIR");
    cargo
}
