//! The walk that graph passes share: every binding once, in order, regions included, into a new function.
//!
//! A pass looks at one binding at a time, with operands already replaced, and says which value stands for it. It may
//! emit bindings before it. The walk knows nothing of any pass; what a replaced binding leaves unused is removed, and
//! values are numbered anew at the end.

use std::collections::BTreeMap;

use tenfold_ir::arith::{IntExpr, Prover};
use tenfold_ir::eval::{self, Bounded};
use tenfold_ir::relax::{self, Binding, BindingBlock, Op, Phase, SymKind, TensorType, Type, ValueData, ValueId};
use tenfold_ir::{ConstData, ConstId, DType, Function, Loc, Module, Scalar, content};

use super::dead_code::clean;

/// What a pass does at each binding.
pub(crate) trait Visit {
    /// The value that stands for the binding's, or `None` to keep it.
    fn binding(&mut self, cx: &mut Rewriter<'_>, binding: &Binding) -> Option<ValueId>;
    /// Before a region's body.
    fn enter(&mut self) {}
    /// After a region's body.
    fn leave(&mut self) {}
}

impl<F: FnMut(&mut Rewriter<'_>, &Binding) -> Option<ValueId>> Visit for F {
    fn binding(&mut self, cx: &mut Rewriter<'_>, binding: &Binding) -> Option<ValueId> {
        self(cx, binding)
    }
}

/// Rewrites every relax function that still has operators; whether anything was replaced or emitted.
pub(crate) fn rewrite(module: &mut Module, visit: &mut dyn Visit) -> bool {
    let names: Vec<String> = module.functions.keys().cloned().collect();
    let mut changed = false;
    for name in names {
        changed |= rewrite_one(module, &name, visit);
    }
    changed
}

/// Rewrites until nothing changes, at most `rounds` times.
pub(crate) fn rewrite_until(module: &mut Module, rounds: usize, visit: &mut dyn Visit) {
    let names: Vec<String> = module.functions.keys().cloned().collect();
    for name in names {
        let mut left = rounds;
        while left > 0 && rewrite_one(module, &name, visit) {
            left -= 1;
        }
    }
}

/// Rewrites one function; a prim-func, or one whose copies are what memory needs, stays as it is.
pub(crate) fn rewrite_one(module: &mut Module, name: &str, visit: &mut dyn Visit) -> bool {
    let Some(Function::Relax(func)) = module.functions.get(name) else { return false };
    if func.phase >= Phase::Materialised {
        return false;
    }
    let func = func.clone();
    let mut cx = Rewriter::new(module, func);
    let blocks = std::mem::take(&mut cx.func.blocks);
    cx.blocks(blocks, visit);
    let (func, changed) = cx.finish();
    if changed {
        module.functions.insert(name.to_string(), Function::Relax(func));
    }
    changed
}

/// How a value is defined.
#[derive(Clone, Debug)]
pub(crate) struct Def {
    /// What computes it.
    pub(crate) op: Op,
    /// From what.
    pub(crate) args: Vec<ValueId>,
}

/// A function while it is rewritten.
pub(crate) struct Rewriter<'m> {
    /// The module, without the function under work in its new form.
    pub(crate) module: &'m mut Module,
    /// The function; its blocks are those done.
    pub(crate) func: relax::Function,
    /// What is known of its symbols.
    pub(crate) prover: Prover,
    defs: Vec<Option<Def>>,
    uses: Vec<u32>,
    to: Vec<ValueId>,
    /// Blocks under construction: the innermost region's last.
    open: Vec<Vec<BindingBlock>>,
    constants: BTreeMap<String, ConstId>,
    /// Constants of the function as it was.
    named: BTreeMap<ValueId, ConstId>,
    splats: Vec<Option<Option<Scalar>>>,
    loc: Loc,
    changed: bool,
}

