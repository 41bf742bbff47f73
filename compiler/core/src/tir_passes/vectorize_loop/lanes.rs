//! The body of a loop over all lanes at once.
//!
//! It takes the loop to be legal and of a given number of lanes.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{Access, BufId, Builder, Elem, Expr, ExprId, ExprMap, Stmt, Ty, VarId};

use super::repeated::{quotient, repeats};
use super::{Reason, one_by_one};
use tenfold_ir::tir::copy::{copy, size, stem};

/// Statements and expressions that are vectorised at all.
const LARGEST: usize = 20_000;

/// The body with `var` being `min, min + 1, …`. The body itself is not used up: what it binds is new here.
pub(super) fn vector(b: &mut Builder, var: VarId, min: ExprId, lanes: u16, body: &Stmt) -> Result<Stmt, Reason> {
    if size(b, body) > LARGEST {
        return Err(Reason::TooLarge);
    }
    let body = copy(b, body, &BTreeMap::new());
    let (memo, bufs) = (BTreeMap::new(), BTreeMap::new());
    let mut work = Lanes { b, var, min, lanes, memo, bufs, lets: BTreeSet::new(), vectors: 0 };
    let stmt = work.stmt(body)?;
    if work.vectors == 0 { Err(Reason::NoUse) } else { Ok(stmt) }
}

struct Lanes<'b> {
    b: &'b mut Builder,
    var: VarId,
    min: ExprId,
    lanes: u16,
    /// Expressions that are done. What a `let` binds is one of them: its variable stands for a vector.
    memo: BTreeMap<ExprId, ExprId>,
    /// Buffers of the body, of which every lane has its own.
    bufs: BTreeMap<BufId, BufId>,
    /// Variables that have become vectors.
    lets: BTreeSet<VarId>,
    /// How many statements are vectors.
    vectors: usize,
}

