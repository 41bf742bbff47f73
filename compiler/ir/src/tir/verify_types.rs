//! What type each expression must have.

use super::warp::TILE;
use super::{Dot, Elem, Expr, ExprId, Intrinsic, PrimFunc, Ty, Warp};
use crate::DType;
use crate::op::{BinaryOp, Takes, UnaryOp};

/// An expression as a reader knows it, cut where it is long.
pub(super) fn describe(func: &PrimFunc, id: ExprId) -> String {
    let text = super::print::expr_text(func, id);
    if text.chars().count() <= 80 { text } else { text.chars().take(77).chain("...".chars()).collect() }
}

/// What is wrong with the type of an expression whose operands are right.
pub(super) fn type_error(func: &PrimFunc, id: ExprId) -> Option<String> {
    let found = func.exprs.ty(id);
    match expected(func, func.exprs.get(id)) {
        Ok(ty) if ty == found => None,
        Ok(ty) => Some(format!("expected type `{ty}`, found `{found}`")),
        Err(error) => Some(error),
    }
}

/// The type of an expression, or what is wrong with its operands' types.
pub(super) fn expected(func: &PrimFunc, expr: &Expr) -> Result<Ty, String> {
    let ty = |e: &ExprId| func.exprs.ty(*e);
    let same = |a: &ExprId, b: &ExprId| {
        let (a, b) = (ty(a), ty(b));
        if a == b { Ok(a) } else { Err(format!("operands of types `{a}` and `{b}`")) }
    };
    let bools = |lanes| Ty { elem: Elem::Scalar(DType::Bool), lanes };
    match expr {
        Expr::Const(s) => Ok(Ty::scalar(s.dtype)),
        Expr::Index(_) => Ok(Ty::index()),
        Expr::Var(v) => Ok(func.vars.get(v.0 as usize).ok_or("no such variable")?.ty),
        Expr::Unary(op, a) => unary(*op, computed(ty(a))?),
        Expr::Binary(op, a, b) => binary(*op, computed(same(a, b)?)?),
        Expr::Compare(_, a, b) => Ok(bools(computed(same(a, b)?)?.lanes)),
        Expr::If(c, a, b) if ty(c) == Ty::bool() => same(a, b),
        Expr::Select(c, a, b) if ty(c) == Ty::bool() || ty(c) == bools(ty(a).lanes) => same(a, b),
        Expr::If(c, ..) | Expr::Select(c, ..) => Err(format!("expected a condition of `bool`, found `{}`", ty(c))),
        Expr::Cast(to, a) if to.lanes == ty(a).lanes => Ok(*to),
        Expr::Cast(to, a) => Err(format!("a cast of `{}` to `{to}`", ty(a))),
        Expr::Load { buf, index, .. } => {
            let data = func.buffers.get(buf.0 as usize).ok_or("no such buffer")?;
            let lanes = index.iter().map(|i| ty(i).lanes).max().unwrap_or(1);
            Ok(Ty { elem: Elem::Scalar(data.dtype), lanes })
        }
        Expr::Call(f, args, to) => call(*f, &args.iter().map(ty).collect::<Vec<_>>(), *to),
        Expr::Ramp(base, stride, lanes) => {
            let scalar = same(base, stride)?;
            if scalar.lanes == 1 { Ok(Ty { lanes: *lanes, ..scalar }) } else { Err("a ramp of vectors".into()) }
        }
        Expr::Broadcast(a, lanes) if ty(a).lanes == 1 => Ok(Ty { lanes: *lanes, ..ty(a) }),
        Expr::Broadcast(..) => Err("a broadcast of a vector".into()),
        Expr::Shuffle(vectors, lanes) => shuffle(&vectors.iter().map(ty).collect::<Vec<_>>(), lanes),
    }
}

fn shuffle(vectors: &[Ty], lanes: &[u16]) -> Result<Ty, String> {
    let first = vectors.first().ok_or("a shuffle of nothing")?;
    if vectors.iter().any(|v| v.elem != first.elem) {
        return Err("a shuffle of vectors of different types".into());
    }
    let all: u32 = vectors.iter().map(|v| u32::from(v.lanes)).sum();
    if let Some(lane) = lanes.iter().find(|lane| u32::from(**lane) >= all) {
        return Err(format!("lane {lane} of {all}"));
    }
    match u16::try_from(lanes.len()) {
        Ok(lanes) if lanes > 0 => Ok(Ty { elem: first.elem, lanes }),
        Ok(_) | Err(_) => Err(format!("a shuffle to {} lanes", lanes.len())),
    }
}

