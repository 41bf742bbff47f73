//! What comes from memory, once, and is read in pieces.

use std::ptr;

use tenfold_core::{CodegenOptions, Stage, Target};
use tenfold_ir::Module;

use super::{Context, Loaded, compile, host, llvm};
use crate::{backend, machine::Machine};

/// Elements of what no cache holds: 32 MB.
const LARGE: usize = 8 << 20;

/// A function `f` that is passed `x` of so many elements, with this body.
fn module(elements: usize, body: &str) -> Module {
    let text = format!(
        "entry @f\nsource \"pieces\"\nprim @f(in x: f32[{elements}], out y: f32[16]) phase target exported at 0:0 {{\n\
         {body}\n}}\n"
    );
    tenfold_ir::parse_module(&text, &[]).unwrap_or_else(|e| panic!("{text}\n{e:?}"))
}

/// `y += x`, a vector at a time, from where `index` says in turn `i`; the loop stands in another one where `times` says so.
fn summed(elements: usize, index: &str, value: &str, times: usize) -> Module {
    let turns = elements / 16 / times;
    let at = format!("x[ramp({index}, 1, 16)]");
    let value = value.replace('X', &at);
    module(
        elements,
        &format!(
            "for j in 0 +: {times} serial {{\nfor i in 0 +: {turns} serial {{\n\
             y[ramp(0, 1, 16)] = add(y[ramp(0, 1, 16)], {value})\n}}\n}}"
        ),
    )
}

/// More than a few operations with a vector.
fn much() -> String {
    (0..9).fold("X".into(), |value, _| format!("mul({value}, X)"))
}

fn wide() -> Target {
    Target::from_triple("x86_64-unknown-linux-gnu", &["avx2", "avx", "fma"])
}

/// Reads of pieces, and of whole vectors, that a module has; nothing without LLVM.
fn reads(module: &Module, target: &Target) -> Option<(usize, usize)> {
    let machine = Machine::of(target).expect("the target is in the table");
    let options = CodegenOptions { texts: vec![Stage::Llvm], ..CodegenOptions::default() };
    let artefact = backend::build(llvm()?, &machine, module, target, &options);
    let text = artefact.unwrap_or_else(|error| panic!("{error}")).texts[&Stage::Llvm].clone();
    let count = |kind: &str| text.lines().filter(|line| line.contains(kind)).count();
    Some((count("load volatile <4 x float>"), count("load <16 x float>")))
}

/// Whether a module reads pieces.
fn has_pieces(module: &Module, target: &Target) -> Option<bool> {
    reads(module, target).map(|(pieces, _)| pieces > 0)
}

#[test]
fn what_comes_from_memory_once_is_read_in_pieces() {
    let (run, rows) = ("mul(i, 16)", "add(mul(j, 1024), mul(i, 16))");
    let is = |module: Module, target: &Target| has_pieces(&module, target);
    let Some(large) = is(summed(LARGE, run, "X", 1), &wide()) else { return };
    assert!(large, "a large run");
    assert_eq!(is(summed(LARGE, rows, "X", LARGE / 1024), &wide()), Some(true), "rows");
    let not = |module: Module, what: &str| assert_eq!(is(module, &wide()), Some(false), "{what}");
    not(summed(LARGE / 2, run, "X", 1), "what the last cache holds");
    not(summed(LARGE, run, "X", 2), "what is read again");
    not(summed(LARGE, run, &much(), 1), "what more is done with");
    not(summed(LARGE, "mul(div(i, 2), 16)", "X", 1), "turns that read the same");
    let copied = "for i in 0 +: 524288 serial {\ny[ramp(0, 1, 16)] = x[ramp(mul(i, 16), 1, 16)]\n}";
    not(module(LARGE, copied), "what is only moved");
    let other = Target::from_triple("aarch64-unknown-linux-gnu", &[]);
    assert_eq!(is(summed(LARGE, run, "X", 1), &other), Some(false), "vectors that are no wider");
    let lines = Target::from_triple("x86_64-unknown-linux-gnu", &["avx512f", "avx512fp16", "avx2", "avx", "fma"]);
    assert_eq!(is(summed(LARGE, run, "X", 1), &lines), Some(false), "a processor that reads lines as fast");
}

