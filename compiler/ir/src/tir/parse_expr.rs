//! Reads expressions of tir.

use super::parse::{Parsed, Parser, access, dtype};
use super::verify_types::expected;
use super::{Dot, Elem, Expr, ExprId, Group, Intrinsic, Mbarrier, Ty, Warp, operands};
use crate::op::{BinaryOp, CmpOp, UnaryOp};
use crate::relax::{binary_name, compare_name, unary_name};
use crate::{DType, Scalar};

/// Expressions inside expressions.
const DEPTH: u32 = 500;

/// A reader of one expression.
pub(super) struct Exprs<'p, 't, 's> {
    parser: &'p mut Parser<'t>,
    text: &'s str,
    at: usize,
    depth: u32,
}

impl<'p, 't, 's> Exprs<'p, 't, 's> {
    pub(super) fn new(parser: &'p mut Parser<'t>, text: &'s str) -> Self {
        Exprs { parser, text, at: 0, depth: 0 }
    }

    /// The whole text as one expression.
    pub(super) fn whole(mut self) -> Parsed<ExprId> {
        let value = self.expr()?;
        match self.rest() {
            "" => Ok(value),
            rest => Err(format!("expected the end of the expression, found `{rest}`")),
        }
    }

    fn rest(&mut self) -> &'s str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        self.parser.look(&self.text[self.at..]);
        &self.text[self.at..]
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn expect(&mut self, token: &str) -> Parsed<()> {
        if self.eat(token) { Ok(()) } else { Err(format!("expected `{token}`, found `{}`", self.rest())) }
    }

    fn word(&mut self, keep: impl Fn(char) -> bool) -> &'s str {
        let rest = self.rest();
        let end = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn push(&mut self, expr: Expr) -> ExprId {
        let func = &mut self.parser.func;
        // The verifier says what is wrong with types that do not agree.
        let ty = expected(func, &expr).unwrap_or_else(|_| match operands(&expr).first() {
            Some(first) => func.exprs.ty(*first),
            None => Ty::index(),
        });
        func.exprs.intern(expr, ty)
    }

