//! Reductions along rows in lanes: a vector of partial results, of which each takes every so manieth element, and which
//! are reduced at the end. That is what `rfactor` does, for rows of any length: whole vectors first, then what is left.
//!
//! Several vectors hide how long an operation takes until the next one may begin. Floats of strict functions keep their
//! order.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::successors;

use tenfold_ir::Scalar;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{
    Access, BufId, Builder, Expr, ExprId, IterKind, LoopKind, PrimFunc, Scope, Stmt, VarId, Viewer, substitution,
};

use crate::dlight::attention::greatest_of_softmax;
use crate::dlight::emit::greater;
use crate::dlight::machine::Machine;
use crate::dlight::walk::step;
use crate::fuse::access::loads;
use crate::fuse::stage::{Iter, Stage, Staged, renamed};
use crate::tune::Asked;

/// Expressions of a term up to which one vector of them does not keep the machine busy.
const CHEAP: usize = 12;

/// Vectors of partial results that may be asked for.
const VECTORS: [i64; 4] = [1, 2, 4, 8];

/// Puts every reduction along a row into lanes; whether there was one.
pub(super) fn rows(staged: &mut Staged, machine: &Machine, asked: &Asked) -> bool {
    let mut found = 0;
    let numbers = if machine.max_is_several { greatest_of_softmax(staged.clone()) } else { None };
    for stage in std::mem::take(&mut staged.stages) {
        match Row::of(staged.b.func(), &stage, machine) {
            Some(row) => {
                let mut row = Row { numbers: Some(row.acc) == numbers, ..row.decided(found, asked) };
                found += 1;
                row.made = row.maker(staged, &stage);
                row.in_lanes(staged, &stage);
            }
            None => staged.stages.push(stage),
        }
    }
    found > 0
}

/// A reduction whose terms are neighbours.
struct Row {
    acc: BufId,
    index: Vec<ExprId>,
    op: BinaryOp,
    term: ExprId,
    start: ExprId,
    /// The iterator along the row.
    along: VarId,
    extent: IntExpr,
    /// Elements of a vector.
    lanes: i64,
    /// Vectors of partial results.
    vectors: i64,
    /// Whether what is NaN may be left out: it counts elsewhere.
    numbers: bool,
    /// What stores an element of what is reduced, by the reduction's iterators, where the stage before did nothing else.
    made: Option<Stmt>,
}

impl Row {
    fn of(func: &PrimFunc, stage: &Stage, machine: &Machine) -> Option<Row> {
        let Reduction { acc, index, op, term, start } = Reduction::of(func, stage)?;
        let dtype = func.buffers[acc.0 as usize].dtype;
        let along = stage.iters.iter().rfind(|i| i.kind == IterKind::Reduce)?;
        if !neighbours(func, term, along.var) {
            return None;
        }
        let extent = Viewer::new(func).int(along.extent);
        let lanes = machine.vector_bytes / dtype.size_bytes() as i64;
        let most = if func.reachable([term]).len() <= CHEAP { machine.latency } else { 1 };
        let vectors = extent.as_const().map_or(most, |n| (n / lanes).min(most));
        let pays = lanes > 1 && extent.as_const().is_none_or(|n| n >= 2 * lanes);
        pays.then_some(Row {
            acc,
            index,
            op,
            term,
            start,
            along: along.var,
            extent,
            lanes,
            vectors,
            numbers: false,
            made: None,
        })
    }

    /// The row of that number with as many vectors of partial results as are asked for.
    fn decided(self, number: usize, asked: &Asked) -> Row {
        let whole = self.extent.as_const().map_or(i64::MAX, |n| n / self.lanes);
        let options = VECTORS.into_iter().filter(|n| *n <= whole);
        Row { vectors: asked.number(&format!("row-vectors-{number}"), self.vectors, options), ..self }
    }

    /// Takes the stage before away if it makes, element by element, the rows that are reduced: it need not go over them
    /// once more.
    fn maker(&self, staged: &mut Staged, stage: &Stage) -> Option<Stmt> {
        let to = same_elements(staged.b.func(), staged.stages.last()?, stage, self)?;
        let maker = staged.stages.pop()?;
        let to = to.into_iter().map(|(own, other)| (own, staged.b.read(other))).collect();
        Some(substitution(&to).stmt(&mut staged.b, maker.body))
    }

