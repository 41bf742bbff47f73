//! Runs cases in batches until time is up or enough have run. A batch is for one level of the processor: case `n` takes
//! level `n / size` of those that run here, in turn, where batches have `size` cases.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tenfold_core::pass::{DumpFiles, PassContext};
use tenfold_core::{Backend, PIPELINE, Target};
use tenfold_ir::Module;

use crate::case::Setting;
use crate::coverage::Coverage;
use crate::data::Random;
use crate::interpret::{Prepared, REFUSED, prepare_shared};
use crate::native;
use crate::native::runnable::{Level, Levels};

/// Functions that one object holds, unless a source says otherwise: a C compiler starts once for all of them.
pub(crate) const BATCH: u64 = 48;
/// Mistakes of one kind that are made smaller; the others are counted.
const OF_A_KIND: usize = 2;
/// Kinds of mistakes after which a run ends.
const KINDS: usize = 24;

/// Settings that a case may have, the later of two for one key.
const CONFIG: [(&str, &str); 3] =
    [("ConvertLayout.data", "NHWC"), ("ConvertLayout.data", "NCHW4c"), ("NarrowDataType.everywhere", "true")];

/// How passes run.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) opt_level: u32,
    pub(crate) disabled: Vec<&'static str>,
    /// Settings that change what optional passes do.
    pub(crate) config: Vec<(&'static str, &'static str)>,
    /// Whether constants are laid out for the widest variant, as in a release, and not for the code itself.
    pub(crate) shared: bool,
}

impl Settings {
    /// Those of a case: each level as often, and half of the time some passes are left out.
    pub(crate) fn of(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x5e77);
        let mut disabled = Vec::new();
        if random.below(2) == 0 {
            let optional = PIPELINE.iter().filter(|pass| !pass.lowering).map(|pass| pass.info.name);
            disabled = optional.filter(|_| random.below(3) == 0).collect();
            disabled.sort_unstable();
            disabled.dedup();
        }
        let config = CONFIG.iter().filter(|_| random.below(3) == 0).copied().collect();
        Settings { opt_level: (seed % 4) as u32, disabled, config, shared: random.below(2) == 0 }
    }

    pub(crate) fn context(&self, target: &Target) -> PassContext {
        let mut context = PassContext::new(target.clone());
        context.opt_level = self.opt_level;
        if let Some(folder) = std::env::var_os("TENFOLD_DUMP") {
            context.watch(Box::new(DumpFiles::new(folder.into())));
        }
        for (key, value) in &self.config {
            context.set_text(key, value).expect("the setting is known");
        }
        for name in &self.disabled {
            context.disable(name).expect("the pass is optional");
        }
        context
    }

    /// The same with one pass less left out.
    fn without(&self, n: usize) -> Self {
        let mut less = self.clone();
        less.disabled.remove(n);
        less
    }
}

/// A function and what it is called with.
#[derive(Clone)]
pub(crate) struct Trial {
    pub(crate) name: String,
    pub(crate) module: Module,
    pub(crate) settings: Vec<Setting>,
}

/// A kind of random case.
pub(crate) trait Source {
    /// A name for files.
    fn topic(&self) -> &'static str;
    /// Cases that one object holds.
    fn batch(&self) -> u64 {
        BATCH
    }
    /// Case number `seed`, or what is wrong already.
    fn trial(&self, seed: u64) -> Result<Trial, String>;
    /// What else there is to say of a run.
    fn notes(&self) -> String {
        String::new()
    }
    /// A smaller case that still `fails`, as text.
    fn smallest(&self, seed: u64, fails: &mut dyn FnMut(&Trial) -> bool) -> String;
}

/// Where the time goes.
#[derive(Default)]
struct Clock {
    make: Duration,
    prepare: Duration,
    backends: Vec<(&'static str, Duration)>,
}

impl Clock {
    fn show(&self, cases: usize) {
        let each = |time: Duration| time.as_secs_f64() * 1e3 / cases.max(1) as f64;
        let mut line =
            format!("ms per case: making {:.2}, passes and interpreters {:.2}", each(self.make), each(self.prepare));
        for (name, time) in &self.backends {
            line += &format!(", {name} {:.2}", each(*time));
        }
        println!("{line}");
    }
}

/// Where cases run.
pub(crate) struct Bench {
    levels: Levels,
    backends: Vec<Box<dyn Backend>>,
    /// Cases that fail.
    folder: PathBuf,
    /// What the back ends make: each run has its own, so that two may run at once.
    objects: PathBuf,
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.objects);
    }
}

