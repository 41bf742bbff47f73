//! What a search has tried, line by line, in a file that the next run reads.
//!
//! A line is written at once when its trial is over, and ends with a line break. A run that was killed leaves a part of
//! a line at most, which counts as nothing and is cut off. A file of another search is begun anew.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::Path;

use tenfold_core::tune::{Decisions, Outcome, Trial};

/// A log that is open.
#[derive(Debug)]
pub(crate) struct Log {
    file: File,
    path: String,
    /// What was tried, in order.
    pub(crate) trials: Vec<Trial>,
    /// What was measured again, for longer.
    pub(crate) checks: Vec<Trial>,
}

/// What becomes of a line.
enum Line {
    Trial(Trial),
    Check(Trial),
}

impl Log {
    /// The log of a search, whose first line this is.
    pub(crate) fn open(path: &Path, head: &str) -> Result<Log, String> {
        let name = path.display().to_string();
        let failed = |e: std::io::Error| format!("`{name}` cannot be opened: {e}");
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        let (whole, trials, checks) = read(&String::from_utf8_lossy(&text), head);
        let mut log = Log { file, path: name.clone(), trials, checks };
        log.file.set_len(whole).map_err(failed)?;
        if whole == 0 {
            log.line(head)?;
        }
        Ok(log)
    }

    /// Takes note of a trial.
    pub(crate) fn trial(&mut self, trial: &Trial) -> Result<(), String> {
        self.line(&print(trial, "trial"))?;
        self.trials.push(trial.clone());
        Ok(())
    }

    /// Takes note of one that was measured again.
    pub(crate) fn check(&mut self, trial: &Trial) -> Result<(), String> {
        self.line(&print(trial, "check"))?;
        self.checks.push(trial.clone());
        Ok(())
    }

    fn line(&mut self, text: &str) -> Result<(), String> {
        let line = text.replace('\n', " ") + "\n";
        self.file.write_all(line.as_bytes()).map_err(|e| format!("`{}` cannot be written: {e}", self.path))
    }
}

/// How many bytes of a text are whole lines that can be read, and what they say; none of another search's.
fn read(text: &str, head: &str) -> (u64, Vec<Trial>, Vec<Trial>) {
    let (mut trials, mut checks, mut whole) = (Vec::new(), Vec::new(), 0);
    for (n, line) in text.split_inclusive('\n').enumerate() {
        let Some(own) = line.strip_suffix('\n') else { break };
        match (n, parse(own)) {
            (0, _) if own == head.replace('\n', " ") => {}
            (0, _) | (_, None) => break,
            (_, Some(Line::Trial(trial))) => trials.push(trial),
            (_, Some(Line::Check(trial))) => checks.push(trial),
        }
        whole += line.len() as u64;
    }
    (whole, trials, checks)
}

fn print(trial: &Trial, word: &str) -> String {
    match &trial.outcome {
        Outcome::Measured { default, tuned } => format!("{word} {default:.3} {tuned:.3} ns: {}", trial.decisions),
        Outcome::Refused(why) => format!("{word} refused, {why}: {}", trial.decisions),
    }
}

fn parse(line: &str) -> Option<Line> {
    let (word, rest) = line.split_once(' ')?;
    let (outcome, decisions) = rest.rsplit_once(": ")?;
    let decisions = Decisions::parse(decisions).ok()?;
    let outcome = match outcome.strip_prefix("refused, ") {
        Some(why) => Outcome::Refused(why.into()),
        None => {
            let (default, tuned) = outcome.strip_suffix(" ns")?.split_once(' ')?;
            Outcome::Measured { default: default.parse().ok()?, tuned: tuned.parse().ok()? }
        }
    };
    let trial = Trial { decisions, outcome };
    match word {
        "trial" => Some(Line::Trial(trial)),
        "check" => Some(Line::Check(trial)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::PathBuf;

    /// A file that no other test has.
    fn file(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("tenfold-log-{}-{name}", std::process::id()));
        let _ = fs::remove_file(&path);
        path
    }

    fn trial(text: &str, outcome: Outcome) -> Trial {
        Trial { decisions: Decisions::parse(text).expect("decisions"), outcome }
    }

    fn all() -> [Trial; 3] {
        [
            trial("rows=6 rule=contraction", Outcome::Measured { default: 1234.5, tuned: 1000.125 }),
            trial("rows=7", Outcome::Refused("it took: more than\n2 s".into())),
            trial("rows=8", Outcome::Measured { default: 1230.0, tuned: 1010.0 }),
        ]
    }

    #[test]
    fn a_torn_line_is_cut_off_and_nothing_else_is_lost() {
        let path = file("torn");
        let [a, b, c] = all();
        let mut log = Log::open(&path, "search 1").expect("a log");
        [&a, &b].into_iter().try_for_each(|trial| log.trial(trial)).expect("it is written");
        log.check(&c).expect("it is written");
        drop(log);
        let whole = fs::read_to_string(&path).expect("a text");
        let lines: Vec<usize> = whole.match_indices('\n').map(|(at, _)| at + 1).collect();
        for end in 0..=whole.len() {
            fs::write(&path, &whole[..end]).expect("it is written");
            let log = Log::open(&path, "search 1").expect("a log");
            let kept = lines.iter().filter(|at| **at <= end).count();
            assert_eq!((log.trials.len(), log.checks.len()), (kept.saturating_sub(1).min(2), kept.saturating_sub(3)));
            drop(log);
            let left = fs::read_to_string(&path).expect("a text");
            assert!(whole.starts_with(&left) && left.ends_with('\n'), "{left}");
        }
        let log = Log::open(&path, "search 1").expect("a log");
        assert_eq!(log.trials[0], a);
        assert_eq!(log.trials[1].outcome, Outcome::Refused("it took: more than 2 s".into()));
        fs::remove_file(path).expect("it can be removed");
    }

    #[test]
    fn another_search_begins_anew() {
        let path = file("another");
        let mut log = Log::open(&path, "search 1").expect("a log");
        log.trial(&all()[0]).expect("it is written");
        drop(log);
        let log = Log::open(&path, "search 2").expect("a log");
        assert_eq!((log.trials.len(), fs::read_to_string(&path).expect("a text")), (0, "search 2\n".into()));
        fs::remove_file(path).expect("it can be removed");
    }
}
