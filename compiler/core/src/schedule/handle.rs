//! References that a schedule hands out.

use std::fmt;

/// A block of a schedule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BlockRV(pub(super) u32);

/// A loop of a schedule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LoopRV(pub(super) u32);

/// A number that a schedule has chosen.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ExprRV(pub(super) u32);

/// What a primitive gives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rv {
    /// A block.
    Block(BlockRV),
    /// A loop.
    Loop(LoopRV),
    /// A number.
    Expr(ExprRV),
}

impl Rv {
    /// The block, if it is one.
    pub fn block(self) -> Option<BlockRV> {
        match self {
            Rv::Block(it) => Some(it),
            Rv::Loop(_) | Rv::Expr(_) => None,
        }
    }
    /// The loop, if it is one.
    pub fn as_loop(self) -> Option<LoopRV> {
        match self {
            Rv::Loop(it) => Some(it),
            Rv::Block(_) | Rv::Expr(_) => None,
        }
    }
    /// The number, if it is one.
    pub fn expr(self) -> Option<ExprRV> {
        match self {
            Rv::Expr(it) => Some(it),
            Rv::Block(_) | Rv::Loop(_) => None,
        }
    }
}

impl fmt::Display for Rv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rv::Block(it) => write!(f, "b{}", it.0),
            Rv::Loop(it) => write!(f, "l{}", it.0),
            Rv::Expr(it) => write!(f, "v{}", it.0),
        }
    }
}
