//! Statements over whole tensors.

use super::{FLOATS, INTS, Var, Writer, is_float};

/// Elementwise operators of one value, of numbers and of floats.
const OF_NUMBERS: &[&str] = &["abs", "sign", "square"];
const OF_FLOATS: &[&str] = &[
    "floor",
    "ceil",
    "round",
    "trunc",
    "sqrt",
    "exp",
    "tanh",
    "sigmoid",
    "relu",
    "relu6",
    "elu",
    "celu",
    "selu",
    "gelu",
    "silu",
    "softplus",
    "softsign",
    "hard_sigmoid",
    "hard_swish",
    "mish",
    "leaky_relu",
    "thresholded_relu",
    "sin",
    "cos",
    "tan",
    "atan",
    "asinh",
    "erf",
    "expm1",
    "log",
    "log2",
    "log1p",
    "rsqrt",
    "reciprocal",
    "exp2",
    "sinh",
    "cosh",
];

impl Writer {
    /// `let t = …` of operators on whole tensors.
    pub(super) fn bind_operators(&mut self) -> String {
        let x = self.tensor();
        let (name, dtype, shape) = (x.name.clone(), x.dtype, x.shape.clone());
        match self.random.below(14) {
            0 => {
                let float = is_float(dtype) && self.random.below(4) > 0;
                let op = if float { self.random.pick(OF_FLOATS) } else { self.random.pick(OF_NUMBERS) };
                self.bind(&format!("{op}({name})"), dtype, shape)
            }
            1..=3 => self.binary(&x),
            4 => {
                let axis = self.random.below(shape.len());
                let op = self.random.pick(&["softmax", "log_softmax"]);
                self.bind(&format!("{op}({name}, axis = {axis})"), dtype, shape)
            }
            5 | 6 => self.reduced(&x),
            7 => {
                let to = if self.chance(2) { self.random.pick(FLOATS) } else { self.random.pick(INTS) };
                self.bind(&format!("{name} as {to}"), to, shape)
            }
            8 => {
                let turned: Vec<String> = shape.iter().rev().cloned().collect();
                self.bind(&format!("transpose({name})"), dtype, turned)
            }
            9 => {
                let flat = vec![format!("{{ {} }}", shape.join(" * "))];
                let value = format!("reshape({name}, [-1])");
                if shape.len() == 1 { self.bind(&value, dtype, shape) } else { self.bind(&value, dtype, flat) }
            }
            10 => self.joined(&x),
            11 => self.product(&x),
            12 => {
                let holds = format!("{name} > {}", self.literal(dtype));
                let other = self.pick(|v| v.dtype == dtype && v.shape == shape).unwrap_or(x);
                self.bind(&format!("select({holds}, {name}, {})", other.name), dtype, shape)
            }
            _ => {
                let (lo, hi) = (self.literal(dtype), self.literal(dtype));
                self.bind(&format!("clip({name}, {lo}, {hi})"), dtype, shape)
            }
        }
    }

    fn binary(&mut self, x: &Var) -> String {
        let (dtype, shape) = (x.dtype, x.shape.clone());
        let ops = ["+", "-", "*", "/", "%", "+", "-", "*"];
        let op = if !is_float(dtype) && self.chance(4) {
            self.random.pick(&["&", "|", "^", "<<", ">>"])
        } else {
            self.random.pick(&ops)
        };
        let last = shape.last().cloned();
        let fits = |v: &Var| v.dtype == dtype && (v.shape == shape || v.scalar() || v.shape.first() == last.as_ref());
        let y = match self.pick(|v| fits(v) && v.shape.len() <= shape.len()) {
            Some(other) if !self.chance(6) => other.name,
            _ => self.literal(dtype),
        };
        if self.chance(5) {
            let word = self.random.pick(&["maximum", "minimum", "rem_euclid"]);
            return self.bind(&format!("{word}({}, {y})", x.name), dtype, shape);
        }
        let (a, b) = if self.chance(3) { (y, x.name.clone()) } else { (x.name.clone(), y) };
        self.bind(&format!("{a} {op} {b}"), dtype, shape)
    }

    fn reduced(&mut self, x: &Var) -> String {
        let axis = self.random.below(x.shape.len());
        let op = self.random.pick(&["sum", "max", "min", "mean", "prod", "argmax", "argmin"]);
        let dtype = if op.starts_with("arg") { "i64" } else { x.dtype };
        let mut shape = x.shape.clone();
        if self.chance(3) {
            let reduced = self.bind(&format!("{op}({})", x.name), dtype, Vec::new());
            return reduced;
        }
        shape[axis] = "1".to_string();
        if self.chance(2) {
            return self.bind(&format!("{op}({}, axis = {axis}, keepdims = true)", x.name), dtype, shape);
        }
        shape.remove(axis);
        self.bind(&format!("{op}({}, axis = {axis})", x.name), dtype, shape)
    }

