//! Records: schedules that were measured to be faster than the default ones, as a file that people read and commit.
//!
//! ```text
//! kernel 0123456789abcdef0123456789abcdef
//!   target x86_64-unknown-linux-gnu x86-64-v4
//!   of crate::net matmul_relu
//!   before-panels 89abcdef0123456789abcdef01234567
//!   decisions order=rows rows=6 rule=contraction vectors=4
//!   measured 1180.0 us default, 1102.5 us tuned, 1.070 times as fast, 200 trials
//! ```

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tenfold_abi::{AARCH64_LEVELS, Level, X86_64_LEVELS};
use tenfold_ir::tir::PrimFunc;

use super::{Candidate, Decisions};
use crate::compile::{changes, dots};
use crate::target::{Arch, Target};

/// The name of the file, in a package's folder.
pub const RECORDS: &str = "tenfold-tune.txt";

/// What the file begins with.
const HEAD: &str = "# Schedules that `cargo tenfold tune` measured to be faster than the default ones. Builds read this file: \
                    commit it.\n\
                    # An entry without a kernel that fits does nothing, and may be removed.\n";

/// One kernel's decisions on one target.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The structural hash of the kernel, as it is when its schedule is chosen.
    pub kernel: String,
    /// The triple, and the level or the bytes of vectors.
    pub target: String,
    /// What it was found in; nothing depends on it.
    pub of: String,
    /// The hash of the kernel and of which operands are constants, where its constants are laid out.
    pub panels: Option<String>,
    /// What was decided.
    pub decisions: Decisions,
    /// What was measured, if it is said.
    pub measured: Option<Gain>,
}

/// What a search has measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gain {
    /// Nanoseconds of a call with the default schedule.
    pub default: f64,
    /// Nanoseconds of a call with the decisions.
    pub tuned: f64,
    /// Schedules that were measured.
    pub trials: u64,
}

impl Gain {
    /// How many times as fast.
    pub fn ratio(&self) -> f64 {
        self.default / self.tuned
    }
}

/// All entries of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    entries: BTreeMap<(String, String), Entry>,
}

/// What of a target decides which record of a kernel is for it: its triple, and its level or the bytes of its vectors. A
/// level that has nothing beyond the one below but products of some dtypes is that one for kernels without such products:
/// they have the same code for both. A kernel that has them has other code, and other decisions, for each.
pub(crate) fn target_name(target: &Target, kernel: &PrimFunc) -> String {
    let levels: &[Level] = match target.arch {
        Arch::X86_64 => &X86_64_LEVELS,
        Arch::Aarch64 => &AARCH64_LEVELS,
        Arch::Arm | Arch::Riscv32 | Arch::Riscv64 | Arch::Wasm32 | Arch::Other => &[],
    };
    let dots = dots(kernel);
    let below = [&[][..]].into_iter().chain(levels.iter().map(|level| level.features));
    let taken = levels.iter().zip(below).filter(|(level, below)| {
        let more = level.features.iter().filter(|f| !below.contains(f));
        level.features.iter().all(|f| target.has(f)) && more.into_iter().any(|f| changes(f, &dots))
    });
    match taken.last() {
        Some((level, _)) => format!("{} {}", target.triple, level.name),
        None => format!("{} vectors-{}", target.triple, target.vector_bytes()),
    }
}

impl Records {
    /// Reads a file: what can be read, and a line for each entry that cannot.
    pub fn parse(text: &str) -> (Records, Vec<String>) {
        let (mut records, mut wrong) = (Records::default(), Vec::new());
        let lines = text.lines().enumerate().map(|(n, line)| (n + 1, line.trim()));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).peekable();
        while let Some(first) = lines.next() {
            let mut own = vec![first];
            while let Some(line) = lines.next_if(|(_, line)| !line.starts_with("kernel ")) {
                own.push(line);
            }
            match Entry::parse(&own).and_then(|entry| records.add_new(entry).map_err(|text| (first.0, text))) {
                Ok(()) => {}
                Err((line, text)) => wrong.push(format!("line {line}: {text}")),
            }
        }
        (records, wrong)
    }

    /// The file.
    pub fn print(&self) -> String {
        self.entries.values().fold(HEAD.to_string(), |out, entry| out + "\n" + &entry.print())
    }

    /// Adds an entry, in the place of the one for the same kernel and target if there is one.
    pub fn put(&mut self, entry: Entry) {
        self.entries.insert((entry.kernel.clone(), entry.target.clone()), entry);
    }

    /// Removes the entry of a kernel and a target; whether there was one.
    pub fn remove(&mut self, kernel: &str, target: &str) -> bool {
        self.entries.remove(&(kernel.to_string(), target.to_string())).is_some()
    }

    /// The entry for a kernel whose schedule is chosen.
    pub fn of_kernel(&self, hash: &str, target: &str) -> Option<&Entry> {
        self.entries.get(&(hash.to_string(), target.to_string()))
    }

    /// The entry for a kernel whose constants are laid out.
    pub fn of_panels(&self, hash: &str, target: &str) -> Option<&Entry> {
        self.entries.values().find(|entry| entry.panels.as_deref() == Some(hash) && entry.target == target)
    }

    /// The entry for a kernel whose default schedule this is.
    pub fn known(&self, default: &Candidate) -> Option<&Entry> {
        let target = default.target.as_str();
        let panels = default.panels.as_deref().and_then(|hash| self.of_panels(hash, target));
        panels.or_else(|| self.of_kernel(&default.kernel, target))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn add_new(&mut self, entry: Entry) -> Result<(), String> {
        match self.of_kernel(&entry.kernel, &entry.target) {
            Some(_) => Err(format!("the kernel has another entry for {}; keep one of them", entry.target)),
            None => {
                self.put(entry);
                Ok(())
            }
        }
    }
}

