//! The searches over the kernels of a function, one after another, the most costly first.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs};

use tenfold_core::tune::{Candidate, Gain, Kernel, Outcome, RECORDS, Records, Search, Trial};
use tenfold_ir::content::Hasher;

use super::Asked;
use super::log::Log;
use super::table::{self, Row};
use super::worker::Worker;

/// Seconds that one schedule is measured, and those that are measured again.
const TRIAL: f64 = 0.1;
const CHECK: f64 = 1.0;

/// Schedules that are measured again: of many that were measured for a short time, the fastest was lucky as well.
const CHECKED: usize = 4;

/// What a schedule must gain to be worth a record: less is within what measurements differ by.
const LEAST: f64 = 1.02;

/// What part of a function's time a kernel must take to be worth a search.
const SHARE: f64 = 0.01;

/// What is tuned, and where that is written.
pub(crate) struct Tuning<'a> {
    pub(super) asked: &'a Asked,
    /// The function or the model.
    pub(super) of: String,
    /// The file of the records.
    pub(super) records: PathBuf,
    /// The folder of the logs.
    pub(super) logs: PathBuf,
    /// What generates code.
    pub(super) backend: String,
}

/// A kernel's search as it stands.
struct Searched<'k> {
    kernel: &'k Kernel,
    folder: &'k Path,
    search: Search<'k>,
    log: Log,
    /// Nanoseconds of a call with the default schedule, if it could be measured.
    usual: Option<f64>,
}

