//! Bits that nobody has written, on their way through registers. The back end reads whole vectors of which it uses a part, and
//! leaves half of a register open where nobody looks at it; so such bits do no harm until something depends on them.

use crate::order::LANES;
use crate::warp::Lanes;

/// The bits of a register that are not known, by thread, and why.
#[derive(Clone, Debug)]
pub(crate) struct Doubt {
    pub(crate) bits: Lanes,
    /// Which of the reasons that a warp has met.
    pub(crate) why: usize,
}

/// How an operation hands on bits that are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spread {
    /// Each bit of the result may depend on each of the operands.
    Whole,
    /// The two halves of a word have nothing to do with each other.
    Halves,
    And,
    Or,
    Xor,
    /// So many operands are bits that move where the others say.
    Moved(usize),
    /// The third operand chooses one of the first two.
    Choice,
}

impl Spread {
    /// How an operation of this name does.
    pub(crate) fn of(name: &str, halves: bool) -> Self {
        match name {
            "and" => Self::And,
            "or" => Self::Or,
            "xor" | "not" => Self::Xor,
            "shl" | "shr" | "bfe" => Self::Moved(1),
            "prmt" | "shf" => Self::Moved(2),
            "selp" => Self::Choice,
            _ if halves => Self::Halves,
            _ => Self::Whole,
        }
    }

    /// What is not known of a result.
    fn bits<const N: usize>(self, f: &impl Fn([u64; N]) -> u64, values: [u64; N], doubts: [u64; N]) -> u64 {
        let all = |any: bool| if any { u64::MAX } else { 0 };
        let any = |mask: u64| doubts.iter().any(|doubt| doubt & mask != 0);
        let at = |n: usize| (values.get(n).copied().unwrap_or(0), doubts.get(n).copied().unwrap_or(0));
        let ((a, not_a), (b, not_b), (choice, open)) = (at(0), at(1), at(2));
        match self {
            Self::Whole => all(any(u64::MAX)),
            Self::Halves => all(any(0xFFFF)) & 0xFFFF | all(any(0xFFFF_0000)) & 0xFFFF_0000,
            Self::And => not_a & (b | not_b) | not_b & (a | not_a),
            Self::Or => not_a & (!b | not_b) | not_b & (!a | not_a),
            Self::Xor => not_a | not_b,
            Self::Moved(count) if doubts[count.min(N)..].iter().any(|doubt| *doubt != 0) => u64::MAX,
            Self::Moved(count) => f(std::array::from_fn(|n| if n < count { doubts[n] } else { values[n] })),
            Self::Choice if open != 0 => u64::MAX,
            Self::Choice => {
                if choice == 0 {
                    not_b
                } else {
                    not_a
                }
            }
        }
    }

    /// What is not known of the results of all threads, if anything is not known of an operand.
    pub(crate) fn of_all<const N: usize>(
        self,
        f: impl Fn([u64; N]) -> u64,
        values: &[Lanes; N],
        doubts: &[Option<Doubt>; N],
    ) -> Option<Doubt> {
        let why = doubts.iter().flatten().next()?.why;
        let mut bits = [0; LANES as usize];
        for (lane, bits) in bits.iter_mut().enumerate() {
            let doubt = |n: usize| doubts[n].as_ref().map_or(0, |doubt| doubt.bits[lane]);
            let doubts: [u64; N] = std::array::from_fn(doubt);
            if doubts.iter().any(|doubt| *doubt != 0) {
                *bits = self.bits(&f, std::array::from_fn(|n| values[n][lane]), doubts);
            }
        }
        Some(Doubt { bits, why })
    }
}

#[cfg(test)]
mod tests {
    use super::Spread;

    #[test]
    fn doubts_go_where_their_bits_go() {
        let bits = |spread: Spread, values, doubts| spread.bits(&|[a, by]: [u64; 2]| a << by, values, doubts);
        assert_eq!(bits(Spread::Whole, [1, 2], [0, 1]), u64::MAX);
        assert_eq!(bits(Spread::And, [0xFFFF, 0x00FF], [0xF00F, 0]), 0x000F);
        assert_eq!(bits(Spread::Or, [0, 0x00FF], [0xF00F, 0]), 0xF000);
        assert_eq!(bits(Spread::Halves, [0, 0], [0x10000, 0]), 0xFFFF_0000);
        assert_eq!(bits(Spread::Moved(1), [0, 8], [0xF, 0]), 0xF00);
        assert_eq!(bits(Spread::Moved(1), [0, 8], [0, 1]), u64::MAX);
        let choice = |doubts| Spread::Choice.bits(&|[a, _, _]: [u64; 3]| a, [1, 2, 1], doubts);
        assert_eq!([choice([0, 7, 0]), choice([7, 0, 0]), choice([0, 0, 1])], [0, 7, u64::MAX]);
    }
}
