//! Which indices fit into 32 bits.

use std::collections::BTreeSet;

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::tir::{Elem, Expr, ExprId, LoopKind, Param, PrimFunc, Scope, Stmt, Ty, VarId, Viewer, operands};

/// Nodes beyond which an index is not given to the prover; its bounds may still show that it fits.
const LARGEST: usize = 48;
/// Nodes beyond which it is not looked at: parts of it are read again for each of them.
const READ: usize = 256;

const LEAST: i64 = i32::MIN as i64;
const MOST: i64 = i32::MAX as i64;

/// What fits.
pub(super) struct Found {
    /// Indices that fit wherever they are evaluated.
    pub(super) fit: BTreeSet<ExprId>,
    /// Variables of loops and lets that fit.
    pub(super) vars: BTreeSet<VarId>,
}

/// Looks at every index of a function; `bits` are those of an address.
pub(super) fn find(func: &PrimFunc, bits: u32) -> Found {
    let mut viewer = Viewer::new(func);
    for extent in func.buffers.iter().flat_map(|buffer| &buffer.shape) {
        viewer.prover.assume_ge(extent, &IntExpr::from(0));
    }
    if bits <= 32 {
        know_memory(&mut viewer);
    }
    let mut look =
        Look { fixed: fixed(func), fit: BTreeSet::new(), wide: BTreeSet::new(), seen: Vec::new(), vars: Vec::new() };
    viewer.walk(&func.body, &mut |v, stmt| look.stmt(v, stmt));
    let fit: BTreeSet<ExprId> = look.fit.difference(&look.wide).copied().collect();
    let fits = |made: &[ExprId]| made.iter().all(|id| fit.contains(id));
    let vars = look.vars.iter().filter(|(_, made)| fits(made)).map(|(var, _)| *var).collect();
    Found { fit, vars }
}

/// With addresses of 32 bits no buffer has more bytes than they reach, and no argument of an exported function is wider.
fn know_memory(v: &mut Viewer<'_>) {
    let func = v.func();
    let most = IntExpr::from(MOST);
    for buffer in func.buffers.iter().filter(|b| matches!(b.scope, Scope::Param | Scope::Workspace)) {
        let size = IntExpr::from(buffer.dtype.size_bytes() as i64);
        let bytes = buffer.shape.iter().fold(size, |n, extent| &n * extent);
        v.prover.assume_le(&bytes, &most);
    }
    let given = func.params.iter().filter(|_| func.exported);
    for var in given.filter_map(|p| if let Param::Value(var) = p { Some(*var) } else { None }) {
        if func.vars[var.0 as usize].ty == Ty::index() {
            let value = IntExpr::var(v.sym(var));
            v.prover.assume_le(&value, &most);
            v.prover.assume_ge(&value, &IntExpr::from(LEAST));
        }
    }
}

/// Symbols that extents, distances, offsets and ranges of buffers name: these are indices.
fn fixed(func: &PrimFunc) -> BTreeSet<Sym> {
    let exprs = func.buffers.iter().flat_map(|buffer| {
        let ranges = buffer.range.iter().flat_map(|(lo, hi)| [lo, hi]);
        buffer.shape.iter().chain(buffer.strides.iter().flatten()).chain(&buffer.offset).chain(ranges)
    });
    exprs.flat_map(|e| e.vars()).collect()
}

struct Look {
    fixed: BTreeSet<Sym>,
    /// Indices that fit at some place.
    fit: BTreeSet<ExprId>,
    /// Indices that are not proven to fit at some place.
    wide: BTreeSet<ExprId>,
    /// What the statement has shown already, a layer per condition that holds.
    seen: Vec<BTreeSet<ExprId>>,
    /// Variables, and what must fit so that they do.
    vars: Vec<(VarId, Vec<ExprId>)>,
}

