//! One call: its variables, its buffers, and what its statements do.

mod doubt;
mod outside;
mod overlaid;
mod stores;
pub(super) mod sums;

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::expr::shared;
use super::few::{At, Few, Lanes};
use super::forms::Forms;
use super::memory::{Cell, Memory, View};
use super::race::Waited;
use super::threads::{ThreadLoop, is_shared};
use super::{Arg, Given, Machine};
use crate::arith::{IntExpr, Sym};
use crate::eval::{Bounded, ROUNDED};
use crate::tir::{
    Access, Annotation, Block, BufId, BufUse, CallArg, Elem, Expr, ExprId, FuncKind, Intrinsic, IterKind, Launch,
    LoopKind, MatchBuffer, Param, Phase, PrimFunc, Scope, Stmt, ThreadAxis, VarId,
};
use crate::{DType, Loc, Scalar};

/// A buffer of this call.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub view: View,
    pub shape: Vec<i64>,
    pub strides: Vec<i64>,
    pub writable: bool,
}

impl Place {
    fn elements(&self) -> i64 {
        self.shape.iter().fold(1, |n: i64, d| n.saturating_mul((*d).max(0)))
    }

    /// Cells from the first to the last element.
    fn cells(&self) -> std::ops::Range<i64> {
        if self.elements() == 0 {
            return self.view.base..self.view.base;
        }
        let reach = self.shape.iter().zip(&self.strides).map(|(d, s)| (d - 1) * s);
        let (down, up) = reach.fold((0, 0), |(down, up), r| (down + r.min(0), up + r.max(0)));
        self.view.base + down * self.view.unit..self.view.base + (up + 1) * self.view.unit
    }
}

/// The value of an expression in a statement, by its number, and in a lane. No statement has the number 0.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub when: u64,
    pub lane: u16,
    pub value: Bounded,
}

pub(super) struct Frame<'a, 'm> {
    pub machine: &'a mut Machine<'m>,
    pub func: &'m PrimFunc,
    /// What the thread that runs holds.
    pub state: State,
    syms: HashMap<Sym, VarId>,
    /// The workspace, or its memories.
    workspaces: Vec<View>,
    /// The last value of each expression that is asked for more than once.
    pub memo: Vec<Known>,
    /// Which these are.
    pub shared: Vec<bool>,
    /// What indices are sums of.
    pub forms: Forms,
    pub now: u64,
    /// The lanes of a store, between stores empty.
    writes: Vec<stores::Write>,
    /// Operands that results of this call lie over.
    overlaid: overlaid::Overlaid,
    /// How many loops around accumulate in any order.
    pub reductions: u32,
    /// The statement that runs, and its place in the source.
    current: Option<&'m Stmt>,
    pub loc: Loc,
    /// Whether threads have to go through a statement together, as far as somebody asked.
    pub waiting: HashMap<*const Stmt, bool>,
}

/// What each thread has of its own.
#[derive(Clone)]
pub(super) struct State {
    /// Lanes of each variable that is bound.
    pub vars: Vec<Lanes>,
    /// Where buffers are.
    pub places: Vec<Option<Rc<Place>>>,
    /// Memories of allocations, which a loop uses again.
    pub allocated: HashMap<BufId, View>,
    /// The shared memory of the block in which buffers have places.
    pub dynamic: Option<View>,
    /// How many phases of an `mbarrier` had ended when the thread last waited for it.
    pub waited: BTreeMap<(usize, i64), u64>,
    /// What came before those ends of phases.
    pub before: Waited,
}

