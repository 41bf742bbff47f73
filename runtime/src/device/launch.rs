//! What every device does with a call before it submits anything: programs are bound to memory, and what each launch is
//! given is computed and checked.

use alloc::{vec, vec::Vec};

use tenfold_abi::{
    DType,
    program::{Arg, Buffer, Map, MapAxis, Place, Step, WORKSPACE_ALIGN},
};

use super::{DeviceFault, Operands};
use crate::{
    Status,
    program::{Program, ProgramError},
};

/// Where the memory of a call comes from.
pub(super) trait Room {
    /// Memory that can be held more than once.
    type Memory: Clone;

    /// So many bytes for intermediates.
    fn workspace(&self, bytes: u64) -> Result<Self::Memory, DeviceFault>;

    /// Memory that holds these 8 bytes.
    fn scalar(&self, bits: u64) -> Result<Self::Memory, DeviceFault>;

    /// How many bytes this device has there; none if the memory is another's.
    fn bytes(&self, memory: &Self::Memory) -> Option<u64>;
}

/// A part of memory.
#[derive(Clone, Debug)]
pub(super) struct Bound<M> {
    pub(super) memory: M,
    pub(super) offset: u64,
    #[cfg_attr(not(feature = "vulkan"), expect(dead_code, reason = "an address needs no size"))]
    pub(super) bytes: u64,
}

/// A launch that has something to do, in numbers.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub(super) kernel: u32,
    /// Groups, more than 0 along each axis.
    pub(super) grid: [i64; 3],
    /// Bytes of shared memory that the call decides.
    pub(super) shared: i64,
    /// Numbers of the program's buffers.
    pub(super) buffers: Vec<u32>,
    /// Bits of whole numbers with their sign in 64, of other scalars as they are.
    pub(super) values: Vec<u64>,
    /// Tensors that are described behind these.
    pub(super) maps: Vec<Tensor>,
    /// Whether what came before must be done.
    pub(super) waits: bool,
}

/// A tensor of which a kernel copies boxes.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "no other device has them"))]
pub(super) struct Tensor {
    /// The number of the program's buffer.
    pub(super) buffer: u32,
    pub(super) dtype: DType,
    /// The innermost axis first.
    pub(super) axes: Vec<Axis>,
}

/// An axis of a tensor, in numbers.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "no other device has them"))]
pub(super) struct Axis {
    /// Elements of a box.
    pub(super) width: u32,
    /// Elements of the tensor.
    pub(super) extent: u64,
    /// Bytes from one to the next; of the innermost axis those of an element.
    pub(super) stride: u64,
}

/// The tensor of a map in a call, which lies in its buffer.
fn tensor(program: &Program<'_>, map: Map, values: &[i64]) -> Result<Tensor, DeviceFault> {
    let element = map.dtype.size_bytes() as u64;
    let of = |(n, axis): (usize, &MapAxis)| {
        let stride = if n == 0 { element } else { size(values, axis.stride)? };
        Ok(Axis { width: axis.width, extent: size(values, axis.extent)?, stride })
    };
    let axes = map.axes.iter().take(map.rank.into()).enumerate().map(of).collect::<Result<Vec<_>, _>>()?;
    let buffer = program.buffer(map.buffer).ok_or(DeviceFault::Operands)?;
    let last = axes
        .iter()
        .try_fold(element, |bytes, axis| bytes.checked_add(axis.extent.checked_sub(1)?.checked_mul(axis.stride)?));
    let inside = last.is_some_and(|end| size(values, buffer.bytes).is_ok_and(|bytes| end <= bytes));
    if inside { Ok(Tensor { buffer: map.buffer, dtype: map.dtype, axes }) } else { Err(DeviceFault::Operands) }
}

/// A call whose numbers are known and whose memory is bound.
pub(super) struct Call<M> {
    /// The program's buffers.
    pub(super) buffers: Vec<Bound<M>>,
    /// The launches that have something to do.
    pub(super) starts: Vec<Start>,
}

/// What a call of a program is to do; or the status of the first check that does not hold.
pub(super) fn prepare<R: Room>(
    room: &R,
    program: &Program<'static>,
    constants: &[Option<R::Memory>],
    operands: &Operands<'_, R::Memory>,
) -> Result<Result<Call<R::Memory>, Status>, DeviceFault> {
    let values = match numbers(program, operands.dims)? {
        Ok(values) => values,
        Err(status) => return Ok(Err(status)),
    };
    let starts = starts(program, operands.scalars, &values)?;
    Ok(Ok(Call { buffers: bind(room, program, constants, operands, &values)?, starts }))
}

/// The expressions of a program for the dims of a call; or the status of the first check that does not hold, also where
/// expressions do not fit: a check may be there to say why.
fn numbers(program: &Program<'_>, dims: &[i64]) -> Result<Result<Vec<i64>, Status>, DeviceFault> {
    let mut values = vec![0; program.nodes()];
    let failed = match program.evaluate(dims, &mut values) {
        Ok(()) => first_failed(program, |node| Some(value(&values, node))),
        Err(ProgramError::Overflow(at)) => {
            let known = program.known(dims);
            let failed = first_failed(program, |node| known.get(node as usize).copied().flatten());
            Some(failed.ok_or(DeviceFault::Program(ProgramError::Overflow(at)))?)
        }
        Err(why) => return Err(DeviceFault::Program(why)),
    };
    Ok(failed.map_or(Ok(values), Err))
}

