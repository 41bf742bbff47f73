//! `ScaleInFloats`: integers that are scaled in fixed point are scaled in floats of 64 bits, on processors with vectors
//! of these.
//!
//! `(x · f + y · g) / 2^s`, rounded to the nearest with ties to even and clipped, is a dozen instructions on vectors of 64
//! bits, which few processors multiply, and in floats a conversion there, a product and a conversion back. The
//! result is the same in each bit: what is not clipped has fewer than 53 bits before it is divided, so neither products nor their
//! sum are rounded, a quotient by a power of two is exact, and beyond that rounding keeps what is too large. Where
//! that is not so, nothing changes. Phase: before the operators become kernels.

use std::sync::OnceLock;

use tenfold_ir::op::{BinaryOp, ElementOp};
use tenfold_ir::relax::{Binding, Op, ValueId, op_name};
use tenfold_ir::{ConstBytes, ConstData, DType, Module, Scalar};

use super::pattern::{Caught, Pattern};
use super::rewrite::{Rewriter, rewrite};
use super::simplify_inference::{binary, cast};
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};
use crate::target::{Arch, Target};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("ScaleInFloats", &scale_in_floats)
    .in_phase(PassPhase::Graph)
    .at_level(1)
    .about("scales integers in floats of 64 bits in the place of fixed point, where each bit stays");

/// One product in fixed point, or the sum of two, rounded and clipped.
const PATTERNS: [&str; 2] = [
    "cast(add(minimum(maximum(shr(add(p=mul(cast(x), f), add(h, and(shr(p, s), 1))), s), l:scalar), u:scalar), z:scalar))",
    "cast(add(minimum(maximum(shr(add(p=add(mul(cast(x), f), mul(cast(y), g)), add(h, and(shr(p, s), 1))), s), l:scalar), \
     u:scalar), z:scalar))",
];

/// Bits of a product that a float keeps.
const KEPT: u32 = f64::MANTISSA_DIGITS;

/// Products and halves from which on integers of 64 bits may wrap.
const WRAPS: u128 = 1 << 62;

/// Runs on every relax function.
pub(crate) fn scale_in_floats(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    if has_vectors_of_doubles(&context.target) {
        rewrite(module, &mut binding);
    }
    Ok(())
}

fn has_vectors_of_doubles(target: &Target) -> bool {
    target.device.is_none() && matches!(target.arch, Arch::X86_64 | Arch::Aarch64) && target.vector_bytes() > 0
}

fn patterns() -> &'static [Pattern] {
    static READ: OnceLock<Vec<Pattern>> = OnceLock::new();
    READ.get_or_init(|| PATTERNS.iter().filter_map(|text| Pattern::parse(text).ok()).collect())
}

fn binding(cx: &mut Rewriter<'_>, binding: &Binding) -> Option<ValueId> {
    let Op::Element(ElementOp::Cast(to)) = binding.op else { return None };
    let word = op_name(&binding.op).to_string();
    let caught = patterns().iter().find_map(|pattern| pattern.catch_root(cx, &word, &binding.args))?;
    let scaling = Scaling::of(cx, &caught).filter(Scaling::is_exact)?;
    let y = scaling.in_floats(cx)?;
    let y = cast(cx, y, to)?;
    cx.same_type(y, binding.out).then_some(y)
}

/// An integer of 32 bits, and what it is multiplied by.
struct Term {
    x: ValueId,
    /// No element is further from 0.
    reach: u64,
    factors: Numbers,
}

/// Whole constants, one per extent of an axis or one, and the value that they stand in.
struct Numbers {
    of: ValueId,
    all: Vec<i64>,
}

impl Numbers {
    fn at(&self, n: usize) -> i64 {
        self.all[n % self.all.len()]
    }
}

/// What a pattern caught.
struct Scaling {
    terms: Vec<Term>,
    places: Numbers,
    low: i64,
    high: i64,
    zero: i64,
}

impl Scaling {
    fn of(cx: &mut Rewriter<'_>, caught: &Caught) -> Option<Scaling> {
        let mut terms = Vec::new();
        for (x, factors) in [("x", "f"), ("y", "g")] {
            let (Some(x), Some(factors)) = (caught.get(x), caught.get(factors)) else { continue };
            if cx.dtype(*x)? != DType::I32 {
                return None;
            }
            terms.push(Term { x: *x, reach: reach(cx, *x), factors: numbers(cx, *factors)? });
        }
        let places = numbers(cx, *caught.get("s")?)?;
        let halves = numbers(cx, *caught.get("h")?)?;
        let is_half = |n: usize| (1..63).contains(&places.at(n)) && halves.at(n) == (1 << (places.at(n) - 1)) - 1;
        let count = places.all.len().max(halves.all.len());
        if !(0..count).all(is_half) {
            return None;
        }
        let all: Vec<&Numbers> = terms.iter().map(|term| &term.factors).chain([&places, &halves]).collect();
        if !are_pairs(cx, &all) {
            return None;
        }
        let mut bound = |name: &str| cx.splat(*caught.get(name)?).map(|s| s.to_i128() as i64);
        Some(Scaling { terms, places, low: bound("l")?, high: bound("u")?, zero: bound("z")? })
    }

    /// How many channels have constants of their own.
    fn count(&self) -> usize {
        self.terms.iter().map(|term| term.factors.all.len()).fold(self.places.all.len(), usize::max)
    }

