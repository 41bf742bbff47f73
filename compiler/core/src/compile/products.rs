//! Features that are for products of some dtypes alone: which kernels have other code with them, and so which variants of
//! a function are worth having.

use std::collections::BTreeSet;

use tenfold_ir::Module;
use tenfold_ir::tir::{Dot, Expr, Intrinsic, PrimFunc};

use super::Variant;
use crate::Target;
use crate::dlight::in_matrices;

/// Features that are for products of matrices alone.
const MATRICES: [&str; 3] = ["amx-bf16", "amx-int8", "amx-tile"];

/// The sums of products of neighbours that a kernel has.
pub(crate) fn dots(func: &PrimFunc) -> BTreeSet<Dot> {
    let mut found = BTreeSet::new();
    func.body.walk(&mut |stmt| {
        found.extend(func.reachable(stmt.exprs()).into_iter().filter_map(|e| match func.exprs.get(e) {
            Expr::Call(Intrinsic::Dot(dot), ..) => Some(*dot),
            _ => None,
        }));
    });
    found
}

/// Whether a kernel with such sums may have other code with a feature than without it. All but those for products of some
/// dtypes are for every kernel.
pub(crate) fn changes(feature: &str, dots: &BTreeSet<Dot>) -> bool {
    let bytes = dots.iter().any(|dot| matches!(dot, Dot::Bytes { .. }));
    match feature {
        "avx512vnni" | "dotprod" | "amx-int8" => bytes,
        // For two factors with signs, and two without, there is `dotprod`.
        "i8mm" => dots.iter().any(|dot| matches!(dot, Dot::Bytes { signed: [x, y] } if x != y)),
        "avx512bf16" | "amx-bf16" => dots.contains(&Dot::Bf16),
        "amx-tile" => bytes || dots.contains(&Dot::Bf16),
        _ => true,
    }
}

/// The variants whose features are of use to a module whose constants have their last layout: those of a level for sums
/// of products are where there is one, those of a level for matrices where a product gains from them.
pub(crate) fn gaining<'o>(module: &Module, baseline: &Target, variants: &'o [Variant]) -> Vec<&'o Variant> {
    let kernels: Vec<(&PrimFunc, BTreeSet<Dot>)> = module.prims().map(|func| (func, dots(func))).collect();
    let below = std::iter::once(baseline).chain(variants.iter().map(|variant| &variant.target));
    let gains = |variant: &Variant, below: &Target| {
        let target = &variant.target;
        let mut more = target.features.iter().map(String::as_str).filter(|feature| !below.has(feature));
        more.any(|feature| {
            let of_all = changes(feature, &BTreeSet::new());
            of_all || kernels.iter().any(|(func, dots)| changes(feature, dots) && is_taken(feature, func, target))
        })
    };
    variants.iter().zip(below).filter(|(variant, below)| gains(variant, below)).map(|(variant, _)| variant).collect()
}

/// Whether a target's code for a kernel takes what a feature is for.
fn is_taken(feature: &str, func: &PrimFunc, target: &Target) -> bool {
    match feature {
        "avx512bf16" => target.adds_halves(),
        _ if MATRICES.contains(&feature) => in_matrices(func, target),
        _ => true,
    }
}
