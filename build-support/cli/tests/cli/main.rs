//! `cargo tenfold` as a user calls it, on small packages in folders of their own. Nothing is built: what is shown does
//! not need it.

mod boards;
mod cases;
mod doctor;
mod explain;
mod firmware;
mod integers;
mod library;
mod list;
mod onnx;
mod package;
mod passes;
mod picolibc;
mod processors;
mod promises;
mod quantised;
mod show;
mod targets;
mod tflite;
mod tune;
mod usage;
mod values;
mod wasm;