impl Tuning<'_> {
    /// Searches, and says what came of it. `others` are kernels that cannot be tuned, and why.
    pub(crate) fn run(&self, kernels: &[(Kernel, PathBuf)], others: &[String]) -> Result<String, String> {
        let begin = Instant::now();
        others.iter().for_each(|why| eprintln!("{why}"));
        let mut records = self.read_records()?;
        fs::create_dir_all(&self.logs).map_err(|e| format!("`{}` cannot be made: {e}", self.logs.display()))?;
        let mut worker = Worker::default();
        let mut all = Vec::new();
        for (kernel, folder) in kernels {
            let wanted = self.asked.kernel.as_ref().is_none_or(|part| kernel.name.contains(part.as_str()));
            if wanted && let Some(searched) = self.begin(kernel, folder, &records, &mut worker)? {
                all.push(searched);
            }
        }
        if all.is_empty() {
            return Err(self.nothing(kernels));
        }
        let whole: f64 = all.iter().map(Searched::cost).sum();
        all.sort_by(|a, b| b.cost().total_cmp(&a.cost()));
        let mut rows = Vec::new();
        for mut searched in all {
            let share = searched.cost() / whole.max(f64::MIN_POSITIVE);
            let spent = self.asked.seconds.is_some_and(|s| begin.elapsed() >= Duration::from_secs_f64(s));
            if share < SHARE || spent {
                rows.push(searched.row(share, None));
                continue;
            }
            self.search(&mut searched, &mut worker, begin)?;
            let gain = self.check(&mut searched, &mut worker)?;
            self.write(&searched, gain.as_ref(), &mut records)?;
            rows.push(searched.row(share, gain.map(|(_, gain)| gain)));
        }
        Ok(table::table(&rows, &self.records))
    }

    fn nothing(&self, kernels: &[(Kernel, PathBuf)]) -> String {
        let names: Vec<String> = kernels.iter().map(|(kernel, _)| format!("`{}`", kernel.name)).collect();
        match (&self.asked.kernel, names.is_empty()) {
            (_, true) => format!("`{}` has no kernel that can be tuned", self.of),
            (Some(part), false) => {
                format!("no kernel of `{}` has `{part}` in its name; it has {}", self.of, names.join(", "))
            }
            (None, false) => format!("no default rule takes a kernel of `{}`", self.of),
        }
    }

    fn read_records(&self) -> Result<Records, String> {
        let text = match fs::read_to_string(&self.records) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Records::default()),
            Err(e) => return Err(format!("`{}` cannot be read: {e}", self.records.display())),
        };
        match Records::parse(&text) {
            (records, wrong) if wrong.is_empty() => Ok(records),
            (_, wrong) => {
                let path = self.records.display();
                Err(format!(
                    "`{path}`: {}; mend the entry or remove it, since the file is written anew",
                    wrong.join("; ")
                ))
            }
        }
    }

    /// A search with what its log says, and the default schedule measured.
    fn begin<'k>(
        &self,
        kernel: &'k Kernel,
        folder: &'k Path,
        records: &Records,
        worker: &mut Worker,
    ) -> Result<Option<Searched<'k>>, String> {
        let context = kernel.context(&|name| env::var(name).ok()).map_err(|e| e.message)?;
        let plain = |e: tenfold_core::CompileError| e.message;
        let Some(search) = Search::new(kernel, &context, self.asked.seed, None).map_err(plain)? else {
            return Ok(None);
        };
        let known = records.known(search.default());
        let search = match known {
            Some(entry) => Search::new(kernel, &context, self.asked.seed, Some(&entry.decisions)).map_err(plain)?,
            None => Some(search),
        };
        let Some(mut search) = search else { return Ok(None) };
        let head = self.head(kernel, search.default());
        let file = Hasher::new().field(head.as_bytes()).finish() + ".log";
        let log = Log::open(&self.logs.join(file), &head)?;
        log.trials.iter().try_for_each(|trial| search.add_again(trial)).map_err(plain)?;
        let mut searched = Searched { kernel, folder, search, log, usual: None };
        if searched.search.tried().is_empty() {
            self.one(&mut searched, None, worker)?;
        }
        searched.usual = searched.search.tried().iter().find_map(|(_, outcome)| match outcome {
            Outcome::Measured { default, .. } => Some(*default),
            Outcome::Refused(_) => None,
        });
        Ok(Some(searched))
    }

    /// What tells a search from others.
    fn head(&self, kernel: &Kernel, default: &Candidate) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let (target, seed) = (&default.target, self.asked.seed);
        let (name, backend) = (&kernel.name, &self.backend);
        let code = default.code;
        format!(
            "tune {version}: kernel `{name}`, default schedule {code:032x}, for {target}, by {backend}, seed {seed}"
        )
    }

    /// Tries one schedule, the default one if none is given.
    fn one(&self, searched: &mut Searched<'_>, next: Option<Candidate>, worker: &mut Worker) -> Result<(), String> {
        let candidate = next.unwrap_or_else(|| searched.search.default().clone());
        let outcome = searched.measured(&candidate, TRIAL, worker);
        let trial = Trial { decisions: candidate.decisions.clone(), outcome: outcome.clone() };
        searched.log.trial(&trial)?;
        searched.search.add(candidate, outcome);
        let place = format!("{}/{}", searched.search.tried().len(), self.asked.trials);
        searched.say(&trial, &place);
        Ok(())
    }

    /// Tries schedules until there have been enough, or there is no more time, or no other schedule.
    fn search(&self, searched: &mut Searched<'_>, worker: &mut Worker, begin: Instant) -> Result<(), String> {
        let enough = |searched: &Searched<'_>| searched.search.tried().len() >= self.asked.trials;
        let spent = || self.asked.seconds.is_some_and(|s| begin.elapsed() >= Duration::from_secs_f64(s));
        while !enough(searched) {
            let round = searched.search.next_round().map_err(|e| e.message)?;
            if round.is_empty() {
                eprintln!("{}: no other schedule is found", searched.kernel.name);
                return Ok(());
            }
            for candidate in round {
                if enough(searched) || spent() {
                    return Ok(());
                }
                self.one(searched, Some(candidate), worker)?;
            }
        }
        Ok(())
    }

    /// Measures the fastest schedules again, for longer: the fastest of these, if it is worth it.
    fn check(&self, searched: &mut Searched<'_>, worker: &mut Worker) -> Result<Option<(Candidate, Gain)>, String> {
        let default = searched.search.default().code;
        let best = searched.search.best().into_iter().filter(|(candidate, _)| candidate.code != default);
        let best: Vec<Candidate> = best.take(CHECKED).map(|(candidate, _)| candidate.clone()).collect();
        let mut found: Option<(Candidate, Gain)> = None;
        for candidate in best {
            let known = searched.log.checks.iter().find(|check| check.decisions == candidate.decisions);
            let outcome = match known {
                Some(check) => check.outcome.clone(),
                None => {
                    let outcome = searched.measured(&candidate, CHECK, worker);
                    let check = Trial { decisions: candidate.decisions.clone(), outcome: outcome.clone() };
                    searched.log.check(&check)?;
                    searched.say(&check, "again");
                    outcome
                }
            };
            let Outcome::Measured { default, tuned } = outcome else { continue };
            let gain = Gain { default, tuned, trials: searched.search.tried().len() as u64 };
            if gain.ratio() >= LEAST && found.as_ref().is_none_or(|(_, best)| gain.ratio() > best.ratio()) {
                found = Some((candidate, gain));
            }
        }
        Ok(found)
    }

    /// Writes the record of a kernel, or takes an old one away that is no faster.
    fn write(
        &self,
        searched: &Searched<'_>,
        found: Option<&(Candidate, Gain)>,
        records: &mut Records,
    ) -> Result<(), String> {
        let default = searched.search.default();
        let old = records.known(default).map(|entry| entry.kernel.clone());
        let removed = old.is_some_and(|kernel| records.remove(&kernel, &default.target));
        if let Some((candidate, gain)) = found {
            let of = format!("{} {}", self.of, searched.kernel.name);
            records.put(candidate.entry(&of, Some(*gain)));
        }
        if !removed && found.is_none() {
            return Ok(());
        }
        let first = !self.records.exists();
        let written = self.records.with_extension(format!("{}.new", std::process::id()));
        let failed = |e: std::io::Error| format!("`{}` cannot be written: {e}", self.records.display());
        fs::write(&written, records.print()).and_then(|()| fs::rename(&written, &self.records)).map_err(failed)?;
        if first {
            self.announce();
        }
        Ok(())
    }

    /// Has the next build look: a file that was not there is not watched.
    fn announce(&self) {
        let manifest = self.records.with_file_name("Cargo.toml");
        let touched = fs::File::options().append(true).open(&manifest);
        let touched = touched.and_then(|file| file.set_modified(std::time::SystemTime::now()));
        if manifest.is_file() && touched.is_err() {
            eprintln!("warning: the next build may not look for `{RECORDS}`; change `{}`", manifest.display());
        }
    }
}

