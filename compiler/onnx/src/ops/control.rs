//! If, Loop and Scan.
//!
//! A branch whose condition is known is the branch; a loop whose number of turns is known and small is written out.
//! Everything else becomes a region of the graph (`turns`), with values of one type on every way.

use tenfold_ir::Scalar;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::ops::{Arg, AttrValue};
use tenfold_ir::relax::{BindingBlock, Op, Region, SliceAxis, Type, ValueId};

use super::{OnnxOp, batches, op, turns};
use crate::call::{Call, axis_of};
use crate::elem::Elem;
use crate::emit::int;
use crate::lengths::Room;
use crate::proto::Graph;
use crate::value::{Fault, Ints, Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

/// Turns of a loop that are written out at most.
const MOST_TURNS: i64 = 64;
/// Turns of a scan that are written out at most.
pub(super) const MOST_SCANNED: i64 = 512;

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

/// A branch at run time. Where the two give values of different extents, there is room for the greater ones.
fn branches<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let condition = call.x(cx, 0)?;
    let condition = cx.reshape(condition, &[])?;
    let mark = cx.mark();
    let then = body(cx, |cx| cx.subgraph(call.graph("then_branch")?, Vec::new()))?;
    let other = body(cx, |cx| cx.subgraph(call.graph("else_branch")?, Vec::new()))?;
    if then.values.len() != other.values.len() {
        return fault("its branches give different numbers of values");
    }
    let inner = cx.since(mark);
    let both = then.values.iter().zip(&other.values);
    let rooms = both.map(|(a, b)| cx.room(&[*a, *b], &inner)).collect::<Outcome<Vec<_>>>()?;
    let regions = [then, other].map(|side| handing_on(cx, side, &rooms));
    let [then, other] = regions;
    let regions = vec![then?, other?];
    cx.leave(mark);
    let parts = results(cx, Op::If, &[condition], regions, Cx::handed(&rooms))?;
    cx.incoming(&parts, &rooms)
}

/// A body of a region that was left: it may be gone on with.
struct Body {
    blocks: Vec<BindingBlock>,
    values: Vec<(ValueId, Elem)>,
}

/// Emits into a body of its own.
fn body<'m>(cx: &mut Cx<'m>, f: impl FnOnce(&mut Cx<'m>) -> Results) -> Outcome<Body> {
    cx.b.open_body(Vec::new());
    let values = f(cx).and_then(|out| nodes(cx, &out));
    let blocks = cx.b.close_body();
    Ok(Body { blocks, values: values? })
}

pub(super) fn nodes(cx: &mut Cx<'_>, values: &[Value]) -> Outcome<Vec<(ValueId, Elem)>> {
    values.iter().map(|value| Ok((cx.node(value)?, cx.elem(value)?))).collect()
}

/// The region of a body that hands its values on in the rooms for them.
fn handing_on(cx: &mut Cx<'_>, body: Body, rooms: &[Room]) -> Outcome<Region> {
    cx.b.open_body(body.blocks);
    let results = cx.outgoing(&body.values, rooms);
    let blocks = cx.b.close_body();
    Ok(Region { params: Vec::new(), blocks, results: results? })
}

/// A binding with regions; its components.
pub(super) fn results(
    cx: &mut Cx<'_>,
    op: Op,
    args: &[ValueId],
    regions: Vec<Region>,
    mut types: Vec<Type>,
) -> Outcome<Vec<ValueId>> {
    let ty = if types.len() == 1 { types.remove(0) } else { Type::Tuple(types) };
    let out = cx.b.emit_regions(op, args, regions, ty);
    cx.components(out)
}

/// What is carried and what each turn gives.
pub(super) struct Looped {
    pub(super) carried: Vec<Value>,
    pub(super) stacked: Vec<Vec<Value>>,
}

fn loop_<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let body = call.graph("body")?;
    let carried: Vec<Value> = call.inputs.get(2..).unwrap_or_default().to_vec();
    require_results(body, carried.len() + 1)?;
    let limit = if call.has(0) { known(cx, call.value(0)?)? } else { Some(i64::MAX) };
    let first = if call.has(1) { known(cx, call.value(1)?)? } else { Some(1) };
    if let (Some(limit), Some(first)) = (limit, first)
        && (limit <= MOST_TURNS || body_ends(body, &carried))
        && let Some(done) = written_out(cx, body, limit, first != 0, carried.clone())?
    {
        return finish(cx, done);
    }
    if !body_ends(body, &carried) && first == Some(1) && limit != Some(0) {
        return turns::counted(cx, call, body, limit, carried);
    }
    turns::repeated(cx, call, body, limit, carried)
}

