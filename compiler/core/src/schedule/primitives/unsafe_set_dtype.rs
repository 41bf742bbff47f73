//! `unsafe_set_dtype(block, buffer, dtype)`: a buffer that a block writes holds another dtype. Results may change.

use tenfold_ir::DType;
use tenfold_ir::tir::{BufId, Builder, Expr, ExprMap, Stmt};

use crate::schedule::args::{Arg, Args};
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Outcome, Primitive, required};
use crate::schedule::{BlockRV, Schedule, ScheduleError, stage};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "unsafe_set_dtype",
    params: &[required("block", Kind::Block), required("buffer", Kind::Any), required("dtype", Kind::Text)],
    gives: Gives::Nothing,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Lets a buffer that the block writes hold another dtype: what is stored is converted, and converted back where
    /// it is loaded. This loses what the dtype cannot hold, so results may change.
    pub fn unsafe_set_dtype(
        &mut self,
        block: BlockRV,
        buffer: impl Into<Arg>,
        dtype: &str,
    ) -> Result<(), ScheduleError> {
        self.step("unsafe_set_dtype", vec![block.into(), buffer.into(), dtype.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let buf = stage::buffer_of(state, args.block(0), args.get(1), true)?;
    let Some(dtype) = DType::from_name(args.text(2)) else {
        return Refusal::err(format!("there is no dtype `{}`", args.text(2)), "write `f32`, `f16`, `i8` and the like");
    };
    stage::require_own(state, buf)?;
    if stage::is_passed(state, buf) {
        let text = format!("`{}` is passed to a function", state.buf_name(buf));
        return Refusal::err(text, "only buffers that are read and written by element can hold another dtype");
    }
    let before = state.b.buf(buf).dtype;
    let new = stage::buffer_of_dtype(state, buf, dtype);
    let body = std::mem::replace(&mut state.body, Stmt::Seq(Vec::new()));
    let mut loads = ExprMap::new(|b: &mut Builder, id| match b.func().exprs.get(id).clone() {
        Expr::Load { buf: from, index, access } if from == buf => {
            let now = b.load(new, index, access);
            b.cast(before, now)
        }
        _ => id,
    });
    let mut body = loads.stmt(&mut state.b, body);
    convert_stores(&mut state.b, &mut body, (buf, new));
    stage::live_instead(&mut body, (buf, new));
    state.body = body;
    Ok(Vec::new())
}

/// Stores to `new` what was stored to `old`, converted.
fn convert_stores(b: &mut Builder, stmt: &mut Stmt, (old, new): (BufId, BufId)) {
    if let Stmt::Store { buf, value, .. } = stmt
        && *buf == old
    {
        *buf = new;
        *value = b.cast(b.buf(new).dtype, *value);
    }
    stmt.children_mut().into_iter().for_each(|s| convert_stores(b, s, (old, new)));
}
