//! The C compiler, which compiles where LLVM does not, and the linker, which rustc needs.

use super::{Level, Line, Report};
use std::path::PathBuf;
use std::process::Command;

/// The compiler for the target and the linker.
pub(super) fn look(host: &str, target: &str, has_llvm: bool, report: &mut Report) {
    // without LLVM, this is what compiles
    let (needed, not_needed) = if has_llvm { (Level::Ok, "; not needed, as LLVM works") } else { (Level::Problem, "") };
    let tool = cc::Build::new()
        .cargo_metadata(false)
        .cargo_warnings(false)
        .host(host)
        .target(target)
        .opt_level(0)
        .try_get_compiler();
    let install = format!("install a C compiler for `{target}` (`apt-get install gcc`), or set `CC`");
    let tool = match tool {
        Ok(tool) => tool,
        Err(error) => {
            report.add(
                Line::new(needed, "c compiler", format!("none for `{target}`{not_needed}: {error}"))
                    .next_if(!has_llvm, &install),
            );
            linker(host, target, report);
            return;
        }
    };
    let path = tool.path().to_path_buf();
    match first_line(Command::new(&path).arg("--version")) {
        Ok(version) => {
            let what = if has_llvm { "not needed, as LLVM works" } else { "it compiles the functions" };
            report.add(Line::new(Level::Ok, "c compiler", format!("`{}`; {what}", path.display())).detail(version));
        }
        Err(error) => {
            let text = format!("`{}` {error}{not_needed}", path.display());
            report.add(Line::new(needed, "c compiler", text).next_if(!has_llvm, &install));
        }
    }
    linker(host, target, report);
}

/// rustc links through a C compiler on most systems; a program for another machine may need none.
fn linker(host: &str, target: &str, report: &mut Report) {
    if host != target || host.contains("windows-msvc") {
        return;
    }
    let asked = format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace('-', "_"));
    let driver = PathBuf::from(std::env::var_os(&asked).unwrap_or_else(|| "cc".into()));
    let shown = driver.display();
    let level = Level::Problem;
    let install = "install a C compiler with its linker (`apt-get install gcc libc6-dev`)";
    if let Err(error) = first_line(Command::new(&driver).arg("--version")) {
        report.add(Line::new(level, "linker", format!("`{shown}`, through which rustc links, {error}")).next(install));
        return;
    }
    match first_line(Command::new(&driver).arg("-print-prog-name=ld")) {
        Ok(name) => match first_line(Command::new(&name).arg("--version")) {
            Ok(version) => {
                report.add(Line::new(Level::Ok, "linker", format!("`{name}`, through `{shown}`")).detail(version))
            }
            Err(error) => report.add(Line::new(level, "linker", format!("`{name}` {error}")).next(install)),
        },
        Err(_) => report.add(Line::new(Level::Ok, "linker", format!("`{shown}`"))),
    }
}

/// What a program says of itself.
fn first_line(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("does not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("fails ({})", output.status));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_string())
}
