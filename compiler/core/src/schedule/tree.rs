//! Finding one's way in a tree of statements. Knows nothing of expressions.

use tenfold_ir::tir::{Block, BufId, Stmt, VarId};

/// Whether any statement of the tree is one that `f` looks for.
pub(super) fn any(stmt: &Stmt, f: &(impl Fn(&Stmt) -> bool + ?Sized)) -> bool {
    stmt.any(&mut |s| f(s))
}

/// The statements from the root to the first one that `f` looks for, both included.
pub(super) fn path<'a>(root: &'a Stmt, f: &(impl Fn(&Stmt) -> bool + ?Sized)) -> Option<Vec<&'a Stmt>> {
    if f(root) {
        return Some(vec![root]);
    }
    root.children().into_iter().find_map(|child| {
        let mut rest = path(child, f)?;
        rest.insert(0, root);
        Some(rest)
    })
}

/// The first statement that `f` looks for, to be changed.
pub(super) fn find_mut<'a>(root: &'a mut Stmt, f: &(impl Fn(&Stmt) -> bool + ?Sized)) -> Option<&'a mut Stmt> {
    if f(root) {
        return Some(root);
    }
    root.children_mut().into_iter().find_map(|child| find_mut(child, f))
}

/// Whether a statement is the loop over `var`.
pub(super) fn is_loop(var: VarId) -> impl Fn(&Stmt) -> bool {
    move |stmt| matches!(stmt, Stmt::For { var: v, .. } if *v == var)
}

/// Whether a statement is the block called `name`.
pub(super) fn is_block(name: &str) -> impl Fn(&Stmt) -> bool + '_ {
    move |stmt| matches!(stmt, Stmt::Block(block) if block.name == name)
}

/// The blocks of a tree that lie in no other block of it, in order.
pub(super) fn outer_blocks(stmt: &Stmt) -> Vec<&Block> {
    match stmt {
        Stmt::Block(block) => vec![block],
        stmt => stmt.children().into_iter().flat_map(outer_blocks).collect(),
    }
}

/// The same, to be changed.
pub(super) fn outer_blocks_mut(stmt: &mut Stmt) -> Vec<&mut Block> {
    match stmt {
        Stmt::Block(block) => vec![block],
        stmt => stmt.children_mut().into_iter().flat_map(outer_blocks_mut).collect(),
    }
}

/// Every block of a tree, outer ones first.
pub(super) fn all_blocks(stmt: &Stmt) -> Vec<&Block> {
    let mut all = Vec::new();
    stmt.walk(&mut |s| {
        if let Stmt::Block(block) = s {
            all.push(&**block);
        }
    });
    all
}

/// Whether everything that a tree does, it does in blocks.
pub(super) fn only_blocks(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Block(_) => true,
        Stmt::Store { .. }
        | Stmt::Evaluate(_)
        | Stmt::Call { .. }
        | Stmt::While { .. }
        | Stmt::Barrier(_)
        | Stmt::Assert { .. }
        | Stmt::Prefetch { .. } => false,
        Stmt::Seq(_) | Stmt::For { .. } | Stmt::If { .. } | Stmt::Let { .. } | Stmt::Alloc { .. } | Stmt::At(..) => {
            stmt.children().into_iter().all(only_blocks)
        }
    }
}

/// Whether a statement does nothing.
pub(super) fn is_empty(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Seq(all) => all.iter().all(is_empty),
        Stmt::For { body, .. } | Stmt::Let { body, .. } | Stmt::Alloc { body, .. } | Stmt::At(_, body) => {
            is_empty(body)
        }
        Stmt::If { then, otherwise, .. } => is_empty(then) && otherwise.as_deref().is_none_or(is_empty),
        Stmt::While { .. }
        | Stmt::Block(_)
        | Stmt::Store { .. }
        | Stmt::Evaluate(_)
        | Stmt::Call { .. }
        | Stmt::Barrier(_)
        | Stmt::Assert { .. }
        | Stmt::Prefetch { .. } => false,
    }
}

/// Removes what does nothing, outside of blocks.
pub(super) fn prune(stmt: &mut Stmt) {
    if matches!(stmt, Stmt::Block(_)) {
        return;
    }
    stmt.children_mut().into_iter().for_each(prune);
    if let Stmt::Seq(all) = stmt {
        all.retain(|s| !is_empty(s));
    }
    if is_empty(stmt) {
        *stmt = Stmt::Seq(Vec::new());
    }
}

/// Takes the block called `name` out of the tree, and the loops that then hold nothing.
pub(super) fn remove_block(root: &mut Stmt, name: &str) -> Option<Block> {
    let place = find_mut(root, &is_block(name))?;
    let taken = std::mem::replace(place, Stmt::Seq(Vec::new()));
    prune_deep(root);
    match taken {
        Stmt::Block(block) => Some(*block),
        _ => None,
    }
}

/// Removes what does nothing, inside blocks too.
fn prune_deep(stmt: &mut Stmt) {
    prune(stmt);
    for child in stmt.children_mut() {
        match child {
            Stmt::Block(block) => prune_deep(&mut block.body),
            child => prune_deep(child),
        }
    }
}

/// The buffers that the tree allocates.
pub(super) fn allocated(stmt: &Stmt) -> std::collections::BTreeSet<BufId> {
    let mut all = std::collections::BTreeSet::new();
    stmt.walk(&mut |s| all.extend(s.allocates()));
    all
}

/// Whether a statement is where a buffer begins to live.
pub(super) fn is_alloc(buf: BufId) -> impl Fn(&Stmt) -> bool {
    move |stmt| stmt.allocates().contains(&buf)
}
