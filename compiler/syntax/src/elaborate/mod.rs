//! From the tree of a function to its IR, in one walk that finds every error.
//!
//! The walk types each expression and emits what it computes as it goes: whole tensors into a relax function, closures
//! over elements into prim-funcs. An erroneous expression has an unknown value, of which nothing more is said, so that
//! each mistake is reported once and independent ones are all found.
//!
//! It knows nothing of targets, passes or files: what needs those comes through an [`Environment`].

mod branch;
mod call;
mod carry;
mod cell;
mod compute;
mod constant;
mod cx;
mod expr;
mod extern_call;
mod generic;
mod index;
mod inline;
mod kernel;
mod logic;
mod loops;
mod model;
mod nest;
mod number;
mod operator;
mod ranges;
mod reduce;
mod show;
mod stmt;
mod turns;
mod value;
mod wrap;

use tenfold_ir::{ConstData, Module};

use crate::ast::{self, ConstSource, NodeId, TensorFn};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::signature::{Instance, Signature, errors_of_all, instances, signature_of};
use cx::Elaborator;

/// What a function means outside of its own item.
pub trait Environment {
    /// The tensor function that a path names.
    fn callee(&self, path: &ast::Path) -> Callee<'_>;
    /// The constant that a macro of the source names.
    fn constant(&self, source: &ConstSource, node: NodeId) -> ConstLookup;
    /// The module of an instance whose body is a model in a file, or the first of its errors; none if no file can be
    /// read here.
    fn model(&self, _instance: &Instance) -> Option<Result<Module, Diagnostic>> {
        None
    }
    /// The symbol of the function whose names these are, from which those of its shims are made; empty if nothing is
    /// linked.
    fn symbol(&self) -> &str {
        ""
    }
}

/// The answer to [`Environment::callee`].
pub enum Callee<'e> {
    /// Not known here: the call has an unknown type, of which nothing is reported.
    Unknown,
    /// There is no such function.
    NotFound {
        /// The path that was likely meant.
        similar: Option<String>,
    },
    /// This function.
    Found {
        /// Its tree.
        function: &'e TensorFn,
        /// What names mean in it.
        environment: &'e dyn Environment,
        /// Its absolute path, which tells functions apart.
        path: String,
    },
}

/// The answer to [`Environment::constant`].
pub enum ConstLookup {
    /// Not known here: the declared type is taken for true.
    Unknown,
    /// This constant.
    Found(ConstData),
    /// The file or the tensor in it cannot be had.
    Error(Diagnostic),
}

/// What the macro knows: the item alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct ItemAlone;

impl Environment for ItemAlone {
    fn callee(&self, _path: &ast::Path) -> Callee<'_> {
        Callee::Unknown
    }

    fn constant(&self, _source: &ConstSource, _node: NodeId) -> ConstLookup {
        ConstLookup::Unknown
    }
}

/// A function, checked and built.
#[derive(Debug)]
pub struct Elaborated {
    /// What callers see; none if an error in it leaves nothing to go by.
    pub signature: Option<Signature>,
    /// The module, if there is no error and nothing in it is unknown.
    pub module: Option<Module>,
    /// Every error, by place.
    pub diagnostics: Diagnostics,
}

/// Checks a function, every instance of it, and builds the module of the first.
pub fn elaborate<'a>(function: &'a TensorFn, environment: &'a dyn Environment) -> Elaborated {
    let mut all = instances(function).into_iter();
    let first = all.next().unwrap_or_default();
    let mut done = elaborate_instance(function, environment, &first);
    let errors = |done: &mut Elaborated| std::mem::take(&mut done.diagnostics).into_iter().collect();
    let mut found = vec![(first, errors(&mut done))];
    found.extend(all.map(|instance| {
        let errors = errors(&mut elaborate_instance(function, environment, &instance));
        (instance, errors)
    }));
    done.diagnostics = errors_of_all(found);
    if !done.diagnostics.is_empty() {
        done.module = None;
    }
    done
}

/// Checks one instance of a function and builds its module.
pub fn elaborate_instance<'a>(
    function: &'a TensorFn,
    environment: &'a dyn Environment,
    instance: &Instance,
) -> Elaborated {
    let (signature, mut diagnostics) = signature_of(function, instance);
    let mut module = None;
    if let (Some(signature), Some(_)) = (&signature, &function.body) {
        let (built, found) = Elaborator::new(function, environment, signature, instance.clone()).run(signature);
        diagnostics.extend(found);
        module = built;
    }
    diagnostics.sort();
    let module = module.filter(|_| diagnostics.is_empty());
    Elaborated { signature, module, diagnostics }
}
