//! One kernel in the making: a prim-func that computes one relax value from the values it reads.
//!
//! An operand is a buffer parameter, or a literal written out where it is read.

use std::collections::BTreeSet;

use tenfold_ir::DType;
use tenfold_ir::arith::{Fact, IntExpr, Sym};
use tenfold_ir::op::{CmpOp, ElementOp};
use tenfold_ir::relax::{self, Binding, Op, PadMode, SliceAxis, TensorType, Type, ValueId};
use tenfold_ir::tir::{self, Access, BufId, BufUse, Builder, ExprId, IterKind, Stmt, VarId};

use super::Literals;

/// A kernel being built.
pub(crate) struct Kernel<'a> {
    func: &'a relax::Function,
    literals: &'a Literals<'a>,
    /// The prim-func's builder.
    pub b: Builder,
    inputs: Vec<(ValueId, BufId)>,
    updated: Option<ValueId>,
}

/// A value for each point of the spatial variables.
pub(crate) type PerRow<'f> = dyn Fn(&mut Kernel<'_>, &[ExprId]) -> ExprId + 'f;
/// A value for each point of the spatial and the reduced variables.
pub(crate) type PerPoint<'f> = dyn Fn(&mut Kernel<'_>, &[ExprId], &[ExprId]) -> ExprId + 'f;
/// The index of a target for each point of the spatial variables.
pub(crate) type Place<'f> = dyn Fn(&mut Kernel<'_>, &[ExprId]) -> Vec<ExprId> + 'f;

/// A reduction block.
pub(crate) struct Accumulate<'f> {
    /// Its name.
    pub name: &'f str,
    /// Where it accumulates.
    pub target: BufId,
    /// At which element.
    pub at: &'f Place<'f>,
    /// How.
    pub op: tenfold_ir::op::BinaryOp,
    /// Variables of the target.
    pub spatial: &'f [(VarId, ExprId)],
    /// Variables that are summed over.
    pub reduced: &'f [(VarId, ExprId)],
}

/// A finished kernel and the call of it.
pub(crate) struct Finished {
    /// The prim-func.
    pub prim: tir::PrimFunc,
    /// Its operands in order.
    pub args: Vec<ValueId>,
    /// Its index arguments in order.
    pub syms: Vec<Sym>,
    /// The operand that result 0 updates in place, as an index into `args`.
    pub in_place: Option<usize>,
}

/// The tensor type of a value; a tuple here is a bug that the relax verifier has reported before.
pub(crate) fn tensor_of(func: &relax::Function, v: ValueId) -> TensorType {
    match &func.values[v.0 as usize].ty {
        Type::Tensor(t) => t.clone(),
        Type::Tuple(_) | Type::Shape(_) => TensorType { dtype: DType::Bool, shape: Vec::new() },
    }
}

impl<'a> Kernel<'a> {
    /// Starts a kernel called `name`; its index parameters are the symbols that `binding` needs.
    /// `here` is known where it stands.
    pub(crate) fn new(
        func: &'a relax::Function,
        literals: &'a Literals<'a>,
        name: &str,
        binding: &Binding,
        here: &[Fact],
    ) -> Self {
        let mut kernel = Kernel { func, literals, b: Builder::new(name), inputs: Vec::new(), updated: None };
        let mut syms = BTreeSet::new();
        kernel.collect_syms(binding, &mut syms);
        syms.extend(tensor_of(func, binding.out).shape.iter().flat_map(|d| d.vars()));
        let facts = relax::known_facts(func, &mut syms, here);
        for sym in &syms {
            kernel.b.dim_param(sym);
        }
        kernel.b.func_mut().facts = facts;
        kernel.b.func_mut().loc = func.values[binding.out.0 as usize].loc;
        kernel
    }

