//! Random relax modules: what prints reads back, and keeps its laws, its hash and its meaning.

use std::collections::BTreeMap;

use tenfold_ir::eval::Value;
use tenfold_ir::relax::{self, Callees, Inputs, Outputs};
use tenfold_ir::{DType, Function, Module};

fn functions(module: &Module) -> impl Iterator<Item = &relax::Function> {
    module.functions.values().filter_map(|function| match function {
        Function::Relax(func) => Some(func),
        Function::Prim(_) => None,
    })
}

#[test]
fn what_prints_reads_back() {
    let mut regions = 0;
    for seed in 0..10_000 {
        let module = relax::random_module(seed);
        for func in functions(&module) {
            regions += usize::from(func.bindings().any(|binding| !binding.regions.is_empty()));
            let options = relax::PrintOptions { names: true, locs: true };
            let text = relax::print_with(func, options);
            let read = relax::parse_function(&text).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
            assert_eq!(relax::print_with(&read, options), text, "seed {seed}");
            if seed % 16 == 0 {
                assert!(relax::structurally_equal((&module, func), (&module, &read)), "seed {seed}\n{text}");
                let renumbered = relax::renumbered(&read);
                assert_eq!(relax::structural_hash(&module, func), relax::structural_hash(&module, &renumbered));
            }
        }
    }
    assert!(regions > 5_000, "only {regions} functions have regions");
}

#[test]
fn laws_hold() {
    for seed in 0..400 {
        let module = relax::random_module(seed);
        for func in functions(&module) {
            let func = relax::renumbered(func);
            let errors = relax::verify(&module, &func);
            assert!(errors.is_empty(), "seed {seed}: {errors:?}\n{}", relax::print_function(&func));
        }
    }
}

fn run(module: &Module, func: &relax::Function) -> Result<Outputs, String> {
    let prim = |name: &str, _: &[i64], _: &[Value], _: &[(Value, Option<usize>)]| Err(format!("no `{name}`"));
    // A call out gives what it is given, or ones.
    let external = |_: &str, _: &[Value], outs: &[Value]| {
        let ones = |out: &Value| Value::of(out.dtype, &out.shape, &vec![1.0; out.data.len()]);
        Ok(outs.iter().map(ones).collect())
    };
    let values = vec![
        Value::of(DType::F32, &[3], &[1.0, -2.0, 0.5]),
        Value::of(DType::F32, &[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        Value::of(DType::I32, &[], &[3.0]),
    ];
    let inputs = Inputs { values, indices: BTreeMap::new() };
    relax::eval_with(module, func, &inputs, Callees { prim: &prim, external: &external })
}

#[test]
fn numbers_and_names_change_no_meaning() {
    let mut done = 0;
    for seed in 0..300 {
        let module = relax::random_module(seed);
        let Some(func) = module.relax("entry") else { panic!("seed {seed} has no entry") };
        let read = relax::parse_function(&relax::print_function(func)).expect("it reads back");
        let (a, b) = (run(&module, func), run(&module, &relax::renumbered(&read)));
        match (a, b) {
            (Ok(a), Ok(b)) => {
                done += 1;
                assert_eq!(format!("{:?}", a.results), format!("{:?}", b.results), "seed {seed}");
                assert_eq!(format!("{:?}", a.states), format!("{:?}", b.states), "seed {seed}");
            }
            // A loop that never ends in both, say; the texts may name values by other numbers.
            (a, b) => assert_eq!(a.is_err(), b.is_err(), "seed {seed}"),
        }
    }
    assert!(done > 270, "only {done} of 300 modules were interpreted");
}