impl<'a, 'm> Frame<'a, 'm> {
    pub(super) fn enter(machine: &'a mut Machine<'m>, func: &'m PrimFunc, given: &[Given]) -> Result<Self, String> {
        let syms = func.vars.iter().enumerate().map(|(i, v)| (v.sym.clone(), VarId(i as u32))).collect();
        let mut frame = Frame {
            machine,
            func,
            state: State {
                vars: vec![Lanes::default(); func.vars.len()],
                places: vec![None; func.buffers.len()],
                allocated: HashMap::new(),
                dynamic: None,
                waited: BTreeMap::new(),
                before: Waited::default(),
            },
            syms,
            workspaces: Vec::new(),
            memo: vec![Known { when: 0, lane: 0, value: Bounded::index(0) }; func.exprs.len()],
            shared: shared(func),
            forms: Forms::new(func),
            now: 1,
            writes: Vec::new(),
            overlaid: overlaid::Overlaid::default(),
            reductions: 0,
            current: None,
            loc: func.loc,
            waiting: HashMap::new(),
        };
        for (param, given) in func.params.iter().zip(given) {
            match (param, given) {
                (Param::Value(var), Given::Value(value)) => frame.state.vars[var.0 as usize] = Lanes::one(*value),
                (Param::Workspace, Given::View(view)) => frame.workspaces.push(*view),
                (Param::Buffer(..), Given::View(_)) => {}
                _ => return Err(format!("`{}`: an argument of another kind for {param:?}", func.name)),
            }
        }
        for (param, given) in func.params.iter().zip(given) {
            if let (Param::Buffer(buf, usage), Given::View(view)) = (param, given) {
                frame.bind_param(*buf, *usage, *view)?;
            }
        }
        frame.check_overlap()?;
        frame.clear_results();
        frame.check_facts()?;
        Ok(frame)
    }

    pub(super) fn run(&mut self) -> Result<(), String> {
        let func = self.func;
        self.stmt(&func.body)?;
        for param in &func.params {
            if let Param::Buffer(buf, BufUse::Out) = param {
                self.check_written(*buf)?;
            }
        }
        Ok(())
    }

    fn bind_param(&mut self, buf: BufId, usage: BufUse, view: View) -> Result<(), String> {
        let mut place = self.place_at(buf, view)?;
        place.writable = usage != BufUse::In;
        let data = &self.func.buffers[buf.0 as usize];
        let (name, memory) = (&data.name, &self.machine.memories[view.memory]);
        if data.strides.as_ref().is_some_and(|strides| strides.len() != place.shape.len()) {
            // Flat: its strides are in the indices by now, which may reach everything that was given.
            place.shape = vec![(memory.len() - view.base) / view.unit];
        }
        let cells = place.cells();
        if cells.start < 0 || cells.end > memory.len() {
            let found = memory.len();
            return Err(format!("`{name}` needs cells {cells:?}, its argument has {found}"));
        }
        self.state.places[buf.0 as usize] = Some(Rc::new(place));
        Ok(())
    }

    fn check_facts(&self) -> Result<(), String> {
        for fact in &self.func.facts {
            if fact.eval(&|sym| self.sym(sym)) == Some(false) {
                return Err(format!("the fact `{fact}` does not hold"));
            }
        }
        Ok(())
    }

    fn check_written(&self, buf: BufId) -> Result<(), String> {
        let Some(place) = &self.state.places[buf.0 as usize] else { return Ok(()) };
        let data = &self.func.buffers[buf.0 as usize];
        let memory = &self.machine.memories[place.view.memory];
        for n in 0..place.elements() {
            let (mut rest, mut at) = (n, place.view.base);
            for (d, s) in place.shape.iter().zip(&place.strides).rev() {
                at += rest % d * s * place.view.unit;
                rest /= d;
            }
            if memory.get(at, data.dtype).is_none() {
                return Err(format!("element {n} of output `{}` was not written", data.name));
            }
        }
        Ok(())
    }

    fn sym(&self, sym: &Sym) -> Option<i64> {
        let var = self.syms.get(sym)?;
        let value = self.state.vars[var.0 as usize].at(0)?;
        i64::try_from(value.value.to_i128()).ok()
    }

    pub(super) fn int(&self, e: &IntExpr) -> Result<i64, String> {
        e.eval(&|sym| self.sym(sym)).ok_or_else(|| format!("`{e}` has no value here"))
    }

