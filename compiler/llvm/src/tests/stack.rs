//! Buffers on the stack, and registers that are kept there.

use tenfold_core::{CodegenOptions, Stage, Target};

use super::llvm;
use crate::{backend, machine::Machine};

/// The LLVM IR of a module of x86-64 with these features.
fn written(text: &str, features: &[&str]) -> Option<String> {
    let module = tenfold_ir::parse_module(text, &[]).unwrap_or_else(|e| panic!("{text}\n{e:?}"));
    let target = Target::from_triple("x86_64-unknown-linux-gnu", features);
    let machine = Machine::of(&target).expect("the target is in the table");
    let options = CodegenOptions { texts: vec![Stage::Llvm], ..CodegenOptions::default() };
    let artefact = backend::build(llvm()?, &machine, &module, &target, &options);
    Some(artefact.unwrap_or_else(|error| panic!("{error}")).texts[&Stage::Llvm].clone())
}

/// A vector that is in two cache lines takes two accesses.
#[test]
fn buffers_with_room_for_vectors_begin_where_vectors_do() {
    // Read in another order than written, so that it stays in memory.
    let turned = |elements: usize| {
        format!(
            "entry @f\nsource \"stack\"\n\
             prim @f(in x: f32[{elements}], out y: f32[{elements}]) phase target exported at 0:0 {{\n\
             buffer t: f32[{elements}] local\nalloc t {{\n\
             for i in 0 +: {elements} serial {{\nt[i] = x[i]\n}}\n\
             for j in 0 +: {elements} serial {{\ny[j] = t[sub({}, j)]\n}}\n}}\n}}\n",
            elements - 1
        )
    };
    let aligned = |elements: usize, features: &[&str], align: u32| {
        let text = written(&turned(elements), features)?;
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

/// The LLVM IR of a kernel with two loops, the outer one of a kind.
fn nested(features: &[&str], outer: &str) -> Option<String> {
    let text = format!(
        "entry @f\nsource \"stack\"\n\
         prim @inner(in x: f32[4096], out y: f32[8192]) phase target at 0:0 {{\n\
         for i in 0 +: 2 {outer} {{\nfor j in 0 +: 4096 serial {{\n\
         y[add(mul(i, 4096), j)] = mul(x[j], x[j])\n}}\n}}\n}}\n\
         prim @f(in x: f32[4096], out y: f32[8192]) phase target exported at 0:0 {{\n\
         call @inner(&x, &y)\n}}\n"
    );
    written(&text, features)
}

/// Where a frame can begin at a multiple of a vector only with a pointer of its own, kernels have one.
#[test]
fn frames_of_kernels_with_wide_vectors_have_a_pointer() {
    for (features, pointer) in [(&["avx", "avx2", "avx512f", "fma"][..], true), (&["avx"], true), (&[], false)] {
        let Some(text) = nested(features, "serial") else { return };
        assert_eq!(text.contains("\"frame-pointer\"=\"all\""), pointer, "{features:?}\n{text}");
    }
}

/// Written out twice, the tiles of two turns are held at once.
#[test]
fn loops_around_loops_keep_their_turns() {
    let products = |outer: &str| nested(&[], outer).map(|text| text.matches(" = fmul ").count());
    let (Some(turns), Some(copies)) = (products("serial"), products("unrolled")) else { return };
    assert!(turns > 0);
    assert_eq!(copies, 2 * turns);
}

/// Written out, two loops over a long row are one piece, for which the row waits on the stack; a short one stays in registers.
#[test]
fn loops_over_a_long_row_that_another_one_reads_keep_their_turns() {
    let loads = |turns: usize, more: &str| {
        let (row, all) = (turns * 16, turns * 32);
        let text = format!(
            "entry @f\nsource \"stack\"\n\
             prim @f(in x: f32[{all}], out y: f32[{all}], out z: f32[{all}]) phase target exported at 0:0 {{\n\
             for i in 0 +: 2 serial {{\n\
             for j in 0 +: {turns} serial {{\ny[ramp(add(mul(i, {row}), mul(j, 16)), 1, 16)] = \
             sqrt(x[ramp(add(mul(i, {row}), mul(j, 16)), 1, 16)])\n}}\n\
             for k in 0 +: {turns} serial {{\nz[ramp(add(mul(i, {row}), mul(k, 16)), 1, 16)] = \
             neg(x[ramp(add(mul(i, {row}), mul(k, 16)), 1, 16)])\n{more}}}\n}}\n}}\n"
        );
        let text = written(&text, &["avx", "avx2", "avx512f", "fma"])?;
        Some(text.matches(" = load <").count())
    };
    let Some(long) = loads(33, "") else { return };
    assert_eq!(long, 2, "33 vectors");
    assert!(loads(32, "").is_some_and(|short| short > 8), "32 vectors");
    let other = "y[ramp(add(mul(i, 528), mul(k, 16)), 1, 16)] = broadcast(0.0f32, 16)\n";
    assert!(loads(33, other).is_some_and(|other| other > 2), "no other loop with one store");
}
