//! Loops, branches, local memory, calls and lines.

use tenfold_core::{Backend, CodegenOptions, Stage};
use tenfold_ir::{
    DType, Loc, Scalar,
    arith::{IntExpr, Sym},
    op::{BinaryOp, CmpOp},
    tir::{Access, BufUse, Builder, CallArg, Expr, LoopKind, Phase, PrimFunc, Scope, Stmt, Ty},
};

use super::{Loaded, bytes, compile, elementwise, host, llvm, machines, module, on_machines, scalars};
use crate::{LlvmBackend, backend, machine::Machine};

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn numbers(dtype: DType, bytes: &[u8]) -> Vec<f64> {
    scalars(dtype, bytes).iter().map(|value| value.to_f64()).collect()
}

/// `out[0] = x[0] + x[1] + …`, in a local accumulator.
fn sum(name: &str, kind: LoopKind) -> PrimFunc {
    let mut b = Builder::new(name);
    let n = Sym::new("n");
    let x = b.buffer_param("x", DType::F32, vec![IntExpr::var(n.clone())], BufUse::In);
    let out = b.buffer_param("out", DType::F32, vec![IntExpr::from(1)], BufUse::Out);
    let length = b.dim_param(&n);
    let (extent, zero) = (b.read(length), b.float(DType::F32, 0.0));
    let acc = b.local("acc", zero);
    let i = b.index_var("i");
    let (body, ()) = b.scope(|b| {
        let at = b.read(i);
        let (old, new) = (b.read_local(acc), b.load(x, vec![at], Access::Proven));
        let next = b.add(old, new);
        b.store(acc, vec![], next);
    });
    let min = b.index(0);
    b.push(Stmt::loop_(i, min, extent, kind, body));
    let (all, first) = (b.read_local(acc), b.index(0));
    b.store(out, vec![first], all);
    b.func_mut().exported = true;
    b.finish()
}

#[test]
fn only_reductions_are_reordered() {
    let Some(llvm) = llvm() else { return };
    let target = host();
    let machine = Machine::of(&target).expect("the host is known");
    let text = |kind, strict| {
        let mut prim = sum("total", kind);
        prim.strict = strict;
        let options = CodegenOptions { texts: vec![Stage::Llvm], ..CodegenOptions::default() };
        let artefact = backend::build(llvm, &machine, &module(vec![prim]), &target, &options);
        artefact.expect("it compiles").texts[&Stage::Llvm].clone()
    };
    assert!(text(LoopKind::Reduction, false).contains("fadd reassoc"));
    assert!(!text(LoopKind::Reduction, true).contains("reassoc"));
    assert!(!text(LoopKind::Serial, false).contains("reassoc"));
    on_machines(vec![sum("total", LoopKind::Reduction)], |_, library| {
        let x: Vec<f32> = (0..1000).map(|n| n as f32).collect();
        for n in [0, 1, 7, 1000] {
            let mut out = vec![0; 4];
            library.call("total", &[&f32s(&x)], &mut out, n);
            assert_eq!(numbers(DType::F32, &out), [(0..n).map(|n| n as f64).sum::<f64>()]);
        }
    });
}

#[test]
fn every_kind_of_loop_runs() {
    let Some(llvm) = llvm() else { return };
    let target = host();
    let machine = Machine::of(&target).expect("the host is known");
    for kind in [LoopKind::Serial, LoopKind::Parallel, LoopKind::Vectorized, LoopKind::Unrolled] {
        let artefact = compile(llvm, &machine, &module(vec![sum("total", kind)]), &target);
        let (library, mut out) = (Loaded::new(&artefact.object), vec![0; 4]);
        library.call("total", &[&f32s(&[1.0, 2.0, 4.0])], &mut out, 3);
        assert_eq!(numbers(DType::F32, &out), [7.0], "{kind:?}");
    }
}

