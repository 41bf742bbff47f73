//! Ops by their words and attributes: the inverse of the printer's.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::parse::{const_id, int, ints, number};
use super::print::linkage_text;
use super::{
    ConvLayout, DataLayout, Extern, KernelLayout, Linkage, Op, PadMode, PoolOp, SliceAxis, TensorType, Type, Window,
    element_name, type_text,
};
use crate::arith::{Fact, IntExpr, Sym};
use crate::op::{Activation, ArgOp, ElementOp, Real, ReduceOp};
use crate::text::{Wrong, bracketed, quoted, split};
use crate::{DType, Scalar};

type Parsed<T> = Result<T, Wrong>;

/// Attributes that are still to be read.
struct Attrs<'t>(BTreeMap<&'t str, &'t str>);

impl<'t> Attrs<'t> {
    fn take(&mut self, name: &str) -> Parsed<&'t str> {
        self.0.remove(name).ok_or_else(|| format!("attribute `{name}` is missing").into())
    }

    fn number<T: FromStr>(&mut self, name: &str) -> Parsed<T> {
        number(self.take(name)?)
    }

    fn numbers<T: FromStr>(&mut self, name: &str) -> Parsed<Vec<T>> {
        let text = self.take(name)?;
        let (inner, _) = bracketed(text, '[', ']').ok_or_else(|| Wrong::found("a list", text))?;
        split(inner, ',').into_iter().map(number).collect()
    }

    fn expr(&mut self, name: &str) -> Parsed<IntExpr> {
        int(self.take(name)?)
    }

    fn exprs(&mut self, name: &str) -> Parsed<Vec<IntExpr>> {
        ints(self.take(name)?)
    }

    /// A text in quotes.
    fn text(&mut self, name: &str) -> Parsed<String> {
        let text = self.take(name)?;
        match quoted(text) {
            Some((inner, "")) => Ok(inner),
            Some(_) | None => Err(Wrong::found("a text in quotes", text)),
        }
    }

    fn linkage(&mut self) -> Parsed<Linkage> {
        let word = self.take("linkage")?;
        let known = [Linkage::Rust, Linkage::C].into_iter().find(|linkage| linkage_text(*linkage) == word);
        known.ok_or_else(|| Wrong::found("`rust` or `c`", word))
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    fn callee(&mut self) -> Parsed<Extern> {
        let (path, linkage) = (self.text("path")?, self.linkage()?);
        let symbol = if self.has("symbol") { self.text("symbol")? } else { String::new() };
        Ok(Extern { path, linkage, symbol })
    }

    fn real(&mut self, name: &str) -> Parsed<Real> {
        self.number(name).map(Real::new)
    }

    fn symbol(&mut self, name: &str) -> Parsed<String> {
        let text = self.take(name)?;
        let name = text.strip_prefix('@').ok_or_else(|| Wrong::found("`@name`", text))?;
        Ok(name.to_string())
    }

    fn slice_axes(&mut self, name: &str) -> Parsed<Vec<SliceAxis>> {
        let text = self.take(name)?;
        let (inner, _) = bracketed(text, '[', ']').ok_or_else(|| Wrong::found("a list", text))?;
        let axis = |part: &str| match split(part, ':')[..] {
            [begin, extent, step] => Ok(SliceAxis { begin: int(begin)?, extent: int(extent)?, step: number(step)? }),
            _ => Err(Wrong::found("`begin : extent : step`", part)),
        };
        split(inner, ',').into_iter().map(axis).collect()
    }

    /// A layout by its name; the plain one is not written.
    fn layout<L: Default>(&mut self, name: &str, parse: impl Fn(&str) -> Option<L>) -> Parsed<L> {
        match self.0.remove(name) {
            Some(text) => parse(text).ok_or_else(|| Wrong::found(&format!("a layout in `{name}`"), text)),
            None => Ok(L::default()),
        }
    }

    fn window(&mut self) -> Parsed<Window> {
        Ok(Window {
            kernel: self.numbers("kernel_shape")?,
            strides: self.numbers("strides")?,
            pads: self.numbers("pads")?,
            dilations: self.numbers("dilations")?,
        })
    }
}

/// The op of a word; `ty` is the type written for the result, which some ops repeat.
pub(super) fn parse_op(word: &str, attrs: BTreeMap<&str, &str>, ty: &Type) -> Parsed<Op> {
    op(word, Attrs(attrs), ty).map_err(|wrong| wrong.or_at(word))
}

fn op(word: &str, mut attrs: Attrs<'_>, ty: &Type) -> Parsed<Op> {
    let op = match named(word, &mut attrs, ty)? {
        Some(op) => op,
        None => Op::Element(element(word, &mut attrs, ty)?),
    };
    match attrs.0.keys().next() {
        None => Ok(op),
        Some(name) => Err(Wrong::at(name, format!("`{word}` has no attribute `{name}`"))),
    }
}

