//! Statements and functions as C.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

use tenfold_ir::arith::{IntExpr, View};
use tenfold_ir::tir::{
    BufId, BufUse, CallArg, Counters, Elem, Expr, ExprId, Launch, Param, PrimFunc, Scope, Stmt, VarId,
};
use tenfold_ir::{DType, Module};

use super::expr::{storage, use_counts, value_type};
use super::names::Names;
use super::split::{CONTEXT, part_function, parts_of_loops};

use crate::Aliases;
use crate::backend::{constant_symbol, with_context};
use crate::without_vectors;

/// The helpers at the head of every C file: arithmetic that is defined to the last case.
const PRELUDE: &str = include_str!("prelude.h");

/// The whole module as one C file; functions in the order of their names, the entry last.
pub fn emit(module: &Module) -> String {
    let module = &without_vectors(module);
    let mut out = PRELUDE.to_string();
    let mut names = Names::default();
    let mut symbols = BTreeMap::new();
    let prims: Vec<&PrimFunc> = module.prims().collect();
    let outside: Vec<&str> = prims.iter().filter_map(|f| f.link_name()).collect();
    names.keep(&outside);
    let (declared, prims): (Vec<&PrimFunc>, Vec<&PrimFunc>) = prims.into_iter().partition(|f| f.link_name().is_some());
    for func in declared {
        let symbol = func.link_name().unwrap_or_default();
        symbols.insert(func.name.clone(), symbol.to_string());
        let _ = writeln!(out, "extern void {symbol}({});", outside_params(func));
    }
    for func in &prims {
        let symbol = if func.exported { func.name.clone() } else { names.fresh(&func.name) };
        symbols.insert(func.name.clone(), symbol);
    }
    constants(module, &prims, &mut out);
    let aliases = Aliases::of(&prims);
    let cx = Cx { module, symbols: &symbols, with_context: with_context(module), aliases: &aliases, outside: &outside };
    let parts = parts_of_loops(&prims);
    let (parts, others): (Vec<&&PrimFunc>, Vec<&&PrimFunc>) =
        prims.iter().partition(|f| parts.contains(f.name.as_str()));
    for func in parts {
        out.push('\n');
        out += &Body::new(func, &cx).function();
        out += &part_function(func, &cx);
    }
    let (entries, kernels): (Vec<&&PrimFunc>, Vec<&&PrimFunc>) = others.into_iter().partition(|f| f.exported);
    for func in kernels.into_iter().chain(entries) {
        out.push('\n');
        out += &Body::new(func, &cx).function();
    }
    out
}

/// The parameters of a function outside the module: pointers, indices as `ptrdiff_t`, halves as their bits.
fn outside_params(func: &PrimFunc) -> String {
    let params: Vec<String> = func
        .params
        .iter()
        .map(|param| match param {
            Param::Buffer(buf, usage) => {
                let element = storage(func.buffers[buf.0 as usize].dtype);
                if *usage == BufUse::In { format!("const {element} *") } else { format!("{element} *") }
            }
            Param::Value(var) => match func.vars[var.0 as usize].ty.elem {
                Elem::Index => "ptrdiff_t".to_string(),
                Elem::Scalar(dtype) => storage(dtype).to_string(),
            },
            Param::Workspace => "unsigned char *".to_string(),
        })
        .collect();
    if params.is_empty() { "void".to_string() } else { params.join(", ") }
}

fn constants(module: &Module, prims: &[&PrimFunc], out: &mut String) {
    let mut used = BTreeMap::new();
    for buffer in prims.iter().flat_map(|f| &f.buffers) {
        if let Scope::Const(id) = buffer.scope {
            used.insert(constant_symbol(&module.constant(id).hash), buffer.dtype);
        }
    }
    for (symbol, dtype) in used {
        let _ = writeln!(out, "extern TF_EXPORT const {} {symbol}[];", storage(dtype));
    }
}