    fn place_at(&mut self, buf: BufId, view: View) -> Result<Place, String> {
        let data = &self.func.buffers[buf.0 as usize];
        let shape = data.shape.iter().map(|d| self.int(d)).collect::<Result<Vec<_>, _>>()?;
        let strides = match &data.strides {
            Some(strides) if strides.len() == shape.len() => {
                strides.iter().map(|s| self.int(s)).collect::<Result<Vec<_>, _>>()?
            }
            Some(_) | None => row_major(&shape),
        };
        Ok(Place { view, shape, strides, writable: true })
    }

    /// The place of a buffer; of constants and parts of the workspace it is found at their first use.
    pub(super) fn place(&mut self, buf: BufId) -> Result<Rc<Place>, String> {
        if let Some(place) = &self.state.places[buf.0 as usize] {
            return Ok(place.clone());
        }
        let data = &self.func.buffers[buf.0 as usize];
        let view = match data.scope {
            Scope::Const(id) => self.machine.constant(id)?,
            Scope::Workspace => self.in_workspace(buf)?,
            Scope::Param
            | Scope::Global
            | Scope::Local
            | Scope::Shared
            | Scope::SharedDyn
            | Scope::Warp
            | Scope::View => {
                return Err(format!("`{}` is used outside its `alloc`", data.name));
            }
        };
        let mut place = self.place_at(buf, view)?;
        place.writable = !matches!(data.scope, Scope::Const(_));
        let (cells, memory) = (place.cells(), self.machine.memories[view.memory].len());
        if cells.end > memory {
            return Err(format!("`{}` ends at {}, its memory at {memory}", data.name, cells.end));
        }
        let place = Rc::new(place);
        self.state.places[buf.0 as usize] = Some(place.clone());
        Ok(place)
    }

    fn in_workspace(&mut self, buf: BufId) -> Result<View, String> {
        let data = &self.func.buffers[buf.0 as usize];
        let offset = data.offset.as_ref().ok_or_else(|| format!("`{}` has no offset", data.name))?;
        let (pool, offset) = self.func.in_pool(offset);
        let whole = *self.workspaces.get(pool).ok_or("there is no workspace parameter")?;
        let offset = self.int(&offset)?;
        if offset < 0 || offset % data.dtype.size_bytes() as i64 != 0 {
            return Err(format!("offset {offset} of `{}` is negative or not aligned", data.name));
        }
        Ok(View { memory: whole.memory, base: whole.base + offset, unit: data.dtype.size_bytes() as i64 })
    }

    /// The cell of an element, once its index is known to lie inside.
    pub(super) fn cell(&mut self, buf: BufId, index: &[i64], access: Access) -> Result<(View, i64), String> {
        if self.state.places[buf.0 as usize].is_none() {
            self.place(buf)?;
        }
        let name = &self.func.buffers[buf.0 as usize].name;
        let Some(place) = self.state.places[buf.0 as usize].as_deref() else {
            return Err(format!("`{name}` has no place"));
        };
        if index.len() != place.shape.len() {
            return Err(format!("{} indices for `{name}` of rank {}", index.len(), place.shape.len()));
        }
        let flat_view = self.func.phase >= Phase::Flat && self.func.buffers[buf.0 as usize].strides.is_some();
        if flat_view {
            // The extent of a flat strided buffer counts elements, not the gaps between them.
            let at = place.view.base + index.first().copied().unwrap_or(0) * place.view.unit;
            let len = self.machine.memories[place.view.memory].len();
            return if (0..len).contains(&at) { Ok((place.view, at)) } else { Err(outside(name, 0, index[0], len)) };
        }
        let mut at = place.view.base;
        for (axis, ((i, extent), stride)) in index.iter().zip(&place.shape).zip(&place.strides).enumerate() {
            if !(0..*extent).contains(i) {
                let vouched = if access == Access::Unchecked { ", though it was vouched for" } else { "" };
                return Err(outside(name, axis, *i, *extent) + vouched);
            }
            at += i * stride * place.view.unit;
        }
        Ok((place.view, at))
    }

    // Statements.

