//! Sums of products among the nests of a kernel: which loops walk rows of the result, which columns, which terms.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::DType;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::copy::substitute;
use tenfold_ir::tir::{
    BufId, Builder, Elem, Expr, ExprId, LoopKind, PrimFunc, Scope, Stmt, VarId, accesses, expr_vars, read,
    substitution, written,
};

use super::{Bind, Loop};

/// A nest `acc = init; acc += x * y …; after`, of which `x` ignores the columns and `y` the rows.
pub(super) struct Product {
    /// Loops that both factors follow, or neither.
    pub batch: Vec<Loop>,
    pub rows: Vec<Loop>,
    /// Among them the innermost loop of the result.
    pub cols: Vec<Loop>,
    pub terms: Vec<Loop>,
    pub acc: BufId,
    pub index: Vec<ExprId>,
    pub init: ExprId,
    /// What is added, made of both factors.
    pub term: ExprId,
    pub x: ExprId,
    pub y: ExprId,
    /// What is done with each element behind its sum.
    pub after: Vec<Stmt>,
}

/// What a nest does, without its loops.
struct Nest<'s> {
    loops: Vec<Loop>,
    body: &'s Stmt,
}

/// A store of an element.
struct Stored {
    buf: BufId,
    index: Vec<ExprId>,
    value: ExprId,
}

impl Product {
    /// The product that a nest is; what stands behind its sum goes by the loops of the sum then.
    pub(super) fn find(bind: &mut Bind<'_>, outer: &[Loop], body: &Stmt) -> Option<Product> {
        let mut parts = Vec::new();
        let mut held = Vec::new();
        flat(body, &mut parts, &mut held);
        let (init, rest) = parts.split_first()?;
        let (sum, after) = rest.split_first()?;
        let func = bind.b.func();
        let nest = nest(sum);
        let stored = stored(nest.body)?;
        let Expr::Binary(BinaryOp::Add, old, term) = *func.exprs.get(stored.value) else { return None };
        let own = matches!(func.exprs.get(old), Expr::Load { buf, index, .. } if *buf == stored.buf && *index == stored.index);
        let named = |l: &Loop| stored.index.iter().any(|i| expr_vars(func, *i).contains(&l.var));
        let (inner, terms): (Vec<Loop>, Vec<Loop>) = nest.loops.iter().partition(|l| named(l));
        let all: Vec<Loop> = outer.iter().chain(&nest.loops).copied().collect();
        let plain = all.iter().all(|l| func.literal(l.min) == Some(0) && bind.is_host(&[l.extent], &all));
        let free = inner.iter().all(|l| bind.free.contains(&l.var));
        let only = held.iter().all(|buf| *buf == stored.buf);
        if !own || terms.is_empty() || !plain || !free || !only {
            return None;
        }
        let init = self::init(bind, init, &stored, &inner)?;
        let spatial: Vec<Loop> = outer.iter().chain(&inner).copied().collect();
        let (x, y) = factors(bind.b.func(), term)?;
        let mut product = Product::sided(bind.b.func(), spatial, terms, (x, y))?;
        (product.acc, product.index, product.init, product.term) = (stored.buf, stored.index, init, term);
        product.is_apart(bind.b.func(), after).then_some(())?;
        for stmt in after {
            let stmt = product.follows(bind, stmt, &inner)?;
            product.after.push(stmt);
        }
        Some(product)
    }

    /// The loops by the factors that follow them.
    fn sided(func: &PrimFunc, spatial: Vec<Loop>, terms: Vec<Loop>, (x, y): (ExprId, ExprId)) -> Option<Product> {
        let (of_x, of_y) = (expr_vars(func, x), expr_vars(func, y));
        let (mut batch, mut rows, mut cols) = (Vec::new(), Vec::new(), Vec::new());
        for l in &spatial {
            match (of_x.contains(&l.var), of_y.contains(&l.var)) {
                (true, false) => rows.push(*l),
                (false, true) => cols.push(*l),
                (true, true) | (false, false) => batch.push(*l),
            }
        }
        let last = spatial.last()?.var;
        let (mut x, mut y) = (x, y);
        if rows.iter().any(|l| l.var == last) {
            (rows, cols, x, y) = (cols, rows, y, x);
        }
        let ok = !rows.is_empty() && !cols.is_empty() && [x, y].iter().all(|e| func.loads(*e) && is_staged(func, *e));
        let (acc, index, init, term, after) = (BufId(0), Vec::new(), x, x, Vec::new());
        ok.then_some(Product { batch, rows, cols, terms, acc, index, init, term, x, y, after })
    }

    /// Whether groups may work on tiles without waiting for each other: nothing that is written is a factor, and what
    /// is written behind the sum is read by nothing else there.
    fn is_apart(&self, func: &PrimFunc, after: &[&Stmt]) -> bool {
        let factors: BTreeSet<BufId> = func
            .reachable([self.x, self.y])
            .into_iter()
            .filter_map(|e| match func.exprs.get(e) {
                Expr::Load { buf, .. } => Some(*buf),
                _ => None,
            })
            .collect();
        let mut all: BTreeSet<BufId> = [self.acc].into();
        for (n, stmt) in after.iter().enumerate() {
            let of = written(func, stmt);
            let later = after[n + 1..].iter().any(|s| read(func, s).iter().any(|b| *b != self.acc && of.contains(b)));
            if later {
                return false;
            }
            all.extend(of);
        }
        factors.is_disjoint(&all)
    }

