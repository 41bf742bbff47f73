//! rustc, its sysroot and the triples.

use super::{Level, Line, Report};
use crate::rustc::Rustc;
use std::fs;
use std::path::Path;

/// The oldest compiler that builds Tenfold.
const OLDEST: (u32, u32) = (1, 88);

/// The first compiler whose LLVM can be loaded.
const WITH_LLVM: (u32, u32) = (1, 95);

/// The compiler.
pub(super) fn look(rustc: &Rustc, report: &mut Report) {
    let program = Path::new(&rustc.program).display();
    let text = format!("{}, with LLVM {}", rustc.version, rustc.llvm);
    let (major, minor) = OLDEST;
    let line = if rustc.numbers() < OLDEST {
        let line = Line::new(Level::Problem, "rustc", format!("{text}; {major}.{minor} or newer is needed"));
        line.next("run `rustup update`")
    } else if rustc.numbers() < WITH_LLVM {
        let (major, minor) = WITH_LLVM;
        let line = Line::new(Level::Warn, "rustc", format!("{text}; its LLVM is older than Tenfold needs"));
        line.next(format!("take {major}.{minor} or newer, so that the LLVM that comes with it can be used"))
    } else {
        Line::new(Level::Ok, "rustc", text)
    };
    report.add(line.detail(format!("started as `{program}`")));
    match rustc.print("sysroot", &[]) {
        Ok(sysroot) => report.add(Line::new(Level::Ok, "sysroot", format!("`{sysroot}`"))),
        Err(error) => report.add(Line::new(Level::Warn, "sysroot", error)),
    }
    report.add(Line::new(Level::Ok, "host", &rustc.host));
}

/// Whether the compiler knows the target, and has its standard library.
pub(super) fn target(rustc: &Rustc, target: &str, report: &mut Report) {
    match rustc.print("cfg", &["--target", target]) {
        Ok(_) if has_core(rustc, target) => report.add(Line::new(Level::Ok, "target", target)),
        Ok(_) => {
            let text =
                format!("{target}; its standard library is not there, which only `cargo tenfold lib` does without");
            report.add(Line::new(Level::Warn, "target", text).next(format!("run `rustup target add {target}`")));
        }
        Err(error) => {
            let line = Line::new(Level::Problem, "target", format!("rustc does not know `{target}`")).detail(error);
            report.add(line.next("`rustc --print target-list` names those it knows"));
        }
    }
}

/// Whether rustc finds a `core` of the target; one that cargo builds itself (`-Zbuild-std`) is nowhere yet.
fn has_core(rustc: &Rustc, target: &str) -> bool {
    let Ok(folder) = rustc.print("target-libdir", &["--target", target]) else { return false };
    let is_core = |name: &str| name.starts_with("libcore-") && name.ends_with(".rlib");
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    names.map(|entry| entry.file_name()).any(|name| name.to_str().is_some_and(is_core))
}
