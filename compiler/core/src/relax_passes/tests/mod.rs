//! What graph passes are tested with: random values and graphs, and the interpreter before and after.

mod byte_weights;
mod externs;
mod graphs;
mod layouts;
mod opted;
mod rows;

use std::collections::BTreeMap;

use tenfold_ir::eval::{Bounded, Value};
use tenfold_ir::relax::{self, Inputs, Outputs};
use tenfold_ir::{DType, Function, Module, Scalar};

use crate::Target;
use crate::pass::PassContext;

/// xorshift: the same numbers in every run.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.bits() >> 33) as usize % n.max(1)
    }

    pub(super) fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// A value of a dtype: small, of any size, or special.
pub(super) fn scalar(random: &mut Random, dtype: DType) -> Scalar {
    const SPECIAL: [f64; 14] =
        [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 6.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-40, -1e-7, 3e38, -60000.0];
    if dtype.is_float() {
        return match random.below(4) {
            0 => Scalar::float(dtype, random.pick(&SPECIAL)),
            1 => Scalar::float(dtype, random.below(9) as f64 - 4.0),
            _ => Scalar::float(dtype, (random.below(4001) as f64 - 2000.0) / 300.0),
        };
    }
    match random.below(3) {
        0 => random.pick(&[Scalar::least(dtype), Scalar::greatest(dtype), Scalar::zero(dtype), Scalar::one(dtype)]),
        1 => Scalar::int(dtype, random.below(9) as i128 - 4),
        _ => Scalar::int(dtype, i128::from(random.bits())),
    }
}

pub(super) fn values(random: &mut Random, dtype: DType, shape: &[usize]) -> Value {
    let data = (0..shape.iter().product()).map(|_| Bounded::exact(scalar(random, dtype))).collect();
    Value { dtype, shape: shape.to_vec(), data }
}

pub(super) fn context() -> PassContext {
    PassContext::new(Target::from_triple("x86_64-unknown-linux-gnu", &[]))
}

/// A module of one function.
pub(super) fn module_of(func: relax::Function) -> Module {
    let mut module = Module { entry: func.name.clone(), ..Module::default() };
    module.sources = vec![func.name.clone()];
    module.functions.insert(func.name.clone(), Function::Relax(func));
    module
}

pub(super) fn entry(module: &Module) -> &relax::Function {
    module.relax(&module.entry).expect("the entry is a graph")
}

/// Interprets the entry.
pub(super) fn run(module: &Module, values: &[Value]) -> Result<Outputs, String> {
    let inputs = Inputs { values: values.to_vec(), indices: BTreeMap::new() };
    relax::eval(module, entry(module), &inputs)
}

/// The first element of `after` that `before` does not allow.
pub(super) fn refuted(before: &Outputs, after: &Outputs) -> Option<String> {
    let states = before.states.values().zip(after.states.values());
    let pairs = before.results.iter().zip(&after.results).chain(states);
    let wrong = |(i, (a, b)): (usize, (&Value, &Value))| {
        if a.shape != b.shape || a.dtype != b.dtype {
            return Some(format!("result {i}: {}{:?} became {}{:?}", a.dtype, a.shape, b.dtype, b.shape));
        }
        let at = a.data.iter().zip(&b.data).position(|(a, b)| !a.admits(b.value))?;
        Some(format!("result {i}, element {at}: {:?} does not admit {:?}", a.data[at], b.data[at]))
    };
    if before.results.len() != after.results.len() {
        return Some("another number of results".into());
    }
    pairs.enumerate().find_map(wrong)
}

/// Interprets the entry with functions outside the module.
pub(super) fn with_external(
    module: &Module,
    inputs: &Inputs,
    external: &relax::CallExternal<'_>,
) -> Result<Outputs, String> {
    let prim = |name: &str, _: &[i64], _: &[Value], _: &[(Value, Option<usize>)]| Err(format!("`@{name}` is called"));
    relax::eval_with(module, entry(module), inputs, relax::Callees { prim: &prim, external })
}
