//! Loops as regions of the graph: of a number of turns that is counted, or as long as a condition holds.
//!
//! What each turn gives is written into a tensor of all turns: of as many as there are, where that is known before the
//! first one, else of as many as there may be, which is cut to those that were. What is carried may grow by a number of
//! elements per turn: it has room for all turns, and a turn sees as much of it as the turns before have made.

use tenfold_ir::Scalar;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp, ElementOp};
use tenfold_ir::relax::{BindingBlock, Op, Region, SliceAxis, SymDecl, SymKind, TensorType, Type, ValueId};
use tenfold_ir::{DType, Loc};

use super::control::results;
use crate::call::Call;
use crate::elem::Elem;
use crate::emit::int;
use crate::proto::Graph;
use crate::value::{Fault, Ints, Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

/// How deep loops may stand in each other whose values grow: each is walked twice.
const MOST_GROWING: usize = 4;

/// A turn: takes its number and what is carried, gives what is carried on and then its own values.
type Turn<'t, 'm> = &'t dyn Fn(&mut Cx<'m>, &IntExpr, Vec<Value>) -> Results;

/// How often a loop turns at most.
struct Limit {
    /// As it is given; a loop may go on for ever without one.
    turns: Option<IntExpr>,
    /// Its greatest value, if data decides.
    most: Option<IntExpr>,
}

/// The first operand of a loop. Data may decide it within bounds; where each turn gives values, there must be bounds.
fn limit<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, known: Option<i64>, gives: bool) -> Outcome<Limit> {
    if let Some(turns) = known {
        let turns = (turns < i64::MAX).then(|| int(turns.max(0)));
        return Ok(Limit { most: turns.clone(), turns });
    }
    let given = call.x(cx, 0)?;
    let one = cx.reshape(given, &[])?;
    let turns = cx.natural(one)?;
    match cx.greatest(&turns) {
        Ok(most) => Ok(Limit { turns: Some(turns), most: Some(most) }),
        Err(_) if !gives => Ok(Limit { turns: Some(turns), most: None }),
        Err(unbounded) => Err(wanted(cx, given, unbounded)),
    }
}

/// What is missing is the value of inputs, if it depends on some.
fn wanted(cx: &Cx<'_>, value: ValueId, otherwise: Fault) -> Fault {
    match cx.inputs_of(value) {
        none if none.is_empty() => otherwise,
        names => Fault::Wanted(names),
    }
}

/// A loop whose condition never ends it.
pub(super) fn counted<'m>(
    cx: &mut Cx<'m>,
    call: &Call<'_, 'm>,
    body: &Graph<'m>,
    known: Option<i64>,
    carried: Vec<Value>,
) -> Results {
    let gives = body.outputs.len().saturating_sub(carried.len() + 1);
    let Some(turns) = limit(cx, call, known, gives > 0)?.turns else {
        return fault("it never ends");
    };
    let turn = |cx: &mut Cx<'m>, at: &IntExpr, carried: Vec<Value>| {
        let mut out = one_turn(cx, body, number(at), carried)?;
        out.remove(0);
        Ok(out)
    };
    each(cx, &turns, carried, &turn, &vec![false; gives])
}

/// The number of a turn, which arithmetic on shapes follows.
fn number(at: &IntExpr) -> Value {
    Ints { elem: Elem::Int64, shape: Vec::new(), values: vec![at.clone()] }.into()
}

/// The condition behind a turn, what is carried on, and what the turn gives.
fn one_turn<'m>(cx: &mut Cx<'m>, body: &Graph<'m>, index: Value, carried: Vec<Value>) -> Results {
    let condition = cx.b.scalar(Scalar::bool(true));
    let head = [index, cx.plain(condition)];
    let expected = carried.len() + 1;
    let out = cx.subgraph(body, head.into_iter().chain(carried).collect())?;
    if out.len() < expected { fault("its body gives too few values") } else { Ok(out) }
}

