//! What passes say of the kernels that they made.

use tenfold_core::pass::{self, Pass, PassContext, Remarks};
use tenfold_core::{PIPELINE, Target};

/// A product, an activation, and a softmax of it.
const NET: &str = "entry @net
relax @net phase imported {
  param v0: f32[8, 32] = input 0 \"x\"
  param v1: f32[32, 64] = input 1 \"w\"
  dataflow {
    v2: f32[8, 64] = matmul(v0, v1)
    v3: f32[8, 64] = exp(v2)
    v4: f32[8, 64] = softmax(v3, axis = 1)
  }
  return v4
}
";

/// Remarks of every pass over a graph, as they print.
fn remarks(text: &str) -> Vec<String> {
    remarks_of(PIPELINE, text)
}

fn remarks_of(passes: &[Pass], text: &str) -> Vec<String> {
    let mut module = tenfold_ir::parse_module(text, &[]).unwrap_or_else(|e| panic!("{e:?}"));
    let mut context = PassContext::new(Target::from_triple("x86_64-unknown-linux-gnu", &["avx2", "fma"]));
    let remarks = Remarks::default();
    context.watch(Box::new(remarks.clone()));
    pass::run(passes, &mut module, &context).unwrap_or_else(|e| panic!("{e:?}"));
    remarks.all().iter().map(ToString::to_string).collect()
}

#[test]
fn fusion_says_what_became_one_kernel_and_why_not_more() {
    let all = remarks(NET);
    let fused = "applied FuseOps net, `softmax`: one kernel of matmul, exp, softmax";
    assert!(all.iter().any(|r| r == fused), "{all:#?}");
    let all = remarks(&NET.replace("return v4", "return v3, v4"));
    assert!(all.iter().any(|r| r.starts_with("missed  FuseOps net, `exp`: not part of what reads it: ")), "{all:#?}");
}

#[test]
fn the_default_schedule_says_which_rule_took_a_kernel() {
    let all = remarks(&NET.replace("return v4", "return v3, v4"));
    let rule = |name: &str| all.iter().any(|r| r.starts_with("applied ApplyDefaultSchedule") && r.contains(name));
    assert!(rule("rule `contraction`") && rule("rule `fallback`"), "{all:#?}");
}

/// A loop with enough to do, one with little, one whose turns meet, and one turn around another loop.
const LOOPS: &str = "entry @f
prim @f(in x: f32[64, 4096], out y: f32[64, 4096], inout s: f32[65537]) phase scheduled at 0:1 {
  for one in 0 +: 1 serial with auto_parallel {
    for rows in 0 +: 64 serial {
      for j in 0 +: 4096 vectorized {
        y[rows, j] = mul(x[rows, j], 2.0f32)
      }
    }
  }
  for little in 0 +: 64 serial with auto_parallel {
    y[little, 0] = x[little, 0]
  }
  for meet in 0 +: 65536 serial with auto_parallel {
    s[add(meet, 1)] = s[meet]
  }
}
";

#[test]
fn loops_say_whether_they_run_on_threads_and_why_not() {
    let passes =
        ["ParallelizeLoops", "FlattenBuffer", "LowerParallelLoops"].map(|name| pass::get(name).expect("a pass"));
    let wanted = [
        "missed  ParallelizeLoops f, loop `one`: it has one turn",
        "applied ParallelizeLoops f, loop `rows`: its turns run on threads",
        "missed  ParallelizeLoops f, loop `little`: it has too little to do for threads",
        "missed  ParallelizeLoops f, loop `meet`: its turns are not proven to touch elements of their own",
        "applied LowerParallelLoops f, loop `rows`: its turns are split among threads",
    ];
    assert_eq!(remarks_of(&passes, LOOPS), wanted);
}
