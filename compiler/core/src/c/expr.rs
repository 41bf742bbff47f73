//! Expressions as C.
//!
//! What is used more than once becomes a constant of its own, computed before the statement; a condition of which
//! only one branch may be evaluated becomes an `if`, so that a load stays behind its guard.

use std::collections::HashMap;
use std::fmt::Write;

use tenfold_ir::op::{BinaryOp, CmpOp, UnaryOp};
use tenfold_ir::tir::{BufId, Dot, Elem, Expr, ExprId, Intrinsic, PrimFunc, operands};
use tenfold_ir::{DType, Scalar};

use super::emit::Body;

/// The C type that holds an element in memory.
pub(super) fn storage(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool | DType::U8 | DType::U4 => "uint8_t",
        DType::F8E4M3FN | DType::F8E4M3FNUZ | DType::F8E5M2 | DType::F8E5M2FNUZ => "uint8_t",
        DType::I8 | DType::I4 => "int8_t",
        DType::I16 => "int16_t",
        DType::U16 | DType::F16 | DType::BF16 => "uint16_t",
        DType::I32 => "int32_t",
        DType::U32 => "uint32_t",
        DType::I64 => "int64_t",
        DType::U64 => "uint64_t",
        DType::F32 => "float",
        DType::F64 => "double",
    }
}

/// The C type that computes with a value.
pub(super) fn value_type(elem: Elem) -> &'static str {
    match elem {
        Elem::Index => "int64_t",
        Elem::Scalar(DType::F16 | DType::BF16) => "float",
        Elem::Scalar(dtype) => storage(dtype),
    }
}

/// The suffix of the prelude's helpers.
fn suffix(elem: Elem) -> &'static str {
    match elem {
        Elem::Index => "i64",
        Elem::Scalar(DType::F16 | DType::BF16) => "f32",
        Elem::Scalar(DType::Bool) => "u8",
        Elem::Scalar(dtype) => dtype.name(),
    }
}

fn is_float(elem: Elem) -> bool {
    matches!(elem, Elem::Scalar(d) if d.is_float())
}

/// A value that was loaded or computed in f32, rounded to its half.
fn rounded(elem: Elem, text: String) -> String {
    match elem {
        Elem::Scalar(DType::F16) => format!("tf_r_f16({text})"),
        Elem::Scalar(DType::BF16) => format!("tf_r_bf16({text})"),
        Elem::Scalar(_) | Elem::Index => text,
    }
}

/// A literal.
pub(super) fn literal(s: Scalar) -> String {
    match s.dtype {
        DType::Bool => s.bits.to_string(),
        DType::F32 | DType::F16 | DType::BF16 => float_literal(s.to_f64(), "f"),
        DType::F64 => float_literal(s.to_f64(), ""),
        DType::I64 if s.to_i128() == i128::from(i64::MIN) => "INT64_MIN".to_string(),
        DType::I32 if s.to_i128() == i128::from(i32::MIN) => "INT32_MIN".to_string(),
        DType::I64 => format!("INT64_C({})", s.to_i128()),
        DType::U64 => format!("UINT64_C({})", s.to_i128()),
        DType::U32 => format!("{}u", s.to_i128()),
        DType::F8E4M3FN | DType::F8E4M3FNUZ | DType::F8E5M2 | DType::F8E5M2FNUZ => s.bits.to_string(),
        DType::I4 | DType::U4 | DType::I8 | DType::U8 | DType::I16 | DType::U16 | DType::I32 => s.to_i128().to_string(),
    }
}

fn float_literal(x: f64, suffix: &str) -> String {
    let cast = if suffix.is_empty() { "" } else { "(float)" };
    if x.is_nan() {
        return format!("({cast}TF_NAN)");
    }
    if x.is_infinite() {
        return format!("({cast}{}TF_INF)", if x < 0.0 { "-" } else { "" });
    }
    // Rust prints the shortest text that reads back as this f64, which f32 values survive too.
    let text = format!("{x:?}");
    if x.is_sign_negative() { format!("({text}{suffix})") } else { format!("{text}{suffix}") }
}

/// How often each expression of a statement is used, counting each user once.
pub(super) fn use_counts(func: &PrimFunc, roots: &[ExprId]) -> HashMap<ExprId, u32> {
    let mut counts = HashMap::new();
    let mut stack: Vec<ExprId> = roots.to_vec();
    while let Some(id) = stack.pop() {
        let count = counts.entry(id).or_insert(0);
        *count += 1;
        if *count == 1 {
            stack.extend(operands(func.exprs.get(id)));
        }
    }
    counts
}

