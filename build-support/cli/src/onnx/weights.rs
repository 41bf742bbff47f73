//! `weights`: the initialisers of a model as a safetensors file, which a program reads when it runs.

use std::fs::File;
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use tenfold_ir::{ConstBytes, DType};
use tenfold_onnx::{Elem, Weight};

use super::model::{Model, outcome};
use crate::Outcome;

/// The elements begin at a multiple of this, so that they can be used where they lie.
const ALIGN: usize = 64;

/// Writes the file and says what is in it.
pub(crate) fn weights(model: &Model) -> Outcome {
    outcome(attempt(model))
}

fn attempt(model: &Model) -> Result<String, String> {
    let Some(path) = model.outputs.first() else { return Err("say where they go: `--output FILE.safetensors`".into()) };
    if super::format::is_tflite(&model.path) {
        return Err("weights of a TFLite model cannot be parameters, so nothing could read them".into());
    }
    let mut all = tenfold_onnx::weights(&model.path).map_err(|e| e.to_string())?;
    // the widest first: then each is aligned without gaps, which the format does not have
    let width = |weight: &Weight| weight.elem.storage().map_or(1, DType::size_bytes);
    all.sort_by_key(|weight| std::cmp::Reverse(width(weight)));
    let header = header(&all)?;
    let failed = |e: io::Error| format!("`{}` cannot be written: {e}", path.display());
    let mut out = BufWriter::new(File::create(path).map_err(failed)?);
    out.write_all(&header).map_err(failed)?;
    for weight in &all {
        copy(weight, &mut out, path)?;
    }
    out.flush().map_err(failed)?;
    let bytes: u64 = all.iter().map(length).sum();
    Ok(format!("{} tensors, {bytes} bytes\n", all.len()))
}

/// The length of the header, and the header: names, dtypes, extents and places.
fn header(all: &[Weight]) -> Result<Vec<u8>, String> {
    let mut table = serde_json::Map::new();
    let mut begin = 0;
    for weight in all {
        let dtype = dtype(weight)?;
        let end = begin + length(weight);
        let entry = serde_json::json!({"dtype": dtype, "shape": weight.shape, "data_offsets": [begin, end]});
        if table.insert(weight.name.clone(), entry).is_some() {
            return Err(format!("the model has two initialisers `{}`", weight.name));
        }
        begin = end;
    }
    let mut text = serde_json::Value::Object(table).to_string().into_bytes();
    let length = (8 + text.len()).next_multiple_of(ALIGN) - 8;
    text.resize(length, b' ');
    Ok([&(length as u64).to_le_bytes()[..], &text].concat())
}

/// The format's name of a dtype.
fn dtype(weight: &Weight) -> Result<&'static str, String> {
    let refused = || format!("`{}` is {}, which a safetensors file cannot hold", weight.name, weight.elem);
    let dtype = weight.elem.storage().filter(|dtype| Elem::of(*dtype) == weight.elem).ok_or_else(refused)?;
    Ok(match dtype {
        DType::Bool => "BOOL",
        DType::I8 => "I8",
        DType::U8 => "U8",
        DType::I16 => "I16",
        DType::U16 => "U16",
        DType::I32 => "I32",
        DType::U32 => "U32",
        DType::I64 => "I64",
        DType::U64 => "U64",
        DType::F16 => "F16",
        DType::BF16 => "BF16",
        DType::F32 => "F32",
        DType::F64 => "F64",
        DType::F8E4M3FN => "F8_E4M3",
        DType::F8E5M2 => "F8_E5M2",
        DType::I4 | DType::U4 | DType::F8E4M3FNUZ | DType::F8E5M2FNUZ => return Err(refused()),
    })
}

fn length(weight: &Weight) -> u64 {
    match &weight.bytes {
        ConstBytes::Inline(bytes) => bytes.len() as u64,
        ConstBytes::File { len, .. } => *len,
    }
}

fn copy(weight: &Weight, out: &mut impl io::Write, to: &Path) -> Result<(), String> {
    let failed = |e: io::Error| format!("`{}` cannot be copied to `{}`: {e}", weight.name, to.display());
    match &weight.bytes {
        ConstBytes::Inline(bytes) => out.write_all(bytes).map_err(failed),
        ConstBytes::File { path, offset, len } => {
            let mut file = File::open(path).map_err(failed)?;
            file.seek(SeekFrom::Start(*offset)).map_err(failed)?;
            let copied = io::copy(&mut file.take(*len), out).map_err(failed)?;
            if copied == *len { Ok(()) } else { Err(format!("`{}` is cut short", path.display())) }
        }
    }
}
