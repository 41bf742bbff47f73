//! `FP8ComputeLegalize`: conversions from and to what is stored only (floats of 8 bits, integers of 4) become arithmetic on
//! their bytes.
//!
//! Runs before math is expanded, for every target: none is taken to have such conversions. Behind it such an element is
//! loaded, stored and reinterpreted as its byte, and nothing else. A float of 8 bits is rounded from f64 or f32 at once,
//! in the bits; an integer of 4 bits fills its byte by its sign. Memory, and so what a function is called with, stays.

use std::collections::HashMap;

use tenfold_ir::float8::Float8;
use tenfold_ir::op::{BinaryOp, CmpOp, UnaryOp};
use tenfold_ir::tir::{Builder, Elem, Expr, ExprArena, ExprId, Intrinsic, PrimFunc, Stmt, Ty, map_operands};
use tenfold_ir::{DType, Module, Scalar};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("FP8ComputeLegalize", &run)
    .in_phase(PassPhase::Target)
    .lowering()
    .about("writes conversions of 8-bit floats and 4-bit integers out as arithmetic on their bytes");

fn run(mut func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    if !func.exprs_in(&func.body).into_iter().any(|e| is_stored(func.exprs.ty(e).elem)) {
        return Ok(func);
    }
    func.vars.iter_mut().for_each(|var| var.ty = in_bytes(var.ty));
    // Types are kept beside expressions, so all are made anew.
    let old = std::mem::take(&mut func.exprs);
    let mut anew = Anew { old, done: HashMap::new() };
    Ok(rewrite_body(func, |b, body| anew.stmt(b, body)))
}

fn is_stored(elem: Elem) -> bool {
    matches!(elem, Elem::Scalar(dtype) if dtype.is_stored())
}

/// The dtype of the byte that holds an element.
fn byte(dtype: DType) -> DType {
    match dtype {
        DType::I4 => DType::I8,
        other if other.is_stored() => DType::U8,
        other => other,
    }
}

fn in_bytes(ty: Ty) -> Ty {
    match ty.elem {
        Elem::Scalar(dtype) => Ty { elem: Elem::Scalar(byte(dtype)), ..ty },
        Elem::Index => ty,
    }
}

/// Expressions of another arena, made anew.
struct Anew {
    old: ExprArena,
    done: HashMap<ExprId, ExprId>,
}

impl Anew {
    fn stmt(&mut self, b: &mut Builder, stmt: Stmt) -> Stmt {
        let mut stmt = stmt.map_exprs(&mut |e| self.expr(b, e));
        if let Stmt::Store { buf, value, .. } = &mut stmt
            && b.buf(*buf).dtype.is_stored()
        {
            let ty = Ty::scalar(b.buf(*buf).dtype);
            *value = b.call(Intrinsic::Bitcast, vec![*value], ty);
        }
        stmt.map_children(&mut |s| self.stmt(b, s))
    }

    fn expr(&mut self, b: &mut Builder, id: ExprId) -> ExprId {
        if let Some(done) = self.done.get(&id) {
            return *done;
        }
        let (expr, ty) = (self.old.get(id).clone(), self.old.ty(id));
        let new = match expr {
            Expr::Const(scalar) => b.scalar(Scalar { dtype: byte(scalar.dtype), ..scalar }),
            Expr::Cast(to, a) => {
                let from = self.old.ty(a).elem;
                let a = self.expr(b, a);
                cast(b, a, from, to)
            }
            Expr::Load { buf, index, access } if is_stored(ty.elem) => {
                let index = index.into_iter().map(|i| self.expr(b, i)).collect();
                let loaded = b.raw(Expr::Load { buf, index, access }, ty);
                b.call(Intrinsic::Bitcast, vec![loaded], Ty { lanes: 1, ..in_bytes(ty) })
            }
            other => {
                let new = map_operands(other, &mut |e| self.expr(b, e));
                b.raw(with_bytes(new), in_bytes(ty))
            }
        };
        self.done.insert(id, new);
        new
    }
}

