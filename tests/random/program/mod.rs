//! Writes random programs of the language. A program is a list of statements, each of its own seed: statements that the
//! front end refuses are left out, so that the generator may try what it cannot prove.

mod callees;
mod counters;
mod element;
mod loops;
mod names;
mod regions;
mod signature;
mod tensor;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tenfold_ir::Module;
use tenfold_syntax::elaborate::elaborate;
use tenfold_syntax::{parse_text, render::render};

use crate::data::Random;
use crate::elaborated::Crate;
pub(crate) use signature::Signature;

/// A named value of a program.
#[derive(Clone, Debug, PartialEq)]
struct Var {
    name: String,
    dtype: &'static str,
    /// Extents as they are written.
    shape: Vec<String>,
    /// Whether it may be assigned to.
    mutable: bool,
}

impl Var {
    fn scalar(&self) -> bool {
        self.shape.is_empty()
    }

    /// `Tensor<f32, N, 3>`, `f32`.
    fn ty(&self) -> String {
        written(self.dtype, &self.shape)
    }
}

/// A type as it is written.
fn written(dtype: &str, shape: &[String]) -> String {
    match shape {
        [] => dtype.to_string(),
        shape => format!("Tensor<{dtype}, {}>", shape.join(", ")),
    }
}

/// A program, and how often the front end said no.
pub(crate) struct Written {
    pub(crate) text: String,
    pub(crate) module: Module,
    pub(crate) refused: BTreeMap<String, usize>,
}

/// What is written so far.
struct Writer {
    random: Random,
    vars: Vec<Var>,
    /// Index values at hand: the name and the extent below which it is, if one is known.
    indices: Vec<(String, Option<String>)>,
    fresh: usize,
    /// The dtype most values have.
    main: &'static str,
    /// The name of the program, with which those of the functions that it calls begin.
    program: String,
}

const FLOATS: &[&str] = &["f32", "f64", "f16", "bf16"];
const INTS: &[&str] = &["i32", "i64", "u8", "i8", "u32", "u16", "i16", "u64"];

/// Whether programs have what `TENFOLD_RANDOM_WIDE` adds: counters, carried tensors, calls, constants and more.
fn wide() -> bool {
    std::env::var_os("TENFOLD_RANDOM_WIDE").is_some()
}

fn is_float(dtype: &str) -> bool {
    FLOATS.contains(&dtype)
}

/// The seeds of a program's statements.
pub(crate) fn statements(seed: u64) -> Vec<u64> {
    let mut random = Random::new(seed ^ 0x009f_0a11);
    (0..2 + random.below(7)).map(|_| random.bits()).collect()
}

/// The module of a text among other functions, or the first message of the front end.
fn module(text: &str, others: &Crate) -> Result<Module, String> {
    let parsed = parse_text(text);
    let mut diagnostics = parsed.diagnostics.clone();
    let done = parsed.function.as_ref().map(|function| elaborate(function, others));
    let module = done.and_then(|done| {
        diagnostics.extend(done.diagnostics);
        done.module
    });
    module.ok_or_else(|| render(text, &parsed.spans, &diagnostics))
}

/// The program of these statements; none if the front end panics, with its text.
pub(crate) fn write(name: &str, seed: u64, statements: &[u64]) -> Result<Written, String> {
    let signature = Signature::of_seed(seed);
    let main = signature.dtype();
    let callees = callees::items(name, main);
    let others = Crate::new(callees.iter().filter_map(|(_, text)| parse_text(text).function));
    let (random, program) = (Random::new(seed), name.to_string());
    let mut w = Writer { random, vars: signature.vars(), indices: signature.indices(), fresh: 0, main, program };
    let (mut body, mut refused) = (String::new(), BTreeMap::new());
    let check = |body: &str, vars: &[Var]| check(&signature.text(name, body, vars), &others);
    let mut last = check(&body, &w.vars)?.map_err(|e| format!("not even nothing: {e}"))?;
    for statement in statements {
        w.random = Random::new(*statement);
        let before = (w.vars.clone(), w.indices.clone(), body.len());
        body += &w.statement();
        match check(&body, &w.vars)? {
            Ok(module) => last = module,
            Err(message) => {
                let text = first_line(&message);
                *refused.entry(text).or_default() += 1;
                (w.vars, w.indices) = (before.0, before.1);
                body.truncate(before.2);
            }
        }
    }
    let called = callees.iter().filter(|(name, _)| body.contains(&format!("self::{name}")));
    let called: String = called.map(|(_, text)| text.as_str()).collect();
    Ok(Written { text: called + &signature.text(name, &body, &w.vars), module: last, refused })
}

