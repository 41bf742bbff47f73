//! What only device functions have: an entry point that a launch fills, numbers of threads, memory that threads share.
//!
//! `compiler/docs/nvptx.md` says what tir becomes.

use inkwell::{context::Context, module::Module, targets::TargetMachine};
use tenfold_core::{Aliases, CodegenOptions, Target, kernel};
use tenfold_ir::DType;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{
    Barrier, BufId, BufUse, BufferData, Expr, ExprId, Intrinsic, Param, PrimFunc, Scope, Stmt, ThreadAxis, VarId, Warp,
    expr_vars,
};

use super::function::{Body, Result};
use super::narrow::Narrow;
use super::ops::Kind;
use super::pieces::Far;
use super::place::Places;
use super::tensors::MAP;
use super::warpgroup::TILE_ALIGN;
use super::{Cx, Declared, describe, new_module};
use crate::ir::{Ir, Seen, Type, Value};
use crate::machine::Machine;

/// At a multiple of which every buffer begins: memory of a device and parts of a workspace do at one of 256 and 64. A
/// thread reads 16 bytes at once, no more.
const ALIGN: u32 = 16;

/// The calling convention of entry points, `ptx_kernel`.
const PTX_KERNEL: u32 = 71;

/// Loops over an array of one thread are written out up to so many turns: only then is the array kept in registers.
pub(super) const WRITTEN_OUT: i64 = 64;

/// The name of the memory whose size the launch says.
const DYNAMIC: &str = "tenfold_dynamic";

/// A parameter of an entry point.
#[derive(Clone, Copy, Debug)]
pub(super) enum Argument {
    /// A buffer: where it is among the function's parameters.
    Buffer(BufId, BufUse, u32),
    /// A constant.
    Constant(BufId),
    /// A value.
    Value(VarId),
    /// The description of a tensor, by its number.
    Map(usize),
}

/// The parameters in the order in which a launch passes them.
pub(super) fn arguments(prim: &PrimFunc) -> Vec<Argument> {
    let buffers = (0..).zip(&prim.params).filter_map(|(number, param)| match param {
        Param::Buffer(buf, usage) => Some(Argument::Buffer(*buf, *usage, number)),
        Param::Value(_) | Param::Workspace => None,
    });
    let constants = kernel::constants(prim).into_iter().map(|(buf, _)| Argument::Constant(buf));
    let values = prim.params.iter().filter_map(|param| match param {
        Param::Value(var) => Some(Argument::Value(*var)),
        Param::Buffer(..) | Param::Workspace => None,
    });
    let maps = (0..kernel::tensors(prim).len()).map(Argument::Map);
    buffers.chain(constants).chain(values).chain(maps).collect()
}

/// A module of LLVM that holds one device function as an entry point of that name, not yet verified.
pub(crate) fn emit<'c>(
    context: &'c Context,
    machine: &Machine,
    opened: &TargetMachine,
    module: &tenfold_ir::Module,
    prim: &PrimFunc,
    name: &str,
    target: &Target,
) -> Result<Module<'c>> {
    let out = new_module(context, opened)?;
    let ir = Ir::new(context, &out);
    for function in ir.functions() {
        describe(&ir, function, machine, target);
    }
    let prims: Vec<&PrimFunc> = module.prims().collect();
    let (aliases, narrow) = (Aliases::of(&prims), Narrow::of(&prims, target));
    let (functions, with_context) = Default::default();
    let far = Far::default();
    let cx = Cx { ir: &ir, machine, target, module, aliases: &aliases, narrow: &narrow, far, functions, with_context };
    let value = cx.declare_kernel(prim, name)?;
    let options = CodegenOptions::default();
    let places = Places::new(&ir, &options);
    Body::new(&cx, Declared { prim, value, context: false }, &places).write()?;
    drop(ir);
    Ok(out)
}

/// Sums of a thread of a warpgroup with which two groups still have room on a multiprocessor.
const FEW_SUMS: i64 = 64;

