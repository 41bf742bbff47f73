//! Products by constants in panels, blocks of whose terms stand outside of rows: all tiles of rows go over a block of a panel
//! before the next block comes.
//!
//! A panel of a long sum is more than the first cache holds, and where tiles go over all of it one after another each
//! reads it from the second cache. A block of its terms stays in the first cache until all rows have gone over it, so
//! that a panel comes once, block by block, each asked for while the one before is multiplied: what waits for memory then are
//! these requests alone. Sums of all rows lie beside it meanwhile.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{Annotation, BufId, Builder, ExprId, IterKind, LoopKind, PrimFunc, Scope, Stmt};
use tenfold_ir::{DType, Scalar};

use super::blocks::block_of;
use super::choice::Choice;
use super::group::is_instructions;
use super::{Contraction, Machine, Staged};
use crate::dlight::emit::{Grid, Places, Strip, at, each, load, plus, strips, times};
use crate::dlight::kernel::{Operand, epilogue};
use crate::dlight::winograd::{Axis, Ends, axes_of_kind, in_spans, operands, over, within};

/// Bytes that the sums of a panel may take on the stack.
const SUMS: i64 = 32 << 10;

/// Tiles of rows from which on a block that stays is worth sums that do not.
const TILES: i64 = 3;

/// Terms of a block at the least.
const TERMS: i64 = 96;

/// The product of a kernel.
pub(super) struct Product {
    ends: Ends,
    column: Axis,
    /// Iterators of rows: those that a tile has one value of, then lines and rows.
    outer: Vec<Axis>,
    line: Option<Axis>,
    row: Axis,
    terms: Terms,
    /// An element of what gives the rows, and of what lies in panels.
    factors: [ExprId; 2],
    /// What lies in panels.
    panels: BufId,
    dtype: DType,
    /// Whether what is made of a sum takes a few instructions, so that a tile's results are made at once.
    short: bool,
}

/// Iterators of terms.
struct Terms {
    /// Those that a block has one value of.
    outer: Vec<Axis>,
    /// The one that is cut into blocks, and values of a block.
    cut: Axis,
    block: i64,
    /// Those that a block has all values of.
    inner: Vec<Axis>,
}

/// Some terms: what stands for the outer iterators, the first value of the one that is cut, how many of them, and whether
/// no others follow, which may turn out when the code runs.
#[derive(Clone, Copy)]
struct Block<'a> {
    outer: &'a Places,
    begin: ExprId,
    values: i64,
    last: Last,
}

#[derive(Clone, Copy)]
enum Last {
    Never,
    Always,
    If(ExprId),
}

/// A tile: its first column, where it begins along lines and rows, and how many of them it has.
struct Tile<'a> {
    strip: &'a Strip,
    column: ExprId,
    outer: &'a Places,
    first: [ExprId; 2],
    extent: [i64; 2],
}

/// The product that a contraction is, if blocks of its terms pay outside of rows.
pub(super) fn product(staged: &mut Staged, found: &Contraction, choice: &Choice, machine: &Machine) -> Option<Product> {
    let stage = staged.stages[found.stage].clone();
    let func = staged.b.func();
    let plain = choice.packed.is_none() && choice.padded.is_none() && !choice.matrix && !choice.small && !choice.strips;
    if func.strict || found.dot.is_some() || !plain || !choice.columns_outside {
        return None;
    }
    let factors = operands(staged, found, &stage)?;
    let of_panels = |o: &Operand| o.panel == Some((choice.column, choice.tile.width()));
    let n = factors.iter().position(of_panels)?;
    let (panels, rows) = (&factors[n], &factors[1 - n]);
    let mut outer = axes_of_kind(func, &stage, IterKind::Spatial)?;
    let mut taken = |var| outer.iter().position(|a| a.var == var).map(|at| outer.remove(at));
    let (column, row) = (taken(choice.column)?, taken(choice.row?)?);
    let line = choice.line().and_then(taken);
    let terms = Terms::of(axes_of_kind(func, &stage, IterKind::Reduce)?, choice)?;
    let of_rows = outer.iter().chain(&line).chain([&row]);
    let alone = rows.ignores(column.var) && of_rows.clone().all(|a| panels.ignores(a.var));
    let dtype = staged.b.buf(found.acc).dtype;
    let all: i64 = of_rows.map(|a| a.extent).product();
    let bytes = choice.tile.width() * dtype.size_bytes() as i64;
    let fits = all * bytes <= SUMS && terms.all() * bytes > machine.way_bytes * machine.ways;
    let many = all > (TILES - 1) * choice.tile.rows && terms.of_block() >= TERMS;
    if !alone || !fits || !many || !dtype.is_float() || terms.of_block() >= terms.all() {
        return None;
    }
    let short = epilogue(staged, found).is_none_or(|(n, _)| is_instructions(staged, n, choice.small));
    let ends = Ends::of(staged, found, column.var)?;
    let factors = [rows.load, panels.load];
    Some(Product { ends, column, outer, line, row, terms, factors, panels: panels.buf, dtype, short })
}

