//! Tensors that are known when the model is read: initialisers, attributes, test data.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use tenfold_ir::{ConstBytes, DType, Scalar, content};

use crate::elem::Elem;
use crate::proto;

/// A tensor whose elements are known.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorData {
    /// Type of an element.
    pub elem: Elem,
    /// Extents.
    pub shape: Vec<u64>,
    /// The elements.
    pub data: Elements,
}

/// Elements of a known tensor.
#[derive(Clone, Debug, PartialEq)]
pub enum Elements {
    /// Bytes of the type that stores them ([`Elem::storage`]).
    Bytes(ConstBytes),
    /// Strings.
    Strings(Vec<Vec<u8>>),
}

/// Where tensors' bytes are: the model's file and folder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Home<'a> {
    /// The file, if there is one; large tensors stay in it.
    pub(crate) path: Option<&'a Path>,
    /// Its bytes.
    pub(crate) bytes: &'a [u8],
}

/// A tensor of this many bytes or more stays in its file.
const LARGE: usize = 4096;

impl TensorData {
    /// Reads a `TensorProto` that stands in a file by itself, as test data does. Elements come with their bytes.
    pub fn from_proto(bytes: &[u8]) -> Result<TensorData, String> {
        let tensor = proto::tensor(bytes).map_err(|e| format!("it is no tensor: {}", e.0))?;
        read(&tensor, Home { path: None, bytes })
    }

    /// How many elements it has.
    pub fn count(&self) -> usize {
        self.shape.iter().product::<u64>() as usize
    }

    /// Its bytes, read from the file if they are there.
    pub fn bytes(&self) -> Result<Arc<[u8]>, String> {
        match &self.data {
            Elements::Bytes(bytes) => load(bytes),
            Elements::Strings(_) => Err("strings have no bytes".into()),
        }
    }

    /// Its elements, if there are no more than `most`.
    pub(crate) fn scalars(&self, most: usize) -> Option<Vec<Scalar>> {
        let dtype = self.elem.storage().filter(|_| self.count() <= most)?;
        let bytes = self.bytes().ok()?;
        Some(bytes.chunks_exact(dtype.size_bytes()).map(|b| Scalar::from_le_bytes(dtype, b)).collect())
    }
}

/// Bytes of a constant, wherever they are.
pub(crate) fn load(bytes: &ConstBytes) -> Result<Arc<[u8]>, String> {
    use std::io::{Read, Seek, SeekFrom};
    match bytes {
        ConstBytes::Inline(bytes) => Ok(bytes.clone()),
        ConstBytes::File { path, offset, len } => {
            let failed = |e: std::io::Error| format!("`{}` cannot be read: {e}", path.display());
            let mut file = std::fs::File::open(path).map_err(failed)?;
            file.seek(SeekFrom::Start(*offset)).map_err(failed)?;
            let mut out = vec![0; usize::try_from(*len).map_err(|e| e.to_string())?];
            file.read_exact(&mut out).map_err(failed)?;
            Ok(out.into())
        }
    }
}

/// The identity of a constant. What lies in the model's file is in memory; other files are streamed.
pub(crate) fn identity(dtype: DType, shape: &[u64], bytes: &ConstBytes, home: Home<'_>) -> Result<String, String> {
    use std::io::{Read, Seek, SeekFrom};
    match bytes {
        ConstBytes::Inline(bytes) => Ok(content::of_bytes(dtype, shape, bytes)),
        ConstBytes::File { path, offset, len } => {
            let own = (home.path == Some(path)).then(|| within(home.bytes, *offset, *len)).flatten();
            if let Some(own) = own {
                return Ok(content::of_bytes(dtype, shape, own));
            }
            let failed = |e: std::io::Error| format!("`{}` cannot be read: {e}", path.display());
            let mut file = std::fs::File::open(path).map_err(failed)?;
            file.seek(SeekFrom::Start(*offset)).map_err(failed)?;
            content::of_tensor(dtype, shape, &mut file.take(*len)).map_err(failed)
        }
    }
}

fn within(bytes: &[u8], offset: u64, len: u64) -> Option<&[u8]> {
    let begin = usize::try_from(offset).ok()?;
    bytes.get(begin..begin.checked_add(usize::try_from(len).ok()?)?)
}

/// Reads a tensor of a model.
pub(crate) fn read(tensor: &proto::Tensor<'_>, home: Home<'_>) -> Result<TensorData, String> {
    let elem = Elem::from_code(tensor.data_type)
        .ok_or_else(|| format!("its type has the code {}, which ONNX does not define", tensor.data_type))?;
    let shape: Option<Vec<u64>> = tensor.dims.iter().map(|d| u64::try_from(*d).ok()).collect();
    let shape = shape.ok_or_else(|| format!("its extents {:?} are below 0", tensor.dims))?;
    let count = shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d)).filter(|n| *n < 1 << 40);
    let count = count.ok_or_else(|| format!("its extents {shape:?} are too large"))? as usize;
    if elem == Elem::String {
        let strings: Vec<Vec<u8>> = tensor.strings.iter().map(|s| s.to_vec()).collect();
        return match strings.len() == count {
            true => Ok(TensorData { elem, shape, data: Elements::Strings(strings) }),
            false => Err(format!("it has {} strings where its extents ask for {count}", strings.len())),
        };
    }
    let Some(storage) = elem.storage() else { return Err(format!("elements of type {elem} are not supported")) };
    let packed = (count * elem.packed_bits()).div_ceil(8);
    let bytes = if tensor.is_external {
        external(tensor, home, packed)?
    } else if let Some(raw) = tensor.raw {
        expect(raw.len(), packed, "bytes")?;
        slice(raw, home)
    } else {
        let bytes = typed(tensor, elem, storage, count)?;
        return Ok(TensorData { elem, shape, data: Elements::Bytes(ConstBytes::Inline(bytes.into())) });
    };
    let bytes = if elem.packed_bits() < 8 { unpacked(elem, &load(&bytes)?, count) } else { bytes };
    Ok(TensorData { elem, shape, data: Elements::Bytes(bytes) })
}

