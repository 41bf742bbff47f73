//! Models between `QuantizeLinear` and `DequantizeLinear`: they become operators of integers, and give what exact
//! arithmetic on the integers gives.

mod support;

use tenfold_ir::DType;
use tenfold_ir::eval::Value;
use tenfold_ir::op::{BinaryOp, ElementOp};
use tenfold_ir::relax::{self, Callees, Inputs, Op};
use tenfold_ir::tir;
use tenfold_onnx::{Import, Options, import};

const HEAD: &str = "opset 19
const sx: float[] = 0.5
const zx: uint8[] = 7
x = DequantizeLinear(q, sx, zx)
";

const TAIL: &str = "const sy: float[] = 2.0
const zy: uint8[] = 100
z = QuantizeLinear(y, sy, zy)
output z
";

/// A model of `q: uint8[dims]`, whose middle is between the two.
fn imported(dims: &str, middle: &str) -> Import {
    let text = format!("input q: uint8[{dims}]\n{HEAD}{middle}{TAIL}");
    import(&support::model(&text), None, &Options::default()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Dtypes of what sums products or chooses in the graph.
fn dtypes(import: &Import) -> Vec<DType> {
    let func = import.module.relax(&import.module.entry).expect("the entry");
    let sums = |op: &Op| matches!(op, Op::MatMul | Op::Conv { .. } | Op::Pool { .. } | Op::Reduce { .. });
    let found = func.bindings().filter(|b| sums(&b.op));
    found.filter_map(|b| func.values[b.out.0 as usize].ty.tensor()).map(|ty| ty.dtype).collect()
}

/// The first result on bytes, by the interpreter.
fn run(import: &Import, x: &[u8]) -> Vec<i64> {
    let func = import.module.relax(&import.module.entry).expect("the entry");
    let extents = import.inputs[0].shape.iter().map(|d| d.as_const().expect("a number") as usize);
    let value = Value::from_bytes(DType::U8, &extents.collect::<Vec<_>>(), x).expect("as many bytes");
    let inputs = Inputs { values: vec![value], ..Inputs::default() };
    let prim = |name: &str, indices: &[i64], args: &[Value], outs: &[(Value, Option<usize>)]| {
        tir::eval_values(&import.module, name, indices, args, outs)
    };
    let external = |path: &str, _: &[Value], _: &[Value]| Err(format!("`{path}` stands outside the module"));
    let callees = Callees { prim: &prim, external: &external };
    let left = relax::eval_with(&import.module, func, &inputs, callees).expect("it runs");
    left.results[0].data.iter().map(|cell| cell.value.to_i128() as i64).collect()
}

/// What quantising gives: to the nearest, ties to even, with the zero point, as a byte.
fn quantised(x: f64) -> i64 {
    ((x / 2.0).round_ties_even() as i64 + 100).clamp(0, 255)
}

/// What `q` stands for.
fn number(q: u8) -> f64 {
    0.5 * (f64::from(q) - 7.0)
}

fn bytes(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i * 89 + 13) as u8).collect()
}

/// Weights `[2, 2, 2, 2]` with a scale per filter, and a bias in the scales of the sums.
const FILTERS: &str = "const qw: int8[2, 2, 2, 2] = 1,-2,3,-4,5,-6,7,-8,9,-10,11,-12,13,-14,15,-128
const sw: float[2] = 0.25, 0.0625
const zw: int8[2] = 0, 0
w = DequantizeLinear(qw, sw, zw) {axis = 0}
const qb: int32[2] = 40, -300
const sb: float[2] = 0.125, 0.03125
b = DequantizeLinear(qb, sb) {axis = 0}
";