    fn expr(&mut self) -> Parsed<ExprId> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(format!("expressions nested deeper than {DEPTH}"));
        }
        let value = match self.rest().chars().next() {
            Some('%') => self.reference(),
            Some(c) if c.is_ascii_digit() || c == '-' => self.number(),
            Some(c) if c.is_alphanumeric() || "_.$#".contains(c) => self.name(),
            Some(c) => Err(format!("expected an expression, found `{c}`")),
            None => Err("expected an expression, found the end".to_string()),
        };
        self.depth -= 1;
        value
    }

    fn reference(&mut self) -> Parsed<ExprId> {
        self.at += 1;
        let digits = self.word(|c| c.is_ascii_digit());
        let known = digits.parse().ok().and_then(|n: u32| self.parser.defined.get(&n).copied());
        known.ok_or_else(|| format!("`%{digits}` is not defined above"))
    }

    /// `-3`, `3i8`, `1.5e-7f32`: the dtype begins at the last letter that is no exponent.
    fn number(&mut self) -> Parsed<ExprId> {
        let text = self.word(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        if let Ok(value) = text.parse::<i64>() {
            return Ok(self.push(Expr::Index(value)));
        }
        self.parser.look(text);
        let suffix = DType::ALL
            .into_iter()
            .chain(DType::STORED)
            .filter(|d| text.ends_with(d.name()))
            .max_by_key(|d| d.name().len());
        let dtype = suffix.ok_or_else(|| format!("expected a number, found `{text}`"))?;
        let digits = &text[..text.len() - dtype.name().len()];
        let wrong = || format!("expected a number of `{dtype}`, found `{text}`");
        let value = if dtype.is_float() {
            Scalar::float(dtype, digits.parse::<f64>().map_err(|_| wrong())?)
        } else {
            let value = digits.parse::<i128>().map_err(|_| wrong())?;
            let scalar = Scalar::int(dtype, value);
            if scalar.to_i128() != value {
                return Err(format!("`{dtype}` does not hold {value}"));
            }
            scalar
        };
        Ok(self.push(Expr::Const(value)))
    }

    fn name(&mut self) -> Parsed<ExprId> {
        let name = self.word(|c| c.is_alphanumeric() || "_.$#!".contains(c));
        if let ("true" | "false", false) = (name, self.rest().starts_with(['(', '['])) {
            return Ok(self.push(Expr::Const(Scalar::bool(name == "true"))));
        }
        if let (Some(dtype), true) = (DType::from_any_name(name), self.eat(":")) {
            let digits = self.word(|c| c.is_ascii_hexdigit());
            let bits =
                u64::from_str_radix(digits, 16).map_err(|_| format!("expected bits in hex, found `{digits}`"))?;
            return Ok(self.push(Expr::Const(Scalar { dtype, bits })));
        }
        if self.eat("[") {
            let (name, access) = access(name);
            let buf = self.parser.buf(name)?;
            let index = self.list("]")?;
            return Ok(self.push(Expr::Load { buf, index, access }));
        }
        if self.rest().starts_with(['(', '<']) {
            return self.call(name);
        }
        self.parser.look(name);
        let var = self.parser.vars.get(name).copied().ok_or_else(|| format!("there is no variable `{name}`"))?;
        Ok(self.push(Expr::Var(var)))
    }

    fn list(&mut self, close: &str) -> Parsed<Vec<ExprId>> {
        let mut all = Vec::new();
        if self.eat(close) {
            return Ok(all);
        }
        loop {
            all.push(self.expr()?);
            if self.eat(close) {
                return Ok(all);
            }
            self.expect(",")?;
        }
    }

    fn call(&mut self, name: &str) -> Parsed<ExprId> {
        let mut ty = None;
        if self.eat("<") {
            ty = Some(parse_ty(self.word(|c| c != '>'))?);
            self.expect(">")?;
        }
        self.expect("(")?;
        if let "ramp" | "broadcast" = name {
            return self.vector(name);
        }
        if name == "shuffle" {
            return self.shuffle();
        }
        let args = self.list(")")?;
        self.parser.look(name);
        let expr = match (name, ty, &args[..]) {
            ("if", None, [c, a, b]) => Expr::If(*c, *a, *b),
            ("select", None, [c, a, b]) => Expr::Select(*c, *a, *b),
            ("cast", Some(ty), [a]) => Expr::Cast(ty, *a),
            ("bitcast", Some(ty), _) => Expr::Call(Intrinsic::Bitcast, args, ty),
            ("fma", None, [first, ..]) => {
                let ty = self.parser.func.exprs.ty(*first);
                Expr::Call(Intrinsic::Fma, args, ty)
            }
            ("lookup", None, [_, first, ..]) => {
                let ty = self.parser.func.exprs.ty(*first);
                Expr::Call(Intrinsic::Lookup, args, ty)
            }
            ("scalef", None, [first, _]) => {
                let ty = self.parser.func.exprs.ty(*first);
                Expr::Call(Intrinsic::Scalef, args, ty)
            }
            ("nearest_int", None, [x]) => {
                let ty = Ty { elem: Elem::Scalar(DType::I32), ..self.parser.func.exprs.ty(*x) };
                Expr::Call(Intrinsic::NearestInt, args, ty)
            }
            ("exp_nonpositive", None, [x]) => {
                let ty = self.parser.func.exprs.ty(*x);
                Expr::Call(Intrinsic::ExpNonpositive, args, ty)
            }
            ("ex2", None, [x]) => {
                let ty = self.parser.func.exprs.ty(*x);
                Expr::Call(Intrinsic::Ex2, args, ty)
            }
            ("word2", None, [first, _]) | ("word4", None, [first, _, _, _]) => {
                let ty = Ty { elem: Elem::Scalar(DType::I32), ..self.parser.func.exprs.ty(*first) };
                Expr::Call(Intrinsic::Word, args, ty)
            }
            ("q_multiply_shift", None, _) => Expr::Call(Intrinsic::QMultiplyShift, args, Ty::scalar(DType::I32)),
            (_, None, [a, ..]) if dot(name).is_some_and(|dot| dot.operands() == args.len()) => {
                let ty = self.parser.func.exprs.ty(*a);
                dot(name).map_or(Expr::Index(0), |dot| {
                    Expr::Call(Intrinsic::Dot(dot), args, Ty { elem: Elem::Scalar(dot.dtype()), ..ty })
                })
            }
            ("until_aligned", None, [_, _]) => Expr::Call(Intrinsic::UntilAligned, args, Ty::index()),
            ("copy_async", None, [x]) => {
                let ty = self.parser.func.exprs.ty(*x);
                Expr::Call(Intrinsic::CopyAsync, args, ty)
            }
            ("copy_tensor", Some(ty), [_, _, ..]) => Expr::Call(Intrinsic::CopyTensor, args, ty),
            (_, None, [_]) if mbarrier(name).is_some() => mbarrier(name)
                .map_or(Expr::Index(0), |f| Expr::Call(Intrinsic::Mbarrier(f), args, Ty::scalar(DType::U64))),
            (_, None, [.., last]) if warp(name).is_some_and(|f| f.operands() == args.len()) => {
                let ty = self.parser.func.exprs.ty(*last);
                warp(name).map_or(Expr::Index(0), |f| Expr::Call(Intrinsic::Warp(f), args, ty))
            }
            (_, None, [x]) if group(name).is_some() => {
                let ty = self.parser.func.exprs.ty(*x);
                group(name).map_or(Expr::Index(0), |f| Expr::Call(Intrinsic::Group(f), args, ty))
            }
            (_, None, [a]) if unary_op(name).is_some() => {
                unary_op(name).map_or(Expr::Index(0), |op| Expr::Unary(op, *a))
            }
            (_, None, [a, b]) => match (binary_op(name), compare_op(name)) {
                (Some(op), _) => Expr::Binary(op, *a, *b),
                (None, Some(op)) => Expr::Compare(op, *a, *b),
                (None, None) => return Err(format!("there is no function `{name}` of two operands")),
            },
            _ => return Err(format!("there is no function `{name}` of {} operands", args.len())),
        };
        Ok(self.push(expr))
    }

    /// `shuffle([vectors], [lanes])`.
    fn shuffle(&mut self) -> Parsed<ExprId> {
        self.expect("[")?;
        let vectors = self.list("]")?;
        self.expect(",")?;
        self.expect("[")?;
        let inside = self.word(|c| c != ']');
        let number = |t: &str| t.trim().parse::<u16>().map_err(|_| format!("expected a lane, found `{t}`"));
        let lanes = inside.split(',').map(number).collect::<Parsed<Vec<_>>>()?;
        self.expect("]")?;
        self.expect(")")?;
        Ok(self.push(Expr::Shuffle(vectors, lanes)))
    }

    /// `ramp(base, stride, lanes)` and `broadcast(value, lanes)`.
    fn vector(&mut self, name: &str) -> Parsed<ExprId> {
        let first = self.expr()?;
        self.expect(",")?;
        let stride = if name == "ramp" {
            let stride = self.expr()?;
            self.expect(",")?;
            Some(stride)
        } else {
            None
        };
        self.rest();
        let digits = self.word(|c| c.is_ascii_digit());
        let lanes = digits.parse::<u16>().map_err(|_| format!("expected a number of lanes, found `{digits}`"))?;
        self.expect(")")?;
        Ok(self.push(match stride {
            Some(stride) => Expr::Ramp(first, stride, lanes),
            None => Expr::Broadcast(first, lanes),
        }))
    }
}

