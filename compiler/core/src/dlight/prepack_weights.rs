//! `PrepackWeights`: constants that contractions read lie as their tiles read them.
//!
//! Runs right before `ApplyDefaultSchedule`, and asks the same rule which operand it will read in panels, and how wide
//! these will be. Where each call of the kernel passes a constant there, the kernel's parameter gets that layout, and
//! each call the constant in it, which is written when the program is built. No result changes: elements are moved.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::relax::{self, Binding, Op, Part, TensorType, Type, ValueId};
use tenfold_ir::tir::{BufId, BufUse, Param, Phase, PrimFunc, Scope};
use tenfold_ir::{ConstBytes, ConstData, ConstId, Function, Loc, Module, content};

use super::contraction;
use super::machine::Machine;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase, Remark};
use crate::relax_passes::const_data::{LAID_OUT, Moving, bytes_of, gather, padded, strides};
use crate::relax_passes::dead_code::clean;
use crate::relax_passes::rewrite::uses;
use crate::tune::{Asked, Point};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("PrepackWeights", &run)
    .in_phase(PassPhase::Schedule)
    .at_level(1)
    .about("lays constants that contractions read out in panels, as the default schedule reads them");

/// How a constant gets into another layout.
type Lay = Box<dyn Fn(&ConstData) -> Option<ConstData>>;

/// Which operand of a kernel lies in another layout, and how a constant gets there; nothing if it cannot be read.
pub(super) struct Packed {
    pub(super) operand: usize,
    pub(super) lay: Lay,
}

fn run(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let Some(machine) = Machine::of(&context.target) else { return Ok(()) };
    let mut all: BTreeMap<String, Packed> = BTreeMap::new();
    for (name, operands) in constant_operands(module) {
        let Some(func) = module.prim(&name).filter(|f| is_open(f)) else { continue };
        let inputs = inputs(func);
        let constant: BTreeSet<BufId> = operands.iter().filter_map(|n| inputs.get(*n).copied()).collect();
        let asked = context.asked(Point::Panels, func, || hash(module, func, &operands))?;
        let packed = contraction::prepacked(func, &machine, &constant, &asked);
        let why = asked.refused_so_far();
        why.iter().for_each(|why| context.refuse(func, why));
        let packed = match why {
            Some(_) => contraction::prepacked(func, &machine, &constant, &Asked::nobody()),
            None => packed,
        };
        context.tuned.answered(Point::Panels, &name, asked);
        let Some((func, buf, parts)) = packed else { continue };
        let Some(operand) = inputs.iter().position(|b| *b == buf) else { continue };
        let operand_name = func.buffers[buf.0 as usize].name.clone();
        context.remark(|| Remark::applied(PASS.info.name, &name, format!("`{operand_name}`"), text(&parts)));
        module.functions.insert(name.clone(), Function::Prim(func));
        all.insert(name, Packed { operand, lay: Box::new(move |data| laid_out(data, &parts)) });
    }
    pass_packed(module, &all)
}

/// Lets every call of kernels pass the constants that they take now.
pub(super) fn pass_packed(module: &mut Module, packed: &BTreeMap<String, Packed>) -> Result<(), CompileError> {
    let graphs = module.functions.iter().filter(|(_, f)| matches!(f, Function::Relax(_)));
    let mut reads = reads(module);
    for name in graphs.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
        calls(module, &name, packed, &mut reads)?;
    }
    Ok(())
}

