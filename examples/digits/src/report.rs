//! What the program prints of its networks, as text.

use crate::{Evaluation, Image, Row, class};
use digits::{cnn, mlp};

/// The bytes that a network takes, as constants of the compiled function.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    code: usize,
    weights: usize,
    workspace: usize,
}

impl Sizes {
    pub(crate) const MLP: Sizes =
        Sizes { code: mlp::CODE_BYTES, weights: mlp::WEIGHT_BYTES, workspace: mlp::WORKSPACE_BYTES };
    pub(crate) const CNN: Sizes =
        Sizes { code: cnn::CODE_BYTES, weights: cnn::WEIGHT_BYTES, workspace: cnn::WORKSPACE_BYTES };
}

/// How many digits are drawn, and how many stand side by side.
const SHOWN: usize = 4;

/// A few digits with their probabilities, then the figures of both networks.
pub(crate) fn whole(networks: &[Evaluation; 2]) -> String {
    let [_, cnn] = networks;
    let mut shown: Vec<usize> = (0..cnn.images.len().min(SHOWN)).collect();
    // One that the CNN takes for another digit says more than a fifth that it knows.
    shown.extend((SHOWN..cnn.images.len()).find(|&n| class(&cnn.rows[n]) != cnn.labels[n]));
    let digits = shown.iter().map(|&n| digit(&cnn.images[n], &cnn.rows[n], cnn.labels[n]));
    digits.chain(networks.iter().map(confusion)).chain(networks.iter().map(line)).collect()
}

/// An image beside the CNN's probabilities.
fn digit(image: &Image, row: &Row, label: u8) -> String {
    let seen = class(row);
    let verdict = if seen == label { String::new() } else { format!(", which is wrong: it is {label}") };
    let mut text = format!("the cnn sees {seen}{verdict}\n");
    // The digits that it holds most likely, beside the first lines of the picture.
    let mut likely: Vec<usize> = (0..10).collect();
    likely.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
    for (y, pixels) in image.chunks(8).enumerate() {
        let art: String = pixels.iter().map(|&v| shade(v)).collect();
        let d = likely[y];
        let line = format!("  {art}    {d} {:5.1} % {}", 100.0 * row[d], bar(row[d]));
        text += line.trim_end();
        text += "\n";
    }
    text + "\n"
}

/// A pixel, twice as wide as a character so that the picture keeps its form.
fn shade(value: f32) -> &'static str {
    ["  ", "░░", "▒▒", "▓▓", "██"][(value.clamp(0.0, 16.0) / 4.0).round() as usize]
}

fn bar(probability: f32) -> String {
    "▪".repeat((10.0 * probability.clamp(0.0, 1.0)).round() as usize)
}

/// How often each digit was taken for each digit.
fn confusion(network: &Evaluation) -> String {
    let mut count = [[0usize; 10]; 10];
    for (row, &label) in network.rows.iter().zip(&network.labels) {
        count[usize::from(label)][usize::from(class(row))] += 1;
    }
    let mut text = format!("confusion of the {} (down: the digit, across: what it was taken for)\n     ", network.name);
    text.extend((0..10).map(|d| format!("{d:4}")));
    for (label, seen) in count.iter().enumerate() {
        let cells = seen.iter().map(|&n| if n == 0 { "   ·".into() } else { format!("{n:4}") });
        text += &format!("\n{label:4} ");
        text.extend(cells);
    }
    text + "\n\n"
}

/// The figures of one network on one line.
pub(crate) fn line(network: &Evaluation) -> String {
    let Sizes { code, weights, workspace } = network.sizes;
    format!(
        "{}: {} of {} right ({:.4}), {:.1e} from NumPy at most, {:.2} µs per image; \
         {code} bytes of code, {weights} of weights, {workspace} of workspace\n",
        network.name,
        network.right(),
        network.labels.len(),
        network.accuracy(),
        network.distance,
        network.nanoseconds_per_image / 1000.0,
    )
}
