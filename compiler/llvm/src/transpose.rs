//! Loops whose turns put vectors together from elements far apart, as transposes do: made of vectors that lie side by side
//! and are transposed in registers.
//!
//! A turn of such a loop writes neighbours that it reads one from each of as many rows, and the next turn reads what lies
//! beside them. As many turns as 16 bytes have elements are made at once: 16 bytes of each row are one load, of which
//! vectors are made, and one step after the other interleaves what vectors have in 16 bytes, single elements first, then
//! pairs, then fours. That takes two operations for every vector of floats, where one by one each element takes one.
//! (Eklundh, "A fast computer method for matrix transposing", 1972.)

use std::borrow::Cow;
use std::collections::BTreeMap;

use tenfold_core::{Arch, Target};
use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{
    Access, BufId, Builder, Expr, ExprId, FuncKind, LoopKind, PrimFunc, Stmt, Ty, VarId, Viewer, substitution,
};
use tenfold_ir::{DType, Function, Module};

/// Bytes inside of which vectors are interleaved.
const PART: usize = 16;

/// The module with such loops made anew.
pub(crate) fn transpose<'m>(module: &'m Module, target: &Target) -> Cow<'m, Module> {
    let interleaves = match target.arch {
        Arch::X86_64 | Arch::Aarch64 | Arch::Wasm32 => target.vector_bytes() > 0,
        Arch::Arm => target.has("neon"),
        // Vectors of no fixed length, whose elements are picked by numbers from memory.
        Arch::Riscv64 => false,
        Arch::Riscv32 | Arch::Other => false,
    };
    let mut out = Cow::Borrowed(module);
    for func in module.prims().filter(|func| interleaves && func.kind == FuncKind::Host) {
        if func.body.any(&mut |stmt| Tile::of(func, stmt).is_some()) {
            let made = Function::Prim(made(func.clone()));
            out.to_mut().functions.insert(func.name.clone(), made);
        }
    }
    out
}

fn made(func: PrimFunc) -> PrimFunc {
    let mut b = Builder::resume(func);
    let body = std::mem::replace(&mut b.func_mut().body, Stmt::nop());
    let body = loops(&mut b, body);
    b.push(body);
    b.finish()
}

fn loops(b: &mut Builder, stmt: Stmt) -> Stmt {
    match Tile::of(b.func(), &stmt) {
        Some(tile) => b.scope(|b| tile.write(b)).0,
        None => stmt.map_children(&mut |child| loops(b, child)),
    }
}

/// A loop of the form above.
struct Tile {
    var: VarId,
    min: ExprId,
    turns: i64,
    from: BufId,
    to: BufId,
    /// Where a turn's first element is read.
    read: ExprId,
    /// From one row to the next.
    apart: ExprId,
    /// Where a turn's first element is written.
    written: ExprId,
    /// Elements of a turn.
    lanes: u16,
    /// Elements of 16 bytes.
    part: u16,
    access: (Access, Access),
}

impl Tile {
    fn of(func: &PrimFunc, stmt: &Stmt) -> Option<Tile> {
        let Stmt::For { var, min, extent, kind: LoopKind::Serial, body, .. } = stmt else { return None };
        let Stmt::Store { buf: to, index, value, access: stored } = body.bare() else { return None };
        let Expr::Load { buf: from, index: at, access: loaded } = func.exprs.get(*value) else { return None };
        let ([index], [at]) = (&index[..], &at[..]) else { return None };
        let Expr::Ramp(written, one, lanes) = *func.exprs.get(*index) else { return None };
        let Expr::Ramp(read, apart, _) = *func.exprs.get(*at) else { return None };
        let dtype = func.buffers[from.0 as usize].dtype;
        let part = (PART / dtype.size_bytes()) as u16;
        let turns = func.literal(*extent)?;
        let whole = part > 1
            && lanes % part == 0
            && (lanes / part).is_power_of_two()
            && turns > 0
            && turns % i64::from(part) == 0;
        let plain = dtype != DType::Bool && !dtype.is_nibble() && from != to;
        let counts = func.vars[var.0 as usize].ty == Ty::index() && func.literal(one) == Some(1);
        if !whole || !plain || !counts || !beside(func, *var, read, apart) {
            return None;
        }
        let access = (*loaded, *stored);
        let (var, min, from, to) = (*var, *min, *from, *to);
        Some(Tile { var, min, turns, from, to, read, apart, written, lanes, part, access })
    }