/// `[1, 2, 3, 3]` by these weights, a border of one zero around it.
fn convolved(q: &[u8]) -> Vec<f64> {
    let w = |i: usize| [1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -128][i] as f64;
    let mut out = Vec::new();
    for f in 0..2 {
        let (scale, bias) = ([0.25, 0.0625][f], [5.0, -9.375][f]);
        for (i, j) in (0..16).map(|at| (at / 4, at % 4)) {
            let taps = (0..8).map(|t| (t / 4, i + t / 2 % 2, j + t % 2, w(f * 8 + t) * scale));
            let inside = taps.filter(|(_, y, x, _)| (1..=3).contains(y) && (1..=3).contains(x));
            let sum: f64 = inside.map(|(c, y, x, w)| number(q[c * 9 + (y - 1) * 3 + x - 1]) * w).sum();
            out.push(sum + bias);
        }
    }
    out
}

#[test]
fn a_convolution_is_one_of_integers() {
    let found = imported("1, 2, 3, 3", &format!("{FILTERS}y = Conv(x, w, b) {{pads = [1; 1; 1; 1]}}\n"));
    assert_eq!((dtypes(&found), &found.notes), (vec![DType::I32], &Vec::new()));
    let q = bytes(18);
    assert_eq!(run(&found, &q), convolved(&q).into_iter().map(quantised).collect::<Vec<_>>());
}

#[test]
fn what_follows_element_by_element_stays_beside_it() {
    let middle = format!("{FILTERS}c = Conv(x, w, b) {{pads = [1; 1; 1; 1]}}\ny = Relu(c)\n");
    let found = imported("1, 2, 3, 3", &middle);
    assert_eq!(dtypes(&found), [DType::I32]);
    let q = bytes(18);
    let expected: Vec<i64> = convolved(&q).into_iter().map(|y| quantised(y.max(0.0))).collect();
    assert_eq!(run(&found, &q), expected);
}

#[test]
fn products_of_matrices_are_of_integers() {
    let matrix = "const qw: int8[2, 3] = 1,-2,3,-4,5,-128
const sw: float[2] = 0.5, 0.25
w = DequantizeLinear(qw, sw) {axis = 0}
const c: float[2] = 3.0, -1.5
";
    let gemm = imported("2, 3", &format!("{matrix}y = Gemm(x, w, c) {{transB = 1}}\n"));
    assert_eq!((dtypes(&gemm), &gemm.notes), (vec![DType::I32], &Vec::new()));
    let turned = "const qw: uint8[3, 2] = 1,4,2,5,3,255\nconst sw: float[2] = 0.5, 0.25\nconst zw: uint8[2] = 3, 200
w = DequantizeLinear(qw, sw, zw) {axis = 1}\ny = MatMul(x, w)\n";
    let matmul = imported("2, 3", turned);
    assert_eq!((dtypes(&matmul), &matmul.notes), (vec![DType::I32], &Vec::new()));
    let q = bytes(6);
    let with = |w: [[f64; 3]; 2], c: [f64; 2]| -> Vec<i64> {
        let at = |i: usize, j: usize| (0..3).map(|k| number(q[i * 3 + k]) * w[j][k]).sum::<f64>() + c[j];
        (0..4).map(|n| quantised(at(n / 2, n % 2))).collect()
    };
    assert_eq!(run(&gemm, &q), with([[0.5, -1.0, 1.5], [-1.0, 1.25, -32.0]], [3.0, -1.5]));
    assert_eq!(run(&matmul, &q), with([[-1.0, -0.5, 0.0], [-49.0, -48.75, 13.75]], [0.0, 0.0]));
}

#[test]
fn two_activations_multiply_as_integers() {
    let found = imported("2, 2", "t = Transpose(x)\ny = MatMul(x, t)\n");
    assert_eq!(dtypes(&found), [DType::I32]);
    let q = [7, 9, 255, 0];
    let at = |i: usize, j: usize| (0..2).map(|k| number(q[i * 2 + k]) * number(q[j * 2 + k])).sum::<f64>();
    assert_eq!(run(&found, &q), (0..4).map(|n| quantised(at(n / 2, n % 2))).collect::<Vec<_>>());
}

