//! A prim-func as a graph calls it: tensors in, tensors out.

use super::{Arg, eval};
use crate::Module;
use crate::eval::{Bounded, Value};
use crate::tir::{BufUse, Elem, Param, PrimFunc};

/// Runs the prim-func `name` of `module` as [`crate::relax::CallPrim`] says: index arguments, inputs, and for each
/// result a tensor of its type.
pub fn eval_values(
    module: &Module,
    name: &str,
    indices: &[i64],
    inputs: &[Value],
    results: &[(Value, Option<usize>)],
) -> Result<Vec<Value>, String> {
    let func = module.prim(name).ok_or_else(|| format!("there is no function `{name}`"))?;
    let mut args = arguments(func, indices, inputs, results).ok_or("too few arguments")?;
    eval(module, func, &mut args)?;
    let written = func.params.iter().zip(args).filter_map(|(param, arg)| match (param, arg) {
        (Param::Buffer(_, BufUse::Out | BufUse::InOut), Arg::Buffer(cells)) => Some(cells),
        (_, _) => None,
    });
    let value = |(cells, (ty, _)): (Vec<Option<Bounded>>, &(Value, Option<usize>))| {
        let data = cells.into_iter().collect::<Option<Vec<_>>>().ok_or("a result is not wholly written")?;
        Ok(Value { data, ..ty.clone() })
    };
    written.zip(results).map(value).collect()
}

fn arguments(
    func: &PrimFunc,
    indices: &[i64],
    inputs: &[Value],
    results: &[(Value, Option<usize>)],
) -> Option<Vec<Arg>> {
    let (mut indices, mut inputs, mut results) = (indices.iter(), inputs.iter(), results.iter());
    let all = |value: &Value| Arg::Buffer(value.data.iter().copied().map(Some).collect());
    let argument = |param: &Param| {
        Some(match param {
            Param::Value(var) if func.vars[var.0 as usize].ty.elem == Elem::Index => {
                Arg::Value(Bounded::index(*indices.next()?))
            }
            Param::Value(_) => Arg::Value(*inputs.next()?.data.first()?),
            Param::Buffer(_, BufUse::In) => all(inputs.next()?),
            Param::Buffer(_, BufUse::InOut) => {
                results.next()?;
                all(inputs.next()?)
            }
            Param::Buffer(_, BufUse::Out) => Arg::Buffer(vec![None; results.next()?.0.shape.iter().product()]),
            // Callees have none.
            Param::Workspace => Arg::Workspace(0),
        })
    };
    func.params.iter().map(argument).collect()
}
