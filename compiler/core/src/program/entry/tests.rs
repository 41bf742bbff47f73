//! Programs of modules that are written down.

use std::collections::BTreeMap;

use tenfold_abi::DType;
use tenfold_abi::program::{Access, Arg, Buffer, Node, Operation, Place, Step};
use tenfold_ir::parse_module;

use super::{Kernel, of_entry};
use crate::program::{Code, Program};

/// Two kernels of one function of the host, then one that reads what the first has left, a constant and a scalar.
const MODULE: &str = "entry @f
const 3f0d6b8c2f6a4f0a9a3b0f6c1d2e3f40 \"w\" f32[2] = 0000803f00000040
prim @f(k: f32, in x: f32[N], out y: f32[N], N: index, workspace) phase target exported at 0:0 {
  fact N >= 1
  buffer t: f32[N] workspace offset 256
  buffer w: f32[2] const 3f0d6b8c2f6a4f0a9a3b0f6c1d2e3f40
  buffer scalar: f32[1] local
  alloc scalar {
    scalar[0] = k
    assert lt(N, 100), \"N is small\"
    call @first(N, &x, &t)
    call @second(N, &t, &w, &scalar, &y)
  }
}
prim @first(N: index, in a: f32[N], out b: f32[N]) phase target at 0:0 {
  fact N >= 1
  buffer g: f32[N] global
  alloc g {
    let n: index = div_euclid(add(N, 63), 64) {
      call @first_kernel(&a, &g, N) launch grid [n, 1, 1] block [64, 1, 1] shared [0]
      call @first_kernel(&g, &b, N) launch grid [n, 1, 1] block [64, 1, 1] shared [0]
    }
  }
}
prim @first_kernel(in a: f32[N], out b: f32[N], N: index) phase target device at 0:0 {
}
prim @second(N: index, in a: f32[N], in w: f32[2], in s: f32[1], out b: f32[N]) phase target at 0:0 {
  fact N >= 1
  call @second_kernel(&a, &w, &s, &b, cast<i32>(N)) launch grid [N, 1, 1] block [1, 1, 1] shared [0]
}
prim @second_kernel(in a: f32[N], in w: f32[2], in s: f32[1], out b: f32[N], m: i32) phase target device at 0:0 {
}
";

fn kernels() -> BTreeMap<String, Kernel> {
    let kernel = |name: &str, local| {
        let code = Code { name: name.into(), code: vec![1], local, ..Code::default() };
        (name.to_string(), Kernel { code, ..Kernel::default() })
    };
    BTreeMap::from([kernel("first_kernel", [64, 1, 1]), kernel("second_kernel", [1, 1, 1])])
}

fn made(text: &str) -> Result<Program, String> {
    let module = parse_module(text, &[]).map_err(|why| why.to_string())?;
    of_entry(&module, &kernels()).map_err(|why| why.message)
}

/// The values of a program's expressions.
fn values(program: &Program, dims: &[i64]) -> Vec<i64> {
    let mut all: Vec<i64> = Vec::new();
    for node in &program.nodes {
        let of = |n: u32| all[n as usize];
        all.push(match *node {
            Node::Const(value) => value,
            Node::Dim(dim) => dims[dim as usize],
            Node::Of(operation, a, b) => operation.of(of(a), of(b)).expect("it fits"),
            Node::Select(c, a, b) => of(if of(c) != 0 { a } else { b }),
        });
    }
    all
}

#[test]
fn launches_become_steps() {
    let program = made(MODULE).expect("the host decides all");
    assert_eq!([program.dims, program.params, program.results, program.scalars], [1; 4]);
    assert_eq!(
        program.kernels.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(),
        ["first_kernel", "second_kernel"]
    );
    let values = values(&program, &[70]);
    let kinds = program.steps.iter().map(|step| match step {
        Step::Launch { kernel, grid, .. } => (*kernel, grid.map(|n| values[n as usize])),
        Step::Barrier => (10, [0; 3]),
        Step::Check { holds, check } => (20 + *check, [values[*holds as usize]; 3]),
    });
    // The one that copies further waits for the one before, and the last for it.
    let barrier = (10, [0; 3]);
    let expected = [(21, [1; 3]), (0, [2, 1, 1]), barrier, (0, [2, 1, 1]), barrier, (1, [70, 1, 1])];
    assert_eq!(kinds.collect::<Vec<_>>(), expected);
    assert_eq!(values[program.workspace as usize], 1280);
}