/// Refuses a body that gives fewer values than its operator takes from it.
pub(super) fn require_results(body: &Graph<'_>, least: usize) -> Outcome<()> {
    match body.outputs.len() {
        found if found < least => fault(format!("its body gives {found} values, and at least {least} are expected")),
        _ => Ok(()),
    }
}

/// An integer or bool that is known, or none if it depends on inputs.
fn known<'m>(cx: &mut Cx<'m>, value: &Value) -> Outcome<Option<i64>> {
    match cx.f64s(value) {
        Ok(values) => Ok(values.first().map(|v| *v as i64)),
        Err(Fault::Message(_) | Fault::Wanted(_)) => Ok(None),
        Err(Fault::Poison) => Err(Fault::Poison),
    }
}

/// Whether the condition that a turn gives may end the loop.
fn body_ends(body: &Graph<'_>, carried: &[Value]) -> bool {
    body.inputs.len() == carried.len() + 2 && body.outputs.first().is_some_and(|o| !passes_condition(body, o.name))
}

/// Whether the condition comes out as it went in.
fn passes_condition(body: &Graph<'_>, out: &str) -> bool {
    let incoming = body.inputs.get(1).map(|i| i.name);
    incoming == Some(out)
        || body.nodes.iter().any(|n| n.outputs.contains(&out) && matches!(n.op_type, "Identity" | "Constant"))
}

/// All turns one behind the other; none where data decides how many there are.
fn written_out<'m>(
    cx: &mut Cx<'m>,
    body: &Graph<'m>,
    limit: i64,
    going: bool,
    carried: Vec<Value>,
) -> Outcome<Option<Looped>> {
    let mark = cx.mark();
    cx.b.open_body(Vec::new());
    let done = every_turn(cx, body, limit, going, carried);
    let blocks = cx.b.close_body();
    match &done {
        Ok(Some(_)) => cx.b.append_blocks(blocks),
        Ok(None) | Err(_) => cx.forget(mark),
    }
    done
}

fn every_turn<'m>(
    cx: &mut Cx<'m>,
    body: &Graph<'m>,
    limit: i64,
    mut going: bool,
    mut carried: Vec<Value>,
) -> Outcome<Option<Looped>> {
    let count = carried.len();
    let mut stacked: Vec<Vec<Value>> = vec![Vec::new(); body.outputs.len().saturating_sub(count + 1)];
    let mut turn = 0;
    while going && turn < limit {
        if turn >= MOST_TURNS {
            return Ok(None);
        }
        let index = Ints { elem: Elem::Int64, shape: Vec::new(), values: vec![int(turn)] };
        let condition = cx.b.scalar(Scalar::bool(true));
        let condition = cx.plain(condition);
        let given = [Value::from(index), condition].into_iter().chain(carried).collect();
        let mut out = cx.subgraph(body, given)?.into_iter();
        let next = out.next().unwrap_or(Value::None);
        let Some(next) = known(cx, &next)? else { return Ok(None) };
        going = next != 0;
        carried = out.by_ref().take(count).collect();
        stacked.iter_mut().zip(out).for_each(|(all, one)| all.push(one));
        turn += 1;
    }
    // What turns would give has a shape that none of them tells.
    let silent = turn == 0 && !stacked.is_empty();
    Ok((!silent).then_some(Looped { carried, stacked }))
}

/// What was carried, and each turn's values stacked along a new first axis.
pub(super) fn finish(cx: &mut Cx<'_>, done: Looped) -> Results {
    let mut out = done.carried;
    for all in &done.stacked {
        out.push(stack(cx, all, 0)?);
    }
    Ok(out)
}

pub(super) fn stack(cx: &mut Cx<'_>, all: &[Value], axis: i64) -> Outcome<Value> {
    let Some(first) = all.first() else { return fault("a loop without turns gives a tensor of unknown shape") };
    let elem = cx.elem(first)?;
    let ids = all.iter().map(|value| cx.node(value)).collect::<Outcome<Vec<_>>>()?;
    let y = cx.operator("stack", vec![Arg::List(ids)], &[("axis", AttrValue::Int(int(axis)))])?;
    Ok(Value::Node(y, elem))
}