impl Terms {
    /// Iterators in blocks of at most so many terms as are chosen.
    fn of(mut outer: Vec<Axis>, choice: &Choice) -> Option<Terms> {
        let (mut inner, mut of_inner) = (Vec::new(), 1);
        while let Some(axis) = outer.pop() {
            if axis.extent * of_inner <= choice.terms {
                of_inner *= axis.extent;
                inner.insert(0, axis);
                continue;
            }
            let unrolled = if inner.is_empty() { choice.unroll } else { 1 };
            let most = choice.terms / of_inner;
            // What is left behind whole blocks asks for nothing.
            let even = (most / 2 + 1..=most).rev().find(|n| axis.extent % n == 0 && n % unrolled == 0);
            let block = even.unwrap_or_else(|| block_of(axis.extent, most, unrolled));
            return Some(Terms { outer, cut: axis, block, inner });
        }
        None
    }

    /// Terms of a value of the iterator that is cut.
    fn each(&self) -> i64 {
        self.inner.iter().map(|a| a.extent).product()
    }

    fn of_block(&self) -> i64 {
        self.block * self.each()
    }

    /// Whether a block is the last one: one of so many along the iterator that is cut, or the last of these.
    fn last(&self, b: &mut Builder, outer: &Places, own: Option<(ExprId, i64)>) -> Last {
        let outer = self.outer.iter().map(|a| (outer[&a.var], a.extent));
        let mut all: Vec<ExprId> = Vec::new();
        for (at, extent) in outer.chain(own).filter(|(_, extent)| *extent > 1) {
            let last = b.index(extent - 1);
            all.push(b.compare(CmpOp::Eq, at, last));
        }
        let both = all.into_iter().reduce(|x, y| b.binary(BinaryOp::And, x, y));
        both.map_or(Last::Always, Last::If)
    }

    fn all(&self) -> i64 {
        self.outer.iter().map(|a| a.extent).product::<i64>() * self.cut.extent * self.each()
    }
}

impl Product {
    /// The kernel; `behind` makes one of what follows on rows.
    pub(super) fn written(&self, staged: Staged, choice: &Choice, behind: impl FnOnce(Staged) -> PrimFunc) -> PrimFunc {
        within(staged, &self.ends, behind, |b| {
            for strip in strips(&self.column.extent.into(), choice.tile.vectors, choice.tile.lanes) {
                each(b, "panel", &strip.turns, LoopKind::Serial, &mut |b, panel| {
                    let (begin, offset) = (b.int_expr(&strip.begin), times(b, panel, strip.width()));
                    let column = plus(b, begin, offset);
                    self.panel(b, choice, &strip, column);
                });
            }
        })
    }

