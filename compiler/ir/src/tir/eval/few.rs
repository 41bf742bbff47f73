//! What are nearly always one or a few, and then need no memory of their own: each access has an index, each turn of a loop
//! a counter.

use std::fmt;
use std::ops::{Deref, DerefMut};

use crate::DType;
use crate::eval::Bounded;

/// How many need no memory of their own.
const FEW: usize = 6;

/// An index.
pub(super) type At = Few<i64>;

/// Numbers or values: of each axis, of each operand.
pub(super) enum Few<T> {
    Few([T; FEW], usize),
    Many(Vec<T>),
}

impl<T: Copy> Few<T> {
    /// So many times the same.
    pub(super) fn of(one: T, count: usize) -> Self {
        if count <= FEW { Few::Few([one; FEW], count) } else { Few::Many(vec![one; count]) }
    }
}

impl<T> Deref for Few<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Few::Few(all, count) => &all[..*count],
            Few::Many(all) => all,
        }
    }
}

impl<T> DerefMut for Few<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Few::Few(all, count) => &mut all[..*count],
            Few::Many(all) => all,
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Few<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// The lanes of a variable; none before it is bound.
#[derive(Clone, Default)]
pub(super) struct Lanes {
    first: Option<Bounded>,
    more: Vec<Bounded>,
}

impl Lanes {
    /// Of a scalar.
    pub(super) fn one(value: Bounded) -> Self {
        Lanes { first: Some(value), more: Vec::new() }
    }

    /// A lane: of a scalar it has the same value in each.
    pub(super) fn at(&self, lane: u16) -> Option<Bounded> {
        let more = usize::from(lane).checked_sub(1).and_then(|lane| self.more.get(lane));
        more.copied().or(self.first)
    }

    /// An index in a lane, if it is one that every implementation has.
    pub(super) fn index_at(&self, lane: u16) -> Option<i64> {
        let value = self.at(lane).filter(|value| value.is_exact() && value.value.dtype == DType::I64)?;
        Some(value.value.bits as i64)
    }
}

impl FromIterator<Bounded> for Lanes {
    fn from_iter<I: IntoIterator<Item = Bounded>>(lanes: I) -> Self {
        let mut lanes = lanes.into_iter();
        Lanes { first: lanes.next(), more: lanes.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_a_few_are_kept_as_well() {
        for count in [0, 1, FEW, FEW + 1, 2 * FEW] {
            let mut at = At::of(0, count);
            (1..).zip(at.iter_mut()).for_each(|(n, axis)| *axis = n);
            assert_eq!(at.to_vec(), (1..=count as i64).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_scalar_has_its_value_in_each_lane() {
        let [one, two] = [1, 2].map(Bounded::index);
        assert!(Lanes::default().at(0).is_none());
        assert_eq!([0, 1, 7].map(|lane| Lanes::one(one).at(lane)), [Some(one); 3]);
        let lanes: Lanes = [one, two].into_iter().collect();
        assert_eq!([0, 1].map(|lane| lanes.at(lane)), [Some(one), Some(two)]);
    }
}
