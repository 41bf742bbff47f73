//! Readers that are fuzzed: each takes any bytes and must neither panic nor hang nor allocate without bound.

use tenfold_ir::{Function, relax, tir};

use crate::targets::Target;

/// What reads bytes.
pub(crate) const READERS: &[Target] = &[
    ("blob", blob),
    ("program", program),
    ("safetensors", safetensors),
    ("npy", npy),
    ("npz", npz),
    ("index", index),
    ("onnx", onnx),
    ("tflite", tflite),
];

/// A blob, at an aligned address: whole, or with its hashes made right.
fn blob(bytes: &[u8]) {
    let mut room = vec![0_u8; bytes.len() + 16];
    let start = room.as_ptr().align_offset(16);
    let aligned = &mut room[start..start + bytes.len()];
    aligned.copy_from_slice(bytes);
    walk(aligned);
    mend(aligned);
    walk(aligned);
}

/// Everything that a reader hands out.
fn walk(bytes: &[u8]) {
    let Ok(blob) = tenfold::blob::Blob::read(bytes) else { return };
    let modules: Vec<_> = blob.modules().collect();
    assert_eq!(modules.len(), blob.len());
    for (at, module) in modules.iter().enumerate() {
        assert_eq!(blob.find(module.key).as_ref(), Some(module));
        assert!(blob.imports(at).all(|child| at < child && child < modules.len()));
    }
}

/// Puts right the hashes and lengths that a fuzzer does not guess.
fn mend(bytes: &mut [u8]) {
    use tenfold_abi::blob::{ALIGN, HEADER, MAGIC, VERSION, hash};
    let len = bytes.len() as u64;
    let Some((head, body)) = bytes.split_at_mut_checked(HEADER) else { return };
    head[..8].copy_from_slice(&MAGIC);
    head[8..12].copy_from_slice(&VERSION.to_le_bytes());
    head[12..16].copy_from_slice(&(ALIGN as u32).to_le_bytes());
    head[16..24].copy_from_slice(&len.to_le_bytes());
    head[40..48].fill(0);
    mend_entries(body);
    head[32..40].copy_from_slice(&hash(body).to_le_bytes());
}

fn mend_entries(mut body: &mut [u8]) {
    use tenfold_abi::blob::{ENTRY, hash, padded};
    while let Some((head, rest)) = body.split_at_mut_checked(ENTRY) {
        let word = |at: usize| usize::from_le_bytes(head[at..at + 8].try_into().unwrap_or_default());
        let (Some(key), Some(payload)) = (padded(word(0)), padded(word(8))) else { return };
        let len = word(8);
        let Some((_, rest)) = rest.split_at_mut_checked(key) else { return };
        let Some((payload, rest)) = rest.split_at_mut_checked(payload) else { return };
        head[16..24].copy_from_slice(&hash(&payload[..len]).to_le_bytes());
        body = rest;
    }
}

/// A program for a device: what is read of it names nothing that is not there.
fn program(bytes: &[u8]) {
    use tenfold_abi::program::{Arg, Place, Step};
    let Ok(program) = tenfold::program::Program::read(bytes) else { return };
    let mut values = vec![0; program.nodes()];
    for dims in [vec![3; program.dims()], vec![i64::MIN; program.dims()]] {
        let _ = program.evaluate(&dims, &mut values);
    }
    assert!(program.workspace() < values.len());
    for buffer in program.buffers() {
        assert!((buffer.bytes as usize) < values.len());
        assert!(!matches!(buffer.place, Place::Param(n) if n as usize >= program.params()));
    }
    for step in program.steps() {
        let Step::Launch { kernel, args, .. } = step else { continue };
        assert!(program.kernels().nth(kernel as usize).is_some_and(|kernel| kernel.threads() > 0));
        assert!(program.args(args).all(|arg| !matches!(arg, Arg::Buffer(n) if program.buffer(n).is_none())));
    }
}

/// A safetensors file.
fn safetensors(bytes: &[u8]) {
    let linked = tenfold_build::holds_tensor(bytes, "safetensors");
    // what a program reads when it runs, at an aligned address: it takes no file that the build does not take
    let aligned = tenfold::AlignedBytes::from(bytes);
    let Ok(file) = tenfold::Safetensors::new(&aligned) else { return };
    let loaded = file.tensor::<f32, (tenfold::Dyn, tenfold::Dyn)>("w");
    assert!(linked || loaded.is_err(), "{file:?} is read when the program runs and not when it is built");
}

/// An npy file.
fn npy(bytes: &[u8]) {
    tenfold_build::holds_tensor(bytes, "npy");
}

/// An npz file.
fn npz(bytes: &[u8]) {
    tenfold_build::holds_tensor(bytes, "npz");
}

/// The index of safetensors files.
fn index(bytes: &[u8]) {
    tenfold_build::holds_tensor(bytes, "json");
}

/// An ONNX model: what is read of it obeys the laws, and prints to what reads back as the same.
fn onnx(bytes: &[u8]) {
    let options = tenfold_onnx::Options { name: "model".to_string(), ..Default::default() };
    let known = tenfold_onnx::declared(bytes).is_ok();
    tenfold_onnx::external_files(bytes);
    let Ok(imported) = tenfold_onnx::import(bytes, None, &options) else { return };
    assert!(known && tenfold_onnx::operators_of(bytes).is_ok(), "a model is read that declares nothing");
    lawful(&imported.module);
}

/// A TFLite model, likewise.
fn tflite(bytes: &[u8]) {
    let options = tenfold_onnx::Options { name: "model".to_string(), ..Default::default() };
    let known = tenfold_tflite::declared(bytes).is_ok();
    let Ok(imported) = tenfold_tflite::import(bytes, &options) else { return };
    assert!(known && tenfold_tflite::is_model(bytes), "a model is read that declares nothing");
    lawful(&imported.module);
}

/// What an importer makes obeys the laws, and its text is that of what it reads back as.
fn lawful(module: &tenfold_ir::Module) {
    for function in module.functions.values() {
        let broken = match function {
            Function::Relax(f) => relax::verify(module, f),
            Function::Prim(f) => tir::verify(module, f),
        };
        assert!(broken.is_empty(), "{broken:#?}");
    }
    let (text, sidecar) = tenfold_ir::module_text(module);
    let again = tenfold_ir::parse_module(&text, &sidecar).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(tenfold_ir::module_text(&again).0, text);
}
