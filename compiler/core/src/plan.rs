//! `PlanMemory`: a place for every value of a legalised function.
//!
//! A value lives in a result or in a state's buffer where it ends up there and nothing is lost by it, else in the
//! workspace. Intermediates whose lifetimes do not meet share bytes: where every size is a constant (or bounded),
//! greedily by size, largest first, each at the lowest offset that is free; else a piece of memory is used again for
//! a value of the same symbolic size.

use std::collections::BTreeMap;

use tenfold_ir::arith::{IntExpr, Prover};
use tenfold_ir::relax::{self, Op, Phase, Place, Plan, TensorType, Type, ValueId};
use tenfold_ir::{Function, Module};

use crate::CompileError;
use crate::homes::{Home, Homes, bindings};
use crate::pass::{Pass, PassContext, PassPhase};

/// Every offset is a multiple of this.
pub(crate) const ALIGN: i64 = 64;

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("PlanMemory", &plan_memory)
    .in_phase(PassPhase::Memory)
    .lowering()
    .about("gives every value a place: parameter, result, constant, or an offset in the workspace");

/// Runs on the entry.
pub(crate) fn plan_memory(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    let entry = module.entry.clone();
    if let Some(Function::Relax(func)) = module.functions.get_mut(&entry) {
        let plan = Planner::new(func).plan();
        func.plan = Some(plan);
        func.phase = Phase::Planned;
    }
    Ok(())
}

/// When a home is first written and last used, as positions of bindings.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    /// The memory.
    pub home: Home,
    /// Its type when it was made.
    pub ty: TensorType,
    /// Position of the binding that makes it.
    pub first: usize,
    /// Position of the last binding that uses it.
    pub last: usize,
}

struct Planner<'f> {
    func: &'f relax::Function,
    homes: Homes,
    lives: Vec<Life>,
    /// Where each home's life is.
    index: BTreeMap<Home, usize>,
    places: BTreeMap<Home, Place>,
    bounds: Prover,
}

impl<'f> Planner<'f> {
    fn new(func: &'f relax::Function) -> Self {
        let homes = Homes::new(func);
        let lives = lives(func, &homes);
        let index = lives.iter().enumerate().map(|(at, life)| (life.home, at)).collect();
        Planner { func, homes, lives, index, places: BTreeMap::new(), bounds: prover(func) }
    }

    fn plan(mut self) -> Plan {
        for (index, param) in self.func.params.iter().enumerate() {
            self.places.insert((param.value, 0), Place::Param(index));
        }
        for binding in bindings(self.func) {
            if let Op::Const(id) = binding.op {
                self.places.insert((binding.out, 0), Place::Const(id));
            }
        }
        self.place_results();
        self.place_states();
        let workspace = self.place_workspace();
        let bound = workspace.as_const().or_else(|| self.bounds.const_bounds(&workspace).1);
        let mut places = vec![None; self.func.values.len()];
        for (index, place) in places.iter_mut().enumerate() {
            let tuple = matches!(self.func.values[index].ty, Type::Tuple(_) | Type::Shape(_));
            let own = self.places.get(&self.homes.get(ValueId(index as u32))).cloned();
            *place = if tuple { Some(Place::None) } else { own };
        }
        for binding in bindings(self.func) {
            // What a store leaves is nothing, and an index value is a symbol: neither lives anywhere.
            if let Op::StoreState { .. } | Op::BindIndex(_) = binding.op {
                places[binding.out.0 as usize] = Some(Place::None);
            }
        }
        let tuples = self.tuples();
        Plan { places, tuples, workspace: Some(workspace), workspace_bound: bound.map(|b| b.max(0) as u64) }
    }

    /// Places of every component of a call with several results.
    fn tuples(&self) -> BTreeMap<ValueId, Vec<Place>> {
        let mut tuples = BTreeMap::new();
        for binding in bindings(self.func) {
            if let Op::CallTir { results, .. } = &binding.op {
                let of = |i| self.places.get(&self.homes.part((binding.out, i))).cloned().unwrap_or(Place::None);
                if results.len() > 1 {
                    tuples.insert(binding.out, (0..results.len()).map(of).collect());
                }
            }
        }
        tuples
    }

    fn place_results(&mut self) {
        for (index, result) in self.func.results.iter().enumerate() {
            let home = self.homes.get(*result);
            self.places.entry(home).or_insert(Place::Result(index));
        }
    }

    /// A stored value is made in the state's own buffer if the old state is dead by then.
    fn place_states(&mut self) {
        for binding in bindings(self.func) {
            let Op::StoreState { param } = binding.op else { continue };
            let home = self.homes.get(binding.args[0]);
            let state = (self.func.params[param].value, 0);
            let dead = self.life(state).map_or(0, |l| l.last);
            let made = self.life(home).map_or(0, |l| l.first);
            if !self.places.contains_key(&home) && made > dead {
                self.places.insert(home, Place::Param(param));
            }
        }
    }

