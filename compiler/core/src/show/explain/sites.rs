//! The calls of kernels that the entry makes, numbered: a time belongs to such a number.

use std::collections::BTreeMap;

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::tir::{BufId, Builder, CallArg, FuncKind, Param, PrimFunc, Stmt, Viewer};
use tenfold_ir::{Function, Module};

use crate::pass::{Pass, PassPhase, UserPass};

/// The symbol that is called before and behind each kernel, with twice its number and one more.
pub(super) const TICK: &str = "tenfold_tick";

/// A call in the entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Site {
    /// The kernel.
    pub(super) func: String,
    /// What its index parameters are.
    pub(super) values: Vec<IntExpr>,
    /// The buffers that it is given, in order.
    pub(super) buffers: Vec<BufId>,
    /// How often a call of the entry comes by; nothing where data decide.
    pub(super) times: Option<u64>,
}

/// The calls of kernels in a lowered entry.
pub(super) fn sites(module: &Module, entry: &PrimFunc, dims: &BTreeMap<Sym, i64>) -> Vec<Site> {
    let mut found = Found { module, viewer: Viewer::new(entry), dims, all: Vec::new() };
    found.stmt(&entry.body, Some(1));
    found.all
}

struct Found<'f> {
    module: &'f Module,
    viewer: Viewer<'f>,
    dims: &'f BTreeMap<Sym, i64>,
    all: Vec<Site>,
}

impl Found<'_> {
    fn stmt(&mut self, stmt: &Stmt, times: Option<u64>) {
        let inside = match stmt {
            Stmt::For { extent, .. } => {
                let turns = self.viewer.int(*extent).eval(&|sym| self.dims.get(sym).copied());
                times.zip(turns).map(|(n, turns)| n * turns.max(0) as u64)
            }
            Stmt::While { .. } | Stmt::If { .. } => None,
            _ => times,
        };
        if let Stmt::Call { func, args, .. } = stmt
            && is_kernel(self.module, func)
        {
            let mut site = Site { func: func.clone(), values: Vec::new(), buffers: Vec::new(), times };
            for arg in args {
                match arg {
                    CallArg::Buffer(buf) => site.buffers.push(*buf),
                    CallArg::Value(e) => site.values.push(self.viewer.int(*e)),
                }
            }
            self.all.push(site);
        }
        stmt.children().into_iter().for_each(|child| self.stmt(child, inside));
    }
}

fn is_kernel(module: &Module, func: &str) -> bool {
    module.prim(func).is_some_and(|prim| prim.kind != FuncKind::Extern)
}

/// The pass that puts a call of [`TICK`] before and behind each call of a kernel, right behind `LowerEntry`: what runs
/// is the function as it is, with its memory and its data, and clocks between its kernels.
pub(super) fn timed() -> UserPass {
    let pass = Pass::module("TimeKernels", |module, _| {
        time(module);
        Ok(())
    });
    UserPass { pass: pass.in_phase(PassPhase::Memory).about("asks for the time around every kernel") }
}

fn time(module: &mut Module) {
    let Some(entry) = module.prim(&module.entry) else { return };
    let mut b = Builder::resume(entry.clone());
    let body = std::mem::replace(&mut b.func_mut().body, Stmt::nop());
    let mut number = 0;
    let body = ticking(module, &mut b, body, &mut number);
    b.push(body);
    let entry = b.finish();
    let mut tick = Builder::new("tick");
    let at = tick.index_var("at");
    let mut declared = PrimFunc { vars: tick.func().vars.clone(), ..PrimFunc::outside(TICK) };
    declared.params.push(Param::Value(at));
    module.functions.insert(declared.name.clone(), Function::Prim(declared));
    module.functions.insert(entry.name.clone(), Function::Prim(entry));
}

fn ticking(module: &Module, b: &mut Builder, stmt: Stmt, number: &mut i64) -> Stmt {
    match stmt {
        Stmt::Call { ref func, .. } if is_kernel(module, func) => {
            let mut tick = |at: i64| {
                let value = b.index(at);
                Stmt::Call { func: PrimFunc::outside(TICK).name, args: vec![CallArg::Value(value)], launch: None }
            };
            let (before, behind) = (tick(2 * *number), tick(2 * *number + 1));
            *number += 1;
            Stmt::seq([before, stmt, behind])
        }
        other => other.map_children(&mut |child| ticking(module, b, child, number)),
    }
}
