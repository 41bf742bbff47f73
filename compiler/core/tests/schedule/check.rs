//! Runs functions with the interpreter and compares what they leave.

use tenfold_ir::eval::Bounded;
use tenfold_ir::tir::{self, Arg, BufUse, Param, PrimFunc};
use tenfold_ir::{DType, Module, Scalar};

use crate::kernels::Kernel;

/// A kernel, read, with its arguments and what it leaves.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) text: String,
    pub(crate) module: Module,
    pub(crate) func: PrimFunc,
    pub(crate) args: Vec<Arg>,
    pub(crate) expected: Vec<Arg>,
}

impl Case {
    pub(crate) fn new(kernel: &Kernel) -> Case {
        let module = Module::default();
        let func =
            tir::parse(&module, &kernel.text).unwrap_or_else(|e| panic!("{}: {e}\n{}", kernel.name, kernel.text));
        let func = func.into_iter().next().expect("there is a function");
        let broken = [tir::verify(&module, &func), tir::verify_bounds(&func)].concat();
        assert!(broken.is_empty(), "{}: {broken:?}", kernel.name);
        let args = arguments(&func, kernel.dims);
        let mut expected = args.clone();
        tir::eval(&module, &func, &mut expected).unwrap_or_else(|e| panic!("{}: {e}", kernel.name));
        Case { name: kernel.name, text: kernel.text.clone(), module, func, args, expected }
    }

    /// What is wrong with a scheduled function, if anything is.
    pub(crate) fn difference(&self, func: &PrimFunc) -> Option<String> {
        let broken = [tir::verify(&self.module, func), tir::verify_bounds(func)].concat();
        if let Some(first) = broken.first() {
            return Some(first.clone());
        }
        let mut found = self.args.clone();
        if let Err(e) = tir::eval(&self.module, func, &mut found) {
            return Some(e);
        }
        self.expected
            .iter()
            .zip(&found)
            .enumerate()
            .find_map(|(n, (a, b))| differ(a, b).map(|e| format!("argument {n}: {e}")))
    }
}

fn differ(a: &Arg, b: &Arg) -> Option<String> {
    let (Arg::Buffer(a), Arg::Buffer(b)) = (a, b) else { return None };
    let close = |a: &Bounded, b: &Bounded| {
        let (x, y) = (a.value.to_f64(), b.value.to_f64());
        if a.value.dtype.is_float() { (x - y).abs() <= a.error + b.error || x == y } else { a.value == b.value }
    };
    a.iter().zip(b).enumerate().find_map(|(n, pair)| match pair {
        (Some(a), Some(b)) if close(a, b) => None,
        (None, None) => None,
        (a, b) => Some(format!("element {n} is {:?}, expected {:?}", b.map(|b| b.value), a.map(|a| a.value))),
    })
}

fn arguments(func: &PrimFunc, dims: &[(&str, i64)]) -> Vec<Arg> {
    let value = |name: &str| dims.iter().find(|(d, _)| *d == name).map(|(_, v)| *v);
    let mut seed = 1u64;
    let mut next = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as i64
    };
    let args = func.params.iter().map(|param| match param {
        Param::Value(var) => {
            let name = func.vars[var.0 as usize].sym.to_string();
            Arg::Value(Bounded::index(value(&name).expect("the dim is given")))
        }
        Param::Buffer(buf, usage) => {
            let data = &func.buffers[buf.0 as usize];
            let extents = data.shape.iter().map(|d| d.eval(&|s| value(s.as_str())).expect("the extent is known"));
            let count: i64 = extents.product();
            let most = data.range.as_ref().map_or(19, |(_, hi)| hi.as_const().unwrap_or(1));
            let cell = |n: i64| match data.dtype {
                DType::F32 => Scalar::float(DType::F32, (n % 37) as f64 / 8.0 - 2.0),
                dtype if data.range.is_some() => Scalar::int(dtype, i128::from(n % most)),
                dtype => Scalar::int(dtype, i128::from(n % most - 9)),
            };
            let full = *usage != BufUse::Out;
            Arg::Buffer((0..count).map(|_| full.then(|| Bounded::exact(cell(next())))).collect())
        }
        Param::Workspace => Arg::Workspace(0),
    });
    args.collect()
}
