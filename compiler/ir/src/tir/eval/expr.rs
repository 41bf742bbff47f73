//! What an expression gives in one lane.

use super::few::Few;
use super::frame::sums::is_of_floats;
use super::frame::{Frame, Known};
use super::memory::View;
use crate::Scalar;
use crate::eval::{Bounded, bounded, dot, scalar_ops};
use crate::op::{BinaryOp, UnaryOp};
use crate::tir::{Access, BufId, Dot, Elem, Expr, ExprId, Intrinsic, PrimFunc, Ty, operands};

impl Frame<'_, '_> {
    /// The value of `id` in a lane. Within a statement an expression has one value, so shared parts are evaluated once, but
    /// for those that are at hand.
    pub(super) fn expr(&mut self, id: ExprId, lane: u16) -> Result<Bounded, String> {
        if matches!(self.func.exprs.get(id), Expr::Const(_) | Expr::Index(_) | Expr::Var(_)) {
            return self.compute(id, lane);
        }
        let ty = self.func.exprs.ty(id);
        if ty.elem == Elem::Index
            && let Some(index) = self.known_index(id, lane)
        {
            return Ok(Bounded::index(index));
        }
        let at = id.0 as usize;
        if !self.shared[at] {
            return self.compute(id, lane);
        }
        let lane = if ty.lanes == 1 { 0 } else { lane };
        let known = &self.memo[at];
        if (known.when, known.lane) == (self.now, lane) {
            return Ok(known.value);
        }
        let value = self.compute(id, lane)?;
        self.memo[at] = Known { when: self.now, lane, value };
        Ok(value)
    }

    fn compute(&mut self, id: ExprId, lane: u16) -> Result<Bounded, String> {
        let func = self.func;
        Ok(match func.exprs.get(id) {
            Expr::Const(s) => Bounded::exact(*s),
            Expr::Index(i) => Bounded::index(*i),
            Expr::Var(v) => {
                let value = self.state.vars[v.0 as usize].at(lane);
                value.ok_or_else(|| format!("variable `{}` is used before it is bound", func.vars[v.0 as usize].sym))?
            }
            Expr::Unary(op, a) => bounded::unary(*op, self.expr(*a, lane)?),
            Expr::Binary(BinaryOp::Add, a, b) if is_of_floats(func, *b) => self.added(Some(*a), *b, lane)?,
            Expr::Binary(op, a, b) => {
                let (a, b) = (self.expr(*a, lane)?, self.expr(*b, lane)?);
                agree(a, b)?;
                bounded::binary(*op, a, b)
            }
            Expr::Compare(op, a, b) => {
                let (a, b) = (self.expr(*a, lane)?, self.expr(*b, lane)?);
                agree(a, b)?;
                bounded::compare(*op, a, b)
            }
            Expr::If(c, a, b) => self.either(*c, *a, *b, lane)?,
            Expr::Select(c, a, b) => {
                let (c, a, b) = (self.expr(*c, lane)?, self.expr(*a, lane)?, self.expr(*b, lane)?);
                bounded::select(c, a, b)
            }
            Expr::Cast(ty, a) => bounded::cast(Frame::elem_dtype(ty.elem), self.expr(*a, lane)?),
            Expr::Load { buf, index, access } => self.load(*buf, index, *access, lane)?,
            Expr::Call(..) if is_of_floats(func, id) => self.added(None, id, lane)?,
            Expr::Call(Intrinsic::UntilAligned, args, _) => self.until_aligned(args)?,
            Expr::Call(f, args, ty) => {
                let mut values = Few::of(Bounded::index(0), args.len());
                for (value, arg) in values.iter_mut().zip(args) {
                    *value = self.expr(*arg, lane)?;
                }
                intrinsic(*f, &values, *ty)?
            }
            Expr::Ramp(base, stride, _) => {
                let (base, stride) = (self.expr(*base, 0)?, self.expr(*stride, 0)?);
                let step = Bounded::exact(Scalar::int(stride.value.dtype, i128::from(lane)));
                let offset = bounded::binary(BinaryOp::Mul, stride, step);
                bounded::binary(BinaryOp::Add, base, offset)
            }
            Expr::Broadcast(a, _) => self.expr(*a, 0)?,
            Expr::Shuffle(vectors, lanes) => self.shuffle(vectors, lanes[usize::from(lane)])?,
        })
    }