/// What every function of a module is written with.
pub(super) struct Cx<'a> {
    pub(super) module: &'a Module,
    pub(super) symbols: &'a BTreeMap<String, String>,
    /// The functions that take the context behind their parameters.
    pub(super) with_context: BTreeSet<&'a str>,
    /// Parameters that may point to the same memory.
    pub(super) aliases: &'a Aliases,
    pub(super) outside: &'a [&'a str],
}

/// One function being written.
pub(super) struct Body<'a> {
    pub(super) func: &'a PrimFunc,
    pub(super) cx: &'a Cx<'a>,
    out: String,
    indent: usize,
    names: Names,
    vars: Vec<String>,
    buffers: Vec<String>,
    known: Vec<HashMap<ExprId, String>>,
    counts: HashMap<ExprId, u32>,
    temps: usize,
    pub(super) counters: Counters,
}

impl<'a> Body<'a> {
    pub(super) fn new(func: &'a PrimFunc, cx: &'a Cx<'a>) -> Self {
        let mut names = Names::default();
        names.keep(cx.outside);
        names.keep(&[CONTEXT]);
        let vars = func.vars.iter().map(|v| names.fresh(v.sym.as_str())).collect();
        let buffers = func
            .buffers
            .iter()
            .map(|b| match b.scope {
                Scope::Const(id) => constant_symbol(&cx.module.constant(id).hash),
                _ => names.fresh(&b.name),
            })
            .collect();
        Body {
            func,
            cx,
            out: String::new(),
            indent: 0,
            names,
            vars,
            buffers,
            known: vec![HashMap::new()],
            counts: HashMap::new(),
            temps: 0,
            counters: Counters::default(),
        }
    }

