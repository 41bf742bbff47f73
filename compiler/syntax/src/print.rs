//! The canonical text of a function: Rust source that parses to the same tree, numbers included.
//!
//! It stands for the function's identity, so nothing that leaves no trace in the tree may show in it. Brackets are put
//! where precedence asks for them and around every operand that is no atom.

use crate::ast::{
    Attributes, BinaryOp, Block, Call, ConstSource, Expr, ExprKind, FactKind, Generic, GenericKind, Literal, NodeId,
    Param, Passing, Path, Pattern, PatternKind, Range, RangeStep, Schedule, ScheduleArg, ScheduleArgKind, ScheduleBind,
    ScheduleStep, Stmt, StmtKind, Target, TargetKind, TensorFn, Type, TypeKind, UnaryOp,
};

/// Prints a function.
pub fn print(f: &TensorFn) -> String {
    let mut text = attribute_text(&f.attributes);
    for schedule in &f.schedules {
        text += &schedule_text(schedule);
    }
    text += &format!("fn {}", ident(&f.name.text));
    if !f.generics.is_empty() {
        text += &format!("<{}>", list(&f.generics, generic));
    }
    text += &format!("({})", list(&f.params, param));
    if let Some(result) = &f.result {
        text += &format!(" -> {}", ty(result));
    }
    match &f.body {
        Some(body) => text += &format!(" {}\n", block(body)),
        None => text += ";\n",
    }
    text
}

