//! Instructions in the form in which they are carried out.

use crate::convert::Convert;
use crate::copies::Copying;
use crate::doubt::Spread;
use crate::integer::{One, Three, Two};
use crate::matrix::Mma;
use crate::mbarrier::Act;
use crate::parse::Variable;
use crate::product::Product;
use crate::tensor::Bulk;

/// A register: its number, and how many bits it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Register {
    pub(crate) number: u32,
    pub(crate) bits: u32,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Register(u32),
    Value(u64),
}

/// Where something lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) space: Space,
    pub(crate) base: Source,
    pub(crate) offset: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Param,
    Global,
    Shared,
    Local,
}

/// What a thread can ask about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    /// Which thread of the group, along an axis.
    Thread(usize),
    Threads(usize),
    Group(usize),
    Groups(usize),
    Lane,
}

/// Elements that are read or written at once.
#[derive(Clone, Debug)]
pub(crate) struct Elements<T> {
    pub(crate) at: Address,
    /// Bytes of one.
    pub(crate) bytes: usize,
    pub(crate) all: Vec<T>,
}

/// Which threads have to come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Together {
    Alone,
    /// Those of a mask.
    These(u32),
    /// All that a warp has.
    All,
}

/// How lanes of an exchange are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// An instruction.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    One(One, Spread, Register, [Source; 1]),
    Two(Two, Spread, Register, [Source; 2]),
    /// A division, whose second operand must not be 0: of so many bits.
    Divide(Two, Register, [Source; 2], u32),
    Three(Three, Spread, Register, [Source; 3]),
    /// `bfi` of so many bits.
    Insert(Register, [Source; 4], u32),
    Convert(Convert, Register, Source),
    /// Two values become halves of a word, the first the upper one.
    ConvertPair(Convert, Register, [Source; 2]),
    Special(Special, Register),
    /// Parts of so many bits, the lowest first.
    Split(Vec<Option<Register>>, u32, Source),
    Join(Register, Vec<Source>, u32),
    Branch(u32),
    Return,
    /// The value, whether it has a sign, and whether nothing writes what is read.
    Load {
        elements: Elements<Option<Register>>,
        signed: bool,
        constant: bool,
    },
    Store(Elements<Source>),
    /// A barrier of this number, for so many threads, or for all.
    Barrier {
        number: Source,
        threads: Option<Source>,
    },
    /// The threads of a warp meet.
    WarpBarrier,
    Shuffle {
        how: Shuffle,
        to: Register,
        valid: Option<Register>,
        value: Source,
        by: Source,
        limits: Source,
    },
    /// A copy to shared memory, which goes on by itself.
    Copy(Copying),
    CopyCommit,
    /// How many groups may be left; none waits for all copies.
    CopyWait(Option<u32>),
    /// What threads wrote to shared memory is shown to those who read it by another way.
    Show,
    /// Matrices of halves, and whether they are turned around.
    LoadMatrices(Vec<Register>, bool, Address),
    Multiply(Mma),
    ProductFence,
    Product(Product),
    ProductCommit,
    ProductWait(u32),
    Mbarrier(Act, Address),
    /// A copy of a box of a tensor, which goes on by itself.
    CopyBox(Bulk),
    /// Nothing that the interpreter has to do.
    Nothing,
}

/// An instruction, the predicate before it, and its place in the text.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub(crate) op: Op,
    /// A predicate, and what it has to be.
    pub(crate) guard: Option<(u32, bool)>,
    pub(crate) together: Together,
    pub(crate) line: u32,
}

/// A parameter, and where in the block of parameters it begins.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) variable: Variable,
    pub(crate) offset: usize,
}

/// A function that launches start.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(crate) name: String,
    pub(crate) code: Vec<Instruction>,
    /// Opcodes, for texts.
    pub(crate) opcodes: Vec<String>,
    pub(crate) params: Vec<Param>,
    pub(crate) threads: Option<[u32; 3]>,
    /// Names of the registers, for texts.
    pub(crate) registers: Vec<String>,
    /// Bytes of a group's memory whose size the text says, and at a multiple of which what a launch adds begins.
    pub(crate) shared: usize,
    pub(crate) dynamic: usize,
    /// Bytes of a thread's own memory.
    pub(crate) local: usize,
}

impl Kernel {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The opcodes of its instructions.
    pub fn opcodes(&self) -> impl Iterator<Item = &str> {
        self.opcodes.iter().map(String::as_str)
    }

    /// How many bytes each parameter has.
    #[must_use]
    pub fn params(&self) -> Vec<usize> {
        self.params.iter().map(|param| param.variable.bytes.unwrap_or(0) as usize).collect()
    }
}
