//! What a function is to its callers, from its signature, its attributes and its leading `assert!`s alone.
//!
//! The macro prints Rust from it and the build script compiles by it, so both see the same dims in the same order. It
//! knows nothing of the body beyond its asserts and whether it asks for a shape at run time.

mod instances;
mod pools;
mod reader;

use tenfold_abi::DType;
use tenfold_ir::arith::{Fact, IntExpr, Prover, Sym};
use tenfold_ir::ops::nearest;

use crate::ast::{Name, NodeId, TensorFn};
use crate::code::Code;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::extent;
use reader::Reader;

pub use instances::{GenericValue, Instance, errors_of_all, instances, signatures};
pub(crate) use instances::{generic_value, values_of};
pub use pools::pool_type;

/// The greatest rank of a tensor.
pub const MAX_RANK: usize = 8;

/// A function as its callers see it. Fixed dims stand as their values everywhere.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Its name.
    pub name: String,
    /// In source order.
    pub params: Vec<SigParam>,
    /// The named dims, in the order in which the calling convention passes them.
    pub dims: Vec<DimBinding>,
    /// Extents that must equal what the dims say: later occurrences, computed and fixed ones.
    pub checks: Vec<DimCheck>,
    /// Checked once per call, before anything is written, in this order.
    pub facts: Vec<SigFact>,
    /// In the order of the result's tuple.
    pub results: Vec<SigResult>,
    /// Whether the result is written as a tuple.
    pub result_is_tuple: bool,
    /// Whether the Rust function returns a `Result`.
    pub fallible: bool,
    /// Upper bounds of dims and index parameters that are stated by constants, inclusive.
    pub bounds: Vec<(Sym, i64)>,
    /// Dims that the attribute fixes.
    pub fixed: Vec<(String, i64)>,
    /// The parameters that are read from files of weights, by their places in `params`, with the names of the tensors.
    pub loaded: Vec<(usize, String)>,
    /// The memories among which the workspace is split, in source order.
    pub pools: Vec<String>,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct SigParam {
    /// Its name.
    pub name: String,
    /// Its place.
    pub node: NodeId,
    /// How it is passed.
    pub kind: SigKind,
    /// Type of an element; `i64` for an index value.
    pub dtype: DType,
    /// Extents; none for scalars and index values.
    pub dims: Vec<IntExpr>,
    /// The place of each extent.
    pub dim_nodes: Vec<NodeId>,
}

/// How a parameter is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SigKind {
    /// `Tensor<…>`.
    Input,
    /// `Strided<…>`.
    Strided,
    /// `&mut Tensor<…>`.
    State,
    /// `k: f32`.
    Scalar,
    /// `n: usize`, `n: isize`.
    Index {
        /// Whether it is `usize`.
        unsigned: bool,
    },
}

/// Where a named dim takes its value: axis `axis` of parameter `param`.
#[derive(Clone, Debug)]
pub struct DimBinding {
    /// The dim.
    pub sym: Sym,
    /// Index into [`Signature::params`].
    pub param: usize,
    /// The axis.
    pub axis: usize,
}

/// An extent that is checked at the call.
#[derive(Clone, Debug)]
pub struct DimCheck {
    /// Index into [`Signature::params`].
    pub param: usize,
    /// The axis.
    pub axis: usize,
    /// What it must be.
    pub extent: IntExpr,
}

/// A fact with the words to report it by.
#[derive(Clone, Debug)]
pub struct SigFact {
    /// The condition.
    pub fact: Fact,
    /// The text of the `assert!`, else the condition.
    pub text: String,
    /// Its place.
    pub node: NodeId,
}

/// A result.
#[derive(Clone, Debug)]
pub struct SigResult {
    /// Type of an element.
    pub dtype: DType,
    /// Extents.
    pub dims: Vec<IntExpr>,
    /// Its place.
    pub node: NodeId,
}

impl Signature {
    /// The symbols of index parameters, in source order; they follow the dims in the calling convention.
    pub fn index_params(&self) -> Vec<Sym> {
        let params = self.params.iter().filter(|p| matches!(p.kind, SigKind::Index { .. }));
        params.map(|p| Sym::new(&p.name)).collect()
    }

