//! Large constant weights of 8 bits, which stay so: products dequantise them as they read them.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::op::ElementOp;
use tenfold_ir::relax::{self, Binding, Op, Type, ValueId};

use crate::fuse::pattern::is_byte;
use crate::fuse::weights::FEW_ROWS;

/// Bytes from which on the floats that weights of 8 bits would be are not made when the program is built.
const LARGE: i64 = 1 << 20;

/// Conversions to many floats of constant numbers of 8 bits, where products of few rows alone read what is made of them,
/// as their second factor: `FuseOps` puts all of that into the products.
pub(super) fn of_weights(func: &relax::Function) -> BTreeSet<ValueId> {
    let mut readers: BTreeMap<ValueId, Vec<&Binding>> = BTreeMap::new();
    let mut elsewhere: BTreeSet<ValueId> = func.results.iter().copied().collect();
    for binding in func.bindings() {
        binding.args.iter().for_each(|arg| readers.entry(*arg).or_default().push(binding));
        elsewhere.extend(binding.regions.iter().flat_map(|r| &r.results));
    }
    let constants: BTreeSet<ValueId> =
        func.bindings().filter(|b| matches!(b.op, Op::Const(_))).map(|b| b.out).collect();
    let large = |b: &&Binding| {
        let (Op::Element(ElementOp::Cast(to)), [source]) = (&b.op, &b.args[..]) else { return false };
        let Type::Tensor(from) = &func.values[source.0 as usize].ty else { return false };
        let count = from.shape.iter().try_fold(1i64, |n, d| n.checked_mul(d.as_const()?)).unwrap_or(0);
        constants.contains(source)
            && is_byte(from.dtype)
            && to.is_float()
            && count.saturating_mul(to.size_bytes() as i64) > LARGE
    };
    let found = func.bindings().filter(large).map(|b| b.out);
    found.filter(|v| only_products_read(func, &readers, &elsewhere, *v)).collect()
}

/// Whether a value and what is made of it element by element goes to products of few rows alone, as second factors.
fn only_products_read(
    func: &relax::Function,
    readers: &BTreeMap<ValueId, Vec<&Binding>>,
    elsewhere: &BTreeSet<ValueId>,
    v: ValueId,
) -> bool {
    let own = readers.get(&v).map_or(&[][..], Vec::as_slice);
    let fits = |b: &&Binding| match &b.op {
        Op::Element(_) | Op::Transpose { .. } => only_products_read(func, readers, elsewhere, b.out),
        Op::MatMul => b.args[0] != v && has_few_rows(func, b),
        _ => false,
    };
    !own.is_empty() && !elsewhere.contains(&v) && own.iter().all(fits)
}

/// Whether so few rows of a product, or an unknown number of them, read its second factor that each may convert it.
fn has_few_rows(func: &relax::Function, product: &Binding) -> bool {
    let Some((Type::Tensor(x), Type::Tensor(w))) = product
        .args
        .first()
        .zip(product.args.get(1))
        .map(|(x, w)| (&func.values[x.0 as usize].ty, &func.values[w.0 as usize].ty))
    else {
        return false;
    };
    let rows = x.shape.split_last().map_or(&[][..], |(_, rows)| rows);
    let times = rows.iter().try_fold(1i64, |n, d| n.checked_mul(d.as_const()?));
    w.shape.len() == 2 && times.is_none_or(|n| n <= FEW_ROWS)
}
