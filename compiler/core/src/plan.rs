//! `PlanMemory`: a place for every value of a legalised function.
//!
//! A value lives in a result or in a state's buffer where it ends up there and nothing is lost by it, else in the
//! workspace. A value that a loop reads lives until the loop ends; what a loop carries, its first value and what a turn
//! hands on share memory where no old value is lost (`merge`). Intermediates whose lifetimes do not meet share bytes:
//! where every size is a constant (or bounded), each at the lowest offset that is free, in the best of some orders
//! (`orders`); else a piece of memory is used again for a value of the same symbolic size. Where there is no operating
//! system, and thus neither threads nor memory to waste, a result may lie over an operand that dies with the call that
//! makes it, as far as the kernel reads that ahead of where it writes (`distance`). Where the source names memories, the
//! workspace is split among them (`pools`).

pub(crate) mod allocate_workspace;
pub(crate) mod distance;
mod heat;
mod lives;
mod merge;
mod orders;
pub(crate) mod overlaps;
mod pools;
mod taken;

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::{Domain, IntExpr, IntervalSet, Prover, Sym};
use tenfold_ir::relax::{self, Op, Phase, Place, Plan, PoolInfo, SymKind, TensorType, Type, ValueId};
use tenfold_ir::{Function, Module};

use crate::homes::{Home, Homes};
use crate::pass::{Pass, PassContext, PassPhase};
use crate::timeline::{Tick, Timeline};
use crate::{CompileError, ErrorKind};
pub(crate) use lives::{Life, lives};
use merge::Merged;
use tenfold_ir::relax::{call_facts, ranges};

/// Every offset is a multiple of this; for devices, of what they may ask of a buffer's offset.
pub(crate) const ALIGN: i64 = 64;

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("PlanMemory", &plan_memory)
    .in_phase(PassPhase::Memory)
    .lowering()
    .about("gives every value a place: parameter, result, constant, or an offset in the workspace");

/// Runs on the entry.
pub(crate) fn plan_memory(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let entry = module.entry.clone();
    let Some(func) = module.relax(&entry) else { return Ok(()) };
    refuse_groups(func)?;
    let align = context.target.device.map_or(ALIGN, |_| tenfold_abi::program::WORKSPACE_ALIGN as i64);
    let in_turn = overlaps::in_turn(&context.target);
    // A device has memory of its own.
    let pools = if context.target.device.is_none() { &func.pools[..] } else { &[] };
    let plan = Planner::new(func, module, in_turn, align, pools).plan()?;
    if let Some(Function::Relax(func)) = module.functions.get_mut(&entry) {
        func.plan = Some(plan);
        func.phase = Phase::Planned;
    }
    Ok(())
}

/// What `FuseOps` groups has to become kernels before it can have a place.
fn refuse_groups(func: &relax::Function) -> Result<(), CompileError> {
    let group = func.bindings().find_map(|b| match &b.op {
        Op::CallFn { func, .. } => Some(func),
        _ => None,
    });
    let Some(name) = group else { return Ok(()) };
    let help = Some("`FuseOps` stands before `FuseTIR`, and both before `PlanMemory`".into());
    Err(crate::pass::wrong(format!("`{name}` is a group of operators that no pass made a kernel of"), help))
}

struct Planner<'f> {
    func: &'f relax::Function,
    /// With the kernels.
    module: &'f Module,
    /// Whether results may lie over operands.
    in_turn: bool,
    /// The memories of the workspace; none if it is one.
    pools: &'f [PoolInfo],
    /// Of offsets.
    align: i64,
    homes: Homes,
    times: Timeline,
    merged: Merged,
    /// Of merged memory one each, in the order in which they are made.
    lives: Vec<Life>,
    places: BTreeMap<Home, Place>,
    bounds: Prover,
    ranges: Domain,
}

impl<'f> Planner<'f> {
    fn new(func: &'f relax::Function, module: &'f Module, in_turn: bool, align: i64, pools: &'f [PoolInfo]) -> Self {
        let homes = Homes::new(func);
        let times = Timeline::new(func);
        let all = lives(func, &homes);
        let merged = Merged::new(func, &homes, &times, &all);
        let lives = merged.lives(all);
        let (bounds, ranges) = (prover(func), ranges(func));
        let places = BTreeMap::new();
        Planner { func, module, in_turn, pools, align, homes, times, merged, lives, places, bounds, ranges }
    }

