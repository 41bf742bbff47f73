//! npy: a magic number, the length of a header that is a Python literal, the header, the bytes.

use super::{HEADER_LIMIT, Header, Why};
use std::io::Read;
use tenfold_abi::DType;

/// Names of dtypes in the format. `|` stands where there is no order of bytes.
const DTYPES: [(&str, DType); 12] = [
    ("|b1", DType::Bool),
    ("|i1", DType::I8),
    ("|u1", DType::U8),
    ("<i2", DType::I16),
    ("<u2", DType::U16),
    ("<i4", DType::I32),
    ("<u4", DType::U32),
    ("<i8", DType::I64),
    ("<u8", DType::U64),
    ("<f2", DType::F16),
    ("<f4", DType::F32),
    ("<f8", DType::F64),
];

/// The header of a file.
pub(super) fn read(file: &mut impl Read) -> Result<Header, Why> {
    let mut head = [0; 8];
    file.read_exact(&mut head)?;
    if &head[..6] != b"\x93NUMPY" {
        return Err(Why::Damaged("it is no npy file".into()));
    }
    let (size, before) = if head[6] == 1 {
        let mut size = [0; 2];
        file.read_exact(&mut size)?;
        (u64::from(u16::from_le_bytes(size)), 10)
    } else {
        let mut size = [0; 4];
        file.read_exact(&mut size)?;
        (u64::from(u32::from_le_bytes(size)), 12)
    };
    let mut text = Vec::new();
    file.take(size.min(HEADER_LIMIT)).read_to_end(&mut text)?;
    if text.len() as u64 != size {
        return Err(Why::Damaged("it is cut short".into()));
    }
    let text = String::from_utf8_lossy(&text);
    let missing = |what: &str| Why::Damaged(format!("its header has no `{what}`"));
    let descr = quoted(&text, "descr").ok_or_else(|| missing("descr"))?;
    let Some((_, dtype)) = DTYPES.iter().find(|(known, _)| *known == descr) else {
        let why = format!("elements of type `{descr}` are not read; write it as `<f4` or the like");
        return Err(Why::Damaged(why));
    };
    let shape = shape(&text).ok_or_else(|| missing("shape"))?;
    let order = after(&text, "fortran_order").ok_or_else(|| missing("fortran_order"))?;
    if order.starts_with("True") && shape.len() > 1 {
        let why = "its elements stand in Fortran's order; write it with `numpy.ascontiguousarray`";
        return Err(Why::Damaged(why.into()));
    }
    Ok(Header { dtype: *dtype, shape, offset: before + size, length: None })
}

/// What stands behind a key.
fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let at = ["'", "\""].iter().find_map(|quote| {
        let key = format!("{quote}{key}{quote}");
        text.find(&key).map(|at| at + key.len())
    })?;
    Some(text[at..].trim_start().strip_prefix(':')?.trim_start())
}

fn quoted<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let rest = after(text, key)?;
    let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    rest[1..].split_once(quote).map(|(inner, _)| inner)
}

fn shape(text: &str) -> Option<Vec<u64>> {
    let rest = after(text, "shape")?.strip_prefix('(')?;
    let (inner, _) = rest.split_once(')')?;
    let extents = inner.split(',').map(str::trim);
    extents.filter(|extent| !extent.is_empty()).map(|extent| extent.trim_end_matches('L').parse().ok()).collect()
}
