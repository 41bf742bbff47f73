//! Copies of statements: variables replaced by values, and what a copy binds given names of its own.
//!
//! It knows statements, not why a pass copies them.

use std::collections::{BTreeMap, BTreeSet};

use super::{Block, BufId, Builder, Expr, ExprId, ExprMap, Stmt, Ty, VarId};
use crate::arith::{IntExpr, Sym};
use crate::op::BinaryOp;

/// What stands for what in a copy.
#[derive(Clone, Default)]
pub struct Replace {
    /// Values of variables.
    pub vars: BTreeMap<VarId, ExprId>,
    /// Buffers.
    pub bufs: BTreeMap<BufId, BufId>,
}

/// `stmt` with variables replaced by values. The original must not be used again: what is bound inside keeps its name,
/// but for buffers, whose extents and ranges may be made of those variables.
pub fn substitute(b: &mut Builder, stmt: Stmt, vars: &BTreeMap<VarId, ExprId>) -> Stmt {
    let mut bound = Bound::default();
    bound.collect(&stmt);
    let replace = with_buffers(b, vars.clone(), &bound.bufs);
    apply(b, stmt, &replace)
}

/// Variables that are replaced, and buffers whose extents and ranges follow.
fn with_buffers(b: &mut Builder, vars: BTreeMap<VarId, ExprId>, bufs: &[BufId]) -> Replace {
    let mut replace = Replace { vars, bufs: BTreeMap::new() };
    let gone = gone(b, &replace);
    let names = symbols(b, &replace);
    for buf in bufs {
        if !gone.is_disjoint(&b.buf(*buf).symbols()) {
            let new = copy_buffer(b, *buf, &names, &gone);
            replace.bufs.insert(*buf, new);
        }
    }
    replace
}

/// The symbols of variables that something else stands for.
fn gone(b: &Builder, replace: &Replace) -> BTreeSet<Sym> {
    let other = |(var, value): &(&VarId, &ExprId)| *b.func().exprs.get(**value) != Expr::Var(**var);
    replace.vars.iter().filter(other).map(|(var, _)| b.sym(*var).clone()).collect()
}

/// A copy of `stmt` that may stand beside it: every variable, buffer and block in it is new.
pub fn copy(b: &mut Builder, stmt: &Stmt, vars: &BTreeMap<VarId, ExprId>) -> Stmt {
    let mut replace = Replace { vars: vars.clone(), bufs: BTreeMap::new() };
    let mut bound = Bound::default();
    bound.collect(stmt);
    for var in bound.vars {
        let name = stem(b.sym(var).as_str()).to_string();
        let new = b.var(&name, b.func().vars[var.0 as usize].ty);
        let new = b.read(new);
        replace.vars.insert(var, new);
    }
    let (gone, names) = (gone(b, &replace), symbols(b, &replace));
    for buf in bound.bufs {
        let new = copy_buffer(b, buf, &names, &gone);
        replace.bufs.insert(buf, new);
    }
    let copy = apply(b, stmt.clone(), &replace);
    rename_blocks(b, copy)
}

/// A name without the number that made it unique: copies of copies count on.
pub fn stem(name: &str) -> &str {
    match name.rsplit_once('_') {
        Some((stem, number)) if !stem.is_empty() && number.bytes().all(|c| c.is_ascii_digit()) => stem,
        _ => name,
    }
}

/// A block's name is unique, so a copy's is made from it.
fn rename_blocks(b: &mut Builder, stmt: Stmt) -> Stmt {
    let stmt = stmt.map_children(&mut |s| rename_blocks(b, s));
    match stmt {
        Stmt::Block(block) => {
            let name = b.fresh_name(stem(&block.name));
            Stmt::Block(Box::new(Block { name, ..*block }))
        }
        other => other,
    }
}

/// A new buffer like another, its extents in terms of the copy's variables. A range that has no such terms is none.
fn copy_buffer(b: &mut Builder, buf: BufId, names: &dyn Fn(&IntExpr) -> IntExpr, gone: &BTreeSet<Sym>) -> BufId {
    let data = b.buf(buf).clone();
    let new = b.buffer(stem(&data.name), data.dtype, data.shape.iter().map(names).collect(), data.scope);
    let made = b.buf_mut(new);
    made.strides = data.strides.map(|all| all.iter().map(names).collect());
    made.offset = data.offset.as_ref().map(names);
    let held = |(lo, hi): &(IntExpr, IntExpr)| gone.is_disjoint(&lo.vars()) && gone.is_disjoint(&hi.vars());
    made.range = data.range.map(|(lo, hi)| (names(&lo), names(&hi))).filter(held);
    new
}

/// Replaces symbols of variables that were renamed to variables.
fn symbols(b: &Builder, replace: &Replace) -> impl Fn(&IntExpr) -> IntExpr + use<> {
    let mut map = BTreeMap::new();
    for (var, value) in &replace.vars {
        if let Some(to) = int(b, *value) {
            map.insert(b.sym(*var).clone(), to);
        }
    }
    move |e: &IntExpr| e.substitute(&|sym| map.get(sym).cloned())
}

