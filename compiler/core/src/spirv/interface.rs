//! What a kernel is given: bindings, push constants, the numbers of its thread.

use std::collections::BTreeMap;

use spirv::{BuiltIn, Decoration, Op, StorageClass};
use tenfold_ir::tir::{BufId, BufUse, Elem, Expr, Param, PrimFunc, Stmt, ThreadAxis, VarId};
use tenfold_ir::{DType, Module};

use super::expr::{Cannot, Made};
use super::kind::Kind;
use super::out::Out;
use super::stmt::{Body, Place};
use super::words::{Operand, named};
use super::{Binding, Feature, Push, Source};
use crate::{Aliases, kernel};

/// The most bytes of push constants that every device takes.
const PUSHED: usize = 128;

/// A value that is pushed: its variable and place.
pub(super) struct Pushed {
    pub(super) block: u32,
    pub(super) members: BTreeMap<VarId, (u32, Kind)>,
}

/// The bindings, parameters before constants.
pub(super) fn bindings(module: &Module, func: &PrimFunc) -> Vec<(BufId, Binding)> {
    let of_param = func.params.iter().enumerate().filter_map(|(n, param)| match param {
        Param::Buffer(buf, usage) => {
            let dtype = func.buffers[buf.0 as usize].dtype;
            Some((*buf, Binding { dtype, write: *usage != BufUse::In, source: Source::Param(n) }))
        }
        Param::Value(_) | Param::Workspace => None,
    });
    let constants = kernel::constants(func).into_iter().map(|(buf, id)| {
        let dtype = func.buffers[buf.0 as usize].dtype;
        (buf, Binding { dtype, write: false, source: Source::Constant(module.constant(id).hash.clone()) })
    });
    of_param.chain(constants).collect()
}

/// Makes the variables of bindings. What no launch passes twice says so, so that a driver may move loads before stores.
pub(super) fn bind(
    out: &mut Out,
    module: &Module,
    func: &PrimFunc,
    all: &[(BufId, Binding)],
) -> BTreeMap<BufId, Place> {
    let mut places = BTreeMap::new();
    let prims: Vec<&PrimFunc> = module.prims().collect();
    let aliases = Aliases::of(&prims);
    let waits = func.body.any(&mut |s| matches!(s, Stmt::Barrier(_)));
    for (number, (buf, binding)) in (0..).zip(all) {
        let kind = Kind::of_dtype(binding.dtype);
        match kind.stored_bits() {
            8 => out.need(Feature::Storage8),
            16 => out.need(Feature::Storage16),
            _ => {}
        }
        let element = match kind {
            Kind::Float { bits } => out.float(bits),
            _ => out.int(kind.stored_bits()),
        };
        let array = out.runtime_array(element, kind.stored_bits() / 8);
        let block = out.block(&[(array, 0)], binding.write);
        let variable = out.global(StorageClass::StorageBuffer, block);
        out.name(variable, &func.buffers[buf.0 as usize].name);
        out.decorate(variable, Decoration::DescriptorSet, vec![Operand::Word(0)]);
        out.decorate(variable, Decoration::Binding, vec![Operand::Word(number)]);
        let alone = match binding.source {
            Source::Param(param) => !aliases.shared(&func.name, param as u32),
            Source::Constant(_) => true,
        };
        if alone {
            out.decorate(variable, Decoration::Restrict, vec![]);
        }
        if binding.write && waits {
            // What one thread of a group writes another one may read behind a barrier.
            out.decorate(variable, Decoration::Coherent, vec![]);
        }
        places.insert(*buf, Place { variable, class: StorageClass::StorageBuffer, element, kind, stored: true });
    }
    places
}

