//! Functions of our own, for operations that some targets have no instruction for.
//!
//! They are text, parsed as the module that everything else is written into; those that nothing
//! calls are dropped by LLVM.

use std::sync::OnceLock;

use crate::ir::{Ir, Value};

/// A function of our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Helper {
    /// Square root, rounded to nearest.
    Sqrt,
    /// The remainder with the dividend's sign, exact.
    Fmod,
    /// `a * b + c` of `f64`, rounded once.
    Fma,
}

impl Helper {
    /// The function for floats of `bits` bits.
    pub(super) fn function<'c>(self, ir: &Ir<'c, '_>, bits: u32) -> Value<'c> {
        let name = match self {
            Helper::Sqrt => "sqrt",
            Helper::Fmod => "fmod",
            Helper::Fma => "fma",
        };
        let name = format!("tenfold.{name}.f{bits}");
        ir.function_named(&name).expect("the text defines it for 32 and 64 bits")
    }
}

/// The text of all of them.
pub(crate) fn text() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let template = include_str!("helper.ll");
        let of =
            |words: &[(&str, &str)]| words.iter().fold(template.to_owned(), |text, (from, to)| text.replace(from, to));
        let single = of(&[
            ("F32", "f32"),
            ("FLOAT", "float"),
            ("WORD", "i32"),
            ("EXP_BITS", "8"),
            ("FRACTION_MASK", "8388607"),
            ("FRACTION", "23"),
            ("SIGN_MASK", "-2147483648"),
            ("SIZE_MASK", "2147483647"),
            ("HIDDEN", "8388608"),
            ("QUIET", "2143289344"),
            ("INFINITE", "2139095040"),
            ("BIAS", "127"),
            ("HALF_ONE", "1056964608"),
            ("START", "16777216"),
        ]);
        let double = of(&[
            ("F32", "f64"),
            ("FLOAT", "double"),
            ("WORD", "i64"),
            ("EXP_BITS", "11"),
            ("FRACTION_MASK", "4503599627370495"),
            ("FRACTION", "52"),
            ("SIGN_MASK", "-9223372036854775808"),
            ("SIZE_MASK", "9223372036854775807"),
            ("HIDDEN", "4503599627370496"),
            ("QUIET", "9221120237041090560"),
            ("INFINITE", "9218868437227405312"),
            ("BIAS", "1023"),
            ("HALF_ONE", "4602678819172646912"),
            ("START", "9007199254740992"),
        ]);
        format!("{single}\n{double}\n{}", include_str!("helper_fma.ll"))
    })
}
