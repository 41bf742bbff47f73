//! Images in another size, against the sum of weighed neighbours that ONNX defines, and grids of places.

use tenfold_ir::DType;
use tenfold_ir::ops::{Arg, AttrValue};
use tenfold_ir::relax::ValueId;

use super::{args, indices, ints, numbers_of, place, units, word};
use crate::case::{Case, Make, fixed};

pub(crate) fn cases() -> Vec<Case> {
    let mut all: Vec<Case> = [DType::F32, DType::F64, DType::F16, DType::BF16].into_iter().map(images).collect();
    all.extend([vectors(), repeated(), whole_numbers(), crops(), symbolic(), affine()]);
    all
}

fn within(dtype: DType) -> f64 {
    units(dtype, 2.0, 32.0)
}

/// How one axis is resized.
#[derive(Clone, Copy)]
struct How {
    mode: &'static str,
    transform: &'static str,
    nearest: &'static str,
    antialias: bool,
    exclude: bool,
}

const PLAIN: How =
    How { mode: "linear", transform: "half_pixel", nearest: "round_prefer_floor", antialias: false, exclude: false };

impl How {
    fn attrs(self) -> Vec<(&'static str, AttrValue)> {
        vec![
            ("mode", word(self.mode)),
            ("coordinate_transformation_mode", word(self.transform)),
            ("nearest_mode", word(self.nearest)),
            ("antialias", AttrValue::Bool(self.antialias)),
            ("exclude_outside", AttrValue::Bool(self.exclude)),
        ]
    }

    fn place(self, y: f64, n: f64, out: f64, scale: f64) -> f64 {
        let length = n * scale;
        match self.transform {
            "align_corners" if length == 1.0 => 0.0,
            "align_corners" => y * (n - 1.0) / (length - 1.0),
            "asymmetric" => y / scale,
            "pytorch_half_pixel" if length == 1.0 => -0.5,
            "half_pixel_symmetric" => n / 2.0 * (1.0 - out / length) + (y + 0.5) / scale - 0.5,
            _ => (y + 0.5) / scale - 0.5,
        }
    }

    /// The weight of an element that is that far from a place.
    fn weight(self, far: f64) -> f64 {
        let (a, x) = (-0.75, far.abs());
        match self.mode {
            "linear" => (1.0 - x).max(0.0),
            _ if x <= 1.0 => (a + 2.0) * x.powi(3) - (a + 3.0) * x.powi(2) + 1.0,
            _ if x < 2.0 => a * x.powi(3) - 5.0 * a * x.powi(2) + 8.0 * a * x - 4.0 * a,
            _ => 0.0,
        }
    }

    /// One axis: the sum over all elements and those that the outermost ones are repeated by.
    fn line(self, x: &[f64], out: usize, scale: f64) -> Vec<f64> {
        let n = x.len() as i64;
        let one = |y: usize| {
            let at = self.place(y as f64, n as f64, out as f64, scale);
            if self.mode == "nearest" {
                let near = match self.nearest {
                    "round_prefer_floor" => (at - 0.5).ceil(),
                    "round_prefer_ceil" => (at + 0.5).floor(),
                    "floor" => at.floor(),
                    _ => at.ceil(),
                };
                return x[(near as i64).clamp(0, n - 1) as usize];
            }
            let shrink = if self.antialias { scale.min(1.0) } else { 1.0 };
            let all = (-4 * n - 8..5 * n + 8).map(|i| (i, self.weight(shrink * (i as f64 - at))));
            let all: Vec<(i64, f64)> = all.filter(|(i, _)| !self.exclude || (0..n).contains(i)).collect();
            let total: f64 = all.iter().map(|(_, w)| w).sum();
            all.iter().map(|(i, w)| x[(*i).clamp(0, n - 1) as usize] * w).sum::<f64>() / total
        };
        (0..out).map(one).collect()
    }

    /// The last two axes of `[planes, h, w]`.
    fn image(self, x: &[f64], (h, w): (usize, usize), out: (usize, usize), scales: (f64, f64)) -> Vec<f64> {
        let mut all = Vec::new();
        for plane in x.chunks(h * w) {
            let columns: Vec<Vec<f64>> = (0..w)
                .map(|j| self.line(&(0..h).map(|i| plane[i * w + j]).collect::<Vec<_>>(), out.0, scales.0))
                .collect();
            for i in 0..out.0 {
                all.extend(self.line(&columns.iter().map(|c| c[i]).collect::<Vec<_>>(), out.1, scales.1));
            }
        }
        all
    }
}

