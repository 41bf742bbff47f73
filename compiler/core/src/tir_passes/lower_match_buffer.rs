//! `LowerMatchBuffer`: accesses of a view become accesses of the buffer it is a view of.
//!
//! Behind `ConvertBlocksToOpaque`: what a region begins at is then made of loops' variables, which hold wherever the view
//! does. A view of a view is resolved from the outside in. A view cannot be passed to a call, which takes whole buffers.

use std::collections::BTreeMap;

use tenfold_ir::Module;
use tenfold_ir::tir::{BufId, Builder, CallArg, Expr, ExprId, ExprMap, MatchBuffer, PrimFunc, Region, Stmt};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("LowerMatchBuffer", &run)
    .in_phase(PassPhase::Loops)
    .lowering()
    .about("replaces accesses of views by accesses of what they are views of");

fn run(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    let mut views = BTreeMap::new();
    func.body.walk(&mut |stmt| collect(stmt, &mut views));
    if views.is_empty() {
        return Ok(func);
    }
    if let Some(name) = passed(&func, &views) {
        let text = format!("`{}` passes a part of a buffer to a function: `{name}` is a view", func.name);
        return Err(CompileError::internal(func.loc, text));
    }
    Ok(rewrite_body(func, |b, body| {
        let mut map = ExprMap::new(|b: &mut Builder, id: ExprId| load(b, id, &views));
        let body = map.stmt(b, body);
        // Indices of loads are rewritten; those of stores stand in statements.
        body.map(&mut |stmt| rewrite(b, stmt, &views))
    }))
}

/// The region of each view.
type Views = BTreeMap<BufId, Region>;

fn collect(stmt: &Stmt, views: &mut Views) {
    if let Stmt::Block(block) = stmt {
        views.extend(block.matches.iter().map(|MatchBuffer { view, region }| (*view, region.clone())));
    }
}

/// The name of a view that a call is given.
fn passed(func: &PrimFunc, views: &Views) -> Option<String> {
    let mut found = None;
    func.body.walk(&mut |stmt| {
        if let Stmt::Call { args, .. } = stmt {
            let view = args.iter().find_map(|a| match a {
                CallArg::Buffer(buf) if views.contains_key(buf) => Some(*buf),
                CallArg::Buffer(_) | CallArg::Value(_) => None,
            });
            found = found.take().or(view.map(|buf| func.buffers[buf.0 as usize].name.clone()));
        }
    });
    found
}

/// An access of a view as one of the buffer behind it, and behind those that it is a view of.
fn place(b: &mut Builder, mut buf: BufId, mut index: Vec<ExprId>, views: &Views) -> (BufId, Vec<ExprId>) {
    while let Some(region) = views.get(&buf) {
        let lacking = region.ranges.len().saturating_sub(index.len());
        let at = region.ranges.iter().enumerate().map(|(axis, (begin, _))| match axis.checked_sub(lacking) {
            Some(own) => {
                let i = b.to_index(index[own]);
                if matches!(b.func().exprs.get(*begin), Expr::Index(0)) { i } else { b.add(*begin, i) }
            }
            None => *begin,
        });
        index = at.collect();
        buf = region.buf;
    }
    (buf, index)
}

fn load(b: &mut Builder, id: ExprId, views: &Views) -> ExprId {
    match b.func().exprs.get(id).clone() {
        Expr::Load { buf, index, access } if views.contains_key(&buf) => {
            let ((buf, index), ty) = (place(b, buf, index, views), b.ty(id));
            b.raw(Expr::Load { buf, index, access }, ty)
        }
        _ => id,
    }
}

fn rewrite(b: &mut Builder, stmt: Stmt, views: &Views) -> Stmt {
    match stmt {
        Stmt::Store { buf, index, value, access } => {
            let (buf, index) = place(b, buf, index, views);
            Stmt::Store { buf, index, value, access }
        }
        Stmt::Prefetch { buf, index } => {
            let (buf, index) = place(b, buf, index, views);
            Stmt::Prefetch { buf, index }
        }
        Stmt::Block(mut block) => {
            block.matches.clear();
            // Regions of views say nothing that regions of their buffers do not.
            block.reads.retain(|region| !views.contains_key(&region.buf));
            block.writes.retain(|region| !views.contains_key(&region.buf));
            Stmt::Block(block)
        }
        other => other,
    }
}
