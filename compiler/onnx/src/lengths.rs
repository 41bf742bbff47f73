//! Extents that depend on data: symbols that are bound to a value when the function runs, each with a greatest value.
//!
//! A tensor whose extents are such is laid out in as much memory as the greatest ask for. Where it leaves the graph or
//! a region, it is as large as it can be, with 0 behind its elements, and its lengths go beside it.

use std::collections::BTreeSet;

use tenfold_ir::arith::{Domain, IntExpr, IntervalSet, Range, Sym};
use tenfold_ir::op::{BinaryOp, ElementOp};
use tenfold_ir::relax::{Op, PadMode, SliceAxis, SymDecl, SymKind, TensorType, Type, ValueId};
use tenfold_ir::{DType, Loc, Scalar};

use crate::elem::Elem;
use crate::emit::int;
use crate::value::{Fault, Outcome, Value, fault};
use crate::walk::Cx;

/// How many operators are looked through for what bounds a value.
const DEEPEST: usize = 16;

/// Symbols of the body at most: what is known of them is searched again and again.
const MOST_LENGTHS: usize = 1024;

/// Symbols that the body binds.
#[derive(Debug, Default)]
pub(crate) struct Lengths {
    /// Those that are known where the walk is, outermost first.
    known: Vec<Sym>,
    /// The same, to be looked up.
    names: BTreeSet<Sym>,
    /// The ranges of those that have one.
    ranges: Vec<(Sym, Range)>,
    /// Names given so far: none is given twice, since what is known of it stays known.
    named: usize,
    /// Loops around here whose values grow.
    pub(crate) growing: usize,
}

/// A place in the walk that symbols are forgotten back to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    known: usize,
    ranges: usize,
    declared: usize,
}

/// What several ways give one value of: its type where its extents are the greatest, and the axes whose length each way
/// tells.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    pub(crate) elem: Elem,
    pub(crate) ty: TensorType,
    pub(crate) open: Vec<usize>,
}

