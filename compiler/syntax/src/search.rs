//! Questions about what stands in a tree.

use std::collections::BTreeSet;

use crate::ast::{
    BinaryOp, Block, ConstSource, Expr, ExprKind, Literal, PatternKind, Range, RangeStep, Stmt, StmtKind, Target,
    TargetKind, TensorFn, Type, TypeKind,
};

/// Whether the block asks for a shape at run time.
pub(crate) fn matches_shapes(block: &Block) -> bool {
    let mut found = false;
    each_in_block(block, &mut |e| found |= matches!(e.kind, ExprKind::MatchShape { .. }));
    found
}

/// Whether `name` stands in the body, in a fact or in a type.
pub(crate) fn uses_name(function: &TensorFn, name: &str) -> bool {
    let mut found = false;
    let mut see = |e: &Expr| found |= matches!(&e.kind, ExprKind::Name(n) if n == name);
    if let Some(body) = &function.body {
        each_in_block(body, &mut see);
    }
    for param in &function.params {
        each_in_type(&param.ty, &mut see);
    }
    if let Some(ty) = &function.result {
        each_in_type(ty, &mut see);
    }
    found
}

/// The names in the types of parameters and results that begin with an upper-case letter.
pub(crate) fn dim_names(function: &TensorFn, names: &mut Vec<String>) {
    let mut see = |e: &Expr| match &e.kind {
        ExprKind::Name(name) if name.starts_with(char::is_uppercase) && !names.contains(name) => {
            names.push(name.clone())
        }
        _ => {}
    };
    for param in &function.params {
        each_in_type(&param.ty, &mut see);
    }
    if let Some(ty) = &function.result {
        each_in_type(ty, &mut see);
    }
}

/// The names of outer variables that a block assigns to, whole or in part, in order and without repeats. A name that
/// the block binds itself is still listed if it stands before that binding; callers look names up from outside.
pub(crate) fn assigned(block: &Block) -> Vec<String> {
    let mut names = Vec::new();
    assigned_in(block, &mut names);
    names
}

fn assigned_in(block: &Block, names: &mut Vec<String>) {
    for stmt in &block.stmts {
        match &stmt.kind {
            StmtKind::Assign { target, .. } => assigned_target(target, names),
            StmtKind::For { body, .. } | StmtKind::While { body, .. } => assigned_in(body, names),
            StmtKind::Expr(e) => assigned_expr(e, names),
            StmtKind::Let { value, .. } => assigned_expr(value, names),
            StmtKind::Const { .. } | StmtKind::Assert { .. } | StmtKind::Error => {}
        }
    }
    if let Some(value) = &block.value {
        assigned_expr(value, names);
    }
}

fn assigned_expr(e: &Expr, names: &mut Vec<String>) {
    each_expr(e, &mut |e| {
        let mut blocks: Vec<&Block> = Vec::new();
        match &e.kind {
            ExprKind::Block(block) | ExprKind::Unsafe(block) => blocks.push(block),
            ExprKind::If { then, otherwise, .. } => {
                blocks.push(then);
                blocks.extend(otherwise);
            }
            ExprKind::MutRef(name) => push(&name.text, names),
            _ => {}
        }
        for stmt in blocks.iter().flat_map(|b| &b.stmts) {
            match &stmt.kind {
                StmtKind::Assign { target, .. } => assigned_target(target, names),
                StmtKind::For { body, .. } | StmtKind::While { body, .. } => assigned_in(body, names),
                StmtKind::Let { .. }
                | StmtKind::Const { .. }
                | StmtKind::Assert { .. }
                | StmtKind::Expr(_)
                | StmtKind::Error => {}
            }
        }
    });
}

fn assigned_target(target: &Target, names: &mut Vec<String>) {
    match &target.kind {
        TargetKind::Name(name) => push(name, names),
        TargetKind::Element { tensor, .. } => push(&tensor.text, names),
        TargetKind::Tuple(items) => {
            for item in items {
                assigned_target(item, names);
            }
        }
        TargetKind::Ignore | TargetKind::Error => {}
    }
}

fn push(name: &str, names: &mut Vec<String>) {
    if !names.iter().any(|n| n == name) {
        names.push(name.to_string());
    }
}

/// Whether every assignment to a name in a block adds a small constant that is not negative.
pub(crate) fn only_grows(block: &Block, name: &str) -> bool {
    let mut grows = true;
    each_stmt(block, &mut |stmt| {
        if let StmtKind::Assign { target, op, value } = &stmt.kind {
            let mut names = Vec::new();
            assigned_target(target, &mut names);
            let plain = matches!(&target.kind, TargetKind::Name(_));
            grows &= !names.iter().any(|n| n == name) || (plain && adds_little(name, *op, value));
        }
    });
    each_in_block(block, &mut |e| grows &= !matches!(&e.kind, ExprKind::MutRef(of) if of.text == name));
    grows
}

