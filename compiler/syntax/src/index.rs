//! What the build script tells the macro: one file of text lines in `OUT_DIR`.
//!
//! The build script writes it, the macro reads it, and nothing else passes between them. A line is a key, a space and
//! the rest; an entry goes from its `fn` line to the next. Diagnostics name nodes by number, since positions mean
//! different things to rustc and to an editor. The index must not hold a path of the machine or a time: equal sources
//! give equal bytes, so that a build that changes nothing does not make rustc run again.

mod device;
mod shim;
mod variant;

pub use device::{DeviceParts, Linked};
pub use shim::{Shim, ShimArg, ShimUse};
pub use variant::Variant;

use crate::ast::NodeId;
use crate::code::Code;
use crate::diagnostic::Diagnostic;
use std::fmt::Write as _;

/// Where the index lies under `OUT_DIR`.
pub const PATH: &str = "tenfold/index";

/// The first line. Its number goes up with each change that an older reader would misunderstand.
const MAGIC: &str = "tenfold-index 6";

/// The last line: a file without it was cut short.
const END: &str = "\nend\n";

/// Everything one run of the build script found in a package.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Index {
    /// The number of the application binary interface that the compiled code follows.
    pub abi: u32,
    /// The version of the crate that wrote the index.
    pub compiler: String,
    /// The package it is about.
    pub owner: Owner,
    /// Errors of the environment that concern every function: no compiler, an unwritable directory.
    pub faults: Vec<String>,
    /// The crate roots of the package.
    pub roots: Vec<Root>,
    /// Files in which the attribute's name was seen, relative to the package, `/` between components.
    pub files: Vec<String>,
    /// Functions that were seen and left alone.
    pub skipped: Vec<Skipped>,
    /// Functions that were read.
    pub entries: Vec<Entry>,
}

/// Whose index it is. `OUT_DIR` is inherited by processes that a test or a build script starts, so the macro may be
/// handed another package's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// `CARGO_PKG_NAME`.
    pub package: String,
    /// `CARGO_PKG_VERSION`.
    pub version: String,
    /// A hash of `CARGO_MANIFEST_DIR`.
    pub directory: String,
}

impl Owner {
    /// The package that cargo compiles now.
    pub fn of_environment() -> Self {
        let var = |key| std::env::var(key).unwrap_or_default();
        Self::new(&var("CARGO_PKG_NAME"), &var("CARGO_PKG_VERSION"), &var("CARGO_MANIFEST_DIR"))
    }

    /// A package by name, version and the directory of its manifest.
    pub fn new(package: &str, version: &str, directory: &str) -> Self {
        Self { package: package.into(), version: version.into(), directory: directory_hash(directory) }
    }
}

/// FNV-1a: it tells directories apart, nothing rests on it against an adversary.
fn directory_hash(directory: &str) -> String {
    let hash = directory
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

/// A crate root: where a module tree starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Root {
    /// `lib:name`, `bin:name`, `example:name`, `test:name`, `bench:name`.
    pub name: String,
    /// Relative to the package.
    pub file: String,
    /// Whether a change of its files runs the build script again. False for tests, examples and the like as long as
    /// they hold no tensor function.
    pub watched: bool,
}

/// Why a function that was seen is not compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// It stands under a `cfg` that is off for the build script.
    Cfg,
    /// It stands inside `macro_rules!`.
    MacroRules,
    /// It is not a function that can be read.
    Unreadable,
}

impl SkipReason {
    /// As written in the index.
    fn key(self) -> &'static str {
        match self {
            Self::Cfg => "cfg",
            Self::MacroRules => "macro_rules",
            Self::Unreadable => "unreadable",
        }
    }

    fn of_key(key: &str) -> Option<Self> {
        [Self::Cfg, Self::MacroRules, Self::Unreadable].into_iter().find(|reason| reason.key() == key)
    }
}

/// A function that was seen and left alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skipped {
    /// Relative to the package.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    /// As written; `$name` inside `macro_rules!`.
    pub name: String,
    /// Why.
    pub reason: SkipReason,
}