    /// What is done behind the sum, by the sum's own loops.
    fn follows(&self, bind: &mut Bind<'_>, stmt: &Stmt, inner: &[Loop]) -> Option<Stmt> {
        let mut nest = Nest { loops: Vec::new(), body: stmt };
        while nest.loops.len() < inner.len() {
            nest = deeper(nest)?;
        }
        let func = bind.b.func();
        let mut to: Option<BTreeMap<VarId, VarId>> = None;
        for access in accesses(func, nest.body).into_iter().filter(|a| a.buf == self.acc) {
            let map = renamed(func, &access.index?, &self.index, &nest.loops, inner)?;
            match &to {
                Some(known) if *known != map => return None,
                _ => to = Some(map),
            }
        }
        let free = nest.loops.iter().all(|l| bind.free.contains(&l.var));
        let body = nest.body.clone();
        let to: BTreeMap<VarId, ExprId> = to.filter(|_| free)?.into_iter().map(|(v, w)| (v, bind.b.read(w))).collect();
        Some(substitute(bind.b, body, &to))
    }
}

/// What a body does one after the other, and what it allocates.
fn flat<'s>(stmt: &'s Stmt, parts: &mut Vec<&'s Stmt>, held: &mut Vec<BufId>) {
    match stmt {
        Stmt::Seq(all) => all.iter().for_each(|s| flat(s, parts, held)),
        Stmt::At(_, body) => flat(body, parts, held),
        Stmt::Alloc { buf, body } => {
            held.push(*buf);
            flat(body, parts, held);
        }
        other => parts.push(other),
    }
}

/// The loops around what is no loop.
fn nest(stmt: &Stmt) -> Nest<'_> {
    let mut nest = Nest { loops: Vec::new(), body: stmt };
    loop {
        nest = match deeper(Nest { loops: nest.loops.clone(), body: nest.body }) {
            Some(deeper) => deeper,
            None => return nest,
        };
    }
}

/// One loop further in.
fn deeper(nest: Nest<'_>) -> Option<Nest<'_>> {
    match nest.body.bare() {
        Stmt::For { var, min, extent, kind: LoopKind::Serial | LoopKind::Reduction, body, .. } => {
            let mut loops = nest.loops;
            loops.push(Loop { var: *var, min: *min, extent: *extent });
            Some(Nest { loops, body })
        }
        _ => None,
    }
}

fn stored(stmt: &Stmt) -> Option<Stored> {
    match stmt.bare() {
        Stmt::Store { buf, index, value, .. } => Some(Stored { buf: *buf, index: index.clone(), value: *value }),
        _ => None,
    }
}

/// What elements begin with, by the loops of the sum.
fn init(bind: &mut Bind<'_>, stmt: &Stmt, sum: &Stored, inner: &[Loop]) -> Option<ExprId> {
    let nest = nest(stmt);
    let first = stored(nest.body).filter(|s| s.buf == sum.buf)?;
    let func = bind.b.func();
    let to = renamed(func, &first.index, &sum.index, &nest.loops, inner)?;
    let reads_itself = func
        .reachable([first.value])
        .iter()
        .any(|e| matches!(func.exprs.get(*e), Expr::Load { buf, .. } if *buf == sum.buf));
    let free = nest.loops.iter().all(|l| bind.free.contains(&l.var));
    let to: BTreeMap<VarId, ExprId> = to.into_iter().map(|(v, w)| (v, bind.b.read(w))).collect();
    (free && !reads_itself).then(|| substitution(&to).expr(bind.b, first.value))
}

/// The loops of another nest as those of the sum, where both reach the same elements.
fn renamed(
    func: &PrimFunc,
    from: &[ExprId],
    index: &[ExprId],
    loops: &[Loop],
    inner: &[Loop],
) -> Option<BTreeMap<VarId, VarId>> {
    let mut to = BTreeMap::new();
    for (a, b) in from.iter().zip(index) {
        match (func.exprs.get(*a), func.exprs.get(*b)) {
            _ if a == b => {}
            (Expr::Var(v), Expr::Var(w)) => {
                let (mine, theirs) = (loops.iter().find(|l| l.var == *v)?, inner.iter().find(|l| l.var == *w)?);
                if mine.extent != theirs.extent || mine.min != theirs.min || to.insert(*v, *w).is_some_and(|o| o != *w)
                {
                    return None;
                }
            }
            _ => return None,
        }
    }
    let images: BTreeSet<VarId> = to.values().copied().collect();
    (from.len() == index.len() && loops.len() == inner.len() && images.len() == inner.len()).then_some(to)
}

/// The factors of a product, of whatever dtype it is made.
fn factors(func: &PrimFunc, term: ExprId) -> Option<(ExprId, ExprId)> {
    match func.exprs.get(term) {
        Expr::Cast(_, inner) => factors(func, *inner),
        Expr::Binary(BinaryOp::Mul, x, y) => Some((*x, *y)),
        _ => None,
    }
}

/// Whether a factor has a dtype that shared memory holds element by element.
fn is_staged(func: &PrimFunc, e: ExprId) -> bool {
    match func.exprs.ty(e).elem {
        Elem::Scalar(dtype) => dtype.bits() >= 8 && dtype != DType::Bool && !DType::STORED.contains(&dtype),
        Elem::Index => false,
    }
}

/// Whether a buffer is memory of the kernel that only its sum is in.
pub(super) fn is_own(b: &Builder, buf: BufId) -> bool {
    matches!(b.buf(buf).scope, Scope::Local)
}