impl Body<'_> {
    /// The text of an expression's value; statements it needs first are written to the body.
    pub(super) fn value(&mut self, id: ExprId) -> String {
        if let Some(name) = self.known(id) {
            return name;
        }
        let elem = self.func.exprs.ty(id).elem;
        let expr = self.func.exprs.get(id).clone();
        if let Expr::If(c, a, b) = expr {
            return self.lazy(id, elem, c, a, b);
        }
        let text = self.plain(&expr, elem, id);
        let trivial = matches!(expr, Expr::Const(_) | Expr::Index(_) | Expr::Var(_));
        if trivial || self.uses(id) < 2 { text } else { self.constant(id, elem, &text) }
    }

    fn constant(&mut self, id: ExprId, elem: Elem, text: &str) -> String {
        let name = self.temp();
        self.line(&format!("const {} {name} = {text};", value_type(elem)));
        self.remember(id, name.clone());
        name
    }

    /// `if (c) t = a; else t = b;`, each branch with its own statements.
    fn lazy(&mut self, id: ExprId, elem: Elem, c: ExprId, a: ExprId, b: ExprId) -> String {
        let cond = self.value(c);
        let name = self.temp();
        self.line(&format!("{} {name};", value_type(elem)));
        for (head, branch) in [(format!("if ({cond}) {{"), a), ("} else {".to_string(), b)] {
            self.line(&head);
            self.enter();
            let value = self.value(branch);
            self.line(&format!("{name} = {value};"));
            self.leave();
        }
        self.line("}");
        self.remember(id, name.clone());
        name
    }

    fn plain(&mut self, expr: &Expr, elem: Elem, id: ExprId) -> String {
        match expr {
            Expr::Const(s) => literal(*s),
            Expr::Index(i) if i32::try_from(*i).is_ok() => i.to_string(),
            Expr::Index(i) => literal(Scalar::int(DType::I64, i128::from(*i))),
            Expr::Var(v) => self.var(*v),
            Expr::Unary(op, a) => {
                let operand = self.func.exprs.ty(*a).elem;
                let a = self.value(*a);
                unary(*op, operand, elem, &a)
            }
            Expr::Binary(op, a, b) => {
                let exact = self.counters.exact(self.func, id);
                let (a, b) = (self.value(*a), self.value(*b));
                binary(*op, elem, exact, &a, &b)
            }
            Expr::Compare(op, a, b) => {
                let (a, b) = (self.value(*a), self.value(*b));
                format!("({a} {} {b})", comparison(*op))
            }
            Expr::Select(c, a, b) => {
                let (c, a, b) = (self.value(*c), self.value(*a), self.value(*b));
                format!("({c} ? {a} : {b})")
            }
            Expr::Cast(_, a) => {
                let from = self.func.exprs.ty(*a).elem;
                let a = self.value(*a);
                cast(from, elem, &a)
            }
            Expr::Load { buf, index, .. } => {
                let at = self.place(*buf, index);
                match elem {
                    Elem::Scalar(DType::F16) => format!("tf_f16_to({at})"),
                    Elem::Scalar(DType::BF16) => format!("tf_bf16_to({at})"),
                    Elem::Scalar(_) | Elem::Index => at,
                }
            }
            Expr::Call(Intrinsic::Fma, args, _) => {
                let args: Vec<String> = args.iter().map(|a| self.value(*a)).collect();
                rounded(elem, format!("tf_fma_{}({})", suffix(elem), args.join(", ")))
            }
            Expr::Call(Intrinsic::Bitcast, args, _) => {
                let from = self.func.exprs.ty(args[0]).elem;
                let a = self.value(args[0]);
                bitcast(from, elem, &a)
            }
            Expr::Call(Intrinsic::Lookup, args, _) => {
                let args: Vec<String> = args.iter().map(|a| self.value(*a)).collect();
                let (all, last) = (&args[1..], args.len() - 2);
                format!("((const {}[]){{{}}})[{} & {last}]", value_type(elem), all.join(", "), args[0])
            }
            Expr::Call(Intrinsic::Scalef, args, _) => {
                format!("tf_scalef({}, {})", self.value(args[0]), self.value(args[1]))
            }
            Expr::Call(Intrinsic::Word, args, _) => {
                let ty = if args.len() == 2 { "float" } else { "uint8_t" };
                let values: Vec<String> = args.iter().map(|a| format!("({ty}){}", self.value(*a))).collect();
                format!("tf_word{}({})", args.len(), values.join(", "))
            }
            Expr::Call(Intrinsic::Dot(dot), args, _) if dot.is_wide() => {
                let values: Vec<String> = args.iter().map(|a| self.value(*a)).collect();
                let (x, y) = values.split_at(values.len() / 2);
                let products: Vec<String> = x.iter().zip(y).map(|(x, y)| format!("(int32_t){x} * {y}")).collect();
                format!("({})", products.join(" + "))
            }
            Expr::Call(Intrinsic::Dot(dot), args, _) => {
                let name = Dot::ALL.iter().find(|(_, known)| known == dot).map_or("", |(name, _)| *name);
                let args: Vec<String> = args.iter().map(|a| self.value(*a)).collect();
                format!("tf_{name}({})", args.join(", "))
            }
            Expr::Call(Intrinsic::UntilAligned, args, _) => match (self.func.exprs.get(args[0]), self.value(args[1])) {
                (Expr::Load { buf, index, .. }, bytes) => {
                    let place = self.place(*buf, index);
                    format!("(int64_t)((0u - (uintptr_t)&{place}) % (uintptr_t){bytes} / sizeof {place})")
                }
                _ => {
                    self.unsupported(expr);
                    "0".to_string()
                }
            },
            Expr::If(..) => self.value(id),
            // `LowerMath` has expanded the first three; vectors are for back ends that have them.
            Expr::Call(
                Intrinsic::QMultiplyShift
                | Intrinsic::NearestInt
                | Intrinsic::ExpNonpositive
                | Intrinsic::Ex2
                | Intrinsic::Warp(_)
                | Intrinsic::Group(_)
                | Intrinsic::CopyAsync
                | Intrinsic::CopyTensor
                | Intrinsic::Mbarrier(_),
                ..,
            )
            | Expr::Ramp(..)
            | Expr::Broadcast(..)
            | Expr::Shuffle(..) => {
                self.unsupported(expr);
                "0".to_string()
            }
        }
    }

    /// An element in memory.
    fn place(&mut self, buf: BufId, index: &[ExprId]) -> String {
        let index: Vec<String> = index.iter().map(|i| self.value(*i)).collect();
        format!("{}[{}]", self.buffer(buf), index.join("]["))
    }
}

