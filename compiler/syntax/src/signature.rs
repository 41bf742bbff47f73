//! What a function is to its callers, from its signature, its attributes and its leading `assert!`s alone.
//!
//! The macro prints Rust from it and the build script compiles by it, so both see the same dims in the same order. It
//! knows nothing of the body beyond its asserts and whether it asks for a shape at run time.

use std::collections::BTreeMap;

use tenfold_abi::DType;
use tenfold_ir::arith::{Fact, IntExpr, Prover, Sym};
use tenfold_ir::ops::nearest;

use crate::ast::{
    self, BinaryOp, Expr, ExprKind, FactKind, GenericKind, Layout, Literal, Name, NodeId, Passing, StmtKind, TensorFn,
    TypeKind,
};
use crate::code::Code;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::extent::{self, DimName};
use crate::search;

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
    signature_of(function, &BTreeMap::new())
}

/// The signature of one instance: `generics` gives each generic parameter its value, the first of the attribute if it
/// is absent.
pub(crate) fn signature_of(
    function: &TensorFn,
    generics: &BTreeMap<String, GenericValue>,
) -> (Option<Signature>, Diagnostics) {
    let mut reader = Reader::new(function, generics);
    reader.fixed_dims();
    reader.bind();
    reader.facts();
    reader.params();
    reader.results();
    reader.finish()
}

/// What a generic parameter stands for in an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GenericValue {
    /// `T = [f32, f16]`.
    Dtype(DType),
    /// `K = [3, 5]`.
    Const(i64),
}

/// The instances of a function: every choice of values, the last parameter varying fastest; one empty choice if it is
/// not generic.
pub(crate) fn instances(function: &TensorFn) -> Vec<BTreeMap<String, GenericValue>> {
    let mut all = vec![BTreeMap::new()];
    for generic in &function.generics {
        let list = function.attributes.instances.iter().find(|i| i.name.text == generic.name.text);
        let values = list.into_iter().flat_map(|list| &list.values);
        let mut values: Vec<GenericValue> = values.filter_map(|v| generic_value(generic.kind, v)).collect();
        if values.is_empty() {
            match generic.kind {
                // it is reported that it has no values; with any at all the rest can be checked
                GenericKind::Dtype => values.push(GenericValue::Dtype(DType::F32)),
                GenericKind::Const => continue,
            }
        }
        let choices = |so_far: BTreeMap<String, GenericValue>| {
            let with = |value: &GenericValue| {
                let mut next = so_far.clone();
                next.insert(generic.name.text.clone(), *value);
                next
            };
            values.iter().map(with).collect::<Vec<_>>()
        };
        all = all.into_iter().flat_map(choices).collect();
    }
    all
}

fn generic_value(kind: GenericKind, value: &Expr) -> Option<GenericValue> {
    match (kind, &value.kind) {
        (GenericKind::Dtype, ExprKind::Name(name)) => DType::from_name(name).map(GenericValue::Dtype),
        (GenericKind::Const, ExprKind::Literal(Literal::Int { value, .. })) => {
            i64::try_from(*value).ok().map(GenericValue::Const)
        }
        (GenericKind::Dtype | GenericKind::Const, _) => None,
    }
}

/// The storage types that only `as` reads and writes.
pub(crate) const STORAGE: [&str; 6] = ["f8e4m3", "f8e5m2", "f8e4m3fn", "i4", "u4", "f4"];

/// What other languages and libraries call the dtypes.
const ELSEWHERE: [(&str, &str); 16] = [
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
];

/// A dtype by name, or what is wrong with it.
pub(crate) fn dtype(name: &Name, generics: &BTreeMap<String, GenericValue>) -> Result<DType, Diagnostic> {
    if let Some(GenericValue::Dtype(dtype)) = generics.get(&name.text) {
        return Ok(*dtype);
    }
    if let Some(dtype) = DType::from_name(&name.text) {
        return Ok(dtype);
    }
    if STORAGE.contains(&name.text.as_str()) {
        let message = format!("the storage type `{}` is not compiled yet", name.text);
        return Err(Diagnostic::new(name.node, Code::NotCompiled, message)
            .help("store it as `u8` and convert what the bits mean"));
    }
    let found = Diagnostic::new(name.node, Code::UnknownDtype, format!("there is no dtype `{}`", name.text));
    let names = DType::ALL.iter().map(|d| d.name());
    let known = ELSEWHERE.iter().find(|(theirs, _)| *theirs == name.text).map(|(_, ours)| *ours);
    Err(match known.or_else(|| nearest(&name.text, names)) {
        Some(near) => found.help(format!("did you mean `{near}`?")),
        None => found.help("the dtypes are `bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64`"),
    })
}

