//! The functions that random schedules are tried on, as text, each with values for its dims.

/// A function and the dims it is called with.
#[derive(Clone)]
pub(crate) struct Kernel {
    pub(crate) name: &'static str,
    pub(crate) text: String,
    pub(crate) dims: &'static [(&'static str, i64)],
}

/// Loops and the block inside of them: `s` is a spatial iterator, `r` a reduce one, `o` an ordered one.
pub(crate) fn block(name: &str, iters: &[(&str, &str, char)], init: &str, body: &str) -> String {
    let mut text = String::new();
    for (var, extent, kind) in iters {
        let order = if *kind == 'r' { "reduction" } else { "serial" };
        text += &format!("for {name}_{var} in 0 +: {extent} {order} {{\n");
    }
    text += &format!("block {name} {{\n");
    for (var, extent, kind) in iters {
        let kind = match kind {
            'r' => "reduce",
            'o' => "ordered",
            _ => "spatial",
        };
        text += &format!("{kind} {name}{var} in {extent} = {name}_{var}\n");
    }
    if !init.is_empty() {
        text += &format!("init {{\n{init}\n}}\n");
    }
    text += &format!("do {{\n{body}\n}}\n}}\n");
    text + &"}\n".repeat(iters.len())
}

pub(crate) fn kernel(
    name: &'static str,
    dims: &'static [(&'static str, i64)],
    params: &str,
    temps: &[&str],
    blocks: &[String],
) -> Kernel {
    let indices: String = dims.iter().map(|(d, _)| format!("{d}: index, ")).collect();
    let facts: String = dims.iter().map(|(d, _)| format!("fact {d} >= 1\n")).collect();
    let declared: String = temps.iter().map(|t| format!("buffer {t} global\n")).collect();
    let allocs: String = temps.iter().map(|t| format!("alloc {} {{\n", t.split(':').next().unwrap_or(t))).collect();
    let text = format!(
        "prim @{name}({indices}{params}) phase blocks at 0:0 {{\n{facts}{declared}{allocs}{}{}}}\n",
        blocks.concat(),
        "}\n".repeat(temps.len())
    );
    Kernel { name, text, dims }
}

/// Every kernel.
pub(crate) fn kernels() -> Vec<Kernel> {
    let own = [crate::kernels_buffers::kernels(), crate::intrinsics::kernels()].concat();
    [elementwise(), products(), windows(), reductions(), rows(), orders(), own].into_iter().flatten().collect()
}

