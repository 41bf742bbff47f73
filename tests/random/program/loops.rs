//! Statements that loop, branch and store.

use super::{Var, Writer, is_float};

impl Writer {
    /// A tensor that may be stored into: one that is there, or a new one of a line of its own.
    pub(super) fn target(&mut self) -> (String, Var) {
        if let Some(var) = self.pick(|v| v.mutable && !v.scalar())
            && self.chance(2)
        {
            return (String::new(), var);
        }
        let like = self.tensor();
        let name = self.name("m");
        let var = Var { name: name.clone(), mutable: true, ..like.clone() };
        self.vars.push(var.clone());
        let plain = like.shape.iter().all(|d| !d.starts_with('{'));
        if plain && self.chance(2) {
            let line = format!("    let mut {name} = zeros::<{}>([{}]);\n", like.dtype, like.shape.join(", "));
            return (line, var);
        }
        (format!("    let mut {name} = {};\n", like.name), var)
    }

    /// A nest of loops over elements with stores, conditions and scalars that are carried.
    pub(super) fn element_loop(&mut self) -> String {
        let (mut text, target) = self.target();
        let known = (self.indices.len(), self.vars.len());
        let (carry, carried) = self.carried_scalar();
        text += &carry;
        let mut pad = "    ".to_string();
        let axes: Vec<String> = target.shape.clone();
        for dim in &axes {
            let i = self.name("i");
            let range = match self.random.below(7) {
                0 => format!("(0..{dim}).rev()"),
                1 => format!("(0..{dim}).step_by(2)"),
                2 => format!("1..{dim}"),
                _ => format!("0..{dim}"),
            };
            text += &format!("{pad}for {i} in {range} {{\n");
            pad += "    ";
            self.indices.push((i, Some(dim.clone())));
        }
        for _ in 0..1 + self.random.below(3) {
            text += &self.loop_statement(&target, &carried, &pad);
        }
        for _ in &axes {
            pad.truncate(pad.len() - 4);
            text += &format!("{pad}}}\n");
        }
        self.indices.truncate(known.0);
        // The scalar that is carried stays.
        self.vars.truncate(known.1 + 1);
        text
    }

    pub(super) fn carried_scalar(&mut self) -> (String, Var) {
        let (name, dtype) = (self.name("c"), self.main);
        let line = format!("    let mut {name} = {};\n", self.literal(dtype));
        let var = Var { name, dtype, shape: Vec::new(), mutable: true };
        self.vars.push(var.clone());
        (line, var)
    }

    pub(super) fn loop_statement(&mut self, target: &Var, carried: &Var, pad: &str) -> String {
        match self.kinds(8, 11) {
            8 | 9 => self.index_statement(target, pad),
            0 | 1 => {
                let value = self.scalar(carried.dtype, 2);
                let op = self.random.pick(&["=", "+=", "-="]);
                format!("{pad}{} {op} {value};\n", carried.name)
            }
            2 => {
                let (holds, deeper) = (self.condition(1), format!("{pad}    "));
                let then = self.store(target, &deeper);
                if self.chance(2) {
                    return format!("{pad}if {holds} {{\n{then}{pad}}}\n");
                }
                let other = self.store(target, &deeper);
                format!("{pad}if {holds} {{\n{then}{pad}}} else {{\n{other}{pad}}}\n")
            }
            3 => {
                let k = self.name("k");
                self.indices.push((k.clone(), Some("3".to_string())));
                let inner = self.store(target, &format!("{pad}    "));
                self.indices.pop();
                let unroll = if self.chance(2) { format!("{pad}#[unroll]\n") } else { String::new() };
                format!("{unroll}{pad}for {k} in 0..3 {{\n{inner}{pad}}}\n")
            }
            4 => {
                let name = self.name("a");
                let value = self.scalar(target.dtype, 2);
                self.vars.push(Var { name: name.clone(), dtype: target.dtype, shape: Vec::new(), mutable: false });
                format!("{pad}let {name} = {value};\n")
            }
            5 if target.shape.len() == 1 => {
                let at = |w: &mut Self| w.index_below(&target.shape[0]).unwrap_or_else(|| "0".to_string());
                let (a, b) = (at(self), at(self));
                let t = &target.name;
                format!("{pad}({t}[[{a}]], {t}[[{b}]]) = ({t}[[{b}]], {t}[[{a}]]);\n")
            }
            _ => self.store(target, pad),
        }
    }

    pub(super) fn store(&mut self, target: &Var, pad: &str) -> String {
        let inside: Vec<String> =
            target.shape.iter().map(|d| self.index_below(d).unwrap_or_else(|| "0".to_string())).collect();
        let value = self.scalar(target.dtype, 3);
        let ops = if target.dtype == "bool" { ["=", "=", "="] } else { ["=", "+=", "-="] };
        let op = self.random.pick(&ops);
        format!("{pad}{}[[{}]] {op} {value};\n", target.name, inside.join(", "))
    }

    /// A loop that counts by itself.
    pub(super) fn while_loop(&mut self) -> String {
        let (mut text, target) = self.target();
        let (count, known) = (self.name("w"), (self.indices.len(), self.vars.len()));
        let (carry, carried) = self.carried_scalar();
        let turns = 1 + self.random.below(4);
        text += &carry;
        text += &format!("    let mut {count} = 0;\n    while {count} < {turns} {{\n");
        self.indices.push((count.clone(), Some(turns.to_string())));
        for _ in 0..1 + self.random.below(2) {
            text += &self.loop_statement(&target, &carried, "        ");
        }
        self.indices.truncate(known.0);
        self.vars.truncate(known.1 + 1);
        text + &format!("        {count} += 1;\n    }}\n")
    }

