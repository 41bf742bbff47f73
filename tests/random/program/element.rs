//! Expressions over elements: what stands in closures and in loops.

use super::{FLOATS, INTS, Var, Writer, is_float, wide};

impl Writer {
    /// A scalar expression of a dtype.
    pub(super) fn scalar(&mut self, dtype: &'static str, depth: u32) -> String {
        if depth == 0 || self.chance(7) {
            return self.leaf(dtype);
        }
        if dtype == "bool" {
            return self.condition(depth - 1);
        }
        match self.kinds(16, 22) {
            0..=5 => {
                let op = self.random.pick(&["+", "+", "-", "*", "/", "%"]);
                format!("({} {op} {})", self.scalar(dtype, depth - 1), self.scalar(dtype, depth - 1))
            }
            6 => self.call_of_two(dtype, depth),
            7 => self.call_of_one(dtype, depth),
            8 | 9 => {
                let holds = self.condition(depth - 1);
                format!(
                    "if {holds} {{ {} }} else {{ {} }}",
                    self.scalar(dtype, depth - 1),
                    self.scalar(dtype, depth - 1)
                )
            }
            10 | 11 => self.reduction(dtype, depth),
            12 => self.converted(dtype, depth),
            13 if !is_float(dtype) => {
                let op = self.random.pick(&["&", "|", "^", "<<", ">>"]);
                format!("({} {op} {})", self.scalar(dtype, depth - 1), self.scalar(dtype, depth - 1))
            }
            14 => {
                let name = self.name("a");
                let first = self.scalar(dtype, depth - 1);
                self.vars.push(Var { name: name.clone(), dtype, shape: Vec::new(), mutable: false });
                let then = self.scalar(dtype, depth - 1);
                self.vars.pop();
                format!("{{ let {name} = {first}; {then} }}")
            }
            16 => {
                let numbers = if is_float(dtype) { ["2.0", "0.5", "1.0"] } else { ["2", "1", "3"] };
                let (op, number) = (self.random.pick(&["+", "-", "*"]), self.random.pick(&numbers));
                format!("({} {op} {number})", self.scalar(dtype, depth - 1))
            }
            17 => {
                let word = self.random.pick(&["maximum", "minimum"]);
                format!("({}).{word}({})", self.scalar(dtype, depth - 1), self.scalar(dtype, depth - 1))
            }
            18 if dtype == self.main => self.call_of_elements(depth),
            19 => self.two_at_once(dtype, depth),
            _ => self.leaf(dtype),
        }
    }

    /// A reduction to two values.
    fn two_at_once(&mut self, dtype: &'static str, depth: u32) -> String {
        let (k, a, b) = (self.name("k"), self.name("a"), self.name("a"));
        let (word, range) = (self.random.pick(&["sum", "max", "min"]), self.random.pick(&["0..3", "0..N", "1..M"]));
        self.indices.push((k.clone(), range.split_once("..").map(|(_, end)| end.to_string())));
        let (x, y) = (self.scalar(dtype, depth.min(2) - 1), self.scalar(dtype, depth.min(2) - 1));
        self.indices.pop();
        format!("{{ let ({a}, {b}) = {word}({range}, |{k}| ({x}, {y})); {a} - {b} }}")
    }

    fn call_of_two(&mut self, dtype: &'static str, depth: u32) -> String {
        let ints = ["minimum", "maximum", "div_euclid", "rem_euclid"];
        let name = if is_float(dtype) { self.random.pick(&["minimum", "maximum"]) } else { self.random.pick(&ints) };
        format!("{name}({}, {})", self.scalar(dtype, depth - 1), self.scalar(dtype, depth - 1))
    }