impl Bench {
    pub(crate) fn new(topic: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("random").join(topic);
        let objects = folder.join(format!("run-{}", std::process::id()));
        let backends = native::backends_in(objects.join("source"));
        Bench { levels: Levels::here(), backends, folder, objects }
    }

    /// The case behind the pipeline; a panic is a mistake too.
    fn prepare(&self, trial: &Trial, settings: &Settings, level: &Level) -> Result<Vec<Prepared>, String> {
        let context = settings.context(&level.target);
        let layout = if settings.shared { self.levels.layout(level) } else { &level.target };
        let layout = context.with_target(layout.clone());
        let Trial { name, module, settings } = trial.clone();
        let done = catch_unwind(AssertUnwindSafe(|| prepare_shared(&name, module, settings, (&layout, &context))));
        done.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied());
            Err(format!("{name}: panic: {}", text.unwrap_or("of an unknown kind")))
        })
    }

    fn compare(&self, prepared: &[Prepared], level: &Level, clock: &mut Clock) -> Vec<String> {
        if prepared.is_empty() {
            return Vec::new();
        }
        let mut errors = Vec::new();
        for (n, backend) in self.backends.iter().enumerate() {
            let start = Instant::now();
            let folder = self.objects.join(backend.name());
            errors.extend(native::compare(prepared, &**backend, &level.target, &folder));
            if clock.backends.len() == n {
                clock.backends.push((backend.name(), Duration::ZERO));
            }
            clock.backends[n].1 += start.elapsed();
        }
        errors
    }

    /// What is wrong with one case; back ends are asked only if the mistake is theirs.
    fn mistake(&self, trial: &Trial, settings: &Settings, level: &Level, native: bool) -> Option<String> {
        match self.prepare(trial, settings, level) {
            Err(error) => Some(error),
            Ok(prepared) if native => self.compare(&prepared, level, &mut Clock::default()).into_iter().next(),
            Ok(_) => None,
        }
    }
}

pub(crate) fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// When a run ends.
pub(crate) struct End {
    time: Instant,
    seed: u64,
}

impl End {
    /// What the environment says: so many seconds, or so many cases.
    pub(crate) fn new(first: u64) -> Self {
        let cases = number("TENFOLD_RANDOM_CASES", 0);
        let seconds = number("TENFOLD_RANDOM_SECONDS", if cases > 0 { 1 << 30 } else { 17 });
        let seed = if cases > 0 { first + cases } else { u64::MAX };
        End { time: Instant::now() + Duration::from_secs(seconds), seed }
    }

    pub(crate) fn reached(&self, seed: u64) -> bool {
        seed >= self.seed || Instant::now() >= self.time
    }
}

/// A run so far.
struct Run<'s> {
    bench: Bench,
    source: &'s dyn Source,
    clock: Clock,
    coverage: Coverage,
    /// How many cases each level had.
    levels: BTreeMap<&'static str, usize>,
    /// How often each kind of mistake was made.
    kinds: BTreeMap<String, usize>,
    mistakes: Vec<String>,
    /// How often each kind of error on the user's code was made.
    refused: BTreeMap<String, usize>,
    /// Cases that the C compiler gave up.
    given_up: Vec<u64>,
}

/// Runs cases until the end; mistakes are made smaller, written to files, and fail the test.
pub(crate) fn run(source: &dyn Source) {
    let mut run = Run {
        bench: Bench::new(source.topic()),
        source,
        clock: Clock::default(),
        coverage: Coverage::default(),
        levels: BTreeMap::new(),
        kinds: BTreeMap::new(),
        mistakes: Vec::new(),
        refused: BTreeMap::new(),
        given_up: Vec::new(),
    };
    let first = number("TENFOLD_RANDOM_FROM", 0);
    let end = End::new(first);
    let (mut seed, mut cases) = (first, 0);
    while !end.reached(seed) && run.kinds.len() < KINDS {
        let size = source.batch();
        let next = (seed / size * size + size).min(end.seed);
        cases += run.batch(seed, next);
        seed = next;
    }
    run.clock.show(cases);
    run.coverage.show();
    println!("{}", source.notes());
    let mistakes: usize = run.kinds.values().sum();
    run.kinds.iter().for_each(|(kind, count)| println!("{count:>6} {kind}"));
    run.levels.iter().for_each(|(level, count)| println!("{count:>6} cases at {level}"));
    run.refused.iter().for_each(|(kind, count)| println!("{count:>6} cases: {kind}"));
    if !run.given_up.is_empty() {
        println!("{:>6} cases skipped, which the C compiler gave up: {:?}", run.given_up.len(), run.given_up);
    }
    println!("{}: {cases} cases from {first} up to {seed}, {mistakes} mistakes", source.topic());
    assert!(run.mistakes.is_empty(), "{}", run.mistakes.join("\n\n"));
}

