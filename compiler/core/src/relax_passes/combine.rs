//! Joining siblings: operators that read one value with constant weights become one with the weights side by side.
//!
//! Shared by `CombineParallelMatmul` and `CombineParallelConv2D`. A branch is the operator and, where every branch has
//! them, additions of constants and one activation behind it; what it gives is cut out of what all give. Every element
//! is computed by the same sums as before, so no result changes. It knows no pass.

use std::collections::BTreeMap;

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, ElementOp};
use tenfold_ir::relax::{self, Binding, BindingBlock, Definitions, Op, SliceAxis, User, Uses, ValueId};

use super::const_data::LARGEST;
use super::rewrite::{Rewriter, Visit, rewrite_one};

/// What a pass joins.
pub(super) trait Family {
    /// What siblings have in common beside the value they read; `None` if the binding is none of them.
    fn kin(&self, func: &relax::Function, binding: &Binding) -> Option<String>;
    /// The axis of the weights that grows.
    fn weight_axis(&self) -> usize;
    /// The axis of the results that grows.
    fn result_axis(&self, rank: usize) -> usize;
}

/// Joins siblings of a family where there are so many of them.
pub(super) fn combine(module: &mut Module, family: &dyn Family, branches: usize) {
    let names: Vec<String> = module.functions.keys().cloned().collect();
    for name in names {
        let Some(func) = module.relax(&name) else { continue };
        let mut plan = Plan::default();
        let (definitions, uses) = (func.definitions(), func.uses());
        let search = Search { func, definitions, uses, family, branches };
        search.blocks(&func.blocks, &mut plan);
        if !plan.groups.is_empty() {
            let mut join = Join { family, plan, done: BTreeMap::new() };
            rewrite_one(module, &name, &mut join);
        }
    }
}

/// An operator behind every branch.
#[derive(Clone, PartialEq, Debug)]
enum Step {
    /// Addition of a constant of its own.
    Add(Vec<ValueId>),
    /// The same function.
    Apply(ElementOp),
}

/// Siblings.
#[derive(Clone, Debug)]
struct Group {
    /// The operators' constants by operand: weights first.
    weights: Vec<Vec<ValueId>>,
    /// What follows in each branch.
    steps: Vec<Step>,
    /// What each branch gives.
    ends: Vec<ValueId>,
}

#[derive(Default)]
struct Plan {
    groups: Vec<Group>,
    /// Group by its first operator's value.
    first: BTreeMap<ValueId, usize>,
}

/// Looks for siblings, one list of blocks after the other: a value of one region does not serve in another.
struct Search<'f> {
    func: &'f relax::Function,
    definitions: Definitions<'f>,
    uses: Uses,
    family: &'f dyn Family,
    branches: usize,
}

impl<'f> Search<'f> {
    fn blocks(&self, blocks: &'f [BindingBlock], plan: &mut Plan) {
        let mut kin: BTreeMap<(ValueId, String), Vec<&Binding>> = BTreeMap::new();
        for binding in blocks.iter().flat_map(|block| &block.bindings) {
            binding.regions.iter().for_each(|region| self.blocks(&region.blocks, plan));
            let constant = binding.args.iter().skip(1).all(|arg| self.constant(*arg));
            if let Some(key) = self.family.kin(self.func, binding).filter(|_| constant) {
                kin.entry((binding.args[0], key)).or_default().push(binding);
            }
        }
        for siblings in kin.values().filter(|all| all.len() >= self.branches) {
            if let Some(group) = self.group(siblings) {
                plan.first.insert(siblings[0].out, plan.groups.len());
                plan.groups.push(group);
            }
        }
    }

    fn constant(&self, v: ValueId) -> bool {
        self.definitions.binding(v).is_some_and(|b| matches!(b.op, Op::Const(_)))
    }

