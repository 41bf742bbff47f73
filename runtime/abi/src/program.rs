//! The layout of a program for a device: what a function does there, as the payload of one module of a
//! [`blob`](crate::blob).
//!
//! A program is kernels and the steps of a call: which kernel starts with how many groups on which buffers. What depends
//! on the call's extents is an expression over them. All numbers are little-endian; a record's unused bytes are 0.
//!
//! | bytes | what, each part at a multiple of 16 |
//! |---|---|
//! | [`HEADER`] | [`VERSION`], then 4 bytes each for the numbers of [`Counts`] in its order, then zeros |
//! | 16 each | expressions: [`Node`]s, each over nodes before it |
//! | 16 each | [`Buffer`]s |
//! | 16 each | constants: how many bytes each has, in 8 bytes |
//! | 48 each | [`Kernel`]s |
//! | 32 each | [`Step`]s |
//! | 8 each | [`Arg`]s, those of one launch side by side: buffers, then values, then maps |
//! | 80 each | [`Map`]s |
//! | … | the names of kernels, one behind the other |
//! | … | the code of kernels, each at a multiple of 16 |

use crate::DType;

/// The layout described here.
pub const VERSION: u32 = 3;

/// How many bytes the header has.
pub const HEADER: usize = 64;

/// Where parts of a workspace begin: at multiples of this, the most that a device may ask of a buffer's offset.
pub const WORKSPACE_ALIGN: usize = 256;

/// The greatest number of dims, of parameters of a kind, and of results.
pub const MAX_OPERANDS: u32 = 4096;

/// How many of each there are: the header's numbers behind the version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Named dims that are not fixed and index parameters, which a call gives: what [`Node::Dim`] counts.
    pub dims: u32,
    /// Parameters that are tensors.
    pub params: u32,
    /// Results.
    pub results: u32,
    /// Parameters that are scalars.
    pub scalars: u32,
    /// The expression that says how many bytes the workspace has.
    pub workspace: u32,
    /// Expressions.
    pub nodes: u32,
    /// Buffers.
    pub buffers: u32,
    /// Constants.
    pub constants: u32,
    /// Kernels.
    pub kernels: u32,
    /// Steps.
    pub steps: u32,
    /// Arguments of all launches.
    pub args: u32,
    /// Maps of tensors.
    pub maps: u32,
    /// Bytes of names.
    pub names: u32,
    /// Bytes of code, padding included.
    pub code: u32,
}

/// How many numbers [`Counts`] has.
const COUNTS: usize = 14;

impl Counts {
    /// The header.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER] {
        let Self { dims, params, results, scalars, workspace, nodes, buffers, constants, .. } = *self;
        let Self { kernels, steps, args, maps, names, code, .. } = *self;
        let counts: [u32; COUNTS] = [
            dims, params, results, scalars, workspace, nodes, buffers, constants, kernels, steps, args, maps, names,
            code,
        ];
        let mut words = [0; HEADER / 4];
        words[0] = VERSION;
        words[1..=COUNTS].copy_from_slice(&counts);
        bytes(words)
    }

    /// The numbers of a header: `None` if unused bytes are not 0. The version is not looked at.
    #[must_use]
    pub fn decode(header: &[u8; HEADER]) -> Option<Self> {
        let words: [u32; HEADER / 4] = words(header);
        let [_, dims, params, results, scalars, workspace, nodes, buffers, constants, ..] = words;
        let [.., kernels, steps, args, maps, names, code, 0] = words else { return None };
        Some(Self {
            dims,
            params,
            results,
            scalars,
            workspace,
            nodes,
            buffers,
            constants,
            kernels,
            steps,
            args,
            maps,
            names,
            code,
        })
    }
}

