//! `check-onnx`: runs every test case under a folder, in workers.
//!
//! A worker is this program again and takes one case after the other. One that dies or takes too long costs the case
//! that it was at, and another takes its place.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{env, fs, io, process, thread};

use super::case::{self, Verdict};
use super::model::host_of_runtime;
use super::native;
use crate::{Outcome, output};

/// The variable that makes this program a worker; its value is the folder that it may write to.
const VARIABLE: &str = "CARGO_TENFOLD_ONNX_WORKER";

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Check {
    /// Where the cases are.
    pub(crate) folder: PathBuf,
    /// Whether to print the table.
    pub(crate) by_op: bool,
    /// Workers at once.
    pub(crate) jobs: usize,
    /// How long a case may take.
    pub(crate) limit: Duration,
    /// Only cases whose name has this in it.
    pub(crate) filter: String,
}

/// Does a worker's part, if this process is one.
pub(crate) fn worker() -> Option<Outcome> {
    let scratch = PathBuf::from(env::var_os(VARIABLE)?);
    let backend = match native::backend(&scratch) {
        Ok(backend) => backend,
        Err(error) => {
            output::complain(&error);
            return Some(Outcome::Bad);
        }
    };
    let target = host_of_runtime();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let verdict = case::run(Path::new(&line), &*backend, &target, &scratch);
        output::say(&format!("{}\n", verdict.to_line()));
    }
    Some(Outcome::Good)
}

/// Runs the cases and prints what became of them.
pub(crate) fn run(check: &Check) -> Outcome {
    let mut cases = Vec::new();
    collect(&check.folder, &mut cases);
    cases.retain(|case| case.to_string_lossy().contains(&check.filter));
    cases.sort();
    if cases.is_empty() {
        output::complain(&format!("there is no case under `{}`", check.folder.display()));
        return Outcome::Bad;
    }
    let verdicts = verdicts(&cases, check);
    let mut counts = [0; 3];
    for (case, verdict) in cases.iter().zip(&verdicts) {
        let name = case.strip_prefix(&check.folder).unwrap_or(case).display();
        match verdict {
            Verdict::Passed => counts[0] += 1,
            Verdict::Failed(why) => {
                counts[1] += 1;
                output::say(&format!("failed  {name}: {why}\n"));
            }
            Verdict::Skipped(why) => {
                counts[2] += 1;
                output::say(&format!("skipped {name}: {why}\n"));
            }
        }
    }
    if check.by_op {
        output::say(&table(&cases, &verdicts));
    }
    let [passed, failed, skipped] = counts;
    output::say(&format!("{passed} passed, {failed} failed, {skipped} skipped\n"));
    if failed == 0 { Outcome::Good } else { Outcome::Bad }
}

/// Folders that hold a `model.onnx`.
fn collect(folder: &Path, cases: &mut Vec<PathBuf>) {
    if folder.join("model.onnx").is_file() {
        cases.push(folder.to_path_buf());
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            collect(&entry.path(), cases);
        }
    }
}

/// A verdict per case; a thread per worker takes the next case.
fn verdicts(cases: &[PathBuf], check: &Check) -> Vec<Verdict> {
    let next = Mutex::new(0);
    let out = Mutex::new(vec![Verdict::Skipped("it was not run".into()); cases.len()]);
    let lock = PoisonError::into_inner;
    thread::scope(|scope| {
        for n in 0..check.jobs.clamp(1, cases.len()) {
            let (next, out) = (&next, &out);
            scope.spawn(move || {
                let scratch = env::temp_dir().join(format!("tenfold-onnx-{}-{n}", process::id()));
                let mut worker = None;
                loop {
                    let mut at = next.lock().unwrap_or_else(lock);
                    let (own, _) = (*at, *at += 1);
                    drop(at);
                    let Some(case) = cases.get(own) else { break };
                    let verdict = ask(&mut worker, case, &scratch, check.limit);
                    if let Some(slot) = out.lock().unwrap_or_else(PoisonError::into_inner).get_mut(own) {
                        *slot = verdict;
                    }
                }
                drop(worker);
                // What the system keeps of it does no harm.
                let _ = fs::remove_dir_all(&scratch);
            });
        }
    });
    out.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// A worker process.
struct Worker {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Worker {
    fn start(scratch: &Path) -> Result<Worker, String> {
        let failed = |e: io::Error| format!("a worker cannot be started: {e}");
        fs::create_dir_all(scratch).map_err(failed)?;
        let program = env::current_exe().map_err(failed)?;
        let mut child = Command::new(program)
            .env(VARIABLE, scratch)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(failed)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("a worker has no pipes".into());
        };
        let (sender, lines) = channel();
        thread::spawn(move || {
            let all = BufReader::new(stdout).lines().map_while(Result::ok);
            all.map(|line| sender.send(line)).take_while(Result::is_ok).for_each(drop);
        });
        Ok(Worker { child, stdin, lines })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // One that has ended already is no matter.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a worker says of a case; it is started if need be, and dropped if it does not answer.
fn ask(slot: &mut Option<Worker>, case: &Path, scratch: &Path, limit: Duration) -> Verdict {
    let mut worker = match slot.take().map_or_else(|| Worker::start(scratch), Ok) {
        Ok(worker) => worker,
        Err(error) => return Verdict::Failed(error),
    };
    if writeln!(worker.stdin, "{}", case.display()).and_then(|()| worker.stdin.flush()).is_err() {
        return Verdict::Failed("the worker has ended".into());
    }
    match worker.lines.recv_timeout(limit) {
        Ok(line) => {
            *slot = Some(worker);
            Verdict::from_line(&line)
        }
        Err(RecvTimeoutError::Timeout) => Verdict::Failed(format!("it took more than {} s", limit.as_secs())),
        Err(RecvTimeoutError::Disconnected) => {
            let status = worker.child.wait().map_or_else(|e| e.to_string(), |status| status.to_string());
            Verdict::Failed(format!("the compiler crashed: {status}"))
        }
    }
}

/// Passed and failed cases per operator that they use.
fn table(cases: &[PathBuf], verdicts: &[Verdict]) -> String {
    let mut rows: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    for (case, verdict) in cases.iter().zip(verdicts) {
        for op in case::operators(case) {
            let column = match verdict {
                Verdict::Passed => 0,
                Verdict::Failed(_) => 1,
                Verdict::Skipped(_) => 2,
            };
            rows.entry(op).or_default()[column] += 1;
        }
    }
    let width = rows.keys().map(String::len).max().unwrap_or(8).max(8);
    let mut out = format!("{:width$}  passed  failed  skipped\n", "operator");
    for (op, [passed, failed, skipped]) in rows {
        out += &format!("{op:width$}  {passed:6}  {failed:6}  {skipped:7}\n");
    }
    out
}
