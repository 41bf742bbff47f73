//! What the environment says of passes. Names, syntax and meaning of the variables are one table.

use super::{BisectLimit, DiffPasses, DumpFiles, PassContext, PrintPasses, Remarks, Timing, Verify, wrong};
use crate::{CompileError, Target};

/// A variable of the environment.
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// How a value is written.
    pub syntax: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Whether it prints to standard error.
    pub prints: bool,
    set: fn(&mut PassContext, &str) -> Result<(), CompileError>,
}

/// Every variable that a context reads.
pub static VARIABLES: &[Variable] = &[
    Variable {
        name: "TENFOLD_OPT_LEVEL",
        syntax: "0 to 3",
        about: "passes of a higher level do not run; 2 if it is not set",
        prints: false,
        set: opt_level,
    },
    Variable {
        name: "TENFOLD_REQUIRE",
        syntax: "PASS,…",
        about: "these passes run whatever their level",
        prints: false,
        set: |context, value| each(value, |name| context.require(name)),
    },
    Variable {
        name: "TENFOLD_DISABLE",
        syntax: "PASS,…",
        about: "these passes do not run",
        prints: false,
        set: |context, value| each(value, |name| context.disable(name)),
    },
    Variable {
        name: "TENFOLD_CONFIG",
        syntax: "PASS.KEY=VALUE,…",
        about: "settings of passes",
        prints: false,
        set: config,
    },
    Variable {
        name: "TENFOLD_BISECT",
        syntax: "a number, or FUNCTION:NUMBER",
        about: "only so many executions of optional passes run, in each function or in those of that name",
        prints: false,
        set: bisect,
    },
    Variable {
        name: "TENFOLD_VERIFY",
        syntax: "0 or 1",
        about: "whether the verifier runs after every pass; a debug build does it in any case",
        prints: false,
        set: |context, value| switch(value, || context.watch(Box::new(Verify))),
    },
    Variable {
        name: "TENFOLD_DUMP",
        syntax: "a folder",
        about: "the module after every pass, a file each",
        prints: false,
        set: |context, value| {
            context.watch(Box::new(DumpFiles::new(value.into())));
            Ok(())
        },
    },
    Variable {
        name: "TENFOLD_PRINT",
        syntax: "before:PASS,after:PASS,…",
        about: "prints the module there; a bare name is `after:`, and `all` is every pass",
        prints: true,
        set: |context, value| {
            context.watch(Box::new(PrintPasses::parse(value)?));
            Ok(())
        },
    },
    Variable {
        name: "TENFOLD_DIFF",
        syntax: "PASS,…",
        about: "prints what these passes change; `all` is every pass",
        prints: true,
        set: |context, value| {
            context.watch(Box::new(DiffPasses::printing(value)?));
            Ok(())
        },
    },
    Variable {
        name: "TENFOLD_TIMING",
        syntax: "0 or 1",
        about: "prints how long each pass took",
        prints: true,
        set: |context, value| switch(value, || context.watch(Box::new(Timing::printing()))),
    },
    Variable {
        name: "TENFOLD_REMARKS",
        syntax: "0 or 1",
        about: "prints which kernels became one, which rule scheduled them and which loops became vectors, were copied out or cut, and why others were not",
        prints: true,
        set: |context, value| switch(value, || context.watch(Box::new(Remarks::printing()))),
    },
];

impl PassContext {
    /// Does what a variable of [`VARIABLES`] says where it is set to a value that is not empty.
    pub fn apply(&mut self, variable: &str, value: &str) -> Result<(), CompileError> {
        match VARIABLES.iter().find(|known| known.name == variable) {
            Some(known) if !value.is_empty() => (known.set)(self, value),
            Some(_) | None => Ok(()),
        }
    }

    /// Follows the variables that are set. An error names the variable.
    pub fn follow(&mut self, env: &dyn Fn(&str) -> Option<String>) -> Result<(), CompileError> {
        for Variable { name, .. } in VARIABLES {
            let value = env(name).unwrap_or_default();
            self.apply(name, &value).map_err(|error| {
                let message = format!("`{name}={value}`: {}", error.message);
                CompileError { message, ..error }
            })?;
        }
        Ok(())
    }

    /// A context with what the environment asks for. Nothing else of the environment is read.
    pub fn from_env(target: Target, env: &dyn Fn(&str) -> Option<String>) -> Result<Self, CompileError> {
        let mut context = PassContext::new(target);
        context.follow(env)?;
        Ok(context)
    }
}

fn each(list: &str, mut act: impl FnMut(&str) -> Result<(), CompileError>) -> Result<(), CompileError> {
    list.split(',').map(str::trim).filter(|part| !part.is_empty()).try_for_each(&mut act)
}

fn opt_level(context: &mut PassContext, value: &str) -> Result<(), CompileError> {
    match value.parse() {
        Ok(level @ 0..=3) => context.opt_level = level,
        _ => return Err(wrong("expected a level from 0 to 3", None)),
    }
    Ok(())
}

fn config(context: &mut PassContext, value: &str) -> Result<(), CompileError> {
    each(value, |part| match part.split_once('=') {
        Some((key, value)) => context.set_text(key.trim(), value.trim()),
        None => Err(wrong(format!("expected `PASS.KEY=VALUE`, found `{part}`"), None)),
    })
}

fn bisect(context: &mut PassContext, value: &str) -> Result<(), CompileError> {
    let (function, number) = value.rsplit_once(':').unwrap_or(("", value));
    let limit = number.parse().map_err(|_| wrong("expected a number, or FUNCTION:NUMBER", None))?;
    context.watch(Box::new(BisectLimit::new(limit).of(function)));
    Ok(())
}

fn switch(value: &str, act: impl FnOnce()) -> Result<(), CompileError> {
    match value {
        "0" => {}
        "1" => act(),
        _ => return Err(wrong("expected `0` or `1`", None)),
    }
    Ok(())
}
