//! Paths of tensor functions, through the module tree.

use crate::uses::{CallSite, Uses};
use std::collections::BTreeMap;
use tenfold_syntax::{Code, Diagnostic};

/// A function as a path sees it.
pub(crate) struct Node<'a> {
    /// The crate it belongs to.
    pub(crate) krate: &'a str,
    /// The modules around it.
    pub(crate) modules: &'a [String],
    /// Without `r#`.
    pub(crate) name: &'a str,
    /// Whether a path can lead to it: not inside a function's body or an `impl`.
    pub(crate) reachable: bool,
    /// What tells its meaning from that of others.
    pub(crate) fingerprint: &'a str,
    /// Whether a `cfg` over it is undetermined.
    pub(crate) undetermined: bool,
    /// What it calls.
    pub(crate) uses: &'a Uses,
}

/// A call that leads to a function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Edge {
    /// The path as written.
    pub(crate) path: Vec<String>,
    /// The number of the function called.
    pub(crate) callee: usize,
}

/// What the calls of one function lead to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resolved {
    /// Each path once. A path that leads to no tensor function has no edge: the front end reports it.
    pub(crate) edges: Vec<Edge>,
    /// Calls that cannot be compiled.
    pub(crate) errors: Vec<Diagnostic>,
}

/// The calls of every function, in their order.
pub(crate) fn resolve(nodes: &[Node<'_>]) -> Vec<Resolved> {
    let mut by_path: BTreeMap<(&str, Vec<&str>), Vec<usize>> = BTreeMap::new();
    for (number, node) in nodes.iter().enumerate().filter(|(_, n)| n.reachable) {
        let mut path: Vec<&str> = node.modules.iter().map(String::as_str).collect();
        path.push(node.name);
        by_path.entry((node.krate, path)).or_default().push(number);
    }
    let mut resolved: Vec<Resolved> = nodes
        .iter()
        .map(|node| {
            let mut out = Resolved::default();
            for call in &node.uses.calls {
                let path = full_path(node.modules, &call.path);
                let found = path.and_then(|path| by_path.get(&(node.krate, path)));
                out.call(call, found.map(Vec::as_slice).unwrap_or_default(), nodes);
            }
            out
        })
        .collect();
    let graph: Vec<Vec<usize>> = resolved.iter().map(|r| r.edges.iter().map(|edge| edge.callee).collect()).collect();
    for (number, node) in nodes.iter().enumerate() {
        let (cycles, edges): (Vec<_>, Vec<_>) = std::mem::take(&mut resolved[number].edges)
            .into_iter()
            .partition(|edge| leads_to(&graph, edge.callee, number));
        resolved[number].edges = edges;
        for call in &node.uses.calls {
            if cycles.iter().any(|edge| edge.path == call.path) {
                resolved[number].errors.push(recursion(node.name, call));
            }
        }
    }
    resolved
}

impl Resolved {
    fn call(&mut self, call: &CallSite, found: &[usize], nodes: &[Node<'_>]) {
        let Some(first) = found.first() else { return };
        // twins of equal text are one function
        let differ = found.iter().any(|other| nodes[*other].fingerprint != nodes[*first].fingerprint);
        if differ && found.iter().any(|number| nodes[*number].undetermined) {
            self.errors.push(undetermined(call));
            return;
        }
        let edge = Edge { path: call.path.clone(), callee: *first };
        if !self.edges.contains(&edge) {
            self.edges.push(edge);
        }
    }
}

/// A path from the crate's root; none if it goes above it.
fn full_path<'a>(modules: &'a [String], path: &'a [String]) -> Option<Vec<&'a str>> {
    let mut base: Vec<&str> = modules.iter().map(String::as_str).collect();
    let mut rest = path.iter().map(String::as_str).peekable();
    match rest.peek() {
        Some(&"crate") => {
            rest.next();
            base.clear();
        }
        Some(&"self") => {
            rest.next();
        }
        _ => {}
    }
    while rest.next_if_eq(&"super").is_some() {
        base.pop()?;
    }
    base.extend(rest);
    Some(base)
}

/// Whether calls lead from a function to another, or are at it already.
fn leads_to(graph: &[Vec<usize>], from: usize, to: usize) -> bool {
    let mut seen = vec![false; graph.len()];
    let mut open = vec![from];
    while let Some(next) = open.pop() {
        if next == to {
            return true;
        }
        if !std::mem::replace(&mut seen[next], true) {
            open.extend(&graph[next]);
        }
    }
    false
}

fn recursion(name: &str, call: &CallSite) -> Diagnostic {
    let path = call.path.join("::");
    Diagnostic::new(
        call.node,
        Code::Recursion,
        format!("`{path}` leads back to `{name}`, and a tensor function cannot call itself"),
    )
    .help("write a `for` or a `while` in its place")
}

fn undetermined(call: &CallSite) -> Diagnostic {
    let path = call.path.join("::");
    Diagnostic::new(
        call.node,
        Code::UndeterminedCallee,
        format!("which function `{path}` is depends on a `cfg` that the build script cannot tell"),
    )
    .help("give the two functions different names")
}

/// Callees before their callers. Every cycle is cut already.
pub(crate) fn order(resolved: &[Resolved]) -> Vec<usize> {
    let mut done = vec![false; resolved.len()];
    let mut order = Vec::new();
    for start in 0..resolved.len() {
        let mut open = vec![(start, false)];
        while let Some((number, children_done)) = open.pop() {
            if children_done {
                if !std::mem::replace(&mut done[number], true) {
                    order.push(number);
                }
            } else if !done[number] {
                open.push((number, true));
                let callees = resolved[number].edges.iter().map(|edge| edge.callee);
                open.extend(callees.filter(|callee| !done[*callee]).map(|c| (c, false)));
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenfold_syntax::ast::NodeId;

    struct Built {
        krate: String,
        modules: Vec<String>,
        name: String,
        uses: Uses,
    }

    /// `crate a::b::name: path path`.
    fn built(line: &str) -> Built {
        let (head, calls) = line.split_once(':').map_or((line, ""), |_| {
            let at = line.rfind(": ").unwrap_or(line.len() - 1);
            (&line[..at], &line[at + 1..])
        });
        let (krate, path) = head.split_once(' ').unwrap();
        let mut modules: Vec<String> = path.split("::").map(String::from).collect();
        let name = modules.pop().unwrap();
        let calls = calls
            .split_whitespace()
            .enumerate()
            .map(|(node, path)| CallSite {
                node: NodeId(node as u32),
                path: path.split("::").map(String::from).collect(),
            })
            .collect();
        Built { krate: krate.into(), modules, name, uses: Uses { calls, ..Uses::default() } }
    }

    fn of(lines: &[&str]) -> Vec<Resolved> {
        let built: Vec<_> = lines.iter().map(|line| built(line)).collect();
        let nodes: Vec<_> = built
            .iter()
            .zip(lines)
            .map(|(b, line)| Node {
                krate: &b.krate,
                modules: &b.modules,
                name: &b.name,
                reachable: true,
                fingerprint: line,
                undetermined: b.krate == "test",
                uses: &b.uses,
            })
            .collect();
        resolve(&nodes)
    }

    fn callees(resolved: &Resolved) -> Vec<usize> {
        resolved.edges.iter().map(|edge| edge.callee).collect()
    }

    #[test]
    fn paths() {
        let found = of(&[
            "a f: ",
            "a m::f: ",
            "a m::g: self::f super::f crate::m::f crate::f super::super::f self::none",
            "b m::f: crate::f",
        ]);
        assert_eq!(callees(&found[2]), [1, 0, 1, 0]);
        assert!(found[3].edges.is_empty() && found[3].errors.is_empty());
    }

    #[test]
    fn cycles_are_errors_of_those_in_them() {
        let found = of(&["a f: crate::g crate::h", "a g: crate::f", "a h: crate::h", "a i: crate::f"]);
        let errors: Vec<_> = found.iter().map(|r| r.errors.len()).collect();
        assert_eq!(errors, [1, 1, 1, 0]);
        assert_eq!(callees(&found[0]), [2]);
        assert_eq!(order(&found), [2, 0, 1, 3]);
    }

    #[test]
    fn an_undetermined_callee_is_an_error() {
        let found = of(&["test f: ", "test f: crate::g", "test h: crate::f"]);
        assert_eq!(found[2].errors[0].code, Code::UndeterminedCallee);
    }
}
