//! Operators over spatial axes, against loops that follow their definitions.

use tenfold_ir::DType;
use tenfold_ir::ops::{Arg, AttrValue};
use tenfold_ir::relax::ValueId;

use super::{Grid, args, indices, int, ints, numbers, numbers_of, place, units, word};
use crate::case::{Case, Make, fixed};

pub(crate) fn cases() -> Vec<Case> {
    let mut all = vec![blocks(), grids(), columns(), deformed(), unpooled(), same_padding(), empty()];
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        all.extend([transposed(dtype), norms(dtype), adaptive(dtype)]);
    }
    all.extend([transposed_in_phases(DType::F32), places(DType::F32), places(DType::I8), adaptive_integers()]);
    all
}

fn within(dtype: DType) -> f64 {
    units(dtype, 4.0, 64.0)
}

/// `depth_to_space` in both orders, and back.
fn blocks() -> Case {
    let mut m = Make::new("blocks");
    let x = m.input(DType::I32, &fixed(&[2, 12, 2, 3]));
    let cells = m.cells(0).to_vec();
    let mut results = Vec::new();
    for mode in ["dcr", "crd"] {
        let y = m.call("depth_to_space", &args(&[x]), &[("blocksize", int(2)), ("mode", word(mode))]);
        let of = |i: &Vec<i64>| {
            let (row, column, depth) = (i[2] % 2, i[3] % 2, i[1]);
            let channel = if mode == "dcr" { (row * 2 + column) * 3 + depth } else { (depth * 2 + row) * 2 + column };
            cells[place(&[2, 12, 2, 3], &[i[0], channel, i[2] / 2, i[3] / 2])]
        };
        m.exactly(y, indices(&[2, 3, 4, 6]).iter().map(of).collect());
        let back = m.call("space_to_depth", &args(&[y]), &[("blocksize", int(2)), ("mode", word(mode))]);
        m.exactly(back, cells.clone());
        results.extend([y, back]);
    }
    m.done(&results)
}

fn grids() -> Case {
    let mut m = Make::new("grids");
    let (x, y) = (m.input(DType::F32, &fixed(&[3])), m.input(DType::F32, &fixed(&[2])));
    let list = [Arg::List(vec![x, y])];
    let (of_x, of_y) = (m.cells(0).to_vec(), m.cells(1).to_vec());
    let mut results = Vec::new();
    for (word_of, shape) in [("xy", [2, 3]), ("ij", [3, 2])] {
        let both = m.call("meshgrid", &list, &[("indexing", word(word_of))]);
        let both = m.parts(both, 2);
        let at = |i: &Vec<i64>, axis: usize| i[if word_of == "xy" { 1 - axis } else { axis }] as usize;
        m.exactly(both[0], indices(&shape).iter().map(|i| of_x[at(i, 0)]).collect());
        m.exactly(both[1], indices(&shape).iter().map(|i| of_y[at(i, 1)]).collect());
        results.extend(both);
    }
    m.done(&results)
}

/// A transposed convolution by its definition: every element of x is spread by the kernel.
fn spread(
    x: &Grid,
    w: &Grid,
    out: &[i64],
    (stride, pads, dilation, group): ([i64; 2], [i64; 2], [i64; 2], i64),
) -> Grid {
    let mut y = Grid::zeros(out);
    let (per_in, per_out) = (x.shape[1] / group, w.shape[1]);
    for i in indices(&x.shape) {
        for k in indices(&[per_out, w.shape[2], w.shape[3]]) {
            let place = |axis: usize| i[axis + 2] * stride[axis] + k[axis + 1] * dilation[axis] - pads[axis];
            let weight = w.get(&[i[1], k[0], k[1], k[2]]).unwrap_or(0.0);
            let value = x.get(&i).unwrap_or(0.0) * weight;
            y.add(&[i[0], i[1] / per_in * per_out + k[0], place(0), place(1)], value);
        }
    }
    y
}