impl Lanes<'_> {
    fn stmt(&mut self, stmt: Stmt) -> Result<Stmt, Reason> {
        Ok(match stmt {
            Stmt::Seq(all) => Stmt::Seq(all.into_iter().map(|s| self.stmt(s)).collect::<Result<_, _>>()?),
            Stmt::For { var, min, extent, kind, annotations, body } => match (self.scalar(min), self.scalar(extent)) {
                (Some(min), Some(extent)) => {
                    Stmt::For { var, min, extent, kind, annotations, body: self.boxed(*body)? }
                }
                _ => return self.apart(Stmt::For { var, min, extent, kind, annotations, body }),
            },
            Stmt::If { cond, then, otherwise } => match self.scalar(cond) {
                Some(cond) => {
                    let then = self.boxed(*then)?;
                    let otherwise = otherwise.map(|s| self.boxed(*s)).transpose()?;
                    Stmt::If { cond, then, otherwise }
                }
                None => return self.apart(Stmt::If { cond, then, otherwise }),
            },
            Stmt::While { cond, body } => return self.apart(Stmt::While { cond, body }),
            Stmt::Let { var, value, body } => self.let_(var, value, *body)?,
            Stmt::Alloc { buf, body } => {
                let wide = self.widen(buf);
                self.bufs.insert(buf, wide);
                Stmt::Alloc { buf: wide, body: self.boxed(*body)? }
            }
            Stmt::Store { buf, index, value, access } => {
                let [at] = index[..] else { return Err(Reason::Expression("an access of several indices")) };
                let (at, value) = (self.place(buf, at)?, self.expr(value)?);
                let value = self.b.broadcast(value, self.lanes);
                self.vectors += 1;
                let buf = self.bufs.get(&buf).copied().unwrap_or(buf);
                Stmt::Store { buf, index: vec![at], value, access }
            }
            Stmt::Evaluate(_) => Stmt::nop(),
            Stmt::At(loc, body) => Stmt::At(loc, self.boxed(*body)?),
            Stmt::Block(_) => return Err(Reason::Statement("a block")),
            Stmt::Call { .. } => return Err(Reason::Statement("a call")),
            Stmt::Barrier(_) => return Err(Reason::Statement("a barrier")),
            Stmt::Assert { .. } => return Err(Reason::Statement("a check")),
            Stmt::Prefetch { .. } => Stmt::nop(),
        })
    }

    fn boxed(&mut self, stmt: Stmt) -> Result<Box<Stmt>, Reason> {
        self.stmt(stmt).map(Box::new)
    }

    /// An expression that is the same in every lane.
    fn scalar(&mut self, id: ExprId) -> Option<ExprId> {
        self.expr(id).ok().filter(|e| self.b.ty(*e).lanes == 1)
    }

    fn let_(&mut self, var: VarId, value: ExprId, body: Stmt) -> Result<Stmt, Reason> {
        let value = self.expr(value)?;
        let ty = self.b.ty(value);
        if ty.lanes == 1 {
            return Ok(Stmt::Let { var, value, body: self.boxed(body)? });
        }
        let name = stem(self.b.sym(var).as_str()).to_string();
        let wide = self.b.var(&name, ty);
        let (old, new) = (self.b.read(var), self.b.read(wide));
        self.memo.insert(old, new);
        self.lets.insert(var);
        Ok(Stmt::Let { var: wide, value, body: self.boxed(body)? })
    }

    /// A statement that has no vector form, lane by lane; a vector variable around it has no scalars to give it.
    fn apart(&mut self, stmt: Stmt) -> Result<Stmt, Reason> {
        let used = self.b.func().exprs_in(&stmt);
        if used.iter().any(|e| matches!(self.b.func().exprs.get(*e), Expr::Var(v) if self.lets.contains(v))) {
            return Err(Reason::Statement(
                "a branch or loop that differs between iterations and reads their variables",
            ));
        }
        let stmt = own_elements(self, stmt);
        Ok(one_by_one(self.b, self.var, self.min, self.lanes, stmt))
    }

    /// A buffer with room for every lane.
    fn widen(&mut self, buf: BufId) -> BufId {
        let data = self.b.buf(buf).clone();
        let lanes = IntExpr::from(i64::from(self.lanes));
        let shape = data.shape.iter().enumerate().map(|(n, d)| if n == 0 { d * &lanes } else { d.clone() }).collect();
        let wide = self.b.buffer(stem(&data.name), data.dtype, shape, data.scope);
        // A range that is another one in each lane is none of them all.
        let own: BTreeSet<Sym> = self.lets.iter().chain([&self.var]).map(|var| self.b.sym(*var).clone()).collect();
        let one = |(lo, hi): &(IntExpr, IntExpr)| own.is_disjoint(&lo.vars()) && own.is_disjoint(&hi.vars());
        self.b.buf_mut(wide).range = data.range.filter(one);
        wide
    }

    /// The index of an access in every lane.
    fn place(&mut self, buf: BufId, at: ExprId) -> Result<ExprId, Reason> {
        let at = self.expr(at)?;
        if !self.bufs.contains_key(&buf) {
            return Ok(self.b.broadcast(at, self.lanes));
        }
        let (at, lanes, zero) = (self.b.to_index(at), self.b.index(i64::from(self.lanes)), self.b.index(0));
        let base = binary(self.b, BinaryOp::Mul, at, lanes);
        let own = self.ramp(zero);
        Ok(binary(self.b, BinaryOp::Add, base, own))
    }

    fn ramp(&mut self, base: ExprId) -> ExprId {
        let one = self.b.index(1);
        let ty = Ty { elem: Elem::Index, lanes: self.lanes };
        self.b.raw(Expr::Ramp(base, one, self.lanes), ty)
    }

    // Expressions.

    fn expr(&mut self, id: ExprId) -> Result<ExprId, Reason> {
        if let Some(done) = self.memo.get(&id) {
            return Ok(*done);
        }
        let new = self.build(id)?;
        self.memo.insert(id, new);
        Ok(new)
    }

    fn build(&mut self, id: ExprId) -> Result<ExprId, Reason> {
        let ty = self.b.ty(id);
        if ty.lanes != 1 {
            return Err(Reason::Expression("vectors of its own"));
        }
        Ok(match self.b.func().exprs.get(id).clone() {
            Expr::Const(_) | Expr::Index(_) => id,
            Expr::Var(v) if v == self.var => self.ramp(self.min),
            Expr::Var(_) => id,
            Expr::Unary(op, a) => {
                let a = self.expr(a)?;
                self.b.unary(op, a)
            }
            Expr::Binary(op, x, y) => {
                let (x, y) = (self.expr(x)?, self.expr(y)?);
                binary(self.b, op, x, y)
            }
            Expr::Compare(op, x, y) => {
                let (x, y) = (self.expr(x)?, self.expr(y)?);
                self.b.compare(op, x, y)
            }
            Expr::Select(c, x, y) => {
                if self.vouched(x) || self.vouched(y) {
                    return Err(Reason::Expression("a choice that reads what the user vouched for"));
                }
                let (c, x, y) = (self.expr(c)?, self.expr(x)?, self.expr(y)?);
                self.b.select(c, x, y)
            }
            Expr::If(c, x, y) => self.choice(c, x, y)?,
            Expr::Cast(to, a) => {
                let a = self.expr(a)?;
                let to = Ty { lanes: self.b.ty(a).lanes, ..to };
                if self.b.ty(a) == to { a } else { self.b.raw(Expr::Cast(to, a), to) }
            }
            Expr::Load { buf, index, access } => {
                let [at] = index[..] else { return Err(Reason::Expression("an access of several indices")) };
                let own = self.bufs.get(&buf).copied();
                let at = if own.is_some() { self.place(buf, at)? } else { self.expr(at)? };
                let (at, picked) = repeats(self.b, at).map_or((at, None), |(at, picked)| (at, Some(picked)));
                let ty = Ty { lanes: self.b.ty(at).lanes, ..ty };
                let all = self.b.raw(Expr::Load { buf: own.unwrap_or(buf), index: vec![at], access }, ty);
                picked.map_or(all, |picked| self.b.shuffle(vec![all], picked))
            }
            Expr::Call(f, args, to) => {
                let args = args.into_iter().map(|a| self.expr(a)).collect::<Result<_, _>>()?;
                self.b.call(f, args, to)
            }
            Expr::Ramp(..) | Expr::Broadcast(..) | Expr::Shuffle(..) => {
                return Err(Reason::Expression("vectors of its own"));
            }
        })
    }

    /// Whether an expression reads what is not proven to be in bounds.
    fn vouched(&self, id: ExprId) -> bool {
        let func = self.b.func();
        let open = |e: ExprId| matches!(func.exprs.get(e), Expr::Load { access: Access::Unchecked, .. });
        func.reachable([id]).into_iter().any(open)
    }

    /// Where lanes decide differently both values are made, which must not read what only one may read.
    fn choice(&mut self, c: ExprId, x: ExprId, y: ExprId) -> Result<ExprId, Reason> {
        let cond = self.expr(c)?;
        if self.b.ty(cond).lanes > 1 && [x, y].iter().any(|e| self.b.func().loads(*e)) {
            return Err(Reason::Expression("a load behind a condition that differs between iterations"));
        }
        let (x, y) = (self.expr(x)?, self.expr(y)?);
        Ok(if self.b.ty(cond).lanes > 1 { self.b.select(cond, x, y) } else { self.b.if_(cond, x, y) })
    }
}