    /// As many turns as 16 bytes have elements, again and again.
    fn write(&self, b: &mut Builder) {
        let part = i64::from(self.part);
        if self.turns == part {
            return self.turn(b, self.min);
        }
        let turn = b.index_var("part");
        let many = b.index(self.turns / part);
        b.for_(turn, many, |b| {
            let (turn, part) = (b.read(turn), b.index(part));
            let first = b.mul(turn, part);
            let first = b.add(self.min, first);
            self.turn(b, first);
        });
    }

    fn turn(&self, b: &mut Builder, first: ExprId) {
        let rows = (0..self.part).map(|row| self.parts(b, first, row)).collect();
        let columns = interleaved(b, rows, (self.part, 1));
        for (n, column) in (0..).zip(columns) {
            let at = self.at(b, self.written, first, n);
            let one = b.index(1);
            let index = vec![b.ramp(at, one, self.lanes)];
            let value = b.read(column);
            b.push(Stmt::Store { buf: self.to, index, value, access: self.access.1 });
        }
    }

    /// 16 bytes of every so manieth row, beginning with this one, behind one another.
    fn parts(&self, b: &mut Builder, first: ExprId, row: u16) -> VarId {
        let read = self.at(b, self.read, first, 0);
        let load = |b: &mut Builder, row: u16| {
            let rows = b.index(i64::from(row));
            let begin = b.mul(self.apart, rows);
            let begin = b.add(read, begin);
            let one = b.index(1);
            let index = vec![b.ramp(begin, one, self.part)];
            let ty = Ty { lanes: self.part, ..Ty::scalar(b.buf(self.from).dtype) };
            b.raw(Expr::Load { buf: self.from, index, access: self.access.0 }, ty)
        };
        let mut all: Vec<ExprId> = (row..self.lanes).step_by(usize::from(self.part)).map(|row| load(b, row)).collect();
        let mut lanes = self.part;
        while all.len() > 1 {
            lanes *= 2;
            all = all.chunks(2).map(|pair| b.shuffle(pair.to_vec(), (0..lanes).collect())).collect();
        }
        b.let_("rows", all[0])
    }

    /// The expression in the turn that is so many behind the first one.
    fn at(&self, b: &mut Builder, e: ExprId, first: ExprId, n: i64) -> ExprId {
        let n = b.index(n);
        let to = BTreeMap::from([(self.var, b.add(first, n))]);
        substitution(&to).expr(b, e)
    }
}

/// Whether one turn reads what lies beside what the turn before reads, and rows are as far apart in all turns.
fn beside(func: &PrimFunc, var: VarId, read: ExprId, apart: ExprId) -> bool {
    let mut viewer = Viewer::new(func);
    let (sym, read) = (viewer.sym(var), viewer.int(read));
    let next = read.substitute(&|s| (*s == sym).then(|| &IntExpr::var(sym.clone()) + 1));
    let same = !func.loads(apart) && !viewer.int(apart).vars().contains(&sym);
    same && viewer.prover.simplify(&(&next - &read)).as_const() == Some(1)
}

/// What the vectors have at the first place of each part of so many elements, what they have at the second one, and so on;
/// so many elements stay together.
fn interleaved(b: &mut Builder, vectors: Vec<VarId>, (part, width): (u16, u16)) -> Vec<VarId> {
    if vectors.len() == 1 {
        return vectors;
    }
    let mut all = Vec::new();
    for half in [0, part / 2] {
        let pairs = vectors.chunks(2).map(|pair| of_pair(b, pair, (part, width), half)).collect();
        all.extend(interleaved(b, pairs, (part, 2 * width)));
    }
    all
}

/// Elements of two vectors in turn, from the lower or the upper half of each part.
fn of_pair(b: &mut Builder, pair: &[VarId], (part, width): (u16, u16), half: u16) -> VarId {
    let both: Vec<ExprId> = pair.iter().map(|var| b.read(*var)).collect();
    let lanes = b.func().exprs.ty(both[0]).lanes;
    let place = |lane: u16| {
        let (begin, within) = (lane / part * part, lane % part);
        let (piece, element) = (within / width, within % width);
        (piece % 2) * lanes + begin + half + piece / 2 * width + element
    };
    let picked = (0..lanes).map(place).collect();
    let value = b.shuffle(both, picked);
    b.let_("interleaved", value)
}