impl<'m> Rewriter<'m> {
    fn new(module: &'m mut Module, func: relax::Function) -> Self {
        let count = func.values.len();
        let constants = module.constants.iter().enumerate().map(|(i, c)| (c.hash.clone(), ConstId(i as u32))).collect();
        Rewriter {
            module,
            prover: relax::prover(&func),
            defs: vec![None; count],
            uses: uses(&func),
            to: (0..count as u32).map(ValueId).collect(),
            open: vec![Vec::new()],
            constants,
            named: func.bindings().filter_map(|b| constant_id(b).map(|id| (b.out, id))).collect(),
            splats: vec![None; count],
            loc: Loc::default(),
            changed: false,
            func,
        }
    }

    fn blocks(&mut self, blocks: Vec<BindingBlock>, visit: &mut dyn Visit) {
        for block in blocks {
            for binding in block.bindings {
                self.binding(binding, visit);
            }
        }
    }

    fn binding(&mut self, mut binding: Binding, visit: &mut dyn Visit) {
        self.loc = self.data(binding.out).loc;
        binding.args.iter_mut().for_each(|arg| *arg = self.to[arg.0 as usize]);
        for index in 0..binding.regions.len() {
            self.region(&mut binding, index, visit);
        }
        let mark = self.func.values.len() as u32;
        match visit.binding(self, &binding) {
            Some(value) if value != binding.out => self.replace(binding.out, value, mark),
            Some(_) | None => {
                self.defs[binding.out.0 as usize] = Some(Def { op: binding.op.clone(), args: binding.args.clone() });
                self.push(binding);
            }
        }
    }

    fn region(&mut self, binding: &mut Binding, index: usize, visit: &mut dyn Visit) {
        let blocks = std::mem::take(&mut binding.regions[index].blocks);
        self.open.push(Vec::new());
        visit.enter();
        self.blocks(blocks, visit);
        visit.leave();
        let region = &mut binding.regions[index];
        region.blocks = self.open.pop().unwrap_or_default();
        region.results.iter_mut().for_each(|value| *value = self.to[value.0 as usize]);
    }

    /// Lets `value` stand for `old`: a value made for it takes its name, and what was known of its elements stays.
    fn replace(&mut self, old: ValueId, value: ValueId, mark: u32) {
        self.changed = true;
        self.to[old.0 as usize] = value;
        self.uses[value.0 as usize] += self.uses[old.0 as usize];
        let data = self.data(old).clone();
        let new = &mut self.func.values[value.0 as usize];
        if value.0 >= mark {
            new.name = data.name;
            new.loc = data.loc;
        }
        let steady = |e: &IntExpr| {
            let vars = e.vars();
            let late = |s: &relax::SymDecl| matches!(s.kind, SymKind::Bound(_) | SymKind::Loop(_));
            vars.iter().all(|v| self.func.syms.iter().any(|s| s.sym == *v && !late(s)))
        };
        if new.range.is_none() {
            new.range = data.range.filter(|(lo, hi)| steady(lo) && steady(hi));
        }
    }

    fn push(&mut self, binding: Binding) {
        let kind = relax::binding_kind(&binding);
        let Some(blocks) = self.open.last_mut() else { return };
        if blocks.last().is_none_or(|block| block.kind != kind) {
            blocks.push(BindingBlock { kind, bindings: Vec::new() });
        }
        if let Some(block) = blocks.last_mut() {
            block.bindings.push(binding);
        }
    }

    fn finish(mut self) -> (relax::Function, bool) {
        self.func.blocks = self.open.pop().unwrap_or_default();
        let to = |v: ValueId| self.to[v.0 as usize];
        self.func.results.iter_mut().for_each(|v| *v = to(*v));
        for decl in &mut self.func.syms {
            if let SymKind::Bound(v) | SymKind::Loop(v) = &mut decl.kind {
                *v = to(*v);
            }
        }
        if self.changed {
            clean(&mut self.func);
            self.func = relax::renumbered(&self.func);
        }
        (self.func, self.changed)
    }

    /// What is known of a value.
    pub(crate) fn data(&self, v: ValueId) -> &ValueData {
        &self.func.values[v.0 as usize]
    }

    /// How a value is defined; `None` for parameters.
    pub(crate) fn def(&self, v: ValueId) -> Option<&Def> {
        self.defs[v.0 as usize].as_ref()
    }

    /// Gives a value that was emitted the name and the place of another.
    pub(crate) fn name_as(&mut self, v: ValueId, like: ValueId) {
        let data = self.data(like).clone();
        let new = &mut self.func.values[v.0 as usize];
        (new.name, new.loc) = (data.name, data.loc);
    }

