//! The nodes and edges of a planned function.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::Module;
use tenfold_ir::relax::{self, Binding, Op, ValueId, type_text};
use tenfold_ir::tir::{PrimFunc, Stmt};

use super::Planned;

/// What a node is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Input,
    Kernel,
    /// A branch or a loop; what it runs reads from it.
    Control,
    View,
    Result,
}

/// A box of the picture.
pub(super) struct Node {
    pub(super) kind: Kind,
    /// The first line; of a kernel, its name without the function's.
    pub(super) title: String,
    /// The kernel's name; empty for what is none.
    pub(super) kernel: String,
    /// Its type.
    pub(super) ty: String,
    /// What is in the kernel: the members of its fusion group.
    pub(super) members: Vec<String>,
    /// The constants and weights that it reads, which have no box: a model has hundreds.
    pub(super) constants: Vec<String>,
    /// What was found out about it.
    pub(super) notes: Vec<String>,
    /// The share of the time that it takes, where that was measured.
    pub(super) share: Option<f64>,
}

/// The picture's content. An edge goes from a node to a later one.
#[derive(Default)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    /// Pairs of nodes, with the type of what goes from one to the other.
    pub(super) edges: Vec<(usize, usize, String)>,
    of: BTreeMap<ValueId, usize>,
    /// Name and type of each constant.
    constants: BTreeMap<ValueId, String>,
}

impl Graph {
    pub(super) fn of(planned: &Planned) -> Graph {
        let mut graph = Graph::default();
        let Some(func) = planned.module.relax(&planned.module.entry) else { return graph };
        let boxed = boxed_inputs(func);
        for param in &func.params {
            let data = &func.values[param.value.0 as usize];
            if boxed.contains(&param.value) {
                let at = graph.node(func, Kind::Input, data.name.clone(), param.value, &[]);
                graph.of.insert(param.value, at);
            } else {
                graph.constants.insert(param.value, format!("{} {}", data.name, type_text(&data.ty)));
            }
        }
        for binding in func.bindings() {
            graph.binding(planned, func, binding);
        }
        for (index, result) in func.results.iter().enumerate() {
            graph.node(func, Kind::Result, format!("result {index}"), *result, &[*result]);
        }
        graph
    }

    /// The node that makes a value, if it is one of the picture.
    pub(super) fn maker(&self, v: ValueId) -> Option<usize> {
        self.of.get(&v).copied()
    }

    fn binding(&mut self, planned: &Planned, func: &relax::Function, binding: &Binding) {
        if let Op::Const(id) = &binding.op {
            let constant = planned.module.constant(*id);
            let ty = type_text(&func.values[binding.out.0 as usize].ty);
            self.constants.insert(binding.out, format!("{} {ty}", constant.name));
            return;
        }
        if let (Op::Reshape { .. }, [whole, ..]) = (&binding.op, &binding.args[..])
            && let Some(constant) = self.constants.get(whole).cloned()
        {
            self.constants.insert(binding.out, constant);
            return;
        }
        let (kind, title, members) = match &binding.op {
            Op::CallTir { func: kernel, .. } => {
                (Kind::Kernel, short(&planned.module, kernel).into(), members(planned, kernel))
            }
            Op::If | Op::For { .. } | Op::While => (Kind::Control, relax::op_name(&binding.op).into(), Vec::new()),
            op => (Kind::View, relax::op_name(op).into(), Vec::new()),
        };
        let at = self.node(func, kind, title, binding.out, &binding.args);
        self.nodes[at].members = members;
        if let Op::CallTir { func: kernel, .. } = &binding.op {
            self.nodes[at].kernel.clone_from(kernel);
        }
        self.of.insert(binding.out, at);
        let handed_in = binding.regions.iter().flat_map(|region| &region.params);
        self.of.extend(handed_in.map(|param| (*param, at)));
    }

    fn node(&mut self, func: &relax::Function, kind: Kind, title: String, v: ValueId, args: &[ValueId]) -> usize {
        let at = self.nodes.len();
        let text = |v: ValueId| type_text(&func.values[v.0 as usize].ty);
        let constants = args.iter().filter_map(|arg| self.constants.get(arg).cloned()).collect();
        let kernel = String::new();
        self.nodes.push(Node {
            kind,
            title,
            kernel,
            ty: text(v),
            members: Vec::new(),
            constants,
            notes: Vec::new(),
            share: None,
        });
        let from = args.iter().filter_map(|arg| Some((*self.of.get(arg)?, at, text(*arg))));
        self.edges.extend(from.collect::<Vec<_>>());
        at
    }
}

/// The inputs that have a box. Weights of models come as parameters too, hundreds of them: where there are many, those
/// that are read once beside another value are lines of their reader, as constants are, in another shape too.
fn boxed_inputs(func: &relax::Function) -> BTreeSet<ValueId> {
    const FEW: usize = 8;
    let mut boxed: BTreeSet<ValueId> = func.params.iter().map(|param| param.value).collect();
    if boxed.len() <= FEW {
        return boxed;
    }
    let mut reads: BTreeMap<ValueId, usize> = BTreeMap::new();
    let read = func.bindings().flat_map(|binding| &binding.args).chain(&func.results);
    read.for_each(|arg| *reads.entry(*arg).or_default() += 1);
    let mut params: BTreeMap<ValueId, ValueId> = boxed.iter().map(|param| (*param, *param)).collect();
    for binding in func.bindings() {
        let once = |arg: &ValueId| params.get(arg).copied().filter(|_| reads.get(arg) == Some(&1));
        if let (Op::Reshape { .. }, Some(param)) = (&binding.op, binding.args.first().and_then(once)) {
            params.insert(binding.out, param);
            continue;
        }
        // beside what was computed all are; else the first one is what the kernel works on
        let works_on = usize::from(binding.args.iter().all(|arg| params.contains_key(arg)));
        for param in binding.args.iter().skip(works_on).filter_map(once) {
            boxed.remove(&param);
        }
    }
    boxed
}

/// The operators that were joined in a kernel, as far as the groups or the kernel's blocks say.
fn members(planned: &Planned, kernel: &str) -> Vec<String> {
    let group = planned.groups.as_ref().and_then(|groups| group(groups, kernel));
    let blocks = || planned.module.prim(kernel).map(blocks).unwrap_or_default();
    group.unwrap_or_else(blocks)
}

/// The members of a group, which is called like the kernel that was made of it, or without the kernel's number.
fn group(groups: &Module, kernel: &str) -> Option<Vec<String>> {
    let numbered = kernel.rsplit_once('_').filter(|(_, number)| number.bytes().all(|b| b.is_ascii_digit()));
    let names = [Some(kernel), numbered.map(|(name, _)| name)];
    let group = names.into_iter().flatten().find_map(|name| groups.relax(name).filter(|f| f.primitive))?;
    let member = |binding: &Binding| match &binding.op {
        Op::CallTir { func, .. } => Some(short(groups, func).to_string()),
        _ => None,
    };
    Some(group.bindings().filter_map(member).collect())
}

/// A kernel's name without the function's.
pub(super) fn short<'k>(module: &Module, kernel: &'k str) -> &'k str {
    kernel.strip_prefix(&module.entry).and_then(|rest| rest.strip_prefix('.')).unwrap_or(kernel)
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