    fn group(&self, siblings: &[&Binding]) -> Option<Group> {
        let operands = siblings[0].args.len();
        let weights: Vec<Vec<ValueId>> = (1..operands).map(|i| siblings.iter().map(|b| b.args[i]).collect()).collect();
        let bytes: Option<usize> = weights[0].iter().map(|w| self.bytes(*w)).sum();
        let mut group = Group { weights, steps: Vec::new(), ends: siblings.iter().map(|b| b.out).collect() };
        while let Some((step, ends)) = self.step(&group.ends) {
            group.steps.push(step);
            group.ends = ends;
        }
        let cheap = group.ends.iter().all(|end| self.cut_where_read(*end));
        (cheap && bytes? <= LARGEST).then_some(group)
    }

    fn bytes(&self, v: ValueId) -> Option<usize> {
        let ty = self.func.values[v.0 as usize].ty.tensor()?;
        let count = ty.shape.iter().try_fold(1i64, |n, d| n.checked_mul(d.as_const()?))?;
        usize::try_from(count).ok()?.checked_mul(ty.dtype.size_bytes())
    }

    /// What the only readers of all branches do alike.
    fn step(&self, ends: &[ValueId]) -> Option<(Step, Vec<ValueId>)> {
        let readers: Option<Vec<(&Binding, usize)>> = ends.iter().map(|end| self.only_reader(*end)).collect();
        let readers = readers?;
        let outs = readers.iter().map(|(b, _)| b.out).collect();
        let op = readers[0].0.op.clone();
        if readers.iter().any(|(b, _)| b.op != op) {
            return None;
        }
        match op {
            Op::Element(op @ (ElementOp::Unary(_) | ElementOp::Activation(_))) => Some((Step::Apply(op), outs)),
            Op::Element(ElementOp::Binary(BinaryOp::Add)) => {
                let others: Vec<ValueId> = readers.iter().map(|(b, i)| b.args[1 - i]).collect();
                let fits = others.iter().zip(ends).all(|(c, end)| self.constant(*c) && self.beside(*c, *end));
                fits.then_some((Step::Add(others), outs))
            }
            _ => None,
        }
    }

    fn only_reader(&self, v: ValueId) -> Option<(&'f Binding, usize)> {
        match self.uses.of(v) {
            [User::Operand(out, index)] => self.definitions.binding(*out).map(|b| (b, *index)),
            _ => None,
        }
    }

    /// Whether a constant has one element per element of the axis that grows, and stretches over the others.
    fn beside(&self, c: ValueId, end: ValueId) -> bool {
        let shape =
            |v: ValueId| self.func.values[v.0 as usize].ty.tensor().map(|t| t.shape.clone()).unwrap_or_default();
        let (own, whole) = (shape(c), shape(end));
        let axis = self.family.result_axis(whole.len());
        let Some(lead) = whole.len().checked_sub(own.len()).filter(|lead| *lead <= axis) else { return false };
        own.iter().enumerate().all(|(i, d)| if i + lead == axis { *d == whole[axis] } else { d.as_const() == Some(1) })
    }

    /// Whether every reader takes a part of a tensor as it takes a tensor; others would need a copy of it.
    fn cut_where_read(&self, v: ValueId) -> bool {
        self.uses.of(v).iter().all(|user| match user {
            User::Operand(out, index) => self.definitions.binding(*out).is_some_and(|b| takes_parts(&b.op, *index)),
            User::Yield(..) | User::Result(_) | User::Symbol(_) => false,
        })
    }
}

