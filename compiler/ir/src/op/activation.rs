//! Elementwise functions of one value that are compositions of the operators in [`crate::op`].
//!
//! One row says what such a function is called everywhere, what attributes it has and what it means; one arm of
//! [`activation`] composes it. The language, the text of relax, both interpreters, tir and `operators.md` read these two,
//! and a test asks for points of each.

use super::{BinaryOp, CmpOp, ElementOp, Real, UnaryOp};
use crate::ops::{AttrDef, OpDef, OpKind, float_attr};

/// Makes the type, its words and attributes, and the operators of the language from rows. A function below
/// `spelled otherwise` has a word in the text of relax alone: a row of `ops/element.rs` makes it.
macro_rules! activations {
    (
        $($op:ident $({ $($attr:ident = $default:literal, $about:literal;)+ })? $name:literal $onnx:literal $says:literal)+
        ; spelled otherwise:
        $($other:ident $other_name:literal $other_says:literal)+
    ) => {
        /// Elementwise functions that are compositions of other operators. ONNX names them.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Activation {
            $(
                #[doc = $says]
                $op $({ $(#[doc = $about] $attr: Real,)+ })?,
            )+
            $(#[doc = $other_says] $other,)+
        }

        impl Activation {
            /// Its word in the text of relax; in the language too, unless it is spelled otherwise there.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$op { .. } => $name,)+
                    $(Self::$other => $other_name,)+
                }
            }

            /// Its attributes by name.
            pub fn attributes(self) -> Vec<(&'static str, Real)> {
                match self {
                    $(Self::$op $({ $($attr),+ })? => vec![$($((stringify!($attr), $attr)),+)?],)+
                    $(Self::$other => Vec::new(),)+
                }
            }

            /// The one of that word, each attribute as `value` says it; none if no other is called so.
            pub fn named<E>(
                name: &str,
                mut value: impl FnMut(&'static str) -> Result<Real, E>,
            ) -> Result<Option<Self>, E> {
                Ok(Some(match name {
                    $($name => Self::$op $({ $($attr: value(stringify!($attr))?),+ })?,)+
                    $($other_name => Self::$other,)+
                    _ => return Ok(None),
                }))
            }

            /// Every one, with its default attributes.
            pub fn all() -> Vec<Self> {
                vec![$(Self::$op $({ $($attr: Real::new($default)),+ })?,)+ $(Self::$other,)+]
            }
        }

        /// The operators of the language.
        pub(crate) static OPS: &[OpDef] = &[$(OpDef {
            name: $name,
            onnx: $onnx,
            signature: "x",
            arity: (1, 1),
            attrs: &[$($(AttrDef {
                name: stringify!($attr),
                ty: concat!("float = ", stringify!($default)),
                doc: $about,
            }),+)?],
            typed: false,
            doc: $says,
            kind: OpKind::Element(|_call| Ok(ElementOp::Activation(Activation::$op $({
                $($attr: float_attr(_call, stringify!($attr), $default)?),+
            })?))),
        }),+];
    };
}

activations! {
    Relu "relu" "Relu" "y = max(x, 0)."
    Relu6 "relu6" "" "y = min(max(x, 0), 6)."
    LeakyRelu { alpha = 0.01, "slope below 0"; } "leaky_relu" "LeakyRelu" "y = x if x >= 0, else alpha · x."
    Elu { alpha = 1.0, "scale below 0"; } "elu" "Elu" "y = x if x >= 0, else alpha · (e^x - 1)."
    Celu { alpha = 1.0, "scale below 0"; } "celu" "Celu" "y = max(0, x) + min(0, alpha · (e^(x / alpha) - 1))."
    Selu {
        alpha = 1.6732632423543772, "scale below 0";
        gamma = 1.0507009873554805, "scale of all";
    } "selu" "Selu" "y = gamma · x if x >= 0, else gamma · alpha · (e^x - 1)."
    ThresholdedRelu { alpha = 1.0, "threshold"; } "thresholded_relu" "ThresholdedRelu" "y = x if x > alpha, else 0."
    Silu "silu" "Swish" "y = x · sigmoid(x)."
    Softplus "softplus" "Softplus" "y = ln(1 + e^x)."
    Softsign "softsign" "Softsign" "y = x / (1 + |x|)."
    HardSigmoid { alpha = 0.2, "slope"; beta = 0.5, "offset"; }
        "hard_sigmoid" "HardSigmoid" "y = min(max(alpha · x + beta, 0), 1)."
    HardSwish "hard_swish" "HardSwish" "y = x · min(max(x / 6 + 1/2, 0), 1)."
    Mish "mish" "Mish" "y = x · tanh(ln(1 + e^x))."
    ; spelled otherwise:
    Gelu "gelu" "x Φ(x), by erf."
    GeluTanh "gelu_tanh" "x Φ(x), by the tanh approximation."
}

/// What an activation is composed over: scalars, scalars with bounds, expressions of tir.
pub(crate) trait Compose {
    /// What is computed with.
    type Value: Copy;
    /// A constant of the dtype of `like`.
    fn real(&self, like: Self::Value, value: f64) -> Self::Value;
    /// An operator of one value.
    fn unary(&self, op: UnaryOp, x: Self::Value) -> Self::Value;
    /// An operator of two values.
    fn binary(&self, op: BinaryOp, a: Self::Value, b: Self::Value) -> Self::Value;
    /// A comparison.
    fn compare(&self, op: CmpOp, a: Self::Value, b: Self::Value) -> Self::Value;
    /// A choice.
    fn select(&self, c: Self::Value, t: Self::Value, f: Self::Value) -> Self::Value;
}

/// The activation of `x`. Every operator in it rounds to x's dtype.
pub(crate) fn activation<C: Compose>(over: &C, op: Activation, x: C::Value) -> C::Value {
    let of = Composer { over, x };
    match op {
        Activation::Relu => of.binary(BinaryOp::Max, x, of.real(0.0)),
        Activation::Relu6 => of.clip(x, 0.0, 6.0),
        Activation::LeakyRelu { alpha } => of.keep_positive(of.mul(of.real(alpha.get()), x)),
        Activation::Elu { alpha } => of.elu(alpha.get()),
        Activation::Celu { alpha } => {
            let a = of.real(alpha.get());
            of.keep_positive(of.mul(a, of.unary(UnaryOp::Expm1, of.div(x, a))))
        }
        Activation::Selu { alpha, gamma } => of.mul(of.real(gamma.get()), of.elu(alpha.get())),
        Activation::ThresholdedRelu { alpha } => {
            let above = over.compare(CmpOp::Gt, x, of.real(alpha.get()));
            over.select(above, x, of.real(0.0))
        }
        Activation::Silu => of.mul(x, of.unary(UnaryOp::Sigmoid, x)),
        Activation::Softplus => of.softplus(),
        Activation::Softsign => of.div(x, of.add(of.real(1.0), of.unary(UnaryOp::Abs, x))),
        Activation::HardSigmoid { alpha, beta } => of.hard_sigmoid(alpha.get(), beta.get()),
        Activation::HardSwish => of.mul(x, of.hard_sigmoid(1.0 / 6.0, 0.5)),
        Activation::Mish => of.mul(x, of.unary(UnaryOp::Tanh, of.softplus())),
        Activation::Gelu => {
            let scaled = of.mul(x, of.real(std::f64::consts::FRAC_1_SQRT_2));
            of.half_gate(of.unary(UnaryOp::Erf, scaled))
        }
        Activation::GeluTanh => {
            let cube = of.mul(of.mul(x, x), x);
            let sum = of.add(x, of.mul(of.real(0.044715), cube));
            let inner = of.mul(of.real((2.0 / std::f64::consts::PI).sqrt()), sum);
            of.half_gate(of.unary(UnaryOp::Tanh, inner))
        }
    }
}

/// What several activations have in common.
struct Composer<'o, C: Compose> {
    over: &'o C,
    x: C::Value,
}

impl<C: Compose> Composer<'_, C> {
    fn real(&self, value: f64) -> C::Value {
        self.over.real(self.x, value)
    }

    fn unary(&self, op: UnaryOp, x: C::Value) -> C::Value {
        self.over.unary(op, x)
    }

    fn binary(&self, op: BinaryOp, a: C::Value, b: C::Value) -> C::Value {
        self.over.binary(op, a, b)
    }

    fn add(&self, a: C::Value, b: C::Value) -> C::Value {
        self.binary(BinaryOp::Add, a, b)
    }

    fn mul(&self, a: C::Value, b: C::Value) -> C::Value {
        self.binary(BinaryOp::Mul, a, b)
    }

    fn div(&self, a: C::Value, b: C::Value) -> C::Value {
        self.binary(BinaryOp::Div, a, b)
    }

    fn clip(&self, x: C::Value, lo: f64, hi: f64) -> C::Value {
        let low = self.binary(BinaryOp::Max, x, self.real(lo));
        self.binary(BinaryOp::Min, low, self.real(hi))
    }

    /// x where x >= 0, else `below`; NaN takes `below`.
    fn keep_positive(&self, below: C::Value) -> C::Value {
        let positive = self.over.compare(CmpOp::Ge, self.x, self.real(0.0));
        self.over.select(positive, self.x, below)
    }

    fn elu(&self, alpha: f64) -> C::Value {
        let below = self.mul(self.real(alpha), self.unary(UnaryOp::Expm1, self.x));
        self.keep_positive(below)
    }

    /// x/2 (1 + g).
    fn half_gate(&self, g: C::Value) -> C::Value {
        let gate = self.add(self.real(1.0), g);
        self.mul(self.mul(self.real(0.5), self.x), gate)
    }

    /// max(x, 0) + log1p(exp(-|x|)), which neither overflows nor cancels.
    fn softplus(&self) -> C::Value {
        let abs = self.unary(UnaryOp::Abs, self.x);
        let small = self.unary(UnaryOp::Exp, self.unary(UnaryOp::Neg, abs));
        let above = self.binary(BinaryOp::Max, self.x, self.real(0.0));
        self.add(above, self.unary(UnaryOp::Log1p, small))
    }

    fn hard_sigmoid(&self, alpha: f64, beta: f64) -> C::Value {
        let line = self.add(self.mul(self.real(alpha), self.x), self.real(beta));
        self.clip(line, 0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::{self, Bounded};
    use crate::{DType, Scalar};

    /// What each gives at -1.5 and at 2 with its default attributes, computed from its definition by another program.
    fn points(op: Activation) -> [f64; 2] {
        match op {
            Activation::Relu | Activation::Relu6 => [0.0, 2.0],
            Activation::LeakyRelu { .. } => [-0.015, 2.0],
            Activation::Elu { .. } | Activation::Celu { .. } => [-0.776_869_839_851_570_2, 2.0],
            Activation::Selu { .. } => [-1.365_814_353_367_252_7, 2.101_401_974_710_961],
            Activation::ThresholdedRelu { .. } => [0.0, 2.0],
            Activation::Silu => [-0.273_638_285_709_534_5, 1.761_594_155_955_764_6],
            Activation::Softplus => [0.201_413_277_982_752_4, 2.126_928_011_042_972_7],
            Activation::Softsign => [-0.6, 2.0 / 3.0],
            Activation::HardSigmoid { .. } => [0.2, 0.9],
            Activation::HardSwish => [-0.375, 2.0 * (2.0 / 6.0 + 0.5)],
            Activation::Mish => [-0.298_099_742_166_806_74, 1.943_958_959_533_994_6],
            Activation::Gelu => [-0.100_210_801_903_287_13, 1.954_499_736_103_641_6],
            Activation::GeluTanh => [-0.100_428_423_019_767_07, 1.954_597_694_087_775],
        }
    }

    #[test]
    fn each_is_what_its_definition_gives() {
        for op in Activation::all() {
            for (x, expected) in [-1.5, 2.0].into_iter().zip(points(op)) {
                let x = Bounded::exact(Scalar::float(DType::F64, x));
                let found = eval::element(ElementOp::Activation(op), &[x]);
                assert!(
                    found.admits(Scalar::float(DType::F64, expected)),
                    "{op:?} of {x:?}: {found:?}, not {expected}"
                );
            }
        }
    }

    #[test]
    fn words_are_read_back() {
        for op in Activation::all() {
            let attributes = op.attributes();
            let value = |name| attributes.iter().find(|(known, _)| *known == name).map(|(_, value)| *value).ok_or(name);
            assert_eq!(Activation::named(op.name(), value), Ok(Some(op)));
        }
    }
}