/// A statement of one lane, with that lane's elements of the buffers that every lane has its own of.
fn own_elements(work: &mut Lanes<'_>, stmt: Stmt) -> Stmt {
    let (bufs, lanes, var, min) = (&work.bufs, work.lanes, work.var, work.min);
    let place = |b: &mut Builder, at: ExprId| {
        let (lanes, var) = (b.index(i64::from(lanes)), b.read(var));
        let (at, lane) = (b.to_index(at), b.sub(var, min));
        let base = times(b, at, lanes);
        plus(b, base, lane)
    };
    let loads = |b: &mut Builder, id: ExprId| match b.func().exprs.get(id).clone() {
        Expr::Load { buf, index, access } if bufs.contains_key(&buf) && index.len() == 1 => {
            let (at, ty) = (place(b, index[0]), b.ty(id));
            b.raw(Expr::Load { buf: bufs[&buf], index: vec![at], access }, ty)
        }
        _ => id,
    };
    let stmt = ExprMap::new(loads).stmt(work.b, stmt);
    stores(work.b, stmt, bufs, &place)
}

type Place<'a> = dyn Fn(&mut Builder, ExprId) -> ExprId + 'a;

fn stores(b: &mut Builder, stmt: Stmt, bufs: &BTreeMap<BufId, BufId>, place: &Place<'_>) -> Stmt {
    let stmt = stmt.map_children(&mut |s| stores(b, s, bufs, place));
    match stmt {
        Stmt::Store { buf, index, value, access } if bufs.contains_key(&buf) && index.len() == 1 => {
            let index = vec![place(b, index[0])];
            Stmt::Store { buf: bufs[&buf], index, value, access }
        }
        other => other,
    }
}

