//! Branches and loops.

use super::{Machine, Slot, one_or_tuple, operand};
use crate::arith::{IntExpr, Sym};
use crate::eval::Bounded;
use crate::relax::{Binding, Region, ValueId};

/// A loop that turns more often is taken to run for ever.
const MOST_TURNS: i64 = 1 << 20;

impl Machine<'_> {
    /// `if`: one region runs. Where rounding decides which, nothing is known of what comes out.
    pub(super) fn branch(&mut self, binding: &Binding) -> Result<Slot, String> {
        let cond = self.condition(operand(binding, 0)?)?;
        let region = binding.regions.get(usize::from(cond.value.bits == 0)).ok_or("a region is missing")?;
        let slots = self.region(region, &[])?;
        let slot = one_or_tuple(slots);
        Ok(if cond.is_exact() { slot } else { unknown(slot) })
    }

    /// `for`: the region runs with each value of the variable.
    pub(super) fn counted(
        &mut self,
        binding: &Binding,
        var: &Sym,
        begin: &IntExpr,
        extent: &IntExpr,
        step: i64,
    ) -> Result<Slot, String> {
        let (begin, extent) = (self.int(begin)?, self.int(extent)?);
        let region = binding.regions.first().ok_or("a region is missing")?;
        let mut carried = self.slots(&binding.args)?;
        if extent > MOST_TURNS {
            return Err(format!("the loop turns {extent} times"));
        }
        for turn in 0..extent {
            let value = turn.checked_mul(step).and_then(|n| n.checked_add(begin)).ok_or("the variable overflows")?;
            self.syms.insert(var.clone(), value);
            carried = self.region(region, &carried)?;
        }
        self.syms.remove(var);
        Ok(one_or_tuple(carried))
    }

    /// `while`: region 1 runs as long as region 0 gives true.
    pub(super) fn repeated(&mut self, binding: &Binding) -> Result<Slot, String> {
        let [cond, body] = binding.regions.as_slice() else { return Err("expected two regions".to_string()) };
        let mut carried = self.slots(&binding.args)?;
        let mut certain = true;
        for _ in 0..MOST_TURNS {
            self.enter(cond, &carried)?;
            let holds = self.condition(*cond.results.first().ok_or("the condition gives nothing")?)?;
            certain &= holds.is_exact();
            if holds.value.bits == 0 {
                let slot = one_or_tuple(carried);
                return Ok(if certain { slot } else { unknown(slot) });
            }
            carried = self.region(body, &carried)?;
        }
        Err("the loop does not end".to_string())
    }

    fn condition(&self, value: ValueId) -> Result<Bounded, String> {
        self.tensor(value)?.data.first().copied().ok_or_else(|| "the condition is empty".to_string())
    }

    fn slots(&self, values: &[ValueId]) -> Result<Vec<Slot>, String> {
        values.iter().map(|v| self.slot(*v).cloned()).collect()
    }

    fn region(&mut self, region: &Region, params: &[Slot]) -> Result<Vec<Slot>, String> {
        self.enter(region, params)?;
        self.slots(&region.results)
    }

    /// Runs the blocks of a region.
    fn enter(&mut self, region: &Region, params: &[Slot]) -> Result<(), String> {
        if region.params.len() != params.len() {
            return Err(format!("a region takes {} values, found {}", region.params.len(), params.len()));
        }
        for (param, slot) in region.params.iter().zip(params) {
            self.values.insert(*param, slot.clone());
        }
        self.blocks(&region.blocks)
    }
}

/// The same values, of which nothing is known.
fn unknown(slot: Slot) -> Slot {
    match slot {
        Slot::Tensor(mut value) => {
            value.data.iter_mut().for_each(|x| *x = x.unknown());
            Slot::Tensor(value)
        }
        Slot::Tuple(items) => Slot::Tuple(items.into_iter().map(unknown).collect()),
        Slot::Shape(dims) => Slot::Shape(dims),
    }
}
