//! `LowerEntry`: the planned graph becomes the function that the user's program calls.
//!
//! Its parameters, in the CPU convention: the user's parameters in order (a tensor is a pointer, then one stride per
//! axis if it is `Strided`; a scalar and an index value are passed by value), a pointer per result, one index per
//! named dim in the order of the signature, the workspace. Its body calls the kernels. Branches and loops of the
//! graph are branches and loops of it; what they hand on is copied where the plan has not made it there.

mod checks;
mod outside;
mod regions;

use std::collections::BTreeMap;

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::relax::{self, Binding, BindingBlock, Op, ParamKind, Place, SymKind, TensorType, Type, ValueId};
use tenfold_ir::tir::{self, BufId, BufUse, Builder, CallArg, Param, Scope, Stmt};
use tenfold_ir::{Function, Module};

use super::tensor_of;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};
use tenfold_ir::relax::call_facts;

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("LowerEntry", &lower_entry)
    .in_phase(PassPhase::Memory)
    .lowering()
    .about("makes the exported prim-func: parameters in the CPU convention, calls of the kernels");

/// Replaces the entry by a prim-func of the same name.
pub fn lower_entry(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    let name = module.entry.clone();
    let Some(func) = module.relax(&name).cloned() else { return Ok(()) };
    let mut entry = Entry::new(&func, module);
    entry.params();
    entry.blocks(&func.blocks)?;
    let declared = entry.declarations();
    let (prim, copies) = entry.finish();
    module.functions.extend(declared);
    module.functions.insert(name, Function::Prim(prim));
    for copy in copies {
        module.functions.insert(copy.name.clone(), Function::Prim(copy));
    }
    Ok(())
}

struct Entry<'a> {
    func: &'a relax::Function,
    module: &'a Module,
    b: Builder,
    /// Buffers of places that several values share, by the place's text.
    buffers: BTreeMap<String, BufId>,
    /// Kernels that copy, by what they copy.
    copies: BTreeMap<String, tir::PrimFunc>,
    /// Functions outside the module, by name.
    outside: BTreeMap<String, tir::PrimFunc>,
}

impl<'a> Entry<'a> {
    fn new(func: &'a relax::Function, module: &'a Module) -> Self {
        let mut b = Builder::new(&func.name);
        b.func_mut().exported = true;
        b.func_mut().phase = tir::Phase::Scheduled;
        b.func_mut().facts = call_facts(func);
        // A scalar or a buffer may have the name of a symbol that the graph binds: kernels are called with the symbol's.
        func.syms.iter().for_each(|decl| b.reserve(&decl.sym));
        Entry { func, module, b, buffers: BTreeMap::new(), copies: BTreeMap::new(), outside: BTreeMap::new() }
    }

    /// Declares the parameters in the order of the convention.
    fn params(&mut self) {
        let func = self.func;
        let index_params = func.syms.iter().filter_map(|s| match s.kind {
            SymKind::IndexParam { param, .. } => Some((param, None, Some(&s.sym))),
            SymKind::Dim { .. } | SymKind::Stride { .. } | SymKind::Bound(_) | SymKind::Loop(_) => None,
        });
        let tensors = func.params.iter().enumerate().map(|(i, p)| (p.position, Some(i), None));
        let mut all: Vec<_> = index_params.chain(tensors).collect();
        all.sort_by_key(|(position, ..)| *position);
        let mut scalars = Vec::new();
        // Dims are declared first, as buffers' shapes use them, and moved behind the results afterwards.
        let dims: Vec<Param> = self.dims();
        self.b.func_mut().params.clear();
        for (_, param, sym) in all {
            match (param, sym) {
                (Some(index), _) => self.param(index, &mut scalars),
                (None, Some(sym)) => {
                    self.b.dim_param(sym);
                }
                (None, None) => {}
            }
        }
        for (index, result) in func.results.iter().enumerate() {
            let ty = tensor_of(func, *result);
            let buf = self.b.buffer_param(&format!("result{index}"), ty.dtype, ty.shape, BufUse::Out);
            self.buffers.insert(format!("result {index}"), buf);
        }
        self.b.func_mut().params.extend(dims);
        let pools = self.func.plan.as_ref().map_or(Vec::new(), |plan| plan.pools.clone());
        self.b.func_mut().params.extend((0..pools.len().max(1)).map(|_| Param::Workspace));
        self.b.func_mut().pools = pools;
        for (index, var) in scalars {
            let value = self.b.read(var);
            let buf = self.b.local("scalar", value);
            self.buffers.insert(format!("param {index}"), buf);
        }
    }

    fn dims(&mut self) -> Vec<Param> {
        for decl in &self.func.syms {
            if matches!(decl.kind, SymKind::Dim { .. }) {
                self.b.dim_param(&decl.sym);
            }
        }
        self.b.func().params.clone()
    }