    /// All results of a panel.
    fn panel(&self, b: &mut Builder, choice: &Choice, strip: &Strip, column: ExprId) {
        let axes: Vec<Axis> = self.outer.iter().chain(&self.line).chain([&self.row]).copied().collect();
        let extents = axes.iter().map(|a| a.extent).chain([strip.width()]);
        let sums = b.alloc("sums", self.dtype, extents.map(IntExpr::from).collect(), Scope::Local);
        let zero = b.scalar(Scalar::zero(self.dtype));
        over(b, &axes, &Places::new(), &mut |b, rows| {
            Grid { rows: 1, vectors: strip.vectors, lanes: strip.lanes }.each(b, &mut |b, _, j| {
                let index = axes.iter().map(|a| rows[&a.var]).chain([j]).collect();
                b.store(sums, index, zero);
            });
        });
        over(b, &self.terms.outer, &Places::new(), &mut |b, outer| {
            let Terms { cut, block, .. } = self.terms;
            let (whole, rest) = (cut.extent / block, cut.extent % block);
            let ahead = Annotation::PrefetchNext { buf: self.panels, turns: 1 };
            annotated(b, "block", whole, ahead, &mut |b, n| {
                let last = if rest == 0 { self.terms.last(b, outer, Some((n, whole))) } else { Last::Never };
                let block = Block { outer, begin: times(b, n, block), values: block, last };
                self.block(b, choice, (strip, column, sums), block);
            });
            if rest > 0 {
                let last = self.terms.last(b, outer, None);
                let block = Block { outer, begin: b.index(whole * block), values: rest, last };
                self.block(b, choice, (strip, column, sums), block);
            }
        });
    }

    /// Adds a block of terms to all sums of a panel.
    fn block(
        &self,
        b: &mut Builder,
        choice: &Choice,
        (strip, column, sums): (&Strip, ExprId, BufId),
        block: Block<'_>,
    ) {
        let (lines, height) = (choice.tile.lines, choice.tile.rows / choice.tile.lines);
        over(b, &self.outer, &Places::new(), &mut |b, outer| {
            in_spans(b, "line", self.line.map_or(1, |line| line.extent), lines, &mut |b, line, lines| {
                in_spans(b, "row", self.row.extent, height, &mut |b, row, rows| {
                    let tile = Tile { strip, column, outer, first: [line, row], extent: [lines, rows] };
                    self.tile(b, choice, &tile, sums, block);
                });
            });
        });
    }

    /// Adds a block of terms to the sums of a tile.
    fn tile(&self, b: &mut Builder, choice: &Choice, tile: &Tile<'_>, sums: BufId, block: Block<'_>) {
        let [lines, rows] = tile.extent;
        let grid = Grid { rows: lines * rows, vectors: tile.strip.vectors, lanes: tile.strip.lanes };
        let acc = b.alloc("acc", self.dtype, grid.shape(), Scope::Local);
        let zero = b.scalar(Scalar::zero(self.dtype));
        grid.each(b, &mut |b, i, j| b.store(acc, vec![i, j], zero));
        let of_cut = Axis { extent: block.values, ..self.terms.cut };
        let axes: Vec<Axis> = [of_cut].into_iter().chain(self.terms.inner.iter().copied()).collect();
        self.terms(b, choice, &axes, block.outer, &mut |b, places| {
            let mut places = places.clone();
            if let Some(at) = places.get_mut(&of_cut.var) {
                *at = plus(b, block.begin, *at);
            }
            self.term(b, tile, (acc, grid), &places);
        });
        let (done, ()) = b.scope(|b| self.finished(b, tile, sums, (acc, grid)));
        let (more, ()) = b.scope(|b| self.added(b, tile, sums, (acc, grid)));
        b.push(match block.last {
            Last::Never => more,
            Last::Always => done,
            Last::If(cond) => Stmt::If { cond, then: Box::new(done), otherwise: Some(Box::new(more)) },
        });
    }

    /// Adds accumulators to the sums of a tile.
    fn added(&self, b: &mut Builder, tile: &Tile<'_>, sums: BufId, (acc, grid): (BufId, Grid)) {
        grid.each(b, &mut |b, i, j| {
            let index = self.index(b, tile, i, j);
            let (before, own) = (load(b, sums, &index), load(b, acc, &[i, j]));
            let sum = b.add(before, own);
            b.store(sums, index, sum);
        });
    }

