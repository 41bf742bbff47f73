//! If, Loop and Scan.
//!
//! A branch whose condition is known is the branch; a loop whose number of turns is known and small is written out.
//! Everything else becomes a region of the graph, with values of one type on every way.

use tenfold_ir::DType;
use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::ops::{Arg, AttrValue};
use tenfold_ir::relax::{Op, Region, SliceAxis, SymDecl, SymKind, Type, ValueId};
use tenfold_ir::{Loc, Scalar};

use super::{OnnxOp, op, shape::flip};
use crate::call::{Call, axis_of};
use crate::elem::Elem;
use crate::emit::int;
use crate::proto::Graph;
use crate::value::{Fault, Ints, Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

/// Turns that are written out at most.
const MOST_TURNS: i64 = 64;

fn if_<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    match cx.f64s(call.value(0)?) {
        Ok(known) => {
            let holds = known.first().is_some_and(|v| *v != 0.0);
            cx.subgraph(call.graph(if holds { "then_branch" } else { "else_branch" })?, Vec::new())
        }
        Err(Fault::Poison) => Err(Fault::Poison),
        Err(Fault::Message(_) | Fault::Wanted(_)) => branches(cx, call),
    }
}

/// A branch at run time. Shapes must agree.
fn branches<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let condition = call.x(cx, 0)?;
    let condition = cx.reshape(condition, &[])?;
    let (then, first) = region(cx, Vec::new(), |cx, _| cx.subgraph(call.graph("then_branch")?, Vec::new()))?;
    let (other, second) = region(cx, Vec::new(), |cx, _| cx.subgraph(call.graph("else_branch")?, Vec::new()))?;
    if first != second {
        return fault("its branches give values of different types or shapes");
    }
    results(cx, Op::If, &[condition], vec![then, other], first)
}

/// Types of what a region gives.
type Types = Vec<(Type, Elem)>;

/// A region that takes values of these types and gives what `body` gives.
fn region<'m>(
    cx: &mut Cx<'m>,
    params: Types,
    body: impl FnOnce(&mut Cx<'m>, Vec<Value>) -> Results,
) -> Outcome<(Region, Types)> {
    cx.b.open_body(Vec::new());
    let values: Vec<ValueId> = params.iter().map(|(ty, _)| cx.b.region_param(ty.clone(), "carried")).collect();
    let given = values.iter().zip(&params).map(|(v, (_, elem))| Value::Node(*v, *elem)).collect();
    let done = body(cx, given).and_then(|out| {
        let mut ids = Vec::new();
        for value in &out {
            ids.push((cx.node(value)?, cx.elem(value)?));
        }
        Ok(ids)
    });
    let blocks = cx.b.close_body();
    let ids = done?;
    let types = ids.iter().map(|(id, elem)| (cx.b.ty(*id).clone(), *elem)).collect();
    Ok((Region { params: values, blocks, results: ids.into_iter().map(|(id, _)| id).collect() }, types))
}

fn results(cx: &mut Cx<'_>, op: Op, args: &[ValueId], regions: Vec<Region>, types: Types) -> Results {
    let ty = match types.as_slice() {
        [(one, _)] => one.clone(),
        all => Type::Tuple(all.iter().map(|(ty, _)| ty.clone()).collect()),
    };
    let out = cx.b.emit_regions(op, args, regions, ty);
    let parts = cx.components(out)?;
    Ok(parts.into_iter().zip(types).map(|(id, (_, elem))| Value::Node(id, elem)).collect())
}

/// What is carried and what each turn gives.
struct Looped {
    carried: Vec<Value>,
    stacked: Vec<Vec<Value>>,
}

fn loop_<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let body = call.graph("body")?;
    let carried: Vec<Value> = call.inputs.get(2..).unwrap_or_default().to_vec();
    let limit = if call.has(0) { known(cx, call.value(0)?)? } else { Some(i64::MAX) };
    let first = if call.has(1) { known(cx, call.value(1)?)? } else { Some(1) };
    match (limit, first) {
        (Some(limit), Some(first)) if limit <= MOST_TURNS || body_ends(cx, body, &carried) => {
            let done = written_out(cx, body, limit, first != 0, carried)?;
            finish(cx, done)
        }
        (Some(limit), Some(1)) => for_region(cx, body, int(limit), carried),
        (_, _) => fault("a loop whose number of turns depends on data is not supported"),
    }
}