    pub(super) fn stmt(&mut self, stmt: &'m Stmt) -> Result<(), String> {
        self.now += 1;
        self.current = Some(stmt);
        self.machine.left = self.machine.left.checked_sub(1).ok_or("too many steps")?;
        match stmt {
            Stmt::Seq(all) => all.iter().try_for_each(|s| self.stmt(s)),
            Stmt::For { var, min, extent, kind, body, annotations } => {
                // What threads accumulate together is combined in some order.
                let kind = if annotations.contains(&Annotation::CrossThread) { LoopKind::Reduction } else { *kind };
                self.for_loop(ThreadLoop { var: *var, min: *min, extent: *extent, kind, body })
            }
            Stmt::While { cond, body } => loop {
                self.now += 1;
                let cond = self.expr(*cond, 0)?;
                if !cond.is_exact() {
                    self.spoil(body)?;
                }
                if cond.value.bits == 0 {
                    return Ok(());
                }
                self.stmt(body)?;
            },
            Stmt::If { cond, then, otherwise } => self.branch(*cond, then, otherwise.as_deref()),
            Stmt::Let { var, value, body } => {
                self.bind(*var, *value)?;
                self.stmt(body)
            }
            Stmt::Alloc { buf, body } => self.alloc(*buf, body),
            Stmt::Store { buf, index, value, access } => self.store(*buf, index, *value, *access),
            Stmt::Block(block) => self.block(block),
            Stmt::Evaluate(e) => self.expr(*e, 0).map(|_| ()),
            Stmt::Call { func, args, launch: Some(Launch::Threads { turns, .. }) } => self.parts(func, args, *turns),
            Stmt::Call { func, args, launch: Some(Launch::Grid { .. }) | None } => self.call(func, args, &[]),
            Stmt::Barrier(barrier) if self.machine.races.in_threads() => {
                self.arrive(*barrier);
                Ok(())
            }
            Stmt::Barrier(_) => Err("a barrier outside of threads".into()),
            Stmt::Assert { cond, text } => self.check(*cond, text),
            Stmt::Prefetch { index, .. } => self.index(index, 0).map(|_| ()),
            Stmt::At(loc, body) => {
                let before = std::mem::replace(&mut self.loc, *loc);
                let result = self.stmt(body);
                self.loc = before;
                result
            }
        }
    }

    fn for_loop(&mut self, it: ThreadLoop<'m>) -> Result<(), String> {
        let ThreadLoop { var, min, extent, kind, body } = it;
        if matches!(kind, LoopKind::ThreadBound(ThreadAxis::Thread(_)) | LoopKind::VThread) && self.waits(body) {
            return self.team(it);
        }
        let (first, count) = (self.expr(min, 0)?, self.expr(extent, 0)?);
        let any_order = kind == LoopKind::Reduction;
        self.reductions += u32::from(any_order);
        let step = self.machine.races.enter(kind);
        for i in 0..count.value.to_i128().max(0) {
            self.state.vars[var.0 as usize] = Lanes::one(self.counter(var, (first.value.to_i128() + i) as i64));
            self.machine.races.push(&step, i as i64);
            self.stmt(body)?;
            self.machine.races.pop(&step);
        }
        self.machine.races.settle()?;
        self.reductions -= u32::from(any_order);
        if first.is_exact() && count.is_exact() { Ok(()) } else { self.spoil(body) }
    }

    /// The value of an integer expression.
    pub(super) fn int_of(&mut self, e: ExprId) -> Result<i64, String> {
        let value = self.expr(e, 0)?;
        if !self.is_told(value) {
            return Err(format!("a number of iterations {ROUNDED}"));
        }
        i64::try_from(value.value.to_i128()).map_err(|_| "a value does not fit 64 bits".into())
    }

    /// The value of a condition that does not depend on rounding.
    pub(super) fn sure(&mut self, cond: ExprId) -> Result<bool, String> {
        let cond = self.expr(cond, 0)?;
        if self.is_told(cond) { Ok(cond.value.bits != 0) } else { Err(format!("a condition {ROUNDED}")) }
    }

    /// Whether a value may decide what happens: every implementation has it, or errors do not count.
    fn is_told(&self, value: Bounded) -> bool {
        value.is_exact() || self.func.phase == Phase::Target
    }

