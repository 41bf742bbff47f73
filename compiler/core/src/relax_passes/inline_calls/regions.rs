//! Branches and loops: tuples that a region takes or gives are taken apart into tensors.

use tenfold_ir::DType;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::relax::{self, Binding, Op, Region, SymKind, TensorType, Type, ValueData, ValueId};

use super::{Frame, Inliner, Slot};

impl Inliner<'_> {
    pub(super) fn branches(&mut self, func: &relax::Function, binding: &Binding, frame: &mut Frame) -> Slot {
        let cond = frame.value(binding.args[0]);
        let regions = binding.regions.iter().map(|region| self.region(func, region, Vec::new(), frame)).collect();
        let data = frame.data(&func.values[binding.out.0 as usize]);
        let ty = data.ty.clone();
        let out = self.new_value(ValueData { ty: flat(&ty), ..data });
        self.push(Binding { out, op: Op::If, args: vec![cond], regions });
        self.rebuilt(&ty, out)
    }

    pub(super) fn turns(&mut self, func: &relax::Function, binding: &Binding, frame: &mut Frame) -> Slot {
        let slots: Vec<Slot> = binding.args.iter().map(|arg| frame.slot(*arg)).collect();
        let args = slots.into_iter().flat_map(|slot| self.leaves(slot)).collect();
        let data = frame.data(&func.values[binding.out.0 as usize]);
        let ty = data.ty.clone();
        let out = self.new_value(ValueData { ty: flat(&ty), ..data });
        self.prover.push_scope();
        let op = self.variable(&binding.op, out, frame);
        let regions = binding.regions.iter().map(|region| self.turn(func, region, frame)).collect();
        self.prover.pop_scope();
        self.push(Binding { out, op, args, regions });
        self.rebuilt(&ty, out)
    }

    /// The operator of a loop, its variable under a name of its own.
    fn variable(&mut self, op: &Op, out: ValueId, frame: &mut Frame) -> Op {
        let Op::For { var, begin, extent, step } = op else { return op.clone() };
        let (begin, extent) = (frame.int(begin), frame.int(extent));
        let loc = self.data(out).loc;
        let new = self.new_sym(var, SymKind::Loop(out), loc);
        if *step == 1 {
            self.prover.assume_range(&new, &begin, &(&begin + &extent));
        }
        frame.syms.insert(var.clone(), IntExpr::var(new.clone()));
        Op::For { var: new, begin, extent, step: *step }
    }

    fn turn(&mut self, func: &relax::Function, region: &Region, frame: &mut Frame) -> Region {
        let mut params = Vec::new();
        let mut rebuild = Vec::new();
        for param in &region.params {
            let data = frame.data(&func.values[param.0 as usize]);
            let own: Vec<ValueId> = leaf_types(&data.ty)
                .into_iter()
                .map(|ty| self.new_value(ValueData { ty: Type::Tensor(ty), ..data.clone() }))
                .collect();
            params.extend(own.iter().copied());
            rebuild.push((*param, data.ty, own));
        }
        let outer = std::mem::take(&mut self.blocks);
        for (param, ty, own) in rebuild {
            let slot = self.of_leaves(&ty, &mut own.into_iter());
            frame.values.insert(param, slot);
        }
        let region = self.region(func, region, params, frame);
        self.blocks = outer;
        region
    }

    /// A region; blocks that stand ready become its first.
    fn region(&mut self, func: &relax::Function, region: &Region, params: Vec<ValueId>, frame: &mut Frame) -> Region {
        let ready = if params.is_empty() { Vec::new() } else { std::mem::take(&mut self.blocks) };
        let outer = std::mem::replace(&mut self.blocks, ready);
        self.prover.push_scope();
        self.body(func, &region.blocks, frame, &mut Vec::new());
        let slots: Vec<Slot> = region.results.iter().map(|v| frame.slot(*v)).collect();
        let results = slots.into_iter().flat_map(|slot| self.leaves(slot)).collect();
        self.prover.pop_scope();
        let blocks = std::mem::replace(&mut self.blocks, outer);
        Region { params, blocks, results }
    }

    /// The tensors in a slot. A shape among them is carried as a tensor of its extents.
    fn leaves(&mut self, slot: Slot) -> Vec<ValueId> {
        match slot {
            Slot::Tuple(parts) => parts.into_iter().flat_map(|part| self.leaves(part)).collect(),
            Slot::Shape(dims) => vec![self.shape_tensor(&dims)],
            Slot::Value(v) => match self.data(v).ty.clone() {
                Type::Tuple(items) => items.iter().enumerate().map(|(i, ty)| self.component(v, i, ty)).collect(),
                Type::Tensor(_) | Type::Shape(_) => vec![v],
            },
        }
    }

    fn component(&mut self, tuple: ValueId, index: usize, ty: &Type) -> ValueId {
        let data = ValueData { ty: ty.clone(), range: None, ..self.data(tuple).clone() };
        self.emit(Op::TupleGet(index), vec![tuple], data)
    }

    /// What a binding with regions gave, in the form that its readers expect.
    fn rebuilt(&mut self, ty: &Type, out: ValueId) -> Slot {
        let leaves = match leaf_types(ty).as_slice() {
            [_] => vec![out],
            several => {
                let types: Vec<Type> = several.iter().cloned().map(Type::Tensor).collect();
                types.iter().enumerate().map(|(i, ty)| self.component(out, i, ty)).collect()
            }
        };
        self.of_leaves(ty, &mut leaves.into_iter())
    }

    fn of_leaves(&mut self, ty: &Type, leaves: &mut impl Iterator<Item = ValueId>) -> Slot {
        match ty {
            Type::Tuple(items) => Slot::Tuple(items.iter().map(|item| self.of_leaves(item, leaves)).collect()),
            Type::Tensor(_) => leaves.next().map_or(Slot::Tuple(Vec::new()), Slot::Value),
            Type::Shape(rank) => match leaves.next() {
                Some(tensor) => Slot::Shape(self.tensor_extents(tensor, *rank)),
                None => Slot::Tuple(Vec::new()),
            },
        }
    }
}

/// The tensors that a value of a type is taken apart into.
fn leaf_types(ty: &Type) -> Vec<TensorType> {
    match ty {
        Type::Tensor(tensor) => vec![tensor.clone()],
        Type::Tuple(items) => items.iter().flat_map(leaf_types).collect(),
        Type::Shape(rank) => vec![TensorType { dtype: DType::I64, shape: vec![IntExpr::from(*rank as i64)] }],
    }
}

/// One tensor as itself, several or none as a tuple.
fn flat(ty: &Type) -> Type {
    let mut leaves: Vec<Type> = leaf_types(ty).into_iter().map(Type::Tensor).collect();
    if leaves.len() == 1 { leaves.remove(0) } else { Type::Tuple(leaves) }
}
