//! Which functions of the user's crate a function calls, and what the shims of the Rust ones take.
//!
//! A call that stands in the source has its symbol from the front end. A call that a pass has put in (a pattern that a
//! function of the crate computes) gets one here, once the graph is what it will be.

use std::collections::BTreeMap;

use tenfold_ir::relax::{Binding, Extern, Function, Linkage, Op, TensorType};
use tenfold_ir::tir::BufUse;
use tenfold_ir::{Loc, Module};

/// A call of a Rust function outside the module.
#[derive(Clone, PartialEq, Debug)]
pub struct ExternCall {
    /// The function, with the symbol of its shim.
    pub callee: Extern,
    /// Where it is called.
    pub loc: Loc,
    /// What is passed: operands in order, then results.
    pub args: Vec<ExternArg>,
}

/// An argument of an [`ExternCall`].
#[derive(Clone, PartialEq, Debug)]
pub struct ExternArg {
    /// Read, updated or filled.
    pub usage: BufUse,
    /// Its type where it is passed.
    pub ty: TensorType,
}

/// The calls of Rust functions in a function, in order.
pub fn extern_calls(func: &Function) -> Vec<ExternCall> {
    let mut all = Vec::new();
    for binding in func.bindings() {
        if let Some(callee) = callee_of(&binding.op)
            && callee.linkage == Linkage::Rust
        {
            let loc = func.values[binding.out.0 as usize].loc;
            all.push(ExternCall { callee: callee.clone(), loc, args: arguments(func, binding) });
        }
    }
    all
}

fn callee_of(op: &Op) -> Option<&Extern> {
    match op {
        Op::CallDps { callee, .. } | Op::CallPacked { callee, .. } => Some(callee),
        _ => None,
    }
}

fn arguments(func: &Function, binding: &Binding) -> Vec<ExternArg> {
    let (updates, results) = match &binding.op {
        Op::CallDps { results, .. } => (&[][..], results.as_slice()),
        Op::CallPacked { updates, .. } => (updates.as_slice(), &[][..]),
        _ => (&[][..], &[][..]),
    };
    let operands = binding.args.iter().enumerate().filter_map(|(index, arg)| {
        let usage = if updates.contains(&index) { BufUse::InOut } else { BufUse::In };
        Some(ExternArg { usage, ty: func.values[arg.0 as usize].ty.tensor()?.clone() })
    });
    operands.chain(results.iter().map(|ty| ExternArg { usage: BufUse::Out, ty: ty.clone() })).collect()
}

/// Gives calls without a symbol one each, `{entry}_p{n}`; calls of one function with equal types share it. Then all
/// calls that the entry has.
pub(crate) fn name_calls(module: &mut Module, entry: &str) -> Vec<ExternCall> {
    let Some(tenfold_ir::Function::Relax(func)) = module.functions.get_mut(&module.entry) else { return Vec::new() };
    let unnamed: Vec<ExternCall> =
        extern_calls(func).into_iter().filter(|call| call.callee.symbol.is_empty()).collect();
    let mut symbols: BTreeMap<String, String> = BTreeMap::new();
    let mut given = Vec::new();
    for call in unnamed {
        let key = format!("{} {:?}", call.callee.path, call.args);
        let next = format!("{entry}_p{}", symbols.len());
        given.push(symbols.entry(key).or_insert(next).clone());
    }
    let mut given = given.into_iter();
    func.bindings_mut(|binding| {
        if let Op::CallDps { callee, .. } | Op::CallPacked { callee, .. } = &mut binding.op
            && callee.linkage == Linkage::Rust
            && callee.symbol.is_empty()
        {
            callee.symbol = given.next().unwrap_or_default();
        }
    });
    extern_calls(func)
}