/// A fixed dim with the place of its fact.
struct Fixed {
    node: NodeId,
    value: i64,
}

/// Reads a signature.
struct Reader<'a> {
    function: &'a TensorFn,
    generics: BTreeMap<String, GenericValue>,
    fixed: BTreeMap<String, Fixed>,
    /// First places of the named dims.
    bound: BTreeMap<String, (usize, usize, NodeId)>,
    /// Names that stand for something unknown: already reported.
    unknown: Vec<String>,
    /// Whether a parameter is unknown, and so any name may be a dim.
    open: bool,
    index: Vec<String>,
    prover: Prover,
    signature: Signature,
    diagnostics: Diagnostics,
    /// Whether a parameter or result is unknown, so that there is no signature.
    broken: bool,
}

impl<'a> Reader<'a> {
    fn new(function: &'a TensorFn, generics: &BTreeMap<String, GenericValue>) -> Self {
        let mut all = instances(function).into_iter().next().unwrap_or_default();
        all.extend(generics.iter().map(|(name, value)| (name.clone(), *value)));
        Reader {
            function,
            generics: all,
            fixed: BTreeMap::new(),
            bound: BTreeMap::new(),
            unknown: Vec::new(),
            open: false,
            index: Vec::new(),
            prover: Prover::default(),
            signature: Signature {
                name: function.name.text.clone(),
                params: Vec::new(),
                dims: Vec::new(),
                checks: Vec::new(),
                facts: Vec::new(),
                results: Vec::new(),
                result_is_tuple: false,
                fallible: false,
                bounds: Vec::new(),
                fixed: Vec::new(),
            },
            diagnostics: Diagnostics::default(),
            broken: false,
        }
    }

    /// `dims(K = 8)`.
    fn fixed_dims(&mut self) {
        for fact in &self.function.attributes.dims {
            let FactKind::Fixed(name, value) = &fact.kind else { continue };
            match self.extent(value).map(|v| v.and_then(|v| v.as_const())) {
                Ok(Some(n)) if n >= 0 => self.fix(name, fact.node, n),
                Ok(Some(n)) => self.report(
                    Diagnostic::new(value.node, Code::NegativeExtent, format!("the dim `{}` cannot be {n}", name.text))
                        .help("an extent is 0 or more"),
                ),
                Ok(None) => self.report(
                    Diagnostic::new(value.node, Code::DimExpression, format!("`{}` is fixed by a number", name.text))
                        .help("write an integer, or dims that are fixed before"),
                ),
                Err(error) => self.report(error),
            }
        }
        let fixed = self.fixed.iter().map(|(name, fixed)| (name.clone(), fixed.value));
        self.signature.fixed = fixed.collect();
    }

    fn fix(&mut self, name: &Name, node: NodeId, value: i64) {
        if let Some(before) = self.fixed.get(&name.text).filter(|f| f.value != value) {
            let message = format!("the dim `{}` is fixed to {value} and to {}", name.text, before.value);
            let error = Diagnostic::new(node, Code::DimConflict, message).label(before.node, "it is fixed here first");
            self.report(error.help("keep one of them"));
            return;
        }
        self.fixed.insert(name.text.clone(), Fixed { node, value });
    }

    /// Finds where each dim first stands alone, and the index parameters.
    fn bind(&mut self) {
        let mut seen: BTreeMap<&str, NodeId> = BTreeMap::new();
        let mut dims = Vec::new();
        search::dim_names(self.function, &mut dims);
        for (position, param) in self.function.params.iter().enumerate() {
            if param.name.text.starts_with(char::is_uppercase) && dims.contains(&param.name.text) {
                let message = format!("`{}` is a parameter and a dim", param.name.text);
                let error = Diagnostic::new(param.name.node, Code::NameTwice, message);
                self.diagnostics
                    .report(error.help("rename one of them; names of dims begin with an upper-case letter"));
            }
            if let Some(first) = seen.insert(&param.name.text, param.name.node) {
                let message = format!("two parameters are called `{}`", param.name.text);
                let error = Diagnostic::new(param.name.node, Code::NameTwice, message).label(first, "the first one");
                self.diagnostics.report(error.help("rename one of them"));
            }
            match &param.ty.kind {
                TypeKind::Tensor(tensor) => self.bind_dims(position, &tensor.dims),
                TypeKind::Scalar(name) if name == "usize" || name == "isize" => {
                    self.index.push(param.name.text.clone());
                    if name == "usize" {
                        self.prover.assume(extent::at_least_zero(IntExpr::var(Sym::new(&param.name.text))));
                    }
                }
                TypeKind::Scalar(_) => {}
                // what it would have bound is not known
                TypeKind::Tuple(_) | TypeKind::Error => self.open = true,
            }
        }
    }

