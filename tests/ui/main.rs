//! What one item alone decides, refused with exact text. `TRYBUILD=overwrite` writes what is found.

mod codes;

use std::fs;
use std::path::Path;

use tenfold_ui_tests::TOPICS;

/// Makes the folder in which trybuild has cargo build that of the crates that other tests make, under the same settings:
/// the macros and what they depend on are compiled for all of them once.
#[cfg(unix)]
fn share() -> std::io::Result<()> {
    let own = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (shared, link) = (own.join("e2e/target"), own.with_file_name("tests").join("trybuild"));
    fs::create_dir_all(shared.join(".cargo"))?;
    let settings = "[profile.dev]\ndebug = 0\n\n[profile.dev.package.tenfold-arith]\nopt-level = 2\n";
    fs::write(shared.join(".cargo/config.toml"), settings)?;
    fs::create_dir_all(own.with_file_name("tests"))?;
    // A folder or a link: of links it removes the link alone.
    let _ = fs::remove_dir_all(&link);
    std::os::unix::fs::symlink(&shared, &link)
}

#[test]
fn texts() {
    #[cfg(unix)]
    share().expect("trybuild's folder can be a link");
    let cases = trybuild::TestCases::new();
    for topic in TOPICS {
        cases.compile_fail(format!("{topic}/*.rs"));
    }
}