impl Entry {
    fn print(&self) -> String {
        let mut out = format!("kernel {}\n  target {}\n", self.kernel, self.target);
        if !self.of.is_empty() {
            let _ = writeln!(out, "  of {}", self.of);
        }
        if let Some(panels) = &self.panels {
            let _ = writeln!(out, "  before-panels {panels}");
        }
        let _ = writeln!(out, "  decisions {}", self.decisions);
        if let Some(gain) = &self.measured {
            let _ = writeln!(
                out,
                "  measured {:.1} us default, {:.1} us tuned, {:.3} times as fast, {} trials",
                gain.default * 1e-3,
                gain.tuned * 1e-3,
                gain.ratio(),
                gain.trials
            );
        }
        out
    }

    /// From its lines, each with its number; else the number of the wrong one, and what is wrong.
    fn parse(lines: &[(usize, &str)]) -> Result<Entry, (usize, String)> {
        let mut all: BTreeMap<&str, &str> = BTreeMap::new();
        let mut measured = None;
        for (number, line) in lines {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let known = ["kernel", "target", "of", "before-panels", "decisions", "measured"];
            if !known.contains(&word) {
                return Err((*number, format!("expected one of {}, found `{word}`", known.join(", "))));
            }
            if word == "measured" {
                measured = Some(gain(rest).map_err(|text| (*number, text))?);
            }
            if ["kernel", "before-panels"].contains(&word) {
                is_hash(rest.trim()).map_err(|text| (*number, text))?;
            }
            if all.insert(word, rest.trim()).is_some() {
                return Err((*number, format!("the entry has two lines `{word}`")));
            }
        }
        let first = lines.first().map_or(0, |(number, _)| *number);
        let need = |word: &str| all.get(word).ok_or_else(|| (first, format!("the entry has no line `{word}`")));
        let line_of = |word: &str| lines.iter().find(|(_, l)| l.starts_with(word)).map_or(first, |(n, _)| *n);
        let decisions = Decisions::parse(need("decisions")?).map_err(|text| (line_of("decisions"), text))?;
        Ok(Entry {
            kernel: need("kernel")?.to_string(),
            target: need("target")?.to_string(),
            of: all.get("of").map_or(String::new(), |text| text.to_string()),
            panels: all.get("before-panels").map(|text| text.to_string()),
            decisions,
            measured,
        })
    }
}

fn is_hash(text: &str) -> Result<(), String> {
    let hex = text.len() == 32 && text.chars().all(|c| c.is_ascii_hexdigit());
    if hex { Ok(()) } else { Err(format!("expected 32 hexadecimal digits, found `{text}`")) }
}

