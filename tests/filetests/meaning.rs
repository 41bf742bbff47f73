//! Whether two versions of a prim-func compute the same, by the interpreter.

use tenfold_ir::arith::Sym;
use tenfold_ir::eval::Bounded;
use tenfold_ir::tir::{Arg, eval};
use tenfold_ir::tir::{BufId, BufUse, Elem, Param, PrimFunc, VarId};
use tenfold_ir::{DType, Module, Scalar};

/// What an index parameter is that the file gives no value.
const EXTENT: i64 = 5;

/// Runs both on the same small whole numbers, of which floats hold sums exactly in any order.
pub(crate) fn same(module: &Module, before: &PrimFunc, after: &PrimFunc, syms: &[(String, i64)]) -> Result<(), String> {
    let args = arguments(before, syms)?;
    let (mut expected, mut found) = (args.clone(), args);
    eval(module, before, &mut expected).map_err(|e| format!("before: {e}"))?;
    eval(module, after, &mut found).map_err(|e| format!("after: {e}"))?;
    equal(&expected, &found)
}

/// Whether what was left in every buffer is what was expected.
pub(crate) fn equal(expected: &[Arg], found: &[Arg]) -> Result<(), String> {
    for (n, pair) in expected.iter().zip(found).enumerate() {
        let (Arg::Buffer(e), Arg::Buffer(f)) = pair else { continue };
        for (at, (e, f)) in e.iter().zip(f).enumerate() {
            let equal = match (e, f) {
                (Some(e), Some(f)) => e.admits(f.value),
                (None, None) => true,
                _ => false,
            };
            if !equal {
                return Err(format!("argument {n}, element {at}: was {e:?}, is {f:?}"));
            }
        }
    }
    Ok(())
}

/// Small whole numbers for every parameter, none outside of the range that its type says.
pub(crate) fn arguments(func: &PrimFunc, syms: &[(String, i64)]) -> Result<Vec<Arg>, String> {
    let value = |sym: &Sym| syms.iter().find(|(name, _)| name == sym.as_str()).map_or(EXTENT, |(_, v)| *v);
    func.params.iter().enumerate().map(|(n, param)| argument(func, param, n, &value)).collect()
}

fn argument(func: &PrimFunc, param: &Param, n: usize, value: &dyn Fn(&Sym) -> i64) -> Result<Arg, String> {
    match param {
        Param::Value(var) => Ok(Arg::Value(scalar(func, *var, value))),
        Param::Buffer(buf, usage) => buffer(func, *buf, *usage, n, value),
        Param::Workspace => Ok(Arg::Workspace(1 << 20)),
    }
}

fn scalar(func: &PrimFunc, var: VarId, value: &dyn Fn(&Sym) -> i64) -> Bounded {
    let data = &func.vars[var.0 as usize];
    match data.ty.elem {
        Elem::Index => Bounded::index(value(&data.sym)),
        Elem::Scalar(dtype) => Bounded::exact(small(dtype, 3)),
    }
}

fn buffer(func: &PrimFunc, buf: BufId, usage: BufUse, n: usize, value: &dyn Fn(&Sym) -> i64) -> Result<Arg, String> {
    let data = &func.buffers[buf.0 as usize];
    let mut count = 1;
    for extent in &data.shape {
        count *= extent.eval(&|sym| Some(value(sym))).ok_or("an extent has no value")?.max(0);
    }
    let end = data.range.as_ref().and_then(|(_, end)| end.eval(&|sym| Some(value(sym))));
    let number = |at: i64| match (at * 7 + at / 5 + 3 * n as i64) % 11 - 4 {
        any if end.is_none() => any,
        any => any.abs() % end.unwrap_or(1).max(1),
    };
    let cell = |at: i64| match usage {
        BufUse::Out => None,
        BufUse::In | BufUse::InOut => Some(Bounded::exact(small(data.dtype, number(at)))),
    };
    Ok(Arg::Buffer((0..count).map(cell).collect()))
}

fn small(dtype: DType, value: i64) -> Scalar {
    if dtype.is_float() { Scalar::float(dtype, value as f64) } else { Scalar::int(dtype, value.abs().into()) }
}