/// What a loop carries. Each turn may add as many elements to an axis as the one before: there is room for all of them.
struct Carried {
    args: Vec<ValueId>,
    elems: Vec<Elem>,
    /// Types with the room.
    types: Vec<TensorType>,
    /// Extents before the first turn.
    first: Vec<Vec<IntExpr>>,
    /// What a turn adds to them.
    steps: Vec<Vec<i64>>,
}

impl Carried {
    fn new(cx: &mut Cx<'_>, values: &[Value]) -> Outcome<Self> {
        let all = nodes(cx, values)?;
        let args: Vec<ValueId> = all.iter().map(|(id, _)| *id).collect();
        let types: Vec<TensorType> = args.iter().map(|id| cx.ty(*id)).collect();
        let first: Vec<Vec<IntExpr>> = types.iter().map(|ty| ty.shape.clone()).collect();
        let steps = first.iter().map(|shape| vec![0; shape.len()]).collect();
        Ok(Carried { args, elems: all.into_iter().map(|(_, elem)| elem).collect(), types, first, steps })
    }

    /// The extents of a value after so many turns.
    fn extents(&self, i: usize, turns: &IntExpr) -> Vec<IntExpr> {
        self.first[i].iter().zip(&self.steps[i]).map(|(first, step)| first + &(turns * *step)).collect()
    }

    /// Whether a turn adds elements, which this makes room for.
    fn grow(&mut self, cx: &mut Cx<'_>, next: &[(ValueId, Elem)], turns: &IntExpr) -> Outcome<bool> {
        for (i, (id, elem)) in next.iter().enumerate() {
            let (ty, first) = (cx.ty(*id), &self.first[i]);
            if *elem != self.elems[i] || ty.dtype != self.types[i].dtype || ty.shape.len() != first.len() {
                return fault("what the loop carries changes its type or rank");
            }
            for (axis, (after, before)) in ty.shape.iter().zip(first).enumerate() {
                let equal = after == before || cx.b.prover.prove_eq(after, before);
                let step = if equal { Some(0) } else { (after - before).as_const() };
                let Some(step) = step else {
                    return fault(format!("what the loop carries changes an extent from `{before}` to `{after}`"));
                };
                self.steps[i][axis] = step;
            }
        }
        if self.steps.iter().flatten().all(|step| *step == 0) {
            return Ok(false);
        }
        for i in 0..self.args.len() {
            let last = self.extents(i, turns);
            let room = last.into_iter().zip(&self.first[i]).zip(&self.steps[i]);
            self.types[i].shape =
                room.map(|((last, first), step)| if *step > 0 { last } else { first.clone() }).collect();
            self.args[i] = cx.padded(self.args[i], &self.types[i].shape)?;
        }
        Ok(true)
    }

    /// Values in their rooms, cut to what is there after so many turns.
    fn there(&self, cx: &mut Cx<'_>, ids: &[ValueId], turns: &IntExpr) -> Results {
        let cut = |(i, id): (usize, &ValueId)| Ok(Value::Node(cx.cut(*id, self.extents(i, turns))?, self.elems[i]));
        ids.iter().enumerate().map(cut).collect()
    }

    /// What is carried on to the next turn, in its rooms.
    fn handed(&self, cx: &mut Cx<'_>, next: &[(ValueId, Elem)], after: &IntExpr) -> Outcome<Vec<ValueId>> {
        let mut handed = Vec::new();
        for (i, (id, _)) in next.iter().enumerate() {
            let (own, expected) = (cx.dims(*id), self.extents(i, after));
            if !own.iter().zip(&expected).all(|(a, b)| a == b || cx.b.prover.prove_eq(a, b)) {
                return fault("what the loop carries does not change its extents by the same number in every turn");
            }
            handed.push(cx.padded(*id, &self.types[i].shape)?);
        }
        Ok(handed)
    }
}

/// What a region takes.
fn taken(cx: &mut Cx<'_>, types: &[TensorType]) -> Vec<ValueId> {
    types.iter().map(|ty| cx.b.region_param(Type::Tensor(ty.clone()), "carried")).collect()
}

