//! Runs cases in batches until time is up.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tenfold_core::pass::PassContext;
use tenfold_core::{Backend, PIPELINE, Target};

use crate::case::Case;
use crate::data::Random;
use crate::interpret::{Prepared, prepare_with};
use crate::native;

/// Cases that one object holds.
const BATCH: u64 = 24;

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
}

impl Settings {
    /// Those of a case: each level as often, and half of the time some passes are left out.
    pub(crate) fn of(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x5e77);
        let mut disabled = Vec::new();
        if random.below(2) == 0 {
            let optional = PIPELINE.iter().filter(|pass| !pass.lowering).map(|pass| pass.info.name);
            disabled = optional.filter(|_| random.below(3) == 0).collect();
            disabled.dedup();
        }
        let config = CONFIG.iter().filter(|_| random.below(3) == 0).copied().collect();
        Settings { opt_level: (seed % 4) as u32, disabled, config }
    }

    pub(crate) fn context(&self, target: &Target) -> PassContext {
        let mut context = PassContext::new(target.clone());
        context.opt_level = self.opt_level;
        for (key, value) in &self.config {
            context.set_text(key, value).expect("the setting is known");
        }
        for name in &self.disabled {
            context.disable(name).expect("the pass is optional");
        }
        context
    }
}

/// A kind of random case.
pub(crate) trait Source {
    /// A name for files.
    fn topic(&self) -> &'static str;
    /// Case number `seed`; none where the generator made what the front end refuses.
    fn case(&self, seed: u64) -> Option<Case>;
    /// A smaller case that still `fails`, as text.
    fn smallest(&self, seed: u64, fails: &mut dyn FnMut(Case) -> Option<String>) -> String;
}

/// Where cases run.
pub(crate) struct Bench {
    pub(crate) target: Target,
    backends: Vec<Box<dyn Backend>>,
    folder: PathBuf,
}

impl Bench {
    fn new(topic: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("random").join(topic);
        Bench { target: Target::from_triple(&native::host(), &[]), backends: native::backends(), folder }
    }

    /// The case behind the pipeline; a panic is a mistake too.
    fn prepare(&self, case: Case, settings: &Settings) -> Result<Prepared, String> {
        let context = settings.context(&self.target);
        let done = catch_unwind(AssertUnwindSafe(|| prepare_with(case, &context)));
        done.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or(panic.downcast_ref::<&str>().copied());
            Err(format!("panic: {}", text.unwrap_or("of an unknown kind")))
        })
    }

    fn compare(&self, prepared: &[Prepared]) -> Vec<String> {
        let each =
            |backend: &dyn Backend| native::compare(prepared, backend, &self.target, &self.folder.join(backend.name()));
        if prepared.is_empty() { Vec::new() } else { self.backends.iter().flat_map(|b| each(&**b)).collect() }
    }

    /// What is wrong with one case.
    fn mistake(&self, case: Case, settings: &Settings) -> Option<String> {
        match self.prepare(case, settings) {
            Err(error) => Some(error),
            Ok(prepared) => self.compare(&[prepared]).into_iter().next(),
        }
    }
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Runs cases until time is up; a mistake ends the test.
pub(crate) fn run(source: &dyn Source) {
    let bench = Bench::new(source.topic());
    let end = Instant::now() + Duration::from_secs(number("TENFOLD_RANDOM_SECONDS", 25));
    let (mut seed, mut cases) = (number("TENFOLD_RANDOM_FROM", 0), 0);
    while Instant::now() < end {
        let mut batch = Vec::new();
        for seed in seed..seed + BATCH {
            let Some(case) = source.case(seed) else { continue };
            match bench.prepare(case, &Settings::of(seed)) {
                Ok(prepared) => batch.push((seed, prepared)),
                Err(error) => report(&bench, source, seed, &error),
            }
        }
        cases += batch.len();
        let (seeds, prepared): (Vec<u64>, Vec<Prepared>) = batch.into_iter().unzip();
        if let Some(error) = bench.compare(&prepared).into_iter().next() {
            let at = prepared.iter().position(|case| error.contains(&format!(" {}: ", case.name)));
            report(&bench, source, at.map_or(seed, |at| seeds[at]), &error);
        }
        seed += BATCH;
    }
    println!("{}: {cases} cases up to {seed} without a mistake", source.topic());
}

/// Makes the case smaller, writes it to a file and fails.
fn report(bench: &Bench, source: &dyn Source, seed: u64, error: &str) -> ! {
    let mut settings = Settings::of(seed);
    let mut last = error.to_string();
    let text = {
        let mut fails = |case: Case| {
            let found = bench.mistake(case, &settings);
            found.inspect(|found| last.clone_from(found))
        };
        source.smallest(seed, &mut fails)
    };
    settings.disabled.sort_unstable();
    let text = format!("// case {seed}, {settings:?}\n// {}\n{text}", last.replace('\n', "\n// "));
    let path = bench.folder.join(format!("case_{seed}.txt"));
    let _ = std::fs::create_dir_all(&bench.folder);
    let _ = std::fs::write(&path, &text);
    panic!("{}: case {seed}: {error}\n{}:\n{text}", source.topic(), path.display());
}
