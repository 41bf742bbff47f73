//! What kind of operator a prim-func is, from what its stages read and write. No name of an operator is looked at.

use tenfold_ir::DType;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{BufId, BufUse, Elem, Expr, ExprId, IterKind, OpPattern, Param, PrimFunc, Stmt, VarId, operands};

use super::access::{Axis, accesses, axes, loads, names};
use super::stage::{Stage, Staged};

/// What fusion has to know of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    /// What it is as a whole.
    pub pattern: OpPattern,
    /// How it reads each operand, in the order of its buffer parameters that it does not only write.
    pub operands: Vec<OpPattern>,
    /// Whether each element is one element of an operand, or none, moved: to read it again costs a load at most.
    pub movement: bool,
    /// Whether it is one stage whose value can be written out where it is read.
    pub inlinable: bool,
    /// Whether it reads integers of 4 bits and makes larger elements of them.
    pub widens: bool,
    /// Whether it reads numbers of 8 bits and makes floats of them.
    pub of_bytes: bool,
    /// Whether it makes larger elements of numbers of 8 bits, and reads nothing else.
    pub grows: bool,
}

/// A function that fuses with nothing.
fn opaque(func: &PrimFunc) -> Kind {
    let inputs = func.params.iter().filter(|p| matches!(p, Param::Buffer(_, BufUse::In | BufUse::InOut))).count();
    Kind {
        pattern: OpPattern::Opaque,
        operands: vec![OpPattern::Opaque; inputs],
        movement: false,
        inlinable: false,
        widens: false,
        of_bytes: false,
        grows: false,
    }
}

/// The kind of a function.
pub(crate) fn kind_of(func: &PrimFunc) -> Kind {
    let Some(staged) = Staged::of(func).filter(|s| !s.stages.is_empty()) else { return opaque(func) };
    let mut outputs = func.params.iter().filter(|p| matches!(p, Param::Buffer(_, BufUse::Out | BufUse::InOut)));
    let one = outputs.next().is_some() && outputs.next().is_none();
    if !one {
        return opaque(func);
    }
    let func = staged.b.func();
    let pattern = combined(func, &staged.stages);
    let inputs = func.params.iter().filter_map(|p| match p {
        Param::Buffer(buf, BufUse::In | BufUse::InOut) => Some(*buf),
        Param::Buffer(_, BufUse::Out) | Param::Value(_) | Param::Workspace => None,
    });
    let operands = inputs.map(|buf| operand(func, &staged.stages, buf, pattern)).collect();
    let value = match &staged.stages[..] {
        [stage] if pattern <= OpPattern::Injective => whole_value(func, stage),
        _ => None,
    };
    let movement = value.is_some_and(|value| moves(func, value));
    let widens = value.is_some_and(|value| widens(func, value));
    let of_bytes = value.is_some_and(|value| of_bytes(func, value));
    let grows = value.is_some_and(|value| grows(func, value));
    Kind { pattern, operands, movement, inlinable: value.is_some(), widens, of_bytes, grows }
}

/// Whether a value is larger than all that it is made of, which is numbers of 8 bits.
fn grows(func: &PrimFunc, value: ExprId) -> bool {
    let loads = loads(func, [value]);
    let larger = matches!(func.exprs.ty(value).elem, Elem::Scalar(dtype) if dtype.size_bytes() > 1);
    larger && !loads.is_empty() && loads.iter().all(|a| is_byte(func.buffers[a.buf.0 as usize].dtype))
}

/// Whether a value is a float that is made of numbers of 8 bits.
pub(crate) fn of_bytes(func: &PrimFunc, value: ExprId) -> bool {
    let float = matches!(func.exprs.ty(value).elem, Elem::Scalar(dtype) if dtype.is_float());
    float && loads(func, [value]).iter().any(|a| is_byte(func.buffers[a.buf.0 as usize].dtype))
}

/// Whether a dtype has numbers of 8 bits.
pub(crate) fn is_byte(dtype: DType) -> bool {
    dtype.size_bytes() == 1 && !dtype.is_bool() && !dtype.is_nibble()
}

