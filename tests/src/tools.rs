//! Tools that a test needs and a machine may lack.

use std::path::Path;
use std::process::Command;

/// Says that a test is skipped because a tool is absent, and what installs it; fails instead where
/// `TENFOLD_REQUIRE_TOOLS` is 1, as it is in CI.
pub fn skip(tool: &str, installed_by: &str) {
    let line = format!("skipped: {tool} is absent; {installed_by}");
    let must = std::env::var_os("TENFOLD_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    assert!(!must, "{line}");
    println!("{line}");
}

/// Whether this program can be started.
pub fn has(program: impl AsRef<Path>) -> bool {
    let version = Command::new(program.as_ref()).arg("--version").output();
    version.is_ok_and(|output| output.status.success())
}

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie below the root")
}
