//! One answer for all variants: whoever calls does not know which of them runs.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::{ConstData, Loc};

use super::Compiled;
use crate::error::CompileError;

/// Adds a variant of that name to what was made before it.
pub(super) fn add(all: &mut Compiled, name: &str, variant: Compiled) -> Result<(), CompileError> {
    if variant.checks != all.checks {
        let text = "the variants of the function do not make the same run-time checks";
        return Err(CompileError::internal(Loc::default(), text));
    }
    workspace(all, &variant);
    for constant in variant.constants {
        if !all.constants.iter().any(|known: &ConstData| known.hash == constant.hash) {
            all.constants.push(constant);
        }
    }
    for call in variant.externs {
        if !all.externs.contains(&call) {
            all.externs.push(call);
        }
    }
    all.stack = all.stack.zip(variant.stack).map(|(a, b)| a.max(b));
    for (time, more) in all.times.iter_mut().zip(variant.times) {
        *time += more;
    }
    all.variants.push((name.to_string(), variant.artefact));
    Ok(())
}

/// As much workspace as the greediest variant needs; of several memories, as much of each.
fn workspace(all: &mut Compiled, variant: &Compiled) {
    if !all.pools.is_empty() {
        for (most, more) in all.pools.iter_mut().zip(&variant.pools) {
            *most = (*most).max(*more);
        }
        let sum = all.pools.iter().sum::<u64>();
        (all.workspace, all.workspace_bound) = (Some(IntExpr::from(sum as i64)), Some(sum));
        return;
    }
    let (Some(most), Some(more)) = (&all.workspace, &variant.workspace) else {
        if all.workspace.is_none() {
            all.workspace.clone_from(&variant.workspace);
            all.workspace_bound = variant.workspace_bound;
        }
        return;
    };
    all.workspace = Some(most.maximum(more));
    all.workspace_bound = all.workspace_bound.zip(variant.workspace_bound).map(|(a, b)| a.max(b));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(workspace: Option<IntExpr>, bound: Option<u64>, stack: Option<u64>) -> Compiled {
        Compiled { workspace, workspace_bound: bound, stack, ..Compiled::default() }
    }

    fn merged(a: Compiled, b: Compiled) -> (String, Option<u64>, Option<u64>) {
        let mut all = a;
        add(&mut all, "b", b).expect("they agree");
        (all.workspace.map_or("none".into(), |w| w.to_string()), all.workspace_bound, all.stack)
    }

    #[test]
    fn the_greediest_variant_decides() {
        let n = || IntExpr::var(tenfold_ir::arith::Sym::new("N"));
        let (small, large) = (Some(IntExpr::from(64)), Some(IntExpr::from(256)));
        let none = || with(None, None, Some(8));
        let first = with(small.clone(), Some(64), Some(16));
        let second = with(large, Some(256), None);
        assert_eq!(merged(first.clone(), second.clone()), ("256".into(), Some(256), None));
        assert_eq!(merged(second, first.clone()), ("256".into(), Some(256), None));
        assert_eq!(merged(none(), first.clone()), ("64".into(), Some(64), Some(16)));
        assert_eq!(merged(first.clone(), none()), ("64".into(), Some(64), Some(16)));
        let dims = with(Some(&n() * 4), Some(400), Some(1));
        assert_eq!(merged(first, dims.clone()), ("max(64, 4*N)".into(), Some(400), Some(16)));
        let unbounded = with(Some(&n() * 8), None, Some(1));
        assert_eq!(merged(dims, unbounded).1, None);
    }

    #[test]
    fn each_memory_is_as_large_as_some_variant_needs() {
        let with = |pools: &[u64]| Compiled {
            pools: pools.to_vec(),
            ..with(Some(IntExpr::from(pools.iter().sum::<u64>() as i64)), Some(pools.iter().sum()), None)
        };
        let mut all = with(&[64, 256]);
        add(&mut all, "b", with(&[128, 64])).expect("they agree");
        assert_eq!((all.pools, all.workspace_bound), (vec![128, 256], Some(384)));
    }

    #[test]
    fn checks_are_told_apart_by_number_so_they_agree() {
        let mut all = Compiled { checks: vec!["a".into()], ..Compiled::default() };
        assert!(add(&mut all, "b", Compiled::default()).is_err());
    }
}