fn comparison(op: CmpOp) -> &'static str {
    match op {
        CmpOp::Eq => "==",
        CmpOp::Ne => "!=",
        CmpOp::Lt => "<",
        CmpOp::Le => "<=",
        CmpOp::Gt => ">",
        CmpOp::Ge => ">=",
    }
}

fn unary(op: UnaryOp, operand: Elem, elem: Elem, a: &str) -> String {
    let ty = value_type(elem);
    let helper = |name: &str| format!("tf_{name}_{}({a})", suffix(operand));
    let int = !is_float(operand);
    match op {
        UnaryOp::Neg if int => format!("({ty})(0u - ({}){a})", unsigned(elem)),
        UnaryOp::Neg => format!("(-{a})"),
        UnaryOp::Not if elem == Elem::Scalar(DType::Bool) => format!("(!{a})"),
        UnaryOp::Not => format!("({ty})(~{a})"),
        UnaryOp::Abs => helper("abs"),
        UnaryOp::Sign => helper("sign"),
        UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc if int => a.to_string(),
        UnaryOp::Floor => helper("floor"),
        UnaryOp::Ceil => helper("ceil"),
        UnaryOp::Round => helper("round"),
        UnaryOp::Trunc => helper("trunc"),
        UnaryOp::Sqrt => rounded(elem, helper("sqrt")),
        UnaryOp::IsNan => format!("({a} != {a})"),
        UnaryOp::IsInf => format!("(tf_abs_{}({a}) == ({})TF_INF)", suffix(operand), value_type(operand)),
        UnaryOp::IsFinite => format!("(tf_abs_{}({a}) < ({})TF_INF)", suffix(operand), value_type(operand)),
        // `LowerMath` has expanded these.
        UnaryOp::Rsqrt
        | UnaryOp::Reciprocal
        | UnaryOp::Square
        | UnaryOp::Exp
        | UnaryOp::Exp2
        | UnaryOp::Expm1
        | UnaryOp::Log
        | UnaryOp::Log2
        | UnaryOp::Log10
        | UnaryOp::Log1p
        | UnaryOp::Sin
        | UnaryOp::Cos
        | UnaryOp::Tan
        | UnaryOp::Asin
        | UnaryOp::Acos
        | UnaryOp::Atan
        | UnaryOp::Sinh
        | UnaryOp::Cosh
        | UnaryOp::Tanh
        | UnaryOp::Asinh
        | UnaryOp::Acosh
        | UnaryOp::Atanh
        | UnaryOp::Erf
        | UnaryOp::Sigmoid => format!("tf_not_lowered_{op:?}({a})"),
    }
}

