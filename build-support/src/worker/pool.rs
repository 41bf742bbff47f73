//! Hands requests to workers.

use super::message::{Answer, Request};
use super::{Spare, serve, wire};
use crate::user;
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tenfold_core::on_threads;
use tenfold_syntax::ast::NodeId;
use tenfold_syntax::{Code, Diagnostic};

/// A request and what became of it.
pub(crate) struct Job {
    /// What to compile.
    pub(crate) request: Request,
    /// What became of it; none until then.
    pub(crate) answer: Option<Answer>,
    /// How long it took.
    pub(crate) time: Duration,
}

/// How many workers there were.
pub(crate) struct Workers {
    /// At one time.
    pub(crate) most: usize,
    /// Processes started.
    pub(crate) started: usize,
}

/// Compiles every job. Logs of workers lie in a directory.
pub(crate) fn run(jobs: &mut [Job], logs: &Path) -> Workers {
    let pool = Pool { queue: Mutex::new(jobs.iter_mut().collect()), logs, started: AtomicUsize::new(0) };
    let none = pool.waiting() == 0;
    // The build script's own job is idle while a worker has it.
    let most = if none { 0 } else { on_threads(&Spare::of_cargo(), || pool.waiting(), |number| pool.work(number)) };
    Workers { most, started: pool.started.into_inner() }
}

struct Pool<'a> {
    queue: Mutex<VecDeque<&'a mut Job>>,
    logs: &'a Path,
    started: AtomicUsize,
}

impl<'a> Pool<'a> {
    fn next(&self) -> Option<&'a mut Job> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.pop_front()
    }

    fn waiting(&self) -> usize {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.len()
    }

    /// Takes jobs until there are none.
    fn work(&self, number: usize) {
        let mut worker = None;
        while let Some(job) = self.next() {
            let begin = Instant::now();
            job.answer = Some(self.one(&mut worker, number, &job.request));
            job.time = begin.elapsed();
        }
        if let Some(worker) = worker {
            let _ = worker.end();
        }
    }

    fn one(&self, slot: &mut Option<Worker>, number: usize, request: &Request) -> Answer {
        let log = self.logs.join(format!("worker-{number}.log"));
        if slot.is_none() {
            match Worker::start(&log) {
                Ok(worker) => {
                    self.started.fetch_add(1, Ordering::Relaxed);
                    *slot = Some(worker);
                }
                Err(error) => {
                    let text = format!("the code generator could not be started: {error}");
                    return refused(Code::Environment, text);
                }
            }
        }
        let Some(mut worker) = slot.take() else {
            return refused(Code::Internal, "no worker".into());
        };
        let limit = Duration::from_secs(request.options.seconds);
        match worker.ask(request, limit) {
            Reply::Answer(answer) => {
                *slot = Some(worker);
                *answer
            }
            Reply::Late => {
                worker.kill();
                let text = format!("compiling this function took more than {} s", request.options.seconds);
                refused(Code::TimeLimit, text)
            }
            Reply::Dead => died(worker.end(), &log),
        }
    }
}

/// What a dead worker leaves: how it ended, and its last words.
fn died(status: io::Result<ExitStatus>, log: &Path) -> Answer {
    let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
    let words = fs::read(log).unwrap_or_default();
    let words = String::from_utf8_lossy(&words);
    let mut lines = words.lines().filter(|line| !line.trim().is_empty());
    let telling = lines
        .clone()
        .find(|line| line.contains("LLVM ERROR") || line.contains("panicked"))
        .or_else(|| lines.next_back());
    let mut text = format!("the code generator died on this function ({how})");
    if let Some(line) = telling {
        text += &format!(": {}", line.trim());
    }
    refused(Code::CodeGeneratorDied, text)
}

fn refused(code: Code, text: String) -> Answer {
    let help = match code {
        Code::TimeLimit => "split the function, or raise the limit: `TENFOLD_TIME_LIMIT=600` is in seconds",
        Code::Environment => "`cargo tenfold doctor` says what was looked for",
        _ => "this is an error of Tenfold; please report it with the function's text",
    };
    Answer::Refused(vec![Diagnostic::new(NodeId::FUNCTION, code, text).help(help)])
}

enum Reply {
    Answer(Box<Answer>),
    Late,
    Dead,
}

struct Worker {
    child: Child,
    requests: Option<ChildStdin>,
    answers: Receiver<Vec<u8>>,
}

impl Worker {
    fn start(log: &PathBuf) -> io::Result<Self> {
        let in_main = user::are_in_main();
        // a file, since a full pipe that nobody reads would stop the child
        let log = File::create(log)?;
        let mut child = Command::new(user::program()?)
            .env(serve::VARIABLE, if in_main { serve::IN_MAIN } else { serve::BEFORE_MAIN })
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()?;
        let requests = child.stdin.take();
        let mut output = child.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
        let (sender, answers) = channel();
        // ends with the child, whose output it reads
        thread::spawn(move || {
            if in_main && wire::skip_to(&mut output, serve::BEGIN).is_err() {
                return;
            }
            while let Ok(Some(message)) = wire::receive(&mut output) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, requests, answers })
    }

    fn ask(&mut self, request: &Request, limit: Duration) -> Reply {
        let Some(requests) = &mut self.requests else {
            return Reply::Dead;
        };
        if wire::send(requests, &request.to_bytes()).is_err() {
            return Reply::Dead;
        }
        match self.answers.recv_timeout(limit) {
            Ok(bytes) => Answer::from_bytes(&bytes).map_or(Reply::Dead, |answer| Reply::Answer(Box::new(answer))),
            Err(RecvTimeoutError::Timeout) => Reply::Late,
            Err(RecvTimeoutError::Disconnected) => Reply::Dead,
        }
    }

    fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Lets it end, and waits until it has.
    fn end(mut self) -> io::Result<ExitStatus> {
        drop(self.requests.take());
        self.child.wait()
    }
}
