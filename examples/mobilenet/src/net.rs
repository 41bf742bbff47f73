//! MobileNetV2 (Sandler et al., 2018) of width 0.35 for images of 96 by 96 pixels, as data. The build script writes it
//! as an ONNX file, `reference.rs` computes it with plain loops.
//!
//! The weights are random: the same in both, of a size that keeps the numbers of every layer near 1.

use model_writer::Random;

/// Rows and columns of an image.
pub(crate) const SIDE: usize = 96;
/// Channels before the classifier.
pub(crate) const LAST: usize = 1280;
/// What it tells apart.
pub(crate) const CLASSES: usize = 1000;

/// How much wider a block's middle is, the channels it gives, how often it stands, and its first stride.
const BLOCKS: [(usize, usize, usize, usize); 7] =
    [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)];

/// A convolution, and what follows on it.
pub(crate) struct Conv {
    /// Channels that it reads.
    pub(crate) inputs: usize,
    /// Channels that it gives.
    pub(crate) outputs: usize,
    /// Rows and columns of its kernel; the image is padded by half of them.
    pub(crate) kernel: usize,
    /// Steps between two places.
    pub(crate) stride: usize,
    /// 1, or as many as there are channels.
    pub(crate) groups: usize,
    /// Whether its values are cut to 0 to 6.
    pub(crate) relu6: bool,
    /// By output, input of the group, row and column.
    pub(crate) weights: Vec<f32>,
    /// By output.
    pub(crate) bias: Vec<f32>,
}

/// What is done to the image in turn.
pub(crate) enum Step {
    /// A convolution.
    Conv(Conv),
    /// Keeps the image for a later `Add`.
    Save,
    /// Adds what was kept.
    Add,
}

/// The network: steps, the mean of every channel, a dense layer.
pub(crate) struct Net {
    /// In their order.
    pub(crate) steps: Vec<Step>,
    /// By class and channel.
    pub(crate) dense: Vec<f32>,
    /// By class.
    pub(crate) bias: Vec<f32>,
}

/// A count of channels at width 0.35: a multiple of eight, as in the paper's own code.
fn channels(full: usize) -> usize {
    let exact = full as f32 * 0.35;
    let near = ((exact + 4.0) as usize / 8 * 8).max(8);
    if (near as f32) < 0.9 * exact { near + 8 } else { near }
}

impl Net {
    /// The same network every time.
    pub(crate) fn new() -> Self {
        let random = &mut Random::new(2018);
        let mut c = channels(32);
        let mut steps = vec![conv(random, 3, c, 3, 2, 1, true)];
        for (widen, outputs, times, first) in BLOCKS {
            for n in 0..times {
                let (o, stride) = (channels(outputs), if n == 0 { first } else { 1 });
                block(random, &mut steps, c, o, widen, stride);
                c = o;
            }
        }
        steps.push(conv(random, c, LAST, 1, 1, 1, true));
        let dense = random.weights(CLASSES * LAST, (1.0 / LAST as f32).sqrt());
        Self { steps, dense, bias: random.weights(CLASSES, 0.1) }
    }
}

/// An inverted residual: widen, filter each channel, narrow.
fn block(random: &mut Random, steps: &mut Vec<Step>, i: usize, o: usize, widen: usize, stride: usize) {
    let middle = i * widen;
    let adds = stride == 1 && i == o;
    if adds {
        steps.push(Step::Save);
    }
    if widen > 1 {
        steps.push(conv(random, i, middle, 1, 1, 1, true));
    }
    steps.push(conv(random, middle, middle, 3, stride, middle, true));
    steps.push(conv(random, middle, o, 1, 1, 1, false));
    if adds {
        steps.push(Step::Add);
    }
}

fn conv(random: &mut Random, i: usize, o: usize, kernel: usize, stride: usize, groups: usize, relu6: bool) -> Step {
    let fan = i / groups * kernel * kernel;
    let weights = random.weights(o * fan, (2.0 / fan as f32).sqrt());
    Step::Conv(Conv { inputs: i, outputs: o, kernel, stride, groups, relu6, weights, bias: random.weights(o, 0.1) })
}