/// What a [`Node`] makes of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Operation {
    /// The sum.
    Add = 2,
    /// The difference.
    Sub = 3,
    /// The product.
    Mul = 4,
    /// The quotient, rounded down.
    FloorDiv = 5,
    /// What [`Operation::FloorDiv`] leaves.
    FloorMod = 6,
    /// The quotient, rounded towards 0.
    Div = 7,
    /// What [`Operation::Div`] leaves.
    Rem = 8,
    /// The smaller.
    Min = 9,
    /// The greater.
    Max = 10,
    /// 1 if the first is less, else 0.
    Lt = 11,
    /// 1 if the first is not greater, else 0.
    Le = 12,
    /// 1 if they are equal, else 0.
    Eq = 13,
    /// 1 if they differ, else 0.
    Ne = 14,
    /// 1 if neither is 0, else 0.
    And = 15,
    /// 1 if one is not 0, else 0.
    Or = 16,
}

impl Operation {
    /// All of them, in the order of their codes.
    pub const ALL: [Self; 15] = [
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::FloorDiv,
        Self::FloorMod,
        Self::Div,
        Self::Rem,
        Self::Min,
        Self::Max,
        Self::Lt,
        Self::Le,
        Self::Eq,
        Self::Ne,
        Self::And,
        Self::Or,
    ];

    /// The result; `None` if it does not fit into 64 bits, or a divisor is 0.
    ///
    /// ```
    /// use tenfold_abi::program::Operation;
    ///
    /// assert_eq!(Operation::FloorDiv.of(-7, 2), Some(-4));
    /// assert_eq!(Operation::Div.of(7, 0), None);
    /// ```
    #[must_use]
    pub fn of(self, a: i64, b: i64) -> Option<i64> {
        match self {
            Self::Add => a.checked_add(b),
            Self::Sub => a.checked_sub(b),
            Self::Mul => a.checked_mul(b),
            Self::FloorDiv => {
                let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
                Some(if rest != 0 && (rest < 0) != (b < 0) { quotient - 1 } else { quotient })
            }
            Self::FloorMod => {
                let rest = a.checked_rem(b)?;
                Some(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
            }
            Self::Div => a.checked_div(b),
            Self::Rem => a.checked_rem(b),
            Self::Min => Some(a.min(b)),
            Self::Max => Some(a.max(b)),
            Self::Lt => Some(i64::from(a < b)),
            Self::Le => Some(i64::from(a <= b)),
            Self::Eq => Some(i64::from(a == b)),
            Self::Ne => Some(i64::from(a != b)),
            Self::And => Some(i64::from(a != 0 && b != 0)),
            Self::Or => Some(i64::from(a != 0 || b != 0)),
        }
    }
}

/// An expression over the extents of a call, in 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Node {
    /// A number.
    Const(i64),
    /// What the call gives for this dim.
    Dim(u32),
    /// Of two nodes before this one.
    Of(Operation, u32, u32),
    /// The second if the first is not 0, else the third.
    Select(u32, u32, u32),
}

impl Node {
    const CONST: u32 = 0;
    const DIM: u32 = 1;
    const SELECT: u32 = 17;

    /// Its record.
    #[must_use]
    pub fn encode(self) -> [u8; 16] {
        bytes(match self {
            Self::Const(value) => [Self::CONST, value as u32, (value >> 32) as u32, 0],
            Self::Dim(dim) => [Self::DIM, dim, 0, 0],
            Self::Of(operation, a, b) => [operation as u32, a, b, 0],
            Self::Select(condition, a, b) => [Self::SELECT, condition, a, b],
        })
    }

    /// The node of a record, if it is one.
    #[must_use]
    pub fn decode(record: &[u8; 16]) -> Option<Self> {
        match words(record) {
            [Self::CONST, low, high, 0] => Some(Self::Const((u64::from(low) | u64::from(high) << 32) as i64)),
            [Self::DIM, dim, 0, 0] => Some(Self::Dim(dim)),
            [Self::SELECT, condition, a, b] => Some(Self::Select(condition, a, b)),
            [code, a, b, 0] => {
                let operation = Operation::ALL.into_iter().find(|it| *it as u32 == code)?;
                Some(Self::Of(operation, a, b))
            }
            _ => None,
        }
    }