    fn collect_syms(&self, binding: &Binding, syms: &mut BTreeSet<Sym>) {
        syms.extend(binding.op.exprs().iter().flat_map(|e| e.vars()));
        for arg in &binding.args {
            syms.extend(strides(self.func, *arg).iter().flatten().flat_map(|d| d.vars()));
            syms.extend(self.tensor(*arg).shape.iter().flat_map(|d| d.vars()));
            let range = self.func.values[arg.0 as usize].range.iter();
            syms.extend(range.flat_map(|(lo, hi)| [lo, hi]).flat_map(|e| e.vars()));
            if let Some(def) = self.literals.get(arg) {
                syms.extend(def.op.exprs().iter().flat_map(|e| e.vars()));
            }
        }
    }

    /// The type of a value.
    pub(crate) fn tensor(&self, v: ValueId) -> TensorType {
        tensor_of(self.func, v)
    }

    /// The output buffer.
    pub(crate) fn output(&mut self, ty: &TensorType) -> BufId {
        self.b.buffer_param("out", ty.dtype, ty.shape.clone(), BufUse::Out)
    }

    /// The buffer that holds `v` and is updated in place: operand and output at once.
    pub(crate) fn updated(&mut self, v: ValueId) -> BufId {
        let ty = self.tensor(v);
        self.updated = Some(v);
        let buf = self.b.buffer("out", ty.dtype, ty.shape, tir::Scope::Param);
        self.inputs.push((v, buf));
        buf
    }

    /// Index variables for a shape.
    pub(crate) fn vars(&mut self, base: &str, shape: &[IntExpr]) -> Vec<(VarId, ExprId)> {
        (0..shape.len())
            .map(|axis| {
                let extent = self.b.int_expr(&shape[axis]);
                (self.b.index_var(&format!("{base}{axis}")), extent)
            })
            .collect()
    }

    /// The values of variables.
    pub(crate) fn read_all(&mut self, vars: &[(VarId, ExprId)]) -> Vec<ExprId> {
        vars.iter().map(|(v, _)| self.b.read(*v)).collect()
    }

    /// A block over all of `vars`, each spatial; `f` pushes the body.
    pub(crate) fn spatial(&mut self, name: &str, vars: &[(VarId, ExprId)], f: impl FnOnce(&mut Self)) {
        let body = self.capture(f);
        let iters: Vec<_> = vars.iter().map(|(v, e)| (*v, *e, IterKind::Spatial)).collect();
        self.b.nest(name, &iters, None, body);
    }

    /// What `f` pushes, as a statement.
    pub(crate) fn capture(&mut self, f: impl FnOnce(&mut Self)) -> Stmt {
        // The builder's scope takes a closure over the builder alone, so it is moved out and back.
        let placeholder = Builder::new("");
        let mut b = std::mem::replace(&mut self.b, placeholder);
        let (stmt, ()) = b.scope(|inner| {
            std::mem::swap(inner, &mut self.b);
            f(self);
            std::mem::swap(inner, &mut self.b);
        });
        self.b = b;
        stmt
    }

    /// A buffer between two stages of the kernel.
    pub(crate) fn between(&mut self, base: &str, dtype: DType, shape: &[IntExpr]) -> BufId {
        self.b.alloc(base, dtype, shape.to_vec(), tir::Scope::Global)
    }

    /// New variables of the same names and extents.
    pub(crate) fn again(&mut self, vars: &[(VarId, ExprId)]) -> Vec<(VarId, ExprId)> {
        let name = |k: &Self, v: VarId| k.b.sym(v).to_string();
        vars.iter().map(|(v, e)| (self.b.index_var(&name(self, *v)), *e)).collect()
    }

