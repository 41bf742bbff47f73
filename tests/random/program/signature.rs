//! Parameters of a random program, and what they are given.

use tenfold_ir::arith::Sym;
use tenfold_ir::{DType, Scalar};

use super::{Var, wide, written};
use crate::case::{Given, Setting};
use crate::data::{Random, ordinary, special};
use crate::interpret::Actual;

/// How a parameter is passed.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Input,
    Strided,
    State,
    Index,
}

struct Param {
    kind: Kind,
    var: Var,
}

/// The head of a program.
pub(crate) struct Signature {
    params: Vec<Param>,
    facts: &'static str,
    /// Whether every back end is to give the same bits.
    strict: bool,
    /// What N and M are at least.
    least: i64,
}

/// The greatest value of the index parameter.
const MOST: i64 = 4;

/// dtypes of programs; floats are the likeliest.
const DTYPES: &[&str] =
    &["f32", "f32", "f32", "f64", "f16", "bf16", "i32", "i32", "i64", "u8", "i8", "u32", "u16", "i16", "u64"];

impl Signature {
    /// The head of program number `seed`.
    pub(crate) fn of_seed(seed: u64) -> Self {
        Self::of(&mut Random::new(seed ^ 0x51))
    }

    fn of(random: &mut Random) -> Self {
        let dtype = random.pick(if wide() { DTYPES } else { &DTYPES[..13] });
        let (facts, least) = random.pick(&[
            ("", 0),
            ("dims(N >= 1, M >= 1)", 1),
            ("dims(N >= 1, M >= 1)", 1),
            ("dims(N >= 1, M >= 1, N <= 8)", 1),
            ("dims(N <= 6, M <= 6)", 0),
            ("dims(N >= 2, M >= 1, M % 2 == 0)", 2),
        ]);
        let of = |name: &str, dtype: &'static str, shape: &[&str], kind: Kind| Param {
            kind,
            var: Var {
                name: name.to_string(),
                dtype,
                shape: shape.iter().map(|d| d.to_string()).collect(),
                mutable: kind == Kind::State,
            },
        };
        let mut params = vec![of("x", dtype, &["N", "M"], Kind::Input)];
        let second = if random.below(6) == 0 { Kind::Strided } else { Kind::Input };
        params.push(of("y", dtype, &["N", "M"], second));
        params.push(of("v", dtype, &["M"], Kind::Input));
        params.push(of("q", random.pick(&["i32", "i64", "u8", "i8"]), &["N"], Kind::Input));
        params.push(of("b", "u8", &["N"], Kind::Input));
        params.push(of("s", dtype, &[], Kind::Input));
        if random.below(2) == 0 {
            params.push(of("st", dtype, random.pick(&[&["N", "M"][..], &["M"], &["3", "M"], &[]]), Kind::State));
        }
        if random.below(3) == 0 {
            // The interpreters' arguments are told apart by this name.
            params.push(of("at", "usize", &[], Kind::Index));
        }
        Signature { params, facts, strict: wide() && random.below(8) == 0, least }
    }

    pub(super) fn dtype(&self) -> &'static str {
        self.params[0].var.dtype
    }

    /// The values a program starts with. A state of rank 0 reads like a scalar.
    pub(super) fn vars(&self) -> Vec<Var> {
        self.params.iter().filter(|p| p.kind != Kind::Index).map(|p| p.var.clone()).collect()
    }

    pub(super) fn indices(&self) -> Vec<(String, Option<String>)> {
        self.params.iter().filter(|p| p.kind == Kind::Index).map(|p| (p.var.name.clone(), None)).collect()
    }

    /// The program of this body: the newest values are its results.
    pub(super) fn text(&self, name: &str, body: &str, vars: &[Var]) -> String {
        let params: Vec<String> = self.params.iter().map(declared).collect();
        let made = &vars[self.vars().len()..];
        let results: Vec<&Var> = if made.is_empty() { vec![&vars[0]] } else { made.iter().rev().take(3).collect() };
        let types: Vec<String> = results.iter().map(|v| v.ty()).collect();
        let names: Vec<String> = results.iter().map(|v| v.name.clone()).collect();
        let (ty, value) = match (types.as_slice(), names.as_slice()) {
            ([ty], [name]) => (ty.clone(), name.clone()),
            (types, names) => (format!("({})", types.join(", ")), format!("({})", names.join(", "))),
        };
        let strict = if self.strict { "numerics = \"strict\"" } else { "" };
        let said: Vec<&str> = [self.facts, strict].into_iter().filter(|text| !text.is_empty()).collect();
        let head = if said.is_empty() { String::new() } else { format!("({})", said.join(", ")) };
        let index = self.params.iter().any(|p| p.kind == Kind::Index);
        let known = if index { format!("    assert!(at <= {MOST}, \"it is small\");\n") } else { String::new() };
        format!("#[tensor_fn{head}]\npub fn {name}({}) -> {ty} {{\n{known}{body}    {value}\n}}\n", params.join(", "))
    }

    /// A call of the program with arguments that are read, its states and results written. Dims are those of buffers.
    pub(crate) fn call(&self, name: &str, actual: &[Actual]) -> String {
        let (mut read, mut args, mut states) = (String::new(), Vec::new(), String::new());
        let (n, m) = (self.extents(actual), self.operands());
        let mut next = 0;
        for (at, param) in self.params.iter().enumerate() {
            let first = next;
            next += operands(param);
            let Var { dtype, shape, .. } = &param.var;
            let dims: Vec<i64> = shape.iter().map(|d| extent(d, n.0, n.1)).collect();
            let count = match (&actual[first], param.kind) {
                (Actual::Index(value), _) => {
                    args.push(format!("{value}"));
                    continue;
                }
                (Actual::Buffer { cells, .. }, _) => cells.len(),
                (Actual::Scalar(_) | Actual::Workspace(_), _) => 1,
            };
            read += &format!("    let mut p{at} = r.take::<{dtype}>({count});\n");
            args.push(match param.kind {
                Kind::Strided => format!("&StridedRef::new(&p{at}, {dims:?}, [{}, 1], 0).unwrap()", dims[1] + 2),
                Kind::State => {
                    states += &format!("            w.all(&p{at});\n");
                    format!("&mut DynTensorMut::new(&mut p{at}, {}).unwrap()", list(&dims))
                }
                Kind::Input if dims.is_empty() => format!("p{at}[0]"),
                Kind::Input | Kind::Index => format!("&DynTensor::new(&p{at}, {}).unwrap()", list(&dims)),
            });
        }
        let results = actual[m..].iter().filter_map(|a| match a {
            Actual::Buffer { .. } => Some(()),
            Actual::Scalar(_) | Actual::Index(_) | Actual::Workspace(_) => None,
        });
        let (names, writes) = taken(results.count());
        let call = format!("{name}({})", args.join(", "));
        format!(
            "{read}    let given = {call};\n    match given {{\n        Ok({names}) => {{\n            w.0.push(0);\n\
             {states}{writes}        }}\n        Err(error) => w.failed(error),\n    }}\n"
        )
    }

    /// How many arguments of compiled code the parameters are.
    fn operands(&self) -> usize {
        self.params.iter().map(operands).sum()
    }

    /// N and M, from the index arguments behind the results.
    fn extents(&self, actual: &[Actual]) -> (i64, i64) {
        let dims: Vec<i64> = actual[self.operands()..]
            .iter()
            .filter_map(|a| match a {
                Actual::Index(value) => Some(*value),
                Actual::Buffer { .. } | Actual::Scalar(_) | Actual::Workspace(_) => None,
            })
            .collect();
        (dims.first().copied().unwrap_or(0), dims.get(1).copied().unwrap_or(0))
    }

    /// Arguments: the symbols of a module of this head, and what each parameter is given.
    pub(crate) fn setting(&self, turn: usize, random: &mut Random) -> Setting {
        let extents = [1, self.least, 3, 5, 2, 4];
        let least = |n: i64| n.max(self.least);
        let n = least(extents[(turn + random.below(3)) % extents.len()]);
        let mut m = least(extents[(turn * 2 + random.below(3)) % extents.len()]);
        if self.facts.contains('%') {
            m += m % 2;
        }
        let mut syms = vec![(Sym::new("N"), n), (Sym::new("M"), m)];
        let specials = turn == 2 && random.below(3) == 0;
        let mut given = Vec::new();
        for param in &self.params {
            if param.kind == Kind::Index {
                syms.push((Sym::new("at"), random.below(MOST as usize + 1) as i64));
                given.push(Given { cells: Vec::new(), strides: Vec::new() });
                continue;
            }
            let shape: Vec<i64> = param.var.shape.iter().map(|d| extent(d, n, m)).collect();
            given.push(cells(param, &shape, specials, random));
        }
        Setting { syms, given, wanted: Vec::new() }
    }
}

