//! Whole functions, from a graph through every pass to a call.

use tenfold_core::{CodegenOptions, Compiled, Options, Stage, Target, compile, pass::PassContext};
use tenfold_ir::{
    DType, Function, Loc, Module,
    arith::{IntExpr, Sym},
    op::{Activation, ElementOp},
    relax::{Builder, Op, ParamKind, SymDecl, SymKind, TensorType},
};

use super::{Loaded, host, llvm};
use crate::LlvmBackend;

/// `softmax(matmul(relu(matmul(x, w)), v), axis = -1)` over `[B, 64]`, `[64, 32]`, `[32, 10]`.
fn classifier() -> Module {
    let mut b = Builder::new("digits");
    let batch = Sym::new("B");
    b.declare_sym(SymDecl { sym: batch.clone(), kind: SymKind::Dim { param: 0, axis: 0 }, loc: Loc::default() });
    let rows = IntExpr::var(batch);
    let tensor = |shape: [IntExpr; 2]| TensorType { dtype: DType::F32, shape: shape.to_vec() };
    let int = IntExpr::from;
    let x = b.param(ParamKind::Input, tensor([rows, int(64)]), "x", 0, Loc::default());
    let w = b.param(ParamKind::Input, tensor([int(64), int(32)]), "w", 1, Loc::default());
    let v = b.param(ParamKind::Input, tensor([int(32), int(10)]), "v", 2, Loc::default());
    let h = b.emit(Op::MatMul, &[x, w]).expect("the shapes fit");
    let h = b.element(ElementOp::Activation(Activation::Relu), &[h]).expect("it takes floats");
    let y = b.emit(Op::MatMul, &[h, v]).expect("the shapes fit");
    let y = b.emit(Op::Softmax { axis: 1, log: false }, &[y]).expect("the axis is there");
    let function = b.finish(&[y]);
    let mut module = Module { entry: "digits".into(), ..Module::default() };
    module.functions.insert("digits".into(), Function::Relax(function));
    module
}

fn build(target: &Target) -> Option<Compiled> {
    let backend = LlvmBackend::new(llvm()?, &crate::find(&crate::Env::from_process()));
    let options = Options {
        codegen: CodegenOptions { texts: Stage::ALL.to_vec(), ..CodegenOptions::default() },
        symbol: "digits_1".into(),
        ..Options::default()
    };
    let mut context = PassContext::new(target.clone());
    context.disabled.insert("VerifyBounds".into());
    Some(compile(classifier(), &context, &options, &backend).unwrap_or_else(|errors| panic!("{errors:?}")))
}

#[test]
fn a_classifier_is_right() {
    let Some(compiled) = build(&host()) else { return };
    let library = Loaded::new(&compiled.artefact.object);
    type Call = extern "C" fn(*const f32, *const f32, *const f32, *mut f32, isize, *mut u8, *const u8) -> i32;
    // SAFETY: three operands, a result, a dim, a workspace and a context.
    let call: Call = unsafe { std::mem::transmute(library.address("digits_1")) };
    let wave = |count: usize, step: f32| (0..count).map(|n| (n as f32 * step).sin()).collect::<Vec<f32>>();
    for rows in [0, 1, 5] {
        let (x, w, v) = (wave(rows * 64, 0.37), wave(64 * 32, 0.11), wave(32 * 10, 0.23));
        let mut y = vec![0.0_f32; rows * 10];
        let mut workspace = vec![0_u64; 4096];
        let (ws, none) = (workspace.as_mut_ptr().cast(), std::ptr::null());
        let status = call(x.as_ptr(), w.as_ptr(), v.as_ptr(), y.as_mut_ptr(), rows as isize, ws, none);
        assert_eq!(status, 0);
        for (row, got) in y.chunks(10).enumerate() {
            for (one, want) in got.iter().zip(reference(&x[row * 64..][..64], &w, &v)) {
                assert!((f64::from(*one) - want).abs() < 1e-5, "{got:?}");
            }
        }
    }
}

fn reference(x: &[f32], w: &[f32], v: &[f32]) -> Vec<f64> {
    let dense = |x: &[f64], w: &[f32], columns: usize| -> Vec<f64> {
        let of = |column| x.iter().enumerate().map(|(k, x)| x * f64::from(w[k * columns + column])).sum();
        (0..columns).map(of).collect()
    };
    let x: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
    let h: Vec<f64> = dense(&x, w, 32).iter().map(|x| x.max(0.0)).collect();
    let y = dense(&h, v, 10);
    let most = y.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    let e: Vec<f64> = y.iter().map(|y| (y - most).exp()).collect();
    let sum: f64 = e.iter().sum();
    e.iter().map(|e| e / sum).collect()
}

#[test]
fn a_classifier_fits_a_microcontroller() {
    let target = Target::from_triple("thumbv7em-none-eabihf", &[]);
    let Some(compiled) = build(&target) else { return };
    assert!(compiled.artefact.object.len() < 16 << 10, "{}", compiled.artefact.object.len());
    assert!(compiled.stack.is_some_and(|bytes| bytes < 512), "{:?}", compiled.stack);
}