/// What a refusal says, without names and numbers.
fn first_line(message: &str) -> String {
    let mut quoted = false;
    let text = message.lines().next().unwrap_or_default();
    text.chars()
        .filter(|c| {
            quoted ^= *c == '`';
            !quoted && !c.is_ascii_digit()
        })
        .collect()
}

/// What the front end says of a text; an error if it panics.
fn check(text: &str, others: &Crate) -> Result<Result<Module, String>, String> {
    catch_unwind(AssertUnwindSafe(|| module(text, others))).map_err(|_| format!("the front end panics on\n{text}"))
}

impl Writer {
    /// The number of a kind of text: of those that always stand, or of all.
    fn kinds(&mut self, usual: usize, all: usize) -> usize {
        self.random.below(if wide() { all } else { usual })
    }

    fn chance(&mut self, one_of: usize) -> bool {
        self.random.below(one_of) == 0
    }

    fn name(&mut self, base: &str) -> String {
        self.fresh += 1;
        format!("{base}{}", self.fresh)
    }

    /// A statement, with what it binds.
    fn statement(&mut self) -> String {
        match self.kinds(16, 26) {
            0..=2 => self.bind_operators(),
            3..=5 => self.bind_compute(),
            6 | 7 => self.element_loop(),
            8 => self.while_loop(),
            9 => self.graph_loop(),
            10 => self.branch(),
            11 => self.assign(),
            12 => self.folds(),
            13 => self.parts(),
            14 => self.histogram(),
            16 => self.counter_loop(),
            17 | 18 => self.carrying_loop(),
            19 => self.changing_branch(),
            20 => self.unrolled(),
            21 => self.folds_of_rows(),
            22 => self.tuple(),
            23 => self.shadow(),
            24 => {
                if self.chance(3) {
                    self.constant()
                } else {
                    self.call()
                }
            }
            _ => self.bind_scalar(),
        }
    }

    /// Binds a value that an annotated `let` gives.
    fn bind(&mut self, value: &str, dtype: &'static str, shape: Vec<String>) -> String {
        let (name, mutable) = (self.name("t"), self.chance(3));
        let var = Var { name, dtype, shape, mutable };
        let line = format!("    let {}{}: {} = {value};\n", if mutable { "mut " } else { "" }, var.name, var.ty());
        self.vars.push(var);
        line
    }

    /// A tensor; the newest are the likeliest.
    fn tensor(&mut self) -> Var {
        self.pick(|v| !v.scalar()).unwrap_or_else(|| self.vars[0].clone())
    }

    fn pick(&mut self, fits: impl Fn(&Var) -> bool) -> Option<Var> {
        let all: Vec<&Var> = self.vars.iter().filter(|v| fits(v)).collect();
        if all.is_empty() {
            return None;
        }
        let back = self.random.below(all.len()).min(self.random.below(all.len()));
        Some(all[all.len() - 1 - back].clone())
    }

    /// A literal of a dtype.
    fn literal(&mut self, dtype: &str) -> String {
        if is_float(dtype) {
            return format!("{}{dtype}", self.random.pick(&["0.5", "1.5", "2.0", "0.0", "0.25", "3.0"]));
        }
        match dtype {
            "bool" => self.random.pick(&["true", "false"]).to_string(),
            _ => format!("{}{dtype}", self.random.pick(&["0", "1", "2", "3", "7", "100"])),
        }
    }
}
