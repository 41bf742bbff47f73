//! Sources, elaborated among each other.

use std::collections::BTreeMap;

use tenfold_syntax::ast::{ConstSource, NodeId, Path, TensorFn};
use tenfold_syntax::elaborate::{Callee, ConstLookup, Environment};
use tenfold_syntax::{Elaborated, Parsed, elaborate, parse_text};

/// The functions of one crate root.
pub(crate) struct Crate {
    functions: BTreeMap<String, TensorFn>,
}

impl Crate {
    /// Functions by name.
    pub(crate) fn new(functions: impl IntoIterator<Item = TensorFn>) -> Self {
        Crate { functions: functions.into_iter().map(|f| (f.name.text.clone(), f)).collect() }
    }
}

impl Environment for Crate {
    fn callee(&self, path: &Path) -> Callee<'_> {
        let last = path.segments.last().map(String::as_str).unwrap_or_default();
        match self.functions.get(last) {
            Some(function) => Callee::Found { function, environment: self, path: format!("crate::{last}") },
            None => Callee::NotFound { similar: self.functions.keys().next().map(|name| format!("self::{name}")) },
        }
    }

    fn constant(&self, _source: &ConstSource, _node: NodeId) -> ConstLookup {
        ConstLookup::Unknown
    }
}

/// The first function of a text in which `+++` stands between functions, and what became of it.
pub(crate) fn elaborated(text: &str) -> (Parsed, Option<Elaborated>) {
    let parsed: Vec<Parsed> = text.split("+++\n").map(parse_text).collect();
    let functions = parsed.iter().filter_map(|p| p.function.clone());
    let all = Crate::new(functions);
    let mut parsed = parsed.into_iter();
    let first = parsed.next().unwrap_or_default();
    let done = first.function.as_ref().map(|function| elaborate(function, &all));
    (first, done)
}
