//! Threads that wait for each other: a statement with a barrier in it is run for all of them before the next one.
//!
//! What has no barrier inside runs thread by thread, which any order of independent threads allows.

use std::rc::Rc;

use super::few::Lanes;
use super::frame::{Frame, Place, State};
use super::groups::of_group;
use super::race::{Step, Steps};
use super::warps::of_warp;
use crate::Scalar;
use crate::eval::Bounded;
use crate::tir::{Barrier, Block, BufId, ExprId, LoopKind, Scope, Stmt, ThreadAxis, VarId};

/// What one thread holds while others run.
#[derive(Clone)]
pub(super) struct Thread {
    state: State,
    steps: Steps,
    /// Its place among those that its loop made.
    number: usize,
    /// The virtual threads around, which share no memory that is allocated inside of them.
    group: Vec<i64>,
}

impl Thread {
    /// The iterations around it.
    pub(super) fn steps(&self) -> Steps {
        self.steps.clone()
    }

    /// Its number along x.
    pub(super) fn along_x(&self) -> Option<i64> {
        self.steps.iter().find_map(Step::along_x)
    }
}

/// Whether threads have to go through a statement together.
fn waits(func: &crate::tir::PrimFunc, stmt: &Stmt) -> bool {
    let shared = |buf: &BufId| func.buffers.get(buf.0 as usize).is_some_and(|b| is_shared(b.scope));
    let meet = |s: &Stmt| of_warp(func, s).is_some() || of_group(func, s).is_some();
    stmt.any(&mut |s| matches!(s, Stmt::Barrier(_)) || s.allocates().iter().any(shared) || meet(s))
}

/// Whether the threads of a block have one of it.
pub(super) fn is_shared(scope: Scope) -> bool {
    match scope {
        Scope::Shared | Scope::SharedDyn | Scope::Warp => true,
        Scope::Param | Scope::Global | Scope::Local | Scope::View | Scope::Const(_) | Scope::Workspace => false,
    }
}

/// A loop over threads.
#[derive(Clone, Copy)]
pub(super) struct ThreadLoop<'m> {
    pub var: VarId,
    pub min: ExprId,
    pub extent: ExprId,
    pub kind: LoopKind,
    pub body: &'m Stmt,
}

/// The threads that run, and how many have to meet at a barrier.
struct Team {
    threads: Vec<Thread>,
    full: usize,
}

impl Team {
    /// Takes the threads that are picked, until they are merged again.
    fn part(&mut self, picked: &[bool]) -> Team {
        if picked.iter().all(|picked| *picked) {
            return Team { threads: std::mem::take(&mut self.threads), full: self.full };
        }
        let mut part = Team { threads: Vec::new(), full: self.full };
        let mut rest = Vec::with_capacity(self.threads.len());
        for (thread, picked) in self.threads.drain(..).zip(picked) {
            if *picked { &mut part.threads } else { &mut rest }.push(thread);
        }
        self.threads = rest;
        part
    }

    /// Threads that went their own way are back.
    fn merge(&mut self, mut back: Team) {
        if self.threads.is_empty() {
            self.threads = back.threads;
        } else if !back.threads.is_empty() {
            self.threads.append(&mut back.threads);
            // Of two runs in order.
            self.threads.sort_by_key(|thread| thread.number);
        }
    }
}