    pub(super) fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", 2 * self.indent);
    }

    pub(super) fn enter(&mut self) {
        self.indent += 1;
        self.known.push(HashMap::new());
    }

    pub(super) fn leave(&mut self) {
        self.indent -= 1;
        self.known.pop();
    }

    pub(super) fn known(&self, id: ExprId) -> Option<String> {
        self.known.iter().rev().find_map(|scope| scope.get(&id).cloned())
    }

    pub(super) fn remember(&mut self, id: ExprId, name: String) {
        if let Some(scope) = self.known.last_mut() {
            scope.insert(id, name);
        }
    }

    pub(super) fn uses(&self, id: ExprId) -> u32 {
        self.counts.get(&id).copied().unwrap_or(1)
    }

    pub(super) fn temp(&mut self) -> String {
        self.temps += 1;
        let base = format!("t{}", self.temps);
        self.names.fresh(&base)
    }

    pub(super) fn var(&self, var: VarId) -> String {
        self.vars[var.0 as usize].clone()
    }

    pub(super) fn buffer(&self, buf: BufId) -> String {
        self.buffers[buf.0 as usize].clone()
    }

    pub(super) fn unsupported(&mut self, expr: &Expr) {
        self.line(&format!("#error \"not C: {expr:?}\""));
    }

    fn function(mut self) -> String {
        let head = self.head();
        let _ = writeln!(self.out, "{head} {{");
        self.indent = 1;
        self.workspace_buffers();
        let body = self.func.body.clone();
        self.stmt(&body);
        if self.func.exported {
            self.line("return 0;");
        }
        self.out.push_str("}\n");
        self.out
    }

    fn head(&self) -> String {
        let (mut params, mut pools) = (Vec::new(), 0);
        for (number, param) in (0..).zip(&self.func.params) {
            match param {
                Param::Buffer(buf, usage) => {
                    let shared = !self.func.exported && self.cx.aliases.shared(&self.func.name, number);
                    params.push(self.pointer(*buf, *usage, shared));
                }
                Param::Value(var) => params.push(self.value_param(*var)),
                Param::Workspace => {
                    params.push(format!("unsigned char *restrict {}", workspace(pools)));
                    pools += 1;
                }
            }
        }
        if self.cx.with_context.contains(self.func.name.as_str()) {
            params.push(format!("const tf_context *{CONTEXT}"));
        }
        if params.is_empty() {
            params.push("void".to_string());
        }
        let symbol = &self.cx.symbols[&self.func.name];
        let result = if self.func.exported { "TF_EXPORT int32_t" } else { "static void" };
        let first =
            if self.func.exported { format!("{result} {symbol}({});\n", params.join(", ")) } else { String::new() };
        format!("{first}{result} {symbol}({})", params.join(", "))
    }

    fn pointer(&self, buf: BufId, usage: BufUse, shared: bool) -> String {
        let data = &self.func.buffers[buf.0 as usize];
        let qualifier = if usage == BufUse::In { "const " } else { "" };
        let alone = if shared { "" } else { "restrict " };
        format!("{qualifier}{} *{alone}{}", storage(data.dtype), self.buffer(buf))
    }

    /// Index values of the entry are `ptrdiff_t`; halves arrive as their bits.
    fn value_param(&self, var: VarId) -> String {
        let ty = match (self.func.vars[var.0 as usize].ty.elem, self.func.exported) {
            (Elem::Index, true) => "ptrdiff_t",
            (Elem::Scalar(dtype), true) => storage(dtype),
            (elem, false) => value_type(elem),
        };
        let name = self.var(var);
        let half = self.is_half(var);
        if half && self.func.exported { format!("{ty} {name}_bits") } else { format!("{ty} {name}") }
    }

    fn is_half(&self, var: VarId) -> bool {
        matches!(self.func.vars[var.0 as usize].ty.elem, Elem::Scalar(DType::F16 | DType::BF16))
    }

    fn workspace_buffers(&mut self) {
        if self.func.exported {
            for param in self.func.params.clone() {
                if let Param::Value(var) = param
                    && self.is_half(var)
                {
                    let name = self.var(var);
                    let f =
                        if self.func.vars[var.0 as usize].ty.elem == Elem::Scalar(DType::F16) { "f16" } else { "bf16" };
                    self.line(&format!("const float {name} = tf_{f}_to({name}_bits);"));
                }
            }
        }
        let mut used = BTreeSet::new();
        for index in 0..self.func.buffers.len() {
            let data = &self.func.buffers[index];
            if data.scope != Scope::Workspace {
                continue;
            }
            let offset = data.offset.clone().unwrap_or_else(|| IntExpr::from(0));
            let (pool, offset) = self.func.in_pool(&offset);
            used.insert(pool);
            let (ty, name, offset) = (storage(data.dtype), self.buffers[index].clone(), self.int(&offset));
            self.line(&format!("{ty} *const {name} = ({ty} *)(void *)({} + {offset});", workspace(pool)));
        }
        let pools = self.func.params.iter().filter(|param| **param == Param::Workspace).count();
        for pool in (0..pools).filter(|pool| !used.contains(pool)) {
            self.line(&format!("(void){};", workspace(pool)));
        }
        if self.cx.with_context.contains(self.func.name.as_str()) {
            self.line(&format!("(void){CONTEXT};"));
        }
    }

    /// An integer expression over the function's index parameters.
    fn int(&self, e: &IntExpr) -> String {
        let pair = |f: &str, a: &IntExpr, b: &IntExpr| format!("tf_{f}_i64({}, {})", self.int(a), self.int(b));
        match e.view() {
            View::Const(c) => format!("INT64_C({c})"),
            View::Var(sym) => {
                let at = self.func.vars.iter().position(|v| v.sym == sym);
                at.map_or_else(|| sym.to_string(), |i| self.vars[i].clone())
            }
            View::Add(all) => self.joined(&all, " + "),
            View::Mul(all) => self.joined(&all, " * "),
            // Sizes are divided by positive constants, where Euclidean division is floor division.
            View::FloorDiv(a, b) => pair("div_euclid", &a, &b),
            View::FloorMod(a, b) => pair("rem_euclid", &a, &b),
            View::TruncDiv(a, b) => pair("div", &a, &b),
            View::TruncRem(a, b) => pair("rem", &a, &b),
            View::Min(a, b) => pair("min", &a, &b),
            View::Max(a, b) => pair("max", &a, &b),
        }
    }

    /// Wrapping: a product of dims may leave 64 bits before a factor of 0.
    fn joined(&self, all: &[IntExpr], sign: &str) -> String {
        let parts: Vec<String> = all.iter().map(|e| format!("(uint64_t){}", self.int(e))).collect();
        format!("(int64_t)({})", parts.join(sign))
    }

    /// A statement starts with nothing known but what the enclosing scopes computed from values that cannot change.
    pub(super) fn start(&mut self, roots: &[ExprId]) {
        self.counts = use_counts(self.func, roots);
        self.known = vec![HashMap::new()];
    }

    fn block(&mut self, stmt: &Stmt) {
        self.indent += 1;
        self.stmt(stmt);
        self.indent -= 1;
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Seq(all) => all.iter().for_each(|s| self.stmt(s)),
            Stmt::For { var, min, extent, body, .. } => self.for_(*var, *min, *extent, body),
            Stmt::While { cond, body } => {
                self.line("for (;;) {");
                self.indent += 1;
                self.start(&[*cond]);
                let cond = self.value(*cond);
                self.line(&format!("if (!{cond}) break;"));
                self.stmt(body);
                self.indent -= 1;
                self.line("}");
            }
            Stmt::If { cond, then, otherwise } => {
                self.braced(|b| {
                    b.start(&[*cond]);
                    let cond = b.value(*cond);
                    b.line(&format!("if ({cond}) {{"));
                    b.block(then);
                    if let Some(other) = otherwise {
                        b.line("} else {");
                        b.block(other);
                    }
                    b.line("}");
                });
            }
            Stmt::Let { var, value, body } => {
                self.line("{");
                self.indent += 1;
                self.start(&[*value]);
                let text = self.value(*value);
                let ty = value_type(self.func.vars[var.0 as usize].ty.elem);
                let name = self.var(*var);
                self.line(&format!("const {ty} {name} = {text};"));
                self.line(&format!("(void){name};"));
                self.stmt(body);
                self.indent -= 1;
                self.line("}");
            }
            Stmt::Alloc { buf, body } => self.alloc(*buf, body),
            Stmt::Store { buf, index, value, .. } => self.braced(|b| b.store(*buf, index, *value)),
            Stmt::Evaluate(_) => {}
            Stmt::Call { func, args, launch: Some(Launch::Threads { turns, work }) } => {
                self.braced(|b| b.split(func, args, *turns, *work));
            }
            Stmt::Call { func, launch: Some(Launch::Grid { .. }), .. } => {
                self.line(&format!("#error \"`{func}` is launched on a device, which is not C\""));
            }
            Stmt::Call { func, args, launch: None } => self.braced(|b| b.call(func, args)),
            Stmt::Barrier(_) => self.line("#error \"a barrier, which plain C does not have\""),
            Stmt::Assert { cond, text } => self.braced(|b| b.check(*cond, text)),
            Stmt::Prefetch { buf, index } => self.braced(|b| b.prefetch(*buf, index)),
            Stmt::At(_, body) => self.stmt(body),
            Stmt::Block(block) => self.line(&format!("#error \"block `{}` was not lowered\"", block.name)),
        }
    }

    /// Runs `f` in braces if it writes more than one line, so that its constants stay inside.
    fn braced(&mut self, f: impl FnOnce(&mut Self)) {
        let before = std::mem::take(&mut self.out);
        self.indent += 1;
        f(self);
        self.indent -= 1;
        let inner = std::mem::replace(&mut self.out, before);
        if inner.contains("const ") || inner.contains(";\n") && inner.lines().count() > 1 {
            self.line("{");
            self.out += &inner;
            self.line("}");
        } else {
            for line in inner.lines() {
                let text = line.strip_prefix("  ").unwrap_or(line);
                self.out += text;
                self.out.push('\n');
            }
        }
    }

    fn for_(&mut self, var: VarId, min: ExprId, extent: ExprId, body: &Stmt) {
        self.braced(|b| {
            b.start(&[min, extent]);
            let (start, count) = (b.value(min), b.value(extent));
            b.counters.enter(b.func, var, min, extent);
            let name = b.var(var);
            let zero = b.func.literal(min) == Some(0);
            let ty = value_type(b.func.vars[var.0 as usize].ty.elem);
            let end = if zero { count } else { format!("{start} + {count}") };
            b.line(&format!("for ({ty} {name} = {start}; {name} < {end}; {name}++) {{"));
            b.block(body);
            b.line("}");
        });
    }

    fn alloc(&mut self, buf: BufId, body: &Stmt) {
        let data = &self.func.buffers[buf.0 as usize];
        let size = data.shape.iter().fold(IntExpr::from(1), |n, d| &n * d);
        let (ty, name) = (storage(data.dtype), self.buffer(buf));
        self.line("{");
        self.indent += 1;
        match size.as_const() {
            Some(n) => self.line(&format!("{ty} {name}[{}];", n.max(1))),
            None => self.line("#error \"an allocation without a constant size\""),
        }
        self.stmt(body);
        self.indent -= 1;
        self.line("}");
    }

    fn store(&mut self, buf: BufId, index: &[ExprId], value: ExprId) {
        let mut roots = index.to_vec();
        roots.push(value);
        self.start(&roots);
        let index: Vec<String> = index.iter().map(|i| self.value(*i)).collect();
        let mut text = self.value(value);
        let dtype = self.func.buffers[buf.0 as usize].dtype;
        match dtype {
            DType::F16 => text = format!("tf_f16_of({text})"),
            DType::BF16 => text = format!("tf_bf16_of({text})"),
            _ => {}
        }
        let name = self.buffer(buf);
        self.line(&format!("{name}[{}] = {text};", index.join("][")));
    }

    /// A check that does not hold ends the function with its number.
    fn check(&mut self, cond: ExprId, text: &str) {
        let number = self.func.checks().iter().position(|t| t == text).map_or(0, |i| i + 1);
        self.start(&[cond]);
        let cond = self.value(cond);
        self.line(&format!("if (!{cond}) return {number};"));
    }

    fn prefetch(&mut self, buf: BufId, index: &[ExprId]) {
        self.start(index);
        let index: Vec<String> = index.iter().map(|i| self.value(*i)).collect();
        let name = self.buffer(buf);
        self.line(&format!("TF_PREFETCH({name} + {});", index.first().map_or("0", String::as_str)));
    }

    /// A value as an argument: a half goes outside as its bits.
    fn passed(&mut self, e: ExprId, outside: bool) -> String {
        let value = self.value(e);
        match self.func.exprs.ty(e).elem {
            Elem::Scalar(DType::F16) if outside => format!("tf_f16_of({value})"),
            Elem::Scalar(DType::BF16) if outside => format!("tf_bf16_of({value})"),
            Elem::Scalar(_) | Elem::Index => value,
        }
    }

    fn call(&mut self, func: &str, args: &[CallArg]) {
        let mut texts = self.arguments(func, args, &[]);
        if self.cx.with_context.contains(func) {
            texts.push(CONTEXT.to_string());
        }
        let symbol = self.symbol(func);
        self.line(&format!("{symbol}({});", texts.join(", ")));
    }

    pub(super) fn symbol(&self, func: &str) -> String {
        self.cx.symbols.get(func).cloned().unwrap_or_else(|| func.to_string())
    }

    /// The texts of arguments, in a statement that needs `more` expressions besides.
    pub(super) fn arguments(&mut self, func: &str, args: &[CallArg], more: &[ExprId]) -> Vec<String> {
        let values = args.iter().filter_map(|a| match a {
            CallArg::Value(e) => Some(*e),
            CallArg::Buffer(_) => None,
        });
        let roots: Vec<ExprId> = values.chain(more.iter().copied()).collect();
        self.start(&roots);
        args.iter()
            .map(|a| match a {
                CallArg::Value(e) => self.passed(*e, func.starts_with("extern$")),
                CallArg::Buffer(buf) => self.buffer(*buf),
            })
            .collect()
    }
}

/// The parameter that a memory of the workspace is.
fn workspace(pool: usize) -> String {
    if pool == 0 { "workspace".into() } else { format!("tf_workspace{pool}") }
}