impl Look {
    fn stmt(&mut self, v: &mut Viewer<'_>, stmt: &Stmt) {
        self.seen = vec![BTreeSet::new()];
        stmt.exprs().into_iter().for_each(|id| self.expr(v, id));
        match stmt {
            Stmt::For { var, min, extent, kind, annotations, .. } => {
                let end = &v.int(*min) + &v.int(*extent);
                if counts(*kind) && annotations.is_empty() && self.may_change(v, *var) && holds(v, &end, true) {
                    self.vars.push((*var, vec![*min, *extent]));
                }
            }
            Stmt::Let { var, value, .. } if self.may_change(v, *var) => self.vars.push((*var, vec![*value])),
            _ => {}
        }
    }

    fn may_change(&self, v: &Viewer<'_>, var: VarId) -> bool {
        v.func().vars[var.0 as usize].ty == Ty::index() && !self.fixed.contains(&v.sym(var))
    }

    fn expr(&mut self, v: &mut Viewer<'_>, id: ExprId) {
        if self.seen.iter().any(|layer| layer.contains(&id)) {
            return;
        }
        let func = v.func();
        if func.exprs.ty(id).elem == Elem::Index {
            let kept = if fits(v, id) { &mut self.fit } else { &mut self.wide };
            kept.insert(id);
        }
        match func.exprs.get(id) {
            Expr::If(c, x, y) | Expr::Select(c, x, y) if func.exprs.ty(*c).lanes == 1 => {
                self.expr(v, *c);
                self.under(v, |v| v.assume_holds(*c), *x);
                self.under(v, |v| v.assume_fails(*c), *y);
            }
            expr => operands(expr).into_iter().for_each(|e| self.expr(v, e)),
        }
        if let Some(layer) = self.seen.last_mut() {
            layer.insert(id);
        }
    }

    fn under(&mut self, v: &mut Viewer<'_>, assume: impl FnOnce(&mut Viewer<'_>), id: ExprId) {
        self.seen.push(BTreeSet::new());
        v.scope(|v| {
            assume(v);
            self.expr(v, id);
        });
        self.seen.pop();
    }
}

/// Kinds of loops that may count in an `i32`: those of threads are the device's.
fn counts(kind: LoopKind) -> bool {
    match kind {
        LoopKind::Serial | LoopKind::Reduction | LoopKind::Parallel | LoopKind::Vectorized | LoopKind::Unrolled => true,
        LoopKind::ThreadBound(_) | LoopKind::VThread => false,
    }
}

/// Whether every lane of an index fits.
fn fits(v: &mut Viewer<'_>, id: ExprId) -> bool {
    let func = v.func();
    match func.exprs.get(id) {
        Expr::Ramp(base, stride, lanes) => {
            let (first, step) = (v.int(*base), v.int(*stride));
            let last = &first + &(&step * &IntExpr::from(i64::from(*lanes) - 1));
            [first, step, last].iter().all(|e| holds(v, e, true))
        }
        Expr::Broadcast(x, _) => fits(v, *x),
        _ if func.exprs.ty(id).lanes > 1 => false,
        _ => {
            let size = func.reachable([id]).len();
            size <= READ && {
                let value = v.int(id);
                holds(v, &value, size <= LARGEST)
            }
        }
    }
}

/// Whether an `i32` holds a value: by its bounds, or by a proof.
fn holds(v: &Viewer<'_>, e: &IntExpr, prove: bool) -> bool {
    if v.is_wild(e) {
        return false;
    }
    let (above, below) = (e - &IntExpr::from(LEAST), &IntExpr::from(MOST) - e);
    if v.prover.refutes_ge0(&above) || v.prover.refutes_ge0(&below) {
        return false;
    }
    let (lo, hi) = v.prover.bounds(e);
    let end = |end: Option<IntExpr>| end.and_then(|e| e.as_const());
    if let (Some(LEAST..), Some(..=MOST)) = (end(lo), end(hi)) {
        return true;
    }
    prove && v.prover.prove_ge0(&above) && v.prover.prove_ge0(&below)
}