    /// The nodes that it is made of.
    pub fn operands(self) -> impl Iterator<Item = u32> {
        let of = match self {
            Self::Const(_) | Self::Dim(_) => [None, None, None],
            Self::Of(_, a, b) => [Some(a), Some(b), None],
            Self::Select(condition, a, b) => [Some(condition), Some(a), Some(b)],
        };
        of.into_iter().flatten()
    }
}

/// Where a buffer lies. What is counted is counted from 0, in the order of the signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// A parameter that is a tensor.
    Param(u32),
    /// A result.
    Result(u32),
    /// The workspace, at the byte that this expression says: a multiple of [`WORKSPACE_ALIGN`].
    Workspace(u32),
    /// A constant.
    Constant(u32),
    /// A parameter that is a scalar: memory that holds it alone.
    Scalar(u32),
}

/// What kernels do with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Access {
    /// They read it.
    In = 0,
    /// They write it.
    Out = 1,
    /// They do both.
    InOut = 2,
}

/// Memory that kernels use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Buffer {
    /// Where it lies.
    pub place: Place,
    /// What its elements are.
    pub dtype: DType,
    /// What is done with it.
    pub access: Access,
    /// The expression that says how many bytes it has.
    pub bytes: u32,
}

impl Buffer {
    /// Its record.
    #[must_use]
    pub fn encode(self) -> [u8; 16] {
        let (kind, index) = match self.place {
            Place::Param(n) => (0, n),
            Place::Result(n) => (1, n),
            Place::Workspace(n) => (2, n),
            Place::Constant(n) => (3, n),
            Place::Scalar(n) => (4, n),
        };
        let head = u32::from_le_bytes([kind, self.access as u8, self.dtype.code(), 0]);
        bytes([head, index, self.bytes, 0])
    }

    /// The buffer of a record, if it is one.
    #[must_use]
    pub fn decode(record: &[u8; 16]) -> Option<Self> {
        let [head, index, bytes, 0] = words(record) else { return None };
        let [kind, access, dtype, 0] = head.to_le_bytes() else { return None };
        let place = match kind {
            0 => Place::Param(index),
            1 => Place::Result(index),
            2 => Place::Workspace(index),
            3 => Place::Constant(index),
            4 => Place::Scalar(index),
            _ => return None,
        };
        let access = [Access::In, Access::Out, Access::InOut].into_iter().find(|it| *it as u8 == access)?;
        Some(Self { place, dtype: DType::from_code(dtype)?, access, bytes })
    }
}

/// A kernel, its name and code as places in their parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Where its name begins and how many bytes it has.
    pub name: (u32, u32),
    /// Where its code begins, a multiple of 16, and how many bytes it has.
    pub code: (u32, u32),
    /// Threads of a group along x, y and z.
    pub local: [u32; 3],
    /// How many threads a subgroup must have; 0 if any number will do.
    pub subgroup: u32,
    /// What the device must be able to do: a bit per [`Feature`].
    pub features: u64,
    /// The kernel that takes its place on devices which lack a feature of it: one more than its number, which is greater
    /// than its own; 0 if there is none. Both take the same arguments and are launched with the same groups.
    pub instead: u32,
    /// The constants of its code that a device may set: a bit per [`Setting`].
    pub settings: u32,
}

/// A constant of a kernel's code that is set when a device makes the kernel ready: in SPIR-V the specialisation constant
/// with this number as its `SpecId`, of 32 bits. Where nobody sets it, it is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum Setting {
    /// How many subgroups a group has; 0 where that is known no sooner than it runs.
    Subgroups = 0,
}

impl Setting {
    /// All of them, in the order of their bits.
    pub const ALL: [Self; 1] = [Self::Subgroups];

    /// Its bit.
    #[must_use]
    pub const fn bit(self) -> u32 {
        1 << self as u8
    }
}