/// An expression that names its type itself.
fn with_bytes(expr: Expr) -> Expr {
    match expr {
        Expr::Call(f, args, ty) => Expr::Call(f, args, in_bytes(ty)),
        other => other,
    }
}

/// `a`, a value of type `from` in its bytes, as another type.
fn cast(b: &mut Builder, a: ExprId, from: Elem, to: Ty) -> ExprId {
    let plain = match from {
        Elem::Scalar(dtype) => Float8::of(dtype).map_or(a, |format| decoded(b, a, format)),
        Elem::Index => a,
    };
    match to.elem {
        _ if from == to.elem => a,
        Elem::Index => b.to_index(plain),
        Elem::Scalar(dtype) if dtype.is_nibble() => nibble(b, plain, dtype),
        Elem::Scalar(dtype) => match Float8::of(dtype) {
            Some(format) => encoded(b, plain, format),
            None => b.cast(dtype, plain),
        },
    }
}

fn is_float(b: &Builder, a: ExprId) -> bool {
    matches!(b.ty(a).elem, Elem::Scalar(dtype) if dtype.is_float())
}

/// An integer of 4 bits: of a float the nearest there is, of an integer its low bits.
fn nibble(b: &mut Builder, a: ExprId, dtype: DType) -> ExprId {
    let wide = byte(dtype);
    let floats = is_float(b, a);
    let a = b.cast(wide, a);
    let number = |b: &mut Builder, n: i128| b.scalar(Scalar::int(wide, n));
    if floats {
        let (low, high) = if dtype == DType::I4 { (-8, 7) } else { (0, 15) };
        let (low, high) = (number(b, low), number(b, high));
        let above = b.binary(BinaryOp::Max, a, low);
        return b.binary(BinaryOp::Min, above, high);
    }
    let four = number(b, 4);
    let up = b.binary(BinaryOp::Shl, a, four);
    b.binary(BinaryOp::Shr, up, four)
}

/// Integers of one width, by their helpers.
struct Bits<'b> {
    b: &'b mut Builder,
    dtype: DType,
}

impl Bits<'_> {
    fn number(&mut self, n: u64) -> ExprId {
        self.b.scalar(Scalar::int(self.dtype, i128::from(n)))
    }

    fn with(&mut self, op: BinaryOp, a: ExprId, n: u64) -> ExprId {
        let n = self.number(n);
        self.b.binary(op, a, n)
    }

    fn compare(&mut self, op: CmpOp, a: ExprId, n: u64) -> ExprId {
        let n = self.number(n);
        self.b.compare(op, a, n)
    }

    /// `n` where the condition holds, else `a`.
    fn unless(&mut self, condition: ExprId, n: u64, a: ExprId) -> ExprId {
        let n = self.number(n);
        self.b.select(condition, n, a)
    }
}

/// The float of 32 bits that a code stands for.
fn decoded(b: &mut Builder, code: ExprId, format: Float8) -> ExprId {
    let code = b.cast(DType::U32, code);
    let mut bits = Bits { b, dtype: DType::U32 };
    let magnitude = bits.with(BinaryOp::And, code, 0x7f);
    let placed = bits.with(BinaryOp::Shl, magnitude, u64::from(23 - format.fraction));
    let rebias = ((127 - format.bias) as u64) << 23;
    let normal = bits.with(BinaryOp::Add, placed, rebias);
    let tiny = bits.compare(CmpOp::Lt, magnitude, 1 << format.fraction);
    let over = bits.compare(CmpOp::Gt, magnitude, u64::from(format.most));
    let normal = if format.over == format.nan {
        bits.unless(over, 0x7fc0_0000, normal)
    } else {
        let infinite = bits.compare(CmpOp::Eq, magnitude, u64::from(format.over));
        let nan = bits.unless(over, 0x7fc0_0000, normal);
        bits.unless(infinite, 0x7f80_0000, nan)
    };
    // Below the least normal number a code counts units of the last place.
    let count = bits.b.cast(DType::F32, magnitude);
    let unit = bits.b.float(DType::F32, 2f64.powi(1 - format.bias - format.fraction as i32));
    let small = bits.b.mul(count, unit);
    let small = bits.b.call(Intrinsic::Bitcast, vec![small], Ty::scalar(DType::U32));
    let value = bits.b.select(tiny, small, normal);
    let sign = bits.with(BinaryOp::And, code, 0x80);
    let sign = bits.with(BinaryOp::Shl, sign, 24);
    let mut value = bits.b.binary(BinaryOp::Or, value, sign);
    if format.has_no_minus_zero() {
        let nan = bits.compare(CmpOp::Eq, code, 0x80);
        value = bits.unless(nan, 0x7fc0_0000, value);
    }
    b.call(Intrinsic::Bitcast, vec![value], Ty::scalar(DType::F32))
}

