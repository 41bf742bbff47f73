//! `PackNibbles`: constants of 4-bit integers are packed two to a byte, and kernels unpack what they load.
//!
//! Runs on flat tir. In memory that a program hands over an element has a byte; a constant is packed as ONNX packs it,
//! the element of an even index in the low bits. A parameter of a kernel is packed with the constants that are passed
//! for it; where some call passes other memory, neither is. A vector of neighbours that begins at an even index loads
//! half as many bytes and interleaves their halves. Changes no value.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::copy::keep_buffers;
use tenfold_ir::tir::{
    Access, BufId, BufUse, Builder, CallArg, Expr, ExprId, ExprMap, FuncKind, Intrinsic, Param, Phase, PrimFunc, Scope,
    Stmt, Ty,
};
use tenfold_ir::{ConstBytes, ConstData, ConstId, DType, Function, Loc, Module, Scalar, content};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};
use crate::relax_passes::const_data::bytes_of;

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("PackNibbles", &pack_nibbles)
    .in_phase(PassPhase::Flat)
    .at_level(1)
    .about("packs constants of 4-bit integers two to a byte, and unpacks what kernels load of them");

fn pack_nibbles(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    let nodes = packable(module);
    let mut constants: BTreeMap<ConstId, ConstId> = BTreeMap::new();
    for id in nodes.iter().filter_map(Node::constant) {
        let data = packed(module.constant(id))?;
        constants.insert(id, module.add_constant(data));
    }
    let names: Vec<String> = module.functions.keys().cloned().collect();
    for name in names {
        let Some(func) = module.prim(&name).cloned() else { continue };
        let own = |buf: &BufId| node(&func, *buf, true).is_some_and(|node| nodes.contains(&node));
        let bufs: BTreeSet<BufId> = (0..func.buffers.len() as u32).map(BufId).filter(own).collect();
        if !bufs.is_empty() {
            module.functions.insert(name, Function::Prim(unpacking(func, &bufs, &constants)));
        }
    }
    Ok(())
}

/// What is packed as a whole or not at all.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Node {
    /// A constant, in every function that has it.
    Constant(ConstId),
    /// A parameter that a kernel only reads.
    Param(String, BufId),
}

impl Node {
    fn constant(&self) -> Option<ConstId> {
        match self {
            Node::Constant(id) => Some(*id),
            Node::Param(..) => None,
        }
    }
}

/// The node that a buffer of 4-bit integers belongs to; `inner` says that only functions of the module call this one.
fn node(func: &PrimFunc, buf: BufId, inner: bool) -> Option<Node> {
    let data = &func.buffers[buf.0 as usize];
    if !data.dtype.is_nibble() {
        return None;
    }
    match data.scope {
        Scope::Const(id) => Some(Node::Constant(id)),
        Scope::Param if inner && func.params.contains(&Param::Buffer(buf, BufUse::In)) => {
            Some(Node::Param(func.name.clone(), buf))
        }
        _ => None,
    }
}

/// Whether a buffer may be packed by itself: flat, of a known size, with no more known of its elements than their dtype.
fn is_plain(func: &PrimFunc, buf: BufId) -> bool {
    let data = &func.buffers[buf.0 as usize];
    let flat = matches!(&data.shape[..], [size] if size.as_const().is_some());
    flat && data.strides.is_none() && data.range.is_none() && func.phase >= Phase::Flat && func.kind != FuncKind::Extern
}

/// Every node that may be packed: none is passed for, or gets, what may not.
fn packable(module: &Module) -> BTreeSet<Node> {
    // A graph that is left may use a constant or call a kernel in its own way.
    if module.prims().count() < module.functions.len() {
        return BTreeSet::new();
    }
    let node_in = |func: &PrimFunc, buf: BufId| node(func, buf, !func.exported && func.name != module.entry);
    let (mut nodes, mut unfit, mut pairs) = (BTreeSet::new(), Vec::new(), Vec::new());
    for func in module.prims() {
        for buf in (0..func.buffers.len() as u32).map(BufId) {
            let Some(node) = node_in(func, buf) else { continue };
            if !is_plain(func, buf) {
                unfit.push(node.clone());
            }
            nodes.insert(node);
        }
        func.body.walk(&mut |stmt| {
            let Stmt::Call { func: callee, args, .. } = stmt else { return };
            let Some(callee) = module.prim(callee) else { return };
            for (param, arg) in callee.params.iter().zip(args) {
                if let (Param::Buffer(to, _), CallArg::Buffer(from)) = (param, arg) {
                    pairs.push((node_in(func, *from), node_in(callee, *to)));
                }
            }
        });
    }
    // A kernel that nothing calls has whatever memory its caller gives it.
    let called: BTreeSet<Node> = pairs.iter().filter_map(|(_, to)| to.clone()).collect();
    nodes.retain(|node| node.constant().is_some() || called.contains(node));
    nodes.retain(|node| !unfit.contains(node));
    while let Some(node) = pairs.iter().find_map(|(from, to)| torn(&nodes, from.as_ref(), to.as_ref())) {
        nodes.remove(&node);
    }
    nodes
}

