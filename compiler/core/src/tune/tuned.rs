//! What a run of passes knows of tuned schedules: records, or a search that wants to see what a kernel offers.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenfold_ir::tir::PrimFunc;

use super::asked::{Answers, Asked};
use super::{Offer, Records, target_name};
use crate::target::Target;

/// Where a kernel is asked about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Point {
    /// Where its constants are laid out.
    Panels,
    /// Where its schedule is chosen.
    Schedule,
}

/// What answers rules. A clone shares what it hears.
#[derive(Clone, Debug, Default)]
pub struct Tuned {
    source: Source,
    said: Arc<Mutex<Said>>,
}

/// What became of records.
#[derive(Debug, Default)]
struct Said {
    refused: BTreeSet<String>,
    used: BTreeSet<String>,
}

#[derive(Clone, Debug, Default)]
enum Source {
    /// Nobody.
    #[default]
    None,
    /// Records, for the kernels that they have.
    Records(Arc<Records>),
    /// A search, for every kernel of that target.
    Search(Arc<Mutex<Heard>>),
}

/// What a search answers and hears.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    /// The name of the target that it is for, as records have it.
    pub(crate) target: String,
    /// What it answers.
    pub(crate) answers: Answers,
    /// The hashes of the kernel at each point.
    pub(crate) panels: Option<String>,
    /// The same where the schedule is chosen.
    pub(crate) kernel: Option<String>,
    /// What was offered for the schedule, in order.
    pub(crate) offers: Vec<Offer>,
    /// What the rule's model counts.
    pub(crate) cycles: Option<i128>,
}

impl Tuned {
    /// Answered by records.
    pub fn by(records: Records) -> Tuned {
        let source = if records.is_empty() { Source::None } else { Source::Records(Arc::new(records)) };
        Tuned { source, ..Tuned::default() }
    }

    /// Answered by a search.
    pub(crate) fn searched(heard: &Arc<Mutex<Heard>>) -> Tuned {
        Tuned { source: Source::Search(Arc::clone(heard)), ..Tuned::default() }
    }

    /// What records say that does not fit, each once.
    pub fn refusals(&self) -> Vec<String> {
        self.said().refused.iter().cloned().collect()
    }

    /// The kernels that were scheduled by records.
    pub fn used(&self) -> Vec<String> {
        self.said().used.iter().cloned().collect()
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What answers for a kernel, whose hash is asked for only if it matters.
    pub(crate) fn asked(
        &self,
        point: Point,
        target: &Target,
        kernel: &PrimFunc,
        hash: impl FnOnce() -> String,
    ) -> Asked {
        match &self.source {
            Source::None => Asked::nobody(),
            Source::Records(records) => {
                let (target, hash) = (target_name(target, kernel), hash());
                let entry = match point {
                    Point::Panels => records.of_panels(&hash, &target),
                    Point::Schedule => records.of_kernel(&hash, &target),
                };
                entry.map_or_else(Asked::nobody, |e| Asked::new(Answers::Recorded(e.decisions.clone())))
            }
            Source::Search(heard) => {
                let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                if heard.target != target_name(target, kernel) {
                    return Asked::nobody();
                }
                match point {
                    Point::Panels => heard.panels = Some(hash()),
                    Point::Schedule => heard.kernel = Some(hash()),
                }
                Asked::new(heard.answers.clone())
            }
        }
    }

    /// Takes note of what a rule has asked. What was decided where constants are laid out holds where the same is asked
    /// again, and counts no more if it is not: a record has what the schedule asks.
    pub(crate) fn answered(&self, point: Point, kernel: &str, asked: Asked) {
        if asked.is_recorded() && point == Point::Schedule {
            self.said().used.insert(kernel.into());
        }
        let Source::Search(heard) = &self.source else { return };
        if asked.is_default() {
            return;
        }
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        let (offers, cycles) = asked.heard();
        heard.cycles = cycles.or(heard.cycles);
        for offer in offers {
            heard.answers.hold(&offer.name, &offer.options[offer.taken]);
            if point == Point::Schedule {
                heard.offers.push(offer);
            }
        }
    }

    /// Takes note of a record that does not fit.
    pub(crate) fn refuse(&self, kernel: &PrimFunc, target: &Target, why: &str) {
        let (name, target) = (&kernel.name, target_name(target, kernel));
        let text = format!("the entry of kernel `{name}` for {target} is not used: {why}");
        self.said().refused.insert(text);
    }
}