    /// The type of a tensor value.
    pub(crate) fn tensor(&self, v: ValueId) -> Option<&TensorType> {
        match &self.data(v).ty {
            Type::Tensor(t) => Some(t),
            Type::Tuple(_) | Type::Shape(_) => None,
        }
    }

    /// The dtype of a tensor value.
    pub(crate) fn dtype(&self, v: ValueId) -> Option<DType> {
        self.tensor(v).map(|t| t.dtype)
    }

    /// The shape of a tensor value; of others none.
    pub(crate) fn shape(&self, v: ValueId) -> &[IntExpr] {
        self.tensor(v).map_or(&[], |t| &t.shape)
    }

    /// The extents of a value if all are constants.
    pub(crate) fn fixed(&self, v: ValueId) -> Option<Vec<i64>> {
        self.tensor(v)?.shape.iter().map(IntExpr::as_const).collect()
    }

    /// How often the function reads a value.
    pub(crate) fn uses(&self, v: ValueId) -> u32 {
        self.uses[v.0 as usize]
    }

    /// Whether two values have one dtype and provably one shape.
    pub(crate) fn same_type(&self, a: ValueId, b: ValueId) -> bool {
        let (Some(a), Some(b)) = (self.tensor(a), self.tensor(b)) else { return false };
        a.dtype == b.dtype && self.same_shape(&a.shape, &b.shape)
    }