#[test]
fn buffers_lie_where_the_entry_has_them() {
    let program = made(MODULE).expect("the host decides all");
    let values = values(&program, &[70]);
    let place = |buffer: &Buffer| match buffer.place {
        Place::Workspace(at) => Place::Workspace(values[at as usize] as u32),
        other => other,
    };
    let found: Vec<_> = program.buffers.iter().map(|it| (place(it), it.access, values[it.bytes as usize])).collect();
    let expected = [
        (Place::Param(0), Access::In, 280),
        (Place::Workspace(768), Access::Out, 280),
        (Place::Workspace(768), Access::In, 280),
        (Place::Workspace(256), Access::Out, 280),
        (Place::Workspace(256), Access::In, 280),
        (Place::Constant(0), Access::In, 8),
        (Place::Scalar(0), Access::In, 4),
        (Place::Result(0), Access::Out, 280),
    ];
    assert_eq!(found, expected);
    let Some(Step::Launch { args, .. }) = program.steps.last() else { panic!("{:?}", program.steps) };
    let args = &program.args[args.0 as usize..args.1 as usize];
    let [.., Arg::I32(n)] = args else { panic!("{args:?}") };
    assert_eq!((args.len(), values[*n as usize]), (5, 70));
    assert!(matches!(program.args[2], Arg::I64(n) if values[n as usize] == 70));
    assert_eq!(program.constants[0].bytes, 8);
    assert!(program.buffers.iter().all(|buffer| buffer.dtype == DType::F32));
}

#[test]
fn branches_over_dims_leave_launches_without_groups() {
    let call = "    call @second(N, &t, &w, &scalar, &y)\n";
    let branch = format!("    if lt(N, 50) {{\n{call}    }}\n    else {{\n{call}    }}\n");
    let program = made(&MODULE.replace(call, &branch)).expect("the host decides all");
    for (n, groups) in [(49, [49, 0]), (50, [0, 50])] {
        let values = values(&program, &[n]);
        let last = program.steps.iter().filter_map(|step| match step {
            Step::Launch { kernel: 1, grid, .. } => Some(values[grid[0] as usize]),
            _ => None,
        });
        assert_eq!(last.collect::<Vec<_>>(), groups, "{n}");
    }
}

#[test]
fn what_the_host_cannot_decide_is_refused() {
    let told = |from: &str, to: &str| made(&MODULE.replace(from, to)).expect_err("the host cannot decide it");
    assert_eq!(
        told("launch grid [N, 1, 1] block [1, 1, 1]", "launch grid [N, 1, 1] block [N, 1, 1]"),
        "`second`: a group of `second_kernel` has no fixed number of threads"
    );
    assert_eq!(
        told("    call @second(", "    for i in 0 +: N serial {\n    }\n    call @second("),
        "`f`: a loop of the graph has a number of turns that is not constant"
    );
    assert_eq!(
        told("    scalar[0] = k\n", "    scalar[0] = add(k, k)\n"),
        "`f`: the host would have to compute a value of the graph"
    );
}

#[test]
fn divisions_are_those_of_the_language() {
    let mut walk = super::Walk {
        module: &tenfold_ir::Module::default(),
        kernels: &BTreeMap::new(),
        program: Program::default(),
        known: BTreeMap::new(),
        since: Vec::new(),
        guard: None,
    };
    let (a, b) = (walk.program.node(Node::Dim(0)), walk.program.node(Node::Dim(1)));
    let quotient = walk.euclidean(tenfold_ir::op::BinaryOp::DivEuclid, a, b);
    let rest = walk.euclidean(tenfold_ir::op::BinaryOp::RemEuclid, a, b);
    for (a, b) in [(7, 2), (-7, 2), (7, -2), (-7, -2), (6, -3), (-6, 3)] {
        let values = values(&walk.program, &[a, b]);
        let found = (values[quotient as usize], values[rest as usize]);
        assert_eq!(found, (i64::div_euclid(a, b), i64::rem_euclid(a, b)), "{a} by {b}");
    }
    let (x, y) = (walk.program.node(Node::Const(6)), walk.program.node(Node::Const(7)));
    let product = walk.of(Operation::Mul, x, y);
    assert_eq!(walk.program.nodes[product as usize], Node::Const(42));
}