/// Of two loops along a row the second one finds it in a cache; if that one does more with it, other code asks for rows.
#[test]
fn the_first_loop_along_a_row_reads_pieces() {
    let both = |second: &str| {
        let at = "x[ramp(add(mul(j, 1024), mul(i, 16)), 1, 16)]";
        let own = |name: &str, value: &str| {
            let at = at.replace("mul(i,", &format!("mul({name},"));
            let value = value.replace('X', &at);
            format!("for {name} in 0 +: 64 serial {{\ny[ramp(0, 1, 16)] = add(y[ramp(0, 1, 16)], {value})\n}}")
        };
        let rows = LARGE / 1024;
        let body = format!("for j in 0 +: {rows} serial {{\n{}\n{}\n}}", own("a", "X"), own("b", second));
        reads(&module(LARGE, &body), &wide())
    };
    let Some((pieces, whole)) = both("X") else { return };
    assert!(pieces > 0 && whole > 0, "{pieces} pieces, {whole} whole");
    assert_eq!(both(&much()).map(|(pieces, _)| pieces), Some(0));
}

/// A program with more constants than the last cache holds finds each of them in memory, and what it was passed in a cache.
#[test]
fn constants_of_a_large_program_are_read_in_pieces() {
    const ONE: usize = 1 << 20;
    let program = |all: usize, passed: &str| {
        let text = format!(
            "entry @f\nsource \"pieces\"\nconst aa \"w\" f32[{ONE}] file \"no/such/file\" 0 +: {}\n\
             const bb \"others\" f32[{all}] file \"no/such/file\" 0 +: {}\n\
             prim @f(in x: f32[{ONE}], out y: f32[16]) phase target exported at 0:0 {{\n\
             buffer w: f32[{ONE}] const aa\ncall @g(&{passed}, &y)\n}}\n\
             prim @g(in w: f32[{ONE}], inout y: f32[16]) phase target at 0:0 {{\n\
             for i in 0 +: {} serial {{\ny[ramp(0, 1, 16)] = add(y[ramp(0, 1, 16)], w[ramp(mul(i, 16), 1, 16)])\n}}\n}}\n",
            4 * ONE,
            4 * all,
            ONE / 16
        );
        let module = tenfold_ir::parse_module(&text, &[]).unwrap_or_else(|e| panic!("{text}\n{e:?}"));
        has_pieces(&module, &wide())
    };
    let Some(large) = program(LARGE, "w") else { return };
    assert!(large, "a constant of a large program");
    assert_eq!(program(LARGE, "x"), Some(false), "what is no constant");
    assert_eq!(program(ONE, "w"), Some(false), "constants that the last cache holds");
}

/// Pieces are the elements that they were.
#[test]
fn pieces_have_the_same_elements() {
    let Some(llvm) = llvm() else { return };
    let target = host();
    let module = summed(LARGE, "mul(i, 16)", "X", 1);
    let artefact = compile(llvm, &Machine::of(&target).expect("the host is known"), &module, &target);
    let library = Loaded::new(&artefact.object);
    let x: Vec<f32> = (0..LARGE).map(|n| (n % 16) as f32).collect();
    let mut y = [0f32; 16];
    // SAFETY: it takes two buffers of so many elements and the context.
    let f: extern "C" fn(*const f32, *mut f32, Context) -> i32 = unsafe { std::mem::transmute(library.address("f")) };
    assert_eq!(f(x.as_ptr(), y.as_mut_ptr(), ptr::null()), 0);
    let turns = (LARGE / 16) as f32;
    assert!(y.iter().enumerate().all(|(lane, y)| *y == lane as f32 * turns), "{y:?}");
}
