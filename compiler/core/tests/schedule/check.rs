//! Runs functions with the interpreter and compares what they leave.

use tenfold_ir::Module;
use tenfold_ir::tir::{self, Arg, PrimFunc};

use crate::kernels::Kernel;
use crate::meaning::{arguments, equal};

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
        let mut module = Module::default();
        crate::intrinsics::register(&mut module);
        let func =
            tir::parse(&module, &kernel.text).unwrap_or_else(|e| panic!("{}: {e}\n{}", kernel.name, kernel.text));
        let func = func.into_iter().next().expect("there is a function");
        let broken = [tir::verify(&module, &func), tir::verify_bounds(&func)].concat();
        assert!(broken.is_empty(), "{}: {broken:?}", kernel.name);
        let dims: Vec<(String, i64)> = kernel.dims.iter().map(|(name, value)| (name.to_string(), *value)).collect();
        let args = arguments(&func, &dims).unwrap_or_else(|e| panic!("{}: {e}", kernel.name));
        let mut expected = args.clone();
        tir::eval(&module, &func, &mut expected).unwrap_or_else(|e| panic!("{}: {e}", kernel.name));
        Case { name: kernel.name, text: kernel.text.clone(), module, func, args, expected }
    }

    /// Whether a function is the same once it is printed and read.
    fn reads_back(&self, func: &PrimFunc) -> Result<(), String> {
        let printed = tir::print(&self.module, func);
        let again = tir::parse(&self.module, &printed).map_err(|e| format!("does not read back: {e}\n{printed}"))?;
        let [again] = &again[..] else { return Err(format!("reads back as {} functions\n{printed}", again.len())) };
        let same = tir::structurally_equal((&self.module, func), (&self.module, again));
        if same && tir::print(&self.module, again) == printed {
            return Ok(());
        }
        Err(format!("reads back as another function\n{printed}"))
    }

    /// What is wrong with a scheduled function, if anything is.
    pub(crate) fn difference(&self, func: &PrimFunc) -> Option<String> {
        let broken = [tir::verify(&self.module, func), tir::verify_bounds(func)].concat();
        if let Some(first) = broken.first() {
            return Some(first.clone());
        }
        if let Err(e) = self.reads_back(func) {
            return Some(e);
        }
        let mut found = self.args.clone();
        if let Err(e) = tir::eval(&self.module, func, &mut found) {
            return Some(e);
        }
        equal(&self.expected, &found).err()
    }
}
