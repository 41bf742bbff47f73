//! An operand laid out anew before the contraction, so that it has neighbours along the columns.

use std::collections::BTreeMap;

use tenfold_ir::tir::{Access, Builder, ExprId, ExprMap, IterKind, LoopKind, Scope, Stmt, Viewer};

use super::choice::Choice;
use super::{Contraction, Staged};
use crate::dlight::cut::part;
use crate::fuse::stage::{Iter, Stage};

/// Adds the copy, if the choice asks for one, and lets the contraction read it.
pub(super) fn pack(staged: &mut Staged, found: &Contraction, choice: &Choice) {
    let Some(operand) = choice.packed.map(|n| &found.operands[n]) else { return };
    let source = staged.stages[found.stage].clone();
    let mut iters: Vec<Iter> = source.iters.iter().filter(|i| !operand.ignores(i.var)).cloned().collect();
    iters.sort_by_key(|i| (i.var == choice.column, i.kind != IterKind::Spatial));
    let shape = iters.iter().map(|i| Viewer::new(staged.b.func()).int(i.extent)).collect();
    let b = &mut staged.b;
    let data = b.buf(operand.buf).clone();
    let packed = b.buffer(&format!("{}_packed", data.name), data.dtype, shape, Scope::Global);
    staged.allocs.push(packed);
    let at: Vec<ExprId> = iters.iter().map(|i| b.read(i.var)).collect();
    let new = b.load(packed, at.clone(), Access::Proven);
    let stage = &mut staged.stages[found.stage];
    let body = std::mem::replace(&mut stage.body, Stmt::nop());
    let old = operand.load;
    let mut instead = ExprMap::new(move |_: &mut Builder, id| if id == old { new } else { id });
    stage.body = instead.stmt(b, body);
    let copy = copy(&source, iters, Stmt::Store { buf: packed, index: at, value: old, access: Access::Proven });
    let fresh = part(b, &copy, &copy.name, &BTreeMap::new(), &BTreeMap::new());
    staged.stages.insert(found.stage, fresh);
}

fn copy(source: &Stage, iters: Vec<Iter>, body: Stmt) -> Stage {
    let plain = |i: Iter| Iter { kind: IterKind::Spatial, order: LoopKind::Serial, ..i };
    let iters = iters.into_iter().map(plain).collect();
    Stage { name: format!("{}_packed", source.name), iters, init: None, body, loc: source.loc }
}
