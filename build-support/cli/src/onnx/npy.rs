//! Arrays in NumPy's format: what `run` reads and writes.

use tenfold_ir::DType;

/// An array in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array {
    pub(crate) dtype: DType,
    pub(crate) shape: Vec<u64>,
    pub(crate) bytes: Vec<u8>,
}

/// NumPy's names of dtypes. A bfloat16 is written as two bytes without a meaning, as NumPy does.
const NAMES: [(DType, &str); 13] = [
    (DType::Bool, "|b1"),
    (DType::I8, "|i1"),
    (DType::U8, "|u1"),
    (DType::I16, "<i2"),
    (DType::U16, "<u2"),
    (DType::I32, "<i4"),
    (DType::U32, "<u4"),
    (DType::I64, "<i8"),
    (DType::U64, "<u8"),
    (DType::F16, "<f2"),
    (DType::BF16, "<V2"),
    (DType::F32, "<f4"),
    (DType::F64, "<f8"),
];

impl Array {
    /// Reads a file's bytes.
    pub(crate) fn read(file: &[u8]) -> Result<Array, String> {
        let no = || "it is no .npy file".to_string();
        let major = *file.get(6).filter(|_| file.starts_with(b"\x93NUMPY")).ok_or_else(no)?;
        let number = |range: std::ops::Range<usize>| {
            let bytes = file.get(range)?;
            Some(bytes.iter().rev().fold(0usize, |n, b| n << 8 | usize::from(*b)))
        };
        let (length, begin) = if major == 1 { (number(8..10), 10usize) } else { (number(8..12), 12) };
        let end = length.and_then(|length| begin.checked_add(length)).ok_or_else(no)?;
        let header = std::str::from_utf8(file.get(begin..end).ok_or_else(no)?).map_err(|_| no())?;
        let after = |key: &str| header.split_once(key).map(|(_, rest)| rest.trim_start_matches([':', ' ']));
        let descr = after("'descr'").and_then(|rest| rest.split('\'').nth(1)).ok_or_else(no)?;
        let dtype = NAMES.iter().find(|(_, name)| *name == descr || name[1..] == *descr).map(|(dtype, _)| *dtype);
        let dtype = dtype.ok_or_else(|| format!("its dtype `{descr}` is not supported"))?;
        if after("'fortran_order'").is_some_and(|rest| rest.starts_with("True")) {
            return Err("its elements are in column-major order; save a copy made by `np.ascontiguousarray`".into());
        }
        let list = after("'shape'").and_then(|rest| rest.strip_prefix('(')?.split(')').next()).ok_or_else(no)?;
        let extents = list.split(',').map(str::trim).filter(|text| !text.is_empty());
        let shape: Vec<u64> = extents.map(|text| text.parse().map_err(|_| no())).collect::<Result<_, _>>()?;
        let bytes = file[end..].to_vec();
        let count = shape.iter().try_fold(dtype.size_bytes() as u64, |n, d| n.checked_mul(*d));
        match count == Some(bytes.len() as u64) {
            true => Ok(Array { dtype, shape, bytes }),
            false => Err(format!("it has {} bytes of elements where {shape:?} asks for others", bytes.len())),
        }
    }

    /// The file's bytes.
    pub(crate) fn write(&self) -> Vec<u8> {
        let name = NAMES.iter().find(|(dtype, _)| *dtype == self.dtype).map_or("", |(_, name)| name);
        let extents: String = self.shape.iter().map(|n| format!("{n}, ")).collect();
        let mut header = format!("{{'descr': '{name}', 'fortran_order': False, 'shape': ({}), }}", extents.trim_end());
        while (header.len() + 11) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        let mut out = b"\x93NUMPY\x01\x00".to_vec();
        out.extend((header.len() as u16).to_le_bytes());
        out.extend(header.as_bytes());
        out.extend(&self.bytes);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_come_back() {
        for shape in [vec![], vec![3], vec![2, 3], vec![0, 4]] {
            let count: u64 = shape.iter().product();
            let array = Array { dtype: DType::F32, shape, bytes: (0..count * 4).map(|n| n as u8).collect() };
            let file = array.write();
            assert_eq!((file.len() - array.bytes.len()) % 64, 0);
            assert_eq!(Array::read(&file), Ok(array));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let file = Array { dtype: DType::F32, shape: vec![2], bytes: vec![0; 8] }.write();
        assert!(Array::read(&file[..file.len() - 1]).is_err());
        assert!(Array::read(b"PK").is_err());
        let text = String::from_utf8_lossy(&file).replace("<f4", "<c8");
        assert_eq!(Array::read(text.as_bytes()), Err("it is no .npy file".into()));
    }
}
