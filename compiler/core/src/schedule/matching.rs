//! Whether statements are those of a description, and which parts of buffers stand for the description's.

use std::collections::BTreeMap;

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::tir::{Block, BufId, Elem, Expr, ExprId, PrimFunc, Stmt, Viewer};

use super::edit::State;
use super::error::Refusal;

/// For each buffer of the description: the buffer that stands for it, and where its part begins, axis by axis.
pub(super) type Parts = BTreeMap<BufId, (BufId, Vec<IntExpr>)>;

/// Compares `ours`, statements of the function, with the body of `theirs`.
pub(super) fn parts(state: &State<'_>, ours: &Stmt, theirs: &PrimFunc) -> Result<Parts, Refusal> {
    let mut matcher = Matcher {
        state,
        theirs,
        viewers: (Viewer::new(state.b.func()), Viewer::new(theirs)),
        ours_of: BTreeMap::new(),
        theirs_of: BTreeMap::new(),
        common: 0,
        parts: BTreeMap::new(),
    };
    matcher.stmt(ours, &theirs.body)?;
    Ok(matcher.parts)
}

struct Matcher<'s> {
    state: &'s State<'s>,
    theirs: &'s PrimFunc,
    viewers: (Viewer<'s>, Viewer<'s>),
    /// Variables of either side over symbols that both share.
    ours_of: BTreeMap<Sym, IntExpr>,
    theirs_of: BTreeMap<Sym, IntExpr>,
    common: usize,
    parts: Parts,
}

/// Begins every symbol that both sides share; no name of a function does.
const COMMON: &str = "%both";

fn is_common(e: &IntExpr) -> bool {
    e.vars().iter().any(|sym| sym.as_str().starts_with(COMMON))
}

