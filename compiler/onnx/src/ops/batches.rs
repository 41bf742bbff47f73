//! Scan of version 8: the first axis of everything counts batches, each of which is scanned by itself, as far as its
//! sequences go. Behind the last turn of a batch, what its turns give is 0.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::relax::{Op, SliceAxis, ValueId};

use super::control::{Looped, MOST_SCANNED, Sequence, finish, nodes, require_results, scanned, stack};
use super::turns;
use crate::call::Call;
use crate::elem::Elem;
use crate::emit::int;
use crate::proto::Graph;
use crate::value::{Fault, Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

/// What is scanned.
struct Batches<'g, 'm> {
    body: &'g Graph<'m>,
    /// What each batch begins with.
    states: Vec<(ValueId, Elem)>,
    /// What a turn takes parts of, and whether from the end.
    sequences: Vec<(ValueId, Elem, bool)>,
    /// How many turns each batch has, if not all of them.
    lengths: Option<ValueId>,
    count: IntExpr,
    turns: IntExpr,
}

pub(super) fn scan<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let all = Batches::new(cx, call)?;
    match all.known_lengths(cx, call)? {
        Some(lengths) => all.written_out(cx, &lengths),
        None => all.looped(cx),
    }
}

impl<'g, 'm> Batches<'g, 'm> {
    fn new(cx: &mut Cx<'m>, call: &'g Call<'_, 'm>) -> Outcome<Self> {
        let body = call.graph("body")?;
        let operands = call.inputs.get(1..).unwrap_or_default();
        let inputs = usize::try_from(call.int_or("num_scan_inputs", 0)?).unwrap_or(0).min(operands.len());
        let back = call.ints("directions")?.unwrap_or_else(|| vec![0; inputs]);
        let mut states = nodes(cx, operands)?;
        let scanned = states.split_off(operands.len() - inputs);
        require_results(body, states.len())?;
        let Some((first, _)) = scanned.first().copied() else { return fault("it has no scan input") };
        let [count, turns, ..] = &cx.dims(first)[..] else { return fault("a scan input has no batches or no turns") };
        let (count, turns) = (count.clone(), turns.clone());
        let side = |(i, (x, elem)): (usize, (ValueId, Elem))| (x, elem, back.get(i) == Some(&1));
        let sequences = scanned.into_iter().enumerate().map(side).collect();
        let lengths = if call.has(0) { Some(lengths(cx, call, &count)?) } else { None };
        Ok(Batches { body, states, sequences, lengths, count, turns })
    }

    /// The number of turns of each batch, if that is known and the turns are few enough to be written out.
    fn known_lengths(&self, cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Outcome<Option<Vec<i64>>> {
        let (Some(count), Some(turns)) = (self.count.as_const(), self.turns.as_const()) else { return Ok(None) };
        let few = count.saturating_mul(turns) <= MOST_SCANNED;
        let lengths = match self.lengths {
            None if !few => return Ok(None),
            None => vec![turns; usize::try_from(count).unwrap_or(0)],
            Some(_) => match cx.i64s(call.value(0)?) {
                Ok(known) => known,
                Err(Fault::Poison) => return Err(Fault::Poison),
                Err(Fault::Message(_) | Fault::Wanted(_)) => return Ok(None),
            },
        };
        if let Some(length) = lengths.iter().find(|length| !(0..=turns).contains(length)) {
            return fault(format!("`sequence_lens` holds {length}, and a sequence has 0 to {turns} elements"));
        }
        // What turns give has a shape that none of them tells where there is none.
        Ok((few && !lengths.is_empty() && !lengths.contains(&0)).then_some(lengths))
    }

    /// All turns of all batches one behind the other.
    fn written_out(&self, cx: &mut Cx<'m>, lengths: &[i64]) -> Results {
        let mut results: Vec<Vec<Value>> = vec![Vec::new(); self.body.outputs.len()];
        for (batch, length) in (0..).zip(lengths) {
            let (carried, sequences) = self.of_batch(cx, &int(batch))?;
            let done: Looped = scanned(cx, self.body, *length, carried, &sequences)?;
            let done = finish(cx, done)?;
            let done = self.in_all_turns(cx, done)?;
            results.iter_mut().zip(done).for_each(|(all, one)| all.push(one));
        }
        results.iter().map(|all| stack(cx, all, 0)).collect()
    }

    /// A loop over batches around one over turns.
    fn looped(&self, cx: &mut Cx<'m>) -> Results {
        let gives = self.body.outputs.len().saturating_sub(self.states.len());
        let batch = |cx: &mut Cx<'m>, batch: &IntExpr, _: Vec<Value>| {
            let (carried, sequences) = self.of_batch(cx, batch)?;
            let length = self.length(cx, batch)?;
            let turn = |cx: &mut Cx<'m>, at: &IntExpr, carried: Vec<Value>| {
                let mut given = carried;
                for sequence in &sequences {
                    given.push(sequence.part(cx, at, &length)?);
                }
                cx.subgraph(self.body, given)
            };
            let done = turns::each(cx, &length, carried, &turn, &vec![false; gives])?;
            self.in_all_turns(cx, done)
        };
        turns::each(cx, &self.count, Vec::new(), &batch, &vec![false; self.body.outputs.len()])
    }

    /// The states and sequences of one batch.
    fn of_batch(&self, cx: &mut Cx<'m>, batch: &IntExpr) -> Outcome<(Vec<Value>, Vec<Sequence>)> {
        let mut states = Vec::new();
        for (x, elem) in &self.states {
            states.push(Sequence { x: *x, elem: *elem, axis: 0, back: false }.part(cx, batch, &self.count)?);
        }
        let mut sequences = Vec::new();
        for (x, elem, back) in &self.sequences {
            let own = Sequence { x: *x, elem: *elem, axis: 0, back: false }.part(cx, batch, &self.count)?;
            sequences.push(Sequence { x: cx.node(&own)?, elem: *elem, axis: 0, back: *back });
        }
        Ok((states, sequences))
    }

    /// The number of turns of a batch: what is below 0 is 0, and what is too much is all of them.
    fn length(&self, cx: &mut Cx<'m>, batch: &IntExpr) -> Outcome<IntExpr> {
        let Some(lengths) = self.lengths else { return Ok(self.turns.clone()) };
        let axes = vec![SliceAxis { begin: batch.clone(), extent: int(1), step: 1 }];
        let own = cx.emit(Op::Slice { axes, drop: vec![0] }, &[lengths])?;
        turns::within(cx, own, &self.turns)
    }

    /// What a batch gives, with 0 for the turns that it has not.
    fn in_all_turns(&self, cx: &mut Cx<'m>, done: Vec<Value>) -> Results {
        let mut out = Vec::new();
        for (i, value) in done.into_iter().enumerate() {
            if i < self.states.len() {
                out.push(value);
                continue;
            }
            let (x, elem) = (cx.node(&value)?, cx.elem(&value)?);
            let mut shape = cx.dims(x);
            shape[0] = self.turns.clone();
            out.push(Value::Node(cx.padded(x, &shape)?, elem));
        }
        Ok(out)
    }
}

/// The operand that tells how long sequences are.
fn lengths<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, count: &IntExpr) -> Outcome<ValueId> {
    let lengths = call.x(cx, 0)?;
    let shape = cx.dims(lengths);
    match &shape[..] {
        [own] if own == count || cx.b.prover.prove_eq(own, count) => Ok(lengths),
        _ => fault(format!(
            "`sequence_lens` has the shape {shape:?}, and one length for each of {count} batches is expected"
        )),
    }
}