impl Cx<'_> {
    /// A symbol of a name that no other has.
    pub(crate) fn fresh(&mut self, base: &str) -> Sym {
        self.lengths.named += 1;
        Sym::new(format!("{base}{}", self.lengths.named - 1))
    }

    /// Makes a symbol of the body known, with its range if it has one.
    pub(crate) fn know(&mut self, sym: &Sym, range: Option<(IntExpr, IntExpr)>) {
        self.lengths.known.push(sym.clone());
        self.lengths.names.insert(sym.clone());
        if let Some((lo, hi)) = range {
            self.b.prover.assume_range(sym, &lo, &hi);
            self.lengths.ranges.push((sym.clone(), Range::new(lo.clone(), hi - lo)));
        }
    }

    /// The symbols that are known now.
    pub(crate) fn mark(&self) -> Mark {
        let Lengths { known, ranges, .. } = &self.lengths;
        Mark { known: known.len(), ranges: ranges.len(), declared: self.b.sym_count() }
    }

    /// Leaves a region: its symbols are not known behind it.
    pub(crate) fn leave(&mut self, mark: Mark) {
        for sym in self.lengths.known.split_off(mark.known) {
            self.lengths.names.remove(&sym);
        }
        self.lengths.ranges.truncate(mark.ranges);
    }

    /// Leaves a body that is dropped, with what its symbols are bound to.
    pub(crate) fn forget(&mut self, mark: Mark) {
        self.leave(mark);
        self.b.forget_syms(mark.declared);
    }

    /// The symbols that became known since.
    pub(crate) fn since(&self, mark: Mark) -> BTreeSet<Sym> {
        self.lengths.known[mark.known..].iter().cloned().collect()
    }

    /// An integer as an extent: a number if it depends on constants alone, else a symbol that is bound to it.
    pub(crate) fn length(&mut self, count: ValueId) -> Outcome<IntExpr> {
        match self.i64s(&Value::Node(count, Elem::Int64)) {
            Ok(known) => Ok(int(known.first().copied().unwrap_or(0))),
            Err(Fault::Poison) => Err(Fault::Poison),
            Err(Fault::Message(_) | Fault::Wanted(_)) => self.bound(count),
        }
    }

    /// An integer as a number of turns or elements, of which there are none where it is below 0.
    pub(crate) fn natural(&mut self, count: ValueId) -> Outcome<IntExpr> {
        let clipped = match (self.b.range(count).is_some(), self.at_most(count, DEEPEST)) {
            (false, Some(most)) => {
                let most = most.maximum(&int(0));
                let (low, high) = (self.told(&int(0))?, self.told(&most)?);
                let (low, high) = (self.cast(low, self.dtype(count))?, self.cast(high, self.dtype(count))?);
                self.element(ElementOp::Clip, &[count, low, high])?
            }
            (true, _) | (false, None) => count,
        };
        let length = self.bound(clipped)?;
        let is_natural = self.b.prover.prove_le(&int(0), &length);
        Ok(if is_natural { length } else { length.maximum(&int(0)) })
    }

    /// Whether there is a number that no element of a tensor of integers exceeds.
    pub(crate) fn has_bound(&self, x: ValueId) -> bool {
        self.at_most(x, DEEPEST).is_some()
    }

    /// What no element of a tensor of integers exceeds, if that is known.
    fn at_most(&self, x: ValueId, depth: usize) -> Option<IntExpr> {
        if let Some((_, end)) = self.b.range(x) {
            return Some(end - 1);
        }
        let binding = self.b.definition(x)?;
        let of = |i: usize| binding.args.get(i).and_then(|arg| self.at_most(*arg, depth.checked_sub(1)?));
        match &binding.op {
            Op::Element(ElementOp::Binary(BinaryOp::Min)) => of(0).or_else(|| of(1)),
            Op::Reshape { .. } | Op::Slice { .. } | Op::BroadcastTo { .. } | Op::Transpose { .. } => of(0),
            Op::Element(ElementOp::Cast(DType::I64)) if self.dtype(binding.args[0]).is_int() => of(0),
            _ => None,
        }
    }

    /// A symbol that is bound to an integer when the function runs.
    pub(crate) fn bound(&mut self, value: ValueId) -> Outcome<IntExpr> {
        if self.lengths.named >= MOST_LENGTHS {
            return fault(format!("data decides more than {MOST_LENGTHS} extents and numbers of turns"));
        }
        let sym = self.fresh("len");
        let out = self.emit(Op::BindIndex(sym.clone()), &[value])?;
        self.b.declare_sym(SymDecl { sym: sym.clone(), kind: SymKind::Bound(out), loc: Loc::default() });
        let range = self.b.range(out).cloned();
        self.know(&sym, range);
        Ok(IntExpr::var(sym))
    }

    /// The elements of a small tensor of integers whose range is known, as symbols.
    pub(crate) fn bound_elements(&mut self, x: ValueId) -> Outcome<Option<Vec<IntExpr>>> {
        let dims = self.dims(x);
        let [count] = [crate::emit::product(&dims)];
        let Some(count) = count.as_const().filter(|n| (0..=8).contains(n)) else { return Ok(None) };
        if self.b.range(x).is_none() {
            return Ok(None);
        }
        let flat = self.reshape(x, &[int(count)])?;
        let mut out = Vec::new();
        for at in 0..count {
            let axes = vec![SliceAxis { begin: int(at), extent: int(1), step: 1 }];
            let one = self.emit(Op::Slice { axes, drop: vec![0] }, &[flat])?;
            out.push(self.bound(one)?);
        }
        Ok(Some(out))
    }

    /// Whether an extent depends on data.
    pub(crate) fn depends(&self, e: &IntExpr) -> bool {
        !self.lengths.names.is_empty() && !self.lengths.names.is_disjoint(&e.vars())
    }

    /// The greatest value of an extent, over the dims alone.
    pub(crate) fn greatest(&self, e: &IntExpr) -> Outcome<IntExpr> {
        if !self.depends(e) {
            return Ok(e.clone());
        }
        let mut domain = Domain::new();
        self.lengths.ranges.iter().for_each(|(sym, range)| domain.push(sym.clone(), range.clone()));
        let most = IntervalSet::of(e, &domain, &self.b.prover).max().cloned();
        match most.filter(|most| !self.depends(most)) {
            Some(most) => Ok(most),
            None => fault(format!("the extent `{e}` depends on data, and nothing bounds it: `Min` or `Clip` would")),
        }
    }

    /// The inputs of the model that extents depend on.
    pub(crate) fn deciding(&self, extents: &[IntExpr]) -> Vec<String> {
        let syms: BTreeSet<Sym> = extents.iter().filter(|e| self.depends(e)).flat_map(IntExpr::vars).collect();
        let decls = self.b.function().syms.iter().filter(|decl| syms.contains(&decl.sym));
        let values = decls.filter_map(|decl| if let SymKind::Bound(value) = decl.kind { Some(value) } else { None });
        values.flat_map(|value| self.inputs_of(value)).collect()
    }

    /// A tensor in a larger one, whose other elements are 0.
    pub(crate) fn padded(&mut self, x: ValueId, shape: &[IntExpr]) -> Outcome<ValueId> {
        let own = self.dims(x);
        if own == shape {
            return Ok(x);
        }
        let zero = self.b.scalar(Scalar::zero(self.dtype(x)));
        let after: Vec<IntExpr> = shape.iter().zip(&own).map(|(all, own)| all - own).collect();
        self.emit(Op::Pad { mode: PadMode::Constant, before: vec![int(0); own.len()], after }, &[x, zero])
    }

    /// The first elements of each axis.
    pub(crate) fn cut(&mut self, x: ValueId, shape: Vec<IntExpr>) -> Outcome<ValueId> {
        if self.dims(x) == shape {
            return Ok(x);
        }
        let axes = shape.into_iter().map(|extent| SliceAxis { begin: int(0), extent, step: 1 }).collect();
        self.emit(Op::Slice { axes, drop: Vec::new() }, &[x])
    }

    /// An extent as a tensor.
    pub(crate) fn told(&mut self, e: &IntExpr) -> Outcome<ValueId> {
        self.emit(Op::IndexValue { expr: e.clone(), dtype: DType::I64 }, &[])
    }

    /// The room for one value that each of several ways gives; `inner` are symbols that are not known behind them.
    pub(crate) fn room(&self, ways: &[(ValueId, Elem)], inner: &BTreeSet<Sym>) -> Outcome<Room> {
        let Some(((first, elem), rest)) = ways.split_first() else { return fault("there is no way") };
        let mut ty = self.ty(*first);
        let alike = |(id, other): &(ValueId, Elem)| {
            let own = self.ty(*id);
            other == elem && own.dtype == ty.dtype && own.shape.len() == ty.shape.len()
        };
        if !rest.iter().all(alike) {
            return fault("its ways give values of different types or ranks");
        }
        let mut open = Vec::new();
        for axis in 0..ty.shape.len() {
            let extents: Vec<IntExpr> = ways.iter().map(|(id, _)| self.dims(*id)[axis].clone()).collect();
            let equal = extents.iter().all(|e| *e == extents[0] || self.b.prover.prove_eq(e, &extents[0]));
            if equal && extents[0].vars().is_disjoint(inner) {
                continue;
            }
            open.push(axis);
            let most = extents.iter().map(|e| self.greatest(e)).collect::<Outcome<Vec<_>>>()?;
            ty.shape[axis] = most.iter().skip(1).fold(most[0].clone(), |all, e| all.maximum(e));
        }
        Ok(Room { elem: *elem, ty, open })
    }

    /// What one way hands on: each value in its room, then the lengths.
    pub(crate) fn outgoing(&mut self, values: &[(ValueId, Elem)], rooms: &[Room]) -> Outcome<Vec<ValueId>> {
        let mut out = Vec::new();
        let mut lengths = Vec::new();
        for ((id, _), room) in values.iter().zip(rooms) {
            let own = self.dims(*id);
            out.push(self.padded(*id, &room.ty.shape)?);
            lengths.extend(room.open.iter().map(|axis| own[*axis].clone()));
        }
        for length in lengths {
            out.push(self.told(&length)?);
        }
        Ok(out)
    }

    /// The types of what is handed on.
    pub(crate) fn handed(rooms: &[Room]) -> Vec<Type> {
        let lengths = rooms.iter().flat_map(|room| &room.open);
        let length = |_| Type::Tensor(TensorType { dtype: DType::I64, shape: Vec::new() });
        rooms.iter().map(|room| Type::Tensor(room.ty.clone())).chain(lengths.map(length)).collect()
    }

    /// The values behind the ways, cut to their lengths.
    pub(crate) fn incoming(&mut self, parts: &[ValueId], rooms: &[Room]) -> Outcome<Vec<Value>> {
        let (values, lengths) = parts.split_at(rooms.len().min(parts.len()));
        let mut lengths = lengths.iter();
        let mut out = Vec::new();
        for (value, room) in values.iter().zip(rooms) {
            let mut shape = room.ty.shape.clone();
            for axis in &room.open {
                let Some(length) = lengths.next() else { return fault("a length is missing") };
                self.b.set_range(*length, int(0), &shape[*axis] + 1);
                shape[*axis] = self.bound(*length)?;
            }
            out.push(Value::Node(self.cut(*value, shape)?, room.elem));
        }
        Ok(out)
    }
}
