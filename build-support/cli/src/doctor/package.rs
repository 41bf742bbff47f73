//! The package in which the doctor was called: its build script and its dependencies.

use super::{Level, Line, Report, graph};
use crate::arguments::Arguments;
use crate::cargo::{self, Depth, Package};
use std::fs;

/// The package, if there is one.
pub(super) fn look(arguments: &Arguments, report: &mut Report) {
    let is_asked = arguments.package.is_some() || arguments.manifest.is_some();
    let members = match cargo::metadata(arguments, Depth::Members) {
        Ok(members) => members,
        Err(error) if is_asked => return report.add(Line::new(Level::Problem, "package", error)),
        Err(error) if error.starts_with("could not find `Cargo.toml`") => {
            return report.add(Line::new(
                Level::Ok,
                "package",
                "none in this directory; only the machine was looked at",
            ));
        }
        Err(error) => return report.add(Line::new(Level::Problem, "package", error)),
    };
    let package = match cargo::choose(&members, arguments) {
        Ok(package) => package,
        Err(error) if is_asked => return report.add(Line::new(Level::Problem, "package", error)),
        Err(error) => return report.add(Line::new(Level::Warn, "package", error)),
    };
    let (name, version) = (&package.name, &package.version);
    if !package.asks_for.contains("tenfold") {
        let line = Line::new(Level::Warn, "package", format!("`{name}` {version} does not depend on `tenfold`"));
        return report.add(line.next("add `tenfold` to its `[dependencies]`"));
    }
    report.add(Line::new(Level::Ok, "package", format!("`{name}` {version}")));
    report.add(build_script(package));
    graph::look(arguments, package, report);
}

const CALL: &str = "fn main() { tenfold_build::compile(); }";

fn build_script(package: &Package) -> Line {
    match check(package) {
        Ok(text) => Line::new(Level::Ok, "build script", text),
        Err((text, next)) => Line::new(Level::Problem, "build script", text).next(next),
    }
}

/// Whether a build compiles the functions of a package; if not, why not and what to do.
pub(crate) fn check(package: &Package) -> Result<String, (String, String)> {
    let Some(script) = &package.build_script else {
        let text = "the package has none, so a build compiles no function of it".into();
        return Err((text, format!("add `build.rs` with `{CALL}`, and `tenfold-build` to `[build-dependencies]`")));
    };
    let shown = script.strip_prefix(package.directory()).unwrap_or(script).display();
    if !package.asks_for.contains("tenfold-build") {
        let next = "add `tenfold-build` to `[build-dependencies]`";
        return Err((format!("`{shown}` has no `tenfold-build` to call"), next.into()));
    }
    match fs::read_to_string(script) {
        Ok(text) if calls(&text) => Ok(format!("`{shown}` calls `tenfold_build`")),
        Ok(_) => Err((format!("`{shown}` does not call `tenfold_build::compile`"), format!("write `{CALL}`"))),
        Err(error) => Err((format!("`{shown}` cannot be read: {error}"), "make it readable".into())),
    }
}

/// Whether the name stands in a line that is not a comment. A renamed dependency goes by another name, so any call of
/// a `compile` counts too.
fn calls(text: &str) -> bool {
    let mut lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.any(|line| line.contains("tenfold_build") || line.contains("::compile("))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_no_comment() {
        assert!(calls(CALL));
        assert!(calls("fn main() {\n    kernels::compile();\n}\n"));
        assert!(!calls("// tenfold_build::compile();\nfn main() {}\n"));
    }
}