/// Whether a value is made of integers of 4 bits and is larger.
pub(crate) fn widens(func: &PrimFunc, value: ExprId) -> bool {
    let nibble = |elem: Elem| matches!(elem, Elem::Scalar(dtype) if dtype.is_nibble());
    let loads = loads(func, [value]);
    !nibble(func.exprs.ty(value).elem)
        && loads.iter().any(|a| nibble(Elem::Scalar(func.buffers[a.buf.0 as usize].dtype)))
}

/// Stages in order: at most one may reduce, and what follows it stays element by element.
fn combined(func: &PrimFunc, stages: &[Stage]) -> OpPattern {
    let patterns: Vec<OpPattern> = stages.iter().map(|s| stage_pattern(func, s)).collect();
    let reductions = patterns.iter().filter(|p| **p > OpPattern::Injective).count();
    let most = patterns.iter().copied().max().unwrap_or(OpPattern::Opaque);
    let first = patterns.iter().position(|p| *p > OpPattern::Injective).unwrap_or(0);
    let follows = patterns[first..].iter().skip(1).all(|p| *p == OpPattern::ElementWise);
    match reductions {
        0 => most,
        1 if follows => most,
        _ => OpPattern::Opaque,
    }
}

/// The pattern of one stage.
fn stage_pattern(func: &PrimFunc, stage: &Stage) -> OpPattern {
    if stage.iters.iter().any(|i| i.kind == IterKind::Ordered) {
        return OpPattern::Opaque;
    }
    if stage.iters.iter().any(|i| i.kind == IterKind::Reduce) {
        return reduction_pattern(func, stage);
    }
    let Stmt::Store { value, .. } = &stage.body else { return row_pattern(func, stage) };
    let Some(stored) = own_store(func, stage) else { return OpPattern::Injective };
    let reads = loads(func, [*value]);
    let bare = bare_vars(func, *value);
    let read = reads.iter().map(|a| read_pattern(&axes(func, &a.index), &stored)).max();
    let most = read.unwrap_or(OpPattern::ElementWise);
    if bare { OpPattern::Injective } else { most }
}

/// How a spatial stage's element reads an operand.
fn read_pattern(read: &[Axis], stored: &[Axis]) -> OpPattern {
    let vars = |all: &[Axis]| all.iter().filter(|a| matches!(a, Axis::Iter(..))).copied().collect::<Vec<_>>();
    let plain = read.iter().all(|a| matches!(a, Axis::Iter(_, 0) | Axis::Fixed(0)));
    let (mine, own) = (vars(read), vars(stored));
    if !plain {
        return OpPattern::Injective;
    }
    if mine == own {
        return OpPattern::ElementWise;
    }
    let mut rest = own.iter();
    let in_order = mine.iter().all(|v| rest.any(|o| o == v));
    if in_order { OpPattern::Broadcast } else { OpPattern::Injective }
}

/// The index of the stage's one store, if it writes an element of its own for each point.
fn own_store(func: &PrimFunc, stage: &Stage) -> Option<Vec<Axis>> {
    let Stmt::Store { index, .. } = &stage.body else { return None };
    let stored = axes(func, index);
    let vars: Vec<VarId> =
        stored.iter().filter_map(|a| if let Axis::Iter(v, 0) = a { Some(*v) } else { None }).collect();
    let plain = stored.iter().all(|a| matches!(a, Axis::Iter(_, 0) | Axis::Fixed(0)));
    let each = stage.iters.iter().all(|i| vars.iter().filter(|v| **v == i.var).count() == 1);
    (plain && each && vars.len() == stage.iters.len()).then_some(stored)
}

/// The value that a stage gives every element of what it writes.
pub(crate) fn whole_value(func: &PrimFunc, stage: &Stage) -> Option<ExprId> {
    let Stmt::Store { buf, .. } = &stage.body else { return None };
    let own = |value: &ExprId| loads(func, [*value]).iter().any(|a| a.buf == *buf);
    updated_value(func, stage).filter(|value| !own(value))
}

/// The same of a stage whose value may be made of what the buffer held before.
pub(crate) fn updated_value(func: &PrimFunc, stage: &Stage) -> Option<ExprId> {
    let stored = own_store(func, stage)?;
    let Stmt::Store { buf, value, .. } = &stage.body else { return None };
    let pure = stage.init.is_none() && stage.iters.iter().all(|i| i.kind == IterKind::Spatial);
    (pure && covers(func, stage, *buf, &stored)).then_some(*value)
}