    /// The dims and index parameters that no constant bounds. Without any, all sizes are constants.
    pub fn unbounded(&self) -> Vec<Sym> {
        let known = |sym: &Sym| self.bounds.iter().any(|(bounded, _)| bounded == sym);
        let dims = self.dims.iter().map(|dim| dim.sym.clone());
        if self.fallible { dims.chain(self.index_params()).filter(|sym| !known(sym)).collect() } else { Vec::new() }
    }

    /// Where a dim was bound, in words: "axis 0 of `x`", and its place.
    pub fn origin(&self, sym: &Sym) -> Option<(NodeId, String)> {
        if let Some(dim) = self.dims.iter().find(|d| d.sym == *sym) {
            let param = &self.params[dim.param];
            return Some((param.dim_nodes[dim.axis], format!("`{sym}` is axis {} of `{}`", dim.axis, param.name)));
        }
        let name = sym.to_string();
        let param = self.params.iter().find(|p| matches!(p.kind, SigKind::Index { .. }) && p.name == name)?;
        Some((param.node, format!("`{sym}` is a parameter")))
    }

    /// What is known at entry: dims and `usize` parameters are not negative, computed extents neither, facts hold.
    pub fn prover(&self) -> Prover {
        let mut prover = Prover::new();
        for dim in &self.dims {
            prover.assume(extent::at_least_zero(IntExpr::var(dim.sym.clone())));
        }
        for param in &self.params {
            if param.kind == (SigKind::Index { unsigned: true }) {
                prover.assume(extent::at_least_zero(IntExpr::var(Sym::new(&param.name))));
            }
            for dim in param.dims.iter().filter(|d| d.as_const().is_none()) {
                prover.assume(extent::at_least_zero(dim.clone()));
            }
        }
        for fact in &self.facts {
            prover.assume(fact.fact.clone());
        }
        prover
    }
}

/// The signature of a function; `None` if an error in it leaves nothing to go by.
pub fn signature(function: &TensorFn) -> (Option<Signature>, Diagnostics) {
    signature_of(function, &Instance::default())
}

/// The signature of one instance; of the first one where `generics` has no value for a parameter.
pub fn signature_of(function: &TensorFn, generics: &Instance) -> (Option<Signature>, Diagnostics) {
    let mut reader = Reader::new(function, generics);
    reader.fixed_dims();
    reader.bind();
    reader.facts();
    reader.params();
    reader.loaded();
    reader.results();
    reader.finish()
}

/// What other languages and libraries call the dtypes.
const ELSEWHERE: [(&str, &str); 25] = [
    ("boolean", "bool"),
    ("byte", "u8"),
    ("char", "i8"),
    ("double", "f64"),
    ("float", "f32"),
    ("float16", "f16"),
    ("float32", "f32"),
    ("float64", "f64"),
    ("half", "f16"),
    ("bfloat16", "bf16"),
    ("int", "i32"),
    ("int8", "i8"),
    ("int32", "i32"),
    ("int64", "i64"),
    ("uint8", "u8"),
    ("uint32", "u32"),
    ("f8e4m3", "f8e4m3fn"),
    ("float8e4m3fn", "f8e4m3fn"),
    ("float8e4m3fnuz", "f8e4m3fnuz"),
    ("float8e5m2", "f8e5m2"),
    ("float8e5m2fnuz", "f8e5m2fnuz"),
    ("float8_e4m3fn", "f8e4m3fn"),
    ("float8_e5m2", "f8e5m2"),
    ("int4", "i4"),
    ("uint4", "u4"),
];

/// A dtype by name, or what is wrong with it.
pub(crate) fn dtype(name: &Name, generics: &Instance) -> Result<DType, Diagnostic> {
    if let Some(GenericValue::Dtype(dtype)) = generics.get(&name.text) {
        return Ok(dtype);
    }
    if let Some(dtype) = DType::from_any_name(&name.text) {
        return Ok(dtype);
    }
    let found = Diagnostic::new(name.node, Code::UnknownDtype, format!("there is no dtype `{}`", name.text));
    let names = DType::ALL.iter().chain(&DType::STORED).map(|d| d.name());
    let known = ELSEWHERE.iter().find(|(theirs, _)| *theirs == name.text).map(|(_, ours)| *ours);
    Err(match known.or_else(|| nearest(&name.text, names)) {
        Some(near) => found.help(format!("did you mean `{near}`?")),
        None => found.help(
            "the dtypes are `bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64`, and to store \
             `f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz i4 u4`",
        ),
    })
}

/// A fixed dim with the place of its fact.
struct Fixed {
    node: NodeId,
    value: i64,
}
