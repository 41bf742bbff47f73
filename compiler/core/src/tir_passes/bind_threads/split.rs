//! A product at the begin of a turn that groups take in tiles: a kernel of its own, before that of the rest.
//!
//! Turns touch elements of their own, so it does not matter whether a turn's rest runs before another turn's product.
//! What the product makes lies in memory that outlives the turn. In the turn, every group would read both factors for
//! itself; as a nest, a tile reads each once: so are the scores of attention made, of which the rest is a softmax.

use std::collections::BTreeMap;

use tenfold_ir::tir::{LoopKind, Stmt, substitution};

use super::{Bind, Loop, PRODUCTS};

/// The kernels, if a turn begins with such a product and goes on.
pub(super) fn kernels(bind: &mut Bind<'_>, loops: &[Loop], body: &Stmt) -> Option<Stmt> {
    let Stmt::Seq(parts) = body.bare() else { return None };
    let (first, rest) = parts.split_first()?;
    if loops.is_empty() || rest.is_empty() || !matches!(first.bare(), Stmt::For { .. }) {
        return None;
    }
    let (nest, inner) = renamed(bind, loops, first.clone());
    let (more, inner) = bind.peeled(inner);
    let all: Vec<Loop> = nest.into_iter().chain(more).collect();
    let product = bind.by(PRODUCTS, &all, &inner)?;
    let rest = loops
        .iter()
        .rev()
        .fold(Stmt::seq(rest.to_vec()), |body, l| Stmt::loop_(l.var, l.min, l.extent, LoopKind::Serial, body));
    let rest = bind.kernel(rest);
    Some(Stmt::seq([product, rest]))
}

/// Loops with variables of their own, and what stands in them.
fn renamed(bind: &mut Bind<'_>, loops: &[Loop], body: Stmt) -> (Vec<Loop>, Stmt) {
    let mut values = BTreeMap::new();
    let mut nest = Vec::with_capacity(loops.len());
    for l in loops {
        let name = bind.b.sym(l.var).as_str().to_string();
        let var = bind.b.index_var(&name);
        bind.free.insert(var);
        values.insert(l.var, bind.b.read(var));
        nest.push(Loop { var, ..*l });
    }
    let body = substitution(&values).stmt(bind.b, body);
    (nest, body)
}
