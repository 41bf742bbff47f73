//! `bind(loop, "threadIdx.x")`: the turns of a loop run on the threads of a GPU's axis.

use tenfold_ir::tir::{LoopKind, Stmt, ThreadAxis, VarId};

use crate::schedule::args::Args;
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Outcome, Primitive, required};
use crate::schedule::tree;
use crate::schedule::{LoopRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "bind",
    params: &[required("loop", Kind::Loop), required("axis", Kind::Text)],
    gives: Gives::Nothing,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Runs the turns of a loop on a thread axis: `blockIdx.x`, `threadIdx.y`, …. They must be independent.
    pub fn bind(&mut self, it: LoopRV, axis: &str) -> Result<(), ScheduleError> {
        self.step("bind", vec![it.into(), axis.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let Some(axis) = axis(args.text(1)) else {
        let text = format!("`{}` is no thread axis", args.text(1));
        return Refusal::err(text, "the axes are `blockIdx` and `threadIdx`, each with `.x`, `.y` or `.z`");
    };
    let kind = LoopKind::ThreadBound(axis);
    let var = args.loop_var(0);
    if let Some((other, place)) = in_the_way(state, var, kind) {
        let text = format!("`{}` {place} it is bound already", state.name(other));
        return Refusal::err(text, "bind loops inside each other to different axes, and threads inside of blocks");
    }
    super::set_independent(state, var, kind)?;
    Ok(Vec::new())
}

/// A loop around this one or inside of it that leaves no place for its axis.
fn in_the_way(state: &State<'_>, var: VarId, kind: LoopKind) -> Option<(VarId, &'static str)> {
    let path = tree::path(&state.body, &tree::is_loop(var)).unwrap_or_default();
    let (it, above) = path.split_last()?;
    let mut found = None;
    let mut look = |s: &Stmt, holds: &dyn Fn(LoopKind) -> bool, place| match s {
        Stmt::For { var: other, kind, .. } if *other != var && !holds(*kind) => found = Some((*other, place)),
        _ => {}
    };
    above.iter().for_each(|s| look(s, &|outer| super::may_hold(outer, kind), "around"));
    it.walk(&mut |s| look(s, &|inner| super::may_hold(kind, inner), "inside of"));
    found
}

fn axis(text: &str) -> Option<ThreadAxis> {
    let (of, place) = text.split_once('.')?;
    let n = match place {
        "x" => 0,
        "y" => 1,
        "z" => 2,
        _ => return None,
    };
    match of {
        "blockIdx" => Some(ThreadAxis::Block(n)),
        "threadIdx" => Some(ThreadAxis::Thread(n)),
        _ => None,
    }
}