/// Makes the block of push constants, and says what is in it.
pub(super) fn pushed(out: &mut Out, func: &PrimFunc) -> Result<(Option<Pushed>, Vec<Push>), Cannot> {
    let (mut push, mut members, mut types) = (Vec::new(), BTreeMap::new(), Vec::new());
    for (param, value) in func.params.iter().enumerate() {
        let var = match value {
            Param::Buffer(..) => continue,
            Param::Workspace => {
                return Err(Cannot { what: "a workspace".into(), why: "pass what the kernel uses of it as a buffer" });
            }
            Param::Value(var) => *var,
        };
        let elem = func.vars[var.0 as usize].ty.elem;
        let dtype = match elem {
            Elem::Scalar(dtype) => dtype,
            Elem::Index => DType::I64,
        };
        // An index that is only narrowed is read as 32 bits, which then need no integers of 64.
        let kind = if elem == Elem::Index && only_narrowed(func, var) { super::kind::I32 } else { Kind::of(elem) };
        let ty = if kind == Kind::Bool { out.int(32) } else { out.register(kind) };
        members.insert(var, (types.len() as u32, kind));
        types.push((ty, 8 * types.len() as u32));
        push.push(Push { param, dtype });
    }
    if types.is_empty() {
        return Ok((None, push));
    }
    if 8 * types.len() > PUSHED {
        let what = format!("passing {} values", types.len());
        return Err(Cannot { what, why: "16 is the most that every device takes; pass the others in a buffer" });
    }
    let block = out.block(&types, true);
    let block = out.global(StorageClass::PushConstant, block);
    out.name(block, "values");
    Ok((Some(Pushed { block, members }), push))
}

/// Whether an index goes into conversions to `i32` and nowhere else.
fn only_narrowed(func: &PrimFunc, var: VarId) -> bool {
    func.exprs_in(&func.body).into_iter().all(|id| {
        let expr = func.exprs.get(id);
        let reads = |e| matches!(func.exprs.get(e), Expr::Var(v) if *v == var);
        let narrows = matches!(expr, Expr::Cast(ty, _) if ty.elem == Elem::Scalar(DType::I32));
        narrows || !tenfold_ir::tir::operands(expr).into_iter().any(reads)
    }) && !reads_plainly(func, var)
}

/// Whether a statement itself uses the variable.
fn reads_plainly(func: &PrimFunc, var: VarId) -> bool {
    let of = |s: &Stmt| s.exprs().into_iter().any(|e| matches!(func.exprs.get(e), Expr::Var(v) if *v == var));
    func.body.any(&mut |s| of(s))
}

impl Body<'_> {
    /// The value of a variable: bound by a statement, or pushed.
    pub(super) fn variable(&mut self, var: VarId) -> Made {
        if let Some(id) = self.vars.get(&var) {
            return Ok(*id);
        }
        let name = self.func.vars[var.0 as usize].sym.to_string();
        let member = self.pushed.as_ref().and_then(|p| Some((p.block, *p.members.get(&var)?)));
        let Some((block, (member, kind))) = member else {
            return Err(Cannot { what: format!("`{name}`"), why: "nothing has bound it; this is a bug of Tenfold" });
        };
        let ty = if kind == Kind::Bool { self.out.int(32) } else { self.out.register(kind) };
        let (pointer, member) = (self.out.pointer(StorageClass::PushConstant, ty), self.out.word(member));
        let at = self.out.op(Op::AccessChain, pointer, &[block, member]);
        let value = self.out.op(Op::Load, ty, &[at]);
        match kind {
            Kind::Bool => self.out.cast(super::kind::U32, Kind::Bool, value),
            _ => Ok(value),
        }
    }

    /// The kind of a pushed index is that of its slot.
    pub(super) fn pushed_kind(&self, var: VarId) -> Option<Kind> {
        self.pushed.as_ref().and_then(|p| p.members.get(&var)).map(|(_, kind)| *kind)
    }

    /// The number of this thread or of its group along an axis.
    pub(super) fn thread(&mut self, axis: ThreadAxis) -> u32 {
        let (at, n) = match axis {
            ThreadAxis::Block(n) => (0, n),
            ThreadAxis::Thread(n) => (1, n),
        };
        let (word, variable) = (self.out.int(32), self.numbers[at]);
        let vector = self.out.vector(word, 3);
        let all = self.out.op(Op::Load, vector, &[variable]);
        let id = self.out.id();
        let operands = vec![Operand::Id(all), Operand::Word(u32::from(n.min(2)))];
        self.out.push(Op::CompositeExtract, Some(word), Some(id), operands);
        id
    }
}

/// The variables that hold the numbers of a group and of its threads.
pub(super) fn numbers(out: &mut Out) -> [u32; 2] {
    let word = out.int(32);
    let vector = out.vector(word, 3);
    [(BuiltIn::WorkgroupId, "group"), (BuiltIn::LocalInvocationId, "thread")].map(|(builtin, name)| {
        let variable = out.global(StorageClass::Input, vector);
        out.name(variable, name);
        out.decorate(variable, Decoration::BuiltIn, vec![named(builtin as u32, builtin)]);
        variable
    })
}
