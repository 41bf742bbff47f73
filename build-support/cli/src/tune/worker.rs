//! The process that compiles and measures: this program again, so that an abort of the code generator ends one trial.
//!
//! It reads lines from its input, `trial SECONDS FOLDER`, and answers each with one line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use std::{env, fs, thread};

use tenfold_core::Backend;
use tenfold_core::tune::{self, Built, FILES, INPUTS, Kernel, Records, Times};

use crate::onnx::run_program;
use crate::{Outcome, onnx};

/// The variable that makes this program the worker.
const VARIABLE: &str = "TENFOLD_TUNE_WORKER";

/// The file of a trial's record, in the folder of its kernel.
const RECORD: &str = "record.txt";

/// How long compiling and measuring one schedule may take besides the time that is asked for.
const LIMIT: Duration = Duration::from_secs(120);

/// Does the worker's part, if this process is one.
pub(crate) fn serve() -> Option<Outcome> {
    env::var_os(VARIABLE)?;
    let mut served = Served::default();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let answer = match served.answer(&line) {
            Ok(text) => text,
            Err(why) => format!("refused {}", why.replace('\n', " ")),
        };
        println!("{answer}");
        if std::io::stdout().flush().is_err() {
            break;
        }
    }
    Some(Outcome::Good)
}

/// What the worker keeps from line to line.
#[derive(Default)]
struct Served {
    backend: Option<Box<dyn Backend>>,
    kernel: Option<(PathBuf, Kernel, Built)>,
}

impl Served {
    fn answer(&mut self, line: &str) -> Result<String, String> {
        let words = line.strip_prefix("trial ").and_then(|rest| rest.split_once(' '));
        let (seconds, folder) = words.ok_or_else(|| format!("expected `trial SECONDS FOLDER`, found `{line}`"))?;
        let Times { default, tuned } = self.trial(Path::new(folder), seconds)?;
        Ok(format!("times {default} {tuned}"))
    }

    fn backend(&mut self, folder: &Path) -> Result<&dyn Backend, String> {
        if self.backend.is_none() {
            self.backend = Some(onnx::backend(folder)?);
        }
        self.backend.as_deref().ok_or_else(|| "there is no back end".into())
    }

    /// Compiles a kernel with its default schedule.
    fn compile(&mut self, folder: &Path) -> Result<(), String> {
        let kernel = Kernel::read(folder)?;
        let context = kernel.context(&|name| env::var(name).ok()).map_err(|e| e.message)?;
        let built = tune::build(&kernel, None, &context, self.backend(folder)?)?;
        built.write(folder)?;
        tune::write_inputs(&kernel, &folder.join(INPUTS))?;
        self.kernel = Some((folder.into(), kernel, built));
        Ok(())
    }

    /// Compiles it as its record says, and measures both.
    fn trial(&mut self, folder: &Path, seconds: &str) -> Result<Times, String> {
        if self.kernel.as_ref().is_none_or(|(known, ..)| known != folder) {
            self.compile(folder)?;
        }
        self.backend(folder)?;
        let (Some((_, kernel, default)), Some(backend)) = (&self.kernel, &self.backend) else {
            return Err("the kernel is not compiled".into());
        };
        let record = fs::read_to_string(folder.join(RECORD)).map_err(|e| format!("its record cannot be read: {e}"))?;
        let (records, wrong) = Records::parse(&record);
        if let Some(wrong) = wrong.first() {
            return Err(wrong.clone());
        }
        let context = kernel.context(&|name| env::var(name).ok()).map_err(|e| e.message)?;
        let built = tune::build(kernel, Some(records), &context, &**backend)?;
        built.write(folder)?;
        built.write_program(default, kernel, folder)?;
        let mut command = Command::new(linked(folder)?);
        command.arg(folder.join(INPUTS)).arg(seconds);
        let limit = LIMIT + Duration::from_secs_f64(seconds.parse::<f64>().unwrap_or(0.0).max(0.0));
        Times::parse(&run_program(command, limit)?)
    }
}

/// The program of a folder.
fn linked(folder: &Path) -> Result<PathBuf, String> {
    let path = folder.join("measure");
    let mut cc = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(["-O1", "-std=gnu11", "-w", "-o"]).arg(&path).args(FILES.map(|file| folder.join(file))).arg("-lm");
    let out = cc.output();
    let out = out.map_err(|e| format!("the C compiler cannot be started, and it links what is measured: {e}"))?;
    match out.status.success() {
        true => Ok(path),
        false => Err(format!("it does not link: {}", String::from_utf8_lossy(&out.stderr).trim())),
    }
}

/// A worker that is started when it is needed, and again where it ended.
#[derive(Debug, Default)]
pub(crate) struct Worker {
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    input: ChildStdin,
    said: Receiver<String>,
}

impl Worker {
    /// Has a record of a kernel measured beside the default schedule.
    pub(crate) fn trial(&mut self, folder: &Path, record: &str, seconds: f64) -> Result<Times, String> {
        let path = folder.join(RECORD);
        fs::write(&path, record).map_err(|e| format!("`{}` cannot be written: {e}", path.display()))?;
        let limit = LIMIT + Duration::from_secs_f64(seconds);
        let said = self.ask(&format!("trial {seconds} {}", folder.display()), limit)?;
        let times = said.strip_prefix("times ").and_then(|rest| rest.split_once(' '));
        match times.map(|(default, tuned)| (default.parse(), tuned.parse())) {
            Some((Ok(default), Ok(tuned))) => Ok(Times { default, tuned }),
            Some(_) | None => Err(said.strip_prefix("refused ").unwrap_or(&said).into()),
        }
    }

    fn ask(&mut self, line: &str, limit: Duration) -> Result<String, String> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => Running::start()?,
        };
        let sent = writeln!(running.input, "{line}").and_then(|()| running.input.flush());
        let answer = match sent {
            Ok(()) => running.said.recv_timeout(limit),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        };
        match answer {
            Ok(text) => {
                self.running = Some(running);
                Ok(text)
            }
            Err(RecvTimeoutError::Timeout) => Err(format!("it took more than {} s", limit.as_secs())),
            Err(RecvTimeoutError::Disconnected) => {
                let status = running.child.wait().map_or("unknown".into(), |status| status.to_string());
                Err(format!("the process that compiles ended with {status}"))
            }
        }
    }
}

impl Running {
    fn start() -> Result<Running, String> {
        let program = env::current_exe().map_err(|e| format!("this program has no path: {e}"))?;
        let child = Command::new(program).env(VARIABLE, "1").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|e| format!("this program cannot be started again: {e}"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("this program cannot be talked to".into());
        };
        let (say, said) = channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            // Nobody listens once the worker is let go.
            lines.take_while(|line| say.send(line.clone()).is_ok()).for_each(drop);
        });
        Ok(Running { child, input, said })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may hang, or have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
