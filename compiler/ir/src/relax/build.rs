//! Building a function: each emission checks the op's rule and gives its result a type.
//!
//! The builder knows nothing of source syntax or of the module's constants; places come as [`Loc`]s.

use crate::arith::{IntExpr, Prover};
use crate::op::{BinaryOp, ElementOp};
use crate::ops::{At, Literal, OpError, OpErrorKind};
use crate::relax::kernels::Kernels;
use crate::relax::{
    Binding, BindingBlock, BlockKind, FactDecl, Function, Op, Param, ParamKind, Phase, Region, SymDecl, SymKind,
    TensorType, Type, ValueData, ValueId, bindings_of, dim, infer, op_name,
};
use crate::tir::PrimFunc;
use crate::{ConstId, DType, Loc, Scalar};

/// Makes a [`Function`] binding by binding. Blocks open by themselves.
#[derive(Debug)]
pub struct Builder {
    /// What is known of the symbols: facts and ranges. The front end may add to it.
    pub prover: Prover,
    func: Function,
    loc: Loc,
    /// Bodies around the one being filled, the function's first.
    outer: Vec<Vec<BindingBlock>>,
    /// Prim-funcs that operators made, in the order in which they came.
    kernels: Kernels,
}

/// The result of an op that returns nothing.
fn unit() -> Type {
    Type::Tuple(Vec::new())
}

impl Builder {
    /// A function without parameters and without a body.
    pub fn new(name: &str) -> Self {
        Builder {
            prover: Prover::default(),
            func: Function {
                name: name.to_string(),
                syms: Vec::new(),
                facts: Vec::new(),
                params: Vec::new(),
                values: Vec::new(),
                blocks: Vec::new(),
                results: Vec::new(),
                primitive: false,
                phase: Phase::Imported,
                skip_optimization: false,
                pools: Vec::new(),
                plan: None,
            },
            loc: Loc::default(),
            outer: Vec::new(),
            kernels: Kernels::default(),
        }
    }

    /// What has been built so far.
    pub fn function(&self) -> &Function {
        &self.func
    }

    /// Adds a symbol; a dim or `usize` parameter is known not to be negative.
    pub fn declare_sym(&mut self, decl: SymDecl) {
        let natural = match &decl.kind {
            SymKind::Dim { .. } => true,
            SymKind::IndexParam { unsigned, .. } => *unsigned,
            SymKind::Stride { .. } | SymKind::Bound(_) | SymKind::Loop(_) => false,
        };
        dim::declare(&mut self.prover, &decl.sym, natural);
        self.func.syms.push(decl);
    }

    /// Adds a fact, which is checked at the call and known from then on.
    pub fn add_fact(&mut self, fact: FactDecl) {
        self.prover.assume(fact.fact.clone());
        self.func.facts.push(fact);
    }

    /// Adds a tensor or scalar parameter. `position` is its index in the user's list.
    pub fn param(&mut self, kind: ParamKind, ty: TensorType, name: &str, position: usize, loc: Loc) -> ValueId {
        let value = self.new_value(Type::Tensor(ty), name.to_string(), loc);
        self.func.params.push(Param { value, kind, position });
        value
    }

    /// The place of what is emitted from now on.
    pub fn set_loc(&mut self, loc: Loc) {
        self.loc = loc;
    }

    /// Names a value after the `let` that holds it.
    pub fn name_value(&mut self, value: ValueId, name: &str) {
        self.func.values[value.0 as usize].name = name.to_string();
    }

    /// The type of a value.
    pub fn ty(&self, value: ValueId) -> &Type {
        &self.func.values[value.0 as usize].ty
    }

    /// The type of a tensor or scalar value; of a tuple, its first component's (callers check with [`Builder::ty`]).
    pub fn tensor(&self, value: ValueId) -> &TensorType {
        static NOTHING: TensorType = TensorType { dtype: DType::Bool, shape: Vec::new() };
        let mut ty = self.ty(value);
        loop {
            match ty {
                Type::Tensor(tensor) => return tensor,
                Type::Tuple(items) => match items.first() {
                    Some(first) => ty = first,
                    None => return &NOTHING,
                },
                Type::Shape(_) => return &NOTHING,
            }
        }
    }

    /// The range of an integer value's elements, `lo..hi`, if one is known.
    pub fn range(&self, value: ValueId) -> Option<&(IntExpr, IntExpr)> {
        self.func.values[value.0 as usize].range.as_ref()
    }

    /// Records that the elements of an integer value lie in `lo..hi`.
    pub fn set_range(&mut self, value: ValueId, lo: IntExpr, hi: IntExpr) {
        self.func.values[value.0 as usize].range = Some((lo, hi));
    }

