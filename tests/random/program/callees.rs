//! Tensor functions that programs call: their names begin with the program's.

use super::{Var, Writer, is_float};

/// The functions of a program, in the order in which their names are written here.
const NAMES: [&str; 6] = ["scaled", "near", "lesser", "totals", "put", "spread"];

/// Their items, for programs of a dtype.
pub(super) fn items(program: &str, dtype: &str) -> Vec<(String, String)> {
    let other = if dtype == "i64" { "f32" } else { "i64" };
    let (zero, half) = if is_float(dtype) { ("0.0", " * 0.5") } else { ("0", "") };
    let name = |at: usize| format!("{program}_{}", NAMES[at]);
    let texts = [
        format!(
            "#[tensor_fn(T = [{dtype}, {other}])]\npub fn {}<T>(a: T, x: Tensor<T, K>) -> Tensor<T, K> {{\n    a * x + x\n}}\n",
            name(0)
        ),
        format!(
            "#[tensor_fn(K = [2, 3])]\npub fn {}<const K: usize>(x: Tensor<{dtype}, D>) -> Tensor<{dtype}, D> {{\n    \
             compute(|i| sum(0..K, |k| x.get_or([i + k - 1], {zero})))\n}}\n",
            name(1)
        ),
        format!(
            "#[tensor_fn]\npub fn {}(a: {dtype}, c: {dtype}) -> {dtype} {{\n    let (mut r, mut k) = (c, 0);\n    \
             while k < 3 && a < r {{\n        r = r{half} - a;\n        k += 1;\n    }}\n    if r < a {{ r }} else {{ a }}\n}}\n",
            name(2)
        ),
        format!(
            "#[tensor_fn]\npub fn {}(x: Tensor<{dtype}, D, E>) -> (Tensor<{dtype}, E>, {dtype}) {{\n    \
             (sum(x, axis = 0), sum(x))\n}}\n",
            name(3)
        ),
        format!(
            "#[tensor_fn]\npub fn {}(s: &mut Tensor<{dtype}, D>, x: Tensor<{dtype}, D>) {{\n    for i in 0..D {{\n        \
             if x[[i]] > {zero} {{\n            s[[i]] = s[[i]]{half} + x[[i]];\n        }}\n    }}\n}}\n",
            name(4)
        ),
        format!(
            "#[tensor_fn(dims(D >= 1))]\npub fn {}(x: Tensor<{dtype}, D>, to: usize) -> Tensor<{dtype}, D> {{\n    \
             assert!(to < D, \"it is inside\");\n    compute(|i| if i > to {{ x[[to]] }} else {{ x[[i]] }})\n}}\n",
            name(5)
        ),
    ];
    (0..NAMES.len()).map(name).zip(texts).collect()
}

impl Writer {
    fn callee(&self, at: usize) -> String {
        format!("self::{}_{}", self.program, NAMES[at])
    }

    /// A call with whole tensors.
    pub(super) fn call(&mut self) -> String {
        let main = self.main;
        let Some(x) = self.pick(|v| v.dtype == main && v.shape.len() == 1) else { return String::new() };
        let (name, shape) = (x.name.clone(), x.shape.clone());
        match self.random.below(6) {
            0 => {
                let a = self.scalar(main, 1);
                let value = format!("{}({a}, {name})", self.callee(0));
                self.bind(&value, main, shape)
            }
            1 | 2 => {
                let value = format!("{}::<{}>({name})", self.callee(1), self.random.pick(&["2", "3"]));
                self.bind(&value, main, shape)
            }
            3 => {
                let Some(x) = self.pick(|v| v.dtype == main && v.shape.len() == 2) else { return String::new() };
                let (rows, all) = (self.name("t"), self.name("t"));
                let shape = vec![x.shape[1].clone()];
                self.vars.push(Var { name: rows.clone(), dtype: main, shape, mutable: false });
                self.vars.push(Var { name: all.clone(), dtype: main, shape: Vec::new(), mutable: false });
                format!("    let ({rows}, {all}) = {}({});\n", self.callee(3), x.name)
            }
            4 => {
                let Some(s) = self.pick(|v| v.dtype == main && v.mutable && v.shape == shape) else {
                    return String::new();
                };
                format!("    {}(&mut {}, {name});\n", self.callee(4), s.name)
            }
            _ => {
                let to = self.random.pick(&["0", "N - 1", "M - 1"]);
                let value = format!("{}({name}, {to})", self.callee(5));
                self.bind(&value, main, shape)
            }
        }
    }

    /// A call with elements.
    pub(super) fn call_of_elements(&mut self, depth: u32) -> String {
        let main = self.main;
        format!("{}({}, {})", self.callee(2), self.scalar(main, depth - 1), self.scalar(main, depth - 1))
    }
}