    fn param(&mut self, index: usize, scalars: &mut Vec<(usize, tir::VarId)>) {
        let param = &self.func.params[index];
        let ty = tensor_of(self.func, param.value);
        let name = self.func.values[param.value.0 as usize].name.clone();
        let usage = match param.kind {
            ParamKind::Input | ParamKind::Strided => BufUse::In,
            ParamKind::State => BufUse::InOut,
            ParamKind::Scalar => {
                let var = self.b.scalar_param(&name, ty.dtype);
                scalars.push((index, var));
                return;
            }
        };
        let buf = self.b.buffer_param(&name, ty.dtype, ty.shape, usage);
        self.buffers.insert(format!("param {index}"), buf);
        let strides: Vec<IntExpr> = self.strides(index).into_iter().map(IntExpr::var).collect();
        if param.kind == ParamKind::Strided {
            for stride in &strides {
                self.b.int_expr(stride);
            }
            self.b.buf_mut(buf).strides = Some(strides);
        }
    }

    fn strides(&self, index: usize) -> Vec<tenfold_ir::arith::Sym> {
        let of = |s: &&relax::SymDecl| matches!(s.kind, SymKind::Stride { param, .. } if param == index);
        self.func.syms.iter().filter(of).map(|s| s.sym.clone()).collect()
    }

    /// The buffer at a place that holds a value of that type.
    fn buffer(&mut self, place: &Place, ty: &TensorType) -> BufId {
        let (key, scope, offset) = match place {
            Place::Param(index) => (format!("param {index}"), Scope::Param, None),
            Place::Result(index) => (format!("result {index}"), Scope::Param, None),
            Place::Workspace { offset, .. } => {
                (format!("workspace {offset} {:?}", ty), Scope::Workspace, Some(offset.clone()))
            }
            Place::Const(id) => (format!("const {}", id.0), Scope::Const(*id), None),
            // A component that nobody reads is still written: it goes where nothing lives.
            Place::None => (format!("none {ty:?}"), Scope::Workspace, Some(IntExpr::from(0))),
        };
        if let Some(buf) = self.buffers.get(&key) {
            return *buf;
        }
        let (base, ty) = match place {
            Place::Const(id) => {
                let data = self.module.constant(*id);
                let shape = data.shape.iter().map(|d| IntExpr::from(*d as i64)).collect();
                (data.name.clone(), TensorType { dtype: data.dtype, shape })
            }
            Place::Param(_) | Place::Result(_) | Place::Workspace { .. } | Place::None => {
                ("ws".to_string(), ty.clone())
            }
        };
        let buf = self.b.buffer(&base, ty.dtype, ty.shape, scope);
        self.b.buf_mut(buf).offset = offset;
        self.buffers.insert(key, buf);
        buf
    }

    fn value(&mut self, v: ValueId) -> BufId {
        let place = self.place(v);
        let ty = tensor_of(self.func, v);
        self.buffer(&place, &ty)
    }

    /// The element of a scalar, whose place may belong to a tensor of one element.
    fn only_element(&mut self, buf: BufId) -> tir::ExprId {
        let index = self.b.func().buffers[buf.0 as usize].shape.iter().map(|_| 0).collect::<Vec<i64>>();
        let index = index.into_iter().map(|n| self.b.index(n)).collect();
        self.b.load(buf, index, tir::Access::Proven)
    }

    fn place(&self, v: ValueId) -> Place {
        let plan = self.func.plan.as_ref();
        plan.and_then(|p| p.places.get(v.0 as usize).cloned().flatten()).unwrap_or(Place::None)
    }

    fn blocks(&mut self, blocks: &[BindingBlock]) -> Result<(), CompileError> {
        blocks.iter().flat_map(|block| &block.bindings).try_for_each(|binding| self.binding(binding))
    }

    fn binding(&mut self, binding: &Binding) -> Result<(), CompileError> {
        let loc = self.func.values[binding.out.0 as usize].loc;
        match &binding.op {
            Op::CallTir { func, syms, results, in_place } => {
                let call = self.call(binding, func, syms, results, in_place);
                self.b.push(Stmt::At(loc, Box::new(call)));
            }
            Op::StoreState { param } => self.store(*param, binding.args[0]),
            Op::If => self.branches(binding)?,
            Op::For { var, begin, extent, step } => self.counted(binding, var, begin, extent, *step)?,
            Op::While => self.repeated(binding)?,
            Op::Assert { fact, text } => {
                let cond = self.fact(fact);
                self.b.push(Stmt::At(loc, Box::new(Stmt::Assert { cond, text: text.clone() })));
            }
            Op::BindIndex(sym) => {
                let buf = self.value(binding.args[0]);
                let loaded = self.only_element(buf);
                let value = self.b.to_index(loaded);
                let var = self.b.sym_var(sym);
                self.b.bind(var, value);
            }
            Op::Const(_) | Op::Reshape { .. } | Op::TupleGet(_) => {}
            Op::CallDps { .. } | Op::CallPacked { .. } => self.outside(binding, loc)?,
            op => {
                let name = relax::op_name(op);
                return Err(CompileError::internal(loc, format!("`{name}` was not legalised")));
            }
        }
        Ok(())
    }

