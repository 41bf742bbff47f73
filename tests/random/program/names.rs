//! Names: tuples, values that hide others, constants.

use super::{Var, Writer, is_float};

impl Writer {
    /// Several names at once, some of them in a tuple of their own.
    pub(super) fn tuple(&mut self) -> String {
        let (x, y) = (self.tensor(), self.tensor());
        let dtype = self.main;
        let value = self.scalar(dtype, 2);
        let of = |name: String, like: &Var| Var { name, mutable: false, ..like.clone() };
        let (a, b) = (of(self.name("t"), &x), of(self.name("t"), &y));
        let c = Var { name: self.name("a"), dtype, shape: Vec::new(), mutable: false };
        let line = match self.random.below(3) {
            0 => format!("    let ({}, ({}, {})) = ({}, ({}, {value}));\n", a.name, b.name, c.name, x.name, y.name),
            1 => {
                let p = self.name("p");
                format!(
                    "    let {p} = (({}, {}), {value});\n    let (({}, {}), {}) = {p};\n",
                    x.name, y.name, a.name, b.name, c.name
                )
            }
            _ => format!("    let ({}, {}, {}) = ({}, {}, {value});\n", a.name, b.name, c.name, x.name, y.name),
        };
        self.vars.extend([a, b, c]);
        line
    }

    /// A value that hides the one it is made of.
    pub(super) fn shadow(&mut self) -> String {
        let Some(x) = self.pick(|v| !v.mutable && v.dtype != "bool") else { return String::new() };
        let (name, dtype) = (&x.name, x.dtype);
        let literal = self.literal(dtype);
        let value = match self.random.below(3) {
            0 => format!("{name} - {literal}"),
            1 => format!("maximum({name}, {literal})"),
            _ => format!("{{ let {name} = {name} + {literal}; {name} * {literal} }}"),
        };
        format!("    let {name}: {} = {value};\n", x.ty())
    }

    /// Constants: a scalar, or a tensor of three.
    pub(super) fn constant(&mut self) -> String {
        let (name, dtype) = (self.name("C"), self.main);
        let numbers = ["0.5", "1.5", "2.0", "0.0", "0.25", "3.0"];
        let mut one = || {
            if is_float(dtype) { self.random.pick(&numbers) } else { self.random.pick(&["0", "1", "2", "5", "100"]) }
        };
        let three = [one(), one(), one()];
        let shape = if self.chance(3) { Vec::new() } else { vec!["3".to_string()] };
        let var = Var { name, dtype, shape, mutable: false };
        let value = if var.scalar() { three[0].to_string() } else { format!("[{}]", three.join(", ")) };
        let line = format!("    const {}: {} = {value};\n", var.name, var.ty());
        self.vars.push(var);
        line
    }
}
