//! Rows whose length is a dim: a kernel for each of some lengths, of which the host takes the first that is enough.
//!
//! How many elements a thread keeps, and how many threads a group has, are numbers in a kernel. Rows that are longer than
//! all of them go through memory in each loop, or take the rules behind `registers`.

use std::collections::BTreeMap;

use tenfold_ir::op::CmpOp;
use tenfold_ir::tir::copy::copy;
use tenfold_ir::tir::{LoopKind, Stmt, VarId};

use super::held::Found;
use super::registers::{Home, Spread, most_shared, of_rows};
use super::{Bind, Loop, RULES};
use crate::tir_passes::butterfly::Meeting;

/// The longest rows of the kernels: of a warp, and of groups whose threads have registers to spare.
const OF_WARPS: &[i64] = &[512, 2_048, 8_192];

/// Rows that are longer than those of all other kernels: as many threads as a group has share them.
const LONG: i64 = 1 << 20;

/// Those of a group of any device.
const OF_GROUPS: &[i64] = &[512, 4_096];

/// The kernels, one behind the other in branches of the host.
pub(super) fn kernels(bind: &mut Bind<'_>, loops: &[Loop], body: &Stmt) -> Option<Stmt> {
    let lengths = match bind.meeting {
        Meeting::Warps => OF_WARPS,
        Meeting::Group => OF_GROUPS,
    };
    let found = Found::of(bind, loops, body)?;
    let shared = most_shared(bind, &found);
    let longer = shared > *lengths.last()?;
    let all = lengths.iter().map(|most| (*most, Home::Registers)).chain(longer.then_some((shared, Home::Shared)));
    let mut made = Vec::new();
    for (most, home) in all {
        let Some(kernel) = up_to(bind, loops, body, (most, home)) else { continue };
        made.push((found.columns?, most, kernel));
    }
    let longer = match up_to(bind, loops, body, (LONG, Home::Memory)) {
        Some(kernel) => kernel,
        None => {
            let (loops, body) = again(bind, loops, body);
            let behind = RULES.iter().position(|rule| rule.name == "registers").map_or(0, |n| n + 1);
            bind.by(&RULES[behind..], &loops, &body)?
        }
    };
    (!made.is_empty()).then(|| {
        made.into_iter().rev().fold(longer, |longer, (columns, most, kernel)| {
            let most = bind.b.index(most);
            let cond = bind.b.compare(CmpOp::Le, columns, most);
            Stmt::If { cond, then: Box::new(kernel), otherwise: Some(Box::new(longer)) }
        })
    })
}

/// A kernel of rows up to a length, if threads can keep what they have of them there.
fn up_to(bind: &mut Bind<'_>, loops: &[Loop], body: &Stmt, lengths: (i64, Home)) -> Option<Stmt> {
    let (loops, body) = again(bind, loops, body);
    let found = Found::of(bind, &loops, &body)?;
    let spread = Spread::up_to(bind, &found, lengths)?;
    Some(of_rows(bind, &loops, &body, &found, spread))
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