/// dtype of a tensor result.
fn dtype(ty: &Type) -> Parsed<DType> {
    match ty {
        Type::Tensor(tensor) => Ok(tensor.dtype),
        Type::Tuple(_) | Type::Shape(_) => {
            Err(format!("expected the type of a tensor, found `{}`", type_text(ty)).into())
        }
    }
}

/// Result types of a call with several.
fn results(ty: &Type) -> Parsed<Vec<TensorType>> {
    match ty {
        Type::Tensor(tensor) => Ok(vec![tensor.clone()]),
        Type::Shape(_) => Err(format!("expected the type of a tensor, found `{}`", type_text(ty)).into()),
        Type::Tuple(items) => items
            .iter()
            .map(|item| match item {
                Type::Tensor(tensor) => Ok(tensor.clone()),
                Type::Tuple(_) | Type::Shape(_) => Err("expected a tuple of tensors".into()),
            })
            .collect(),
    }
}

fn scalar(text: &str, dtype: DType) -> Parsed<Scalar> {
    if let Some(bits) = text.strip_prefix("bits 0x") {
        let bits = u64::from_str_radix(bits, 16).map_err(|_| Wrong::found("bits", text))?;
        return Ok(Scalar { dtype, bits });
    }
    if dtype.is_bool() {
        return number(text).map(Scalar::bool);
    }
    if dtype.is_float() || dtype.is_float8() {
        return number(text).map(|value| Scalar::float(dtype, value));
    }
    let value: i128 = number(text)?;
    let scalar = Scalar::int(dtype, value);
    if scalar.to_i128() == value {
        Ok(scalar)
    } else {
        Err(Wrong::at(text, format!("`{dtype}` does not hold {value}")))
    }
}

/// Ops that are not elementwise.
fn named(word: &str, attrs: &mut Attrs<'_>, ty: &Type) -> Parsed<Option<Op>> {
    let op = match word {
        "const" => Op::Const(const_id(attrs.take("id")?)?),
        "scalar" => Op::Scalar(scalar(attrs.take("value")?, dtype(ty)?)?),
        "index_value" => Op::IndexValue { expr: attrs.expr("expr")?, dtype: dtype(ty)? },
        "sum" => reduce(ReduceOp::Sum, attrs)?,
        "prod" => reduce(ReduceOp::Prod, attrs)?,
        "max" => reduce(ReduceOp::Max, attrs)?,
        "min" => reduce(ReduceOp::Min, attrs)?,
        "mean" => reduce(ReduceOp::Mean, attrs)?,
        "any" => reduce(ReduceOp::Any, attrs)?,
        "all" => reduce(ReduceOp::All, attrs)?,
        "argmax" => arg_reduce(ArgOp::ArgMax, attrs)?,
        "argmin" => arg_reduce(ArgOp::ArgMin, attrs)?,
        "matmul" => Op::MatMul,
        "softmax" => Op::Softmax { axis: attrs.number("axis")?, log: false },
        "log_softmax" => Op::Softmax { axis: attrs.number("axis")?, log: true },
        "batch_normalization" => Op::BatchNorm { axis: attrs.number("axis")?, epsilon: attrs.real("epsilon")? },
        "layer_normalization" => Op::LayerNorm { axis: attrs.number("axis")?, epsilon: attrs.real("epsilon")? },
        "reshape" => Op::Reshape { shape: attrs.exprs("shape")? },
        "transpose" => Op::Transpose { perm: attrs.numbers("perm")? },
        "broadcast_to" => Op::BroadcastTo { shape: attrs.exprs("shape")? },
        "concat" => Op::Concat { axis: attrs.number("axis")? },
        "slice" => Op::Slice { axes: attrs.slice_axes("axes")?, drop: attrs.numbers("drop")? },
        "slice_update" => Op::SliceUpdate { axes: attrs.slice_axes("axes")?, drop: attrs.numbers("drop")? },
        "pad" => Op::Pad {
            mode: pad_mode(attrs.take("mode")?)?,
            before: attrs.exprs("before")?,
            after: attrs.exprs("after")?,
        },
        "conv" => conv(attrs)?,
        "max_pool" => pool(PoolOp::Max, attrs)?,
        "average_pool" => {
            let op = PoolOp::Average { count_include_pad: attrs.number("count_include_pad")? };
            pool(op, attrs)?
        }
        "full" => Op::Full { shape: attrs.exprs("shape")? },
        "arange" => arange(attrs, ty)?,
        "call_tir" => call_tir(attrs, ty)?,
        "call_fn" => Op::CallFn { func: attrs.symbol("func")?, syms: attrs.exprs("syms")?, result: ty.clone() },
        "call_dps" => Op::CallDps { callee: attrs.callee()?, results: results(ty)? },
        "call_packed" => Op::CallPacked { callee: attrs.callee()?, updates: attrs.numbers("updates")? },
        "if" => Op::If,
        "for" => Op::For {
            var: Sym::new(attrs.take("var")?),
            begin: attrs.expr("begin")?,
            extent: attrs.expr("extent")?,
            step: attrs.number("step")?,
        },
        "while" => Op::While,
        "shape_of" => Op::ShapeOf,
        "shape" => Op::Shape { dims: attrs.exprs("dims")? },
        "shape_to_tensor" => Op::ShapeToTensor,
        "tensor_to_shape" => Op::TensorToShape,
        "tuple" => Op::Tuple,
        "tuple_get" => Op::TupleGet(attrs.number("index")?),
        "bind_index" => Op::BindIndex(Sym::new(attrs.take("sym")?)),
        "match_shape" => Op::MatchShape { shape: attrs.exprs("shape")? },
        "later" => Op::Later { name: attrs.text("name")?, result: ty.clone() },
        "assert" => {
            Op::Assert { fact: Fact::parse(&attrs.text("fact")?).map_err(Wrong::from)?, text: attrs.text("text")? }
        }
        "store_state" => Op::StoreState { param: attrs.number("param")? },
        _ => return Ok(None),
    };
    Ok(Some(op))
}

