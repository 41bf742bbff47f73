//! `SplitHostDevice`: kernels become device functions, started by a call that says how many threads. (TVM: the pass of
//! that name.)
//!
//! Runs on plain loops. A kernel's buffers that live outside of it, and the values it uses, are its parameters; the number
//! of threads along each axis is computed by the host, so all loops over an axis must agree (`UnifyThreadBinding`). What a
//! kernel computes never changes, nor the order in which the host starts them.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{Builder, ExprId, FuncKind, Launch, LoopKind, PrimFunc, Scope, Stmt, ThreadAxis, expr_vars};

use super::kernel::{Made, each_kernel, refuse, try_body};
use super::outline::{Captured, insert};
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("SplitHostDevice", &split_host_device)
    .in_phase(PassPhase::Flat)
    .lowering()
    .about("makes device functions of kernels, and calls with a launch in their places");

fn split_host_device(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    let names: Vec<String> = module.functions.keys().cloned().collect();
    for name in names {
        let Some(func) = module.prim(&name).filter(|f| f.kind == FuncKind::Host).cloned() else { continue };
        let functions = module.functions.len();
        let host = try_body(func, |b, body| each_kernel(body, &mut |kernel| split(b, module, kernel)))?;
        if module.functions.len() > functions {
            insert(module, host);
        }
    }
    Ok(())
}

/// The call in place of a kernel, which becomes a function of the module.
fn split(b: &mut Builder, module: &mut Module, kernel: Stmt) -> Made {
    let launch = launch(b, &kernel)?;
    let captured = parameters(b.func(), &kernel)?;
    let name = module.unique_name(&format!("{}_kernel", b.func().name));
    let args = captured.args(b);
    let device = captured.function(b.func(), name.clone(), kernel);
    insert(module, PrimFunc { kind: FuncKind::Device, ..device });
    Ok(Stmt::Call { func: name, args, launch: Some(launch) })
}

/// The numbers of threads of a kernel, which the host can compute.
fn launch(b: &mut Builder, kernel: &Stmt) -> Result<Launch, CompileError> {
    let mut extents: BTreeMap<usize, ExprId> = BTreeMap::new();
    let (mut inside, mut loops) = (BTreeSet::new(), Vec::new());
    kernel.walk(&mut |s| {
        inside.extend(s.bound());
        if let Stmt::For { kind: LoopKind::ThreadBound(axis), extent, .. } = s {
            loops.push((place(*axis), *extent));
        }
    });
    for (at, extent) in loops {
        if *extents.entry(at).or_insert(extent) != extent {
            let help = "run UnifyThreadBinding before";
            return Err(refuse(b.func(), "loops over one thread axis have different numbers of threads", help));
        }
        if !expr_vars(b.func(), extent).is_disjoint(&inside) || b.func().loads(extent) {
            let help = "let the number of threads depend on dims alone";
            return Err(refuse(b.func(), "the host cannot compute a number of threads", help));
        }
    }
    let one = b.index(1);
    let axis = |at: usize| extents.get(&at).copied().unwrap_or(one);
    let (grid, block) = ([axis(0), axis(1), axis(2)], [axis(3), axis(4), axis(5)]);
    let bytes = dynamic_bytes(b.func(), kernel);
    Ok(Launch::Grid { grid, block, shared: b.int_expr(&bytes) })
}

fn place(axis: ThreadAxis) -> usize {
    match axis {
        ThreadAxis::Block(n) => usize::from(n.min(2)),
        ThreadAxis::Thread(n) => 3 + usize::from(n.min(2)),
    }
}

/// Bytes of the shared memory whose size the launch says.
fn dynamic_bytes(func: &PrimFunc, kernel: &Stmt) -> IntExpr {
    let mut end = IntExpr::from(0);
    kernel.walk(&mut |s| {
        for buf in s.allocates() {
            let data = &func.buffers[buf.0 as usize];
            if data.scope == Scope::SharedDyn {
                let element = IntExpr::from(data.dtype.size_bytes() as i64);
                let bytes = data.shape.iter().fold(element, |n, d| &n * d);
                end = match &data.offset {
                    Some(offset) => end.maximum(&(offset + &bytes)),
                    None => &end + &bytes,
                };
            }
        }
    });
    end
}

/// What a kernel needs from outside.
fn parameters(func: &PrimFunc, kernel: &Stmt) -> Result<Captured, CompileError> {
    let captured = Captured::of(func, kernel);
    for (buf, _) in &captured.buffers {
        let data = &func.buffers[buf.0 as usize];
        if data.scope == Scope::Local {
            let help = "allocate it inside of the loops over threads";
            return Err(refuse(func, format!("`{}` is local to the host, and a kernel uses it", data.name), help));
        }
    }
    Ok(captured)
}