    fn life(&self, home: Home) -> Option<&Life> {
        self.index.get(&home).map(|at| &self.lives[*at])
    }

    /// Places what is left; gives the size of the workspace.
    fn place_workspace(&mut self) -> IntExpr {
        let open: Vec<Life> = self.lives.iter().filter(|l| !self.places.contains_key(&l.home)).cloned().collect();
        let sized: Vec<(Life, IntExpr)> = open.into_iter().map(|l| (l.clone(), self.bytes(&l.ty))).collect();
        let (fixed, symbolic): (Vec<_>, Vec<_>) = sized.into_iter().partition(|(_, b)| b.as_const().is_some());
        let start = self.place_fixed(fixed);
        self.place_symbolic(symbolic, start)
    }

    /// Bytes of a value, rounded up; the greatest number where its dims are bounded.
    fn bytes(&self, ty: &TensorType) -> IntExpr {
        let bytes = bytes_of(ty);
        if bytes.as_const().is_some() {
            return bytes;
        }
        match self.bounds.const_bounds(&bytes).1 {
            Some(most) => IntExpr::from(round_up(most.max(0))),
            None => bytes,
        }
    }

    fn place_fixed(&mut self, mut fixed: Vec<(Life, IntExpr)>) -> i64 {
        fixed.sort_by_key(|(life, bytes)| (std::cmp::Reverse(bytes.as_const().unwrap_or(0)), life.first, life.home));
        let mut taken = Taken::new(fixed.iter().map(|(life, _)| life.last).max().unwrap_or(0));
        for (life, bytes) in fixed {
            let size = bytes.as_const().unwrap_or(0);
            let offset = lowest_free(taken.meeting(&life), size);
            let place = Place::Workspace { offset: IntExpr::from(offset), bytes: IntExpr::from(size) };
            self.places.insert(life.home, place);
            taken.insert(&life, offset, size);
        }
        taken.end
    }

    fn place_symbolic(&mut self, symbolic: Vec<(Life, IntExpr)>, start: i64) -> IntExpr {
        struct Piece {
            bytes: IntExpr,
            offset: IntExpr,
            busy_until: usize,
        }
        let mut pieces: Vec<Piece> = Vec::new();
        let mut end = IntExpr::from(start);
        for (life, bytes) in symbolic {
            let free = pieces.iter_mut().find(|p| p.busy_until < life.first && p.bytes == bytes);
            let offset = match free {
                Some(piece) => {
                    piece.busy_until = life.last;
                    piece.offset.clone()
                }
                None => {
                    let offset = end.clone();
                    end = &end + &bytes;
                    let busy_until = life.last;
                    pieces.push(Piece { bytes: bytes.clone(), offset: offset.clone(), busy_until });
                    offset
                }
            };
            self.places.insert(life.home, Place::Workspace { offset, bytes });
        }
        end
    }
}

/// Bytes that are taken, by the time for which they are: a segment tree over positions, so that a value is compared
/// with those that live when it does and with no others.
struct Taken {
    /// Pieces that are taken for all of a node's positions.
    over: Vec<Vec<(i64, i64)>>,
    /// Pieces by the position from which on they are taken.
    from: BTreeMap<usize, Vec<(i64, i64)>>,
    leaves: usize,
    /// The end of the last piece.
    end: i64,
}

impl Taken {
    fn new(last: usize) -> Self {
        let leaves = (last + 1).next_power_of_two();
        Taken { over: vec![Vec::new(); 2 * leaves], from: BTreeMap::new(), leaves, end: 0 }
    }

    fn insert(&mut self, life: &Life, offset: i64, size: i64) {
        let (mut low, mut high) = (life.first + self.leaves, life.last + self.leaves + 1);
        while low < high {
            if low % 2 == 1 {
                self.over[low].push((offset, size));
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                self.over[high].push((offset, size));
            }
            (low, high) = (low / 2, high / 2);
        }
        self.from.entry(life.first).or_default().push((offset, size));
        self.end = self.end.max(offset + size);
    }

    /// The pieces whose time meets a life's: those taken when it begins, and those that begin while it lasts.
    fn meeting(&self, life: &Life) -> Vec<(i64, i64)> {
        let mut met = Vec::new();
        let mut node = life.first + self.leaves;
        while node > 0 {
            met.extend_from_slice(&self.over[node]);
            node /= 2;
        }
        met.extend(self.from.range(life.first + 1..life.last + 1).flat_map(|(_, all)| all));
        met
    }
}

