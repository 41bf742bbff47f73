//! Products of integers that are stored narrower, and of `f32` stored as `bf16`: conversions which lose nothing stay
//! beside the product, which reads the narrow elements and widens each as it loads it. Weights of 8 bits then take 8 bits. Constants of 4 bits stay what
//! they are whatever reads them: they are packed two to a byte.

use std::collections::{BTreeMap, BTreeSet};

use super::byte_weights::of_weights;
use super::rewrite::Rewriter;
use tenfold_ir::op::ElementOp;
use tenfold_ir::relax::{self, Binding, Op, ParamKind, Type, ValueId};
use tenfold_ir::{DType, Function, Module};

/// What a conversion reads that widens numbers and keeps each of them.
fn narrow(func: &relax::Function, op: &Op, args: &[ValueId]) -> Option<ValueId> {
    let Op::Element(ElementOp::Cast(to)) = *op else { return None };
    let source = *args.first()?;
    let Type::Tensor(from) = &func.values[source.0 as usize].ty else { return None };
    let integers = (from.dtype.is_int() || from.dtype.is_nibble()) && to.is_int();
    let signs = !from.dtype.is_signed() || to.is_signed();
    let keeps = integers && from.dtype.size_bytes() < to.size_bytes() && signs;
    let floats = from.dtype == DType::BF16 && to == DType::F32;
    ((keeps || floats) && !from.shape.is_empty()).then_some(source)
}

/// The conversions of a function that widen integers and keep each value: what each reads, by its result.
pub(crate) fn widening(func: &relax::Function) -> BTreeMap<ValueId, ValueId> {
    func.bindings().filter_map(|b| Some((b.out, narrow(func, &b.op, &b.args)?))).collect()
}

/// What a value was widened from, if it was and keeps each number of it. Who moves such a value moves what it was widened
/// from, so that products still read that.
pub(crate) fn widened_from(cx: &Rewriter<'_>, v: ValueId) -> Option<ValueId> {
    let def = cx.def(v)?;
    narrow(&cx.func, &def.op, &def.args)
}

fn is_product(op: &Op) -> bool {
    matches!(op, Op::MatMul | Op::Conv { .. })
}

/// Elements up to which a constant of 4 bits may be converted when the program is built: zero points, small tables.
const FEW: i64 = 1 << 6;

/// Whether a conversion is of many integers of 4 bits, which take an eighth of what they would be afterwards.
fn is_packed(func: &relax::Function, binding: &Binding) -> bool {
    let (Op::Element(ElementOp::Cast(_)), [source]) = (&binding.op, &binding.args[..]) else { return false };
    let Type::Tensor(from) = &func.values[source.0 as usize].ty else { return false };
    let count = from.shape.iter().try_fold(1i64, |n, d| n.checked_mul(d.as_const()?));
    from.dtype.is_nibble() && count.is_none_or(|n| n > FEW)
}

/// Conversions that stay, by the name of their function: those that products alone read, as factors, and those of many
/// integers of 4 bits; where the target has `vectors`, those that products make of large weights of 8 bits, too.
pub(crate) fn kept(module: &Module, vectors: bool) -> BTreeSet<(String, ValueId)> {
    let mut out = BTreeSet::new();
    for (name, func) in relax_functions(module) {
        let mut found: BTreeSet<ValueId> =
            func.bindings().filter(|b| narrow(func, &b.op, &b.args).is_some()).map(|b| b.out).collect();
        for binding in func.bindings() {
            let own = if is_product(&binding.op) { 2 } else { 0 };
            let results = binding.regions.iter().flat_map(|r| &r.results);
            for read in binding.args.iter().skip(own).chain(results) {
                found.remove(read);
            }
        }
        for result in &func.results {
            found.remove(result);
        }
        found.extend(func.bindings().filter(|b| is_packed(func, b)).map(|b| b.out));
        if vectors {
            found.extend(of_weights(func));
        }
        out.extend(found.into_iter().map(|v| (name.clone(), v)));
    }
    out
}

fn relax_functions(module: &Module) -> impl Iterator<Item = (&String, &relax::Function)> {
    module.functions.iter().filter_map(|(name, function)| match function {
        Function::Relax(func) => Some((name, func)),
        Function::Prim(_) => None,
    })
}

/// What products may read in the place of widened factors.
///
/// Where something is written in place, an element may have changed when the product reads it: then only constants and
/// inputs are read so.
pub(crate) fn sources(func: &relax::Function) -> BTreeMap<ValueId, ValueId> {
    let writes = func.bindings().any(|b| !is_still(&b.op));
    let inputs = func.params.iter().filter(|p| p.kind == ParamKind::Input).map(|p| p.value);
    let constants = func.bindings().filter(|b| matches!(b.op, Op::Const(_))).map(|b| b.out);
    let steady: BTreeSet<ValueId> = inputs.chain(constants).collect();
    widening(func).into_iter().filter(|(_, source)| !writes || steady.contains(source)).collect()
}

/// Whether an op writes into no memory but its result's.
fn is_still(op: &Op) -> bool {
    match op {
        Op::CallTir { in_place, .. } => in_place.iter().all(Option::is_none),
        Op::SliceUpdate { .. }
        | Op::CallFn { .. }
        | Op::CallDps { .. }
        | Op::CallPacked { .. }
        | Op::If
        | Op::For { .. }
        | Op::While
        | Op::Later { .. }
        | Op::StoreState { .. } => false,
        Op::Const(_)
        | Op::Scalar(_)
        | Op::IndexValue { .. }
        | Op::Element(_)
        | Op::Reduce { .. }
        | Op::ArgReduce { .. }
        | Op::MatMul
        | Op::Softmax { .. }
        | Op::BatchNorm { .. }
        | Op::LayerNorm { .. }
        | Op::Reshape { .. }
        | Op::Transpose { .. }
        | Op::BroadcastTo { .. }
        | Op::Concat { .. }
        | Op::Slice { .. }
        | Op::Pad { .. }
        | Op::Conv { .. }
        | Op::Pool { .. }
        | Op::Full { .. }
        | Op::Arange { .. }
        | Op::ShapeOf
        | Op::Shape { .. }
        | Op::ShapeToTensor
        | Op::TensorToShape
        | Op::Tuple
        | Op::TupleGet(_)
        | Op::BindIndex(_)
        | Op::MatchShape { .. }
        | Op::Assert { .. } => true,
    }
}

/// A product that reads narrow factors where it can.
pub(crate) fn reading_narrow(binding: &Binding, sources: &BTreeMap<ValueId, ValueId>) -> Option<Binding> {
    if !is_product(&binding.op) {
        return None;
    }
    let mut out = binding.clone();
    out.args.iter_mut().take(2).for_each(|arg| *arg = sources.get(arg).copied().unwrap_or(*arg));
    (out.args != binding.args).then_some(out)
}