/// Threads of a group that have 128 registers each where two groups are on a multiprocessor.
const THREADS: u32 = 256;

/// Threads of a row of which two are on a multiprocessor, so that each thread has 64 registers; with fewer numbers a thread
/// takes no more anyway.
const ROW: u32 = 512;
const ROW_OF_MANY: i64 = 16;

/// How many groups are to be on a multiprocessor at least: one does there while another one waits. More leave a thread
/// fewer registers than what it keeps, fewer have ptxas take whatever it can use; where there is but one, ptxas may still not
/// keep to so few that as many threads as can be are there, for which it spills what is a little over 32.
fn groups(prim: &PrimFunc, threads: u32) -> u32 {
    let all = prim.exprs_in(&prim.body);
    let any = |wanted: fn(&Warp, u16) -> bool| {
        all.iter().any(|e| matches!(prim.exprs.get(*e), Expr::Call(Intrinsic::Warp(f), _, ty) if wanted(f, ty.lanes)))
    };
    let numbers = |dtypes: &[DType]| prim.buffers.iter().filter_map(|buf| own(buf, dtypes)).collect::<Vec<i64>>();
    // Sums of bytes are integers.
    let many = numbers(&[DType::F32, DType::I32]).iter().sum::<i64>() > FEW_SUMS;
    let (by_group, own) = (any(|f, _| matches!(f, Warp::Wgmma(_))), numbers(&[DType::F32]));
    let squares = threads == THREADS && own.contains(&FEW_SUMS);
    // Of a row, half as much as the largest group has.
    let rows = threads == ROW && numbers(&[DType::F32, DType::F16, DType::BF16]).iter().any(|n| *n > ROW_OF_MANY);
    if by_group {
        if many { 1 } else { 2 }
    } else if any(|f, _| matches!(f, Warp::Mma)) {
        match (threads < THREADS, own.iter().sum()) {
            (true, 65..=80) => 4,
            (true, 81..=112) => 3,
            _ => 2,
        }
    } else if squares || rows {
        2
    } else {
        1
    }
}

/// Elements of some dtypes that a thread keeps in a buffer of its own.
fn own(buf: &BufferData, dtypes: &[DType]) -> Option<i64> {
    let count = buf.shape.iter().try_fold(1i64, |n, extent| n.checked_mul(extent.as_const()?));
    count.filter(|_| buf.scope == Scope::Local && dtypes.contains(&buf.dtype))
}

impl<'c> Cx<'_, 'c, '_> {
    fn declare_kernel(&self, prim: &PrimFunc, name: &str) -> Result<Value<'c>> {
        let ir = self.ir;
        let arguments = arguments(prim);
        let types: Vec<Type<'c>> = arguments
            .iter()
            .map(|argument| match argument {
                Argument::Buffer(..) | Argument::Constant(_) | Argument::Map(_) => ir.pointer(),
                Argument::Value(var) => self.value_type(prim, *var),
            })
            .collect();
        let function = ir.function(name, &types, None, Seen::Outside);
        ir.convention(function, PTX_KERNEL);
        describe(ir, function, self.machine, self.target);
        let [x, y, z] = kernel::threads(prim).ok_or("the number of its threads is not constant")?;
        ir.word(function, "nvvm.reqntid", &format!("{x},{y},{z}"));
        ir.word(function, "nvvm.minctasm", &groups(prim, x * y * z).to_string());
        for (number, argument) in (0..).zip(arguments) {
            let (buf, usage, alone) = match argument {
                Argument::Buffer(buf, usage, param) => (buf, usage, !self.aliases.shared(&prim.name, param)),
                Argument::Constant(buf) => (buf, BufUse::In, true),
                Argument::Value(_) => continue,
                Argument::Map(_) => {
                    ir.by_value(function, number, ir.array(ir.int(8), MAP.0), MAP.1);
                    continue;
                }
            };
            let say = |name: &str, value: u64| ir.attribute(function, Some(number), name, value);
            say("align", u64::from(ALIGN).max(prim.buffers[buf.0 as usize].dtype.align() as u64));
            if alone {
                say("noalias", 0);
            }
            if usage == BufUse::In {
                say("readonly", 0);
            }
        }
        Ok(function)
    }
}

