//! Text on its way to the terminal or a pipe.

use std::io::{self, Write as _};

use crate::Outcome;

/// Writes to stdout. Where nobody reads any more, as behind `| head`, the program ends quietly.
pub(crate) fn say(text: &str) {
    let mut out = io::stdout().lock();
    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// An error that ends a command.
pub(crate) fn complain(text: &str) {
    eprintln!("error: {text}");
}

/// What a command has to say, or what it complains of, as it stands.
pub(crate) fn tell(said: Result<String, String>) -> Outcome {
    match said {
        Ok(text) => {
            say(&text);
            Outcome::Good
        }
        Err(text) => {
            eprint!("{text}");
            Outcome::Bad
        }
    }
}
