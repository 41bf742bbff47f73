//! `numerics = "strict"`: the code of every target gives the same bits. Levels of x86-64, C and AArch64, whose programs
//! run in a simulator, are compared over the cases of the suite and over samples of every function.
//!
//! NaN is compared as NaN: which of its bits are set is each processor's own. `TENFOLD_STRICT=all` compares more codes,
//! and integers, too, whose bits follow from what they compute.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tenfold::Variant;
use tenfold_core::c::CBackend;
use tenfold_core::pass::PassContext;
use tenfold_core::{Artefact, Backend, BackendError, CodegenOptions, Options, Target, compile};
use tenfold_ir::eval::binary_ulps;
use tenfold_ir::op::{BinaryOp, ElementOp, Real, ReduceOp};
use tenfold_ir::relax::{ConvLayout, Op};
use tenfold_ir::{DType, Module, Scalar};
use tenfold_tests::tools;

use crate::case::{Case, Make, fixed};
use crate::data::{Random, magnitudes};
use crate::interpret::{Actual, Prepared, actual};
use crate::program::{self, AARCH64, Machine};
use crate::{element, levels, native, nn, ops};

/// Code that is compared: what it is made for, by what, and what runs it.
struct Code {
    name: &'static str,
    target: Target,
    backend: Box<dyn Backend>,
    machine: Machine,
}

/// By C as users have it. The optimiser of a C compiler takes longer than everything else together.
const OPTIMISED: &str = "c-optimised";

impl Code {
    /// It takes each so manieth case.
    fn every(&self) -> usize {
        if self.name == OPTIMISED && !all() { 8 } else { 1 }
    }
}

fn all() -> bool {
    std::env::var_os("TENFOLD_STRICT").is_some_and(|value| value == "all")
}

/// What this machine can compile and run: C first, as it is written, with which the others are compared. Of the levels of
/// x86-64 those that are `named`, unless all are asked for.
fn codes(named: &[&str]) -> Vec<Code> {
    let folder = |name: &str| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("strict").join(name);
    let host = native::host();
    let c = |name: &str, compiler| Box::new(CBackend { folder: folder(name), host: host.clone(), compiler });
    let quick = tools::root().join("tests/quick-cc.sh");
    let llvm = || native::backends_in(folder("found")).into_iter().find(|backend| backend.name() == "llvm");
    let plain = Target::from_triple(&host, &[]);
    let mut found = Vec::new();
    if tools::has("cc") {
        let of_host =
            |name, compiler| Code { name, target: plain.clone(), backend: c(name, compiler), machine: Machine::host() };
        found.extend([of_host("c", Some(quick)), of_host(OPTIMISED, None)]);
    }
    let runs = |features| Variant { name: "", features }.supported().is_ok();
    let levels = plain.levels().into_iter().filter(|level| runs(level.features));
    let levels = levels.map(|level| (level.name, plain.with_level(&level)));
    let every = std::iter::once(("baseline", plain.clone())).chain(levels);
    for (name, target) in every.filter(|(name, _)| all() || named.contains(name)) {
        found.extend(llvm().map(|backend| Code { name, target, backend, machine: Machine::host() }));
    }
    if !program::has_aarch64() {
        return found;
    }
    let arm = Target::from_triple(AARCH64, &["neon"]);
    let machine = Machine::aarch64;
    found.extend(llvm().map(|backend| Code { name: "aarch64", target: arm.clone(), backend, machine: machine() }));
    if all() {
        let wide = Target::from_triple(AARCH64, &["neon", "bf16", "dotprod", "fhm", "fp16", "i8mm", "rdm"]);
        found.extend(llvm().map(|backend| Code { name: "aarch64-wide", target: wide, backend, machine: machine() }));
        found.push(Code { name: "aarch64-c", target: arm, backend: c("aarch64-c", None), machine: machine() });
    }
    found
}

/// Levels that differ in how they compute floats: the baseline is what v2 is, but for a few instructions, and further ones
/// differ in integers alone.
const LEVELS: [&str; 3] = ["x86-64-v2", "x86-64-v3", "x86-64-v4"];

/// The widest one, for what takes long: its tiles are the furthest from those of C and of AArch64.
const WIDEST: [&str; 1] = ["x86-64-v4"];

/// Takes what a back end is given.
#[derive(Default)]
struct Taken(Mutex<Option<Module>>);

impl Backend for Taken {
    fn name(&self) -> &'static str {
        "taken"
    }

    fn identity(&self) -> String {
        "taken".to_string()
    }

    fn build(&self, module: &Module, _: &Target, _: &CodegenOptions) -> Result<Artefact, BackendError> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(module.clone());
        Ok(Artefact::default())
    }
}

