//! A function of two kernels, as the compiler would hand it to the runtime, and its call.
#![allow(unsafe_code, reason = "the code of a device is vouched for by who made it, here a test")]

use tenfold::{Device, DeviceCode, DeviceTensor, Dyn, Error, Operands, ScalarBits, Status, Tensor};
use tenfold_abi::{
    DType,
    program::{Access, Arg, Buffer, Node, Operation, Place, Step},
};
use tenfold_core::{
    blob::{self, Module},
    program::{Code, Constant, Program},
};

use crate::spirv;

/// A tensor of one axis.
pub(crate) type Row<D> = DeviceTensor<D, f32, (Dyn,)>;

/// What the kernels add.
static SHIFT: [u8; 4] = 3.0_f32.to_le_bytes();
static CONSTANTS: [&[u8]; 1] = [&SHIFT];

/// What they add in a function whose program is the same.
static OTHER_SHIFT: [u8; 4] = 5.0_f32.to_le_bytes();
static OTHER_CONSTANTS: [&[u8]; 1] = [&OTHER_SHIFT];

/// `y = a * (a * x + 3) + 3`, by way of the workspace; `n` of the call must not be 7.
pub(crate) fn twice() -> Program {
    let mut program = Program { dims: 1, params: 1, results: 1, scalars: 1, ..Program::default() };
    let n = program.node(Node::Dim(0));
    let [zero, one, four, seven, last] =
        [0, 1, 4, 7, i64::from(spirv::GROUP) - 1].map(|value| program.node(Node::Const(value)));
    let bytes = program.node(Node::Of(Operation::Mul, n, four));
    let more = program.node(Node::Of(Operation::Add, n, last));
    let group = program.node(Node::Const(i64::from(spirv::GROUP)));
    let groups = program.node(Node::Of(Operation::FloorDiv, more, group));
    let not_seven = program.node(Node::Of(Operation::Ne, n, seven));
    let before = program.node(Node::Const(256));
    program.workspace = program.node(Node::Of(Operation::Add, before, bytes));
    let buffer = |place, access, bytes| Buffer { place, dtype: DType::F32, access, bytes };
    program.buffers = vec![
        buffer(Place::Param(0), Access::In, bytes),
        buffer(Place::Constant(0), Access::In, four),
        buffer(Place::Workspace(before), Access::InOut, bytes),
        buffer(Place::Result(0), Access::Out, bytes),
    ];
    program.constants = vec![Constant { hash: "shift".into(), bytes: 4 }];
    program.kernels = vec![kernel("scale", spirv::scale())];
    let launch = |args| Step::Launch { kernel: 0, grid: [groups, one, one], shared: zero, args };
    program.steps = vec![Step::Check { holds: not_seven, check: 1 }, launch((0, 5)), Step::Barrier, launch((5, 10))];
    let values = [Arg::I32(n), Arg::Scalar(0, DType::F32)];
    let args = |from, to| [Arg::Buffer(from), Arg::Buffer(1), Arg::Buffer(to), values[0], values[1]];
    program.args = [args(0, 2), args(2, 3)].concat();
    program
}

pub(crate) fn kernel(name: &str, code: Vec<u8>) -> Code {
    Code { name: name.into(), code, local: [spirv::GROUP, 1, 1], ..Code::default() }
}

/// What a program's binary would hold of it.
pub(crate) fn linked(program: &Program) -> DeviceCode {
    compiled(program, "spirv")
}

/// The same for devices that take this key.
pub(crate) fn compiled(program: &Program, key: &str) -> DeviceCode {
    both(program, key)[0]
}

/// Two functions of one blob: what they add is 3 and 5.
pub(crate) fn both(program: &Program, key: &str) -> [DeviceCode; 2] {
    let payload = program.write().expect("the program is small");
    let modules = [Module::host(vec![1]), Module { key: key.into(), payload, imports: vec![] }];
    codes(&blob::write(&modules).expect("modules make a blob"))
}

/// The bytes of a blob where they would be linked: aligned, and for ever.
pub(crate) fn code(blob: &[u8]) -> DeviceCode {
    codes(blob)[0]
}

fn codes(blob: &[u8]) -> [DeviceCode; 2] {
    let room: &'static mut [u8] = vec![0; blob.len() + 16].leak();
    let start = room.as_ptr().align_offset(16);
    let bytes = &mut room[start..start + blob.len()];
    bytes.copy_from_slice(blob);
    let bytes = &*bytes;
    // SAFETY: the kernel stays inside of its buffers, whose sizes the program says, and writes all of the last.
    unsafe { [DeviceCode::new(bytes, &CONSTANTS), DeviceCode::new(bytes, &OTHER_CONSTANTS)] }
}

/// Calls the function.
pub(crate) fn call<D: Device>(gpu: &D, code: DeviceCode, a: f32, x: &Row<D>, y: &mut Row<D>) -> Result<Status, Error> {
    let (params, results) = ([x.memory().expect("it has some")], [y.memory().expect("it has some")]);
    let scalars = [ScalarBits { dtype: DType::F32, bits: u64::from(a.to_bits()) }];
    let dims = [x.len() as i64];
    let operands = Operands { params: &params, results: &results, scalars: &scalars, dims: &dims };
    // SAFETY: `x` is borrowed to be read and `y` to be written.
    unsafe { gpu.run(code, &operands) }
}

/// A row of so many numbers.
pub(crate) fn row(n: usize) -> Tensor<f32, (Dyn,)> {
    (0..n).map(|at| at as f32 / 8.0).collect::<Vec<_>>().into()
}

/// Uploads a row, calls the function with it, and compares what comes back.
pub(crate) fn check<D: Device>(gpu: &D, code: DeviceCode, n: usize) -> Result<(), Error> {
    check_shift(gpu, code, n, 3.0)
}

/// The same for a function that adds another number.
pub(crate) fn check_shift<D: Device>(gpu: &D, code: DeviceCode, n: usize, shift: f32) -> Result<(), Error> {
    let x = row(n);
    let there = DeviceTensor::upload(gpu, x.view())?;
    let mut y = Row::zeros(gpu, [n])?;
    assert_eq!(call(gpu, code, 2.0, &there, &mut y)?, Status::OK);
    let y = y.download(gpu)?;
    let expected = x.as_slice().iter().map(|x| 2.0 * (2.0 * x + shift) + shift);
    assert!(y.as_slice().iter().copied().eq(expected), "{n} elements, {shift} added");
    Ok(())
}
