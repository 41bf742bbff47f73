//! Real cargo on real crates: what the attribute, the build script and the runtime are together.
//!
//! Every package depends on this checkout by path and shares one target directory, so the dependencies are built once.
//! Nothing is fetched.

mod aarch64;
mod bare;
mod build_errors;
mod devices;
mod errors;
mod freshness;
mod links;
mod outside;
mod package;
mod passes;
mod precision;
mod signatures;
mod surroundings;
mod system_lib;
mod targets;
mod variants;
