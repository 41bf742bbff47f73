//! Statements by their parts: the statements and the expressions that stand directly in one.
//!
//! What walks over statements but cares for few kinds of them goes through here, so that a new kind of statement has
//! one place to be entered.

use std::collections::BTreeSet;

use super::{Block, CallArg, Expr, ExprId, PrimFunc, Region, Stmt, operands};

impl Stmt {
    /// Nothing to do.
    pub fn nop() -> Stmt {
        Stmt::Seq(Vec::new())
    }

    /// Whether it is an empty sequence.
    pub fn is_nop(&self) -> bool {
        matches!(self, Stmt::Seq(all) if all.is_empty())
    }

    /// Statements in order, nested sequences taken apart; a single one stands alone.
    pub fn seq(stmts: impl IntoIterator<Item = Stmt>) -> Stmt {
        let mut all = Vec::new();
        for stmt in stmts {
            match stmt {
                Stmt::Seq(inner) => all.extend(inner),
                other => all.push(other),
            }
        }
        if all.len() == 1 { all.remove(0) } else { Stmt::Seq(all) }
    }

    /// The statements directly inside, in the order they run.
    pub fn children(&self) -> Vec<&Stmt> {
        match self {
            Stmt::Seq(all) => all.iter().collect(),
            Stmt::For { body, .. }
            | Stmt::While { body, .. }
            | Stmt::Let { body, .. }
            | Stmt::Alloc { body, .. }
            | Stmt::At(_, body) => vec![body],
            Stmt::If { then, otherwise, .. } => std::iter::once(&**then).chain(otherwise.as_deref()).collect(),
            Stmt::Block(block) => block.init.iter().chain([&block.body]).collect(),
            Stmt::Store { .. } | Stmt::Evaluate(_) | Stmt::Call { .. } => Vec::new(),
        }
    }

    /// The same statement with every statement directly inside replaced.
    pub fn map_children(self, f: &mut impl FnMut(Stmt) -> Stmt) -> Stmt {
        let boxed = |s: Box<Stmt>, f: &mut dyn FnMut(Stmt) -> Stmt| Box::new(f(*s));
        match self {
            Stmt::Seq(all) => Stmt::Seq(all.into_iter().map(f).collect()),
            Stmt::For { var, min, extent, kind, body } => Stmt::For { var, min, extent, kind, body: boxed(body, f) },
            Stmt::While { cond, body } => Stmt::While { cond, body: boxed(body, f) },
            Stmt::Let { var, value, body } => Stmt::Let { var, value, body: boxed(body, f) },
            Stmt::Alloc { buf, body } => Stmt::Alloc { buf, body: boxed(body, f) },
            Stmt::At(loc, body) => Stmt::At(loc, boxed(body, f)),
            Stmt::If { cond, then, otherwise } => {
                let then = boxed(then, f);
                Stmt::If { cond, then, otherwise: otherwise.map(|s| boxed(s, f)) }
            }
            Stmt::Block(block) => {
                let Block { init, body, .. } = *block;
                let init = init.map(&mut *f);
                Stmt::Block(Box::new(Block { init, body: f(body), ..*block }))
            }
            Stmt::Store { .. } | Stmt::Evaluate(_) | Stmt::Call { .. } => self,
        }
    }

    /// The expressions that stand directly in the statement, in the order it evaluates them.
    pub fn exprs(&self) -> Vec<ExprId> {
        match self {
            Stmt::Seq(_) | Stmt::Alloc { .. } | Stmt::At(..) => Vec::new(),
            Stmt::For { min, extent, .. } => vec![*min, *extent],
            Stmt::While { cond, .. } | Stmt::If { cond, .. } => vec![*cond],
            Stmt::Let { value, .. } | Stmt::Evaluate(value) => vec![*value],
            Stmt::Store { index, value, .. } => index.iter().copied().chain([*value]).collect(),
            Stmt::Block(block) => block_exprs(block),
            Stmt::Call { args, .. } => args.iter().filter_map(value_arg).collect(),
        }
    }

    /// Calls `f` on the statement and on every one inside, outer ones first.
    pub fn walk<'s>(&'s self, f: &mut impl FnMut(&'s Stmt)) {
        f(self);
        for child in self.children() {
            child.walk(f);
        }
    }
}

fn value_arg(arg: &CallArg) -> Option<ExprId> {
    match arg {
        CallArg::Value(e) => Some(*e),
        CallArg::Buffer(_) => None,
    }
}

fn block_exprs(block: &Block) -> Vec<ExprId> {
    let regions = block.reads.iter().chain(&block.writes).flat_map(region_exprs);
    let iters = block.iters.iter().flat_map(|i| [i.extent, i.value]);
    iters.chain(regions).chain(block.predicate).collect()
}

fn region_exprs(region: &Region) -> impl Iterator<Item = ExprId> + '_ {
    region.ranges.iter().flat_map(|(begin, extent)| [*begin, *extent])
}

impl PrimFunc {
    /// Every expression that `roots` are made of, each once, operands before what uses them.
    pub fn reachable(&self, roots: impl IntoIterator<Item = ExprId>) -> Vec<ExprId> {
        let (mut seen, mut open) = (BTreeSet::new(), roots.into_iter().collect::<Vec<_>>());
        while let Some(id) = open.pop() {
            if seen.insert(id) {
                open.extend(operands(self.exprs.get(id)));
            }
        }
        // Operands have smaller ids.
        seen.into_iter().collect()
    }

    /// Every expression that a statement and those inside it evaluate, each once, operands first.
    pub fn exprs_in(&self, stmt: &Stmt) -> Vec<ExprId> {
        let mut roots = Vec::new();
        stmt.walk(&mut |s| roots.extend(s.exprs()));
        self.reachable(roots)
    }

    /// Whether an expression reads memory.
    pub fn loads(&self, id: ExprId) -> bool {
        self.reachable([id]).into_iter().any(|e| matches!(self.exprs.get(e), Expr::Load { .. }))
    }
}