    /// The lane of that number among those of all vectors.
    fn shuffle(&mut self, vectors: &[ExprId], mut lane: u16) -> Result<Bounded, String> {
        for vector in vectors {
            let lanes = self.func.exprs.ty(*vector).lanes;
            if lane < lanes {
                return self.expr(*vector, lane);
            }
            lane -= lanes;
        }
        Err("a shuffle of a lane that is not there".into())
    }

    /// Only the branch taken is evaluated, unless the condition is unknown; then one that fails is not taken.
    fn either(&mut self, c: ExprId, a: ExprId, b: ExprId, lane: u16) -> Result<Bounded, String> {
        let c = self.expr(c, lane)?;
        let (taken, other) = if c.value.bits != 0 { (a, b) } else { (b, a) };
        let value = self.expr(taken, lane)?;
        if c.is_exact() {
            return Ok(value);
        }
        Ok(match self.expr(other, lane) {
            Ok(other) if c.value.bits != 0 => bounded::select(c, value, other),
            Ok(other) => bounded::select(c, other, value),
            Err(_) => value.unknown(),
        })
    }

    /// Here every buffer begins 16 bytes behind a multiple, as large memory of an allocator does.
    fn until_aligned(&mut self, args: &[ExprId]) -> Result<Bounded, String> {
        const BEGIN: i64 = 16;
        let [place, bytes] = args else { return Err(format!("{} arguments for `until_aligned`", args.len())) };
        let Expr::Load { buf, index, access } = self.func.exprs.get(*place) else {
            return Err("`until_aligned` of what is no element".into());
        };
        let (at, _) = self.index(index, 0)?;
        let (view, cell) = self.cell(*buf, &at, *access)?;
        let size = self.func.buffers[buf.0 as usize].dtype.size_bytes() as i64;
        let bytes = self.expr(*bytes, 0)?.value.to_i128() as i64;
        let address = BEGIN + cell / view.unit * size;
        Ok(Bounded::index((-address).rem_euclid(bytes.max(1)) / size))
    }

    fn load(&mut self, buf: BufId, index: &[ExprId], access: Access, lane: u16) -> Result<Bounded, String> {
        let (at, sure) = self.index(index, lane)?;
        let place = self.cell(buf, &at, access)?;
        let found = self.element(buf, &at, place)?;
        Ok(if sure { found } else { found.unknown() })
    }

    /// What an element holds that is read.
    pub(super) fn element(&mut self, buf: BufId, at: &[i64], (view, cell): (View, i64)) -> Result<Bounded, String> {
        let data = &self.func.buffers[buf.0 as usize];
        self.touch(buf, at, (view, cell), false)?;
        self.is_settled(buf, at, (view, cell), false)?;
        let found = self.machine.memories[view.memory].get(cell, data.dtype);
        let Some(found) = found else {
            let what = if self.machine.memories[view.memory].is_bytes() { ", or its memory was reused" } else { "" };
            let error = format!("`{}`{at:?} is read before it is written{what}", data.name);
            self.machine.races.suspect(error)?;
            return Ok(Bounded::exact(crate::Scalar::int(data.dtype, 0)).unknown());
        };
        if let Some((lo, hi)) = &data.range {
            let (lo, hi) = (i128::from(self.int(lo)?), i128::from(self.int(hi)?));
            let value = found.value.to_i128();
            if !(lo..hi).contains(&value) {
                return Err(format!("`{}`{at:?} is {value}, outside its range {lo}..{hi}", data.name));
            }
        }
        Ok(found)
    }
}

