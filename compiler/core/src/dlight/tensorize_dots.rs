//! `TensorizeDots`: sums of products of 8-bit integers take four terms at once, or a vector of them, those of `bf16` two.
//!
//! Processors have an instruction that adds four products of bytes to each lane of 32 bits, and products of 16 bits,
//! two of which are added, make a good one of those that have none. So a contraction of an operand whose terms are
//! neighbours with a constant one becomes a sum of `dot4`, with a quarter of the terms: four elements of the first
//! operand are one number of 32 bits, and so are four of the constant, which lie together since the program was built.
//! Sums of integers wrap, so that any order gives the same bits, and so does each processor.
//!
//! Where a processor adds up the products of two vectors, a step takes 16 terms, or 8 where there are no more: the constant
//! lies in vectors then, and stays one of bytes.
//!
//! Of `bf16` two neighbours are such a number, where a processor adds two products at once or the schedule takes
//! registers that are matrices. Others add products one by one, as they would from elements, and read fewer words.
//!
//! Runs before `PrepackWeights`, which sees a constant of 32 bits, and rules schedule the sum as any other.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{
    Access, BufId, Builder, Dot, Elem, Expr, ExprId, Intrinsic, IterKind, PrimFunc, Stmt, Ty, VarId, substitution,
};
use tenfold_ir::{ConstBytes, ConstData, DType, Function, Module, content};

use super::contraction::in_matrices;
use super::kernel::{Contraction, Operand, contraction};
use super::prepack_weights::{Packed, constant_operands, inputs, is_open, pass_packed};
use crate::fuse::access::{Axis, accesses, axes};
use crate::fuse::stage::{Stage, Staged};
use crate::pass::{Pass, PassContext, PassPhase, Remark};
use crate::relax_passes::const_data::{Moving, bytes_of, gather, strides};
use crate::target::{Arch, Target};
use crate::{CompileError, dlight::machine::Machine};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("TensorizeDots", &run)
    .in_phase(PassPhase::Schedule)
    .at_level(1)
    .about("lets contractions of 8-bit integers with constants add four products at once, those of bf16 two");

fn run(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let Some(machine) = Machine::of(&context.target).filter(|_| context.target.little_endian) else { return Ok(()) };
    let wide = context.target.has("mve");
    let gains = |func: &PrimFunc, constant: &BTreeSet<BufId>, dot: Dot| match dot {
        Dot::Eight | Dot::Sixteen => true,
        Dot::Bytes { .. } => has_dots(&context.target),
        Dot::Bf16 => {
            let pairs = context.target.has("avx512bf16");
            !context.strict && (pairs || in_matrices(func, &machine, constant))
        }
    };
    let mut packed: BTreeMap<String, Packed> = BTreeMap::new();
    for (name, operands) in constant_operands(module) {
        let Some(func) = module.prim(&name).filter(|f| is_open(f)) else { continue };
        let inputs = inputs(func);
        let constant: BTreeSet<BufId> = operands.iter().filter_map(|n| inputs.get(*n).copied()).collect();
        let Some(Tensorized { func, buf, axis, dot }) = tensorized(func, &constant, wide) else { continue };
        if !gains(&func, &constant, dot) {
            continue;
        }
        let Some(operand) = inputs.iter().position(|b| *b == buf) else { continue };
        let what = match dot {
            Dot::Bytes { .. } => "adds four products of 8 bits at once",
            Dot::Eight => "adds eight products of 8 bits at once",
            Dot::Sixteen => "adds sixteen products of 8 bits at once",
            Dot::Bf16 => "adds two products of bf16 at once",
        };
        context.remark(|| Remark::applied(PASS.info.name, &name, String::new(), what));
        module.functions.insert(name.clone(), Function::Prim(func));
        packed.insert(name, Packed { operand, lay: Box::new(move |data| groups(data, axis, dot)) });
    }
    pass_packed(module, &packed)
}

/// Terms of a sum of products of bytes.
pub(crate) const TERMS: i64 = 4;

/// Whether four products of bytes are fewer instructions than four times one.
pub(crate) fn has_dots(target: &Target) -> bool {
    match target.arch {
        Arch::X86_64 => true,
        Arch::Aarch64 => target.has("dotprod"),
        // Where there are vectors, they have sums of their own.
        Arch::Arm => target.has("dsp") && target.vector_bytes() == 0,
        Arch::Riscv32 | Arch::Riscv64 | Arch::Wasm32 | Arch::Other => false,
    }
}

/// A factor: a load, and of which dtype.
struct Factor {
    load: ExprId,
    dtype: DType,
}

/// A kernel with its sum in steps.
struct Tensorized {
    func: PrimFunc,
    /// The constant that lies in groups now.
    buf: BufId,
    /// The axis along which they were taken.
    axis: usize,
    /// What a step adds.
    dot: Dot,
}