    /// The op that defines a value; `None` for a parameter.
    pub fn definition(&self, value: ValueId) -> Option<&Binding> {
        self.visible().find(|binding| binding.out == value)
    }

    /// The bindings whose values may be read here, in their order.
    pub fn visible(&self) -> impl Iterator<Item = &Binding> {
        self.outer.iter().chain([&self.func.blocks]).flat_map(|blocks| bindings_of(blocks))
    }

    /// Emits a binding whose type the op's rule gives under what the prover knows.
    pub fn emit(&mut self, op: Op, args: &[ValueId]) -> Result<ValueId, OpError> {
        let types: Vec<Type> = args.iter().map(|arg| self.ty(*arg).clone()).collect();
        let ty = infer(&self.prover, &op, &types)?.unwrap_or_else(unit);
        let range = self.result_range(&op, args, &ty);
        let value = self.push(op, args, ty);
        self.func.values[value.0 as usize].range = range;
        Ok(value)
    }

    /// A scalar literal.
    pub fn scalar(&mut self, value: Scalar) -> ValueId {
        let op = Op::Scalar(value);
        let ty = Type::Tensor(TensorType { dtype: value.dtype, shape: Vec::new() });
        let range = self.result_range(&op, &[], &ty);
        let out = self.push(op, &[], ty);
        self.func.values[out.0 as usize].range = range;
        out
    }

    /// A constant of the module, of that type.
    pub fn constant(&mut self, id: ConstId, ty: TensorType) -> ValueId {
        self.push(Op::Const(id), &[], Type::Tensor(ty))
    }

    /// An elementwise operator; operands broadcast as in NumPy.
    pub fn element(&mut self, op: ElementOp, args: &[ValueId]) -> Result<ValueId, OpError> {
        self.emit(Op::Element(op), args)
    }

    /// A literal without suffix as a scalar of `dtype`, which must hold it exactly (a float dtype rounds a float).
    pub fn literal(&mut self, literal: Literal, dtype: DType) -> Result<ValueId, OpError> {
        Ok(self.scalar(literal_scalar(literal, dtype)?))
    }

    /// Begins the body of a region with these blocks; what is emitted from now on goes behind them.
    pub fn open_body(&mut self, blocks: Vec<BindingBlock>) {
        self.outer.push(std::mem::replace(&mut self.func.blocks, blocks));
    }

    /// Ends the innermost body and gives its blocks.
    pub fn close_body(&mut self) -> Vec<BindingBlock> {
        match self.outer.pop() {
            Some(outer) => std::mem::replace(&mut self.func.blocks, outer),
            None => Vec::new(),
        }
    }

    /// Puts the bindings of blocks, that a body had, behind what is there.
    pub fn append_blocks(&mut self, blocks: Vec<BindingBlock>) {
        blocks.into_iter().flat_map(|block| block.bindings).for_each(|binding| self.append(binding));
    }

    /// A value that a region is handed.
    pub fn region_param(&mut self, ty: Type, name: &str) -> ValueId {
        self.new_value(ty, name.to_string(), self.loc)
    }

    /// A binding with regions; its type is `ty`.
    pub fn emit_regions(&mut self, op: Op, args: &[ValueId], regions: Vec<Region>, ty: Type) -> ValueId {
        let out = self.new_value(ty, op_name(&op).to_string(), self.loc);
        self.append(Binding { out, op, args: args.to_vec(), regions });
        out
    }

    /// How many symbols there are, to come back to with [`Builder::forget_syms`].
    pub fn sym_count(&self) -> usize {
        self.func.syms.len()
    }

    /// Forgets the symbols declared since, whose bindings were dropped.
    pub fn forget_syms(&mut self, count: usize) {
        self.func.syms.truncate(count);
    }

    /// Adds a kernel for a [`Op::CallTir`] of this function to call, and gives the name it has in the module.
    pub fn add_kernel(&mut self, kernel: PrimFunc) -> String {
        self.kernels.add(&self.func.name, PrimFunc { loc: self.loc, ..kernel })
    }

    /// The kernels added so far; whoever ends the function puts them into its module.
    pub fn take_kernels(&mut self) -> Vec<PrimFunc> {
        self.kernels.take()
    }

    /// Ends the function.
    pub fn finish(mut self, results: &[ValueId]) -> Function {
        self.func.results = results.to_vec();
        self.func
    }

    fn new_value(&mut self, ty: Type, name: String, loc: Loc) -> ValueId {
        let id = ValueId(self.func.values.len() as u32);
        self.func.values.push(ValueData { ty, name, loc, range: None });
        id
    }