fn images(dtype: DType) -> Case {
    let mut m = Make::new(&format!("resize_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[2, 1, 3, 5]));
    let cells = numbers_of(&m, 0);
    let mut results: Vec<ValueId> = Vec::new();
    for mode in ["nearest", "linear", "cubic"] {
        for (h, w) in [(6, 10), (2, 3), (7, 4)] {
            let how = How { mode, ..PLAIN };
            let operands = [Arg::Value(x), Arg::Shape(fixed(&[2, 1, h, w]))];
            let y = m.call("resize", &operands, &how.attrs());
            let scales = (h as f64 / 3.0, w as f64 / 5.0);
            m.near(y, &how.image(&cells, (3, 5), (h as usize, w as usize), scales), within(dtype));
            results.push(y);
        }
    }
    m.done(&results)
}

fn vectors() -> Case {
    let mut m = Make::new("resize_vectors");
    let x = m.input(DType::F32, &fixed(&[1, 4, 2]));
    let cells = numbers_of(&m, 0);
    let mut results: Vec<ValueId> = Vec::new();
    let mut check = |m: &mut Make, how: How, out: usize, by: Option<f64>| {
        let axes = ("axes", ints(&[1]));
        let (operands, more) = match by {
            None => (vec![Arg::Value(x), Arg::Shape(fixed(&[out as i64]))], vec![axes]),
            Some(scale) => (args(&[x]), vec![axes, ("scales", AttrValue::List(vec![AttrValue::Float(scale)]))]),
        };
        let y = m.call("resize", &operands, &[how.attrs(), more].concat());
        let columns: Vec<Vec<f64>> = (0..2)
            .map(|j| {
                how.line(&(0..4).map(|i| cells[i * 2 + j]).collect::<Vec<_>>(), out, by.unwrap_or(out as f64 / 4.0))
            })
            .collect();
        m.near(y, &(0..out).flat_map(|i| [columns[0][i], columns[1][i]]).collect::<Vec<_>>(), within(DType::F32));
        results.push(y);
    };
    for transform in ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"] {
        for out in [1, 3, 8] {
            check(&mut m, How { transform, ..PLAIN }, out, None);
            check(&mut m, How { transform, mode: "nearest", ..PLAIN }, out, None);
        }
    }
    for nearest in ["round_prefer_ceil", "floor", "ceil"] {
        check(&mut m, How { mode: "nearest", nearest, ..PLAIN }, 6, None);
        check(&mut m, How { mode: "nearest", nearest, transform: "asymmetric", ..PLAIN }, 3, None);
    }
    for mode in ["linear", "cubic"] {
        check(&mut m, How { mode, antialias: true, ..PLAIN }, 3, None);
        // so many neighbours that they become a matrix
        check(&mut m, How { mode, antialias: true, ..PLAIN }, 1, Some(0.3));
        check(&mut m, How { mode, exclude: true, ..PLAIN }, 7, None);
        check(&mut m, How { mode, exclude: true, antialias: true, ..PLAIN }, 2, None);
    }
    check(&mut m, PLAIN, 2, Some(0.6));
    check(&mut m, How { transform: "half_pixel_symmetric", ..PLAIN }, 2, Some(0.6));
    check(&mut m, How { transform: "align_corners", ..PLAIN }, 9, Some(2.3));
    m.done(&results)
}

/// Images whole numbers of times as large, by vectors and what is left of them.
fn repeated() -> Case {
    let mut m = Make::new("resize_repeated");
    let x = m.input(DType::F32, &fixed(&[1, 2, 2, 20]));
    let cells = numbers_of(&m, 0);
    let mut results: Vec<ValueId> = Vec::new();
    let mut check = |m: &mut Make, how: How, (rows, columns): (usize, usize)| {
        let out = (2 * rows, 20 * columns);
        let operands = [Arg::Value(x), Arg::Shape(fixed(&[1, 2, out.0 as i64, out.1 as i64]))];
        let y = m.call("resize", &operands, &how.attrs());
        m.near(y, &how.image(&cells, (2, 20), out, (rows as f64, columns as f64)), 0.0);
        results.push(y);
    };
    let nearest = How { mode: "nearest", ..PLAIN };
    for transform in ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "asymmetric"] {
        for nearest in ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"] {
            let how = How { mode: "nearest", transform, nearest, ..PLAIN };
            check(&mut m, how, (3, 2));
        }
    }
    for times in [(1, 3), (1, 4), (2, 8), (5, 1)] {
        check(&mut m, nearest, times);
        check(&mut m, How { transform: "asymmetric", ..nearest }, times);
    }
    m.done(&results)
}

