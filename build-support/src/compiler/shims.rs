//! Which shims the attribute prints beside a function.
//!
//! Those of the calls in its own source, as the front end has them: a caller that writes the function out may need one
//! that the function itself turns out not to. And those of the calls that passes have put into it.

use tenfold_core::{ExternArg, ExternCall, extern_calls};
use tenfold_ir::Module;
use tenfold_ir::tir::BufUse;
use tenfold_syntax::ast::NodeId;
use tenfold_syntax::index::{Shim, ShimArg, ShimUse};

/// The shims of the calls in the function's source.
pub(super) fn of_source(module: &Module, symbol: &str) -> Vec<Shim> {
    let own = format!("{symbol}_x");
    let calls = module.relax(&module.entry).map(extern_calls).unwrap_or_default();
    let mut shims = Vec::new();
    for call in calls.iter().filter(|call| call.callee.symbol.starts_with(&own)) {
        add(&mut shims, shim(call, NodeId(call.loc.node)));
    }
    shims
}

/// With those of the calls that passes have made.
pub(super) fn with_passes(mut shims: Vec<Shim>, calls: &[ExternCall], symbol: &str) -> Vec<Shim> {
    let own = format!("{symbol}_p");
    for call in calls.iter().filter(|call| call.callee.symbol.starts_with(&own)) {
        add(&mut shims, shim(call, NodeId::FUNCTION));
    }
    shims
}

/// One shim for each symbol.
fn add(shims: &mut Vec<Shim>, shim: Shim) {
    match shims.iter_mut().find(|known| known.symbol == shim.symbol) {
        Some(known) => known.merge(&shim),
        None => shims.push(shim),
    }
}

fn shim(call: &ExternCall, node: NodeId) -> Shim {
    let args = call.args.iter().map(argument).collect();
    Shim { symbol: call.callee.symbol.clone(), node, path: call.callee.path.clone(), args }
}

fn argument(arg: &ExternArg) -> ShimArg {
    let usage = match arg.usage {
        BufUse::In => ShimUse::In,
        BufUse::InOut => ShimUse::InOut,
        BufUse::Out => ShimUse::Out,
    };
    let dims = arg.ty.shape.iter().map(|dim| dim.as_const().and_then(|n| u64::try_from(n).ok()));
    ShimArg { usage, dtype: arg.ty.dtype, dims: dims.collect() }
}
