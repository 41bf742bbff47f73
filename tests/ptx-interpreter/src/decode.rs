//! From instructions as they are written to those that are carried out. What is not known here is an error: nothing is passed
//! over.

use std::collections::BTreeMap;

use crate::Error;
use crate::convert::Convert;
use crate::doubt::Spread;
use crate::kind::{Kind, Type, low};
use crate::op::{Address, Elements, Instruction, Kernel, Op, Param, Register, Source, Space, Special, Together};
use crate::parse::{Entry, File, Operand, Variable, Written};
use crate::{collective, float, integer};

/// Where shared memory begins, and a thread's own: nothing lies at 0.
pub(crate) const SHARED: u64 = 1024;
pub(crate) const LOCAL: u64 = 4096;

/// What names mean in a function.
pub(crate) struct Names {
    registers: BTreeMap<String, Register>,
    /// Addresses of variables.
    places: BTreeMap<String, u64>,
    params: BTreeMap<String, u64>,
    labels: BTreeMap<String, u32>,
}

/// What an instruction is, or what is wrong with it.
pub(crate) type Decoded<T = Op> = std::result::Result<T, String>;

/// How many bits a register may have for a value of so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    Exact,
    AtLeast,
}

/// Places of variables one behind the other, and where the last one ends.
fn places<'a>(base: u64, all: impl Iterator<Item = &'a Variable>, names: &mut BTreeMap<String, u64>) -> u64 {
    let mut end = base;
    for variable in all {
        let at = end.next_multiple_of(variable.align);
        names.insert(variable.name.clone(), at);
        end = at + variable.bytes.unwrap_or(0);
    }
    end
}

/// The kernel of a function of a text.
pub(crate) fn kernel(file: &File, entry: &Entry) -> Result<Kernel, Error> {
    let mut names = Names {
        registers: BTreeMap::new(),
        places: BTreeMap::new(),
        params: BTreeMap::new(),
        labels: entry.labels.clone(),
    };
    for (number, (name, bits)) in (0..).zip(&entry.registers) {
        names.registers.insert(name.clone(), Register { number, bits: *bits });
    }
    let mut params = Vec::new();
    let mut end = 0_u64;
    for variable in &entry.params {
        let at = end.next_multiple_of(if variable.pointer { 8 } else { variable.align });
        names.params.insert(variable.name.clone(), at);
        end = at + variable.bytes.unwrap_or(0);
        params.push(Param { variable: variable.clone(), offset: at as usize });
    }
    let all = || file.shared.iter().chain(&entry.shared);
    let fixed = places(SHARED, all().filter(|variable| variable.bytes.is_some()), &mut names.places);
    let dynamic = fixed.next_multiple_of(all().filter(|v| v.bytes.is_none()).map(|v| v.align).max().unwrap_or(1));
    for variable in all().filter(|variable| variable.bytes.is_none()) {
        names.places.insert(variable.name.clone(), dynamic);
    }
    let local = places(LOCAL, entry.local.iter(), &mut names.places) - LOCAL;
    let told = |written: &Written, what: String| Error::at(written.line, format!("`{}`: {what}", written.name()));
    let code = entry.body.iter().map(|written| names.instruction(written).map_err(|what| told(written, what)));
    Ok(Kernel {
        name: entry.name.clone(),
        code: code.collect::<Result<_, _>>()?,
        opcodes: entry.body.iter().map(Written::name).collect(),
        params,
        threads: entry.threads,
        registers: entry.registers.keys().map(|name| name.split('@').next().unwrap_or(name).to_string()).collect(),
        shared: (fixed - SHARED) as usize,
        dynamic: (dynamic - SHARED) as usize,
        local: local as usize,
    })
}

/// What is asked for by the name of a special register.
fn special(name: &str) -> Option<Special> {
    let (register, axis) = name.rsplit_once('.').map_or((name, None), |(a, b)| (a, "xyz".find(b)));
    match (register, axis) {
        ("%tid", Some(axis)) => Some(Special::Thread(axis)),
        ("%ntid", Some(axis)) => Some(Special::Threads(axis)),
        ("%ctaid", Some(axis)) => Some(Special::Group(axis)),
        ("%nctaid", Some(axis)) => Some(Special::Groups(axis)),
        ("%laneid", None) => Some(Special::Lane),
        _ => None,
    }
}

/// A type by its name.
pub(crate) fn ty(name: &str) -> Decoded<Type> {
    Type::of(name).ok_or_else(|| format!("unknown type `{name}`"))
}

