//! Printing: the text that [`super::parse_function`] reads. The grammar stands in `compiler/docs/relax.md`.

use std::fmt::Write;

use super::names::op_name;
use super::{
    Binding, BindingBlock, BlockKind, ConvLayout, DataLayout, Extern, Function, KernelLayout, Linkage, Op, PadMode,
    ParamKind, Phase, Place, Plan, PoolOp, Region, SliceAxis, SymKind, TensorType, Type, ValueData, ValueId, Window,
};
use crate::arith::IntExpr;
use crate::op::{ElementOp, Real};
use crate::{Loc, Scalar};

/// What a print shows beside the structure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PrintOptions {
    /// Names of values and texts of facts.
    pub names: bool,
    /// Places in the source.
    pub locs: bool,
}

/// The function as text, with names and without places.
pub fn print_function(func: &Function) -> String {
    print_with(func, PrintOptions { names: true, locs: false })
}

/// The function as text.
pub fn print_with(func: &Function, options: PrintOptions) -> String {
    let mut printer = Printer { func, options, out: String::new() };
    printer.function();
    printer.out
}

/// A type in text: `f32[N, 64]`, `f32`, `(f32[4], i64)`.
pub fn type_text(ty: &Type) -> String {
    match ty {
        Type::Tensor(tensor) => tensor_text(tensor),
        Type::Tuple(items) => format!("({})", joined(items, type_text)),
        Type::Shape(rank) => format!("shape({rank})"),
    }
}

fn tensor_text(ty: &TensorType) -> String {
    if ty.shape.is_empty() { ty.dtype.to_string() } else { format!("{}{}", ty.dtype, exprs(&ty.shape)) }
}

fn joined<T>(items: &[T], each: impl Fn(&T) -> String) -> String {
    items.iter().map(each).collect::<Vec<_>>().join(", ")
}

fn exprs(items: &[IntExpr]) -> String {
    format!("[{}]", joined(items, ToString::to_string))
}

fn list<T: ToString>(items: &[T]) -> String {
    format!("[{}]", joined(items, ToString::to_string))
}

/// A scalar's value, from which its dtype and this text give the same bits.
pub fn scalar_text(value: Scalar) -> String {
    if value.dtype.is_bool() {
        return (value.bits != 0).to_string();
    }
    if !value.dtype.is_float() && !value.dtype.is_float8() {
        return value.to_i128().to_string();
    }
    let real = value.to_f64();
    if Scalar::float(value.dtype, real) == value { format!("{real:?}") } else { format!("bits {:#x}", value.bits) }
}

/// The word of a phase.
pub(super) fn phase_text(phase: Phase) -> &'static str {
    match phase {
        Phase::Imported => "imported",
        Phase::Normalised => "normalised",
        Phase::Materialised => "materialised",
        Phase::Legalised => "legalised",
        Phase::Planned => "planned",
    }
}

struct Printer<'f> {
    func: &'f Function,
    options: PrintOptions,
    out: String,
}