    fn joined(&mut self, x: &Var) -> String {
        let axis = self.random.below(x.shape.len());
        let (dtype, mut shape) = (x.dtype, x.shape.clone());
        let other = self.pick(|v| v.dtype == dtype && v.shape == shape).unwrap_or_else(|| x.clone());
        if self.chance(2) {
            shape.insert(0, "2".to_string());
            return self.bind(&format!("stack([{}, {}], axis = 0)", x.name, other.name), dtype, shape);
        }
        shape[axis] = format!("{{ 2 * {} }}", shape[axis]);
        self.bind(&format!("concat([{}, {}], axis = {axis})", x.name, other.name), dtype, shape)
    }

    /// `x · xᵀ`, or a product with a vector.
    fn product(&mut self, x: &Var) -> String {
        let (dtype, shape) = (x.dtype, x.shape.clone());
        let Some(last) = shape.last().cloned() else { return String::new() };
        if let Some(v) = self.pick(|v| v.dtype == dtype && v.shape == [last.clone()])
            && self.chance(2)
        {
            return self.bind(&format!("matmul({}, {})", x.name, v.name), dtype, shape[..shape.len() - 1].to_vec());
        }
        let first = shape[0].clone();
        self.bind(&format!("matmul({0}, transpose({0}))", x.name), dtype, vec![first.clone(), first])
    }

    /// `let t = compute(…)`, one tensor or two.
    pub(super) fn bind_compute(&mut self) -> String {
        let dtype = if self.chance(3) { self.any_dtype() } else { self.main };
        let shapes: &[&[&str]] =
            &[&["N", "M"], &["N", "M"], &["M"], &["N"], &["M", "N"], &["3", "N"], &["N", "M", "2"]];
        let shape: Vec<String> = self.random.pick(shapes).iter().map(|d| d.to_string()).collect();
        let names = ["i", "j", "l"];
        let known = self.indices.len();
        self.indices.extend(shape.iter().zip(names).map(|(d, n)| (n.to_string(), Some(d.clone()))));
        let value = self.scalar(dtype, 4);
        let second = self.chance(5).then(|| self.scalar(dtype, 2));
        self.indices.truncate(known);
        let params = names[..shape.len()].join(", ");
        if let Some(second) = second {
            let (a, b) = (self.name("t"), self.name("t"));
            let list = shape.join(", ");
            for name in [&a, &b] {
                self.vars.push(Var { name: name.clone(), dtype, shape: shape.clone(), mutable: false });
            }
            return format!("    let ({a}, {b}) = compute([{list}], |{params}| ({value}, {second}));\n");
        }
        if self.chance(5) {
            let f = self.name("f");
            let second = self.literal(dtype);
            let line = self.bind(&format!("compute(|{params}| {f}({value}, {second}))"), dtype, shape);
            return format!("    let {f} = |a, c| a * c + a;\n{line}");
        }
        self.bind(&format!("compute(|{params}| {value})"), dtype, shape)
    }

    pub(super) fn any_dtype(&mut self) -> &'static str {
        match self.random.below(5) {
            0 => "bool",
            1 | 2 => self.random.pick(FLOATS),
            _ => self.random.pick(INTS),
        }
    }

    /// `let t = …` of a scalar.
    pub(super) fn bind_scalar(&mut self) -> String {
        let dtype = if self.chance(2) { self.any_dtype() } else { self.main };
        let value = self.scalar(dtype, 3);
        self.bind(&value, dtype, Vec::new())
    }

    /// Parts of tensors: slices with ranges, steps and single indices.
    pub(super) fn parts(&mut self) -> String {
        let x = self.tensor();
        let mut shape = Vec::new();
        let mut index = Vec::new();
        for dim in &x.shape {
            match self.random.below(7) {
                0 => {
                    index.push("1..".to_string());
                    shape.push(format!("{{ {dim} - 1 }}"));
                }
                1 => index.push("0".to_string()),
                2 => index.push(format!("{dim} - 1")),
                3 => {
                    index.push(format!("(0..{dim}).step_by(2)"));
                    shape.push(format!("{{ ({dim} + 1) / 2 }}"));
                }
                4 => {
                    index.push(format!("(0..{dim}).rev()"));
                    shape.push(dim.clone());
                }
                _ => {
                    index.push("..".to_string());
                    shape.push(dim.clone());
                }
            }
        }
        let value = format!("{}[[{}]]", x.name, index.join(", "));
        let shape = shape.into_iter().map(|d: String| d.replace("{ { ", "{ ").replace(" } }", " }")).collect();
        self.bind(&value, x.dtype, shape)
    }
}
