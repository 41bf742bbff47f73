//! `bind(loop, "threadIdx.x")`: the turns of a loop run on the threads of a GPU's axis.

use tenfold_ir::tir::{LoopKind, Stmt, ThreadAxis};

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
    let path = tree::path(&state.body, &tree::is_loop(args.loop_var(0))).unwrap_or_default();
    let around = path.iter().find_map(|s| match s {
        Stmt::For { var, kind: k, .. } if *k == kind => Some(*var),
        _ => None,
    });
    if let Some(around) = around {
        let text = format!("`{}` around it is bound to `{}` already", state.name(around), args.text(1));
        return Refusal::err(text, "bind loops inside each other to different axes");
    }
    super::set_independent(state, args.loop_var(0), kind)?;
    Ok(Vec::new())
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