/// An index expression that extents may be made of.
fn int(b: &Builder, value: ExprId) -> Option<IntExpr> {
    match *b.func().exprs.get(value) {
        Expr::Var(var) if b.ty(value) == Ty::index() => Some(IntExpr::var(b.sym(var).clone())),
        Expr::Index(i) => Some(IntExpr::from(i)),
        Expr::Binary(BinaryOp::Add, x, y) => Some(&int(b, x)? + &int(b, y)?),
        Expr::Binary(BinaryOp::Sub, x, y) => Some(&int(b, x)? - &int(b, y)?),
        Expr::Binary(BinaryOp::Mul, x, y) => Some(&int(b, x)? * &int(b, y)?),
        Expr::Binary(BinaryOp::DivEuclid, x, y) => Some(int(b, x)?.floor_div(&positive(b, y)?)),
        Expr::Binary(BinaryOp::RemEuclid, x, y) => Some(int(b, x)?.floor_mod(&positive(b, y)?)),
        _ => None,
    }
}

/// A divisor with which Euclidean division is floor division.
fn positive(b: &Builder, value: ExprId) -> Option<IntExpr> {
    int(b, value).filter(|divisor| divisor.as_const().is_some_and(|c| c > 0))
}

/// `stmt` with variables and buffers replaced wherever they stand.
pub fn apply(b: &mut Builder, stmt: Stmt, replace: &Replace) -> Stmt {
    let mut map = ExprMap::new(|b: &mut Builder, id: ExprId| match b.func().exprs.get(id).clone() {
        Expr::Var(v) => replace.vars.get(&v).copied().unwrap_or(id),
        Expr::Load { buf, index, access } => match replace.bufs.get(&buf) {
            Some(new) => {
                let ty = b.ty(id);
                b.raw(Expr::Load { buf: *new, index, access }, ty)
            }
            None => id,
        },
        _ => id,
    });
    let stmt = map.stmt(b, stmt);
    binders(b, stmt, replace)
}

/// What statements name themselves, beside their expressions.
fn binders(b: &Builder, stmt: Stmt, replace: &Replace) -> Stmt {
    let var = |v: VarId| match replace.vars.get(&v).map(|e| b.func().exprs.get(*e)) {
        Some(Expr::Var(new)) => *new,
        _ => v,
    };
    let buf = |x: BufId| replace.bufs.get(&x).copied().unwrap_or(x);
    stmt.map(&mut |s| s.map_bound(&mut |v| var(v)).map_buffers(&mut |x| buf(x)))
}

/// What a statement binds.
#[derive(Default)]
pub struct Bound {
    /// Variables of loops, lets and blocks.
    pub vars: Vec<VarId>,
    /// Allocations.
    pub bufs: Vec<BufId>,
}

impl Bound {
    /// What a statement and those inside it bind.
    pub fn collect(&mut self, stmt: &Stmt) {
        stmt.walk(&mut |s| {
            self.vars.extend(s.bound());
            self.bufs.extend(s.allocates());
        });
    }
}

/// How large a statement is: its statements and the expressions they evaluate.
pub fn size(b: &Builder, stmt: &Stmt) -> usize {
    let mut stmts = 0;
    stmt.walk(&mut |_| stmts += 1);
    stmts + b.func().exprs_in(stmt).len()
}

/// The function without the buffers that nothing in it names.
pub fn keep_buffers(mut func: super::PrimFunc) -> super::PrimFunc {
    let used = named(&func);
    if used.len() == func.buffers.len() {
        return func;
    }
    let bufs: BTreeMap<BufId, BufId> = used.iter().enumerate().map(|(n, old)| (*old, BufId(n as u32))).collect();
    let mut pick = |buf: BufId| bufs.get(&buf).copied().unwrap_or(buf);
    // Other expressions than before have the same buffer number, so they need an arena of their own.
    let (mut exprs, mut ids) = (super::ExprArena::default(), BTreeMap::new());
    for id in func.exprs_in(&func.body) {
        let mut expr = super::map_operands(func.exprs.get(id).clone(), &mut |e| ids.get(&e).copied().unwrap_or(e));
        if let Expr::Load { buf, .. } = &mut expr {
            *buf = pick(*buf);
        }
        ids.insert(id, exprs.intern(expr, func.exprs.ty(id)));
    }
    let body = std::mem::replace(&mut func.body, Stmt::nop());
    let mut expr = |e: ExprId| ids.get(&e).copied().unwrap_or(e);
    func.body = body.map(&mut |s| s.map_exprs(&mut expr).map_buffers(&mut pick));
    func.exprs = exprs;
    func.buffers = used.iter().map(|old| func.buffers[old.0 as usize].clone()).collect();
    for param in &mut func.params {
        if let super::Param::Buffer(buf, _) = param {
            *buf = bufs.get(buf).copied().unwrap_or(*buf);
        }
    }
    func
}

/// The buffers that parameters, statements and expressions name, in order.
fn named(func: &super::PrimFunc) -> Vec<BufId> {
    let mut used = std::collections::BTreeSet::new();
    used.extend(func.params.iter().filter_map(|p| match p {
        super::Param::Buffer(buf, _) => Some(*buf),
        super::Param::Value(_) | super::Param::Workspace => None,
    }));
    func.body.walk(&mut |s| {
        s.clone_shallow().map_buffers(&mut |buf| {
            used.insert(buf);
            buf
        });
    });
    for e in func.exprs_in(&func.body) {
        if let Expr::Load { buf, .. } = func.exprs.get(e) {
            used.insert(*buf);
        }
    }
    used.into_iter().collect()
}