    /// Whether two shapes are provably equal.
    pub(crate) fn same_shape(&self, a: &[IntExpr], b: &[IntExpr]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b || self.prover.prove_eq(a, b))
    }

    /// Emits a pure binding before the one at hand; `None` where the op's rule refuses it.
    pub(crate) fn emit(&mut self, op: Op, args: &[ValueId]) -> Option<ValueId> {
        if let Some(folded) = self.fold_scalar(&op, args) {
            return Some(self.scalar(folded));
        }
        let types: Vec<Type> = args.iter().map(|arg| self.data(*arg).ty.clone()).collect();
        let ty = relax::infer(&self.prover, &op, &types).ok()??;
        Some(self.emit_typed(op, args, ty))
    }

    /// Emits a pure binding of a known type.
    pub(crate) fn emit_typed(&mut self, op: Op, args: &[ValueId], ty: Type) -> ValueId {
        let name = relax::op_name(&op).to_string();
        let out = ValueId(self.func.values.len() as u32);
        self.func.values.push(ValueData { ty, name, loc: self.loc, range: None });
        self.defs.push(Some(Def { op: op.clone(), args: args.to_vec() }));
        self.uses.push(0);
        self.to.push(out);
        self.splats.push(None);
        args.iter().for_each(|arg| self.uses[arg.0 as usize] += 1);
        self.push(Binding::new(out, op, args.to_vec()));
        self.changed = true;
        out
    }

    /// An elementwise operator of scalar literals is a scalar literal.
    fn fold_scalar(&self, op: &Op, args: &[ValueId]) -> Option<Scalar> {
        let Op::Element(op) = op else { return None };
        let scalars = args.iter().map(|arg| match self.def(*arg)?.op {
            Op::Scalar(s) => Some(Bounded::exact(s)),
            _ => None,
        });
        Some(eval::element(*op, &scalars.collect::<Option<Vec<_>>>()?).value)
    }

    /// A scalar literal.
    pub(crate) fn scalar(&mut self, value: Scalar) -> ValueId {
        let ty = Type::Tensor(TensorType { dtype: value.dtype, shape: Vec::new() });
        self.emit_typed(Op::Scalar(value), &[], ty)
    }

    /// A tensor of one value, of that type.
    pub(crate) fn splat_of(&mut self, value: Scalar, shape: &[IntExpr]) -> ValueId {
        let scalar = self.scalar(value);
        if shape.is_empty() {
            return scalar;
        }
        let ty = Type::Tensor(TensorType { dtype: value.dtype, shape: shape.to_vec() });
        self.emit_typed(Op::Full { shape: shape.to_vec() }, &[scalar], ty)
    }

    /// A new constant, or the equal one that is there.
    pub(crate) fn constant(&mut self, name: &str, dtype: DType, shape: &[u64], bytes: Vec<u8>) -> ValueId {
        let hash = content::of_bytes(dtype, shape, &bytes);
        let module = &mut *self.module;
        let id = *self.constants.entry(hash.clone()).or_insert_with(|| {
            let bytes = tenfold_ir::ConstBytes::Inline(bytes.into());
            module.constants.push(ConstData { hash, name: name.to_string(), dtype, shape: shape.to_vec(), bytes });
            ConstId(module.constants.len() as u32 - 1)
        });
        let shape = shape.iter().map(|n| IntExpr::from(*n as i64)).collect();
        self.emit_typed(Op::Const(id), &[], Type::Tensor(TensorType { dtype, shape }))
    }

    /// A constant of the function as it was, read anew where the walk stands.
    pub(crate) fn again(&mut self, v: ValueId) -> Option<ValueId> {
        let id = *self.named.get(&v)?;
        let ty = self.data(v).ty.clone();
        Some(self.emit_typed(Op::Const(id), &[], ty))
    }

    /// The constant that a value is.
    pub(crate) fn constant_of(&self, v: ValueId) -> Option<&ConstData> {
        match self.def(v)?.op {
            Op::Const(id) => self.module.constants.get(id.0 as usize),
            _ => None,
        }
    }

    /// Whether a value is a constant of the module or a scalar literal, as it stands or spread over a shape.
    pub(crate) fn is_constant(&self, v: ValueId) -> bool {
        let Some(def) = self.def(v) else { return false };
        match &def.op {
            Op::Const(_) | Op::Scalar(_) => true,
            Op::Full { .. } | Op::BroadcastTo { .. } => self.is_constant(def.args[0]),
            _ => false,
        }
    }

    /// The one value of all elements, if a value is a scalar literal, one spread over a shape, or a small constant.
    pub(crate) fn splat(&mut self, v: ValueId) -> Option<Scalar> {
        if let Some(known) = self.splats[v.0 as usize] {
            return known;
        }
        let found = self.find_splat(v);
        if self.defs[v.0 as usize].is_some() {
            self.splats[v.0 as usize] = Some(found);
        }
        found
    }

    fn find_splat(&mut self, v: ValueId) -> Option<Scalar> {
        let def = self.def(v)?.clone();
        match def.op {
            Op::Scalar(s) => Some(s),
            Op::Full { .. } | Op::BroadcastTo { .. } | Op::Reshape { .. } => self.splat(def.args[0]),
            Op::Const(_) => small_splat(self.constant_of(v)?),
            _ => None,
        }
    }
}

fn constant_id(binding: &Binding) -> Option<ConstId> {
    match binding.op {
        Op::Const(id) => Some(id),
        _ => None,
    }
}

/// Elements up to which a constant is searched for being one value all over.
const SMALL: usize = 4096;

fn small_splat(data: &ConstData) -> Option<Scalar> {
    let tenfold_ir::ConstBytes::Inline(bytes) = &data.bytes else { return None };
    let size = data.dtype.size_bytes();
    let first = bytes.get(..size)?;
    let same = bytes.len() <= SMALL * size && bytes.chunks(size).all(|each| each == first);
    same.then(|| Scalar::from_le_bytes(data.dtype, first))
}

/// How often each value is read, results and symbols included.
pub(crate) fn uses(func: &relax::Function) -> Vec<u32> {
    let mut uses = vec![0; func.values.len()];
    let mut queue: Vec<&BindingBlock> = func.blocks.iter().collect();
    while let Some(block) = queue.pop() {
        for binding in &block.bindings {
            binding.args.iter().for_each(|arg| uses[arg.0 as usize] += 1);
            for region in &binding.regions {
                region.results.iter().for_each(|v| uses[v.0 as usize] += 1);
                queue.extend(&region.blocks);
            }
        }
    }
    func.results.iter().for_each(|v| uses[v.0 as usize] += 1);
    for decl in &func.syms {
        if let SymKind::Bound(v) = decl.kind {
            uses[v.0 as usize] += 1;
        }
    }
    uses
}