/// An operation that keeps a ramp one, and repeated numbers such.
fn binary(b: &mut Builder, op: BinaryOp, x: ExprId, y: ExprId) -> ExprId {
    if op == BinaryOp::DivEuclid
        && let Some(repeated) = quotient(b, x, y)
    {
        return repeated;
    }
    for (one, other) in [(x, y), (y, x)] {
        if op == BinaryOp::Add
            && b.ty(other).lanes == 1
            && let Some((few, picked)) = repeats(b, one)
        {
            let few = binary(b, op, few, other);
            return b.shuffle(vec![few], picked);
        }
    }
    let ramp = |b: &Builder, e: ExprId| match *b.func().exprs.get(e) {
        Expr::Ramp(base, stride, lanes) if b.ty(e).elem == Elem::Index => Some((base, stride, lanes)),
        _ => None,
    };
    let scalar = |b: &Builder, e: ExprId| b.ty(e).lanes == 1;
    let zero = b.index(0);
    let made = match (op, ramp(b, x), ramp(b, y)) {
        (BinaryOp::Add, Some((base, stride, n)), None) if scalar(b, y) => Some((plus(b, base, y), stride, n)),
        (BinaryOp::Add, None, Some((base, stride, n))) if scalar(b, x) => Some((plus(b, x, base), stride, n)),
        (BinaryOp::Sub, Some((base, stride, n)), None) if scalar(b, y) => Some((b.sub(base, y), stride, n)),
        (BinaryOp::Sub, None, Some((base, stride, n))) if scalar(b, x) => {
            Some((b.sub(x, base), b.sub(zero, stride), n))
        }
        (BinaryOp::Mul, Some((base, stride, n)), None) if scalar(b, y) => {
            Some((times(b, base, y), times(b, stride, y), n))
        }
        (BinaryOp::Mul, None, Some((base, stride, n))) if scalar(b, x) => {
            Some((times(b, x, base), times(b, x, stride), n))
        }
        (BinaryOp::Add, Some((p, s, n)), Some((q, t, _))) => Some((plus(b, p, q), plus(b, s, t), n)),
        _ => None,
    };
    match made {
        None if op == BinaryOp::Add && b.ty(x) == Ty::index() && b.ty(y) == Ty::index() => plus(b, x, y),
        None if op == BinaryOp::Mul && b.ty(x) == Ty::index() && b.ty(y) == Ty::index() => times(b, x, y),
        Some((base, stride, lanes)) => b.raw(Expr::Ramp(base, stride, lanes), Ty { elem: Elem::Index, lanes }),
        None => b.binary(op, x, y),
    }
}

/// Sums and products of numbers are numbers, so that a stride of 1 is seen to be one.
pub(super) fn plus(b: &mut Builder, x: ExprId, y: ExprId) -> ExprId {
    match (b.func().exprs.get(x), b.func().exprs.get(y)) {
        (Expr::Index(p), Expr::Index(q)) => {
            let sum = p.wrapping_add(*q);
            b.index(sum)
        }
        (Expr::Index(0), _) => y,
        (_, Expr::Index(0)) => x,
        _ => b.add(x, y),
    }
}

pub(super) fn times(b: &mut Builder, x: ExprId, y: ExprId) -> ExprId {
    match (b.func().exprs.get(x), b.func().exprs.get(y)) {
        (Expr::Index(p), Expr::Index(q)) => {
            let product = p.wrapping_mul(*q);
            b.index(product)
        }
        (Expr::Index(1), _) => y,
        (_, Expr::Index(1)) => x,
        _ => b.mul(x, y),
    }
}