    fn call_of_one(&mut self, dtype: &'static str, depth: u32) -> String {
        let x = self.scalar(dtype, depth - 1);
        let floats = [
            "abs", "tanh", "exp", "sqrt", "floor", "square", "sigmoid", "relu", "sin", "cos", "log1p", "round", "sign",
        ];
        let name =
            if is_float(dtype) { self.random.pick(&floats) } else { self.random.pick(&["abs", "sign", "square"]) };
        if name == "log1p" { format!("log1p(abs({x}))") } else { format!("{name}({x})") }
    }

    /// A value of another dtype, or an index, `as` this one.
    fn converted(&mut self, dtype: &'static str, depth: u32) -> String {
        if self.chance(2) {
            return format!("({}) as {dtype}", self.index());
        }
        let from = if self.chance(2) { self.random.pick(FLOATS) } else { self.random.pick(INTS) };
        format!("({}) as {dtype}", self.scalar(from, depth - 1))
    }

    fn reduction(&mut self, dtype: &'static str, depth: u32) -> String {
        let k = self.name("k");
        let (range, below) = self.range();
        let range = range.as_str();
        self.indices.push((k.clone(), below));
        if wide() && self.chance(8) {
            let l = self.name("l");
            self.indices.push((l.clone(), Some("2".to_string())));
            let value = self.scalar(dtype, depth.min(2) - 1);
            self.indices.truncate(self.indices.len() - 2);
            let word = self.random.pick(&["sum", "max", "min", "prod"]);
            return format!("{word}({range}, 0..2, |{k}, {l}| {value})");
        }
        let value = self.scalar(dtype, depth.min(2) - 1);
        let second = self.literal(dtype);
        self.indices.pop();
        match self.random.below(9) {
            0 => format!("max({range}, |{k}| {value})"),
            1 => format!("min({range}, |{k}| {value})"),
            2 => format!("prod(0..2, |{k}| {value})").replace("0..2", range),
            3 => format!("fold({range}, {second}, |acc, {k}| acc + {value})"),
            4 if is_float(dtype) => format!("mean(0..3, |{k}| {value})").replace("0..3", range),
            5 => format!("(argmax(0..3, |{k}| {value})) as {dtype}").replace("0..3", range),
            6 => {
                let zero = if is_float(dtype) { format!("0.0{dtype}") } else { format!("0{dtype}") };
                format!("reduce({range}, {zero}, |{k}| {value}, |a, c| a + c)")
            }
            _ => format!("sum({range}, |{k}| {value})"),
        }
    }

    /// A range, and the extent below which it ends, if that is known.
    fn range(&mut self) -> (String, Option<String>) {
        let bounded: Vec<(String, String)> =
            self.indices.iter().filter_map(|(name, below)| Some((name.clone(), below.clone()?))).collect();
        if wide() && !bounded.is_empty() && self.chance(5) {
            let (i, dim) = bounded[self.random.below(bounded.len())].clone();
            let text = if self.chance(2) { format!("0..{i}") } else { format!("{i}..{dim}") };
            return (text, Some(dim));
        }
        let range = self.random.pick(&["0..3", "1..4", "0..M", "0..N", "2..2"]);
        (range.to_string(), range.strip_prefix("0..").map(str::to_string))
    }

    pub(super) fn condition(&mut self, depth: u32) -> String {
        let main = self.main;
        match self.random.below(8) {
            0 => format!("{} < {}", self.index(), self.index()),
            1 => format!("({}) % 2 == 0", self.index()),
            2 if depth > 0 => format!("{} && {}", self.condition(depth - 1), self.condition(depth - 1)),
            3 if depth > 0 => format!("({} || {})", self.condition(depth - 1), self.condition(depth - 1)),
            4 if depth > 0 => format!("!({})", self.condition(depth - 1)),
            5 => {
                let k = self.name("k");
                let word = self.random.pick(&["any", "all"]);
                self.indices.push((k.clone(), Some("N".to_string())));
                let inner = self.condition(0);
                self.indices.pop();
                format!("{word}(0..N, |{k}| {inner})")
            }
            _ => {
                let op = self.random.pick(&["<", "<=", ">", ">=", "==", "!="]);
                let depth = depth.min(1);
                format!("{} {op} {}", self.scalar(main, depth), self.scalar(main, depth))
            }
        }
    }

