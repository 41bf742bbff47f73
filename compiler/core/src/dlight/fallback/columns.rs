//! Columns side by side: stages that share the loop along neighbours walk along another axis inside of it.
//!
//! Such a loop goes down one column after the other, an element of each cache line at a time. Here it becomes tiles of
//! columns, and every block inside runs over all columns of its tile, in vectors. What a column keeps between blocks has
//! an element for each column of the tile. The order within a column stays, so strict functions gain as others do.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::copy::copy;
use tenfold_ir::tir::{
    Block, BufId, Builder, Expr, ExprId, IterKind, IterVar, LoopKind, PrimFunc, Stmt, VarId, Viewer, substitution,
};

use super::vectors;
use crate::dlight::machine::Machine;
use crate::dlight::parts::{Part, even, parts};
use crate::fuse::loops::redirected;
use crate::tune::Asked;

/// Bytes of what the columns of a tile keep, which stays in the first cache beside what is read.
const KEPT: i64 = 4 << 10;

/// Bytes of what the columns of the narrowest tile keep, up to which it is on the stack.
const MOST_KEPT: i64 = 64 << 10;

/// Others that may be asked for.
const ASKED: [i64; 4] = [1 << 10, 2 << 10, 4 << 10, 8 << 10];

/// The kernel with columns side by side, and how many; nothing where it has no such loop.
pub(super) fn side_by_side(func: PrimFunc, machine: &Machine, asked: &Asked) -> Option<(PrimFunc, i64)> {
    let body = func.body.clone();
    let mut it = Columns { b: Builder::resume(func), kept: asked.number("kept", KEPT, ASKED), machine, widest: 0 };
    let body = it.loops(body);
    it.b.push(body);
    (it.widest > 0).then(|| (it.b.finish(), it.widest))
}

struct Columns<'m> {
    b: Builder,
    /// Bytes of what the columns of a tile may keep.
    kept: i64,
    machine: &'m Machine,
    /// Columns of the widest tile.
    widest: i64,
}

/// Where a tile is: the loop over tiles, if there are several, and where the first one begins.
#[derive(Clone, Copy)]
struct Tile {
    of: Option<(VarId, ExprId)>,
    begin: ExprId,
    width: ExprId,
}

