//! Writes random programs of the language: well typed, and with each index inside of its axis or read in a total form.

use crate::data::Random;

/// A program as a list of `let`s of which each may use those before it, so that some can be left out.
pub(crate) struct Program {
    pub(crate) lets: Vec<u64>,
}

/// Values that an expression may name.
struct Scope {
    /// Tensors of `[N, M]`.
    tensors: Vec<String>,
    /// Scalars.
    scalars: Vec<String>,
    /// Index variables, of which the first two range over `N` and `M`.
    indices: Vec<&'static str>,
}

impl Program {
    /// Program number `seed`.
    pub(crate) fn of(seed: u64) -> Self {
        let mut random = Random::new(seed ^ 0x009f_0a11);
        Program { lets: (0..1 + random.below(4)).map(|_| random.bits()).collect() }
    }

    /// Its text.
    pub(crate) fn text(&self, name: &str) -> String {
        let mut tensors = vec!["x".to_string(), "y".to_string()];
        let mut body = String::new();
        for (at, seed) in self.lets.iter().enumerate() {
            let mut random = Random::new(*seed);
            let value = tensor(&mut random, &tensors);
            body += &format!("    let t{at}: Tensor<f32, N, M> = {value};\n");
            tensors.push(format!("t{at}"));
        }
        let last = tensors.last().map_or("x", String::as_str);
        format!(
            "#[tensor_fn(dims(N >= 1, M >= 1))]\nfn {name}(x: Tensor<f32, N, M>, y: Tensor<f32, N, M>, v: Tensor<f32, M>, \
             q: Tensor<i32, N>, s: f32) -> Tensor<f32, N, M> {{\n{body}    {last} + x\n}}\n"
        )
    }
}

/// A whole tensor of `[N, M]`.
fn tensor(random: &mut Random, tensors: &[String]) -> String {
    let any = tensors[random.below(tensors.len())].clone();
    let other = tensors[random.below(tensors.len())].clone();
    match random.below(12) {
        0 => format!("{any} + {other} * s"),
        1 => format!("softmax({any}, axis = {})", random.pick(&["0", "1", "-1"])),
        2 => format!("{any} - max({any}, axis = 1, keepdims = true)"),
        3 => format!("relu({any}) * v"),
        4 => format!("maximum({any}, {other} / 2.0)"),
        5 => format!("{any} - mean({any}, axis = {}, keepdims = true)", random.pick(&["0", "1"])),
        _ => computed(random, tensors),
    }
}

fn computed(random: &mut Random, tensors: &[String]) -> String {
    let mut scope = Scope { tensors: tensors.to_vec(), scalars: vec!["s".into()], indices: vec!["i", "j"] };
    if random.below(2) == 0 {
        return format!("compute(|i, j| {})", scalar(random, &scope, 4));
    }
    let first = scalar(random, &scope, 3);
    scope.scalars.push("a".into());
    format!("compute(|i, j| {{ let a = {first}; {} }})", scalar(random, &scope, 3))
}

fn scalar(random: &mut Random, scope: &Scope, depth: u32) -> String {
    if depth == 0 {
        return leaf(random, scope);
    }
    let part = |random: &mut Random| scalar(random, scope, depth - 1);
    match random.below(12) {
        0 | 1 => format!("({} + {})", part(random), part(random)),
        2 => format!("({} - {})", part(random), part(random)),
        3 => format!("({} * {})", part(random), part(random)),
        4 => format!("minimum({}, {})", part(random), part(random)),
        5 => format!("abs({})", part(random)),
        6 => format!("tanh({})", part(random)),
        7 => {
            let condition = condition(random, scope);
            format!("if {condition} {{ {} }} else {{ {} }}", part(random), part(random))
        }
        8 if scope.indices.len() < 3 => reduction(random, scope, depth),
        _ => leaf(random, scope),
    }
}

fn reduction(random: &mut Random, scope: &Scope, depth: u32) -> String {
    let mut indices = scope.indices.clone();
    indices.push("k");
    let inner = Scope { tensors: scope.tensors.clone(), scalars: scope.scalars.clone(), indices };
    let value = scalar(random, &inner, depth.min(2) - 1);
    match random.below(4) {
        0 => format!("max(0..3, |k| {value})"),
        1 => format!("fold(0..3, 0.5, |acc, k| acc * 0.5 + {value})"),
        2 => format!("min(1..4, |k| {value})"),
        _ => format!("sum(0..M, |k| {value})"),
    }
}

fn leaf(random: &mut Random, scope: &Scope) -> String {
    let tensor = &scope.tensors[random.below(scope.tensors.len())];
    let (i, j) = (index(random, scope), index(random, scope));
    match random.below(11) {
        0..=2 => format!("{tensor}[[i, j]]"),
        3 => format!("{tensor}.get_or([{i}, {j}], 0.25)"),
        4 => format!("{tensor}.get_clamped([{i}, {j}])"),
        5 => format!("{tensor}.get_wrapped([{i}, j])"),
        6 => "v[[j]]".to_string(),
        7 => scope.scalars[random.below(scope.scalars.len())].clone(),
        8 => format!("({i}) as f32 * 0.125"),
        9 => "q[[i]] as f32 * 0.0625".to_string(),
        _ => random.pick(&["0.5", "1.5", "-2.0", "0.0"]).to_string(),
    }
}

fn index(random: &mut Random, scope: &Scope) -> String {
    let one = random.pick(&scope.indices);
    let other = random.pick(&scope.indices);
    match random.below(8) {
        0 => format!("{one} + 1"),
        1 => format!("{one} - {other}"),
        2 => format!("2 * {one} - 1"),
        3 => format!("{one} / 2"),
        4 => format!("({one} + {other}) % 3"),
        5 => "N - 1 - i".to_string(),
        _ => one.to_string(),
    }
}

fn condition(random: &mut Random, scope: &Scope) -> String {
    let (i, j) = (index(random, scope), index(random, scope));
    match random.below(5) {
        0 => format!("{i} < {j}"),
        1 => format!("({i}) % 2 == 0"),
        2 => "x[[i, j]] > 0.0".to_string(),
        3 => "q[[i]] < 3 && j > 0".to_string(),
        _ => format!("{i} != {j} || s > 0.5"),
    }
}