    fn bind_dims(&mut self, position: usize, dims: &[Expr]) {
        for (axis, dim) in dims.iter().enumerate() {
            let ExprKind::Name(name) = &dim.kind else { continue };
            let is_dim = name.starts_with(char::is_uppercase);
            if !is_dim || self.fixed.contains_key(name) || self.generics.contains_key(name) {
                continue;
            }
            if !self.bound.contains_key(name) {
                self.bound.insert(name.clone(), (position, axis, dim.node));
                let sym = Sym::new(name);
                self.prover.assume(extent::at_least_zero(IntExpr::var(sym.clone())));
                self.signature.dims.push(DimBinding { sym, param: position, axis });
            }
        }
    }

    /// `dims(B <= 64)` and `assert!`.
    fn facts(&mut self) {
        let function = self.function;
        for fact in &function.attributes.dims {
            match &fact.kind {
                FactKind::Fixed(name, _) => self.fixed_is_used(name),
                FactKind::Holds(condition) => self.fact(condition, None),
            }
        }
        for stmt in function.body.iter().flat_map(|b| &b.stmts) {
            if let StmtKind::Assert { condition, text } = &stmt.kind {
                self.fact(condition, text.as_ref().map(|t| t.value.clone()));
            }
        }
    }

    fn fixed_is_used(&mut self, name: &Name) {
        let mut names = Vec::new();
        search::dim_names(self.function, &mut names);
        if names.contains(&name.text) || !self.fixed.contains_key(&name.text) {
            return;
        }
        if search::uses_name(self.function, &name.text) {
            return;
        }
        let error = Diagnostic::new(name.node, Code::UnboundDim, format!("no dim is called `{}`", name.text));
        let near = nearest(&name.text, names.iter().map(String::as_str)).filter(|_| name.text.chars().count() > 1);
        self.report(match near {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help("remove it"),
        });
    }

    fn fact(&mut self, condition: &Expr, text: Option<String>) {
        let ExprKind::Binary(op, a, b) = &condition.kind else {
            if !matches!(condition.kind, ExprKind::Error) {
                self.report(not_a_fact(condition.node));
            }
            return;
        };
        if *op == BinaryOp::And {
            self.fact(a, text.clone());
            return self.fact(b, text);
        }
        if extent::fact(*op, &IntExpr::from(0), &IntExpr::from(0)).is_none() {
            return self.report(not_a_fact(condition.node));
        }
        let (x, y) = match (self.extent(a), self.extent(b)) {
            (Ok(Some(x)), Ok(Some(y))) => (x, y),
            (x, y) => {
                for error in [x.err(), y.err()].into_iter().flatten() {
                    self.report(error);
                }
                return;
            }
        };
        if let Some(holds) = extent::decided(*op, &x, &y) {
            if !holds {
                let message = format!("`{x} {} {y}` never holds", op.symbol());
                self.report(
                    Diagnostic::new(condition.node, Code::DimConflict, message).help("change the fact or the dims"),
                );
            }
            return;
        }
        let Some(fact) = extent::fact(*op, &x, &y) else {
            return self.report(not_a_fact(condition.node));
        };
        self.bound_of(*op, &x, &y);
        let text = text.unwrap_or_else(|| match &fact {
            // The remainder is written as the source writes it.
            Fact::Divisible(..) => fact.to_string(),
            Fact::NonNegative(_) | Fact::Zero(_) | Fact::NonZero(_) | Fact::And(_) | Fact::Or(_) => {
                format!("{x} {} {y}", op.symbol())
            }
        });
        self.prover.assume(fact.clone());
        self.signature.facts.push(SigFact { fact, text, node: condition.node });
    }