    /// Whether floats give each bit of what is clipped, and all of it has room in 32 bits.
    fn is_exact(&self) -> bool {
        let most = self.low.unsigned_abs().max(self.high.unsigned_abs());
        let narrow = most.saturating_add(self.zero.unsigned_abs()) < 1 << 30;
        let exact = |n: usize| {
            let factors = self.terms.iter().all(|term| term.factors.at(n).unsigned_abs() < 1 << KEPT);
            let products = self.products(n);
            // One product alone is rounded where it is clipped, and not below.
            let clipped = self.terms.len() == 1 && bits(most + 1) + self.places.at(n) as u32 <= KEPT;
            factors && products < WRAPS && (products < 1 << KEPT || clipped)
        };
        narrow && (0..self.count()).all(exact)
    }

    /// How far from 0 a sum of products may be.
    fn products(&self, n: usize) -> u128 {
        self.terms.iter().map(|term| u128::from(term.reach) * u128::from(term.factors.at(n).unsigned_abs())).sum()
    }

    /// Whether what is rounded has room in 32 bits before it is clipped.
    fn has_room(&self) -> bool {
        (0..self.count()).all(|n| self.products(n) >> self.places.at(n) < 1 << 30)
    }

    /// The integers of 32 bits that they are.
    fn in_floats(&self, cx: &mut Rewriter<'_>) -> Option<ValueId> {
        let mut sum = None;
        for term in &self.terms {
            let factors = self.factors(cx, &term.factors);
            let x = cast(cx, term.x, DType::F64)?;
            let next = binary(cx, BinaryOp::Mul, x, factors)?;
            sum = Some(match sum {
                Some(before) => binary(cx, BinaryOp::Add, before, next)?,
                None => next,
            });
        }
        let mut y = sum?;
        if !self.has_room() {
            y = self.clipped(cx, y, |n| Scalar::float(DType::F64, n as f64))?;
        }
        let y = cx.emit(Op::Element(ElementOp::NearestInt), &[y])?;
        let whole = |n: i64| Scalar::int(DType::I32, i128::from(n));
        let y = self.clipped(cx, y, whole)?;
        let zero = cx.scalar(whole(self.zero));
        binary(cx, BinaryOp::Add, y, zero)
    }

    fn clipped(&self, cx: &mut Rewriter<'_>, y: ValueId, bound: impl Fn(i64) -> Scalar) -> Option<ValueId> {
        let (low, high) = (cx.scalar(bound(self.low)), cx.scalar(bound(self.high)));
        let y = binary(cx, BinaryOp::Max, y, low)?;
        binary(cx, BinaryOp::Min, y, high)
    }

    /// What one unit counts for.
    fn factors(&self, cx: &mut Rewriter<'_>, own: &Numbers) -> ValueId {
        let count = own.all.len().max(self.places.all.len());
        let all = (0..count).map(|n| own.at(n) as f64 * (-(self.places.at(n) as f64)).exp2());
        let shaped = if own.all.len() == count { own.of } else { self.places.of };
        let shape: Vec<u64> = cx.fixed(shaped).unwrap_or_default().iter().map(|n| *n as u64).collect();
        if shape.is_empty() {
            return cx.scalar(Scalar::float(DType::F64, all.sum()));
        }
        cx.constant("scale", DType::F64, &shape, all.flat_map(f64::to_le_bytes).collect())
    }
}

/// Whether constants of several numbers go along one axis, and have as many.
fn are_pairs(cx: &Rewriter<'_>, all: &[&Numbers]) -> bool {
    let mut several = all.iter().filter(|numbers| numbers.all.len() > 1).map(|numbers| cx.shape(numbers.of));
    several.next().is_none_or(|first| several.all(|shape| shape == first))
}

fn bits(n: u64) -> u32 {
    u64::BITS - n.leading_zeros()
}

/// How far from 0 an element of an integer of 32 bits may be.
fn reach(cx: &mut Rewriter<'_>, x: ValueId) -> u64 {
    let all = 1 << 31;
    if let Some((low, past)) = &cx.data(x).range
        && let (Some(low), Some(past)) = (low.as_const(), past.as_const())
    {
        return low.unsigned_abs().max((past - 1).unsigned_abs());
    }
    let Some(def) = cx.def(x).cloned() else { return all };
    match (&def.op, &def.args[..]) {
        (Op::Element(ElementOp::Cast(_)), [from]) => match cx.dtype(*from) {
            Some(DType::I8 | DType::U8) => 1 << 8,
            Some(DType::I16 | DType::U16) => 1 << 16,
            _ => all,
        },
        (Op::Element(ElementOp::Binary(BinaryOp::Add | BinaryOp::Sub)), [x, constant]) => match cx.splat(*constant) {
            Some(constant) => all.min(reach(cx, *x) + constant.to_i128().unsigned_abs() as u64),
            None => all,
        },
        _ => all,
    }
}

/// The integers of a constant of 64 bits, which may have been given axes.
fn numbers(cx: &mut Rewriter<'_>, of: ValueId) -> Option<Numbers> {
    let source = match cx.def(of)? {
        def if matches!(def.op, Op::Reshape { .. }) => def.args[0],
        _ => of,
    };
    let all = match cx.def(source)?.op {
        Op::Scalar(s) if s.dtype == DType::I64 => vec![s.to_i128() as i64],
        _ => integers(cx.constant_of(source)?)?,
    };
    (!all.is_empty()).then_some(Numbers { of, all })
}

fn integers(data: &ConstData) -> Option<Vec<i64>> {
    let ConstBytes::Inline(bytes) = &data.bytes else { return None };
    let one = |bytes: &[u8]| Some(i64::from_le_bytes(bytes.try_into().ok()?));
    (data.dtype == DType::I64).then(|| bytes.chunks(8).map(one).collect())?
}