impl Kernel {
    /// Its record.
    #[must_use]
    pub fn encode(self) -> [u8; 48] {
        let Self { name, code, local: [x, y, z], subgroup, features, instead, settings } = self;
        let (low, high) = (features as u32, (features >> 32) as u32);
        bytes([name.0, name.1, code.0, code.1, x, y, z, subgroup, low, high, instead, settings])
    }

    /// The kernel of a record, if it is one.
    #[must_use]
    pub fn decode(record: &[u8; 48]) -> Option<Self> {
        let [name, chars, code, len, x, y, z, subgroup, low, high, instead, settings] = words(record);
        let features = u64::from(low) | u64::from(high) << 32;
        let known = Setting::ALL.into_iter().fold(0, |bits, setting| bits | setting.bit());
        let kernel =
            Self { name: (name, chars), code: (code, len), local: [x, y, z], subgroup, features, instead, settings };
        (settings & !known == 0).then_some(kernel)
    }
}

/// A part of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A kernel starts.
    Launch {
        /// Which one.
        kernel: u32,
        /// Expressions that say how many groups there are along x, y and z.
        grid: [u32; 3],
        /// The expression that says how many bytes of shared memory a group has beside what its code says.
        shared: u32,
        /// Its first argument, and the one behind its last.
        args: (u32, u32),
    },
    /// What was started before is done, and what it wrote can be read, before what follows starts.
    Barrier,
    /// If the expression is 0, the call ends with this check's status.
    Check {
        /// The expression.
        holds: u32,
        /// The place of the check among those of the function, from 1.
        check: u32,
    },
}

impl Step {
    /// Its record.
    #[must_use]
    pub fn encode(self) -> [u8; 32] {
        bytes(match self {
            Self::Launch { kernel, grid: [x, y, z], shared, args } => [0, kernel, x, y, z, shared, args.0, args.1],
            Self::Barrier => [1, 0, 0, 0, 0, 0, 0, 0],
            Self::Check { holds, check } => [2, holds, check, 0, 0, 0, 0, 0],
        })
    }

    /// The step of a record, if it is one.
    #[must_use]
    pub fn decode(record: &[u8; 32]) -> Option<Self> {
        match words(record) {
            [0, kernel, x, y, z, shared, first, end] => {
                Some(Self::Launch { kernel, grid: [x, y, z], shared, args: (first, end) })
            }
            [1, 0, 0, 0, 0, 0, 0, 0] => Some(Self::Barrier),
            [2, holds, check, 0, 0, 0, 0, 0] => Some(Self::Check { holds, check }),
            _ => None,
        }
    }
}

/// What a launch hands to its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arg {
    /// A buffer.
    Buffer(u32),
    /// The value of an expression, which must fit into 32 bits with a sign.
    I32(u32),
    /// The value of an expression in 64 bits.
    I64(u32),
    /// A parameter that is a scalar, by value.
    Scalar(u32, DType),
    /// A map of a tensor, by value.
    Map(u32),
}

impl Arg {
    /// Its record.
    #[must_use]
    pub fn encode(self) -> [u8; 8] {
        let (kind, dtype, index) = match self {
            Self::Buffer(n) => (0, 0, n),
            Self::I32(n) => (1, 0, n),
            Self::I64(n) => (2, 0, n),
            Self::Scalar(n, dtype) => (3, dtype.code(), n),
            Self::Map(n) => (4, 0, n),
        };
        bytes([u32::from_le_bytes([kind, dtype, 0, 0]), index])
    }

    /// The argument of a record, if it is one.
    #[must_use]
    pub fn decode(record: &[u8; 8]) -> Option<Self> {
        let [head, index] = words(record);
        match head.to_le_bytes() {
            [0, 0, 0, 0] => Some(Self::Buffer(index)),
            [1, 0, 0, 0] => Some(Self::I32(index)),
            [2, 0, 0, 0] => Some(Self::I64(index)),
            [3, dtype, 0, 0] => Some(Self::Scalar(index, DType::from_code(dtype)?)),
            [4, 0, 0, 0] => Some(Self::Map(index)),
            _ => None,
        }
    }
}

