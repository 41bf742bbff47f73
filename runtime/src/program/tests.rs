//! Programs written by hand, whole and broken in each way.

use std::{vec, vec::Vec};

use tenfold_abi::{
    DType,
    program::{Access, Kernel, MAX_AXES, MapAxis, Operation, VERSION},
};

use super::*;

/// A copy of `n * 4` bytes by a kernel of 64 threads a group.
struct Written {
    counts: Counts,
    nodes: Vec<[u8; 16]>,
    buffers: Vec<[u8; 16]>,
    kernel: [u8; 48],
    steps: Vec<[u8; 32]>,
    args: Vec<[u8; 8]>,
    map: [u8; 80],
}

impl Written {
    fn new() -> Self {
        let floor = Operation::FloorDiv;
        let nodes = [
            Node::Dim(0),
            Node::Const(4),
            Node::Of(Operation::Mul, 0, 1),
            Node::Const(64),
            Node::Of(floor, 0, 3),
            Node::Const(1),
            Node::Const(-1),
            Node::Of(Operation::Lt, 6, 0),
            Node::Select(7, 0, 6),
        ];
        let buffer = |place, access| Buffer { place, dtype: DType::F32, access, bytes: 2 }.encode();
        let features = tenfold_abi::program::Feature::I64.bit();
        let (instead, settings) = (0, tenfold_abi::program::Setting::Subgroups.bit());
        let (name, code, local) = ((0, 4), (0, 20), [64, 1, 1]);
        let kernel = Kernel { name, code, local, subgroup: 0, features, instead, settings };
        let launch = Step::Launch { kernel: 0, grid: [4, 5, 5], shared: 1, args: (0, 5) };
        let args = [Arg::Buffer(0), Arg::Buffer(1), Arg::I32(0), Arg::Scalar(0, DType::F16), Arg::Map(0)];
        Self {
            counts: Counts {
                dims: 1,
                params: 1,
                results: 1,
                scalars: 1,
                workspace: 1,
                nodes: 9,
                buffers: 2,
                constants: 1,
                kernels: 1,
                steps: 3,
                args: 5,
                maps: 1,
                names: 4,
                code: 32,
            },
            nodes: nodes.map(Node::encode).into(),
            buffers: vec![buffer(Place::Param(0), Access::In), buffer(Place::Result(0), Access::Out)],
            kernel: kernel.encode(),
            steps: [Step::Check { holds: 7, check: 1 }, launch, Step::Barrier].map(Step::encode).into(),
            args: args.map(Arg::encode).into(),
            map: map().encode(),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let constant = 12_u128.to_le_bytes();
        let mut code = [7_u8; 32];
        code[20..].fill(0);
        let parts: [&[u8]; 10] = [
            &self.counts.encode(),
            self.nodes.as_flattened(),
            self.buffers.as_flattened(),
            &constant,
            &self.kernel,
            self.steps.as_flattened(),
            self.args.as_flattened(),
            &self.map,
            b"copy",
            &code,
        ];
        let mut out = Vec::new();
        for part in parts {
            out.extend_from_slice(part);
            out.resize(out.len().next_multiple_of(16), 0);
        }
        out
    }

    fn error(change: impl FnOnce(&mut Self)) -> ProgramError {
        let mut written = Self::new();
        change(&mut written);
        Program::read(&written.bytes()).expect_err("it is broken")
    }
}

/// Boxes of 8 lines of the first buffer.
fn map() -> Map {
    let mut axes = [MapAxis::default(); MAX_AXES];
    axes[0] = MapAxis { width: 64, extent: 3, stride: 0 };
    axes[1] = MapAxis { width: 8, extent: 0, stride: 3 };
    Map { buffer: 0, dtype: DType::BF16, rank: 2, axes }
}

#[test]
fn what_is_written_is_read() {
    let bytes = Written::new().bytes();
    let program = Program::read(&bytes).expect("it is whole");
    assert_eq!((program.dims(), program.params(), program.results(), program.scalars()), (1, 1, 1, 1));
    let kernels: Vec<_> = program.kernels().collect();
    let features = tenfold_abi::program::Feature::I64.bit();
    let (instead, settings) = (None, tenfold_abi::program::Setting::Subgroups.bit());
    let (name, code, local) = ("copy", &[7; 20], [64, 1, 1]);
    let kernel = ProgramKernel { name, code, local, subgroup: 0, features, instead, settings };
    assert_eq!(kernels, [kernel]);
    assert_eq!(program.constants().collect::<Vec<_>>(), [12]);
    assert_eq!(program.buffers().count(), 2);
    let steps: Vec<_> = program.steps().collect();
    let [Step::Check { holds: 7, check: 1 }, Step::Launch { kernel: 0, grid: [4, 5, 5], args, .. }, Step::Barrier] =
        steps[..]
    else {
        panic!("{steps:?}")
    };
    assert_eq!(program.args(args).nth(3), Some(Arg::Scalar(0, DType::F16)));
    assert_eq!(program.args(args).nth(4), Some(Arg::Map(0)));
    assert_eq!((program.map(0), program.map(1)), (Some(map()), None));
}

#[test]
fn expressions_are_computed() {
    let bytes = Written::new().bytes();
    let program = Program::read(&bytes).expect("it is whole");
    let mut values = [0; 9];
    assert_eq!(program.evaluate(&[130], &mut values), Ok(()));
    assert_eq!(values, [130, 4, 520, 64, 2, 1, -1, 1, 130]);
    assert_eq!(program.evaluate(&[-64], &mut values), Ok(()));
    assert_eq!(values, [-64, 4, -256, 64, -1, 1, -1, 0, -1]);
    assert_eq!(program.evaluate(&[i64::MAX], &mut values), Err(ProgramError::Overflow(2)));
    assert_eq!(program.evaluate(&[], &mut values), Err(ProgramError::Dims));
    assert_eq!(program.evaluate(&[1], &mut values[1..]), Err(ProgramError::Dims));
}

#[test]
fn operations_are_total() {
    for operation in Operation::ALL {
        for a in [i64::MIN, -7, -1, 0, 1, 7, i64::MAX] {
            for b in [i64::MIN, -7, -1, 0, 1, 7, i64::MAX] {
                // what matters is that there is an answer
                let none = operation.of(a, b).is_none();
                assert!(!none || b == 0 || a.unsigned_abs().max(b.unsigned_abs()) > 7, "{operation:?} of {a} and {b}");
            }
        }
    }
    assert_eq!(Operation::FloorDiv.of(-7, 2), Some(-4));
    assert_eq!((Operation::FloorMod.of(-7, 2), Operation::Rem.of(-7, 2)), (Some(1), Some(-1)));
}

#[test]
fn no_record_names_what_is_not_there() {
    let buffer = |place| Buffer { place, dtype: DType::F32, access: Access::In, bytes: 2 }.encode();
    type Case = (fn(&mut Written), ProgramError);
    let nodes: [Case; 5] = [
        (|it| it.nodes[2] = Node::Of(Operation::Mul, 0, 2).encode(), ProgramError::Node(2)),
        (|it| it.nodes[8] = Node::Select(7, 0, 9).encode(), ProgramError::Node(8)),
        (|it| it.nodes[0] = Node::Dim(1).encode(), ProgramError::Node(0)),
        (|it| it.nodes[0][0] = 40, ProgramError::Node(0)),
        (|it| it.counts.workspace = 9, ProgramError::Node(9)),
    ];
    for (at, (change, error)) in nodes.into_iter().enumerate() {
        assert_eq!(Written::error(change), error, "case {at}");
    }
    let places = [Place::Param(1), Place::Result(1), Place::Workspace(9), Place::Constant(1), Place::Scalar(1)];
    for place in places {
        assert_eq!(Written::error(|it| it.buffers[1] = buffer(place)), ProgramError::Buffer(1), "{place:?}");
    }
    let kernels: [Case; 5] = [
        (|it| it.kernel[4] = 40, ProgramError::Kernel(0)),
        (|it| it.kernel[12] = 33, ProgramError::Kernel(0)),
        (|it| it.kernel[8] = 4, ProgramError::Kernel(0)),
        (|it| it.kernel[16] = 0, ProgramError::Kernel(0)),
        (|it| it.kernel[47] = 1, ProgramError::Kernel(0)),
    ];
    for (at, (change, error)) in kernels.into_iter().enumerate() {
        assert_eq!(Written::error(change), error, "case {at}");
    }
    let launch = |kernel, grid, shared, args| Step::Launch { kernel, grid, shared, args }.encode();
    let steps = [
        launch(1, [1; 3], 1, (0, 5)),
        launch(0, [9; 3], 1, (0, 5)),
        launch(0, [1; 3], 9, (0, 5)),
        launch(0, [1; 3], 1, (0, 6)),
        launch(0, [1; 3], 1, (2, 1)),
        Step::Check { holds: 9, check: 1 }.encode(),
        Step::Check { holds: 1, check: 0 }.encode(),
        [3; 32],
    ];
    for step in steps {
        assert_eq!(Written::error(|it| it.steps[1] = step), ProgramError::Step(1), "{step:?}");
    }
    for arg in [Arg::Buffer(2), Arg::I32(9), Arg::I64(9), Arg::Scalar(1, DType::F32), Arg::Scalar(0, DType::F32)] {
        let last = arg == Arg::Scalar(0, DType::F32);
        let error = Written::error(|it| {
            it.args[1] = arg.encode();
            it.args[3][1] = if last { 200 } else { 12 };
        });
        assert_eq!(error, ProgramError::Arg(if last { 3 } else { 1 }), "{arg:?}");
    }
    assert_eq!(Written::error(|it| it.args[3] = Arg::Buffer(0).encode()), ProgramError::Arg(3));
    assert_eq!(Written::error(|it| it.args[2] = Arg::Map(0).encode()), ProgramError::Arg(3));
    assert_eq!(Written::error(|it| it.args[4] = Arg::Map(1).encode()), ProgramError::Arg(4));
}

#[test]
fn no_map_is_what_no_driver_takes() {
    let changes: [fn(&mut Map); 10] = [
        |it| it.buffer = 2,
        |it| it.dtype = DType::F32,
        |it| it.rank = 0,
        |it| it.rank = 1,
        |it| it.rank = 6,
        |it| it.axes[0].stride = 1,
        |it| it.axes[0].extent = 9,
        |it| it.axes[1].width = 257,
        |it| it.axes[1].width = 0,
        |it| it.axes[1].stride = 9,
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let mut it = map();
        change(&mut it);
        assert_eq!(Written::error(|written| written.map = it.encode()), ProgramError::Map(0), "change {at}");
    }
    assert_eq!(Written::error(|it| it.map[6] = 1), ProgramError::Map(0));
    assert_eq!(Written::error(|it| it.map[79] = 1), ProgramError::Map(0));
}

#[test]
fn damage_is_no_panic() {
    let whole = Written::new().bytes();
    for at in 0..whole.len() {
        assert!(Program::read(&whole[..at]).is_err(), "the first {at} bytes");
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            let Ok(program) = Program::read(&bytes) else { continue };
            let mut values = vec![0; program.nodes()];
            let _ = program.evaluate(&vec![5; program.dims()], &mut values);
            program.steps().for_each(drop);
        }
    }
    let mut other = whole.clone();
    other[0] = VERSION as u8 + 1;
    assert_eq!(Program::read(&other).unwrap_err(), ProgramError::Version(VERSION + 1));
    let longer = [&whole[..], &[0; 16]].concat();
    assert_eq!(Program::read(&longer).unwrap_err(), ProgramError::Length);
}
