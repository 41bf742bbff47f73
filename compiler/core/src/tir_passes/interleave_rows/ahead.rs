//! What a loop reads of the next rows, asked for while it computes and a result is written.

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::tir::{BufId, Builder, Expr, Param, PrimFunc, Stmt, VarId, Viewer, accesses, read};

use super::super::inject_prefetch;
use super::super::kernel::constant;

/// Bytes behind what is read that are asked for, unless a row has more. A multiple of a page would be in the way: a core takes
/// addresses that are equal up to the page for one at first.
const AHEAD: i64 = 6 << 10;

/// Bytes of the longest row of which this is: two of them are in a first cache at once.
const ROW: i64 = 16 << 10;

/// The turns of a loop along a row, each behind what it asks for: the elements of parameters that are read `AHEAD` bytes
/// later, but not before the next row. All lines of a row are asked for: with every second one, the core's own asking ahead
/// goes astray.
pub(super) fn asking(b: &mut Builder, own: Stmt, row: VarId) -> Stmt {
    let Stmt::For { var, min, extent, kind, annotations, mut body } = own else { return own };
    let turns = constant(b.func(), extent).unwrap_or(0);
    let parameter = |buf: &BufId| b.func().params.iter().any(|p| matches!(p, Param::Buffer(of, _) if of == buf));
    let read: Vec<BufId> = read(b.func(), &body).into_iter().filter(parameter).collect();
    for buf in read {
        let Some(bytes) = in_order(b.func(), &body, buf, (row, var, turns)) else { continue };
        if bytes.saturating_mul(turns) <= ROW {
            let (here, ahead) = (b.read(var), b.index(turns.max((AHEAD + bytes - 1) / bytes)));
            let later = b.add(here, ahead);
            *body = inject_prefetch::asked(b, *body, buf, (var, later));
        }
    }
    Stmt::For { var, min, extent, kind, annotations, body }
}

/// The bytes of a buffer that a turn reads, at one place, if those of the turns and of the rows lie one behind the other.
fn in_order(func: &PrimFunc, body: &Stmt, buf: BufId, (row, turn, turns): (VarId, VarId, i64)) -> Option<i64> {
    let mut viewer = Viewer::new(func);
    let [row, turn] = [row, turn].map(|var| viewer.sym(var));
    let mut all = accesses(func, body).into_iter().filter(|a| a.buf == buf);
    let at = all.next()?.index?;
    let ([at], None) = (&at[..], all.next()) else { return None };
    let (begin, lanes) = match *func.exprs.get(*at) {
        Expr::Ramp(base, stride, lanes) if func.literal(stride) == Some(1) => (viewer.int(base), i64::from(lanes)),
        _ => return None,
    };
    let step = |sym: &Sym| {
        let next = IntExpr::var(sym.clone()) + IntExpr::from(1);
        (&begin.substitute(&|s| (s == sym).then(|| next.clone())) - &begin).as_const()
    };
    let dense = step(&turn)? == lanes && step(&row)? == lanes.checked_mul(turns)?;
    dense.then_some(lanes * func.buffers[buf.0 as usize].dtype.size_bytes() as i64)
}
