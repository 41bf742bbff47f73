//! `annotate(place, "key", value)`: a loop or a block asks something of a pass that comes later.

use tenfold_ir::tir::{AnnValue, Annotation, BufId, Stmt};

use crate::schedule::args::{Arg, Args, Value};
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Outcome, Primitive, required};
use crate::schedule::{Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "annotate",
    params: &[required("place", Kind::Place), required("key", Kind::Text), required("value", Kind::Any)],
    gives: Gives::Nothing,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Asks something of a later pass: `software_pipeline` with `[[stages], [order]]`, `pragma_auto_unroll_max_step`
    /// and `pragma_unroll_explicit` with a number, `loop_partition`, `auto_parallel` and `matrix_tile` with `true`,
    /// `prefetch` with `["buffer", turns ahead]`, `prefetch_next` with `["buffer", turns]`,
    /// any other key with a number or a text.
    pub fn annotate(&mut self, place: impl Into<Arg>, key: &str, value: impl Into<Arg>) -> Result<(), ScheduleError> {
        self.step("annotate", vec![place.into(), key.into(), value.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let key = args.text(1);
    let new = match (key, args.get(0)) {
        ("software_pipeline", Value::Loop(var)) => {
            let body = state.get_loop(*var)?.body;
            pipeline(&body, args.get(2))?
        }
        ("pragma_auto_unroll_max_step", Value::Loop(_)) => unroll(args, false)?,
        ("pragma_unroll_explicit", Value::Loop(_)) => unroll(args, true)?,
        ("loop_partition", Value::Loop(_)) => Annotation::LoopPartition,
        ("auto_parallel", Value::Loop(_)) => Annotation::AutoParallel,
        ("matrix_tile", Value::Loop(_)) => Annotation::MatrixTile,
        ("prefetch", Value::Loop(_)) => ahead(state, args.get(2), |buf, ahead| Annotation::Prefetch { buf, ahead })?,
        ("prefetch_next", Value::Loop(_)) => {
            ahead(state, args.get(2), |buf, turns| Annotation::PrefetchNext { buf, turns })?
        }
        (
            "prefetch"
            | "prefetch_next"
            | "software_pipeline"
            | "pragma_auto_unroll_max_step"
            | "pragma_unroll_explicit"
            | "loop_partition"
            | "auto_parallel"
            | "matrix_tile",
            _,
        ) => {
            return Refusal::err(format!("`{key}` is asked of a block"), "give a loop");
        }
        (_, _) => Annotation::User { key: key.to_string(), value: value(args.get(2))? },
    };
    let all = super::annotations_of(state, args)?;
    if all.iter().any(|a| super::annotation_key(a) == key && a.buffer() == new.buffer()) {
        return Refusal::err(format!("`{key}` is there already"), "apply `unannotate` first");
    }
    super::edit_annotations(state, args, |all| all.push(new));
    Ok(Vec::new())
}

fn value(of: &Value) -> Result<AnnValue, Refusal> {
    match of {
        Value::Int(n) => Ok(AnnValue::Int(*n)),
        Value::Bool(b) => Ok(AnnValue::Int(i64::from(*b))),
        Value::Text(text) if text.chars().all(|c| !c.is_control() && c != '"' && c != '\\') => {
            Ok(AnnValue::Text(text.clone()))
        }
        _ => Refusal::err("the value is neither a number nor a plain text", "give one of these"),
    }
}

/// A buffer by its name, and how many turns ahead.
fn ahead(state: &State<'_>, value: &Value, of: impl Fn(BufId, i64) -> Annotation) -> Result<Annotation, Refusal> {
    let unknown = || Refusal::new("the value is no buffer and number of turns", "give them as `[\"x\", 2]`");
    let Value::List(all) = value else { return Err(unknown()) };
    let [Value::Text(name), Value::Int(turns)] = &all[..] else { return Err(unknown()) };
    let buffers = &state.b.func().buffers;
    let buf = buffers.iter().position(|b| b.name == *name).ok_or_else(unknown)?;
    Ok(of(BufId(buf as u32), *turns))
}

fn unroll(args: &Args, explicit: bool) -> Result<Annotation, Refusal> {
    match args.int(2) {
        Some(max_step) if max_step >= 0 => Ok(Annotation::PragmaUnroll { max_step, explicit }),
        _ => Refusal::err("the value is no number of turns", "give 0 or more"),
    }
}

/// Stages and order of the statements of a loop's body: as many as there are, the order a permutation.
fn pipeline(body: &Stmt, value: &Value) -> Result<Annotation, Refusal> {
    let help = "give `[[stage of each statement], [place of each statement]]`";
    let numbers = |v: &Value| match v {
        Value::List(all) => all
            .iter()
            .map(|n| match n {
                Value::Int(n) => u32::try_from(*n).ok(),
                _ => None,
            })
            .collect::<Option<Vec<u32>>>(),
        _ => None,
    };
    let parts = match value {
        Value::List(parts) if parts.len() == 2 => numbers(&parts[0]).zip(numbers(&parts[1])),
        _ => None,
    };
    let Some((stages, order)) = parts else { return Refusal::err("the value is no pipeline", help) };
    let count = statements(body);
    if stages.len() != count || order.len() != count {
        let text =
            format!("the body has {count} statements, there are {} stages and {} places", stages.len(), order.len());
        return Refusal::err(text, help);
    }
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..count as u32) {
        return Refusal::err(format!("{order:?} is no order of {count} statements"), "give each place once, from 0");
    }
    Ok(Annotation::SoftwarePipeline { stages, order })
}

fn statements(body: &Stmt) -> usize {
    match body.bare() {
        Stmt::Alloc { body, .. } => statements(body),
        Stmt::Seq(all) => all.len(),
        _ => 1,
    }
}
