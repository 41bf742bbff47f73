//! Statements, and the function around them. tir is structured as SPIR-V has to be: a loop is a header with its merge
//! and its continue block, a branch a header with its merge.

use std::collections::{BTreeMap, HashMap};

use spirv::{ExecutionMode, ExecutionModel, MemorySemantics, Op, Scope as SpirvScope, StorageClass};
use tenfold_ir::Module;
use tenfold_ir::tir::{BufId, ExprId, Launch, LoopKind, PrimFunc, Scope, Stmt, ThreadAxis, VarId, accesses, expr_vars};

use super::expr::Cannot;
use super::interface::{self, Pushed};
use super::kind::Kind;
use super::out::{Id, Out, refs};
use super::words::{self, Instruction, Operand, named};
use super::{Kernel, Refusal, controls, memory};
use crate::kernel;

/// A buffer's variable.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) variable: Id,
    pub(super) class: StorageClass,
    /// Type of an element there.
    pub(super) element: Id,
    pub(super) kind: Kind,
    /// Whether it lies in a storage buffer, where elements have their own width.
    pub(super) stored: bool,
}

/// A kernel being written.
pub(super) struct Body<'a> {
    pub(super) func: &'a PrimFunc,
    pub(super) out: Out,
    pub(super) places: BTreeMap<BufId, Place>,
    pub(super) pushed: Option<Pushed>,
    pub(super) numbers: [u32; 2],
    /// Threads of the group.
    pub(super) threads: u32,
    /// Bytes that they share.
    pub(super) shared: u32,
    /// What they share for reductions, by the type of an element.
    pub(super) met: BTreeMap<Id, Id>,
    pub(super) vars: BTreeMap<VarId, Id>,
    /// What the statement has computed, by scope.
    pub(super) known: Vec<HashMap<ExprId, Id>>,
}

/// What was written.
pub(super) struct Written {
    pub(super) module: words::Module,
    pub(super) kernel: Kernel,
}

/// Turns of a loop over an array of a thread up to which it is written out.
const WRITTEN_OUT: i64 = 64;

type Done = Result<(), Cannot>;

/// Writes a kernel.
pub(super) fn written(
    module: &Module,
    func: &PrimFunc,
    optional: bool,
    features: &[String],
) -> Result<Written, Refusal> {
    let refusal = |e: Cannot| Refusal { kernel: func.name.clone(), what: e.what, why: e.why.into() };
    write(module, func, optional, features).map_err(refusal)
}

fn write(module: &Module, func: &PrimFunc, optional: bool, asked: &[String]) -> Result<Written, Cannot> {
    let why = "a shader says how many threads a group has: give loops over threads constant extents";
    let open = || Cannot { what: "a number of threads that is not constant".into(), why };
    let local = kernel::threads(func).ok_or_else(open)?;
    let mut out = Out::new(optional);
    let bindings = interface::bindings(module, func);
    let mut places = interface::bind(&mut out, module, func, &bindings);
    let (pushed, push) = interface::pushed(&mut out, func)?;
    let numbers = interface::numbers(&mut out);
    let (mut shared, mut own) = (0, Vec::new());
    for buf in kernel::allocations(func) {
        match func.buffers[buf.0 as usize].scope {
            scope if memory::is_shared(scope) => {
                places.insert(buf, memory::shared(&mut out, func, buf, &mut shared)?);
            }
            Scope::Local => own.push(buf),
            _ => {}
        }
    }
    let (vars, met, known) = (BTreeMap::new(), BTreeMap::new(), vec![HashMap::new()]);
    let threads = local.iter().product();
    let mut body = Body { func, out, places, pushed, numbers, threads, shared, met, vars, known };
    let entry = body.function(&own)?;
    let (mut out, shared) = (body.out, body.shared);
    entry_point(&mut out, entry, numbers, local);
    controls::ask(&mut out, entry, asked);
    let (features, settings) = (out.features.clone(), out.settings.keys().copied().collect());
    let bindings = bindings.into_iter().map(|(_, binding)| binding).collect();
    let (name, words, text, instead) = (func.name.clone(), Vec::new(), String::new(), None);
    let kernel = Kernel { name, words, text, bindings, push, local, shared, features, settings, instead };
    Ok(Written { module: out.finish(), kernel })
}

