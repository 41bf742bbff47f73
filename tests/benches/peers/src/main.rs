//! Products of matrices of f32 on one thread, beside those of other libraries.
//!
//! `cargo run --release --manifest-path tests/benches/peers/Cargo.toml -- [SHAPE…]`, where a shape is `64` or `3x5x7`
//! (rows, terms, columns), with a `t` behind it where the second matrix is transposed. All sides are timed in turn, slice by slice, and what counts are ratios of medians. Tenfold
//! stands in each turn twice: what the two differ by is what the machine's noise makes of one and the same code.
//!
//! OpenBLAS is a peer where `TENFOLD_OPENBLAS` names its library, or the system has one.
#![allow(unsafe_code, reason = "calls what the back end compiled, and C")]

#[path = "../../../models/compiled.rs"]
mod compiled;
mod peak;
mod sides;

use std::time::Instant;

use sides::{Operands, Side};

/// Rows, terms of each sum, columns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    pub m: usize,
    pub k: usize,
    pub n: usize,
    /// Whether the second matrix lies column by column.
    pub transposed: bool,
}

impl Shape {
    pub fn name(self) -> String {
        let Shape { m, k, n, transposed } = self;
        format!("{m}x{k}x{n}{}", if transposed { "t" } else { "" })
    }

    /// Elements from row to row of the second matrix, and from column to column.
    pub fn steps(self) -> [usize; 2] {
        if self.transposed { [1, self.k] } else { [self.n, 1] }
    }
}

/// The square ones, then tall, flat and thin ones, one column, and primes.
const SHAPES: &[(usize, usize, usize)] = &[
    (8, 8, 8),
    (16, 16, 16),
    (32, 32, 32),
    (64, 64, 64),
    (128, 128, 128),
    (256, 256, 256),
    (512, 512, 512),
    (1024, 1024, 1024),
    (4096, 64, 64),
    (64, 64, 4096),
    (64, 4096, 64),
    (1024, 32, 32),
    (32, 32, 1024),
    (1, 512, 512),
    (512, 512, 1),
    (1, 4096, 64),
    (7, 1024, 128),
    (3, 5, 7),
    (13, 13, 13),
    (17, 31, 23),
    (31, 31, 31),
    (47, 53, 59),
    (97, 97, 97),
    (101, 103, 107),
    (127, 127, 127),
    (211, 223, 227),
    (257, 257, 257),
    (509, 503, 499),
];

/// Those with a transposed matrix: as layers of networks have them, of few rows and of many.
const TRANSPOSED: &[(usize, usize, usize)] = &[
    (1, 768, 768),
    (4, 768, 768),
    (8, 768, 3072),
    (16, 2048, 1000),
    (32, 64, 64),
    (64, 512, 1000),
    (128, 768, 768),
    (512, 512, 512),
    (1024, 1024, 1024),
    (97, 101, 103),
];

/// Slices of time that each side gets.
const ROUNDS: usize = 15;
/// Seconds of a slice, at least.
const SLICE: f64 = 2e-3;

fn main() {
    let asked: Vec<Shape> = std::env::args().skip(1).map(|text| shape(&text)).collect();
    let of = |all: &'static [(usize, usize, usize)], transposed: bool| {
        all.iter().map(move |(m, k, n)| Shape { m: *m, k: *k, n: *n, transposed })
    };
    let all = of(SHAPES, false).chain(of(TRANSPOSED, true));
    let shapes = if asked.is_empty() { all.collect() } else { asked };
    tenfold::threads::set(1).expect("one is a number of threads");
    println!("GFLOP/s on one thread; the best peer is what a ratio above 1 is faster than");
    for shape in shapes {
        compare(shape);
    }
}

fn shape(text: &str) -> Shape {
    let (extents, transposed) = text.strip_suffix('t').map_or((text, false), |extents| (extents, true));
    let numbers: Option<Vec<usize>> = extents.split('x').map(|n| n.parse().ok().filter(|n| *n > 0)).collect();
    match numbers.as_deref() {
        Some([n]) => Shape { m: *n, k: *n, n: *n, transposed },
        Some([m, k, n]) => Shape { m: *m, k: *k, n: *n, transposed },
        _ => {
            eprintln!("expected a shape as `64`, `3x5x7` or `3x5x7t`, found `{text}`");
            std::process::exit(2);
        }
    }
}

/// One line: every side's speed, Tenfold's over the best peer's, the same code over itself, and the part of the peak.
fn compare(shape: Shape) {
    let mut operands = Operands::new(shape);
    let mut sides = sides::all(shape);
    check(&mut sides, &mut operands);
    let flops = 2.0 * shape.m as f64 * shape.k as f64 * shape.n as f64;
    let mut took: Vec<Vec<f64>> = vec![Vec::new(); sides.len()];
    let mut peak = Vec::new();
    for _ in 0..ROUNDS {
        for (side, took) in sides.iter_mut().zip(&mut took) {
            took.push(seconds(&mut || (side.run)(&mut operands)));
        }
        peak.extend(peak::flops_per_second());
    }
    let speed: Vec<f64> = took.iter_mut().map(|all| flops / median(all) / 1e9).collect();
    let named: Vec<String> =
        sides.iter().zip(&speed).map(|(side, speed)| format!("{} {speed:.1}", side.name)).collect();
    let best = speed[2..].iter().copied().fold(0.0, f64::max);
    let of_peak = if peak.is_empty() {
        String::new()
    } else {
        format!(", {:.0} % of the peak", speed[0] / median(&mut peak) * 1e11)
    };
    println!(
        "{:>14}: {}; {:.2} times the best peer, {:.2} times itself{of_peak}",
        shape.name(),
        named.join(", "),
        speed[0] / best,
        speed[1] / speed[0]
    );
}

/// Every side computes the same product.
fn check(sides: &mut [Side], operands: &mut Operands) {
    let mut first: Option<Vec<f32>> = None;
    for side in sides {
        (side.run)(operands);
        let found = operands.result(side.ours);
        let expected = first.get_or_insert_with(|| found.clone());
        let most = expected.iter().fold(1.0_f32, |most, x| most.max(x.abs()));
        let apart = expected.iter().zip(&found).fold(0.0_f32, |most, (a, b)| most.max((a - b).abs()));
        assert!(apart <= 1e-4 * most, "{} is {apart} apart", side.name);
    }
}

/// Seconds of one run, over a slice of time. What lies in the caches before is the side's that ran before, so the first
/// run is not timed.
fn seconds(run: &mut dyn FnMut()) -> f64 {
    run();
    let mut turns = 1u32;
    loop {
        let begin = Instant::now();
        for _ in 0..turns {
            run();
        }
        let took = begin.elapsed().as_secs_f64();
        if took >= SLICE || turns > 1 << 28 {
            return took / f64::from(turns);
        }
        turns *= 2;
    }
}

fn median(all: &mut [f64]) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}
