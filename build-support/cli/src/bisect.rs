//! `cargo tenfold bisect`: which execution of a pass a command fails with.

use crate::arguments::Arguments;
use crate::{Outcome, output, script};
use std::ffi::OsString;
use std::process::Command;
use tenfold_core::pass;

/// The variable that says, to a build, how many executions may run.
const VARIABLE: &str = "TENFOLD_BISECT";

/// Looks for it, and says what was found.
pub(crate) fn run(arguments: &Arguments, function: &str, command: &[OsString]) -> Outcome {
    match search(arguments, function, command) {
        Ok(outcome) => outcome,
        Err(error) => {
            output::complain(&error);
            Outcome::Bad
        }
    }
}

fn search(arguments: &Arguments, function: &str, command: &[OsString]) -> Result<Outcome, String> {
    // the child answers with a name a line, or says what is wrong with the function
    let listed = script::command(arguments)?.stderr(std::process::Stdio::inherit()).output();
    let listed = listed.map_err(|error| format!("this program cannot be started again: {error}"))?;
    if !listed.status.success() {
        return Ok(Outcome::Bad);
    }
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    let passes: Vec<&str> = text.lines().collect();
    let trial = Trial { name: function.rsplit("::").next().unwrap_or(function), command, passes: &passes };
    if trial.is_good(passes.len())? {
        return Err("the command succeeds with every pass: there is nothing to look for".into());
    }
    if !trial.is_good(0)? {
        return Err("the command fails without any pass that can be left out: none of them is the cause".into());
    }
    let mut failed = None;
    let found = pass::halve(passes.len(), |limit| match trial.is_good(limit) {
        Ok(good) => good,
        Err(error) => {
            failed = Some(error);
            false
        }
    });
    match failed {
        Some(error) => Err(error),
        None => Ok(trial.tell(found)),
    }
}

struct Trial<'a> {
    /// The function's name, as the variable takes it.
    name: &'a str,
    command: &'a [OsString],
    passes: &'a [&'a str],
}

impl Trial<'_> {
    /// Whether the command succeeds where so many executions run.
    fn is_good(&self, limit: usize) -> Result<bool, String> {
        let [program, arguments @ ..] = self.command else { return Err("there is no command".into()) };
        let mut command = Command::new(program);
        command.args(arguments).env(VARIABLE, format!("{}:{limit}", self.name));
        let done = command.output().map_err(|error| format!("`{}` does not start: {error}", program.display()))?;
        let word = if done.status.success() { "good" } else { "bad" };
        output::say(&format!("{limit:>4} of {}: {word}\n", self.passes.len()));
        Ok(done.status.success())
    }

    fn tell(&self, execution: usize) -> Outcome {
        let pass = self.passes[execution - 1];
        let nth = self.passes[..execution].iter().filter(|name| **name == pass).count();
        let again = if nth > 1 { format!(" (its run {nth})") } else { String::new() };
        let total = self.passes.len();
        output::say(&format!("the command fails from `{pass}`{again} on, execution {execution} of {total}\n"));
        let name = self.name;
        output::say(&format!("  = help: `cargo tenfold show --after {pass} {name}` prints what it makes; "));
        output::say(&format!("`TENFOLD_DISABLE={pass}` leaves it out\n"));
        Outcome::Good
    }
}