    /// A loop over whole tensors.
    pub(super) fn graph_loop(&mut self) -> String {
        let (mut text, target) = self.target();
        let i = self.name("i");
        let dim = target.shape[0].clone();
        let rows = if target.shape.len() == 1 { "..".to_string() } else { vec![".."; target.shape.len()].join(", ") };
        text += &format!("    for {i} in 0..{} {{\n", if dim.starts_with('{') { "2" } else { &dim });
        let name = &target.name;
        let other = self.pick(|v| v.dtype == target.dtype && v.shape == target.shape).unwrap_or(target.clone());
        let half = if is_float(target.dtype) { format!(" * 0.5{}", target.dtype) } else { String::new() };
        text += &match self.random.below(4) {
            0 => format!("        {name} = {name}{half} - {};\n", other.name),
            1 => format!("        {name}[[{rows}]] = {}{half};\n", other.name),
            2 if target.shape.len() == 2 => {
                format!("        {name}[[{i}, ..]] = maximum({name}[[{i}, ..]], {}[[{i}, ..]]);\n", other.name)
            }
            _ => format!("        {name} = maximum({name}, {}){half};\n", other.name),
        };
        text + "    }\n"
    }

    /// `let t = if … { … } else { … };` of tensors or scalars.
    pub(super) fn branch(&mut self) -> String {
        let x = self.tensor();
        let fits = |v: &Var| v.dtype == x.dtype && v.shape == x.shape;
        let (a, b) = (self.pick(fits).unwrap_or(x.clone()), self.pick(fits).unwrap_or(x.clone()));
        let holds = self.condition(1);
        let op = if x.dtype == "bool" { "^" } else { self.random.pick(&["+", "-", "*"]) };
        let value = format!("if {holds} {{ {} {op} {} }} else {{ {} }}", a.name, b.name, b.name);
        self.bind(&value, x.dtype, x.shape.clone())
    }

    /// An assignment to a whole tensor, to a part of one, or to two at once.
    pub(super) fn assign(&mut self) -> String {
        let (text, target) = self.target();
        let fits = |v: &Var| v.dtype == target.dtype && v.shape == target.shape;
        let other = self.pick(fits).unwrap_or(target.clone());
        let second = self.pick(|v| fits(v) && v.mutable && v.name != target.name);
        let all = vec![".."; target.shape.len()].join(", ");
        let line = match (self.random.below(4), second) {
            (0, Some(second)) => format!("    ({0}, {1}) = ({1}, {0});\n", target.name, second.name),
            (1, _) => format!("    {}[[{all}]] = {};\n", target.name, self.literal(target.dtype)),
            (2, _) => {
                let first = self.random.pick(&["0", "1..", "..", "N - 1"]);
                let rest = vec![".."; target.shape.len() - 1];
                let index = [vec![first], rest].concat().join(", ");
                format!("    {0}[[{index}]] = {1}[[{index}]];\n", target.name, other.name)
            }
            _ => format!("    {}[[{all}]] = {} + {};\n", target.name, target.name, other.name),
        };
        text + &line
    }

    /// `fold` and `scan` outside of closures.
    pub(super) fn folds(&mut self) -> String {
        let Some(x) = self.pick(|v| v.shape.len() == 1 && !v.shape[0].starts_with('{') && v.dtype != "bool") else {
            return self.match_shape();
        };
        let (dim, dtype) = (x.shape[0].clone(), x.dtype);
        let first = self.literal(dtype);
        self.indices.push(("k".to_string(), Some(dim.clone())));
        self.vars.push(Var { name: "acc".to_string(), dtype, shape: Vec::new(), mutable: false });
        let next = self.scalar(dtype, 2);
        let out = self.scalar(dtype, 1);
        self.vars.pop();
        self.indices.pop();
        if self.chance(2) {
            return self.bind(&format!("fold(0..{dim}, {first}, |acc, k| {next})"), dtype, Vec::new());
        }
        let (last, all) = (self.name("t"), self.name("t"));
        self.vars.push(Var { name: last.clone(), dtype, shape: Vec::new(), mutable: false });
        self.vars.push(Var { name: all.clone(), dtype, shape: vec![dim.clone()], mutable: false });
        format!("    let ({last}, {all}) = scan(0..{dim}, {first}, |acc, k| ({next}, {out}));\n")
    }

    fn match_shape(&mut self) -> String {
        let x = self.tensor();
        let value = format!("match_shape({}, [{}])", x.name, x.shape.join(", ").replace(['{', '}'], ""));
        self.bind(&value, x.dtype, x.shape.clone())
    }

    /// Stores at places that data decides.
    pub(super) fn histogram(&mut self) -> String {
        let (name, i) = (self.name("h"), self.name("i"));
        let Some(places) = self.pick(|v| v.dtype == "u8" && v.shape == ["N"]) else { return String::new() };
        let value = self.literal("i32");
        self.vars.push(Var { name: name.clone(), dtype: "i32", shape: vec!["256".to_string()], mutable: true });
        format!(
            "    let mut {name} = zeros::<i32>([256]);\n    for {i} in 0..N {{\n        \
             {name}[[{}[[{i}]]]] += {value};\n    }}\n",
            places.name
        )
    }
}