/// Tensors of all turns for what one gives: the values before the first turn, and their types.
fn stacks(cx: &mut Cx<'_>, turns: &IntExpr, gives: &[(ValueId, Elem)]) -> Outcome<(Vec<ValueId>, Vec<TensorType>)> {
    let mut out = (Vec::new(), Vec::new());
    for (one, _) in gives {
        let ty = cx.ty(*one);
        if let Some(e) = ty.shape.iter().find(|e| cx.depends(e)) {
            return fault(format!("what a turn gives has the extent `{e}`, which data or the turn decides"));
        }
        let shape: Vec<IntExpr> = std::iter::once(turns.clone()).chain(ty.shape).collect();
        let zero = cx.b.scalar(Scalar::zero(ty.dtype));
        out.0.push(cx.full(&shape, zero)?);
        out.1.push(TensorType { dtype: ty.dtype, shape });
    }
    Ok(out)
}

fn nodes(cx: &mut Cx<'_>, values: &[Value]) -> Outcome<Vec<(ValueId, Elem)>> {
    values.iter().map(|value| Ok((cx.node(value)?, cx.elem(value)?))).collect()
}

/// A body of its own, which begins with these blocks.
fn inside<'m, T>(
    cx: &mut Cx<'m>,
    blocks: Vec<BindingBlock>,
    f: impl FnOnce(&mut Cx<'m>) -> Outcome<T>,
) -> Outcome<(T, Vec<BindingBlock>)> {
    cx.b.open_body(blocks);
    let done = f(cx);
    let blocks = cx.b.close_body();
    Ok((done?, blocks))
}

/// A turn that was walked: its number, what its region takes, and what it gives.
struct Walked {
    at: IntExpr,
    /// The number as a tensor, of a loop that counts for itself.
    index: Option<ValueId>,
    params: Vec<ValueId>,
    out: Vec<(ValueId, Elem)>,
    blocks: Vec<BindingBlock>,
}

/// Types as those of components.
fn tensors(types: impl IntoIterator<Item = TensorType>) -> Vec<Type> {
    types.into_iter().map(Type::Tensor).collect()
}

/// A `for` over all turns. What a turn gives goes to its place in a tensor of all, counted from the end if `back`.
pub(super) fn each<'m>(
    cx: &mut Cx<'m>,
    turns: &IntExpr,
    carried: Vec<Value>,
    turn: Turn<'_, 'm>,
    back: &[bool],
) -> Results {
    let (count, outer) = (carried.len(), cx.mark());
    let mut all = Carried::new(cx, &carried)?;
    let mut walked = counted_turn(cx, &all, turns, turn)?;
    if all.grow(cx, &walked.out[..count], turns)? {
        cx.forget(outer);
        walked = nested(cx, |cx| counted_turn(cx, &all, turns, turn))?;
    }
    let Walked { at, mut params, out, blocks, .. } = walked;
    let (next, gives) = out.split_at(count);
    let (full, types) = stacks(cx, turns, gives)?;
    let places = taken(cx, &types);
    params.extend(&places);
    let (handed, blocks) = inside(cx, blocks, |cx| {
        let mut handed = all.handed(cx, next, &(&at + 1))?;
        for ((all, one), back) in places.iter().zip(gives).zip(back) {
            let place = if *back { turns - 1 - &at } else { at.clone() };
            handed.push(put(cx, *all, one.0, &place)?);
        }
        Ok(handed)
    })?;
    cx.leave(outer);
    let region = Region { params, blocks, results: handed };
    let Some(var) = at.as_var().cloned() else { return fault("a loop has no variable") };
    let op = Op::For { var: var.clone(), begin: int(0), extent: turns.clone(), step: 1 };
    let before = ValueId(cx.b.function().values.len() as u32);
    let args = [all.args.clone(), full].concat();
    let parts = results(cx, op, &args, vec![region], tensors(all.types.iter().cloned().chain(types)))?;
    cx.b.declare_sym(SymDecl { sym: var, kind: SymKind::Loop(before), loc: Loc::default() });
    let mut values = all.there(cx, &parts[..count], turns)?;
    values.extend(parts[count..].iter().zip(gives).map(|(id, (_, elem))| Value::Node(*id, *elem)));
    Ok(values)
}

