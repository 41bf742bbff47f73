//! `ApplySchedule`: what `#[schedule]` says is done to the kernels of a function, before any default schedule.
//!
//! A block is found by the `let` that holds its value, or, for the last expression, by the function's name; blocks
//! inside a kernel of several keep names of their own. A refusal is an error at the step, in the user's names.

use std::collections::BTreeMap;

use tenfold_ir::relax::Op;
use tenfold_ir::{Function, Loc, Module};

use super::args::Arg;
use super::handle::Rv;
use super::program::{Binds, Program, Step, What, Written, joined};
use super::state::Schedule;
use super::table::{Gives, Kind};
use crate::pass::{Pass, PassPhase, Remark, UserPass};
use crate::{CompileError, ErrorKind};

impl Program {
    /// The pass that applies the schedule.
    pub fn pass(self) -> UserPass {
        let run = move |module: &mut Module, context: &crate::pass::PassContext| {
            let done = apply(module, &self)?;
            done.into_iter().for_each(|remark| context.remark(|| remark));
            Ok(())
        };
        let pass = Pass::module("ApplySchedule", run).in_phase(PassPhase::Fusion);
        UserPass { pass: pass.about("does to the kernels of a function what its `#[schedule]` says") }
    }
}

/// Applies a schedule to the kernels of a module; what it did to each.
pub fn apply(module: &mut Module, program: &Program) -> Result<Vec<Remark>, CompileError> {
    let frozen = module.clone();
    let mut run =
        Run { blocks: blocks_of(&frozen), module: &frozen, program, kernels: BTreeMap::new(), names: BTreeMap::new() };
    for step in &program.steps {
        run.step(step)?;
    }
    let mut done = Vec::new();
    for (name, kernel) in run.kernels {
        let steps: Vec<String> = kernel.trace().to_string().lines().map(|line| line.trim().to_string()).collect();
        done.push(Remark::applied("ApplySchedule", &name, "`#[schedule]`".into(), steps.join(" ")));
        module.functions.insert(name, Function::Prim(kernel.finish()));
    }
    Ok(done)
}

/// The kernel and the block of every name that a user may write.
fn blocks_of(module: &Module) -> BTreeMap<String, (String, String)> {
    let mut all = BTreeMap::new();
    let mut twice = Vec::new();
    for function in module.functions.values() {
        let Function::Prim(prim) = function else { continue };
        for block in Schedule::new(module, prim.clone()).block_names() {
            if all.insert(block.clone(), (prim.name.clone(), block.clone())).is_some() {
                twice.push(block);
            }
        }
    }
    // A name that several kernels have says nothing, unless a `let` has it.
    twice.iter().for_each(|name| drop(all.remove(name)));
    let Some(entry) = module.relax(&module.entry) else { return all };
    for binding in entry.blocks.iter().flat_map(|b| &b.bindings) {
        let Op::CallTir { func, .. } = &binding.op else { continue };
        let (Some(prim), Some(value)) = (module.prim(func), entry.values.get(binding.out.0 as usize)) else { continue };
        let Some(block) = output_block(module, prim) else { continue };
        // The last expression is the function's, whatever passes have called its value.
        if entry.results.last() == Some(&binding.out) {
            all.entry(entry.name.clone()).or_insert_with(|| (func.clone(), block.clone()));
        }
        if !value.name.is_empty() {
            all.insert(value.name.clone(), (func.clone(), block));
        }
    }
    all
}

/// The block of a kernel that writes its result, the last if there are several.
fn output_block(module: &Module, prim: &tenfold_ir::tir::PrimFunc) -> Option<String> {
    let mut schedule = Schedule::new(module, prim.clone());
    let outputs = schedule.get_output_blocks().ok()?;
    outputs.last().map(|b| schedule.block_name(*b).to_string())
}

/// What a name stands for: references into one kernel.
#[derive(Clone)]
struct Bound {
    kernel: String,
    all: Vec<Rv>,
    several: bool,
}

struct Run<'m> {
    blocks: BTreeMap<String, (String, String)>,
    module: &'m Module,
    program: &'m Program,
    kernels: BTreeMap<String, Schedule<'m>>,
    names: BTreeMap<String, Bound>,
}

