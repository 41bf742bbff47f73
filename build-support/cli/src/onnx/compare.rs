//! Whether results are those expected, by the tolerance that a case states.

use std::fs;
use std::path::Path;

use tenfold_ir::Scalar;
use tenfold_onnx::Elem;

/// `|found - expected| <= atol + rtol |expected|`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tolerance {
    pub(crate) rtol: f64,
    pub(crate) atol: f64,
}

impl Tolerance {
    /// The tolerance of ONNX's own runner.
    const DEFAULT: Tolerance = Tolerance { rtol: 1e-3, atol: 1e-7 };

    /// Reads `rtol=… atol=…`; without the file, the default.
    pub(crate) fn read(path: &Path) -> Result<Tolerance, String> {
        let Ok(text) = fs::read_to_string(path) else { return Ok(Tolerance::DEFAULT) };
        let mut out = Tolerance::DEFAULT;
        for word in text.split_whitespace() {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let value: f64 = value.parse().map_err(|_| format!("`{}`: `{word}` is no number", path.display()))?;
            match name {
                "rtol" => out.rtol = value,
                "atol" => out.atol = value,
                _ => return Err(format!("`{}`: `{name}` is neither rtol nor atol", path.display())),
            }
        }
        Ok(out)
    }

    fn admits(self, found: f64, expected: f64) -> bool {
        if found.is_nan() || expected.is_nan() {
            return found.is_nan() && expected.is_nan();
        }
        found == expected || (found - expected).abs() <= self.atol + self.rtol * expected.abs()
    }
}

/// The number that an element stands for.
fn value(elem: Elem, scalar: Scalar) -> f64 {
    match (elem.small_float(), elem) {
        (Some(float), _) => float.value(scalar.bits as u8),
        (None, Elem::Float8e8m0) if scalar.bits == 255 => f64::NAN,
        (None, Elem::Float8e8m0) => 2f64.powi(scalar.bits as i32 - 127),
        (None, _) => scalar.to_f64(),
    }
}

/// The first difference, if there is one.
pub(crate) fn differ(elem: Elem, found: &[u8], expected: &[u8], tolerance: Tolerance) -> Option<String> {
    let dtype = elem.storage()?;
    if found.len() != expected.len() {
        return Some(format!("it has {} bytes where {} are expected", found.len(), expected.len()));
    }
    let size = dtype.size_bytes();
    let read = |bytes: &[u8]| Scalar::from_le_bytes(dtype, bytes);
    let pairs = found.chunks_exact(size).zip(expected.chunks_exact(size)).map(|(f, e)| (read(f), read(e)));
    let mut wrong = pairs.enumerate().filter(|(_, (found, expected))| {
        found != expected && !tolerance.admits(value(elem, *found), value(elem, *expected))
    });
    let (at, (found, expected)) = wrong.next()?;
    let more = wrong.count();
    let (found, expected) = (value(elem, found), value(elem, expected));
    Some(format!("element {at} is {found} where {expected} is expected ({} elements differ)", more + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    #[test]
    fn nan_equals_nan_and_infinity_itself() {
        let t = Tolerance::DEFAULT;
        let special = floats(&[f32::NAN, f32::INFINITY, 1.0]);
        assert_eq!(differ(Elem::Float, &special, &floats(&[f32::NAN, f32::INFINITY, 1.0005]), t), None);
        assert!(differ(Elem::Float, &special, &floats(&[0.0, f32::INFINITY, 1.0]), t).is_some());
        assert!(differ(Elem::Float, &special, &floats(&[f32::NAN, 3e38, 1.0]), t).is_some());
    }

    #[test]
    fn the_tolerance_decides() {
        let (a, b) = (floats(&[1.0]), floats(&[1.01]));
        assert!(differ(Elem::Float, &a, &b, Tolerance::DEFAULT).is_some());
        assert_eq!(differ(Elem::Float, &a, &b, Tolerance { rtol: 0.1, atol: 0.0 }), None);
    }
}
