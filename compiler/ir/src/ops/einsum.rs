//! Sums of products by letters: einsum, tensordot and trace, as products of matrices.

use super::call::{int_attr, one_axis_attr, tensor};
use super::check::{attr_error, numbers, rank_at_least, same_dtype};
use super::compose::{arange, compare, mul, reduce, reshape, select, transpose};
use super::error::{At, OpError, OpErrorKind, show_tensor};
use super::{AttrDef, AttrValue, OpCall, OpDef};
use crate::arith::IntExpr;
use crate::op::{CmpOp, ReduceOp};
use crate::relax::{Builder, Op, ValueId, dim};
use crate::{DType, Scalar};

/// A tensor with a letter per axis. The axes of an ellipsis have digits, counted from the end.
#[derive(Clone)]
struct Term {
    x: ValueId,
    labels: Vec<char>,
}

fn equation_error(message: impl Into<String>) -> OpError {
    attr_error("equation", message).help("write letters for axes: `equation = \"ij,jk->ik\"`")
}

/// The letters of a term; those of an ellipsis of `extra` axes are digits.
fn labels(text: &str, extra: usize) -> Result<Vec<char>, OpError> {
    let digits: String = (0..extra).rev().filter_map(|n| char::from_digit(n as u32, 10)).collect();
    let text = text.replacen("...", &digits, 1);
    match text.chars().find(|c| !c.is_ascii_alphanumeric()) {
        None => Ok(text.chars().collect()),
        Some(c) => Err(equation_error(format!("the equation has the term `{text}`, in which `{c}` is no letter"))),
    }
}

/// Sides of an equation, without spaces.
fn equation(call: &OpCall) -> Result<(String, Option<String>), OpError> {
    let text = match call.attrs.get("equation") {
        Some(AttrValue::Text(text)) => text,
        Some(_) => return Err(equation_error("expected a text for `equation`")),
        None => return Err(super::call::missing("equation", "\"ij,jk->ik\"")),
    };
    if let Some(digit) = text.chars().find(char::is_ascii_digit) {
        return Err(equation_error(format!("`{digit}` in the equation is no letter")));
    }
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    Ok(match text.split_once("->") {
        Some((left, right)) => (left.to_string(), Some(right.to_string())),
        None => (text, None),
    })
}

/// The operands with their letters, and how many axes the longest ellipsis stands for.
fn terms(b: &mut Builder, call: &OpCall, left: &str) -> Result<(Vec<Term>, usize), OpError> {
    let texts: Vec<&str> = left.split(',').collect();
    if texts.len() != call.args.len() {
        let s = if texts.len() == 1 { "" } else { "s" };
        let message = format!("expected {} operand{s}, one for each term, found {}", texts.len(), call.args.len());
        return Err(attr_error("equation", message).help("write `einsum(a, b, equation = \"ij,jk->ik\")`"));
    }
    let (mut terms, mut most) = (Vec::new(), 0);
    for (i, text) in texts.iter().enumerate() {
        let (x, ty) = tensor(b, call, i)?;
        numbers(i, &ty)?;
        same_dtype(i, &ty, &b.tensor(terms.first().map_or(x, |first: &Term| first.x)).clone())?;
        let named = text.replacen("...", "", 1).chars().count();
        let extra = if text.contains("...") { ty.shape.len().saturating_sub(named) } else { 0 };
        most = most.max(extra);
        let labels = labels(text, extra)?;
        if labels.len() != ty.shape.len() {
            let message = format!("the term `{text}` has {named} letters for `{}`", show_tensor(&ty));
            return Err(OpError::new(At::Arg(i), OpErrorKind::Rank, message));
        }
        terms.push(Term { x, labels });
    }
    Ok((terms, most))
}