impl Searched<'_> {
    /// Nanoseconds that the kernel takes of a call of its function.
    fn cost(&self) -> f64 {
        self.usual.unwrap_or(0.0) * self.kernel.calls as f64
    }

    fn measured(&self, candidate: &Candidate, seconds: f64, worker: &mut Worker) -> Outcome {
        let mut one = Records::default();
        one.put(candidate.entry("", None));
        match worker.trial(self.folder, &one.print(), seconds) {
            Ok(times) => Outcome::Measured { default: times.default, tuned: times.tuned },
            Err(why) => Outcome::Refused(why),
        }
    }

    /// A line for what was tried at some place of the search: what it changes of the default schedule.
    fn say(&self, trial: &Trial, place: &str) {
        let default: BTreeMap<&str, &str> = self.search.default().decisions.iter().collect();
        let changed = trial.decisions.iter().filter(|(name, value)| default.get(name) != Some(value));
        let changed: Vec<String> = changed.map(|(name, value)| format!("{name}={value}")).collect();
        let changed = if changed.is_empty() { "default".to_string() } else { changed.join(" ") };
        let best = self.search.best().first().map_or(1.0, |(_, ratio)| *ratio);
        let name = &self.kernel.name;
        match &trial.outcome {
            Outcome::Measured { .. } => {
                let ratio = trial.outcome.ratio().unwrap_or(1.0);
                eprintln!("{name} {place}: {ratio:.3}, best {best:.3}: {changed}");
            }
            Outcome::Refused(why) => eprintln!("{name} {place}: refused, {why}: {changed}"),
        }
    }

    fn row(&self, share: f64, gain: Option<Gain>) -> Row {
        let refused = self.search.tried().iter().filter(|(_, outcome)| outcome.ratio().is_none()).count();
        let best = self.search.best().first().map(|(_, ratio)| *ratio);
        let (name, tried) = (self.kernel.name.clone(), self.search.tried().len());
        Row { name, calls: self.kernel.calls, share, usual: self.usual, tried, refused, best, gain }
    }
}
