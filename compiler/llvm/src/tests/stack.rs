//! Buffers on the stack.

use tenfold_core::{CodegenOptions, Stage, Target};

use super::llvm;
use crate::{backend, machine::Machine};

/// A vector that is in two cache lines takes two accesses.
#[test]
fn buffers_with_room_for_vectors_begin_where_vectors_do() {
    // Read in another order than written, so that it stays in memory.
    let turned = |elements: usize| {
        let text = format!(
            "entry @f\nsource \"stack\"\n\
             prim @f(in x: f32[{elements}], out y: f32[{elements}]) phase target exported at 0:0 {{\n\
             buffer t: f32[{elements}] local\nalloc t {{\n\
             for i in 0 +: {elements} serial {{\nt[i] = x[i]\n}}\n\
             for j in 0 +: {elements} serial {{\ny[j] = t[sub({}, j)]\n}}\n}}\n}}\n",
            elements - 1
        );
        tenfold_ir::parse_module(&text, &[]).unwrap_or_else(|e| panic!("{text}\n{e:?}"))
    };
    let aligned = |elements: usize, features: &[&str], align: u32| {
        let target = Target::from_triple("x86_64-unknown-linux-gnu", features);
        let machine = Machine::of(&target).expect("the target is in the table");
        let options = CodegenOptions { texts: vec![Stage::Llvm], ..CodegenOptions::default() };
        let artefact = backend::build(llvm()?, &machine, &turned(elements), &target, &options);
        let text = artefact.unwrap_or_else(|error| panic!("{error}")).texts[&Stage::Llvm].clone();
        let alloca = format!("alloca [{elements} x float], align {align}\n");
        assert!(text.contains(&alloca), "{alloca}{text}");
        Some(())
    };
    let wide = ["avx", "avx2", "avx512f", "fma"];
    for (elements, features, align) in [(4096, &wide[..], 64), (4096, &wide[..2], 32), (4096, &[], 16)] {
        if aligned(elements, features, align).is_none() {
            return;
        }
    }
}