#[test]
fn pools_and_movements_work_on_the_integers() {
    let maxima = imported("1, 1, 4, 4", "p = MaxPool(x) {kernel_shape = [2; 2], strides = [2; 2]}\ny = Flatten(p)\n");
    assert_eq!(dtypes(&maxima), [DType::U8]);
    let q = bytes(16);
    let block = |b: usize| [0, 1, 4, 5].map(|o| q[b / 2 * 8 + b % 2 * 2 + o]);
    let all = |f: &dyn Fn([u8; 4]) -> f64| (0..4).map(|b| quantised(f(block(b)))).collect::<Vec<_>>();
    assert_eq!(run(&maxima, &q), all(&|b| b.map(number).into_iter().fold(f64::MIN, f64::max)));
    let means = imported("1, 1, 4, 4", "y = AveragePool(x) {kernel_shape = [2; 2], strides = [2; 2]}\n");
    assert_eq!(dtypes(&means), [DType::I32]);
    assert_eq!(run(&means, &q), all(&|b| b.map(number).iter().sum::<f64>() / 4.0));
    let mean = imported("1, 1, 4, 4", "y = GlobalAveragePool(x)\n");
    assert_eq!(dtypes(&mean), [DType::I32]);
    assert_eq!(run(&mean, &q), [quantised(q.iter().map(|q| number(*q)).sum::<f64>() / 16.0)]);
}

/// What is quantised as it was needs no arithmetic at all.
#[test]
fn the_same_quantisation_again_is_nothing() {
    let text = format!(
        "input q: uint8[2, 3]\n{HEAD}y = Reshape(x, s)\nconst s: int64[2] = 3, 2\nz = QuantizeLinear(y, sx, zx)\noutput z\n"
    );
    let found = import(&support::model(&text), None, &Options::default()).expect("it is read");
    let func = found.module.relax(&found.module.entry).expect("the entry");
    let made = func.bindings().find(|b| b.out == func.results[0]).map(|b| b.op.clone());
    assert!(matches!(made, Some(Op::Reshape { .. })), "{made:?}");
}

#[test]
fn a_sum_that_stays_one_of_floats_says_why() {
    let cases = [
        ("const w: float[3, 2] = 1,2,3,4,5,6\ny = MatMul(x, w)\n", "its second operand was not dequantised"),
        ("f = Neg(x)\nt = Transpose(x)\ny = MatMul(f, t)\n", "its first operand was not dequantised"),
        ("t = Transpose(x)\ny = Gemm(x, t) {alpha = 0.5}\n", "`alpha` and `beta` are not 1"),
    ];
    for (middle, why) in cases {
        let found = imported("2, 3", middle);
        assert!(found.notes.iter().any(|(_, note)| note.contains(why)), "{why}: {:?}", found.notes);
    }
}

/// Products that 32 bits may not hold stay sums of floats; one fewer is one of integers.
#[test]
fn a_sum_that_may_not_fit_32_bits_stays_one_of_floats() {
    // an element is at most 248 from its zero point, a weight 128 from its own
    let most = (1 << 30) / (248 * 128);
    let product = |n: usize| {
        let ones = vec!["1"; n].join(",");
        let middle = format!(
            "const qw: int8[{n}, 1] = {ones}\nconst sw: float[] = 1.0\nw = DequantizeLinear(qw, sw)\ny = MatMul(x, w)\n"
        );
        imported(&format!("1, {n}"), &middle)
    };
    assert_eq!(dtypes(&product(most)), [DType::I32]);
    let beyond = product(most + 1);
    assert_eq!(dtypes(&beyond), [DType::F32]);
    assert!(beyond.notes.iter().any(|(_, why)| why.contains("may not fit 32 bits")), "{:?}", beyond.notes);
}