    /// The stages in the place of the reduction: partial results, their vectors in one, and the result.
    fn in_lanes(&self, staged: &mut Staged, stage: &Stage) {
        let width = self.lanes * self.vectors;
        let mut all = self.buffer(staged, stage, width);
        for part in self.parts(&mut staged.b, width) {
            let part = self.partial(&mut staged.b, stage, all, part);
            staged.stages.push(part);
        }
        // All vectors in one, then the halves of that one, until one element is left: a chain of all elements would take
        // as long as they are many.
        let whole = (self.vectors > 1).then_some((self.vectors, self.lanes));
        let halves = successors(Some(self.lanes / 2), |width| Some(width / 2)).take_while(|width| *width > 0);
        for (parts, width) in whole.into_iter().chain(halves.map(|width| (2, width))) {
            let less = self.buffer(staged, stage, width);
            let folded = self.folded(&mut staged.b, stage, (all, parts), (less, width));
            staged.stages.push(folded);
            all = less;
        }
        let total = self.total(&mut staged.b, stage, all);
        staged.stages.push(total);
    }

    /// A buffer for so many partial results of each element.
    fn buffer(&self, staged: &mut Staged, stage: &Stage, width: i64) -> BufId {
        let viewer = &mut Viewer::new(staged.b.func());
        let mut shape: Vec<IntExpr> = spatial(stage).map(|i| viewer.int(i.extent)).collect();
        shape.push(IntExpr::from(width));
        let data = staged.b.buf(self.acc).clone();
        let buf = staged.b.buffer(&format!("{}_lanes", data.name), data.dtype, shape, Scope::Global);
        staged.allocs.push(buf);
        buf
    }

    /// The row in whole tiles, then whole vectors, then what is left of one.
    fn parts(&self, b: &mut Builder, width: i64) -> Vec<Part> {
        let down = |w: i64| &self.extent.floor_div(&IntExpr::from(w)) * &IntExpr::from(w);
        let (tiles, vectors) = (down(width), down(self.lanes));
        let one = IntExpr::from(1);
        let parts = [
            (IntExpr::from(0), self.extent.floor_div(&IntExpr::from(width)), IntExpr::from(width)),
            (tiles.clone(), (&vectors - &tiles).floor_div(&IntExpr::from(self.lanes)), IntExpr::from(self.lanes)),
            (vectors.clone(), one, &self.extent - &vectors),
        ];
        let some =
            parts.into_iter().filter(|(_, turns, lanes)| ![turns, lanes].iter().any(|e| e.as_const() == Some(0)));
        let part = |(n, (begin, turns, lanes)): (usize, (IntExpr, IntExpr, IntExpr))| Part {
            first: n == 0,
            begin: b.int_expr(&begin),
            turns: b.int_expr(&turns),
            lanes: b.int_expr(&lanes),
        };
        some.enumerate().map(part).collect()
    }

    /// A result with a term more.
    fn pair(&self, b: &mut Builder, old: ExprId, term: ExprId) -> ExprId {
        if self.numbers { greater(b, old, term) } else { b.binary(self.op, old, term) }
    }

