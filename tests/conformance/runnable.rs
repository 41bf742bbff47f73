//! The codes of this machine that cases are compiled for: the baseline, and every level above it that runs here.
//!
//! `TENFOLD_LEVELS` names some with commas between them, `baseline` among them, or is `all`. Where it is not set, a case
//! has the baseline and one level above it, which the cases take in turn; of a suite of many, every second case.

use tenfold::Variant;
use tenfold_abi::BASELINE;
use tenfold_core::Target;

use super::host;

/// A code that this machine runs.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub(crate) name: &'static str,
    pub(crate) target: Target,
}

/// The codes that a test takes.
pub(crate) struct Levels {
    /// The baseline comes first, unless others are asked for.
    all: Vec<Level>,
    baseline: Level,
    /// Whether each case has all of them.
    asked: bool,
    /// The target for whose code a build with all variants lays out constants, whether it runs here or not.
    layout: Target,
}

impl Levels {
    /// What runs here, as far as `TENFOLD_LEVELS` asks for it.
    pub(crate) fn here() -> Levels {
        let plain = Target::from_triple(&host(), &[]);
        let runs = |name, features| Variant { name, features }.supported().is_ok();
        let above = plain.levels().into_iter().filter(|level| runs(level.name, level.features));
        let above = above.map(|level| Level { name: level.name, target: plain.with_level(&level) });
        let baseline = Level { name: BASELINE, target: plain.clone() };
        let all: Vec<Level> = [baseline.clone()].into_iter().chain(above).collect();
        let layout = plain.levels().last().map_or(plain.clone(), |widest| plain.with_level(widest));
        let asked = std::env::var("TENFOLD_LEVELS").unwrap_or_default();
        let all = match asked.as_str() {
            "" | "all" => all,
            names => names.split(',').map(|name| named(&all, name.trim())).collect(),
        };
        Levels { all, baseline, asked: !asked.is_empty(), layout }
    }

    /// The codes of case number `n`.
    pub(crate) fn of_case(&self, n: usize) -> Vec<&Level> {
        match &self.all[..] {
            [baseline, above @ ..] if !self.asked && !above.is_empty() => vec![baseline, &above[n % above.len()]],
            all => all.iter().collect(),
        }
    }

    /// The codes of case number `n` of many, in which every operator and dtype has several cases.
    pub(crate) fn of_many(&self, n: usize) -> Vec<&Level> {
        let all = self.of_case(n / 2);
        if self.asked || n.is_multiple_of(2) { all } else { all.into_iter().take(1).collect() }
    }

    /// The one code of case number `n`.
    pub(crate) fn in_turn(&self, n: u64) -> &Level {
        &self.all[(n % self.all.len() as u64) as usize]
    }

    pub(crate) fn baseline(&self) -> &Level {
        &self.baseline
    }

    pub(crate) fn all(&self) -> &[Level] {
        &self.all
    }

    /// Where constants of a code lie: the baseline's for itself, as in a debug build, those of levels for the widest.
    pub(crate) fn layout<'a>(&'a self, level: &'a Level) -> &'a Target {
        if level.is_baseline() { &level.target } else { &self.layout }
    }
}

impl Level {
    /// Whether every processor of the target has it, so that the C back end serves it, too.
    pub(crate) fn is_baseline(&self) -> bool {
        self.name == BASELINE
    }
}

fn named(all: &[Level], name: &str) -> Level {
    let found = all.iter().find(|level| level.name == name);
    found.cloned().unwrap_or_else(|| {
        let known: Vec<&str> = all.iter().map(|level| level.name).collect();
        panic!("TENFOLD_LEVELS: `{name}` does not run here; what does is {}", known.join(", "))
    })
}
