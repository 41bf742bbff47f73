//! Kernels for the primitives that ask for something particular: windows that slide, padding, updates, sums of products.

use crate::kernels::{Kernel, block, kernel};

/// The kernels that a primitive is mostly tried on, by the beginning of their names.
pub(crate) fn home(primitive: &str) -> Option<&'static str> {
    match primitive {
        "rolling_buffer" => Some("rolls"),
        "decompose_padding" => Some("pads"),
        "cache_inplace" => Some("updates"),
        "pad_einsum" => Some("einsum"),
        "tensorize" => Some("tensor"),
        "storage_align" | "unsafe_set_dtype" | "set_scope" | "transform_layout" => Some("chain"),
        _ => None,
    }
}

pub(crate) fn kernels() -> Vec<Kernel> {
    [rolls(), pads(), updates(), einsums()].into_iter().flatten().collect()
}

fn rolls() -> Vec<Kernel> {
    let window = |name, step: &str, body: &str| {
        let rows = format!(
            "for i_l in 0 +: 4 serial {{\nfor u_l in 0 +: 5 serial {{\nfor j_l in 0 +: 3 serial {{\nblock t {{\n\
             spatial u in 12 = add({step}, u_l)\nspatial j in 3 = j_l\ndo {{\nt[u, j] = add(x[u, j], 1i32)\n}}\n}}\n}}\n}}\n\
             for k_l in 0 +: 3 serial {{\nblock y {{\nspatial i in 4 = i_l\nspatial k in 3 = k_l\ndo {{\n{body}\n}}\n}}\n}}\n}}\n"
        );
        kernel(name, &[], "in x: i32[12, 3], out y: i32[4, 3]", &["t: i32[12, 3]"], &[rows])
    };
    vec![
        window("rolls_by_one", "i_l", "y[i, k] = add(t[i, k], t[add(i, 4), k])"),
        window("rolls_by_two", "mul(i_l, 2)", "y[i, k] = add(t[mul(i, 2), k], t[add(mul(i, 2), 4), k])"),
        window("rolls_not_by_five", "rem_euclid(mul(i_l, 5), 8)", "y[i, k] = t[rem_euclid(mul(i, 5), 8), k]"),
    ]
}

fn pads() -> Vec<Kernel> {
    let y = |extent, body: &str| block("y", &[("i", extent, 's')], "", body);
    vec![
        kernel(
            "pads_both",
            &[("N", 6)],
            "in x: i32[N], out y: i32[N + 4]",
            &[],
            &[y("add(N, 4)", "y[yi] = if(if(ge(yi, 2), lt(yi, add(N, 2)), false), x[sub(yi, 2)], 0i32)")],
        ),
        kernel("pads_behind", &[], "in x: i32[7], out y: i32[9]", &[], &[y("9", "y[yi] = if(lt(yi, 7), x[yi], 3i32)")]),
        kernel(
            "pads_rows",
            &[],
            "in x: i32[3, 5], out y: i32[5, 5]",
            &[],
            &[block(
                "y",
                &[("i", "5", 's'), ("j", "5", 's')],
                "",
                "y[yi, yj] = if(if(ge(yi, 1), lt(yi, 4), false), x[sub(yi, 1), yj], 1i32)",
            )],
        ),
    ]
}

fn updates() -> Vec<Kernel> {
    vec![
        kernel(
            "updates_rows",
            &[],
            "in x: i32[4, 6], inout y: i32[4]",
            &[],
            &[block("y", &[("i", "4", 's'), ("k", "6", 'r')], "", "y[yi] = add(y[yi], x[yi, yk])")],
        ),
        kernel(
            "updates_all",
            &[("N", 7)],
            "in x: i32[N], inout y: i32[N]",
            &[],
            &[block("y", &[("i", "N", 's')], "", "y[yi] = sub(y[yi], x[yi])")],
        ),
    ]
}

fn einsums() -> Vec<Kernel> {
    let (i, j, k) = (("i", "N", 's'), ("j", "6", 's'), ("k", "5", 'r'));
    vec![
        kernel(
            "einsum_matmul",
            &[("N", 3)],
            "in a: i32[N, 5], in b: i32[5, 6], out y: i32[N, 6]",
            &[],
            &[block("y", &[i, j, k], "y[yi, yj] = 0i32", "y[yi, yj] = add(y[yi, yj], mul(a[yi, yk], b[yk, yj]))")],
        ),
        kernel(
            "einsum_dot",
            &[],
            "in a: i32[5], in b: i32[5], out y: i32[6]",
            &[],
            &[block("y", &[j, k], "y[yj] = 0i32", "y[yj] = add(y[yj], mul(a[yk], b[yk]))")],
        ),
        kernel(
            "einsum_outer",
            &[("N", 4)],
            "in a: i32[N], in b: i32[6, 5], out y: i32[N, 6]",
            &[],
            &[block("y", &[i, j, k], "y[yi, yj] = 0i32", "y[yi, yj] = add(y[yi, yj], mul(a[yi], b[yj, yk]))")],
        ),
    ]
}