    /// Partial results over a part of the row.
    fn partial(&self, b: &mut Builder, stage: &Stage, all: BufId, part: Part) -> Stage {
        let (mut iters, mut to) = renamed(b, stage.iters.iter().filter(|i| i.var != self.along));
        let (turn, lane) = (b.index_var("turn"), b.index_var("lane"));
        iters.push(Iter { var: turn, extent: part.turns, kind: IterKind::Reduce, order: LoopKind::Reduction });
        iters.push(Iter { var: lane, extent: part.lanes, kind: IterKind::Spatial, order: LoopKind::Serial });
        let (turn, lane) = (b.read(turn), b.read(lane));
        let scaled = b.mul(turn, part.lanes);
        let begin = if part.first { scaled } else { b.add(part.begin, scaled) };
        let here = b.add(begin, lane);
        to.insert(self.along, here);
        let at: Vec<ExprId> = spatial(stage).map(|i| to[&i.var]).chain([lane]).collect();
        let unit = unit(b, self.acc, self.op, self.start);
        let mut here = substitution(&to);
        let [term, unit] = [self.term, unit].map(|e| here.expr(b, e));
        let old = b.load(all, at.clone(), Access::Proven);
        let value = self.pair(b, old, term);
        let store = |value| Stmt::Store { buf: all, index: at.clone(), value, access: Access::Proven };
        let init = part.first.then(|| store(unit));
        let body = match &self.made {
            Some(made) => Stmt::Seq(vec![here.stmt(b, made.clone()), store(value)]),
            None => store(value),
        };
        Stage { name: b.fresh_name(&format!("{}_lanes", stage.name)), iters, init, body, loc: stage.loc }
    }

    /// So many vectors of partial results in one of `width` lanes, in pairs.
    fn folded(&self, b: &mut Builder, stage: &Stage, (all, parts): (BufId, i64), (one, width): (BufId, i64)) -> Stage {
        let (mut iters, to) = renamed(b, spatial(stage));
        let lane = b.index_var("lane");
        let extent = b.index(width);
        iters.push(Iter { var: lane, extent, kind: IterKind::Spatial, order: LoopKind::Serial });
        let lane = b.read(lane);
        let outer: Vec<ExprId> = spatial(stage).map(|i| to[&i.var]).collect();
        let mut values: Vec<ExprId> = Vec::new();
        for n in 0..parts {
            let first = b.index(n * width);
            let at = if n == 0 { lane } else { b.add(first, lane) };
            values.push(b.load(all, outer.iter().copied().chain([at]).collect(), Access::Proven));
        }
        while values.len() > 1 {
            values =
                values.chunks(2).filter_map(|pair| pair.iter().copied().reduce(|x, y| self.pair(b, x, y))).collect();
        }
        let index = outer.into_iter().chain([lane]).collect();
        let body = Stmt::Store { buf: one, index, value: values[0], access: Access::Proven };
        Stage { name: b.fresh_name(&format!("{}_folded", stage.name)), iters, init: None, body, loc: stage.loc }
    }

    /// The result of the one element that is left.
    fn total(&self, b: &mut Builder, stage: &Stage, one: BufId) -> Stage {
        let mut iters: Vec<Iter> = spatial(stage).cloned().collect();
        let lane = b.index_var("lane");
        let extent = b.index(1);
        iters.push(Iter { var: lane, extent, kind: IterKind::Reduce, order: LoopKind::Reduction });
        let at: Vec<VarId> = iters.iter().map(|i| i.var).collect();
        let at = at.into_iter().map(|v| b.read(v)).collect();
        let old = b.load(self.acc, self.index.clone(), Access::Proven);
        let term = b.load(one, at, Access::Proven);
        let value = self.pair(b, old, term);
        let body = Stmt::Store { buf: self.acc, index: self.index.clone(), value, access: Access::Proven };
        Stage { iters, body, ..stage.clone() }
    }
}

/// A part of a row: where it begins, and vectors of how many lanes.
struct Part {
    first: bool,
    begin: ExprId,
    turns: ExprId,
    lanes: ExprId,
}

pub(super) fn spatial(stage: &Stage) -> impl Iterator<Item = &Iter> {
    stage.iters.iter().filter(|i| i.kind == IterKind::Spatial)
}

