//! Every rule of the infrastructure.

mod bisect;
mod context;
mod instruments;
mod kinds;
mod user;

use std::sync::{Arc, Mutex};

use tenfold_ir::{Function, Module, relax, tir};

use super::{Pass, PassContext, PassInfo, PassInstrument, wrong};
use crate::{CompileError, Target};

/// What happened, in order.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(super) fn say(&self, text: impl Into<String>) {
        self.0.lock().unwrap().push(text.into());
    }

    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

pub(super) fn context() -> PassContext {
    PassContext::new(Target::from_triple("x86_64-unknown-linux-gnu", &[]))
}

/// A context of a level.
pub(super) fn at(opt_level: u32) -> PassContext {
    let mut context = context();
    context.opt_level = opt_level;
    context
}

/// A pass that says its name.
pub(super) fn named(log: &Log, name: &'static str) -> Pass {
    let log = log.clone();
    Pass::module(name, move |_, _| {
        log.say(name);
        Ok(())
    })
}

/// A module of one graph `f` and one loop nest `p`.
pub(super) fn module() -> Module {
    let mut module = Module { entry: "f".into(), sources: vec!["f".into()], ..Module::default() };
    let graph = "relax @f phase imported {\n  param v0: f32[4] = input 0 \"x\"\n  return v0\n}\n";
    let graph = relax::parse_function(graph).expect("a graph");
    module.functions.insert("f".into(), Function::Relax(graph));
    module.functions.insert("p".into(), Function::Prim(tir::Builder::new("p").finish()));
    module
}

/// An error of a test.
pub(super) fn refused(text: &str) -> CompileError {
    wrong(text, None)
}

/// Says what it is asked, and refuses what it is told to.
pub(super) struct Watcher {
    pub(super) name: &'static str,
    pub(super) log: Log,
    /// The method that fails.
    pub(super) fails: &'static str,
    /// The pass that may not run.
    pub(super) stops: &'static str,
}

impl Watcher {
    pub(super) fn boxed(log: &Log, name: &'static str, fails: &'static str) -> Box<dyn PassInstrument> {
        Box::new(Watcher { name, log: log.clone(), fails, stops: "" })
    }

    fn at(&self, method: &'static str, pass: &str) -> Result<(), CompileError> {
        self.log.say(format!("{} {method} {pass}", self.name).trim_end());
        if self.fails == method { Err(refused(&format!("{} refuses {method}", self.name))) } else { Ok(()) }
    }
}

impl PassInstrument for Watcher {
    fn enter_pass_ctx(&mut self) -> Result<(), CompileError> {
        self.at("enter", "")
    }
    fn exit_pass_ctx(&mut self) -> Result<(), CompileError> {
        self.at("exit", "")
    }
    fn should_run(&mut self, pass: &PassInfo, _: &Module) -> Result<bool, CompileError> {
        self.at("should", pass.name)?;
        Ok(self.stops != pass.name)
    }
    fn run_before_pass(&mut self, pass: &PassInfo, _: &Module) -> Result<(), CompileError> {
        self.at("before", pass.name)
    }
    fn run_after_pass(&mut self, pass: &PassInfo, _: &Module) -> Result<(), CompileError> {
        self.at("after", pass.name)
    }
}