    /// `target[at(spatial)] = target[at(spatial)] op update(spatial, reduced)` over all of both, from `init(spatial)`.
    ///
    /// The start is the block's own where the reduction is over something, else a stage before it.
    pub(crate) fn accumulate(&mut self, sum: &Accumulate<'_>, init: &PerRow<'_>, update: &PerPoint<'_>) {
        let some = |e: &ExprId| matches!(self.b.func().exprs.get(*e), tir::Expr::Index(n) if *n > 0);
        let inside = sum.reduced.iter().all(|(_, e)| some(e));
        let start = if inside {
            Some(self.capture(|k| k.start(sum, sum.spatial, init)))
        } else {
            let first = self.again(sum.spatial);
            self.spatial(&format!("{}_init", sum.name), &first, |k| k.start(sum, &first, init));
            None
        };
        let body = self.capture(|k| {
            let (i, r) = (k.read_all(sum.spatial), k.read_all(sum.reduced));
            let value = update(k, &i, &r);
            let at = (sum.at)(k, &i);
            let old = k.b.load(sum.target, at.clone(), Access::Proven);
            let new = k.b.binary(sum.op, old, value);
            k.b.store(sum.target, at, new);
        });
        let iters = sum.spatial.iter().map(|(v, e)| (*v, *e, IterKind::Spatial));
        let iters: Vec<_> = iters.chain(sum.reduced.iter().map(|(v, e)| (*v, *e, IterKind::Reduce))).collect();
        self.b.nest(sum.name, &iters, start, body);
    }

    fn start(&mut self, sum: &Accumulate<'_>, spatial: &[(VarId, ExprId)], init: &PerRow<'_>) {
        let i = self.read_all(spatial);
        let value = init(self, &i);
        let at = (sum.at)(self, &i);
        self.b.store(sum.target, at, value);
    }

    /// Nested serial loops over `vars`; `f` pushes the innermost body.
    pub(crate) fn loops(&mut self, vars: &[(VarId, ExprId)], f: impl FnOnce(&mut Self)) {
        self.nested(tir::LoopKind::Serial, vars, f);
    }

    /// Nested loops over `vars` that accumulate in any order; `f` pushes the innermost body.
    pub(crate) fn reduction(&mut self, vars: &[(VarId, ExprId)], f: impl FnOnce(&mut Self)) {
        self.nested(tir::LoopKind::Reduction, vars, f);
    }

    fn nested(&mut self, kind: tir::LoopKind, vars: &[(VarId, ExprId)], f: impl FnOnce(&mut Self)) {
        let mut body = self.capture(f);
        let min = self.b.index(0);
        for (var, extent) in vars.iter().rev() {
            body = Stmt::loop_(*var, min, *extent, kind, body);
        }
        self.b.push(body);
    }

    /// The element of `v` at `index`: a load, or the literal that `v` is.
    pub(crate) fn element(&mut self, v: ValueId, index: &[ExprId]) -> ExprId {
        match self.literals.get(&v).copied() {
            Some(def) => self.expression(def, index),
            None => {
                let buf = self.input(v);
                self.b.load(buf, index.to_vec(), Access::Proven)
            }
        }
    }

    /// The buffer parameter of `v`.
    pub(crate) fn input(&mut self, v: ValueId) -> BufId {
        if let Some((_, buf)) = self.inputs.iter().find(|(w, _)| *w == v) {
            return *buf;
        }
        let data = &self.func.values[v.0 as usize];
        let ty = self.tensor(v);
        let base = if data.name.is_empty() { "x" } else { &data.name };
        let buf = self.b.buffer(base, ty.dtype, ty.shape, tir::Scope::Param);
        self.b.buf_mut(buf).range = data.range.clone();
        self.b.buf_mut(buf).strides = strides(self.func, v);
        self.inputs.push((v, buf));
        buf
    }