/// The node of a pair that is in the set without the other.
fn torn(nodes: &BTreeSet<Node>, from: Option<&Node>, to: Option<&Node>) -> Option<Node> {
    let among = |node: Option<&Node>| node.filter(|node| nodes.contains(node)).cloned();
    match (among(from), among(to)) {
        (Some(node), None) | (None, Some(node)) => Some(node),
        (Some(_), Some(_)) | (None, None) => None,
    }
}

/// The constant of bytes that hold two elements each.
fn packed(data: &ConstData) -> Result<ConstData, CompileError> {
    let failed = || format!("the file of the constant `{}` changed while it was read", data.name);
    let bytes = bytes_of(data).ok_or_else(|| CompileError::internal(Loc::default(), failed()))?;
    let pair = |two: &[u8]| two[0] & 15 | two.get(1).map_or(0, |high| high << 4);
    let bytes: Vec<u8> = bytes.chunks(2).map(pair).collect();
    let shape = vec![bytes.len() as u64];
    let hash = content::of_bytes(DType::U8, &shape, &bytes);
    Ok(ConstData { hash, name: data.name.clone(), dtype: DType::U8, shape, bytes: ConstBytes::Inline(bytes.into()) })
}

/// The function with packed buffers in the place of these. An access of another dtype is of another buffer: expressions
/// have one type each.
fn unpacking(func: PrimFunc, bufs: &BTreeSet<BufId>, constants: &BTreeMap<ConstId, ConstId>) -> PrimFunc {
    keep_buffers(rewrite_body(func, |b, body| {
        let instead: BTreeMap<BufId, BufId> =
            bufs.iter().map(|old| (*old, half_as_large(b, *old, constants))).collect();
        for param in &mut b.func_mut().params {
            if let Param::Buffer(buf, _) = param {
                *buf = instead.get(buf).copied().unwrap_or(*buf);
            }
        }
        let mut loads = ExprMap::new(|b: &mut Builder, id: ExprId| match b.func().exprs.get(id) {
            Expr::Load { buf, index, access } => match (instead.get(buf), &index[..]) {
                (Some(new), [index]) => {
                    let (from, index, ty) = ((*new, *access), *index, b.ty(id));
                    element(b, from, index, ty)
                }
                _ => id,
            },
            _ => id,
        });
        let body = loads.stmt(b, body);
        handed_on(b, &instead, body)
    }))
}

/// A buffer for the bytes of another one.
fn half_as_large(b: &mut Builder, old: BufId, constants: &BTreeMap<ConstId, ConstId>) -> BufId {
    let data = b.buf(old).clone();
    let scope = match data.scope {
        Scope::Const(id) => Scope::Const(constants.get(&id).copied().unwrap_or(id)),
        other => other,
    };
    let halved = |extent: &IntExpr| extent.as_const().map_or_else(|| extent.clone(), |n| IntExpr::from((n + 1) / 2));
    let shape = data.shape.iter().map(halved).collect();
    b.buffer(&format!("{}_packed", data.name), DType::U8, shape, scope)
}

/// Calls and prefetches of packed buffers.
fn handed_on(b: &mut Builder, instead: &BTreeMap<BufId, BufId>, stmt: Stmt) -> Stmt {
    match stmt {
        Stmt::Prefetch { buf, index } if instead.contains_key(&buf) => {
            Stmt::Prefetch { buf: instead[&buf], index: index.into_iter().map(|i| halves(b, i).0).collect() }
        }
        Stmt::Call { func, mut args, launch } => {
            for arg in &mut args {
                if let CallArg::Buffer(buf) = arg {
                    *buf = instead.get(buf).copied().unwrap_or(*buf);
                }
            }
            Stmt::Call { func, args, launch }
        }
        other => other.map_children(&mut |s| handed_on(b, instead, s)),
    }
}

