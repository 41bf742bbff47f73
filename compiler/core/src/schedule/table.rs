//! What is known of a primitive before it runs: its name, its parameters, what it gives.

use super::args::{Arg, Args, Value};
use super::edit::State;
use super::error::Refusal;
use super::handle::Rv;

/// What a parameter takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A block; its name does too.
    Block,
    /// A loop.
    Loop,
    /// A block or a loop.
    Place,
    /// A number.
    Int,
    /// Yes or no.
    Bool,
    /// A text.
    Text,
    /// Loops.
    Loops,
    /// Numbers, of which some may be `_`.
    Factors,
    /// Numbers.
    Ints,
    /// Real numbers.
    Reals,
    /// A map of indices.
    Map,
    /// A number, a text, yes or no, or a list of these.
    Any,
}

impl Kind {
    /// What is expected, in words.
    fn words(self) -> &'static str {
        match self {
            Kind::Block => "a block",
            Kind::Loop => "a loop",
            Kind::Place => "a block or a loop",
            Kind::Int => "a number",
            Kind::Bool => "`true` or `false`",
            Kind::Text => "a text",
            Kind::Loops => "a list of loops",
            Kind::Factors => "a list of numbers and `_`",
            Kind::Ints => "a list of numbers",
            Kind::Reals => "a list of real numbers",
            Kind::Map => "a map of indices, `|i, j| [j, i]`",
            Kind::Any => "a number, a text, `true`, `false` or a list of these",
        }
    }

    fn takes(self, value: &Value) -> bool {
        let all = |of: &Value, ok: fn(&Value) -> bool| matches!(of, Value::List(items) if items.iter().all(ok));
        match self {
            Kind::Block => matches!(value, Value::Block(_)),
            Kind::Loop => matches!(value, Value::Loop(_)),
            Kind::Place => matches!(value, Value::Block(_) | Value::Loop(_)),
            Kind::Int => matches!(value, Value::Int(_)),
            Kind::Bool => matches!(value, Value::Bool(_)),
            Kind::Text => matches!(value, Value::Text(_)),
            Kind::Loops => all(value, |v| matches!(v, Value::Loop(_))),
            Kind::Factors => all(value, |v| matches!(v, Value::Int(_) | Value::Infer)),
            Kind::Ints => all(value, |v| matches!(v, Value::Int(_))),
            Kind::Reals => all(value, |v| matches!(v, Value::Int(_) | Value::Real(_))),
            Kind::Map => matches!(value, Value::Map(_)),
            Kind::Any => match value {
                Value::Int(_) | Value::Bool(_) | Value::Text(_) | Value::Real(_) => true,
                Value::List(items) => items.iter().all(|v| Kind::Any.takes(v)),
                Value::Block(_) | Value::Loop(_) | Value::Infer | Value::Map(_) => false,
            },
        }
    }
}

/// A parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParamInfo {
    /// Its name, for arguments given by name.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Whether it may be left out.
    pub optional: bool,
}

/// A parameter that must be given.
pub(super) const fn required(name: &'static str, kind: Kind) -> ParamInfo {
    ParamInfo { name, kind, optional: false }
}

/// A parameter that may be left out.
pub(super) const fn optional(name: &'static str, kind: Kind) -> ParamInfo {
    ParamInfo { name, kind, optional: true }
}

/// What a primitive gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gives {
    /// Nothing.
    Nothing,
    /// One reference.
    One,
    /// A list of references.
    List,
}

/// What a primitive's run gives, before it has references.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Out {
    /// A block by its name.
    Block(String),
    /// A loop by its variable.
    Loop(tenfold_ir::tir::VarId),
    /// A number.
    Int(i64),
}

/// What a primitive's run gives.
pub(super) type Outcome = Result<Vec<Out>, Refusal>;

/// A primitive.
pub struct Primitive {
    /// Its name, TVM's where it has one.
    pub name: &'static str,
    /// Its parameters in order.
    pub params: &'static [ParamInfo],
    /// What it gives.
    pub gives: Gives,
    /// Checks and applies it. What it leaves behind after a refusal is thrown away.
    pub(super) run: fn(&mut State<'_>, &Args) -> Outcome,
    /// For one that chooses: the name under which its trace keeps what it chose.
    pub decides: bool,
}

impl Primitive {
    /// Puts arguments in the order of the parameters and checks their kinds.
    pub(super) fn bind(&self, args: &[Arg], resolve: &dyn Fn(Rv) -> Option<Value>) -> Result<Args, Refusal> {
        let mut values: Vec<Option<Value>> = vec![None; self.params.len()];
        let mut next = 0;
        for arg in args {
            let (n, arg) = match arg {
                Arg::Named(name, arg) => (self.named(name)?, arg.as_ref()),
                arg => (next, arg),
            };
            next += usize::from(n == next);
            let Some(slot) = values.get_mut(n) else {
                let (found, most) = (args.len(), self.params.len());
                return Refusal::err(format!("it was given {found} arguments"), format!("it takes {most} at most"));
            };
            *slot = Some(self.value(n, arg, resolve)?);
        }
        let all = values.into_iter().zip(self.params).map(|(value, param)| match value {
            Some(value) => Ok(value),
            None if param.optional => Ok(Value::Infer),
            None => Refusal::err(format!("`{}` is missing", param.name), format!("give {}", param.kind.words())),
        });
        all.collect::<Result<Vec<_>, _>>().map(Args)
    }

    fn named(&self, name: &str) -> Result<usize, Refusal> {
        self.params.iter().position(|p| p.name == name).ok_or_else(|| {
            let names: Vec<String> = self.params.iter().map(|p| format!("`{}`", p.name)).collect();
            Refusal::new(format!("it has no argument `{name}`"), format!("its arguments are {}", names.join(", ")))
        })
    }

    fn value(&self, n: usize, arg: &Arg, resolve: &dyn Fn(Rv) -> Option<Value>) -> Result<Value, Refusal> {
        let param = &self.params[n];
        let mut value = resolved(arg, resolve)?;
        if let (Kind::Block | Kind::Place, Value::Text(name)) = (param.kind, &value) {
            value = Value::Block(name.clone());
        }
        if param.kind.takes(&value) || (param.optional && value == Value::Infer) {
            return Ok(value);
        }
        Refusal::err(format!("`{}` is of another kind", param.name), format!("give {}", param.kind.words()))
    }
}

fn resolved(arg: &Arg, resolve: &dyn Fn(Rv) -> Option<Value>) -> Result<Value, Refusal> {
    Ok(match arg {
        Arg::Rv(rv) => resolve(*rv).ok_or_else(|| {
            Refusal::new(format!("`{rv}` is not of this schedule"), "use what an earlier step of it gave")
        })?,
        Arg::Int(it) => Value::Int(*it),
        Arg::Real(it) => Value::Real(*it),
        Arg::Bool(it) => Value::Bool(*it),
        Arg::Text(it) => Value::Text(it.clone()),
        Arg::Infer => Value::Infer,
        Arg::List(all) => Value::List(all.iter().map(|a| resolved(a, resolve)).collect::<Result<_, _>>()?),
        Arg::Map(it) => Value::Map(it.clone()),
        Arg::Named(name, _) => {
            return Refusal::err(format!("`{name} = …` stands inside a list"), "name arguments of the call only");
        }
    })
}
