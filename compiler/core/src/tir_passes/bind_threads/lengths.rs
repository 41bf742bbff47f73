//! Rows whose length is a dim: a kernel for each of some lengths, of which the host takes the first that is enough.
//!
//! How many elements a thread keeps in registers, and how many threads a group has, are numbers in a kernel. Rows that are
//! longer than all of them take the rules behind `registers`.

use std::collections::BTreeMap;

use tenfold_ir::op::CmpOp;
use tenfold_ir::tir::copy::copy;
use tenfold_ir::tir::{LoopKind, Stmt, VarId};

use super::held::Found;
use super::registers::{Spread, of_rows};
use super::{Bind, Loop, RULES};
use crate::tir_passes::butterfly::Meeting;

/// The longest rows of the kernels: of a warp, and of groups whose threads have registers to spare.
const OF_WARPS: &[i64] = &[512, 2_048, 8_192];

/// Those of a group of any device.
const OF_GROUPS: &[i64] = &[512, 4_096];

/// The kernels, one behind the other in branches of the host.
pub(super) fn kernels(bind: &mut Bind<'_>, loops: &[Loop], body: &Stmt) -> Option<Stmt> {
    let lengths = match bind.meeting {
        Meeting::Warps => OF_WARPS,
        Meeting::Group => OF_GROUPS,
    };
    let mut made = Vec::new();
    for most in lengths {
        let (loops, body) = again(bind, loops, body);
        let found = Found::of(bind, &loops, &body)?;
        let Some(spread) = Spread::up_to(bind.b.func(), &found, bind.meeting, *most) else { break };
        made.push((found.columns?, *most, of_rows(bind, &loops, &body, &found, spread)));
    }
    let (loops, body) = again(bind, loops, body);
    let behind = RULES.iter().position(|rule| rule.name == "registers").map_or(0, |n| n + 1);
    let longer = bind.by(&RULES[behind..], &loops, &body)?;
    (!made.is_empty()).then(|| {
        made.into_iter().rev().fold(longer, |longer, (columns, most, kernel)| {
            let most = bind.b.index(most);
            let cond = bind.b.compare(CmpOp::Le, columns, most);
            Stmt::If { cond, then: Box::new(kernel), otherwise: Some(Box::new(longer)) }
        })
    })
}

/// A nest once more, with variables and buffers of its own.
fn again(bind: &mut Bind<'_>, loops: &[Loop], body: &Stmt) -> (Vec<Loop>, Stmt) {
    let nest = |body, l: &Loop| Stmt::loop_(l.var, l.min, l.extent, LoopKind::Serial, body);
    let nest = loops.iter().rev().fold(body.clone(), nest);
    let made = copy(bind.b, &nest, &BTreeMap::new());
    for (old, new) in variables(&nest).into_iter().zip(variables(&made)) {
        if bind.free.contains(&old) {
            bind.free.insert(new);
        }
    }
    bind.peeled(made)
}

/// The variables of loops, in order.
fn variables(stmt: &Stmt) -> Vec<VarId> {
    let mut all = Vec::new();
    stmt.walk(&mut |s| {
        if let Stmt::For { var, .. } = s {
            all.push(*var);
        }
    });
    all
}