fn entry_point(out: &mut Out, entry: Id, numbers: [u32; 2], local: [u32; 3]) {
    let mut operands = vec![
        named(ExecutionModel::GLCompute as u32, ExecutionModel::GLCompute),
        Operand::Id(entry),
        Operand::Text("main".into()),
    ];
    operands.extend(refs(&numbers));
    operands.extend(out.inputs().map(Operand::Id));
    out.module.entry_points.push(Instruction::new(Op::EntryPoint, None, None, operands));
    let mut mode = vec![Operand::Id(entry), named(ExecutionMode::LocalSize as u32, ExecutionMode::LocalSize)];
    mode.extend(local.map(Operand::Word));
    out.module.execution_modes.push(Instruction::new(Op::ExecutionMode, None, None, mode));
}

impl Body<'_> {
    fn function(&mut self, own: &[BufId]) -> Result<Id, Cannot> {
        let name = self.func.name.clone();
        // The writer goes into the closure and comes back out of it.
        let out = std::mem::replace(&mut self.out, Out::new(false));
        let mut out = out;
        let (id, result) = out.entry(&name, |out| {
            std::mem::swap(&mut self.out, out);
            let result = self.all(own);
            std::mem::swap(&mut self.out, out);
            result
        });
        self.out = out;
        result.map(|()| id)
    }

    fn all(&mut self, own: &[BufId]) -> Done {
        for buf in own {
            let place = memory::local(&mut self.out, self.func, *buf)?;
            self.places.insert(*buf, place);
        }
        let func = self.func;
        self.stmt(&func.body)
    }

    /// A statement begins with nothing computed: what it reads may have been written.
    fn fresh(&mut self) {
        self.known = vec![HashMap::new()];
    }

    fn stmt(&mut self, stmt: &Stmt) -> Done {
        self.fresh();
        match stmt {
            Stmt::Seq(all) => all.iter().try_for_each(|s| self.stmt(s)),
            Stmt::At(_, body) | Stmt::Alloc { body, .. } => self.stmt(body),
            Stmt::For { var, min, kind: LoopKind::ThreadBound(axis), body, .. } => {
                self.bound(*var, *min, *axis)?;
                self.stmt(body)
            }
            Stmt::For { var, min, extent, kind, body, .. } => {
                let unroll = *kind == LoopKind::Unrolled || self.walks_registers(*var, *extent, body);
                self.for_(*var, *min, *extent, unroll, body)
            }
            Stmt::While { cond, body } => self.while_(*cond, body),
            Stmt::If { cond, then, otherwise } => self.if_(*cond, then, otherwise.as_deref()),
            Stmt::Let { var, value, body } => {
                let value = self.value(*value)?;
                self.vars.insert(*var, value);
                self.stmt(body)
            }
            Stmt::Store { buf, index, value, .. } => self.store(*buf, index, *value),
            Stmt::Barrier(barrier) => self.barrier(barrier.scope),
            // Asks and gives nothing.
            Stmt::Evaluate(_) | Stmt::Prefetch { .. } => Ok(()),
            Stmt::Assert { .. } => {
                Err(Cannot { what: "a check".into(), why: "a kernel has no status to return: check before the launch" })
            }
            Stmt::Call { func, launch, .. } => {
                let how = if matches!(launch, Some(Launch::Threads { .. })) { "on threads" } else { "of a function" };
                Err(Cannot { what: format!("the call {how} `{func}`"), why: "a kernel calls nothing" })
            }
            Stmt::Block(block) => {
                Err(Cannot { what: format!("block `{}`", block.name), why: "run LowerOpaqueBlock before" })
            }
        }
    }

    /// A variable that is the number of this thread.
    fn bound(&mut self, var: VarId, min: ExprId, axis: ThreadAxis) -> Done {
        let kind = Kind::of(self.func.vars[var.0 as usize].ty.elem);
        let number = self.thread(axis);
        let number = self.out.cast(super::kind::U32, kind, number)?;
        let value = if self.func.literal(min) == Some(0) {
            number
        } else {
            let (min, ty) = (self.value(min)?, self.out.register(kind));
            self.out.op(Op::IAdd, ty, &[min, number])
        };
        self.vars.insert(var, value);
        Ok(())
    }

    /// Whether a loop says where in an array of the thread's own: written out, the array is registers.
    fn walks_registers(&self, var: VarId, extent: ExprId, body: &Stmt) -> bool {
        let own = |buf: BufId| self.func.buffers[buf.0 as usize].scope == Scope::Local;
        let walks = |index: &[ExprId]| index.iter().any(|e| expr_vars(self.func, *e).contains(&var));
        self.func.literal(extent).is_some_and(|n| n <= WRITTEN_OUT)
            && accesses(self.func, body).iter().any(|a| own(a.buf) && a.index.as_deref().is_some_and(walks))
    }

    fn for_(&mut self, var: VarId, min: ExprId, extent: ExprId, unroll: bool, body: &Stmt) -> Done {
        let kind = Kind::of(self.func.vars[var.0 as usize].ty.elem);
        let ty = self.out.register(kind);
        let zero = self.func.literal(min) == Some(0);
        let (first, count) = (self.value(min)?, self.value(extent)?);
        let end = if zero { count } else { self.out.op(Op::IAdd, ty, &[first, count]) };
        let before = self.out.here();
        let [head, check, inside, next, merge, later, counter] = [0; 7].map(|_: u32| self.out.id());
        self.out.branch(head);
        self.out.begin(head);
        self.out.push(Op::Phi, Some(ty), Some(counter), refs(&[first, before, later, next]));
        self.out.loop_merge(merge, next, unroll);
        self.out.branch(check);
        self.out.begin(check);
        let more = self.out.test(Op::SLessThan, counter, end);
        self.out.branch_if(more, inside, merge);
        self.out.begin(inside);
        self.vars.insert(var, counter);
        self.stmt(body)?;
        self.out.branch(next);
        self.out.begin(next);
        let one = self.out.number(kind, 1);
        self.out.push(Op::IAdd, Some(ty), Some(later), refs(&[counter, one]));
        self.out.branch(head);
        self.out.begin(merge);
        Ok(())
    }

    fn while_(&mut self, cond: ExprId, body: &Stmt) -> Done {
        let [head, check, inside, next, merge] = [0; 5].map(|_: u32| self.out.id());
        self.out.branch(head);
        self.out.begin(head);
        self.out.loop_merge(merge, next, false);
        self.out.branch(check);
        self.out.begin(check);
        let more = self.value(cond)?;
        self.out.branch_if(more, inside, merge);
        self.out.begin(inside);
        self.stmt(body)?;
        self.out.branch(next);
        self.out.begin(next);
        self.out.branch(head);
        self.out.begin(merge);
        Ok(())
    }

    fn if_(&mut self, cond: ExprId, then: &Stmt, otherwise: Option<&Stmt>) -> Done {
        let cond = self.value(cond)?;
        let [yes, merge] = [0; 2].map(|_: u32| self.out.id());
        let no = if otherwise.is_some() { self.out.id() } else { merge };
        self.out.selection_merge(merge);
        self.out.branch_if(cond, yes, no);
        for (label, branch) in [(yes, Some(then)), (no, otherwise)] {
            if let Some(branch) = branch {
                self.out.begin(label);
                self.stmt(branch)?;
                self.out.branch(merge);
            }
        }
        self.out.begin(merge);
        Ok(())
    }

    /// Waits for the threads of the group, and what they wrote is seen by them.
    fn barrier(&mut self, scope: Scope) -> Done {
        if !memory::is_shared(scope) {
            return Err(Cannot { what: "a barrier of a warp".into(), why: "use shared memory and its barrier" });
        }
        self.wait();
        Ok(())
    }

    pub(super) fn wait(&mut self) {
        let semantics =
            MemorySemantics::ACQUIRE_RELEASE | MemorySemantics::WORKGROUP_MEMORY | MemorySemantics::UNIFORM_MEMORY;
        let group = self.out.word(SpirvScope::Workgroup as u32);
        let semantics = self.out.word(semantics.bits());
        self.out.push(
            Op::ControlBarrier,
            None,
            None,
            vec![Operand::Id(group), Operand::Id(group), Operand::Id(semantics)],
        );
    }

    /// What is done where a condition holds.
    pub(super) fn when(&mut self, cond: Id, then: impl FnOnce(&mut Self) -> Done) -> Done {
        let [yes, merge] = [0; 2].map(|_: u32| self.out.id());
        self.out.selection_merge(merge);
        self.out.branch_if(cond, yes, merge);
        self.out.begin(yes);
        then(self)?;
        self.out.branch(merge);
        self.out.begin(merge);
        Ok(())
    }
}