/// The iterators of a reduction that stand for those of the stage before it, if that stage stores the elements that are
/// reduced, each once, and from neighbours.
fn same_elements(func: &PrimFunc, maker: &Stage, stage: &Stage, row: &Row) -> Option<BTreeMap<VarId, VarId>> {
    let Stmt::Store { buf, index, value, .. } = &maker.body else { return None };
    let bytes = |buf: BufId| func.buffers[buf.0 as usize].dtype.size_bytes();
    let pointwise = maker.init.is_none() && maker.iters.iter().all(|i| i.kind == IterKind::Spatial);
    if !pointwise || bytes(*buf) != bytes(row.acc) {
        return None;
    }
    let extent = |of: &Stage, var: VarId| of.iters.iter().find(|i| i.var == var).map(|i| i.extent);
    let mut to = BTreeMap::new();
    for read in loads(func, [row.term]).into_iter().filter(|a| a.buf == *buf) {
        for (own, other) in index.iter().zip(&read.index) {
            match (func.exprs.get(*own), func.exprs.get(*other)) {
                (Expr::Var(own), Expr::Var(other)) if extent(maker, *own) == extent(stage, *other) => {
                    (*to.entry(*own).or_insert(*other) == *other).then_some(())?;
                }
                (Expr::Index(own), Expr::Index(other)) if own == other => {}
                _ => return None,
            }
        }
    }
    let all = maker.iters.len() == to.len() && to.len() == stage.iters.len();
    let along = to.iter().find(|(_, other)| **other == row.along).map(|(own, _)| *own)?;
    let distinct = to.values().collect::<BTreeSet<_>>().len() == to.len();
    (all && distinct && neighbours(func, *value, along)).then_some(to)
}

/// What a stage reduces, whose terms may be added in another order.
pub(super) struct Reduction {
    /// Where to.
    pub acc: BufId,
    pub index: Vec<ExprId>,
    pub op: BinaryOp,
    /// What is accumulated.
    pub term: ExprId,
    /// What the result starts with.
    pub start: ExprId,
}

impl Reduction {
    pub(super) fn of(func: &PrimFunc, stage: &Stage) -> Option<Reduction> {
        let Some(Stmt::Store { value: start, .. }) = &stage.init else { return None };
        let Stmt::Store { buf: acc, index, value, .. } = &stage.body else { return None };
        let (op, term) = accumulated(func, *acc, index, *value)?;
        let dtype = func.buffers[acc.0 as usize].dtype;
        let ordered = stage.iters.iter().any(|i| i.kind == IterKind::Ordered);
        let kept = ordered || func.strict && dtype.is_float();
        (!kept).then(|| Reduction { acc: *acc, index: index.clone(), op, term, start: *start })
    }
}

/// What starts a partial result: nothing but the operation's unit, or, where repeating it changes nothing, the start.
pub(super) fn unit(b: &mut Builder, acc: BufId, op: BinaryOp, start: ExprId) -> ExprId {
    let dtype = b.buf(acc).dtype;
    match op {
        BinaryOp::Add => b.scalar(Scalar::zero(dtype)),
        BinaryOp::Mul => b.scalar(Scalar::one(dtype)),
        _ => start,
    }
}

/// The operation by which a value is accumulated into its own place, and what is.
fn accumulated(func: &PrimFunc, acc: BufId, index: &[ExprId], value: ExprId) -> Option<(BinaryOp, ExprId)> {
    let Expr::Binary(op, a, b) = *func.exprs.get(value) else { return None };
    let own = |e: ExprId| matches!(func.exprs.get(e), Expr::Load { buf, index: at, .. } if *buf == acc && at == index);
    let term = if own(a) { b } else { a };
    let again =
        func.reachable([term]).into_iter().any(|e| matches!(func.exprs.get(e), Expr::Load { buf, .. } if *buf == acc));
    let known = matches!(op, BinaryOp::Add | BinaryOp::Mul | BinaryOp::Max | BinaryOp::Min);
    (known && (own(a) || own(b)) && !again).then_some((op, term))
}

/// Whether what a term reads are neighbours along an iterator, or one element for all of it, and never depends on a
/// condition.
pub(super) fn neighbours(func: &PrimFunc, term: ExprId, along: VarId) -> bool {
    let viewer = &mut Viewer::new(func);
    let sym = viewer.sym(along);
    let mut any = false;
    for id in func.reachable([term]) {
        match func.exprs.get(id) {
            Expr::If(..) => return false,
            Expr::Load { buf, index, .. } => match step(viewer, *buf, index, &sym) {
                Some(0) => {}
                Some(1) => any = true,
                Some(_) | None => return false,
            },
            _ => {}
        }
    }
    any
}