/// Elements of a packed buffer, of type `ty`, from where an index says.
fn element(b: &mut Builder, from: (BufId, Access), index: ExprId, ty: Ty) -> ExprId {
    if let Expr::Ramp(base, stride, lanes) = *b.func().exprs.get(index)
        && let Some((half, false)) = parity(b, base)
    {
        match b.func().literal(stride) {
            Some(1) if lanes % 2 == 0 => return neighbours(b, from, half, ty),
            Some(step) if step % 2 == 0 => {
                let stride = b.index(step / 2);
                let at = b.ramp(half, stride, lanes);
                let byte = bytes(b, from, at, lanes);
                let up = b.scalar(Scalar::int(DType::U8, 4));
                return nibble(b, byte, Some(up), ty);
            }
            _ => {}
        }
    }
    let (at, odd) = halves(b, index);
    let byte = bytes(b, from, at, ty.lanes);
    // The shift that brings the element to the upper bits.
    let up = match odd {
        Odd::Known(true) => None,
        Odd::Known(false) => Some(b.scalar(Scalar::int(DType::U8, 4))),
        Odd::Value(odd) => {
            let odd = b.cast(DType::U8, odd);
            let four = b.scalar(Scalar::int(DType::U8, 4));
            let less = b.mul(odd, four);
            Some(b.sub(four, less))
        }
    };
    nibble(b, byte, up, ty)
}

/// As many neighbours as `ty` has lanes, from the low half of a byte on.
fn neighbours(b: &mut Builder, from: (BufId, Access), half: ExprId, ty: Ty) -> ExprId {
    let lanes = ty.lanes / 2;
    let one = b.index(1);
    let at = if lanes == 1 { half } else { b.ramp(half, one, lanes) };
    let byte = bytes(b, from, at, lanes);
    let four = b.scalar(Scalar::int(DType::U8, 4));
    let (low, high) = (nibble(b, byte, Some(four), ty), nibble(b, byte, None, ty));
    b.shuffle(vec![low, high], (0..lanes).flat_map(|n| [n, n + lanes]).collect())
}

fn bytes(b: &mut Builder, (buf, access): (BufId, Access), at: ExprId, lanes: u16) -> ExprId {
    let ty = Ty { lanes, ..Ty::scalar(DType::U8) };
    b.raw(Expr::Load { buf, index: vec![at], access }, ty)
}

/// What the upper bits of a byte hold once it is shifted up, if it is, as a value of the dtype of `ty`: its sign fills
/// the rest.
fn nibble(b: &mut Builder, byte: ExprId, up: Option<ExprId>, ty: Ty) -> ExprId {
    let signed = ty.elem == Ty::scalar(DType::I4).elem;
    let wide = if signed { DType::I8 } else { DType::U8 };
    let upper = up.map_or(byte, |up| b.binary(BinaryOp::Shl, byte, up));
    let upper = if signed { b.call(Intrinsic::Bitcast, vec![upper], Ty::scalar(wide)) } else { upper };
    let four = b.scalar(Scalar::int(wide, 4));
    let value = b.binary(BinaryOp::Shr, upper, four);
    b.call(Intrinsic::Bitcast, vec![value], ty)
}

/// Whether an index is odd.
enum Odd {
    Known(bool),
    Value(ExprId),
}

/// An index, rounded down to even, over two, and whether it was odd.
fn halves(b: &mut Builder, index: ExprId) -> (ExprId, Odd) {
    if let Some((half, odd)) = parity(b, index) {
        return (half, Odd::Known(odd));
    }
    let two = b.int_like(index, 2);
    let half = b.binary(BinaryOp::DivEuclid, index, two);
    (half, Odd::Value(b.binary(BinaryOp::RemEuclid, index, two)))
}

/// The same where what the index is made of says whether it is odd.
fn parity(b: &mut Builder, index: ExprId) -> Option<(ExprId, bool)> {
    match *b.func().exprs.get(index) {
        Expr::Index(n) => Some((b.index(n.div_euclid(2)), n.rem_euclid(2) == 1)),
        Expr::Broadcast(a, lanes) => {
            let (half, odd) = parity(b, a)?;
            Some((b.broadcast(half, lanes), odd))
        }
        Expr::Binary(BinaryOp::Add, x, y) => {
            let ((x, x_odd), (y, y_odd)) = (parity(b, x)?, parity(b, y)?);
            let sum = if b.func().literal(y) == Some(0) { x } else { b.add(x, y) };
            let one = b.int_like(sum, 1);
            Some((if x_odd && y_odd { b.add(sum, one) } else { sum }, x_odd != y_odd))
        }
        Expr::Binary(BinaryOp::Mul, x, y) => {
            let (even, other) = match (parity(b, x), parity(b, y)) {
                (_, Some((half, false))) => (half, x),
                (Some((half, false)), _) => (half, y),
                _ => return None,
            };
            let one = b.func().literal(even) == Some(1);
            Some((if one { other } else { b.mul(other, even) }, false))
        }
        _ => None,
    }
}