/// The lowest offset at which `size` bytes meet none of those.
fn lowest_free(mut met: Vec<(i64, i64)>, size: i64) -> i64 {
    met.sort_unstable();
    let mut offset = 0;
    for (other, other_size) in met {
        if offset + size <= other {
            break;
        }
        offset = offset.max(other + other_size);
    }
    offset
}

fn round_up(bytes: i64) -> i64 {
    bytes.saturating_add(ALIGN - 1) / ALIGN * ALIGN
}

/// Bytes of a tensor, rounded up to [`ALIGN`].
pub(crate) fn bytes_of(ty: &TensorType) -> IntExpr {
    let size = IntExpr::from(ty.dtype.size_bytes() as i64);
    let bytes = ty.shape.iter().fold(size, |n, d| &n * d);
    let up = &bytes + &IntExpr::from(ALIGN - 1);
    &up.floor_div(&IntExpr::from(ALIGN)) * &IntExpr::from(ALIGN)
}

/// Whether a symbol is >= 0 by its kind.
pub(crate) fn natural(kind: &relax::SymKind) -> bool {
    match kind {
        relax::SymKind::Dim { .. } => true,
        relax::SymKind::IndexParam { unsigned, .. } => *unsigned,
        relax::SymKind::Stride { .. } | relax::SymKind::Bound(_) | relax::SymKind::Loop(_) => false,
    }
}

/// The facts of a function, as a prover.
pub(crate) fn prover(func: &relax::Function) -> Prover {
    let mut prover = Prover::new();
    for decl in &func.syms {
        if natural(&decl.kind) {
            prover.assume(tenfold_ir::arith::Fact::NonNegative(IntExpr::var(decl.sym.clone())));
        }
    }
    for fact in &func.facts {
        prover.assume(fact.fact.clone());
    }
    prover
}

/// Lifetimes of all homes, in the order in which they are made.
pub(crate) fn lives(func: &relax::Function, homes: &Homes) -> Vec<Life> {
    let mut lives: Vec<Life> = Vec::new();
    let tensor = |v: ValueId| match &func.values[v.0 as usize].ty {
        Type::Tensor(t) => vec![t.clone()],
        Type::Shape(_) => Vec::new(),
        Type::Tuple(parts) => parts
            .iter()
            .filter_map(|p| match p {
                Type::Tensor(t) => Some(t.clone()),
                Type::Tuple(_) | Type::Shape(_) => None,
            })
            .collect(),
    };
    for param in &func.params {
        for ty in tensor(param.value) {
            lives.push(Life { home: (param.value, 0), ty, first: 0, last: 0 });
        }
    }
    let mut index: BTreeMap<Home, usize> = lives.iter().enumerate().map(|(at, life)| (life.home, at)).collect();
    let mut end = 1;
    for (i, binding) in bindings(func).enumerate() {
        let position = i + 1;
        end = position + 1;
        for arg in &binding.args {
            if let Some(at) = index.get(&homes.get(*arg)) {
                lives[*at].last = position;
            }
        }
        let makes = matches!(binding.op, Op::CallTir { .. } | Op::Const(_));
        if makes && homes.get(binding.out) == (binding.out, 0) {
            for (part, ty) in tensor(binding.out).into_iter().enumerate() {
                if homes.part((binding.out, part)) != (binding.out, part) {
                    continue;
                }
                let home = (binding.out, part);
                index.insert(home, lives.len());
                lives.push(Life { home, ty, first: position, last: position });
            }
        }
    }
    for result in &func.results {
        if let Some(at) = index.get(&homes.get(*result)) {
            lives[*at].last = end;
        }
    }
    lives
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenfold_ir::DType;

    /// The pieces that meet a life are those that a walk over all of them finds.
    #[test]
    fn what_meets_a_life_is_found() {
        let ty = TensorType { dtype: DType::F32, shape: Vec::new() };
        let life = |first, last| Life { home: (ValueId(0), 0), ty: ty.clone(), first, last };
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % below) as usize
        };
        let mut taken = Taken::new(40);
        let mut all = Vec::new();
        for n in 0..300 {
            let first = random(41);
            let life = life(first, first + random(41 - first as u64));
            let mut found = taken.meeting(&life);
            let mut meet: Vec<(i64, i64)> = all
                .iter()
                .filter(|(other, _): &&(Life, i64)| other.first <= life.last && life.first <= other.last)
                .map(|(_, offset)| (*offset, 1))
                .collect();
            found.sort_unstable();
            meet.sort_unstable();
            assert_eq!(found, meet);
            taken.insert(&life, n, 1);
            all.push((life, n));
        }
    }
}
