//! Reads programs for devices: the payloads of a blob's modules.
//!
//! The layout stands in [`tenfold_abi::program`]. The reader copies nothing, needs no allocator and trusts nothing: every
//! number that it hands out was checked in [`Program::read`] to lie inside of what it counts. It must not know any device.

use core::fmt;

use tenfold_abi::program::{Arg, Buffer, Counts, HEADER, MAX_OPERANDS, Map, Node, Place, Step, VERSION};

/// Kernels, the buffers that they use, and the steps of a call, in bytes that were checked.
///
/// ```
/// use tenfold::program::{Program, ProgramError};
///
/// assert_eq!(Program::read(b"no program").unwrap_err(), ProgramError::TooShort);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    counts: Counts,
    nodes: &'a [[u8; 16]],
    buffers: &'a [[u8; 16]],
    constants: &'a [[u8; 16]],
    kernels: &'a [[u8; 48]],
    steps: &'a [[u8; 32]],
    args: &'a [[u8; 8]],
    maps: &'a [[u8; 80]],
    names: &'a [u8],
    code: &'a [u8],
}

/// A kernel of a [`Program`].
///
/// ```
/// use tenfold::program::ProgramKernel;
///
/// let (instead, settings) = (None, 0);
/// let kernel =
///     ProgramKernel { name: "scale", code: &[], local: [64, 1, 1], subgroup: 0, features: 0, instead, settings };
/// assert_eq!(kernel.threads(), 64);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramKernel<'a> {
    /// What it is called in messages.
    pub name: &'a str,
    /// Its code, at a multiple of 16 of the program.
    pub code: &'a [u8],
    /// Threads of a group along x, y and z; none is 0.
    pub local: [u32; 3],
    /// How many threads a subgroup must have; 0 if any number will do.
    pub subgroup: u32,
    /// What the device must be able to do: a bit per [`Feature`](tenfold_abi::program::Feature).
    pub features: u64,
    /// The number of the kernel that takes its place on devices which lack a feature of it, greater than its own.
    pub instead: Option<u32>,
    /// The constants that are set when a device makes it ready: a bit per [`Setting`](tenfold_abi::program::Setting).
    pub settings: u32,
}

impl ProgramKernel<'_> {
    /// How many threads a group has.
    pub fn threads(&self) -> u64 {
        self.local.iter().fold(1, |all, n| u64::saturating_mul(all, u64::from(*n)))
    }
}

/// Why bytes are no program, or why one cannot be called with these extents.
///
/// ```
/// use tenfold::program::{Program, ProgramError};
///
/// assert_eq!(Program::read(&[9; 64]).unwrap_err(), ProgramError::Version(0x0909_0909));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramError {
    /// There is no whole header.
    TooShort,
    /// The program was written by another version.
    Version(u32),
    /// The parts that the header counts are not what there is.
    Length,
    /// What should be zero is not.
    Padding,
    /// Expression number so and so is none, or is made of what does not stand before it.
    Node(usize),
    /// Buffer number so and so is none, or lies where nothing is.
    Buffer(usize),
    /// The size of constant number so and so is too large for this machine.
    Constant(usize),
    /// Kernel number so and so is none: its name, its code or its number of threads.
    Kernel(usize),
    /// Step number so and so is none, or starts what is not there.
    Step(usize),
    /// Argument number so and so is none, is what is not there, or is a buffer behind a value or a value behind a map.
    Arg(usize),
    /// Map number so and so is none, or is of what is not there.
    Map(usize),
    /// The value of expression number so and so does not fit into 64 bits, or has a divisor of 0.
    Overflow(usize),
    /// Another number of dims is given than the program has, or it has more operands than any function.
    Dims,
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort => write!(f, "a program has a header of {HEADER} bytes, and there are fewer"),
            Self::Version(found) => write!(f, "the program has version {found}, and version {VERSION} is read"),
            Self::Length => f.write_str("the program's parts are not as long as its header says"),
            Self::Padding => f.write_str("bytes between the program's parts are not zero"),
            Self::Node(at) => write!(f, "expression {at} of the program is none"),
            Self::Buffer(at) => write!(f, "buffer {at} of the program is none"),
            Self::Constant(at) => write!(f, "constant {at} of the program is too large for this machine"),
            Self::Kernel(at) => write!(f, "kernel {at} of the program is none"),
            Self::Step(at) => write!(f, "step {at} of the program is none"),
            Self::Arg(at) => write!(f, "argument {at} of the program is none"),
            Self::Map(at) => write!(f, "map {at} of the program is none"),
            Self::Overflow(at) => write!(f, "expression {at} of the program is too large for these extents"),
            Self::Dims => f.write_str("the program has another number of operands than are given, or too many"),
        }
    }
}