fn tensorized(func: &PrimFunc, constant: &BTreeSet<BufId>, wide: bool) -> Option<Tensorized> {
    let mut staged = Staged::of(func)?;
    let found = contraction(&staged)?;
    let stage = staged.stages[found.stage].clone();
    let Stmt::Store { buf: acc, index, value, access } = stage.body.clone() else { return None };
    let Expr::Binary(BinaryOp::Add, old, term) = *staged.b.func().exprs.get(value) else { return None };
    let factors = factors(staged.b.func(), term)?;
    let (rows, columns) = match factors.each_ref().map(|f| of(&found, f)) {
        [Some(a), Some(b)] if constant.contains(&b.buf) => ((&factors[0], a), (&factors[1], b)),
        [Some(a), Some(b)] if constant.contains(&a.buf) => ((&factors[1], b), (&factors[0], a)),
        _ => return None,
    };
    let dot = dot([rows.0.dtype, columns.0.dtype]).filter(|dot| staged.b.buf(acc).dtype == dot.dtype())?;
    let walked = walked(&staged, &stage, columns.1)?;
    let dots = if wide && dot == SIGNED { &[Dot::Sixteen, Dot::Eight][..] } else { &[dot] };
    let (dot, (k, extent)) =
        dots.iter().find_map(|dot| Some((*dot, along(&staged, &stage, rows.1, &walked, *dot)?)))?;
    let shared = stage.iters.iter().any(|i| walked.contains_key(&i.var) && rows.1.ignores(i.var));
    if !shared {
        return None;
    }
    let axis = *walked.get(&k)?;
    let b = &mut staged.b;
    let name = b.sym(k).to_string();
    let step = b.index_var(&name);
    let elements = elements(b, rows.0, k, step, dot.terms());
    let buf = columns.1.buf;
    b.buf_mut(buf).shape[axis] = (extent / dot.terms()).into();
    b.buf_mut(buf).range = None;
    let Expr::Load { index: at, .. } = b.func().exprs.get(columns.0.load).clone() else { return None };
    let here = BTreeMap::from([(k, b.read(step))]);
    let at = substitution(&here).exprs(b, &at);
    let operands = match dot.is_wide() {
        true => beside(elements, vector(b, buf, &at, dot.terms())),
        false => {
            b.buf_mut(buf).dtype = DType::I32;
            let word = b.call(Intrinsic::Word, elements, Ty::scalar(DType::I32));
            vec![word, b.load(buf, at, Access::Proven)]
        }
    };
    let term = b.call(Intrinsic::Dot(dot), operands, Ty::scalar(dot.dtype()));
    let value = b.add(old, term);
    let count = b.index(extent / dot.terms());
    let own = &mut staged.stages[found.stage];
    own.body = Stmt::Store { buf: acc, index, value, access };
    own.iters.iter_mut().filter(|i| i.var == k).for_each(|i| (i.var, i.extent) = (step, count));
    Some(Tensorized { func: staged.join(), buf, axis, dot })
}

/// A product of bytes with signs.
const SIGNED: Dot = Dot::Bytes { signed: [true, true] };

/// The elements of a vector, which are the last axis of a constant from then on.
fn vector(b: &mut Builder, buf: BufId, at: &[ExprId], count: i64) -> Vec<ExprId> {
    b.buf_mut(buf).shape.push(count.into());
    let element = |n: i64| {
        let index = at.iter().copied().chain([b.index(n)]).collect();
        b.load(buf, index, Access::Proven)
    };
    (0..count).map(element).collect()
}

/// The elements of two vectors.
fn beside(x: Vec<ExprId>, y: Vec<ExprId>) -> Vec<ExprId> {
    x.into_iter().chain(y).collect()
}

/// The factors of a product of 32 bits, if both are narrower.
fn factors(func: &PrimFunc, term: ExprId) -> Option<[Factor; 2]> {
    let Expr::Binary(BinaryOp::Mul, a, b) = *func.exprs.get(term) else { return None };
    let one = |id: ExprId| {
        let Expr::Cast(to, load) = *func.exprs.get(id) else { return None };
        let Elem::Scalar(dtype) = func.exprs.ty(load).elem else { return None };
        let wide = dot([dtype; 2]).is_some_and(|dot| to == Ty::scalar(dot.dtype()));
        let loads = matches!(func.exprs.get(load), Expr::Load { access: Access::Proven, .. });
        (wide && loads).then_some(Factor { load, dtype })
    };
    Some([one(a)?, one(b)?])
}

/// The sum of products of factors of such dtypes.
fn dot(factors: [DType; 2]) -> Option<Dot> {
    let bytes = |dtype: DType| matches!(dtype, DType::I8 | DType::U8);
    match factors {
        [DType::BF16, DType::BF16] => Some(Dot::Bf16),
        both if both.into_iter().all(bytes) => Some(Dot::Bytes { signed: both.map(|dtype| dtype == DType::I8) }),
        _ => None,
    }
}

/// How the buffer of a factor is walked.
fn of<'f>(found: &'f Contraction, factor: &Factor) -> Option<&'f Operand> {
    found.operands.iter().find(|o| o.load == factor.load)
}