    fn plan(mut self) -> Result<Plan, CompileError> {
        for (index, param) in self.func.params.iter().enumerate() {
            self.places.insert((param.value, 0), Place::Param(index));
        }
        for binding in self.func.bindings() {
            if let Op::Const(id) = binding.op {
                self.places.insert((binding.out, 0), Place::Const(id));
            }
        }
        self.place_results();
        self.place_states();
        let (workspace, pools) = self.place_workspace()?;
        let bound = workspace.as_const().or_else(|| self.bounds.const_bounds(&workspace).1);
        let places = (0..self.func.values.len()).map(|index| self.place_of(ValueId(index as u32))).collect();
        let tuples = self.tuples();
        let workspace_bound = bound.map(|b| b.max(0) as u64);
        Ok(Plan { places, tuples, workspace: Some(workspace), workspace_bound, pools })
    }

    /// Where a value lives; what is no tensor lives nowhere.
    fn place_of(&self, value: ValueId) -> Option<Place> {
        match self.func.values[value.0 as usize].ty {
            Type::Tensor(_) => self.home_place(self.homes.get(value)).cloned(),
            Type::Tuple(_) | Type::Shape(_) => Some(Place::None),
        }
    }

    fn home_place(&self, home: Home) -> Option<&Place> {
        self.places.get(&self.merged.root(home))
    }

    /// Places of every component of a binding with several results.
    fn tuples(&self) -> BTreeMap<ValueId, Vec<Place>> {
        let mut tuples = BTreeMap::new();
        for binding in self.func.bindings() {
            let makes = !matches!(binding.op, Op::Tuple | Op::TupleGet(_) | Op::StoreState { .. } | Op::Assert { .. });
            let Type::Tuple(items) = &self.func.values[binding.out.0 as usize].ty else { continue };
            if makes && !items.is_empty() {
                let of = |i| self.home_place(self.homes.part((binding.out, i))).cloned().unwrap_or(Place::None);
                tuples.insert(binding.out, (0..items.len()).map(of).collect());
            }
        }
        tuples
    }

    fn place_results(&mut self) {
        for (index, result) in self.func.results.iter().enumerate() {
            let home = self.merged.root(self.homes.get(*result));
            self.places.entry(home).or_insert(Place::Result(index));
        }
    }

    /// A stored value is made in the state's own buffer if the old state is dead by then.
    fn place_states(&mut self) {
        let lives: BTreeMap<Home, Life> = self.lives.iter().map(|life| (life.home, life.clone())).collect();
        for binding in self.func.bindings() {
            let Op::StoreState { param } = binding.op else { continue };
            let home = self.merged.root(self.homes.get(binding.args[0]));
            let state = (self.func.params[param].value, 0);
            let dead = lives.get(&state).map_or(0, |l| l.last);
            let made = lives.get(&home).map_or(0, |l| l.first);
            let free = made > dead || (made == dead && self.carries(home, state, made));
            if free && !self.places.contains_key(&home) {
                self.places.insert(home, Place::Param(param));
            }
        }
    }

    /// Whether `home` is what a loop that begins then carries, and `state` its first value there and nothing else.
    fn carries(&self, home: Home, state: Home, made: Tick) -> bool {
        let begins = |binding: &&relax::Binding| {
            matches!(binding.op, Op::For { .. } | Op::While) && self.times.made[binding.out.0 as usize] == made
        };
        let Some(binding) = self.func.bindings().find(begins) else { return false };
        let mut firsts = binding.args.iter().enumerate().filter(|(_, arg)| self.homes.get(**arg) == state);
        match (firsts.next(), firsts.next()) {
            (Some((index, _)), None) => self.merged.root((binding.out, index)) == home,
            _ => false,
        }
    }