impl core::error::Error for ProgramError {}

impl<'a> Program<'a> {
    /// Checks all of `payload`: that its parts are as long as they should be, and that no record names what is not there.
    ///
    /// # Errors
    /// What is wrong first.
    pub fn read(payload: &'a [u8]) -> Result<Self, ProgramError> {
        let (header, rest) = payload.split_first_chunk::<HEADER>().ok_or(ProgramError::TooShort)?;
        let version = header.first_chunk().map_or(0, |word| u32::from_le_bytes(*word));
        if version != VERSION {
            return Err(ProgramError::Version(version));
        }
        let counts = Counts::decode(header).ok_or(ProgramError::Padding)?;
        if [counts.dims, counts.params, counts.results, counts.scalars].iter().any(|n| *n > MAX_OPERANDS) {
            return Err(ProgramError::Dims);
        }
        let program = Self::split(counts, rest)?;
        program.check_nodes()?;
        program.check_buffers()?;
        program.check_kernels()?;
        program.check_args()?;
        program.check_maps()?;
        program.check_steps()?;
        Ok(program)
    }

    /// How many dims a call gives: named dims that are not fixed, then index parameters.
    pub fn dims(&self) -> usize {
        self.counts.dims as usize
    }

    /// How many parameters are tensors.
    pub fn params(&self) -> usize {
        self.counts.params as usize
    }

    /// How many results there are.
    pub fn results(&self) -> usize {
        self.counts.results as usize
    }

    /// How many parameters are scalars.
    pub fn scalars(&self) -> usize {
        self.counts.scalars as usize
    }

    /// The number of the expression that says how many bytes the workspace has.
    pub fn workspace(&self) -> usize {
        self.counts.workspace as usize
    }

    /// How many expressions there are.
    pub fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Buffer number so and so.
    pub fn buffer(&self, index: u32) -> Option<Buffer> {
        Buffer::decode(self.buffers.get(index as usize)?)
    }

