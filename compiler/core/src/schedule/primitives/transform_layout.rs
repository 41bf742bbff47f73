//! `transform_layout(block, buffer, map)`: a buffer that a block writes is laid out in another way.

use tenfold_ir::tir::Viewer;

use crate::schedule::args::{Arg, Args, IndexMap};
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Outcome, Primitive, required};
use crate::schedule::{BlockRV, Schedule, ScheduleError, layout, stage};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "transform_layout",
    params: &[required("block", Kind::Block), required("buffer", Kind::Any), required("map", Kind::Map)],
    gives: Gives::Nothing,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Lays out a buffer that the block writes as `map` says, which takes its indices and gives the new ones. Where the
    /// map leaves places unused, nothing is written to them.
    pub fn transform_layout(
        &mut self,
        block: BlockRV,
        buffer: impl Into<Arg>,
        map: IndexMap,
    ) -> Result<(), ScheduleError> {
        self.step("transform_layout", vec![block.into(), buffer.into(), map.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let buf = stage::buffer_of(state, args.block(0), args.get(1), true)?;
    let Some(map) = args.map(2) else { return Ok(Vec::new()) };
    stage::require_own(state, buf)?;
    if stage::is_passed(state, buf) {
        let text = format!("`{}` is passed to a function, which knows its layout", state.buf_name(buf));
        return Refusal::err(text, "only buffers that are read and written by element can be laid out anew");
    }
    let prover = Viewer::new(state.b.func()).prover.clone();
    let shape = layout::mapped_shape(&state.b.buf(buf).shape.clone(), map, &prover)?;
    stage::replace(state, buf, shape, &|b, index| layout::apply(b, map, index));
    stage::require_proven(state)?;
    Ok(Vec::new())
}
