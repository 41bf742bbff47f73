//! Loops whose parts run on threads, as C: through the context that came with the call of the entry, or here.

use std::collections::BTreeSet;
use std::fmt::Write;

use tenfold_ir::tir::{BufUse, CallArg, ExprId, Launch, Param, PrimFunc, Stmt};

use super::emit::{Body, Cx};
use super::expr::{storage, value_type};

/// The name of the context in every function that takes it.
pub(super) const CONTEXT: &str = "tf_context_";

/// The functions whose parts run on threads.
pub(super) fn parts_of_loops<'a>(prims: &[&'a PrimFunc]) -> BTreeSet<&'a str> {
    let mut all = BTreeSet::new();
    for prim in prims {
        prim.body.walk(&mut |s| {
            if let Stmt::Call { func, launch: Some(Launch::Threads { .. }), .. } = s {
                all.insert(func.as_str());
            }
        });
    }
    all
}

/// The C type of a parameter in the captures.
fn field(func: &PrimFunc, param: &Param) -> String {
    match param {
        Param::Buffer(buf, usage) => {
            let element = storage(func.buffers[buf.0 as usize].dtype);
            if *usage == BufUse::In { format!("const {element} *") } else { format!("{element} *") }
        }
        Param::Value(var) => value_type(func.vars[var.0 as usize].ty.elem).to_string(),
        Param::Workspace => "unsigned char *".to_string(),
    }
}

/// The captures of a function, and what a context calls: it unpacks them.
pub(super) fn part_function(func: &PrimFunc, cx: &Cx<'_>) -> String {
    let symbol = &cx.symbols[&func.name];
    let given = &func.params[..func.params.len().saturating_sub(2)];
    let mut out = format!("\nstruct {symbol}_captures {{\n");
    for (n, param) in given.iter().enumerate() {
        let _ = writeln!(out, "  {} p{n};", field(func, param));
    }
    // C has no struct without members.
    let _ = writeln!(out, "  char end;\n}};\n");
    let _ = writeln!(out, "static void {symbol}_part(const void *captures, ptrdiff_t begin, ptrdiff_t count) {{");
    let _ = writeln!(out, "  const struct {symbol}_captures *c = (const struct {symbol}_captures *)captures;");
    let mut args: Vec<String> = (0..given.len()).map(|n| format!("c->p{n}")).collect();
    args.extend(["begin".into(), "count".into()]);
    args.extend(cx.with_context.contains(func.name.as_str()).then(|| "0".into()));
    let _ = writeln!(out, "  (void)c;\n  {symbol}({});\n}}", args.join(", "));
    out
}

impl Body<'_> {
    /// Runs all turns here where there is no context; else hands them to it, with the arguments in memory.
    pub(super) fn split(&mut self, func: &str, args: &[CallArg], turns: ExprId, work: ExprId) {
        let mut texts = self.arguments(func, args, &[turns, work]);
        let (turns, work) = (self.value(turns), self.value(work));
        let symbol = self.symbol(func);
        self.line(&format!("if ({CONTEXT}) {{"));
        let fields: Vec<&str> = texts.iter().map(String::as_str).chain(["0"]).collect();
        self.line(&format!("  const struct {symbol}_captures captures = {{{}}};", fields.join(", ")));
        let turns_and_work = format!("(ptrdiff_t){turns}, (ptrdiff_t){work}");
        self.line(&format!("  {CONTEXT}->split({CONTEXT}, {symbol}_part, &captures, {turns_and_work});"));
        self.line("} else {");
        texts.extend(["0".to_string(), turns]);
        texts.extend(self.cx.with_context.contains(func).then(|| "0".to_string()));
        self.line(&format!("  {symbol}({});", texts.join(", ")));
        self.line("}");
    }
}
