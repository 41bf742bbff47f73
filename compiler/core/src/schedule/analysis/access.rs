//! What a statement reads and writes, element by element.

use std::collections::BTreeSet;

use tenfold_ir::Module;
use tenfold_ir::tir::{Block, BufId, BufUse, CallArg, Expr, ExprArena, ExprId, Param, Stmt, VarId, operands};

/// One access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::schedule) struct Access {
    pub buf: BufId,
    /// One index per axis; nothing for a whole buffer that a call is given or a view shows a part of.
    pub index: Option<Vec<ExprId>>,
}

/// The accesses of a statement.
#[derive(Clone, Default, Debug)]
pub(in crate::schedule) struct Accesses {
    pub reads: Vec<Access>,
    pub writes: Vec<Access>,
}

impl Accesses {
    pub(in crate::schedule) fn read_bufs(&self) -> BTreeSet<BufId> {
        self.reads.iter().map(|a| a.buf).collect()
    }
    pub(in crate::schedule) fn written_bufs(&self) -> BTreeSet<BufId> {
        self.writes.iter().map(|a| a.buf).collect()
    }
    /// Whether a buffer is touched at all.
    pub(in crate::schedule) fn touch(&self, buf: BufId) -> bool {
        self.reads.iter().chain(&self.writes).any(|a| a.buf == buf)
    }
}

/// The accesses of everything in `stmt`, those of predicates, bounds and bindings included, each once.
pub(in crate::schedule) fn accesses(module: &Module, exprs: &ExprArena, stmt: &Stmt) -> Accesses {
    let mut walk = Walk { module, exprs, seen: BTreeSet::new(), found: Accesses::default() };
    stmt.walk(&mut |s| walk.stmt(s));
    walk.found
}

struct Walk<'a> {
    module: &'a Module,
    exprs: &'a ExprArena,
    seen: BTreeSet<ExprId>,
    found: Accesses,
}

impl Walk<'_> {
    fn expr(&mut self, id: ExprId) {
        if !self.seen.insert(id) {
            return;
        }
        let expr = self.exprs.get(id);
        if let Expr::Load { buf, index, .. } = expr {
            self.found.reads.push(Access { buf: *buf, index: Some(index.clone()) });
        }
        operands(expr).into_iter().for_each(|o| self.expr(o));
    }

    fn write(&mut self, access: Access) {
        if !self.found.writes.contains(&access) {
            self.found.writes.push(access);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        exprs_of(stmt).into_iter().for_each(|e| self.expr(e));
        match stmt {
            Stmt::Store { buf, index, .. } => self.write(Access { buf: *buf, index: Some(index.clone()) }),
            Stmt::Call { func, args, .. } => self.call(func, args),
            Stmt::Block(block) => self.views(block),
            Stmt::Seq(_)
            | Stmt::For { .. }
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Let { .. }
            | Stmt::Alloc { .. }
            | Stmt::Evaluate(_)
            | Stmt::Barrier(_)
            | Stmt::Assert { .. }
            | Stmt::Prefetch { .. }
            | Stmt::At(..) => {}
        }
    }

    /// What a view shows may be read anywhere and, if the view is written, written anywhere.
    fn views(&mut self, block: &Block) {
        if block.matches.is_empty() {
            return;
        }
        let inside = block.init.iter().chain([&block.body]);
        let written: BTreeSet<BufId> =
            inside.flat_map(|s| accesses(self.module, self.exprs, s).written_bufs()).collect();
        for shown in &block.matches {
            let access = Access { buf: shown.region.buf, index: None };
            self.found.reads.push(access.clone());
            if written.contains(&shown.view) {
                self.write(access);
            }
        }
    }

    /// A buffer that is passed may be read and, unless the callee only reads it, written anywhere.
    fn call(&mut self, name: &str, args: &[CallArg]) {
        let callee = self.module.prim(name);
        for (n, arg) in args.iter().enumerate() {
            let CallArg::Buffer(buf) = arg else { continue };
            let usage = callee.and_then(|f| f.params.get(n)).map(|p| match p {
                Param::Buffer(_, usage) => *usage,
                Param::Value(_) | Param::Workspace => BufUse::InOut,
            });
            let access = Access { buf: *buf, index: None };
            if usage != Some(BufUse::Out) {
                self.found.reads.push(access.clone());
            }
            if usage != Some(BufUse::In) {
                self.write(access);
            }
        }
    }
}

/// The expressions that a statement itself evaluates, without those of the statements inside it.
pub(in crate::schedule) fn exprs_of(stmt: &Stmt) -> Vec<ExprId> {
    match stmt {
        Stmt::For { min, extent, .. } => vec![*min, *extent],
        Stmt::While { cond, .. } | Stmt::If { cond, .. } => vec![*cond],
        Stmt::Let { value, .. } => vec![*value],
        Stmt::Store { index, value, .. } => index.iter().copied().chain([*value]).collect(),
        Stmt::Block(block) => {
            let iters = block.iters.iter().flat_map(|i| [i.extent, i.value]);
            iters.chain(block.predicate).collect()
        }
        Stmt::Evaluate(e) => vec![*e],
        Stmt::Call { args, .. } => args
            .iter()
            .filter_map(|a| match a {
                CallArg::Value(e) => Some(*e),
                CallArg::Buffer(_) => None,
            })
            .collect(),
        Stmt::Assert { cond, .. } => vec![*cond],
        Stmt::Prefetch { index, .. } => index.clone(),
        Stmt::Seq(_) | Stmt::Alloc { .. } | Stmt::Barrier(_) | Stmt::At(..) => Vec::new(),
    }
}

/// The variables that an expression names.
pub(in crate::schedule) fn vars_of(exprs: &ExprArena, id: ExprId) -> BTreeSet<VarId> {
    let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
    visit(exprs, id, &mut seen, &mut |expr| {
        if let Expr::Var(var) = expr {
            found.insert(*var);
        }
    });
    found
}

/// Whether an expression names a variable.
pub(in crate::schedule) fn uses_var(exprs: &ExprArena, id: ExprId, var: VarId) -> bool {
    vars_of(exprs, id).contains(&var)
}

/// The buffers that an expression loads from.
pub(in crate::schedule) fn loads_in(exprs: &ExprArena, id: ExprId) -> BTreeSet<BufId> {
    let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
    visit(exprs, id, &mut seen, &mut |expr| {
        if let Expr::Load { buf, .. } = expr {
            found.insert(*buf);
        }
    });
    found
}

fn visit(exprs: &ExprArena, id: ExprId, seen: &mut BTreeSet<ExprId>, f: &mut impl FnMut(&Expr)) {
    if seen.insert(id) {
        let expr = exprs.get(id);
        f(expr);
        operands(expr).into_iter().for_each(|o| visit(exprs, o, seen, f));
    }
}
