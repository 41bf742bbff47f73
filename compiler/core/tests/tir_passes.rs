//! Passes over tir keep what a function computes: random functions, interpreted before and after each pass and after
//! random sequences of them. What fails is shrunk.

#[path = "tir_passes/generate.rs"]
mod generate;
#[path = "tir_passes/shrink.rs"]
mod shrink;

use std::panic::{AssertUnwindSafe, catch_unwind};

use generate::{Random, function};
use tenfold_core::Target;
use tenfold_core::pass::{self, PassContext};
use tenfold_ir::eval::Bounded;
use tenfold_ir::tir::{self, Arg, PrimFunc};
use tenfold_ir::{DType, Function, Module, Scalar};

/// Passes that may run before buffers have one axis, and those that may run after as well.
const ANYWHERE: [&str; 6] =
    ["UnrollLoop", "Simplify", "RemoveNoOp", "HoistIfThenElse", "RewriteUnsafeSelect", "LoopPartition"];
/// Passes that must run before it.
const AXES: [&str; 2] = ["PlanAndUpdateBufferAllocationLocation", "CompactBufferAllocation"];
/// Passes that need what `FlattenBuffer` gives.
const FLAT: [&str; 2] = ["VectorizeLoop", "StorageRewrite"];

/// How many functions are made; `TENFOLD_CASES` asks for more.
const CASES: u64 = 150;

/// A sequence of passes, by name.
type Passes = Vec<&'static str>;

fn context() -> PassContext {
    let mut context = PassContext::new(Target::from_triple("x86_64-unknown-linux-gnu", &[]));
    for (key, value) in [("LoopPartition.every", "true"), ("UnrollLoop.auto_max_step", "8")] {
        context.set_text(key, value).expect("the setting is registered");
    }
    context
}

fn module_of(func: &PrimFunc) -> Module {
    let mut module = Module { entry: "f".into(), ..Module::default() };
    module.functions.insert("f".into(), Function::Prim(func.clone()));
    module
}

/// What the function leaves in `y` and `q`, for a value of `N`.
fn run(func: &PrimFunc, n: i64) -> Result<Vec<Arg>, String> {
    let tensor = |dtype, seed: i64| {
        let value = |i: i64| (i * 7 + seed * 3) % 11 - 5;
        let scalar = |i| match dtype {
            DType::F32 => Scalar::float(dtype, value(i) as f64 / 4.0),
            _ => Scalar::int(dtype, i128::from(value(i))),
        };
        Arg::Buffer((0..32).map(|i| Some(Bounded::exact(scalar(i)))).collect())
    };
    let mut args = vec![
        Arg::Value(Bounded::index(n)),
        tensor(DType::F32, 1),
        tensor(DType::I32, 2),
        tensor(DType::F32, 3),
        tensor(DType::I32, 4),
    ];
    tir::eval(&Module::default(), func, &mut args)?;
    Ok(args.split_off(3))
}

/// The function after the passes, or what went wrong in words.
fn after(func: &PrimFunc, passes: &[&str]) -> Result<PrimFunc, String> {
    let mut module = module_of(func);
    for name in passes {
        let pass = pass::find(name).ok_or_else(|| format!("there is no pass `{name}`"))?;
        let done = catch_unwind(AssertUnwindSafe(|| pass::run(std::slice::from_ref(pass), &mut module, &context())));
        done.map_err(|_| format!("`{name}` panics"))?.map_err(|e| e.message)?;
    }
    module.prim("f").cloned().ok_or_else(|| "the function is gone".into())
}

/// Equal bits, or floats as near as their bounds allow where a reduction may be taken in any order.
fn agree(a: &[Arg], b: &[Arg]) -> bool {
    let cells = |a: &Arg| match a {
        Arg::Buffer(cells) => cells.clone(),
        Arg::Value(_) | Arg::Workspace(_) => Vec::new(),
    };
    a.iter().zip(b).all(|(x, y)| {
        cells(x).iter().zip(cells(y)).all(|(x, y)| match (x, y) {
            (Some(x), Some(y)) if x.is_exact() && y.is_exact() => x.value == y.value,
            (Some(x), Some(y)) if x.value.dtype.is_float() => near(*x, y),
            // What depends on a float of which the last bits are free may be anything.
            (Some(x), Some(y)) => x.value == y.value || !x.is_exact() || !y.is_exact(),
            (x, y) => x.is_none() && y.is_none(),
        })
    })
}

fn near(x: Bounded, y: Bounded) -> bool {
    let (a, b) = (x.value.to_f64(), y.value.to_f64());
    a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= x.error + y.error
}

/// What the passes did wrong, if they did.
fn wrong(func: &PrimFunc, passes: &[&str]) -> Option<String> {
    let changed = match after(func, passes) {
        Ok(changed) => changed,
        Err(error) => return Some(error),
    };
    for n in [0, 1, 5] {
        let Ok(expected) = run(func, n) else { continue };
        match run(&changed, n) {
            Ok(found) if agree(&expected, &found) => {}
            Ok(_) => return Some(format!("for N = {n} something else comes out")),
            Err(error) => return Some(format!("for N = {n}: {error}")),
        }
    }
    None
}

/// Each pass alone (on what it needs), or a random sequence.
fn sequence(r: &mut Random, seed: u64) -> Passes {
    let anywhere = |r: &mut Random| (0..r.below(4)).map(|_| r.pick(&ANYWHERE)).collect::<Vec<_>>();
    if seed.is_multiple_of(3) {
        let one = r.pick(&[ANYWHERE.as_slice(), &AXES, &FLAT].concat());
        return if FLAT.contains(&one) { vec!["FlattenBuffer", one] } else { vec![one] };
    }
    let mut all = anywhere(r);
    all.push(r.pick(&AXES));
    all.extend(anywhere(r));
    all.extend(AXES);
    all.push("FlattenBuffer");
    all.extend(anywhere(r));
    all.push(r.pick(&FLAT));
    all.extend(anywhere(r));
    if r.chance(30) {
        all.extend(["LowerMath", "BF16ComputeLegalize"]);
    }
    all
}

fn valid(func: &PrimFunc) -> bool {
    tir::verify(&module_of(func), func).is_empty() && run(func, 5).is_ok()
}

#[test]
fn passes_keep_what_functions_compute() {
    let (mut tried, mut changed) = (0, 0);
    let cases = std::env::var("TENFOLD_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(CASES);
    for seed in 0..cases {
        let mut r = Random::new(seed);
        let func = function(&mut r);
        if !valid(&func) {
            continue;
        }
        tried += 1;
        let passes = sequence(&mut r, seed);
        if let Some(error) = wrong(&func, &passes) {
            let fails = |f: &PrimFunc| valid(f) && wrong(f, &passes).is_some();
            let small = shrink::shrink(&func, &fails);
            let error = wrong(&small, &passes).unwrap_or(error);
            let text = tir::print(&Module::default(), &small);
            let result = after(&small, &passes).map(|f| tir::print(&Module::default(), &f)).unwrap_or_default();
            panic!("seed {seed}, {passes:?}: {error}\n{text}\n{result}");
        }
        changed += usize::from(after(&func, &passes).is_ok_and(|f| f.body != func.body));
    }
    // Others have loops of vectors whose iterations meet, which the interpreter refuses.
    assert!(tried > cases / 2, "only {tried} of {cases} functions could be run");
    assert!(changed > tried as usize / 2, "only {changed} of {tried} functions were changed");
}