/// What the line says; the ratio follows from the times.
fn gain(text: &str) -> Result<Gain, String> {
    let wrong = || format!("expected `1.5 us default, 1.2 us tuned, 1.250 times as fast, 64 trials`, found `{text}`");
    let parts: Vec<&str> = text.split(", ").map(str::trim).collect();
    let [default, tuned, ratio, trials] = parts[..] else { return Err(wrong()) };
    let number = |part: &str, unit: &str| part.strip_suffix(unit)?.trim().parse::<f64>().ok();
    let read = || {
        number(ratio, "times as fast")?;
        let trials = trials.strip_suffix(" trials")?.parse().ok()?;
        Some(Gain { default: number(default, "us default")? * 1e3, tuned: number(tuned, "us tuned")? * 1e3, trials })
    };
    read().ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use tenfold_ir::tir::{Builder, Dot, Intrinsic, Stmt, Ty};
    use tenfold_ir::{DType, Scalar};

    use super::*;

    /// A kernel that has such a sum of products, or none.
    fn kernel(dot: Option<Dot>) -> PrimFunc {
        let mut b = Builder::new("kernel");
        if let Some(dot) = dot {
            let word = b.scalar(Scalar::int(DType::I32, 1));
            let sum = b.call(Intrinsic::Dot(dot), vec![word, word], Ty::scalar(dot.dtype()));
            b.push(Stmt::Evaluate(sum));
        }
        b.finish()
    }

    fn entry(kernel: char, target: &str) -> Entry {
        Entry {
            kernel: kernel.to_string().repeat(32),
            target: target.into(),
            of: "crate::net matmul".into(),
            panels: (kernel == 'a').then(|| "b".repeat(32)),
            decisions: Decisions::parse("rows=6 vectors=4").expect("decisions"),
            measured: Some(Gain { default: 1500.0, tuned: 1200.0, trials: 64 }),
        }
    }

    #[test]
    fn what_prints_parses() {
        let mut all = Records::default();
        [entry('a', "t v4"), entry('a', "t v3"), entry('c', "t v4")].into_iter().for_each(|e| all.put(e));
        let text = all.print();
        assert_eq!(Records::parse(&text), (all.clone(), Vec::new()));
        assert!(text.contains("  measured 1.5 us default, 1.2 us tuned, 1.250 times as fast, 64 trials\n"), "{text}");
        assert_eq!(all.of_kernel(&"a".repeat(32), "t v3"), Some(&entry('a', "t v3")));
        assert_eq!(all.of_panels(&"b".repeat(32), "t v4"), Some(&entry('a', "t v4")));
        assert_eq!(all.of_kernel(&"a".repeat(32), "t v2"), None);
        assert!(all.remove(&"a".repeat(32), "t v3") && !all.remove(&"a".repeat(32), "t v3"));
    }

    #[test]
    fn a_broken_entry_leaves_the_others() {
        let good = entry('c', "t v4").print();
        let broken = [
            (
                "rows=6\n",
                "line 1: expected one of kernel, target, of, before-panels, decisions, measured, found `rows=6`",
            ),
            ("kernel 12\n", "line 1: expected 32 hexadecimal digits, found `12`"),
            ("kernel {}\ntarget t\n", "line 1: the entry has no line `decisions`"),
            ("kernel {}\ntarget t\ntarget t\n", "line 3: the entry has two lines `target`"),
            ("kernel {}\ntarget t\ndecisions rows\n", "line 3: expected `name=value`, found `rows`"),
            (
                "kernel {}\nmeasured fast\n",
                "line 2: expected `1.5 us default, 1.2 us tuned, 1.250 times as fast, 64 trials`, found `fast`",
            ),
        ];
        for (text, why) in broken {
            let text = text.replace("{}", &"d".repeat(32)) + "\n" + &good;
            let (records, wrong) = Records::parse(&text);
            assert_eq!((records.entries.len(), wrong), (1, vec![why.to_string()]), "{text}");
        }
        let (records, wrong) = Records::parse(&format!("{good}\n{good}"));
        assert_eq!(records.entries.len(), 1);
        assert!(wrong[0].contains("another entry for t v4"), "{wrong:?}");
    }

    #[test]
    fn a_level_or_the_vectors_name_a_target() {
        let plain = kernel(None);
        let name = |triple: &str, features: &[&str]| target_name(&Target::from_triple(triple, features), &plain);
        let linux = "x86_64-unknown-linux-gnu";
        for level in &X86_64_LEVELS[2..] {
            assert_eq!(name(linux, level.features), format!("{linux} x86-64-v4"), "{}", level.name);
        }
        let more: Vec<&str> = X86_64_LEVELS[1].features.iter().copied().chain(["aes"]).collect();
        assert_eq!(name(linux, &more), format!("{linux} x86-64-v3"));
        assert_eq!(name(linux, &["sse2"]), format!("{linux} vectors-16"));
        assert_eq!(name("aarch64-apple-darwin", &["neon", "dotprod"]), "aarch64-apple-darwin vectors-16");
    }

    #[test]
    fn products_name_the_level_that_is_for_them() {
        let [of_bytes, of_one_kind] = [[false, true], [true, true]].map(|signed| Dot::Bytes { signed });
        let named = |triple: &str, levels: &[Level], dot: Dot| -> Vec<String> {
            let names =
                levels.iter().map(|l| target_name(&Target::from_triple(triple, l.features), &kernel(Some(dot))));
            names.map(|name| name.trim_start_matches(triple).trim().to_string()).collect()
        };
        let named_on_x86 = |dot| named("x86_64-unknown-linux-gnu", &X86_64_LEVELS[2..], dot);
        let [v4, vnni, bf16, amx] = ["x86-64-v4", "x86-64-v4-vnni", "x86-64-v4-bf16", "x86-64-v4-amx"];
        assert_eq!(named_on_x86(of_bytes), [v4, vnni, vnni, amx]);
        assert_eq!(named_on_x86(Dot::Bf16), [v4, v4, bf16, amx]);
        let named_on_arm = |dot| named("aarch64-unknown-linux-gnu", &AARCH64_LEVELS, dot);
        assert_eq!(named_on_arm(of_bytes), ["aarch64-dotprod", "aarch64-i8mm"]);
        assert_eq!(named_on_arm(of_one_kind), ["aarch64-dotprod"; 2]);
    }
}