impl Run<'_> {
    /// The level of a case.
    fn level(&self, seed: u64) -> Level {
        self.bench.levels.in_turn(seed / self.source.batch()).clone()
    }

    /// Runs the cases of these seeds; gives how many were right.
    fn batch(&mut self, seed: u64, end: u64) -> usize {
        let (mut prepared, mut seeds) = (Vec::new(), Vec::new());
        let level = self.level(seed);
        for seed in seed..end {
            let start = Instant::now();
            let trial = match self.source.trial(seed) {
                Ok(trial) => trial,
                Err(error) => {
                    *self.kinds.entry(kind(&error)).or_default() += 1;
                    self.mistakes.push(format!("case {seed}: {error}"));
                    continue;
                }
            };
            self.coverage.count(&trial.module, trial.settings.len());
            let made = Instant::now();
            self.clock.make += made - start;
            match self.bench.prepare(&trial, &Settings::of(seed), &level) {
                Ok(calls) => {
                    seeds.extend(calls.iter().map(|_| seed));
                    prepared.extend(calls);
                }
                Err(error) if error.contains(REFUSED) => *self.refused.entry(kind(&error)).or_default() += 1,
                Err(error) => self.report(seed, error, false),
            }
            self.clock.prepare += made.elapsed();
        }
        let errors = self.bench.compare(&prepared, &level, &mut self.clock);
        let mut blamed = Vec::new();
        for error in errors {
            let at = prepared.iter().position(|case| error.contains(&format!(" {}: ", case.name)));
            let at = at.map_or(seed, |at| seeds[at]);
            if native::exceeded(&error) {
                self.given_up.push(at);
                continue;
            }
            if !blamed.contains(&at) {
                blamed.push(at);
                self.report(at, error, true);
            }
        }
        seeds.dedup();
        *self.levels.entry(level.name).or_default() += seeds.len();
        seeds.len()
    }

    /// Makes a case smaller and writes it to a file.
    fn report(&mut self, seed: u64, error: String, native: bool) {
        let (level, mut settings, kind) = (self.level(seed), Settings::of(seed), kind(&error));
        let bench = &self.bench;
        let count = self.kinds.entry(kind.clone()).or_default();
        *count += 1;
        if *count > OF_A_KIND {
            return;
        }
        let mut last = error;
        let mut fails = |trial: &Trial, settings: &Settings| match bench.mistake(trial, settings, &level, native) {
            Some(found) if self::kind(&found) == kind => {
                last = found;
                true
            }
            Some(_) | None => false,
        };
        let mut smallest = None;
        let mut keep = |trial: &Trial| {
            let still = fails(trial, &settings);
            if still {
                smallest = Some(trial.clone());
            }
            still
        };
        let text = self.source.smallest(seed, &mut keep);
        for n in (0..settings.disabled.len()).rev() {
            let less = settings.without(n);
            if smallest.as_ref().is_some_and(|trial| fails(trial, &less)) {
                settings = less;
            }
        }
        let text = format!("// case {seed}, {}, {settings:?}\n// {}\n{text}", level.name, last.replace('\n', "\n// "));
        let path = bench.folder.join(format!("case_{seed}.txt"));
        let _ = std::fs::create_dir_all(&bench.folder);
        let _ = std::fs::write(&path, &text);
        println!("{}: case {seed}, in {}\n{text}", self.source.topic(), path.display());
        self.mistakes.push(format!("{}:\n{text}", path.display()));
    }
}

/// What sort of mistake it is: its text without numbers and what is in quotes.
fn kind(error: &str) -> String {
    let text = error.lines().next().unwrap_or_default();
    let mut quoted = false;
    let rest = text.chars().filter(|c| {
        quoted ^= *c == '`';
        !quoted && !c.is_ascii_digit()
    });
    rest.take(100).collect()
}
