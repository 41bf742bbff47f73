//! `tile([loops], [sizes])`: splits loops of one nest and puts all the outer parts before all the inner ones.

use tenfold_ir::tir::VarId;

use super::{reorder, split};
use crate::schedule::args::{Args, Value};
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, required};
use crate::schedule::{LoopRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "tile",
    params: &[required("loops", Kind::Loops), required("sizes", Kind::Ints)],
    gives: Gives::List,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Cuts loops into tiles of these sizes. Gives the loops over tiles, then those inside of them.
    pub fn tile(&mut self, loops: &[LoopRV], sizes: &[i64]) -> Result<Vec<LoopRV>, ScheduleError> {
        self.step_loops("tile", vec![loops.into(), sizes.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let (loops, sizes) = (args.loops(0), args.ints(1));
    if loops.len() != sizes.len() || loops.is_empty() {
        let text = format!("there are {} loops and {} sizes", loops.len(), sizes.len());
        return Refusal::err(text, "give one size for each loop");
    }
    let (mut outer, mut inner): (Vec<VarId>, Vec<VarId>) = (Vec::new(), Vec::new());
    for (var, size) in loops.iter().zip(&sizes) {
        let parts = split::split(state, *var, &[Value::Infer, Value::Int(*size)])?;
        outer.push(parts[0]);
        inner.push(parts[1]);
    }
    let all = [outer, inner].concat();
    reorder::reorder(state, &all)?;
    Ok(all.into_iter().map(Out::Loop).collect())
}