/// An integer or bool that is known, or none if it depends on inputs.
fn known<'m>(cx: &mut Cx<'m>, value: &Value) -> Outcome<Option<i64>> {
    match cx.f64s(value) {
        Ok(values) => Ok(values.first().map(|v| *v as i64)),
        Err(Fault::Message(_)) => Ok(None),
        Err(other) => Err(other),
    }
}

/// Whether a loop without a limit is one that is written out: its condition must end it.
fn body_ends(_: &Cx<'_>, body: &Graph<'_>, carried: &[Value]) -> bool {
    body.inputs.len() == carried.len() + 2 && body.outputs.first().is_some_and(|o| !passes_condition(body, o.name))
}

/// Whether the condition comes out as it went in.
fn passes_condition(body: &Graph<'_>, out: &str) -> bool {
    let incoming = body.inputs.get(1).map(|i| i.name);
    incoming == Some(out)
        || body.nodes.iter().any(|n| n.outputs.contains(&out) && matches!(n.op_type, "Identity" | "Constant"))
}

fn written_out<'m>(
    cx: &mut Cx<'m>,
    body: &Graph<'m>,
    limit: i64,
    mut going: bool,
    mut carried: Vec<Value>,
) -> Outcome<Looped> {
    let count = carried.len();
    let mut stacked: Vec<Vec<Value>> = vec![Vec::new(); body.outputs.len().saturating_sub(count + 1)];
    let mut turn = 0;
    while going && turn < limit {
        if turn >= MOST_TURNS {
            return fault(format!("a loop of more than {MOST_TURNS} turns that depends on data is not supported"));
        }
        let index = Ints { elem: Elem::Int64, shape: Vec::new(), values: vec![int(turn)] };
        let condition = cx.b.scalar(Scalar::bool(true));
        let condition = cx.plain(condition);
        let given = [Value::from(index), condition].into_iter().chain(carried).collect();
        let mut out = cx.subgraph(body, given)?.into_iter();
        let next = out.next().unwrap_or(Value::None);
        going = match known(cx, &next)? {
            Some(next) => next != 0,
            None => return fault("the condition of the loop depends on data"),
        };
        carried = out.by_ref().take(count).collect();
        stacked.iter_mut().zip(out).for_each(|(all, one)| all.push(one));
        turn += 1;
    }
    Ok(Looped { carried, stacked })
}

/// What was carried, and each turn's values stacked along a new first axis.
fn finish(cx: &mut Cx<'_>, done: Looped) -> Results {
    let mut out = done.carried;
    for all in &done.stacked {
        out.push(stack(cx, all, 0)?);
    }
    Ok(out)
}

fn stack(cx: &mut Cx<'_>, all: &[Value], axis: i64) -> Outcome<Value> {
    let Some(first) = all.first() else { return fault("a loop without turns gives a tensor of unknown shape") };
    let elem = cx.elem(first)?;
    let ids = all.iter().map(|value| cx.node(value)).collect::<Outcome<Vec<_>>>()?;
    let y = cx.operator("stack", vec![Arg::List(ids)], &[("axis", AttrValue::Int(int(axis)))])?;
    Ok(Value::Node(y, elem))
}