/// A scale below 0 turns the order around, so a maximum of numbers is none of integers.
#[test]
fn a_negative_scale_keeps_no_order() {
    let middle = "const sn: float[] = -0.5\nn = DequantizeLinear(q, sn, zx)
p = MaxPool(n) {kernel_shape = [2; 2], strides = [2; 2]}\ny = Flatten(p)\n";
    let found = imported("1, 1, 4, 4", middle);
    let q = bytes(16);
    let block = |b: usize| [0, 1, 4, 5].map(|o| q[b / 2 * 8 + b % 2 * 2 + o]);
    let greatest = |b: usize| block(b).map(|q| -number(q)).into_iter().fold(f64::MIN, f64::max);
    assert_eq!(run(&found, &q), (0..4).map(|b| quantised(greatest(b))).collect::<Vec<_>>());
}

/// The scales alone do not make a quantisation the same.
#[test]
fn another_zero_point_is_another_quantisation() {
    let text = format!("input q: uint8[4]\n{HEAD}const zy: uint8[] = 100\nz = QuantizeLinear(x, sx, zy)\noutput z\n");
    let found = import(&support::model(&text), None, &Options::default()).expect("it is read");
    assert_eq!(run(&found, &[0, 7, 100, 255]), [93, 100, 193, 255]);
}

/// A bias whose scales are not those of the sums is added to the floats.
#[test]
fn a_bias_of_other_scales_is_not_one_of_the_sums() {
    let filters = FILTERS.replace("const sb: float[2] = 0.125, 0.03125", "const sb: float[2] = 0.5, 0.03125");
    let found = imported("1, 2, 3, 3", &format!("{filters}y = Conv(x, w, b) {{pads = [1; 1; 1; 1]}}\n"));
    let q = bytes(18);
    let more = |(at, y): (usize, f64)| if at < 16 { y + 15.0 } else { y };
    let expected: Vec<i64> = convolved(&q).into_iter().enumerate().map(more).map(quantised).collect();
    assert_eq!(run(&found, &q), expected);
}

/// Integers are joined only where they stand for the same numbers.
#[test]
fn what_is_joined_has_one_quantisation() {
    for (scale, zero, factor, of_integers) in
        [("0.5", 7u8, 0.5, true), ("0.25", 7, 0.25, false), ("0.5", 9, 0.5, false)]
    {
        let middle = format!(
            "const s2: float[] = {scale}\nconst z2: uint8[] = {zero}\nr = DequantizeLinear(q, s2, z2)
y = Concat(x, r) {{axis = 0}}\n"
        );
        let found = imported("3", &middle);
        let func = found.module.relax(&found.module.entry).expect("the entry");
        let joined = func.bindings().find(|b| matches!(b.op, Op::Concat { .. })).map(|b| b.out).expect("a concat");
        let dtype = func.values[joined.0 as usize].ty.tensor().map(|ty| ty.dtype);
        assert_eq!(dtype == Some(DType::U8), of_integers, "{scale} {zero}");
        let q = [0, 40, 255];
        let other = q.map(|q| factor * (f64::from(q) - f64::from(zero)));
        let expected: Vec<i64> = q.map(number).into_iter().chain(other).map(quantised).collect();
        assert_eq!(run(&found, &q), expected, "{scale} {zero}");
    }
}

/// Scales as quantisers choose them, and numbers of every size of a byte.
const ODD: [f32; 3] = [0.013_724_5, 0.003_921_6, 0.041_237_3];

/// A model of `q: uint8[256, 8]`, which is dequantised by `ODD[0]` and quantised by `ODD[2]`.
fn odd(middle: &str) -> (Import, Vec<u8>) {
    odd_into(ODD[2], middle)
}

