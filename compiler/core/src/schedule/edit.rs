//! The function that a schedule changes, and the ways to change it.

use std::collections::BTreeMap;

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{
    Annotation, Block, BufId, Builder, ExprId, LoopKind, PrimFunc, Stmt, VarId, Viewer, substitution,
};

use super::error::Refusal;
use super::tree;

/// The function, taken apart: its expressions and names in a builder, its body beside it.
#[derive(Clone)]
pub(super) struct State<'m> {
    /// The module that the function is of: its constants and the functions it calls.
    pub module: &'m Module,
    /// Expressions, variables, buffers.
    pub b: Builder,
    /// The statements.
    pub body: Stmt,
    /// Where sampling goes on.
    pub seed: u64,
}

/// A loop, taken apart.
#[derive(Clone)]
pub(super) struct Loop {
    pub var: VarId,
    pub min: ExprId,
    pub extent: ExprId,
    pub kind: LoopKind,
    pub annotations: Vec<Annotation>,
    pub body: Stmt,
}

impl Loop {
    /// The loop as a statement.
    pub(super) fn stmt(self) -> Stmt {
        let Loop { var, min, extent, kind, annotations, body } = self;
        Stmt::For { var, min, extent, kind, annotations, body: Box::new(body) }
    }

    fn of(stmt: &Stmt) -> Option<Loop> {
        match stmt {
            Stmt::For { var, min, extent, kind, annotations, body } => {
                let (var, min, extent, kind, body) = (*var, *min, *extent, *kind, (**body).clone());
                Some(Loop { var, min, extent, kind, annotations: annotations.clone(), body })
            }
            _ => None,
        }
    }

    /// Whether its turns run one after another, without any order or place of their own.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self.kind, LoopKind::Serial | LoopKind::Reduction)
    }
}

impl<'m> State<'m> {
    pub(super) fn new(module: &'m Module, mut func: PrimFunc, seed: u64) -> Self {
        let body = std::mem::replace(&mut func.body, Stmt::Seq(Vec::new()));
        State { module, b: Builder::resume(func), body, seed }
    }

    /// The function as it is now.
    pub(super) fn func(&self) -> PrimFunc {
        PrimFunc { body: self.body.clone(), ..self.b.func().clone() }
    }

    pub(super) fn name(&self, var: VarId) -> String {
        self.b.func().vars.get(var.0 as usize).map_or_else(|| "?".to_string(), |v| v.sym.to_string())
    }

    pub(super) fn buf_name(&self, buf: BufId) -> &str {
        &self.b.buf(buf).name
    }

    /// The next number that sampling takes.
    pub(super) fn next(&mut self) -> u64 {
        self.seed = self.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.seed >> 33
    }

    // Loops.

    pub(super) fn get_loop(&self, var: VarId) -> Result<Loop, Refusal> {
        let path = tree::path(&self.body, &tree::is_loop(var));
        let found = path.and_then(|p| p.last().copied().and_then(Loop::of));
        found.ok_or_else(|| {
            Refusal::new(format!("there is no loop `{}` any more", self.name(var)), "use a loop that is still there")
        })
    }

    /// Puts what `f` makes of a loop in its place.
    pub(super) fn edit_loop(&mut self, var: VarId, f: impl FnOnce(&mut Builder, Loop) -> Stmt) -> Result<(), Refusal> {
        let found = self.get_loop(var)?;
        let new = f(&mut self.b, found);
        if let Some(place) = tree::find_mut(&mut self.body, &tree::is_loop(var)) {
            *place = new;
        }
        Ok(())
    }

    /// The loops around a statement up to the next block, outermost first.
    pub(super) fn loops_above(&self, f: &impl Fn(&Stmt) -> bool) -> Vec<VarId> {
        let Some(mut path) = tree::path(&self.body, f) else { return Vec::new() };
        path.pop();
        let start = path.iter().rposition(|s| matches!(s, Stmt::Block(_))).map_or(0, |at| at + 1);
        let var = |s: &&Stmt| match s {
            Stmt::For { var, .. } => Some(*var),
            _ => None,
        };
        path[start..].iter().filter_map(var).collect()
    }