/// Which expressions a statement may ask for again: operands of several, and scalars that each lane asks for.
pub(super) fn shared(func: &PrimFunc) -> Vec<bool> {
    let (exprs, mut asked) = (&func.exprs, vec![0_u8; func.exprs.len()]);
    for id in (0..exprs.len() as u32).map(ExprId) {
        for operand in operands(exprs.get(id)) {
            let of_lanes = exprs.ty(operand).lanes == 1 && exprs.ty(id).lanes > 1;
            let asked = &mut asked[operand.0 as usize];
            *asked = asked.saturating_add(if of_lanes { 2 } else { 1 });
        }
    }
    asked.into_iter().map(|times| times > 1).collect()
}

fn agree(a: Bounded, b: Bounded) -> Result<(), String> {
    if a.value.dtype == b.value.dtype {
        return Ok(());
    }
    Err(format!("operands of types `{}` and `{}`", a.value.dtype, b.value.dtype))
}

fn intrinsic(f: Intrinsic, args: &[Bounded], ty: Ty) -> Result<Bounded, String> {
    match (f, args) {
        (Intrinsic::Fma, [a, b, c]) => Ok(bounded::fma(*a, *b, *c)),
        (Intrinsic::QMultiplyShift, [x, m, s]) => {
            let value = Bounded::exact(scalar_ops::q_multiply_shift(x.value, m.value, s.value));
            Ok(if args.iter().all(|a| a.is_exact()) { value } else { value.unknown() })
        }
        (Intrinsic::NearestInt, [x]) => Ok(bounded::nearest_int(*x)),
        (Intrinsic::Bitcast, [x]) => {
            let dtype = Frame::elem_dtype(ty.elem);
            if dtype.size_bytes() != x.value.dtype.size_bytes() {
                return Err(format!("bitcast of `{}` to `{dtype}`", x.value.dtype));
            }
            let value = Bounded::exact(Scalar { dtype, bits: x.value.bits });
            // Which NaN a result is, no two processors agree on.
            let known = x.is_exact() && !(x.value.dtype.is_float() && x.get().is_nan());
            Ok(if known { value } else { value.unknown() })
        }
        (Intrinsic::Lookup, [i, all @ ..]) if matches!(all.len(), 8 | 16) => {
            let value = all[i.value.bits as usize % all.len()];
            Ok(if i.is_exact() { value } else { value.unknown() })
        }
        (Intrinsic::Scalef, [x, n]) => {
            let value = Bounded::exact(scalar_ops::scalef(x.value, n.value));
            Ok(if args.iter().all(|a| a.is_exact()) { value } else { value.unknown() })
        }
        (Intrinsic::ExpNonpositive, [x]) => Ok(bounded::exp_nonpositive(*x)),
        (Intrinsic::Ex2, [x]) => Ok(bounded::unary(UnaryOp::Exp2, *x)),
        (Intrinsic::Word, [_, _] | [_, _, _, _]) => Ok(dot::word(args)),
        (Intrinsic::Dot(Dot::Bytes { signed }), [x, y]) => {
            let value = Bounded::exact(dot::dot4(x.value, y.value, signed));
            Ok(if args.iter().all(|a| a.is_exact()) { value } else { value.unknown() })
        }
        (Intrinsic::Dot(dot @ (Dot::Eight | Dot::Sixteen)), _) if args.len() == dot.operands() => {
            Ok(dot::products(args))
        }
        (Intrinsic::CopyAsync, [x]) => Ok(*x),
        (Intrinsic::CopyTensor, _) => Err("a copy of a box that is not stored".into()),
        (Intrinsic::Mbarrier(f), _) => Err(format!("`{}` that is not stored", f.name())),
        (Intrinsic::Group(f), _) => Err(format!("`{}` where a thread is alone", f.name())),
        (Intrinsic::Warp(f), _) => Err(format!("`{}` where a thread is alone", f.name())),
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
            | Intrinsic::UntilAligned
            | Intrinsic::CopyAsync,
            _,
        ) => Err(format!("{} arguments for {f:?}", args.len())),
    }
}
