//! How often a call touches the memory of each value: what decides which of several memories it lies in.

use std::collections::BTreeMap;

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::relax::{Binding, BindingBlock, Op};
use tenfold_ir::tir::{BufId, BufUse, Param, PrimFunc, Stmt, Viewer, own_accesses};

use super::Planner;
use crate::homes::Home;

/// Bytes that are read and written.
pub(super) type Heat = BTreeMap<Home, u64>;

impl Planner<'_> {
    /// What the kernels' loops read and write in one call of the function. A number of turns that nothing bounds counts
    /// as one, and so does a branch that may not be taken.
    pub(super) fn heat(&self) -> Heat {
        let mut heat = Heat::new();
        self.heat_of(&self.func.blocks, 1, &mut heat);
        heat
    }

    fn heat_of(&self, blocks: &[BindingBlock], times: u64, heat: &mut Heat) {
        for binding in blocks.iter().flat_map(|block| &block.bindings) {
            let turns = match &binding.op {
                Op::For { extent, .. } => self.turns(extent),
                _ => 1,
            };
            self.heat_of_call(binding, times, heat);
            for region in &binding.regions {
                self.heat_of(&region.blocks, times.saturating_mul(turns), heat);
            }
        }
    }

    fn heat_of_call(&self, binding: &Binding, times: u64, heat: &mut Heat) {
        let Op::CallTir { func, syms, in_place, .. } = &binding.op else { return };
        let Some(prim) = self.module.prim(func) else { return };
        let values = prim.params.iter().filter_map(|param| match param {
            Param::Value(var) => Some(prim.vars[var.0 as usize].sym.clone()),
            Param::Buffer(..) | Param::Workspace => None,
        });
        let to: BTreeMap<Sym, IntExpr> = values.zip(syms.iter().cloned()).collect();
        let turns = |e: &IntExpr| self.turns(&e.substitute(&|sym| to.get(sym).cloned()));
        let touched = touched(prim, &turns);
        for (buf, home) in self.homes_of(prim, binding, in_place) {
            let bytes = touched.get(&buf).map_or(0, |bytes| bytes.saturating_mul(times));
            let of = heat.entry(self.merged.root(home)).or_default();
            *of = of.saturating_add(bytes);
        }
    }

    fn turns(&self, extent: &IntExpr) -> u64 {
        let most = extent.as_const().or_else(|| self.bounds.const_bounds(extent).1);
        most.map_or(1, |most| most.max(0) as u64)
    }

    /// The kernel's buffers, each with the memory that is passed for it: as `LowerEntry` passes them.
    fn homes_of(&self, prim: &PrimFunc, binding: &Binding, in_place: &[Option<usize>]) -> Vec<(BufId, Home)> {
        let mut operands = binding.args.iter().map(|arg| self.homes.get(*arg));
        let fresh = (0..in_place.len()).filter(|result| in_place[*result].is_none());
        let mut fresh = fresh.map(|result| self.homes.part((binding.out, result)));
        let mut all = Vec::new();
        for param in &prim.params {
            let (buf, home) = match param {
                Param::Buffer(buf, BufUse::In) => (buf, operands.next()),
                Param::Buffer(buf, BufUse::Out) => (buf, fresh.next()),
                Param::Buffer(buf, BufUse::InOut) => (buf, operands.next().or_else(|| fresh.next())),
                Param::Value(_) | Param::Workspace => continue,
            };
            all.extend(home.map(|home| (*buf, home)));
        }
        all
    }
}

/// Bytes of each buffer that one call of a kernel reads and writes.
fn touched(prim: &PrimFunc, turns: &dyn Fn(&IntExpr) -> u64) -> BTreeMap<BufId, u64> {
    let mut walk = Walk { prim, turns, viewer: Viewer::new(prim), views: BTreeMap::new(), touched: BTreeMap::new() };
    walk.stmt(&prim.body, 1);
    walk.touched
}

struct Walk<'f> {
    prim: &'f PrimFunc,
    turns: &'f dyn Fn(&IntExpr) -> u64,
    viewer: Viewer<'f>,
    /// What windows into other buffers show.
    views: BTreeMap<BufId, BufId>,
    touched: BTreeMap<BufId, u64>,
}

impl<'f> Walk<'f> {
    /// A statement that runs so often.
    fn stmt(&mut self, stmt: &'f Stmt, times: u64) {
        if let Stmt::Block(block) = stmt {
            for window in &block.matches {
                let of = self.views.get(&window.region.buf).copied().unwrap_or(window.region.buf);
                self.views.insert(window.view, of);
            }
        }
        for access in own_accesses(self.prim, stmt) {
            let of = self.views.get(&access.buf).copied().unwrap_or(access.buf);
            let bytes = times.saturating_mul(self.prim.buffers[of.0 as usize].dtype.size_bytes() as u64);
            let all = self.touched.entry(of).or_default();
            *all = all.saturating_add(bytes);
        }
        let times = match stmt {
            Stmt::For { extent, .. } => times.saturating_mul((self.turns)(&self.viewer.int(*extent))),
            _ => times,
        };
        stmt.children().into_iter().for_each(|child| self.stmt(child, times));
    }
}