    /// Notes `B <= 64`, `B < 65`, `64 >= B`.
    fn bound_of(&mut self, op: BinaryOp, a: &IntExpr, b: &IntExpr) {
        let (sym, limit) = match (op, a.as_var().cloned(), b.as_const(), b.as_var().cloned(), a.as_const()) {
            (BinaryOp::Le | BinaryOp::Eq, Some(sym), Some(n), ..) => (sym, n),
            (BinaryOp::Lt, Some(sym), Some(n), ..) => (sym, n - 1),
            (BinaryOp::Ge | BinaryOp::Eq, _, _, Some(sym), Some(n)) => (sym, n),
            (BinaryOp::Gt, _, _, Some(sym), Some(n)) => (sym, n - 1),
            _ => return,
        };
        match self.signature.bounds.iter_mut().find(|(s, _)| *s == sym) {
            Some((_, before)) => *before = limit.min(*before),
            None => self.signature.bounds.push((sym, limit)),
        }
    }

    fn params(&mut self) {
        let function = self.function;
        for (position, param) in function.params.iter().enumerate() {
            match self.param(position, param) {
                Some(param) => self.signature.params.push(param),
                None => self.broken = true,
            }
        }
    }

    fn param(&mut self, position: usize, param: &ast::Param) -> Option<SigParam> {
        let (name, node) = (param.name.text.clone(), param.node);
        let (kind, dtype, dims) = match &param.ty.kind {
            TypeKind::Tensor(tensor) => {
                let kind = match (param.passing, tensor.layout) {
                    (Passing::State, Layout::Dense) => SigKind::State,
                    (Passing::Input, Layout::Dense) => SigKind::Input,
                    (Passing::Input, Layout::Strided) => SigKind::Strided,
                    (Passing::State, Layout::Strided) => {
                        let error = Diagnostic::new(param.ty.node, Code::TypeMismatch, "state has no strides");
                        self.report(error.help("write `&mut Tensor<…>`"));
                        return None;
                    }
                };
                (kind, self.dtype(&tensor.dtype)?, tensor.dims.as_slice())
            }
            TypeKind::Scalar(text) if text == "usize" || text == "isize" => {
                (SigKind::Index { unsigned: text == "usize" }, DType::I64, [].as_slice())
            }
            TypeKind::Scalar(text) => {
                let dtype = self.dtype(&Name { node: param.ty.node, text: text.clone() })?;
                let kind = if param.passing == Passing::State { SigKind::State } else { SigKind::Scalar };
                (kind, dtype, [].as_slice())
            }
            // the parser has refused both
            TypeKind::Tuple(_) | TypeKind::Error => return None,
        };
        let extents = self.dims(param.ty.node, dims);
        let dim_nodes = dims.iter().map(|d| d.node).collect();
        let extents = extents?;
        for (axis, extent) in extents.iter().enumerate() {
            let binds = self.signature.dims.iter().any(|d| d.param == position && d.axis == axis);
            if !binds {
                self.signature.checks.push(DimCheck { param: position, axis, extent: extent.clone() });
            }
        }
        Some(SigParam { name, node, kind, dtype, dims: extents, dim_nodes })
    }

    fn dims(&mut self, node: NodeId, dims: &[Expr]) -> Option<Vec<IntExpr>> {
        if dims.len() > MAX_RANK {
            let message = format!("a tensor has at most {MAX_RANK} axes, found {}", dims.len());
            self.report(Diagnostic::new(node, Code::Rank, message).help("merge axes"));
            return None;
        }
        let mut all = Some(Vec::new());
        for dim in dims {
            match self.extent(dim) {
                Ok(Some(value)) if value.as_const().is_some_and(|n| n < 0) => {
                    let message = format!("this extent is {value}");
                    self.report(
                        Diagnostic::new(dim.node, Code::NegativeExtent, message).help("an extent is 0 or more"),
                    );
                    all = None;
                }
                Ok(Some(value)) => {
                    if let Some(list) = &mut all {
                        list.push(value);
                    }
                }
                Ok(None) => all = None,
                Err(error) => {
                    self.report(error);
                    all = None;
                }
            }
        }
        all
    }

    fn results(&mut self) {
        let function = self.function;
        // What computed extents of parameters say is known by now.
        self.prover = self.signature.prover();
        match &function.result {
            None => {}
            Some(ty) => match &ty.kind {
                TypeKind::Tuple(items) => {
                    self.signature.result_is_tuple = true;
                    for item in items {
                        self.result(item);
                    }
                }
                TypeKind::Tensor(_) | TypeKind::Scalar(_) => self.result(ty),
                TypeKind::Error => self.broken = true,
            },
        }
    }