/// One tensor function.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// Its name, without `r#`.
    pub name: String,
    /// Of its canonical print.
    pub fingerprint: String,
    /// The crate root from which it was reached, or `doctest`.
    pub root: String,
    /// The modules around it, `a::b`; empty at the root.
    pub module: String,
    /// Relative to the package, `/` between components.
    pub file: String,
    /// Of its name, counted from 1; only tells apart what is otherwise equal.
    pub line: u32,
    /// Whether it stands in an `impl` or a `trait`, where no module can stand beside it.
    pub associated: bool,
    /// What there is to link, one for each instance; none if there are errors.
    pub artefacts: Vec<Artefact>,
    /// What is wrong with it and cannot be seen in the item alone.
    pub diagnostics: Vec<Diagnostic>,
}

impl Entry {
    /// Whether the macro would print the same for both.
    pub fn same_outcome(&self, other: &Self) -> bool {
        self.associated == other.associated
            && self.artefacts == other.artefacts
            && self.diagnostics == other.diagnostics
    }
}

/// A compiled function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Artefact {
    /// The name of its entry point.
    pub symbol: String,
    /// The archives that hold it and its constants, without `lib` and `.a`; its own comes first.
    pub archives: Vec<String>,
    /// Bytes of workspace for the greatest extents, if the dims are bounded.
    pub workspace_bytes: Option<u64>,
    /// Bytes of workspace as a Rust expression of `usize` over the named dims.
    pub workspace_expr: String,
    /// The memories among which the workspace is split, each with its bytes; none if it is one.
    pub pools: Vec<(String, u64)>,
    /// Bytes of the constants that it links.
    pub weight_bytes: u64,
    /// Bytes of its machine code for every processor of the target, without its constants.
    pub code_bytes: u64,
    /// Its codes for processors with more features, the best first.
    pub variants: Vec<Variant>,
    /// The deepest use of the stack, if the back end knows it.
    pub stack_bytes: Option<u64>,
    /// Floating-point operations as a Rust expression of `u64` over the named dims.
    pub flops_expr: String,
    /// The texts of the run-time checks, in the order of their status codes.
    pub checks: Vec<String>,
    /// The shims that compiled code calls, of this function or of those that write it out.
    pub shims: Vec<Shim>,
    /// What there is of it for devices.
    pub device: Option<DeviceParts>,
}

/// Why a text is no index that the macro can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// Another version wrote it.
    Version,
    /// It is cut short or changed by something else.
    Damaged,
}

impl Index {
    /// The text of the file.
    pub fn print(&self) -> String {
        let mut out = String::new();
        let mut line = |key: &str, value: &str| {
            let _ = writeln!(out, "{key} {}", escape(value));
        };
        line("abi", &self.abi.to_string());
        line("compiler", &self.compiler);
        line("package", &self.owner.package);
        line("version", &self.owner.version);
        line("directory", &self.owner.directory);
        for fault in &self.faults {
            line("fault", fault);
        }
        for root in &self.roots {
            let watched = if root.watched { "watched" } else { "unwatched" };
            line("root", &format!("{watched} {} {}", root.name, root.file));
        }
        for file in &self.files {
            line("file", file);
        }
        for skip in &self.skipped {
            line("skip", &format!("{} {} {} {}", skip.reason.key(), skip.line, skip.name, skip.file));
        }
        for entry in &self.entries {
            entry.print(&mut line);
        }
        format!("{MAGIC}\n{}{END}", out.trim_end_matches('\n'))
    }

    /// The index of a text.
    ///
    /// # Errors
    ///
    /// If another version wrote it or it is not whole.
    pub fn parse(text: &str) -> Result<Self, ReadError> {
        let body = text.strip_prefix(MAGIC).ok_or(ReadError::Version)?;
        let body = body.strip_suffix(END).ok_or(ReadError::Damaged)?;
        let body = body.strip_prefix('\n').ok_or(ReadError::Version)?;
        let mut index = Self::default();
        for line in body.lines() {
            let (key, value) = line.split_once(' ').ok_or(ReadError::Damaged)?;
            index.take(key, &unescape(value)).ok_or(ReadError::Damaged)?;
        }
        Ok(index)
    }