    /// A read or write of a cell by the statement that runs.
    pub(super) fn touch(&mut self, buf: BufId, index: &[i64], at: (View, i64), write: bool) -> Result<(), String> {
        if !self.is_there(buf, at, write)? {
            let name = &self.func.buffers[buf.0 as usize].name;
            return Err(format!("`{name}`{index:?} is read after a result was written over it"));
        }
        let Some(stmt) = self.current else { return Ok(()) };
        let shared = is_shared(self.func.buffers[buf.0 as usize].scope);
        let (cell, here) = ((at.0.memory, at.1), (self.func, stmt, self.loc));
        let touched = self.machine.races.touch(cell, (write, shared), here, &self.state.before);
        touched.map_err(|both| {
            let name = &self.func.buffers[buf.0 as usize].name;
            format!("a race on `{name}`{index:?}: {both}")
        })
    }

    fn check(&mut self, cond: ExprId, text: &str) -> Result<(), String> {
        let cond = self.expr(cond, 0)?;
        if !self.is_told(cond) {
            return Err(format!("whether `{text}` holds {ROUNDED}"));
        }
        if cond.value.bits == 0 { Err(format!("the check `{text}` does not hold")) } else { Ok(()) }
    }

    fn branch(&mut self, cond: ExprId, then: &'m Stmt, otherwise: Option<&'m Stmt>) -> Result<(), String> {
        let cond = self.expr(cond, 0)?;
        let taken = if cond.value.bits != 0 { Some(then) } else { otherwise };
        if let Some(taken) = taken {
            self.stmt(taken)?;
        }
        if cond.is_exact() {
            return Ok(());
        }
        self.spoil(then)?;
        otherwise.map_or(Ok(()), |other| self.spoil(other))
    }

    pub(super) fn bind(&mut self, var: VarId, value: ExprId) -> Result<(), String> {
        let lanes = self.func.exprs.ty(value).lanes;
        let values = (0..lanes).map(|lane| self.expr(value, lane)).collect::<Result<Lanes, _>>()?;
        self.state.vars[var.0 as usize] = values;
        Ok(())
    }

    fn alloc(&mut self, buf: BufId, body: &'m Stmt) -> Result<(), String> {
        self.allocate(buf)?;
        let result = self.stmt(body);
        self.state.places[buf.0 as usize] = None;
        result
    }

    pub(super) fn allocate(&mut self, buf: BufId) -> Result<(), String> {
        let unplaced = View { memory: 0, base: 0, unit: 1 };
        let place = self.place_at(buf, unplaced)?;
        let elements = usize::try_from(place.cells().end).unwrap_or(0);
        if elements > 1 << 28 {
            return Err(format!("`{}` has {elements} elements", self.func.buffers[buf.0 as usize].name));
        }
        if let (Scope::SharedDyn, Some(offset)) =
            (self.func.buffers[buf.0 as usize].scope, &self.func.buffers[buf.0 as usize].offset)
        {
            return self.place_in_block(buf, place, self.int(offset)?);
        }
        let memory = Memory::of(vec![None; elements]);
        let view = match self.state.allocated.get(&buf) {
            Some(view) => {
                self.machine.memories[view.memory] = memory;
                // Shared memory is the same each time; what threads did to it before may still go on.
                if !is_shared(self.func.buffers[buf.0 as usize].scope) {
                    self.machine.races.forget(view.memory);
                }
                *view
            }
            None => self.machine.add(memory),
        };
        if !is_shared(self.func.buffers[buf.0 as usize].scope) {
            self.machine.races.allocated(view.memory);
        }
        self.state.allocated.insert(buf, view);
        self.state.places[buf.0 as usize] = Some(Rc::new(Place { view, ..place }));
        Ok(())
    }

