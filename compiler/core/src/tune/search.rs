//! Which schedules of a kernel are measured, and in which order.
//!
//! A search goes in rounds. Each makes candidates out of the best that were measured (some decisions changed, or mixed
//! with those of another) and out of chance, leaves out what becomes the same code as another, has the model rank them,
//! and takes the first of them and some others. What a round takes follows from the kernel, the seed and the outcomes
//! of the rounds before, so a search that was stopped goes on as if it had not been.

use std::collections::BTreeSet;

use super::asked::Answers;
use super::model::Model;
use super::{Candidate, Decisions, Kernel, Random};
use crate::CompileError;
use crate::pass::PassContext;

/// Schedules of a round, and those among them that the model has not chosen.
const ROUND: usize = 8;
const BY_CHANCE: usize = 2;

/// Candidates that a round ranks, and how many are made at most near the best to find so many.
const RANKED: usize = 32;
const MADE: usize = 96;

/// Measured schedules that others are made of.
const PARENTS: usize = 6;

/// What became of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Nanoseconds of a call with the default schedule and with this one, measured in turn.
    Measured {
        /// With the default one.
        default: f64,
        /// With this one.
        tuned: f64,
    },
    /// It does not count, and why.
    Refused(String),
}

impl Outcome {
    /// How many times as fast as the default.
    pub fn ratio(&self) -> Option<f64> {
        match self {
            Outcome::Measured { default, tuned } => Some(default / tuned),
            Outcome::Refused(_) => None,
        }
    }
}

/// A schedule that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// What was decided.
    pub decisions: Decisions,
    /// What became of it.
    pub outcome: Outcome,
}

/// The search over one kernel's schedules.
pub struct Search<'a> {
    kernel: &'a Kernel,
    context: PassContext,
    seed: u64,
    default: Candidate,
    /// What is tried first.
    known: Option<Candidate>,
    /// In the order in which they were tried.
    tried: Vec<(Candidate, Outcome)>,
}

