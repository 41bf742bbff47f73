//! Functions by name, with types that are checked when the program runs.

use crate::{
    Arg, AsWorkspace, DynTensorMut, Element, Error, Mismatch, Param, Scalar, Shape, Signature, TensorMut, TensorRef,
    Variant, Workspace, dispatch::sized, workspace::aligned,
};
use core::{fmt, mem::MaybeUninit, slice};

/// What emitted code says of a function.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct FunctionInfo {
    /// Parameters, results and facts.
    pub signature: &'static Signature,
    /// The bytes of workspace; none if they depend on dims without a bound.
    pub workspace_bytes: Option<usize>,
    /// The bytes of the constants.
    pub weight_bytes: usize,
    /// The codes that there are.
    pub variants: &'static [Variant],
    /// Takes the arguments one by one and calls `into` with them.
    pub call: fn(&mut Args<'_, '_, '_>) -> Result<(), Error>,
}

/// A tensor function as a value: `saxpy::FUNCTION` of a tensor function `saxpy`.
///
/// ```ignore
/// use tenfold::{Arg, view, view_mut};
///
/// let mut z = [0.0_f32; 2];
/// let x = Arg::input(view(&[1.0_f32, 2.0], [2])?);
/// let y = Arg::input(view(&[10.0_f32, 20.0], [2])?);
/// let args = &mut [Arg::scalar(2.0_f32), x, y];
/// saxpy::FUNCTION.call_alloc(args, &mut [view_mut(&mut z, [2])?.into()])?;
/// assert_eq!(z, [12.0, 24.0]);
/// ```
#[derive(Clone, Copy)]
pub struct Function(FunctionInfo);

/// Makes the value from what emitted code says.
#[doc(hidden)]
#[must_use]
pub const fn function(info: FunctionInfo) -> Function {
    Function(info)
}

impl Function {
    /// Parameters, results and facts.
    #[must_use]
    pub const fn signature(&self) -> &'static Signature {
        self.0.signature
    }

    /// The bytes of workspace; none if they depend on dims without a bound.
    #[must_use]
    pub const fn workspace_bytes(&self) -> Option<usize> {
        self.0.workspace_bytes
    }

    /// The bytes of the constants.
    #[must_use]
    pub const fn weight_bytes(&self) -> usize {
        self.0.weight_bytes
    }

    /// The codes that there are, the best first.
    #[must_use]
    pub const fn variants(&self) -> &'static [Variant] {
        self.0.variants
    }

    /// Calls the function, and allocates nothing.
    ///
    /// # Errors
    ///
    /// As for the typed call; besides, another number, kind, dtype or rank of arguments and
    /// results. [`Error::WorkspaceTooSmall`] says how large the workspace must be.
    pub fn call(
        &self,
        args: &mut [Arg<'_>],
        results: &mut [DynTensorMut<'_>],
        workspace: &mut (impl AsWorkspace + ?Sized),
    ) -> Result<(), Error> {
        let signature = self.signature();
        count("arguments", signature.params.len(), args.len())?;
        count("results", signature.results.len(), results.len())?;
        (self.0.call)(&mut Args {
            params: signature.params.iter(),
            args: args.iter_mut(),
            outputs: signature.results.iter(),
            results: results.iter_mut(),
            workspace: workspace.bytes(),
        })
    }

    /// Calls the function with a workspace from the heap.
    ///
    /// # Errors
    ///
    /// As for [`call`](Self::call).
    #[cfg(feature = "alloc")]
    pub fn call_alloc(&self, args: &mut [Arg<'_>], results: &mut [DynTensorMut<'_>]) -> Result<(), Error> {
        let mut workspace = crate::DynWorkspace::new(self.workspace_bytes().unwrap_or(0))?;
        match self.call(args, results, &mut workspace) {
            // Nothing is written before the size is known.
            Err(Error::WorkspaceTooSmall { needed, .. }) => {
                workspace.grow(needed)?;
                self.call(args, results, &mut workspace)
            }
            done => done,
        }
    }
}

fn count(what: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Count { what, expected, found }) }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.signature(), f)
    }
}

/// The arguments of a call by name; emitted code takes them in the order of the signature.
#[doc(hidden)]
pub struct Args<'c, 'a, 'r> {
    params: slice::Iter<'static, Param>,
    args: slice::IterMut<'c, Arg<'a>>,
    outputs: slice::Iter<'static, Param>,
    results: slice::IterMut<'c, DynTensorMut<'r>>,
    workspace: &'c mut [MaybeUninit<u8>],
}

