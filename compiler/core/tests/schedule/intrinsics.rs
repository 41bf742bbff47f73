//! Intrinsics for `tensorize`, kernels that have parts of their form, and random places for them.

use std::fmt::Write as _;

use tenfold_core::schedule::{Arg, Schedule};
use tenfold_ir::tir::{Expr, PrimFunc, Stmt};
use tenfold_ir::{Function, Module};

use crate::kernels::{Kernel, block, kernel};
use crate::random::{Known, Rng};

/// The intrinsics, as text: of each width those that the kernels have, and one that does something else than it says.
pub(crate) fn text() -> String {
    let mut out = String::new();
    for width in [2, 3, 4] {
        out += &pair("scale", width, "in x: i32[W], out y: i32[W]", "spatial", "y[v] = mul(x[v], 3i32)", &|n| {
            format!("y[{n}] = add(x[{n}], add(x[{n}], x[{n}]))")
        });
        out += &pair(
            "dot",
            width,
            "in a: i32[W], in b: i32[W], inout y: i32[]",
            "reduce",
            "y[] = add(y[], mul(a[v], b[v]))",
            &|n| format!("y[] = add(mul(b[{n}], a[{n}]), y[])"),
        );
    }
    out += &pair("lies", 4, "in x: i32[W], out y: i32[W]", "spatial", "y[v] = mul(x[v], 3i32)", &|n| {
        format!("y[{n}] = add(x[{n}], x[{n}])")
    });
    out + OUTER
}

/// An intrinsic over rows and columns, which computes column by column.
const OUTER: &str = "\
prim @outer2x4.desc(in x: i32[2], in z: i32[4], out y: i32[2, 4]) phase blocks {
  for i_l in 0 +: 2 serial {
    for j_l in 0 +: 4 serial {
      block o {
        spatial i in 2 = i_l
        spatial j in 4 = j_l
        do {
          y[i, j] = mul(x[i], z[j])
        }
      }
    }
  }
}
prim @outer2x4.impl(in x: i32[2], in z: i32[4], out y: i32[2, 4]) phase blocks {
  for j in 0 +: 4 serial {
    for i in 0 +: 2 serial {
      y[i, j] = mul(z[j], x[i])
    }
  }
}
";

/// A description of one loop, and code that has none.
fn pair(stem: &str, width: usize, params: &str, kind: &str, body: &str, code: &dyn Fn(usize) -> String) -> String {
    let params = params.replace('W', &width.to_string());
    let order = if kind == "reduce" { "reduction" } else { "serial" };
    let mut out = format!(
        "prim @{stem}{width}.desc({params}) phase blocks {{\nfor v_l in 0 +: {width} {order} {{\nblock s {{\n\
         {kind} v in {width} = v_l\ndo {{\n{body}\n}}\n}}\n}}\n}}\n"
    );
    let lines: Vec<String> = (0..width).rev().map(code).collect();
    let _ = writeln!(out, "prim @{stem}{width}.impl({params}) phase blocks {{\n{}\n}}", lines.join("\n"));
    out
}

/// Adds them to a module.
pub(crate) fn register(module: &mut Module) {
    let text = text();
    let all = tenfold_ir::tir::parse(module, &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    module.functions.extend(all.into_iter().map(|func| (func.name.clone(), Function::Prim(func))));
}

/// Kernels that have parts of the form of an intrinsic, whose name the kernel's ends in.
pub(crate) fn kernels() -> Vec<Kernel> {
    let (i, j, k) = (("i", "4", 's'), ("j", "8", 's'), ("k", "12", 'r'));
    vec![
        kernel(
            "tensor_scale",
            &[],
            "in x: i32[24], out y: i32[24]",
            &[],
            &[block("y", &[("i", "24", 's')], "", "y[yi] = mul(x[yi], 3i32)")],
        ),
        kernel(
            "tensor_dot",
            &[],
            "in a: i32[4, 12], in b: i32[12], inout y: i32[4]",
            &[],
            &[block("y", &[i, k], "", "y[yi] = add(y[yi], mul(a[yi, yk], b[yk]))")],
        ),
        kernel(
            "tensor_outer",
            &[],
            "in x: i32[4], in z: i32[8], out y: i32[4, 8]",
            &[],
            &[block("y", &[i, j], "", "y[yi, yj] = mul(x[yi], z[yj])")],
        ),
    ]
}

/// Makes inner loops that an intrinsic may describe.
pub(crate) fn prepare(schedule: &mut Schedule<'_>, rng: &mut Rng) {
    let known = Known::of(schedule);
    let loops = rng.pick(&known.loops).unwrap_or_default();
    let width = [2, 3, 4, 4, 5][rng.below(5)];
    let Some(last) = loops.last().copied() else { return };
    // What is refused here leaves loops that fit no intrinsic.
    let _ = if schedule.func().name == "tensor_outer" && loops.len() == 2 {
        schedule.apply(
            "tile",
            vec![
                Arg::List(loops.into_iter().map(Arg::Rv).collect()),
                Arg::List(vec![Arg::Int(2), Arg::Int(if width == 5 { 8 } else { 4 })]),
            ],
        )
    } else {
        schedule.apply("split", vec![Arg::Rv(last), Arg::List(vec![Arg::Infer, Arg::Int(width)])])
    };
}

/// The extent of the innermost loop.
fn innermost(func: &PrimFunc) -> i64 {
    let mut found = 0;
    func.body.walk(&mut |stmt| {
        if let Stmt::For { extent, .. } = stmt
            && let Expr::Index(n) = func.exprs.get(*extent)
        {
            found = *n;
        }
    });
    found
}

/// A place and an intrinsic: mostly the innermost loops, and what the kernel's name says of their extent.
pub(crate) fn args(name: &str, func: &PrimFunc, known: &Known, rng: &mut Rng) -> Option<Vec<Arg>> {
    if name != "tensorize" {
        return None;
    }
    let stem = func.name.strip_prefix("tensor_").unwrap_or("dot");
    let all = rng.pick(&known.loops)?;
    let depth = if stem == "outer" { 2 } else { 1 };
    let place = match rng.below(10) {
        0 => Arg::Text(rng.pick(&known.blocks)?),
        1 => Arg::Rv(rng.pick(&all)?),
        _ => Arg::Rv(all[all.len().checked_sub(depth)?]),
    };
    let fitting = if stem == "outer" { "outer2x4".to_string() } else { format!("{stem}{}", innermost(func)) };
    let others = ["scale4", "dot4", "outer2x4", "lies4", "nothing"];
    let intrinsic = if rng.below(10) < 8 { fitting } else { others[rng.below(others.len())].to_string() };
    Some(vec![place, Arg::Text(intrinsic)])
}
