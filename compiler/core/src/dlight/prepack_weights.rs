//! `PrepackWeights`: constants that contractions read lie as their tiles read them.
//!
//! Runs right before `ApplyDefaultSchedule`, and asks the same rule which operand it will read in panels, and how wide
//! these will be. Where each call of the kernel passes a constant there, the kernel's parameter gets that layout, and
//! each call the constant in it, which is written when the program is built. No result changes: elements are moved.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::relax::{self, Binding, Op, Part, TensorType, Type, ValueId};
use tenfold_ir::tir::{BufId, BufUse, Param, Phase, PrimFunc};
use tenfold_ir::{ConstBytes, ConstData, ConstId, Function, Module};

use super::contraction;
use super::machine::Machine;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase, Remark};
use crate::relax_passes::const_data::{LARGEST, bytes_of};
use crate::relax_passes::dead_code::clean;
use crate::relax_passes::rewrite::content_hash;

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("PrepackWeights", &run)
    .in_phase(PassPhase::Schedule)
    .at_level(1)
    .about("lays constants that contractions read out in panels, as the default schedule reads them");

/// Which operand of a kernel lies in another layout.
struct Packed {
    operand: usize,
    parts: Vec<Part>,
}

fn run(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let Some(machine) = Machine::of(&context.target) else { return Ok(()) };
    let mut packed: BTreeMap<String, Packed> = BTreeMap::new();
    for (name, operands) in constant_operands(module) {
        let Some(func) = module.prim(&name).filter(|f| is_open(f)) else { continue };
        let inputs = inputs(func);
        let constant: BTreeSet<BufId> = operands.iter().filter_map(|n| inputs.get(*n).copied()).collect();
        let Some((func, buf, parts)) = contraction::prepacked(func, &machine, &constant) else { continue };
        let Some(operand) = inputs.iter().position(|b| *b == buf) else { continue };
        let operand_name = func.buffers[buf.0 as usize].name.clone();
        context.remark(|| Remark::applied(PASS.info.name, &name, format!("`{operand_name}`"), text(&parts)));
        module.functions.insert(name.clone(), Function::Prim(func));
        packed.insert(name, Packed { operand, parts });
    }
    let graphs = module.functions.iter().filter(|(_, f)| matches!(f, Function::Relax(_)));
    for name in graphs.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
        calls(module, &name, &packed);
    }
    Ok(())
}

fn text(parts: &[Part]) -> String {
    let of = |part: &Part| match part {
        Part::Whole(axis) => format!("{axis}"),
        Part::Outer(axis, width) => format!("{axis} / {width}"),
        Part::Inner(axis, width) => format!("{axis} % {width}"),
    };
    format!("its axes lie in the order {}", parts.iter().map(of).collect::<Vec<_>>().join(", "))
}

/// Whether no schedule was written for a kernel, and none is unwanted.
fn is_open(func: &PrimFunc) -> bool {
    func.phase == Phase::Blocks && !func.exported && !func.skip_optimization
}

/// The buffers that take operands, in order.
fn inputs(func: &PrimFunc) -> Vec<BufId> {
    let input = |p: &Param| match p {
        Param::Buffer(buf, BufUse::In | BufUse::InOut) => Some(*buf),
        Param::Buffer(_, BufUse::Out) | Param::Value(_) | Param::Workspace => None,
    };
    func.params.iter().filter_map(input).collect()
}

/// The operands of each kernel that are constants in every call of it.
fn constant_operands(module: &Module) -> BTreeMap<String, BTreeSet<usize>> {
    let mut all: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for function in module.functions.values() {
        let Function::Relax(func) = function else { continue };
        let constants = constants(func);
        let large = |id: &ConstId| {
            let data = module.constant(*id);
            data.shape.iter().product::<u64>() > (LARGEST / data.dtype.size_bytes()) as u64
        };
        for binding in func.bindings() {
            let Op::CallTir { func: callee, .. } = &binding.op else { continue };
            let fits = |v: &ValueId| constants.get(v).is_some_and(|id| !large(id));
            let own: BTreeSet<usize> = (0..binding.args.len()).filter(|n| fits(&binding.args[*n])).collect();
            let known = all.entry(callee.clone()).or_insert_with(|| own.clone());
            known.retain(|n| own.contains(n));
        }
    }
    all.retain(|_, operands| !operands.is_empty());
    all
}

fn constants(func: &relax::Function) -> BTreeMap<ValueId, ConstId> {
    let constant = |b: &Binding| match b.op {
        Op::Const(id) => Some((b.out, id)),
        _ => None,
    };
    func.bindings().filter_map(constant).collect()
}

