//! `sample_categorical([candidates], [weights])`: one of several numbers, by chance.

use crate::schedule::args::{Args, Value};
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, optional, required};
use crate::schedule::{Arg, ExprRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "sample_categorical",
    params: &[required("candidates", Kind::Ints), required("weights", Kind::Reals), optional("decision", Kind::Int)],
    gives: Gives::One,
    run,
    decides: true,
};

impl Schedule<'_> {
    /// Chooses one of `candidates`, each as often as its weight says.
    pub fn sample_categorical(&mut self, candidates: &[i64], weights: &[f64]) -> Result<ExprRV, ScheduleError> {
        let weights = Arg::List(weights.iter().map(|w| Arg::Real(*w)).collect());
        let all = self.step_numbers("sample_categorical", vec![candidates.into(), weights])?;
        Ok(all.first().copied().unwrap_or(ExprRV(u32::MAX)))
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let candidates = args.ints(0);
    let weight = |v: &Value| match v {
        Value::Int(n) => *n as f64,
        Value::Real(r) => *r,
        _ => 0.0,
    };
    let weights: Vec<f64> = args.list(1).iter().map(weight).collect();
    if candidates.is_empty() || candidates.len() != weights.len() {
        let text = format!("there are {} candidates and {} weights", candidates.len(), weights.len());
        return Refusal::err(text, "give one weight for each candidate");
    }
    let total: f64 = weights.iter().sum();
    if weights.iter().any(|w| !w.is_finite() || *w < 0.0) || total <= 0.0 || !total.is_finite() {
        return Refusal::err("the weights are not positive numbers", "give weights of which one is above 0");
    }
    if let Some(decision) = args.int(2) {
        if candidates.contains(&decision) {
            return Ok(vec![Out::Int(decision)]);
        }
        return Refusal::err(format!("{decision} is no candidate"), format!("the candidates are {candidates:?}"));
    }
    let mut left = (state.next() % (1 << 32)) as f64 / (1u64 << 32) as f64 * total;
    let chosen = candidates.iter().zip(&weights).find(|(_, w)| {
        left -= **w;
        left < 0.0
    });
    let likely = candidates.iter().zip(&weights).rev().find(|(_, w)| **w > 0.0);
    Ok(chosen.or(likely).map(|(c, _)| Out::Int(*c)).into_iter().collect())
}