    /// The buffers, in the order of their numbers.
    pub fn buffers(&self) -> impl Iterator<Item = Buffer> + use<'a> {
        self.buffers.iter().filter_map(Buffer::decode)
    }

    /// How many bytes each constant has.
    pub fn constants(&self) -> impl Iterator<Item = usize> + use<'a> {
        self.constants.iter().filter_map(constant)
    }

    /// The kernels, in the order of their numbers.
    pub fn kernels(&self) -> impl Iterator<Item = ProgramKernel<'a>> + use<'a> {
        let program = *self;
        self.kernels.iter().filter_map(move |record| program.kernel(record))
    }

    /// The steps of a call, in their order.
    pub fn steps(&self) -> impl Iterator<Item = Step> + use<'a> {
        self.steps.iter().filter_map(Step::decode)
    }

    /// The arguments of a launch: buffers, then values.
    pub fn args(&self, (first, end): (u32, u32)) -> impl Iterator<Item = Arg> + use<'a> {
        let args = self.args.get(first as usize..end as usize).unwrap_or(&[]);
        args.iter().filter_map(Arg::decode)
    }

    /// The map of that number.
    pub fn map(&self, number: u32) -> Option<Map> {
        Map::decode(self.maps.get(number as usize)?)
    }

    /// Writes the value of each expression for the dims of a call into `values`, which has room for [`Program::nodes`].
    ///
    /// # Errors
    /// A value that does not fit, or another number of dims or values.
    pub fn evaluate(&self, dims: &[i64], values: &mut [i64]) -> Result<(), ProgramError> {
        if dims.len() != self.dims() || values.len() != self.nodes.len() {
            return Err(ProgramError::Dims);
        }
        for (at, record) in self.nodes.iter().enumerate() {
            let known = |n: u32| values.get(n as usize).copied();
            let value = value(record, dims, known).ok_or(ProgramError::Overflow(at))?;
            values.get_mut(at).into_iter().for_each(|it| *it = value);
        }
        Ok(())
    }

    /// The value of each expression that fits and rests on none that does not.
    #[cfg(any(feature = "cuda", feature = "vulkan"))]
    pub(crate) fn known(&self, dims: &[i64]) -> alloc::vec::Vec<Option<i64>> {
        let mut values = alloc::vec::Vec::with_capacity(self.nodes.len());
        for record in self.nodes {
            let found = value(record, dims, |n| values.get(n as usize).copied().flatten());
            values.push(found);
        }
        values
    }

    fn split(counts: Counts, rest: &'a [u8]) -> Result<Self, ProgramError> {
        let mut parts = Parts(rest);
        let nodes = parts.records(counts.nodes)?;
        let buffers = parts.records(counts.buffers)?;
        let constants = parts.records(counts.constants)?;
        let kernels = parts.records(counts.kernels)?;
        let steps = parts.records(counts.steps)?;
        let args = parts.records(counts.args)?;
        let maps = parts.records(counts.maps)?;
        let names = parts.records::<1>(counts.names)?.as_flattened();
        let code = parts.records::<1>(counts.code)?.as_flattened();
        match parts.0 {
            [] => Ok(Self { counts, nodes, buffers, constants, kernels, steps, args, maps, names, code }),
            _ => Err(ProgramError::Length),
        }
    }

    fn check_nodes(&self) -> Result<(), ProgramError> {
        for (at, record) in self.nodes.iter().enumerate() {
            let fits = Node::decode(record).is_some_and(|node| {
                let dim = !matches!(node, Node::Dim(dim) if dim >= self.counts.dims);
                dim && node.operands().all(|operand| (operand as usize) < at)
            });
            if !fits {
                return Err(ProgramError::Node(at));
            }
        }
        if self.counts.workspace < self.counts.nodes { Ok(()) } else { Err(ProgramError::Node(self.workspace())) }
    }

    fn check_buffers(&self) -> Result<(), ProgramError> {
        let Counts { nodes, params, results, scalars, constants, .. } = self.counts;
        for (at, record) in self.buffers.iter().enumerate() {
            let fits = Buffer::decode(record).is_some_and(|buffer| {
                let (index, count) = match buffer.place {
                    Place::Param(n) => (n, params),
                    Place::Result(n) => (n, results),
                    Place::Workspace(n) => (n, nodes),
                    Place::Constant(n) => (n, constants),
                    Place::Scalar(n) => (n, scalars),
                };
                index < count && buffer.bytes < nodes
            });
            if !fits {
                return Err(ProgramError::Buffer(at));
            }
        }
        match self.constants.iter().position(|record| constant(record).is_none()) {
            Some(at) => Err(ProgramError::Constant(at)),
            None => Ok(()),
        }
    }

    fn check_kernels(&self) -> Result<(), ProgramError> {
        for (at, record) in self.kernels.iter().enumerate() {
            let kernel = self.kernel(record).ok_or(ProgramError::Kernel(at))?;
            let stands_in = |n: u32| n as usize > at && n < self.counts.kernels;
            if !kernel.instead.is_none_or(stands_in) {
                return Err(ProgramError::Kernel(at));
            }
        }
        Ok(())
    }

    fn kernel(&self, record: &[u8; 48]) -> Option<ProgramKernel<'a>> {
        let kernel = tenfold_abi::program::Kernel::decode(record)?;
        let range = |(begin, len): (u32, u32)| Some(begin as usize..(begin as usize).checked_add(len as usize)?);
        let name = core::str::from_utf8(self.names.get(range(kernel.name)?)?).ok()?;
        let code = self.code.get(range(kernel.code)?)?;
        let whole = kernel.code.0.is_multiple_of(16) && !name.is_empty() && !kernel.local.contains(&0);
        let tenfold_abi::program::Kernel { local, subgroup, features, settings, .. } = kernel;
        let instead = kernel.instead.checked_sub(1);
        whole.then_some(ProgramKernel { name, code, local, subgroup, features, instead, settings })
    }

    fn check_args(&self) -> Result<(), ProgramError> {
        let Counts { nodes, buffers, scalars, maps, .. } = self.counts;
        let fits = |arg| match arg {
            Arg::Buffer(n) => n < buffers,
            Arg::I32(n) | Arg::I64(n) => n < nodes,
            Arg::Scalar(n, _) => n < scalars,
            Arg::Map(n) => n < maps,
        };
        match self.args.iter().position(|record| !Arg::decode(record).is_some_and(fits)) {
            Some(at) => Err(ProgramError::Arg(at)),
            None => Ok(()),
        }
    }

    fn check_steps(&self) -> Result<(), ProgramError> {
        let Counts { nodes, kernels, args, .. } = self.counts;
        for (at, record) in self.steps.iter().enumerate() {
            let step = Step::decode(record).ok_or(ProgramError::Step(at))?;
            let fits = match step {
                Step::Launch { kernel, grid, shared, args: (first, end) } => {
                    self.check_order(first, end)?;
                    kernel < kernels && grid.iter().all(|n| *n < nodes) && shared < nodes && first <= end && end <= args
                }
                Step::Barrier => true,
                Step::Check { holds, check } => holds < nodes && check != 0,
            };
            if !fits {
                return Err(ProgramError::Step(at));
            }
        }
        Ok(())
    }

    /// That no buffer stands behind a value, and neither behind a map.
    fn check_order(&self, first: u32, end: u32) -> Result<(), ProgramError> {
        let place = |arg| match arg {
            Arg::Buffer(_) => 0,
            Arg::I32(_) | Arg::I64(_) | Arg::Scalar(..) => 1,
            Arg::Map(_) => 2,
        };
        let mut before = 0;
        for (at, arg) in self.args((first, end)).enumerate() {
            if place(arg) < before {
                return Err(ProgramError::Arg((first as usize).saturating_add(at)));
            }
            before = place(arg);
        }
        Ok(())
    }

    fn check_maps(&self) -> Result<(), ProgramError> {
        let Counts { nodes, buffers, .. } = self.counts;
        let fits = |map: Map| {
            let nodes = map.axes.iter().all(|axis| axis.extent < nodes && axis.stride < nodes);
            map.buffer < buffers && nodes
        };
        match self.maps.iter().position(|record| !Map::decode(record).is_some_and(fits)) {
            Some(at) => Err(ProgramError::Map(at)),
            None => Ok(()),
        }
    }
}

