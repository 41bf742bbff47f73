//! Branches and loops of the graph.

use tenfold_ir::Scalar;
use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::relax::{Binding, Region, ValueId};
use tenfold_ir::tir::{LoopKind, Stmt};

use super::super::tensor_of;
use super::Entry;
use crate::CompileError;

impl Entry<'_> {
    pub(super) fn branches(&mut self, binding: &Binding) -> Result<(), CompileError> {
        let flag = self.value(binding.args[0]);
        let cond = self.only_element(flag);
        let mut sides = Vec::new();
        for region in &binding.regions {
            sides.push(self.captured(|entry| {
                entry.blocks(&region.blocks)?;
                entry.hand_on(binding.out, &region.results);
                Ok(())
            })?);
        }
        let otherwise = sides.pop().map(Box::new);
        let then = Box::new(sides.pop().unwrap_or(Stmt::nop()));
        self.b.push(Stmt::If { cond, then, otherwise });
        Ok(())
    }

    pub(super) fn counted(
        &mut self,
        binding: &Binding,
        var: &Sym,
        begin: &IntExpr,
        extent: &IntExpr,
        step: i64,
    ) -> Result<(), CompileError> {
        self.hand_on(binding.out, &binding.args);
        let index = self.b.sym_var(var);
        let extent = self.b.int_expr(extent);
        let (counter, min) =
            if step == 1 { (index, self.b.int_expr(begin)) } else { (self.b.index_var("turn"), self.b.index(0)) };
        let body = self.captured(|entry| {
            if step != 1 {
                let turn = entry.b.read(counter);
                let (begin, step) = (entry.b.int_expr(begin), entry.b.index(step));
                let passed = entry.b.mul(turn, step);
                let value = entry.b.add(begin, passed);
                entry.b.bind(index, value);
            }
            binding.regions.iter().try_for_each(|region| entry.turn(binding.out, region))
        })?;
        self.b.push(Stmt::loop_(counter, min, extent, LoopKind::Serial, body));
        Ok(())
    }

    /// The condition is computed at the beginning of a turn, which ends the loop if it does not hold.
    pub(super) fn repeated(&mut self, binding: &Binding) -> Result<(), CompileError> {
        let [condition, body] = binding.regions.as_slice() else { return Ok(()) };
        self.hand_on(binding.out, &binding.args);
        let yes = self.b.scalar(Scalar::bool(true));
        let go = self.b.local("go", yes);
        let going = self.b.read_local(go);
        let turn = self.captured(|entry| {
            entry.blocks(&condition.blocks)?;
            if let Some(result) = condition.results.first() {
                let flag = entry.value(*result);
                let holds = entry.only_element(flag);
                entry.b.store(go, Vec::new(), holds);
            }
            let body = entry.captured(|inner| inner.turn(binding.out, body))?;
            let going = entry.b.read_local(go);
            entry.b.push(Stmt::If { cond: going, then: Box::new(body), otherwise: None });
            Ok(())
        })?;
        self.b.push(Stmt::While { cond: going, body: Box::new(turn) });
        Ok(())
    }

    fn turn(&mut self, out: ValueId, region: &Region) -> Result<(), CompileError> {
        self.blocks(&region.blocks)?;
        self.hand_on(out, &region.results);
        Ok(())
    }

    /// Copies values to the components of `out`.
    fn hand_on(&mut self, out: ValueId, values: &[ValueId]) {
        for (index, value) in values.iter().enumerate() {
            let target = self.component(out, index, values.len());
            let ty = tensor_of(self.func, *value);
            self.assign(*value, &target, &ty, "copy");
        }
    }

    /// What `f` pushes, as a statement.
    fn captured(&mut self, f: impl FnOnce(&mut Self) -> Result<(), CompileError>) -> Result<Stmt, CompileError> {
        // The builder's scope takes a closure over the builder alone, so it is moved out and back.
        let mut b = std::mem::replace(&mut self.b, tenfold_ir::tir::Builder::new(""));
        let (stmt, outcome) = b.scope(|inner| {
            std::mem::swap(inner, &mut self.b);
            let outcome = f(self);
            std::mem::swap(inner, &mut self.b);
            outcome
        });
        self.b = b;
        outcome.map(|()| stmt)
    }
}
