//! What `ApplyDefaultSchedule` makes of kernels computes what they did: all that random schedules are tried on, and
//! products and windows of random extents.

use tenfold_core::Target;
use tenfold_core::pass::{self, PassContext};
use tenfold_core::schedule::Schedule;
use tenfold_ir::tir::Phase;
use tenfold_ir::{Function, Module};

use crate::check::Case;
use crate::kernels::{Kernel, block, kernel};
use crate::random::Rng;

/// Vectors of 16 elements and 32 registers; of 8 and 16; of 4 and 16.
const FEATURES: [&[&str]; 3] = [&["avx512f", "fma"], &["avx2", "avx", "fma"], &[]];

/// Whether a rule took the case; what is wrong then is a panic.
fn check(case: &Case, features: &[&str]) -> bool {
    check_decided(case, features, "")
}

/// The same under decisions, as far as they fit.
fn check_decided(case: &Case, features: &[&str], decisions: &str) -> bool {
    let mut context = PassContext::new(Target::from_triple("x86_64-unknown-linux-gnu", features));
    context.set("ApplyDefaultSchedule.decisions", decisions).expect("there is such a setting");
    let mut module = Module { entry: "none".into(), ..case.module.clone() };
    module.functions.insert(case.func.name.clone(), Function::Prim(case.func.clone()));
    let one =
        tenfold_core::PASSES.iter().find(|p| p.info.name == "ApplyDefaultSchedule").cloned().expect("it is there");
    pass::run(&[one], &mut module, &context).unwrap_or_else(|e| panic!("{}: {e:?}", case.name));
    let func = module.prim(&case.func.name).expect("it is still there");
    if func.phase == Phase::Blocks {
        return false;
    }
    if let Some(e) = case.difference(func) {
        let names = Schedule::new(&case.module, func.clone()).block_names();
        panic!("{} {features:?} {decisions}: {e}\nblocks {names:?}\n{}", case.name, case.text);
    }
    true
}

/// Sums, products and greatest elements, of all or along rows and columns, in as many parts as may be.
#[test]
fn reductions_in_parts_compute_the_same() {
    let cases = crate::cases();
    for decisions in ["parts-0=2", "parts-0=4"] {
        let taken =
            cases.iter().filter(|case| FEATURES.iter().all(|features| check_decided(case, features, decisions)));
        assert!(taken.count() >= 6, "{decisions}");
    }
}

#[test]
fn kernels_compute_the_same() {
    let cases = crate::cases();
    let taken: usize = FEATURES.iter().map(|features| cases.iter().filter(|case| check(case, features)).count()).sum();
    assert!(taken >= 6, "a rule took only {taken} kernels");
}

/// A product with an activation, row sums, or nothing behind it.
fn product(rng: &mut Rng) -> Kernel {
    let extent = |rng: &mut Rng| (1 + rng.below(40)).to_string();
    let (m, n, k) = (extent(rng), extent(rng), (1 + rng.below(9)).to_string());
    let turned = rng.below(4) == 0;
    let b = if turned { format!("in b: f32[{n}, {k}]") } else { format!("in b: f32[{k}, {n}]") };
    let at = if turned { "b[mj, mk]" } else { "b[mk, mj]" };
    let behind = rng.below(3);
    let out = if behind == 0 { "c" } else { "t" };
    let iters = [("i", m.as_str(), 's'), ("j", n.as_str(), 's'), ("k", k.as_str(), 'r')];
    let body = format!("{out}[mi, mj] = add({out}[mi, mj], mul(a[mi, mk], {at}))");
    let mut blocks = vec![block("m", &iters, &format!("{out}[mi, mj] = 0.0f32"), &body)];
    let mut temps = Vec::new();
    if behind > 0 {
        temps.push(format!("t: f32[{m}, {n}]"));
    }
    match behind {
        1 => blocks.push(block("e", &iters[..2], "", "c[ei, ej] = maximum(t[ei, ej], 0.0f32)")),
        2 => {
            temps.push(format!("s: f32[{m}]"));
            let rows = [("i", m.as_str(), 's'), ("r", n.as_str(), 'r')];
            blocks.push(block("w", &rows, "s[wi] = 0.0f32", "s[wi] = add(s[wi], t[wi, wr])"));
            blocks.push(block("e", &iters[..2], "", "c[ei, ej] = sub(t[ei, ej], s[ei])"));
        }
        _ => {}
    }
    let params = format!("in a: f32[{m}, {k}], {b}, out c: f32[{m}, {n}]");
    let temps: Vec<&str> = temps.iter().map(String::as_str).collect();
    kernel("product", &[], &params, &temps, &blocks)
}

