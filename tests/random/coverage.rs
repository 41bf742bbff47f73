//! What the random cases were made of.

use std::collections::BTreeMap;

use tenfold_ir::relax::{self, Type};
use tenfold_ir::{Function, Module};

/// How often each operator and dtype stood in a case.
#[derive(Default)]
pub(crate) struct Coverage {
    cases: usize,
    calls: usize,
    operators: BTreeMap<String, usize>,
    dtypes: BTreeMap<&'static str, usize>,
    loops: usize,
    symbolic: usize,
}

impl Coverage {
    /// Counts a case that is called so often.
    pub(crate) fn count(&mut self, module: &Module, calls: usize) {
        self.cases += 1;
        self.calls += calls;
        for function in module.functions.values() {
            match function {
                Function::Relax(graph) => self.graph(graph),
                Function::Prim(_) => self.loops += 1,
            }
        }
        let dims = module.relax(&module.entry).map_or(0, |f| f.syms.len());
        self.symbolic += usize::from(dims > 0);
    }

    fn graph(&mut self, graph: &relax::Function) {
        for binding in graph.bindings() {
            *self.operators.entry(relax::op_name(&binding.op).to_string()).or_default() += 1;
            if let Type::Tensor(ty) = &graph.values[binding.out.0 as usize].ty {
                *self.dtypes.entry(ty.dtype.name()).or_default() += 1;
            }
        }
    }

    pub(crate) fn show(&self) {
        println!(
            "{} functions, {} calls, {} with symbols, {} loop nests",
            self.cases, self.calls, self.symbolic, self.loops
        );
        let list = |name: &str, count: &usize| format!("{name} {count}");
        let operators: Vec<String> = self.operators.iter().map(|(n, c)| list(n, c)).collect();
        let dtypes: Vec<String> = self.dtypes.iter().map(|(n, c)| list(n, c)).collect();
        println!("operators: {}\ndtypes: {}", operators.join(", "), dtypes.join(", "));
    }
}