impl Printer<'_> {
    fn line(&mut self, indent: usize, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", 2 * indent);
    }

    fn loc(&self, loc: Loc) -> String {
        if self.options.locs { format!(" at {loc}") } else { String::new() }
    }

    fn name(&self, name: &str) -> String {
        if self.options.names && !name.is_empty() { format!(" {name:?}") } else { String::new() }
    }

    fn function(&mut self) {
        let func = self.func;
        let flags = [("primitive", func.primitive), ("skip_optimization", func.skip_optimization)];
        let flags: String = flags.iter().filter(|(_, set)| *set).map(|(word, _)| format!(" {word}")).collect();
        self.line(0, &format!("relax @{} phase {}{flags} {{", func.name, phase_text(func.phase)));
        for decl in &func.syms {
            let kind = match &decl.kind {
                SymKind::Dim { param, axis } => format!("dim {param} {axis}"),
                SymKind::IndexParam { param, unsigned: true } => format!("index {param} unsigned"),
                SymKind::IndexParam { param, unsigned: false } => format!("index {param} signed"),
                SymKind::Stride { param, axis } => format!("stride {param} {axis}"),
                SymKind::Bound(value) => format!("bound v{}", value.0),
                SymKind::Loop(value) => format!("loop v{}", value.0),
            };
            self.line(1, &format!("sym {}: {kind}{}", decl.sym, self.loc(decl.loc)));
        }
        for pool in &func.pools {
            self.line(1, &format!("pool {}: {}{}", pool.name, pool.bytes, self.loc(pool.loc)));
        }
        for fact in &func.facts {
            self.line(1, &format!("fact {}{}{}", fact.fact, self.name(&fact.text), self.loc(fact.loc)));
        }
        for param in &func.params {
            let kind = match param.kind {
                ParamKind::Input => "input",
                ParamKind::Strided => "strided",
                ParamKind::State => "state",
                ParamKind::Scalar => "scalar",
            };
            let data = self.data(param.value);
            let text = format!("param v{}: {} = {kind} {}", param.value.0, type_text(&data.ty), param.position);
            self.line(1, &format!("{text}{}", self.tail(param.value)));
        }
        self.blocks(1, &func.blocks);
        self.results(1, "return", &func.results);
        if let Some(plan) = &func.plan {
            self.plan(plan);
        }
        self.line(0, "}");
    }

    fn data(&self, value: ValueId) -> &ValueData {
        &self.func.values[value.0 as usize]
    }

    /// What follows a definition: name, range, place.
    fn tail(&self, value: ValueId) -> String {
        let data = self.data(value);
        let range = data.range.as_ref().map_or(String::new(), |(lo, hi)| format!(" range({lo}, {hi})"));
        format!("{}{range}{}", self.name(&data.name), self.loc(data.loc))
    }

    fn blocks(&mut self, indent: usize, blocks: &[BindingBlock]) {
        for block in blocks {
            let kind = match block.kind {
                BlockKind::Dataflow => "dataflow",
                BlockKind::Effect => "effect",
            };
            self.line(indent, &format!("{kind} {{"));
            block.bindings.iter().for_each(|binding| self.binding(indent + 1, binding));
            self.line(indent, "}");
        }
    }

    fn results(&mut self, indent: usize, word: &str, results: &[ValueId]) {
        let text = format!("{word} {}", joined(results, |v| format!("v{}", v.0)));
        self.line(indent, text.trim_end());
    }

    fn region(&mut self, indent: usize, region: &Region) {
        self.line(indent, "region {");
        for param in &region.params {
            let ty = type_text(&self.data(*param).ty);
            self.line(indent + 1, &format!("param v{}: {ty}{}", param.0, self.tail(*param)));
        }
        self.blocks(indent + 1, &region.blocks);
        self.results(indent + 1, "yield", &region.results);
        self.line(indent, "}");
    }

    fn binding(&mut self, indent: usize, binding: &Binding) {
        let mut items: Vec<String> = binding.args.iter().map(|arg| format!("v{}", arg.0)).collect();
        items.extend(attributes(&binding.op).into_iter().map(|(name, value)| format!("{name} = {value}")));
        let ty = type_text(&self.data(binding.out).ty);
        let call = format!("{}({})", word(&binding.op), items.join(", "));
        let open = if binding.regions.is_empty() { "" } else { " {" };
        self.line(indent, &format!("v{}: {ty} = {call}{}{open}", binding.out.0, self.tail(binding.out)));
        if !binding.regions.is_empty() {
            binding.regions.iter().for_each(|region| self.region(indent + 1, region));
            self.line(indent, "}");
        }
    }

    fn plan(&mut self, plan: &Plan) {
        self.line(1, "plan {");
        for (i, place) in plan.places.iter().enumerate() {
            if let Some(place) = place {
                self.line(2, &format!("v{i} = {}", place_text(place)));
            }
        }
        for (value, places) in &plan.tuples {
            self.line(2, &format!("v{} = ({})", value.0, joined(places, place_text)));
        }
        if let Some(size) = &plan.workspace {
            self.line(2, &format!("workspace = {size}"));
        }
        if let Some(bound) = plan.workspace_bound {
            self.line(2, &format!("workspace_bound = {bound}"));
        }
        if !plan.pools.is_empty() {
            self.line(2, &format!("pools = {}", list(&plan.pools)));
        }
        self.line(1, "}");
    }
}

fn place_text(place: &Place) -> String {
    match place {
        Place::Param(index) => format!("param {index}"),
        Place::Result(index) => format!("result {index}"),
        Place::Workspace { offset, bytes } => format!("workspace [{offset}, {bytes}]"),
        Place::Const(id) => format!("const c{}", id.0),
        Place::None => "none".to_string(),
    }
}

/// The word before the parenthesis. Operators of a later version stand behind one word, so that none hides another.
fn word(op: &Op) -> &str {
    match op {
        Op::Later { .. } => "later",
        other => op_name(other),
    }
}

