//! A group of kernels as one: their bodies side by side, with what one hands to another inside.

mod inline;
mod pad;

use std::collections::BTreeMap;

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::relax::{self, Binding, Op, TensorType, ValueId};
use tenfold_ir::tir::{BufId, BufUse, BufferData, Builder, Param, PrimFunc, Scope};

use super::import::{Import, cleaned};
use super::stage::Staged;
use crate::lower::tensor_of;

/// A merged kernel.
pub(crate) struct Merged {
    /// The kernel: index parameters, operands in the group's order, the result unless it is an operand.
    pub prim: PrimFunc,
    /// The operand that the result updates in place.
    pub in_place: Option<usize>,
}

/// The kernels that a group calls as one; `None` where that cannot be.
pub(crate) fn merge(module: &Module, group: &relax::Function) -> Option<Merged> {
    let merged = Merge::new(module, group).run()?;
    let mut staged = Staged::of(&merged.prim)?;
    inline::inline(&mut staged);
    pad::split_pads(&mut staged);
    Some(Merged { prim: cleaned(&staged.join()), ..merged })
}

struct Merge<'m> {
    module: &'m Module,
    group: &'m relax::Function,
    b: Builder,
    bufs: BTreeMap<ValueId, BufId>,
}

impl<'m> Merge<'m> {
    fn new(module: &'m Module, group: &'m relax::Function) -> Self {
        let mut b = Builder::new(&group.name);
        for decl in &group.syms {
            b.dim_param(&decl.sym);
        }
        b.func_mut().facts = group.facts.iter().map(|decl| decl.fact.clone()).collect();
        Merge { module, group, b, bufs: BTreeMap::new() }
    }

    fn run(mut self) -> Option<Merged> {
        let [result] = self.group.results[..] else { return None };
        self.operands()?;
        let mut in_place = None;
        for binding in self.group.bindings() {
            let updated = self.result(binding, binding.out == result)?;
            if binding.out == result {
                in_place = updated;
            } else if updated.is_some() {
                return None;
            }
            self.import(binding)?;
        }
        self.params(result, in_place)?;
        let mut prim = self.b.finish();
        prim.loc = self.group.values[result.0 as usize].loc;
        Some(Merged { prim, in_place })
    }

    /// A buffer per operand, as the first kernel that reads it sees it.
    fn operands(&mut self) -> Option<()> {
        for param in &self.group.params {
            let ty = tensor_of(self.group, param.value);
            let name = &self.group.values[param.value.0 as usize].name;
            let buf = self.b.buffer(if name.is_empty() { "x" } else { name }, ty.dtype, ty.shape, Scope::Param);
            let user = self.group.bindings().find(|b| b.args.contains(&param.value))?;
            let (callee, syms) = self.callee(user)?;
            let position = user.args.iter().position(|a| *a == param.value)?;
            let inputs = callee.params.iter().filter_map(|p| match p {
                Param::Buffer(buf, BufUse::In | BufUse::InOut) => Some(*buf),
                Param::Buffer(_, BufUse::Out) | Param::Value(_) | Param::Workspace => None,
            });
            let data = callee.buffers[inputs.collect::<Vec<_>>().get(position)?.0 as usize].clone();
            let data = Import::new(&mut self.b, callee, syms, &[]).renamed(data);
            let name = self.b.buf(buf).name.clone();
            *self.b.buf_mut(buf) = BufferData { name, ..data };
            self.bufs.insert(param.value, buf);
        }
        Some(())
    }

    fn callee(&self, binding: &'m Binding) -> Option<(&'m PrimFunc, &'m [IntExpr])> {
        match &binding.op {
            Op::CallTir { func, syms, results, .. } if results.len() == 1 => Some((self.module.prim(func)?, syms)),
            _ => None,
        }
    }

    /// The buffer of what a binding computes: an operand's, the result's, or one between stages. Gives the operand.
    fn result(&mut self, binding: &Binding, last: bool) -> Option<Option<usize>> {
        let Op::CallTir { in_place, .. } = &binding.op else { return None };
        if let Some(Some(j)) = in_place.first() {
            let operand = binding.args.get(*j)?;
            let position = self.group.params.iter().position(|p| p.value == *operand)?;
            self.bufs.insert(binding.out, *self.bufs.get(operand)?);
            return Some(Some(position));
        }
        let TensorType { dtype, shape } = tensor_of(self.group, binding.out);
        let buf = if last {
            self.b.buffer("out", dtype, shape, Scope::Param)
        } else {
            let name = &self.group.values[binding.out.0 as usize].name;
            self.b.alloc(if name.is_empty() { "t" } else { name }, dtype, shape, Scope::Global)
        };
        self.bufs.insert(binding.out, buf);
        Some(None)
    }

    fn import(&mut self, binding: &'m Binding) -> Option<()> {
        let (callee, syms) = self.callee(binding)?;
        let mut args = binding.args.iter();
        let mut bufs = Vec::new();
        for param in &callee.params {
            match param {
                Param::Buffer(_, BufUse::In | BufUse::InOut) => bufs.push(*self.bufs.get(args.next()?)?),
                Param::Buffer(_, BufUse::Out) => bufs.push(*self.bufs.get(&binding.out)?),
                Param::Value(_) => {}
                Param::Workspace => return None,
            }
        }
        let body = Import::new(&mut self.b, callee, syms, &bufs).body(&mut self.b);
        self.b.push(body);
        self.b.func_mut().strict |= callee.strict;
        Some(())
    }

    fn params(&mut self, result: ValueId, in_place: Option<usize>) -> Option<()> {
        for (index, param) in self.group.params.iter().enumerate() {
            let usage = if in_place == Some(index) { BufUse::InOut } else { BufUse::In };
            let buf = *self.bufs.get(&param.value)?;
            self.b.func_mut().params.push(Param::Buffer(buf, usage));
        }
        if in_place.is_none() {
            let out = *self.bufs.get(&result)?;
            self.b.func_mut().params.push(Param::Buffer(out, BufUse::Out));
        }
        Some(())
    }
}