fn transposed(dtype: DType) -> Case {
    let mut m = Make::new(&format!("conv_transpose_{}", dtype.name()));
    let mut results = Vec::new();
    let x = m.input(dtype, &fixed(&[2, 4, 3, 2]));
    let w = m.input(dtype, &fixed(&[4, 3, 2, 3]));
    let bias = m.input(dtype, &fixed(&[3]));
    let (gx, gw) = (Grid::of(&m, 0, &[2, 4, 3, 2]), Grid::of(&m, 1, &[4, 3, 2, 3]));
    let biases = numbers_of(&m, 2);
    let mut check = |m: &mut Make, args: &[Arg], attrs: &[(&str, AttrValue)], y: Grid, bias: bool| {
        let found = m.call("conv_transpose", args, attrs);
        let channel = |at: usize| at / (y.shape[2] * y.shape[3]) as usize % y.shape[1] as usize;
        let cells = y.cells.iter().enumerate();
        let cells: Vec<f64> = cells.map(|(at, v)| if bias { v + biases[channel(at)] } else { *v }).collect();
        m.near(found, &cells, within(dtype));
        results.push(found);
    };
    let plain = ([1, 1], [0, 0], [1, 1], 1);
    check(&mut m, &args(&[x, w, bias]), &[], spread(&gx, &gw, &[2, 3, 4, 4], plain), true);
    let attrs = [("strides", ints(&[2, 3])), ("pads", ints(&[1, 2, 0, 1])), ("output_padding", ints(&[1, 0]))];
    let y = spread(&gx, &gw, &[2, 3, 6, 3], ([2, 3], [1, 2], [1, 1], 1));
    check(&mut m, &args(&[x, w]), &attrs, y, false);
    let y = spread(&gx, &gw, &[2, 3, 5, 6], ([1, 1], [0, 0], [2, 2], 1));
    check(&mut m, &args(&[x, w]), &[("dilations", ints(&[2, 2]))], y, false);
    let same = [("strides", ints(&[2, 2])), ("auto_pad", word("same_upper"))];
    check(&mut m, &args(&[x, w]), &same, spread(&gx, &gw, &[2, 3, 6, 4], ([2, 2], [0, 0], [1, 1], 1)), false);
    let asked = [("strides", ints(&[2, 2])), ("output_shape", ints(&[5, 5]))];
    check(&mut m, &args(&[x, w]), &asked, spread(&gx, &gw, &[2, 3, 5, 5], ([2, 2], [1, 0], [1, 1], 1)), false);
    let grouped = m.input(dtype, &fixed(&[4, 2, 2, 2]));
    let gw = Grid::of(&m, 3, &[4, 2, 2, 2]);
    for (strides, extents) in [([1, 1], [4, 3]), ([2, 2], [6, 4])] {
        let y = spread(&gx, &gw, &[2, 4, extents[0], extents[1]], (strides, [0, 0], [1, 1], 2));
        let attrs = [("group", int(2)), ("strides", ints(&strides))];
        let found = m.call("conv_transpose", &args(&[x, grouped]), &attrs);
        m.near(found, &y.cells, within(dtype));
        results.push(found);
    }
    // A group for each channel.
    let single = m.input(dtype, &fixed(&[4, 1, 3, 2]));
    let y = spread(&gx, &Grid::of(&m, 4, &[4, 1, 3, 2]), &[2, 4, 7, 4], ([2, 2], [0, 0], [1, 1], 4));
    let attrs = [("group", int(4)), ("strides", ints(&[2, 2]))];
    let found = m.call("conv_transpose", &args(&[x, single]), &attrs);
    m.near(found, &y.cells, within(dtype));
    results.push(found);
    m.done(&results)
}