    fn take(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "abi" => self.abi = value.parse().ok()?,
            "compiler" => self.compiler = value.into(),
            "package" => self.owner.package = value.into(),
            "version" => self.owner.version = value.into(),
            "directory" => self.owner.directory = value.into(),
            "fault" => self.faults.push(value.into()),
            "root" => {
                let mut parts = value.splitn(3, ' ');
                let watched = parts.next()? == "watched";
                let (name, file) = (parts.next()?.into(), parts.next()?.into());
                self.roots.push(Root { name, file, watched });
            }
            "file" => self.files.push(value.into()),
            "skip" => {
                let mut parts = value.splitn(4, ' ');
                self.skipped.push(Skipped {
                    reason: SkipReason::of_key(parts.next()?)?,
                    line: parts.next()?.parse().ok()?,
                    name: parts.next()?.into(),
                    file: parts.next()?.into(),
                });
            }
            "fn" => self.entries.push(Entry { name: value.into(), ..Entry::default() }),
            _ => self.entries.last_mut()?.take(key, value)?,
        }
        Some(())
    }
}

impl Entry {
    fn print(&self, line: &mut impl FnMut(&str, &str)) {
        line("fn", &self.name);
        line("fingerprint", &self.fingerprint);
        line("from", &self.root);
        line("module", &self.module);
        line("in", &self.file);
        line("line", &self.line.to_string());
        if self.associated {
            line("associated", "true");
        }
        for artefact in &self.artefacts {
            artefact.print(line);
        }
        for diagnostic in &self.diagnostics {
            let Diagnostic { node, code, message, help, labels } = diagnostic;
            line("error", &format!("{node} {code} {message}"));
            if let Some(help) = help {
                line("help", help);
            }
            for (node, text) in labels {
                line("label", &format!("{node} {text}"));
            }
        }
    }

    fn take(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "fingerprint" => self.fingerprint = value.into(),
            "from" => self.root = value.into(),
            "module" => self.module = value.into(),
            "in" => self.file = value.into(),
            "line" => self.line = value.parse().ok()?,
            "associated" => self.associated = value == "true",
            "symbol" => {
                self.artefacts.push(Artefact { symbol: value.into(), ..Artefact::default() });
            }
            "error" => {
                let (node, rest) = numbered(value)?;
                let (code, message) = rest.split_once(' ')?;
                let code = Code::from_number(code)?;
                self.diagnostics.push(Diagnostic::new(node, code, message));
            }
            "help" => self.diagnostics.last_mut()?.help = Some(value.into()),
            "label" => {
                let (node, text) = numbered(value)?;
                let labels = &mut self.diagnostics.last_mut()?.labels;
                labels.push((node, text.into()));
            }
            _ => self.artefacts.last_mut()?.take(key, value)?,
        }
        Some(())
    }
}

impl Artefact {
    fn print(&self, line: &mut impl FnMut(&str, &str)) {
        line("symbol", &self.symbol);
        for archive in &self.archives {
            line("archive", archive);
        }
        if let Some(bytes) = self.workspace_bytes {
            line("workspace", &bytes.to_string());
        }
        line("workspace-expr", &self.workspace_expr);
        for (name, bytes) in &self.pools {
            line("pool", &format!("{bytes} {name}"));
        }
        line("weights", &self.weight_bytes.to_string());
        line("code", &self.code_bytes.to_string());
        for variant in &self.variants {
            line("variant", &variant.print());
        }
        if let Some(bytes) = self.stack_bytes {
            line("stack", &bytes.to_string());
        }
        line("flops-expr", &self.flops_expr);
        for check in &self.checks {
            line("check", check);
        }
        for shim in &self.shims {
            line("shim", &shim.print());
        }
        if let Some(DeviceParts { blob, constants }) = &self.device {
            line("device", &blob.print());
            constants.iter().for_each(|constant| line("device-constant", &constant.print()));
        }
    }

