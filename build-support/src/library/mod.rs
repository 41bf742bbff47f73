//! A library for programs in C: one archive with everything that the functions need, and its header.
//!
//! It does not know how functions are found or compiled.

mod expr;
mod guard;
mod header;
mod merge;
mod words;

use crate::out;
use crate::worker::message::Compiled;
use merge::Part;
use std::io;
use std::path::{Path, PathBuf};
use tenfold_core::Target;
use tenfold_syntax::signature::Signature;

/// The files of a library for programs in C.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemLib {
    /// `lib<name>.a`.
    pub archive: PathBuf,
    /// `<name>.h`.
    pub header: PathBuf,
}

/// A function of a library.
pub(crate) struct Function {
    /// Its symbol, which is its name in C.
    pub(crate) symbol: String,
    /// As the source has it, on a line.
    pub(crate) rust: String,
    /// What it takes and gives.
    pub(crate) signature: Signature,
    /// What is known of its code.
    pub(crate) compiled: Compiled,
    /// The archive that holds its object alone.
    pub(crate) archive: PathBuf,
    /// What its object leaves to the linker, beside constants, if its format says it.
    pub(crate) asks_for: Option<Vec<String>>,
}

impl Function {
    /// Reads from its object what it leaves to the linker.
    pub(crate) fn read(mut self) -> io::Result<Self> {
        let asked = merge::asks_for(&self.archive)?;
        let is_constant = |name: &String| self.compiled.constants.iter().any(|(constant, _)| *name == symbol(constant));
        self.asks_for = asked.map(|all| all.into_iter().filter(|name| !is_constant(name)).collect());
        Ok(self)
    }
}

/// What a library is made of.
pub(crate) struct Library<'a> {
    /// Its name, which begins each of its functions' names.
    pub(crate) name: &'a str,
    /// The package's version.
    pub(crate) version: &'a str,
    /// What it is for.
    pub(crate) target: &'a Target,
    /// In the order of the source.
    pub(crate) functions: &'a [Function],
}

/// Why there is no library.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Two constants of the header would have this name.
    Twice(String),
    /// A file cannot be read or written.
    Io(io::Error),
}

/// The symbol of the constant in an archive, whose name says behind it how the constant is written.
fn symbol(archive: &str) -> String {
    format!("__{}", archive.rsplit_once('_').map_or(archive, |(name, _)| name))
}

impl Library<'_> {
    /// Writes archive and header into a folder; `constants` holds the archives of constants.
    pub(crate) fn write(&self, folder: &Path, constants: &Path) -> Result<SystemLib, Failure> {
        let header = header::text(self).map_err(Failure::Twice)?;
        let made = SystemLib {
            archive: out::archive_path(folder, self.name),
            header: folder.join(format!("{}.h", self.name)),
        };
        std::fs::create_dir_all(folder).map_err(Failure::Io)?;
        merge::merge(&made.archive, &self.parts(constants)).map_err(Failure::Io)?;
        out::write_if_changed(&made.header, header.as_bytes()).map_err(Failure::Io)?;
        Ok(made)
    }

    /// An object for each function, then one for each constant.
    fn parts(&self, folder: &Path) -> Vec<Part> {
        let of = |function: &Function| Part {
            archive: function.archive.clone(),
            name: function.symbol.clone(),
            symbol: function.symbol.clone(),
        };
        let mut parts: Vec<Part> = self.functions.iter().map(of).collect();
        let mut constants: Vec<&String> =
            self.functions.iter().flat_map(|f| &f.compiled.constants).map(|(name, _)| name).collect();
        constants.sort();
        constants.dedup();
        parts.extend(constants.into_iter().map(|name| Part {
            archive: out::archive_path(folder, name),
            name: name.clone(),
            symbol: symbol(name),
        }));
        parts
    }
}