    /// Places what is left; gives the size of the workspace, and that of each memory where it is split.
    fn place_workspace(&mut self) -> Result<(IntExpr, Vec<u64>), CompileError> {
        let open: Vec<Life> = self.lives.iter().filter(|l| !self.places.contains_key(&l.home)).cloned().collect();
        let sized = open.into_iter().map(|l| self.bytes(&l).map(|bytes| (l, bytes))).collect::<Result<Vec<_>, _>>()?;
        let (fixed, symbolic): (Vec<_>, Vec<_>) = sized.into_iter().partition(|(_, b)| b.as_const().is_some());
        let size = |bytes: IntExpr| bytes.as_const().unwrap_or(0);
        let pieces: Vec<(Life, i64)> = fixed.into_iter().map(|(life, bytes)| (life, size(bytes))).collect();
        if self.pools.is_empty() {
            let start = self.place_fixed(&pieces);
            return Ok((self.place_symbolic(symbolic, start), Vec::new()));
        }
        if let Some((life, bytes)) = symbolic.first() {
            return Err(self.refuse_unbounded(life, bytes));
        }
        let pools = self.place_in_pools(&pieces);
        Ok((IntExpr::from(pools.iter().sum::<u64>() as i64), pools))
    }

    /// Bytes of a value, rounded up; the greatest number where its dims are bounded. Memory is given before the
    /// call, so a symbol that the body binds counts with its bound.
    fn bytes(&self, life: &Life) -> Result<IntExpr, CompileError> {
        let bytes = bytes_of(&life.ty, self.align);
        if bytes.as_const().is_some() {
            return Ok(bytes);
        }
        let inner = self.func.syms.iter().filter(|decl| matches!(decl.kind, SymKind::Bound(_) | SymKind::Loop(_)));
        let inner: BTreeSet<&Sym> = inner.map(|decl| &decl.sym).collect();
        let bytes = match bytes.vars().iter().any(|sym| inner.contains(sym)) {
            true => self.greatest(life, &inner)?,
            false => bytes,
        };
        Ok(match self.bounds.const_bounds(&bytes).1 {
            Some(most) => IntExpr::from(round_up(most.max(0), self.align)),
            None => bytes,
        })
    }

    fn greatest(&self, life: &Life, inner: &BTreeSet<&Sym>) -> Result<IntExpr, CompileError> {
        let mut shape = Vec::new();
        for extent in &life.ty.shape {
            let most = IntervalSet::of(extent, &self.ranges, &self.bounds).max().cloned();
            let most = most.filter(|most| most.vars().iter().all(|sym| !inner.contains(sym)));
            shape.push(most.ok_or_else(|| unbounded(self.func, life, extent))?);
        }
        Ok(bytes_of(&TensorType { dtype: life.ty.dtype, shape }, self.align))
    }

    fn place_fixed(&mut self, pieces: &[(Life, i64)]) -> i64 {
        let placed = orders::place(pieces, &self.overlaps(pieces));
        for ((life, size), offset) in pieces.iter().zip(placed.offsets) {
            let place = Place::Workspace { offset: IntExpr::from(offset), bytes: IntExpr::from(*size) };
            self.places.insert(life.home, place);
        }
        placed.end
    }

    fn place_symbolic(&mut self, mut symbolic: Vec<(Life, IntExpr)>, start: i64) -> IntExpr {
        symbolic.sort_by_key(|(life, _)| (life.first, life.home));
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

fn round_up(bytes: i64, align: i64) -> i64 {
    bytes.saturating_add(align - 1) / align * align
}

/// Bytes of a tensor, rounded up.
fn bytes_of(ty: &TensorType, align: i64) -> IntExpr {
    let size = IntExpr::from(ty.dtype.size_bytes() as i64);
    let bytes = ty.shape.iter().fold(size, |n, d| &n * d);
    let up = &bytes + &IntExpr::from(align - 1);
    &up.floor_div(&IntExpr::from(align)) * &IntExpr::from(align)
}

/// The facts of a function, as a prover.
pub(crate) fn prover(func: &relax::Function) -> Prover {
    let mut prover = Prover::new();
    call_facts(func).into_iter().for_each(|fact| prover.assume(fact));
    prover
}

fn unbounded(func: &relax::Function, life: &Life, extent: &IntExpr) -> CompileError {
    CompileError {
        kind: ErrorKind::Limit,
        loc: func.values[life.home.0.0 as usize].loc,
        message: format!("an extent, `{extent}`, is known only when the function runs, and nothing bounds it"),
        help: Some("memory is given before the call: bound the value, `minimum(n, 64)` or `clip(n, 0, 64)`".into()),
    }
}