    fn result(&mut self, ty: &ast::Type) {
        let found = match &ty.kind {
            TypeKind::Tensor(tensor) if tensor.layout == Layout::Strided => {
                let error = Diagnostic::new(ty.node, Code::TypeMismatch, "a result has no strides");
                self.report(error.help("write `Tensor<…>`"));
                None
            }
            TypeKind::Tensor(tensor) => self
                .dtype(&tensor.dtype)
                .and_then(|dtype| Some((dtype, self.dims(ty.node, &tensor.dims)?, &tensor.dims[..]))),
            TypeKind::Scalar(text) if text == "usize" || text == "isize" => {
                let error = Diagnostic::new(ty.node, Code::TypeMismatch, "an index value cannot be a result");
                self.report(error.help("return it as `i64`: `n as i64`"));
                None
            }
            TypeKind::Scalar(text) => {
                self.dtype(&Name { node: ty.node, text: text.clone() }).map(|dtype| (dtype, Vec::new(), [].as_slice()))
            }
            TypeKind::Tuple(_) => {
                let error = Diagnostic::new(ty.node, Code::TypeMismatch, "a tuple within a tuple cannot be a result");
                self.report(error.help("make it one tuple"));
                None
            }
            TypeKind::Error => None,
        };
        let Some((dtype, dims, written)) = found else {
            self.broken = true;
            return;
        };
        for (dim, e) in dims.iter().zip(written) {
            self.result_extent(dim, e.node);
        }
        self.signature.results.push(SigResult { dtype, dims, node: ty.node });
    }

    /// A computed extent that is not proven to be one is checked at the call.
    fn result_extent(&mut self, dim: &IntExpr, node: NodeId) {
        if extent::non_negative(&self.prover, dim) {
            return;
        }
        let fact = extent::at_least_zero(dim.clone());
        self.prover.assume(fact.clone());
        self.signature.facts.push(SigFact { fact, text: format!("{dim} >= 0"), node });
    }

    fn dtype(&mut self, name: &Name) -> Option<DType> {
        dtype(name, &self.generics).map_err(|error| self.report(error)).ok()
    }

    fn extent(&self, e: &Expr) -> Result<Option<IntExpr>, Diagnostic> {
        extent::extent(e, &self.prover, &|name| self.dim(name))
    }

    fn dim(&self, name: &str) -> DimName {
        if let Some(fixed) = self.fixed.get(name) {
            return DimName::Is(IntExpr::from(fixed.value));
        }
        if let Some(GenericValue::Const(value)) = self.generics.get(name) {
            return DimName::Is(IntExpr::from(*value));
        }
        if self.bound.contains_key(name) || self.index.iter().any(|n| n == name) {
            return DimName::Is(IntExpr::var(Sym::new(name)));
        }
        let is_scalar = |param: &ast::Param| param.name.text == name && !self.index.iter().any(|n| n == name);
        if self.function.params.iter().any(is_scalar) {
            return DimName::Other;
        }
        if self.open || self.unknown.iter().any(|n| n == name) {
            return DimName::Unknown;
        }
        let known = self.bound.keys().chain(self.fixed.keys()).chain(&self.index);
        DimName::Missing(known.cloned().collect())
    }

    fn report(&mut self, error: Diagnostic) {
        self.diagnostics.report(error);
    }

    fn finish(mut self) -> (Option<Signature>, Diagnostics) {
        let s = &mut self.signature;
        let by_scalar = s.results.iter().flat_map(|r| &r.dims).any(|d| d.as_const().is_none());
        let asserts =
            self.function.body.iter().flat_map(|b| &b.stmts).any(|s| matches!(s.kind, StmtKind::Assert { .. }));
        let asks = self.function.body.as_ref().is_some_and(search::matches_shapes);
        s.fallible = !s.dims.is_empty() || !s.facts.is_empty() || by_scalar || asserts || asks;
        let whole = (!self.broken).then_some(self.signature);
        (whole, self.diagnostics)
    }
}

fn not_a_fact(node: NodeId) -> Diagnostic {
    Diagnostic::new(node, Code::NotAFact, "a fact compares dims and index parameters")
        .help("write `B <= 64`, `N % 8 == 0`, `pos < S`, or several of these joined by `&&`")
}
