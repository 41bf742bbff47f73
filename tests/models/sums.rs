//! Long sums: what they compute however their blocks come out, and how much rounding takes of them.

use std::path::PathBuf;

use tenfold_core::pass::PassContext;
use tenfold_ir::relax::{ConvLayout, Op, Window};
use tenfold_ir::tir::BufUse;
use tenfold_ir::{DType, Module};

use crate::case::{Case, Make, fixed};
use crate::compiled::{compiled, host_target, lowered};
use crate::{graphs, native};

/// A product of matrices with so many terms.
fn product(terms: i64) -> Case {
    let mut make = Make::new(&format!("product_{terms}"));
    let (a, b) = (make.input(DType::F32, &fixed(&[3, terms])), make.input(DType::F32, &fixed(&[terms, 12])));
    let y = make.emit(Op::MatMul, &[a, b]);
    make.done(&[y])
}

/// The same with extents that are known when the function is called.
fn symbolic(rows: i64, columns: i64, terms: i64) -> Case {
    let mut make = Make::new(&format!("symbolic_{rows}_{columns}_{terms}"));
    let (m, k) = (make.dim("M", rows, 0, 0), make.dim("K", terms, 0, 1));
    let n = make.dim("N", columns, 1, 1);
    let (a, b) = (make.input(DType::F32, &[m, k.clone()]), make.input(DType::F32, &[k, n]));
    let y = make.emit(Op::MatMul, &[a, b]);
    make.done(&[y])
}

/// A convolution by windows of nine taps, with a bias behind its sum.
fn convolution(channels: i64, taps: i64) -> Case {
    let mut make = Make::new(&format!("convolution_{channels}_{taps}"));
    let x = make.input(DType::F32, &fixed(&[1, channels, 2, 3]));
    let (w, b) = (make.input(DType::F32, &fixed(&[9, channels, taps, taps])), make.input(DType::F32, &fixed(&[9])));
    let window = Window { kernel: vec![taps; 2], strides: vec![1; 2], pads: vec![taps / 2; 4], dilations: vec![1; 2] };
    let y = make.emit(Op::Conv { window, group: 1, layout: ConvLayout::default() }, &[x, w, b]);
    let two = make.lit(DType::F32, 2.0);
    let y = make.element(tenfold_ir::op::ElementOp::Binary(tenfold_ir::op::BinaryOp::Max), &[y, two]);
    make.done(&[y])
}