/// The value of a node, those before it known.
fn value(record: &[u8; 16], dims: &[i64], of: impl Fn(u32) -> Option<i64>) -> Option<i64> {
    match Node::decode(record)? {
        Node::Const(value) => Some(value),
        Node::Dim(dim) => dims.get(dim as usize).copied(),
        Node::Of(operation, a, b) => operation.of(of(a)?, of(b)?),
        Node::Select(condition, a, b) => of(if of(condition)? != 0 { a } else { b }),
    }
}

/// How many bytes a constant has.
fn constant(record: &[u8; 16]) -> Option<usize> {
    let (len, rest) = record.split_first_chunk::<8>()?;
    let zero = rest.iter().all(|byte| *byte == 0);
    usize::try_from(u64::from_le_bytes(*len)).ok().filter(|_| zero)
}

/// What is left of a program's bytes behind the parts that were taken.
struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    /// The next part: so many records, then zeros up to a multiple of 16.
    fn records<const BYTES: usize>(&mut self, count: u32) -> Result<&'a [[u8; BYTES]], ProgramError> {
        let len = (count as usize).checked_mul(BYTES).ok_or(ProgramError::Length)?;
        let padded = len.checked_next_multiple_of(16).ok_or(ProgramError::Length)?;
        let (part, rest) = self.0.split_at_checked(padded).ok_or(ProgramError::Length)?;
        let (records, zeros) = part.split_at_checked(len).ok_or(ProgramError::Length)?;
        if zeros.iter().any(|byte| *byte != 0) {
            return Err(ProgramError::Padding);
        }
        self.0 = rest;
        Ok(records.as_chunks().0)
    }
}

#[cfg(test)]
mod tests;
