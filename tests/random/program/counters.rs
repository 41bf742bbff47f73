//! Index values: counters of loops, names that are bound to one, those that a branch or data chooses.

use super::{Var, Writer};

impl Writer {
    /// A loop over elements that goes on as long as a condition holds, with a counter that only grows.
    pub(super) fn counter_loop(&mut self) -> String {
        let (mut text, target) = self.target();
        let (count, known) = (self.name("n"), (self.indices.len(), self.vars.len()));
        let (carry, carried) = self.carried_scalar();
        let (dim, first) = (target.shape[0].clone(), self.random.pick(&["0", "0", "1"]));
        self.indices.push((count.clone(), Some(dim.clone())));
        let more = if self.chance(2) { format!(" && {}", self.condition(1)) } else { String::new() };
        text += &format!("{carry}    let mut {count} = {first};\n    while {count} < {dim}{more} {{\n");
        for _ in 0..1 + self.random.below(3) {
            text += &self.loop_statement(&target, &carried, "        ");
        }
        text += &match self.random.below(4) {
            0 => format!("        {count} = {count} + 2;\n"),
            1 => {
                let holds = self.condition(1);
                format!(
                    "        if {holds} {{\n            {count} += 1;\n        }} else {{\n            {count} += 2;\n        }}\n"
                )
            }
            _ => format!("        {count} += 1;\n"),
        };
        self.indices.truncate(known.0);
        self.vars.truncate(known.1 + 1);
        self.indices.push((count, None));
        text + "    }\n"
    }

    /// Binds an index value in a loop, and uses it where conditions say that it lies inside.
    pub(super) fn index_statement(&mut self, target: &Var, pad: &str) -> String {
        let name = self.name("n");
        let value = match self.random.below(4) {
            0 => {
                let holds = self.condition(1);
                format!("if {holds} {{ {} }} else {{ {} }}", self.index(), self.index())
            }
            1 => self.index_of_data().unwrap_or_else(|| self.index()),
            _ => self.index(),
        };
        self.indices.push((name.clone(), None));
        format!("{pad}let {name} = {value};\n{}", self.guarded_store(target, &name, pad))
    }

    /// A store at an index of which only conditions around it say that it lies inside.
    fn guarded_store(&mut self, target: &Var, name: &str, pad: &str) -> String {
        let dim = target.shape[0].clone();
        let beside = self.condition(1);
        let guard = match self.random.below(6) {
            0 => format!("!({name} < 0 || {name} >= {dim})"),
            1 => format!("{name} >= 0 && ({beside}) && {name} < {dim}"),
            2 => format!("!({name} < 0 || {beside} || {name} >= {dim})"),
            3 => format!("{beside} && {name} < {dim} && 0 <= {name}"),
            _ => format!("{name} >= 0 && {name} < {dim}"),
        };
        let last = self.indices.len();
        self.indices.push((name.to_string(), Some(dim)));
        let store = self.store(target, &format!("{pad}    "));
        self.indices.truncate(last);
        format!("{pad}if {guard} {{\n{store}{pad}}}\n")
    }

    /// An element of integers as an index value.
    pub(super) fn index_of_data(&mut self) -> Option<String> {
        let places = self.pick(|v| v.shape.len() == 1 && ["i32", "u8", "i8", "u16"].contains(&v.dtype))?;
        let at = self.index_below(&places.shape[0])?;
        Some(format!("({}[[{at}]] as isize)", places.name))
    }
}