/// The unsigned type of an integer's width, at least as wide as `unsigned int`.
fn unsigned(elem: Elem) -> &'static str {
    match elem {
        Elem::Index | Elem::Scalar(DType::I64 | DType::U64) => "uint64_t",
        Elem::Scalar(_) => "uint32_t",
    }
}

fn binary(op: BinaryOp, elem: Elem, exact: bool, a: &str, b: &str) -> String {
    let ty = value_type(elem);
    let float = is_float(elem);
    let helper = |name: &str| rounded(elem, format!("tf_{name}_{}({a}, {b})", suffix(elem)));
    let infix = |sign: &str| {
        if float {
            rounded(elem, format!("({a} {sign} {b})"))
        } else if exact {
            format!("({a} {sign} {b})")
        } else {
            let u = unsigned(elem);
            format!("({ty})(({u}){a} {sign} ({u}){b})")
        }
    };
    let is_bool = elem == Elem::Scalar(DType::Bool);
    match op {
        BinaryOp::Add => infix("+"),
        BinaryOp::Sub => infix("-"),
        BinaryOp::Mul => infix("*"),
        BinaryOp::Div if float => infix("/"),
        BinaryOp::Div => helper("div"),
        BinaryOp::Rem => helper("rem"),
        BinaryOp::DivEuclid => helper("div_euclid"),
        BinaryOp::RemEuclid => helper("rem_euclid"),
        BinaryOp::Min => helper("min"),
        BinaryOp::Max => helper("max"),
        BinaryOp::And if is_bool => format!("({a} & {b})"),
        BinaryOp::Or if is_bool => format!("({a} | {b})"),
        BinaryOp::Xor if is_bool => format!("({a} ^ {b})"),
        BinaryOp::And => format!("({ty})({a} & {b})"),
        BinaryOp::Or => format!("({ty})({a} | {b})"),
        BinaryOp::Xor => format!("({ty})({a} ^ {b})"),
        BinaryOp::Shl => helper("shl"),
        BinaryOp::Shr => helper("shr"),
        // `LowerMath` has expanded these.
        BinaryOp::Pow | BinaryOp::Atan2 => format!("tf_not_lowered_{op:?}({a}, {b})"),
    }
}

fn cast(from: Elem, to: Elem, a: &str) -> String {
    if from == to {
        return a.to_string();
    }
    let to_int = |name: &str| {
        if is_float(from) { format!("tf_{name}_of((double){a})") } else { format!("({}){a}", value_type(to)) }
    };
    match to {
        Elem::Index => to_int("i64"),
        Elem::Scalar(DType::Bool) => format!("({a} != 0)"),
        Elem::Scalar(DType::F16 | DType::BF16) => rounded(to, format!("(double){a}")),
        Elem::Scalar(DType::F32) => format!("(float){a}"),
        Elem::Scalar(DType::F64) => format!("(double){a}"),
        Elem::Scalar(dtype) => to_int(dtype.name()),
    }
}

fn bitcast(from: Elem, to: Elem, a: &str) -> String {
    let mut bits = a.to_string();
    match from {
        Elem::Scalar(DType::F32) => bits = format!("tf_bits_f32({bits})"),
        Elem::Scalar(DType::F64) => bits = format!("tf_bits_f64({bits})"),
        Elem::Scalar(DType::F16) => bits = format!("tf_f16_of({bits})"),
        Elem::Scalar(DType::BF16) => bits = format!("tf_bf16_of({bits})"),
        Elem::Scalar(_) | Elem::Index => {}
    }
    let mut out = String::new();
    let _ = match to {
        Elem::Scalar(DType::F32) => write!(out, "tf_f32_bits((uint32_t){bits})"),
        Elem::Scalar(DType::F64) => write!(out, "tf_f64_bits((uint64_t){bits})"),
        Elem::Scalar(DType::F16) => write!(out, "tf_f16_to((uint16_t){bits})"),
        Elem::Scalar(DType::BF16) => write!(out, "tf_bf16_to((uint16_t){bits})"),
        Elem::Scalar(_) | Elem::Index => write!(out, "({}){bits}", value_type(to)),
    };
    out
}