/// How many arguments of compiled code a parameter is: its strides follow it.
fn operands(param: &Param) -> usize {
    match param.kind {
        Kind::Strided => 1 + param.var.shape.len(),
        Kind::Input | Kind::State | Kind::Index => 1,
    }
}

/// `[2, 3]`, and `[0_usize; 0]` of nothing.
fn list(dims: &[i64]) -> String {
    if dims.is_empty() { "[0_usize; 0]".to_string() } else { format!("{dims:?}") }
}

/// The pattern of so many results, and what writes them: one as itself, several as a tuple.
fn taken(count: usize) -> (String, String) {
    let names: Vec<String> = (0..count).map(|n| format!("r{n}")).collect();
    let writes: String = names.iter().map(|name| format!("            {name}.put(w);\n")).collect();
    let pattern = if count == 1 { names[0].clone() } else { format!("({})", names.join(", ")) };
    (pattern, writes)
}

fn extent(dim: &str, n: i64, m: i64) -> i64 {
    match dim {
        "N" => n,
        "M" => m,
        number => number.parse().unwrap_or(0),
    }
}

fn cells(param: &Param, shape: &[i64], specials: bool, random: &mut Random) -> Given {
    let dtype = DType::from_name(param.var.dtype).expect("a dtype has a name");
    let (strides, count) = match (param.kind, shape) {
        (Kind::Strided, [n, m]) => (vec![m + 2, 1], (n - 1).max(0) * (m + 2) + (m - 1).max(0) + 1),
        (_, shape) => (Vec::new(), shape.iter().product()),
    };
    let mut cells = ordinary(dtype, count as usize, random.bits());
    if specials {
        let special: Vec<Scalar> = special(dtype);
        for cell in &mut cells {
            if random.below(4) == 0 {
                *cell = random.pick(&special);
            }
        }
    }
    Given { cells, strides }
}

fn declared(param: &Param) -> String {
    let Var { name, dtype, shape, .. } = &param.var;
    match param.kind {
        Kind::Input => format!("{name}: {}", written(dtype, shape)),
        Kind::Strided => format!("{name}: Strided<{dtype}, {}>", shape.join(", ")),
        Kind::State if shape.is_empty() => format!("{name}: &mut Tensor<{dtype}>"),
        Kind::State => format!("{name}: &mut {}", written(dtype, shape)),
        Kind::Index => format!("{name}: usize"),
    }
}
