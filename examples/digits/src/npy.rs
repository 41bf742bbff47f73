//! Reads the two kinds of npy file that this program meets: rows of float32, and bytes.
//!
//! It knows the format (version 1 to 3, C order), nothing of digits.

use crate::Failure;
use std::path::Path;

/// A file's values of type `<f4` and shape [N, W], as rows.
pub(crate) fn read_rows<const W: usize>(file: &Path) -> Result<Vec<[f32; W]>, Failure> {
    let wanted = format!("float32 of shape [N, {W}]");
    let bytes = contents(file)?;
    let (header, data) = parse(&bytes).map_err(|found| wrong(file, &wanted, &found))?;
    if header.dtype != "<f4" || header.shape.len() != 2 || header.shape[1] != W {
        return Err(wrong(file, &wanted, &header.to_string()));
    }
    let rows = header.shape[0];
    if Some(data.len()) != rows.checked_mul(4 * W) {
        let found = format!("{header} with {} bytes of data", data.len());
        return Err(wrong(file, &wanted, &found));
    }
    let value = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    let row = |bytes: &[u8]| std::array::from_fn(|i| value(&bytes[4 * i..]));
    Ok(data.chunks_exact(4 * W).map(row).collect())
}

/// A file's values of type `|u1` and shape [N].
pub(crate) fn read_bytes(file: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = contents(file)?;
    let (header, data) = parse(&bytes).map_err(|found| wrong(file, "uint8", &found))?;
    if header.dtype != "|u1" || header.shape != [data.len()] {
        return Err(wrong(file, "uint8 of shape [N]", &header.to_string()));
    }
    Ok(data.to_vec())
}

fn contents(file: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(file).map_err(|e| Failure::Input(format!("cannot read `{}`: {e}", file.display())))
}

fn wrong(file: &Path, expected: &str, found: &str) -> Failure {
    Failure::Input(format!("`{}`: expected {expected}, found {found}", file.display()))
}

struct Header {
    dtype: String,
    shape: Vec<usize>,
}

impl std::fmt::Display for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` of shape {:?}", self.dtype, self.shape)
    }
}

/// Splits a file into what its header says and its data, or tells what was found instead.
fn parse(bytes: &[u8]) -> Result<(Header, &[u8]), String> {
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or("a file that is no npy file")?;
    let (length, rest) = match *rest {
        [1, _, a, b, ref rest @ ..] => (usize::from(u16::from_le_bytes([a, b])), rest),
        [2 | 3, _, a, b, c, d, ref rest @ ..] => (u32::from_le_bytes([a, b, c, d]) as usize, rest),
        _ => return Err("an npy file of an unknown version".into()),
    };
    let (text, data) = rest.split_at_checked(length).ok_or("an npy file that ends early")?;
    let text = std::str::from_utf8(text).map_err(|_| "an npy header that is no text")?;
    if after(text, "'fortran_order':").is_none_or(|rest| !rest.starts_with("False")) {
        return Err("an array in Fortran order".into());
    }
    let dtype = after(text, "'descr':").and_then(|rest| rest.strip_prefix('\'')?.split_once('\''));
    let shape = after(text, "'shape':").and_then(|rest| rest.strip_prefix('(')?.split_once(')'));
    let (Some((dtype, _)), Some((shape, _))) = (dtype, shape) else {
        return Err("an npy header without `descr` or `shape`".into());
    };
    let extents = shape.split(',').map(str::trim).filter(|extent| !extent.is_empty());
    let shape = extents.map(str::parse).collect::<Result<_, _>>();
    let shape = shape.map_err(|_| "an npy header whose shape is no list of numbers")?;
    Ok((Header { dtype: dtype.into(), shape }, data))
}

/// What follows a key, without the spaces between.
fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_once(key).map(|(_, rest)| rest.trim_start())
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let length = u16::try_from(header.len()).expect("test headers are short");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend(length.to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn reads_what_numpy_writes() {
        let bytes = file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 64), }\n", b"data");
        let (header, data) = parse(&bytes).expect("a good file");
        assert_eq!((header.dtype.as_str(), &header.shape[..], data), ("<f4", &[2, 64][..], &b"data"[..]));
        let bytes = file("{'descr': '|u1', 'fortran_order': False, 'shape': (364,), }", b"");
        assert_eq!(parse(&bytes).expect("a good file").0.shape, [364]);
    }

    #[test]
    fn says_what_is_wrong() {
        let cases = [
            (b"PK".to_vec(), "a file that is no npy file"),
            (b"\x93NUMPY\x09\x00".to_vec(), "an npy file of an unknown version"),
            (b"\x93NUMPY\x01\x00\xff\xff{".to_vec(), "an npy file that ends early"),
            (file("{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}", b""), "an array in Fortran order"),
            (file("{'fortran_order': False, 'shape': (2,)}", b""), "an npy header without `descr` or `shape`"),
            (
                file("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", b""),
                "an npy header whose shape is no list of numbers",
            ),
        ];
        for (bytes, expected) in cases {
            assert_eq!(parse(&bytes).err().as_deref(), Some(expected));
        }
    }

    #[test]
    fn no_prefix_of_a_file_panics() {
        let whole = file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 64), }", b"data");
        for end in 0..whole.len() {
            let _ = parse(&whole[..end]);
        }
    }
}
