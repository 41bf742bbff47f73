//! Loops and branches over whole tensors: what they carry, change and choose.

use super::{Var, Writer, is_float};

/// `{ 2 * M }` and `M` without braces.
fn bare(dim: &str) -> &str {
    dim.trim_start_matches("{ ").trim_end_matches(" }")
}

impl Writer {
    /// Keeps values of floats from growing beyond all bounds.
    fn half(&self, dtype: &str) -> String {
        if is_float(dtype) { format!(" * 0.5{dtype}") } else { String::new() }
    }

    /// A tensor of numbers, and another of its type, which may be the same.
    fn pair(&mut self) -> Option<(Var, Var)> {
        let x = self.pick(|v| !v.scalar() && v.dtype != "bool")?;
        let y = self.pick(|v| v.dtype == x.dtype && v.shape == x.shape).unwrap_or_else(|| x.clone());
        Some((x, y))
    }

    fn mutable(&mut self, base: &str, dtype: &'static str, shape: Vec<String>) -> Var {
        let var = Var { name: self.name(base), dtype, shape, mutable: true };
        self.vars.push(var.clone());
        var
    }

    /// A loop that carries two tensors and a scalar.
    pub(super) fn carrying_loop(&mut self) -> String {
        let Some((x, y)) = self.pair() else { return String::new() };
        let (dtype, first) = (x.dtype, self.literal(x.dtype));
        let mut text = String::new();
        let p = self.mutable("p", dtype, x.shape.clone());
        let q = self.mutable("p", dtype, x.shape.clone());
        let c = self.mutable("c", dtype, Vec::new());
        text += &format!("    let (mut {}, mut {}) = ({}, {});\n", p.name, q.name, x.name, y.name);
        text += &format!("    let mut {} = {first};\n", c.name);
        let i = self.name("i");
        let (head, step) = match self.random.below(5) {
            0 => (format!("    for {i} in (0..3).rev() {{\n"), String::new()),
            1 => (format!("    for {i} in 0..N {{\n"), String::new()),
            2 => {
                let holds = self.condition(0);
                text += &format!("    let mut {i} = 0;\n");
                (format!("    while {i} < 3 && {holds} {{\n"), format!("        {i} += 1;\n"))
            }
            _ => (format!("    for {i} in 0..2 {{\n"), String::new()),
        };
        text += &head;
        for _ in 0..1 + self.random.below(3) {
            text += &self.change_of_three((&p.name, &q.name, &c.name), dtype);
        }
        text + &step + "    }\n"
    }

    fn change_of_three(&mut self, (p, q, c): (&str, &str, &str), dtype: &'static str) -> String {
        let (half, literal) = (self.half(dtype), self.literal(dtype));
        match self.random.below(7) {
            0 => format!("        ({p}, {q}) = ({q}, {p}{half} + {q}{half});\n"),
            1 => format!("        {c} = sum({p}{half}) - {literal};\n"),
            2 => format!(
                "        if {c} > {literal} {{\n            {p} = {p}{half} - {q};\n        }} else {{\n            \
                 {q} = maximum({p}, {q});\n            {c} = {literal};\n        }}\n"
            ),
            3 => format!("        {p} = select({p} > {c}, {q}, {p}{half});\n"),
            4 => format!("        let r = {p}{half} * {q}{half};\n        {q} = r{half} - {p}{half};\n"),
            5 => format!("        if any({q} > {literal}) {{\n            {c} = {c}{half} + {literal};\n        }}\n"),
            _ => format!("        {q} = {q}{half} + {c};\n"),
        }
    }

    /// `if … { … } else { … }` that changes what was bound before.
    pub(super) fn changing_branch(&mut self) -> String {
        let (mut text, target) = self.target();
        let holds = self.condition(1);
        text += &format!("    if {holds} {{\n{}", self.change(&target));
        if self.chance(3) {
            let other = self.condition(1);
            text += &format!("    }} else if {other} {{\n{}", self.change(&target));
        }
        if self.chance(2) {
            text += &format!("    }} else {{\n{}", self.change(&target));
        }
        text + "    }\n"
    }

    /// Changes a tensor as a whole, in a row, or by its elements.
    fn change(&mut self, target: &Var) -> String {
        let (name, half) = (&target.name, self.half(target.dtype));
        let fits = |v: &Var| v.dtype == target.dtype && v.shape == target.shape;
        let other = self.pick(fits).unwrap_or_else(|| target.clone()).name;
        let (all, i) = (vec![".."; target.shape.len()].join(", "), self.name("i"));
        match self.random.below(4) {
            0 => format!("        {name}[[{all}]] = {};\n", self.literal(target.dtype)),
            1 => {
                self.indices.push((i.clone(), Some(target.shape[0].clone())));
                let store = self.store(target, "            ");
                self.indices.pop();
                format!("        for {i} in 0..{} {{\n{store}        }}\n", target.shape[0])
            }
            2 if target.shape.len() == 2 => {
                format!(
                    "        for {i} in 0..{} {{\n            {name}[[{i}, ..]] = {other}[[{i}, ..]];\n        }}\n",
                    target.shape[0]
                )
            }
            _ if target.dtype == "bool" => format!("        {name} = {name} ^ {other};\n"),
            _ => format!("        {name} = {name}{half} - {other};\n"),
        }
    }

    /// An unrolled loop, of which each copy has a shape of its own.
    pub(super) fn unrolled(&mut self) -> String {
        let x = self.tensor();
        let (u, i) = (self.name("u"), self.name("i"));
        let mut shape = x.shape.clone();
        shape[0] = format!("{{ 4 * ({}) }}", bare(&x.shape[0]));
        let head = format!(
            "    let mut {u} = {};\n    #[unroll]\n    for {i} in 0..2 {{\n        {u} = concat([{u}, {u}], axis = 0);\n    }}\n",
            x.name
        );
        head + &self.bind(&u, x.dtype, shape)
    }

    /// `fold`, `scan` and `reduce` of the rows of a matrix.
    pub(super) fn folds_of_rows(&mut self) -> String {
        let rows = |v: &Var| v.shape.len() == 2 && v.dtype != "bool" && !v.shape.iter().any(|d| d.starts_with('{'));
        let Some(x) = self.pick(rows) else { return String::new() };
        let (dtype, half) = (x.dtype, self.half(x.dtype));
        let (n, m, name) = (&x.shape[0], &x.shape[1], &x.name);
        let zeros = format!("zeros::<{dtype}>([{m}])");
        match self.random.below(4) {
            0 => {
                let value = format!("fold(0..{n}, {zeros}, |acc, k| maximum(acc{half}, {name}[[k, ..]]))");
                self.bind(&value, dtype, vec![m.clone()])
            }
            1 => {
                let value = format!("reduce(0..{n}, {zeros}, |k| {name}[[k, ..]], |a, c| a + c)");
                self.bind(&value, dtype, vec![m.clone()])
            }
            _ => {
                let last = self.mutable("t", dtype, vec![m.clone()]);
                let all = self.mutable("t", dtype, vec![n.clone(), m.clone()]);
                format!(
                    "    let (mut {}, mut {}) = scan(0..{n}, {zeros}, |acc, k| (acc{half} + {name}[[k, ..]], acc));\n",
                    last.name, all.name
                )
            }
        }
    }
}
