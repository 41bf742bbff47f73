//! Expressions: each is computed once a statement, and what stands in one branch alone stays there if it reads memory.

use spirv::{GlslStd450Op, Op};
use tenfold_ir::op::{BinaryOp, CmpOp, UnaryOp};
use tenfold_ir::tir::{BufId, Dot, Expr, ExprId, Intrinsic, Scope};

use super::kind::{F32, Kind};
use super::out::{Id, Out, refs};
use super::stmt::Body;

/// Something that there is no SPIR-V for, and why.
#[derive(Debug)]
pub(super) struct Cannot {
    pub(super) what: String,
    pub(super) why: &'static str,
}

impl Cannot {
    /// What an earlier pass should have written out.
    pub(super) fn unexpanded(what: String) -> Cannot {
        Cannot { what, why: "run LowerMath before, which expands it" }
    }
}

/// A result, or why there is none.
pub(super) type Made = Result<Id, Cannot>;

/// How many expressions of a branch are computed whether it is taken or not.
const CHEAP: usize = 12;

impl Body<'_> {
    pub(super) fn kind(&self, id: ExprId) -> Kind {
        Kind::of(self.func.exprs.ty(id).elem)
    }

    /// The kind of what is converted: that of its slot for a pushed index.
    fn source_kind(&self, id: ExprId) -> Kind {
        let pushed = match self.func.exprs.get(id) {
            Expr::Var(var) => self.pushed_kind(*var),
            _ => None,
        };
        pushed.unwrap_or(self.kind(id))
    }

    /// The value of an expression.
    pub(super) fn value(&mut self, id: ExprId) -> Made {
        if let Some(known) = self.known.iter().rev().find_map(|scope| scope.get(&id)) {
            return Ok(*known);
        }
        let value = self.compute(id)?;
        if let Some(scope) = self.known.last_mut() {
            scope.insert(id, value);
        }
        Ok(value)
    }

    fn compute(&mut self, id: ExprId) -> Made {
        let kind = self.kind(id);
        match self.func.exprs.get(id).clone() {
            Expr::Const(s) => {
                let bits = if s.dtype.is_float() { s.bits } else { s.to_i128() as u64 };
                Ok(self.out.constant(kind, bits))
            }
            Expr::Index(i) => Ok(self.out.number(kind, i)),
            Expr::Var(var) => self.variable(var),
            Expr::Unary(op, a) => {
                let (of, a) = (self.kind(a), self.value(a)?);
                self.out.unary(op, of, a)
            }
            Expr::Binary(op, a, b) => self.binary(op, a, b),
            Expr::Compare(op, a, b) => {
                let (of, a, b) = (self.kind(a), self.value(a)?, self.value(b)?);
                Ok(self.out.compare(op, of, a, b))
            }
            Expr::Select(c, a, b) => {
                let (c, a, b) = (self.value(c)?, self.value(a)?, self.value(b)?);
                Ok(self.out.select(kind, c, a, b))
            }
            Expr::If(c, a, b) if self.is_cheap(a) && self.is_cheap(b) => {
                let (c, a, b) = (self.value(c)?, self.value(a)?, self.value(b)?);
                Ok(self.out.select(kind, c, a, b))
            }
            Expr::If(c, a, b) => self.lazy(kind, c, a, b),
            Expr::Cast(_, a) => {
                let (from, a) = (self.source_kind(a), self.value(a)?);
                self.out.cast(from, kind, a)
            }
            Expr::Load { buf, index, .. } => self.load(buf, &index),
            Expr::Call(f, args, _) => self.call(f, &args, kind),
            Expr::Ramp(..) | Expr::Broadcast(..) | Expr::Shuffle(..) => {
                Err(Cannot { what: "a vector".into(), why: "they are loops over lanes here; this is a bug of Tenfold" })
            }
        }
    }

    fn binary(&mut self, op: BinaryOp, a: ExprId, b: ExprId) -> Made {
        let (kind, literal) = (self.kind(a), self.func.literal(b));
        if op == BinaryOp::Add
            && kind == F32
            && !self.func.strict
            && let Some((x, y, z)) = self.product(a, b).or_else(|| self.product(b, a))
        {
            let (x, y, z) = (self.value(x)?, self.value(y)?, self.value(z)?);
            let ty = self.out.float(32);
            return Ok(self.out.exact_glsl(GlslStd450Op::Fma, ty, &[x, y, z]));
        }
        let (a, b) = (self.value(a)?, self.value(b)?);
        self.out.binary(op, kind, a, b, literal)
    }

    /// The factors of a product and what is added to it: one instruction, which may round once or twice.
    fn product(&self, product: ExprId, rest: ExprId) -> Option<(ExprId, ExprId, ExprId)> {
        match self.func.exprs.get(product) {
            Expr::Binary(BinaryOp::Mul, x, y) if self.known.iter().all(|s| !s.contains_key(&product)) => {
                Some((*x, *y, rest))
            }
            _ => None,
        }
    }

    /// Whether all of an expression may be computed where its value may not be needed: it is short, and reads no memory
    /// but the thread's own, at places that are constant.
    fn is_cheap(&self, id: ExprId) -> bool {
        let own = |buf: BufId| self.func.buffers[buf.0 as usize].scope == Scope::Local;
        let fixed = |index: &[ExprId]| index.iter().all(|i| self.func.literal(*i).is_some());
        let all = self.func.reachable([id]);
        all.len() <= CHEAP
            && all.iter().all(|e| match self.func.exprs.get(*e) {
                Expr::Load { buf, index, .. } => own(*buf) && fixed(index),
                _ => true,
            })
    }

    /// One of two, of which only that is computed.
    fn lazy(&mut self, kind: Kind, c: ExprId, a: ExprId, b: ExprId) -> Made {
        let cond = self.value(c)?;
        let [yes, no, merge] = [0; 3].map(|_: u32| self.out.id());
        self.out.selection_merge(merge);
        self.out.branch_if(cond, yes, no);
        let mut ends = Vec::new();
        for (label, branch) in [(yes, a), (no, b)] {
            self.out.begin(label);
            self.known.push(Default::default());
            let value = self.value(branch)?;
            self.known.pop();
            ends.extend([value, self.out.here()]);
            self.out.branch(merge);
        }
        self.out.begin(merge);
        let (ty, id) = (self.out.register(kind), self.out.id());
        self.out.push(Op::Phi, Some(ty), Some(id), refs(&ends));
        Ok(id)
    }

    fn call(&mut self, f: Intrinsic, args: &[ExprId], kind: Kind) -> Made {
        let mut values = Vec::new();
        for arg in args {
            values.push(self.value(*arg)?);
        }
        let from = args.first().map_or(kind, |a| self.kind(*a));
        match (f, &values[..]) {
            (Intrinsic::Fma, [a, b, c]) => self.out.fma(kind, *a, *b, *c),
            (Intrinsic::Bitcast, [a]) => Ok(self.out.bitcast(from, kind, *a)),
            (Intrinsic::Word, parts) => Ok(self.out.packed(parts)),
            (Intrinsic::Dot(Dot::Bytes { signed }), [a, b]) => Ok(self.out.dot_bytes(signed, *a, *b)),
            (Intrinsic::Dot(Dot::Bf16), [a, b]) => Ok(self.out.dot_bf16(*a, *b)),
            (Intrinsic::Group(f), [x]) => self.group(f, kind, *x),
            (Intrinsic::Warp(f), _) => Err(Cannot {
                what: format!("`{}`", f.name()),
                why: "Vulkan does not say how many threads a subgroup has: reduce in the group, or share memory",
            }),
            _ => Err(Cannot::unexpanded(format!("{f:?}"))),
        }
    }
}

