//! What a loop reads of the next rows, asked for while it computes and a result is written.

use tenfold_ir::arith::Sym;
use tenfold_ir::tir::{BufId, Builder, PrimFunc, Stmt, VarId, Viewer, read};

use super::super::inject_prefetch;
use super::super::kernel::is_parameter;
use super::{runs, turns};

/// Bytes behind what is read that are asked for, unless a row has more: one and a half of 4 KB. One or two whole ones, and
/// so pages, are worse (`schedules.md`).
const AHEAD: i64 = 6 << 10;

/// Bytes of the longest row of which this is: two of them are in a first cache at once.
const ROW: i64 = 16 << 10;

/// The turns of a loop along a row, each behind what it asks for: the elements of parameters that are read `AHEAD` bytes
/// later, but not before the next row. All lines of a row are asked for: with every second one, the core's own asking ahead
/// goes astray.
pub(super) fn asking(b: &mut Builder, own: Stmt, row: VarId) -> Stmt {
    let asked = |of: &BufId| own.any(&mut |s| matches!(s, Stmt::Prefetch { buf, .. } if buf == of));
    let wanted = |buf: &BufId| is_parameter(b.func(), *buf) && !asked(buf);
    let all: Vec<BufId> = read(b.func(), &own).into_iter().filter(wanted).collect();
    let ahead = all.into_iter().filter_map(|buf| Some((buf, turns_ahead(b.func(), &own, buf, row)?)));
    let ahead: Vec<(BufId, i64)> = ahead.collect();
    let Stmt::For { var, min, extent, kind, annotations, mut body } = own else { return own };
    for (buf, turns) in ahead {
        let (here, turns) = (b.read(var), b.index(turns));
        let later = b.add(here, turns);
        *body = inject_prefetch::asked(b, *body, buf, (var, later));
    }
    Stmt::For { var, min, extent, kind, annotations, body }
}

/// How many turns later what is asked for of a buffer is read, if a turn reads vectors at one place, and those of the turns
/// and of the rows lie one behind the other.
fn turns_ahead(func: &PrimFunc, own: &Stmt, buf: BufId, row: VarId) -> Option<i64> {
    let (Stmt::For { var, .. }, turns) = (own, turns(func, own)?) else { return None };
    let mut viewer = Viewer::new(func);
    let [row, turn] = [row, *var].map(|var| viewer.sym(var));
    let (begin, lanes) = match &runs(&mut viewer, own, buf, &turn)?[..] {
        [(begin, lanes)] if *lanes > 1 => (begin.clone(), *lanes),
        _ => return None,
    };
    let step = |sym: &Sym| viewer.step(&begin, sym);
    let dense = step(&turn)? == lanes && step(&row)? == lanes.checked_mul(turns)?;
    let bytes = lanes * func.buffers[buf.0 as usize].dtype.size_bytes() as i64;
    (dense && bytes.saturating_mul(turns) <= ROW).then(|| turns.max((AHEAD + bytes - 1) / bytes))
}