/// Every letter has one extent; where it is 1 in one term and another in a second, the first term goes without it.
fn agreed(b: &mut Builder, terms: Vec<Term>) -> Result<Vec<Term>, OpError> {
    let mut extents: Vec<(char, IntExpr, usize)> = Vec::new();
    for (i, term) in terms.iter().enumerate() {
        for (label, extent) in term.labels.iter().zip(b.tensor(term.x).shape.clone()) {
            match extents.iter_mut().find(|(known, ..)| known == label) {
                None => extents.push((*label, extent, i)),
                Some((_, known, _)) if dim::equal(&b.prover, known, &extent) || dim::is_one(&extent) => {}
                Some((_, known, first)) if dim::is_one(known) => (*known, *first) = (extent, i),
                Some((_, known, first)) => {
                    let message = format!("`{label}` of the equation is `{known}` and `{extent}`");
                    let error = OpError::new(At::Arg(i), OpErrorKind::Dims, message);
                    return Err(error.also(At::Arg(*first), format!("here it is `{known}`")));
                }
            }
        }
    }
    let stays = |label: &char, extent: &IntExpr| {
        let whole = extents.iter().find(|(known, ..)| known == label).map(|(_, extent, _)| extent);
        !dim::is_one(extent) || whole.is_none_or(dim::is_one)
    };
    terms
        .into_iter()
        .map(|term| {
            let axes: Vec<(char, IntExpr)> = term.labels.into_iter().zip(b.tensor(term.x).shape.clone()).collect();
            let (labels, shape): (Vec<char>, Vec<IntExpr>) =
                axes.into_iter().filter(|(label, extent)| stays(label, extent)).unzip();
            Ok(Term { x: reshape(b, term.x, &shape)?, labels })
        })
        .collect()
}

/// Without a right side: an ellipsis, then the letters that stand once, in the order of the alphabet.
fn implied(left: &str, most: usize) -> Result<Vec<char>, OpError> {
    let letters: Vec<char> = left.replace("...", "").chars().filter(|c| *c != ',').collect();
    let stands_once = |c: &char| letters.iter().filter(|d| *d == c).count() == 1;
    let mut once: Vec<char> = letters.iter().copied().filter(stands_once).collect();
    once.sort_unstable();
    Ok(labels("...", most)?.into_iter().chain(once).collect())
}

fn einsum(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (left, right) = equation(call)?;
    let (terms, most) = terms(b, call, &left)?;
    let result = match right {
        Some(text) => labels(&text, if text.contains("...") { most } else { 0 })?,
        None => implied(&left, most)?,
    };
    check_result(&terms, &result)?;
    let terms = agreed(b, terms)?;
    let terms = terms.into_iter().map(|term| diagonal(b, term)).collect::<Result<Vec<_>, _>>()?;
    sum_of_products(b, terms, &result)
}

fn check_result(terms: &[Term], result: &[char]) -> Result<(), OpError> {
    if let Some(i) = (1..result.len()).find(|i| result[..*i].contains(&result[*i])) {
        return Err(equation_error(format!("`{}` stands twice in the equation's result", result[i])));
    }
    match result.iter().find(|c| !terms.iter().any(|t| t.labels.contains(c))) {
        Some(c) => Err(equation_error(format!("no operand has the letter `{c}` of the equation's result"))),
        None => Ok(()),
    }
}

fn sum_of_products(b: &mut Builder, terms: Vec<Term>, result: &[char]) -> Result<ValueId, OpError> {
    let mut rest = terms.into_iter();
    let Some(mut sum) = rest.next() else {
        return Err(OpError::new(At::Call, OpErrorKind::Arity, "expected an operand"));
    };
    while let Some(next) = rest.next() {
        let others = rest.as_slice().to_vec();
        let later = move |c: &char| result.contains(c) || others.iter().any(|t| t.labels.contains(c));
        sum = pair(b, sum, next, &later)?;
    }
    let sum = summed(b, sum, &|c| result.contains(c))?;
    ordered(b, sum, result)
}

/// A letter that stands twice is the diagonal of its axes.
fn diagonal(b: &mut Builder, mut term: Term) -> Result<Term, OpError> {
    while let Some((first, second)) = twice(&term.labels) {
        term.x = diagonal_of(b, term.x, (first, second), &dim::int(0))?;
        term.x = reduce(b, ReduceOp::Sum, term.x, &[second], false)?;
        term.labels.remove(second);
    }
    Ok(term)
}

/// Zeros beside a diagonal of two axes; `offset` counts upwards from the main one.
fn diagonal_of(
    b: &mut Builder,
    x: ValueId,
    (first, second): (usize, usize),
    offset: &IntExpr,
) -> Result<ValueId, OpError> {
    let ty = b.tensor(x).clone();
    let along = |b: &mut Builder, axis: usize, start: &IntExpr| {
        let extent = ty.shape[axis].clone();
        let mut shape = vec![dim::int(1); ty.shape.len()];
        shape[axis] = extent.clone();
        let range = match dim::as_int(start) {
            Some(0) => arange(b, DType::I64, &extent)?,
            _ => {
                let op = Op::Arange { start: start.clone(), step: dim::int(1), extent, dtype: DType::I64 };
                b.emit(op, &[])?
            }
        };
        reshape(b, range, &shape)
    };
    let (i, j) = (along(b, first, offset)?, along(b, second, &dim::int(0))?);
    let same = compare(b, CmpOp::Eq, i, j)?;
    let zero = b.scalar(Scalar::zero(ty.dtype));
    select(b, same, x, zero)
}