fn elementwise() -> Vec<Kernel> {
    let ij = [("i", "6", 's'), ("j", "10", 's')];
    vec![
        kernel(
            "copy",
            &[("N", 13)],
            "in x: i32[N], out y: i32[N]",
            &[],
            &[block("c", &[("i", "N", 's')], "", "y[ci] = x[ci]")],
        ),
        kernel(
            "chain",
            &[],
            "in x: i32[6, 10], out y: i32[6, 10]",
            &["t: i32[6, 10]", "u: i32[6, 10]"],
            &[
                block("t", &ij, "", "t[ti, tj] = add(x[ti, tj], 1i32)"),
                block("u", &ij, "", "u[ui, uj] = mul(t[ui, uj], 3i32)"),
                block("v", &ij, "", "y[vi, vj] = sub(u[vi, vj], 7i32)"),
            ]
            .map(rename),
        ),
        kernel(
            "diamond",
            &[("N", 9)],
            "in x: i32[N], out y: i32[N]",
            &["t: i32[N]", "u: i32[N]", "w: i32[N]"],
            &[
                block("a", &[("i", "N", 's')], "", "t[ai] = add(x[ai], 1i32)"),
                block("b", &[("i", "N", 's')], "", "u[bi] = mul(t[bi], 2i32)"),
                block("c", &[("i", "N", 's')], "", "w[ci] = sub(t[ci], 5i32)"),
                block("d", &[("i", "N", 's')], "", "y[di] = add(u[di], w[di])"),
            ],
        ),
        kernel(
            "transpose",
            &[("N", 5), ("M", 7)],
            "in x: i32[N, M], out y: i32[M, N]",
            &["t: i32[M, N]"],
            &[
                block("p", &[("i", "M", 's'), ("j", "N", 's')], "", "t[pi, pj] = x[pj, pi]"),
                block("q", &[("i", "M", 's'), ("j", "N", 's')], "", "y[qi, qj] = add(t[qi, qj], 1i32)"),
            ],
        ),
        kernel(
            "backwards",
            &[("N", 11)],
            "in x: i32[N], out y: i32[N]",
            &["t: i32[N]"],
            &[
                block("a", &[("i", "N", 's')], "", "t[ai] = add(x[ai], 2i32)"),
                block("b", &[("i", "N", 's')], "", "y[sub(sub(N, 1), bi)] = t[bi]"),
            ],
        ),
        kernel(
            "mirror",
            &[],
            "inout s: i32[12]",
            &["t: i32[12]"],
            &[
                block("a", &[("i", "12", 's')], "", "t[ai] = s[sub(11, ai)]"),
                block("b", &[("i", "12", 's')], "", "s[bi] = add(t[bi], 1i32)"),
            ],
        ),
        kernel(
            "increment",
            &[("N", 8)],
            "in x: i32[N], inout s: i32[N]",
            &[],
            &[block("a", &[("i", "N", 's')], "", "s[ai] = add(s[ai], x[ai])")],
        ),
        kernel(
            "gather",
            &[("N", 8)],
            "in at: i32[N] in 0..6, in x: i32[6], out y: i32[N]",
            &["t: i32[6]"],
            &[
                block("a", &[("i", "6", 's')], "", "t[ai] = mul(x[ai], 3i32)"),
                block("b", &[("i", "N", 's')], "", "y[bi] = t[at[bi]]"),
            ],
        ),
        kernel(
            "stride",
            &[],
            "in x: i32[16], out y: i32[8]",
            &["t: i32[16]"],
            &[
                block("a", &[("i", "16", 's')], "", "t[ai] = mul(x[ai], 3i32)"),
                block("b", &[("i", "8", 's')], "", "y[bi] = t[mul(bi, 2)]"),
            ],
        ),
        kernel(
            "upsample",
            &[],
            "in x: i32[5], out y: i32[10]",
            &["t: i32[5]"],
            &[
                block("a", &[("i", "5", 's')], "", "t[ai] = mul(x[ai], 3i32)"),
                block("b", &[("i", "10", 's')], "", "y[bi] = t[div_euclid(bi, 2)]"),
            ],
        ),
        kernel(
            "concat",
            &[],
            "in x: i32[4], in z: i32[6], out y: i32[10]",
            &[],
            &[
                block("a", &[("i", "4", 's')], "", "y[ai] = x[ai]"),
                block("b", &[("i", "6", 's')], "", "y[add(4, bi)] = z[bi]"),
            ],
        ),
        kernel(
            "two_results",
            &[("N", 9)],
            "in x: i32[N], out y: i32[N], out z: i32[N]",
            &["t: i32[N]"],
            &[
                block("a", &[("i", "N", 's')], "", "t[ai] = mul(x[ai], x[ai])"),
                block("b", &[("i", "N", 's')], "", "y[bi] = add(t[bi], 1i32)"),
                block("c", &[("i", "N", 's')], "", "z[ci] = sub(t[ci], 1i32)"),
            ],
        ),
        kernel(
            "interleave",
            &[],
            "in x: i32[6], out y: i32[12]",
            &["t: i32[12]"],
            &[
                block(
                    "a",
                    &[("i", "6", 's'), ("j", "2", 's')],
                    "",
                    "t[add(mul(ai, 2), aj)] = add(x[ai], cast<i32>(aj))",
                ),
                block("b", &[("i", "12", 's')], "", "y[bi] = mul(t[bi], 2i32)"),
            ],
        ),
    ]
}

fn rename(text: String) -> String {
    // Blocks `t` and `u` of `chain` are named as the buffers they write, which a function may not do with variables.
    text
}

