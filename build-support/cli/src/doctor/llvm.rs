//! The ladder: which LLVM would be loaded, and whether it works.
//!
//! Files are looked at here; a library is loaded in a child, since LLVM may abort.

use super::{Level, Line, Report};
use crate::Outcome;
use crate::rustc::Rustc;
use std::env;
use std::process::{Command, ExitStatus};
use tenfold_llvm::{Env, Found, OLDEST_MAJOR, Rung, find, load};

/// The variable that makes this program the child.
const VARIABLE: &str = "CARGO_TENFOLD_LOAD";

/// The child's part, if this is it: loads what the ladder finds and says which version it is.
pub(crate) fn child() -> Option<Outcome> {
    env::var_os(VARIABLE)?;
    Some(match load(&find(&Env::from_process())) {
        Ok(llvm) => {
            println!("{}", llvm.version());
            Outcome::Good
        }
        Err(error) => {
            println!("{error}");
            Outcome::Bad
        }
    })
}

/// Walks the ladder. Whether an LLVM works is the answer.
pub(super) fn look(rustc: &Rustc, target: &str, report: &mut Report) -> bool {
    let environment = Env { rustc: rustc.program.clone(), ..Env::from_process() };
    let choice = environment.choice.as_ref().map(|choice| choice.to_string_lossy().into_owned());
    let text = match choice.as_deref() {
        None => "not set: rustc's own LLVM, else a system's, else C".into(),
        Some(choice @ ("rustc" | "system")) => format!("`{choice}`: no other LLVM is looked for"),
        Some("none") => "`none`: functions are compiled through C".into(),
        Some(path) => format!("`{path}`: no other LLVM is looked for"),
    };
    report.add(Line::new(Level::Ok, "TENFOLD_LLVM", text));
    let found = find(&environment);
    let works = match found.rung {
        Rung::None => {
            report.add(none(choice.as_deref(), &found));
            false
        }
        Rung::Rustc | Rung::System | Rung::Path => {
            report.add(taken(&found));
            smoke(rustc, report)
        }
    };
    if works && tenfold_core::Target::from_triple(target, &[]).arch == tenfold_core::Arch::Other {
        let line = Line::new(Level::Problem, "llvm", format!("it has no code for `{target}`"));
        report.add(line.next("set `TENFOLD_LLVM=none` to compile through C"));
    }
    works
}

fn tried(line: Line, found: &Found) -> Line {
    found.tried.iter().fold(line, |line, (path, why)| line.detail(format!("not taken: `{}` {why}", path.display())))
}

fn none(choice: Option<&str>, found: &Found) -> Line {
    match choice {
        Some("none") => Line::new(Level::Ok, "llvm", "none, as asked for"),
        Some(_) | None => {
            let line = Line::new(Level::Warn, "llvm", "none was found; functions are compiled through C");
            tried(line, found).next(format!(
                "use a toolchain of rustup from 1.95 on, or install libLLVM {OLDEST_MAJOR} or newer; what the C \
                 compiler makes is slower"
            ))
        }
    }
}

fn taken(found: &Found) -> Line {
    let from = match found.rung {
        Rung::Rustc => "rustc's own",
        Rung::System => "the system's",
        Rung::Path => "the one that `TENFOLD_LLVM` names",
        Rung::None => "none",
    };
    let version = found.version.as_deref().unwrap_or("of unknown version");
    let path = found.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    let line = Line::new(Level::Ok, "llvm", format!("{from}, {version}")).detail(format!("`{path}`"));
    tried(line, found)
}

/// Loads it and compiles three lines.
fn smoke(rustc: &Rustc, report: &mut Report) -> bool {
    let program = match env::current_exe() {
        Ok(program) => program,
        Err(error) => {
            report.add(Line::new(Level::Warn, "llvm works", format!("not tried: this program has no path: {error}")));
            return true;
        }
    };
    let output = Command::new(program).env(VARIABLE, "1").env("RUSTC", &rustc.program).output();
    let other = "set `TENFOLD_LLVM` to another libLLVM, or to `none` to compile through C";
    let line = match output {
        Err(error) => Line::new(Level::Warn, "llvm works", format!("not tried: {error}")),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            let said = said.trim();
            match Ended::of(output.status) {
                Ended::Well => Line::new(Level::Ok, "llvm works", format!("{said} compiled a function")),
                // a worker that cannot load it goes on through C
                Ended::Refused => Line::new(Level::Warn, "llvm works", format!("no: {said}")).next(other),
                Ended::Died => {
                    let words = String::from_utf8_lossy(&output.stderr);
                    let text = format!("no: loading it ended the process ({})", output.status);
                    let line = Line::new(Level::Problem, "llvm works", text);
                    words.lines().take(3).fold(line, |line, word| line.detail(word)).next(other)
                }
            }
        }
    };
    let works = line.level == Level::Ok;
    report.add(line);
    works
}

/// How the child ended.
enum Ended {
    Well,
    Refused,
    Died,
}

impl Ended {
    fn of(status: ExitStatus) -> Self {
        match status.code() {
            Some(0) => Self::Well,
            Some(1) => Self::Refused,
            Some(_) | None => Self::Died,
        }
    }
}