impl Out {
    fn unary(&mut self, op: UnaryOp, kind: Kind, a: Id) -> Made {
        match kind {
            Kind::Bool => self.bool_unary(op, a),
            Kind::Int { .. } => self.int_unary(op, kind, a),
            Kind::Float { .. } => self.float_unary(op, kind, a),
            Kind::Half { brain } => {
                let wide = self.half_to(brain, a);
                let value = self.float_unary(op, F32, wide)?;
                let is_test = matches!(op, UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite);
                Ok(if is_test { value } else { self.half_of(brain, value) })
            }
        }
    }

    fn bool_unary(&mut self, op: UnaryOp, a: Id) -> Made {
        let ty = self.bool();
        match op {
            UnaryOp::Not => Ok(self.op(Op::LogicalNot, ty, &[a])),
            _ => Err(Cannot::unexpanded(format!("{op:?} of bool"))),
        }
    }

    pub(super) fn binary(&mut self, op: BinaryOp, kind: Kind, a: Id, b: Id, literal: Option<i64>) -> Made {
        match kind {
            Kind::Bool => {
                let logical = match op {
                    BinaryOp::And | BinaryOp::Min | BinaryOp::Mul => Op::LogicalAnd,
                    BinaryOp::Or | BinaryOp::Max => Op::LogicalOr,
                    BinaryOp::Xor => Op::LogicalNotEqual,
                    _ => return Err(Cannot::unexpanded(format!("{op:?} of bool"))),
                };
                Ok(self.test(logical, a, b))
            }
            Kind::Int { .. } => self.int_binary(op, kind, a, b, literal),
            Kind::Float { .. } => self.float_binary(op, kind, a, b),
            Kind::Half { brain } => {
                let (x, y) = (self.half_to(brain, a), self.half_to(brain, b));
                let value = self.float_binary(op, F32, x, y)?;
                Ok(self.half_of(brain, value))
            }
        }
    }