    /// Writes results, made of the sums of a tile and the last accumulators: element by element, row by row where each takes
    /// long.
    fn finished(&self, b: &mut Builder, tile: &Tile<'_>, sums: BufId, (acc, grid): (BufId, Grid)) {
        if self.short {
            return grid.each(b, &mut |b, i, j| {
                let index = self.index(b, tile, i, j);
                let (before, own) = (load(b, sums, &index), load(b, acc, &[i, j]));
                let sum = b.add(before, own);
                self.result(b, tile, [i, j], sum);
            });
        }
        self.added(b, tile, sums, (acc, grid));
        each(b, "i", &grid.rows.into(), LoopKind::Serial, &mut |b, i| {
            Grid { rows: 1, ..grid }.each(b, &mut |b, _, j| {
                let index = self.index(b, tile, i, j);
                let sum = load(b, sums, &index);
                self.result(b, tile, [i, j], sum);
            });
        });
    }

    fn result(&self, b: &mut Builder, tile: &Tile<'_>, [i, j]: [ExprId; 2], sum: ExprId) {
        let places = self.places(b, tile, i, j);
        self.ends.write(b, &places, sum);
    }

    /// Loops over terms, some turns of the innermost one written out behind one another.
    fn terms(
        &self,
        b: &mut Builder,
        choice: &Choice,
        axes: &[Axis],
        places: &Places,
        f: &mut dyn FnMut(&mut Builder, &Places),
    ) {
        let Some((axis, rest)) = axes.split_first() else { return f(b, places) };
        let with = |at: ExprId| places.iter().map(|(var, at)| (*var, *at)).chain([(axis.var, at)]).collect::<Places>();
        if !rest.is_empty() {
            return each(b, "k", &axis.extent.into(), LoopKind::Reduction, &mut |b, k| {
                self.terms(b, choice, rest, &with(k), f);
            });
        }
        let unrolled = choice.unroll.max(1);
        let whole = axis.extent / unrolled;
        for (first, turns, unrolled) in [(0, whole, unrolled), (whole * unrolled, axis.extent - whole * unrolled, 1)] {
            each(b, "k", &turns.into(), LoopKind::Reduction, &mut |b, k| {
                each(b, "u", &unrolled.into(), LoopKind::Unrolled, &mut |b, u| {
                    let (first, before) = (b.index(first), times(b, k, unrolled));
                    let own = plus(b, before, u);
                    let own = plus(b, first, own);
                    f(b, &with(own));
                });
            });
        }
    }

    /// Adds a term to the accumulators.
    fn term(&self, b: &mut Builder, tile: &Tile<'_>, (acc, grid): (BufId, Grid), terms: &Places) {
        grid.each(b, &mut |b, i, j| {
            let mut places = self.places(b, tile, i, j);
            places.extend(terms);
            let [x, y] = self.factors.map(|factor| at(b, factor, &places, None));
            let (old, product) = (load(b, acc, &[i, j]), b.mul(x, y));
            let sum = b.add(old, product);
            b.store(acc, vec![i, j], sum);
        });
    }

    /// What stands for the iterators of an element of a tile.
    fn places(&self, b: &mut Builder, tile: &Tile<'_>, i: ExprId, j: ExprId) -> Places {
        let (line, row) = self.within_tile(b, tile, i);
        let mut places = tile.outer.clone();
        places.extend(self.line.map(|axis| (axis.var, line)));
        places.insert(self.row.var, row);
        places.insert(self.column.var, plus(b, tile.column, j));
        places
    }

    /// The line and the row of one of a tile's rows.
    fn within_tile(&self, b: &mut Builder, tile: &Tile<'_>, i: ExprId) -> (ExprId, ExprId) {
        let rows = b.index(tile.extent[1]);
        let (line, row) = match tile.extent[0] {
            1 => (b.index(0), i),
            _ => (b.binary(BinaryOp::DivEuclid, i, rows), b.binary(BinaryOp::RemEuclid, i, rows)),
        };
        (plus(b, tile.first[0], line), plus(b, tile.first[1], row))
    }

