//! Contractions, reductions, normalisation, convolution, pooling.

use tenfold_ir::DType;
use tenfold_ir::op::{ArgOp, BinaryOp, ElementOp, Real, ReduceOp};
use tenfold_ir::relax::{self, ConvLayout, DataLayout, KernelLayout, Op, PoolOp, Window};

use crate::case::{Case, Make, fixed};
use crate::data::telling;

pub(crate) fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32, DType::I8, DType::U16, DType::I64] {
        all.extend(matmuls(dtype));
        all.extend(reductions(dtype));
        all.push(arg_reductions(dtype));
        all.extend(convolutions(dtype));
        all.extend(pools(dtype));
        all.extend(layouts(dtype));
    }
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        all.push(rows(dtype));
    }
    for dtype in [DType::F32, DType::F64, DType::I32, DType::I8] {
        all.extend(long_rows(dtype));
    }
    all.push(booleans());
    all.push(symbolic());
    all
}

fn matmuls(dtype: DType) -> Vec<Case> {
    let shapes: &[(&[i64], &[i64])] = &[
        (&[3, 4], &[4, 5]),
        (&[1, 1], &[1, 1]),
        (&[7], &[7]),
        (&[3], &[3, 2]),
        (&[5, 3], &[3]),
        (&[2, 3, 4], &[2, 4, 3]),
        (&[2, 1, 3, 4], &[5, 4, 2]),
        (&[3, 0], &[0, 2]),
        (&[0, 3], &[3, 2]),
        (&[2, 17], &[17, 9]),
        // so many rows that the second operand is copied into panels
        (&[200, 5], &[5, 37]),
    ];
    let mut m = Make::new(&format!("matmul_{}", dtype.name()));
    let mut results = Vec::new();
    for (a, b) in shapes {
        let (a, b) = (m.input(dtype, &fixed(a)), m.input(dtype, &fixed(b)));
        results.push(m.emit(Op::MatMul, &[a, b]));
    }
    vec![m.done(&results)]
}

fn reductions(dtype: DType) -> Vec<Case> {
    let mut all = Vec::new();
    let mut ops = vec![ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min];
    if dtype.is_float() {
        ops.push(ReduceOp::Mean);
    }
    for op in ops {
        let mut m = Make::new(&format!("reduce_{op:?}_{}", dtype.name()).to_lowercase());
        let x = m.input(dtype, &fixed(&[3, 1, 5]));
        let empty = m.input(dtype, &fixed(&[2, 0]));
        let one = m.input(dtype, &[]);
        let long = m.input(dtype, &fixed(&[300]));
        let special = telling(dtype);
        let special = m.values(dtype, &[special.len() as i64 / 2, 2], &special);
        let mut results = Vec::new();
        for (value, axes, keepdims) in [
            (x, &[0usize, 1, 2][..], false),
            (x, &[0, 1, 2], true),
            (x, &[0], false),
            (x, &[2], true),
            (x, &[0, 2], false),
            (empty, &[1], false),
            (empty, &[0], true),
            (one, &[], false),
            (long, &[0], false),
            (special, &[1], false),
            (special, &[0], false),
        ] {
            results.push(m.reduce(op, value, axes, keepdims));
        }
        all.push(m.done(&results));
    }
    all
}