    fn take(&mut self, key: &str, value: &str) -> Option<()> {
        match key {
            "archive" => self.archives.push(value.into()),
            "workspace" => self.workspace_bytes = Some(value.parse().ok()?),
            "workspace-expr" => self.workspace_expr = value.into(),
            "pool" => {
                let (bytes, name) = value.split_once(' ')?;
                self.pools.push((name.into(), bytes.parse().ok()?));
            }
            "weights" => self.weight_bytes = value.parse().ok()?,
            "code" => self.code_bytes = value.parse().ok()?,
            "variant" => self.variants.push(Variant::parse(value)?),
            "stack" => self.stack_bytes = Some(value.parse().ok()?),
            "flops-expr" => self.flops_expr = value.into(),
            "check" => self.checks.push(value.into()),
            "shim" => self.shims.push(Shim::parse(value)?),
            "device" => self.device = Some(DeviceParts { blob: Linked::parse(value)?, constants: Vec::new() }),
            "device-constant" => self.device.as_mut()?.constants.push(Linked::parse(value)?),
            _ => return None,
        }
        Some(())
    }
}

/// A node's number, a space and the rest.
fn numbered(value: &str) -> Option<(NodeId, &str)> {
    let (node, rest) = value.split_once(' ')?;
    Some((NodeId(node.parse().ok()?), rest))
}

/// A text as one line.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

fn unescape(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Index {
        Index {
            abi: 1,
            compiler: "0.1.0".into(),
            owner: Owner::new("digits", "1.0.0-rc.1+x", "/home/me/with space"),
            faults: vec!["no compiler\nand no back end".into()],
            roots: vec![Root { name: "lib:digits".into(), file: "src/with space.rs".into(), watched: true }],
            files: vec!["src/with space.rs".into()],
            skipped: vec![Skipped {
                file: "src/a b.rs".into(),
                line: 7,
                name: "$name".into(),
                reason: SkipReason::MacroRules,
            }],
            entries: vec![
                Entry {
                    name: "blur".into(),
                    fingerprint: "00ff".into(),
                    root: "lib:digits".into(),
                    file: "src/with space.rs".into(),
                    line: 3,
                    artefacts: vec![Artefact {
                        symbol: "__tenfold_digits_blur".into(),
                        archives: vec!["tenfold_digits_1".into(), "tenfold_w_2".into()],
                        workspace_bytes: Some(64),
                        workspace_expr: "64 * B".into(),
                        pools: vec![("dtcm".into(), 64), ("psram".into(), 0)],
                        weight_bytes: 12,
                        code_bytes: 96,
                        variants: Variant::parse("x86-64-v2 __tenfold_digits_blur__x86_64_v2 80 popcnt,sse3")
                            .into_iter()
                            .collect(),
                        stack_bytes: None,
                        flops_expr: "0".into(),
                        checks: vec!["pos < S: \"full\"".into()],
                        shims: Shim::parse("s 3 crate::f in:f32:?,8 out:i64:").into_iter().collect(),
                        device: Linked::parse("tenfold_w_3 __tenfold_w_3 640")
                            .map(|blob| DeviceParts { constants: vec![blob.clone()], blob }),
                    }],
                    ..Entry::default()
                },
                Entry {
                    name: "bad".into(),
                    associated: true,
                    diagnostics: vec![
                        Diagnostic::new(NodeId(4), Code::Internal, "a \\ b\nnext line\r\n")
                            .help("write\nthis")
                            .label(NodeId(2), "bound here"),
                        Diagnostic::new(NodeId(0), Code::NotRust, ""),
                    ],
                    ..Entry::default()
                },
            ],
        }
    }

    #[test]
    fn what_is_printed_is_read_back() {
        let index = sample();
        assert_eq!(Index::parse(&index.print()), Ok(index));
    }

    #[test]
    fn a_part_is_refused() {
        let text = sample().print();
        for end in 0..text.len() {
            assert!(Index::parse(&text[..end]).is_err(), "{end}");
        }
        assert_eq!(Index::parse("tenfold-index 0\nend\n"), Err(ReadError::Version));
    }
}
