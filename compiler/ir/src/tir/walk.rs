//! Statements by their parts: the statements, expressions, buffers and variables that stand directly in one.
//!
//! What walks over statements but cares for few kinds of them goes through here, so that a new kind of statement has
//! one place to be entered.

use std::collections::BTreeSet;

use super::{
    Annotation, Block, BufId, CallArg, Expr, ExprId, IterVar, MatchBuffer, PrimFunc, Region, Stmt, VarId, operands,
};

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

    /// The statement behind places in the source and sequences of one.
    pub fn bare(&self) -> &Stmt {
        match self {
            Stmt::At(_, body) => body.bare(),
            Stmt::Seq(all) if all.len() == 1 => all[0].bare(),
            other => other,
        }
    }

    /// The statements directly inside, in the order in which they run.
    pub fn children(&self) -> Vec<&Stmt> {
        match self {
            Stmt::Seq(all) => all.iter().collect(),
            Stmt::For { body, .. }
            | Stmt::While { body, .. }
            | Stmt::Let { body, .. }
            | Stmt::Alloc { body, .. }
            | Stmt::At(_, body) => vec![body],
            Stmt::If { then, otherwise, .. } => std::iter::once(&**then).chain(otherwise.as_deref()).collect(),
            Stmt::Block(block) => block.init.iter().chain(std::iter::once(&block.body)).collect(),
            Stmt::Store { .. }
            | Stmt::Evaluate(_)
            | Stmt::Call { .. }
            | Stmt::Barrier(_)
            | Stmt::Assert { .. }
            | Stmt::Prefetch { .. } => Vec::new(),
        }
    }

    /// The same, to be changed.
    pub fn children_mut(&mut self) -> Vec<&mut Stmt> {
        match self {
            Stmt::Seq(all) => all.iter_mut().collect(),
            Stmt::For { body, .. }
            | Stmt::While { body, .. }
            | Stmt::Let { body, .. }
            | Stmt::Alloc { body, .. }
            | Stmt::At(_, body) => vec![body],
            Stmt::If { then, otherwise, .. } => std::iter::once(&mut **then).chain(otherwise.as_deref_mut()).collect(),
            Stmt::Block(block) => {
                let Block { init, body, .. } = &mut **block;
                init.iter_mut().chain([body]).collect()
            }
            Stmt::Store { .. }
            | Stmt::Evaluate(_)
            | Stmt::Call { .. }
            | Stmt::Barrier(_)
            | Stmt::Assert { .. }
            | Stmt::Prefetch { .. } => Vec::new(),
        }
    }

    /// The same with every statement directly inside replaced, in the order in which they run.
    pub fn map_children(self, f: &mut impl FnMut(Stmt) -> Stmt) -> Stmt {
        match self {
            Stmt::Seq(all) => Stmt::Seq(all.into_iter().map(f).collect()),
            Stmt::For { var, min, extent, kind, annotations, body } => {
                Stmt::For { var, min, extent, kind, annotations, body: Box::new(f(*body)) }
            }
            Stmt::While { cond, body } => Stmt::While { cond, body: Box::new(f(*body)) },
            Stmt::If { cond, then, otherwise } => {
                let then = Box::new(f(*then));
                Stmt::If { cond, then, otherwise: otherwise.map(|s| Box::new(f(*s))) }
            }
            Stmt::Let { var, value, body } => Stmt::Let { var, value, body: Box::new(f(*body)) },
            Stmt::Alloc { buf, body } => Stmt::Alloc { buf, body: Box::new(f(*body)) },
            Stmt::At(loc, body) => Stmt::At(loc, Box::new(f(*body))),
            Stmt::Block(block) => {
                let Block { init, body, .. } = *block;
                let init = init.map(&mut *f);
                Stmt::Block(Box::new(Block { init, body: f(body), ..*block }))
            }
            Stmt::Store { .. }
            | Stmt::Evaluate(_)
            | Stmt::Call { .. }
            | Stmt::Barrier(_)
            | Stmt::Assert { .. }
            | Stmt::Prefetch { .. } => self,
        }
    }

    /// The expressions that stand in it directly, in the order in which it evaluates them.
    pub fn exprs(&self) -> Vec<ExprId> {
        let mut all = Vec::new();
        self.clone_shallow().map_exprs(&mut |e| {
            all.push(e);
            e
        });
        all
    }

    /// The same without the statements inside.
    pub(super) fn clone_shallow(&self) -> Stmt {
        let none = || Box::new(Stmt::nop());
        match self {
            Stmt::Seq(_) => Stmt::nop(),
            Stmt::For { var, min, extent, kind, annotations, .. } => Stmt::For {
                var: *var,
                min: *min,
                extent: *extent,
                kind: *kind,
                annotations: annotations.clone(),
                body: none(),
            },
            Stmt::While { cond, .. } => Stmt::While { cond: *cond, body: none() },
            Stmt::If { cond, .. } => Stmt::If { cond: *cond, then: none(), otherwise: None },
            Stmt::Let { var, value, .. } => Stmt::Let { var: *var, value: *value, body: none() },
            Stmt::Alloc { buf, .. } => Stmt::Alloc { buf: *buf, body: none() },
            Stmt::At(loc, _) => Stmt::At(*loc, none()),
            Stmt::Block(block) => Stmt::Block(Box::new(shallow_block(block))),
            Stmt::Store { .. }
            | Stmt::Evaluate(_)
            | Stmt::Call { .. }
            | Stmt::Barrier(_)
            | Stmt::Assert { .. }
            | Stmt::Prefetch { .. } => self.clone(),
        }
    }

    /// The same with every expression that stands in it directly replaced, in the order in which it evaluates them.
    pub fn map_exprs(self, f: &mut impl FnMut(ExprId) -> ExprId) -> Stmt {
        match self {
            Stmt::For { var, min, extent, kind, annotations, body } => {
                let (min, extent) = (f(min), f(extent));
                Stmt::For { var, min, extent, kind, annotations, body }
            }
            Stmt::While { cond, body } => Stmt::While { cond: f(cond), body },
            Stmt::If { cond, then, otherwise } => Stmt::If { cond: f(cond), then, otherwise },
            Stmt::Let { var, value, body } => Stmt::Let { var, value: f(value), body },
            Stmt::Store { buf, index, value, access } => {
                let index = index.into_iter().map(&mut *f).collect();
                Stmt::Store { buf, index, value: f(value), access }
            }
            Stmt::Block(block) => Stmt::Block(Box::new(block_exprs(*block, f))),
            Stmt::Evaluate(e) => Stmt::Evaluate(f(e)),
            Stmt::Call { func, args, launch } => {
                let mut arg = |a| match a {
                    CallArg::Buffer(buf) => CallArg::Buffer(buf),
                    CallArg::Value(e) => CallArg::Value(f(e)),
                };
                let args = args.into_iter().map(&mut arg).collect();
                let launch = launch.map(|l| l.map(f));
                Stmt::Call { func, args, launch }
            }
            Stmt::Assert { cond, text } => Stmt::Assert { cond: f(cond), text },
            Stmt::Prefetch { buf, index } => Stmt::Prefetch { buf, index: index.into_iter().map(f).collect() },
            Stmt::Seq(_) | Stmt::Alloc { .. } | Stmt::At(..) | Stmt::Barrier(_) => self,
        }
    }

    /// The same with every buffer that stands in it directly replaced; loads stand in its expressions.
    pub fn map_buffers(self, f: &mut impl FnMut(BufId) -> BufId) -> Stmt {
        match self {
            Stmt::For { var, min, extent, kind, annotations, body } => {
                let annotations = map_annotations(annotations, f);
                Stmt::For { var, min, extent, kind, annotations, body }
            }
            Stmt::Alloc { buf, body } => Stmt::Alloc { buf: f(buf), body },
            Stmt::Store { buf, index, value, access } => Stmt::Store { buf: f(buf), index, value, access },
            Stmt::Block(block) => Stmt::Block(Box::new(block_buffers(*block, f))),
            Stmt::Call { func, args, launch } => {
                let mut arg = |a| match a {
                    CallArg::Buffer(buf) => CallArg::Buffer(f(buf)),
                    CallArg::Value(e) => CallArg::Value(e),
                };
                Stmt::Call { func, args: args.into_iter().map(&mut arg).collect(), launch }
            }
            Stmt::Prefetch { buf, index } => Stmt::Prefetch { buf: f(buf), index },
            Stmt::Seq(_)
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Let { .. }
            | Stmt::Evaluate(_)
            | Stmt::Barrier(_)
            | Stmt::Assert { .. }
            | Stmt::At(..) => self,
        }
    }

    /// The same with every variable that it binds replaced.
    pub fn map_bound(self, f: &mut impl FnMut(VarId) -> VarId) -> Stmt {
        match self {
            Stmt::For { var, min, extent, kind, annotations, body } => {
                Stmt::For { var: f(var), min, extent, kind, annotations, body }
            }
            Stmt::Let { var, value, body } => Stmt::Let { var: f(var), value, body },
            Stmt::Block(mut block) => {
                block.iters.iter_mut().for_each(|i| i.var = f(i.var));
                Stmt::Block(block)
            }
            Stmt::Seq(_)
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Alloc { .. }
            | Stmt::Store { .. }
            | Stmt::Evaluate(_)
            | Stmt::Call { .. }
            | Stmt::Barrier(_)
            | Stmt::Assert { .. }
            | Stmt::Prefetch { .. }
            | Stmt::At(..) => self,
        }
    }

    /// The variables that it binds itself.
    pub fn bound(&self) -> Vec<VarId> {
        match self {
            Stmt::For { var, .. } | Stmt::Let { var, .. } => vec![*var],
            Stmt::Block(block) => block.iters.iter().map(|i| i.var).collect(),
            Stmt::Seq(_)
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Alloc { .. }
            | Stmt::Store { .. }
            | Stmt::Evaluate(_)
            | Stmt::Call { .. }
            | Stmt::Barrier(_)
            | Stmt::Assert { .. }
            | Stmt::Prefetch { .. }
            | Stmt::At(..) => Vec::new(),
        }
    }

    /// The buffers that live inside it, and the views it makes.
    pub fn allocates(&self) -> Vec<BufId> {
        match self {
            Stmt::Alloc { buf, .. } => vec![*buf],
            Stmt::Block(block) => Stmt::allocates_of(block),
            Stmt::Seq(_)
            | Stmt::For { .. }
            | Stmt::Let { .. }
            | Stmt::While { .. }
            | Stmt::If { .. }
            | Stmt::Store { .. }
            | Stmt::Evaluate(_)
            | Stmt::Call { .. }
            | Stmt::Barrier(_)
            | Stmt::Assert { .. }
            | Stmt::Prefetch { .. }
            | Stmt::At(..) => Vec::new(),
        }
    }

    /// Calls `f` on the statement and on every one inside, outer ones first.
    pub fn walk<'s>(&'s self, f: &mut impl FnMut(&'s Stmt)) {
        f(self);
        for child in self.children() {
            child.walk(f);
        }
    }

    /// The buffers that live inside an instance of a block, and its views.
    pub fn allocates_of(block: &Block) -> Vec<BufId> {
        block.allocs.iter().copied().chain(block.matches.iter().map(|m| m.view)).collect()
    }

    /// The statements that a pipeline over this body moves: those of its sequence, behind allocations, lets and places.
    pub fn pipeline_parts(&self) -> Vec<&Stmt> {
        match self {
            Stmt::Seq(all) => {
                let inner = |s: &'_ Stmt| matches!(s, Stmt::Seq(_));
                all.iter().flat_map(|s| if inner(s) { s.pipeline_parts() } else { vec![s] }).collect()
            }
            Stmt::Alloc { body, .. } | Stmt::At(_, body) => body.pipeline_parts(),
            other => vec![other],
        }
    }

    /// Whether `f` holds of this statement or one inside.
    pub fn any(&self, f: &mut impl FnMut(&Stmt) -> bool) -> bool {
        f(self) || self.children().into_iter().any(|s| s.any(f))
    }

    /// Every statement replaced, inner ones first.
    pub fn map(self, f: &mut impl FnMut(Stmt) -> Stmt) -> Stmt {
        let rebuilt = self.map_children(&mut |s| s.map(f));
        f(rebuilt)
    }
}

