//! Prints prim-funcs as the parser reads them. The grammar stands in `compiler/docs/tir.md`.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use super::annotation_text::{pattern_name, print_annotation, quote};
use super::{
    Access, Annotation, Barrier, Block, BufId, BufUse, BufferData, CallArg, Dot, Elem, Expr, ExprId, FuncKind,
    Intrinsic, IterKind, Launch, LoopKind, Param, Phase, PrimFunc, Region, Scope, Stmt, ThreadAxis, Ty,
};
use crate::relax::{binary_name, compare_name, unary_name};
use crate::{Module, Scalar};

/// The text of a function of `module`, whose constants it names by their hashes.
pub fn print(module: &Module, func: &PrimFunc) -> String {
    let mut printer = Printer { module, func, out: String::new(), indent: 0, defined: BTreeMap::new() };
    printer.function();
    printer.out
}

/// The text of one expression, written out whole.
pub(super) fn expr_text(func: &PrimFunc, id: ExprId) -> String {
    let module = Module::default();
    Printer { module: &module, func, out: String::new(), indent: 0, defined: BTreeMap::new() }.expr(id)
}

/// The first line of a statement, with its expressions written out whole.
pub fn stmt_text(func: &PrimFunc, stmt: &Stmt) -> String {
    let module = Module::default();
    let mut printer = Printer { module: &module, func, out: String::new(), indent: 0, defined: BTreeMap::new() };
    printer.plain_stmt(stmt);
    printer.out.lines().next().unwrap_or_default().trim_end_matches(" {").to_string()
}

struct Printer<'a> {
    module: &'a Module,
    func: &'a PrimFunc,
    out: String,
    indent: usize,
    /// Expressions of the current statement that stand on a line of their own, with their numbers.
    defined: BTreeMap<ExprId, usize>,
}

/// A statement whose expressions, written out, have more nodes than this shows its shared ones as `%n = …` first.
const INLINE_NODES: u64 = 96;

/// The operands of an expression.
pub fn operands(expr: &Expr) -> Vec<ExprId> {
    match expr {
        Expr::Const(_) | Expr::Index(_) | Expr::Var(_) => Vec::new(),
        Expr::Unary(_, a) | Expr::Cast(_, a) | Expr::Broadcast(a, _) => vec![*a],
        Expr::Binary(_, a, b) | Expr::Compare(_, a, b) | Expr::Ramp(a, b, _) => vec![*a, *b],
        Expr::If(c, a, b) | Expr::Select(c, a, b) => vec![*c, *a, *b],
        Expr::Load { index, .. } => index.clone(),
        Expr::Call(_, args, _) | Expr::Shuffle(args, _) => args.clone(),
    }
}

/// The word of a phase.
pub(super) fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Blocks => "blocks",
        Phase::Scheduled => "scheduled",
        Phase::Flat => "flat",
        Phase::Target => "target",
    }
}

/// Every scope that is a word alone.
pub(super) const SCOPES: [Scope; 7] =
    [Scope::Global, Scope::Local, Scope::SharedDyn, Scope::Shared, Scope::Warp, Scope::View, Scope::Workspace];

/// The word of a scope.
pub(super) fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Param => "param",
        Scope::Global => "global",
        Scope::Local => "local",
        Scope::Shared => "shared",
        Scope::SharedDyn => "shared.dyn",
        Scope::Warp => "warp",
        Scope::View => "view",
        Scope::Const(_) => "const",
        Scope::Workspace => "workspace",
    }
}

/// Every loop kind.
pub(super) const LOOP_KINDS: [LoopKind; 12] = [
    LoopKind::Serial,
    LoopKind::Reduction,
    LoopKind::Parallel,
    LoopKind::Vectorized,
    LoopKind::Unrolled,
    LoopKind::ThreadBound(ThreadAxis::Block(0)),
    LoopKind::ThreadBound(ThreadAxis::Block(1)),
    LoopKind::ThreadBound(ThreadAxis::Block(2)),
    LoopKind::ThreadBound(ThreadAxis::Thread(0)),
    LoopKind::ThreadBound(ThreadAxis::Thread(1)),
    LoopKind::ThreadBound(ThreadAxis::Thread(2)),
    LoopKind::VThread,
];

