//! A function with everything that its names mean.

use super::constants;
use crate::weights::{self, Wanted};
use crate::worker::message::{Request, Source};
use proc_macro2::TokenStream;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::str::FromStr as _;
use tenfold_ir::Module;
use tenfold_syntax::ast::{self, ConstSource, NodeId, TensorFn};
use tenfold_syntax::elaborate::{Callee, ConstLookup, Environment};
use tenfold_syntax::signature::{Instance, instances};
use tenfold_syntax::{Code, Diagnostic, parse_item};

/// A function and what it calls.
pub(super) struct Member {
    /// Its tree.
    pub(super) tree: TensorFn,
    /// The source's line of each node.
    pub(super) lines: Vec<u32>,
    /// Which instance is asked for.
    pub(super) instance: Instance,
    path: String,
    symbol: String,
    package: PathBuf,
    /// The paths of the crate's functions.
    known: Vec<String>,
    /// None for a callee that cannot be read, which is reported where it stands.
    callees: Vec<(Vec<String>, Option<Rc<Member>>)>,
}

impl Member {
    /// The function that is asked for; none if a text in the request cannot be read, which the macro reports.
    pub(super) fn of(request: &Request) -> Option<Self> {
        let mut made = vec![None; request.functions.len()];
        let whole = Self::make(request, 0, &mut made)?;
        drop(made);
        let mut member = Rc::into_inner(whole)?;
        let instance = usize::try_from(request.instance).ok()?;
        member.instance = instances(&member.tree).into_iter().nth(instance)?;
        Some(member)
    }

    /// Calls make no cycles: the request has none.
    fn make(request: &Request, number: usize, made: &mut Vec<Option<Rc<Self>>>) -> Option<Rc<Self>> {
        if let Some(done) = made.get(number)? {
            return Some(done.clone());
        }
        let source = &request.functions[number];
        let mut callees = Vec::new();
        for (path, callee) in &source.calls {
            callees.push((path.clone(), Self::make(request, *callee, made)));
        }
        let mut member = Self::read(source, callees, Path::new(&request.package))?;
        member.known.clone_from(&request.known);
        let member = Rc::new(member);
        made[number] = Some(member.clone());
        Some(member)
    }

    fn read(source: &Source, callees: Vec<(Vec<String>, Option<Rc<Self>>)>, package: &Path) -> Option<Self> {
        let argument = TokenStream::from_str(&source.argument).ok()?;
        let item = TokenStream::from_str(&source.text).ok()?;
        let parsed = parse_item(argument, item);
        let tree = parsed.function.filter(|_| parsed.diagnostics.is_empty())?;
        let name = parsed.spans.line(NodeId::FUNCTION);
        let line = |node: usize| {
            let line = parsed.spans.line(NodeId(node as u32)) + source.line as usize;
            line.saturating_sub(name) as u32
        };
        Some(Self {
            lines: (0..parsed.spans.len()).map(line).collect(),
            tree,
            instance: Instance::default(),
            path: source.path.clone(),
            symbol: source.symbol.clone(),
            package: package.to_path_buf(),
            known: Vec::new(),
            callees,
        })
    }
}

impl Member {
    /// The function whose name, or whose whole path, is nearest.
    fn similar(&self, path: &ast::Path) -> Option<String> {
        let name = path.segments.last()?;
        let last = |known: &String| known.rsplit("::").next().map(String::from);
        let names: Vec<String> = self.known.iter().filter_map(last).collect();
        let near = tenfold_ir::ops::nearest(name, names.iter().map(String::as_str))?;
        self.known.iter().find(|known| last(known).as_deref() == Some(near)).cloned()
    }
}

impl Member {
    /// The directory that the names of files start from.
    pub(super) fn package(&self) -> &Path {
        &self.package
    }
}

impl Environment for Member {
    fn callee(&self, path: &ast::Path) -> Callee<'_> {
        let found = self.callees.iter().find(|(known, _)| *known == path.segments);
        match found {
            Some((_, None)) => Callee::Unknown,
            Some((_, Some(member))) => {
                Callee::Found { function: &member.tree, environment: &**member, path: member.path.clone() }
            }
            None => Callee::NotFound { similar: self.similar(path) },
        }
    }

    fn symbol(&self) -> &str {
        &self.symbol
    }

    fn model(&self, instance: &Instance) -> Option<Result<Module, Diagnostic>> {
        let of = self.tree.attributes.model.as_ref()?;
        let made = super::model::module(self, of, instance).map(|(module, _)| module);
        Some(made.map_err(|errors| {
            errors
                .into_iter()
                .next()
                .unwrap_or_else(|| Diagnostic::new(NodeId::FUNCTION, Code::Model, "its signature has errors"))
        }))
    }

    fn constant(&self, source: &ConstSource, _node: NodeId) -> ConstLookup {
        let (file, wanted, name) = match source {
            ConstSource::Npy { file } => (file, Wanted::Npy, &file.value),
            ConstSource::Safetensors { file, tensor } => (file, Wanted::Safetensors(&tensor.value), &tensor.value),
            ConstSource::Npz { file, tensor } => (file, Wanted::Npz(&tensor.value), &tensor.value),
            ConstSource::Value(_) => return ConstLookup::Unknown,
        };
        let found = weights::find(&self.package, &file.value, wanted);
        let data = found.and_then(|found| constants::data(&file.value, name, &found));
        match data {
            Ok(data) => ConstLookup::Found(data),
            Err(failure) => {
                let node = match source {
                    ConstSource::Safetensors { tensor, .. } | ConstSource::Npz { tensor, .. }
                        if failure.is_of_tensor() =>
                    {
                        tensor.node
                    }
                    _ => file.node,
                };
                let error = Diagnostic::new(node, failure.code, failure.message);
                ConstLookup::Error(error.help(failure.help))
            }
        }
    }
}