/// A loop of relax; what each turn gives is written into a tensor of all turns.
fn for_region<'m>(cx: &mut Cx<'m>, body: &Graph<'m>, extent: IntExpr, carried: Vec<Value>) -> Results {
    let count = carried.len();
    let mut types = Types::new();
    let mut args = Vec::new();
    for value in &carried {
        let (id, elem) = (cx.node(value)?, cx.elem(value)?);
        types.push((cx.b.ty(id).clone(), elem));
        args.push(id);
    }
    let var = Sym::new(format!("turn{}", cx.b.sym_count()));
    cx.b.prover.assume_range(&var, &int(0), &extent);
    // A first walk learns the types of what each turn gives; what it makes is dropped.
    let run = |cx: &mut Cx<'m>, given: Vec<Value>| {
        let index = cx.emit(Op::IndexValue { expr: IntExpr::var(var.clone()), dtype: DType::I64 }, &[])?;
        let condition = cx.b.scalar(Scalar::bool(true));
        let head = [cx.plain(index), cx.plain(condition)];
        cx.subgraph(body, head.into_iter().chain(given).collect())
    };
    let (_, learned) = region(cx, types.clone(), run)?;
    for (ty, elem) in learned.get(count + 1..).unwrap_or_default() {
        let Type::Tensor(ty) = ty else { return fault("a turn gives something else than tensors") };
        let zero = cx.b.scalar(Scalar::zero(ty.dtype));
        let shape: Vec<IntExpr> = std::iter::once(extent.clone()).chain(ty.shape.iter().cloned()).collect();
        let all = cx.full(&shape, zero)?;
        args.push(all);
        types.push((cx.b.ty(all).clone(), *elem));
    }
    let (done, given) = region(cx, types.clone(), |cx, mut given| {
        let stacks = given.split_off(count);
        let mut out = run(cx, given)?;
        out.remove(0);
        let each = out.split_off(count);
        for (all, one) in stacks.iter().zip(&each) {
            let (all, one, elem) = (cx.node(all)?, cx.node(one)?, cx.elem(one)?);
            let mut axes = cx.whole(all);
            axes[0] = SliceAxis { begin: IntExpr::var(var.clone()), extent: int(1), step: 1 };
            let next = cx.emit(Op::SliceUpdate { axes, drop: vec![0] }, &[all, one])?;
            out.push(Value::Node(next, elem));
        }
        Ok(out)
    })?;
    if given != types {
        return fault("what the loop carries changes its type or shape");
    }
    let op = Op::For { var: var.clone(), begin: int(0), extent, step: 1 };
    let before = cx.b.function().values.len();
    let out = results(cx, op, &args, vec![done], types)?;
    let bound = ValueId(before as u32);
    cx.b.declare_sym(SymDecl { sym: var, kind: SymKind::Loop(bound), loc: Loc::default() });
    Ok(out)
}

/// States go from turn to turn, scan inputs are cut along an axis, scan outputs are stacked.
fn scan<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    if call.version < 9 {
        return fault("Scan before version 9 is not supported");
    }
    let body = call.graph("body")?;
    let inputs = usize::try_from(call.int_or("num_scan_inputs", 0)?).unwrap_or(0).min(call.inputs.len());
    let states = call.inputs.len() - inputs;
    let mut carried: Vec<Value> = call.inputs[..states].to_vec();
    let numbers = |name: &str, count: usize| -> Outcome<Vec<i64>> {
        Ok(call.ints(name)?.filter(|list| list.len() == count).unwrap_or_else(|| vec![0; count]))
    };
    let mut sequences = Vec::new();
    for (i, (axis, back)) in
        numbers("scan_input_axes", inputs)?.into_iter().zip(numbers("scan_input_directions", inputs)?).enumerate()
    {
        let (x, elem) = call.any(cx, states + i)?;
        let axis = axis_of(axis, cx.rank(x))?;
        let x = if back == 1 { flip(cx, x, axis)? } else { x };
        sequences.push((x, elem, axis));
    }
    let Some((first, _, axis)) = sequences.first().copied() else { return fault("it has no scan input") };
    let turns = cx.fixed(first)?[axis];
    if turns > MOST_TURNS * 8 {
        return fault(format!("a scan of {turns} turns is not supported"));
    }
    let mut stacked: Vec<Vec<Value>> = vec![Vec::new(); body.outputs.len().saturating_sub(states)];
    for turn in 0..turns {
        let mut given = carried;
        for (x, elem, axis) in &sequences {
            let part = cx.part(*x, *axis, int(turn), int(1))?;
            let mut dims = cx.dims(part);
            dims.remove(*axis);
            given.push(Value::Node(cx.reshape(part, &dims)?, *elem));
        }
        let mut out = cx.subgraph(body, given)?.into_iter();
        carried = out.by_ref().take(states).collect();
        stacked.iter_mut().zip(out).for_each(|(all, one)| all.push(one));
    }
    let (axes, back) = (numbers("scan_output_axes", stacked.len())?, numbers("scan_output_directions", stacked.len())?);
    let mut out = carried;
    for (all, (axis, back)) in stacked.iter_mut().zip(axes.into_iter().zip(back)) {
        if back == 1 {
            all.reverse();
        }
        out.push(stack(cx, all, axis)?);
    }
    Ok(out)
}

pub(super) static TABLE: &[OnnxOp] = &[op("If", 1, if_), op("Loop", 1, loop_), op("Scan", 8, scan)];
