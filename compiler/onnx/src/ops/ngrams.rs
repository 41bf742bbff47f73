//! `TfIdfVectorizer` of integers: how often each n-gram of a pool stands in a row.

use tenfold_ir::op::{BinaryOp, CmpOp, ReduceOp};
use tenfold_ir::relax::{Op, ValueId};
use tenfold_ir::{ConstBytes, DType};

use super::cast::table;
use super::{OnnxOp, op};
use crate::call::Call;
use crate::elem::Elem;
use crate::emit::int;
use crate::tensor::{Elements, TensorData};
use crate::value::{Outcome, Value, fault};
use crate::walk::Cx;

/// Each distance is written out.
const MOST_STEPS: usize = 256;

/// The n-grams of one length, and where each is counted.
struct Grams {
    /// Items of each.
    length: usize,
    /// One after another.
    items: Vec<i64>,
    /// The place of each in the result.
    places: Vec<i64>,
}

fn tf_idf_vectorizer<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Outcome<Vec<Value>> {
    let x = call.x(cx, 0)?;
    let dims = cx.dims(x);
    let (rows, length) = match &dims[..] {
        [length] => (int(1), length),
        [rows, length] => (rows.clone(), length),
        _ => return fault("its input has neither one axis nor two"),
    };
    let Some(count) = length.as_const() else { return fault("the items of a row must be a known number") };
    let (pool, width) = pool(call)?;
    let x = cx.reshape(x, &[rows.clone(), int(count)])?;
    let x = cx.cast(x, DType::I64)?;
    let zero = cx.scalar(DType::F32, 0.0);
    let mut total = cx.full(&[rows, int(width)], zero)?;
    for grams in &pool {
        for step in steps(call, grams, count)? {
            let found = found(cx, x, grams, (step, count))?;
            let places = placed(cx, grams, width)?;
            let found = cx.emit(Op::MatMul, &[found, places])?;
            total = cx.binary(BinaryOp::Add, total, found)?;
        }
    }
    let y = weighed(cx, call, total, width)?;
    let y = if dims.len() == 1 { cx.reshape(y, &[int(width)])? } else { y };
    cx.one(y)
}

/// The n-grams that are counted, shortest first, and the number of places in the result.
fn pool(call: &Call<'_, '_>) -> Outcome<(Vec<Grams>, i64)> {
    let list = |name: &str| match call.ints(name)? {
        Some(list) => Ok(list),
        None => fault(format!("the attribute `{name}` is missing")),
    };
    let (pool, starts, places) = (list("pool_int64s")?, list("ngram_counts")?, list("ngram_indexes")?);
    let width = places.iter().max().map_or(0, |most| most.saturating_add(1));
    if places.iter().any(|place| *place < 0) || width > 1 << 32 {
        return fault("`ngram_indexes` are no places of a result");
    }
    let lengths = call.int_or("min_gram_length", 1)?..=call.int_or("max_gram_length", 1)?;
    let (mut all, mut rest) = (Vec::new(), &places[..]);
    for (n, start) in starts.iter().enumerate() {
        let end = starts.get(n + 1).copied().unwrap_or(pool.len() as i64);
        let ends = usize::try_from(*start).ok().zip(usize::try_from(end).ok());
        let Some(items) = ends.and_then(|(start, end)| pool.get(start..end)) else {
            return fault("`ngram_counts` are no places of the pool, in order");
        };
        let length = n + 1;
        let Some((own, others)) = rest.split_at_checked(items.len() / length).filter(|_| items.len() % length == 0)
        else {
            return fault(format!("the pool has {} items of {length}-grams, and {} places", items.len(), rest.len()));
        };
        rest = others;
        if !own.is_empty() && lengths.contains(&(length as i64)) {
            all.push(Grams { length, items: items.to_vec(), places: own.to_vec() });
        }
    }
    Ok((all, width))
}

/// The distances between items at which n-grams are looked for; single items are counted once.
fn steps(call: &Call<'_, '_>, grams: &Grams, count: i64) -> Outcome<Vec<i64>> {
    let most = call.int_or("max_skip_count", 0)?.saturating_add(1);
    let between = grams.length as i64 - 1;
    let steps: Vec<i64> = match between {
        0 => (1..=1).filter(|_| count > 0).collect(),
        _ => (1..=most).take_while(|step| step * between < count).take(MOST_STEPS + 1).collect(),
    };
    match steps.len() > MOST_STEPS {
        true => {
            fault(format!("n-grams with more than {} items left out between two are not supported", MOST_STEPS - 1))
        }
        false => Ok(steps),
    }
}

/// How often each n-gram stands in each row, with its items `step` apart.
fn found(cx: &mut Cx<'_>, x: ValueId, grams: &Grams, (step, count): (i64, i64)) -> Outcome<ValueId> {
    let starts = count - step * (grams.length as i64 - 1);
    let mut all = None;
    for n in 0..grams.length {
        let part = cx.part(x, 1, int(step * n as i64), int(starts))?;
        let part = cx.expand_dims(part, 2)?;
        let items = grams.items.iter().skip(n).step_by(grams.length);
        let bytes: Vec<u8> = items.flat_map(|item| item.to_le_bytes()).collect();
        let shape = vec![grams.places.len() as u64];
        let data = Elements::Bytes(ConstBytes::Inline(bytes.into()));
        let items = cx.constant(&TensorData { elem: Elem::Int64, shape, data })?;
        let same = cx.compare(CmpOp::Eq, part, items)?;
        all = Some(match all {
            None => same,
            Some(before) => cx.binary(BinaryOp::And, before, same)?,
        });
    }
    let Some(all) = all else { return fault("an n-gram has no items") };
    let all = cx.cast(all, DType::F32)?;
    cx.reduce(ReduceOp::Sum, all, &[1], false)
}

/// A matrix that moves each count to its place.
fn placed(cx: &mut Cx<'_>, grams: &Grams, width: i64) -> Outcome<ValueId> {
    let places: Vec<f64> = grams.places.iter().map(|place| *place as f64).collect();
    let own = table(cx, DType::I64, &places)?;
    let own = cx.expand_dims(own, 1)?;
    let all = cx.emit(Op::Arange { start: int(0), step: int(1), extent: int(width), dtype: DType::I64 }, &[])?;
    let same = cx.compare(CmpOp::Eq, own, all)?;
    cx.cast(same, DType::F32)
}

/// Counts as the attribute `mode` asks for them.
fn weighed(cx: &mut Cx<'_>, call: &Call<'_, '_>, counts: ValueId, width: i64) -> Outcome<ValueId> {
    let weights = call.floats("weights")?.filter(|weights| !weights.is_empty());
    if let Some(weights) = weights.as_ref().filter(|weights| weights.len() as i64 != width) {
        return fault(format!("there are {} weights for {width} results", weights.len()));
    }
    let mode = call.text("mode", "")?;
    let amounts = match mode.as_str() {
        "TF" => return Ok(counts),
        "TFIDF" => counts,
        "IDF" => {
            let zero = cx.like(counts, 0.0);
            let there = cx.compare(CmpOp::Gt, counts, zero)?;
            cx.cast(there, DType::F32)?
        }
        other => return fault(format!("the mode `{other}` is unknown")),
    };
    let Some(weights) = weights else { return Ok(amounts) };
    let weights: Vec<f64> = weights.into_iter().map(f64::from).collect();
    let weights = table(cx, DType::F32, &weights)?;
    cx.binary(BinaryOp::Mul, amounts, weights)
}

pub(super) static TABLE: &[OnnxOp] = &[op("TfIdfVectorizer", 9, tf_idf_vectorizer)];
