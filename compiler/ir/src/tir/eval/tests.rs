//! Small functions, run.

use super::{Arg, eval};
use crate::arith::IntExpr;
use crate::eval::Bounded;
use crate::op::BinaryOp;
use crate::tir::{Access, BufUse, Builder, CallArg, Intrinsic, IterKind, Launch, LoopKind, Param, PrimFunc, Stmt, Ty};
use crate::{DType, Function, Module, Scalar};

fn buffer(dtype: DType, values: &[f64]) -> Arg {
    Arg::Buffer(values.iter().map(|v| Some(Bounded::exact(Scalar::float(dtype, *v)))).collect())
}

fn empty(n: usize) -> Arg {
    Arg::Buffer(vec![None; n])
}

fn reals(arg: &Arg) -> Vec<f64> {
    match arg {
        Arg::Buffer(cells) => cells.iter().map(|c| c.map_or(f64::NAN, |c| c.value.to_f64())).collect(),
        Arg::Value(_) | Arg::Workspace(_) => Vec::new(),
    }
}

/// `out[i] = sum over k of a[i, k]` as a block with an init.
fn row_sums() -> PrimFunc {
    let mut b = Builder::new("sums");
    let n = b.dim_param(&"N".into());
    let shape = vec![IntExpr::var("N"), IntExpr::from(3)];
    let a = b.buffer_param("a", DType::F32, shape, BufUse::In);
    let out = b.buffer_param("out", DType::F32, vec![IntExpr::var("N")], BufUse::Out);
    let (i, k) = (b.index_var("i"), b.index_var("k"));
    let (vi, vk, n, three) = (b.read(i), b.read(k), b.read(n), b.index(3));
    let zero = b.float(DType::F32, 0.0);
    let init = Stmt::Store { buf: out, index: vec![vi], value: zero, access: Access::Proven };
    let old = b.load(out, vec![vi], Access::Proven);
    let term = b.load(a, vec![vi, vk], Access::Proven);
    let value = b.add(old, term);
    let body = Stmt::Store { buf: out, index: vec![vi], value, access: Access::Proven };
    b.nest("sum", &[(i, n, IterKind::Spatial), (k, three, IterKind::Reduce)], Some(init), body);
    b.finish()
}

#[test]
fn blocks_with_init_reduce() {
    let mut args = [Arg::Value(Bounded::index(2)), buffer(DType::F32, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.5]), empty(2)];
    eval(&Module::default(), &row_sums(), &mut args).expect("it runs");
    assert_eq!(reals(&args[2]), [6.0, 15.5]);
    let Arg::Buffer(cells) = &args[2] else { panic!("a buffer") };
    // Whole numbers this small add up exactly in any order.
    assert!(cells[0].is_some_and(|c| c.is_exact()));
    assert!(cells[1].is_some_and(|c| c.error > 0.0 && c.error < 1e-5));
}

#[test]
fn no_rows_write_nothing() {
    let mut args = [Arg::Value(Bounded::index(0)), buffer(DType::F32, &[]), empty(0)];
    eval(&Module::default(), &row_sums(), &mut args).expect("it runs");
}

/// `out[i] = x[i + shift]` for `i` in `0..n`.
fn shifted(n: i64, shift: i64) -> PrimFunc {
    let mut b = Builder::new("shifted");
    let x = b.buffer_param("x", DType::F32, vec![4.into()], BufUse::In);
    let out = b.buffer_param("out", DType::F32, vec![4.into()], BufUse::Out);
    let (i, extent) = (b.index_var("i"), b.index(n));
    b.for_(i, extent, |b| {
        let (i, shift) = (b.read(i), b.index(shift));
        let at = b.add(i, shift);
        let value = b.load(x, vec![at], Access::Proven);
        b.store(out, vec![i], value);
    });
    b.finish()
}

#[test]
fn mistakes_are_found() {
    let x = || [buffer(DType::F32, &[1.0, 2.0, 3.0, 4.0]), empty(4)];
    let module = Module::default();
    assert!(eval(&module, &shifted(4, 0), &mut x()).is_ok());
    let error = eval(&module, &shifted(4, 1), &mut x()).expect_err("out of bounds");
    assert_eq!(error, "`shifted`: index 4 of axis 0 of `x` is outside 0..4");
    let error = eval(&module, &shifted(3, 0), &mut x()).expect_err("an element is missing");
    assert_eq!(error, "`shifted`: element 3 of output `out` was not written");
    let mut short = [buffer(DType::F32, &[1.0]), empty(4)];
    assert!(eval(&module, &shifted(4, 0), &mut short).is_err());
}

