//! What schedules by level of the processor: each level that this machine or a simulator runs, over constants as the
//! widest reads them. The rest of the suite is for the baseline.

use std::path::PathBuf;
use std::time::Instant;

use tenfold::Variant;
use tenfold_core::pass::PassContext;
use tenfold_core::{Backend, Target};
use tenfold_ir::op::{Activation, BinaryOp, ElementOp, Real, ReduceOp, UnaryOp};
use tenfold_ir::relax::{ConvLayout, DataLayout, Op, PoolOp, ValueId, Window};
use tenfold_ir::{DType, Scalar};

use crate::case::{Case, Make, fixed};
use crate::element::signs_of_zeros;
use crate::interpret::{self, Actual, Prepared};
use crate::kinds;
use crate::native;
use crate::ops::{args, int};
use crate::program::{self, AARCH64, Machine};

/// Levels that only products of bytes have code for.
const OF_BYTES: [&str; 3] = ["x86-64-v4-vnni", "aarch64-dotprod", "aarch64-i8mm"];

/// The cases of what has code for a level.
pub(crate) fn cases(level: &str) -> Vec<Case> {
    let dtype = DType::F32;
    let bytes =
        || vec![products_of_bytes("products_of_bytes", &FEW), windows_of_bytes("windows_of_bytes", &FEW_WINDOWS)];
    match level {
        "x86-64-v4-amx" => {
            let bytes = [products_of_bytes("many_products", &MANY), windows_of_bytes("many_windows", &MANY_WINDOWS)];
            let halves = [products_of_halves("many", &MANY), windows_of_halves("many", &MANY_WINDOWS)];
            bytes.into_iter().chain(halves).collect()
        }
        "x86-64-v4-bf16" => words_of_halves(),
        level if OF_BYTES.contains(&level) => bytes(),
        _ => {
            let floats =
                [products(dtype), windows(dtype), squares(), rows(dtype), elements(dtype), symbolic(), halves()];
            let floats = floats.into_iter().chain([signs_of_zeros(dtype), spoilt_rows()]);
            let integers = bytes().into_iter().chain([tables(), conversions()]);
            floats.chain(attentions()).chain(integers).chain(words_of_halves()).chain(kinds::cases()).collect()
        }
    }
}

/// Rows, terms and columns: tiles that a panel holds once, several times, in part, and that reach into the next.
const PRODUCTS: &[[i64; 3]] = &[[1, 12, 200], [3, 5, 33], [13, 5, 200], [2, 193, 20]];

/// Products with constants, and what follows on their tiles and rows.
fn products(dtype: DType) -> Case {
    let mut m = Make::new(&format!("levels_products_{}", dtype.name()));
    let mut results = Vec::new();
    for [rows, terms, columns] in PRODUCTS {
        let x = m.input(dtype, &fixed(&[*rows, *terms]));
        let [w, b] = [m.constant(dtype, &[*terms, *columns]), m.constant(dtype, &[*columns])];
        let y = m.emit(Op::MatMul, &[x, w]);
        let y = m.element(ElementOp::Binary(BinaryOp::Add), &[y, b]);
        results.push(y);
        if dtype.is_float() {
            let y = m.element(ElementOp::Activation(Activation::Relu), &[y]);
            results.push(m.emit(Op::Softmax { axis: 1, log: false }, &[y]));
        }
    }
    m.done(&results)
}

pub(crate) fn window(side: i64, step: i64, pad: i64) -> Window {
    Window { kernel: vec![side; 2], strides: vec![step; 2], pads: vec![pad; 4], dilations: vec![1; 2] }
}