fn products() -> Vec<Kernel> {
    let mm = |m: &str, n: &str, k: &str, out: &str| {
        block(
            "mm",
            &[("i", m, 's'), ("j", n, 's'), ("k", k, 'r')],
            &format!("{out}[mmi, mmj] = 0i32"),
            &format!("{out}[mmi, mmj] = add({out}[mmi, mmj], mul(a[mmi, mmk], b[mmk, mmj]))"),
        )
    };
    vec![
        kernel("matmul", &[], "in a: i32[6, 8], in b: i32[8, 10], out c: i32[6, 10]", &[], &[mm("6", "10", "8", "c")]),
        kernel(
            "matmul_any",
            &[("M", 5), ("N", 6), ("K", 7)],
            "in a: i32[M, K], in b: i32[K, N], out c: i32[M, N]",
            &[],
            &[mm("M", "N", "K", "c")],
        ),
        kernel(
            "matmul_bias",
            &[],
            "in a: i32[6, 8], in b: i32[8, 10], in d: i32[10], out y: i32[6, 10]",
            &["t: i32[6, 10]"],
            &[
                mm("6", "10", "8", "t"),
                block("add", &[("i", "6", 's'), ("j", "10", 's')], "", "y[addi, addj] = add(t[addi, addj], d[addj])"),
            ],
        ),
        kernel(
            "matmul_after",
            &[("M", 4)],
            "in x: i32[M, 8], in b: i32[8, 6], out y: i32[M, 6]",
            &["a: i32[M, 8]"],
            &[
                block("pre", &[("i", "M", 's'), ("j", "8", 's')], "", "a[prei, prej] = add(x[prei, prej], 1i32)"),
                mm("M", "6", "8", "y"),
            ],
        ),
        kernel(
            "matmul_float",
            &[],
            "in a: f32[4, 8], in b: f32[8, 6], out y: f32[4, 6]",
            &["c: f32[4, 6]"],
            &[
                block(
                    "mm",
                    &[("i", "4", 's'), ("j", "6", 's'), ("k", "8", 'r')],
                    "c[mmi, mmj] = 0.0f32",
                    "c[mmi, mmj] = add(c[mmi, mmj], mul(a[mmi, mmk], b[mmk, mmj]))",
                ),
                block(
                    "relu",
                    &[("i", "4", 's'), ("j", "6", 's')],
                    "",
                    "y[relui, reluj] = maximum(c[relui, reluj], 0.0f32)",
                ),
            ],
        ),
        kernel(
            "batch",
            &[("B", 3)],
            "in a: i32[B, 4, 5], in b: i32[B, 5, 6], out c: i32[B, 4, 6]",
            &[],
            &[block(
                "bm",
                &[("b", "B", 's'), ("i", "4", 's'), ("j", "6", 's'), ("k", "5", 'r')],
                "c[bmb, bmi, bmj] = 0i32",
                "c[bmb, bmi, bmj] = add(c[bmb, bmi, bmj], mul(a[bmb, bmi, bmk], b[bmb, bmk, bmj]))",
            )],
        ),
        kernel(
            "chain_mm",
            &[],
            "in a: i32[4, 5], in b: i32[5, 6], in d: i32[6, 3], out y: i32[4, 3]",
            &["t: i32[4, 6]"],
            &[
                mm("4", "6", "5", "t"),
                block(
                    "m2",
                    &[("i", "4", 's'), ("j", "3", 's'), ("k", "6", 'r')],
                    "y[m2i, m2j] = 0i32",
                    "y[m2i, m2j] = add(y[m2i, m2j], mul(t[m2i, m2k], d[m2k, m2j]))",
                ),
            ],
        ),
    ]
}

