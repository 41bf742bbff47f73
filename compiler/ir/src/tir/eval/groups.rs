//! What the threads of a block reduce together: all of them give a value before one of them gets what these make.

use super::frame::Frame;
use super::memory::Cell;
use super::threads::Thread;
use crate::eval::{Bounded, Sum, bounded};
use crate::tir::{Expr, ExprId, Group, Intrinsic, PrimFunc, Stmt};

/// The function of a block that a statement stores what it gives of.
pub(super) fn of_group(func: &PrimFunc, stmt: &Stmt) -> Option<(Group, ExprId)> {
    match stmt {
        Stmt::Store { value, .. } => match func.exprs.get(*value) {
            Expr::Call(Intrinsic::Group(f), args, _) => args.first().map(|arg| (*f, *arg)),
            _ => None,
        },
        _ => None,
    }
}

impl<'m> Frame<'_, 'm> {
    /// Runs a statement that stores what the threads of a block make.
    pub(super) fn group(
        &mut self,
        stmt: &'m Stmt,
        (f, arg): (Group, ExprId),
        threads: &mut [Thread],
    ) -> Result<(), String> {
        let mut given = Vec::new();
        for thread in threads.iter_mut() {
            given.push(self.within(thread, |frame| {
                frame.begin(stmt);
                frame.expr(arg, 0)
            })?);
        }
        let value = made(f, &given).ok_or_else(|| format!("`{}` of no threads", f.name()))?;
        threads.iter_mut().try_for_each(|t| self.within(t, |frame| frame.put(stmt, vec![Cell { value, sum: None }])))
    }
}

/// What all values make, whose order is free.
fn made(f: Group, given: &[Bounded]) -> Option<Bounded> {
    let (first, rest) = given.split_first()?;
    let op = f.combiner();
    if !Sum::matters(op, first.value.dtype) {
        return Some(rest.iter().fold(*first, |all, one| bounded::binary(op, all, *one)));
    }
    let mut sum = Sum::new(op, *first);
    rest.iter().for_each(|one| sum.add(*one));
    Some(sum.total())
}
