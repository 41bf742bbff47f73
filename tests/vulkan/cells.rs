//! What a case of the suite is made of: each result is one cell, an operator over a dtype.

use std::collections::BTreeSet;

use tenfold_ir::eval::value::indices;
use tenfold_ir::relax::{self, Op, Type, ValueId};
use tenfold_ir::{DType, Function};

use crate::case::{Case, Given};

/// An operator over a dtype, by their names.
pub(crate) type Cell = (String, String);

fn graph(case: &Case) -> &relax::Function {
    case.module.relax(&case.name).expect("a case is a graph")
}

/// The dtype that an operator works on: of its first operand that is a tensor, or of its result.
fn dtype(graph: &relax::Function, args: &[ValueId], out: ValueId) -> Option<DType> {
    let of = |value: &ValueId| match &graph.values[value.0 as usize].ty {
        Type::Tensor(ty) => Some(ty.dtype),
        _ => None,
    };
    args.iter().find_map(of).or_else(|| of(&out))
}

fn name(op: &Op) -> String {
    match op {
        Op::CallTir { func, .. } => func.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_').to_string(),
        other => relax::op_name(other).to_string(),
    }
}

/// Every operator of a case with its dtype.
pub(crate) fn operators(case: &Case) -> BTreeSet<Cell> {
    let graph = graph(case);
    let of = |b: &relax::Binding| Some((name(&b.op), dtype(graph, &b.args, b.out)?.name().to_string()));
    relax::bindings_of(&graph.blocks).filter_map(of).collect()
}

/// The operator that gives a result, with its dtype.
pub(crate) fn result(case: &Case, n: usize) -> Cell {
    let graph = graph(case);
    let mut value = graph.results[n];
    loop {
        let binding = relax::bindings_of(&graph.blocks).find(|b| b.out == value);
        match binding {
            // A part of a tuple is the operator's that gives the tuple.
            Some(b) if matches!(b.op, Op::TupleGet(_)) => value = b.args[0],
            Some(b) => {
                let dtype = dtype(graph, &b.args, b.out).map_or("none", DType::name);
                return (name(&b.op), dtype.to_string());
            }
            None => return ("parameter".into(), dtype(graph, &[value], value).map_or("none", DType::name).into()),
        }
    }
}

/// How many results a case has.
pub(crate) fn count(case: &Case) -> usize {
    graph(case).results.len()
}

/// The case with one of its results alone.
pub(crate) fn only(case: &Case, n: usize) -> Case {
    let mut module = case.module.clone();
    let mut kept = None;
    if let Some(Function::Relax(graph)) = module.functions.get_mut(&case.name) {
        graph.results = vec![graph.results[n]];
        kept = graph.results.first().copied();
    }
    let wanted = case.wanted.iter().filter(|w| Some(w.value) == kept).cloned().collect();
    Case { name: case.name.clone(), module, syms: case.syms.clone(), given: case.given.clone(), wanted }
}

/// The case with strided parameters side by side, as tensors on a device are.
pub(crate) fn packed(case: &Case) -> Case {
    let graph = graph(case);
    let mut packed = case.clone();
    for param in &graph.params {
        let given = &mut packed.given[param.position];
        let (Type::Tensor(ty), false) = (&graph.values[param.value.0 as usize].ty, given.strides.is_empty()) else {
            continue;
        };
        let shape: Vec<usize> = ty.shape.iter().filter_map(|d| d.as_const()).map(|d| d as usize).collect();
        let place = |index: Vec<usize>| index.iter().zip(&given.strides).map(|(i, s)| i * *s as usize).sum::<usize>();
        let cells = indices(&shape).map(|index| given.cells[place(index)]).collect();
        let mut step = shape.iter().product::<usize>() as i64;
        let strides = shape.iter().map(|d| {
            step /= (*d).max(1) as i64;
            step
        });
        *given = Given { cells, strides: strides.collect() };
    }
    packed
}
