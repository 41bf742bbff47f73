//! `sample_partitioned_tile(loop, n, part, inner)`: as `sample_perfect_tile`, the factors from `part` on having a
//! product that is a multiple of `inner`.

use crate::schedule::args::Args;
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, optional, required};
use crate::schedule::{ExprRV, LoopRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "sample_partitioned_tile",
    params: &[
        required("loop", Kind::Loop),
        required("n", Kind::Int),
        required("part", Kind::Int),
        required("inner", Kind::Int),
        optional("decision", Kind::Ints),
    ],
    gives: Gives::List,
    run,
    decides: true,
};

impl Schedule<'_> {
    /// Chooses `n` factors whose product is the loop's extent; those from `part` on multiply to a multiple of `inner`.
    pub fn sample_partitioned_tile(
        &mut self,
        it: LoopRV,
        n: i64,
        part: i64,
        inner: i64,
    ) -> Result<Vec<ExprRV>, ScheduleError> {
        self.step_numbers("sample_partitioned_tile", vec![it.into(), n.into(), part.into(), inner.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let extent = super::constant_extent(state, args.loop_var(0))?;
    let n = super::tile_count(args.int(1))?;
    let (part, inner) = (args.int(2).unwrap_or(0), args.int(3).unwrap_or(1));
    let Some(part) = usize::try_from(part).ok().filter(|p| (1..n).contains(p)) else {
        return Refusal::err(format!("{part} is no place between {n} factors"), format!("give 1 to {}", n - 1));
    };
    if inner < 1 || extent % inner != 0 {
        return Refusal::err(format!("{inner} does not divide the extent {extent}"), "give a divisor");
    }
    let fits = |f: &[i64]| {
        let product = |all: &[i64]| all.iter().try_fold(1i64, |p, f| p.checked_mul(*f));
        f.len() == n
            && f.iter().all(|f| *f > 0)
            && product(f) == Some(extent)
            && product(&f[part..]).is_some_and(|p| p % inner == 0)
    };
    if !args.list(4).is_empty() {
        let decision = args.ints(4);
        if fits(&decision) {
            return Ok(decision.into_iter().map(Out::Int).collect());
        }
        return Refusal::err(format!("{decision:?} are not such factors of {extent}"), "leave the decision out");
    }
    let mut factors = super::sample_perfect_tile::perfect(state, extent / inner, n, i64::MAX);
    factors[n - 1] *= inner;
    Ok(factors.into_iter().map(Out::Int).collect())
}
