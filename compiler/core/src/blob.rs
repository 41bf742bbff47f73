//! Writes blobs: the modules for devices that a host object carries. The layout stands in [`tenfold_abi::blob`].

use tenfold_abi::blob::{ALIGN, HEADER, HOST, IMPORT_TREE, MAGIC, VERSION, hash, padded};
use tenfold_ir::Loc;

use crate::CompileError;

/// A module of a blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// What it is for, unlike that of all others.
    pub key: String,
    /// Its bytes.
    pub payload: Vec<u8>,
    /// The numbers of the modules that it imports: of modules behind it.
    pub imports: Vec<usize>,
}

impl Module {
    /// The host's own code, which is linked and has no bytes here.
    pub fn host(imports: Vec<usize>) -> Self {
        Module { key: HOST.to_string(), payload: Vec::new(), imports }
    }
}

/// The bytes of a blob of these modules. A blob begins at a multiple of [`ALIGN`].
///
/// # Errors
/// Keys that are empty, reserved or equal, a host with a payload, and imports of what is not behind the importer: bugs
/// of ours.
pub fn write(modules: &[Module]) -> Result<Vec<u8>, CompileError> {
    modules.iter().enumerate().try_for_each(|(at, module)| check(modules, at, module))?;
    let mut body = Vec::new();
    for module in modules {
        entry(&mut body, &module.key, &module.payload);
    }
    entry(&mut body, IMPORT_TREE, &import_tree(modules));
    let mut out = header(&body, modules.len() + 1);
    out.extend(body);
    Ok(out)
}

fn check(modules: &[Module], at: usize, module: &Module) -> Result<(), CompileError> {
    let key = &module.key;
    let reserved = key.is_empty() || key == IMPORT_TREE || (key == HOST && !module.payload.is_empty());
    let twice = modules[..at].iter().any(|before| before.key == *key);
    let behind = module.imports.iter().all(|child| at < *child && *child < modules.len());
    if reserved || twice || !behind {
        return Err(CompileError::internal(Loc::default(), format!("module `{key}` of a blob is not one")));
    }
    Ok(())
}

fn header(body: &[u8], entries: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER + body.len());
    out.extend(MAGIC);
    out.extend(VERSION.to_le_bytes());
    out.extend((ALIGN as u32).to_le_bytes());
    for word in [(HEADER + body.len()) as u64, entries as u64, hash(body), 0] {
        out.extend(word.to_le_bytes());
    }
    out
}

fn entry(out: &mut Vec<u8>, key: &str, payload: &[u8]) {
    for word in [key.len() as u64, payload.len() as u64, hash(payload), 0] {
        out.extend(word.to_le_bytes());
    }
    for part in [key.as_bytes(), payload] {
        out.extend(part);
        out.resize(padded(out.len()).unwrap_or(out.len()), 0);
    }
}

/// Where the imports of each module begin, where the last end, and all of them.
fn import_tree(modules: &[Module]) -> Vec<u8> {
    let mut words = vec![0];
    for module in modules {
        words.push(words.last().copied().unwrap_or(0) + module.imports.len() as u64);
    }
    words.extend(modules.iter().flat_map(|module| module.imports.iter().map(|child| *child as u64)));
    words.into_iter().flat_map(u64::to_le_bytes).collect()
}