impl<'a> Search<'a> {
    /// A search that begins with the default schedule and, if there are some, with decisions that are known. Nothing
    /// where no rule takes the kernel.
    ///
    /// # Errors
    /// Those of the passes.
    pub fn new(
        kernel: &'a Kernel,
        context: &PassContext,
        seed: u64,
        known: Option<&Decisions>,
    ) -> Result<Option<Search<'a>>, CompileError> {
        let given = Decisions::default();
        let Some(default) = Candidate::of(kernel, context, &given)? else { return Ok(None) };
        let known = known.map(|known| Candidate::of(kernel, context, known)).transpose()?.flatten();
        let context = context.clone();
        Ok(Some(Search { kernel, context, seed, default, known, tried: Vec::new() }))
    }

    /// The default schedule.
    pub fn default(&self) -> &Candidate {
        &self.default
    }

    /// What was tried, in order.
    pub fn tried(&self) -> &[(Candidate, Outcome)] {
        &self.tried
    }

    /// The schedules that were measured, the fastest first, each with how many times as fast it is.
    pub fn best(&self) -> Vec<(&Candidate, f64)> {
        let measured = self.tried.iter().filter_map(|(candidate, outcome)| Some((candidate, outcome.ratio()?)));
        let mut all: Vec<(&Candidate, f64)> = measured.collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }

    /// Takes note of a trial.
    pub fn add(&mut self, candidate: Candidate, outcome: Outcome) {
        self.tried.push((candidate, outcome));
    }

    /// Takes note of one that an earlier run has made.
    ///
    /// # Errors
    /// Those of the passes.
    pub fn add_again(&mut self, trial: &Trial) -> Result<(), CompileError> {
        if let Some(candidate) = Candidate::of(self.kernel, &self.context, &trial.decisions)? {
            self.add(candidate, trial.outcome.clone());
        }
        Ok(())
    }

    /// What is to be tried next: the rest of the round at hand. Nothing where no other schedule is found.
    ///
    /// # Errors
    /// Those of the passes.
    pub fn next_round(&self) -> Result<Vec<Candidate>, CompileError> {
        let (round, done) = (self.tried.len() / ROUND, self.tried.len() % ROUND);
        let before = &self.tried[..round * ROUND];
        let codes: BTreeSet<u128> = self.tried.iter().map(|(candidate, _)| candidate.code).collect();
        let all = self.round(round, before)?;
        Ok(all.into_iter().filter(|candidate| !codes.contains(&candidate.code)).take(ROUND - done).collect())
    }

    /// A round as it follows from the ones before.
    fn round(&self, round: usize, before: &[(Candidate, Outcome)]) -> Result<Vec<Candidate>, CompileError> {
        let mut random = Random::new(self.seed ^ (round as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut codes: BTreeSet<u128> = before.iter().map(|(candidate, _)| candidate.code).collect();
        let mut first = Vec::new();
        if round == 0 {
            first = [Some(self.default.clone()), self.known.clone()].into_iter().flatten().collect();
            first.retain(|candidate| codes.insert(candidate.code));
        }
        let parents = parents(before);
        let mut found = Vec::new();
        for n in 0..2 * MADE {
            // Where those near the best are all known, others are far from them.
            let near = if n < MADE { &parents[..] } else { &[] };
            let answers = self.answers(near, &mut random);
            if found.len() == RANKED || (n >= MADE && found.len() >= ROUND) {
                break;
            }
            let made = Candidate::answered(self.kernel, &self.context, answers)?;
            found.extend(made.filter(|candidate| codes.insert(candidate.code)));
        }
        let mut ranked = self.ranked(before, found);
        let by_model = (ROUND - BY_CHANCE).saturating_sub(first.len()).min(ranked.len());
        let mut rest = ranked.split_off(by_model);
        first.extend(ranked);
        while first.len() < ROUND && !rest.is_empty() {
            first.push(rest.swap_remove(random.below(rest.len())));
        }
        Ok(first)
    }

    /// The fastest first, as the model has it.
    fn ranked(&self, before: &[(Candidate, Outcome)], mut found: Vec<Candidate>) -> Vec<Candidate> {
        let measured: Vec<(&Candidate, f64)> =
            before.iter().filter_map(|(candidate, outcome)| Some((candidate, -outcome.ratio()?.ln()))).collect();
        let model = Model::of(self.default.cycles, &measured);
        found.sort_by(|a, b| model.time(a).total_cmp(&model.time(b)));
        found
    }

    /// How the next candidate is made.
    fn answers(&self, parents: &[&Candidate], random: &mut Random) -> Answers {
        let own = Random::new(random.next_bits());
        let fresh = parents.is_empty() || random.happens(20);
        let parent = if fresh { &self.default } else { parents[random.below(parents.len())] };
        let (mut given, mut free) = (parent.decisions.clone(), BTreeSet::new());
        if fresh {
            let percent = if random.happens(50) { 25 } else { 60 };
            return Answers::Sampled { given: Decisions::default(), free, percent, random: own };
        }
        if random.happens(30) {
            let other = parents[random.below(parents.len())];
            other.decisions.iter().filter(|_| random.happens(50)).for_each(|(name, value)| given.set(name, value));
        }
        let open: Vec<&str> =
            parent.offers.iter().filter(|offer| offer.options.len() > 1).map(|offer| &*offer.name).collect();
        for _ in 0..=random.below(3) {
            free.extend(open.get(random.below(open.len())).map(|name| name.to_string()));
        }
        Answers::Sampled { given, free, percent: 0, random: own }
    }
}

/// The best of what was measured.
fn parents(before: &[(Candidate, Outcome)]) -> Vec<&Candidate> {
    let mut all: Vec<(&Candidate, f64)> =
        before.iter().filter_map(|(candidate, outcome)| Some((candidate, outcome.ratio()?))).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all.into_iter().take(PARENTS).map(|(candidate, _)| candidate).collect()
}