    /// A buffer of the shared memory of a block, at a place of its own.
    fn place_in_block(&mut self, buf: BufId, place: Place, offset: i64) -> Result<(), String> {
        let mut bytes = 0;
        for data in self.func.buffers.iter().filter(|b| b.scope == Scope::SharedDyn) {
            let size =
                data.shape.iter().map(|d| self.int(d)).try_fold(1, |n: i64, d| Ok::<_, String>(n * d?.max(0)))?;
            let at = data.offset.as_ref().map_or(Ok(0), |o| self.int(o))?;
            bytes = bytes.max(at.saturating_add(size.saturating_mul(data.dtype.size_bytes() as i64)));
        }
        let whole = match self.state.dynamic {
            Some(view) => view,
            None if bytes > 1 << 28 => return Err(format!("{bytes} bytes of shared memory")),
            None => self.machine.add(Memory::workspace(usize::try_from(bytes).unwrap_or(0))),
        };
        self.state.dynamic = Some(whole);
        let unit = self.func.buffers[buf.0 as usize].dtype.size_bytes() as i64;
        let place = Place { view: View { memory: whole.memory, base: offset, unit }, ..place };
        self.machine.memories[whole.memory].clear(place.cells());
        self.state.places[buf.0 as usize] = Some(Rc::new(place));
        Ok(())
    }

    /// Binds a block's iterators: whether it starts its reductions, `None` if its predicate does not hold.
    pub(super) fn enter_block(&mut self, block: &'m Block) -> Result<Option<bool>, String> {
        let mut values = Few::of(Bounded::index(0), block.iters.len());
        for (value, iter) in values.iter_mut().zip(&block.iters) {
            *value = self.expr(iter.value, 0)?;
        }
        let mut start = true;
        for (iter, value) in block.iters.iter().zip(values.iter().copied()) {
            let extent = self.expr(iter.extent, 0)?.value.to_i128();
            let i = value.value.to_i128();
            start &= iter.kind != IterKind::Reduce || i == 0;
            self.state.vars[iter.var.0 as usize] = Lanes::one(value);
            if block.predicate.is_none() && !(0..extent).contains(&i) {
                let name = &self.func.vars[iter.var.0 as usize].sym;
                return Err(format!("iterator `{name}` of block `{}` is {i}, outside 0..{extent}", block.name));
            }
        }
        self.now += 1;
        if let Some(cond) = block.predicate
            && self.expr(cond, 0)?.value.bits == 0
        {
            return Ok(None);
        }
        Ok(Some(start))
    }

    fn block(&mut self, block: &'m Block) -> Result<(), String> {
        let Some(start) = self.enter_block(block)? else { return Ok(()) };
        block.allocs.iter().try_for_each(|buf| self.allocate(*buf))?;
        block.matches.iter().try_for_each(|m| self.match_buffer(m))?;
        if let Some(init) = block.init.as_ref().filter(|_| start) {
            self.stmt(init)?;
        }
        let any_order = block.iters.iter().any(|i| i.kind == IterKind::Reduce);
        self.reductions += u32::from(any_order);
        let result = self.stmt(&block.body);
        self.reductions -= u32::from(any_order);
        let gone = block.allocs.iter().copied().chain(block.matches.iter().map(|m| m.view));
        gone.for_each(|buf| self.state.places[buf.0 as usize] = None);
        result
    }

    /// A view of a region that lies inside, with the distances of what it views.
    pub(super) fn match_buffer(&mut self, m: &MatchBuffer) -> Result<(), String> {
        let whole = self.place(m.region.buf)?;
        let (name, mut base) = (&self.func.buffers[m.region.buf.0 as usize].name, whole.view.base);
        for (axis, (begin, extent)) in m.region.ranges.iter().enumerate() {
            let (begin, extent) = (self.expr(*begin, 0)?, self.expr(*extent, 0)?);
            let (begin, extent) = (begin.value.to_i128() as i64, extent.value.to_i128() as i64);
            let (Some(limit), Some(stride)) = (whole.shape.get(axis), whole.strides.get(axis)) else {
                return Err(format!("{} ranges for `{name}`", m.region.ranges.len()));
            };
            if begin < 0 || begin.saturating_add(extent) > *limit {
                return Err(format!("the view of `{name}` ends at {}, axis {axis} at {limit}", begin + extent));
            }
            base += begin * stride * whole.view.unit;
        }
        let mut place = self.place_at(m.view, View { base, ..whole.view })?;
        let skipped = whole.strides.len().saturating_sub(place.shape.len());
        place.strides = whole.strides[skipped..].to_vec();
        place.writable = whole.writable;
        for ((_, extent), own) in m.region.ranges.iter().skip(skipped).zip(place.shape.clone()) {
            if self.expr(*extent, 0)?.value.to_i128() != i128::from(own) {
                let view = &self.func.buffers[m.view.0 as usize].name;
                return Err(format!("`{view}` has another shape than what it views"));
            }
        }
        self.state.places[m.view.0 as usize] = Some(Rc::new(place));
        Ok(())
    }