fn list<T>(items: &[T], one: impl Fn(&T) -> String) -> String {
    items.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// An identifier, raw where Rust would read a keyword.
fn ident(text: &str) -> String {
    if KEYWORDS.contains(&text) { format!("r#{text}") } else { text.to_owned() }
}

const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do", "dyn", "else", "enum",
    "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move",
    "mut", "override", "priv", "pub", "ref", "return", "static", "struct", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

fn quoted(text: &str) -> String {
    format!("{text:?}")
}

fn path(segments: &[String]) -> String {
    list_with(segments, "::")
}

fn list_with(segments: &[String], separator: &str) -> String {
    segments.iter().map(|s| ident(s)).collect::<Vec<_>>().join(separator)
}

/// The arguments in the order of their nodes, which is the order of the source.
fn attribute_text(a: &Attributes) -> String {
    let mut parts: Vec<(NodeId, String)> = Vec::new();
    for fact in &a.dims {
        parts.push((
            fact.node,
            match &fact.kind {
                FactKind::Fixed(name, e) => format!("dims({} = {})", ident(&name.text), expr(e)),
                FactKind::Holds(e) => format!("dims({})", expr(e)),
            },
        ));
    }
    for budget in &a.budgets {
        parts.push((budget.node, format!("{} <= {}", budget.of.name(), budget.limit.bytes)));
    }
    for pool in &a.pools {
        parts.push((pool.node, format!("pool({} = {})", ident(&pool.name.text), pool.size.bytes)));
    }
    for param in &a.params {
        let tensor = param.tensor.iter().map(|tensor| format!(" = {}", quoted(&tensor.value)));
        parts.push((param.node, format!("params({}{})", ident(&param.name.text), tensor.collect::<String>())));
    }
    for target in &a.targets {
        parts.push((target.node, format!("targets({})", quoted(&target.value))));
    }
    for (name, text) in [("numerics", &a.numerics), ("precision", &a.precision)] {
        parts.extend(text.iter().map(|t| (t.node, format!("{name} = {}", quoted(&t.value)))));
    }
    let section = a.weights_section.iter();
    parts.extend(section.map(|t| (t.node, format!("weights(section = {})", quoted(&t.value)))));
    let model = a.model.iter();
    parts.extend(model.map(|m| (m.node, format!("{} = {}", m.format.name(), quoted(&m.file.value)))));
    for i in &a.instances {
        parts.push((i.node, format!("{} = [{}]", ident(&i.name.text), list(&i.values, expr))));
    }
    parts.extend(a.krate.iter().map(|p| (p.node, format!("crate = {}", path(&p.segments)))));
    parts.extend(a.module.iter().map(|n| (n.node, format!("module = {}", ident(&n.text)))));
    parts.sort_by_key(|p| p.0);
    format!("#[tensor_fn({})]\n", list(&parts, |p| p.1.clone()))
}

fn schedule_text(s: &Schedule) -> String {
    let target = s.target.as_ref().map(|t| format!("target = {}, ", quoted(&t.value))).unwrap_or_default();
    let handle = ident(&s.handle.text);
    let steps: String = s.steps.iter().map(|step| schedule_step(&handle, step)).collect();
    format!("#[schedule({target}|{handle}| {{\n{steps}}})]\n")
}

fn schedule_step(handle: &str, step: &ScheduleStep) -> String {
    let binds = match &step.binds {
        None => String::new(),
        Some(ScheduleBind::One(name)) => format!("let {} = ", ident(&name.text)),
        Some(ScheduleBind::Several(names)) => format!("let [{}] = ", list(names, |n| ident(&n.text))),
    };
    let args = list(&step.args, schedule_arg);
    format!("{binds}{handle}.{}({args});\n", ident(&step.primitive.text))
}

fn schedule_arg(arg: &ScheduleArg) -> String {
    match &arg.kind {
        ScheduleArgKind::Name(name) => ident(name),
        ScheduleArgKind::Int(value) => value.to_string(),
        ScheduleArgKind::Bool(value) => value.to_string(),
        ScheduleArgKind::Text(text) => quoted(text),
        ScheduleArgKind::Infer | ScheduleArgKind::Error => String::from("_"),
        ScheduleArgKind::List(items) => format!("[{}]", list(items, schedule_arg)),
        ScheduleArgKind::Named(name, value) => format!("{} = {}", ident(&name.text), schedule_arg(value)),
        ScheduleArgKind::Closure(e) => expr(e),
    }
}

fn generic(g: &Generic) -> String {
    match g.kind {
        GenericKind::Dtype => ident(&g.name.text),
        GenericKind::Const => format!("const {}: usize", ident(&g.name.text)),
    }
}

fn param(p: &Param) -> String {
    let state = match p.passing {
        Passing::Input => "",
        Passing::State => "&mut ",
    };
    format!("{}: {state}{}", ident(&p.name.text), ty(&p.ty))
}

fn ty(t: &Type) -> String {
    match &t.kind {
        TypeKind::Tensor(t) => {
            let dims: String = t.dims.iter().map(|d| format!(", {}", generic_argument(d))).collect();
            format!("{}<{}{dims}>", t.layout.name(), ident(&t.dtype.text))
        }
        TypeKind::Scalar(name) => ident(name),
        TypeKind::Tuple(parts) => tuple(parts, ty),
        TypeKind::Error => String::from("_"),
    }
}

fn tuple<T>(parts: &[T], one: impl Fn(&T) -> String) -> String {
    match parts {
        [only] => format!("({},)", one(only)),
        parts => format!("({})", list(parts, one)),
    }
}

/// A dim, or the argument of a turbofish.
fn generic_argument(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Literal(Literal::Int { .. }) => expr(e),
        ExprKind::Name(name) if name.starts_with(char::is_uppercase) => expr(e),
        _ => format!("{{ {} }}", expr(e)),
    }
}

fn block(b: &Block) -> String {
    let stmts: String = b.stmts.iter().map(|s| stmt(s) + "\n").collect();
    let value = b.value.as_ref().map(|e| expr(e) + "\n").unwrap_or_default();
    format!("{{\n{stmts}{value}}}")
}