/// `k += 2`, `k = k + 2`.
fn adds_little(name: &str, op: Option<BinaryOp>, value: &Expr) -> bool {
    let little = |e: &Expr| matches!(&e.kind, ExprKind::Literal(Literal::Int { value: 0..=1024, .. }));
    let itself = |e: &Expr| matches!(&e.kind, ExprKind::Name(n) if n == name);
    match (op, &value.kind) {
        (Some(BinaryOp::Add), _) => little(value),
        (None, ExprKind::Binary(BinaryOp::Add, a, b)) => (itself(a) && little(b)) || (little(a) && itself(b)),
        (_, _) => false,
    }
}

/// The names that a block binds anywhere in it: by `let`, as the variable of a loop, as the parameter of a closure.
pub(crate) fn bound_in(block: &Block) -> BTreeSet<String> {
    let mut names = Vec::new();
    each_stmt(block, &mut |stmt| match &stmt.kind {
        StmtKind::Let { pattern, .. } => bound_names(&pattern.kind, &mut names),
        StmtKind::For { variable, .. } => bound_names(&variable.kind, &mut names),
        StmtKind::Const { .. }
        | StmtKind::Assert { .. }
        | StmtKind::Assign { .. }
        | StmtKind::While { .. }
        | StmtKind::Expr(_)
        | StmtKind::Error => {}
    });
    each_in_block(block, &mut |e| {
        if let ExprKind::Closure { params, .. } = &e.kind {
            params.iter().for_each(|param| bound_names(&param.kind, &mut names));
        }
    });
    names.into_iter().collect()
}

/// Whether a block binds a variable that may be assigned to.
pub(crate) fn binds_mutable(block: &Block) -> bool {
    fn mutable(pattern: &PatternKind) -> bool {
        match pattern {
            PatternKind::Name { mutable: yes, .. } => *yes,
            PatternKind::Tuple(items) => items.iter().any(|item| mutable(&item.kind)),
            PatternKind::Ignore | PatternKind::Error => false,
        }
    }
    let mut found = false;
    each_stmt(block, &mut |stmt| {
        if let StmtKind::Let { pattern, .. } = &stmt.kind {
            found |= mutable(&pattern.kind);
        }
    });
    found
}

/// Visits every target that a block assigns to, the components of tuples too.
pub(crate) fn each_target(block: &Block, see: &mut dyn FnMut(&Target)) {
    fn target(one: &Target, see: &mut dyn FnMut(&Target)) {
        see(one);
        if let TargetKind::Tuple(items) = &one.kind {
            items.iter().for_each(|item| target(item, see));
        }
    }
    each_stmt(block, &mut |stmt| {
        if let StmtKind::Assign { target: one, .. } = &stmt.kind {
            target(one, see);
        }
    });
}

/// Visits every statement of a block and of the blocks in it, outer ones first.
fn each_stmt(block: &Block, see: &mut dyn FnMut(&Stmt)) {
    let mut inner: Vec<&Block> = Vec::new();
    for stmt in &block.stmts {
        see(stmt);
        match &stmt.kind {
            StmtKind::For { body, .. } | StmtKind::While { body, .. } => inner.push(body),
            StmtKind::Expr(e) | StmtKind::Let { value: e, .. } | StmtKind::Assign { value: e, .. } => {
                blocks_of(e, &mut inner)
            }
            StmtKind::Const { .. } | StmtKind::Assert { .. } | StmtKind::Error => {}
        }
    }
    block.value.iter().for_each(|e| blocks_of(e, &mut inner));
    inner.into_iter().for_each(|block| each_stmt(block, see));
}

/// The blocks that stand in an expression, not those within them.
fn blocks_of<'e>(e: &'e Expr, blocks: &mut Vec<&'e Block>) {
    match &e.kind {
        ExprKind::Block(block) | ExprKind::Unsafe(block) => blocks.push(block),
        ExprKind::If { condition, then, otherwise } => {
            blocks_of(condition, blocks);
            blocks.push(then);
            blocks.extend(otherwise);
        }
        ExprKind::Unary(_, a) | ExprKind::Cast(a, _) | ExprKind::Closure { body: a, .. } => blocks_of(a, blocks),
        ExprKind::Binary(_, a, b) => {
            blocks_of(a, blocks);
            blocks_of(b, blocks);
        }
        ExprKind::Tuple(items) | ExprKind::Array(items) | ExprKind::ExternCall { args: items, .. } => {
            items.iter().for_each(|item| blocks_of(item, blocks));
        }
        ExprKind::Element { indices, .. } | ExprKind::Get { indices, .. } => {
            indices.iter().for_each(|item| blocks_of(item, blocks));
        }
        ExprKind::Call(call) => call.args.iter().for_each(|item| blocks_of(item, blocks)),
        ExprKind::MatchShape { value, .. } => blocks_of(value, blocks),
        ExprKind::Literal(_)
        | ExprKind::Name(_)
        | ExprKind::Path(_)
        | ExprKind::Range(_)
        | ExprKind::MutRef(_)
        | ExprKind::Error => {}
    }
}