fn takes_parts(op: &Op, operand: usize) -> bool {
    match op {
        Op::Element(_)
        | Op::Reduce { .. }
        | Op::ArgReduce { .. }
        | Op::MatMul
        | Op::Softmax { .. }
        | Op::LayerNorm { .. }
        | Op::BatchNorm { .. }
        | Op::Transpose { .. }
        | Op::BroadcastTo { .. }
        | Op::Concat { .. }
        | Op::Slice { .. }
        | Op::Pad { .. }
        | Op::Conv { .. }
        | Op::Pool { .. } => true,
        Op::SliceUpdate { .. } => operand == 1,
        Op::Const(_)
        | Op::Scalar(_)
        | Op::IndexValue { .. }
        | Op::Reshape { .. }
        | Op::Full { .. }
        | Op::Arange { .. }
        | Op::CallTir { .. }
        | Op::CallFn { .. }
        | Op::CallDps { .. }
        | Op::CallPacked { .. }
        | Op::If
        | Op::For { .. }
        | Op::While
        | Op::ShapeOf
        | Op::Shape { .. }
        | Op::ShapeToTensor
        | Op::TensorToShape
        | Op::Tuple
        | Op::TupleGet(_)
        | Op::BindIndex(_)
        | Op::MatchShape { .. }
        | Op::Assert { .. }
        | Op::Later { .. }
        | Op::StoreState { .. } => false,
    }
}

/// Emits a group at its first operator, and a part of it for each end.
struct Join<'f> {
    family: &'f dyn Family,
    plan: Plan,
    /// What stands for each end.
    done: BTreeMap<ValueId, ValueId>,
}

impl Visit for Join<'_> {
    fn binding(&mut self, cx: &mut Rewriter<'_>, binding: &Binding) -> Option<ValueId> {
        if let Some(index) = self.plan.first.get(&binding.out) {
            let group = self.plan.groups[*index].clone();
            let parts = self.emit(cx, binding, &group).unwrap_or_default();
            self.done.extend(group.ends.iter().copied().zip(parts));
        }
        self.done.get(&binding.out).copied()
    }
}

impl Join<'_> {
    fn emit(&self, cx: &mut Rewriter<'_>, first: &Binding, group: &Group) -> Option<Vec<ValueId>> {
        let mut args = vec![first.args[0]];
        for (i, parts) in group.weights.iter().enumerate() {
            // A bias has one axis.
            let axis = if i == 0 { self.family.weight_axis() } else { 0 };
            args.push(joined(cx, parts, axis)?);
        }
        let mut all = cx.emit(first.op.clone(), &args)?;
        for step in &group.steps {
            all = match step {
                Step::Apply(op) => cx.emit(Op::Element(*op), &[all])?,
                Step::Add(parts) => {
                    let lead = cx.shape(all).len() - cx.shape(parts[0]).len();
                    let axis = self.family.result_axis(cx.shape(all).len()) - lead;
                    let constant = joined(cx, parts, axis)?;
                    cx.emit(Op::Element(ElementOp::Binary(BinaryOp::Add)), &[all, constant])?
                }
            };
        }
        let axis = self.family.result_axis(cx.shape(all).len());
        let mut begin = IntExpr::from(0);
        let mut parts = Vec::new();
        for end in &group.ends {
            let extent = cx.shape(*end)[axis].clone();
            parts.push(part(cx, all, axis, &begin, &extent)?);
            begin = &begin + &extent;
        }
        Some(parts)
    }
}

/// Constants side by side. They are read anew: not all of them stand before the first operator.
fn joined(cx: &mut Rewriter<'_>, parts: &[ValueId], axis: usize) -> Option<ValueId> {
    let again: Option<Vec<ValueId>> = parts.iter().map(|v| cx.again(*v)).collect();
    cx.emit(Op::Concat { axis }, &again?)
}

fn part(cx: &mut Rewriter<'_>, all: ValueId, axis: usize, begin: &IntExpr, extent: &IntExpr) -> Option<ValueId> {
    let shape = cx.shape(all).to_vec();
    let cut = |(i, whole): (usize, &IntExpr)| {
        let (begin, extent) = if i == axis { (begin.clone(), extent) } else { (IntExpr::from(0), whole) };
        SliceAxis { begin, extent: extent.clone(), step: 1 }
    };
    cx.emit(Op::Slice { axes: shape.iter().enumerate().map(cut).collect(), drop: Vec::new() }, &[all])
}