    /// Parts of a loop, the last one first: whoever relies on their order is found.
    fn parts(&mut self, name: &str, args: &'m [CallArg], turns: ExprId) -> Result<(), String> {
        let count = self.expr(turns, 0)?;
        let turns = i64::try_from(count.value.to_i128()).map_err(|_| "a value does not fit 64 bits")?;
        let parts = turns.clamp(1, 3);
        for part in (0..parts).rev() {
            let (begin, end) = (turns * part / parts, turns * (part + 1) / parts);
            self.call(name, args, &[begin, end - begin])?;
        }
        if count.is_exact() {
            return Ok(());
        }
        self.results(name, args).into_iter().try_for_each(|buf| self.spoil_buffer(buf))
    }

    /// Calls with the arguments, then the indices `more`.
    fn call(&mut self, name: &str, args: &'m [CallArg], more: &[i64]) -> Result<(), String> {
        let callee = self.machine.module.prim(name).ok_or_else(|| format!("there is no prim-func `{name}`"))?;
        let mut given = Vec::with_capacity(args.len());
        for arg in args {
            given.push(match arg {
                CallArg::Buffer(buf) => Given::View(self.place(*buf)?.view),
                CallArg::Value(e) => Given::Value(self.expr(*e, 0)?),
            });
        }
        let index = |n: &i64| Given::Value(Bounded::exact(Scalar::int(DType::I64, (*n).into())));
        given.extend(more.iter().map(index));
        if given.len() != callee.params.len() {
            return Err(format!("`{name}` takes {} arguments, found {}", callee.params.len(), given.len()));
        }
        if callee.kind == FuncKind::Extern {
            return self.call_outside(callee, args, &given);
        }
        for (arg, param) in args.iter().zip(&callee.params) {
            if let (CallArg::Buffer(buf), Param::Buffer(_, BufUse::Out | BufUse::InOut)) = (arg, param)
                && !self.place(*buf)?.writable
            {
                let name = &self.func.buffers[buf.0 as usize].name;
                return Err(format!("`{name}` is passed to be written, which is not writable"));
            }
        }
        self.machine.call(callee, &given)
    }

    /// The value of an index that is found without walking it.
    pub(super) fn known_index(&mut self, id: ExprId, lane: u16) -> Option<i64> {
        self.forms.value(self.func, &self.state.vars, id, lane)
    }

    /// Values of indices, and whether they are surely those.
    pub(super) fn index(&mut self, index: &[ExprId], lane: u16) -> Result<(At, bool), String> {
        let mut sure = true;
        let mut at = At::of(0, index.len());
        for (axis, i) in at.iter_mut().zip(index) {
            if let Some(known) = self.known_index(*i, lane) {
                *axis = known;
                continue;
            }
            let value = self.expr(*i, lane)?;
            sure &= value.is_exact();
            *axis = i64::try_from(value.value.to_i128()).map_err(|_| "an index does not fit 64 bits")?;
        }
        Ok((at, sure))
    }

    pub(super) fn elem_dtype(elem: Elem) -> DType {
        match elem {
            Elem::Scalar(dtype) => dtype,
            Elem::Index => DType::I64,
        }
    }
}

fn outside(name: &str, axis: usize, i: i64, extent: i64) -> String {
    format!("index {i} of axis {axis} of `{name}` is outside 0..{extent}")
}

fn row_major(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].max(0);
    }
    strides
}
