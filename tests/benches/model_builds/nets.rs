//! Four standard architectures as ONNX files. What building them takes does not depend on the numbers in them, which
//! are random.

use model_writer::{Attribute, Elem, Model, Random};

/// A model: name, shape of its input, shape of its output, how it is written.
pub(crate) type Net = (&'static str, &'static [i64], &'static [i64], fn(&mut Graph) -> String);

/// By name.
pub(crate) const NETS: [Net; 4] = [
    ("mlp", &[1, 784], &[1, 10], mlp),
    ("mobilenetv2", &[1, 3, 224, 224], &[1, 1000], mobilenetv2),
    ("resnet50", &[1, 3, 224, 224], &[1, 1000], resnet50),
    ("minilm", &[1, 128, 384], &[1, 128, 384], minilm),
];

/// The bytes of a model's file.
pub(crate) fn file((_, input, output, body): &Net) -> Vec<u8> {
    let mut graph = Graph { model: Model::default(), random: Random::new(50) };
    graph.model.input("x", Elem::Float, input);
    let y = body(&mut graph);
    graph.model.finish(&y, output)
}

/// A model in the making.
pub(crate) struct Graph {
    model: Model,
    random: Random,
}

impl Graph {
    fn op(&mut self, op: &str, inputs: &[&str], attributes: &[(&str, Attribute<'_>)]) -> String {
        self.model.node(op, inputs, attributes)
    }

    fn weight(&mut self, shape: &[i64], scale: f32) -> String {
        let count = shape.iter().product::<i64>() as usize;
        let numbers = self.random.weights(count, scale);
        self.model.weight(shape, &numbers)
    }

    /// The same number in every place.
    fn full(&mut self, shape: &[i64], value: f32) -> String {
        let count = shape.iter().product::<i64>() as usize;
        self.model.weight(shape, &vec![value; count])
    }

    fn conv(&mut self, x: &str, [from, to]: [i64; 2], side: i64, stride: i64, groups: i64) -> String {
        let terms = from / groups * side * side;
        let w = self.weight(&[to, from / groups, side, side], (2.0 / terms as f32).sqrt());
        let b = self.full(&[to], 0.01);
        let attributes = [
            ("kernel_shape", Attribute::Ints(&[side; 2])),
            ("strides", Attribute::Ints(&[stride; 2])),
            ("pads", Attribute::Ints(&[side / 2; 4])),
            ("group", Attribute::Int(groups)),
        ];
        self.op("Conv", &[x, &w, &b], &attributes)
    }

    fn relu6(&mut self, x: &str) -> String {
        let (low, high) = (self.full(&[], 0.0), self.full(&[], 6.0));
        self.op("Clip", &[x, &low, &high], &[])
    }

    /// The mean of every channel, and a score per class.
    fn classifier(&mut self, x: &str, channels: i64) -> String {
        let mean = self.op("GlobalAveragePool", &[x], &[]);
        let flat = self.op("Flatten", &[&mean], &[]);
        let (w, b) = (self.weight(&[1000, channels], 0.02), self.full(&[1000], 0.0));
        self.op("Gemm", &[&flat, &w, &b], &[("transB", Attribute::Int(1))])
    }

    fn linear(&mut self, x: &str, from: i64, to: i64) -> String {
        let (w, b) = (self.weight(&[from, to], 0.03), self.full(&[to], 0.0));
        let y = self.op("MatMul", &[x, &w], &[]);
        self.op("Add", &[&y, &b], &[])
    }

    fn norm(&mut self, x: &str, channels: i64) -> String {
        let (scale, bias) = (self.full(&[channels], 1.0), self.full(&[channels], 0.0));
        let attributes = [("axis", Attribute::Int(-1)), ("epsilon", Attribute::Float(1e-12))];
        self.op("LayerNormalization", &[x, &scale, &bias], &attributes)
    }
}

fn mlp(g: &mut Graph) -> String {
    let mut x = "x".to_string();
    for (n, (from, to)) in [(784, 512), (512, 256), (256, 10)].into_iter().enumerate() {
        let (w, b) = (g.weight(&[from, to], 0.05), g.full(&[to], 0.0));
        x = g.op("Gemm", &[&x, &w, &b], &[]);
        if n < 2 {
            x = g.op("Relu", &[&x], &[]);
        }
    }
    g.op("Softmax", &[&x], &[("axis", Attribute::Int(1))])
}

/// Channels of the middle, blocks and the first stride of each stage.
const STAGES: [(i64, usize, i64); 4] = [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)];

fn resnet50(g: &mut Graph) -> String {
    let x = g.conv("x", [3, 64], 7, 2, 1);
    let x = g.op("Relu", &[&x], &[]);
    let window = [
        ("kernel_shape", Attribute::Ints(&[3, 3])),
        ("strides", Attribute::Ints(&[2, 2])),
        ("pads", Attribute::Ints(&[1; 4])),
    ];
    let mut x = g.op("MaxPool", &[&x], &window);
    let mut channels = 64;
    for (width, blocks, stride) in STAGES {
        for block in 0..blocks {
            let stride = if block == 0 { stride } else { 1 };
            let y = g.conv(&x, [channels, width], 1, 1, 1);
            let y = g.op("Relu", &[&y], &[]);
            let y = g.conv(&y, [width, width], 3, stride, 1);
            let y = g.op("Relu", &[&y], &[]);
            let y = g.conv(&y, [width, 4 * width], 1, 1, 1);
            let side = if block == 0 { g.conv(&x, [channels, 4 * width], 1, stride, 1) } else { x };
            let sum = g.op("Add", &[&y, &side], &[]);
            x = g.op("Relu", &[&sum], &[]);
            channels = 4 * width;
        }
    }
    g.classifier(&x, channels)
}

/// How much wider a block's middle is, the channels it gives, how often it stands, and its first stride.
const BLOCKS: [(i64, i64, usize, i64); 7] =
    [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)];

fn mobilenetv2(g: &mut Graph) -> String {
    let x = g.conv("x", [3, 32], 3, 2, 1);
    let (mut x, mut channels) = (g.relu6(&x), 32);
    for (factor, out, times, first) in BLOCKS {
        for block in 0..times {
            let (stride, middle) = (if block == 0 { first } else { 1 }, channels * factor);
            let mut y = x.clone();
            if factor > 1 {
                let wide = g.conv(&y, [channels, middle], 1, 1, 1);
                y = g.relu6(&wide);
            }
            let deep = g.conv(&y, [middle, middle], 3, stride, middle);
            let deep = g.relu6(&deep);
            let y = g.conv(&deep, [middle, out], 1, 1, 1);
            x = if stride == 1 && channels == out { g.op("Add", &[&y, &x], &[]) } else { y };
            channels = out;
        }
    }
    let x = g.conv(&x, [channels, 1280], 1, 1, 1);
    let x = g.relu6(&x);
    g.classifier(&x, 1280)
}

/// Positions, channels, heads, channels of the inner layer, layers.
const MINILM: [i64; 5] = [128, 384, 12, 1536, 6];

fn minilm(g: &mut Graph) -> String {
    let [positions, channels, heads, inner, layers] = MINILM;
    let mut x = "x".to_string();
    for _ in 0..layers {
        let a = attention(g, &x, [positions, channels, heads]);
        let o = g.linear(&a, channels, channels);
        let sum = g.op("Add", &[&x, &o], &[]);
        x = g.norm(&sum, channels);
        let u = g.linear(&x, channels, inner);
        let h = gelu(g, &u);
        let down = g.linear(&h, inner, channels);
        let sum = g.op("Add", &[&x, &down], &[]);
        x = g.norm(&sum, channels);
    }
    x
}

fn attention(g: &mut Graph, x: &str, [positions, channels, heads]: [i64; 3]) -> String {
    let split = g.model.ints(&[1, positions, heads, channels / heads]);
    let mut part = |perm: &[i64]| {
        let y = g.linear(x, channels, channels);
        let y = g.op("Reshape", &[&y, &split], &[]);
        g.op("Transpose", &[&y], &[("perm", Attribute::Ints(perm))])
    };
    let (q, k, v) = (part(&[0, 2, 1, 3]), part(&[0, 2, 3, 1]), part(&[0, 2, 1, 3]));
    let scale = g.full(&[], ((channels / heads) as f32).sqrt().recip());
    let dots = g.op("MatMul", &[&q, &k], &[]);
    let dots = g.op("Mul", &[&dots, &scale], &[]);
    let p = g.op("Softmax", &[&dots], &[("axis", Attribute::Int(-1))]);
    let y = g.op("MatMul", &[&p, &v], &[]);
    let y = g.op("Transpose", &[&y], &[("perm", Attribute::Ints(&[0, 2, 1, 3]))]);
    let whole = g.model.ints(&[1, positions, channels]);
    g.op("Reshape", &[&y, &whole], &[])
}

/// As exporters write it out.
fn gelu(g: &mut Graph, x: &str) -> String {
    let [root, one, half] = [std::f32::consts::FRAC_1_SQRT_2, 1.0, 0.5].map(|n| g.full(&[], n));
    let e = g.op("Mul", &[x, &root], &[]);
    let e = g.op("Erf", &[&e], &[]);
    let e = g.op("Add", &[&e, &one], &[]);
    let y = g.op("Mul", &[x, &e], &[]);
    g.op("Mul", &[&y, &half], &[])
}
