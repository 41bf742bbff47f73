//! The smallest function that still fails.

use tenfold_ir::tir::{PrimFunc, Stmt};

/// Takes parts away as long as `fails` holds of what is left.
pub(crate) fn shrink(func: &PrimFunc, fails: &dyn Fn(&PrimFunc) -> bool) -> PrimFunc {
    let mut best = func.clone();
    'again: loop {
        for n in 0..parts(&best.body) {
            for how in [How::Nothing, How::FirstChild, How::LastChild] {
                let body = without(best.body.clone(), &mut { n }, how);
                if body == best.body {
                    continue;
                }
                let smaller = PrimFunc { body, ..best.clone() };
                if fails(&smaller) {
                    best = smaller;
                    continue 'again;
                }
            }
        }
        return best;
    }
}

/// What a part becomes.
#[derive(Clone, Copy)]
enum How {
    Nothing,
    FirstChild,
    LastChild,
}

fn parts(stmt: &Stmt) -> usize {
    let mut n = 0;
    stmt.walk(&mut |_| n += 1);
    n
}

/// The statement with the part of that number, outer ones first, replaced.
fn without(stmt: Stmt, left: &mut usize, how: How) -> Stmt {
    if *left == 0 {
        *left = usize::MAX;
        return match how {
            How::Nothing => Stmt::nop(),
            How::FirstChild => stmt.children().first().map_or_else(Stmt::nop, |s| (*s).clone()),
            How::LastChild => stmt.children().last().map_or_else(Stmt::nop, |s| (*s).clone()),
        };
    }
    *left = left.saturating_sub(1);
    if *left > usize::MAX / 2 {
        return stmt;
    }
    stmt.map_children(&mut |s| without(s, left, how))
}
