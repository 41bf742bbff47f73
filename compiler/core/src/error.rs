//! What goes wrong after the front end, and whose it is.

use tenfold_ir::Loc;

/// What kind of error it is; the front end's table of codes has one code for each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ErrorKind {
    /// A call of a function outside that has no form.
    Extern,
    /// The workspace is larger than the budget.
    WorkspaceBudget,
    /// What is left for one of the workspace's memories is larger than it.
    PoolBudget,
    /// The constants are larger than the budget.
    WeightsBudget,
    /// The stack is larger than the budget.
    StackBudget,
    /// A step of a `#[schedule]` cannot be applied.
    Schedule,
    /// The target cannot do what the function asks for.
    Target,
    /// A bound on sizes is missing or exceeded.
    Limit,
    /// A setting of the passes that is wrong, or a pass of the user that failed.
    Passes,
    /// A bug of Tenfold: broken IR, a back end that failed.
    Internal,
}

/// An error of the compiler, at a place in the user's source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompileError {
    /// What kind.
    pub kind: ErrorKind,
    /// Where.
    pub loc: Loc,
    /// Expected and found.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
}

impl CompileError {
    /// A bug of ours.
    pub fn internal(loc: Loc, message: impl Into<String>) -> Self {
        CompileError {
            kind: ErrorKind::Internal,
            loc,
            message: message.into(),
            help: Some("this is a bug of Tenfold, please report it with the function's source".into()),
        }
    }
}