fn windows() -> Vec<Kernel> {
    let conv = |x: &str| {
        block(
            "conv",
            &[("o", "3", 's'), ("h", "4", 's'), ("w", "5", 's'), ("c", "2", 'r'), ("u", "3", 'r'), ("v", "3", 'r')],
            "y[convo, convh, convw] = 0i32",
            &format!(
                "y[convo, convh, convw] = add(y[convo, convh, convw], \
          mul({x}[convc, add(convh, convu), add(convw, convv)], k[convo, convc, convu, convv]))"
            ),
        )
    };
    vec![
        kernel("conv", &[], "in x: i32[2, 6, 7], in k: i32[3, 2, 3, 3], out y: i32[3, 4, 5]", &[], &[conv("x")]),
        kernel(
            "conv_padded",
            &[],
            "in x: i32[2, 4, 5], in k: i32[3, 2, 3, 3], out y: i32[3, 4, 5]",
            &["p: i32[2, 6, 7]"],
            &[
                block(
                    "pad",
                    &[("c", "2", 's'), ("h", "6", 's'), ("w", "7", 's')],
                    "",
                    "p[padc, padh, padw] = if(and(and(ge(padh, 1), lt(padh, 5)), and(ge(padw, 1), lt(padw, 6))), \
                 x[padc, sub(padh, 1), sub(padw, 1)], 0i32)",
                ),
                conv("p"),
            ],
        ),
        kernel(
            "depthwise",
            &[],
            "in x: i32[3, 6], in k: i32[3, 3], out y: i32[3, 4]",
            &[],
            &[block(
                "dw",
                &[("c", "3", 's'), ("i", "4", 's'), ("u", "3", 'r')],
                "y[dwc, dwi] = 0i32",
                "y[dwc, dwi] = add(y[dwc, dwi], mul(x[dwc, add(dwi, dwu)], k[dwc, dwu]))",
            )],
        ),
        kernel(
            "max_pool",
            &[],
            "in x: i32[3, 8], out y: i32[3, 4]",
            &[],
            &[block(
                "mp",
                &[("c", "3", 's'), ("i", "4", 's'), ("u", "2", 'r')],
                "y[mpc, mpi] = -100000i32",
                "y[mpc, mpi] = maximum(y[mpc, mpi], x[mpc, add(mul(mpi, 2), mpu)])",
            )],
        ),
        kernel(
            "stencil",
            &[("N", 12)],
            "in x: i32[N + 2], out y: i32[N]",
            &["t: i32[N + 2]"],
            &[
                block("a", &[("i", "add(N, 2)", 's')], "", "t[ai] = mul(x[ai], 2i32)"),
                block("b", &[("i", "N", 's')], "", "y[bi] = add(add(t[bi], t[add(bi, 1)]), t[add(bi, 2)])"),
            ],
        ),
        kernel(
            "blur",
            &[],
            "in x: i32[6, 8], out y: i32[4, 6]",
            &["t: i32[6, 6]"],
            &[
                block(
                    "bx",
                    &[("i", "6", 's'), ("j", "6", 's')],
                    "",
                    "t[bxi, bxj] = add(add(x[bxi, bxj], x[bxi, add(bxj, 1)]), x[bxi, add(bxj, 2)])",
                ),
                block(
                    "by",
                    &[("i", "4", 's'), ("j", "6", 's')],
                    "",
                    "y[byi, byj] = add(add(t[byi, byj], t[add(byi, 1), byj]), t[add(byi, 2), byj])",
                ),
            ],
        ),
    ]
}

fn reductions() -> Vec<Kernel> {
    vec![
        kernel(
            "row_sum",
            &[("N", 6), ("M", 9)],
            "in x: i32[N, M], out y: i32[N]",
            &[],
            &[block("s", &[("i", "N", 's'), ("k", "M", 'r')], "y[si] = 0i32", "y[si] = add(y[si], x[si, sk])")],
        ),
        kernel(
            "float_sum",
            &[],
            "in x: f32[4, 16], out y: f32[4]",
            &[],
            &[block("s", &[("i", "4", 's'), ("k", "16", 'r')], "y[si] = 0.0f32", "y[si] = add(y[si], x[si, sk])")],
        ),
        kernel(
            "total",
            &[],
            "in x: i32[4, 12], out y: i32[]",
            &[],
            &[block("s", &[("i", "4", 'r'), ("k", "12", 'r')], "y[] = 0i32", "y[] = add(y[], x[si, sk])")],
        ),
        kernel(
            "columns",
            &[],
            "in x: i32[8, 12], out y: i32[12]",
            &[],
            &[block("s", &[("j", "12", 's'), ("i", "8", 'r')], "y[sj] = 0i32", "y[sj] = add(y[sj], x[si, sj])")],
        ),
        kernel(
            "between",
            &[],
            "in x: i32[2, 8, 6], out y: i32[2, 6]",
            &[],
            &[block(
                "s",
                &[("b", "2", 's'), ("j", "6", 's'), ("i", "8", 'r')],
                "y[sb, sj] = 7i32",
                "y[sb, sj] = maximum(y[sb, sj], x[sb, si, sj])",
            )],
        ),
        kernel(
            "column_max",
            &[("N", 5)],
            "in x: i32[N, 6], out y: i32[6]",
            &["t: i32[N, 6]"],
            &[
                block("a", &[("i", "N", 's'), ("j", "6", 's')], "", "t[ai, aj] = mul(x[ai, aj], 3i32)"),
                block(
                    "m",
                    &[("j", "6", 's'), ("i", "N", 'r')],
                    "y[mj] = -100000i32",
                    "y[mj] = maximum(y[mj], t[mi, mj])",
                ),
            ],
        ),
        kernel(
            "mean",
            &[],
            "in x: i32[4, 8], out y: i32[4]",
            &["t: i32[4]"],
            &[
                block("s", &[("i", "4", 's'), ("k", "8", 'r')], "t[si] = 0i32", "t[si] = add(t[si], x[si, sk])"),
                block("d", &[("i", "4", 's')], "", "y[di] = div(t[di], 8i32)"),
            ],
        ),
        kernel(
            "some",
            &[],
            "in x: i32[4, 9], out y: i32[4]",
            &[],
            &[block("s", &[("i", "4", 's'), ("k", "9", 'r')], "y[si] = 0i32", "y[si] = add(y[si], x[si, sk])")
                .replace("init {", "where ne(sk, 3)\ninit {")],
        ),
    ]
}

