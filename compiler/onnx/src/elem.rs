//! The types of elements that ONNX has, and how they are stored here.

use std::fmt;

use tenfold_ir::DType;

/// A type of elements, by ONNX's code.
#[allow(missing_docs, reason = "the names are ONNX's")]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Elem {
    Float,
    Uint8,
    Int8,
    Uint16,
    Int16,
    Int32,
    Int64,
    String,
    Bool,
    Float16,
    Double,
    Uint32,
    Uint64,
    Complex64,
    Complex128,
    Bfloat16,
    Float8e4m3fn,
    Float8e4m3fnuz,
    Float8e5m2,
    Float8e5m2fnuz,
    Uint4,
    Int4,
    Float4e2m1,
    Float8e8m0,
    Uint2,
    Int2,
}

use Elem::*;

/// Every type in the order of its code, which begins with 1, and its name.
const TABLE: [(Elem, &str); 26] = [
    (Float, "float"),
    (Uint8, "uint8"),
    (Int8, "int8"),
    (Uint16, "uint16"),
    (Int16, "int16"),
    (Int32, "int32"),
    (Int64, "int64"),
    (String, "string"),
    (Bool, "bool"),
    (Float16, "float16"),
    (Double, "double"),
    (Uint32, "uint32"),
    (Uint64, "uint64"),
    (Complex64, "complex64"),
    (Complex128, "complex128"),
    (Bfloat16, "bfloat16"),
    (Float8e4m3fn, "float8e4m3fn"),
    (Float8e4m3fnuz, "float8e4m3fnuz"),
    (Float8e5m2, "float8e5m2"),
    (Float8e5m2fnuz, "float8e5m2fnuz"),
    (Uint4, "uint4"),
    (Int4, "int4"),
    (Float4e2m1, "float4e2m1"),
    (Float8e8m0, "float8e8m0"),
    (Uint2, "uint2"),
    (Int2, "int2"),
];

impl Elem {
    /// The type of a code of `TensorProto.DataType`.
    pub fn from_code(code: i64) -> Option<Elem> {
        let at = usize::try_from(code).ok()?.checked_sub(1)?;
        TABLE.get(at).map(|row| row.0)
    }

    /// ONNX's name of it, in lower case.
    pub fn name(self) -> &'static str {
        TABLE.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// The dtype that its elements are kept in: 4-bit floats and exponents as their bits, integers of 2 bits widened to 8.
    /// Strings and complex numbers have none.
    pub fn storage(self) -> Option<DType> {
        Some(match self {
            Float => DType::F32,
            Uint8 | Uint2 => DType::U8,
            Int8 | Int2 => DType::I8,
            Uint4 => DType::U4,
            Int4 => DType::I4,
            Uint16 => DType::U16,
            Int16 => DType::I16,
            Int32 => DType::I32,
            Int64 => DType::I64,
            Bool => DType::Bool,
            Float16 => DType::F16,
            Double => DType::F64,
            Uint32 => DType::U32,
            Uint64 => DType::U64,
            Bfloat16 => DType::BF16,
            Float8e4m3fn => DType::F8E4M3FN,
            Float8e4m3fnuz => DType::F8E4M3FNUZ,
            Float8e5m2 => DType::F8E5M2,
            Float8e5m2fnuz => DType::F8E5M2FNUZ,
            Float8e8m0 | Float4e2m1 => DType::U8,
            String | Complex64 | Complex128 => return None,
        })
    }

    /// The type that a dtype stands for by itself.
    pub fn of(dtype: DType) -> Elem {
        match dtype {
            DType::Bool => Bool,
            DType::I8 => Int8,
            DType::U8 => Uint8,
            DType::I16 => Int16,
            DType::U16 => Uint16,
            DType::I32 => Int32,
            DType::U32 => Uint32,
            DType::I64 => Int64,
            DType::U64 => Uint64,
            DType::F16 => Float16,
            DType::BF16 => Bfloat16,
            DType::F32 => Float,
            DType::F64 => Double,
            DType::F8E4M3FN => Float8e4m3fn,
            DType::F8E4M3FNUZ => Float8e4m3fnuz,
            DType::F8E5M2 => Float8e5m2,
            DType::F8E5M2FNUZ => Float8e5m2fnuz,
            DType::I4 => Int4,
            DType::U4 => Uint4,
        }
    }