    fn push(&mut self, op: Op, args: &[ValueId], ty: Type) -> ValueId {
        let out = self.new_value(ty, op_name(&op).to_string(), self.loc);
        self.append(Binding::new(out, op, args.to_vec()));
        out
    }

    /// Appends a binding to a block of its kind.
    fn append(&mut self, binding: Binding) {
        let kind = binding_kind(&binding);
        match self.func.blocks.last_mut() {
            Some(block) if block.kind == kind => block.bindings.push(binding),
            Some(_) | None => self.func.blocks.push(BindingBlock { kind, bindings: vec![binding] }),
        }
    }

    /// What is known of an integer result's elements.
    fn result_range(&self, op: &Op, args: &[ValueId], ty: &Type) -> Option<(IntExpr, IntExpr)> {
        let Type::Tensor(result) = ty else { return None };
        if !result.dtype.is_int() {
            return None;
        }
        let first = || args.first().and_then(|arg| self.range(*arg)).cloned();
        match op {
            Op::Scalar(value) => point(&dim::int(i64::try_from(value.to_i128()).ok()?)),
            Op::IndexValue { expr, dtype } => (*dtype == DType::I64).then(|| point(expr)).flatten(),
            Op::ArgReduce { axis, .. } => {
                let shape = &self.tensor(args[0]).shape;
                let extent = axis.map_or_else(|| dim::product(shape), |axis| shape[axis].clone());
                Some((dim::int(0), extent))
            }
            Op::Element(op) => self.element_range(*op, args),
            Op::Reshape { .. }
            | Op::Transpose { .. }
            | Op::BroadcastTo { .. }
            | Op::Slice { .. }
            | Op::Full { .. }
            | Op::BindIndex(_)
            | Op::MatchShape { .. } => first(),
            Op::Arange { start, step, extent, dtype } => {
                let end = start + extent;
                (dim::as_int(step) == Some(1) && self.holds(*dtype, start, &end)).then(|| (start.clone(), end))
            }
            Op::TupleGet(index) => self.component_range(*args.first()?, *index),
            Op::Const(_)
            | Op::Reduce { .. }
            | Op::MatMul
            | Op::Softmax { .. }
            | Op::LayerNorm { .. }
            | Op::BatchNorm { .. }
            | Op::Concat { .. }
            | Op::SliceUpdate { .. }
            | Op::Pad { .. }
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
            | Op::Tuple
            | Op::Later { .. }
            | Op::Assert { .. }
            | Op::StoreState { .. } => None,
        }
    }

    /// What is known of a component of a tuple that stands in this body.
    fn component_range(&self, tuple: ValueId, index: usize) -> Option<(IntExpr, IntExpr)> {
        let mut latest = self.func.blocks.iter().rev().flat_map(|block| block.bindings.iter().rev());
        let made = latest.find(|binding| binding.out <= tuple).filter(|binding| binding.out == tuple)?;
        let component = if made.op == Op::Tuple { made.args.get(index) } else { None };
        component.and_then(|component| self.range(*component)).cloned()
    }

    /// Whether a dtype holds all of `start..end`, which else wrap.
    fn holds(&self, dtype: DType, start: &IntExpr, end: &IntExpr) -> bool {
        let bound = |s: Scalar| i64::try_from(s.to_i128()).unwrap_or(i64::MAX);
        let (least, greatest) = (bound(Scalar::least(dtype)), bound(Scalar::greatest(dtype)));
        if greatest == i64::MAX {
            // From a number on, no extent ends behind it.
            return start.as_const().is_some_and(|n| n >= least && n <= 1 << 32);
        }
        dim::at_most(&self.prover, &dim::int(least), start) && dim::at_most(&self.prover, end, &dim::int(greatest + 1))
    }

