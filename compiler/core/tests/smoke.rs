#![allow(unsafe_code, reason = "calls what it has compiled")]
//! A graph goes through the whole pipeline and the C compiler, and computes what NumPy computes.

use std::ffi::c_void;
use std::path::PathBuf;

use tenfold_core::c::CBackend;
use tenfold_core::pass::PassContext;
use tenfold_core::{Compiled, Options, Target, compile};
use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::op::{Activation, BinaryOp, ElementOp};
use tenfold_ir::relax::{Builder, Op, ParamKind, SymDecl, SymKind, TensorType, ValueId};
use tenfold_ir::{DType, Function, Loc, Module};

fn host() -> String {
    let out = std::process::Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let text = String::from_utf8(out.stdout).expect("rustc prints text");
    text.lines().find_map(|l| l.strip_prefix("host: ")).expect("rustc names its host").to_string()
}

fn ty(shape: &[IntExpr]) -> TensorType {
    TensorType { dtype: DType::F32, shape: shape.to_vec() }
}

fn n(value: i64) -> IntExpr {
    IntExpr::from(value)
}

/// Compiles a function and links it into a shared object.
fn build(name: &str, func: tenfold_ir::relax::Function) -> (libloading::Library, Compiled) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut module = Module { entry: name.to_string(), sources: vec![name.to_string()], ..Module::default() };
    module.functions.insert(name.to_string(), Function::Relax(func));
    let target = Target::from_triple(&host(), &[]);
    let backend = CBackend { folder: folder.clone(), host: host(), compiler: None };
    let context = PassContext::new(target);
    let compiled = compile(module, &context, &Options::default(), &backend).expect("it compiles");
    let source = std::fs::read_to_string(folder.join(format!("{name}.c"))).expect("the source is there");
    let (c, so) = (folder.join("visible.c"), folder.join("lib.so"));
    std::fs::write(&c, source.replace("visibility(\"hidden\")", "visibility(\"default\")")).expect("it is written");
    let status = std::process::Command::new("cc").args(["-shared", "-fPIC", "-O2", "-o"]).arg(&so).arg(&c).status();
    assert!(status.expect("cc runs").success());
    // SAFETY: the library was made above and has no initialisers.
    let library = unsafe { libloading::Library::new(&so) }.expect("it loads");
    (library, compiled)
}

fn mlp() -> tenfold_ir::relax::Function {
    let mut b = Builder::new("mlp");
    let batch = IntExpr::var(Sym::new("B"));
    let kind = SymKind::Dim { param: 0, axis: 0 };
    b.declare_sym(SymDecl { sym: Sym::new("B"), kind, loc: Loc::default() });
    let x = b.param(ParamKind::Input, ty(&[batch.clone(), n(3)]), "x", 0, Loc::default());
    let w = b.param(ParamKind::Input, ty(&[n(3), n(2)]), "w", 1, Loc::default());
    let bias = b.param(ParamKind::Input, ty(&[n(2)]), "bias", 2, Loc::default());
    let mut emit = |op, args: &[ValueId]| b.emit(op, args).expect("it types");
    let product = emit(Op::MatMul, &[x, w]);
    let sum = emit(Op::Element(ElementOp::Binary(BinaryOp::Add)), &[product, bias]);
    let relu = emit(Op::Element(ElementOp::Activation(Activation::Relu)), &[sum]);
    let y = emit(Op::Softmax { axis: 1, log: false }, &[relu]);
    b.finish(&[y])
}

#[test]
fn mlp_with_a_named_batch() {
    let (library, compiled) = build("mlp", mlp());
    type Entry =
        unsafe extern "C" fn(*const f32, *const f32, *const f32, *mut f32, isize, *mut c_void, *const c_void) -> i32;
    // SAFETY: the convention gives this function this type.
    let entry = unsafe { library.get::<Entry>(b"mlp") }.expect("the entry is exported");
    let x = [1.0f32, 2.0, 3.0, -1.0, 0.5, 0.25];
    let w = [0.1f32, -0.2, 0.3, 0.4, -0.5, 0.6];
    let bias = [0.05f32, -0.05];
    let mut y = [0f32; 4];
    let bytes = compiled.workspace.expect("it is planned").eval(&|_| Some(2)).expect("it is a number");
    let mut workspace = vec![0u64; (bytes as usize).div_ceil(8) + 8];
    let aligned = workspace.as_mut_ptr().wrapping_byte_add(workspace.as_ptr().align_offset(8) * 8);
    // SAFETY: the buffers have the shapes that B = 2 gives them.
    let status =
        unsafe { entry(x.as_ptr(), w.as_ptr(), bias.as_ptr(), y.as_mut_ptr(), 2, aligned.cast(), std::ptr::null()) };
    assert_eq!(status, 0);
    // numpy: softmax(maximum(x @ w + bias, 0), axis=-1)
    let expected = [0.087_065_77, 0.912_934_2, 0.377_540_67, 0.622_459_3];
    for (a, b) in y.iter().zip(expected) {
        assert!((a - b).abs() < 1e-6, "{y:?}");
    }
}
