//! `storage_align(block, buffer, axis, factor, offset)`: rows of a buffer begin at multiples of a number of elements.

use tenfold_ir::tir::Annotation;

use crate::schedule::args::{Arg, Args};
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Outcome, Primitive, optional, required};
use crate::schedule::{BlockRV, Schedule, ScheduleError, stage};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "storage_align",
    params: &[
        required("block", Kind::Block),
        required("buffer", Kind::Any),
        required("axis", Kind::Int),
        required("factor", Kind::Int),
        optional("offset", Kind::Int),
    ],
    gives: Gives::Nothing,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Lets the distance along `axis` of a buffer that the block writes be `factor` times something, plus `offset`.
    pub fn storage_align(
        &mut self,
        block: BlockRV,
        buffer: impl Into<Arg>,
        axis: i64,
        factor: i64,
        offset: i64,
    ) -> Result<(), ScheduleError> {
        self.step("storage_align", vec![block.into(), buffer.into(), axis.into(), factor.into(), offset.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let buf = stage::buffer_of(state, args.block(0), args.get(1), true)?;
    stage::require_own(state, buf)?;
    let rank = state.b.buf(buf).shape.len();
    let given = args.int(2).unwrap_or(0);
    let axis = if given < 0 { given + rank as i64 } else { given };
    let Some(axis) = u32::try_from(axis).ok().filter(|axis| (*axis as usize) < rank) else {
        let text = format!("`{}` has no axis {given}", state.buf_name(buf));
        return Refusal::err(text, format!("it has {rank} axes"));
    };
    let (factor, offset) = (args.int(3).unwrap_or(1), args.int(4).unwrap_or(0));
    if !(1..=1 << 16).contains(&factor) || !(0..factor).contains(&offset) {
        let text = format!("a distance of {factor} times something plus {offset} is none");
        return Refusal::err(text, "give a factor of 1 or more and an offset below it");
    }
    let align = Annotation::StorageAlign { buf, axis, factor, offset };
    state.edit_block(args.block(0), |_, block| {
        let same =
            |a: &Annotation| matches!(a, Annotation::StorageAlign { buf: b, axis: x, .. } if *b == buf && *x == axis);
        block.annotations.retain(|a| !same(a));
        block.annotations.push(align);
    })?;
    Ok(Vec::new())
}