impl<'c, 'a> Args<'c, 'a, '_> {
    fn next(&mut self) -> Result<(&'static Param, &'c mut Arg<'a>), Error> {
        let missing = Error::Count { what: "arguments", expected: 1, found: 0 };
        self.params.next().zip(self.args.next()).ok_or(missing)
    }

    /// An input, strided ones as well: what is called by name has no gaps.
    pub fn input<T: Element, S: Shape>(&mut self) -> Result<TensorRef<'c, T, S>, Error> {
        match self.next()? {
            (param, Arg::Input(tensor)) => tensor.typed().map_err(|why| why.of(param.name)),
            (param, arg) => Err(kind(param, arg)),
        }
    }

    /// State.
    pub fn state<T: Element, S: Shape>(&mut self) -> Result<TensorMut<'c, T, S>, Error> {
        match self.next()? {
            (param, Arg::State(tensor)) => tensor.reborrow().typed().map_err(|why| why.of(param.name)),
            (param, arg) => Err(kind(param, arg)),
        }
    }

    /// A scalar.
    pub fn scalar<T: Element>(&mut self) -> Result<T, Error> {
        match self.next()? {
            (param, Arg::Scalar(scalar)) => match (T::from_scalar(*scalar), scalar.dtype()) {
                (Some(value), _) => Ok(value),
                (None, Some(found)) => Err(Mismatch::DType { expected: T::DTYPE, found }.of(param.name)),
                (None, None) => Err(kind(param, &Arg::Scalar(*scalar))),
            },
            (param, arg) => Err(kind(param, arg)),
        }
    }

    /// An index value of type `usize` or `isize`.
    pub fn index<I: TryFrom<i64>>(&mut self) -> Result<I, Error> {
        match self.next()? {
            (param, Arg::Scalar(Scalar::Index(value))) => {
                let expected = param.kind.words();
                let negative = Error::Kind { param: param.name, expected, found: "a negative one" };
                I::try_from(*value).map_err(|_| negative)
            }
            (param, arg) => Err(kind(param, arg)),
        }
    }

    /// A result.
    pub fn result<T: Element, S: Shape>(&mut self) -> Result<TensorMut<'c, T, S>, Error> {
        let missing = Error::Count { what: "results", expected: 1, found: 0 };
        let (output, result) = self.outputs.next().zip(self.results.next()).ok_or(missing)?;
        result.reborrow().typed().map_err(|why| why.of(output.name))
    }

    /// The workspace of a function whose sizes are known.
    pub fn workspace<const BYTES: usize>(&mut self) -> Result<&'c mut Workspace<BYTES>, Error> {
        sized(core::mem::take(&mut self.workspace))
    }

    /// The workspace of a function that splits it among memories, each of which is then a part of it.
    pub fn memories(&mut self, needed: usize) -> Result<Memories<'c>, Error> {
        aligned(core::mem::take(&mut self.workspace), needed).map(Memories)
    }

    /// The workspace of a function that checks its size.
    pub fn workspace_bytes(&mut self) -> &'c mut [MaybeUninit<u8>] {
        core::mem::take(&mut self.workspace)
    }
}

/// What is left of a workspace that is split.
#[doc(hidden)]
pub struct Memories<'c>(&'c mut [MaybeUninit<u8>]);

impl<'c> Memories<'c> {
    /// The next part.
    pub fn next<const BYTES: usize>(&mut self) -> Result<&'c mut Workspace<BYTES>, Error> {
        let bytes = core::mem::take(&mut self.0);
        let (own, rest) = bytes.split_at_mut(bytes.len().min(size_of::<Workspace<BYTES>>()));
        self.0 = rest;
        sized(own)
    }
}

#[cold]
fn kind(param: &Param, arg: &Arg<'_>) -> Error {
    Error::Kind { param: param.name, expected: param.kind.words(), found: arg.kind() }
}

/// A table of functions, made by [`module!`](crate::module).
#[derive(Clone, Copy, Debug)]
pub struct Module {
    functions: &'static [(&'static str, Function)],
}

impl Module {
    /// The table of these functions.
    #[doc(hidden)]
    #[must_use]
    pub const fn new(functions: &'static [(&'static str, Function)]) -> Self {
        Self { functions }
    }

    /// The function of this name: its path as it was given to [`module!`](crate::module).
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn get(&self, name: &str) -> Result<&'static Function, Error> {
        let found = self.functions.iter().find(|(known, _)| *known == name);
        found.map(|(_, function)| function).ok_or(Error::NoFunction)
    }

    /// Names and functions in the order of the table.
    pub fn iter(&self) -> slice::Iter<'static, (&'static str, Function)> {
        self.functions.iter()
    }
}

/// A [`Module`] of tensor functions, to be called by name.
///
/// The name of a function is its path as it stands here. The table is a constant.
///
/// ```
/// # mod scale { pub const FUNCTION: tenfold::Function = tenfold::rt::function(
/// #     tenfold::rt::FunctionInfo {
/// #         signature: &tenfold::Signature { name: "scale", params: &[], results: &[], facts: &[] },
/// #         workspace_bytes: Some(0), weight_bytes: 0, variants: &[], call: |_| Ok(()),
/// #     }); }
/// const MODULE: tenfold::Module = tenfold::module!(scale);
///
/// assert_eq!(MODULE.get("scale")?.signature().to_string(), "fn scale()");
/// assert!(MODULE.get("shift").is_err());
/// # Ok::<(), tenfold::Error>(())
/// ```
#[macro_export]
macro_rules! module {
    ($($first:ident $(:: $rest:ident)*),* $(,)?) => {
        $crate::Module::new(const {
            &[$((
                $crate::rt::concat!(
                    $crate::rt::stringify!($first) $(, "::", $crate::rt::stringify!($rest))*
                ),
                $first $(:: $rest)*::FUNCTION,
            )),*]
        })
    };
}
