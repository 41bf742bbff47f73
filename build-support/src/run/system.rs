//! A library for programs in C out of the functions of a package.

use super::{Item, Naming, Outcome, Run};
use crate::environment::{Environment, symbol_part};
use crate::files::Hashes;
use crate::library::{Failure, Function, Library, SystemLib};
use crate::run::look::place;
use crate::worker::message::{Answer, Compiled};
use crate::{out, roots, walk};
use proc_macro2::TokenStream;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::str::FromStr as _;
use tenfold_syntax::signature::{Signature, signatures};
use tenfold_syntax::{Diagnostic, parse_item};

/// Why there is no library.
pub(super) enum NoLibrary {
    /// These functions do not compile.
    Functions(Vec<(usize, Vec<Diagnostic>)>),
    /// What else is wrong.
    Said(String),
}

/// Makes the library, in the folder that cargo gives; what keeps it from being made, on one line.
pub(crate) fn system_lib(environment: &Environment) -> Result<SystemLib, String> {
    let directory = environment.out.join("tenfold");
    let mut seen = walk::walk(&environment.package, &roots::of(&environment.package));
    let mut hashes = Hashes::load(&directory.join("cache/files"));
    let run = Run::new(environment, Naming::Plain, directory, &mut seen, &mut hashes);
    run.system_lib().map_err(|why| {
        // A program in C that links an old one would not notice.
        run.files_of_library().into_iter().for_each(|file| drop(fs::remove_file(file)));
        match why {
            NoLibrary::Said(text) => text,
            NoLibrary::Functions(refused) => {
                let names: Vec<String> = refused.iter().map(|(n, _)| format!("`{}`", run.items[*n].path())).collect();
                format!("{} cannot be compiled", names.join(", "))
            }
        }
    })
}

impl Item {
    /// Whether a program in C can call it: it is `pub` in the library of the package.
    pub(super) fn is_exported(&self) -> bool {
        let function = &self.found.function;
        self.found.krate.starts_with("lib:") && self.read.is_public && !function.local && !function.associated
    }

    fn signature(&self) -> Option<Signature> {
        let function = &self.found.function;
        let tokens = |text: &str| TokenStream::from_str(text).ok();
        let tree = parse_item(tokens(&function.argument)?, tokens(&function.text)?).function?;
        signatures(&tree)?.into_iter().nth(self.instance).map(|(_, signature)| signature)
    }
}

impl Run<'_> {
    /// The name of a function in C: the package's, its own and, of an instance, the values that it has.
    pub(super) fn plain(&self, item: &Item) -> String {
        let generics = item.generics();
        let instance = if generics.is_empty() { String::new() } else { format!("_{}", generics.name()) };
        format!("{}_{}{}", self.environment.symbol_prefix(), symbol_part(&item.read.name), symbol_part(&instance))
    }

    fn folder_of_library(&self) -> PathBuf {
        self.directory.join("system")
    }

    fn files_of_library(&self) -> [PathBuf; 2] {
        let (folder, name) = (self.folder_of_library(), self.environment.symbol_prefix());
        [out::archive_path(&folder, &name), folder.join(format!("{name}.h"))]
    }

    /// Compiles what is exported, and writes archive and header.
    pub(super) fn system_lib(&self) -> Result<SystemLib, NoLibrary> {
        let numbers = self.exported().map_err(NoLibrary::Said)?;
        let io = |error| NoLibrary::Said(format!("`OUT_DIR` cannot be written to: {error}"));
        let mut outcomes = self.look_up();
        self.compile_missing(&mut outcomes).map_err(io)?;
        let (mut functions, mut refused) = (Vec::new(), Vec::new());
        let mut entries = self.instance_entries(&outcomes);
        for number in numbers {
            match outcomes.get(&self.items[number].key) {
                Some(Outcome { answer: Answer::Compiled(compiled), .. }) => {
                    functions.push(self.function(number, compiled)?);
                }
                Some(Outcome { answer: Answer::Refused(_), .. }) | None => {
                    refused.push((number, std::mem::take(&mut entries[number].diagnostics)));
                }
            }
        }
        if !refused.is_empty() {
            return Err(NoLibrary::Functions(refused));
        }
        let (name, target) = (self.environment.symbol_prefix(), self.environment.target.core());
        let version = &self.environment.version;
        let library = Library { name: &name, version, target: &target, functions: &functions };
        library.write(&self.folder_of_library(), &self.directory).map_err(|failure| match failure {
            Failure::Io(error) => io(error),
            Failure::Twice(constant) => {
                let text = "two constants of the header would be";
                NoLibrary::Said(format!("{text} `{constant}`; rename a function or one of its parameters"))
            }
        })
    }

    /// The functions that are in the library; none has another's name.
    fn exported(&self) -> Result<Vec<usize>, String> {
        let numbers: Vec<usize> = (0..self.items.len()).filter(|number| self.items[*number].is_exported()).collect();
        if numbers.is_empty() {
            return Err("the package's library has no `pub` function with `#[tensor_fn]`; make one `pub`".into());
        }
        let mut named = BTreeMap::new();
        for number in &numbers {
            let item = &self.items[*number];
            if let Some(other) = named.insert(self.plain(item), number) {
                let (path, other) = (item.path(), self.items[*other].path());
                let name = self.plain(item);
                return Err(format!(
                    "`{other}` and `{path}` would both be `{name}` in C; rename one, or make it private"
                ));
            }
        }
        Ok(numbers)
    }

    fn function(&self, number: usize, compiled: &Compiled) -> Result<Function, NoLibrary> {
        let item = &self.items[number];
        let path = item.path();
        if let Some(shim) = compiled.shims.first() {
            return Err(NoLibrary::Said(format!(
                "`{path}` calls `{}`, a function of Rust, which a program in C does not have; call one of C, or make \
                 `{path}` private",
                shim.path
            )));
        }
        let Some(signature) = item.signature() else {
            return Err(NoLibrary::Said(format!("`{path}` cannot be read again")));
        };
        let function = Function {
            symbol: self.plain(item),
            rust: place::signature(&item.found.function.text),
            signature,
            compiled: compiled.clone(),
            archive: out::archive_path(&self.directory, &self.archive(item)),
            asks_for: None,
        };
        function.read().map_err(|error| NoLibrary::Said(format!("the object of `{path}` cannot be read: {error}")))
    }
}
