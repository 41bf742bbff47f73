//! Products that warps and warpgroups make, of halves and of bytes: every tile, in every order of the factors, whole and with
//! something left over.

use tenfold_core::Device;
use tenfold_ir::DType;
use tenfold_ir::op::{Activation, BinaryOp, ElementOp, UnaryOp};
use tenfold_ir::relax::{ConvLayout, Op, ValueId, Window};

use crate::case::{Case, Make, fixed};
use crate::chips::CHIPS;
use crate::driver;
use crate::run::{self, Job};

/// A product of so many rows, terms and columns, of factors that lie in memory along the other axis where `turned` says so.
fn product(dtypes: [DType; 2], [rows, terms, columns]: [i64; 3], turned: [bool; 2]) -> Case {
    let name = format!("product_{}_{}_{rows}_{terms}_{columns}_{turned:?}", dtypes[0].name(), dtypes[1].name());
    let mut m = Make::new(&name.replace(['[', ']', ',', ' '], "_"));
    let mut factor = |dtype: DType, [a, b]: [i64; 2], turned: bool| {
        let x = m.input(dtype, &fixed(&if turned { [b, a] } else { [a, b] }));
        let x = if turned { m.emit(Op::Transpose { perm: vec![1, 0] }, &[x]) } else { x };
        if dtype.is_float() { x } else { m.element(ElementOp::Cast(DType::I32), &[x]) }
    };
    let factors = [factor(dtypes[0], [rows, terms], turned[0]), factor(dtypes[1], [terms, columns], turned[1])];
    let y = m.emit(Op::MatMul, &factors);
    m.done(&[y])
}

/// A product of halves of several axes: rows of two, or batches.
fn of_axes(dtype: DType, x: &[i64], w: &[i64]) -> Case {
    let mut m = Make::new(&format!("product_{}_{}_{}", dtype.name(), x.len(), w.len()));
    let (x, w) = (m.input(dtype, &fixed(x)), m.input(dtype, &fixed(w)));
    let y = m.emit(Op::MatMul, &[x, w]);
    m.done(&[y])
}

fn biased(m: &mut Make, dtype: DType, x: ValueId, columns: i64, after: Activation) -> ValueId {
    let bias = m.constant(dtype, &[columns]);
    let sum = m.element(ElementOp::Binary(BinaryOp::Add), &[x, bias]);
    m.element(ElementOp::Activation(after), &[sum])
}

/// What stands before and behind a product runs in its kernel, and rows are as many as a dim says.
fn fused(dtype: DType, rows: i64) -> Case {
    let mut m = Make::new(&format!("fused_{rows}_{}", dtype.name()));
    let n = m.dim("N", rows, 0, 0);
    let (x, w) = (m.input(dtype, &[n, 48.into()]), m.constant(dtype, &[48, 45]));
    let x = m.element(ElementOp::Unary(UnaryOp::Abs), &[x]);
    let y = m.emit(Op::MatMul, &[x, w]);
    let y = biased(&mut m, dtype, y, 45, Activation::Relu);
    m.done(&[y])
}

fn convolution(dtype: DType) -> Case {
    let mut m = Make::new(&format!("convolution_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[2, 3, 11, 10]));
    let w = m.constant(dtype, &[26, 3, 3, 3]);
    let window = Window { kernel: vec![3, 3], strides: vec![2, 1], pads: vec![1, 1, 1, 1], dilations: vec![1, 1] };
    let y = m.emit(Op::Conv { window, group: 1, layout: ConvLayout::default() }, &[x, w]);
    m.done(&[y])
}

/// The same case with tiles as they are on a device of one multiprocessor, which are the largest, or of many.
fn jobs(cases: Vec<Case>, chips: &[Device], multiprocessors: &str) -> Vec<Job> {
    let pairs = cases.into_iter().flat_map(|case| chips.iter().map(move |chip| Job::new(case.clone(), *chip)));
    let set = |mut job: Job| {
        job.large = true;
        job.context.set_text("BindThreads.multiprocessors", multiprocessors).expect("a setting");
        job
    };
    pairs.map(set).collect()
}

/// Runs all, none of which is refused, in kernels with such instructions.
fn run(jobs: &[Job], opcodes: &[&str]) {
    let Some(outcome) = run::all(jobs) else { return };
    assert_eq!(outcome.ran, jobs.len(), "{:#?}", outcome.refused);
    opcodes.iter().for_each(|opcode| assert!(driver::ran(opcode), "no kernel has `{opcode}`"));
}

const STRAIGHT: [bool; 2] = [false, false];

#[test]
fn warps_multiply_halves() {
    let (half, brain) = ([DType::F16; 2], [DType::BF16; 2]);
    let small = vec![
        product(half, [70, 40, 100], STRAIGHT),
        product(brain, [67, 35, 71], STRAIGHT),
        product(brain, [72, 48, 80], [true, true]),
        product(half, [33, 19, 21], [false, true]),
        fused(DType::BF16, 0),
        fused(DType::F16, 19),
        convolution(DType::F16),
    ];
    run(&jobs(small, &CHIPS, "0"), &["ldmatrix.", "cp.async.cg.", "mma.sync.aligned.m16n8k16.row.col.f32.bf16."]);
    let large = vec![product(brain, [136, 96, 200], STRAIGHT), product(half, [130, 72, 136], [true, false])];
    run(&jobs(large, &[Device::Sm80], "1"), &["mma.sync.aligned.m16n8k16.row.col.f32.f16."]);
}

/// A ring of stages that comes round, in every order of the factors, both tiles; rows of two axes, and a batch.
#[test]
fn warpgroups_multiply_halves() {
    let (half, brain) = ([DType::F16; 2], [DType::BF16; 2]);
    let cases = vec![
        product(brain, [72, 328, 216], STRAIGHT),
        product(half, [80, 264, 104], [true, true]),
        product(brain, [136, 128, 128], [false, true]),
        product(half, [128, 192, 256], [true, false]),
        of_axes(DType::F16, &[3, 26, 200], &[200, 104]),
        of_axes(DType::BF16, &[2, 72, 64], &[2, 64, 104]),
    ];
    run(
        &jobs(cases, &[Device::Sm90a], "1"),
        &["m64n256k16.f32.f16", "m64n128k16.f32.bf16", "cp.async.bulk.tensor.2d."],
    );
}

/// Both factors in lines of terms, which tensor copies bring.
#[test]
fn warpgroups_multiply_bytes() {
    let cases = vec![
        product([DType::I8; 2], [72, 656, 104], [false, true]),
        product([DType::U8; 2], [136, 272, 200], [false, true]),
    ];
    run(&jobs(cases, &[Device::Sm90a], "1"), &["k32.s32.s8.s8", "k32.s32.u8.u8"]);
}

#[test]
fn warps_multiply_bytes() {
    let cases = vec![
        product([DType::I8, DType::I8], [128, 64, 128], STRAIGHT),
        product([DType::U8, DType::I8], [67, 35, 71], STRAIGHT),
        product([DType::I8, DType::U8], [24, 160, 24], [false, true]),
        product([DType::U8, DType::U8], [72, 208, 80], [false, true]),
        // Four terms at once, by words.
        product([DType::I8, DType::U8], [12, 30, 33], STRAIGHT),
    ];
    run(&jobs(cases, &CHIPS, "0"), &["mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.", "dp4a."]);
}
