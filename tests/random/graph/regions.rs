//! Branches and loops.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp, ElementOp, ReduceOp, UnaryOp};
use tenfold_ir::relax::{Op, Region, SliceAxis, SymKind, Type, ValueId};
use tenfold_ir::{DType, Scalar};

use super::Grow;

/// Regions in regions.
const DEEPEST: usize = 2;

impl Grow {
    /// A region with these parameters that gives values of their types, or of the types of others.
    fn region(&mut self, params: &[Type], results: &[Type], own: &mut dyn FnMut(&mut Self, &[ValueId])) -> Region {
        let (visible, held) = (self.pool.len(), self.held.clone());
        self.b.open_body(Vec::new());
        self.depth += 1;
        let params: Vec<ValueId> = params.iter().map(|ty| self.b.region_param(ty.clone(), "")).collect();
        self.pool.extend(&params);
        own(self, &params);
        for _ in 0..self.random.below(4) {
            self.step();
        }
        let results = results.iter().map(|ty| self.value_of(ty)).collect();
        self.depth -= 1;
        self.pool.truncate(visible);
        self.held = held;
        Region { params, blocks: self.b.close_body(), results }
    }

    /// A value of this type that the region has made, if there is one: else one that is changed.
    fn value_of(&mut self, ty: &Type) -> ValueId {
        let found = self.any_with(|g, v| g.b.ty(v) == ty);
        let value = found.unwrap_or(self.pool[0]);
        let change = if self.dtype(value).is_bool() { UnaryOp::Not } else { UnaryOp::Neg };
        if self.chance(3)
            && let Ok(changed) = self.b.element(ElementOp::Unary(change), &[value])
        {
            return changed;
        }
        value
    }

    /// A scalar bool: of values, or of scalars that the caller gives.
    fn condition(&mut self) -> Option<ValueId> {
        if let Some(known) = self.any_with(|g, v| g.dtype(v).is_bool() && g.shape(v).is_empty())
            && self.chance(2)
        {
            return Some(known);
        }
        let x = self.any_with(|g, v| !g.dtype(v).is_bool())?;
        let axes = (0..self.shape(x).len()).collect();
        let least = self.b.emit(Op::Reduce { op: ReduceOp::Min, axes, keepdims: false }, &[x]).ok()?;
        let zero = self.b.scalar(Scalar::zero(self.dtype(x)));
        let op = self.random.pick(&[CmpOp::Lt, CmpOp::Ge]);
        self.b.element(ElementOp::Compare(op), &[least, zero]).ok()
    }

    pub(super) fn branch(&mut self) {
        if self.depth >= DEEPEST {
            return;
        }
        let Some(cond) = self.condition() else { return };
        let (_, types) = self.carried();
        let then = self.region(&[], &types, &mut |_, _| {});
        let otherwise = self.region(&[], &types, &mut |_, _| {});
        let out = self.b.emit_regions(Op::If, &[cond], vec![then, otherwise], one_or_tuple(types));
        self.keep(out);
    }

    /// Values to carry, and their types.
    fn carried(&mut self) -> (Vec<ValueId>, Vec<Type>) {
        let args: Vec<ValueId> = (0..1 + self.random.below(2)).map(|_| self.any()).collect();
        let types = args.iter().map(|arg| self.b.ty(*arg).clone()).collect();
        (args, types)
    }

    pub(super) fn counted(&mut self) {
        if self.depth >= DEEPEST {
            return;
        }
        let (args, types) = self.carried();
        let step = self.random.pick(&[1, 1, 1, 2, -1]);
        let extent = match self.extent() {
            // The body of a loop that never turns could say anything of its variable.
            extent if extent.as_const() == Some(0) => IntExpr::from(2),
            extent => extent,
        };
        let begin = if step < 0 { &extent - 1 } else { IntExpr::from(self.random.below(2) as i64) };
        let var = self.sym("i", 12);
        let i = IntExpr::var(var.clone());
        let end = &begin + &(&extent * &IntExpr::from(step));
        let (least, most) = if step > 0 { (begin.clone(), &end - 1) } else { (&end + 1, begin.clone()) };
        self.b.prover.push_scope();
        self.b.prover.assume_ge(&i, &least);
        self.b.prover.assume_le(&i, &most);
        let body = self.region(&types, &types, &mut |g, params| g.by_index(&i, params[0]));
        self.b.prover.pop_scope();
        let op = Op::For { var: var.clone(), begin, extent, step };
        let out = self.b.emit_regions(op, &args, vec![body], one_or_tuple(types));
        self.declare(var, SymKind::Loop(out));
        self.keep(out);
    }

    /// Reads of the loop's variable: as a number, and as the place of a row that may be changed.
    fn by_index(&mut self, i: &IntExpr, carried: ValueId) {
        let dtype = self.dtypes[0];
        if !dtype.is_bool() {
            self.push(Op::IndexValue { expr: i.clone(), dtype }, &[]);
        }
        let shape = self.shape(carried);
        if shape.is_empty() || self.chance(2) {
            return;
        }
        let whole = |d: &IntExpr| SliceAxis { begin: IntExpr::from(0), extent: d.clone(), step: 1 };
        let mut axes: Vec<SliceAxis> = shape.iter().map(whole).collect();
        axes[0] = SliceAxis { begin: i.clone(), extent: IntExpr::from(1), step: 1 };
        let Some(row) = self.push(Op::Slice { axes: axes.clone(), drop: vec![0] }, &[carried]) else { return };
        let change = if self.dtype(row).is_bool() { UnaryOp::Not } else { UnaryOp::Neg };
        let Ok(changed) = self.b.element(ElementOp::Unary(change), &[row]) else { return };
        self.push(Op::SliceUpdate { axes, drop: vec![0] }, &[carried, changed]);
    }

    /// A loop that counts by itself, a few turns.
    pub(super) fn repeated(&mut self) {
        if self.depth >= DEEPEST {
            return;
        }
        let (mut args, mut types) = self.carried();
        let counter = self.b.scalar(Scalar::int(DType::I32, 0));
        args.push(counter);
        types.push(self.b.ty(counter).clone());
        let turns = self.random.below(4) as i128;
        let last = args.len() - 1;
        let cond = self.while_condition(&types, last, turns);
        let (mut body, kept) = (Vec::new(), types[..last].to_vec());
        let region = self.region(&types, &kept, &mut |g, params| {
            let one = g.b.scalar(Scalar::int(DType::I32, 1));
            body = vec![g.b.element(ElementOp::Binary(BinaryOp::Add), &[params[last], one])];
        });
        let Some(Ok(next)) = body.pop() else { return };
        let mut results = region.results.clone();
        results.push(next);
        let region = Region { results, ..region };
        let out = self.b.emit_regions(Op::While, &args, vec![cond, region], one_or_tuple(types));
        self.keep(out);
    }

    fn while_condition(&mut self, types: &[Type], counter: usize, turns: i128) -> Region {
        self.b.open_body(Vec::new());
        let params: Vec<ValueId> = types.iter().map(|ty| self.b.region_param(ty.clone(), "")).collect();
        let end = self.b.scalar(Scalar::int(DType::I32, turns));
        let holds = self.b.element(ElementOp::Compare(CmpOp::Lt), &[params[counter], end]);
        let results = vec![holds.expect("a number is compared with a number")];
        Region { params, blocks: self.b.close_body(), results }
    }
}

/// One value as itself, several as a tuple.
fn one_or_tuple(mut types: Vec<Type>) -> Type {
    if types.len() == 1 { types.remove(0) } else { Type::Tuple(types) }
}