#[test]
fn products_are_contracted_unless_strict() {
    let Some(llvm) = llvm() else { return };
    for (_, target, machine) in machines().iter().filter(|(name, ..)| *name == "rich") {
        for strict in [false, true] {
            let mut prim = elementwise("madd", &[DType::F32; 3], DType::F32, |b, x| {
                let product = b.mul(x[0], x[1]);
                b.add(product, x[2])
            });
            prim.strict = strict;
            let options = CodegenOptions { texts: vec![Stage::Asm], ..CodegenOptions::default() };
            let artefact = backend::build(llvm, machine, &module(vec![prim]), target, &options);
            let asm = artefact.expect("it compiles").texts[&Stage::Asm].clone();
            assert_eq!(asm.contains("vfmadd"), !strict, "{asm}");
        }
    }
}

/// Branches, `while`, a `let`, state and a guarded load.
#[test]
fn control_flow() {
    // out[i] = number of halvings until x[i] < 1, or -1 where x[i] is negative.
    let mut b = Builder::new("halvings");
    let n = Sym::new("n");
    let x = b.buffer_param("x", DType::F32, vec![IntExpr::var(n.clone())], BufUse::In);
    let out = b.buffer_param("out", DType::I32, vec![IntExpr::var(n.clone())], BufUse::Out);
    let length = b.dim_param(&n);
    let extent = b.read(length);
    let i = b.index_var("i");
    b.for_(i, extent, |b| {
        let at = b.read(i);
        let loaded = b.load(x, vec![at], Access::Proven);
        let start = b.let_("start", loaded);
        let value = b.read(start);
        let (zero, one) = (b.float(DType::F32, 0.0), b.float(DType::F32, 1.0));
        let negative = b.compare(CmpOp::Lt, value, zero);
        let (then, ()) = b.scope(|b| {
            let minus = b.scalar(Scalar::int(DType::I32, -1));
            b.store(out, vec![at], minus);
        });
        let (otherwise, ()) = b.scope(|b| {
            let left = b.local("left", value);
            let none = b.scalar(Scalar::int(DType::I32, 0));
            let count = b.local("count", none);
            let now = b.read_local(left);
            let cond = b.compare(CmpOp::Ge, now, one);
            let (body, ()) = b.scope(|b| {
                let half = b.float(DType::F32, 0.5);
                let next = b.mul(now, half);
                b.store(left, vec![], next);
                let (old, step) = (b.read_local(count), b.scalar(Scalar::int(DType::I32, 1)));
                let more = b.add(old, step);
                b.store(count, vec![], more);
            });
            b.push(Stmt::While { cond, body: Box::new(body) });
            let all = b.read_local(count);
            b.store(out, vec![at], all);
        });
        b.push(Stmt::If { cond: negative, then: Box::new(then), otherwise: Some(Box::new(otherwise)) });
    });
    b.func_mut().exported = true;
    on_machines(vec![b.finish()], |_, library| {
        let x = [0.5, 1.0, 3.0, -2.0, 1024.0];
        let mut out = vec![0; 20];
        library.call("halvings", &[&f32s(&x)], &mut out, 5);
        assert_eq!(numbers(DType::I32, &out), [0.0, 1.0, 2.0, -1.0, 11.0]);
    });
}

/// Only the branch taken is evaluated: the other would read outside.
#[test]
fn guarded_loads() {
    let mut b = Builder::new("shift");
    let n = Sym::new("n");
    let x = b.buffer_param("x", DType::I16, vec![IntExpr::var(n.clone())], BufUse::In);
    let out = b.buffer_param("out", DType::I16, vec![IntExpr::var(n.clone())], BufUse::Out);
    let length = b.dim_param(&n);
    let extent = b.read(length);
    let i = b.index_var("i");
    b.for_(i, extent, |b| {
        let at = b.read(i);
        let far = b.index(1 << 40);
        let before = b.sub(at, far);
        let (low, zero) = (b.compare(CmpOp::Ge, before, far), b.scalar(Scalar::zero(DType::I16)));
        let wild = b.load(x, vec![before], Access::Proven);
        let safe = b.load(x, vec![at], Access::Proven);
        let guarded = b.if_(low, wild, zero);
        let value = b.add(guarded, safe);
        b.store(out, vec![at], value);
    });
    b.func_mut().exported = true;
    on_machines(vec![b.finish()], |_, library| {
        let x: Vec<Scalar> = (0..9).map(|n| Scalar::int(DType::I16, n * n)).collect();
        let mut out = vec![0; 18];
        library.call("shift", &[&bytes(&x)], &mut out, 9);
        assert_eq!(scalars(DType::I16, &out), x);
    });
}

