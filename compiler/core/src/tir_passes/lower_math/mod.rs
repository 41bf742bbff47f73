//! `LowerMath`: functions that hardware lacks become arithmetic. (TVM: LowerIntrin.)
//!
//! No code calls a math library: the same expansion runs on every target, and vectorises. Halves are computed in f32
//! and rounded once. The coefficients of `log`, `pow`, `atan`, `erf` and the trigonometric kernels are fdlibm's.
//!
//! Bounds in units in the last place: `tenfold_ir::eval::ulps`, measured in `tests/math.rs` against exact values and in
//! `tests/conformance` on every back end.

mod angle;
mod erf;
mod exp;
mod gelu;
mod kit;
mod log;
mod pow;
mod pow_double;
mod power;
mod quant;
mod trig;
mod wide;

use tenfold_ir::op::{BinaryOp, UnaryOp};
use tenfold_ir::tir::{Builder, Elem, Expr, ExprId, ExprMap, Intrinsic, Phase, PrimFunc, Stmt};
use tenfold_ir::{DType, Module};

use super::each_prim;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};
use kit::{Kit, Tables};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("LowerMath", &lower_math)
    .in_phase(PassPhase::Target)
    .lowering()
    .about("writes exp, log, sin, … out as arithmetic");

/// Runs on every prim-func.
pub(crate) fn lower_math(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let target = &context.target;
    let of_target = Tables::of(target);
    each_prim(module, |mut func| {
        // A strict function has the same bits on every level, of which not all look numbers up, and those of its parts.
        let (strict, tables) = (func.strict, if func.strict { Tables::None } else { of_target });
        let mut body = std::mem::replace(&mut func.body, Stmt::Seq(Vec::new()));
        let mut b = Builder::resume(func);
        if !strict {
            body = ExprMap::new(|b: &mut Builder, id| gelu::expand(b, id, tables)).stmt(&mut b, body);
        }
        let body = ExprMap::new(|b: &mut Builder, id| expand(b, id, tables)).stmt(&mut b, body);
        b.push(body);
        PrimFunc { phase: Phase::Target, ..b.finish() }
    });
    Ok(())
}

/// The expansion of one expression whose operands are expanded.
fn expand(b: &mut Builder, id: ExprId, tables: Tables) -> ExprId {
    let Elem::Scalar(dtype) = b.ty(id).elem else { return id };
    match b.func().exprs.get(id).clone() {
        Expr::Unary(op, x) => unary(b, op, x, dtype, tables).unwrap_or(id),
        Expr::Binary(BinaryOp::Pow, x, y) if dtype.is_float() => {
            halves(b, &[x, y], dtype, tables, |k, args| pow::pow(k, args[0], args[1]))
        }
        Expr::Binary(BinaryOp::Pow, x, y) => pow::int_pow(b, x, y),
        Expr::Binary(BinaryOp::Atan2, x, y) => {
            halves(b, &[x, y], dtype, tables, |k, args| trig::atan2(k, args[0], args[1]))
        }
        Expr::Call(Intrinsic::ExpNonpositive, args, _) => {
            exp::exp_nonpositive(&mut Kit { tables, ..Kit::new(b, dtype) }, args[0])
        }
        Expr::Call(Intrinsic::NearestInt, args, _) => quant::nearest_int(b, args[0]),
        Expr::Call(Intrinsic::QMultiplyShift, args, _) if args.len() == 3 => {
            quant::multiply_shift(b, args[0], args[1], args[2])
        }
        _ => id,
    }
}

fn unary(b: &mut Builder, op: UnaryOp, x: ExprId, dtype: DType, tables: Tables) -> Option<ExprId> {
    if op == UnaryOp::Square {
        return Some(b.mul(x, x));
    }
    if !dtype.is_float() {
        return None;
    }
    let f: fn(&mut Kit<'_>, ExprId) -> ExprId = match op {
        UnaryOp::Rsqrt => |k, x| {
            let (one, root) = (k.c(1.0), k.unary(UnaryOp::Sqrt, x));
            k.div(one, root)
        },
        UnaryOp::Reciprocal => |k, x| {
            let one = k.c(1.0);
            k.div(one, x)
        },
        UnaryOp::Exp => exp::exp,
        UnaryOp::Exp2 => exp::exp2,
        UnaryOp::Expm1 => exp::expm1,
        UnaryOp::Sinh => exp::sinh,
        UnaryOp::Cosh => exp::cosh,
        UnaryOp::Tanh => exp::tanh,
        UnaryOp::Sigmoid => exp::sigmoid,
        UnaryOp::Log => log::log,
        UnaryOp::Log2 => log::log2,
        UnaryOp::Log10 => log::log10,
        UnaryOp::Log1p => log::log1p,
        UnaryOp::Asinh => log::asinh,
        UnaryOp::Acosh => log::acosh,
        UnaryOp::Atanh => log::atanh,
        UnaryOp::Sin => trig::sin,
        UnaryOp::Cos => trig::cos,
        UnaryOp::Tan => trig::tan,
        UnaryOp::Asin => trig::asin,
        UnaryOp::Acos => trig::acos,
        UnaryOp::Atan => trig::atan,
        UnaryOp::Erf => erf::erf,
        UnaryOp::Neg
        | UnaryOp::Not
        | UnaryOp::Abs
        | UnaryOp::Sign
        | UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::Round
        | UnaryOp::Trunc
        | UnaryOp::Sqrt
        | UnaryOp::Square
        | UnaryOp::IsNan
        | UnaryOp::IsInf
        | UnaryOp::IsFinite => return None,
    };
    Some(halves(b, &[x], dtype, tables, |k, args| f(k, args[0])))
}

/// Runs an expansion in f32 or f64: halves go up before and are rounded once after.
fn halves(
    b: &mut Builder,
    args: &[ExprId],
    dtype: DType,
    tables: Tables,
    f: impl FnOnce(&mut Kit<'_>, &[ExprId]) -> ExprId,
) -> ExprId {
    let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let args: Vec<ExprId> = args.iter().map(|a| b.cast(wide, *a)).collect();
    let value = f(&mut Kit { tables, ..Kit::new(b, wide) }, &args);
    b.cast(dtype, value)
}