/// Convolutions with constants: over all channels, over points, in groups, over each channel alone; and pools.
fn windows(dtype: DType) -> Case {
    let mut m = Make::new(&format!("levels_windows_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[1, 3, 9, 9]));
    let conv = |m: &mut Make, x: ValueId, shape: [i64; 4], step: i64, group: i64| {
        let [w, b] = [m.constant(dtype, &shape), m.constant(dtype, &shape[..1])];
        let window = window(shape[2], step, shape[2] / 2);
        m.emit(Op::Conv { window, group, layout: ConvLayout::default() }, &[x, w, b])
    };
    let stem = conv(&mut m, x, [24, 3, 3, 3], 2, 1);
    let points = conv(&mut m, stem, [40, 24, 1, 1], 1, 1);
    let alone = conv(&mut m, points, [40, 1, 3, 3], 1, 40);
    let strided = conv(&mut m, points, [40, 1, 3, 3], 2, 40);
    let groups = conv(&mut m, alone, [16, 20, 1, 1], 1, 2);
    let narrow = conv(&mut m, alone, [24, 40, 1, 1], 1, 1);
    let mut results = vec![strided, groups, narrow];
    for op in [PoolOp::Max, PoolOp::Average { count_include_pad: false }] {
        let layout = DataLayout::default();
        results.push(m.emit(Op::Pool { op, window: window(3, 2, 1), ceil_mode: false, layout }, &[points]));
    }
    results.push(m.reduce(ReduceOp::Mean, narrow, &[2, 3], false));
    m.done(&results)
}

/// Windows of 3 by 3 over many channels, which transforms pay for: planes with whole squares and with parts of some,
/// channels in whole vectors and not, several images; what follows pads the results, or adds others to them.
fn squares() -> Case {
    let mut m = Make::new("levels_squares");
    let conv = |m: &mut Make, x: ValueId, [channels, of]: [i64; 2]| {
        let [w, b] = [m.constant(DType::F32, &[channels, of, 3, 3]), m.constant(DType::F32, &[channels])];
        let y = m.emit(Op::Conv { window: window(3, 1, 1), group: 1, layout: ConvLayout::default() }, &[x, w, b]);
        m.element(ElementOp::Activation(Activation::Relu), &[y])
    };
    let whole = m.input(DType::F32, &fixed(&[2, 16, 12, 12]));
    let whole = conv(&mut m, whole, [32, 16]);
    let parts = m.input(DType::F32, &fixed(&[1, 16, 13, 15]));
    let first = conv(&mut m, parts, [24, 16]);
    let second = conv(&mut m, first, [24, 24]);
    let both = m.element(ElementOp::Binary(BinaryOp::Add), &[first, second]);
    m.done(&[whole, both])
}

/// A value in 32 bits.
fn wide(m: &mut Make, x: ValueId) -> ValueId {
    m.element(ElementOp::Cast(DType::I32), &[x])
}

/// Rows, terms and columns of products of bytes: in whole steps of four terms, and with others.
const FEW: [[i64; 3]; 3] = [[1, 12, 200], [13, 8, 85], [5, 10, 33]];

/// As many as registers that are matrices pay for: in whole ones, in part of one and in several parts.
const MANY: [[i64; 3]; 3] = [[32, 192, 10], [20, 180, 32], [33, 256, 48]];

/// Products of bytes with constants, with signs and without; the largest of one kind alone.
fn products_of_bytes(name: &str, shapes: &[[i64; 3]]) -> Case {
    let mut m = Make::new(&format!("levels_{name}"));
    let mut results = Vec::new();
    for [x, w] in [[DType::U8, DType::I8], [DType::I8, DType::I8], [DType::U8, DType::U8], [DType::I8, DType::U8]] {
        let mixed = x == DType::U8 && w == DType::I8;
        for [rows, terms, columns] in shapes.iter().filter(|[rows, ..]| mixed || *rows <= 32) {
            let x = m.input(x, &fixed(&[*rows, *terms]));
            let w = m.constant(w, &[*terms, *columns]);
            let [x, w] = [wide(&mut m, x), wide(&mut m, w)];
            results.push(m.emit(Op::MatMul, &[x, w]));
        }
    }
    m.done(&results)
}

/// Products and convolutions of `bf16` in words of two terms, which are matrices in registers where there are such and
/// many of them.
fn words_of_halves() -> Vec<Case> {
    let products = [products_of_halves("few", &FEW), products_of_halves("many", &MANY)];
    let windows = [windows_of_halves("few", &FEW_WINDOWS), windows_of_halves("many", &MANY_WINDOWS)];
    products.into_iter().chain(windows).collect()
}

/// Products of `bf16` with constants.
fn products_of_halves(name: &str, shapes: &[[i64; 3]]) -> Case {
    let mut m = Make::new(&format!("levels_{name}_products_of_halves"));
    let wide = |m: &mut Make, x: ValueId| m.element(ElementOp::Cast(DType::F32), &[x]);
    let mut results = Vec::new();
    for [rows, terms, columns] in shapes.iter().copied() {
        let x = m.input(DType::BF16, &fixed(&[rows, terms]));
        let [w, b] = [m.constant(DType::BF16, &[terms, columns]), m.constant(DType::F32, &[columns])];
        let [x, w] = [wide(&mut m, x), wide(&mut m, w)];
        let y = m.emit(Op::MatMul, &[x, w]);
        let y = m.element(ElementOp::Binary(BinaryOp::Add), &[y, b]);
        results.push(m.element(ElementOp::Unary(UnaryOp::Erf), &[y]));
    }
    m.done(&results)
}

/// Convolutions of `bf16`.
fn windows_of_halves(name: &str, windows: &[Windows]) -> Case {
    let mut m = Make::new(&format!("levels_{name}_windows_of_halves"));
    let wide = |m: &mut Make, x: ValueId| m.element(ElementOp::Cast(DType::F32), &[x]);
    let mut results = Vec::new();
    for (shape, side, step, group) in windows.iter().copied() {
        let x = m.input(DType::BF16, &fixed(&[1, shape[1] * group, side, side]));
        let w = m.constant(DType::BF16, &shape);
        let [x, w] = [wide(&mut m, x), wide(&mut m, w)];
        let window = window(shape[2], step, shape[2] / 2);
        results.push(m.emit(Op::Conv { window, group, layout: ConvLayout::default() }, &[x, w]));
    }
    m.done(&results)
}

/// Products and a convolution of `f32` that is stored in halves.
fn halves() -> Case {
    let mut m = Make::new("levels_halves");
    let wide = |m: &mut Make, x: ValueId| m.element(ElementOp::Cast(DType::F32), &[x]);
    let mut results = Vec::new();
    for [rows, terms, columns] in [[1, 12, 200], [13, 7, 85]] {
        let x = m.input(DType::F32, &fixed(&[rows, terms]));
        let x = m.element(ElementOp::Cast(DType::BF16), &[x]);
        let w = m.constant(DType::BF16, &[terms, columns]);
        let [x, w] = [wide(&mut m, x), wide(&mut m, w)];
        results.push(m.emit(Op::MatMul, &[x, w]));
    }
    let x = m.input(DType::BF16, &fixed(&[1, 8, 7, 7]));
    let w = m.constant(DType::BF16, &[24, 8, 3, 3]);
    let [x, w] = [wide(&mut m, x), wide(&mut m, w)];
    let op = Op::Conv { window: window(3, 1, 1), group: 1, layout: ConvLayout::default() };
    results.push(m.emit(op, &[x, w]));
    m.done(&results)
}

/// The shape of weights, the side of an image, the step and the groups of a convolution.
type Windows = ([i64; 4], i64, i64, i64);

/// Over points, over windows with padding, in groups.
const FEW_WINDOWS: [Windows; 3] = [([32, 8, 1, 1], 7, 1, 1), ([24, 8, 3, 3], 7, 2, 1), ([16, 8, 3, 3], 7, 1, 2)];

/// With as many channels and places as matrices pay for.
const MANY_WINDOWS: [Windows; 2] = [([32, 64, 1, 1], 16, 1, 1), ([32, 64, 3, 3], 5, 1, 1)];

/// Convolutions of bytes.
fn windows_of_bytes(name: &str, windows: &[Windows]) -> Case {
    let mut m = Make::new(&format!("levels_{name}"));
    let mut results = Vec::new();
    for ([made, taken, side, _], wide_side, step, group) in windows.iter().copied() {
        let x = m.input(DType::U8, &fixed(&[1, taken * group, wide_side, wide_side]));
        let w = m.constant(DType::I8, &[made, taken, side, side]);
        let [x, w] = [wide(&mut m, x), wide(&mut m, w)];
        let window = window(side, step, side / 2);
        results.push(m.emit(Op::Conv { window, group, layout: ConvLayout::default() }, &[x, w]));
    }
    m.done(&results)
}

/// Rows that are reduced, and used again.
fn rows(dtype: DType) -> Case {
    let mut m = Make::new(&format!("levels_rows_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[3, 2, 37]));
    let scale = m.constant(dtype, &[37]);
    let mut results = Vec::new();
    for axis in 0..3 {
        results.push(m.emit(Op::Softmax { axis, log: axis == 1 }, &[x]));
        results.push(m.reduce(ReduceOp::Sum, x, &[axis], false));
        results.push(m.reduce(ReduceOp::Max, x, &[axis], true));
    }
    results.push(m.emit(Op::LayerNorm { axis: 2, epsilon: Real::new(1e-3) }, &[x, scale]));
    m.done(&results)
}

/// Elements one by one, and in another order.
fn elements(dtype: DType) -> Case {
    let mut m = Make::new(&format!("levels_elements_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[3, 37]));
    let mut results = Vec::new();
    for op in [UnaryOp::Exp, UnaryOp::Tanh, UnaryOp::Erf, UnaryOp::Sin, UnaryOp::Sqrt, UnaryOp::Round] {
        results.push(m.element(ElementOp::Unary(op), &[x]));
    }
    let turned = m.emit(Op::Transpose { perm: vec![1, 0] }, &[x]);
    let twice = m.emit(Op::Concat { axis: 1 }, &[turned, turned]);
    results.extend([turned, m.element(ElementOp::Binary(BinaryOp::Mul), &[twice, twice])]);
    m.done(&results)
}

/// Functions of bytes, which are tables of 256: rows in whole vectors, in vectors of several lengths, and on their tiles.
fn tables() -> Case {
    let mut m = Make::new("levels_tables");
    let table = m.constant(DType::U8, &[256]);
    let mut results = Vec::new();
    for columns in [64, 96, 48, 37] {
        let x = m.input(DType::U8, &fixed(&[3, columns]));
        let y = m.call("take", &args(&[table, x]), &[("axis", int(0))]);
        let [x, y] = [wide(&mut m, x), wide(&mut m, y)];
        results.extend([y, m.element(ElementOp::Binary(BinaryOp::Mul), &[x, y])]);
    }
    m.done(&results)
}

/// Floats that become integers: the nearest ones, and what has no room or is no number.
fn conversions() -> Case {
    const SPOILT: [f64; 12] =
        [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 127.5, 255.9, -0.9, 3e9, -3e9, 5e9, 65535.5, 1e19, -1e19];
    let mut m = Make::new("levels_conversions");
    let mut results = Vec::new();
    for dtype in [DType::F32, DType::F64] {
        let x = m.input(dtype, &fixed(&[7, 20]));
        let scale = m.lit(dtype, 1000.0);
        let large = m.element(ElementOp::Binary(BinaryOp::Mul), &[x, scale]);
        results.push(m.element(ElementOp::NearestInt, &[large]));
        let cells: Vec<Scalar> = SPOILT.iter().cycle().take(48).map(|x| Scalar::float(dtype, *x)).collect();
        let spoilt = m.values(dtype, &[48], &cells);
        for to in [DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::U32, DType::I64, DType::U64] {
            results.push(m.element(ElementOp::Cast(to), &[spoilt]));
        }
    }
    m.done(&results)
}

/// Rows whose number only a call says.
fn symbolic() -> Case {
    let mut m = Make::new("levels_symbolic");
    let n = m.dim("N", 11, 0, 0);
    let x = m.input(DType::F32, &[n, 30.into()]);
    let w = m.constant(DType::F32, &[30, 100]);
    let y = m.emit(Op::MatMul, &[x, w]);
    let y = m.element(ElementOp::Unary(UnaryOp::Tanh), &[y]);
    m.done(&[y])
}

/// Attentions that are one kernel: queries and keys in whole tiles and in parts of them, keys in one block and in many,
/// heads of all sizes, sums in several blocks.
fn attentions() -> Vec<Case> {
    let mut m = Make::new("levels_attention");
    let mut results = Vec::new();
    let all = [[8, 7, 5, 3], [13, 16, 16, 1], [29, 127, 32, 33], [14, 129, 3, 64], [8, 192, 200, 7], [9, 2049, 4, 20]];
    for [rows, keys, depth, columns] in all {
        let heads = if keys < 100 { 2 } else { 1 };
        let q = m.input(DType::F32, &fixed(&[heads, rows, depth]));
        let [k, v] = [depth, columns].map(|n| m.input(DType::F32, &fixed(&[heads, keys, n])));
        let bias = m.input(DType::F32, &fixed(&[rows, keys]));
        results.push(attended(&mut m, [q, k, v], bias));
    }
    vec![m.done(&results), spoilt_attention(), attention_of(21, 205), attention_of(8, 0), attention_of(0, 9)]
}

fn attended(m: &mut Make, [q, k, v]: [ValueId; 3], bias: ValueId) -> ValueId {
    let turned = m.emit(Op::Transpose { perm: vec![0, 2, 1] }, &[k]);
    let scores = m.emit(Op::MatMul, &[q, turned]);
    let scale = m.lit(DType::F32, 0.4);
    let scores = m.element(ElementOp::Binary(BinaryOp::Mul), &[scores, scale]);
    let scores = m.element(ElementOp::Binary(BinaryOp::Add), &[scores, bias]);
    let weights = m.emit(Op::Softmax { axis: 2, log: false }, &[scores]);
    m.emit(Op::MatMul, &[weights, v])
}

/// Softmax of rows that begin with, end with or hold what is no number or infinite, and of none but negative infinities.
fn spoilt_rows() -> Case {
    const COLUMNS: i64 = 200;
    let mut m = Make::new("levels_spoilt_rows");
    let x = m.input(DType::F32, &fixed(&[7, COLUMNS]));
    let cell = |n: i64| match (n / COLUMNS, n % COLUMNS) {
        (1, 0) | (2, 199) | (3, 100) => f64::NAN,
        (4, 150) => f64::INFINITY,
        (5, _) => f64::NEG_INFINITY,
        (6, 7 | 8) => f64::NEG_INFINITY,
        _ => 0.0,
    };
    let cells: Vec<Scalar> = (0..7 * COLUMNS).map(|n| Scalar::float(DType::F32, cell(n))).collect();
    let spoilt = m.values(DType::F32, &[7, COLUMNS], &cells);
    let x = m.element(ElementOp::Binary(BinaryOp::Add), &[x, spoilt]);
    let y = m.emit(Op::Softmax { axis: 1, log: false }, &[x]);
    m.done(&[y])
}

/// Rows that are masked as a whole, at the beginning, at the end; scores that are infinite or no numbers.
fn spoilt_attention() -> Case {
    let mut m = Make::new("levels_spoilt_attention");
    let mut results = Vec::new();
    for keys in [37, 450] {
        let (q, k) = (m.input(DType::F32, &fixed(&[1, 9, 6])), m.input(DType::F32, &fixed(&[1, keys, 6])));
        let v = m.input(DType::F32, &fixed(&[1, keys, 18]));
        let off = |row: i64, key: i64| match row {
            1 => true,
            2 => key < keys - 3,
            3 => key >= 2,
            _ => false,
        };
        let cell = |n: i64| match (n / keys, n % keys) {
            (4, 3) => f64::NAN,
            (5, 30) => f64::INFINITY,
            (6, 0) => -3e38,
            (7, _) => -3e38,
            (row, key) if off(row, key) => f64::NEG_INFINITY,
            _ => 0.0,
        };
        let cells: Vec<Scalar> = (0..9 * keys).map(|n| Scalar::float(DType::F32, cell(n))).collect();
        let bias = m.values(DType::F32, &[9, keys], &cells);
        results.push(attended(&mut m, [q, k, v], bias));
    }
    m.done(&results)
}

/// So many queries and keys, which only a call says.
fn attention_of(queries: i64, keys: i64) -> Case {
    let mut m = Make::new(&format!("levels_attention_of_{queries}_{keys}"));
    let (n, s) = (m.dim("N", queries, 0, 1), m.dim("S", keys, 1, 1));
    let q = m.input(DType::F32, &[3.into(), n, 12.into()]);
    let k = m.input(DType::F32, &[3.into(), s.clone(), 12.into()]);
    let v = m.input(DType::F32, &[3.into(), s.clone(), 10.into()]);
    let bias = m.input(DType::F32, &[s]);
    let y = attended(&mut m, [q, k, v], bias);
    let [k, v, bias] = [&[3, 70, 12][..], &[3, 70, 10], &[70]].map(|shape| m.input(DType::F32, &fixed(shape)));
    let known = attended(&mut m, [q, k, v], bias);
    m.done(&[y, known])
}

/// Where a target's programs lie.
fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("conformance/levels").join(name)
}

/// The cases for a level, whose constants are laid out for another target.
fn prepared(name: &str, target: &Target, layout: &Target) -> Result<Vec<Prepared>, String> {
    let context = PassContext::new(target.clone());
    cases(name).into_iter().map(|case| interpret::prepare_for(case, &context, layout)).collect()
}

fn llvm() -> Option<Box<dyn Backend>> {
    native::backends_in(folder("c")).into_iter().find(|backend| backend.name() == "llvm")
}

/// What is wrong with the code for one target.
fn mistakes(name: &str, target: &Target, layout: &Target, backend: &dyn Backend) -> Vec<String> {
    let errors = match prepared(name, target, layout) {
        Ok(prepared) => native::compare(&prepared, backend, target, &folder(name)),
        Err(error) => vec![error],
    };
    errors.into_iter().map(|error| format!("{name}: {error}")).collect()
}

/// The same for a target of AArch64.
fn mistakes_of_aarch64(name: &str, target: &Target, layout: &Target, backend: &dyn Backend) -> Vec<String> {
    let found = prepared(name, target, layout).and_then(|prepared| {
        let left = program::run(&prepared, backend, target, &Machine::aarch64(), &folder(name))?;
        Ok(prepared.into_iter().zip(left).collect::<Vec<_>>())
    });
    let cases = match found {
        Ok(cases) => cases,
        Err(error) => return vec![format!("{name}: {error}")],
    };
    let mut errors = Vec::new();
    for (case, buffers) in &cases {
        let written = case.actual.iter().enumerate().filter(|(_, argument)| program::is_written(argument));
        for ((at, argument), bytes) in written.zip(buffers) {
            let Actual::Buffer { dtype, .. } = argument else { continue };
            let error = native::check_buffer(case, at, *dtype, bytes).err();
            errors.extend(error.map(|error| format!("{name}: {}: {error}", case.name)));
        }
    }
    errors
}

#[test]
fn every_level_that_runs_here() {
    let plain = Target::from_triple(&native::host(), &["sse", "sse2"]);
    let levels = plain.levels();
    let Some(widest) = levels.last().map(|level| plain.with_level(level)) else { return };
    let Some(backend) = llvm() else { return };
    let mut errors = Vec::new();
    for level in levels {
        let start = Instant::now();
        if let Err(error) = (Variant { name: level.name, features: level.features }).supported() {
            println!("{error}");
            continue;
        }
        errors.extend(mistakes(level.name, &plain.with_level(&level), &widest, &*backend));
        println!("{}: {:.1} s", level.name, start.elapsed().as_secs_f64());
    }
    assert!(errors.is_empty(), "{} mistakes\n{}", errors.len(), errors.join("\n"));
}

/// The baseline of AArch64 and its levels, in a simulator that has them all.
#[test]
fn every_level_of_aarch64() {
    let (true, Some(backend)) = (program::has_aarch64(), llvm()) else { return };
    let plain = Target::from_triple(AARCH64, &["neon"]);
    let levels = plain.levels().into_iter().map(|level| (level.name, plain.with_level(&level)));
    let targets: Vec<(&str, Target)> = std::iter::once(("aarch64", plain.clone())).chain(levels).collect();
    let [.., (_, widest)] = &targets[..] else { panic!("there are levels") };
    let mistakes = |(name, target): &(&str, Target)| mistakes_of_aarch64(name, target, widest, &*backend);
    let errors: Vec<String> = targets.iter().flat_map(mistakes).collect();
    assert_eq!(targets.len(), 3);
    assert!(errors.is_empty(), "{} mistakes\n{}", errors.len(), errors.join("\n"));
}