    /// A literal, a scalar, or an element of a tensor.
    fn leaf(&mut self, dtype: &'static str) -> String {
        match self.random.below(8) {
            0 => self.literal(dtype),
            1 | 2 => match self.pick(|v| v.scalar() && v.dtype == dtype) {
                Some(var) => var.name,
                None => self.literal(dtype),
            },
            _ => {
                let tensor = self.pick(|v| !v.scalar() && v.dtype == dtype).or_else(|| self.pick(|v| !v.scalar()));
                let Some(tensor) = tensor else { return self.literal(dtype) };
                let element = self.element(&tensor);
                if tensor.dtype == dtype { element } else { format!("({element} as {dtype})") }
            }
        }
    }

    /// An element: at indices that are known to be inside, or in a total form.
    pub(super) fn element(&mut self, tensor: &Var) -> String {
        let inside: Option<Vec<String>> = tensor.shape.iter().map(|dim| self.index_below(dim)).collect();
        if let Some(inside) = inside
            && !self.chance(3)
        {
            return format!("{}[[{}]]", tensor.name, inside.join(", "));
        }
        let index: Vec<String> = tensor.shape.iter().map(|_| self.index()).collect();
        let index = index.join(", ");
        let dtype = tensor.dtype;
        match self.random.below(5) {
            0 => format!("{}.get_clamped([{index}])", tensor.name),
            1 => format!("{}.get_wrapped([{index}])", tensor.name),
            2 => format!("{}.get_reflected([{index}])", tensor.name),
            3 => {
                let at: Vec<String> = tensor.shape.iter().map(|_| self.index()).collect();
                let inside: Vec<String> =
                    at.iter().zip(&tensor.shape).map(|(i, d)| format!("{i} >= 0 && {i} < {d}")).collect();
                let zero = self.literal(dtype);
                format!("(if {} {{ {}[[{}]] }} else {{ {zero} }})", inside.join(" && "), tensor.name, at.join(", "))
            }
            _ => {
                let other = self.literal(dtype);
                format!("{}.get_or([{index}], {other})", tensor.name)
            }
        }
    }

    /// An index that lies below an extent, if there is one.
    pub(super) fn index_below(&mut self, dim: &str) -> Option<String> {
        let fits: Vec<String> = self
            .indices
            .iter()
            .filter(|(_, below)| below.as_deref() == Some(dim))
            .map(|(name, _)| name.clone())
            .collect();
        if let Ok(n) = dim.parse::<usize>()
            && n > 0
            && (fits.is_empty() || self.chance(4))
        {
            return Some(self.random.below(n).to_string());
        }
        if fits.is_empty() {
            return None;
        }
        let at = fits[self.random.below(fits.len())].clone();
        Some(if self.chance(6) { format!("{dim} - 1 - {at}") } else { at })
    }

    /// Any index value.
    pub(super) fn index(&mut self) -> String {
        let any = |w: &mut Self| match w.indices.len() {
            0 => "1".to_string(),
            n => w.indices[w.random.below(n)].0.clone(),
        };
        let (one, other) = (any(self), any(self));
        match self.kinds(10, 16) {
            13 => format!("{one} * {other}"),
            14 => format!("({one} + N) / 2"),
            10 => format!("({one} - {other}) / 2"),
            11 => format!("M * {one} + {other}"),
            12 => self.index_of_data().unwrap_or(one),
            0 => format!("{one} + 1"),
            1 => format!("{one} - {other}"),
            2 => format!("2 * {one} - 1"),
            3 => format!("{one} / 2"),
            4 => format!("({one} + {other}) % 3"),
            5 => "N - 1".to_string(),
            6 => format!("({one} - {other}).rem_euclid(3)"),
            7 => format!("-{one}"),
            _ => one,
        }
    }
}