fn unknown() -> String {
    "the interpreter does not know this instruction".into()
}

impl Names {
    fn instruction(&self, written: &Written) -> Decoded<Instruction> {
        let guard = match &written.guard {
            Some((name, holds)) => Some((self.register(name, 1, Width::Exact)?.number, *holds)),
            None => None,
        };
        let parts: Vec<&str> = written.opcode.iter().map(String::as_str).collect();
        let (op, together) = match collective::decode(self, &parts, &written.operands)? {
            Some(found) => found,
            None => (self.op(&parts, &written.operands)?, Together::Alone),
        };
        Ok(Instruction { op, guard, together, line: written.line })
    }

    pub(crate) fn register(&self, name: &str, bits: u32, width: Width) -> Decoded<Register> {
        let register = *self.registers.get(name).ok_or_else(|| format!("`{name}` is no register"))?;
        let fits = match width {
            Width::Exact => register.bits == bits,
            Width::AtLeast => register.bits >= bits && register.bits > 1,
        };
        if fits { Ok(register) } else { Err(format!("`{name}` has {} bits, not {bits}", register.bits)) }
    }

    /// A register that is written.
    pub(crate) fn target(&self, operand: &Operand, bits: u32, width: Width) -> Decoded<Register> {
        match operand {
            Operand::Name(name) => self.register(name, bits, width),
            other => Err(format!("{other:?} is no register")),
        }
    }

    pub(crate) fn source(&self, operand: &Operand, bits: u32, width: Width) -> Decoded<Source> {
        match operand {
            Operand::Name(name) => Ok(Source::Register(self.register(name, bits, width)?.number)),
            Operand::Number(value) => Ok(Source::Value(low(*value as u64, bits))),
            Operand::Bits(value, of) if *of == bits => Ok(Source::Value(*value)),
            other => Err(format!("{other:?} is no value of {bits} bits")),
        }
    }

    /// Registers that are written at once; what is not wanted is `_`.
    fn targets(&self, operand: &Operand, bits: u32, width: Width) -> Decoded<Vec<Option<Register>>> {
        let one = |operand: &Operand| match operand {
            Operand::Name(name) if name == "_" => Ok(None),
            operand => self.target(operand, bits, width).map(Some),
        };
        match operand {
            Operand::List(all) => all.iter().map(one).collect(),
            operand => Ok(vec![one(operand)?]),
        }
    }

    /// Registers of 32 bits that are written at once.
    pub(crate) fn words(&self, operand: &Operand) -> Decoded<Vec<Register>> {
        let all = self.targets(operand, 32, Width::Exact)?;
        all.into_iter().map(|register| register.ok_or_else(|| "a register that is not there".to_string())).collect()
    }

    pub(crate) fn sources(&self, operand: &Operand, bits: u32, width: Width) -> Decoded<Vec<Source>> {
        match operand {
            Operand::List(all) => all.iter().map(|operand| self.source(operand, bits, width)).collect(),
            operand => Ok(vec![self.source(operand, bits, width)?]),
        }
    }

    pub(crate) fn address(&self, operand: &Operand, space: Space) -> Decoded<Address> {
        let Operand::Address(name, offset) = operand else { return Err(format!("{operand:?} is no address")) };
        let names = if space == Space::Param { &self.params } else { &self.places };
        let base = match name {
            None => Source::Value(0),
            Some(name) => match (names.get(name), self.registers.get(name)) {
                (Some(place), _) => Source::Value(*place),
                (None, Some(register)) if register.bits == 64 || register.bits == 32 && space == Space::Shared => {
                    Source::Register(register.number)
                }
                _ => return Err(format!("`{name}` is no address there")),
            },
        };
        Ok(Address { space, base, offset: *offset })
    }