/// The status of the first check that is known not to hold.
fn first_failed(program: &Program<'_>, value: impl Fn(u32) -> Option<i64>) -> Option<Status> {
    program.steps().find_map(|step| match step {
        Step::Check { holds, check } if value(holds) == Some(0) => {
            Some(Status(i32::try_from(check).unwrap_or(i32::MAX)))
        }
        Step::Check { .. } | Step::Launch { .. } | Step::Barrier => None,
    })
}

fn value(values: &[i64], node: u32) -> i64 {
    values.get(node as usize).copied().unwrap_or(0)
}

fn size(values: &[i64], node: u32) -> Result<u64, DeviceFault> {
    u64::try_from(value(values, node)).map_err(|_| DeviceFault::Operands)
}

/// Binds each buffer of a program to memory of the device that has as many bytes as it should.
fn bind<R: Room>(
    room: &R,
    program: &Program<'_>,
    constants: &[Option<R::Memory>],
    operands: &Operands<'_, R::Memory>,
    values: &[i64],
) -> Result<Vec<Bound<R::Memory>>, DeviceFault> {
    let given = [operands.params.len(), operands.results.len(), operands.scalars.len()];
    if given != [program.params(), program.results(), program.scalars()] {
        return Err(DeviceFault::Operands);
    }
    let needed = size(values, program.workspace() as u32)?;
    // Parts of a workspace may be empty, and lie somewhere all the same.
    let uses = program.buffers().any(|buffer| matches!(buffer.place, Place::Workspace(_)));
    let workspace = if uses { Some(room.workspace(needed.max(1))?) } else { None };
    let mut all = Vec::new();
    for buffer in program.buffers() {
        let bytes = size(values, buffer.bytes)?;
        let bound = match buffer.place {
            Place::Workspace(at) => {
                let offset = size(values, at)?;
                let end = offset.checked_add(bytes).filter(|end| *end <= needed);
                let whole = end.is_some() && offset.is_multiple_of(WORKSPACE_ALIGN as u64);
                let memory = workspace.clone().filter(|_| whole).ok_or(DeviceFault::Operands)?;
                // An empty part may lie at the end, where no device binds anything.
                Bound { memory, offset: if bytes == 0 { 0 } else { offset }, bytes }
            }
            _ => Bound { memory: whole(room, buffer, constants, operands, bytes)?, offset: 0, bytes },
        };
        let has = room.bytes(&bound.memory).ok_or(DeviceFault::OtherDevice)?;
        if bound.offset.checked_add(bytes).is_none_or(|end| end > has) {
            return Err(DeviceFault::Operands);
        }
        all.push(bound);
    }
    Ok(all)
}

/// The memory of a buffer that has its own.
fn whole<R: Room>(
    room: &R,
    buffer: Buffer,
    constants: &[Option<R::Memory>],
    operands: &Operands<'_, R::Memory>,
    bytes: u64,
) -> Result<R::Memory, DeviceFault> {
    let operand = |all: &[(&R::Memory, usize)], at: u32| {
        let found = all.get(at as usize).filter(|(_, has)| *has as u64 == bytes);
        found.map(|(memory, _)| (*memory).clone())
    };
    let memory = match buffer.place {
        Place::Param(at) => operand(operands.params, at),
        Place::Result(at) => operand(operands.results, at),
        Place::Constant(at) => constants.get(at as usize).cloned().flatten(),
        Place::Scalar(at) => match operands.scalars.get(at as usize) {
            Some(scalar) => Some(room.scalar(scalar.bits)?),
            None => None,
        },
        Place::Workspace(_) => None,
    };
    memory.ok_or(DeviceFault::Operands)
}

/// The launches of a call that have something to do.
fn starts(
    program: &Program<'static>,
    scalars: &[super::ScalarBits],
    values: &[i64],
) -> Result<Vec<Start>, DeviceFault> {
    let (mut all, mut waits) = (Vec::new(), false);
    for step in program.steps() {
        match step {
            Step::Barrier => waits = true,
            Step::Check { .. } => {}
            Step::Launch { kernel, grid, shared, args } => {
                let grid = grid.map(|node| value(values, node));
                if grid.iter().any(|n| *n <= 0) {
                    continue;
                }
                let found = program.kernels().nth(kernel as usize).ok_or(DeviceFault::Operands)?;
                let limit = "elements along an axis";
                let wide = DeviceFault::Launch { kernel: found.name, grid, block: found.local, limit };
                let (mut buffers, mut given, mut maps) = (Vec::new(), Vec::new(), Vec::new());
                for arg in program.args(args) {
                    match arg {
                        Arg::Buffer(at) => buffers.push(at),
                        Arg::I32(node) if i32::try_from(value(values, node)).is_err() => return Err(wide),
                        Arg::I32(node) | Arg::I64(node) => given.push(value(values, node) as u64),
                        Arg::Scalar(at, dtype) => {
                            let scalar = scalars.get(at as usize).filter(|scalar| scalar.dtype == dtype);
                            given.push(scalar.ok_or(DeviceFault::Operands)?.bits);
                        }
                        Arg::Map(at) => {
                            let map = program.map(at).ok_or(DeviceFault::Operands)?;
                            maps.push(tensor(program, map, values)?);
                        }
                    }
                }
                let shared = value(values, shared);
                all.push(Start { kernel, grid, shared, buffers, values: given, maps, waits });
                waits = false;
            }
        }
    }
    Ok(all)
}
