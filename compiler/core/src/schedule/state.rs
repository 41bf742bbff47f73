//! The schedule: a function, references, a trace.

use tenfold_ir::tir::{PrimFunc, VarId};
use tenfold_ir::{Module, tir};

use super::args::{Arg, Args, Value};
use super::edit::State;
use super::error::{Refusal, ScheduleError};
use super::handle::{BlockRV, ExprRV, LoopRV, Rv};
use super::primitives;
use super::stage;
use super::table::{Gives, Out, Primitive};
use super::trace::{Instruction, Trace};

/// A prim-func under a schedule.
#[derive(Clone)]
pub struct Schedule<'m> {
    state: State<'m>,
    blocks: Vec<String>,
    loops: Vec<VarId>,
    numbers: Vec<i64>,
    trace: Trace,
}

impl<'m> Schedule<'m> {
    /// A schedule of `func`, a function of `module` that is not flat yet.
    pub fn new(module: &'m Module, func: PrimFunc) -> Self {
        Schedule::seeded(module, func, 0)
    }

    /// The same; what is sampled follows from `seed`.
    pub fn seeded(module: &'m Module, func: PrimFunc, seed: u64) -> Self {
        let state = State::new(module, func, seed);
        Schedule { state, blocks: Vec::new(), loops: Vec::new(), numbers: Vec::new(), trace: Trace::default() }
    }

    /// The function as it is now.
    pub fn func(&self) -> PrimFunc {
        self.state.func()
    }

    /// What was applied so far.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// The function, scheduled.
    pub fn finish(self) -> PrimFunc {
        let func = self.func();
        PrimFunc { phase: func.phase.max(tir::Phase::Scheduled), ..func }
    }

    /// The names of the function's blocks, outer ones first, in order.
    pub fn block_names(&self) -> Vec<String> {
        super::tree::all_blocks(&self.state.body).into_iter().map(|b| b.name.clone()).collect()
    }

    /// The name of a block that this schedule has given.
    pub fn block_name(&self, block: BlockRV) -> &str {
        self.blocks.get(block.0 as usize).map_or("?", String::as_str)
    }

    /// The name of a loop that this schedule has given.
    pub fn loop_name(&self, it: LoopRV) -> String {
        self.loops.get(it.0 as usize).map_or_else(|| "?".to_string(), |var| self.state.name(*var))
    }

    /// A number that this schedule has chosen.
    pub fn number(&self, it: ExprRV) -> Option<i64> {
        self.numbers.get(it.0 as usize).copied()
    }

    /// Applies a primitive by its name. It is recorded; if it is refused, nothing has changed.
    pub fn apply(&mut self, name: &str, args: Vec<Arg>) -> Result<Vec<Rv>, ScheduleError> {
        let Some(primitive) = primitives::find(name) else {
            let refusal = Refusal::new("there is no such primitive", primitives::closest(name));
            return Err(self.error(name, &args, refusal));
        };
        match self.run(primitive, &args) {
            Ok((state, outs)) => Ok(self.accept(primitive, args, state, outs)),
            Err(refusal) => Err(self.error(primitive.name, &args, refusal)),
        }
    }

    fn run(&self, primitive: &Primitive, args: &[Arg]) -> Result<(State<'m>, Vec<Out>), Refusal> {
        if self.state.b.func().phase >= tir::Phase::Flat {
            return Refusal::err("the function is flat", "schedule it before `FlattenBuffer`");
        }
        let args = primitive.bind(args, &|rv| self.value(rv))?;
        self.present(&args)?;
        let mut state = self.state.clone();
        let outs = (primitive.run)(&mut state, &args)?;
        stage::require_threads(&state)?;
        let broken = tir::verify(self.state.module, &state.func());
        match broken.first() {
            None => Ok((state, outs)),
            Some(law) => Refusal::err(format!("its result would break a law: {law}"), "report this bug of Tenfold"),
        }
    }

    /// What is referred to must still be there.
    fn present(&self, args: &Args) -> Result<(), Refusal> {
        args.0.iter().try_for_each(|value| self.value_is_present(value))
    }

    fn value_is_present(&self, value: &Value) -> Result<(), Refusal> {
        match value {
            Value::Block(name) => self.state.get_block(name).map(|_| ()),
            Value::Loop(var) => self.state.get_loop(*var).map(|_| ()),
            Value::List(all) => all.iter().try_for_each(|v| self.value_is_present(v)),
            Value::Int(_) | Value::Real(_) | Value::Bool(_) | Value::Text(_) | Value::Infer | Value::Map(_) => Ok(()),
        }
    }