/// Gives the calls of kernels the constants that they take now.
fn calls(module: &mut Module, name: &str, packed: &BTreeMap<String, Packed>) {
    let Some(mut func) = module.relax(name).cloned() else { return };
    let constants = constants(&func);
    let mut changed = false;
    func.rewrite(|func, mut binding| {
        let Op::CallTir { func: callee, .. } = &binding.op else { return vec![binding] };
        let Some(Packed { operand, parts }) = packed.get(callee) else { return vec![binding] };
        let old = binding.args[*operand];
        let Some(id) = constants.get(&old) else { return vec![binding] };
        let data = laid_out(module.constant(*id), parts);
        let ty = TensorType { dtype: data.dtype, shape: data.shape.iter().map(|n| (*n as i64).into()).collect() };
        let of = func.values[old.0 as usize].clone();
        let value = func.add_value(Type::Tensor(ty), &of.name, of.loc);
        binding.args[*operand] = value;
        changed = true;
        vec![Binding::new(value, Op::Const(module.add_constant(data)), Vec::new()), binding]
    });
    if changed {
        clean(&mut func);
        module.functions.insert(name.to_string(), Function::Relax(relax::renumbered(&func)));
    }
}

/// A constant in parts; what the last part of an axis has beyond the axis is 0.
fn laid_out(data: &ConstData, parts: &[Part]) -> ConstData {
    let plain: Vec<usize> = data.shape.iter().map(|n| *n as usize).collect();
    let size = data.dtype.size_bytes();
    let shape: Vec<usize> = parts.iter().map(|part| extent(part, &plain)).collect();
    let bytes = bytes_of(data).unwrap_or_default();
    let steps = strides(&plain);
    let mut out = vec![0; shape.iter().product::<usize>() * size];
    let mut index = vec![0usize; parts.len()];
    for to in out.chunks_exact_mut(size) {
        if let Some(from) = place(parts, &index, &plain, &steps)
            && let Some(element) = bytes.get(from * size..(from + 1) * size)
        {
            to.copy_from_slice(element);
        }
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            if index[axis] < shape[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
    let shape: Vec<u64> = shape.iter().map(|n| *n as u64).collect();
    let hash = content_hash(data.dtype, &shape, &out);
    ConstData { hash, name: data.name.clone(), dtype: data.dtype, shape, bytes: ConstBytes::Inline(out.into()) }
}

fn extent(part: &Part, plain: &[usize]) -> usize {
    match *part {
        Part::Whole(axis) => plain[axis],
        Part::Outer(axis, width) => plain[axis].div_ceil(width as usize),
        Part::Inner(_, width) => width as usize,
    }
}

/// Distances of neighbours along each axis, in elements.
fn strides(shape: &[usize]) -> Vec<usize> {
    let mut all = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        all[axis - 1] = all[axis] * shape[axis];
    }
    all
}

/// The element that stands at an index of the parts; none behind the end of an axis.
fn place(parts: &[Part], index: &[usize], plain: &[usize], steps: &[usize]) -> Option<usize> {
    let mut at = 0;
    for (part, i) in parts.iter().zip(index) {
        at += steps[part.axis()] * if let Part::Outer(_, width) = part { i * *width as usize } else { *i };
    }
    let along = |(part, i): (&Part, &usize)| match *part {
        Part::Inner(axis, width) => {
            let outer = parts.iter().position(|p| *p == Part::Outer(axis, width)).map_or(0, |n| index[n]);
            outer * width as usize + i < plain[axis]
        }
        Part::Whole(_) | Part::Outer(..) => true,
    };
    parts.iter().zip(index).all(along).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenfold_ir::DType;

    #[test]
    fn the_last_panel_is_filled_up() {
        let data = ConstData {
            hash: String::new(),
            name: String::new(),
            dtype: DType::U8,
            shape: vec![2, 3],
            bytes: ConstBytes::Inline(vec![1, 2, 3, 4, 5, 6].into()),
        };
        let bytes = |parts: &[Part]| {
            let made = laid_out(&data, parts);
            let ConstBytes::Inline(bytes) = made.bytes else { return (made.shape, Vec::new()) };
            (made.shape, bytes.to_vec())
        };
        let panels = [Part::Outer(1, 2), Part::Whole(0), Part::Inner(1, 2)];
        assert_eq!(bytes(&panels), (vec![2, 2, 2], vec![1, 2, 4, 5, 3, 0, 6, 0]));
        assert_eq!(bytes(&[Part::Whole(1), Part::Whole(0)]), (vec![3, 2], vec![1, 4, 2, 5, 3, 6]));
    }
}