/// The type, unless its elements are stored only.
fn computed(ty: Ty) -> Result<Ty, String> {
    match ty.elem {
        Elem::Scalar(dtype) if dtype.is_stored() => Err(format!("arithmetic on `{dtype}`, which is stored only")),
        Elem::Scalar(_) | Elem::Index => Ok(ty),
    }
}

/// The dtype whose laws an element has.
fn dtype(a: Ty) -> DType {
    match a.elem {
        Elem::Scalar(dtype) => dtype,
        Elem::Index => DType::I64,
    }
}

fn unary(op: UnaryOp, a: Ty) -> Result<Ty, String> {
    if !op.takes().holds(dtype(a)) {
        let what = match op.takes() {
            Takes::Number => "a number",
            Takes::Float => "a float",
            Takes::Integer => "an integer",
            Takes::BoolOrInteger => "an integer or `bool`",
        };
        return Err(format!("expected {what}, found `{a}`"));
    }
    Ok(match op {
        UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite => Ty { elem: Elem::Scalar(DType::Bool), ..a },
        _ => a,
    })
}

fn binary(op: BinaryOp, a: Ty) -> Result<Ty, String> {
    // The larger of two bools is whether one holds.
    if op.takes().holds(dtype(a)) || matches!(op, BinaryOp::Min | BinaryOp::Max) {
        return Ok(a);
    }
    let what = match op.takes() {
        Takes::Number => "numbers",
        Takes::Float => "floats",
        Takes::Integer => "integers",
        Takes::BoolOrInteger => "integers or `bool`",
    };
    Err(format!("expected {what}, found `{a}`"))
}

/// Whether so many elements are what a word is made of.
fn is_word(of: Ty, count: usize) -> bool {
    match of.elem {
        Elem::Scalar(DType::BF16) => count == 2,
        Elem::Scalar(dtype) => dtype.size_bytes() == 1 && count == 4,
        Elem::Index => false,
    }
}

/// Whether a sum of products takes such operands.
fn is_dotted(dot: Dot, of: Ty) -> bool {
    of.elem == Elem::Scalar(if dot.is_wide() { DType::I8 } else { DType::I32 })
}

/// Whether these are what a thread gives a function of its warp: halves or integers of 8 bits, and the sum of products; or an
/// element.
fn is_spread(f: Warp, args: &[Ty]) -> bool {
    let halves = |ty: &Ty| matches!(ty.elem, Elem::Scalar(DType::F16 | DType::BF16));
    let bytes = |ty: &Ty| matches!(ty.elem, Elem::Scalar(DType::I8 | DType::U8));
    let is_wide = |ty: &Ty| ty.lanes == 16;
    let lanes: Vec<u16> = args.iter().map(|ty| ty.lanes).collect();
    f.takes(&lanes)
        && match (f, args) {
            (Warp::LdMatrix | Warp::LdMatrixTrans, [row]) => {
                if is_wide(row) {
                    bytes(row)
                } else {
                    halves(row)
                }
            }
            (Warp::Wgmma(_), [a, b, c]) if bytes(a) => {
                usize::from(a.lanes) > TILE * TILE && a.elem == b.elem && c.elem == Elem::Scalar(DType::I32)
            }
            (Warp::Mma, [a, b, c]) if is_wide(a) => bytes(a) && bytes(b) && c.elem == Elem::Scalar(DType::I32),
            (Warp::Mma | Warp::Wgmma(_) | Warp::WgmmaRegisters(_), [a, b, c]) => {
                usize::from(a.lanes) <= TILE * TILE
                    && halves(a)
                    && a.elem == b.elem
                    && c.elem == Elem::Scalar(DType::F32)
            }
            (Warp::ShuffleXor(_), [value]) => value.elem != Elem::Index,
            (Warp::WgmmaWait(_), [sums]) => matches!(sums.elem, Elem::Scalar(DType::F32 | DType::I32)),
            (
                Warp::LdMatrix
                | Warp::LdMatrixTrans
                | Warp::Mma
                | Warp::Wgmma(_)
                | Warp::WgmmaRegisters(_)
                | Warp::WgmmaWait(_)
                | Warp::ShuffleXor(_),
                _,
            ) => false,
        }
}

/// Whether the threads of a block reduce such values.
fn is_reduced(of: Ty) -> bool {
    of.lanes == 1 && matches!(of.elem, Elem::Scalar(dtype) if dtype != DType::Bool)
}