    /// Whether a dtype is this type: operators compute with it, or at least move it.
    pub fn is_plain(self) -> bool {
        self.storage().is_some_and(|dtype| Elem::of(dtype) == self)
    }

    /// Bits of an element in a file, where several may share a byte.
    pub fn packed_bits(self) -> usize {
        match self {
            Uint4 | Int4 | Float4e2m1 => 4,
            Uint2 | Int2 => 2,
            String => 0,
            Complex64 => 64,
            Complex128 => 128,
            other => other.storage().map_or(0, |dtype| dtype.size_bytes() * 8),
        }
    }

    /// The layout of a small float: bits of exponent and of mantissa, bias, and how its specials are written.
    pub fn small_float(self) -> Option<SmallFloat> {
        let of = |exponent, mantissa, bias, specials| Some(SmallFloat { exponent, mantissa, bias, specials });
        match self {
            Float8e4m3fn => of(4, 3, 7, Specials::NanOnly),
            Float8e4m3fnuz => of(4, 3, 8, Specials::NanIsMinusZero),
            Float8e5m2 => of(5, 2, 15, Specials::Ieee),
            Float8e5m2fnuz => of(5, 2, 16, Specials::NanIsMinusZero),
            Float4e2m1 => of(2, 1, 1, Specials::None),
            _ => None,
        }
    }
}

/// How a small float writes infinities and NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Specials {
    /// As IEEE 754.
    Ieee,
    /// All ones is NaN, and there is no infinity.
    NanOnly,
    /// What would be minus zero is NaN, and there is no infinity.
    NanIsMinusZero,
    /// Every code is a number.
    None,
}

/// A float of 8 bits or fewer with a sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SmallFloat {
    /// Bits of the exponent.
    pub exponent: u32,
    /// Bits of the mantissa.
    pub mantissa: u32,
    /// What is taken from the exponent.
    pub bias: i32,
    /// Infinities and NaN.
    pub specials: Specials,
}

impl SmallFloat {
    /// The value of a code.
    pub fn value(self, code: u8) -> f64 {
        let sign_bit = 1u32 << (self.exponent + self.mantissa);
        let (sign, magnitude) = (u32::from(code) & sign_bit != 0, u32::from(code) & (sign_bit - 1));
        let (exponent, fraction) = (magnitude >> self.mantissa, magnitude & ((1 << self.mantissa) - 1));
        let top = (1 << self.exponent) - 1;
        let nan = match self.specials {
            Specials::Ieee => exponent == top && fraction != 0,
            Specials::NanOnly => magnitude == sign_bit - 1,
            Specials::NanIsMinusZero => sign && magnitude == 0,
            Specials::None => false,
        };
        let unit = f64::from(fraction) / f64::from(1u32 << self.mantissa);
        let value = match exponent {
            _ if nan => return f64::NAN,
            e if e == top && self.specials == Specials::Ieee => f64::INFINITY,
            0 => unit * 2f64.powi(1 - self.bias),
            e => (1.0 + unit) * 2f64.powi(e as i32 - self.bias),
        };
        if sign { -value } else { value }
    }
}

impl fmt::Display for Elem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_go_by_their_order() {
        assert_eq!(Elem::from_code(1), Some(Float));
        assert_eq!(Elem::from_code(16), Some(Bfloat16));
        assert_eq!(Elem::from_code(26), Some(Int2));
        assert_eq!((Elem::from_code(0), Elem::from_code(27), Elem::from_code(-1)), (None, None, None));
    }

    #[test]
    fn small_floats_have_their_extremes() {
        let largest = |elem: Elem, code| elem.small_float().map(|s| s.value(code));
        assert_eq!(largest(Float8e4m3fn, 0x7e), Some(448.0));
        assert_eq!(largest(Float8e4m3fnuz, 0x7f), Some(240.0));
        assert_eq!(largest(Float8e5m2, 0x7b), Some(57344.0));
        assert_eq!(largest(Float8e5m2fnuz, 0x7f), Some(57344.0));
        assert_eq!(largest(Float4e2m1, 7), Some(6.0));
        assert_eq!(largest(Float8e4m3fn, 1), Some(2f64.powi(-9)));
    }
}
