//! The suite of operators: some cases of each family, in turn for both chips. `TENFOLD_ALL=1` takes all for both,
//! `TENFOLD_FAMILY=gather` those of one family.

use crate::chips::CHIPS;
use crate::families::FAMILIES;
use crate::run::{self, Job};

/// Of how many cases one is taken.
const FEW: usize = 24;

#[test]
fn functions_give_what_the_interpreter_admits() {
    let (every, only) = (std::env::var_os("TENFOLD_ALL").is_some(), std::env::var("TENFOLD_FAMILY").ok());
    let wanted = FAMILIES.iter().filter(|(family, _)| only.as_deref().is_none_or(|only| only == *family));
    let mut jobs = Vec::new();
    for case in wanted.flat_map(|(_, cases)| cases().into_iter().step_by(if every { 1 } else { FEW })) {
        let chips = if every { &CHIPS[..] } else { &CHIPS[jobs.len() % 2..][..1] };
        jobs.extend(chips.iter().map(|chip| Job::new(case.clone(), *chip)));
    }
    let Some(outcome) = run::all(&jobs) else { return };
    assert!(outcome.ran * 10 > jobs.len() * 9, "only {} of {} ran", outcome.ran, jobs.len());
}
