//! `bench`, and `explain` on several threads, call compiled code from a process of its own, through the runtime that
//! programs have: its threads are what is measured. The code is a shared library with functions in C around the entry.
#![allow(unsafe_code, reason = "it loads and calls what was just compiled")]

use std::env;
use std::ffi::{CString, OsString, c_char, c_void};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use libloading::{Library, Symbol};
use tenfold::rt::Context;

use crate::{Outcome, output};

/// The variable that makes this program the process that calls a library.
const LIBRARY: &str = "TENFOLD_MEASURED_LIBRARY";

/// The variable that makes this program the process that calls a library of `explain`, which measures by itself.
const EXPLAINED: &str = "TENFOLD_EXPLAINED_LIBRARY";

/// Calls before the first that counts.
const WARM: usize = 3;

/// Calls that are measured however long they take.
const LEAST: usize = 5;

/// Calls that are measured at most.
const MOST: usize = 1 << 20;

/// Starts this program as the one that calls a library, with so many threads.
pub(super) fn command(library: &Path, threads: usize) -> Result<Command, String> {
    started(LIBRARY, library, threads)
}

/// The same for a library of `explain`.
pub(crate) fn explained(library: &Path, threads: usize) -> Result<Command, String> {
    started(EXPLAINED, library, threads)
}

fn started(variable: &str, library: &Path, threads: usize) -> Result<Command, String> {
    let own = env::current_exe().map_err(|e| format!("this program's own file is not known: {e}"))?;
    let mut command = Command::new(own);
    command.env(variable, library).env("TENFOLD_THREADS", threads.to_string());
    Ok(command)
}

/// Does its part, if this process is the one that calls: `INPUT OUTPUT SECONDS`, or `INPUTS SECONDS` of `explain`.
pub(super) fn child() -> Option<Outcome> {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let said = match (env::var_os(EXPLAINED), env::var_os(LIBRARY)) {
        (Some(library), _) => explains(&library, &arguments).map(|()| String::new()),
        (None, Some(library)) => measured(&library, &arguments),
        (None, None) => return None,
    };
    Some(match said {
        Ok(said) => {
            output::say(&said);
            Outcome::Good
        }
        Err(error) => {
            output::complain(&error);
            Outcome::Bad
        }
    })
}

/// The library prints what it measures.
fn explains(library: &OsString, arguments: &[OsString]) -> Result<(), String> {
    let [inputs, seconds] = arguments else { return Err("two arguments are wanted".into()) };
    let seconds: f64 = seconds.to_str().and_then(|s| s.parse().ok()).ok_or("no number of seconds")?;
    let inputs = CString::new(inputs.as_encoded_bytes()).map_err(|e| e.to_string())?;
    let threads = i32::try_from(tenfold::threads::get()).map_err(|e| e.to_string())?;
    // Whoever knows what this processor runs has asked the system for it.
    let _ = tenfold::variants::current();
    // SAFETY: the library was linked from what `explain` has compiled, and has no initialisers.
    let library = unsafe { Library::new(library) }.map_err(|e| e.to_string())?;
    // SAFETY: `measure.c` declares the function so.
    let measure: Symbol<'_, Measure> = unsafe { library.get(b"tenfold_explain") }.map_err(|e| e.to_string())?;
    let context = Context::new();
    // SAFETY: the path is C's, the file is the library's to check, and the context lives through the call.
    match unsafe { measure(inputs.as_ptr(), seconds, context.as_ptr(), threads) } {
        0 => Ok(()),
        _ => Err("the inputs cannot be read".into()),
    }
}

type Measure = unsafe extern "C" fn(*const c_char, f64, *const c_void, i32) -> i32;

fn measured(library: &OsString, arguments: &[OsString]) -> Result<String, String> {
    let [input, output, seconds] = arguments else { return Err("three arguments are wanted".into()) };
    let limit: f64 = seconds.to_str().and_then(|s| s.parse().ok()).ok_or("no number of seconds")?;
    let text = |path: &OsString| CString::new(path.as_encoded_bytes()).map_err(|e| e.to_string());
    let (input, output) = (text(input)?, text(output)?);
    // Whoever knows what this processor runs has asked the system for it.
    let _ = tenfold::variants::current();
    // SAFETY: the library was linked from a compiled model and `main_source`, and has no initialisers.
    let library = unsafe { Library::new(library) }.map_err(|e| e.to_string())?;
    // SAFETY: `main_source` declares the functions so.
    let (open, call, write): (Symbol<'_, File>, Symbol<'_, Entry>, Symbol<'_, File>) = unsafe {
        let file = |name: &[u8]| library.get(name).map_err(|e| e.to_string());
        (file(b"tenfold_open")?, library.get(b"tenfold_call").map_err(|e| e.to_string())?, file(b"tenfold_write")?)
    };
    // SAFETY: the paths are C's, the files open's and write's to check, and the context lives through the call.
    let (opened, called) = unsafe { (open(input.as_ptr()), || call(Context::new().as_ptr())) };
    if opened != 0 || called() != 0 {
        return Err("the model cannot be called".into());
    }
    // SAFETY: as above.
    if unsafe { write(output.as_ptr()) } != 0 {
        return Err("the results cannot be written".into());
    }
    Ok(times(called, Duration::from_secs_f64(limit.max(0.0))))
}

type File = unsafe extern "C" fn(*const c_char) -> i32;
type Entry = unsafe extern "C" fn(*const c_void) -> i32;

/// The median, least and greatest time of a call in milliseconds, and how many there were.
fn times(call: impl Fn() -> i32, limit: Duration) -> String {
    for _ in 0..WARM {
        call();
    }
    let (begin, mut all) = (Instant::now(), Vec::with_capacity(MOST));
    while all.len() < MOST && (all.len() < LEAST || begin.elapsed() < limit) {
        let begin = Instant::now();
        call();
        all.push(begin.elapsed());
    }
    all.sort_unstable();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    format!("{:.6} {:.6} {:.6} {}\n", ms(all[all.len() / 2]), ms(all[0]), ms(all[all.len() - 1]), all.len())
}
