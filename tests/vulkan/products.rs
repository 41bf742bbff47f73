//! Products and convolutions large enough for tiles in shared memory: every tile, whole and with something left over.

use tenfold_ir::DType;
use tenfold_ir::op::{Activation, BinaryOp, ElementOp, UnaryOp};
use tenfold_ir::relax::{ConvLayout, Op, ValueId, Window};

use crate::case::{Case, Make, fixed};

fn product(name: &str, dtype: DType, x: &[i64], w: &[i64]) -> Case {
    let mut m = Make::new(name);
    let (x, w) = (m.input(dtype, &fixed(x)), m.input(dtype, &fixed(w)));
    let y = m.emit(Op::MatMul, &[x, w]);
    m.done(&[y])
}

fn biased(m: &mut Make, dtype: DType, x: ValueId, columns: i64) -> ValueId {
    let bias = m.constant(dtype, &[columns]);
    let sum = m.element(ElementOp::Binary(BinaryOp::Add), &[x, bias]);
    m.element(ElementOp::Activation(Activation::Relu), &[sum])
}

/// Of integers of 8 bits, as 32: four terms at once.
fn bytes(name: &str, dtypes: [DType; 2], x: &[i64], w: &[i64]) -> Case {
    let mut m = Make::new(name);
    let (x, w) = (m.input(dtypes[0], &fixed(x)), m.input(dtypes[1], &fixed(w)));
    let [x, w] = [x, w].map(|it| m.element(ElementOp::Cast(DType::I32), &[it]));
    let y = m.emit(Op::MatMul, &[x, w]);
    m.done(&[y])
}

/// What stands before and behind a product runs in its kernel.
fn fused() -> Case {
    let mut m = Make::new("tile_fused");
    let x = m.input(DType::F32, &fixed(&[50, 33]));
    let w = m.constant(DType::F32, &[33, 45]);
    let x = m.element(ElementOp::Unary(UnaryOp::Abs), &[x]);
    let y = m.emit(Op::MatMul, &[x, w]);
    let y = biased(&mut m, DType::F32, y, 45);
    let other = m.input(DType::F32, &fixed(&[50, 45]));
    let y = m.element(ElementOp::Binary(BinaryOp::Sub), &[y, other]);
    m.done(&[y])
}

/// As many rows as a dim says.
fn symbolic(rows: i64) -> Case {
    let mut m = Make::new(&format!("tile_rows_{rows}"));
    let n = m.dim("N", rows, 0, 0);
    let x = m.input(DType::F32, &[n, 20.into()]);
    let w = m.constant(DType::F32, &[20, 70]);
    let y = m.emit(Op::MatMul, &[x, w]);
    let y = biased(&mut m, DType::F32, y, 70);
    m.done(&[y])
}

fn convolution(dtype: DType) -> Case {
    let mut m = Make::new(&format!("tile_conv_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[2, 3, 11, 10]));
    let w = m.constant(dtype, &[26, 3, 3, 3]);
    let bias = m.constant(dtype, &[26]);
    let window = Window { kernel: vec![3, 3], strides: vec![2, 1], pads: vec![1, 1, 1, 1], dilations: vec![1, 1] };
    let y = m.emit(Op::Conv { window, group: 1, layout: ConvLayout::default() }, &[x, w, bias]);
    let y = m.element(ElementOp::Activation(Activation::Relu), &[y]);
    m.done(&[y])
}

/// A product whose rows a softmax takes up: two kernels of one function, and a product of what they make. One kernel of all
/// has no registers for values so long.
fn long_attention() -> Case {
    let mut m = Make::new("tile_attention");
    let q = m.input(DType::F32, &fixed(&[2, 40, 8]));
    let [k, v] = [8, 136].map(|depth| m.input(DType::F32, &fixed(&[2, 48, depth])));
    let turned = m.emit(Op::Transpose { perm: vec![0, 2, 1] }, &[k]);
    let scores = m.emit(Op::MatMul, &[q, turned]);
    let weights = m.emit(Op::Softmax { axis: 2, log: false }, &[scores]);
    let y = m.emit(Op::MatMul, &[weights, v]);
    m.done(&[y])
}

#[test]
fn products() {
    let cases = vec![
        product("tile_large", DType::F32, &[16, 48, 5], &[16, 5, 50]),
        product("tile_whole", DType::F32, &[64, 16], &[16, 64]),
        product("tile_f16", DType::F16, &[33, 18], &[18, 40]),
        product("tile_f64", DType::F64, &[30, 19], &[19, 30]),
        product("tile_columns", DType::I8, &[70, 24], &[24, 9]),
        product("tile_heads", DType::F32, &[2, 1, 6, 10], &[5, 10, 33]),
        bytes("bytes_whole", [DType::I8, DType::I8], &[40, 32], &[32, 33]),
        bytes("bytes_left", [DType::U8, DType::U8], &[2, 6, 21], &[2, 21, 40]),
        bytes("bytes_mixed", [DType::U8, DType::I8], &[70, 18], &[18, 9]),
        bytes("bytes_turned", [DType::I8, DType::U8], &[24, 50], &[50, 24]),
        fused(),
        symbolic(3),
        symbolic(0),
        symbolic(17),
        convolution(DType::F32),
        convolution(DType::I32),
        long_attention(),
    ];
    assert_eq!(crate::networks::run(cases), Vec::<String>::new());
}