    /// The element at `index` of what a pure elementwise or data-movement binding computes.
    pub(crate) fn expression(&mut self, def: &Binding, index: &[ExprId]) -> ExprId {
        match &def.op {
            Op::Scalar(value) => self.b.scalar(*value),
            Op::IndexValue { expr, dtype } => {
                let value = self.b.int_expr(expr);
                self.b.cast(*dtype, value)
            }
            Op::Element(op) => self.element_op(*op, def, index),
            Op::Full { .. } => self.element(def.args[0], &[]),
            Op::BroadcastTo { .. } => self.broadcast_element(def.args[0], index),
            Op::Transpose { perm } => {
                let mut source = index.to_vec();
                for (axis, from) in perm.iter().enumerate() {
                    source[*from] = index[axis];
                }
                self.element(def.args[0], &source)
            }
            Op::Slice { axes, drop } => {
                let source = self.slice_index(axes, drop, index);
                self.element(def.args[0], &source)
            }
            Op::Arange { start, step, dtype, .. } => {
                let (start, step) = (self.b.int_expr(start), self.b.int_expr(step));
                let scaled = self.b.mul(index[0], step);
                let value = self.b.add(start, scaled);
                self.b.cast(*dtype, value)
            }
            Op::Pad { mode, before, .. } => self.pad_element(def, *mode, before, index),
            Op::Const(_)
            | Op::Reduce { .. }
            | Op::ArgReduce { .. }
            | Op::MatMul
            | Op::Softmax { .. }
            | Op::LayerNorm { .. }
            | Op::BatchNorm { .. }
            | Op::Reshape { .. }
            | Op::Concat { .. }
            | Op::SliceUpdate { .. }
            | Op::Conv { .. }
            | Op::Pool { .. }
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
            | Op::Assert { .. }
            | Op::Tuple
            | Op::TupleGet(_)
            | Op::BindIndex(_)
            | Op::MatchShape { .. }
            | Op::Later { .. }
            | Op::StoreState { .. } => {
                // The kernels ask for elementwise and movement operators only.
                let buf = self.input(def.out);
                self.b.load(buf, index.to_vec(), Access::Proven)
            }
        }
    }

    fn element_op(&mut self, op: ElementOp, def: &Binding, index: &[ExprId]) -> ExprId {
        let args: Vec<ExprId> = def.args.iter().map(|a| self.broadcast_element(*a, index)).collect();
        self.b.element(op, &args)
    }

    /// The element of `v` that broadcasting puts at `index`: trailing axes, 0 where the extent is 1.
    pub(crate) fn broadcast_element(&mut self, v: ValueId, index: &[ExprId]) -> ExprId {
        let shape = self.tensor(v).shape;
        let skip = index.len() - shape.len().min(index.len());
        let zero = self.b.index(0);
        let source: Vec<ExprId> = shape
            .iter()
            .zip(&index[skip..])
            .map(|(dim, i)| if dim.as_const() == Some(1) { zero } else { *i })
            .collect();
        self.element(v, &source)
    }

    /// The operand's index for an index of the slice.
    pub(crate) fn slice_index(&mut self, axes: &[SliceAxis], drop: &[usize], index: &[ExprId]) -> Vec<ExprId> {
        let mut next = index.iter();
        let mut source = Vec::with_capacity(axes.len());
        for (axis, slice) in axes.iter().enumerate() {
            let begin = self.b.int_expr(&slice.begin);
            let kept = if drop.contains(&axis) { None } else { next.next() };
            source.push(match kept {
                None => begin,
                Some(i) => {
                    let step = self.b.index(slice.step);
                    let offset = if slice.step == 1 { *i } else { self.b.mul(*i, step) };
                    if slice.begin.as_const() == Some(0) { offset } else { self.b.add(begin, offset) }
                }
            });
        }
        source
    }