fn map_annotations(all: Vec<Annotation>, f: &mut impl FnMut(BufId) -> BufId) -> Vec<Annotation> {
    all.into_iter().map(|a| a.map_buffer(f)).collect()
}

fn shallow_block(block: &Block) -> Block {
    Block {
        name: block.name.clone(),
        iters: block.iters.clone(),
        reads: block.reads.clone(),
        writes: block.writes.clone(),
        init: None,
        predicate: block.predicate,
        allocs: block.allocs.clone(),
        matches: block.matches.clone(),
        annotations: block.annotations.clone(),
        body: Stmt::nop(),
    }
}

fn region_exprs(region: Region, f: &mut impl FnMut(ExprId) -> ExprId) -> Region {
    Region { buf: region.buf, ranges: region.ranges.into_iter().map(|(x, y)| (f(x), f(y))).collect() }
}

fn block_exprs(block: Block, f: &mut impl FnMut(ExprId) -> ExprId) -> Block {
    let mut iter = |i: IterVar| {
        let (extent, value) = (f(i.extent), f(i.value));
        IterVar { extent, value, ..i }
    };
    let iters = block.iters.into_iter().map(&mut iter).collect();
    let reads = block.reads.into_iter().map(|r| region_exprs(r, f)).collect();
    let writes = block.writes.into_iter().map(|r| region_exprs(r, f)).collect();
    let matched = |m: MatchBuffer| MatchBuffer { view: m.view, region: region_exprs(m.region, f) };
    let matches = block.matches.into_iter().map(matched).collect();
    Block { iters, reads, writes, matches, predicate: block.predicate.map(f), ..block }
}