/// Attributes by name, in the order of the op's fields.
fn attributes(op: &Op) -> Vec<(&'static str, String)> {
    match op {
        Op::Const(id) => vec![("id", format!("c{}", id.0))],
        Op::Scalar(value) => vec![("value", scalar_text(*value))],
        Op::IndexValue { expr, .. } => vec![("expr", expr.to_string())],
        Op::Element(op) => element_attributes(*op),
        Op::Reduce { axes, keepdims, .. } => vec![("axes", list(axes)), ("keepdims", keepdims.to_string())],
        Op::ArgReduce { axis, keepdims, .. } => {
            let axis = axis.map_or("all".to_string(), |axis| axis.to_string());
            vec![("axis", axis), ("keepdims", keepdims.to_string())]
        }
        Op::Softmax { axis, .. } | Op::Concat { axis } => vec![("axis", axis.to_string())],
        Op::LayerNorm { axis, epsilon } | Op::BatchNorm { axis, epsilon } => {
            vec![("axis", axis.to_string()), ("epsilon", real(*epsilon))]
        }
        Op::Reshape { shape } | Op::BroadcastTo { shape } | Op::Full { shape } | Op::MatchShape { shape } => {
            vec![("shape", exprs(shape))]
        }
        Op::Transpose { perm } => vec![("perm", list(perm))],
        Op::Slice { axes, drop } | Op::SliceUpdate { axes, drop } => {
            vec![("axes", slice_axes(axes)), ("drop", list(drop))]
        }
        Op::Pad { mode, before, after } => {
            vec![("mode", pad_mode(*mode).to_string()), ("before", exprs(before)), ("after", exprs(after))]
        }
        Op::Conv { window, group, layout } => {
            let mut attrs = window_attributes(window);
            attrs.push(("group", group.to_string()));
            attrs.extend(layout_attributes(*layout, window.kernel.len()));
            attrs
        }
        Op::Pool { op, window, ceil_mode, layout } => {
            let mut attrs = window_attributes(window);
            attrs.push(("ceil_mode", ceil_mode.to_string()));
            if let PoolOp::Average { count_include_pad } = op {
                attrs.push(("count_include_pad", count_include_pad.to_string()));
            }
            if *layout != DataLayout::default() {
                attrs.push(("layout", layout.text(window.kernel.len())));
            }
            attrs
        }
        Op::Arange { start, step, .. } => vec![("start", start.to_string()), ("step", step.to_string())],
        Op::CallTir { func, syms, in_place, .. } => {
            let in_place = joined(in_place, |j| j.map_or("none".to_string(), |j| j.to_string()));
            vec![("func", format!("@{func}")), ("syms", exprs(syms)), ("in_place", format!("[{in_place}]"))]
        }
        Op::CallFn { func, syms, .. } => vec![("func", format!("@{func}")), ("syms", exprs(syms))],
        Op::CallDps { callee, .. } => extern_attributes(callee),
        Op::CallPacked { callee, updates } => {
            let mut attrs = extern_attributes(callee);
            attrs.push(("updates", list(updates)));
            attrs
        }
        Op::For { var, begin, extent, step } => vec![
            ("var", var.to_string()),
            ("begin", begin.to_string()),
            ("extent", extent.to_string()),
            ("step", step.to_string()),
        ],
        Op::Shape { dims } => vec![("dims", exprs(dims))],
        Op::TupleGet(index) => vec![("index", index.to_string())],
        Op::BindIndex(sym) => vec![("sym", sym.to_string())],
        Op::Later { name, .. } => vec![("name", format!("{name:?}"))],
        Op::Assert { fact, text } => vec![("fact", format!("{:?}", fact.to_string())), ("text", format!("{text:?}"))],
        Op::StoreState { param } => vec![("param", param.to_string())],
        Op::MatMul | Op::Tuple | Op::If | Op::While | Op::ShapeOf | Op::ShapeToTensor | Op::TensorToShape => Vec::new(),
    }
}

fn extern_attributes(callee: &Extern) -> Vec<(&'static str, String)> {
    let mut attrs = vec![("path", format!("{:?}", callee.path)), ("linkage", linkage_text(callee.linkage).to_string())];
    if !callee.symbol.is_empty() {
        attrs.push(("symbol", format!("{:?}", callee.symbol)));
    }
    attrs
}

/// The word of a linkage.
pub(super) fn linkage_text(linkage: Linkage) -> &'static str {
    match linkage {
        Linkage::Rust => "rust",
        Linkage::C => "c",
    }
}

fn real(value: Real) -> String {
    format!("{value:?}")
}

fn slice_axes(axes: &[SliceAxis]) -> String {
    format!("[{}]", joined(axes, |a| format!("{} : {} : {}", a.begin, a.extent, a.step)))
}

fn pad_mode(mode: PadMode) -> &'static str {
    match mode {
        PadMode::Constant => "constant",
        PadMode::Edge => "edge",
        PadMode::Reflect => "reflect",
        PadMode::Wrap => "wrap",
    }
}

fn window_attributes(window: &Window) -> Vec<(&'static str, String)> {
    vec![
        ("kernel_shape", list(&window.kernel)),
        ("strides", list(&window.strides)),
        ("pads", list(&window.pads)),
        ("dilations", list(&window.dilations)),
    ]
}

/// Layouts that are not the plain ones.
fn layout_attributes(layout: ConvLayout, spatial: usize) -> Vec<(&'static str, String)> {
    let mut attrs = Vec::new();
    if layout.data != DataLayout::default() {
        attrs.push(("data_layout", layout.data.text(spatial)));
    }
    if layout.kernel != KernelLayout::default() {
        attrs.push(("kernel_layout", layout.kernel.text(spatial)));
    }
    attrs
}

fn element_attributes(op: ElementOp) -> Vec<(&'static str, String)> {
    match op {
        ElementOp::Activation(op) => op.attributes().into_iter().map(|(name, value)| (name, real(value))).collect(),
        // The target of a cast is the result's dtype.
        ElementOp::Cast(_)
        | ElementOp::Unary(_)
        | ElementOp::Binary(_)
        | ElementOp::Compare(_)
        | ElementOp::Select
        | ElementOp::Clip
        | ElementOp::Prelu
        | ElementOp::QMultiplyShift
        | ElementOp::NearestInt => Vec::new(),
    }
}