fn unary_op(name: &str) -> Option<UnaryOp> {
    UnaryOp::ALL.iter().copied().find(|op| unary_name(*op) == name)
}

fn binary_op(name: &str) -> Option<BinaryOp> {
    BinaryOp::ALL.iter().copied().find(|op| binary_name(*op) == name)
}

fn compare_op(name: &str) -> Option<CmpOp> {
    CmpOp::ALL.iter().copied().find(|op| compare_name(*op) == name)
}

/// `f32`, `index`, `f32x8`.
pub(super) fn parse_ty(text: &str) -> Parsed<Ty> {
    let text = text.trim();
    let (name, lanes) = match text.rsplit_once('x') {
        // `index` holds an x of its own.
        Some((name, lanes)) if lanes.parse::<u16>().is_ok() => (name, lanes.parse().unwrap_or(1)),
        Some(_) | None => (text, 1),
    };
    let elem = if name == "index" { Elem::Index } else { Elem::Scalar(dtype(name)?) };
    Ok(Ty { elem, lanes })
}

/// The function of a warp of that name.
fn warp(name: &str) -> Option<Warp> {
    Warp::ALL.iter().find(|(known, _)| *known == name).map(|(_, f)| *f)
}

/// The function of a block of that name.
fn group(name: &str) -> Option<Group> {
    Group::ALL.iter().find(|(known, _)| *known == name).map(|(_, f)| *f)
}

/// What is done with an `mbarrier` by that name.
fn mbarrier(name: &str) -> Option<Mbarrier> {
    Mbarrier::ALL.iter().find(|(known, _)| *known == name).map(|(_, f)| *f)
}

/// The sum of products of that name.
fn dot(name: &str) -> Option<Dot> {
    Dot::ALL.iter().find(|(known, _)| *known == name).map(|(_, dot)| *dot)
}
