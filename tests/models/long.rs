//! Long graphs on a small stack: nothing recurses over the length of a graph, neither an interpreter nor the printers,
//! the parsers, the verifiers, a pass, or what gives memory back.

use tenfold_ir::relax;
use tenfold_ir::{DType, Function, Module};

use crate::case::{Case, Given};
use crate::interpret;
use crate::long_graphs::{GRAPHS, graph};
use tenfold_core::Target;
use tenfold_core::pass::PassContext;

const OPERATORS: usize = 1_000;
/// Bytes: fewer for each operator than a frame of a debug build takes.
const STACK: usize = 512 << 10;

/// Every shape goes through the whole compiler on a small stack, verified behind every pass, and computes what it says.
#[test]
fn a_long_graph_needs_no_deep_stack() {
    for (name, grow) in GRAPHS {
        println!("{name}");
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || through(graph(OPERATORS, grow)));
        thread.expect("a thread starts").join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }
}

fn through(module: Module) {
    let func = module.relax(&module.entry).expect("a graph");
    assert!(relax::verify(&module, func).is_empty());
    let text = relax::print_function(func);
    let again = relax::parse_function(&text).expect("it reads back");
    assert!(relax::structurally_equal((&module, func), (&module, &again)));
    let cells = crate::data::ordinary(DType::F32, 64, 1).into_iter().collect();
    let given = vec![Given { cells, strides: Vec::new() }];
    let module = Module { functions: [(again.name.clone(), Function::Relax(again))].into(), ..module };
    let case = Case { name: module.entry.clone(), given, module, syms: Vec::new(), wanted: Vec::new() };
    let context = PassContext::new(Target::from_triple("x86_64-unknown-linux-gnu", &[]));
    let prepared = interpret::prepare_with(case, &context).expect("the interpreters agree");
    assert!(prepared.expected.values().flatten().any(Option::is_some));
}