/// States go from turn to turn, scan inputs are cut along an axis, scan outputs are stacked.
fn scan<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    if call.version < 9 {
        return batches::scan(cx, call);
    }
    let body = call.graph("body")?;
    let inputs = usize::try_from(call.int_or("num_scan_inputs", 0)?).unwrap_or(0).min(call.inputs.len());
    let states = call.inputs.len() - inputs;
    require_results(body, states)?;
    let carried: Vec<Value> = call.inputs[..states].to_vec();
    let numbers = |name: &str, count: usize| -> Outcome<Vec<i64>> {
        Ok(call.ints(name)?.filter(|list| list.len() == count).unwrap_or_else(|| vec![0; count]))
    };
    let mut sequences = Vec::new();
    for (i, (axis, back)) in
        numbers("scan_input_axes", inputs)?.into_iter().zip(numbers("scan_input_directions", inputs)?).enumerate()
    {
        let (x, elem) = call.any(cx, states + i)?;
        let axis = axis_of(axis, cx.rank(x))?;
        sequences.push(Sequence { x, elem, axis, back: back == 1 });
    }
    let Some(first) = sequences.first() else { return fault("it has no scan input") };
    let extent = cx.dims(first.x)[first.axis].clone();
    let given = body.outputs.len().saturating_sub(states);
    let (axes, back) = (numbers("scan_output_axes", given)?, numbers("scan_output_directions", given)?);
    let back: Vec<bool> = back.into_iter().map(|back| back == 1).collect();
    match extent.as_const() {
        Some(turns) if turns <= MOST_SCANNED => {
            let done = scanned(cx, body, turns, carried, &sequences)?;
            let mut out = done.carried;
            for ((mut all, axis), back) in done.stacked.into_iter().zip(axes).zip(back) {
                if back {
                    all.reverse();
                }
                out.push(stack(cx, &all, axis)?);
            }
            Ok(out)
        }
        Some(_) | None => {
            let turn = |cx: &mut Cx<'m>, at: &IntExpr, carried: Vec<Value>| {
                let mut given = carried;
                for sequence in &sequences {
                    given.push(sequence.part(cx, at, &extent)?);
                }
                cx.subgraph(body, given)
            };
            let out = turns::each(cx, &extent, carried, &turn, &back)?;
            let (carried, stacks) = out.split_at(states.min(out.len()));
            let moved = stacks.iter().zip(axes).map(|(all, axis)| first_axis_to(cx, all, axis));
            carried.iter().cloned().map(Ok).chain(moved).collect()
        }
    }
}

/// The turns of a scan one behind the other.
pub(super) fn scanned<'m>(
    cx: &mut Cx<'m>,
    body: &Graph<'m>,
    turns: i64,
    mut carried: Vec<Value>,
    sequences: &[Sequence],
) -> Outcome<Looped> {
    let states = carried.len();
    let mut stacked: Vec<Vec<Value>> = vec![Vec::new(); body.outputs.len().saturating_sub(states)];
    for turn in 0..turns {
        let mut given = carried;
        for sequence in sequences {
            given.push(sequence.part(cx, &int(turn), &int(turns))?);
        }
        let mut out = cx.subgraph(body, given)?.into_iter();
        carried = out.by_ref().take(states).collect();
        stacked.iter_mut().zip(out).for_each(|(all, one)| all.push(one));
    }
    Ok(Looped { carried, stacked })
}

/// An input of a scan: a turn takes one part along an axis.
pub(super) struct Sequence {
    pub(super) x: ValueId,
    pub(super) elem: Elem,
    pub(super) axis: usize,
    pub(super) back: bool,
}

impl Sequence {
    pub(super) fn part(&self, cx: &mut Cx<'_>, turn: &IntExpr, turns: &IntExpr) -> Outcome<Value> {
        let at = if self.back { turns - 1 - turn } else { turn.clone() };
        let mut axes = cx.whole(self.x);
        axes[self.axis] = SliceAxis { begin: at, extent: int(1), step: 1 };
        let part = cx.emit(Op::Slice { axes, drop: vec![self.axis] }, &[self.x])?;
        Ok(Value::Node(part, self.elem))
    }
}

/// Moves the first axis behind others.
fn first_axis_to(cx: &mut Cx<'_>, value: &Value, axis: i64) -> Outcome<Value> {
    let (x, elem) = (cx.node(value)?, cx.elem(value)?);
    let rank = cx.rank(x);
    let axis = axis_of(axis, rank)?;
    let mut perm: Vec<usize> = (1..rank).collect();
    perm.insert(axis, 0);
    Ok(Value::Node(cx.transpose(x, &perm)?, elem))
}

pub(super) static TABLE: &[OnnxOp] = &[op("If", 1, if_), op("Loop", 1, loop_), op("Scan", 8, scan)];