fn rows() -> Vec<Kernel> {
    vec![
        kernel(
            "softmax",
            &[("N", 3)],
            "in x: f32[N, 6], out y: f32[N, 6]",
            &["m: f32[N]", "e: f32[N, 6]", "t: f32[N]"],
            &[
                block(
                    "mx",
                    &[("i", "N", 's'), ("k", "6", 'r')],
                    "m[mxi] = -1000000.0f32",
                    "m[mxi] = maximum(m[mxi], x[mxi, mxk])",
                ),
                block("ex", &[("i", "N", 's'), ("j", "6", 's')], "", "e[exi, exj] = exp(sub(x[exi, exj], m[exi]))"),
                block(
                    "sm",
                    &[("i", "N", 's'), ("k", "6", 'r')],
                    "t[smi] = 0.0f32",
                    "t[smi] = add(t[smi], e[smi, smk])",
                ),
                block("dv", &[("i", "N", 's'), ("j", "6", 's')], "", "y[dvi, dvj] = div(e[dvi, dvj], t[dvi])"),
            ],
        ),
        kernel(
            "layer_norm",
            &[],
            "in x: i32[4, 8], in g: i32[8], out y: i32[4, 8]",
            &["s: i32[4]", "q: i32[4]"],
            &[
                block(
                    "sum",
                    &[("i", "4", 's'), ("k", "8", 'r')],
                    "s[sumi] = 0i32",
                    "s[sumi] = add(s[sumi], x[sumi, sumk])",
                ),
                block(
                    "sq",
                    &[("i", "4", 's'), ("k", "8", 'r')],
                    "q[sqi] = 0i32",
                    "q[sqi] = add(q[sqi], mul(sub(x[sqi, sqk], s[sqi]), sub(x[sqi, sqk], s[sqi])))",
                ),
                block(
                    "nm",
                    &[("i", "4", 's'), ("j", "8", 's')],
                    "",
                    "y[nmi, nmj] = add(mul(sub(x[nmi, nmj], s[nmi]), g[nmj]), q[nmi])",
                ),
            ],
        ),
        kernel(
            "row_kernel",
            &[("N", 4)],
            "in x: i32[N, 6], out y: i32[N, 6]",
            &["t: i32[N, 6]"],
            &[
                block("a", &[("i", "N", 's')], "", "for ar in 0 +: 6 serial {\nt[ai, ar] = mul(x[ai, ar], 2i32)\n}"),
                block("b", &[("i", "N", 's'), ("j", "6", 's')], "", "y[bi, bj] = add(t[bi, bj], 1i32)"),
            ],
        ),
    ]
}

fn orders() -> Vec<Kernel> {
    vec![
        kernel(
            "scan",
            &[("N", 9)],
            "in x: i32[N], out y: i32[N]",
            &["t: i32[N]"],
            &[
                block("a", &[("i", "N", 's')], "", "t[ai] = mul(x[ai], 2i32)"),
                block("sc", &[("i", "N", 'o')], "", "y[sci] = add(t[sci], if(gt(sci, 0), y[sub(sci, 1)], 0i32))"),
            ],
        ),
        kernel(
            "rows_of_scans",
            &[],
            "in x: i32[4, 6], out y: i32[4, 6]",
            &[],
            &[block(
                "sc",
                &[("i", "4", 's'), ("j", "6", 'o')],
                "",
                "y[sci, scj] = add(x[sci, scj], if(gt(scj, 0), y[sci, sub(scj, 1)], 0i32))",
            )],
        ),
        kernel(
            "raw",
            &[("N", 7)],
            "in x: i32[N], out y: i32[N]",
            &["t: i32[N]"],
            &[
                "for ri in 0 +: N serial {\nt[ri] = mul(x[ri], 2i32)\n}\n".to_string(),
                block("b", &[("i", "N", 's')], "", "y[bi] = add(t[bi], 1i32)"),
            ],
        ),
    ]
}