fn reduce(op: ReduceOp, attrs: &mut Attrs<'_>) -> Parsed<Op> {
    Ok(Op::Reduce { op, axes: attrs.numbers("axes")?, keepdims: attrs.number("keepdims")? })
}

fn conv(attrs: &mut Attrs<'_>) -> Parsed<Op> {
    let (window, group) = (attrs.window()?, attrs.number("group")?);
    let spatial = window.kernel.len();
    let data = attrs.layout("data_layout", |text| DataLayout::parse(text, spatial))?;
    let kernel = attrs.layout("kernel_layout", |text| KernelLayout::parse(text, spatial))?;
    Ok(Op::Conv { window, group, layout: ConvLayout { data, kernel } })
}

fn pool(op: PoolOp, attrs: &mut Attrs<'_>) -> Parsed<Op> {
    let (window, ceil_mode) = (attrs.window()?, attrs.number("ceil_mode")?);
    let layout = attrs.layout("layout", |text| DataLayout::parse(text, window.kernel.len()))?;
    Ok(Op::Pool { op, window, ceil_mode, layout })
}

fn arg_reduce(op: ArgOp, attrs: &mut Attrs<'_>) -> Parsed<Op> {
    let axis = attrs.take("axis")?;
    let axis = if axis == "all" { None } else { Some(number(axis)?) };
    Ok(Op::ArgReduce { op, axis, keepdims: attrs.number("keepdims")? })
}

fn pad_mode(word: &str) -> Parsed<PadMode> {
    match word {
        "constant" => Ok(PadMode::Constant),
        "edge" => Ok(PadMode::Edge),
        "reflect" => Ok(PadMode::Reflect),
        "wrap" => Ok(PadMode::Wrap),
        other => Err(Wrong::found("a mode of padding", other)),
    }
}

fn arange(attrs: &mut Attrs<'_>, ty: &Type) -> Parsed<Op> {
    let Type::Tensor(TensorType { dtype, shape }) = ty else {
        return Err(format!("expected the type of a tensor, found `{}`", type_text(ty)).into());
    };
    let [extent] = shape.as_slice() else { return Err("expected a type of rank 1".into()) };
    Ok(Op::Arange { start: attrs.expr("start")?, step: attrs.expr("step")?, extent: extent.clone(), dtype: *dtype })
}

fn call_tir(attrs: &mut Attrs<'_>, ty: &Type) -> Parsed<Op> {
    let text = attrs.take("in_place")?;
    let (inner, _) = bracketed(text, '[', ']').ok_or_else(|| Wrong::found("a list", text))?;
    let in_place =
        split(inner, ',').into_iter().map(|word| if word == "none" { Ok(None) } else { number(word).map(Some) });
    Ok(Op::CallTir {
        in_place: in_place.collect::<Parsed<_>>()?,
        func: attrs.symbol("func")?,
        syms: attrs.exprs("syms")?,
        results: results(ty)?,
    })
}

fn element(word: &str, attrs: &mut Attrs<'_>, ty: &Type) -> Parsed<ElementOp> {
    if let Some(op) = listed(word) {
        return Ok(op);
    }
    if word == "cast" {
        return Ok(ElementOp::Cast(dtype(ty)?));
    }
    let op = Activation::named(word, |name| attrs.real(name))?;
    op.map(ElementOp::Activation).ok_or_else(|| Wrong::found("an op", word))
}

/// The elementwise operator of a word, if it has no attributes.
pub fn plain_element(word: &str) -> Option<ElementOp> {
    let activation = || Activation::named(word, |_| Err(())).ok().flatten().map(ElementOp::Activation);
    listed(word).or_else(activation)
}

fn listed(word: &str) -> Option<ElementOp> {
    ElementOp::plain().find(|op| element_name(*op) == word)
}