fn twice(labels: &[char]) -> Option<(usize, usize)> {
    (0..labels.len()).find_map(|a| Some((a, a + 1 + labels[a + 1..].iter().position(|c| *c == labels[a])?)))
}

/// Summed over the letters that nobody needs.
fn summed(b: &mut Builder, term: Term, needed: &dyn Fn(&char) -> bool) -> Result<Term, OpError> {
    let gone: Vec<usize> = (0..term.labels.len()).filter(|i| !needed(&term.labels[*i])).collect();
    if gone.is_empty() {
        return Ok(term);
    }
    let x = reduce(b, ReduceOp::Sum, term.x, &gone, false)?;
    Ok(Term { x, labels: term.labels.into_iter().filter(|c| needed(c)).collect() })
}

/// The axes in that order.
fn ordered(b: &mut Builder, term: Term, order: &[char]) -> Result<ValueId, OpError> {
    let perm: Vec<usize> = order.iter().filter_map(|c| term.labels.iter().position(|l| l == c)).collect();
    transpose(b, term.x, &perm)
}

/// Two terms as one product of matrices.
fn pair(b: &mut Builder, left: Term, right: Term, later: &dyn Fn(&char) -> bool) -> Result<Term, OpError> {
    let (in_left, in_right) = (left.labels.clone(), right.labels.clone());
    let left = summed(b, left, &|c| later(c) || in_right.contains(c))?;
    let right = summed(b, right, &|c| later(c) || in_left.contains(c))?;
    let both: Vec<char> = left.labels.iter().copied().filter(|c| right.labels.contains(c)).collect();
    let (batch, inner): (Vec<char>, Vec<char>) = both.into_iter().partition(|c| later(c));
    let rows: Vec<char> = left.labels.iter().copied().filter(|c| !right.labels.contains(c)).collect();
    let columns: Vec<char> = right.labels.iter().copied().filter(|c| !left.labels.contains(c)).collect();
    let x = ordered(b, left, &[&batch[..], &rows, &inner].concat())?;
    let y = ordered(b, right, &[&batch[..], &inner, &columns].concat())?;
    let (dx, dy) = (b.tensor(x).shape.clone(), b.tensor(y).shape.clone());
    let (n, m, k) = (batch.len(), rows.len(), inner.len());
    let labels = [&batch[..], &rows, &columns].concat();
    if inner.is_empty() {
        let x = reshape(b, x, &[&dx[..], &vec![dim::int(1); columns.len()]].concat())?;
        let y = reshape(b, y, &[&dy[..n], &vec![dim::int(1); m], &dy[n..]].concat())?;
        return Ok(Term { x: mul(b, x, y)?, labels });
    }
    let flat = |first: &[IntExpr], last: &[IntExpr]| [&dx[..n], &[dim::product(first), dim::product(last)]].concat();
    let x = reshape(b, x, &flat(&dx[n..n + m], &dx[n + m..]))?;
    let y = reshape(b, y, &flat(&dx[n + m..], &dy[n + k..]))?;
    let z = b.emit(Op::MatMul, &[x, y])?;
    let z = reshape(b, z, &[&dx[..n + m], &dy[n + k..]].concat())?;
    Ok(Term { x: z, labels })
}

/// NumPy's tensordot: the last axes of `a` with the first of `b`, or two lists of axes.
fn tensordot(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let ((x, left), (y, right)) = (tensor(b, call, 0)?, tensor(b, call, 1)?);
    numbers(0, &left)?;
    same_dtype(1, &right, &left)?;
    let (of_x, of_y) = contracted(call, left.shape.len(), right.shape.len())?;
    for (i, j) in of_x.iter().zip(&of_y) {
        super::check::extent(b, 1, &right, *j, &left.shape[*i])?;
    }
    let letter = |n: usize| char::from_u32('a' as u32 + n as u32).unwrap_or('a');
    let names: Vec<char> = (0..left.shape.len()).map(letter).collect();
    let own = |j: usize| of_y.iter().position(|at| *at == j).map(|n| names[of_x[n]]);
    let others: Vec<char> = (0..right.shape.len()).map(|j| own(j).unwrap_or(letter(names.len() + j))).collect();
    let kept = |all: &[char], gone: &[usize]| -> Vec<char> {
        all.iter().enumerate().filter(|(i, _)| !gone.contains(i)).map(|(_, c)| *c).collect()
    };
    let result = [kept(&names, &of_x), kept(&others, &of_y)].concat();
    let terms = vec![Term { x, labels: names }, Term { x: y, labels: others }];
    sum_of_products(b, terms, &result)
}

