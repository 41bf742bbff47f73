//! What the threads of a warp do together: all of them give their operands before one of them gets its result.

use super::frame::Frame;
use super::memory::Cell;
use super::threads::Thread;
use crate::DType;
use crate::eval::dot::{self, Factor};
use crate::eval::{Bounded, Sum};
use crate::op::BinaryOp;
use crate::tir::warp::{WARP, Warp, of_left, of_right, of_sum, source};
use crate::tir::{Elem, Expr, ExprId, Intrinsic, PrimFunc, Stmt};

/// Halves of a row of a product of tiles.
const DEPTH: usize = 16;

/// What a thread gives: the lanes of each operand but a sum of floats, and those sums, to which products are added.
struct Given {
    lanes: Vec<Vec<Bounded>>,
    sums: Vec<Sum>,
}

/// The function of a warp that a statement stores what it gives of.
pub(super) fn of_warp<'m>(func: &'m PrimFunc, stmt: &Stmt) -> Option<(Warp, &'m [ExprId])> {
    match stmt {
        Stmt::Store { value, .. } => match func.exprs.get(*value) {
            Expr::Call(Intrinsic::Warp(f), args, _) => Some((*f, args)),
            _ => None,
        },
        _ => None,
    }
}

impl<'m> Frame<'_, 'm> {
    /// Runs a statement that stores what a warp makes, for each warp of the threads.
    pub(super) fn warps(
        &mut self,
        stmt: &'m Stmt,
        (f, args): (Warp, &'m [ExprId]),
        threads: &mut [Thread],
    ) -> Result<(), String> {
        let all = f.threads();
        for warp in threads.chunks_mut(all as usize) {
            let lanes: Vec<i64> = warp.iter().filter_map(Thread::along_x).collect();
            let first = lanes.first().copied().unwrap_or(-1);
            if first % all != 0 || !lanes.iter().copied().eq(first..first + all) {
                let of = if all == WARP { "warp" } else { "warpgroup" };
                return Err(format!("`{}` that {} of {all} threads of a {of} reach", f.name(), lanes.len()));
            }
            match f {
                Warp::Wgmma(lines) => {
                    self.wgmma(stmt, lines, args, warp)?;
                    continue;
                }
                Warp::WgmmaRegisters(columns) => {
                    self.wgmma_registers(stmt, columns, args, warp)?;
                    continue;
                }
                Warp::WgmmaWait(left) => {
                    self.wgmma_wait(stmt, left, args, warp)?;
                    continue;
                }
                Warp::LdMatrix | Warp::LdMatrixTrans | Warp::Mma | Warp::ShuffleXor(_) => {}
            }
            let mut given = Vec::new();
            for thread in warp.iter_mut() {
                given.push(self.within(thread, |frame| frame.given(stmt, f, args))?);
            }
            for (t, thread) in warp.iter_mut().enumerate() {
                let made = made(f, t, &given)?;
                self.within(thread, |frame| frame.put(stmt, made))?;
            }
        }
        Ok(())
    }

    fn given(&mut self, stmt: &'m Stmt, f: Warp, args: &'m [ExprId]) -> Result<Given, String> {
        self.begin(stmt);
        let (halves, sums) = match f {
            Warp::Mma if self.is_of_floats(args) => (&args[..args.len() - 1], args.last()),
            Warp::Mma
            | Warp::LdMatrix
            | Warp::LdMatrixTrans
            | Warp::ShuffleXor(_)
            | Warp::Wgmma(_)
            | Warp::WgmmaRegisters(_)
            | Warp::WgmmaWait(_) => (args, None),
        };
        let mut given = Given { lanes: Vec::new(), sums: Vec::new() };
        for arg in halves {
            let lanes = self.func.exprs.ty(*arg).lanes;
            given.lanes.push((0..lanes).map(|lane| self.expr(*arg, lane)).collect::<Result<_, _>>()?);
            if matches!(f, Warp::LdMatrix | Warp::LdMatrixTrans) {
                self.is_aligned(f, *arg)?;
            }
        }
        if let Some(sum) = sums {
            for lane in 0..self.func.exprs.ty(*sum).lanes {
                given.sums.push(self.sum(*sum, lane)?);
            }
        }
        Ok(given)
    }

    /// Whether the last operand, the sums, are floats.
    fn is_of_floats(&self, args: &[ExprId]) -> bool {
        args.last().is_some_and(|sums| self.func.exprs.ty(*sums).elem == Elem::Scalar(DType::F32))
    }

    /// The sum that a lane of an expression is, as it was made.
    pub(super) fn sum(&mut self, id: ExprId, lane: u16) -> Result<Sum, String> {
        let value = self.expr(id, lane)?;
        let known = match self.func.exprs.get(id) {
            Expr::Load { buf, index, access } => {
                let (at, _) = self.index(index, lane)?;
                let (view, cell) = self.cell(*buf, &at, *access)?;
                let memory = &self.machine.memories[view.memory];
                memory.get(cell, DType::F32).and_then(|_| memory.sum(cell))
            }
            _ => None,
        };
        Ok(known.filter(|sum| sum.op() == BinaryOp::Add).unwrap_or_else(|| Sum::new(BinaryOp::Add, value)))
    }

    /// That a row begins where the instruction takes it: at a multiple of its 16 bytes.
    fn is_aligned(&mut self, f: Warp, row: ExprId) -> Result<(), String> {
        let Expr::Load { buf, index, access } = self.func.exprs.get(row) else { return Ok(()) };
        let (at, _) = self.index(index, 0)?;
        let (view, cell) = self.cell(*buf, &at, *access)?;
        let lanes = usize::from(self.func.exprs.ty(row).lanes);
        if cell / view.unit % lanes as i64 == 0 {
            return Ok(());
        }
        let name = &self.func.buffers[buf.0 as usize].name;
        Err(format!("`{}` of `{name}`{at:?}, which begins at no multiple of 16 bytes", f.name()))
    }
}