#[test]
fn loops_that_reduce_carry_a_bound_and_others_do_not() {
    for (kind, exact) in [(LoopKind::Serial, true), (LoopKind::Reduction, false)] {
        let mut b = Builder::new("sum");
        let x = b.buffer_param("x", DType::F32, vec![3.into()], BufUse::In);
        let out = b.buffer_param("out", DType::F32, vec![], BufUse::Out);
        let zero = b.float(DType::F32, 0.0);
        b.store(out, vec![], zero);
        let (i, min, extent) = (b.index_var("i"), b.index(0), b.index(3));
        let (body, ()) = b.scope(|b| {
            let i = b.read(i);
            let (old, term) = (b.load(out, vec![], Access::Proven), b.load(x, vec![i], Access::Proven));
            let value = b.binary(BinaryOp::Add, old, term);
            b.store(out, vec![], value);
        });
        b.push(Stmt::loop_(i, min, extent, kind, body));
        let mut args = [buffer(DType::F32, &[0.1, 0.2, 0.3]), empty(1)];
        eval(&Module::default(), &b.finish(), &mut args).expect("it runs");
        let Arg::Buffer(cells) = &args[1] else { panic!("a buffer") };
        assert_eq!(cells[0].is_some_and(Bounded::is_exact), exact);
    }
}

/// Turns of a loop on threads that nobody is sure of: it runs, and what it writes is no longer known; what it reads is.
#[test]
fn an_unsure_number_of_turns_leaves_doubt_in_what_is_written() {
    let mut part = Builder::new("part");
    let (given, made) = (
        part.buffer_param("given", DType::I32, vec![IntExpr::from(4)], BufUse::In),
        part.buffer_param("made", DType::I32, vec![IntExpr::from(4)], BufUse::InOut),
    );
    let (begin, count, i) = (part.index_var("begin"), part.index_var("count"), part.index_var("i"));
    part.func_mut().params.extend([Param::Value(begin), Param::Value(count)]);
    let (first, turns, at) = (part.read(begin), part.read(count), part.read(i));
    let value = part.load(given, vec![at], Access::Proven);
    let store = Stmt::Store { buf: made, index: vec![at], value, access: Access::Proven };
    part.push(Stmt::loop_(i, first, turns, LoopKind::Serial, store));
    let mut module = Module::default();
    module.functions.insert("part".into(), Function::Prim(part.finish()));
    let mut b = Builder::new("all");
    let n = b.dim_param(&"N".into());
    let (given, made) = (
        b.buffer_param("given", DType::I32, vec![IntExpr::from(4)], BufUse::In),
        b.buffer_param("made", DType::I32, vec![IntExpr::from(4)], BufUse::Out),
    );
    let (turns, work) = (b.read(n), b.index(1));
    let args = vec![CallArg::Buffer(given), CallArg::Buffer(made)];
    b.push(Stmt::Call { func: "part".into(), args, launch: Some(Launch::Threads { turns, work }) });
    let all = b.finish();
    for (turns, sure) in [(Bounded::index(4), true), (Bounded::index(4).unknown(), false)] {
        let mut args = [Arg::Value(turns), buffer(DType::I32, &[1.0, 2.0, 3.0, 4.0]), empty(4)];
        eval(&module, &all, &mut args).expect("it runs");
        assert_eq!(reals(&args[2]), [1.0, 2.0, 3.0, 4.0]);
        let exact =
            |arg: &Arg| matches!(arg, Arg::Buffer(cells) if cells.iter().all(|c| c.is_some_and(|c| c.is_exact())));
        assert_eq!((exact(&args[1]), exact(&args[2])), (true, sure));
    }
}

/// `x`'s bits: those of a NaN are each processor's own.
#[test]
fn bits_of_numbers_are_known_and_those_of_nan_are_not() {
    let mut b = Builder::new("bits");
    let x = b.buffer_param("x", DType::F16, vec![IntExpr::from(2)], BufUse::In);
    let out = b.buffer_param("out", DType::I16, vec![IntExpr::from(2)], BufUse::Out);
    for n in 0..2 {
        let at = b.index(n);
        let value = b.load(x, vec![at], Access::Proven);
        let bits = b.call(Intrinsic::Bitcast, vec![value], Ty::scalar(DType::I16));
        b.store(out, vec![at], bits);
    }
    let mut args = [buffer(DType::F16, &[-2.0, f64::NAN]), empty(2)];
    eval(&Module::default(), &b.finish(), &mut args).expect("it runs");
    let Arg::Buffer(cells) = &args[1] else { panic!("a buffer") };
    assert!(cells[0].is_some_and(|c| c.is_exact() && c.get() == f64::from(0xc000_u16 as i16)));
    assert!(cells[1].is_some_and(Bounded::is_unknown));
}