impl<'m> Frame<'_, 'm> {
    /// Runs a loop over threads that wait for each other.
    pub(super) fn team(&mut self, it: ThreadLoop<'m>) -> Result<(), String> {
        let steps = self.machine.races.steps();
        let one = Thread { state: self.state.clone(), steps, number: 0, group: Vec::new() };
        let mut one = Team { threads: vec![one], full: 1 };
        self.spread(it, &mut one)?;
        let first = one.threads.swap_remove(0);
        self.machine.races.resume(&first.steps);
        self.now += 1;
        if !self.machine.products.is_empty() {
            return Err("a product of a warpgroup that nobody waits for".into());
        }
        self.all_landed()?;
        self.machine.races.settle()
    }

    /// Every thread becomes as many as the loop has iterations.
    fn spread(&mut self, it: ThreadLoop<'m>, team: &mut Team) -> Result<(), String> {
        let mut all = Vec::new();
        for thread in &mut team.threads {
            let (first, count) = self.within(thread, |f| Ok((f.int_of(it.min)?, f.int_of(it.extent)?)))?;
            let Some(step) = self.machine.races.enter(it.kind) else { return Err("a loop without threads".into()) };
            let step = Some(step);
            for i in first..first.saturating_add(count.max(0)) {
                let mut one = thread.clone();
                self.machine.races.resume(&thread.steps);
                self.machine.races.push(&step, i - first);
                (one.steps, one.number) = (self.machine.races.steps(), all.len());
                one.state.vars[it.var.0 as usize] = Lanes::one(Bounded::index(i));
                if it.kind == LoopKind::VThread {
                    one.group.push(i);
                }
                all.push(one);
            }
        }
        let mut inner = Team { full: all.len(), threads: all };
        self.together(it.body, &mut inner)
    }

    /// Runs `f` as one of the threads.
    pub(super) fn within<R>(
        &mut self,
        thread: &mut Thread,
        f: impl FnOnce(&mut Self) -> Result<R, String>,
    ) -> Result<R, String> {
        std::mem::swap(&mut self.state, &mut thread.state);
        self.machine.races.resume(&thread.steps);
        self.now += 1;
        let result = f(self);
        std::mem::swap(&mut self.state, &mut thread.state);
        result
    }

    /// Whether threads have to go through a statement of this function together, for which all of it is looked at once.
    pub(super) fn waits(&mut self, stmt: &'m Stmt) -> bool {
        let func = self.func;
        *self.waiting.entry(std::ptr::from_ref(stmt)).or_insert_with(|| waits(func, stmt))
    }

    /// Runs a statement for all threads.
    fn together(&mut self, stmt: &'m Stmt, team: &mut Team) -> Result<(), String> {
        if !self.waits(stmt) {
            return team.threads.iter_mut().try_for_each(|t| self.within(t, |f| f.stmt(stmt)));
        }
        match stmt {
            Stmt::Seq(all) => all.iter().try_for_each(|s| self.together(s, team)),
            Stmt::For { var, min, extent, kind, body, annotations: _ } => {
                self.team_loop(ThreadLoop { var: *var, min: *min, extent: *extent, kind: *kind, body }, team)
            }
            Stmt::While { cond, body } => loop {
                let mut on = self.where_(team, *cond)?;
                if on.threads.is_empty() {
                    return Ok(());
                }
                self.together(body, &mut on)?;
                team.merge(on);
            },
            Stmt::If { cond, then, otherwise } => {
                let mut yes = self.where_(team, *cond)?;
                if !yes.threads.is_empty() {
                    self.together(then, &mut yes)?;
                }
                if let Some(other) = otherwise.as_deref().filter(|_| !team.threads.is_empty()) {
                    self.together(other, team)?;
                }
                team.merge(yes);
                Ok(())
            }
            Stmt::Let { var, value, body } => {
                team.threads.iter_mut().try_for_each(|t| self.within(t, |f| f.bind(*var, *value)))?;
                self.together(body, team)
            }
            Stmt::Alloc { buf, body } => {
                self.allocate_for(*buf, team)?;
                self.together(body, team)?;
                team.threads.iter_mut().for_each(|t| t.state.places[buf.0 as usize] = None);
                Ok(())
            }
            Stmt::Block(block) => self.team_block(block, team),
            Stmt::Barrier(barrier) => self.meet(*barrier, team),
            Stmt::At(loc, body) => {
                let before = std::mem::replace(&mut self.loc, *loc);
                let result = self.together(body, team);
                self.loc = before;
                result
            }
            Stmt::Store { .. } => match (of_warp(self.func, stmt), of_group(self.func, stmt)) {
                (Some(of), _) => self.warps(stmt, of, &mut team.threads),
                (None, Some(of)) => {
                    self.all_of(team, &format!("`{}`", of.0.name()))?;
                    self.group(stmt, of, &mut team.threads)
                }
                (None, None) => team.threads.iter_mut().try_for_each(|t| self.within(t, |f| f.stmt(stmt))),
            },
            Stmt::Evaluate(_) | Stmt::Call { .. } | Stmt::Assert { .. } | Stmt::Prefetch { .. } => {
                team.threads.iter_mut().try_for_each(|t| self.within(t, |f| f.stmt(stmt)))
            }
        }
    }

    fn meet(&mut self, barrier: Barrier, team: &Team) -> Result<(), String> {
        self.all_of(team, "a barrier")?;
        self.arrive(barrier);
        Ok(())
    }

    /// That all threads reach what they do together.
    fn all_of(&self, team: &Team, what: &str) -> Result<(), String> {
        let (here, all) = (team.threads.len(), team.full);
        if here == all { Ok(()) } else { Err(format!("{what} that {here} of {all} threads reach")) }
    }

    /// Takes the threads for which a condition holds.
    fn where_(&mut self, team: &mut Team, cond: ExprId) -> Result<Team, String> {
        let mut picked = Vec::with_capacity(team.threads.len());
        for thread in &mut team.threads {
            picked.push(self.within(thread, |f| f.sure(cond))?);
        }
        Ok(team.part(&picked))
    }

    /// A value of a loop's variable, in the type that the loop counts in.
    pub(super) fn counter(&self, var: VarId, value: i64) -> Bounded {
        let dtype = Self::elem_dtype(self.func.vars[var.0 as usize].ty.elem);
        Bounded::exact(Scalar::int(dtype, value.into()))
    }

    fn team_loop(&mut self, it: ThreadLoop<'m>, team: &mut Team) -> Result<(), String> {
        match it.kind {
            LoopKind::ThreadBound(ThreadAxis::Thread(_)) | LoopKind::VThread => return self.spread(it, team),
            LoopKind::ThreadBound(ThreadAxis::Block(_)) => return Err("thread blocks inside of a thread".into()),
            LoopKind::Parallel | LoopKind::Vectorized => {
                return Err("a barrier or shared memory in a loop whose iterations are no threads".into());
            }
            LoopKind::Serial | LoopKind::Reduction | LoopKind::Unrolled => {}
        }
        let mut ends = Vec::new();
        for thread in &mut team.threads {
            ends.push(self.within(thread, |f| Ok((f.int_of(it.min)?, f.int_of(it.extent)?)))?);
        }
        let turns = ends.iter().map(|(_, count)| *count).max().unwrap_or(0);
        let any_order = u32::from(it.kind == LoopKind::Reduction);
        self.reductions += any_order;
        for turn in 0..turns {
            let runs: Vec<bool> = ends.iter().map(|(_, count)| turn < *count).collect();
            for (thread, (first, count)) in team.threads.iter_mut().zip(&ends) {
                if turn < *count {
                    thread.state.vars[it.var.0 as usize] = Lanes::one(self.counter(it.var, first + turn));
                }
            }
            let mut on = team.part(&runs);
            self.together(it.body, &mut on)?;
            team.merge(on);
        }
        self.reductions -= any_order;
        Ok(())
    }

    /// Shared memory is one for all threads of a group, other memory each thread's own.
    fn allocate_for(&mut self, buf: BufId, team: &mut Team) -> Result<(), String> {
        let shared = is_shared(self.func.buffers[buf.0 as usize].scope);
        let mut made: Vec<(Vec<i64>, Option<Rc<Place>>)> = Vec::new();
        for thread in &mut team.threads {
            if let Some((_, place)) = made.iter().find(|(group, _)| shared && *group == thread.group) {
                thread.state.places[buf.0 as usize].clone_from(place);
                continue;
            }
            self.within(thread, |f| f.allocate(buf))?;
            if shared {
                made.push((thread.group.clone(), thread.state.places[buf.0 as usize].clone()));
            }
        }
        Ok(())
    }

    fn team_block(&mut self, block: &'m Block, team: &mut Team) -> Result<(), String> {
        let mut starts = Vec::with_capacity(team.threads.len());
        for thread in &mut team.threads {
            starts.push(self.within(thread, |f| f.enter_block(block))?);
        }
        let mut on = team.part(&starts.iter().map(Option::is_some).collect::<Vec<bool>>());
        block.allocs.iter().try_for_each(|buf| self.allocate_for(*buf, &mut on))?;
        for m in &block.matches {
            on.threads.iter_mut().try_for_each(|t| self.within(t, |f| f.match_buffer(m)))?;
        }
        if let Some(init) = &block.init {
            let mut first = on.part(&starts.into_iter().flatten().collect::<Vec<bool>>());
            self.together(init, &mut first)?;
            on.merge(first);
        }
        let any_order = u32::from(block.iters.iter().any(|i| i.kind == crate::tir::IterKind::Reduce));
        self.reductions += any_order;
        self.together(&block.body, &mut on)?;
        self.reductions -= any_order;
        for buf in Stmt::allocates_of(block) {
            on.threads.iter_mut().for_each(|t| t.state.places[buf.0 as usize] = None);
        }
        team.merge(on);
        Ok(())
    }
}