/// Axes of a [`Map`], at most.
pub const MAX_AXES: usize = 5;

/// An axis of a [`Map`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct MapAxis {
    /// Elements of a box, at most 256.
    pub width: u32,
    /// The expression that says how many elements the tensor has.
    pub extent: u32,
    /// The expression that says how many bytes there are from one to the next; of the innermost axis 0, and without meaning.
    pub stride: u32,
}

/// A tensor of which a kernel copies boxes to shared memory: what the driver is told of it. A box has lines of 128 bytes
/// along the innermost axis, whose chunks of 16 bytes are in the order of the swizzle by 128 bytes; what lies outside of the
/// tensor is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Map {
    /// The buffer at whose begin the tensor begins.
    pub buffer: u32,
    /// What its elements are.
    pub dtype: DType,
    /// How many axes it has: 1 to [`MAX_AXES`].
    pub rank: u8,
    /// The axes, the innermost one first; those beyond `rank` are 0.
    pub axes: [MapAxis; MAX_AXES],
}

impl Map {
    /// Its record.
    #[must_use]
    pub fn encode(self) -> [u8; 80] {
        let mut out = [0; 20];
        out[0] = self.buffer;
        out[1] = u32::from_le_bytes([self.dtype.code(), self.rank, 0, 0]);
        for (to, axis) in out[2..17].chunks_exact_mut(3).zip(self.axes) {
            to.copy_from_slice(&[axis.width, axis.extent, axis.stride]);
        }
        bytes(out)
    }

    /// The map of a record, if it is one: the boxes have lines of 128 bytes, and no axis of them is too wide.
    #[must_use]
    pub fn decode(record: &[u8; 80]) -> Option<Self> {
        let words: [u32; 20] = words(record);
        let [buffer, head, .., 0, 0, 0] = words else { return None };
        let [dtype, rank, 0, 0] = head.to_le_bytes() else { return None };
        let mut axes = [MapAxis::default(); MAX_AXES];
        for (axis, from) in axes.iter_mut().zip(words[2..17].chunks_exact(3)) {
            *axis = MapAxis { width: from[0], extent: from[1], stride: from[2] };
        }
        let dtype = DType::from_code(dtype)?;
        let (own, rest) = axes.split_at_checked(rank.into())?;
        let lines = own.first()?.width as usize * dtype.size_bytes() == 128 && own.first()?.stride == 0;
        let fits = own.iter().all(|axis| (1..=256).contains(&axis.width));
        let empty = rest.iter().all(|axis| *axis == MapAxis::default());
        (lines && fits && empty).then_some(Self { buffer, dtype, rank, axes })
    }
}

/// Something that not every device can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum Feature {
    /// Arithmetic on `f16`.
    F16 = 0,
    /// Elements of 16 bits in buffers.
    Storage16 = 1,
    /// Arithmetic on integers of 8 bits.
    I8 = 2,
    /// Elements of 8 bits in buffers.
    Storage8 = 3,
    /// Arithmetic on integers of 16 bits.
    I16 = 4,
    /// Arithmetic on integers of 64 bits.
    I64 = 5,
    /// Arithmetic on `f64`.
    F64 = 6,
    /// Subgroups: who is in one, and which of them.
    Subgroup = 7,
    /// Sums, minima and maxima over a subgroup.
    SubgroupArithmetic = 8,
    /// Values of others in a subgroup.
    SubgroupShuffle = 9,
    /// Sums of products of four integers of 8 bits.
    Dot8 = 10,
    /// Vulkan's memory model.
    MemoryModel = 11,
    /// Buffers by their addresses.
    Addresses = 12,
    /// Products of small matrices held by a subgroup.
    Matrix = 13,
    /// Arithmetic on `bf16`.
    BF16 = 14,
    /// Conditions of all of a subgroup.
    SubgroupVote = 15,
    /// Subnormal `f32` are kept.
    DenormF32 = 16,
    /// Zeros' signs, infinities and NaN of `f32` are kept.
    SpecialF32 = 17,
    /// `f32` round to the nearest even.
    RoundF32 = 18,
    /// Subnormal `f16` are kept.
    DenormF16 = 19,
    /// Zeros' signs, infinities and NaN of `f16` are kept.
    SpecialF16 = 20,
    /// `f16` round to the nearest even.
    RoundF16 = 21,
    /// Subnormal `f64` are kept.
    DenormF64 = 22,
    /// Zeros' signs, infinities and NaN of `f64` are kept.
    SpecialF64 = 23,
    /// `f64` round to the nearest even.
    RoundF64 = 24,
}