/// A case as the compiler hands it to the back end of a strict function.
fn prepared(case: &Case, target: &Target, opt_level: u32) -> Result<Prepared, String> {
    let taken = Taken::default();
    let mut context = PassContext::new(target.clone());
    // The suite verifies what passes make, for one target.
    (context.opt_level, context.verify) = (opt_level, false);
    let options = Options { strict: true, ..Options::default() };
    let compiled = compile(case.module.clone(), &context, &options, &taken);
    let compiled = compiled.map_err(|errors| format!("{}: {errors:?}", case.name))?;
    let module = taken.0.into_inner().unwrap_or_else(PoisonError::into_inner).ok_or("nothing was built")?;
    let value = |sym: &_| case.syms.iter().find(|(s, _)| s == sym).map(|(_, value)| *value);
    let bytes = compiled.workspace.and_then(|bytes| bytes.eval(&value)).unwrap_or(0);
    let entry = module.prim(&case.name).ok_or("no entry")?;
    let actual = actual(entry, &case.syms, case.given.clone().into_iter(), bytes)?;
    let (expected, definition) = Default::default();
    Ok(Prepared { name: case.name.clone(), module, actual, expected, definition })
}

/// What every case leaves in the buffers that it writes, by a code.
fn results(cases: &[Case], code: &Code, opt_level: u32, folder: &Path) -> Result<Vec<Vec<Vec<Scalar>>>, String> {
    let prepared: Result<Vec<Prepared>, String> =
        cases.iter().map(|case| prepared(case, &code.target, opt_level)).collect();
    let mut all = Vec::new();
    for (n, batch) in prepared?.chunks(64).enumerate() {
        let folder = folder.join(format!("batch{n}"));
        let left = program::run(batch, &*code.backend, &code.target, &code.machine, &folder)?;
        all.extend(left.into_iter().zip(batch).map(|(buffers, case)| {
            let dtypes = case.actual.iter().filter_map(|argument| match argument {
                Actual::Buffer { dtype, .. } if program::is_written(argument) => Some(*dtype),
                Actual::Buffer { .. } | Actual::Scalar(_) | Actual::Index(_) | Actual::Workspace(_) => None,
            });
            let scalars = |(bytes, dtype): (Vec<u8>, DType)| -> Vec<Scalar> {
                bytes.chunks_exact(dtype.size_bytes()).map(|b| Scalar::from_le_bytes(dtype, b)).collect()
            };
            buffers.into_iter().zip(dtypes).map(scalars).collect()
        }));
    }
    Ok(all)
}

fn same(a: Scalar, b: Scalar) -> bool {
    a.bits == b.bits || a.dtype.is_float() && a.to_f64().is_nan() && b.to_f64().is_nan()
}

/// Where the results of two codes differ in bits, once for each result of a case.
fn differences(cases: &[Case], one: &[Vec<Vec<Scalar>>], other: &[Vec<Vec<Scalar>>]) -> Vec<String> {
    let mut all = Vec::new();
    for ((case, one), other) in cases.iter().zip(one).zip(other) {
        assert_eq!(one.len(), other.len(), "{}: results", case.name);
        for (at, (one, other)) in one.iter().zip(other).enumerate() {
            let apart: Vec<usize> = (0..one.len()).filter(|n| !same(one[*n], other[*n])).collect();
            all.extend(apart.first().map(|n| {
                let (count, bits) =
                    (apart.len(), [one[*n], other[*n]].map(|s| format!("{} ({:#x})", s.to_f64(), s.bits)));
                format!("{}, result {at}: {count} of {}, element {n}: {bits:?}", case.name, one.len())
            }));
        }
    }
    all
}

/// Whether a case computes with floats, as far as its name says.
fn is_telling(case: &Case) -> bool {
    let of = |dtype: &DType| case.name.ends_with(&format!("_{}", dtype.name()));
    let integers = DType::ALL.iter().filter(|dtype| !dtype.is_float()).any(of);
    all() || !integers || case.name.starts_with("cast_")
}