fn stmt(s: &Stmt) -> String {
    match &s.kind {
        StmtKind::Let { pattern: p, ty: t, value } => {
            let annotation = t.as_ref().map(|t| format!(": {}", ty(t))).unwrap_or_default();
            format!("let {}{annotation} = {};", pattern(p), expr(value))
        }
        StmtKind::Const { name, ty: t, source } => {
            format!("const {}: {} = {};", ident(&name.text), ty(t), const_source(source))
        }
        StmtKind::Assert { condition, text } => {
            let text = text.as_ref().map(|t| format!(", {}", quoted(&t.value))).unwrap_or_default();
            format!("assert!({}{text});", expr(condition))
        }
        StmtKind::Assign { target: t, op, value } => {
            format!("{} {}= {};", target(t), op.map(BinaryOp::symbol).unwrap_or(""), expr(value))
        }
        StmtKind::For { unroll, variable, range: r, body } => {
            let unroll = if *unroll { "#[unroll]\n" } else { "" };
            format!("{unroll}for {} in {} {}", pattern(variable), range(r), block(body))
        }
        StmtKind::While { condition, body } => format!("while {} {}", head(condition), block(body)),
        StmtKind::Expr(e) => expr(e) + ";",
        StmtKind::Error => String::from(";"),
    }
}

fn const_source(source: &ConstSource) -> String {
    match source {
        ConstSource::Safetensors { file, tensor } => {
            format!("safetensors!({}, {})", quoted(&file.value), quoted(&tensor.value))
        }
        ConstSource::Npz { file, tensor } => format!("npz!({}, {})", quoted(&file.value), quoted(&tensor.value)),
        ConstSource::Npy { file } => format!("npy!({})", quoted(&file.value)),
        ConstSource::Value(e) => expr(e),
    }
}

fn pattern(p: &Pattern) -> String {
    match &p.kind {
        PatternKind::Name { name, mutable: true } => format!("mut {}", ident(name)),
        PatternKind::Name { name, mutable: false } => ident(name),
        PatternKind::Ignore | PatternKind::Error => String::from("_"),
        PatternKind::Tuple(parts) => tuple(parts, pattern),
    }
}

fn target(t: &Target) -> String {
    match &t.kind {
        TargetKind::Name(name) => ident(name),
        TargetKind::Element { tensor, indices } => format!("{}[[{}]]", ident(&tensor.text), list(indices, expr)),
        TargetKind::Tuple(parts) => tuple(parts, target),
        TargetKind::Ignore | TargetKind::Error => String::from("_"),
    }
}

fn range(r: &Range) -> String {
    let end = |e: &Option<Box<Expr>>| e.as_ref().map(|e| operand(e)).unwrap_or_default();
    let mut text = format!("{}..{}", end(&r.start), end(&r.end));
    for (i, step) in r.steps.iter().enumerate() {
        if i == 0 {
            text = format!("({text})");
        }
        match step {
            RangeStep::Rev => text += ".rev()",
            RangeStep::StepBy(e) => text += &format!(".step_by({})", expr(e)),
        }
    }
    text
}

/// An expression where a whole one may stand.
fn expr(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Literal(l) => literal(l),
        ExprKind::Name(name) => ident(name),
        ExprKind::Path(segments) => path(segments),
        ExprKind::Unary(op, x) => format!("{}{}", op.symbol(), operand(x)),
        ExprKind::Binary(op, a, b) => binary(*op, a, b),
        ExprKind::Cast(x, to) => format!("{} as {}", operand(x), ident(&to.text)),
        ExprKind::Tuple(parts) => tuple(parts, expr),
        ExprKind::Array(parts) => format!("[{}]", list(parts, expr)),
        ExprKind::Range(r) => range(r),
        ExprKind::Element { tensor, indices } => format!("{}[[{}]]", operand(tensor), list(indices, expr)),
        ExprKind::Get { mode, tensor, indices, default } => {
            let default = default.as_ref().map(|e| format!(", {}", expr(e))).unwrap_or_default();
            format!("{}({}, [{}]{default})", mode.name(), expr(tensor), list(indices, expr))
        }
        ExprKind::Call(c) => call(c),
        ExprKind::MatchShape { value, dims } => format!("match_shape({}, [{}])", expr(value), list(dims, expr)),
        ExprKind::ExternCall { path: p, args } => extern_call(p, args),
        ExprKind::MutRef(name) => format!("&mut {}", ident(&name.text)),
        ExprKind::Closure { params, body } => format!("|{}| {}", list(params, pattern), operand(body)),
        ExprKind::If { condition, then, otherwise } => {
            let otherwise = otherwise.as_ref().map(|b| format!(" else {}", block(b))).unwrap_or_default();
            format!("if {} {}{otherwise}", head(condition), block(then))
        }
        ExprKind::Block(b) => block(b),
        ExprKind::Unsafe(b) => format!("unsafe {}", block(b)),
        ExprKind::Error => String::from("_"),
    }
}