fn expect(found: usize, expected: usize, what: &str) -> Result<(), String> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("it has {found} {what} where its extents ask for {expected}")),
    }
}

/// Bytes of the file: the place if they are many, else a copy.
fn slice(raw: &[u8], home: Home<'_>) -> ConstBytes {
    match home.path {
        Some(path) if raw.len() >= LARGE => {
            let offset = (raw.as_ptr() as usize).saturating_sub(home.bytes.as_ptr() as usize) as u64;
            ConstBytes::File { path: path.to_path_buf(), offset, len: raw.len() as u64 }
        }
        Some(_) | None => ConstBytes::Inline(raw.into()),
    }
}

/// Elements that stand in the field of their type.
fn typed(tensor: &proto::Tensor<'_>, elem: Elem, storage: DType, count: usize) -> Result<Vec<u8>, String> {
    let (mut out, bits) = (Vec::new(), elem.packed_bits());
    match storage {
        DType::F32 => {
            expect(tensor.floats.len(), count, "floats")?;
            out.extend(tensor.floats.iter().flat_map(|v| v.to_le_bytes()));
        }
        DType::F64 => {
            expect(tensor.doubles.len(), count, "doubles")?;
            out.extend(tensor.doubles.iter().flat_map(|v| v.to_le_bytes()));
        }
        DType::I64 | DType::U64 | DType::U32 => {
            let values = if storage == DType::I64 { &tensor.int64s } else { &tensor.uint64s };
            expect(values.len(), count, "integers")?;
            out.extend(values.iter().flat_map(|v| v.to_le_bytes()[..storage.size_bytes()].to_vec()));
        }
        DType::I4 | DType::U4 | DType::Bool | DType::I8 | DType::U8 if bits < 8 => {
            expect(tensor.int32s.len(), (count * bits).div_ceil(8), "packed integers")?;
            let packed: Vec<u8> = tensor.int32s.iter().map(|v| *v as u8).collect();
            return Ok(unpack(elem, &packed, count));
        }
        DType::Bool => {
            expect(tensor.int32s.len(), count, "integers")?;
            out.extend(tensor.int32s.iter().map(|v| u8::from(*v != 0)));
        }
        DType::I8
        | DType::U8
        | DType::I16
        | DType::U16
        | DType::I32
        | DType::F16
        | DType::BF16
        | DType::I4
        | DType::U4
        | DType::F8E4M3FN
        | DType::F8E4M3FNUZ
        | DType::F8E5M2
        | DType::F8E5M2FNUZ => {
            expect(tensor.int32s.len(), count, "integers")?;
            out.extend(tensor.int32s.iter().flat_map(|v| v.to_le_bytes()[..storage.size_bytes()].to_vec()));
        }
    }
    Ok(out)
}

fn unpacked(elem: Elem, packed: &[u8], count: usize) -> ConstBytes {
    ConstBytes::Inline(unpack(elem, packed, count).into())
}

/// One byte per element; the first element is in the low bits. Signed integers are extended.
fn unpack(elem: Elem, packed: &[u8], count: usize) -> Vec<u8> {
    let bits = elem.packed_bits();
    let (per_byte, mask) = (8 / bits, (1u8 << bits) - 1);
    let signed = matches!(elem, Elem::Int4 | Elem::Int2);
    let element = |i: usize| {
        let value = packed.get(i / per_byte).copied().unwrap_or(0) >> (i % per_byte * bits) & mask;
        if signed && value >> (bits - 1) == 1 { value | !mask } else { value }
    };
    (0..count).map(element).collect()
}

/// Data in a file beside the model, which must be in the model's folder or below it, links resolved.
fn external(tensor: &proto::Tensor<'_>, home: Home<'_>, expected: usize) -> Result<ConstBytes, String> {
    let value = |key: &str| tensor.external.iter().find(|(k, _)| *k == key).map(|(_, v)| *v);
    let number = |key: &str, default: u64| match value(key) {
        Some(text) => text.parse::<u64>().map_err(|_| format!("the {key} `{text}` of its external data is no number")),
        None => Ok(default),
    };
    let location = value("location").ok_or("its external data has no location")?;
    let path = inside(location, home)?;
    let offset = number("offset", 0)?;
    let length = std::fs::metadata(&path).map_err(|e| format!("`{location}` cannot be read: {e}"))?.len();
    let len = number("length", expected as u64)?;
    expect(len as usize, expected, "bytes of external data")?;
    match offset.checked_add(len) {
        Some(end) if end <= length => Ok(ConstBytes::File { path, offset, len }),
        _ => Err(format!("`{location}` has {length} bytes, and its external data ends behind them")),
    }
}

fn inside(location: &str, home: Home<'_>) -> Result<PathBuf, String> {
    let relative = Path::new(location);
    let plain = relative.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    if !plain || location.is_empty() {
        return Err(format!("its external data `{location}` lies outside of the model's folder"));
    }
    let model = home.path.ok_or("a model without a file cannot have external data")?;
    let folder = model.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let resolve = |path: &Path| path.canonicalize().map_err(|e| format!("`{location}` cannot be read: {e}"));
    let (folder, path) = (resolve(folder)?, resolve(&folder.join(relative))?);
    match path.starts_with(&folder) && path.is_file() {
        true => Ok(path),
        false => Err(format!("its external data `{location}` lies outside of the model's folder")),
    }
}