    fn element_range(&self, op: ElementOp, args: &[ValueId]) -> Option<(IntExpr, IntExpr)> {
        let range = |i: usize| self.range(args[i]).cloned();
        let known = |i: usize| range(i).filter(|(lo, hi)| *hi == lo + &dim::int(1)).map(|(lo, _)| lo);
        match op {
            ElementOp::Cast(to) => {
                let (lo, hi) = range(0)?;
                let (least, greatest) = (Scalar::least(to).to_i128(), Scalar::greatest(to).to_i128());
                let least = dim::int(i64::try_from(least).ok()?);
                let end = dim::int(i64::try_from(greatest).unwrap_or(i64::MAX - 1).saturating_add(1));
                let fits = dim::at_most(&self.prover, &least, &lo) && dim::at_most(&self.prover, &hi, &end);
                fits.then_some((lo, hi))
            }
            ElementOp::Clip => {
                let (lo, hi) = (known(1)?, known(2)?);
                dim::at_most(&self.prover, &lo, &hi).then(|| (lo, &hi + &dim::int(1)))
            }
            ElementOp::Binary(BinaryOp::RemEuclid) => {
                let divisor = known(1)?;
                dim::at_most(&self.prover, &dim::int(1), &divisor).then(|| (dim::int(0), divisor))
            }
            ElementOp::Binary(BinaryOp::Min) => {
                let bound = known(1)?;
                let lo = match range(0) {
                    Some((lo, _)) => lo,
                    None => dim::int(i64::try_from(Scalar::least(self.tensor(args[0]).dtype).to_i128()).ok()?),
                };
                dim::at_most(&self.prover, &lo, &bound).then(|| (lo, &bound + &dim::int(1)))
            }
            ElementOp::Select => {
                let (a, b) = (range(1)?, range(2)?);
                (a == b).then_some(a)
            }
            ElementOp::Unary(_)
            | ElementOp::Binary(_)
            | ElementOp::Compare(_)
            | ElementOp::Activation(_)
            | ElementOp::Prelu
            | ElementOp::QMultiplyShift
            | ElementOp::NearestInt => None,
        }
    }
}

/// The range that holds one value.
fn point(value: &IntExpr) -> Option<(IntExpr, IntExpr)> {
    Some((value.clone(), value + &dim::int(1)))
}

/// Whether a binding is an effect: by its op, or because a region of it holds one.
pub fn binding_kind(binding: &Binding) -> BlockKind {
    let inside = binding.regions.iter().any(|r| r.blocks.iter().any(|block| block.kind == BlockKind::Effect));
    if inside { BlockKind::Effect } else { block_kind(&binding.op) }
}

/// Whether an op is an effect. A run-time check counts as one: it must not move across a store.
pub fn block_kind(op: &Op) -> BlockKind {
    match op {
        Op::StoreState { .. } | Op::MatchShape { .. } | Op::Assert { .. } | Op::CallPacked { .. } => BlockKind::Effect,
        Op::Const(_)
        | Op::Scalar(_)
        | Op::IndexValue { .. }
        | Op::Element(_)
        | Op::Reduce { .. }
        | Op::ArgReduce { .. }
        | Op::MatMul
        | Op::Softmax { .. }
        | Op::LayerNorm { .. }
        | Op::BatchNorm { .. }
        | Op::Reshape { .. }
        | Op::Transpose { .. }
        | Op::BroadcastTo { .. }
        | Op::Concat { .. }
        | Op::Slice { .. }
        | Op::SliceUpdate { .. }
        | Op::Pad { .. }
        | Op::Conv { .. }
        | Op::Pool { .. }
        | Op::Full { .. }
        | Op::Arange { .. }
        | Op::CallTir { .. }
        | Op::CallFn { .. }
        | Op::CallDps { .. }
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
        | Op::Later { .. } => BlockKind::Dataflow,
    }
}

/// A literal as a value of `dtype`: an integer must be held exactly, a float needs a float dtype and rounds.
pub fn literal_scalar(literal: Literal, dtype: DType) -> Result<Scalar, OpError> {
    match literal {
        Literal::Int(value) if !dtype.is_bool() => {
            let scalar = Scalar::int(dtype, value);
            let is_float = dtype.is_float() || dtype.is_float8();
            if scalar.to_i128() == value && (!is_float || scalar.to_f64().is_finite()) {
                return Ok(scalar);
            }
            let help = if is_float {
                "write a float literal to round it".to_string()
            } else {
                let (least, greatest) = (Scalar::least(dtype).to_i128(), Scalar::greatest(dtype).to_i128());
                format!("`{dtype}` holds {least} to {greatest}")
            };
            let message = format!("expected `{dtype}`, which does not hold {value} exactly");
            Err(OpError::new(At::Call, OpErrorKind::Literal, message).help(help))
        }
        Literal::Float(value) if dtype.is_float() => Ok(Scalar::float(dtype, value)),
        Literal::Float(value) if dtype.is_float8() => Ok(Scalar::saturated(dtype, value)),
        Literal::Int(_) | Literal::Float(_) => {
            let found = if matches!(literal, Literal::Int(_)) { "an integer" } else { "a float" };
            let help =
                if dtype.is_bool() { "write `true` or `false`" } else { "drop the fraction, or convert: `x as f32`" };
            let message = format!("expected `{dtype}`, found {found} literal");
            Err(OpError::new(At::Call, OpErrorKind::Literal, message).help(help))
        }
    }
}
