//! Extents and other numbers that a function is explained for.

use std::collections::BTreeMap;

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::relax::{Function, SymKind, Type};

use crate::CompileError;
use crate::pass::wrong;

/// A number for every symbol that a call binds. What the command line gives must be all dims, and keep to what the
/// function asks of them.
pub(super) fn bound(func: &Function, given: &BTreeMap<String, i64>) -> Result<BTreeMap<Sym, i64>, CompileError> {
    let asked = |kind: &SymKind| matches!(kind, SymKind::Dim { .. } | SymKind::IndexParam { .. });
    let names: Vec<&Sym> = func.syms.iter().filter(|decl| asked(&decl.kind)).map(|decl| &decl.sym).collect();
    if let Some(unknown) = given.keys().find(|name| !names.iter().any(|sym| sym.as_str() == name.as_str())) {
        return Err(wrong(format!("`{}` has no dim `{unknown}`", func.name), Some(listed(&names))));
    }
    let missing: Vec<&Sym> = names.iter().filter(|sym| !given.contains_key(sym.as_str())).copied().collect();
    if !missing.is_empty() {
        let open: Vec<String> = missing.iter().map(|sym| format!("`{sym}`")).collect();
        let bind: Vec<String> = missing.iter().map(|sym| format!("--dim {sym}=N")).collect();
        let text = format!("`{}` is explained for numbers, and {} has none", func.name, open.join(", "));
        return Err(wrong(text, Some(format!("bind it: `{}`", bind.join(" ")))));
    }
    let mut dims: BTreeMap<Sym, i64> = given.iter().map(|(name, n)| (Sym::new(name), *n)).collect();
    for decl in &func.syms {
        if let SymKind::Stride { param, axis } = decl.kind {
            dims.extend(stride(func, param, axis, &dims).map(|n| (decl.sym.clone(), n)));
        }
    }
    held(func, &dims)?;
    Ok(dims)
}

fn listed(names: &[&Sym]) -> String {
    let all: Vec<String> = names.iter().map(|sym| format!("`{sym}`")).collect();
    if all.is_empty() { "it has none".into() } else { format!("its dims are {}", all.join(", ")) }
}

/// The distance of an axis in elements where a tensor has no gaps.
fn stride(func: &Function, param: usize, axis: usize, dims: &BTreeMap<Sym, i64>) -> Option<i64> {
    let value = func.params.get(param)?.value;
    let Type::Tensor(ty) = &func.values[value.0 as usize].ty else { return None };
    let extents = ty.shape.get(axis + 1..)?.iter();
    extents.map(|d: &IntExpr| d.eval(&|sym| dims.get(sym).copied())).try_fold(1_i64, |n, d| n.checked_mul(d?))
}

/// What the function asks for holds.
fn held(func: &Function, dims: &BTreeMap<Sym, i64>) -> Result<(), CompileError> {
    let negative = func.syms.iter().find(|decl| {
        let signed = matches!(decl.kind, SymKind::IndexParam { unsigned: false, .. });
        !signed && dims.get(&decl.sym).is_some_and(|n| *n < 0)
    });
    if let Some(decl) = negative {
        return Err(wrong(format!("`{}` cannot be negative", decl.sym), None));
    }
    let broken = func.facts.iter().find(|decl| decl.fact.eval(&|sym| dims.get(sym).copied()) == Some(false));
    match broken {
        Some(decl) => Err(wrong(format!("`{}` refuses these dims: `{}` does not hold", func.name, decl.text), None)),
        None => Ok(()),
    }
}
