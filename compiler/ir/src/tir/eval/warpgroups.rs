//! Products of a warpgroup, which go on by themselves: nobody writes what one reads, nor touches its sums, before the
//! warpgroup has waited for it.

use super::frame::Frame;
use super::memory::{Cell, View};
use super::race::{Steps, Table};
use super::threads::Thread;
use crate::DType;
use crate::eval::dot::{self, Factor};
use crate::tir::tensor::LINE;
use crate::tir::warp::{Lines, TILE, of_tile, of_wide_left, of_wide_sum};
use crate::tir::{BufId, Elem, Expr, ExprId, Stmt};

/// A cell of a memory.
type Place = (usize, i64);

/// Neighbours in a buffer.
#[derive(Clone, Copy)]
struct Run {
    buf: BufId,
    /// The first index, and its cell.
    at: i64,
    view: View,
    cell: i64,
    count: i64,
}

impl Run {
    fn places(self) -> impl Iterator<Item = (i64, Place)> {
        (0..self.count).map(move |n| (self.at + n, (self.view.memory, self.cell + n * self.view.unit)))
    }
}

/// A product on its way.
struct Flying {
    /// Its warpgroup, by its first thread.
    of: Steps,
    tiles: Vec<Run>,
    /// What it reads of memory that a thread has for itself.
    own: Vec<Run>,
    sums: Vec<Run>,
}

/// What a product multiplies with a tile: another one, or what each thread has.
enum Left<'e> {
    Tile(&'e [Factor], bool),
    Threads(&'e [Vec<Factor>]),
}

impl Left<'_> {
    /// The element of a row and a term, of which there are `each` for a half.
    fn element(&self, row: usize, term: usize, each: usize) -> Option<Factor> {
        match self {
            Left::Tile(tile, by_term) => tile.get(of_tile(row, term, *by_term, each)).copied(),
            Left::Threads(all) => {
                let (thread, lane) = of_wide_left(row, term);
                all.get(thread)?.get(lane).copied()
            }
        }
    }
}

/// What products on their way hold of a cell.
#[derive(Clone, Copy, Default)]
struct Held {
    read: usize,
    summed: usize,
}

/// All products on their way.
#[derive(Default)]
pub(super) struct Products {
    flying: Vec<Flying>,
    held: Table<Place, Held>,
    /// Whether a product itself asks for its sums.
    asks: bool,
}

impl Products {
    /// Whether none is on its way.
    pub(super) fn is_empty(&self) -> bool {
        self.flying.is_empty()
    }

    fn begin(&mut self, product: Flying) {
        self.count(&product, |n| *n += 1);
        self.flying.push(product);
    }

    fn count(&mut self, product: &Flying, change: impl Fn(&mut usize)) {
        let tiles = product.tiles.iter().chain(&product.own).flat_map(|run| run.places());
        tiles.for_each(|(_, place)| change(&mut self.held.entry(place).or_default().read));
        let sums = product.sums.iter().flat_map(|run| run.places());
        sums.for_each(|(_, place)| change(&mut self.held.entry(place).or_default().summed));
    }

    /// The products of a warpgroup but for so many, which are done.
    fn end(&mut self, of: &Steps, left: usize) -> Vec<Flying> {
        let mut own = self.flying.iter().filter(|product| product.of == *of).count();
        let mut done = Vec::new();
        for product in std::mem::take(&mut self.flying) {
            if product.of == *of && own > left {
                own -= 1;
                self.count(&product, |n| *n -= 1);
                done.push(product);
            } else {
                self.flying.push(product);
            }
        }
        if self.flying.is_empty() {
            self.held.clear();
        }
        done
    }
}