/// An entry that calls a kernel twice through its workspace, once in place.
fn caller() -> Vec<PrimFunc> {
    let mut k = Builder::new("double");
    let shape = vec![IntExpr::from(4)];
    let x = k.buffer_param("x", DType::F32, shape.clone(), BufUse::In);
    let y = k.buffer_param("y", DType::F32, shape.clone(), BufUse::Out);
    let factor = k.scalar_param("factor", DType::F32);
    let (i, extent) = (k.index_var("i"), k.index(4));
    k.for_(i, extent, |k| {
        let at = k.read(i);
        let (value, by) = (k.load(x, vec![at], Access::Proven), k.read(factor));
        let scaled = k.mul(value, by);
        k.push(Stmt::At(Loc::node(2), Box::new(Stmt::Seq(vec![]))));
        k.store(y, vec![at], scaled);
    });
    let mut e = Builder::new("entry");
    let a = e.buffer_param("a", DType::F32, shape.clone(), BufUse::In);
    let out = e.buffer_param("out", DType::F32, shape.clone(), BufUse::Out);
    let n = e.dim_param(&Sym::new("n"));
    let _ = n;
    let ws = e.buffer("ws", DType::F32, shape.clone(), Scope::Workspace);
    e.buf_mut(ws).offset = Some(IntExpr::from(64));
    let again = e.buffer("again", DType::F32, shape, Scope::Workspace);
    e.buf_mut(again).offset = Some(IntExpr::from(64));
    e.func_mut().params.push(tenfold_ir::tir::Param::Workspace);
    let two = e.float(DType::F32, 2.0);
    for (from, to) in [(a, ws), (ws, again), (again, out)] {
        let args = vec![CallArg::Buffer(from), CallArg::Buffer(to), CallArg::Value(two)];
        e.push(Stmt::At(Loc::node(1), Box::new(Stmt::Call { func: "double".into(), args, launch: None })));
    }
    e.func_mut().exported = true;
    vec![e.finish(), k.finish()]
}

#[test]
fn calls_through_a_workspace() {
    let Some(llvm) = llvm() else { return };
    let target = host();
    let machine = Machine::of(&target).expect("the host is known");
    let artefact = compile(llvm, &machine, &module(caller()), &target);
    let library = Loaded::new(&artefact.object);
    // SAFETY: the entry's parameters are two tensors, a dim, a workspace and a context.
    let f: extern "C" fn(*const f32, *mut f32, isize, *mut u8, *const u8) -> i32 =
        unsafe { std::mem::transmute(library.address("entry")) };
    let (x, mut y) = ([1.0, 2.0, 3.0, 4.0_f32], [0.0_f32; 4]);
    let mut workspace = [0_u64; 16];
    assert_eq!(f(x.as_ptr(), y.as_mut_ptr(), 4, workspace.as_mut_ptr().cast(), std::ptr::null()), 0);
    assert_eq!(y, [8.0, 16.0, 24.0, 32.0]);
    assert!(artefact.stack.is_some_and(|bytes| bytes < 512), "{:?}", artefact.stack);
}