/// The axes that are summed over, of both operands.
fn contracted(call: &OpCall, left: usize, right: usize) -> Result<(Vec<usize>, Vec<usize>), OpError> {
    let wrong = |message: String| attr_error("axes", message).help("write `axes = 2` or `axes = [[1], [0]]`");
    let lists = match call.attrs.get("axes") {
        Some(AttrValue::List(items)) => items,
        Some(_) | None => {
            let n = int_attr(call, "axes")?.unwrap_or(2);
            let fits = usize::try_from(n).ok().filter(|n| *n <= left.min(right));
            let n = fits.ok_or_else(|| wrong(format!("expected 0 to {} for `axes`, found {n}", left.min(right))))?;
            return Ok(((left - n..left).collect(), (0..n).collect()));
        }
    };
    let axis = |item: &AttrValue, rank: usize| match item {
        AttrValue::Int(e) => {
            let rank = rank as i64;
            dim::as_int(e).filter(|n| (-rank..rank).contains(n)).map(|n| n.rem_euclid(rank) as usize)
        }
        _ => None,
    };
    let list = |item: &AttrValue, rank: usize| -> Option<Vec<usize>> {
        match item {
            AttrValue::List(items) => items.iter().map(|item| axis(item, rank)).collect(),
            one => axis(one, rank).map(|axis| vec![axis]),
        }
    };
    let [of_x, of_y] = lists.as_slice() else { return Err(wrong("expected two lists of axes".into())) };
    match (list(of_x, left), list(of_y, right)) {
        (Some(of_x), Some(of_y)) if of_x.len() == of_y.len() && distinct(&of_x) && distinct(&of_y) => Ok((of_x, of_y)),
        _ => Err(wrong(format!("expected two lists of as many different axes of ranks {left} and {right}"))),
    }
}

fn distinct(axes: &[usize]) -> bool {
    (1..axes.len()).all(|i| !axes[..i].contains(&axes[i]))
}

/// The sum along a diagonal of two axes.
fn trace(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    numbers(0, &ty)?;
    rank_at_least(0, &ty, 2)?;
    let (first, second) = (one_axis_attr(call, "axis1", &ty, 0)?, one_axis_attr(call, "axis2", &ty, 1)?);
    if first == second {
        return Err(attr_error("axis2", "expected two different axes for `axis1` and `axis2`"));
    }
    let offset = super::call::index_attr(call, "offset")?.unwrap_or(dim::int(0));
    let masked = diagonal_of(b, x, (first, second), &offset)?;
    let mut axes = [first, second];
    axes.sort_unstable();
    reduce(b, ReduceOp::Sum, masked, &axes, false)
}

pub(super) static TABLE: &[OpDef] = &[
    graph!(
        "einsum",
        "Einsum",
        "x, …",
        (1, 64),
        &[AttrDef { name: "equation", ty: "text", doc: "letters for the axes of each operand and of the result" }],
        einsum,
        "The sum of products over the letters that the result lacks: `\"bij,bjk->bik\"` is a product of matrices. A letter twice in a term is its diagonal, `...` stands for axes that broadcast, and without `->` the result has the letters that stand once. Operands are multiplied from left to right."
    ),
    graph!(
        "tensordot",
        "",
        "a, b",
        2,
        &[AttrDef {
            name: "axes",
            ty: "int | two lists = 2",
            doc: "how many last axes of a meet the first of b, or which meet which"
        }],
        tensordot,
        "The sum of products over axes that meet; the result has the others of a, then those of b."
    ),
    graph!(
        "trace",
        "",
        "x",
        1,
        &[
            AttrDef { name: "offset", ty: "int = 0", doc: "the diagonal, counted upwards from the main one" },
            AttrDef { name: "axis1", ty: "int = 0", doc: "the axis of rows" },
            AttrDef { name: "axis2", ty: "int = 1", doc: "the axis of columns" },
        ],
        trace,
        "The sum along a diagonal of two axes, in x's dtype."
    ),
];