/// The nearest element of any dtype.
fn whole_numbers() -> Case {
    let mut m = Make::new("resize_integers");
    let x = m.input(DType::U8, &fixed(&[2, 3]));
    let cells = m.cells(0).to_vec();
    let y = m.call("resize", &[Arg::Value(x), Arg::Shape(fixed(&[4, 6]))], &[]);
    m.exactly(y, indices(&[4, 6]).iter().map(|i| cells[place(&[2, 3], &[i[0] / 2, i[1] / 2])]).collect());
    let scales = AttrValue::List(vec![AttrValue::Float(1.0), AttrValue::Float(2.0)]);
    let wide = m.call("resize", &args(&[x]), &[("scales", scales)]);
    m.exactly(wide, indices(&[2, 6]).iter().map(|i| cells[place(&[2, 3], &[i[0], i[1] / 2])]).collect());
    let kept = m.call(
        "resize",
        &[Arg::Value(x), Arg::Shape(fixed(&[4, 9]))],
        &[("keep_aspect_ratio_policy", word("not_larger"))],
    );
    m.exactly(kept, indices(&[4, 6]).iter().map(|i| cells[place(&[2, 3], &[i[0] / 2, i[1] / 2])]).collect());
    let none = m.call("resize", &[Arg::Value(x), Arg::Shape(fixed(&[0, 3]))], &[]);
    m.exactly(none, Vec::new());
    m.done(&[y, wide, kept, none])
}

fn crops() -> Case {
    let mut m = Make::new("resize_crops");
    let x = m.input(DType::F32, &fixed(&[5]));
    let cells = numbers_of(&m, 0);
    let roi = AttrValue::List(vec![AttrValue::Float(0.25), AttrValue::Float(1.25)]);
    let attrs = [
        ("mode", word("linear")),
        ("coordinate_transformation_mode", word("tf_crop_and_resize")),
        ("roi", roi),
        ("extrapolation_value", AttrValue::Float(-7.0)),
    ];
    let y = m.call("resize", &[Arg::Value(x), Arg::Shape(fixed(&[5]))], &attrs);
    // places 1, 2, 3, 4 and one outside
    m.near(y, &[cells[1], cells[2], cells[3], cells[4], -7.0], 1e-6);
    m.done(&[y])
}

fn symbolic() -> Case {
    let mut m = Make::new("resize_symbolic");
    let (n, h) = (m.dim("N", 2, 0, 0), m.dim("H", 3, 0, 1));
    m.not_empty(&h);
    let x = m.input(DType::F32, &[n.clone(), h.clone()]);
    let cells = numbers_of(&m, 0);
    let mut results = Vec::new();
    for mode in ["nearest", "linear", "cubic"] {
        let how = How { mode, ..PLAIN };
        let y = m.call("resize", &[Arg::Value(x), Arg::Shape(vec![n.clone(), &h * 2])], &how.attrs());
        let lines = cells.chunks(3).flat_map(|line| how.line(line, 6, 2.0));
        m.near(y, &lines.collect::<Vec<_>>(), within(DType::F32));
        results.push(y);
    }
    m.done(&results)
}

fn affine() -> Case {
    let mut m = Make::new("affine_grid");
    let theta = m.input(DType::F32, &fixed(&[2, 2, 3]));
    let theta_3d = m.input(DType::F64, &fixed(&[1, 3, 4]));
    let place_of = |i: i64, n: i64, align: bool| match (align, n) {
        (true, 1) => 0.0,
        (true, n) => 2.0 * i as f64 / (n - 1) as f64 - 1.0,
        (false, n) => (2 * i + 1) as f64 / n as f64 - 1.0,
    };
    let mut results = Vec::new();
    for align in [false, true] {
        for (operand, param, spatial, batch) in [(theta, 0, vec![3, 2], 2), (theta_3d, 1, vec![2, 1, 3], 1)] {
            let shape = [&[batch, 1], &spatial[..]].concat();
            let operands = [Arg::Value(operand), Arg::Shape(fixed(&shape))];
            let y = m.call("affine_grid", &operands, &[("align_corners", AttrValue::Bool(align))]);
            let (cells, d) = (numbers_of(&m, param), spatial.len());
            let one = |i: &Vec<i64>| {
                let (axis, at) = (i[d + 1] as usize, &i[1..=d]);
                let row = &cells[(i[0] as usize * d + axis) * (d + 1)..][..d + 1];
                let places = (0..d).rev().map(|a| place_of(at[a], spatial[a], align)).chain([1.0]);
                row.iter().zip(places).map(|(t, p)| t * p).sum::<f64>()
            };
            let all = [&[batch], &spatial[..], &[d as i64]].concat();
            m.near(y, &indices(&all).iter().map(one).collect::<Vec<_>>(), 1e-6);
            results.push(y);
        }
    }
    m.done(&results)
}
