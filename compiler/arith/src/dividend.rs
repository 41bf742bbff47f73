//! What a bound of a quotient by a constant says of its dividend.

use super::atom::Atom;
use super::expr::IntExpr;
use super::fact::Fact;

/// `floordiv(x, 4) >= 2` is `x >= 8`. Bounds of `x` are found from `x`, to which nothing leads from its quotient.
pub(super) fn bounded(bound: &Fact) -> Option<Fact> {
    let Fact::NonNegative(e) = bound else { return None };
    let ([(monomial, factor @ (1 | -1))], number) = (e.terms(), e.constant_term()) else { return None };
    let (dividend, by, floor) = match monomial.single()? {
        Atom::FloorDiv(a, b) => (a, b.as_const()?, true),
        Atom::TruncDiv(a, b) => (a, b.as_const()?, false),
        Atom::Var(_) | Atom::FloorMod(..) | Atom::TruncRem(..) | Atom::Min(..) | Atom::Max(..) => return None,
        Atom::Sum(..) | Atom::Product(..) => return None,
    };
    if by <= 0 {
        return None;
    }
    let (rest, least) = (by - 1, *factor > 0);
    let end = if least { number.checked_neg()? } else { number };
    // Rounding to zero goes up below it.
    let (below, above) =
        if floor { (0, rest) } else { (if end <= 0 { rest } else { 0 }, if end >= 0 { rest } else { 0 }) };
    let whole = end.checked_mul(by)?;
    Some(if least {
        Fact::ge(dividend, &IntExpr::constant(whole.checked_sub(below)?))
    } else {
        Fact::le(dividend, &IntExpr::constant(whole.checked_add(above)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sym;

    #[test]
    fn says_what_the_bound_of_the_quotient_says() {
        let quotients: [fn(&IntExpr, &IntExpr) -> IntExpr; 2] = [IntExpr::floor_div, IntExpr::trunc_div];
        let x = IntExpr::var("x");
        for (quotient, by, end, least) in (0..2).flat_map(|q| {
            (2..6).flat_map(move |by| (-4..5).flat_map(move |end| [(q, by, end, true), (q, by, end, false)]))
        }) {
            let (q, end) = (quotients[quotient](&x, &IntExpr::constant(by)), IntExpr::constant(end));
            let bound = if least { Fact::ge(&q, &end) } else { Fact::le(&q, &end) };
            let found = bounded(&bound).expect("it bounds a quotient");
            for value in -30..30 {
                let at = |_: &Sym| Some(value);
                assert_eq!(bound.eval(&at), found.eval(&at), "{bound} and {found} at {value}");
            }
        }
    }
}
