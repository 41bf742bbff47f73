//! Loops, and what they stand around: the words in which tiles are written.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::CmpOp;
use tenfold_ir::tir::{Access, BufId, Builder, Expr, ExprId, ExprMap, LoopKind, Stmt, VarId};

/// What stands for iterators.
pub(super) type Places = BTreeMap<VarId, ExprId>;

/// A part of an axis in tiles of one width.
pub(super) struct Strip {
    /// Where it begins.
    pub begin: IntExpr,
    /// How many tiles.
    pub turns: IntExpr,
    /// Vectors of a tile.
    pub vectors: i64,
    /// Elements of a vector.
    pub lanes: i64,
}

impl Strip {
    /// Elements of a tile.
    pub(super) fn width(&self) -> i64 {
        self.vectors * self.lanes
    }
}

/// An axis in tiles of so many vectors, then vectors, then what is left of one: a shorter vector, or where nobody knows
/// how much it is, elements.
pub(super) fn strips(extent: &IntExpr, vectors: i64, lanes: i64) -> Vec<Strip> {
    let width = vectors * lanes;
    let strip = |begin: IntExpr, turns: IntExpr, vectors: i64, lanes: i64| Strip { begin, turns, vectors, lanes };
    let Some(n) = extent.as_const() else {
        let down = |w: i64| &extent.floor_div(&IntExpr::from(w)) * &IntExpr::from(w);
        let (tiles, whole) = (down(width), down(lanes));
        let turns = extent.floor_div(&IntExpr::from(width));
        let more = (&whole - &tiles).floor_div(&IntExpr::from(lanes));
        let rest = extent - &whole;
        let all = [strip(0.into(), turns, vectors, lanes), strip(tiles, more, 1, lanes), strip(whole, rest, 1, 1)];
        return all.into_iter().filter(|s| s.turns.as_const() != Some(0)).collect();
    };
    let (tiles, whole) = (n / width * width, n / lanes * lanes);
    let all = [
        strip(0.into(), (n / width).into(), vectors, lanes),
        strip(tiles.into(), 1.into(), (whole - tiles) / lanes, lanes),
        strip(whole.into(), 1.into(), 1, n - whole),
    ];
    all.into_iter().filter(|s| s.turns.as_const() != Some(0) && s.width() > 0).collect()
}

/// A loop, if it has more than one turn.
pub(super) fn each(
    b: &mut Builder,
    name: &str,
    extent: &IntExpr,
    kind: LoopKind,
    f: &mut dyn FnMut(&mut Builder, ExprId),
) {
    match extent.as_const() {
        Some(n) if n <= 0 => {}
        Some(1) => {
            let at = b.index(0);
            f(b, at);
        }
        Some(_) | None => {
            let (var, min, extent) = (b.index_var(name), b.index(0), b.int_expr(extent));
            let at = b.read(var);
            let (body, ()) = b.scope(|b| f(b, at));
            b.push(Stmt::loop_(var, min, extent, kind, body));
        }
    }
}

/// Rows and columns of a tile, written out, the columns in vectors.
#[derive(Clone, Copy)]
pub(super) struct Grid {
    pub rows: i64,
    pub vectors: i64,
    pub lanes: i64,
}

impl Grid {
    /// Its elements.
    pub(super) fn shape(&self) -> Vec<IntExpr> {
        vec![self.rows.into(), (self.vectors * self.lanes).into()]
    }

    /// Does something for each of them.
    pub(super) fn each(&self, b: &mut Builder, f: &mut dyn FnMut(&mut Builder, ExprId, ExprId)) {
        self.in_order(b, true, f);
    }

    /// Does something for each of them, in vectors where neighbours may go together.
    pub(super) fn in_order(&self, b: &mut Builder, vectors: bool, f: &mut dyn FnMut(&mut Builder, ExprId, ExprId)) {
        let kind = if vectors { LoopKind::Vectorized } else { LoopKind::Unrolled };
        each(b, "i", &self.rows.into(), LoopKind::Unrolled, &mut |b, i| {
            each(b, "v", &self.vectors.into(), LoopKind::Unrolled, &mut |b, v| {
                each(b, "l", &self.lanes.into(), kind, &mut |b, l| {
                    let first = times(b, v, self.lanes);
                    let at = plus(b, first, l);
                    f(b, i, at);
                });
            });
        });
    }
}

/// A sum of indices.
pub(super) fn plus(b: &mut Builder, x: ExprId, y: ExprId) -> ExprId {
    match (b.func().literal(x), b.func().literal(y)) {
        (Some(n), Some(m)) => b.index(n + m),
        (Some(0), None) => y,
        (None, Some(0)) => x,
        (Some(_), None) | (None, Some(_)) | (None, None) => b.add(x, y),
    }
}

/// A multiple of an index.
pub(super) fn times(b: &mut Builder, x: ExprId, n: i64) -> ExprId {
    if n == 1 {
        return x;
    }
    match b.func().literal(x) {
        Some(m) => b.index(m * n),
        None => {
            let n = b.index(n);
            b.mul(x, n)
        }
    }
}

/// An element.
pub(super) fn load(b: &mut Builder, buf: BufId, index: &[ExprId]) -> ExprId {
    b.load(buf, index.to_vec(), Access::Proven)
}

/// An expression at a place, and with a value in the place of a scalar, if it has one.
pub(super) fn at(b: &mut Builder, id: ExprId, places: &Places, scalar: Option<(BufId, ExprId)>) -> ExprId {
    let mut map = ExprMap::new(|b: &mut Builder, id: ExprId| match (b.func().exprs.get(id), scalar) {
        (Expr::Var(v), _) => places.get(v).copied().unwrap_or(id),
        (Expr::Load { buf, .. }, Some((of, value))) if *buf == of => value,
        _ => id,
    });
    map.expr(b, id)
}

/// The greater of two numbers, and `x` where `y` is none: one operation, where a maximum that keeps NaN may be several.
pub(super) fn greater(b: &mut Builder, x: ExprId, y: ExprId) -> ExprId {
    let is_greater = b.compare(CmpOp::Gt, y, x);
    b.select(is_greater, y, x)
}

/// A vector's elements folded into its first, in pairs.
pub(super) fn folded(
    b: &mut Builder,
    buf: BufId,
    lanes: i64,
    pair: fn(&mut Builder, ExprId, ExprId) -> ExprId,
) -> ExprId {
    let mut half = lanes / 2;
    while half > 0 {
        each(b, "l", &half.into(), LoopKind::Vectorized, &mut |b, l| {
            let step = b.index(half);
            let other = plus(b, l, step);
            let (x, y) = (load(b, buf, &[l]), load(b, buf, &[other]));
            let both = pair(b, x, y);
            b.store(buf, vec![l], both);
        });
        half /= 2;
    }
    let first = b.index(0);
    load(b, buf, &[first])
}