#[test]
fn sums_in_blocks_of_one_length_of_two_and_of_any() {
    let lengths = [192, 193, 384, 389, 1000];
    let mut cases: Vec<Case> = lengths.into_iter().map(product).collect();
    cases.extend([(3, 12, 0), (3, 12, 191), (6, 9, 192), (2, 9, 500)].map(|(m, n, k)| symbolic(m, n, k)));
    // Taps that are blocks together, each by itself, and in parts.
    cases.extend([(24, 3), (64, 3), (100, 3), (197, 3)].map(|(c, k)| convolution(c, k)));
    let errors = native::run(cases, "sums");
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

/// Panels that are whole, and elements that are left; sums in blocks, whose terms are written out and are left over; what
/// follows on elements and on rows.
#[test]
fn the_first_tile_of_rows_copies_panels() {
    let mut make = Make::new("copied");
    let (a, b) = (make.input(DType::F32, &fixed(&[520, 203])), make.input(DType::F32, &fixed(&[203, 37])));
    let y = make.emit(Op::MatMul, &[a, b]);
    let two = make.lit(DType::F32, 2.0);
    let y = make.element(tenfold_ir::op::ElementOp::Binary(tenfold_ir::op::BinaryOp::Max), &[y, two]);
    let y = make.emit(Op::Softmax { axis: 1, log: false }, &[y]);
    let errors = native::run(vec![make.done(&[y])], "copied");
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

const ROWS: usize = 7;
const COLUMNS: usize = 48;
const TERMS: usize = 4608;

/// Values between -1 and 1.
pub(crate) fn noise(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Two matrices that are multiplied, and how many columns the second one has.
struct Factors<'a> {
    a: &'a [f32],
    b: &'a [f32],
    columns: usize,
}

impl Factors<'_> {
    /// The terms of a sum.
    fn terms(&self, at: usize) -> impl Iterator<Item = (f32, f32)> {
        let (i, j, terms) = (at / self.columns, at % self.columns, self.b.len() / self.columns);
        (0..terms).map(move |k| (self.a[i * terms + k], self.b[k * self.columns + j]))
    }

    /// The root mean square of how far what is made of sums is from that of those in 64 bits.
    fn lost(&self, found: &[f32], made: fn(f64) -> f64) -> f64 {
        let exact = |at: usize| made(self.terms(at).map(|(a, b)| f64::from(a) * f64::from(b)).sum::<f64>());
        let squares: f64 = found.iter().enumerate().map(|(at, y)| (f64::from(*y) - exact(at)).powi(2)).sum();
        (squares / found.len() as f64).sqrt()
    }

    /// What one accumulator gives that takes all terms in order.
    fn in_order(&self, count: usize) -> Vec<f32> {
        (0..count).map(|at| self.terms(at).fold(0f32, |sum, (a, b)| a.mul_add(b, sum))).collect()
    }
}

/// Of 4608 terms, as convolutions of 512 channels have them, blocks of 192 lose a fourth of what one accumulator loses
/// by the theory of sums of random signs; a half is asked for.
#[test]
fn long_sums_lose_little() {
    let module = graphs::gemm(ROWS as i64, COLUMNS as i64, TERMS as i64);
    let mut context = PassContext::new(host_target());
    context.verify = false;
    let (low, workspace) = lowered(&module, &context);
    for backend in native::backends() {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("sums").join(backend.name());
        let code = compiled(&low, workspace, &*backend, &context.target, &folder);
        let mut memory = code.memory();
        for (n, operand) in memory.iter_mut().take(2).enumerate() {
            let values = noise(n as u64 + 1, operand.floats().len());
            operand.floats().copy_from_slice(&values);
        }
        code.call(&mut memory);
        let [a, b, y, ..] = &mut memory[..] else { panic!("two operands and a result") };
        let (factors, y) = (Factors { a: a.floats(), b: b.floats(), columns: COLUMNS }, y.floats());
        let (ours, one) = (factors.lost(y, |x| x), factors.lost(&factors.in_order(y.len()), |x| x));
        println!("{}: {ours:.3e} of {one:.3e}", backend.name());
        assert!(ours * 2.0 < one, "{}: {ours:e} is lost, one accumulator loses {one:e}", backend.name());
    }
}

/// Seven products of halves lose three times what one accumulator loses at most, and every result is in its place: in the
/// first tile of rows, in those of its height and in others, with and without what keeps registers.
#[test]
fn products_of_halves_lose_little() {
    const COLUMNS: usize = 192;
    let mut context = PassContext::new(host_target());
    context.verify = false;
    for (rows, function) in [(130, false), (154, true)] {
        let weights = noise(1, 384 * COLUMNS);
        let module = graphs::by_constant([rows, COLUMNS as i64, 384], &weights, function);
        let (low, workspace) = lowered(&module, &context);
        let made: fn(f64) -> f64 = if function { f64::tanh } else { |x| x };
        // C compilers take ten seconds for what is written out so often.
        for backend in native::backends().into_iter().filter(|backend| backend.name() == "llvm") {
            let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("halves").join(backend.name());
            let code = compiled(&low, workspace, &*backend, &context.target, &folder);
            let mut memory = code.memory();
            let values = noise(7, memory[0].floats().len()).into_iter().map(|x| x / 8.0).collect::<Vec<f32>>();
            memory[0].floats().copy_from_slice(&values);
            code.call(&mut memory);
            let factors = Factors { a: &values, b: &weights, columns: COLUMNS };
            let y = memory[1].floats();
            let (ours, one) = (factors.lost(y, made), factors.lost(&factors.in_order(y.len()), |x| x));
            println!("{}: {ours:.3e} of {one:.3e}", backend.name());
            assert!(ours < 3.0 * one, "{}: {ours:e} is lost, one accumulator loses {one:e}", backend.name());
        }
    }
}

/// What a module gives for noise, by a rule that may be switched off or by plain sums.
fn results(module: &Module, rule: &str, on: bool) -> Vec<f32> {
    let mut context = PassContext::new(host_target());
    context.set(&format!("ApplyDefaultSchedule.{rule}"), on).expect("it is a setting");
    given(module, context, &format!("{rule}-{on}"), noise)
}

/// Results by a rule are not those of plain sums, and differ from them by so much at most: the root mean square as a part of
/// that of the results.
fn differ(what: &str, module: &Module, rule: &str, most: f64) {
    let (by_rule, plain) = (results(module, rule, true), results(module, rule, false));
    let mean = |squares: f64| (squares / plain.len() as f64).sqrt();
    let apart = by_rule.iter().zip(&plain).map(|(x, y)| f64::from(x - y).powi(2)).sum::<f64>();
    let (apart, size) = (mean(apart), mean(plain.iter().map(|y| f64::from(*y).powi(2)).sum()));
    println!("{what}: {apart:.3e} of {size:.3e}");
    assert!(apart > 0.0, "{what}: not by {rule}");
    assert!(apart < most * size, "{what}: {apart:e} apart, of {size:e}");
}

/// What a module gives for some values of each operand.
pub(crate) fn given(
    module: &Module,
    mut context: PassContext,
    name: &str,
    values: fn(u64, usize) -> Vec<f32>,
) -> Vec<f32> {
    context.verify = false;
    let (low, workspace) = lowered(module, &context);
    let backends = native::backends();
    let backend = backends.iter().find(|backend| backend.name() == "llvm").expect("there is LLVM");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("given").join(format!("{}-{name}", module.entry));
    let code = compiled(&low, workspace, &**backend, &context.target, &folder);
    let mut memory = code.memory();
    let out = code.args.iter().position(|(_, usage)| *usage == BufUse::Out).expect("a result");
    for (n, operand) in memory[..out].iter_mut().enumerate() {
        let values = values(n as u64 + 3, operand.floats().len());
        operand.floats().copy_from_slice(&values);
    }
    code.call(&mut memory);
    memory[out].floats().to_vec()
}

/// Rows in lines and groups, terms in blocks, panels of which a tile has a part, what is added to each element, rows that
/// are summed behind the product, several images: results differ by rounding alone.
#[test]
fn products_of_halves_are_where_plain_sums_are() {
    let pointwise = |extent: [i64; 2], channels: [i64; 2]| {
        graphs::pointwise(extent, channels, &noise(2, (channels[0] * channels[1]) as usize))
    };
    let cases = [
        ("lines, in groups, whose sums of weights are kept", pointwise([56, 56], [128, 128])),
        ("terms in blocks, rows that share cache sets", pointwise([14, 14], [1024, 256])),
        ("whole lines in a tile", pointwise([30, 7], [192, 192])),
        ("an odd number of lines", pointwise([3, 196], [256, 256])),
        ("rows that are summed", graphs::normed([130, 384, 768], &noise(2, 384 * 768))),
    ];
    for (what, module) in cases {
        differ(what, &module, "strassen", 1e-6);
    }
}

/// Squares of both sizes, those at the end of a line, channels in several and in one width, terms in blocks, whose weights
/// are asked for, several images: results differ by rounding alone.
#[test]
fn convolutions_by_transforms_are_where_plain_sums_are() {
    let by_windows = |extent: [i64; 3], channels: [i64; 2]| {
        graphs::by_windows(extent, channels, &noise(2, (9 * channels[0] * channels[1]) as usize))
    };
    let cases = [
        ("squares of two, several images", by_windows([3, 9, 10], [64, 64])),
        ("squares of four", by_windows([1, 28, 28], [64, 64])),
        ("squares of four that are cut", by_windows([1, 27, 29], [48, 72])),
        ("images in bands", by_windows([2, 62, 90], [48, 40])),
        ("terms in blocks, several images", by_windows([2, 13, 15], [192, 208])),
    ];
    for (what, module) in cases {
        differ(what, &module, "winograd", 2e-6);
    }
}

/// Numbers of which all sums are exact, in whatever order.
fn whole(seed: u64, count: usize) -> Vec<f32> {
    noise(seed, count).into_iter().map(|x| (8.0 * x).round()).collect()
}

/// Blocks of panels that are copied into the same memory, strips of channels that go down all lines, many tiles of a short
/// sum: orders and copies of large kernels, whose sums are those of plain loops to the last bit.
#[test]
fn large_kernels_are_what_plain_loops_are() {
    let blocks = {
        let mut make = Make::new("blocks");
        let (a, b) = (make.input(DType::F32, &fixed(&[520, 300])), make.input(DType::F32, &fixed(&[300, 585])));
        let y = make.emit(Op::MatMul, &[a, b]);
        make.done(&[y])
    };
    let strips = {
        let mut make = Make::new("strips");
        let x = make.input(DType::F32, &fixed(&[1, 13, 15, 400]));
        let w = make.input(DType::F32, &fixed(&[400, 1, 3, 3]));
        let window = Window { kernel: vec![3; 2], strides: vec![1; 2], pads: vec![1; 4], dilations: vec![1; 2] };
        let x = make.emit(Op::Transpose { perm: vec![0, 3, 1, 2] }, &[x]);
        let y = make.emit(Op::Conv { window, group: 400, layout: ConvLayout::default() }, &[x, w]);
        make.done(&[y])
    };
    let tiles = {
        let mut make = Make::new("tiles");
        let (a, b) = (make.input(DType::F32, &fixed(&[4099, 16])), make.input(DType::F32, &fixed(&[16, 130])));
        let r = make.input(DType::F32, &fixed(&[4099, 130]));
        let y = make.emit(Op::MatMul, &[a, b]);
        let y = make.element(tenfold_ir::op::ElementOp::Binary(tenfold_ir::op::BinaryOp::Add), &[y, r]);
        make.done(&[y])
    };
    for case in [blocks, strips, tiles] {
        let mut plain = PassContext::new(host_target());
        plain.disabled = ["ApplyDefaultSchedule".to_string()].into();
        let found = given(&case.module, PassContext::new(host_target()), "scheduled", whole);
        assert!(found == given(&case.module, plain, "plain", whole), "{} gives other sums", case.module.entry);
    }
}
