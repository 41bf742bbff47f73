//! Long sums: what they compute however their blocks come out, and how much rounding takes of them.

use std::path::PathBuf;

use tenfold_core::pass::PassContext;
use tenfold_ir::DType;
use tenfold_ir::relax::{ConvLayout, Op, Window};

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

const ROWS: usize = 7;
const COLUMNS: usize = 48;
const TERMS: usize = 4608;

/// The root mean square of how far sums are from those in 64 bits.
fn lost(found: &[f32], a: &[f32], b: &[f32]) -> f64 {
    let exact = |at: usize| -> f64 {
        let (i, j) = (at / COLUMNS, at % COLUMNS);
        (0..TERMS).map(|k| f64::from(a[i * TERMS + k]) * f64::from(b[k * COLUMNS + j])).sum()
    };
    let squares: f64 = found.iter().enumerate().map(|(at, y)| (f64::from(*y) - exact(at)).powi(2)).sum();
    (squares / found.len() as f64).sqrt()
}

/// What one accumulator gives that takes all terms in order.
fn in_order(a: &[f32], b: &[f32]) -> Vec<f32> {
    let one = |at: usize| {
        let (i, j) = (at / COLUMNS, at % COLUMNS);
        (0..TERMS).fold(0f32, |sum, k| a[i * TERMS + k].mul_add(b[k * COLUMNS + j], sum))
    };
    (0..ROWS * COLUMNS).map(one).collect()
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
            let mut state = n as u64 + 1;
            for x in operand.floats() {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                *x = (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0;
            }
        }
        code.call(&mut memory);
        let [a, b, y, ..] = &mut memory[..] else { panic!("two operands and a result") };
        let (a, b, y) = (a.floats(), b.floats(), y.floats());
        let (ours, one) = (lost(y, a, b), lost(&in_order(a, b), a, b));
        println!("{}: {ours:.3e} of {one:.3e}", backend.name());
        assert!(ours * 2.0 < one, "{}: {ours:e} is lost, one accumulator loses {one:e}", backend.name());
    }
}