/// Whether the iterators of a stage give all elements of a buffer, each of whose indices is one of them.
pub(crate) fn covers(func: &PrimFunc, stage: &Stage, buf: BufId, index: &[Axis]) -> bool {
    let mut viewer = tenfold_ir::tir::Viewer::new(func);
    let mut covers = |(axis, extent): (&Axis, &tenfold_ir::arith::IntExpr)| match axis {
        Axis::Iter(v, _) => stage.iters.iter().any(|i| i.var == *v && viewer.int(i.extent) == *extent),
        Axis::Fixed(_) => extent.as_const() == Some(1),
        Axis::Other => false,
    };
    index.iter().zip(&func.buffers[buf.0 as usize].shape).all(&mut covers)
}

/// `t = t + a * b` is a contraction, where both factors are read; any other reduction is one of elements.
fn reduction_pattern(func: &PrimFunc, stage: &Stage) -> OpPattern {
    let Stmt::Store { buf, index, value, .. } = &stage.body else { return OpPattern::Opaque };
    let own = |id: ExprId| matches!(func.exprs.get(id), Expr::Load { buf: b, index: i, .. } if b == buf && i == index);
    let Expr::Binary(op, old, new) = func.exprs.get(*value) else { return OpPattern::Opaque };
    if !own(*old) || loads(func, [*new]).iter().any(|a| a.buf == *buf) {
        return OpPattern::Opaque;
    }
    let reads = |id: ExprId| !loads(func, [id]).is_empty();
    match (op, func.exprs.get(*new)) {
        (BinaryOp::Add, Expr::Binary(BinaryOp::Mul, a, b)) if a != b && reads(*a) && reads(*b) => {
            OpPattern::OutEWiseFusable
        }
        _ => OpPattern::CommReduce,
    }
}

/// A stage whose body walks over elements itself: windows that overlap make it large.
fn row_pattern(func: &PrimFunc, stage: &Stage) -> OpPattern {
    let mut inner: Vec<VarId> = Vec::new();
    stage.body.walk(&mut |s| {
        if let Stmt::For { var, .. } = s {
            inner.push(*var);
        }
    });
    let all = accesses(func, stage);
    if inner.is_empty() || all.iter().filter(|a| a.write).count() != 1 {
        return OpPattern::Opaque;
    }
    let mixes =
        |id: &ExprId| inner.iter().any(|v| names(func, *id, *v)) && stage.iters.iter().any(|i| names(func, *id, i.var));
    let overlaps = all.iter().filter(|a| !a.write).any(|a| a.index.iter().any(mixes));
    if overlaps { OpPattern::OutEWiseFusable } else { OpPattern::CommReduce }
}

/// How an operand is read by the function as a whole.
fn operand(func: &PrimFunc, stages: &[Stage], buf: BufId, pattern: OpPattern) -> OpPattern {
    let [stage] = stages else { return pattern };
    let (Stmt::Store { value, .. }, Some(stored)) = (&stage.body, own_store(func, stage)) else { return pattern };
    if pattern > OpPattern::Injective {
        return pattern;
    }
    let reads = loads(func, [*value]).into_iter().filter(|a| a.buf == buf);
    reads.map(|a| read_pattern(&axes(func, &a.index), &stored)).max().unwrap_or(OpPattern::ElementWise)
}

/// Whether a value is an element as it was read, or made of no element.
pub(crate) fn moves(func: &PrimFunc, value: ExprId) -> bool {
    match func.exprs.get(value) {
        Expr::Load { index, .. } => loads(func, index.iter().copied()).is_empty(),
        _ => loads(func, [value]).is_empty() && func.reachable([value]).len() <= 16,
    }
}

/// Whether a value is made of variables other than by indices of what it reads.
fn bare_vars(func: &PrimFunc, value: ExprId) -> bool {
    let mut open = vec![value];
    let mut seen = std::collections::BTreeSet::new();
    while let Some(id) = open.pop() {
        match func.exprs.get(id) {
            Expr::Var(_) => return true,
            Expr::Load { .. } => {}
            expr => open.extend(operands(expr).into_iter().filter(|o| seen.insert(*o))),
        }
    }
    false
}
