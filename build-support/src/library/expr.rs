//! Sizes over dims as expressions of C.

use crate::environment::symbol_part;
use tenfold_ir::arith::{IntExpr, View};

/// What such expressions are made of: a conversion as each language has it, and functions. Divisions by zero are defined;
/// what does not fit wraps.
pub(super) const HELPERS: &str = "\
#if defined(__cplusplus)
#define TENFOLD_AS(type, value) static_cast<type>(value)
#else
#define TENFOLD_AS(type, value) ((type)(value))
#endif
static inline int64_t tenfold_div(int64_t a, int64_t b) {
  return b == 0 ? 0 : b == -1 ? TENFOLD_AS(int64_t, 0 - TENFOLD_AS(uint64_t, a)) : a / b;
}
static inline int64_t tenfold_rem(int64_t a, int64_t b) { return b == 0 ? a : b == -1 ? 0 : a % b; }
static inline int64_t tenfold_floor_div(int64_t a, int64_t b) {
  int64_t q = tenfold_div(a, b), r = tenfold_rem(a, b);
  return b != 0 && r != 0 && (r < 0) != (b < 0) ? q - 1 : q;
}
static inline int64_t tenfold_floor_mod(int64_t a, int64_t b) {
  int64_t r = tenfold_rem(a, b);
  return b != 0 && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static inline int64_t tenfold_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t tenfold_max(int64_t a, int64_t b) { return a < b ? b : a; }
";

/// The name of a dim among the parameters of a function.
pub(super) fn dim(name: &str) -> String {
    format!("dim_{}", symbol_part(name))
}

/// An expression over dims and index parameters, of type `int64_t`.
pub(super) fn text(e: &IntExpr, name: &impl Fn(&str) -> String) -> String {
    let call =
        |function: &str, a: &IntExpr, b: &IntExpr| format!("tenfold_{function}({}, {})", text(a, name), text(b, name));
    let join = |all: &[IntExpr], sign: &str| {
        let parts: Vec<String> = all.iter().map(|e| format!("TENFOLD_AS(uint64_t, {})", text(e, name))).collect();
        format!("TENFOLD_AS(int64_t, {})", parts.join(sign))
    };
    match e.view() {
        View::Const(value) => format!("INT64_C({value})"),
        View::Var(sym) => format!("TENFOLD_AS(int64_t, {})", name(sym.as_str())),
        View::Add(all) => join(&all, " + "),
        View::Mul(all) => join(&all, " * "),
        View::FloorDiv(a, b) => call("floor_div", &a, &b),
        View::FloorMod(a, b) => call("floor_mod", &a, &b),
        View::TruncDiv(a, b) => call("div", &a, &b),
        View::TruncRem(a, b) => call("rem", &a, &b),
        View::Min(a, b) => call("min", &a, &b),
        View::Max(a, b) => call("max", &a, &b),
    }
}