    /// The loops around a block up to the next block, outermost first.
    pub(super) fn loops_of(&self, block: &str) -> Vec<VarId> {
        self.loops_above(&tree::is_block(block))
    }

    // Blocks.

    pub(super) fn get_block(&self, name: &str) -> Result<&Block, Refusal> {
        let path = tree::path(&self.body, &tree::is_block(name));
        match path.and_then(|p| p.last().copied()) {
            Some(Stmt::Block(block)) => Ok(block),
            _ => {
                let blocks = tree::all_blocks(&self.body);
                let names: Vec<String> = blocks.iter().map(|b| format!("`{}`", b.name)).collect();
                let help = match &names[..] {
                    [] => "the function has no blocks".to_string(),
                    names => format!("the blocks are {}", names.join(", ")),
                };
                Refusal::err(format!("there is no block `{name}`"), help)
            }
        }
    }

    /// Changes a block.
    pub(super) fn edit_block(&mut self, name: &str, f: impl FnOnce(&mut Builder, &mut Block)) -> Result<(), Refusal> {
        self.get_block(name)?;
        if let Some(Stmt::Block(block)) = tree::find_mut(&mut self.body, &tree::is_block(name)) {
            f(&mut self.b, block);
        }
        Ok(())
    }

    /// The block around a block, if it is in one.
    pub(super) fn scope_of(&self, name: &str) -> Option<&Block> {
        let path = tree::path(&self.body, &tree::is_block(name))?;
        path[..path.len() - 1].iter().rev().find_map(|s| match s {
            Stmt::Block(block) => Some(&**block),
            _ => None,
        })
    }

    /// What the block's scope runs: the body of the block around it, or of the function.
    pub(super) fn scope_body(&self, name: &str) -> &Stmt {
        self.scope_of(name).map_or(&self.body, |block| &block.body)
    }

    /// A name that no block has.
    pub(super) fn fresh_block(&self, base: &str) -> String {
        let names: std::collections::BTreeSet<&str> =
            tree::all_blocks(&self.body).iter().map(|b| b.name.as_str()).collect();
        let numbered = (1..).map(|n| format!("{base}_{n}"));
        let mut all = std::iter::once(base.to_string()).chain(numbered);
        all.find(|name| !names.contains(name.as_str())).unwrap_or_default()
    }

    // Expressions.

    /// An index expression as the prover reads it.
    pub(super) fn int(&self, e: ExprId) -> IntExpr {
        Viewer::new(self.b.func()).int(e)
    }

    /// An integer expression over variables of the function as an index expression, or nothing if it has others:
    /// values that depend on data.
    pub(super) fn index_of(&mut self, e: &IntExpr) -> Option<ExprId> {
        let known = e.vars().iter().all(|sym| self.b.var_of(sym).is_some());
        known.then(|| self.b.int_expr(e))
    }

    /// `cond && more`, where either may be missing.
    pub(super) fn both(b: &mut Builder, cond: Option<ExprId>, more: ExprId) -> ExprId {
        match cond {
            Some(cond) if cond != more => b.and(cond, more),
            Some(_) | None => more,
        }
    }
}

/// Variables replaced in a statement.
pub(super) fn substitute(b: &mut Builder, map: &BTreeMap<VarId, ExprId>, stmt: Stmt) -> Stmt {
    substitution(map).stmt(b, stmt)
}

/// Variables replaced in an expression.
pub(super) fn substitute_expr(b: &mut Builder, map: &BTreeMap<VarId, ExprId>, e: ExprId) -> ExprId {
    substitution(map).expr(b, e)
}

/// Runs `body` only where `cond` holds: a predicate of its blocks, or an `if` where it is not blocks alone.
pub(super) fn guard(b: &mut Builder, mut body: Stmt, cond: ExprId) -> Stmt {
    if !tree::only_blocks(&body) {
        return Stmt::If { cond, then: Box::new(body), otherwise: None };
    }
    for block in tree::outer_blocks_mut(&mut body) {
        block.predicate = Some(State::both(b, block.predicate, cond));
    }
    body
}