impl Run<'_> {
    fn step(&mut self, step: &Step) -> Result<(), CompileError> {
        let mut kernel = None;
        let block_first = super::primitives::find(&step.primitive)
            .and_then(|p| p.params.first())
            .is_some_and(|p| matches!(p.kind, Kind::Block | Kind::Place));
        let mut args = Vec::new();
        for (n, written) in step.args.iter().enumerate() {
            args.push(self.arg(written, n == 0 && block_first, &mut kernel)?);
        }
        let Some(kernel) = kernel.or_else(|| self.only_kernel()) else {
            let help = "name a block or a loop, as in `s.loops(\"y\")`";
            return Err(error(step.node, format!("`{}` names no kernel", step.primitive), help));
        };
        self.enter(&kernel);
        let Some(schedule) = self.kernels.get_mut(&kernel) else { return Ok(()) };
        match schedule.apply(&step.primitive, args) {
            Ok(all) => self.bind(step, &kernel, all),
            Err(refused) => {
                let asked = format!("{}({})", step.primitive, joined(&step.args));
                let text = format!("`{asked}` cannot be applied: {}", self.in_words(&kernel, &refused.obstacle));
                Err(error(step.node, text, &self.in_words(&kernel, &refused.help)))
            }
        }
    }

    fn only_kernel(&self) -> Option<String> {
        let mut names = self.blocks.values().map(|(kernel, _)| kernel);
        let first = names.next()?;
        names.all(|n| n == first).then(|| first.clone())
    }

    fn enter(&mut self, kernel: &str) {
        if self.kernels.contains_key(kernel) {
            return;
        }
        if let Some(prim) = self.module.prim(kernel) {
            let mut func = prim.clone();
            func.strict |= self.program.strict;
            self.kernels.insert(kernel.to_string(), Schedule::new(self.module, func));
        }
    }

    fn arg(&self, written: &Written, block: bool, kernel: &mut Option<String>) -> Result<Arg, CompileError> {
        let mut of = |name: &str, node: u32| match kernel {
            None => {
                *kernel = Some(name.to_string());
                Ok(())
            }
            Some(known) if known == name => Ok(()),
            Some(_) => {
                let help =
                    "a schedule moves blocks within one kernel; what operators compute is joined where it can be";
                Err(error(node, "this is in another kernel than what stands before it", help))
            }
        };
        Ok(match &written.what {
            What::Text(name) if block => match self.blocks.get(name) {
                Some((owner, inner)) => {
                    of(owner, written.node)?;
                    Arg::Text(inner.clone())
                }
                None => {
                    let names: Vec<String> = self.blocks.keys().map(|n| format!("`{n}`")).collect();
                    let help = format!("the blocks are {}", names.join(", "));
                    return Err(error(written.node, format!("there is no block `{name}`"), &help));
                }
            },
            What::Name(name) => match self.names.get(name) {
                Some(bound) => {
                    of(&bound.kernel, written.node)?;
                    match &bound.all[..] {
                        [one] if !bound.several => Arg::Rv(*one),
                        all => Arg::List(all.iter().map(|rv| Arg::Rv(*rv)).collect()),
                    }
                }
                None => {
                    let help = "write `let [i, j] = s.loops(\"y\");` before it";
                    return Err(error(written.node, format!("no earlier step binds `{name}`"), help));
                }
            },
            What::List(all) => {
                let all = all.iter().map(|w| self.arg(w, false, kernel)).collect::<Result<Vec<_>, _>>()?;
                Arg::List(all)
            }
            What::Named(name, inner) => {
                Arg::Named(name.clone(), Box::new(self.arg(inner, block && name == "block", kernel)?))
            }
            What::Int(n) => Arg::Int(*n),
            What::Bool(b) => Arg::Bool(*b),
            What::Text(text) => Arg::Text(text.clone()),
            What::Infer => Arg::Infer,
            What::Map(map) => Arg::Map(map.clone()),
        })
    }

    fn bind(&mut self, step: &Step, kernel: &str, all: Vec<Rv>) -> Result<(), CompileError> {
        let gives = super::primitives::find(&step.primitive).map_or(Gives::Nothing, |p| p.gives);
        let kernel = kernel.to_string();
        match &step.binds {
            Binds::Nothing => {}
            Binds::One(name) => {
                self.names.insert(name.clone(), Bound { kernel, all, several: gives == Gives::List });
            }
            Binds::Each(names) if names.len() == all.len() => {
                for (name, rv) in names.iter().zip(all).filter(|(name, _)| *name != "_") {
                    let bound = Bound { kernel: kernel.clone(), all: vec![rv], several: false };
                    self.names.insert(name.clone(), bound);
                }
            }
            Binds::Each(names) => {
                let text = format!("`{}` gives {}, and {} names are bound", step.primitive, all.len(), names.len());
                return Err(error(step.node, text, &format!("bind {} names", all.len())));
            }
        }
        Ok(())
    }

    /// A text with the user's names of loops in the place of ours.
    fn in_words(&self, kernel: &str, text: &str) -> String {
        let Some(schedule) = self.kernels.get(kernel) else { return text.to_string() };
        let mut text = text.to_string();
        for (name, bound) in self.names.iter().filter(|(_, b)| b.kernel == kernel && !b.several) {
            if let [Rv::Loop(it)] = bound.all[..] {
                text = text.replace(&format!("`{}`", schedule.loop_name(it)), &format!("`{name}`"));
            }
        }
        text
    }
}

fn error(node: u32, message: impl Into<String>, help: &str) -> CompileError {
    CompileError { kind: ErrorKind::Schedule, loc: Loc::node(node), message: message.into(), help: Some(help.into()) }
}
