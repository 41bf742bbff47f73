//! safetensors: the length of a JSON header, the header, the bytes.

use super::json::{self, Json};
use super::{HEADER_LIMIT, Header, Why};
use std::io::Read;
use tenfold_abi::DType;

/// The header of a tensor in a file of `length` bytes.
pub(super) fn read(file: &mut impl Read, length: u64, tensor: &str) -> Result<Header, Why> {
    let mut head = [0; 8];
    file.read_exact(&mut head)?;
    let size = u64::from_le_bytes(head);
    if size > length.saturating_sub(8) || size > HEADER_LIMIT {
        return Err(Why::Damaged("it is no safetensors file, or cut short".into()));
    }
    let mut text = String::new();
    file.take(size).read_to_string(&mut text).map_err(|_| Why::Damaged("its header is no text".into()))?;
    let header = json::parse(&text).map_err(Why::Damaged)?;
    let Json::Object(fields) = &header else {
        return Err(Why::Damaged("its header is no table".into()));
    };
    let Some((_, found)) = fields.iter().find(|(name, _)| name == tensor) else {
        let names = fields.iter().map(|(name, _)| name.clone());
        let names = names.filter(|name| name != "__metadata__").collect();
        return Err(Why::NoTensor(tensor.into(), names));
    };
    one(found, 8 + size).ok_or_else(|| Why::Damaged(format!("its header says nonsense of `{tensor}`")))?
}

fn one(found: &Json, data: u64) -> Option<Result<Header, Why>> {
    let name = found.get("dtype")?.text()?;
    let Some(dtype) = DType::from_safetensors(name) else {
        let why = format!("elements of type `{name}` are not read");
        return Some(Err(Why::Damaged(why)));
    };
    let shape = found.get("shape")?.numbers()?;
    let [begin, end] = found.get("data_offsets")?.numbers()?[..] else {
        return None;
    };
    Some(Ok(Header { dtype, shape, offset: data.checked_add(begin)?, length: Some(end.checked_sub(begin)?) }))
}