impl<'c> Body<'_, 'c, '_> {
    /// Binds what a launch passes, and makes what the threads share.
    pub(super) fn kernel_parameters(&mut self) -> Result<()> {
        for (number, argument) in (0..).zip(arguments(self.prim)) {
            let value = self.cx.ir.parameter(self.function, number);
            match argument {
                Argument::Buffer(buf, ..) | Argument::Constant(buf) => self.buffers[buf.0 as usize] = Some(value),
                Argument::Value(var) => self.bind_value(var, value),
                Argument::Map(_) => {}
            }
        }
        self.shared_memory()
    }

    fn shared_memory(&mut self) -> Result<()> {
        let (ir, prim) = (self.cx.ir, self.prim);
        let boxes = !kernel::tensors(prim).is_empty();
        let align = if boxes || self.has_warpgroups() { ALIGN.max(TILE_ALIGN) } else { ALIGN };
        for buf in kernel::allocations(prim) {
            let data = &prim.buffers[buf.0 as usize];
            let length = kernel::elements(prim, buf).ok_or_else(|| format!("`{}` is of unknown size", data.name));
            let memory = match data.scope {
                Scope::Shared => {
                    let cell = self.memory_type(tenfold_ir::tir::Ty::scalar(data.dtype));
                    ir.shared(&data.name, ir.array(cell, u64::from(length?)), ALIGN, Seen::Inside)
                }
                Scope::SharedDyn => {
                    let begins = begins(prim, buf);
                    let begins = begins.ok_or_else(|| format!("`{}` begins at no constant place", data.name))?;
                    let all = ir.shared(DYNAMIC, ir.array(ir.int(8), 0), align, Seen::Outside);
                    ir.element(ir.int(8), all, ir.const_int(ir.int(64), begins))
                }
                _ => continue,
            };
            self.buffers[buf.0 as usize] = Some(memory);
        }
        Ok(())
    }

