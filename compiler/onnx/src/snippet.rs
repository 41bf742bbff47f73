//! Operators written in the language: the text of a tensor function becomes a function of the module, and a call of
//! it. The front end proves every index in it.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::relax::{Op, TensorType, Type, ValueId};
use tenfold_ir::{DType, Function};
use tenfold_syntax::ast::{ConstSource, NodeId, Path};
use tenfold_syntax::elaborate::{Callee, ConstLookup};
use tenfold_syntax::{Environment, elaborate, parse_text};

use crate::emit::int;
use crate::value::{Outcome, fault};
use crate::walk::Cx;

/// Functions of the library call operators and nothing else.
struct Alone;

impl Environment for Alone {
    fn callee(&self, _path: &Path) -> Callee<'_> {
        Callee::NotFound { similar: None }
    }

    fn constant(&self, _source: &ConstSource, _node: NodeId) -> ConstLookup {
        ConstLookup::Unknown
    }
}

/// A call in the making: parameters, and names for extents that are no constants.
#[derive(Default)]
pub(crate) struct Snippet {
    params: Vec<String>,
    args: Vec<ValueId>,
    dims: Vec<IntExpr>,
}

impl Snippet {
    /// A parameter; gives the texts of its extents.
    pub(crate) fn tensor(&mut self, cx: &Cx<'_>, name: &str, value: ValueId) -> Vec<String> {
        let ty = cx.ty(value);
        let dims: Vec<String> = ty.shape.iter().map(|d| self.dim(d)).collect();
        self.params.push(format!("{name}: {}", tensor_text(ty.dtype, &dims)));
        self.args.push(value);
        dims
    }

    /// The text of an extent.
    pub(crate) fn dim(&mut self, extent: &IntExpr) -> String {
        if let Some(n) = extent.as_const() {
            return n.to_string();
        }
        let at = self.dims.iter().position(|d| d == extent).unwrap_or_else(|| {
            self.dims.push(extent.clone());
            self.dims.len() - 1
        });
        format!("D{at}")
    }

    /// Emits the call. `result` is the result's type, `body` the text between the braces.
    pub(crate) fn call(self, cx: &mut Cx<'_>, result: &str, body: &str) -> Outcome<Vec<ValueId>> {
        let tail = format!("({}) -> {result} {{\n{body}\n}}", self.params.join(", "));
        let func = match cx.library.get(&tail) {
            Some(name) => name.clone(),
            None => {
                let name = cx.module.unique_name("onnx");
                define(cx, &name, &format!("#[tensor_fn]\nfn {name}{tail}"))?;
                cx.library.insert(tail, name.clone());
                name
            }
        };
        let Some(callee) = cx.module.relax(&func) else { return fault("a function of the library is missing") };
        let known = |name: &str| {
            let at: usize = name.strip_prefix('D')?.parse().ok()?;
            self.dims.get(at).cloned()
        };
        let types: Vec<Type> = callee
            .results
            .iter()
            .map(|r| match &callee.values[r.0 as usize].ty {
                Type::Tensor(ty) => {
                    let shape = ty.shape.iter().map(|d| d.substitute(&|sym| known(sym.as_str()))).collect();
                    Type::Tensor(TensorType { dtype: ty.dtype, shape })
                }
                other => other.clone(),
            })
            .collect();
        let result = if types.len() == 1 { types[0].clone() } else { Type::Tuple(types) };
        let out = cx.emit(Op::CallFn { func, syms: Vec::new(), result }, &self.args)?;
        cx.components(out)
    }

    /// Emits a call that has one result.
    pub(crate) fn one(self, cx: &mut Cx<'_>, result: &str, body: &str) -> Outcome<ValueId> {
        match self.call(cx, result, body)?.as_slice() {
            [one] => Ok(*one),
            _ => fault("a function of the library has several results"),
        }
    }
}

/// Adds the function of a text to the module.
fn define(cx: &mut Cx<'_>, name: &str, text: &str) -> Outcome<()> {
    let parsed = parse_text(text);
    let Some(function) = parsed.function.filter(|_| parsed.diagnostics.is_empty()) else {
        let said: Vec<String> = parsed.diagnostics.iter().map(|d| d.message.clone()).collect();
        return fault(format!("the library's text does not parse: {}\n{text}", said.join("; ")));
    };
    let done = elaborate(&function, &Alone);
    let Some(module) = done.module else {
        let said: Vec<String> = done.diagnostics.into_iter().map(|d| d.message).collect();
        return fault(format!("the library's text does not compile: {}\n{text}", said.join("; ")));
    };
    if !module.constants.is_empty() {
        return fault(format!("the library's function `{name}` has constants"));
    }
    cx.module.sources.extend(module.sources);
    for (name, function) in module.functions {
        let function = match function {
            // Its places are those of a text that nobody sees.
            Function::Relax(mut f) => {
                f.values.iter_mut().for_each(|v| v.loc = tenfold_ir::Loc::default());
                Function::Relax(f)
            }
            Function::Prim(f) => Function::Prim(f),
        };
        cx.module.functions.insert(name, function);
    }
    Ok(())
}

/// The text of a tensor type.
pub(crate) fn tensor_text(dtype: DType, dims: &[String]) -> String {
    let mut out = format!("Tensor<{dtype}");
    for dim in dims {
        out += ", ";
        out += dim;
    }
    out + ">"
}

/// The product of extents as one extent.
pub(crate) fn product(dims: &[IntExpr]) -> IntExpr {
    dims.iter().fold(int(1), |all, d| &all * d)
}
