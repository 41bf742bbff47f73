//! What a kernel becomes under some decisions, before anything is compiled.

use std::sync::{Arc, Mutex, PoisonError};

use tenfold_ir::tir::structural_hash;

use super::asked::{Answers, Offer};
use super::kernel::{BEGIN, Kernel};
use super::tuned::{Heard, Tuned};
use super::{Decisions, Entry, Gain, target_name};
use crate::pass::{self, PassContext};
use crate::{CompileError, pipeline};

/// The pass that chooses schedules.
const END: &str = "ApplyDefaultSchedule";

/// A schedule of a kernel.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What was decided.
    pub decisions: Decisions,
    /// What could have been decided, in order.
    pub offers: Vec<Offer>,
    /// What the rule's model counts, to be compared with other schedules of the kernel by the same rule.
    pub cycles: Option<i128>,
    /// The hash of what it becomes: two of one hash are one.
    pub code: u128,
    /// The target that a record of it names.
    pub target: String,
    /// The hashes that a record has.
    pub(crate) kernel: String,
    pub(crate) panels: Option<String>,
}

impl Candidate {
    /// The schedule under decisions as far as they fit, else that of the rules.
    ///
    /// # Errors
    /// Those of the passes.
    pub fn of(kernel: &Kernel, context: &PassContext, given: &Decisions) -> Result<Option<Candidate>, CompileError> {
        Candidate::answered(kernel, context, Answers::Given(given.clone()))
    }

    /// The schedule under answers; nothing where no rule takes the kernel so, or where it follows from more than a
    /// record says: from how constants were laid out by decisions that the schedule does not ask for.
    pub(crate) fn answered(
        kernel: &Kernel,
        context: &PassContext,
        answers: Answers,
    ) -> Result<Option<Candidate>, CompileError> {
        let made = Candidate::made(kernel, context, answers)?;
        let laid_out = made.as_ref().filter(|candidate| candidate.panels.is_some());
        let again = laid_out.map(|c| Candidate::made(kernel, context, Answers::Given(c.decisions.clone())));
        let same = |again: &Option<Candidate>| again.as_ref().map(|c| c.code) == made.as_ref().map(|c| c.code);
        match again.transpose()? {
            Some(again) if !same(&again) => Ok(None),
            Some(_) | None => Ok(made),
        }
    }

    fn made(kernel: &Kernel, context: &PassContext, answers: Answers) -> Result<Option<Candidate>, CompileError> {
        let Some(plain) = kernel.module.prim(&kernel.name) else { return Ok(None) };
        let target = target_name(&kernel.target, plain);
        let heard = Heard { target, answers, panels: None, kernel: None, offers: Vec::new(), cycles: None };
        let heard = Arc::new(Mutex::new(heard));
        let context = context.with_tuned(Tuned::searched(&heard));
        let (_, from) = pipeline::split_before(BEGIN, pipeline::PIPELINE);
        let Some(end) = from.iter().position(|pass| pass.info.name == END) else { return Ok(None) };
        let mut module = kernel.module.clone();
        let layout = kernel.layout.as_ref().map_or_else(|| context.clone(), |t| context.with_target(t.clone()));
        for pass in &from[..=end] {
            let context = if pass.info.name == BEGIN { &layout } else { &context };
            pass::run(std::slice::from_ref(pass), &mut module, context)?;
        }
        let heard = heard.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(func) = module.prim(&kernel.name) else { return Ok(None) };
        let code = structural_hash(&module, func);
        let took = heard.offers.iter().any(|offer| offer.name == "rule");
        let Some(own) = heard.kernel.clone().filter(|_| took) else { return Ok(None) };
        let mut decisions = Decisions::default();
        heard.offers.iter().for_each(|offer| decisions.set(&offer.name, &offer.options[offer.taken]));
        let Heard { target, offers, cycles, panels, .. } = heard;
        Ok(Some(Candidate { decisions, offers, cycles, code, target, kernel: own, panels }))
    }

    /// The record of it.
    pub fn entry(&self, of: &str, measured: Option<Gain>) -> Entry {
        Entry {
            kernel: self.kernel.clone(),
            target: self.target.clone(),
            of: of.into(),
            panels: self.panels.clone(),
            decisions: self.decisions.clone(),
            measured,
        }
    }
}
