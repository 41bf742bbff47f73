//! The nodes and edges of a planned function, and where each stands in the picture.

use std::collections::BTreeMap;

use tenfold_ir::relax::{self, Op, ValueId, type_text};
use tenfold_ir::tir::{PrimFunc, Stmt};
use tenfold_ir::{Function, Module};

use super::Planned;

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Input,
    Constant,
    Kernel,
    View,
    Result,
}

/// A box of the picture.
pub(super) struct Node {
    pub(super) kind: Kind,
    /// The first line.
    pub(super) title: String,
    /// Its type.
    pub(super) ty: String,
    /// What is in the kernel: the members of its fusion group.
    pub(super) members: Vec<String>,
    /// Columns to the left that it depends on: its own is one more.
    pub(super) layer: usize,
    /// Boxes above it in its layer.
    pub(super) row: usize,
}

/// The picture's content.
#[derive(Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    /// Pairs of nodes, with the type of what goes from one to the other.
    pub(super) edges: Vec<(usize, usize, String)>,
    of: BTreeMap<ValueId, usize>,
    rows: BTreeMap<usize, usize>,
}

impl Graph {
    pub(super) fn of(planned: &Planned) -> Graph {
        let mut graph = Graph::default();
        let Some(func) = planned.module.relax(&planned.module.entry) else { return graph };
        for param in &func.params {
            graph.add(func, Kind::Input, param.value, &[], Vec::new());
        }
        for binding in func.bindings() {
            let (kind, members) = match &binding.op {
                Op::Const(_) => (Kind::Constant, Vec::new()),
                Op::CallTir { func: kernel, .. } => (Kind::Kernel, members(planned, kernel)),
                _ => (Kind::View, Vec::new()),
            };
            let at = graph.add(func, kind, binding.out, &binding.args, members);
            match &binding.op {
                Op::CallTir { func: kernel, .. } => graph.nodes[at].title.clone_from(kernel),
                Op::Const(id) => graph.nodes[at].title.clone_from(&planned.module.constant(*id).name),
                op => graph.nodes[at].title = relax::op_name(op).into(),
            }
        }
        for (index, result) in func.results.iter().enumerate() {
            graph.result(func, index, *result);
        }
        graph
    }

    fn add(&mut self, func: &relax::Function, kind: Kind, v: ValueId, args: &[ValueId], members: Vec<String>) -> usize {
        let data = &func.values[v.0 as usize];
        let at = self.place(kind, data.name.clone(), type_text(&data.ty), args, members, func);
        self.of.insert(v, at);
        at
    }

    fn result(&mut self, func: &relax::Function, index: usize, v: ValueId) {
        let ty = type_text(&func.values[v.0 as usize].ty);
        self.place(Kind::Result, format!("result {index}"), ty, &[v], Vec::new(), func);
    }

    fn place(
        &mut self,
        kind: Kind,
        title: String,
        ty: String,
        args: &[ValueId],
        members: Vec<String>,
        func: &relax::Function,
    ) -> usize {
        let from: Vec<(usize, ValueId)> = args.iter().filter_map(|arg| Some((*self.of.get(arg)?, *arg))).collect();
        let layer = from.iter().map(|(node, _)| self.nodes[*node].layer + 1).max().unwrap_or(0);
        let rows = self.rows.entry(layer).or_insert(0);
        let node = Node { kind, title, ty, members, layer, row: *rows };
        *rows += 1;
        let at = self.nodes.len();
        self.nodes.push(node);
        let edge = |(node, arg): (usize, ValueId)| (node, at, type_text(&func.values[arg.0 as usize].ty));
        self.edges.extend(from.into_iter().map(edge));
        at
    }
}

/// The operators that were joined in a kernel, as far as the groups or the kernel's blocks say.
fn members(planned: &Planned, kernel: &str) -> Vec<String> {
    let group = planned.groups.as_ref().and_then(|groups| group(groups, kernel));
    let blocks = || planned.module.prim(kernel).map(blocks).unwrap_or_default();
    group.unwrap_or_else(blocks)
}

fn group(groups: &Module, kernel: &str) -> Option<Vec<String>> {
    match groups.functions.get(kernel)? {
        Function::Relax(f) => Some(
            f.bindings()
                .filter_map(|b| match &b.op {
                    Op::CallTir { func, .. } => Some(func.clone()),
                    _ => None,
                })
                .collect(),
        ),
        Function::Prim(_) => None,
    }
}

fn blocks(prim: &PrimFunc) -> Vec<String> {
    let mut names = Vec::new();
    prim.body.walk(&mut |stmt| {
        if let Stmt::Block(block) = stmt {
            names.push(block.name.clone());
        }
    });
    names
}
