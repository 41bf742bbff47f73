//! Shapes as values become the integer expressions of their extents.

use tenfold_ir::DType;
use tenfold_ir::arith::{Fact, IntExpr, Sym};
use tenfold_ir::relax::{self, Binding, Op, SliceAxis, SymKind, TensorType, Type, ValueData, ValueId};

use super::{Frame, Inliner, Slot};

fn scalar() -> Type {
    Type::Tensor(TensorType { dtype: DType::I64, shape: Vec::new() })
}

fn vector(extent: usize) -> Type {
    Type::Tensor(TensorType { dtype: DType::I64, shape: vec![IntExpr::from(extent as i64)] })
}

impl Inliner<'_> {
    pub(super) fn shape(&mut self, func: &relax::Function, binding: &Binding, frame: &mut Frame) -> Slot {
        match &binding.op {
            Op::Shape { dims } => Slot::Shape(frame.ints(dims)),
            Op::ShapeOf => Slot::Shape(self.extents_of(&frame.slot(binding.args[0]))),
            Op::ShapeToTensor => {
                let dims = self.extents_of(&frame.slot(binding.args[0]));
                Slot::Value(self.shape_tensor(&dims))
            }
            Op::TensorToShape => {
                let rank = match &func.values[binding.out.0 as usize].ty {
                    Type::Shape(rank) => *rank,
                    Type::Tensor(_) | Type::Tuple(_) => 0,
                };
                let tensor = frame.value(binding.args[0]);
                Slot::Shape(self.tensor_extents(tensor, rank))
            }
            _ => self.copy(func, binding, frame),
        }
    }

    fn extents_of(&self, slot: &Slot) -> Vec<IntExpr> {
        match slot {
            Slot::Shape(dims) => dims.clone(),
            Slot::Value(v) => self.extents(*v),
            Slot::Tuple(_) => Vec::new(),
        }
    }

    fn named(&self, ty: Type, name: &str, range: Option<(IntExpr, IntExpr)>) -> ValueData {
        let loc = self.out.values.last().map_or(tenfold_ir::Loc::default(), |data| data.loc);
        ValueData { ty, name: name.to_string(), loc, range }
    }

    /// Extents as a tensor `i64[rank]`.
    pub(super) fn shape_tensor(&mut self, dims: &[IntExpr]) -> ValueId {
        let mut parts = Vec::new();
        for dim in dims {
            let range = Some((dim.clone(), dim + &IntExpr::from(1)));
            let data = self.named(scalar(), "extent", range);
            let value = self.emit(Op::IndexValue { expr: dim.clone(), dtype: DType::I64 }, Vec::new(), data);
            let one = vec![IntExpr::from(1)];
            let data = self.named(vector(1), "extent", None);
            parts.push(self.emit(Op::Reshape { shape: one }, vec![value], data));
        }
        match parts.as_slice() {
            [one] => *one,
            [] => {
                let (start, step, extent) = (IntExpr::from(0), IntExpr::from(0), IntExpr::from(0));
                let data = self.named(vector(0), "shape", None);
                self.emit(Op::Arange { start, step, extent, dtype: DType::I64 }, Vec::new(), data)
            }
            several => {
                let data = self.named(vector(several.len()), "shape", None);
                self.emit(Op::Concat { axis: 0 }, several.to_vec(), data)
            }
        }
    }

    /// The elements of a tensor `i64[rank]` as extents: each is bound to a symbol and checked not to be negative.
    pub(super) fn tensor_extents(&mut self, tensor: ValueId, rank: usize) -> Vec<IntExpr> {
        (0..rank).map(|axis| self.extent(tensor, axis)).collect()
    }

    fn extent(&mut self, tensor: ValueId, axis: usize) -> IntExpr {
        let range = self.data(tensor).range.clone();
        let part = SliceAxis { begin: IntExpr::from(axis as i64), extent: IntExpr::from(1), step: 1 };
        let data = self.named(scalar(), "extent", range);
        let value = self.emit(Op::Slice { axes: vec![part], drop: vec![0] }, vec![tensor], data.clone());
        let out = self.new_value(data);
        let loc = self.data(out).loc;
        let sym = self.new_sym(&Sym::new("extent"), SymKind::Bound(out), loc);
        self.push(Binding::new(out, Op::BindIndex(sym.clone()), vec![value]));
        if let Some((lo, hi)) = self.data(out).range.clone() {
            self.prover.assume_range(&sym, &lo, &hi);
        }
        let extent = IntExpr::var(sym);
        self.check(Fact::ge(&extent, &IntExpr::from(0)), format!("extent {axis} is not negative"));
        extent
    }

    /// A fact that holds from here on: what is not proven is checked when the function runs.
    fn check(&mut self, fact: Fact, text: String) {
        if self.prover.prove(&fact) {
            return;
        }
        let data = self.named(Type::Tuple(Vec::new()), "check", None);
        self.emit(Op::Assert { fact: fact.clone(), text }, Vec::new(), data);
        self.prover.assume(fact);
    }

    /// Names that the shape binds become the operand's extents; the others are checked.
    pub(super) fn match_shape(
        &mut self,
        func: &relax::Function,
        binding: &Binding,
        shape: &[IntExpr],
        frame: &mut Frame,
    ) -> Slot {
        let slot = frame.slot(binding.args[0]);
        let found = self.extents_of(&slot);
        let mut open: Vec<&Sym> =
            func.syms.iter().filter(|decl| decl.kind == SymKind::Bound(binding.out)).map(|decl| &decl.sym).collect();
        for (dim, extent) in shape.iter().zip(&found) {
            if let Some(at) = dim.as_var().and_then(|sym| open.iter().position(|open| *open == sym)) {
                frame.syms.insert(open.swap_remove(at).clone(), extent.clone());
            }
        }
        let wanted = frame.ints(shape);
        for (axis, (want, have)) in wanted.iter().zip(&found).enumerate() {
            let name = &func.values[binding.args[0].0 as usize].name;
            self.check(Fact::eq(want, have), format!("axis {axis} of `{name}` is {}", shape[axis]));
        }
        match slot {
            Slot::Value(v) if wanted != found => {
                let data = frame.data(&func.values[binding.out.0 as usize]);
                Slot::Value(self.emit(Op::Reshape { shape: wanted }, vec![v], data))
            }
            Slot::Value(v) => Slot::Value(v),
            Slot::Shape(_) | Slot::Tuple(_) => Slot::Shape(wanted),
        }
    }
}
