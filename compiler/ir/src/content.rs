//! The identity of content: 128 bits that tell constants, files and keys of caches apart.
//!
//! Two lanes of multiply and rotate over words of eight bytes. Cargo builds build scripts without optimisation, where
//! a call costs more than what it does: the loop makes as few as can be, and takes a tenth of a second for 100 MB.
//! Nothing rests on it against somebody who wants two contents to be equal.

use std::io::{self, Read};

use tenfold_abi::DType;

const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0xc2b2_ae3d_27d4_eb4f;
/// Bytes that are read at a time: whole words.
const CHUNK: usize = 1 << 16;

/// A hash in progress.
#[derive(Clone, Debug)]
pub struct Hasher {
    lanes: [u64; 2],
    length: u64,
}

impl Default for Hasher {
    fn default() -> Self {
        Self::new()
    }
}

impl Hasher {
    /// Of nothing yet.
    pub fn new() -> Self {
        Self { lanes: [FIRST, SECOND], length: 0 }
    }

    /// Adds a field: its length and its bytes, so that fields cannot run into each other.
    pub fn field(&mut self, bytes: &[u8]) -> &mut Self {
        self.word(bytes.len() as u64);
        self.bytes(bytes);
        self
    }

    /// Adds bytes, the last word filled up with zeros.
    fn bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        let [mut a, mut b] = self.lanes;
        let (mut at, end) = (0, words.len());
        while at < end {
            let word = u64::from_le_bytes(words[at]);
            a = (a ^ word).wrapping_mul(FIRST).rotate_left(29);
            b = (b.rotate_left(31) ^ word).wrapping_mul(SECOND);
            at += 1;
        }
        self.lanes = [a, b];
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.word(u64::from_le_bytes(word));
        }
        self.length = self.length.wrapping_add(bytes.len() as u64);
    }

    fn word(&mut self, word: u64) {
        let [a, b] = self.lanes;
        self.lanes = [(a ^ word).wrapping_mul(FIRST).rotate_left(29), (b.rotate_left(31) ^ word).wrapping_mul(SECOND)];
    }

    /// The hash as 32 digits.
    pub fn finish(&self) -> String {
        let [mut a, mut b] = self.lanes;
        a ^= self.length;
        for _ in 0..3 {
            a = (a ^ (b >> 32)).wrapping_mul(SECOND);
            b = (b ^ (a >> 29)).wrapping_mul(FIRST);
        }
        format!("{a:016x}{b:016x}")
    }
}

/// The hash of a stream.
///
/// # Errors
///
/// It cannot be read.
pub fn of_stream(stream: &mut impl Read) -> io::Result<String> {
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; CHUNK];
    loop {
        let mut filled = 0;
        while filled < CHUNK {
            match stream.read(&mut buffer[filled..])? {
                0 => break,
                n => filled += n,
            }
        }
        hasher.bytes(&buffer[..filled]);
        if filled < CHUNK {
            return Ok(hasher.finish());
        }
    }
}

/// The identity of a constant ([`crate::ConstData::hash`]), whose bytes a stream gives.
///
/// # Errors
///
/// It cannot be read.
pub fn of_tensor(dtype: DType, shape: &[u64], stream: &mut impl Read) -> io::Result<String> {
    Ok(identity(dtype, shape, &of_stream(stream)?))
}

/// The identity of a constant of these bytes.
pub fn of_bytes(dtype: DType, shape: &[u64], bytes: &[u8]) -> String {
    let mut hasher = Hasher::new();
    hasher.bytes(bytes);
    identity(dtype, shape, &hasher.finish())
}

fn identity(dtype: DType, shape: &[u64], content: &str) -> String {
    let mut hasher = Hasher::new();
    hasher.field(dtype.name().as_bytes());
    for extent in shape {
        hasher.field(&extent.to_le_bytes());
    }
    hasher.field(content.as_bytes()).finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(fields: &[&str]) -> String {
        let mut hasher = Hasher::new();
        for field in fields {
            hasher.field(field.as_bytes());
        }
        hasher.finish()
    }

    #[test]
    fn every_difference_shows() {
        let mut all =
            vec![of(&[]), of(&[""]), of(&["", ""]), of(&["ab", "c"]), of(&["a", "bc"]), of(&["abc"]), of(&["abc\0"])];
        for n in 0..64 {
            all.push(of(&[&"x".repeat(n + 1)]));
        }
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn chunks_do_not_matter() {
        let bytes: Vec<u8> = (0..CHUNK * 2 + 5).map(|i| i as u8).collect();
        let whole = of_stream(&mut bytes.as_slice()).unwrap();
        let (a, b) = bytes.split_at(1001);
        assert_eq!(of_stream(&mut a.chain(b)).unwrap(), whole);
        let of_parts = of_tensor(DType::U8, &[bytes.len() as u64], &mut a.chain(b)).unwrap();
        assert_eq!(of_parts, of_bytes(DType::U8, &[bytes.len() as u64], &bytes));
    }

    #[test]
    fn dtype_and_extents_count() {
        let of = |dtype, shape: &[u64]| of_bytes(dtype, shape, &[0; 8]);
        let all = [of(DType::F32, &[2]), of(DType::I32, &[2]), of(DType::F32, &[1, 2]), of(DType::F32, &[2, 1])];
        for (n, one) in all.iter().enumerate() {
            assert!(!all[..n].contains(one), "{n}");
        }
    }
}