fn block_buffers(block: Block, f: &mut impl FnMut(BufId) -> BufId) -> Block {
    let mut region = |r: Region| Region { buf: f(r.buf), ranges: r.ranges };
    let reads = block.reads.into_iter().map(&mut region).collect();
    let writes = block.writes.into_iter().map(&mut region).collect();
    let regions = block.matches.into_iter().map(|m| (m.view, region(m.region))).collect::<Vec<_>>();
    let matches = regions.into_iter().map(|(view, region)| MatchBuffer { view: f(view), region }).collect();
    let allocs = block.allocs.into_iter().map(&mut *f).collect();
    let annotations = map_annotations(block.annotations, f);
    Block { reads, writes, matches, allocs, annotations, ..block }
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

    /// The integer that an expression is, if it is a literal.
    pub fn literal(&self, id: ExprId) -> Option<i64> {
        match self.exprs.get(id) {
            Expr::Index(n) => Some(*n),
            Expr::Const(s) if s.dtype.is_int() => i64::try_from(s.to_i128()).ok(),
            _ => None,
        }
    }

    /// Whether an expression reads memory.
    pub fn loads(&self, id: ExprId) -> bool {
        self.reachable([id]).into_iter().any(|e| matches!(self.exprs.get(e), Expr::Load { .. }))
    }
}
