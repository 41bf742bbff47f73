//! Numbers that look random and are the same in every run: Steele, Lea and Flood's SplitMix64.

/// A sequence of numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number.
    pub fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 where there is none.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next_bits() % n.max(1) as u64) as usize
    }

    /// Whether something happens that does so in `percent` of a hundred cases.
    pub fn happens(&mut self, percent: u64) -> bool {
        self.next_bits() % 100 < percent
    }
}