    fn compare(&mut self, op: CmpOp, kind: Kind, a: Id, b: Id) -> Id {
        match kind {
            Kind::Bool => {
                let of = super::kind::U32;
                let (one, zero) = (self.word(1), self.word(0));
                let (a, b) = (self.select(of, a, one, zero), self.select(of, b, one, zero));
                self.int_compare(op, of, a, b)
            }
            Kind::Int { .. } => self.int_compare(op, kind, a, b),
            Kind::Half { brain } => {
                let (a, b) = (self.half_to(brain, a), self.half_to(brain, b));
                self.compare(op, F32, a, b)
            }
            Kind::Float { .. } => {
                let op = match op {
                    CmpOp::Eq => Op::FOrdEqual,
                    CmpOp::Ne => Op::FUnordNotEqual,
                    CmpOp::Lt => Op::FOrdLessThan,
                    CmpOp::Le => Op::FOrdLessThanEqual,
                    CmpOp::Gt => Op::FOrdGreaterThan,
                    CmpOp::Ge => Op::FOrdGreaterThanEqual,
                };
                self.test(op, a, b)
            }
        }
    }

    fn fma(&mut self, kind: Kind, a: Id, b: Id, c: Id) -> Made {
        match kind {
            F32 => Ok(self.fma_f32(a, b, c)),
            Kind::Half { brain } => {
                let [a, b, c] = [a, b, c].map(|x| self.half_to(brain, x));
                let value = self.fma_f32(a, b, c);
                Ok(self.half_of(brain, value))
            }
            _ => {
                let what = format!("fma of {}", kind.name());
                Err(Cannot { what, why: "Vulkan's may round twice; write the product and the sum apart" })
            }
        }
    }

    /// The same bits. What is narrower than 32 lies in the low ones.
    fn bitcast(&mut self, from: Kind, to: Kind, a: Id) -> Id {
        match (from, to) {
            (Kind::Float { .. }, _) | (_, Kind::Float { .. }) => self.reinterpret(to, a),
            (_, Kind::Half { .. }) => self.wrapped(Kind::Int { signed: false, bits: 16 }, a),
            (Kind::Bool, _) | (_, Kind::Bool) => a,
            _ => self.wrapped(to, a),
        }
    }

    /// The sum of the products of the two bf16 in each of two words.
    fn dot_bf16(&mut self, a: Id, b: Id) -> Id {
        let (ty, places, high) = (self.int(32), self.word(16), self.word(0xffff_0000));
        let mut part = |op, word, with| {
            let bits = self.op(op, ty, &[word, with]);
            self.reinterpret(F32, bits)
        };
        let (low_a, low_b) = (part(Op::ShiftLeftLogical, a, places), part(Op::ShiftLeftLogical, b, places));
        let (high_a, high_b) = (part(Op::BitwiseAnd, a, high), part(Op::BitwiseAnd, b, high));
        let f32 = self.float(32);
        let (x, y) = (self.exact(Op::FMul, f32, &[low_a, low_b]), self.exact(Op::FMul, f32, &[high_a, high_b]));
        self.exact(Op::FAdd, f32, &[x, y])
    }
}