/// Steps that share a kernel of 4 by 5 evenly and not, that are longer than it, padding beyond it and below zero.
fn transposed_in_phases(dtype: DType) -> Case {
    let mut m = Make::new(&format!("conv_transpose_in_phases_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[1, 2, 3, 2]));
    let w = m.input(dtype, &fixed(&[2, 3, 4, 5]));
    let bias = m.input(dtype, &fixed(&[3]));
    let (gx, gw) = (Grid::of(&m, 0, &[1, 2, 3, 2]), Grid::of(&m, 1, &[2, 3, 4, 5]));
    let biases = numbers_of(&m, 2);
    let asked =
        |strides: [i64; 2], name: &'static str, list: &[i64]| vec![("strides", ints(&strides)), (name, ints(list))];
    let cases = [
        (asked([2, 2], "pads", &[1, 2, 1, 2]), [6, 3], [2, 2], [1, 2]),
        (asked([3, 2], "pads", &[3, 0, 4, 1]), [3, 6], [3, 2], [3, 0]),
        (asked([4, 5], "pads", &[5, 0, 1, 7]), [6, 3], [4, 5], [5, 0]),
        (asked([2, 4], "output_padding", &[1, 3]), [9, 12], [2, 4], [0, 0]),
        (asked([2, 2], "output_shape", &[14, 20]), [14, 20], [2, 2], [-3, -6]),
        (asked([5, 2], "pads", &[0, 0, 0, 0]), [14, 7], [5, 2], [0, 0]),
    ];
    let mut results = Vec::new();
    for (attrs, [lines, columns], strides, front) in cases {
        let y = spread(&gx, &gw, &[1, 3, lines, columns], (strides, front, [1, 1], 1));
        let channel = |at: usize| at / (lines * columns) as usize % 3;
        let cells: Vec<f64> = y.cells.iter().enumerate().map(|(at, v)| v + biases[channel(at)]).collect();
        let found = m.call("conv_transpose", &args(&[x, w, bias]), &attrs);
        m.near(found, &cells, within(dtype));
        results.push(found);
    }
    m.done(&results)
}

fn columns() -> Case {
    let mut m = Make::new("col2im");
    let shape = |dims: &[i64]| Arg::Shape(fixed(dims));
    let x = m.input(DType::F32, &fixed(&[2, 3 * 4, 6]));
    let gx = Grid::of(&m, 0, &[2, 12, 6]);
    // a window of 2 x 2 with dilation 2 and padding 1 before the rows goes 2 x 3 times over 5 x 6 in steps of 2
    let attrs = [("dilations", ints(&[2, 1])), ("strides", ints(&[2, 2])), ("pads", ints(&[1, 0, 0, 0]))];
    let y = m.call("col2im", &[Arg::Value(x), shape(&[5, 6]), shape(&[2, 2])], &attrs);
    let mut image = Grid::zeros(&[2, 3, 5, 6]);
    for i in indices(&[2, 3, 2, 2, 2, 3]) {
        let (row, column) = (i[4] * 2 + i[2] * 2 - 1, i[5] * 2 + i[3]);
        let value = gx.get(&[i[0], i[1] * 4 + i[2] * 2 + i[3], i[4] * 3 + i[5]]).unwrap_or(0.0);
        image.add(&[i[0], i[1], row, column], value);
    }
    m.near(y, &image.cells, within(DType::F32));
    let line = m.input(DType::I32, &fixed(&[1, 3, 4]));
    let cells = m.cells(1).to_vec();
    let y1 = m.call("col2im", &[Arg::Value(line), shape(&[6]), shape(&[3])], &[]);
    let sums = (0..6).map(|p: i64| {
        let at = |k: i64| if (0..4).contains(&(p - k)) { cells[(k * 4 + p - k) as usize].to_i128() } else { 0 };
        tenfold_ir::Scalar::int(DType::I32, (0..3).map(at).sum())
    });
    m.exactly(y1, sums.collect());
    m.done(&[y, y1])
}

/// The value between four elements, zeros outside.
fn between(x: &Grid, outer: [i64; 2], y: f64, z: f64) -> f64 {
    let (a, b) = (y.floor(), z.floor());
    let mut sum = 0.0;
    for (i, wy) in [(a, 1.0 - (y - a)), (a + 1.0, y - a)] {
        for (j, wz) in [(b, 1.0 - (z - b)), (b + 1.0, z - b)] {
            sum += x.get(&[outer[0], outer[1], i as i64, j as i64]).unwrap_or(0.0) * wy * wz;
        }
    }
    sum
}

fn deformed() -> Case {
    let mut m = Make::new("deform_conv");
    let x = m.input(DType::F32, &fixed(&[2, 4, 5, 4]));
    let w = m.input(DType::F32, &fixed(&[6, 2, 2, 3]));
    let offset = m.input(DType::F32, &fixed(&[2, 2 * 6 * 2, 3, 2]));
    let bias = m.input(DType::F32, &fixed(&[6]));
    let mask = m.input(DType::F32, &fixed(&[2, 2 * 6, 3, 2]));
    let attrs =
        [("group", int(2)), ("offset_group", int(2)), ("strides", ints(&[2, 2])), ("pads", ints(&[1, 1, 0, 1]))];
    let [gx, gw] = [Grid::of(&m, 0, &[2, 4, 5, 4]), Grid::of(&m, 1, &[6, 2, 2, 3])];
    let [go, gm] = [Grid::of(&m, 2, &[2, 24, 3, 2]), Grid::of(&m, 4, &[2, 12, 3, 2])];
    let biases = numbers_of(&m, 3);
    let at = |masked: bool, biased: bool| {
        let one = |i: &Vec<i64>| {
            let mut sum = if biased { biases[i[1] as usize] } else { 0.0 };
            for k in indices(&[2, 2, 3]) {
                let channel = i[1] / 3 * 2 + k[0];
                let point = channel / 2 * 6 + k[1] * 3 + k[2];
                let moved = |axis: i64| go.get(&[i[0], point * 2 + axis, i[2], i[3]]).unwrap_or(0.0);
                let (row, column) = ((i[2] * 2 + k[1] - 1) as f64 + moved(0), (i[3] * 2 + k[2] - 1) as f64 + moved(1));
                let weight = if masked { gm.get(&[i[0], point, i[2], i[3]]).unwrap_or(0.0) } else { 1.0 };
                sum += between(&gx, [i[0], channel], row, column)
                    * weight
                    * gw.get(&[i[1], k[0], k[1], k[2]]).unwrap_or(0.0);
            }
            sum
        };
        indices(&[2, 6, 3, 2]).iter().map(one).collect::<Vec<_>>()
    };
    let plain = m.call("deform_conv", &args(&[x, w, offset]), &attrs);
    m.near(plain, &at(false, false), 1e-5);
    let whole = m.call("deform_conv", &args(&[x, w, offset, bias, mask]), &attrs);
    m.near(whole, &at(true, true), 1e-5);
    m.done(&[plain, whole])
}

/// The elements of each window of a pool over [N, C, H, W] that are not padding.
fn windows(
    x: &Grid,
    out: &[i64],
    (kernel, stride, pads, dilation): ([i64; 2], [i64; 2], [i64; 2], [i64; 2]),
) -> Vec<Vec<(Vec<i64>, f64)>> {
    let window = |i: &Vec<i64>| {
        let at = |k: &Vec<i64>| {
            let place = |axis: usize| i[axis + 2] * stride[axis] + k[axis] * dilation[axis] - pads[axis];
            let index = vec![i[0], i[1], place(0), place(1)];
            x.get(&index).map(|value| (index, value))
        };
        indices(&kernel).iter().filter_map(at).collect()
    };
    indices(out).iter().map(window).collect()
}

fn places(dtype: DType) -> Case {
    let mut m = Make::new(&format!("pool_places_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[2, 3, 5, 4]));
    let gx = Grid::of(&m, 0, &[2, 3, 5, 4]);
    let attrs = [
        ("kernel_shape", ints(&[3, 2])),
        ("strides", ints(&[2, 1])),
        ("pads", ints(&[1, 0, 1, 1])),
        ("dilations", ints(&[1, 2])),
    ];
    let all = windows(&gx, &[2, 3, 3, 3], ([3, 2], [2, 1], [1, 0], [1, 2]));
    let best = |w: &Vec<(Vec<i64>, f64)>| {
        w.iter().fold(None, |best: Option<(Vec<i64>, f64)>, one| match best {
            Some(best) if best.1 >= one.1 => Some(best),
            _ => Some(one.clone()),
        })
    };
    let best: Vec<(Vec<i64>, f64)> = all.iter().map(|w| best(w).expect("a window has an element")).collect();
    let mut results = Vec::new();
    for by_columns in [false, true] {
        let attrs = [&attrs[..], &[("storage_order", AttrValue::Bool(by_columns))]].concat();
        let both = m.call("max_pool_with_indices", &args(&[x]), &attrs);
        let both = m.parts(both, 2);
        let flat = |i: &[i64]| {
            if by_columns { ((i[0] * 3 + i[1]) * 4 + i[3]) * 5 + i[2] } else { place(&[2, 3, 5, 4], i) as i64 }
        };
        m.near(both[0], &best.iter().map(|b| b.1).collect::<Vec<_>>(), 0.0);
        m.exactly(both[1], numbers(DType::I64, &best.iter().map(|b| flat(&b.0)).collect::<Vec<_>>()));
        results.extend(both);
    }
    m.done(&results)
}

fn unpooled() -> Case {
    let mut m = Make::new("max_unpool");
    let x = m.values(DType::F32, &[1, 1, 2, 2], &super::reals(DType::F32, &[1.0, 2.0, 3.0, 4.0]));
    let at = m.values(DType::I64, &[1, 1, 2, 2], &numbers(DType::I64, &[5, 7, 13, 15]));
    let attrs = [("kernel_shape", ints(&[2, 2])), ("strides", ints(&[2, 2]))];
    let y = m.call("max_unpool", &args(&[x, at]), &attrs);
    let mut cells = [0.0; 16];
    for (place, value) in [(5, 1.0), (7, 2.0), (13, 3.0), (15, 4.0)] {
        cells[place] = value;
    }
    m.near(y, &cells, 0.0);
    let operands = [&args(&[x, at])[..], &[Arg::Shape(fixed(&[1, 1, 5, 5]))]].concat();
    let larger = m.call("max_unpool", &operands, &attrs);
    let wide = indices(&[5, 5]);
    let wide: Vec<f64> =
        wide.iter().map(|i| if i[0] < 4 && i[1] < 4 { cells[(i[0] * 4 + i[1]) as usize] } else { 0.0 }).collect();
    m.near(larger, &wide, 0.0);
    m.done(&[y, larger])
}

fn norms(dtype: DType) -> Case {
    let mut m = Make::new(&format!("lp_pool_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[2, 2, 5, 4]));
    let gx = Grid::of(&m, 0, &[2, 2, 5, 4]);
    let mut results = Vec::new();
    for p in [1, 2, 3] {
        let norm =
            |all: &mut dyn Iterator<Item = f64>| all.map(|x| x.abs().powi(p as i32)).sum::<f64>().powf(1.0 / p as f64);
        let attrs = [
            ("kernel_shape", ints(&[3, 2])),
            ("strides", ints(&[2, 2])),
            ("pads", ints(&[1, 0, 0, 1])),
            ("ceil_mode", AttrValue::Bool(true)),
            ("p", int(p)),
        ];
        let y = m.call("lp_pool", &args(&[x]), &attrs);
        // no window begins behind the columns
        let all = windows(&gx, &[2, 2, 3, 2], ([3, 2], [2, 2], [1, 0], [1, 1]));
        m.near(y, &all.iter().map(|w| norm(&mut w.iter().map(|e| e.1))).collect::<Vec<_>>(), within(dtype));
        let whole = m.call("global_lp_pool", &args(&[x]), &[("p", int(p))]);
        m.near(whole, &gx.cells.chunks(20).map(|c| norm(&mut c.iter().copied())).collect::<Vec<_>>(), within(dtype));
        results.extend([y, whole]);
    }
    m.done(&results)
}

/// The elements that an element of an adaptive pool is made of.
fn adapted(x: &Grid, out: &[i64]) -> Vec<Vec<f64>> {
    let window = |i: &Vec<i64>| {
        let ends = |axis: usize| {
            let (n, parts) = (x.shape[axis], out[axis]);
            (i[axis] * n / parts)..(((i[axis] + 1) * n + parts - 1) / parts)
        };
        let rows = ends(2).flat_map(|row| ends(3).map(move |column| (row, column)));
        rows.map(|(row, column)| x.get(&[i[0], i[1], row, column]).expect("it lies inside")).collect()
    };
    indices(out).iter().map(window).collect()
}

fn adaptive(dtype: DType) -> Case {
    let mut m = Make::new(&format!("adaptive_pool_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[2, 3, 7, 4]));
    let gx = Grid::of(&m, 0, &[2, 3, 7, 4]);
    let mut results = Vec::new();
    for out in [[3, 3], [7, 4], [1, 1], [9, 2]] {
        let operands = [Arg::Value(x), Arg::Shape(fixed(&out))];
        let windows = adapted(&gx, &[2, 3, out[0], out[1]]);
        let mean = m.call("adaptive_average_pool", &operands, &[]);
        let of = |w: &Vec<f64>| w.iter().sum::<f64>() / w.len() as f64;
        m.near(mean, &windows.iter().map(of).collect::<Vec<_>>(), within(dtype));
        let most = m.call("adaptive_max_pool", &operands, &[]);
        m.near(
            most,
            &windows.iter().map(|w| w.iter().copied().fold(f64::NEG_INFINITY, f64::max)).collect::<Vec<_>>(),
            0.0,
        );
        results.extend([mean, most]);
    }
    m.done(&results)
}

fn adaptive_integers() -> Case {
    let mut m = Make::new("adaptive_pool_symbolic");
    let (h, w) = (m.dim("H", 5, 0, 2), m.dim("W", 3, 0, 3));
    for dim in [&h, &w] {
        m.not_empty(dim);
    }
    let x = m.input(DType::I16, &[1.into(), 2.into(), h, w]);
    let gx = Grid::of(&m, 0, &[1, 2, 5, 3]);
    let y = m.call("adaptive_max_pool", &[Arg::Value(x), Arg::Shape(fixed(&[2, 2]))], &[]);
    let most = |w: &Vec<f64>| w.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    m.near(y, &adapted(&gx, &[1, 2, 2, 2]).iter().map(most).collect::<Vec<_>>(), 0.0);
    m.done(&[y])
}

/// `auto_pad` gives the extents that it promises, and pads where it says.
fn same_padding() -> Case {
    let mut m = Make::new("same_padding");
    let x = m.input(DType::F32, &fixed(&[1, 2, 5, 6]));
    let w = m.input(DType::F32, &fixed(&[1, 2, 3, 2]));
    let mut results: Vec<ValueId> = Vec::new();
    for (mode, pads) in [("same_upper", [1, 0, 1, 0]), ("same_lower", [1, 0, 1, 0]), ("valid", [0, 0, 0, 0])] {
        let strides = ("strides", ints(&[2, 2]));
        let auto = m.call("conv", &args(&[x, w]), &[strides.clone(), ("auto_pad", word(mode))]);
        let written = m.call("conv", &args(&[x, w]), &[strides, ("pads", ints(&pads))]);
        let difference = m.element(tenfold_ir::op::ElementOp::Binary(tenfold_ir::op::BinaryOp::Sub), &[auto, written]);
        let count = m.b.tensor(auto).shape.iter().map(|d| d.as_const().expect("a constant")).product::<i64>() as usize;
        m.near(difference, &vec![0.0; count], 0.0);
        results.extend([auto, difference]);
    }
    for (mode, pads) in [("same_upper", [0, 1]), ("same_lower", [1, 0])] {
        let kernel = ("kernel_shape", ints(&[2, 2]));
        let auto = m.call("average_pool", &args(&[x]), &[kernel.clone(), ("auto_pad", word(mode))]);
        let both = [pads[0], pads[0], pads[1], pads[1]];
        let written = m.call("average_pool", &args(&[x]), &[kernel, ("pads", ints(&both))]);
        let difference = m.element(tenfold_ir::op::ElementOp::Binary(tenfold_ir::op::BinaryOp::Sub), &[auto, written]);
        m.near(difference, &[0.0; 60], 0.0);
        results.push(difference);
    }
    m.done(&results)
}

/// Batches and channels without elements.
fn empty() -> Case {
    let mut m = Make::new("space_empty");
    let x = m.input(DType::F32, &fixed(&[0, 4, 4, 6]));
    let kernel = ("kernel_shape", ints(&[2, 2]));
    let w = m.input(DType::F32, &fixed(&[4, 3, 2, 2]));
    let shape = Arg::Shape(fixed(&[3, 2]));
    let both = m.call("max_pool_with_indices", &args(&[x]), std::slice::from_ref(&kernel));
    let mut results = m.parts(both, 2);
    results.push(m.call("lp_pool", &args(&[x]), std::slice::from_ref(&kernel)));
    results.push(m.call("adaptive_average_pool", &[Arg::Value(x), shape], &[]));
    results.push(m.call("depth_to_space", &args(&[x]), &[("blocksize", int(2))]));
    results.push(m.call("space_to_depth", &args(&[x]), &[("blocksize", int(2))]));
    results.push(m.call("conv_transpose", &args(&[x, w]), &[("strides", ints(&[2, 2]))]));
    let blocks = m.input(DType::F32, &fixed(&[0, 8, 9]));
    let image = [Arg::Value(blocks), Arg::Shape(fixed(&[4, 4])), Arg::Shape(fixed(&[2, 2]))];
    results.push(m.call("col2im", &image, &[]));
    m.done(&results)
}
