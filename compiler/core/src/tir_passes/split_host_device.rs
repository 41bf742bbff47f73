//! `SplitHostDevice`: kernels become device functions, started by a call that says how many threads. (TVM: the pass of
//! that name.)
//!
//! Runs on plain loops. A kernel's buffers that live outside of it, and the values it uses, are its parameters; the number
//! of threads along each axis is computed by the host, so all loops over an axis must agree (`UnifyThreadBinding`). What a
//! kernel computes never changes, nor the order in which the host starts them.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::tir::copy::keep_buffers;
use tenfold_ir::tir::{
    BufId, BufUse, BufferData, Builder, CallArg, ExprId, FuncKind, Launch, LoopKind, Param, PrimFunc, Scope, Stmt,
    ThreadAxis, VarId, expr_vars, free_vars, read, written,
};
use tenfold_ir::{Function, Module};

use super::kernel::{Made, each_kernel, refuse, try_body};
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
        let mut kernels = Vec::new();
        let host = try_body(func, |b, body| each_kernel(body, &mut |kernel| split(b, module, kernel, &mut kernels)))?;
        if kernels.is_empty() {
            continue;
        }
        module.functions.insert(name, Function::Prim(keep_buffers(host)));
        for kernel in kernels {
            module.functions.insert(kernel.name.clone(), Function::Prim(keep_buffers(kernel)));
        }
    }
    Ok(())
}

/// The call in place of a kernel, which is added to the others.
fn split(b: &mut Builder, module: &Module, kernel: Stmt, kernels: &mut Vec<PrimFunc>) -> Made {
    let launch = launch(b, &kernel)?;
    let base = format!("{}_kernel", b.func().name);
    let taken = |name: &String| module.functions.contains_key(name) || kernels.iter().any(|k| k.name == *name);
    let name = (0..).map(|n| if n == 0 { base.clone() } else { format!("{base}_{n}") }).find(|n| !taken(n));
    let name = name.unwrap_or(base);
    let (buffers, values) = parameters(b.func(), &kernel)?;
    let mut args: Vec<CallArg> = buffers.iter().map(|(buf, _)| CallArg::Buffer(*buf)).collect();
    args.extend(values.iter().map(|v| CallArg::Value(b.read(*v))));
    kernels.push(device(b.func(), &name, kernel, &buffers, &values));
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

type Parameters = (Vec<(BufId, BufUse)>, Vec<VarId>);

/// Buffers and values that a kernel needs from outside.
fn parameters(func: &PrimFunc, kernel: &Stmt) -> Result<Parameters, CompileError> {
    let (reads, writes) = (read(func, kernel), written(func, kernel));
    let mut own = BTreeSet::new();
    kernel.walk(&mut |s| own.extend(s.allocates()));
    let mut buffers = Vec::new();
    let mut vars = free_vars(func, kernel);
    for buf in reads.union(&writes).copied().chain(own.clone()) {
        let data = &func.buffers[buf.0 as usize];
        vars.extend(symbols(data).iter().filter_map(|sym| var_of(func, sym)));
        if own.contains(&buf) || matches!(data.scope, Scope::Const(_)) {
            continue;
        }
        if data.scope == Scope::Local {
            let help = "allocate it inside of the loops over threads";
            return Err(refuse(func, format!("`{}` is local to the host, and a kernel uses it", data.name), help));
        }
        let usage = if writes.contains(&buf) { BufUse::InOut } else { BufUse::In };
        if !buffers.iter().any(|(b, _)| *b == buf) {
            buffers.push((buf, usage));
        }
    }
    Ok((buffers, vars.into_iter().collect()))
}

fn symbols(data: &BufferData) -> BTreeSet<Sym> {
    let range = data.range.iter().flat_map(|(lo, hi)| [lo, hi]);
    let all = data.shape.iter().chain(data.strides.iter().flatten()).chain(range);
    all.flat_map(IntExpr::vars).collect()
}

fn var_of(func: &PrimFunc, sym: &Sym) -> Option<VarId> {
    func.vars.iter().position(|v| v.sym == *sym).map(|at| VarId(at as u32))
}

fn device(func: &PrimFunc, name: &str, body: Stmt, buffers: &[(BufId, BufUse)], values: &[VarId]) -> PrimFunc {
    let mut device = PrimFunc {
        name: name.to_string(),
        body,
        exported: false,
        kind: FuncKind::Device,
        params: Vec::new(),
        ..func.clone()
    };
    for (buf, usage) in buffers {
        let data = &mut device.buffers[buf.0 as usize];
        (data.scope, data.offset) = (Scope::Param, None);
        device.params.push(Param::Buffer(*buf, *usage));
    }
    device.params.extend(values.iter().map(|v| Param::Value(*v)));
    let known: BTreeSet<Sym> = values.iter().map(|v| func.vars[v.0 as usize].sym.clone()).collect();
    device.facts.retain(|fact| fact.vars().into_iter().all(|sym| known.contains(&sym)));
    device
}