#[test]
fn lines_lead_to_the_source_and_name_no_folder() {
    let Some(llvm) = llvm() else { return };
    let target = host();
    let machine = Machine::of(&target).expect("the host is known");
    let options =
        CodegenOptions { file: "src/kernels.rs".into(), lines: vec![10, 11, 12], texts: vec![Stage::Asm, Stage::Llvm] };
    let build = || backend::build(llvm, &machine, &module(caller()), &target, &options);
    let artefact = build().unwrap_or_else(|error| panic!("{error}"));
    let (asm, ir) = (&artefact.texts[&Stage::Asm], &artefact.texts[&Stage::Llvm]);
    assert!(asm.contains("src/kernels.rs"), "{asm}");
    assert!(ir.contains("line: 11"), "{ir}");
    let here = std::env::current_dir().expect("there is a folder");
    let here = here.to_string_lossy();
    assert!(!artefact.object.windows(here.len()).any(|part| part == here.as_bytes()));
    assert_eq!(artefact.object, build().expect("it compiles").object);
}

/// Vectors: neighbours, a stride, and a splat.
#[test]
fn vectors() {
    let mut b = Builder::new("vectors");
    let x = b.buffer_param("x", DType::F16, vec![IntExpr::from(16)], BufUse::In);
    let out = b.buffer_param("out", DType::F16, vec![IntExpr::from(8)], BufUse::Out);
    b.dim_param(&Sym::new("n"));
    let (zero, one, two) = (b.index(0), b.index(1), b.index(2));
    let wide = |elem| Ty { elem, lanes: 8 };
    let index = wide(Ty::index().elem);
    let half = wide(Ty::scalar(DType::F16).elem);
    let near = b.raw(Expr::Ramp(zero, one, 8), index);
    let apart = b.raw(Expr::Ramp(one, two, 8), index);
    let first = b.raw(Expr::Load { buf: x, index: vec![near], access: Access::Proven }, half);
    let odd = b.raw(Expr::Load { buf: x, index: vec![apart], access: Access::Proven }, half);
    let sum = b.raw(Expr::Binary(BinaryOp::Add, first, odd), half);
    let ten = b.float(DType::F16, 10.0);
    let tens = b.raw(Expr::Broadcast(ten, 8), half);
    let value = b.raw(Expr::Binary(BinaryOp::Mul, sum, tens), half);
    b.store(out, vec![near], value);
    b.func_mut().exported = true;
    b.func_mut().phase = Phase::Target;
    on_machines(vec![b.finish()], |_, library| {
        let x: Vec<Scalar> = (0..16).map(|n| Scalar::float(DType::F16, f64::from(n))).collect();
        let mut out = vec![0; 16];
        library.call("vectors", &[&bytes(&x)], &mut out, 0);
        let want: Vec<f64> = (0..8).map(|n| f64::from(n + 2 * n + 1) * 10.0).collect();
        assert_eq!(numbers(DType::F16, &out), want);
    });
}

/// Sums that a loop of constant length was expanded to.
#[test]
fn deep_expressions_fit() {
    let Some(llvm) = llvm() else { return };
    let prim = elementwise("deep", &[DType::I32], DType::I32, |b, x| {
        let mut all = x[0];
        for n in 0..2_000 {
            let next = b.scalar(Scalar::int(DType::I32, n));
            let mixed = b.binary(BinaryOp::Xor, all, next);
            all = b.add(mixed, x[0]);
        }
        all
    });
    let backend = LlvmBackend::new(llvm, &crate::find(&crate::Env::from_process()));
    let built = backend.build(&module(vec![prim]), &host(), &CodegenOptions::default());
    assert!(built.is_ok_and(|artefact| !artefact.object.is_empty()));
}

#[test]
fn what_an_earlier_pass_left_is_named() {
    let Some(llvm) = llvm() else { return };
    let target = host();
    let machine = Machine::of(&target).expect("the host is known");
    let prim = elementwise("left", &[DType::F32], DType::F32, |b, x| b.unary(tenfold_ir::op::UnaryOp::Exp, x[0]));
    let error = backend::build(llvm, &machine, &module(vec![prim]), &target, &CodegenOptions::default())
        .expect_err("the function is not written out");
    assert!(error.contains("`left`") && error.contains("Exp of a float"), "{error}");
}