/// What a kernel is found by: itself, and which of its operands are constants.
fn hash(module: &Module, func: &PrimFunc, constant: &BTreeSet<usize>) -> String {
    let mut hash = content::Hasher::new();
    hash.field(super::hash(module, func).as_bytes());
    constant.iter().for_each(|operand| {
        hash.field(&operand.to_le_bytes());
    });
    hash.finish()
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
pub(super) fn is_open(func: &PrimFunc) -> bool {
    func.phase == Phase::Blocks && !func.exported && !func.skip_optimization
}

/// The buffers that take operands, in order.
pub(super) fn inputs(func: &PrimFunc) -> Vec<BufId> {
    let input = |p: &Param| match p {
        Param::Buffer(buf, BufUse::In | BufUse::InOut) => Some(*buf),
        Param::Buffer(_, BufUse::Out) | Param::Value(_) | Param::Workspace => None,
    };
    func.params.iter().filter_map(input).collect()
}

/// The operands of each kernel that are constants in every call of it.
pub(super) fn constant_operands(module: &Module) -> BTreeMap<String, BTreeSet<usize>> {
    let mut all: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for function in module.functions.values() {
        let Function::Relax(func) = function else { continue };
        let constants = constants(func);
        let large = |id: &ConstId| {
            let data = module.constant(*id);
            data.shape.iter().product::<u64>() > (LAID_OUT / data.dtype.size_bytes()) as u64
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

pub(super) fn constants(func: &relax::Function) -> BTreeMap<ValueId, ConstId> {
    let constant = |b: &Binding| match b.op {
        Op::Const(id) => Some((b.out, id)),
        _ => None,
    };
    func.bindings().filter_map(constant).collect()
}

/// Gives the calls of kernels the constants that they take now. The old ones are let go one by one, so that weights do
/// not stand in memory twice.
fn calls(
    module: &mut Module,
    name: &str,
    packed: &BTreeMap<String, Packed>,
    reads: &mut BTreeMap<ConstId, usize>,
) -> Result<(), CompileError> {
    let Some(mut func) = module.relax(name).cloned() else { return Ok(()) };
    let constants = constants(&func);
    let (mut changed, mut unread) = (false, None);
    func.rewrite(|func, mut binding| {
        let Op::CallTir { func: callee, .. } = &binding.op else { return vec![binding] };
        let Some(Packed { operand, lay }) = packed.get(callee) else { return vec![binding] };
        let old = binding.args[*operand];
        let Some(id) = constants.get(&old) else { return vec![binding] };
        let Some(data) = lay(module.constant(*id)) else {
            unread = Some(module.constant(*id).name.clone());
            return vec![binding];
        };
        release(module, *id, reads);
        let ty = TensorType { dtype: data.dtype, shape: data.shape.iter().map(|n| (*n as i64).into()).collect() };
        let of = func.values[old.0 as usize].clone();
        let value = func.add_value(Type::Tensor(ty), &of.name, of.loc);
        binding.args[*operand] = value;
        changed = true;
        vec![Binding::new(value, Op::Const(module.add_constant(data)), Vec::new()), binding]
    });
    if let Some(constant) = unread {
        let text = format!("the file of the constant `{constant}` changed while it was read");
        return Err(CompileError::internal(Loc::default(), text));
    }
    if changed {
        clean(&mut func);
        module.functions.insert(name.to_string(), Function::Relax(relax::renumbered(&func)));
    }
    Ok(())
}

/// How often each constant is read by graphs. One that a kernel holds is read for ever.
fn reads(module: &Module) -> BTreeMap<ConstId, usize> {
    let mut all = BTreeMap::new();
    for function in module.functions.values() {
        match function {
            Function::Relax(func) => {
                let uses = uses(func);
                let own = constants(func).into_iter();
                own.for_each(|(v, id)| *all.entry(id).or_insert(0) += uses[v.0 as usize] as usize);
            }
            Function::Prim(func) => {
                let held = func.buffers.iter().filter_map(|buffer| match buffer.scope {
                    Scope::Const(id) => Some(id),
                    _ => None,
                });
                held.for_each(|id| *all.entry(id).or_insert(0) += 1);
            }
        }
    }
    all
}

/// One reader less.
fn release(module: &mut Module, id: ConstId, reads: &mut BTreeMap<ConstId, usize>) {
    let Some(count) = reads.get_mut(&id) else { return };
    *count = count.saturating_sub(1);
    if *count == 0 {
        module.release_constant(id);
    }
}

/// A constant in parts; what the last part of an axis has beyond the axis is 0. None if its file cannot be read.
fn laid_out(data: &ConstData, parts: &[Part]) -> Option<ConstData> {
    let plain: Vec<usize> = data.shape.iter().map(|n| *n as usize).collect();
    let size = data.dtype.size_bytes();
    let x = Moving { shape: plain.clone(), bytes: bytes_of(data)? };
    let mut whole = plain.clone();
    for part in parts {
        if let Part::Inner(axis, width) = *part {
            whole[axis] = whole[axis].next_multiple_of(width as usize);
        }
    }
    let bytes = match whole == plain {
        true => x.bytes,
        false => Cow::Owned(padded(&x, &vec![0; plain.len()], &whole, &vec![0; size])?),
    };
    let steps = strides(&whole);
    let step = |part: &Part| match *part {
        Part::Whole(axis) | Part::Inner(axis, _) => steps[axis] as i64,
        Part::Outer(axis, width) => (steps[axis] * width as usize) as i64,
    };
    let shape: Vec<usize> = parts.iter().map(|part| extent(part, &plain)).collect();
    let steps: Vec<i64> = parts.iter().map(step).collect();
    let out = gather(&Moving { shape: whole, bytes }, 0, &steps, &shape, size)?;
    let shape: Vec<u64> = shape.iter().map(|n| *n as u64).collect();
    let hash = content::of_bytes(data.dtype, &shape, &out);
    Some(ConstData { hash, name: data.name.clone(), dtype: data.dtype, shape, bytes: ConstBytes::Inline(out.into()) })
}

fn extent(part: &Part, plain: &[usize]) -> usize {
    match *part {
        Part::Whole(axis) => plain[axis],
        Part::Outer(axis, width) => plain[axis].div_ceil(width as usize),
        Part::Inner(_, width) => width as usize,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenfold_ir::DType;

    #[test]
    fn a_file_that_cannot_be_read_is_no_zeros() {
        let missing = ConstBytes::File { path: "no/such/file".into(), offset: 0, len: 6 };
        let (hash, name) = (String::new(), String::new());
        let data = ConstData { hash, name, dtype: DType::U8, shape: vec![2, 3], bytes: missing };
        assert_eq!(laid_out(&data, &[Part::Whole(1), Part::Whole(0)]), None);
    }

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
            let made = laid_out(&data, parts).expect("its bytes are in memory");
            let ConstBytes::Inline(bytes) = made.bytes else { return (made.shape, Vec::new()) };
            (made.shape, bytes.to_vec())
        };
        let panels = [Part::Outer(1, 2), Part::Whole(0), Part::Inner(1, 2)];
        assert_eq!(bytes(&panels), (vec![2, 2, 2], vec![1, 2, 4, 5, 3, 0, 6, 0]));
        assert_eq!(bytes(&[Part::Whole(1), Part::Whole(0)]), (vec![3, 2], vec![1, 4, 2, 5, 3, 6]));
    }
}