impl Columns<'_> {
    /// Outermost loops along columns in tiles.
    fn loops(&mut self, stmt: Stmt) -> Stmt {
        match stmt {
            Stmt::For { var, extent, kind: LoopKind::Serial, ref annotations, ref body, .. }
                if annotations.is_empty() && self.fits(var, body) =>
            {
                self.tiled(var, extent, body)
            }
            Stmt::Seq(_) | Stmt::For { .. } | Stmt::At(..) | Stmt::Alloc { .. } => {
                stmt.map_children(&mut |s| self.loops(s))
            }
            other => other,
        }
    }

    /// Whether a loop goes down columns that are neighbours in all that its blocks touch.
    fn fits(&self, column: VarId, body: &Stmt) -> bool {
        let func = self.b.func();
        let mut all = Vec::new();
        let apart = |e: ExprId| !func.reachable([e]).iter().any(|e| *func.exprs.get(*e) == Expr::Var(column));
        if loops_inside(body, &apart, &mut all).is_none_or(|n| n == 0) {
            return false;
        }
        if self.kept_by_one(body).saturating_mul(self.lanes()) > MOST_KEPT {
            return false;
        }
        let own = |block: &&Block| {
            let drives = |e: ExprId| *func.exprs.get(e) == Expr::Var(column);
            let plain = block.predicate.is_none() && block.matches.is_empty() && block.allocs.is_empty();
            plain
                && block.init.is_none()
                && block.iters.iter().all(|i| apart(i.value) || drives(i.value) && i.kind == IterKind::Spatial)
                && func.exprs_in(&block.body).into_iter().all(apart)
        };
        all.iter().all(own) && vectors::lanes(&mut Viewer::new(func), column, body, &all, self.machine).is_some()
    }

    /// Bytes of what a column keeps.
    fn kept_by_one(&self, body: &Stmt) -> i64 {
        let mut locals = BTreeSet::new();
        body.walk(&mut |s| locals.extend(s.allocates()));
        let bytes = |buf: &BufId| self.b.buf(*buf).bytes().unwrap_or(self.kept);
        locals.iter().map(bytes).fold(0, i64::saturating_add).max(4)
    }

    /// Columns of the narrowest tile.
    fn lanes(&self) -> i64 {
        self.machine.vector_bytes / 4
    }

    fn tiled(&mut self, column: VarId, extent: ExprId, body: &Stmt) -> Stmt {
        let each = self.kept_by_one(body);
        let extent = Viewer::new(self.b.func()).int(extent);
        let lanes = self.lanes();
        let width = even(&extent, (self.kept / each / lanes * lanes).max(lanes), lanes);
        self.widest = self.widest.max(width);
        let all: Vec<(Part, Stmt)> = parts(&extent, width)
            .into_iter()
            .enumerate()
            .map(|(n, part)| (part, if n == 0 { body.clone() } else { copy(&mut self.b, body, &BTreeMap::new()) }))
            .collect();
        Stmt::seq(all.into_iter().map(|(part, body)| self.part(column, &part, body)))
    }

    /// One loop over tiles of a width.
    fn part(&mut self, column: VarId, part: &Part, body: Stmt) -> Stmt {
        let several = part.tiles.as_const() != Some(1);
        let extent = self.b.int_expr(&part.tiles);
        let of = several.then(|| (self.b.index_var("tile"), extent));
        let (begin, width) = (self.b.int_expr(&part.begin), self.b.int_expr(&part.width));
        let mut locals = BTreeSet::new();
        body.walk(&mut |s| locals.extend(s.allocates()));
        for buf in &locals {
            self.b.buf_mut(*buf).shape.push(IntExpr::from(part.room));
        }
        let body = self.inward(column, Tile { of, begin, width }, &locals, body);
        let min = self.b.index(0);
        match of {
            Some((tile, extent)) => Stmt::loop_(tile, min, extent, LoopKind::Serial, body),
            None => body,
        }
    }

    /// The loop over the columns of a tile around each block.
    fn inward(&mut self, column: VarId, tile: Tile, locals: &BTreeSet<BufId>, stmt: Stmt) -> Stmt {
        match stmt {
            Stmt::Block(block) => self.block(column, tile, locals, *block),
            other => other.map_children(&mut |s| self.inward(column, tile, locals, s)),
        }
    }

    fn block(&mut self, column: VarId, tile: Tile, locals: &BTreeSet<BufId>, mut block: Block) -> Stmt {
        let b = &mut self.b;
        let (lane, min) = (b.index_var("column"), b.index(0));
        let own = b.index_var("lane");
        let mut place = b.read(own);
        if *b.func().exprs.get(tile.begin) != Expr::Index(0) {
            place = b.add(tile.begin, place);
        }
        let mut iters = Vec::new();
        if let Some((var, extent)) = tile.of {
            let own = b.index_var("tile");
            let value = b.read(var);
            iters.push(IterVar { var: own, extent, kind: IterKind::Spatial, value });
            let own = b.read(own);
            let first = b.mul(own, tile.width);
            place = b.add(first, place);
        }
        let value = b.read(lane);
        iters.push(IterVar { var: own, extent: tile.width, kind: IterKind::Spatial, value });
        let along = |i: &IterVar| *b.func().exprs.get(i.value) == Expr::Var(column);
        let (gone, kept): (Vec<IterVar>, Vec<IterVar>) = block.iters.into_iter().partition(along);
        block.iters = iters.into_iter().chain(kept).collect();
        (block.reads, block.writes) = (Vec::new(), Vec::new());
        let to: BTreeMap<VarId, ExprId> = gone.iter().map(|i| (i.var, place)).collect();
        let body = substitution(&to).stmt(b, block.body);
        let own = b.read(own);
        block.body = redirected(b, body, &|_, buf, index| {
            locals.contains(&buf).then(|| (buf, index.iter().copied().chain([own]).collect()))
        });
        Stmt::loop_(lane, min, tile.width, LoopKind::Serial, Stmt::Block(Box::new(block)))
    }
}

/// How many loops there are, and the blocks inside; nothing where there is something else, or extents differ from column
/// to column.
fn loops_inside<'s>(stmt: &'s Stmt, apart: &impl Fn(ExprId) -> bool, blocks: &mut Vec<&'s Block>) -> Option<usize> {
    match stmt {
        Stmt::Seq(all) => all.iter().map(|s| loops_inside(s, apart, blocks)).sum(),
        Stmt::At(_, body) | Stmt::Alloc { body, .. } => loops_inside(body, apart, blocks),
        Stmt::For { min, extent, kind, annotations, body, .. } => {
            let plain = matches!(kind, LoopKind::Serial | LoopKind::Reduction) && annotations.is_empty();
            (plain && apart(*min) && apart(*extent)).then_some(())?;
            Some(1 + loops_inside(body, apart, blocks)?)
        }
        Stmt::Block(block) => {
            blocks.push(block);
            Some(0)
        }
        _ => None,
    }
}