/// Visits every expression of a type.
pub(crate) fn each_in_type(ty: &Type, see: &mut dyn FnMut(&Expr)) {
    match &ty.kind {
        TypeKind::Tensor(tensor) => {
            for dim in &tensor.dims {
                each_expr(dim, see);
            }
        }
        TypeKind::Tuple(items) => {
            for item in items {
                each_in_type(item, see);
            }
        }
        TypeKind::Scalar(_) | TypeKind::Error => {}
    }
}

/// Visits every expression of a block, outer ones first.
pub(crate) fn each_in_block(block: &Block, see: &mut dyn FnMut(&Expr)) {
    for stmt in &block.stmts {
        each_in_stmt(stmt, see);
    }
    if let Some(value) = &block.value {
        each_expr(value, see);
    }
}

fn each_in_stmt(stmt: &Stmt, see: &mut dyn FnMut(&Expr)) {
    match &stmt.kind {
        StmtKind::Let { value, ty, .. } => {
            if let Some(ty) = ty {
                each_in_type(ty, see);
            }
            each_expr(value, see);
        }
        StmtKind::Const { ty, source, .. } => {
            each_in_type(ty, see);
            match source {
                ConstSource::Value(value) => each_expr(value, see),
                ConstSource::Safetensors { .. } | ConstSource::Npz { .. } | ConstSource::Npy { .. } => {}
            }
        }
        StmtKind::Assert { condition, .. } => each_expr(condition, see),
        StmtKind::Assign { target, value, .. } => {
            each_in_target(target, see);
            each_expr(value, see);
        }
        StmtKind::For { range, body, .. } => {
            each_in_range(range, see);
            each_in_block(body, see);
        }
        StmtKind::While { condition, body } => {
            each_expr(condition, see);
            each_in_block(body, see);
        }
        StmtKind::Expr(e) => each_expr(e, see),
        StmtKind::Error => {}
    }
}

fn each_in_target(target: &Target, see: &mut dyn FnMut(&Expr)) {
    match &target.kind {
        TargetKind::Element { indices, .. } => {
            for index in indices {
                each_expr(index, see);
            }
        }
        TargetKind::Tuple(items) => {
            for item in items {
                each_in_target(item, see);
            }
        }
        TargetKind::Name(_) | TargetKind::Ignore | TargetKind::Error => {}
    }
}

fn each_in_range(range: &Range, see: &mut dyn FnMut(&Expr)) {
    for end in [&range.start, &range.end].into_iter().flatten() {
        each_expr(end, see);
    }
    for step in &range.steps {
        match step {
            RangeStep::StepBy(by) => each_expr(by, see),
            RangeStep::Rev => {}
        }
    }
}

/// Visits an expression and all within it.
pub(crate) fn each_expr(e: &Expr, see: &mut dyn FnMut(&Expr)) {
    see(e);
    match &e.kind {
        ExprKind::Literal(_) | ExprKind::Name(_) | ExprKind::Path(_) | ExprKind::MutRef(_) | ExprKind::Error => {}
        ExprKind::Unary(_, a) | ExprKind::Cast(a, _) | ExprKind::Closure { body: a, .. } => each_expr(a, see),
        ExprKind::Binary(_, a, b) => {
            each_expr(a, see);
            each_expr(b, see);
        }
        ExprKind::Tuple(items) | ExprKind::Array(items) | ExprKind::ExternCall { args: items, .. } => all(items, see),
        ExprKind::Range(range) => each_in_range(range, see),
        ExprKind::Element { tensor, indices } => {
            each_expr(tensor, see);
            all(indices, see);
        }
        ExprKind::Get { tensor, indices, default, .. } => {
            each_expr(tensor, see);
            all(indices, see);
            if let Some(default) = default {
                each_expr(default, see);
            }
        }
        ExprKind::Call(call) => {
            all(&call.turbofish, see);
            all(&call.args, see);
            for named in &call.named {
                each_expr(&named.value, see);
            }
        }
        ExprKind::MatchShape { value, dims } => {
            each_expr(value, see);
            all(dims, see);
        }
        ExprKind::If { condition, then, otherwise } => {
            each_expr(condition, see);
            each_in_block(then, see);
            if let Some(block) = otherwise {
                each_in_block(block, see);
            }
        }
        ExprKind::Block(block) | ExprKind::Unsafe(block) => each_in_block(block, see),
    }
}

fn all(items: &[Expr], see: &mut dyn FnMut(&Expr)) {
    for item in items {
        each_expr(item, see);
    }
}

/// The names that a pattern binds, in order.
pub(crate) fn bound_names(pattern: &PatternKind, names: &mut Vec<String>) {
    match pattern {
        PatternKind::Name { name, .. } => names.push(name.clone()),
        PatternKind::Tuple(items) => {
            for item in items {
                bound_names(&item.kind, names);
            }
        }
        PatternKind::Ignore | PatternKind::Error => {}
    }
}
