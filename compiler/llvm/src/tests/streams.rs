//! Results that are written past the caches.

use std::ptr;

use tenfold_core::{CodegenOptions, Stage, Target};
use tenfold_ir::Module;

use super::{Context, Loaded, compile, host, llvm};
use crate::{backend, machine::Machine};

/// Elements of a result of 16 MB.
const LARGE: usize = 4 << 20;

/// `y[begin + i] = 2 * x[begin + i]` in vectors, with `begin` as `index` gives it for a turn `i` of `turns`, and
/// `more` behind it.
fn doubled(elements: usize, turns: usize, index: &str, more: &str) -> Module {
    let at = format!("ramp({index}, 1, 16)");
    let text = format!(
        "entry @f\nsource \"streams\"\n\
         prim @f(in x: f32[{elements}], out y: f32[{elements}]) phase target exported at 0:0 {{\n\
         for i in 0 +: {turns} serial {{\ny[{at}] = add(x[{at}], x[{at}])\n{more}\n}}\n}}\n"
    );
    tenfold_ir::parse_module(&text, &[]).unwrap_or_else(|e| panic!("{text}\n{e:?}"))
}

fn wide() -> Target {
    Target::from_triple("x86_64-unknown-linux-gnu", &["avx2", "avx", "fma"])
}

fn assembly(module: &Module, target: &Target) -> Option<String> {
    let machine = Machine::of(target).expect("the target is in the table");
    let options = CodegenOptions { texts: vec![Stage::Asm], ..CodegenOptions::default() };
    let artefact = backend::build(llvm()?, &machine, module, target, &options);
    Some(artefact.unwrap_or_else(|error| panic!("{error}")).texts[&Stage::Asm].clone())
}

#[test]
fn what_fits_the_caches_or_is_no_run_is_not_streamed() {
    let streams = |elements: usize, index: &str, more: &str, target: &Target| {
        assembly(&doubled(elements, elements / 64, index, more), target).map(|asm| asm.contains("movntps"))
    };
    let (run, target) = ("mul(i, 16)", wide());
    let Some(large) = streams(LARGE, run, "", &target) else { return };
    assert!(large, "a large run");
    let not = |elements, index, more, target| {
        assert_eq!(streams(elements, index, more, target), Some(false), "{index} {more}")
    };
    not(LARGE - 64, run, "", &target);
    // Gaps, turns that overlap, a start that is no multiple of 16 bytes, and what is read again.
    not(LARGE, "mul(i, 32)", "", &target);
    not(LARGE, "mul(i, 8)", "", &target);
    not(LARGE, "add(mul(i, 16), 1)", "", &target);
    not(LARGE, run, "y[0] = add(y[1], 1.0f32)", &target);
    // A second row, whose runs are as long, and one with gaps.
    let second = |index: &str| format!("y[ramp(add({index}, {}), 1, 16)] = x[ramp({index}, 1, 16)]", LARGE / 2);
    assert_eq!(streams(LARGE, run, &second(run), &target), Some(true), "two rows");
    assert_eq!(streams(LARGE, run, &second("mul(i, 32)"), &target), Some(false), "a second row with gaps");
    // Two vectors of each of two rows, those of one row behind one another in memory alone.
    let both = "mul(i, 32)";
    let behind = format!("{}\n{}", second(both), second(&format!("add({both}, 16)")));
    let behind = format!("{behind}\ny[ramp(add({both}, 16), 1, 16)] = x[ramp({both}, 1, 16)]");
    assert_eq!(streams(LARGE, both, &behind, &target), Some(true), "in another order");
    not(LARGE, run, "assert lt(i, 5), \"a text\"", &target);
    not(LARGE, run, "", &Target::from_triple("aarch64-unknown-linux-gnu", &[]));
}

/// Stores are whole vectors where a result begins at a multiple of one, and words where it begins at one of these.
#[test]
fn what_is_streamed_is_as_wide_as_its_beginning_allows() {
    let Some(asm) = assembly(&doubled(LARGE, LARGE / 16, "mul(i, 16)", ""), &wide()) else { return };
    let stores = |register: &str| asm.lines().filter(|l| l.contains("movntps") && l.contains(register)).count();
    assert!(stores("%ymm") > 0 && stores("%xmm") > 0, "{asm}");
    // Multiples of 16 bytes, not of 32.
    let asm = assembly(&doubled(LARGE, LARGE / 16 - 1, "add(mul(i, 16), 4)", ""), &wide()).unwrap_or_default();
    assert!(asm.contains("movntps\t%xmm") && !asm.contains("movntps\t%ymm"), "{asm}");
}

/// A turn of a loop that streams asks for one line of a page to come, and one of what it moves if nothing else reads that;
/// no other loop asks for any, nor does one for Intel's servers.
#[test]
fn a_page_of_what_is_streamed_is_asked_for_once_a_turn() {
    let more = "y[ramp(add(mul(i, 32), 16), 1, 16)] = x[ramp(add(mul(i, 32), 16), 1, 16)]";
    let of = |elements: usize, target: &Target| assembly(&doubled(elements, elements / 32, "mul(i, 32)", more), target);
    let text = |elements: usize| of(elements, &wide());
    let Some(once) = text(LARGE) else { return };
    let count = |asm: &str, words: [&str; 2]| asm.lines().filter(|l| words.iter().all(|w| l.contains(w))).count();
    // Four stores of half a vector are a turn, and eight words.
    let turns = |asm: &str| count(asm, ["movntps", "%ymm"]) / 4 + count(asm, ["movntps", "%xmm"]) / 8;
    assert!(turns(&once) >= 2 && count(&once, ["prefetch", ""]) == 2 * turns(&once), "{once}");
    assert_eq!(count(&text(LARGE / 2).unwrap_or_default(), ["prefetch", ""]), 0);
    let lines = Target::from_triple("x86_64-unknown-linux-gnu", &["avx2", "avx", "fma", "avx512f", "avx512fp16"]);
    let asm = of(LARGE, &lines).unwrap_or_default();
    assert!(count(&asm, ["movntps", ""]) > 0 && count(&asm, ["prefetch", ""]) == 0, "{asm}");
}

/// A result that begins anywhere has the same elements.
#[test]
fn any_beginning_has_the_same_result() {
    let Some(llvm) = llvm() else { return };
    let target = host();
    let module = doubled(LARGE, LARGE / 16, "mul(i, 16)", "");
    let artefact = compile(llvm, &Machine::of(&target).expect("the host is known"), &module, &target);
    let library = Loaded::new(&artefact.object);
    let x: Vec<f32> = (0..LARGE).map(|n| n as f32).collect();
    let mut memory = vec![0f32; LARGE + 16];
    for begin in [0, 1, 3, 4, 8, 12] {
        memory.fill(-1.0);
        let at = library.address("f");
        let y = &mut memory[begin..begin + LARGE];
        // SAFETY: it takes two buffers of so many elements and the context.
        let f: extern "C" fn(*const f32, *mut f32, Context) -> i32 = unsafe { std::mem::transmute(at) };
        assert_eq!(f(x.as_ptr(), y.as_mut_ptr(), ptr::null()), 0);
        assert!(y.iter().zip(&x).all(|(y, x)| *y == x + x), "at {begin}");
        assert!(memory[..begin].iter().chain(&memory[begin + LARGE..]).all(|x| *x == -1.0), "at {begin}");
    }
}