fn call(c: &Call) -> String {
    let turbofish =
        if c.turbofish.is_empty() { String::new() } else { format!("::<{}>", list(&c.turbofish, turbofish_argument)) };
    let named = c.named.iter().map(|n| format!("{} = {}", ident(&n.name.text), expr(&n.value)));
    let args: Vec<String> = c.args.iter().map(expr).chain(named).collect();
    format!("{}{turbofish}({})", path(&c.callee.segments), args.join(", "))
}

fn turbofish_argument(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Name(name) => ident(name),
        _ => generic_argument(e),
    }
}

fn extern_call(p: &Path, args: &[Expr]) -> String {
    let args: String = args.iter().map(|e| format!(", {}", expr(e))).collect();
    format!("extern_call!({}{args})", path(&p.segments))
}

fn literal(l: &Literal) -> String {
    match l {
        Literal::Bool(value) => value.to_string(),
        Literal::Int { value, suffix } => format!("{value}{}", suffix.as_deref().unwrap_or("")),
        Literal::Float { digits, suffix } => format!("{digits}{}", suffix.as_deref().unwrap_or("")),
        Literal::Text(text) => quoted(text),
    }
}

/// An operand: anything but an atom in parentheses.
fn operand(e: &Expr) -> String {
    match &e.kind {
        ExprKind::Literal(_) | ExprKind::Name(_) | ExprKind::Path(_) | ExprKind::Tuple(_) => expr(e),
        ExprKind::Array(_) | ExprKind::Element { .. } | ExprKind::Get { .. } | ExprKind::Call(_) => expr(e),
        ExprKind::MatchShape { .. } | ExprKind::Error => expr(e),
        ExprKind::Unary(..) | ExprKind::Binary(..) | ExprKind::Cast(..) | ExprKind::Range(_) => bracketed(e),
        ExprKind::ExternCall { .. } | ExprKind::MutRef(_) | ExprKind::Closure { .. } => bracketed(e),
        ExprKind::If { .. } | ExprKind::Block(_) | ExprKind::Unsafe(_) => bracketed(e),
    }
}

fn bracketed(e: &Expr) -> String {
    format!("({})", expr(e))
}

/// The condition of an `if` or `while`.
fn head(e: &Expr) -> String {
    operand(e)
}

fn binary(op: BinaryOp, a: &Expr, b: &Expr) -> String {
    let left = match &a.kind {
        // A comparison of a comparison is no Rust.
        ExprKind::Binary(inner, ..) if precedence(*inner) >= precedence(op) && precedence(op) != COMPARISON => expr(a),
        ExprKind::Unary(UnaryOp::Neg, _) => expr(a),
        _ => operand(a),
    };
    let right = match &b.kind {
        ExprKind::Binary(inner, ..) if precedence(*inner) > precedence(op) => expr(b),
        _ => operand(b),
    };
    format!("{left} {} {right}", op.symbol())
}

const COMPARISON: u8 = 4;

fn precedence(op: BinaryOp) -> u8 {
    match op {
        BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 10,
        BinaryOp::Add | BinaryOp::Sub => 9,
        BinaryOp::Shl | BinaryOp::Shr => 8,
        BinaryOp::BitAnd => 7,
        BinaryOp::BitXor => 6,
        BinaryOp::BitOr => 5,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => COMPARISON,
        BinaryOp::And => 3,
        BinaryOp::Or => 2,
    }
}