    /// Where the sum of an element of a tile is.
    fn index(&self, b: &mut Builder, tile: &Tile<'_>, i: ExprId, j: ExprId) -> Vec<ExprId> {
        let (line, row) = self.within_tile(b, tile, i);
        let outer = self.outer.iter().map(|a| tile.outer[&a.var]);
        outer.chain(self.line.map(|_| line)).chain([row, j]).collect()
    }
}

/// A loop with an annotation, if it has more than one turn.
fn annotated(
    b: &mut Builder,
    name: &str,
    extent: i64,
    annotation: Annotation,
    f: &mut dyn FnMut(&mut Builder, ExprId),
) {
    let (mut body, ()) = b.scope(|b| each(b, name, &extent.into(), LoopKind::Serial, f));
    if let Stmt::For { annotations, .. } = &mut body {
        annotations.push(annotation);
    }
    b.push(body);
}

#[cfg(test)]
mod tests {
    use tenfold_ir::Module;
    use tenfold_ir::tir::parse;

    use super::*;
    use crate::Target;
    use crate::dlight::contraction::chosen;
    use crate::tune::Asked;

    /// Whether blocks go outside of so many rows, in a product by 640 columns whose sums have such iterators.
    fn goes_outside(rows: i64, terms: &[i64], strict: bool) -> bool {
        let name = |n: usize| format!("k{n}");
        let axes = [("spatial", "i".to_owned(), rows), ("spatial", "j".to_owned(), 640)].into_iter();
        let axes: Vec<_> = axes.chain(terms.iter().enumerate().map(|(n, t)| ("reduce", name(n), *t))).collect();
        let shape = terms.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let at = (0..terms.len()).map(name).collect::<Vec<_>>().join(", ");
        let mut text =
            format!("prim @f(in x: f32[{rows}, {shape}], in w: f32[20, {shape}, 32], out y: f32[{rows}, 640]) ");
        text += "phase blocks at 0:0 {\n";
        for (kind, name, n) in &axes {
            let kind = if *kind == "spatial" { "serial" } else { "reduction" };
            text += &format!("for {name}_l in 0 +: {n} {kind} {{\n");
        }
        text += "block product {\n";
        text.extend(axes.iter().map(|(kind, name, n)| format!("{kind} {name} in {n} = {name}_l\n")));
        text += "init {\ny[i, j] = 0.0f32\n}\ndo {\n";
        text += &format!(
            "y[i, j] = add(y[i, j], mul(x[i, {at}], w[div_euclid(j, 32), {at}, rem_euclid(j, 32)]))\n}}\n}}\n"
        );
        text += &"}\n".repeat(axes.len() + 1);
        let mut func = parse(&Module::default(), &text).expect("it reads").remove(0);
        func.strict = strict;
        let target = Target::from_triple("x86_64-unknown-linux-gnu", &["avx", "avx2", "avx512f", "fma"]);
        let machine = Machine::of(&target).expect("it has vectors");
        let mut staged = Staged::of(&func).expect("it has stages");
        let (found, choice) = chosen(&staged, &machine, &Asked::nobody()).expect("it is a contraction");
        product(&mut staged, &found, &choice, &machine).is_some()
    }

    #[test]
    fn blocks_go_outside_where_they_pay() {
        assert!(goes_outside(30, &[640], false));
        assert!(goes_outside(256, &[640], false));
        assert!(!goes_outside(28, &[640], false), "two tiles of rows");
        assert!(!goes_outside(257, &[640], false), "sums of more than 32 KB");
        assert!(goes_outside(128, &[260], false));
        assert!(!goes_outside(128, &[256], false), "a panel that the first cache holds");
        assert!(goes_outside(128, &[8, 3, 96], false));
        assert!(!goes_outside(128, &[8, 3, 80], false), "blocks of few terms");
        assert!(!goes_outside(30, &[640], true), "strict sums keep their order");
    }
}