/// What thread `t` gets.
fn made(f: Warp, t: usize, given: &[Given]) -> Result<Vec<Cell>, String> {
    let lane = |thread: usize, operand: usize, lane: usize| {
        let lanes = given.get(thread).and_then(|given| given.lanes.get(operand));
        lanes.and_then(|lanes| lanes.get(lane)).copied().ok_or_else(|| format!("`{}` of too few lanes", f.name()))
    };
    let lanes = given[t].lanes.first().map_or(0, Vec::len);
    // Elements for each half.
    let each = lanes / 8;
    match f {
        Warp::LdMatrix | Warp::LdMatrixTrans => (0..lanes)
            .map(|n| {
                let (thread, place) = source(t, n, f == Warp::LdMatrixTrans, each);
                Ok(Cell { value: lane(thread, 0, place)?, sum: None })
            })
            .collect(),
        Warp::ShuffleXor(bit) => Ok(vec![Cell { value: lane(t ^ bit.number() as usize, 0, 0)?, sum: None }]),
        Warp::Mma if given[t].sums.is_empty() => (0..4)
            .map(|n| {
                let (row, column) = of_sum(t, n);
                let mut all = Vec::new();
                for term in 0..each * DEPTH {
                    let ((x, left), (y, right)) = (of_left(row, term, each), of_right(term, column, each));
                    all.push((lane(x, 0, left)?, lane(y, 1, right)?));
                }
                Ok(Cell { value: dot::added(lane(t, 2, n)?, &all), sum: None })
            })
            .collect(),
        Warp::Mma => (0..)
            .zip(&given[t].sums)
            .map(|(n, sum)| {
                let (mut sum, (row, column)) = (*sum, of_sum(t, n));
                for term in 0..DEPTH {
                    let ((x, left), (y, right)) = (of_left(row, term, 1), of_right(term, column, 1));
                    let [x, y] = [lane(x, 0, left)?, lane(y, 1, right)?].map(Factor::new);
                    dot::add_product(&mut sum, x, y);
                }
                Ok(Cell { value: sum.total(), sum: Some(sum) })
            })
            .collect(),
        Warp::Wgmma(_) | Warp::WgmmaRegisters(_) | Warp::WgmmaWait(_) => Err(format!("`{}` of one warp", f.name())),
    }
}