impl Feature {
    /// All of them with their names in messages, in the order of their bits.
    pub const ALL: [(Self, &'static str); 25] = [
        (Self::F16, "arithmetic on f16"),
        (Self::Storage16, "elements of 16 bits in buffers"),
        (Self::I8, "arithmetic on integers of 8 bits"),
        (Self::Storage8, "elements of 8 bits in buffers"),
        (Self::I16, "arithmetic on integers of 16 bits"),
        (Self::I64, "arithmetic on integers of 64 bits"),
        (Self::F64, "arithmetic on f64"),
        (Self::Subgroup, "subgroups"),
        (Self::SubgroupArithmetic, "arithmetic over subgroups"),
        (Self::SubgroupShuffle, "shuffles in subgroups"),
        (Self::Dot8, "products of four integers of 8 bits"),
        (Self::MemoryModel, "Vulkan's memory model"),
        (Self::Addresses, "addresses of buffers"),
        (Self::Matrix, "cooperative matrices"),
        (Self::BF16, "arithmetic on bf16"),
        (Self::SubgroupVote, "votes in subgroups"),
        (Self::DenormF32, "subnormal f32"),
        (Self::SpecialF32, "signed zeros, infinities and NaN of f32"),
        (Self::RoundF32, "f32 rounded to the nearest even"),
        (Self::DenormF16, "subnormal f16"),
        (Self::SpecialF16, "signed zeros, infinities and NaN of f16"),
        (Self::RoundF16, "f16 rounded to the nearest even"),
        (Self::DenormF64, "subnormal f64"),
        (Self::SpecialF64, "signed zeros, infinities and NaN of f64"),
        (Self::RoundF64, "f64 rounded to the nearest even"),
    ];

    /// Its bit.
    #[must_use]
    pub const fn bit(self) -> u64 {
        1 << self as u8
    }

    /// The name of the first feature among `missing` bits, and of a bit that nobody knows.
    ///
    /// ```
    /// use tenfold_abi::program::Feature;
    ///
    /// assert_eq!(Feature::first_of(Feature::F64.bit()), Some("arithmetic on f64"));
    /// assert_eq!(Feature::first_of(0), None);
    /// ```
    #[must_use]
    pub fn first_of(missing: u64) -> Option<&'static str> {
        let known = Self::ALL.into_iter().find(|(feature, _)| missing & feature.bit() != 0);
        match known {
            Some((_, name)) => Some(name),
            None if missing != 0 => Some("a feature of a later version"),
            None => None,
        }
    }
}

/// The bytes of words.
fn bytes<const WORDS: usize, const BYTES: usize>(words: [u32; WORDS]) -> [u8; BYTES] {
    let mut out = [0; BYTES];
    out.chunks_exact_mut(4).zip(words).for_each(|(to, word)| to.copy_from_slice(&word.to_le_bytes()));
    out
}

/// The words of bytes.
fn words<const BYTES: usize, const WORDS: usize>(bytes: &[u8; BYTES]) -> [u32; WORDS] {
    let mut out = [0; WORDS];
    for (word, from) in out.iter_mut().zip(bytes.chunks_exact(4)) {
        *word = u32::from_le_bytes([from[0], from[1], from[2], from[3]]);
    }
    out
}
