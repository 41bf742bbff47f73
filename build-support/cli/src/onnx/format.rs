//! Which importer a file is for: its own bytes say.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use tenfold_onnx::{Declared, Import, ImportError, Options};

/// Whether a file says of itself that it is a TFLite model.
pub(super) fn is_tflite(path: &Path) -> bool {
    let mut head = Vec::new();
    let file = File::open(path).and_then(|file| file.take(8).read_to_end(&mut head));
    let named = path.extension().is_some_and(|end| end == "tflite");
    named || file.is_ok_and(|_| tenfold_tflite::is_model(&head))
}

/// The argument of the attribute that names such a file.
pub(super) fn name(path: &Path) -> &'static str {
    if is_tflite(path) { "tflite" } else { "onnx" }
}

/// Reads the model in a file.
pub(super) fn read(path: &Path, options: &Options) -> Result<Import, ImportError> {
    if is_tflite(path) { tenfold_tflite::read(path, options) } else { tenfold_onnx::read(path, options) }
}

/// Inputs and outputs of the model in a file, whose bytes these are.
pub(super) fn declared(path: &Path, bytes: &[u8]) -> Result<(Vec<Declared>, Vec<Declared>), ImportError> {
    if is_tflite(path) { tenfold_tflite::declared(bytes) } else { tenfold_onnx::declared(bytes) }
}