/// A turn of a loop with a variable.
fn counted_turn<'m>(cx: &mut Cx<'m>, all: &Carried, turns: &IntExpr, turn: Turn<'_, 'm>) -> Outcome<Walked> {
    let var = cx.fresh("turn");
    cx.know(&var, Some((int(0), turns.clone())));
    let at = IntExpr::var(var);
    let params = taken(cx, &all.types);
    let (out, blocks) = inside(cx, Vec::new(), |cx| {
        let given = all.there(cx, &params, &at)?;
        let out = turn(cx, &at, given)?;
        if out.len() < params.len() { fault("its body gives too few values") } else { nodes(cx, &out) }
    })?;
    Ok(Walked { at, index: None, params, out, blocks })
}

/// A second walk of a body, which may not hold too many of such.
fn nested<'m>(cx: &mut Cx<'m>, f: impl FnOnce(&mut Cx<'m>) -> Outcome<Walked>) -> Outcome<Walked> {
    if cx.lengths.growing >= MOST_GROWING {
        return fault(format!("loops whose values grow stand in each other more than {MOST_GROWING} deep"));
    }
    cx.lengths.growing += 1;
    let walked = f(cx);
    cx.lengths.growing -= 1;
    walked
}

/// Writes the value of a turn to its place.
fn put(cx: &mut Cx<'_>, all: ValueId, one: ValueId, place: &IntExpr) -> Outcome<ValueId> {
    let mut axes = cx.whole(all);
    axes[0] = SliceAxis { begin: place.clone(), extent: int(1), step: 1 };
    cx.emit(Op::SliceUpdate { axes, drop: vec![0] }, &[all, one])
}

/// A number that is known to lie in `0..=most`.
pub(super) fn within(cx: &mut Cx<'_>, x: ValueId, most: &IntExpr) -> Outcome<IntExpr> {
    let (low, high) = (cx.told(&int(0))?, cx.told(most)?);
    let inside = cx.element(ElementOp::Clip, &[x, low, high])?;
    cx.length(inside)
}

/// A loop that counts its turns and asks a condition: whether it is bounded, and how many turns there is room for.
struct Asked {
    turns: Option<IntExpr>,
    bounded: bool,
    room: IntExpr,
}

/// A `while`: as long as the condition that a turn gives holds, and within the limit.
pub(super) fn repeated<'m>(
    cx: &mut Cx<'m>,
    call: &Call<'_, 'm>,
    body: &Graph<'m>,
    known: Option<i64>,
    carried: Vec<Value>,
) -> Results {
    let (count, gives) = (carried.len(), body.outputs.len().saturating_sub(carried.len() + 1));
    let Limit { turns, most } = limit(cx, call, known, gives > 0)?;
    let room = most.as_ref().map_or_else(|| int(1), |most| most.maximum(&int(1)));
    let asked = Asked { turns, bounded: most.is_some(), room };
    if gives > 0 && !asked.bounded {
        return fault("it gives values of every turn, and nothing bounds how often it turns");
    }
    let head = [cx.told(&int(0))?, going(cx, call)?];
    let mut all = Carried::new(cx, &carried)?;
    let mark = cx.mark();
    let mut walked = asked_turn(cx, &all, &asked, body)?;
    let grows = all.grow(cx, &walked.out[1..=count], &asked.room)?;
    if grows && !asked.bounded {
        return fault("what it carries grows, and nothing bounds how often it turns");
    }
    if grows {
        cx.forget(mark);
        walked = nested(cx, |cx| asked_turn(cx, &all, &asked, body))?;
    }
    let Walked { at, index, mut params, out, blocks } = walked;
    let (full, types) = stacks(cx, &asked.room, &out[count + 1..])?;
    let places = taken(cx, &types);
    params.extend(&places);
    let (handed, blocks) = inside(cx, blocks, |cx| {
        let mut handed = carried_head(cx, index, out[0].0)?;
        handed.extend(all.handed(cx, &out[1..=count], &(&at + 1))?);
        for (all, (one, _)) in places.iter().zip(&out[count + 1..]) {
            handed.push(put(cx, *all, *one, &at)?);
        }
        Ok(handed)
    })?;
    let turning = Region { params, blocks, results: handed };
    let types: Vec<TensorType> = head_types().into_iter().chain(all.types.iter().cloned()).chain(types).collect();
    let asking = asking(cx, &types, asked.turns.as_ref())?;
    cx.leave(mark);
    let args = [head.to_vec(), all.args.clone(), full].concat();
    let parts = results(cx, Op::While, &args, vec![asking, turning], tensors(types))?;
    let length = if grows || gives > 0 { turned(cx, &asked, parts[0])? } else { int(0) };
    let mut values = all.there(cx, &parts[2..count + 2], &length)?;
    for (id, (_, elem)) in parts[count + 2..].iter().zip(&out[count + 1..]) {
        let mut shape = cx.dims(*id);
        shape[0] = length.clone();
        values.push(Value::Node(cx.cut(*id, shape)?, *elem));
    }
    Ok(values)
}

