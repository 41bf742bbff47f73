//! What cargo has to spare.

use super::start;
use tenfold_core::{Jobs, Lent};

/// As many threads as cargo has jobs, of which each but the first is one of cargo's while it works.
#[derive(Debug)]
pub(crate) struct Spare {
    most: usize,
    server: Option<jobserver::Client>,
}

impl Spare {
    /// What this process was started with, which has opened no file yet.
    pub(crate) fn of_cargo() -> Self {
        let most = std::env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok()).unwrap_or(1);
        Self { most, server: start::job_server() }
    }
}

impl Jobs for Spare {
    fn most(&self) -> usize {
        self.most
    }

    fn acquire(&self) -> Lent {
        match self.server.as_ref().map(jobserver::Client::try_acquire) {
            None => Lent::Thread(Box::new(())),
            Some(Ok(Some(job))) => Lent::Thread(Box::new(job)),
            Some(Ok(None)) => Lent::NotNow,
            // A job server that cannot be asked without waiting.
            Some(Err(_)) => Lent::Never,
        }
    }
}
