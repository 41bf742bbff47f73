//! Random graphs, layers and programs of the language through the whole pipeline, at every level of optimisation and
//! with optional passes left out, against the interpreters: LLVM and C must agree with them.
//!
//! A test runs for `TENFOLD_RANDOM_SECONDS`, 17 if that is not set, and begins at case `TENFOLD_RANDOM_FROM`. What fails
//! is made smaller as long as it fails and is written to a file, whose text the test prints.
#![allow(unsafe_code, reason = "calls what the back ends compiled")]

#[path = "../conformance/case.rs"]
#[allow(dead_code, reason = "shared with the conformance tests")]
mod case;
#[path = "../conformance/data.rs"]
#[allow(dead_code, reason = "shared with the conformance tests")]
mod data;
#[path = "../conformance/interpret.rs"]
#[allow(dead_code, reason = "shared with the conformance tests")]
mod interpret;
#[path = "../conformance/native.rs"]
#[allow(dead_code, reason = "shared with the conformance tests")]
mod native;
#[path = "../e2e/package.rs"]
#[allow(dead_code, reason = "shared with the end-to-end tests")]
mod package;

#[path = "../../compiler/syntax/tests/support/elaborated.rs"]
#[allow(dead_code, reason = "shared with the tests of the front end")]
mod elaborated;

mod coverage;
mod crates;
mod graph;
mod graphs;
mod harness;
mod program;
mod programs;
mod shrink;