    /// Instructions of one thread alone.
    fn op(&self, parts: &[&str], operands: &[Operand]) -> Decoded {
        match (parts, operands) {
            (["ret" | "exit"], []) => Ok(Op::Return),
            (["bra"] | ["bra", "uni"], [Operand::Name(label)]) => {
                let to = self.labels.get(label).ok_or_else(|| format!("there is no label `{label}`"))?;
                Ok(Op::Branch(*to))
            }
            (["mov", of], [to, from]) => self.moved(ty(of)?, to, from),
            // Addresses of parameters and of global memory are the same in every space.
            (["cvta", "to", "global", "u64"] | ["cvta", "param", "u64"], [to, from]) => {
                let (to, from) = (self.target(to, 64, Width::Exact)?, self.source(from, 64, Width::Exact)?);
                Ok(Op::One(|a| a, Spread::Moved(1), to, [from]))
            }
            (["ld", how @ ..], [to, from]) => self.load(how, to, from),
            (["st", how @ ..], [to, from]) => self.store(how, to, from),
            (["cvt", how @ ..], [to, from]) => self.convert(how, to, from),
            (["cvt", how @ .., "bf16x2" | "f16x2", "f32"], [to, high, low]) => {
                self.convert_pair(how, parts, to, high, low)
            }
            (["selp", of], [to, a, b, chosen]) => self.select(ty(of)?, to, [a, b, chosen]),
            (["setp", how, of], [to, a, b]) => self.compare(how, ty(of)?, to, [a, b]),
            (["bfi", of], [to, a, b, at, len]) => self.insert(ty(of)?, to, [a, b, at, len]),
            ([name, how @ .., of], [to, rest @ ..]) => self.arithmetic(name, how, of, to, rest),
            _ => Err(unknown()),
        }
    }

    fn moved(&self, of: Type, to: &Operand, from: &Operand) -> Decoded {
        match (to, from) {
            (Operand::List(parts), from) => {
                let each = of.bits / parts.len().max(1) as u32;
                Ok(Op::Split(self.targets(to, each, Width::Exact)?, each, self.source(from, of.bits, Width::Exact)?))
            }
            (to, Operand::List(parts)) => {
                let each = of.bits / parts.len().max(1) as u32;
                Ok(Op::Join(self.target(to, of.bits, Width::Exact)?, self.sources(from, each, Width::Exact)?, each))
            }
            (to, Operand::Name(name)) if special(name).is_some() => {
                let to = self.target(to, 32, Width::Exact)?;
                Ok(special(name).map_or(Op::Nothing, |what| Op::Special(what, to)))
            }
            (to, Operand::Name(name)) if self.params.contains_key(name) => {
                let to = self.target(to, 64, Width::Exact)?;
                Ok(Op::One(|a| a, Spread::Moved(1), to, [Source::Value(self.params[name])]))
            }
            (to, Operand::Name(name)) if self.places.contains_key(name) => {
                let to = self.target(to, of.bits, Width::Exact)?;
                Ok(Op::One(|a| a, Spread::Moved(1), to, [Source::Value(self.places[name])]))
            }
            (to, from) => {
                let (to, from) = (self.target(to, of.bits, Width::Exact)?, self.source(from, of.bits, Width::Exact)?);
                Ok(Op::One(|a| a, Spread::Moved(1), to, [from]))
            }
        }
    }

