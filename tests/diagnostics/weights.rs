//! Small files of weights, whole and damaged.

use crate::onnx;
use std::fs;
use std::path::Path;

/// Writes them.
pub(crate) fn write(directory: &Path) {
    fs::create_dir_all(directory).expect("a directory can be made");
    let write = |name: &str, bytes: &[u8]| fs::write(directory.join(name), bytes).expect("a file can be written");
    write("digits.safetensors", &digits());
    let bias = npy("<f4", false, "(4,)", 16);
    write("bias.npy", &bias);
    write("cut.npy", &bias[..bias.len() - 4]);
    write("fortran.npy", &npy("<f4", true, "(2, 2)", 16));
    write("complex.npy", &npy("<c8", false, "(4,)", 32));
    write("packed.npz", include_bytes!("../fuzz/corpus/npz/packed"));
    write("split.index.json", INDEX);
    write("net.onnx", &onnx::model(NET));
    write("shaped.onnx", &onnx::model("input x: float[4]\nconst s: int64[2] = 2, 2\ny = Reshape(x, s)\noutput y"));
    write("unknown.onnx", &onnx::model("input x: float[4]\ny = Foo(x)\nz = a.b.Bar(y)\noutput z"));
    write("net.tflite", b"");
    write("relu.tflite", include_bytes!("../tflite/cases/relu.tflite"));
}

const INDEX: &[u8] = br#"{"weight_map": {"fc1.weight": "digits.safetensors", "fc3.weight": "rest.safetensors"}}"#;

const NET: &str = "
input x: float[batch, 4]
const w: float[4, 2] = 1, 2, 3, 4, 5, 6, 7, 8
y = MatMul(x, w)
output y
";

/// Three tensors.
fn digits() -> Vec<u8> {
    let header = concat!(
        r#"{"fc1.weight":{"dtype":"F32","shape":[4,2],"data_offsets":[0,32]},"#,
        r#""fc1.bias":{"dtype":"F32","shape":[2],"data_offsets":[32,40]},"#,
        r#""fc2.weight":{"dtype":"F16","shape":[2,3],"data_offsets":[40,52]}}"#
    );
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + 52, 0);
    bytes
}

/// An array of zeros.
fn npy(descr: &str, fortran: bool, shape: &str, data: usize) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + data, 0);
    bytes
}
