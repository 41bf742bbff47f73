//! From the crate roots to the tensor functions.
//!
//! A file that cannot be read is rustc's to report; the walk goes on without it.

use crate::roots::Root;
use crate::scan::{self, Function, Included, Item, Place};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use tenfold_syntax::index::{SkipReason, Skipped};

/// Files deep: beyond it a file includes itself.
const DEPTH: usize = 64;

/// A tensor function and where it was found.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// Its text.
    pub(crate) function: Function,
    /// The crate it belongs to: a root's name, or `doctest:file:line`.
    pub(crate) krate: String,
    /// Relative to the package, `/` between components.
    pub(crate) file: String,
}

/// What a walk has seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// In the order of the roots and of the text.
    pub(crate) found: Vec<Found>,
    /// Functions that are left alone.
    pub(crate) skipped: BTreeSet<Skipped>,
    /// Files in which the attribute's name stands, relative to the package.
    pub(crate) files: BTreeSet<String>,
    /// Files whose change must run the build script again.
    pub(crate) watch: BTreeSet<PathBuf>,
    /// Whether each root is watched, in the order given.
    pub(crate) watched: Vec<bool>,
    /// How many files were read.
    pub(crate) files_read: usize,
}

/// Reads the module trees of a package.
pub(crate) fn walk(directory: &Path, roots: &[Root]) -> Seen {
    let mut walker = Walker {
        directory,
        seen: Seen::default(),
        texts: BTreeMap::new(),
        watch: BTreeSet::new(),
        krate: String::new(),
    };
    for root in roots {
        let before = walker.seen.found.len() + walker.seen.skipped.len();
        walker.krate.clone_from(&root.name);
        let place = Place { directory: parent(&root.file), ..Place::default() };
        walker.file(&root.file, place, 0);
        // A change of any file named to cargo rebuilds every target of the package. The library's changes do that
        // anyway; a test's need not, as long as no tensor function is in it.
        let any = walker.seen.found.len() + walker.seen.skipped.len() > before;
        let watch = std::mem::take(&mut walker.watch);
        if root.main || any {
            walker.seen.watch.extend(watch);
        }
        walker.seen.watched.push(root.main || any);
    }
    walker.seen
}

struct Walker<'a> {
    directory: &'a Path,
    seen: Seen,
    /// Each file is read once, however many roots lead to it.
    texts: BTreeMap<PathBuf, Option<Rc<str>>>,
    /// The files of the present root.
    watch: BTreeSet<PathBuf>,
    krate: String,
}

impl Walker<'_> {
    fn read(&mut self, full: &Path) -> Option<Rc<str>> {
        if let Some(text) = self.texts.get(full) {
            return text.clone();
        }
        let text: Option<Rc<str>> = std::fs::read_to_string(full).ok().map(Into::into);
        self.seen.files_read += usize::from(text.is_some());
        self.texts.insert(full.to_path_buf(), text.clone());
        text
    }

    /// A file of the module tree, with the place that its modules start from.
    fn file(&mut self, path: &Path, place: Place, depth: usize) {
        if depth > DEPTH {
            return;
        }
        let full = self.directory.join(path);
        self.watch.insert(full.clone());
        let Some(text) = self.read(&full) else { return };
        // most files hold neither a tensor function nor what leads to one
        let words = ["tensor_fn", "mod ", "include", "mod\t", "mod\n"];
        if words.iter().any(|word| text.contains(word)) {
            self.text(path, &text, place, depth);
        }
    }

    fn text(&mut self, path: &Path, text: &str, place: Place, depth: usize) {
        if text.contains("tensor_fn") {
            self.seen.files.insert(portable(path));
        }
        for item in scan::scan(text, place) {
            self.item(path, item, depth);
        }
    }

    fn item(&mut self, path: &Path, item: Item, depth: usize) {
        match item {
            Item::Module { on: Some(false), .. } => {}
            Item::Module { name, path: attribute, place, .. } => self.module(&name, attribute, place, depth),
            Item::Function(function) => self.function(path, function),
            Item::Include { file, place } => {
                let target = match file {
                    Included::Beside(file) => parent(path).join(file),
                    Included::OutDir(file) => {
                        let Some(out) = std::env::var_os("OUT_DIR") else {
                            return;
                        };
                        PathBuf::from(out).join(file)
                    }
                };
                let place = Place { directory: parent(&target), relative: None, modules: place.modules };
                self.file(&target, place, depth + 1);
            }
            Item::Doc { line, text } => self.doc(path, line, &text, depth),
            Item::DocFile(file) => {
                let target = parent(path).join(file);
                let full = self.directory.join(&target);
                let Some(text) = self.read(&full) else { return };
                if text.contains("tensor_fn") {
                    self.watch.insert(full);
                    for item in scan::scan_markdown(&text) {
                        self.item(&target, item, depth + 1);
                    }
                }
            }
        }
    }

    /// `mod name;`.
    fn module(&mut self, name: &str, path: Option<String>, place: Place, depth: usize) {
        let mut modules = place.modules.clone();
        modules.push(name.to_string());
        let (file, relative) = match path {
            Some(path) => (place.directory.join(path), None),
            None => {
                let base = place.modules_directory();
                let flat = base.join(format!("{name}.rs"));
                let nested = base.join(name).join("mod.rs");
                if !self.directory.join(&flat).is_file() && self.directory.join(&nested).is_file() {
                    (nested, None)
                } else {
                    (flat, Some(name.to_string()))
                }
            }
        };
        let place = Place { modules, directory: parent(&file), relative };
        self.file(&file, place, depth + 1);
    }

    /// A program in a doc comment is a crate of its own.
    fn doc(&mut self, path: &Path, line: u32, text: &str, depth: usize) {
        if depth > DEPTH {
            return;
        }
        let name = format!("doctest:{}:{line}", portable(path));
        let outer = std::mem::replace(&mut self.krate, name);
        // its modules' files, if any, are nowhere
        let place = Place { directory: PathBuf::from("\0"), ..Place::default() };
        for item in scan::scan(text, place) {
            if let Item::Function(function) = item {
                self.function(path, function);
            }
        }
        self.krate = outer;
    }

    fn function(&mut self, path: &Path, function: Function) {
        let reason = if function.macro_rules {
            Some(SkipReason::MacroRules)
        } else if function.on == Some(false) {
            Some(SkipReason::Cfg)
        } else {
            None
        };
        match reason {
            Some(reason) => {
                self.seen.skipped.insert(Skipped {
                    file: portable(path),
                    line: function.line,
                    name: function.name,
                    reason,
                });
            }
            None => self.seen.found.push(Found { function, krate: self.krate.clone(), file: portable(path) }),
        }
    }
}

fn parent(path: &Path) -> PathBuf {
    path.parent().unwrap_or(Path::new("")).to_path_buf()
}

/// With `/` between components and without `a/../`, the same on every machine.
pub(crate) fn portable(path: &Path) -> String {
    let mut out: Vec<String> = Vec::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if out.last().is_some_and(|last| last != "..") => {
                out.pop();
            }
            Component::RootDir => out.push(String::new()),
            Component::ParentDir | Component::Normal(_) | Component::Prefix(_) => {
                out.push(component.as_os_str().to_string_lossy().into_owned());
            }
        }
    }
    out.join("/")
}