    /// Space, whether nothing writes there, how many at once, and the type.
    fn access<'a>(how: &[&'a str]) -> Decoded<(Space, bool, usize, &'a str)> {
        let (space, rest) = match how {
            ["param", rest @ ..] => (Space::Param, rest),
            ["global", rest @ ..] => (Space::Global, rest),
            ["shared", rest @ ..] => (Space::Shared, rest),
            ["local", rest @ ..] => (Space::Local, rest),
            _ => return Err(unknown()),
        };
        let (constant, rest) = match rest {
            ["nc", rest @ ..] if space == Space::Global => (true, rest),
            rest => (false, rest),
        };
        match rest {
            [of] => Ok((space, constant, 1, of)),
            ["v2", of] => Ok((space, constant, 2, of)),
            ["v4", of] => Ok((space, constant, 4, of)),
            _ => Err(unknown()),
        }
    }

    fn load(&self, how: &[&str], to: &Operand, from: &Operand) -> Decoded {
        let (space, constant, count, of) = Self::access(how)?;
        let of = ty(of)?;
        let all = self.targets(to, of.bits, Width::AtLeast)?;
        if all.len() != count || count * of.bits as usize > 128 {
            return Err(format!("{} registers for {count} of {} bits", all.len(), of.bits));
        }
        let elements = Elements { at: self.address(from, space)?, bytes: of.bits as usize / 8, all };
        Ok(Op::Load { elements, signed: of.kind == Kind::Signed, constant })
    }

    fn store(&self, how: &[&str], to: &Operand, from: &Operand) -> Decoded {
        let (space, constant, count, of) = Self::access(how)?;
        let of = ty(of)?;
        let all = self.sources(from, of.bits, Width::AtLeast)?;
        if all.len() != count || count * of.bits as usize > 128 || constant || space == Space::Param {
            return Err(format!("{} values for {count} of {} bits", all.len(), of.bits));
        }
        Ok(Op::Store(Elements { at: self.address(to, space)?, bytes: of.bits as usize / 8, all }))
    }

    fn convert(&self, how: &[&str], to: &Operand, from: &Operand) -> Decoded {
        let convert = Convert::of(how).ok_or_else(unknown)?;
        let to = self.target(to, convert.to().bits, Width::AtLeast)?;
        Ok(Op::Convert(convert, to, self.source(from, convert.from().bits, Width::AtLeast)?))
    }

    fn convert_pair(&self, how: &[&str], parts: &[&str], to: &Operand, high: &Operand, low: &Operand) -> Decoded {
        let convert =
            Convert::of(&parts[1..]).filter(|_| how.contains(&"rn") || how.contains(&"rz")).ok_or_else(unknown)?;
        let values = [self.source(high, 32, Width::Exact)?, self.source(low, 32, Width::Exact)?];
        Ok(Op::ConvertPair(convert, self.target(to, 32, Width::Exact)?, values))
    }

    fn select(&self, of: Type, to: &Operand, [a, b, chosen]: [&Operand; 3]) -> Decoded {
        let of_type = |operand| self.source(operand, of.bits, Width::Exact);
        let operands = [of_type(a)?, of_type(b)?, self.source(chosen, 1, Width::Exact)?];
        let to = self.target(to, of.bits, Width::Exact)?;
        Ok(Op::Three(|a, b, chosen| if chosen == 0 { b } else { a }, Spread::Choice, to, operands))
    }

    fn compare(&self, how: &str, of: Type, to: &Operand, [a, b]: [&Operand; 2]) -> Decoded {
        let f = match of.kind {
            Kind::Float(_) => float::comparison(how, of),
            _ => integer::comparison(how, of),
        };
        let operands = [self.source(a, of.bits, Width::Exact)?, self.source(b, of.bits, Width::Exact)?];
        Ok(Op::Two(f.ok_or_else(unknown)?, Spread::Whole, self.target(to, 1, Width::Exact)?, operands))
    }

    fn insert(&self, of: Type, to: &Operand, [a, b, at, len]: [&Operand; 4]) -> Decoded {
        let value = |operand| self.source(operand, of.bits, Width::Exact);
        let count = |operand| self.source(operand, 32, Width::Exact);
        let operands = [value(a)?, value(b)?, count(at)?, count(len)?];
        Ok(Op::Insert(self.target(to, of.bits, Width::Exact)?, operands, of.bits))
    }

    /// All that makes one value of up to three.
    fn arithmetic(&self, name: &str, how: &[&str], of: &str, to: &Operand, rest: &[Operand]) -> Decoded {
        let of = ty(of)?;
        let float = matches!(of.kind, Kind::Float(_) | Kind::Pair(_));
        let wide = how == ["wide"];
        let count = matches!(name, "clz" | "popc");
        let bits = if wide {
            2 * of.bits
        } else if count {
            32
        } else {
            of.bits
        };
        let to = self.target(to, bits, Width::Exact)?;
        let value = |operand, bits| self.source(operand, bits, Width::Exact);
        let spread = Spread::of(name, matches!(of.kind, Kind::Pair(_) | Kind::Words { .. }));
        match rest {
            [a] => {
                let f =
                    if float { float::one(name, how, of) } else { integer::one(name, of).filter(|_| how.is_empty()) };
                Ok(Op::One(f.ok_or_else(unknown)?, spread, to, [value(a, of.bits)?]))
            }
            [a, b] => {
                let how_one = how.first().copied().unwrap_or_default();
                let f = match (float, how.len()) {
                    (true, _) => float::two(name, how, of),
                    (false, 0 | 1) => integer::two(name, how_one, of),
                    (false, _) => None,
                };
                let by = if matches!(name, "shl" | "shr") { 32 } else { of.bits };
                let (f, operands) = (f.ok_or_else(unknown)?, [value(a, of.bits)?, value(b, by)?]);
                let divides = !float && matches!(name, "div" | "rem");
                Ok(if divides { Op::Divide(f, to, operands, of.bits) } else { Op::Two(f, spread, to, operands) })
            }
            [a, b, c] => {
                let f = if float { float::three(name, how, of) } else { integer::three(name, how, of) };
                let of_b = if name == "bfe" { 32 } else { of.bits };
                let of_c = if matches!(name, "bfe" | "prmt" | "shf") { 32 } else { bits };
                let operands = [value(a, of.bits)?, value(b, of_b)?, value(c, of_c)?];
                Ok(Op::Three(f.ok_or_else(unknown)?, spread, to, operands))
            }
            _ => Err(unknown()),
        }
    }
}