/// The code of the nearest value: ties to even, what is too large as infinity or NaN.
fn encoded(b: &mut Builder, x: ExprId, format: Float8) -> ExprId {
    let narrow = matches!(b.ty(x).elem, Elem::Scalar(dtype) if dtype.is_float() && dtype != DType::F64);
    let (float, dtype, fraction, bias) =
        if narrow { (DType::F32, DType::U32, 23, 127) } else { (DType::F64, DType::U64, 52, 1023) };
    let x = b.cast(float, x);
    let all = b.call(Intrinsic::Bitcast, vec![x], Ty::scalar(dtype));
    let width = u64::from(dtype.bits());
    let mut bits = Bits { b, dtype };
    let magnitude = bits.with(BinaryOp::And, all, (1 << (width - 1)) - 1);
    let shift = u64::from(fraction - format.fraction);
    // Half a unit, less one, and the last bit that stays: ties go to even.
    let last = bits.with(BinaryOp::Shr, magnitude, shift);
    let last = bits.with(BinaryOp::And, last, 1);
    let half = bits.with(BinaryOp::Add, magnitude, (1 << (shift - 1)) - 1);
    let rounded = bits.b.add(half, last);
    let rounded = bits.with(BinaryOp::Shr, rounded, shift);
    let normal = bits.with(BinaryOp::Sub, rounded, ((bias - format.bias) as u64) << format.fraction);
    let least = (bias + 1 - format.bias) as u64;
    let tiny = bits.compare(CmpOp::Lt, magnitude, least << fraction);
    let small = units(&mut bits, x, float, format);
    let code = bits.b.select(tiny, small, normal);
    let over = bits.compare(CmpOp::Gt, code, u64::from(format.most));
    let code = bits.unless(over, u64::from(format.over), code);
    let sign = bits.with(BinaryOp::Shr, all, width - 1);
    let sign = bits.with(BinaryOp::Shl, sign, 7);
    let signed = bits.b.binary(BinaryOp::Or, code, sign);
    let value = unsigned_specials(&mut bits, code, signed, format);
    let infinity = ((1u64 << (width - 1 - u64::from(fraction))) - 1) << fraction;
    let nan = bits.compare(CmpOp::Gt, magnitude, infinity);
    let value = bits.unless(nan, u64::from(format.nan), value);
    b.cast(DType::U8, value)
}

/// `x` below the least normal number, in units of the last place.
fn units(bits: &mut Bits<'_>, x: ExprId, float: DType, format: Float8) -> ExprId {
    let scale = bits.b.float(float, 2f64.powi(format.bias - 1 + format.fraction as i32));
    let size = bits.b.unary(UnaryOp::Abs, x);
    let scaled = bits.b.mul(size, scale);
    let whole = bits.b.unary(UnaryOp::Round, scaled);
    bits.b.cast(bits.dtype, whole)
}

/// The code with its sign, which NaN has not, nor zero where there is no minus zero.
fn unsigned_specials(bits: &mut Bits<'_>, code: ExprId, signed: ExprId, format: Float8) -> ExprId {
    let nan = bits.compare(CmpOp::Eq, code, u64::from(format.nan));
    let value = bits.b.select(nan, code, signed);
    if !format.has_no_minus_zero() {
        return value;
    }
    let zero = bits.compare(CmpOp::Eq, code, 0);
    bits.unless(zero, 0, value)
}