/// A convolution over rows, by steps.
fn window(rng: &mut Rng) -> Kernel {
    let (out, input, taps) = (1 + rng.below(9), 1 + rng.below(4), 1 + rng.below(3));
    let (step, width) = (1 + rng.below(3), 1 + rng.below(40));
    let reach = (width - 1) * step + taps + rng.below(2);
    let (o, i, t, w) = (out.to_string(), input.to_string(), taps.to_string(), width.to_string());
    let iters = [("o", o.as_str(), 's'), ("x", w.as_str(), 's'), ("i", i.as_str(), 'r'), ("t", t.as_str(), 'r')];
    let at = if step == 1 { "vx".to_string() } else { format!("mul(vx, {step})") };
    let body = format!("y[vo, vx] = add(y[vo, vx], mul(x[vi, add({at}, vt)], f[vo, vi, vt]))");
    let params = format!("in x: f32[{i}, {reach}], in f: f32[{o}, {i}, {t}], in bias: f32[{o}], out y: f32[{o}, {w}]");
    kernel("window", &[], &params, &[], &[block("v", &iters, "y[vo, vx] = bias[vo]", &body)])
}

#[test]
fn random_contractions_compute_the_same() {
    let mut rng = Rng(7);
    let count = 60 * crate::more();
    let mut taken = 0;
    for n in 0..count {
        let made = if n % 2 == 0 { product(&mut rng) } else { window(&mut rng) };
        let case = Case::new(&made);
        taken += usize::from(check(&case, FEATURES[n % FEATURES.len()]));
    }
    println!("{count} contractions, {taken} scheduled");
    assert!(taken * 2 >= count, "a rule took only {taken} of {count}");
}

/// Decisions of every rule, of which some fit.
fn decisions(rng: &mut Rng) -> String {
    let words: [(&str, &[&str]); 11] = [
        ("rule", &["contraction", "movement", "fallback"]),
        ("column", &["0", "1", "2"]),
        ("row", &["none", "0", "1"]),
        ("room", &["yes", "no"]),
        ("copy", &["none", "iterators", "phases", "copied-panels"]),
        ("outside", &["rows", "columns"]),
        ("lanes", &["yes", "no"]),
        ("terms", &["64", "96", "128"]),
        ("stack", &["2048", "32768"]),
        ("next-panel", &["yes", "no"]),
        ("next-rows", &["yes", "no"]),
    ];
    let mut all = Vec::new();
    for (name, values) in words {
        if rng.below(3) == 0 {
            all.push(format!("{name}={}", values[rng.below(values.len())]));
        }
    }
    for name in [
        "vectors",
        "rows",
        "columns",
        "block",
        "unroll",
        "row-vectors-0",
        "vectors-0",
        "vectors-1",
        "prefetch",
        "parts-0",
    ] {
        if rng.below(2) == 0 {
            all.push(format!("{name}={}", 1 + rng.below(8)));
        }
    }
    all.join(" ")
}

#[test]
fn whatever_is_decided_computes_the_same() {
    let (mut rng, kernels) = (Rng(crate::seed(11)), crate::kernels::kernels());
    let count = 60 * crate::more();
    let mut taken = 0;
    for n in 0..count {
        let made = match n % 3 {
            0 => Case::new(&product(&mut rng)),
            1 => Case::new(&window(&mut rng)),
            _ => Case::new(&kernels[rng.below(kernels.len())]),
        };
        taken += usize::from(check_decided(&made, FEATURES[n % FEATURES.len()], &decisions(&mut rng)));
    }
    println!("{count} kernels, {taken} scheduled");
    assert!(taken * 2 >= count, "a rule took only {taken} of {count}");
}

#[test]
fn symbolic_products_compute_the_same() {
    let dims: [&'static [(&'static str, i64)]; 4] =
        [&[("M", 1), ("N", 1)], &[("M", 13), ("N", 37)], &[("M", 32), ("N", 64)], &[("M", 5), ("N", 90)]];
    for dims in dims {
        let iters = [("i", "M", 's'), ("j", "N", 's'), ("k", "3", 'r')];
        let body = "c[mi, mj] = add(c[mi, mj], mul(a[mi, mk], b[mk, mj]))";
        let blocks = [block("m", &iters, "c[mi, mj] = 0.0f32", body)];
        let made = kernel("symbolic", dims, "in a: f32[M, 3], in b: f32[3, N], out c: f32[M, N]", &[], &blocks);
        let case = Case::new(&made);
        assert!(FEATURES.iter().all(|features| check(&case, features)), "{dims:?}");
    }
}