    /// A loop over threads or groups: its variable is the number of this one.
    pub(super) fn thread_loop(
        &mut self,
        var: VarId,
        (min, turns): (ExprId, Value<'c>),
        axis: ThreadAxis,
        body: &Stmt,
    ) -> Result<()> {
        let ir = self.cx.ir;
        let (what, number) = match axis {
            ThreadAxis::Block(number) => ("ctaid", number),
            ThreadAxis::Thread(number) => ("tid", number),
        };
        let name = format!("llvm.nvvm.read.ptx.sreg.{what}.{}", ["x", "y", "z"][usize::from(number.min(2))]);
        let number = ir.intrinsic(&name, &[], &[]);
        // How many groups there are is not told otherwise; by it no place is seen to overflow, and so what lies side by side.
        if let (ThreadAxis::Block(_), Some(turns @ 1..)) = (axis, turns.as_const()) {
            ir.below(number, turns);
        }
        let kind = Kind::of(self.prim.vars[var.0 as usize].ty.elem);
        let number = self.ops.cast(Kind::Int { signed: false, bits: 32 }, kind, number);
        let first = self.fresh(min)?;
        let value = if first.as_const() == Some(0) { number } else { ir.add(first, number) };
        self.vars[var.0 as usize] = Some(value);
        self.stmt(body)
    }

    /// What the address of an element is a multiple of: of a kernel's parameters and shared memory more than the dtype asks
    /// for, where the index says so. Neighbours are one access then.
    pub(super) fn alignment(&self, buf: BufId, index: ExprId) -> u32 {
        let data = &self.prim.buffers[buf.0 as usize];
        let own = data.dtype.align() as u32;
        match data.scope {
            Scope::SharedDyn if begins(self.prim, buf).is_none_or(|first| first % i64::from(ALIGN) != 0) => own,
            Scope::Param | Scope::Const(_) | Scope::Shared | Scope::SharedDyn if self.is_kernel() => {
                own.max(ALIGN.min(self.divisor(index, DEPTH) * data.dtype.size_bytes() as u32))
            }
            _ => own,
        }
    }

    /// A power of two, no more than [`ALIGN`], that an index is a multiple of, as far as so many steps show it. LLVM looks for
    /// it too, but through fewer.
    fn divisor(&self, index: ExprId, steps: u32) -> u32 {
        if let Some(number) = self.prim.literal(index) {
            return 1 << number.trailing_zeros().min(ALIGN.trailing_zeros());
        }
        let Some(steps) = steps.checked_sub(1) else { return 1 };
        match self.prim.exprs.get(index) {
            Expr::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => self.divisor(*a, steps).min(self.divisor(*b, steps)),
            Expr::Binary(BinaryOp::Mul, a, b) => ALIGN.min(self.divisor(*a, steps) * self.divisor(*b, steps)),
            Expr::Cast(_, a) => self.divisor(*a, steps),
            Expr::Var(var) => self.lets.get(var).map_or(1, |value| self.divisor(*value, steps)),
            _ => 1,
        }
    }

    /// Whether a kernel's loop over this variable reads or writes an array of its thread at a place that the variable says.
    pub(super) fn walks_own_array(&self, var: VarId, body: &Stmt) -> bool {
        let prim = self.prim;
        if !self.is_kernel() {
            return false;
        }
        let own = |buf: BufId, index: &[ExprId]| {
            prim.buffers[buf.0 as usize].scope == Scope::Local
                && kernel::elements(prim, buf).is_some_and(|length| length > 1)
                && index.iter().any(|at| expr_vars(prim, *at).contains(&var))
        };
        let mut written = false;
        body.walk(&mut |s| written |= matches!(s, Stmt::Store { buf, index, .. } if own(*buf, index)));
        let read = |id: ExprId| matches!(self.node(id), Expr::Load { buf, index, .. } if own(*buf, index));
        written || prim.exprs_in(body).into_iter().any(read)
    }

    /// Waits for the threads of the group, which then see what each of them wrote.
    pub(super) fn barrier(&mut self, barrier: Barrier) -> Result<()> {
        let ir = self.cx.ir;
        match barrier.scope {
            Scope::Shared | Scope::SharedDyn if self.is_kernel() => {
                let all = self.prim.exprs_in(&self.prim.body);
                if all.into_iter().any(|e| self.copied(e).is_some()) {
                    self.copies_arrive(barrier.leaves);
                }
                if self.has_warpgroups() && self.writes_shared() {
                    self.seen_by_products();
                }
                ir.intrinsic("llvm.nvvm.barrier.cta.sync.aligned.all", &[], &[ir.const_int(ir.int(32), 0)]);
                Ok(())
            }
            Scope::Warp if self.is_kernel() => Err("a barrier of a warp".into()),
            _ => Err("a barrier in a function of the host".into()),
        }
    }
}

/// Steps from an index to what it is a multiple of: each may double what there is to look at.
const DEPTH: u32 = 12;

/// The byte of dynamic shared memory at which a buffer begins: where it says, else behind the one before it.
fn begins(prim: &PrimFunc, buf: BufId) -> Option<i64> {
    let mut end = Some(0);
    for other in kernel::allocations(prim) {
        let data = &prim.buffers[other.0 as usize];
        if data.scope != Scope::SharedDyn {
            continue;
        }
        let first = data.offset.as_ref().map_or(end, |offset| offset.as_const());
        if other == buf {
            return first;
        }
        let bytes = kernel::elements(prim, other).map(|n| i64::from(n) * data.dtype.size_bytes() as i64);
        end = first.zip(bytes).and_then(|(first, bytes)| first.checked_add(bytes));
    }
    None
}