/// The same, quantised by another scale.
fn odd_into(sy: f32, middle: &str) -> (Import, Vec<u8>) {
    let sx = ODD[0];
    let text = format!(
        "input q: uint8[256, 8]\nopset 19\nconst sx: float[] = {sx}\nconst zx: uint8[] = 7\n\
         x = DequantizeLinear(q, sx, zx)\n{middle}const sy: float[] = {sy}\nconst zy: uint8[] = 100\n\
         z = QuantizeLinear(y, sy, zy)\noutput z\n"
    );
    let found = import(&support::model(&text), None, &Options::default()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    (found, (0..2048_usize).map(|i| (i / 8 + i * 37 % 8) as u8).collect())
}

/// The same arithmetic with floats of 64 bits, and with those of 32, which lie elsewhere for some.
fn nearest(terms: &[(i64, f64)]) -> (i64, i64) {
    let sy = ODD[2];
    let wide: f64 = terms.iter().map(|(n, scale)| *n as f64 * scale).sum::<f64>() / f64::from(sy);
    let narrow = terms.iter().map(|(n, scale)| *n as f32 * *scale as f32).sum::<f32>() / sy;
    let clamped = |x: f64| (x.round_ties_even() as i64 + 100).clamp(0, 255);
    (clamped(wide), clamped(f64::from(narrow)))
}

fn check_odd(found: &Import, q: &[u8], expected: &[(i64, i64)]) {
    let wide: Vec<i64> = expected.iter().map(|(wide, _)| *wide).collect();
    assert_eq!(run(found, q), wide);
    assert!(expected.iter().any(|(wide, narrow)| wide != narrow), "no sum is near the middle between two integers");
}

#[test]
fn sums_of_any_scales_round_as_real_numbers() {
    let (w, columns) = (|k: usize, j: usize| ((k * 83 + j * 47 + 11) % 251) as i64 - 125, 96);
    let q = odd("y = Relu(x)\n").1;
    let sum = |i: usize, j: usize| (0..8).map(|k| (i64::from(q[i * 8 + k]) - 7) * w(k, j)).sum::<i64>();
    // In each column one sum is as near to the middle between two integers as a scale can be.
    let middle = |j: usize| (j as f32 + 20.5) * ODD[2] / ODD[0];
    let scale = |j: usize| middle(j) / sum(2 * j + 40, j).unsigned_abs().max(1) as f32;
    let weights: Vec<String> = (0..8 * columns).map(|i| w(i / columns, i % columns).to_string()).collect();
    let scales: Vec<String> = (0..columns).map(|j| scale(j).to_string()).collect();
    let middle = format!(
        "const qw: int8[8, {columns}] = {}\nconst sw: float[{columns}] = {}\nw = DequantizeLinear(qw, sw) {{axis = 1}}\n\
         y = MatMul(x, w)\n",
        weights.join(","),
        scales.join(",")
    );
    let (found, q) = odd(&middle);
    let at = |i: usize, j: usize| nearest(&[(sum(i, j), f64::from(ODD[0]) * f64::from(scale(j)))]);
    let expected: Vec<(i64, i64)> = (0..256 * columns).map(|n| at(n / columns, n % columns)).collect();
    check_odd(&found, &q, &expected);
}

#[test]
fn two_tensors_of_any_scales_add_as_real_numbers() {
    let p = |j: usize| ((j * 29) % 256) as i64;
    // `40 sx - 101 sp` is as near to the middle between 6 and 7 as a scale can be.
    let sp = (40.0 * ODD[0] - 6.5 * ODD[2]) / 101.0;
    let middle = format!(
        "const qp: uint8[8] = {}\nconst sp: float[] = {}\nconst zp: uint8[] = 130\np = DequantizeLinear(qp, sp, zp)\n\
         y = Add(x, p)\n",
        (0..8).map(|j| p(j).to_string()).collect::<Vec<_>>().join(","),
        sp
    );
    let (found, q) = odd(&middle);
    let at = |n: usize| nearest(&[(i64::from(q[n]) - 7, ODD[0].into()), (p(n % 8) - 130, sp.into())]);
    let expected: Vec<(i64, i64)> = (0..2048).map(at).collect();
    check_odd(&found, &q, &expected);
}

#[test]
fn two_tensors_of_any_scales_multiply_as_real_numbers() {
    let p = |j: usize| ((j * 29) % 256) as i64;
    // `40 sx · -101 sp` is as near to the middle between -7 and -6 as a scale can be.
    let sp = 6.5 * ODD[2] / (40.0 * 101.0 * ODD[0]);
    let middle = format!(
        "const qp: uint8[8] = {}\nconst sp: float[] = {sp}\nconst zp: uint8[] = 130\np = DequantizeLinear(qp, sp, zp)\n\
         y = Mul(x, p)\n",
        (0..8).map(|j| p(j).to_string()).collect::<Vec<_>>().join(","),
    );
    let (found, q) = odd(&middle);
    let at = |n: usize| (i64::from(q[n]) - 7) * (p(n % 8) - 130);
    let wide = |n: usize| at(n) as f64 * f64::from(ODD[0]) * f64::from(sp) / f64::from(ODD[2]);
    let expected: Vec<i64> = (0..2048).map(|n| (wide(n).round_ties_even() as i64 + 100).clamp(0, 255)).collect();
    assert_eq!(run(&found, &q), expected);
    let func = found.module.relax(&found.module.entry).expect("the entry");
    let products = func.bindings().filter(|b| b.op == Op::Element(ElementOp::Binary(BinaryOp::Mul)));
    let of_integers =
        products.filter_map(|b| func.values[b.out.0 as usize].ty.tensor()).any(|ty| ty.dtype == DType::I32);
    assert!(of_integers, "it is no product of integers");
}

/// What a model of `odd` gives where floats of 32 bits round one element at least to another integer: the scale of the
/// result is chosen so that some element is near the middle between two.
fn check_exact(middle: &str, wide: impl Fn(&[f64]) -> Vec<f64>, narrow: impl Fn(&[f32]) -> Vec<f32>) -> Import {
    let (_, q) = odd(middle);
    let number = |q: &u8| (i64::from(*q) - 7) as f64 * f64::from(ODD[0]);
    let rows = || q.chunks(8).map(|row| row.iter().map(number).collect::<Vec<f64>>());
    let exact: Vec<f64> = rows().flat_map(|row| wide(&row)).collect();
    let floats: Vec<f32> =
        rows().flat_map(|row| narrow(&row.iter().map(|x| *x as f32).collect::<Vec<f32>>())).collect();
    let steps = |sy: f32| {
        let integer = |x: f64| (x.round_ties_even() as i64 + 100).clamp(0, 255);
        let wide = exact.iter().map(|x| integer(x / f64::from(sy)));
        let narrow = floats.iter().map(|x| integer(f64::from(x / sy)));
        (wide.collect::<Vec<i64>>(), narrow.collect::<Vec<i64>>())
    };
    let scales = exact.iter().filter(|x| x.abs() > 1e-3).map(|x| (x.abs() / 20.5) as f32);
    let told = |sy: &f32| steps(*sy).0 != steps(*sy).1;
    let sy = scales.take(500).find(told).expect("no element is near the middle between two integers");
    let (found, q) = odd_into(sy, middle);
    assert_eq!(run(&found, &q), steps(sy).0, "{middle}");
    found
}

/// Shapes of the floats of a graph.
fn shapes_of_floats(import: &Import) -> Vec<Vec<i64>> {
    let func = import.module.relax(&import.module.entry).expect("the entry");
    let types = func.bindings().filter_map(|b| func.values[b.out.0 as usize].ty.tensor());
    let floats = types.filter(|ty| ty.dtype == DType::F64);
    floats.map(|ty| ty.shape.iter().filter_map(|d| d.as_const()).collect()).collect()
}

#[test]
fn functions_of_one_tensor_of_8_bits_are_tables() {
    let each = |f: fn(f64) -> f64| move |row: &[f64]| row.iter().map(|x| f(*x)).collect::<Vec<f64>>();
    let narrow = |f: fn(f32) -> f32| move |row: &[f32]| row.iter().map(|x| f(*x)).collect::<Vec<f32>>();
    type Case = (&'static str, fn(f64) -> f64, fn(f32) -> f32);
    let cases: [Case; 3] = [
        ("y = Tanh(x)\n", f64::tanh, f32::tanh),
        ("const half: float[1] = 0.5\nh = Mul(x, half)\ny = Exp(h)\n", |x| (x * 0.5).exp(), |x| (x * 0.5).exp()),
        ("g = Sigmoid(x)\ny = Mul(g, x)\n", |x| x / (1.0 + (-x).exp()), |x| x / (1.0 + (-x).exp())),
    ];
    for (middle, wide, thin) in cases {
        let found = check_exact(middle, each(wide), narrow(thin));
        let shapes = shapes_of_floats(&found);
        assert!(shapes.iter().all(|shape| shape.iter().product::<i64>() <= 256), "{middle}: {shapes:?}");
    }
}

#[test]
fn rows_of_quantised_tensors_round_as_real_numbers() {
    fn softmax(row: &[f64]) -> Vec<f64> {
        let most = row.iter().copied().fold(f64::MIN, f64::max);
        let sum: f64 = row.iter().map(|x| (x - most).exp()).sum();
        row.iter().map(|x| (x - most).exp() / sum).collect()
    }
    fn softmax_of_32(row: &[f32]) -> Vec<f32> {
        let most = row.iter().copied().fold(f32::MIN, f32::max);
        let sum: f32 = row.iter().map(|x| (x - most).exp()).sum();
        row.iter().map(|x| (x - most).exp() / sum).collect()
    }
    check_exact("y = Softmax(x)\n", softmax, softmax_of_32);
    fn norm(row: &[f64]) -> Vec<f64> {
        let mean = row.iter().sum::<f64>() / 8.0;
        let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 8.0;
        row.iter().enumerate().map(|(i, x)| (x - mean) / (variance + 0.0078125).sqrt() * (1.0 + i as f64)).collect()
    }
    fn norm_of_32(row: &[f32]) -> Vec<f32> {
        let mean = row.iter().sum::<f32>() / 8.0;
        let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / 8.0;
        row.iter().enumerate().map(|(i, x)| (x - mean) / (variance + 0.0078125).sqrt() * (1.0 + i as f32)).collect()
    }
    let middle = "const scale: float[8] = 1,2,3,4,5,6,7,8\ny = LayerNormalization(x, scale) {epsilon = 0.0078125}\n";
    check_exact(middle, norm, norm_of_32);
}

/// A sum of products, what follows it element by element, and a second tensor: no table, and still no float of 32 bits.
#[test]
fn what_follows_a_sum_is_rounded_once() {
    let middle = "const qw: int8[8, 8] = 1,2,3,4,5,6,7,8,9,8,7,6,5,4,3,2,1,2,3,4,5,6,7,8,9,8,7,6,5,4,3,2,1,-2,3,-4,5,-6,7,\
                  -8,9,-8,7,-6,5,-4,3,-2,1,-2,3,-4,5,-6,7,-8,9,-8,7,-6,5,-4,3,-2\nconst sw: float[] = 0.0039216\n\
                  w = DequantizeLinear(qw, sw)\np = MatMul(x, w)\ns = Sigmoid(p)\ny = Mul(s, x)\n";
    let w = |i: usize| {
        let up = [1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, 3, 2][i % 16];
        let sign = if i >= 32 && i % 2 == 1 { -1 } else { 1 };
        f64::from(up * sign) * f64::from(ODD[1])
    };
    let gated = move |row: &[f64]| -> Vec<f64> {
        let product = |j: usize| (0..8).map(|k| row[k] * w(k * 8 + j)).sum::<f64>();
        (0..8).map(|j| row[j] / (1.0 + (-product(j)).exp())).collect()
    };
    let gated_of_32 = move |row: &[f32]| -> Vec<f32> {
        let product = |j: usize| (0..8).map(|k| row[k] * w(k * 8 + j) as f32).sum::<f32>();
        (0..8).map(|j| row[j] / (1.0 + (-product(j)).exp())).collect()
    };
    check_exact(middle, gated, gated_of_32);
}