/// How often a loop turned.
fn turned(cx: &mut Cx<'_>, asked: &Asked, count: ValueId) -> Outcome<IntExpr> {
    let none = asked.turns.as_ref().is_some_and(|turns| turns.as_const() == Some(0));
    if none { Ok(int(0)) } else { within(cx, count, &asked.room) }
}

/// The number of turns so far, and whether there is another one.
fn head_types() -> [TensorType; 2] {
    [DType::I64, DType::Bool].map(|dtype| TensorType { dtype, shape: Vec::new() })
}

/// The same behind a turn, with the condition that it gives.
fn carried_head(cx: &mut Cx<'_>, index: Option<ValueId>, condition: ValueId) -> Outcome<Vec<ValueId>> {
    let Some(index) = index else { return fault("a loop does not count") };
    let one = cx.told(&int(1))?;
    let following = cx.binary(BinaryOp::Add, index, one)?;
    let goes_on = cx.reshape(condition, &[])?;
    Ok(vec![following, cx.cast(goes_on, DType::Bool)?])
}

/// A turn of a loop that counts for itself.
fn asked_turn<'m>(cx: &mut Cx<'m>, all: &Carried, asked: &Asked, body: &Graph<'m>) -> Outcome<Walked> {
    let head = taken(cx, &head_types());
    let own = taken(cx, &all.types);
    let index = head[0];
    let ((out, at), blocks) = inside(cx, Vec::new(), |cx| {
        let at = if asked.bounded { within(cx, index, &(&asked.room - 1))? } else { int(0) };
        let turn = if asked.bounded { number(&at) } else { cx.plain(index) };
        let given = all.there(cx, &own, &at)?;
        let out = one_turn(cx, body, turn, given)?;
        Ok((nodes(cx, &out)?, at))
    })?;
    Ok(Walked { at, index: Some(index), params: [head, own].concat(), out, blocks })
}

/// The condition before the first turn.
fn going<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Outcome<ValueId> {
    if !call.has(1) {
        return Ok(cx.b.scalar(Scalar::bool(true)));
    }
    let first = call.x(cx, 1)?;
    cx.reshape(first, &[])
}

/// The region that says whether there is another turn.
fn asking(cx: &mut Cx<'_>, types: &[TensorType], turns: Option<&IntExpr>) -> Outcome<Region> {
    let params = taken(cx, types);
    let (index, goes_on) = (params[0], params[1]);
    let (holds, blocks) = inside(cx, Vec::new(), |cx| {
        let Some(turns) = turns else { return Ok(goes_on) };
        let turns = cx.told(turns)?;
        let within = cx.compare(CmpOp::Lt, index, turns)?;
        cx.binary(BinaryOp::And, goes_on, within)
    })?;
    Ok(Region { params, blocks, results: vec![holds] })
}