/// Compares what all codes give, those of x86-64 for `named` levels.
fn check<const N: usize>(topic: &str, named: &[&str], cases: [Vec<Case>; N], opt_level: u32) {
    let (codes, cases) = (codes(named), cases.into_iter().flatten().filter(is_telling).collect::<Vec<Case>>());
    let folder = |name: &str| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("strict").join(topic).join(name);
    let mut all = Vec::new();
    for code in &codes {
        let start = std::time::Instant::now();
        let own: Vec<Case> = cases.iter().step_by(code.every()).cloned().collect();
        let found = results(&own, code, opt_level, &folder(code.name)).unwrap_or_else(|e| panic!("{}: {e}", code.name));
        println!("{topic}, {}: {} functions, {:.1} s", code.name, own.len(), start.elapsed().as_secs_f64());
        all.push((own, found));
    }
    let Some(((_, first), rest)) = all.split_first() else { return };
    let apart = codes.iter().skip(1).zip(rest).flat_map(|(code, (own, results))| {
        let first: Vec<_> = first.iter().step_by(code.every()).cloned().collect();
        let apart = differences(own, &first, results).into_iter();
        apart.map(|line| format!("{} and {}: {line}", codes[0].name, code.name))
    });
    let apart: Vec<String> = apart.collect();
    assert!(apart.is_empty(), "{} results differ\n{}", apart.len(), apart.join("\n"));
}

/// Operands of every magnitude, and where functions change most.
fn samples(dtype: DType, seed: u64) -> Vec<Scalar> {
    magnitudes(dtype, 2000, &mut Random::new(seed))
}

/// Every function that is written out.
fn functions() -> Vec<Case> {
    let mut all = Vec::new();
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        let [given, second] = [1, 2].map(|seed| samples(dtype, seed));
        let n = given.len() as i64;
        for ops in element::math().chunks(6) {
            let mut m = Make::new(&format!("functions_{:?}_{}", ops[0], dtype.name()).to_lowercase());
            let x = m.values(dtype, &[n], &given);
            let results: Vec<_> = ops.iter().map(|op| m.element(ElementOp::Unary(*op), &[x])).collect();
            all.push(m.done(&results));
        }
        let mut m = Make::new(&format!("functions_of_two_{}", dtype.name()));
        let [x, z] = [given, second].map(|cells| m.values(dtype, &[n], &cells));
        let ops = BinaryOp::ALL.iter().filter(|op| op.takes().holds(dtype) && binary_ulps(**op) > 0.5);
        let results: Vec<_> = ops.map(|op| m.element(ElementOp::Binary(*op), &[x, z])).collect();
        all.push(m.done(&results));
    }
    all
}

/// Sums so long, and results so large, that every machine works in tiles, blocks of terms and lanes of its own.
fn large() -> Vec<Case> {
    let mut m = Make::new("large");
    let dtype = DType::F32;
    let mut results = Vec::new();
    let x = m.input(dtype, &fixed(&[17, 500]));
    for w in [m.constant(dtype, &[500, 70]), m.input(dtype, &fixed(&[500, 70]))] {
        results.push(m.emit(Op::MatMul, &[x, w]));
    }
    let images = m.input(dtype, &fixed(&[1, 40, 9, 9]));
    for (shape, group) in [([48, 40, 3, 3], 1), ([64, 40, 1, 1], 1), ([40, 1, 3, 3], 40), ([32, 20, 3, 3], 2)] {
        let w = m.constant(dtype, &shape);
        let window = levels::window(shape[2], 1, shape[2] / 2);
        results.push(m.emit(Op::Conv { window, group, layout: ConvLayout::default() }, &[images, w]));
    }
    results.push(m.emit(Op::Softmax { axis: 1, log: false }, &[x]));
    let scale = m.constant(dtype, &[500]);
    results.push(m.emit(Op::LayerNorm { axis: 1, epsilon: Real::new(1e-5) }, &[x, scale]));
    for op in [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Mean, ReduceOp::Max, ReduceOp::Min] {
        results.push(m.reduce(op, x, &[1], false));
        results.push(m.reduce(op, x, &[0], false));
        results.push(m.reduce(op, x, &[0, 1], false));
    }
    vec![m.done(&results)]
}

#[test]
fn functions_and_conversions() {
    // These are among the functions, with more operands.
    let elements = element::cases().into_iter().filter(|case| !case.name.starts_with("math_"));
    check("functions", &LEVELS, [functions(), elements.collect()], 2);
}

/// What schedules tell apart.
#[test]
fn products_windows_and_rows() {
    check("schedules", &LEVELS, [large(), levels::cases("baseline")], 2);
}

/// The suite's: what levels do with products, windows and rows of their own is compared above.
#[test]
fn networks() {
    check("networks", &WIDEST, [nn::cases(), ops::moments::cases()], 2);
}

#[test]
fn signals_and_matrices() {
    check("signals", &WIDEST, [ops::signal::cases(), ops::linalg::cases(), ops::contract::cases()], 2);
}

/// Each level of optimisation for itself: what passes make of a graph may round in another way, but it does so on every
/// target.
#[test]
fn levels_of_optimisation() {
    for opt_level in [0, 1, 3] {
        check(&format!("opt{opt_level}"), &WIDEST, [large()], opt_level);
    }
}
