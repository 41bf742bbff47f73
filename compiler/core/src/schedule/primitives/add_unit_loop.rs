//! `add_unit_loop(place)`: a loop of one turn around a block or a loop.

use tenfold_ir::tir::{LoopKind, Stmt};

use crate::schedule::args::{Arg, Args, Value};
use crate::schedule::edit::{Loop, State};
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, required};
use crate::schedule::tree;
use crate::schedule::{LoopRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "add_unit_loop",
    params: &[required("place", Kind::Place)],
    gives: Gives::One,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Puts a loop of one turn around a block or a loop.
    pub fn add_unit_loop(&mut self, place: impl Into<Arg>) -> Result<LoopRV, ScheduleError> {
        self.step_loop("add_unit_loop", vec![place.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let (zero, one) = (state.b.index(0), state.b.index(1));
    let var = state.b.index_var("u");
    let here: Box<dyn Fn(&Stmt) -> bool> = match args.get(0) {
        Value::Loop(it) => Box::new(tree::is_loop(*it)),
        _ => Box::new(tree::is_block(args.block(0))),
    };
    if let Some(place) = tree::find_mut(&mut state.body, &*here) {
        let body = std::mem::replace(place, Stmt::Seq(Vec::new()));
        *place = Loop { var, min: zero, extent: one, kind: LoopKind::Serial, annotations: Vec::new(), body }.stmt();
    }
    Ok(vec![Out::Loop(var)])
}
