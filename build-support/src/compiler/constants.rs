//! Constants: from a place in a file, or bytes in memory, to an archive of their own.

use crate::object::constant::{self, ElfTarget};
use crate::object::{archive, wasm};
use crate::out;
use crate::weights::{self, Failure, Found};
use crate::worker::message::Request;
use std::io::{self, Read, Write};
use std::path::Path;
use tenfold_core::constant_symbol;
use tenfold_ir::{ConstBytes, ConstData, DType, content};
use tenfold_syntax::ast::NodeId;
use tenfold_syntax::{Code, Diagnostic};

/// What the compiler knows of a tensor in a file.
pub(super) fn data(file: &str, name: &str, found: &Found) -> Result<ConstData, Failure> {
    let hash = weights::range(&found.path, found.offset, found.length)
        .and_then(|mut bytes| content::of_tensor(found.dtype, &found.shape, &mut bytes));
    let hash = hash.map_err(|error| Failure::damaged(file, error))?;
    Ok(ConstData {
        hash,
        name: name.into(),
        dtype: found.dtype,
        shape: found.shape.clone(),
        bytes: ConstBytes::File { path: found.path.clone(), offset: found.offset, len: found.length },
    })
}

/// Makes an archive of each constant, unless it is there; gives their names and bytes.
pub(super) fn publish(
    request: &Request,
    constants: &[ConstData],
    section: &str,
) -> Result<Vec<(String, u64)>, Diagnostic> {
    if constants.is_empty() {
        return Ok(Vec::new());
    }
    let Some(format) = format(request) else {
        let text = format!("constants cannot be linked for `{}` yet", request.target.triple);
        let error = Diagnostic::new(NodeId::FUNCTION, Code::Target, text);
        return Err(error.help("build for a target whose objects are ELF or WebAssembly"));
    };
    let directory = Path::new(&request.archives);
    let mut names = Vec::new();
    for constant in constants {
        let name = archive(&constant.hash, format, section);
        let bytes = length(constant);
        if !out::archive_path(directory, &name).is_file() {
            write(directory, &name, format, constant, section).map_err(|error| {
                let text = format!("the constant `{}` cannot be written: {error}", constant.name);
                Diagnostic::new(NodeId::FUNCTION, Code::Environment, text)
            })?;
        }
        names.push((name, bytes));
    }
    Ok(names)
}

/// How constants are written for the target of a request; nothing where they cannot be linked.
pub(super) fn format(request: &Request) -> Option<Format> {
    Format::of_triple(&request.target.triple)
}

/// The name of a constant's archive: of its bytes, and of how they are written, since one folder may serve several
/// targets, and a linker refuses the object of another one.
pub(super) fn archive(hash: &str, format: Format, section: &str) -> String {
    let written = format!("{format:?} {section}");
    let tag = content::of_bytes(DType::U8, &[written.len() as u64], written.as_bytes());
    format!("tenfold_w_{hash}_{}", tag.get(..8).unwrap_or(&tag))
}

/// How many bytes a constant has.
pub(super) fn length(constant: &ConstData) -> u64 {
    match &constant.bytes {
        ConstBytes::Inline(bytes) => bytes.len() as u64,
        ConstBytes::File { len, .. } => *len,
    }
}

/// How objects are written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Format {
    Elf(ElfTarget),
    Wasm,
}

impl Format {
    fn of_triple(triple: &str) -> Option<Self> {
        if triple.starts_with("wasm32") {
            return Some(Self::Wasm);
        }
        ElfTarget::of_triple(triple).map(Self::Elf)
    }

    /// The layout of the object of a constant, if the target has room for it.
    fn plan(self, symbol: &str, length: u64, section: &str) -> Option<Plan> {
        Some(match self {
            Self::Elf(target) => Plan::Elf(constant::Plan::new(target, symbol, length, section)),
            Self::Wasm => Plan::Wasm(wasm::Plan::new(symbol, length, section)?),
        })
    }
}

enum Plan {
    Elf(constant::Plan),
    Wasm(wasm::Plan),
}

impl Plan {
    fn object_length(&self) -> u64 {
        match self {
            Self::Elf(plan) => plan.object_length(),
            Self::Wasm(plan) => plan.object_length(),
        }
    }

    fn write(&self, out: &mut impl Write, bytes: &mut impl Read) -> io::Result<()> {
        match self {
            Self::Elf(plan) => plan.write(out, bytes),
            Self::Wasm(plan) => plan.write(out, bytes),
        }
    }
}

fn write(directory: &Path, name: &str, format: Format, constant: &ConstData, section: &str) -> io::Result<()> {
    let symbol = constant_symbol(&constant.hash);
    let too_long = || io::Error::new(io::ErrorKind::InvalidInput, "it is longer than the target's addresses reach");
    let plan = format.plan(&symbol, length(constant), section).ok_or_else(too_long)?;
    let mut bytes: Box<dyn Read> = match &constant.bytes {
        ConstBytes::Inline(bytes) => Box::new(&bytes[..]),
        ConstBytes::File { path, offset, len } => Box::new(weights::range(path, *offset, *len)?),
    };
    let member = archive::Member { name: "weights.o".into(), symbols: vec![symbol], length: plan.object_length() };
    out::replace(&out::archive_path(directory, name), |file| {
        archive::write(file, &[member], |file, _| plan.write(file, &mut bytes))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_and_sections_have_archives_of_their_own() {
        let name = |triple: &str, section: &str| {
            archive("00", Format::of_triple(triple).expect("its constants are linked"), section)
        };
        let host = name("x86_64-unknown-linux-gnu", "");
        assert_eq!(host, name("x86_64-unknown-linux-musl", ""));
        assert_ne!(host, name("thumbv7em-none-eabihf", ""));
        assert_ne!(host, name("wasm32-unknown-unknown", ""));
        assert_ne!(host, name("x86_64-unknown-linux-gnu", ".flash"));
    }
}
