//! Every operator over dtypes and shapes: the interpreters of relax and tir, LLVM and C agree, integers exactly and
//! floats within the bound that the interpreter carries.
#![allow(unsafe_code, reason = "calls what the back ends compiled")]

mod case;
mod data;
mod element;
mod interpret;
mod kinds;
mod levels;
mod math;
mod native;
mod nn;
mod ops;
mod program;
mod random;
mod shape;
mod state;
mod strict;
mod suite;
mod table;
mod zeros;