    fn accept(&mut self, primitive: &Primitive, mut args: Vec<Arg>, state: State<'m>, outs: Vec<Out>) -> Vec<Rv> {
        self.state = state;
        if primitive.decides {
            args.retain(|arg| !matches!(arg, Arg::Named(name, _) if name == "decision"));
            args.push(Arg::Named("decision".into(), Box::new(self.decision(primitive.gives, &outs))));
        }
        let results: Vec<Rv> = outs.into_iter().map(|out| self.refer(out)).collect();
        let step = Instruction { primitive: primitive.name.to_string(), args, results: results.clone() };
        self.trace.steps.push(step);
        results
    }

    /// What was chosen, in a form that makes the same choice again.
    fn decision(&self, gives: Gives, outs: &[Out]) -> Arg {
        let mut all: Vec<Arg> = outs.iter().map(|out| self.chosen(out)).collect();
        match gives {
            Gives::One if all.len() == 1 => all.remove(0),
            Gives::One | Gives::List | Gives::Nothing => Arg::List(all),
        }
    }

    fn chosen(&self, out: &Out) -> Arg {
        match out {
            Out::Int(n) => Arg::Int(*n),
            Out::Loop(var) => Arg::Text(self.state.name(*var)),
            Out::Block(name) => Arg::Text(name.clone()),
        }
    }

    fn refer(&mut self, out: Out) -> Rv {
        match out {
            Out::Block(name) => {
                self.blocks.push(name);
                Rv::Block(BlockRV(self.blocks.len() as u32 - 1))
            }
            Out::Loop(var) => {
                self.loops.push(var);
                Rv::Loop(LoopRV(self.loops.len() as u32 - 1))
            }
            Out::Int(n) => {
                self.numbers.push(n);
                Rv::Expr(ExprRV(self.numbers.len() as u32 - 1))
            }
        }
    }

    fn value(&self, rv: Rv) -> Option<Value> {
        match rv {
            Rv::Block(it) => self.blocks.get(it.0 as usize).cloned().map(Value::Block),
            Rv::Loop(it) => self.loops.get(it.0 as usize).copied().map(Value::Loop),
            Rv::Expr(it) => self.numbers.get(it.0 as usize).copied().map(Value::Int),
        }
    }

    fn error(&self, name: &str, args: &[Arg], refusal: Refusal) -> ScheduleError {
        let args: Vec<String> = args.iter().map(|a| self.shown(a)).collect();
        let asked = format!("{name}({})", args.join(", "));
        ScheduleError { primitive: name.to_string(), asked, obstacle: refusal.obstacle, help: refusal.help }
    }

    /// An argument with the names of what it refers to.
    fn shown(&self, arg: &Arg) -> String {
        match arg {
            Arg::Rv(Rv::Block(it)) => self.block_name(*it).to_string(),
            Arg::Rv(Rv::Loop(it)) => self.loop_name(*it),
            Arg::Rv(Rv::Expr(it)) => self.number(*it).map_or("?".to_string(), |n| n.to_string()),
            Arg::List(all) => {
                let all: Vec<String> = all.iter().map(|a| self.shown(a)).collect();
                format!("[{}]", all.join(", "))
            }
            Arg::Named(name, arg) => format!("{name} = {}", self.shown(arg)),
            Arg::Int(_) | Arg::Real(_) | Arg::Bool(_) | Arg::Text(_) | Arg::Infer | Arg::Map(_) => arg.to_string(),
        }
    }

    // What the typed methods of `primitives/` are made of.

    pub(super) fn step(&mut self, name: &str, args: Vec<Arg>) -> Result<(), ScheduleError> {
        self.apply(name, args).map(|_| ())
    }

    pub(super) fn step_block(&mut self, name: &str, args: Vec<Arg>) -> Result<BlockRV, ScheduleError> {
        let all = self.step_blocks(name, args)?;
        Ok(all.first().copied().unwrap_or(BlockRV(u32::MAX)))
    }

    pub(super) fn step_blocks(&mut self, name: &str, args: Vec<Arg>) -> Result<Vec<BlockRV>, ScheduleError> {
        Ok(self.apply(name, args)?.into_iter().filter_map(Rv::block).collect())
    }

    pub(super) fn step_loop(&mut self, name: &str, args: Vec<Arg>) -> Result<LoopRV, ScheduleError> {
        let all = self.step_loops(name, args)?;
        Ok(all.first().copied().unwrap_or(LoopRV(u32::MAX)))
    }

    pub(super) fn step_loops(&mut self, name: &str, args: Vec<Arg>) -> Result<Vec<LoopRV>, ScheduleError> {
        Ok(self.apply(name, args)?.into_iter().filter_map(Rv::as_loop).collect())
    }

    pub(super) fn step_numbers(&mut self, name: &str, args: Vec<Arg>) -> Result<Vec<ExprRV>, ScheduleError> {
        Ok(self.apply(name, args)?.into_iter().filter_map(Rv::expr).collect())
    }
}
