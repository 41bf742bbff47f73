//! `NarrowConstants`: numbers of 64 bits that need no more than 32 take no more, and are widened as they are read.
//!
//! The factors that results of integers are scaled by are such numbers. A product of two that were widened is one
//! instruction on processors of 32 bits, of which vectors of microcontrollers take the upper half. Runs for
//! microcontrollers alone: elsewhere vectors widen nothing for free.

use std::collections::BTreeMap;

use tenfold_ir::relax::Op;
use tenfold_ir::tir::{Access, BufId, Builder, ExprId, Param, PrimFunc, Stmt};
use tenfold_ir::{ConstBytes, ConstData, ConstId, DType, Function, Module, content};

use super::cut::buffer_like;
use super::machine::Machine;
use super::prepack_weights::{Packed, constant_operands, constants, inputs, is_open, pass_packed};
use crate::CompileError;
use crate::fuse::import::cleaned;
use crate::fuse::loops::redirected_loads;
use crate::fuse::stage::Staged;
use crate::pass::{Pass, PassContext, PassPhase, Remark};
use crate::relax_passes::const_data::bytes_of;

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("NarrowConstants", &run)
    .in_phase(PassPhase::Schedule)
    .at_level(1)
    .about("stores constants of 64 bits that need no more than 32 in as many, for microcontrollers");

fn run(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    if !Machine::of(&context.target).is_some_and(|machine| machine.small) {
        return Ok(());
    }
    // A constant of each kernel at a time.
    loop {
        let mut packed: BTreeMap<String, Packed> = BTreeMap::new();
        for ((name, operand), given) in long_operands(module) {
            if packed.contains_key(&name) || !given.iter().all(|id| narrow(module.constant(*id)).is_some()) {
                continue;
            }
            let Some(func) = module.prim(&name).and_then(|func| reading_words(func, operand)) else { continue };
            context.remark(|| Remark::applied(PASS.info.name, &name, format!("operand {operand}"), "takes 32 bits"));
            module.functions.insert(name.clone(), Function::Prim(func));
            packed.insert(name, Packed { operand, lay: Box::new(narrow) });
        }
        if packed.is_empty() {
            return Ok(());
        }
        pass_packed(module, &packed)?;
    }
}

/// The operands of kernels that are constants of 64 bits in every call, and which these are.
fn long_operands(module: &Module) -> BTreeMap<(String, usize), Vec<ConstId>> {
    let mut all: BTreeMap<(String, usize), Vec<ConstId>> = BTreeMap::new();
    let operands = constant_operands(module);
    for function in module.functions.values() {
        let Function::Relax(func) = function else { continue };
        let constants = constants(func);
        for binding in func.bindings() {
            let Op::CallTir { func: callee, .. } = &binding.op else { continue };
            for operand in operands.get(callee).into_iter().flatten() {
                let id = binding.args.get(*operand).and_then(|arg| constants.get(arg));
                let long = id.filter(|id| module.constant(**id).dtype == DType::I64);
                long.into_iter().for_each(|id| all.entry((callee.clone(), *operand)).or_default().push(*id));
            }
        }
    }
    all
}

/// The kernel with an operand of 32 bits.
fn reading_words(func: &PrimFunc, operand: usize) -> Option<PrimFunc> {
    if !is_open(func) {
        return None;
    }
    let old = *inputs(func).get(operand)?;
    let mut staged = Staged::of(func)?;
    let new = buffer_like(&mut staged.b, old);
    staged.b.buf_mut(new).dtype = DType::I32;
    let wide = |b: &mut Builder, buf: BufId, index: &[ExprId]| {
        let word = (buf == old).then(|| b.load(new, index.to_vec(), Access::Proven))?;
        Some(b.cast(DType::I64, word))
    };
    for stage in &mut staged.stages {
        let body = std::mem::replace(&mut stage.body, Stmt::nop());
        stage.body = redirected_loads(&mut staged.b, body, &wide);
        stage.init = stage.init.take().map(|init| redirected_loads(&mut staged.b, init, &wide));
    }
    let mut func = staged.join();
    for param in &mut func.params {
        if let Param::Buffer(buf, _) = param
            && *buf == old
        {
            *buf = new;
        }
    }
    Some(PrimFunc { phase: func.phase, ..cleaned(&func) })
}

/// A constant in 32 bits; nothing where one of its numbers needs more, or its file cannot be read.
fn narrow(data: &ConstData) -> Option<ConstData> {
    let bytes = bytes_of(data)?;
    let (numbers, []) = bytes.as_chunks::<8>() else { return None };
    let words = numbers.iter().map(|n| i32::try_from(i64::from_le_bytes(*n)).ok().map(i32::to_le_bytes));
    let out: Vec<u8> = words.collect::<Option<Vec<_>>>()?.concat();
    let (dtype, shape) = (DType::I32, data.shape.clone());
    let hash = content::of_bytes(dtype, &shape, &out);
    Some(ConstData { hash, name: data.name.clone(), dtype, shape, bytes: ConstBytes::Inline(out.into()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_more_bits_keeps_them() {
        let of = |numbers: &[i64]| {
            let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
            let (hash, name, shape) = (String::new(), String::new(), vec![numbers.len() as u64]);
            narrow(&ConstData { hash, name, dtype: DType::I64, shape, bytes: ConstBytes::Inline(bytes.into()) })
        };
        let ends = [i64::from(i32::MIN), i64::from(i32::MAX)];
        let ConstBytes::Inline(bytes) = of(&ends).expect("they fit").bytes else { panic!("they are in memory") };
        assert_eq!(bytes[..], [i32::MIN.to_le_bytes(), i32::MAX.to_le_bytes()].concat());
        assert!(of(&[0, 1 << 31]).is_none());
    }
}
