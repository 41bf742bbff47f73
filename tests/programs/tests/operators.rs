//! Programs of operators that are kernels, against the same computed here in f64.

use tenfold_programs as programs;

/// Numbers of a fixed sequence, from -1 to 1.
fn numbers(seed: u64, n: usize) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

fn near(found: &[f32], expected: &[f64], within: f64) {
    assert_eq!(found.len(), expected.len());
    for (i, (x, y)) in found.iter().zip(expected).enumerate() {
        assert!((f64::from(*x) - y).abs() <= within * y.abs().max(1.0), "element {i} is {x}, expected {y}");
    }
}

#[test]
fn beam() {
    let flat = numbers(1, 4 * 10);
    let logp: [[f32; 10]; 4] = std::array::from_fn(|b| std::array::from_fn(|v| flat[b * 10 + v]));
    let score = [0.5, -0.25, 0.0, 1.0];
    let mut tokens: [[i32; 32]; 4] = std::array::from_fn(|b| [b as i32; 32]);
    let (best, parent) = programs::beam(&logp, &score, 3, &mut tokens).expect("there is room");
    let mut all: Vec<(f32, usize)> = flat.iter().enumerate().map(|(i, x)| (x + score[i / 10], i)).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    for k in 0..4 {
        let (value, at) = all[k];
        assert_eq!((best.as_slice()[k], parent.as_slice()[k]), (value, (at / 10) as i64));
        assert_eq!((tokens[k][0], tokens[k][3]), ((at / 10) as i32, (at % 10) as i32));
    }
}

#[test]
fn log_mel() {
    let audio = numbers(2, 1000);
    let y = programs::log_mel(&audio).expect("the dims agree");
    let frames = (1000 - 352) / 160;
    let tau = std::f64::consts::TAU;
    let mel = |hertz: f64| 2595.0 * (1.0 + hertz / 700.0).log10();
    let step = (mel(8000.0) - mel(20.0)) / 42.0;
    let edge =
        |i: usize| (513.0 * 700.0 * (10f64.powf((mel(20.0) + i as f64 * step) / 2595.0) - 1.0) / 16000.0).floor();
    let mut expected = Vec::new();
    for f in 0..frames {
        let x: Vec<f64> =
            (0..512).map(|n| f64::from(audio[160 * f + n]) * (0.5 - 0.5 * (tau * n as f64 / 512.0).cos())).collect();
        let power = |k: usize| {
            let angle = |n: usize| tau * ((k * n) % 512) as f64 / 512.0;
            let re: f64 = x.iter().enumerate().map(|(n, x)| x * angle(n).cos()).sum();
            let im: f64 = x.iter().enumerate().map(|(n, x)| x * angle(n).sin()).sum();
            re * re + im * im
        };
        let spectrum: Vec<f64> = (0..257).map(power).collect();
        for band in 0..40 {
            let (low, center, high) = (edge(band), edge(band + 1), edge(band + 2));
            let weight = |j: f64| {
                if j >= center && j < high {
                    (high - j) / (high - center)
                } else if center == low {
                    f64::from(u8::from(j == center))
                } else if j >= low && j <= center {
                    (j - low) / (center - low)
                } else {
                    0.0
                }
            };
            let sum: f64 = spectrum.iter().enumerate().map(|(j, s)| s * weight(j as f64)).sum();
            expected.push((sum + 1e-6).ln());
        }
    }
    near(y.as_slice(), &expected, 1e-4);
}

/// Products of small matrices in f64.
fn times(a: &[f64], b: &[f64], n: usize, k: usize, m: usize) -> Vec<f64> {
    (0..n * m).map(|at| (0..k).map(|t| a[at / m * k + t] * b[t * m + at % m]).sum()).collect()
}

fn turned(a: &[f64], n: usize, m: usize) -> Vec<f64> {
    (0..n * m).map(|at| a[at % n * m + at / n]).collect()
}

#[test]
fn kalman() {
    let wide = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
    let square = |seed: u64| -> [[f32; 4]; 4] {
        let all = numbers(seed, 16);
        std::array::from_fn(|i| std::array::from_fn(|j| all[i * 4 + j] * 0.25 + if i == j { 1.0 } else { 0.0 }))
    };
    let (f, q) = (square(3), square(4));
    let (mut x, mut p) = ([0.5f32, -1.0, 0.25, 2.0], square(5));
    let all = numbers(6, 8);
    let h: [[f32; 4]; 2] = std::array::from_fn(|i| std::array::from_fn(|j| all[i * 4 + j]));
    let (z, r) = ([1.0f32, -0.5], [[2.0f32, 0.1], [0.1, 3.0]]);
    let (x0, p0) = (wide(&x), wide(p.as_flattened()));
    programs::kalman(&mut x, &mut p, &z, &f, &h, &q, &r);
    let (f, h, q, r) = (wide(f.as_flattened()), wide(h.as_flattened()), wide(q.as_flattened()), wide(r.as_flattened()));
    let plus = |a: Vec<f64>, b: &[f64], sign: f64| a.iter().zip(b).map(|(a, b)| a + sign * b).collect::<Vec<f64>>();
    let x1 = times(&f, &x0, 4, 4, 1);
    let p1 = plus(times(&times(&f, &p0, 4, 4, 4), &turned(&f, 4, 4), 4, 4, 4), &q, 1.0);
    let hp = times(&h, &p1, 2, 4, 4);
    let s = plus(times(&hp, &turned(&h, 2, 4), 2, 4, 2), &r, 1.0);
    let d = s[0] * s[3] - s[1] * s[2];
    let inverse = [s[3] / d, -s[1] / d, -s[2] / d, s[0] / d];
    let gain = turned(&times(&inverse, &hp, 2, 2, 4), 2, 4);
    let left = plus(wide(&z), &times(&h, &x1, 2, 4, 1), -1.0);
    near(&x, &plus(x1, &times(&gain, &left, 4, 2, 1), 1.0), 1e-4);
    near(p.as_flattened(), &plus(p1, &times(&gain, &hp, 4, 2, 4), -1.0), 1e-4);
}
