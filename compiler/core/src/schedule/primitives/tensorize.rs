//! `tensorize(place, intrinsic)`: statements that an intrinsic describes become what the intrinsic does.
//!
//! An intrinsic is a pair of prim-funcs of the module with the same buffer parameters: `@name.desc` says what it
//! computes, as a nest of loops and a block, and `@name.impl` computes it in a better way.

use tenfold_ir::eval::Bounded;
use tenfold_ir::tir::{self, Block, BufId, BufUse, ExprId, MatchBuffer, Param, PrimFunc, Region, Scope};
use tenfold_ir::{DType, Scalar};

use super::blockize::blockize;
use crate::fuse::import::Import;
use crate::schedule::args::{Arg, Args, Value};
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::matching::{Parts, parts};
use crate::schedule::table::{Gives, Kind, Outcome, Primitive, required};
use crate::schedule::{Schedule, ScheduleError, stage};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "tensorize",
    params: &[required("place", Kind::Place), required("intrinsic", Kind::Text)],
    gives: Gives::Nothing,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Replaces what a loop holds, or what a block does, by the intrinsic of the module that is called so.
    pub fn tensorize(&mut self, place: impl Into<Arg>, intrinsic: &str) -> Result<(), ScheduleError> {
        self.step("tensorize", vec![place.into(), intrinsic.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let (desc, code) = intrinsic(state, args.text(1))?;
    let name = match args.get(0) {
        Value::Block(name) => name.clone(),
        _ => blockize(state, args.loop_var(0))?,
    };
    let block = state.get_block(&name)?.clone();
    let found = parts(state, &block.body, &desc)?;
    require_apart(state, &desc, &found)?;
    let (views, matches) = views(state, &desc, &found)?;
    let body = Import::new(&mut state.b, &code, &[], &views).body(&mut state.b);
    state.edit_block(&name, |_, block| {
        *block = Block { reads: Vec::new(), writes: Vec::new(), matches, body, ..block.clone() };
    })?;
    stage::require_proven(state)?;
    Ok(Vec::new())
}

/// Both forms of an intrinsic, which must agree.
fn intrinsic(state: &State<'_>, name: &str) -> Result<(PrimFunc, PrimFunc), Refusal> {
    let get = |part: &str| {
        let name = format!("{name}.{part}");
        let help = "an intrinsic `x` is the prim-funcs `@x.desc` and `@x.impl` of the module";
        state.module.prim(&name).cloned().ok_or_else(|| Refusal::new(format!("there is no `@{name}`"), help))
    };
    let (desc, code) = (get("desc")?, get("impl")?);
    if buffers(&desc).is_none() || buffers(&desc) != buffers(&code) {
        return Refusal::err(
            format!("`@{name}.desc` and `@{name}.impl` do not have the same parameters"),
            "give both the same buffers, of fixed extents, in the same order",
        );
    }
    agree(state, &desc, &code)?;
    Ok((desc, code))
}

type Shape = (DType, Vec<i64>, BufUse);

/// The buffer parameters, if there are no others and every extent is a number.
fn buffers(func: &PrimFunc) -> Option<Vec<Shape>> {
    let one = |param: &Param| match param {
        Param::Buffer(buf, usage) => {
            let data = &func.buffers[buf.0 as usize];
            let shape = data.shape.iter().map(|e| e.as_const()).collect::<Option<Vec<i64>>>()?;
            (shape.iter().product::<i64>() <= 1 << 16).then_some((data.dtype, shape, *usage))
        }
        Param::Value(_) | Param::Workspace => None,
    };
    func.params.iter().map(one).collect()
}

/// Runs both forms on small numbers: an intrinsic that does something else than it says is refused.
fn agree(state: &State<'_>, desc: &PrimFunc, code: &PrimFunc) -> Result<(), Refusal> {
    let args: Vec<tir::Arg> =
        buffers(desc).unwrap_or_default().iter().enumerate().map(|(n, s)| numbers(n, s)).collect();
    let run = |func: &PrimFunc| {
        let mut args = args.clone();
        tir::eval(state.module, func, &mut args).map(|()| args)
    };
    let same = match (run(desc), run(code)) {
        (Ok(a), Ok(b)) => a.iter().zip(&b).all(|(a, b)| equal(a, b)),
        (Err(e), _) | (_, Err(e)) => {
            return Refusal::err(format!("the intrinsic does not run: {e}"), "correct its prim-funcs");
        }
    };
    if same {
        return Ok(());
    }
    let text = format!("`@{}` does not compute what `@{}` describes", code.name, desc.name);
    Refusal::err(text, "let both compute the same")
}

fn numbers(n: usize, (dtype, shape, usage): &Shape) -> tir::Arg {
    let count = shape.iter().product::<i64>();
    let number = |at: i64| (at * 7 + 3 * n as i64) % 11 - if dtype.is_float() { 5 } else { 0 };
    let scalar = |at: i64| match dtype.is_float() {
        true => Scalar::float(*dtype, number(at) as f64),
        false => Scalar::int(*dtype, i128::from(number(at) % 2)),
    };
    let cell = |at: i64| (*usage != BufUse::Out).then(|| Bounded::exact(scalar(at)));
    tir::Arg::Buffer((0..count).map(cell).collect())
}

fn equal(a: &tir::Arg, b: &tir::Arg) -> bool {
    let (tir::Arg::Buffer(a), tir::Arg::Buffer(b)) = (a, b) else { return true };
    a.iter().zip(b).all(|pair| match pair {
        (Some(a), Some(b)) => a.admits(b.value) || b.admits(a.value),
        (None, None) => true,
        _ => false,
    })
}

/// The code may write one parameter before it has read another, so that what is written must be no other's.
fn require_apart(state: &State<'_>, desc: &PrimFunc, found: &Parts) -> Result<(), Refusal> {
    let one = |param: &Param| match param {
        Param::Buffer(buf, usage) => Some((*buf, *usage)),
        Param::Value(_) | Param::Workspace => None,
    };
    let params: Vec<(BufId, BufUse)> = desc.params.iter().filter_map(one).collect();
    let ours = |buf: &BufId| found.get(buf).map(|(ours, _)| *ours);
    for (written, _) in params.iter().filter(|(_, usage)| *usage != BufUse::In) {
        let other = params.iter().find(|(buf, _)| buf != written && ours(buf).is_some() && ours(buf) == ours(written));
        if let (Some((other, _)), Some(both)) = (other, ours(written)) {
            let name = |buf: &BufId| &desc.buffers[buf.0 as usize].name;
            let (written, other, both) = (name(written), name(other), state.buf_name(both));
            let text = format!("`{written}`, which the intrinsic writes, and `{other}` both stand for `{both}`");
            return Refusal::err(text, "write to another buffer than those that are read");
        }
    }
    Ok(())
}

/// A view of each part, in the order of the intrinsic's parameters.
fn views(state: &mut State<'_>, desc: &PrimFunc, found: &Parts) -> Result<(Vec<BufId>, Vec<MatchBuffer>), Refusal> {
    let (mut views, mut matches) = (Vec::new(), Vec::new());
    for param in &desc.params {
        let Param::Buffer(buf, _) = param else { continue };
        let data = desc.buffers[buf.0 as usize].clone();
        let Some((ours, begin)) = found.get(buf) else {
            let text = format!("`{}` of `@{}` is not touched by what it describes", data.name, desc.name);
            return Refusal::err(text, "leave out parameters that are not used");
        };
        let view = state.b.buffer(&data.name, data.dtype, data.shape.clone(), Scope::View);
        let lead = begin.len() - data.shape.len();
        let mut ranges = Vec::new();
        for (axis, first) in begin.iter().enumerate() {
            let Some(first) = state.index_of(first) else {
                return Refusal::err(format!("`{first}` depends on data"), "only parts over loops can be replaced");
            };
            let extent = axis.checked_sub(lead).and_then(|n| data.shape[n].as_const()).unwrap_or(1);
            ranges.push((first, state.b.index(extent)) as (ExprId, ExprId));
        }
        views.push(view);
        matches.push(MatchBuffer { view, region: Region { buf: *ours, ranges } });
    }
    Ok((views, matches))
}
