//! Cases through the pipeline, and called on the interpreter of PTX.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use tenfold::Cuda;
use tenfold_core::Device;
use tenfold_core::pass::PassContext;
use tenfold_llvm::LlvmBackend;

use crate::case::Case;
use crate::chips::{backend, context};
use crate::{cells, driver, interpret, program};

/// A case, and the settings under which it is compiled for a chip.
pub(crate) struct Job {
    pub(crate) case: Case,
    pub(crate) chip: Device,
    pub(crate) context: PassContext,
    /// Whether results are compared with the definition alone: of what is large, the interpreter of tir takes long.
    pub(crate) large: bool,
}

impl Job {
    pub(crate) fn new(case: Case, chip: Device) -> Self {
        Self { case, chip, context: context(chip), large: false }
    }
}

/// What became of cases.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) ran: usize,
    pub(crate) refused: Vec<String>,
    wrong: Vec<String>,
}

/// Calls a case on a device of its own, since a fault leaves a device of no use.
fn call(job: &Job, backend: &LlvmBackend) -> Result<Option<String>, String> {
    let start = Instant::now();
    let case = interpret::prepare_briefly(cells::packed(&job.case), &job.context, job.large)?;
    let prepared = start.elapsed();
    let index = usize::from(job.chip == Device::Sm90a);
    let gpu = Cuda::open(index).map_err(|why| why.to_string())?;
    let called = program::call(&gpu, &case, job.chip, backend).map_err(|why| format!("{why}\n{}", driver::faults()));
    if std::env::var_os("TENFOLD_ALL").is_some() {
        let (name, chip, all) = (&job.case.name, job.chip, start.elapsed());
        println!(
            "{name} for {chip}: {:.2} s, {:.2} s of them to prepare it",
            all.as_secs_f64(),
            prepared.as_secs_f64()
        );
    }
    called
}

/// Calls cases on as many threads as there are processors; none where something that they need is absent.
pub(crate) fn all(jobs: &[Job]) -> Option<Outcome> {
    let backend = backend()?;
    if !driver::is_there() {
        return None;
    }
    let (next, outcome) = (AtomicUsize::new(0), Mutex::new(Outcome::default()));
    let worker = || {
        while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let done = call(job, &backend);
            let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
            let of = |why: String| format!("{} for {}: {why}", job.case.name, job.chip);
            match done {
                Ok(None) => outcome.ran += 1,
                Ok(Some(why)) => outcome.refused.push(of(why)),
                Err(why) => {
                    println!("{}", of(why.clone()));
                    outcome.wrong.push(of(why));
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(worker))));
    let outcome = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("{} functions ran, {} are refused: {:#?}", outcome.ran, outcome.refused.len(), outcome.refused);
    assert!(outcome.wrong.is_empty(), "{} wrong:\n{}", outcome.wrong.len(), outcome.wrong.join("\n"));
    Some(outcome)
}