/// The word of a loop kind.
pub(super) fn loop_name(kind: LoopKind) -> String {
    match kind {
        LoopKind::Serial => "serial".into(),
        LoopKind::Reduction => "reduction".into(),
        LoopKind::Parallel => "parallel".into(),
        LoopKind::Vectorized => "vectorized".into(),
        LoopKind::Unrolled => "unrolled".into(),
        LoopKind::VThread => "vthread".into(),
        LoopKind::ThreadBound(axis) => {
            let xyz = |i: u8| ["x", "y", "z"][usize::from(i.min(2))];
            match axis {
                ThreadAxis::Block(i) => format!("blockIdx.{}", xyz(i)),
                ThreadAxis::Thread(i) => format!("threadIdx.{}", xyz(i)),
            }
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.elem {
            Elem::Scalar(dtype) => write!(f, "{}", dtype.name())?,
            Elem::Index => write!(f, "index")?,
        }
        if self.lanes == 1 { Ok(()) } else { write!(f, "x{}", self.lanes) }
    }
}

/// A literal: `1.5f32`, `3i8`, `true`; the bits of what is not finite, `f32:7fc00000`.
pub fn literal(s: Scalar) -> String {
    let name = s.dtype.name();
    if s.dtype == crate::DType::Bool {
        return if s.bits == 0 { "false".into() } else { "true".into() };
    }
    if s.dtype.is_float8() {
        return format!("{name}:{:x}", s.bits);
    }
    if !s.dtype.is_float() {
        return format!("{}{name}", s.to_i128());
    }
    let x = s.to_f64();
    if x.is_finite() { format!("{x:?}{name}") } else { format!("{name}:{:x}", s.bits) }
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:1$}{text}", "", 2 * self.indent);
    }

    fn function(&mut self) {
        let params: Vec<String> = self.func.params.iter().map(|p| self.param(p)).collect();
        let mut flags = format!("phase {}", phase_name(self.func.phase));
        let func = self.func;
        let words =
            [(func.exported, " exported"), (func.strict, " strict"), (func.skip_optimization, " skip_optimization")];
        for (on, word) in words {
            flags += if on { word } else { "" };
        }
        if let Some(pattern) = self.func.pattern {
            flags += &format!(" pattern {}", pattern_name(pattern));
        }
        flags += match self.func.kind {
            FuncKind::Host => "",
            FuncKind::Device => " device",
            FuncKind::Extern => " extern",
        };
        self.line(&format!("prim @{}({}) {flags} at {} {{", self.func.name, params.join(", "), self.func.loc));
        self.indent += 1;
        if !self.func.pools.is_empty() {
            let pools: Vec<String> = self.func.pools.iter().map(u64::to_string).collect();
            self.line(&format!("pools {}", pools.join(", ")));
        }
        for fact in &self.func.facts {
            self.line(&format!("fact {fact}"));
        }
        for buffer in &self.func.buffers {
            if buffer.scope != Scope::Param {
                self.line(&format!("buffer {}", self.buffer(buffer)));
            }
        }
        self.stmt(&self.func.body);
        self.indent -= 1;
        self.line("}");
    }

    fn param(&self, param: &Param) -> String {
        match param {
            Param::Value(var) => {
                let data = &self.func.vars[var.0 as usize];
                format!("{}: {}", data.sym, data.ty)
            }
            Param::Buffer(buf, usage) => {
                let word = match usage {
                    BufUse::In => "in",
                    BufUse::Out => "out",
                    BufUse::InOut => "inout",
                };
                format!("{word} {}", self.buffer(&self.func.buffers[buf.0 as usize]))
            }
            Param::Workspace => "workspace".into(),
        }
    }

    fn buffer(&self, data: &BufferData) -> String {
        let list = |all: &[crate::arith::IntExpr]| all.iter().map(|e| e.to_string()).collect::<Vec<_>>().join(", ");
        let mut text = format!("{}: {}[{}]", data.name, data.dtype.name(), list(&data.shape));
        if let Some(strides) = &data.strides {
            let _ = write!(text, " strides [{}]", list(strides));
        }
        if let Some((lo, hi)) = &data.range {
            let _ = write!(text, " in {lo}..{hi}");
        }
        match data.scope {
            Scope::Param => {}
            Scope::Const(id) => {
                let _ = write!(text, " const {}", self.module.constant(id).hash);
            }
            scope => {
                let _ = write!(text, " {}", scope_name(scope));
            }
        }
        if let Some(offset) = &data.offset {
            let _ = write!(text, " offset {offset}");
        }
        text
    }

    fn braces(&mut self, head: &str, body: &Stmt) {
        self.line(&format!("{head} {{"));
        self.indent += 1;
        self.stmt(body);
        self.indent -= 1;
        self.line("}");
    }

    /// Writes the definitions that a statement over `roots` needs.
    fn define(&mut self, roots: &[ExprId]) {
        self.defined.clear();
        let (mut sizes, mut order) = (BTreeMap::new(), Vec::new());
        let total = roots.iter().fold(0u64, |n, r| n.saturating_add(self.size(*r, &mut sizes, &mut order)));
        if total <= INLINE_NODES {
            return;
        }
        let mut uses: BTreeMap<ExprId, u32> = BTreeMap::new();
        for id in sizes.keys() {
            for operand in operands(self.func.exprs.get(*id)) {
                *uses.entry(operand).or_default() += 1;
            }
        }
        // Operands stand before their users, so each line names only lines above it; in the order of the text and not of
        // ids, which a reader gives anew.
        for id in order {
            if sizes[&id] > 1 && uses.get(&id).is_some_and(|n| *n > 1) {
                let text = self.expr(id);
                let number = self.defined.len();
                self.line(&format!("%{number} = {text}"));
                self.defined.insert(id, number);
            }
        }
    }

    /// Nodes of an expression when it is written out.
    fn size(&self, id: ExprId, sizes: &mut BTreeMap<ExprId, u64>, order: &mut Vec<ExprId>) -> u64 {
        if let Some(n) = sizes.get(&id) {
            return *n;
        }
        let parts = operands(self.func.exprs.get(id));
        let n = parts.iter().fold(1u64, |n, p| n.saturating_add(self.size(*p, sizes, order)));
        sizes.insert(id, n);
        order.push(id);
        n
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::For { min, extent, .. } => self.define(&[*min, *extent]),
            Stmt::If { cond, .. } => self.define(&[*cond]),
            Stmt::Let { value, .. } | Stmt::Evaluate(value) => self.define(&[*value]),
            Stmt::Assert { cond, .. } => self.define(&[*cond]),
            Stmt::Prefetch { index, .. } => self.define(index),
            Stmt::Store { index, value, .. } => {
                let mut roots = index.clone();
                roots.push(*value);
                self.define(&roots);
            }
            // A condition is evaluated again at each turn, so nothing of it can stand before the loop.
            Stmt::While { .. } => self.defined.clear(),
            Stmt::Seq(_)
            | Stmt::Alloc { .. }
            | Stmt::Block(_)
            | Stmt::Call { .. }
            | Stmt::At(..)
            | Stmt::Barrier(_) => self.defined.clear(),
        }
        self.plain_stmt(stmt);
    }

    fn plain_stmt(&mut self, stmt: &Stmt) {
        let var = |v: &super::VarId| &self.func.vars[v.0 as usize];
        let buf = |b: &super::BufId| self.func.buffers[b.0 as usize].name.clone();
        match stmt {
            Stmt::Seq(all) => all.iter().for_each(|s| self.stmt(s)),
            Stmt::For { var: v, min, extent, kind, annotations, body } => {
                let (min, extent) = (self.expr(*min), self.expr(*extent));
                let head = format!("for {} in {min} +: {extent} {}", var(v).sym, loop_name(*kind));
                let head = if annotations.is_empty() { head } else { head + " " + &self.annotations(annotations) };
                self.braces(&head, body);
            }
            Stmt::While { cond, body } => self.braces(&format!("while {}", self.expr(*cond)), body),
            Stmt::If { cond, then, otherwise } => {
                self.braces(&format!("if {}", self.expr(*cond)), then);
                if let Some(other) = otherwise {
                    self.braces("else", other);
                }
            }
            Stmt::Let { var: v, value, body } => {
                let head = format!("let {}: {} = {}", var(v).sym, var(v).ty, self.expr(*value));
                self.braces(&head, body);
            }
            Stmt::Alloc { buf: b, body } => self.braces(&format!("alloc {}", buf(b)), body),
            Stmt::Store { buf: b, index, value, access } => {
                self.line(&format!("{} = {}", self.access(&buf(b), index, *access), self.expr(*value)));
            }
            Stmt::Block(block) => self.block(block),
            Stmt::Evaluate(e) => self.line(&format!("eval {}", self.expr(*e))),
            Stmt::Call { func, args, launch } => {
                let args: Vec<String> = args
                    .iter()
                    .map(|a| match a {
                        CallArg::Buffer(b) => format!("&{}", buf(b)),
                        CallArg::Value(e) => self.expr(*e),
                    })
                    .collect();
                let launch = launch.as_ref().map_or(String::new(), |l| self.launch(l));
                self.line(&format!("call @{func}({}){launch}", args.join(", ")));
            }
            Stmt::Barrier(Barrier { scope, leaves: 0 }) => self.line(&format!("barrier {}", scope_name(*scope))),
            Stmt::Barrier(Barrier { scope, leaves }) => {
                self.line(&format!("barrier {} leaves {leaves}", scope_name(*scope)));
            }
            Stmt::Assert { cond, text } => self.line(&format!("assert {}, {}", self.expr(*cond), quote(text))),
            Stmt::Prefetch { buf: b, index } => {
                self.line(&format!("prefetch {}", self.access(&buf(b), index, Access::Proven)));
            }
            Stmt::At(loc, body) => self.braces(&format!("at {loc}"), body),
        }
    }

    fn block(&mut self, block: &Block) {
        self.line(&format!("block {} {{", block.name));
        self.indent += 1;
        for iter in &block.iters {
            let kind = match iter.kind {
                IterKind::Spatial => "spatial",
                IterKind::Reduce => "reduce",
                IterKind::Ordered => "ordered",
            };
            let name = &self.func.vars[iter.var.0 as usize].sym;
            self.line(&format!("{kind} {name} in {} = {}", self.expr(iter.extent), self.expr(iter.value)));
        }
        for (word, regions) in [("reads", &block.reads), ("writes", &block.writes)] {
            for region in regions {
                self.line(&format!("{word} {}", self.region(region)));
            }
        }
        for buf in &block.allocs {
            self.line(&format!("alloc {}", self.buf_name(*buf)));
        }
        for m in &block.matches {
            self.line(&format!("match {} = {}", self.buf_name(m.view), self.region(&m.region)));
        }
        if !block.annotations.is_empty() {
            self.line(&self.annotations(&block.annotations));
        }
        if let Some(p) = block.predicate {
            self.line(&format!("where {}", self.expr(p)));
        }
        if let Some(init) = &block.init {
            self.braces("init", init);
        }
        self.braces("do", &block.body);
        self.indent -= 1;
        self.line("}");
    }

    fn buf_name(&self, buf: BufId) -> String {
        self.func.buffers[buf.0 as usize].name.clone()
    }

    fn annotations(&self, all: &[Annotation]) -> String {
        let texts: Vec<String> = all.iter().map(|a| print_annotation(a, &|buf| self.buf_name(buf))).collect();
        format!("with {}", texts.join(", "))
    }

    fn region(&self, region: &Region) -> String {
        let range = |(a, b): &(ExprId, ExprId)| format!("{} +: {}", self.expr(*a), self.expr(*b));
        let ranges: Vec<String> = region.ranges.iter().map(range).collect();
        format!("{}[{}]", self.buf_name(region.buf), ranges.join(", "))
    }

    fn launch(&self, launch: &Launch) -> String {
        let (grid, block, shared) = match launch {
            Launch::Grid { grid, block, shared } => (grid, block, shared),
            Launch::Threads { turns, work } => {
                return format!(" threads [{}, {}]", self.expr(*turns), self.expr(*work));
            }
        };
        let list = |all: &[ExprId]| all.iter().map(|e| self.expr(*e)).collect::<Vec<_>>().join(", ");
        let (grid, block) = (list(grid), list(block));
        format!(" launch grid [{grid}] block [{block}] shared [{}]", self.expr(*shared))
    }

    fn access(&self, name: &str, index: &[ExprId], access: Access) -> String {
        let index: Vec<String> = index.iter().map(|i| self.expr(*i)).collect();
        let mark = match access {
            Access::Proven => "",
            Access::Unchecked => "!",
        };
        format!("{name}{mark}[{}]", index.join(", "))
    }

    fn expr(&self, id: ExprId) -> String {
        if let Some(number) = self.defined.get(&id) {
            return format!("%{number}");
        }
        let list = |all: &[ExprId]| all.iter().map(|e| self.expr(*e)).collect::<Vec<_>>().join(", ");
        match self.func.exprs.get(id) {
            Expr::Const(s) => literal(*s),
            Expr::Index(i) => i.to_string(),
            Expr::Var(v) => self.func.vars[v.0 as usize].sym.to_string(),
            Expr::Unary(op, a) => format!("{}({})", unary_name(*op), self.expr(*a)),
            Expr::Binary(op, a, b) => format!("{}({}, {})", binary_name(*op), self.expr(*a), self.expr(*b)),
            Expr::Compare(op, a, b) => format!("{}({}, {})", compare_name(*op), self.expr(*a), self.expr(*b)),
            Expr::If(c, a, b) => format!("if({}, {}, {})", self.expr(*c), self.expr(*a), self.expr(*b)),
            Expr::Select(c, a, b) => format!("select({}, {}, {})", self.expr(*c), self.expr(*a), self.expr(*b)),
            Expr::Cast(ty, a) => format!("cast<{ty}>({})", self.expr(*a)),
            Expr::Load { buf, index, access } => self.access(&self.func.buffers[buf.0 as usize].name, index, *access),
            Expr::Call(Intrinsic::Fma, args, _) => format!("fma({})", list(args)),
            Expr::Call(Intrinsic::Lookup, args, _) => format!("lookup({})", list(args)),
            Expr::Call(Intrinsic::Scalef, args, _) => format!("scalef({})", list(args)),
            Expr::Call(Intrinsic::ExpNonpositive, args, _) => format!("exp_nonpositive({})", list(args)),
            Expr::Call(Intrinsic::Ex2, args, _) => format!("ex2({})", list(args)),
            Expr::Call(Intrinsic::Word, args, _) => format!("word{}({})", args.len(), list(args)),
            Expr::Call(Intrinsic::QMultiplyShift, args, _) => format!("q_multiply_shift({})", list(args)),
            Expr::Call(Intrinsic::NearestInt, args, _) => format!("nearest_int({})", list(args)),
            Expr::Call(Intrinsic::Bitcast, args, ty) => format!("bitcast<{ty}>({})", list(args)),
            Expr::Call(Intrinsic::Dot(dot), args, _) => {
                let name = Dot::ALL.iter().find(|(_, known)| known == dot).map_or("", |(name, _)| *name);
                format!("{name}({})", list(args))
            }
            Expr::Call(Intrinsic::UntilAligned, args, _) => format!("until_aligned({})", list(args)),
            Expr::Call(Intrinsic::CopyAsync, args, _) => format!("copy_async({})", list(args)),
            Expr::Call(Intrinsic::CopyTensor, args, ty) => format!("copy_tensor<{ty}>({})", list(args)),
            Expr::Call(Intrinsic::Mbarrier(f), args, _) => format!("{}({})", f.name(), list(args)),
            Expr::Call(Intrinsic::Group(f), args, _) => format!("{}({})", f.name(), list(args)),
            Expr::Call(Intrinsic::Warp(f), args, _) => format!("{}({})", f.name(), list(args)),
            Expr::Ramp(a, b, n) => format!("ramp({}, {}, {n})", self.expr(*a), self.expr(*b)),
            Expr::Broadcast(a, n) => format!("broadcast({}, {n})", self.expr(*a)),
            Expr::Shuffle(vectors, lanes) => {
                let lanes: Vec<String> = lanes.iter().map(u16::to_string).collect();
                format!("shuffle([{}], [{}])", list(vectors), lanes.join(", "))
            }
        }
    }
}
