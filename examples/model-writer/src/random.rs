//! Numbers that look random and are the same on every machine, in every profile.

/// A generator (xorshift64*, by S. Vigna).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Another seed gives other numbers.
    pub fn new(seed: u64) -> Self {
        // the generator never leaves 0
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// From -1 to 1, each value as likely as any other.
    pub fn uniform(&mut self) -> f32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let bits = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 40;
        bits as f32 / (1 << 23) as f32 - 1.0
    }

    /// Weights whose mean square is `scale` squared.
    pub fn weights(&mut self, count: usize, scale: f32) -> Vec<f32> {
        // a uniform number's mean square is a third
        (0..count).map(|_| self.uniform() * scale * 1.732_050_8).collect()
    }
}