    fn call(
        &mut self,
        binding: &Binding,
        func: &str,
        syms: &[IntExpr],
        results: &[TensorType],
        in_place: &[Option<usize>],
    ) -> Stmt {
        let mut values = syms.iter().map(|s| CallArg::Value(self.b.int_expr(s))).collect::<Vec<_>>().into_iter();
        let mut operands = binding.args.iter().map(|a| self.value(*a)).collect::<Vec<_>>().into_iter();
        let mut outputs = Vec::new();
        for (index, ty) in results.iter().enumerate() {
            if in_place.get(index).is_some_and(|p| p.is_some()) {
                continue;
            }
            let place = self.component(binding.out, index, results.len());
            outputs.push(self.buffer(&place, ty));
        }
        let mut outputs = outputs.into_iter();
        let params = self.module.prim(func).map(|f| f.params.clone()).unwrap_or_default();
        let mut args = Vec::new();
        for param in params {
            let arg = match param {
                Param::Value(_) => values.next(),
                Param::Buffer(_, BufUse::Out) => outputs.next().map(CallArg::Buffer),
                Param::Buffer(_, BufUse::In) => operands.next().map(CallArg::Buffer),
                // What is updated is an operand; memory that a kernel needs for itself comes last and is a result.
                Param::Buffer(_, BufUse::InOut) => operands.next().or_else(|| outputs.next()).map(CallArg::Buffer),
                Param::Workspace => None,
            };
            args.extend(arg);
        }
        Stmt::Call { func: func.to_string(), args, launch: None }
    }

    fn component(&self, out: ValueId, index: usize, count: usize) -> Place {
        if count == 1 && matches!(self.func.values[out.0 as usize].ty, Type::Tensor(_)) {
            return self.place(out);
        }
        let tuples = self.func.plan.as_ref().map(|p| &p.tuples);
        tuples.and_then(|t| t.get(&out)).and_then(|t| t.get(index)).cloned().unwrap_or_else(|| self.place(out))
    }

    /// A state takes a value that was not made in its buffer.
    fn store(&mut self, param: usize, value: ValueId) {
        let ty = tensor_of(self.func, self.func.params[param].value);
        self.assign(value, &Place::Param(param), &ty, &format!("store{param}"));
    }

    /// Copies a value to a place, unless it lives there.
    fn assign(&mut self, value: ValueId, target: &Place, ty: &TensorType, name: &str) {
        if *target == Place::None || self.place(value) == *target {
            return;
        }
        let (from, to) = (self.value(value), self.buffer(target, ty));
        let key = format!("{name} {ty:?}");
        if !self.copies.contains_key(&key) {
            let taken =
                self.copies.values().filter(|copy| copy.name.starts_with(&format!("{}.{name}", self.func.name)));
            let suffix = match taken.count() {
                0 => String::new(),
                n => format!(".{n}"),
            };
            let copy = copy_kernel(self.func, &format!("{}.{name}{suffix}", self.func.name), ty);
            self.copies.insert(key.clone(), copy);
        }
        let copy = &self.copies[&key];
        let func = copy.name.clone();
        let syms: Vec<_> = copy.params.iter().filter_map(|p| value_sym(copy, p)).collect();
        let mut args: Vec<CallArg> =
            syms.into_iter().map(|sym| CallArg::Value(self.b.int_expr(&IntExpr::var(sym)))).collect();
        args.extend([CallArg::Buffer(from), CallArg::Buffer(to)]);
        self.b.push(Stmt::Call { func, args, launch: None });
    }

    fn finish(self) -> (tir::PrimFunc, Vec<tir::PrimFunc>) {
        (self.b.finish(), self.copies.into_values().collect())
    }
}

/// The symbol of an index parameter.
fn value_sym(func: &tir::PrimFunc, param: &Param) -> Option<Sym> {
    match param {
        Param::Value(var) => Some(func.vars[var.0 as usize].sym.clone()),
        Param::Buffer(..) | Param::Workspace => None,
    }
}

/// `out[i] = x[i]`.
fn copy_kernel(func: &relax::Function, name: &str, ty: &TensorType) -> tir::PrimFunc {
    let mut b = Builder::new(name);
    let mut syms = ty.shape.iter().flat_map(|d| d.vars()).collect();
    b.func_mut().facts = relax::known_facts(func, &mut syms, &[]);
    for sym in &syms {
        b.dim_param(sym);
    }
    let x = b.buffer_param("x", ty.dtype, ty.shape.clone(), BufUse::In);
    let out = b.buffer_param("out", ty.dtype, ty.shape.clone(), BufUse::Out);
    let mut iters = Vec::new();
    for (axis, dim) in ty.shape.iter().enumerate() {
        let extent = b.int_expr(dim);
        iters.push((b.index_var(&format!("i{axis}")), extent, tir::IterKind::Spatial));
    }
    let index: Vec<_> = iters.iter().map(|(v, ..)| b.read(*v)).collect();
    let value = b.load(x, index.clone(), tir::Access::Proven);
    let body = Stmt::Store { buf: out, index, value, access: tir::Access::Proven };
    b.nest("store", &iters, None, body);
    b.finish()
}