/// Whether a number is looked up among such values in as many lanes as `at` has.
fn is_table(at: Ty, all: &[Ty]) -> bool {
    let known = |ty: &Ty| matches!(ty.elem, Elem::Scalar(DType::I32 | DType::F32)) && ty.lanes == at.lanes;
    matches!(all.len(), 8 | 16) && known(&all[0]) && all.iter().all(|ty| *ty == all[0])
}

/// Whether it is one number.
fn is_number(of: &Ty) -> bool {
    of.lanes == 1 && matches!(of.elem, Elem::Index | Elem::Scalar(DType::I32 | DType::I64))
}

/// Whether these are what a copy of a box of a tensor is given.
fn is_box(full: Ty, first: Ty, axes: &[Ty], to: Ty) -> bool {
    let whole = !axes.is_empty() && axes.len().is_multiple_of(4) && axes.iter().all(is_number);
    whole && full == Ty::scalar(DType::U64) && first == Ty { lanes: 1, ..to }
}

fn call(f: Intrinsic, args: &[Ty], to: Ty) -> Result<Ty, String> {
    let i32s = |ty: &Ty| ty.elem == Elem::Scalar(DType::I32);
    let width = |ty: Ty| match ty.elem {
        Elem::Scalar(dtype) => (dtype.size_bytes(), ty.lanes),
        Elem::Index => (8, ty.lanes),
    };
    match (f, args) {
        (Intrinsic::Fma, [a, b, c]) if a == b && b == c => Ok(*a),
        (Intrinsic::QMultiplyShift, [a, b, c]) if i32s(a) && a == b && b == c => Ok(*a),
        (Intrinsic::NearestInt, [x]) if matches!(x.elem, Elem::Scalar(DType::F32 | DType::F64)) => {
            Ok(Ty { elem: Elem::Scalar(DType::I32), ..*x })
        }
        (Intrinsic::Bitcast, [a]) if width(*a) == width(to) => Ok(to),
        (Intrinsic::Lookup, [i, all @ ..]) if i32s(i) && is_table(*i, all) => Ok(all[0]),
        (Intrinsic::Scalef, [x, n]) if x == n && x.elem == Elem::Scalar(DType::F32) => Ok(*x),
        (Intrinsic::ExpNonpositive, [x]) if matches!(x.elem, Elem::Scalar(DType::F32 | DType::F64)) => Ok(*x),
        (Intrinsic::Ex2, [x]) if x.elem == Elem::Scalar(DType::F32) => Ok(*x),
        (Intrinsic::Word, [a, rest @ ..]) if rest.iter().all(|b| a == b) && is_word(*a, args.len()) => {
            Ok(Ty { elem: Elem::Scalar(DType::I32), ..*a })
        }
        (Intrinsic::Dot(dot), [a, rest @ ..])
            if args.len() == dot.operands() && rest.iter().all(|b| a == b) && is_dotted(dot, *a) =>
        {
            Ok(Ty { elem: Elem::Scalar(dot.dtype()), ..*a })
        }
        (Intrinsic::UntilAligned, [x, n]) if x.lanes == 1 && *n == Ty::index() => Ok(Ty::index()),
        (Intrinsic::CopyAsync, [x]) if width(*x).0 * usize::from(x.lanes) == 16 => Ok(*x),
        (Intrinsic::CopyTensor, [full, x, axes @ ..]) if is_box(*full, *x, axes, to) => Ok(to),
        (Intrinsic::Mbarrier(_), [n]) if is_number(n) => Ok(Ty::scalar(DType::U64)),
        (Intrinsic::Group(_), [x]) if is_reduced(*x) => Ok(*x),
        (Intrinsic::Warp(f), [.., last]) if is_spread(f, args) => Ok(*last),
        (
            Intrinsic::Fma
            | Intrinsic::QMultiplyShift
            | Intrinsic::NearestInt
            | Intrinsic::Bitcast
            | Intrinsic::Lookup
            | Intrinsic::Scalef
            | Intrinsic::ExpNonpositive
            | Intrinsic::Ex2
            | Intrinsic::Word
            | Intrinsic::Dot(_)
            | Intrinsic::Warp(_)
            | Intrinsic::Group(_)
            | Intrinsic::UntilAligned
            | Intrinsic::CopyAsync
            | Intrinsic::CopyTensor
            | Intrinsic::Mbarrier(_),
            _,
        ) => {
            let args: Vec<String> = args.iter().map(Ty::to_string).collect();
            Err(format!("arguments of types ({}) for {f:?}", args.join(", ")))
        }
    }
}