fn arg_reductions(dtype: DType) -> Case {
    let mut m = Make::new(&format!("arg_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[3, 4]));
    let special = telling(dtype);
    let n = special.len() as i64;
    let special = m.values(dtype, &[n / 2, 2], &special);
    let mut results = Vec::new();
    for op in [ArgOp::ArgMax, ArgOp::ArgMin] {
        for value in [x, special] {
            for (axis, keepdims) in [(Some(0), false), (Some(1), true), (None, false), (None, true)] {
                results.push(m.arg(op, value, axis, keepdims));
            }
        }
    }
    m.done(&results)
}

fn rows(dtype: DType) -> Case {
    let mut m = Make::new(&format!("rows_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[3, 4, 5]));
    let special = telling(dtype);
    let special = m.values(dtype, &[special.len() as i64 / 2, 2], &special);
    let mut results = Vec::new();
    for log in [false, true] {
        for axis in 0..3 {
            results.push(m.emit(Op::Softmax { axis, log }, &[x]));
        }
        results.push(m.emit(Op::Softmax { axis: 1, log }, &[special]));
    }
    for axis in 0..3 {
        let shape = &[3i64, 4, 5][axis..];
        let (scale, bias) = (m.input(dtype, &fixed(shape)), m.input(dtype, &fixed(shape)));
        let op = Op::LayerNorm { axis, epsilon: Real::new(1e-3) };
        results.push(m.emit(op.clone(), &[x, scale, bias]));
        results.push(m.emit(op, &[x, scale]));
    }
    for axis in 0..3 {
        let channels = &[3i64, 4, 5][axis..=axis];
        let [scale, bias, mean] = [0; 3].map(|_| m.input(dtype, &fixed(channels)));
        let deviation = m.input(dtype, &fixed(channels));
        let variance = m.element(tenfold_ir::op::ElementOp::Unary(tenfold_ir::op::UnaryOp::Abs), &[deviation]);
        let op = Op::BatchNorm { axis, epsilon: Real::new(1e-3) };
        results.push(m.emit(op, &[x, scale, bias, mean, variance]));
    }
    m.done(&results)
}

fn window(kernel: &[i64], strides: &[i64], pads: &[i64], dilations: &[i64]) -> Window {
    Window { kernel: kernel.to_vec(), strides: strides.to_vec(), pads: pads.to_vec(), dilations: dilations.to_vec() }
}

fn convolutions(dtype: DType) -> Vec<Case> {
    let table: &[(&[i64], &[i64], Window, i64)] = &[
        (&[1, 1, 4, 4], &[1, 1, 3, 3], window(&[3, 3], &[1, 1], &[0, 0, 0, 0], &[1, 1]), 1),
        (&[2, 3, 5, 6], &[4, 3, 3, 2], window(&[3, 2], &[2, 1], &[1, 0, 1, 1], &[1, 1]), 1),
        (&[1, 4, 7, 7], &[6, 2, 3, 3], window(&[3, 3], &[1, 2], &[2, 2, 2, 2], &[2, 2]), 2),
        (&[1, 3, 5, 5], &[3, 1, 3, 3], window(&[3, 3], &[1, 1], &[1, 1, 1, 1], &[1, 1]), 3),
        (&[2, 2, 9], &[3, 2, 4], window(&[4], &[3], &[1, 2], &[1]), 1),
        (&[1, 2, 3, 3, 3], &[2, 2, 2, 2, 2], window(&[2, 2, 2], &[1, 1, 1], &[0, 0, 0, 1, 1, 1], &[1, 1, 1]), 1),
    ];
    let mut m = Make::new(&format!("conv_{}", dtype.name()));
    let mut results = Vec::new();
    for (i, (x, w, window, group)) in table.iter().enumerate() {
        let (xv, wv) = (m.input(dtype, &fixed(x)), m.input(dtype, &fixed(w)));
        let op = Op::Conv { window: window.clone(), group: *group, layout: ConvLayout::default() };
        if i % 2 == 0 {
            results.push(m.emit(op, &[xv, wv]));
        } else {
            let bias = m.constant(dtype, &w[..1]);
            results.push(m.emit(op, &[xv, wv, bias]));
        }
    }
    vec![m.done(&results)]
}

fn pools(dtype: DType) -> Vec<Case> {
    let windows = [
        (window(&[2, 2], &[2, 2], &[0, 0, 0, 0], &[1, 1]), false),
        (window(&[3, 2], &[2, 1], &[1, 1, 1, 0], &[1, 1]), false),
        (window(&[3, 3], &[2, 2], &[1, 1, 1, 1], &[1, 1]), true),
        (window(&[2, 2], &[1, 1], &[0, 0, 0, 0], &[2, 1]), false),
    ];
    let mut ops = vec![PoolOp::Max];
    if dtype.is_float() {
        ops.push(PoolOp::Average { count_include_pad: false });
        ops.push(PoolOp::Average { count_include_pad: true });
    }
    let mut m = Make::new(&format!("pool_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[2, 2, 6, 5]));
    let mut results = Vec::new();
    for op in ops {
        for (window, ceil_mode) in &windows {
            results.push(m.emit(pooled(op, window, *ceil_mode, DataLayout::default()), &[x]));
        }
    }
    vec![m.done(&results)]
}

fn pooled(op: PoolOp, window: &Window, ceil_mode: bool, layout: DataLayout) -> Op {
    Op::Pool { op, window: window.clone(), ceil_mode, layout }
}

/// Extents of an operand as it is stored.
fn stored(parts: &[relax::Part], plain: &[i64]) -> Vec<tenfold_ir::arith::IntExpr> {
    relax::stored_shape(parts, &fixed(plain))
}

/// Convolutions and pools with axes in other orders: whole, in groups, each channel by itself, with blocks that are
/// those of the weights and others.
fn layouts(dtype: DType) -> Vec<Case> {
    use {DataLayout as D, KernelLayout as K};
    type Row<'a> = (&'a [i64], &'a [i64], Window, i64, D, K);
    let table: &[Row<'_>] = &[
        (
            &[2, 3, 5, 6],
            &[4, 3, 3, 2],
            window(&[3, 2], &[2, 1], &[1, 0, 1, 1], &[1, 1]),
            1,
            D::ChannelsLast,
            K::OutLast,
        ),
        (&[1, 4, 7, 7], &[6, 2, 3, 3], window(&[3, 3], &[1, 2], &[2; 4], &[2, 2]), 2, D::ChannelsLast, K::OutFirst),
        (&[1, 3, 5], &[2, 3, 2], window(&[2], &[1], &[0, 0], &[1]), 1, D::ChannelsFirst, K::OutLast),
        (
            &[1, 8, 5, 5],
            &[4, 8, 3, 3],
            window(&[3, 3], &[1, 1], &[1; 4], &[1, 1]),
            1,
            D::ChannelsLast,
            K::InputBlocked(4),
        ),
        (
            &[2, 3, 5, 4],
            &[6, 3, 2, 2],
            window(&[2, 2], &[2, 1], &[0; 4], &[1, 1]),
            1,
            D::ChannelsLast,
            K::InputBlocked(1),
        ),
        (&[1, 8, 4, 4], &[6, 8, 3, 3], window(&[3, 3], &[1, 1], &[1; 4], &[1, 1]), 1, D::Blocked(4), blocks(4, 3)),
        (&[1, 8, 4, 3], &[4, 8, 2, 2], window(&[2, 2], &[1, 1], &[0; 4], &[1, 1]), 1, D::Blocked(2), blocks(4, 2)),
        (&[1, 6, 4, 4], &[6, 1, 3, 3], window(&[3, 3], &[1, 1], &[1; 4], &[1, 1]), 6, D::Blocked(3), blocks(1, 3)),
        (&[1, 6, 4, 4], &[12, 1, 2, 2], window(&[2, 2], &[2, 2], &[0; 4], &[1, 1]), 6, D::Blocked(2), blocks(1, 4)),
        (&[1, 8, 3, 3], &[4, 4, 2, 2], window(&[2, 2], &[1, 1], &[0; 4], &[1, 1]), 2, D::Blocked(4), blocks(2, 2)),
    ];
    let mut m = Make::new(&format!("layouts_{}", dtype.name()));
    let mut results = Vec::new();
    for (i, (x, w, window, group, data, kernel)) in table.iter().enumerate() {
        let (spatial, layout) = (window.kernel.len(), ConvLayout { data: *data, kernel: *kernel });
        let xv = m.input(dtype, &stored(&data.parts(spatial), x));
        let wv = m.input(dtype, &stored(&kernel.parts(spatial), w));
        let op = Op::Conv { window: window.clone(), group: *group, layout };
        if i % 2 == 0 {
            results.push(m.emit(op, &[xv, wv]));
        } else {
            let bias = m.constant(dtype, &w[..1]);
            results.push(m.emit(op, &[xv, wv, bias]));
        }
    }
    for layout in [D::ChannelsLast, D::Blocked(2)] {
        let x = m.input(dtype, &stored(&layout.parts(2), &[2, 4, 6, 5]));
        let window = window(&[3, 2], &[2, 1], &[1, 1, 1, 0], &[1, 1]);
        results.push(m.emit(pooled(PoolOp::Max, &window, true, layout), &[x]));
        if dtype.is_float() {
            let op = PoolOp::Average { count_include_pad: layout == D::ChannelsLast };
            results.push(m.emit(pooled(op, &window, false, layout), &[x]));
        }
    }
    vec![m.done(&results)]
}

fn blocks(input: i64, output: i64) -> KernelLayout {
    KernelLayout::Blocked { input, output }
}

fn booleans() -> Case {
    let mut m = Make::new("booleans");
    let x = m.input(DType::Bool, &fixed(&[3, 4]));
    let empty = m.input(DType::Bool, &fixed(&[0, 2]));
    let mut results = Vec::new();
    for op in [ReduceOp::Any, ReduceOp::All] {
        results.push(m.reduce(op, x, &[1], false));
        results.push(m.reduce(op, x, &[0, 1], true));
        results.push(m.reduce(op, empty, &[0], false));
    }
    m.done(&results)
}

/// Rows of several vectors and a part of one, whose ends nothing else meets: with as many elements as every number of
/// lanes divides, with fewer, and as many as a dim says.
fn long_rows(dtype: DType) -> Vec<Case> {
    let case = |n: i64, symbolic: bool| {
        let mut m = Make::new(&format!("long_rows_{n}_{}{}", dtype.name(), if symbolic { "_symbolic" } else { "" }));
        let extent = if symbolic { m.dim("N", n, 0, 1) } else { n.into() };
        let x = m.input(dtype, &[3.into(), extent]);
        let mut results: Vec<_> = [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min]
            .into_iter()
            .map(|op| m.reduce(op, x, &[1], false))
            .collect();
        results.push(m.reduce(ReduceOp::Sum, x, &[0], false));
        results.push(m.reduce(ReduceOp::Max, x, &[0, 1], true));
        let twice = m.element(ElementOp::Binary(BinaryOp::Add), &[x, x]);
        results.push(twice);
        if dtype.is_float() {
            results.push(m.reduce(ReduceOp::Mean, twice, &[1], true));
            for (axis, log) in [(1, false), (1, true), (0, false)] {
                results.push(m.emit(Op::Softmax { axis, log }, &[x]));
            }
            if !symbolic {
                let scale = m.input(dtype, &fixed(&[n]));
                results.push(m.emit(Op::LayerNorm { axis: 1, epsilon: Real::new(1e-3) }, &[x, scale]));
            }
        }
        m.done(&results)
    };
    vec![case(131, false), case(128, false), case(33, false), case(131, true)]
}

/// Dims that are known when the function is called, one of them 0.
fn symbolic() -> Case {
    let mut m = Make::new("symbolic");
    let b = m.dim("B", 3, 0, 0);
    let t = m.dim("T", 6, 1, 1);
    let some = tenfold_ir::arith::Fact::parse("T >= 1").expect("a fact");
    m.b.add_fact(tenfold_ir::relax::FactDecl { fact: some, text: "T >= 1".into(), loc: Default::default() });
    let z = m.dim("Z", 0, 2, 0);
    let x = m.input(DType::F32, &[b.clone(), 4.into()]);
    let w = m.input(DType::F32, &[4.into(), t.clone()]);
    let none = m.input(DType::F32, &[z.clone(), 4.into()]);
    let product = m.emit(Op::MatMul, &[x, w]);
    let soft = m.emit(Op::Softmax { axis: 1, log: false }, &[product]);
    let mean = m.reduce(ReduceOp::Mean, soft, &[0], false);
    let most = m.arg(ArgOp::ArgMax, product, Some(1), false);
    let nothing = m.emit(Op::MatMul, &[none, w]);
    let sum = m.reduce(ReduceOp::Sum, nothing, &[0], false);
    m.done(&[soft, mean, most, nothing, sum])
}
