//! `sample_perfect_tile(loop, n, max_innermost)`: factors whose product is the extent of a loop, by chance.

use crate::schedule::args::Args;
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, optional, required};
use crate::schedule::{ExprRV, LoopRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "sample_perfect_tile",
    params: &[
        required("loop", Kind::Loop),
        required("n", Kind::Int),
        optional("max_innermost", Kind::Int),
        optional("decision", Kind::Ints),
    ],
    gives: Gives::List,
    run,
    decides: true,
};

impl Schedule<'_> {
    /// Chooses `n` factors whose product is the loop's extent, the innermost at most `max_innermost`.
    pub fn sample_perfect_tile(
        &mut self,
        it: LoopRV,
        n: i64,
        max_innermost: i64,
    ) -> Result<Vec<ExprRV>, ScheduleError> {
        self.step_numbers("sample_perfect_tile", vec![it.into(), n.into(), max_innermost.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let extent = super::constant_extent(state, args.loop_var(0))?;
    let (n, most) = (super::tile_count(args.int(1))?, super::innermost(args.int(2))?);
    let decision = args.ints(3);
    if !args.list(3).is_empty() {
        let fits = decision.len() == n && decision.iter().try_fold(1i64, |p, f| p.checked_mul(*f)) == Some(extent);
        if fits && decision.iter().all(|f| *f > 0) && decision.last().is_some_and(|f| *f <= most) {
            return Ok(decision.into_iter().map(Out::Int).collect());
        }
        let text = format!("{decision:?} are no {n} factors of {extent} whose last is at most {most}");
        return Refusal::err(text, "leave the decision out");
    }
    if n == 1 && extent > most {
        return Refusal::err(format!("the only factor is {extent}, above {most}"), "take more factors");
    }
    let factors = perfect(state, extent, n, most);
    Ok(factors.into_iter().map(Out::Int).collect())
}

/// Innermost first, each a divisor of what is left.
pub(super) fn perfect(state: &mut State<'_>, extent: i64, n: usize, most: i64) -> Vec<i64> {
    let mut left = extent;
    let mut factors = Vec::new();
    for at in 0..n.saturating_sub(1) {
        let limit = if at == 0 { most } else { left };
        let divisors: Vec<i64> = (1..=left.min(limit)).filter(|d| left % d == 0).collect();
        let chosen = divisors[(state.next() % divisors.len().max(1) as u64) as usize];
        factors.push(chosen);
        left /= chosen;
    }
    factors.push(left);
    factors.reverse();
    factors
}
