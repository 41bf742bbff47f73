//! The network in plain loops, in `f64`: slow, and easy to believe.

use crate::net::{self, Conv, Net, Step};

/// An image: rows and columns, then its values by channel, row and column.
#[derive(Clone)]
struct Image {
    side: usize,
    values: Vec<f64>,
}

/// The score of each class.
pub(crate) fn run(net: &Net, image: &[f32]) -> Vec<f64> {
    let mut x = Image { side: net::SIDE, values: image.iter().map(|value| f64::from(*value)).collect() };
    let mut saved = x.clone();
    for step in &net.steps {
        match step {
            Step::Save => saved = x.clone(),
            Step::Add => x.values.iter_mut().zip(&saved.values).for_each(|(x, saved)| *x += saved),
            Step::Conv(layer) => x = conv(layer, &x),
        }
    }
    let pixels = x.side * x.side;
    let means: Vec<f64> = x.values.chunks(pixels).map(|channel| channel.iter().sum::<f64>() / pixels as f64).collect();
    let rows = net.dense.chunks(net::LAST).zip(&net.bias);
    rows.map(|(row, bias)| row.iter().zip(&means).map(|(w, x)| f64::from(*w) * x).sum::<f64>() + f64::from(*bias))
        .collect()
}

fn conv(layer: &Conv, x: &Image) -> Image {
    let side = (x.side - 1) / layer.stride + 1;
    let mut values = Vec::with_capacity(layer.outputs * side * side);
    for o in 0..layer.outputs {
        for at in 0..side * side {
            let sum = window(layer, x, o, at / side, at % side) + f64::from(layer.bias[o]);
            values.push(if layer.relu6 { sum.clamp(0.0, 6.0) } else { sum });
        }
    }
    Image { side, values }
}

/// The sum under the kernel at one place of one output.
fn window(layer: &Conv, x: &Image, o: usize, row: usize, column: usize) -> f64 {
    let (k, inputs) = (layer.kernel, layer.inputs / layer.groups);
    let first = o / (layer.outputs / layer.groups) * inputs;
    let inside = |at: usize, tap: usize| (at * layer.stride + tap).checked_sub(k / 2).filter(|at| *at < x.side);
    let mut sum = 0.0;
    for tap in 0..k * k {
        let (Some(r), Some(c)) = (inside(row, tap / k), inside(column, tap % k)) else { continue };
        for i in 0..inputs {
            let weight = layer.weights[(o * inputs + i) * k * k + tap];
            sum += f64::from(weight) * x.values[((first + i) * x.side + r) * x.side + c];
        }
    }
    sum
}