impl Matcher<'_> {
    fn no<T>(&self, what: impl std::fmt::Display) -> Result<T, Refusal> {
        let text = format!("{what} is not what `{}` describes", self.theirs.name);
        Refusal::err(text, "split, reorder and blockize until the statements are those of the description")
    }

    fn ours(&mut self, e: ExprId) -> IntExpr {
        self.viewers.0.int(e).substitute(&|sym: &Sym| self.ours_of.get(sym).cloned())
    }

    fn theirs(&mut self, e: ExprId) -> IntExpr {
        self.viewers.1.int(e).substitute(&|sym: &Sym| self.theirs_of.get(sym).cloned())
    }

    fn share(&mut self) -> IntExpr {
        self.common += 1;
        IntExpr::var(Sym::new(format!("{COMMON}{}", self.common)))
    }

    fn stmt(&mut self, ours: &Stmt, theirs: &Stmt) -> Result<(), Refusal> {
        match (ours.bare(), theirs.bare()) {
            (Stmt::Seq(a), Stmt::Seq(b)) if a.len() == b.len() => {
                a.iter().zip(b).try_for_each(|(a, b)| self.stmt(a, b))
            }
            (
                Stmt::For { var: v, min: m, extent: e, body: a, .. },
                Stmt::For { var: w, min: n, extent: f, body: b, .. },
            ) => {
                let same = self.ours(*m) == self.theirs(*n) && self.ours(*e) == self.theirs(*f);
                if !same {
                    return self.no(format!("the range of loop `{}`", self.state.name(*v)));
                }
                let both = self.share();
                self.ours_of.insert(self.state.b.sym(*v).clone(), both.clone());
                self.theirs_of.insert(self.theirs.vars[w.0 as usize].sym.clone(), both);
                self.stmt(a, b)
            }
            (Stmt::Block(a), Stmt::Block(b)) => self.block(a, b),
            (Stmt::Store { buf: x, index: i, value: a, .. }, Stmt::Store { buf: y, index: j, value: b, .. }) => {
                self.expr(*a, *b)?;
                self.access((*x, i), (*y, j))
            }
            _ => self.no("a statement"),
        }
    }

    fn block(&mut self, ours: &Block, theirs: &Block) -> Result<(), Refusal> {
        let name = &ours.name;
        // An iterator that stands still while the statements run has no counterpart.
        let mut moving = Vec::new();
        for iter in &ours.iters {
            let value = self.ours(iter.value);
            if is_common(&value) {
                moving.push(iter);
            } else {
                self.ours_of.insert(self.state.b.sym(iter.var).clone(), value);
            }
        }
        let kinds = moving.iter().map(|i| i.kind).eq(theirs.iters.iter().map(|i| i.kind));
        if !kinds || ours.predicate.is_some() || theirs.predicate.is_some() {
            return self.no(format!("block `{name}`"));
        }
        for (a, b) in moving.into_iter().zip(&theirs.iters) {
            let begin = self.ours(a.value) - self.theirs(b.value);
            if is_common(&begin) {
                return self.no(format!("iterator `{}` of block `{name}`", self.state.name(a.var)));
            }
            let both = self.share();
            self.theirs_of.insert(self.theirs.vars[b.var.0 as usize].sym.clone(), both.clone());
            self.ours_of.insert(self.state.b.sym(a.var).clone(), begin + both);
        }
        match (&ours.init, &theirs.init) {
            (None, None) => {}
            (Some(a), Some(b)) => self.stmt(a, b)?,
            _ => return self.no(format!("the init of block `{name}`")),
        }
        self.stmt(&ours.body, &theirs.body)
    }

    /// The same operators over the same values.
    fn expr(&mut self, ours: ExprId, theirs: ExprId) -> Result<(), Refusal> {
        let (a, b) = (self.state.b.func().exprs.get(ours).clone(), self.theirs.exprs.get(theirs).clone());
        let types = (self.state.b.ty(ours), self.theirs.exprs.ty(theirs));
        if types.0 != types.1 {
            return self.no("the type of an expression");
        }
        if types.0.elem == Elem::Index {
            return if self.ours(ours) == self.theirs(theirs) { Ok(()) } else { self.no("an index") };
        }
        match (a, b) {
            (Expr::Load { buf: x, index: i, .. }, Expr::Load { buf: y, index: j, .. }) => self.access((x, &i), (y, &j)),
            (Expr::Const(a), Expr::Const(b)) if a == b => Ok(()),
            (Expr::Unary(f, a), Expr::Unary(g, b)) if f == g => self.expr(a, b),
            (Expr::Cast(_, a), Expr::Cast(_, b)) => self.expr(a, b),
            (Expr::Binary(f, a, c), Expr::Binary(g, b, d)) if f == g => {
                self.expr(a, b)?;
                self.expr(c, d)
            }
            (Expr::Compare(f, a, c), Expr::Compare(g, b, d)) if f == g => {
                self.expr(a, b)?;
                self.expr(c, d)
            }
            (Expr::If(a, c, e), Expr::If(b, d, f)) | (Expr::Select(a, c, e), Expr::Select(b, d, f)) => {
                self.expr(a, b)?;
                self.expr(c, d)?;
                self.expr(e, f)
            }
            (Expr::Call(f, a, _), Expr::Call(g, b, _)) if f == g && a.len() == b.len() => {
                a.into_iter().zip(b).try_for_each(|(a, b)| self.expr(a, b))
            }
            _ => self.no("an expression"),
        }
    }

    /// An element of a part: leading axes that the description lacks stand still.
    fn access(&mut self, (ours, at): (BufId, &[ExprId]), (theirs, of): (BufId, &[ExprId])) -> Result<(), Refusal> {
        let name = self.state.buf_name(ours).to_string();
        let Some(lead) = at.len().checked_sub(of.len()) else { return self.no(format!("the rank of `{name}`")) };
        if self.state.b.buf(ours).dtype != self.theirs.buffers[theirs.0 as usize].dtype {
            return self.no(format!("the dtype of `{name}`"));
        }
        let mut begin: Vec<IntExpr> = at.iter().map(|e| self.ours(*e)).collect();
        for (axis, e) in of.iter().enumerate() {
            begin[lead + axis] = &begin[lead + axis] - &self.theirs(*e);
        }
        if begin.iter().any(is_common) {
            return self.no(format!("an index of `{name}`"));
        }
        let part = (ours, begin);
        match self.parts.get(&theirs) {
            Some(known) if *known != part => {
                self.no(format!("what stands for `{}`", self.theirs.buffers[theirs.0 as usize].name))
            }
            _ => {
                self.parts.insert(theirs, part);
                Ok(())
            }
        }
    }
}