/// The axis of an operand for each iterator, if each is walked by one from end to end, and nobody else reads it.
fn walked(staged: &Staged, stage: &Stage, operand: &Operand) -> Option<BTreeMap<VarId, usize>> {
    let func = staged.b.func();
    let Expr::Load { buf, index, .. } = func.exprs.get(operand.load) else { return None };
    let data = staged.b.buf(*buf);
    let mut walked = BTreeMap::new();
    for (axis, at) in axes(func, index).into_iter().enumerate() {
        let whole = data.shape[axis].as_const()?;
        match at {
            Axis::Iter(v, 0) if extent(func, stage, v) == Some(whole) && walked.insert(v, axis).is_none() => {}
            Axis::Fixed(0) if whole == 1 => {}
            Axis::Iter(..) | Axis::Fixed(_) | Axis::Other => return None,
        }
    }
    let reads = staged.stages.iter().flat_map(|s| accesses(func, s)).filter(|a| a.buf == *buf).count();
    (data.strides.is_none() && reads == 1).then_some(walked)
}

/// The iterator over terms along which an operand has neighbours, and how many there are: more than one word, or vectors
/// none of which begins within another one.
fn along(
    staged: &Staged,
    stage: &Stage,
    operand: &Operand,
    walked: &BTreeMap<VarId, usize>,
    dot: Dot,
) -> Option<(VarId, i64)> {
    let step = dot.terms();
    let terms = stage.iters.iter().filter(|i| i.kind == IterKind::Reduce && walked.contains_key(&i.var));
    let count: i64 = terms.clone().filter_map(|i| extent(staged.b.func(), stage, i.var)).product();
    let mut steps = terms.filter(|i| operand.along(i.var)).filter_map(|i| {
        let whole = extent(staged.b.func(), stage, i.var)?;
        // Not where a word is all of the sum.
        let enough = if dot.is_wide() { operand.in_whole(step, i.var) } else { count > step };
        (whole % step == 0 && enough).then_some((i.var, whole))
    });
    steps.next()
}

fn extent(func: &PrimFunc, stage: &Stage, var: VarId) -> Option<i64> {
    let iter = stage.iters.iter().find(|i| i.var == var)?;
    match func.exprs.get(iter.extent) {
        Expr::Index(n) => Some(*n),
        _ => None,
    }
}

/// So many neighbours along an iterator, those of a step: what back ends load at once.
fn elements(b: &mut Builder, factor: &Factor, k: VarId, step: VarId, count: i64) -> Vec<ExprId> {
    let (terms, at) = (b.index(count), b.read(step));
    let first = b.mul(at, terms);
    let element = |n: i64| {
        let n = b.index(n);
        let here = BTreeMap::from([(k, b.add(first, n))]);
        substitution(&here).expr(b, factor.load)
    };
    (0..count).map(element).collect()
}

/// A constant with the neighbours along an axis that a step takes as one number of 32 bits, or as a vector along an axis
/// of its own. None if its file cannot be read.
fn groups(data: &ConstData, axis: usize, dot: Dot) -> Option<ConstData> {
    let terms = dot.terms();
    let plain: Vec<usize> = data.shape.iter().map(|n| *n as usize).collect();
    let mut steps: Vec<i64> = strides(&plain).into_iter().map(|n| n as i64).collect();
    let step = steps[axis];
    steps[axis] *= terms;
    steps.push(step);
    let mut shape = plain.clone();
    shape[axis] /= terms as usize;
    let words: Vec<u64> = shape.iter().map(|n| *n as u64).collect();
    shape.push(terms as usize);
    let bytes: Vec<u64> = shape.iter().map(|n| *n as u64).collect();
    let x = Moving { shape: plain, bytes: bytes_of(data)? };
    let out = gather(&x, 0, &steps, &shape, data.dtype.size_bytes())?;
    let (dtype, shape) = if dot.is_wide() { (data.dtype, bytes) } else { (DType::I32, words) };
    let (hash, name) = (content::of_bytes(dtype, &shape, &out), data.name.clone());
    Some(ConstData { hash, name, dtype, shape, bytes: ConstBytes::Inline(out.into()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_taken_along_the_axis() {
        let bytes: Vec<u8> = (0..16).collect();
        let cases = [
            (DType::I8, vec![8, 2], SIGNED, (DType::I32, vec![2, 2]), [0, 2, 4, 6, 1, 3, 5, 7]),
            (DType::I8, vec![8, 2], Dot::Eight, (DType::I8, vec![1, 2, 8]), [0, 2, 4, 6, 8, 10, 12, 14]),
            (DType::BF16, vec![4, 2], Dot::Bf16, (DType::I32, vec![2, 2]), [0, 1, 4, 5, 2, 3, 6, 7]),
        ];
        for (dtype, shape, dot, of, wanted) in cases {
            let bytes = ConstBytes::Inline(bytes.clone().into());
            let data = ConstData { hash: String::new(), name: String::new(), dtype, shape, bytes };
            let made = groups(&data, 0, dot).expect("its bytes are in memory");
            let ConstBytes::Inline(bytes) = made.bytes else { panic!("they stay there") };
            assert_eq!((made.dtype, made.shape), of);
            assert_eq!(bytes[..8], wanted);
        }
    }
}