    fn pad_element(&mut self, def: &Binding, mode: PadMode, before: &[IntExpr], index: &[ExprId]) -> ExprId {
        let shape = self.tensor(def.args[0]).shape;
        let mut source = Vec::new();
        let mut inside = None;
        for (axis, i) in index.iter().enumerate() {
            if before[axis].as_const() == Some(0) && self.tensor(def.out).shape[axis] == shape[axis] {
                source.push(*i);
                continue;
            }
            let (shift, extent) = (self.b.int_expr(&before[axis]), self.b.int_expr(&shape[axis]));
            let at = self.b.sub(*i, shift);
            match mode {
                PadMode::Constant => {
                    let ok = self.within(at, extent);
                    inside = Some(match inside {
                        None => ok,
                        Some(all) => self.b.and(all, ok),
                    });
                    source.push(at);
                }
                PadMode::Edge => source.push(self.clamped(at, extent)),
                PadMode::Reflect => source.push(self.reflected(at, extent)),
                PadMode::Wrap => source.push(self.b.binary(tenfold_ir::op::BinaryOp::RemEuclid, at, extent)),
            }
        }
        let value = self.element(def.args[0], &source);
        match inside {
            None => value,
            Some(ok) => {
                let fill = self.element(def.args[1], &[]);
                self.b.if_(ok, value, fill)
            }
        }
    }

    /// `0 <= i && i < extent`.
    pub(crate) fn within(&mut self, i: ExprId, extent: ExprId) -> ExprId {
        let zero = self.b.index(0);
        let low = self.b.compare(CmpOp::Ge, i, zero);
        let high = self.b.compare(CmpOp::Lt, i, extent);
        self.b.and(low, high)
    }

    fn clamped(&mut self, i: ExprId, extent: ExprId) -> ExprId {
        use tenfold_ir::op::BinaryOp::{Max, Min};
        let (zero, one) = (self.b.index(0), self.b.index(1));
        let last = self.b.sub(extent, one);
        let low = self.b.binary(Min, i, last);
        self.b.binary(Max, low, zero)
    }

    /// Mirrored at both ends without repeating the edge, any number of times.
    fn reflected(&mut self, i: ExprId, extent: ExprId) -> ExprId {
        use tenfold_ir::op::BinaryOp::{Max, Min, RemEuclid};
        let (one, two) = (self.b.index(1), self.b.index(2));
        let last = self.b.sub(extent, one);
        let double = self.b.mul(two, last);
        let period = self.b.binary(Max, double, one);
        let m = self.b.binary(RemEuclid, i, period);
        let back = self.b.sub(period, m);
        let near = self.b.binary(Min, m, back);
        self.clamped(near, extent)
    }

    /// Ends the kernel.
    pub(crate) fn finish(mut self, output: BufId) -> Finished {
        let syms: Vec<Sym> = index_params(self.b.func());
        let usage = |buf: BufId| if buf == output { BufUse::InOut } else { BufUse::In };
        // Parameters: index values, then operands, then the result unless it is an operand.
        let func = self.b.func_mut();
        func.params.retain(|p| matches!(p, tir::Param::Value(_)));
        func.params.extend(self.inputs.iter().map(|(_, buf)| tir::Param::Buffer(*buf, usage(*buf))));
        if self.updated.is_none() {
            func.params.push(tir::Param::Buffer(output, BufUse::Out));
        }
        let args: Vec<ValueId> = self.inputs.iter().map(|(v, _)| *v).collect();
        let in_place = self.updated.and_then(|u| args.iter().position(|a| *a == u));
        let mut prim = self.b.finish();
        prim.state_dims(&relax::dims(self.func));
        Finished { prim, args, syms, in_place }
    }
}

fn index_params(func: &tir::PrimFunc) -> Vec<Sym> {
    let mut syms = Vec::new();
    for param in &func.params {
        if let tir::Param::Value(var) = param {
            syms.push(func.vars[var.0 as usize].sym.clone());
        }
    }
    syms
}

/// The strides of a `Strided` parameter, once `Materialise` has declared their symbols.
fn strides(func: &relax::Function, v: ValueId) -> Option<Vec<IntExpr>> {
    let index = func.params.iter().position(|p| p.value == v)?;
    if func.params[index].kind != relax::ParamKind::Strided {
        return None;
    }
    let of = |decl: &&relax::SymDecl| matches!(decl.kind, relax::SymKind::Stride { param, .. } if param == index);
    Some(func.syms.iter().filter(of).map(|decl| IntExpr::var(decl.sym.clone())).collect())
}