impl<'m> Frame<'_, 'm> {
    /// That no product on its way is in the way of an access.
    pub(super) fn is_free(&self, buf: BufId, index: &[i64], place: Place, write: bool) -> Result<(), String> {
        let products = &self.machine.products;
        let Some(held) = products.held.get(&place).filter(|_| !products.asks) else { return Ok(()) };
        let name = &self.func.buffers[buf.0 as usize].name;
        if held.summed > 0 {
            return Err(format!("`{name}`{index:?} is touched while a product is added to it"));
        }
        if held.read > 0 && write {
            return Err(format!("`{name}`{index:?} is written while a product of it is on its way"));
        }
        Ok(())
    }

    /// A warpgroup begins a product.
    pub(super) fn wgmma(
        &mut self,
        stmt: &'m Stmt,
        lines: Lines,
        args: &'m [ExprId],
        threads: &mut [Thread],
    ) -> Result<(), String> {
        let [a, b, sum] = args else { return Err("`wgmma` of too few operands".into()) };
        let tiles = [self.tile(stmt, *a, threads)?, self.tile(stmt, *b, threads)?];
        let (left, right) = (Left::Tile(&tiles[0].1, lines.rows), (tiles[1].1.as_slice(), lines.columns));
        let sums = self.all_added(stmt, *sum, (&left, right), threads)?;
        let of = threads.first().map(Thread::steps).unwrap_or_default();
        self.machine.products.begin(Flying { of, tiles: vec![tiles[0].0, tiles[1].0], own: Vec::new(), sums });
        Ok(())
    }

    /// A warpgroup begins a product of what its threads have.
    pub(super) fn wgmma_registers(
        &mut self,
        stmt: &'m Stmt,
        columns: bool,
        args: &'m [ExprId],
        threads: &mut [Thread],
    ) -> Result<(), String> {
        let [a, b, sum] = args else { return Err("`wgmma_registers` of too few operands".into()) };
        let (mut own, mut all) = (Vec::new(), Vec::new());
        for thread in threads.iter_mut() {
            let (run, elements) = self.within(thread, |frame| {
                frame.begin(stmt);
                let lanes = 0..frame.func.exprs.ty(*a).lanes;
                let elements = lanes.map(|lane| frame.expr(*a, lane).map(Factor::new)).collect::<Result<_, _>>()?;
                Ok((frame.run_of(*a)?, elements))
            })?;
            own.push(run);
            all.push(elements);
        }
        let (tile, right) = self.tile(stmt, *b, threads)?;
        let sums = self.all_added(stmt, *sum, (&Left::Threads(&all), (&right, columns)), threads)?;
        let of = threads.first().map(Thread::steps).unwrap_or_default();
        self.machine.products.begin(Flying { of, tiles: vec![tile], own, sums });
        Ok(())
    }

    /// Stores the sums of all threads with what a product adds to them: where these lie.
    fn all_added(
        &mut self,
        stmt: &'m Stmt,
        sum: ExprId,
        (left, right): (&Left<'_>, (&[Factor], bool)),
        threads: &mut [Thread],
    ) -> Result<Vec<Run>, String> {
        let mut sums = Vec::new();
        for (t, thread) in threads.iter_mut().enumerate() {
            let own = self.within(thread, |frame| frame.own_sums(stmt, sum))?;
            let made = (0..).zip(own).map(|(lane, sum)| added(t, lane, sum, (left, right)));
            let made = made.collect::<Result<Vec<Cell>, String>>()?;
            sums.push(self.within(thread, |frame| frame.put_sums(stmt, made))?);
        }
        Ok(sums)
    }

    /// A warpgroup waits for its products but for the last ones: until here they read what they read.
    pub(super) fn wgmma_wait(
        &mut self,
        stmt: &'m Stmt,
        left: u8,
        args: &'m [ExprId],
        threads: &mut [Thread],
    ) -> Result<(), String> {
        let of = threads.first().map(Thread::steps).unwrap_or_default();
        let done = self.machine.products.end(&of, left.into());
        if let Some(first) = threads.first_mut() {
            self.within(first, |frame| {
                frame.begin(stmt);
                let runs = done.iter().flat_map(|product| product.tiles.iter().copied());
                runs.into_iter().try_for_each(|run| {
                    run.places().try_for_each(|(at, (_, cell))| frame.touch(run.buf, &[at], (run.view, cell), false))
                })
            })?;
        }
        let [sum] = args else { return Err("a wait without sums".into()) };
        for thread in threads {
            self.within(thread, |frame| {
                let own = frame.own_sums(stmt, *sum)?;
                frame.put_sums(stmt, own)
            })?;
        }
        Ok(())
    }

    /// A tile, which all threads have to say alike, and its elements.
    fn tile(&mut self, stmt: &'m Stmt, id: ExprId, threads: &mut [Thread]) -> Result<(Run, Vec<Factor>), String> {
        let mut known: Option<Run> = None;
        for thread in threads.iter_mut() {
            let run = self.within(thread, |frame| {
                frame.begin(stmt);
                let run = frame.run_of(id)?;
                frame.is_settled(run.buf, &[run.at], (run.view, run.cell), false)?;
                Ok(run)
            })?;
            let name = &self.func.buffers[run.buf.0 as usize].name;
            let size = self.func.buffers[run.buf.0 as usize].dtype.size_bytes() as i64;
            if run.cell / run.view.unit * size % (8 * LINE) != 0 {
                return Err(format!("a tile of `{name}`[{}], which begins at no multiple of 1,024 bytes", run.at));
            }
            if known.is_some_and(|known| (known.view, known.cell) != (run.view, run.cell)) {
                return Err(format!("a tile of `{name}` that threads of a warpgroup do not agree on"));
            }
            known = Some(run);
        }
        let (Some(run), Some(first)) = (known, threads.first_mut()) else { return Err("no threads".into()) };
        let lanes = self.func.exprs.ty(id).lanes;
        let elements =
            self.within(first, |frame| (0..lanes).map(|lane| frame.expr(id, lane).map(Factor::new)).collect());
        Ok((run, elements?))
    }

    /// Where neighbours lie.
    fn run_of(&mut self, id: ExprId) -> Result<Run, String> {
        let Expr::Load { buf, index, access } = self.func.exprs.get(id) else {
            return Err("neighbours that are not in memory".into());
        };
        let (at, _) = self.index(index, 0)?;
        let (view, cell) = self.cell(*buf, &at, *access)?;
        let count = i64::from(self.func.exprs.ty(id).lanes);
        Ok(Run { buf: *buf, at: at.last().copied().unwrap_or(0), view, cell, count })
    }

    /// The sums of a thread, which may still be those of a product on its way.
    fn own_sums(&mut self, stmt: &'m Stmt, id: ExprId) -> Result<Vec<Cell>, String> {
        self.begin(stmt);
        let ty = self.func.exprs.ty(id);
        self.machine.products.asks = true;
        let own = |lane| match ty.elem {
            Elem::Scalar(DType::F32) => self.sum(id, lane).map(|sum| Cell { value: sum.total(), sum: Some(sum) }),
            Elem::Scalar(_) | Elem::Index => self.expr(id, lane).map(|value| Cell { value, sum: None }),
        };
        let sums = (0..ty.lanes).map(own).collect();
        self.machine.products.asks = false;
        sums
    }

    /// Stores the sums of a thread: where they lie.
    fn put_sums(&mut self, stmt: &'m Stmt, made: Vec<Cell>) -> Result<Run, String> {
        let Stmt::Store { buf, index, access, .. } = stmt else { return Err("sums that are not stored".into()) };
        let count = made.len() as i64;
        self.put(stmt, made)?;
        let (at, _) = self.index(index, 0)?;
        let (view, cell) = self.cell(*buf, &at, *access)?;
        Ok(Run { buf: *buf, at: at.last().copied().unwrap_or(0), view, cell, count })
    }
}

/// A lane of thread `t`: its sum with the products of a row and a column.
fn added(
    t: usize,
    lane: usize,
    own: Cell,
    (left, (right, by_term)): (&Left<'_>, (&[Factor], bool)),
) -> Result<Cell, String> {
    let (row, column) = of_wide_sum(t, lane);
    let each = match left {
        Left::Tile(tile, _) => tile.len() / (TILE * TILE),
        Left::Threads(_) => 1,
    };
    let pair = |term: usize| {
        let (x, y) = (left.element(row, term, each), right.get(of_tile(column, term, by_term, each)).copied());
        x.zip(y).ok_or("`wgmma` of a tile that is too small")
    };
    let Some(mut sum) = own.sum else {
        let all = (0..TILE * each).map(|term| pair(term).map(|(x, y)| (x.half, y.half)));
        return Ok(Cell { value: dot::added(own.value, &all.collect::<Result<Vec<_>, _>>()?), sum: None });
    };
    for term in 0..TILE * each {
        let (x, y) = pair(term)?;
        dot::add_product(&mut sum, x, y);
    }
    Ok(Cell { value: sum.total(), sum: Some(sum) })
}
