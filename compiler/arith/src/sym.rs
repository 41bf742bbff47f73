//! Names of variables.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The name of an integer variable; a clone shares the text.
#[derive(Clone)]
pub struct Sym {
    /// The first bytes of the text in its order, with zeros behind a shorter one: proofs compare names more than they do
    /// anything else, and most names differ here.
    start: u64,
    text: Arc<str>,
}

impl Sym {
    /// A variable of this name; equal names are equal variables.
    pub fn new(name: impl AsRef<str>) -> Self {
        let name = name.as_ref();
        let mut start = [0; 8];
        let shared = name.len().min(start.len());
        start[..shared].copy_from_slice(&name.as_bytes()[..shared]);
        Self { start: u64::from_be_bytes(start), text: Arc::from(name) }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Sym {
    fn eq(&self, other: &Self) -> bool {
        self.start == other.start && self.text == other.text
    }
}

impl Eq for Sym {}

impl PartialOrd for Sym {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The order of the texts.
impl Ord for Sym {
    fn cmp(&self, other: &Self) -> Ordering {
        match self.start.cmp(&other.start) {
            Ordering::Equal if Arc::ptr_eq(&self.text, &other.text) => Ordering::Equal,
            Ordering::Equal => self.text.cmp(&other.text),
            order => order,
        }
    }
}

impl Hash for Sym {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl fmt::Debug for Sym {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sym").field(&self.text).finish()
    }
}

impl fmt::Display for Sym {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<&str> for Sym {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

#[cfg(test)]
mod tests {
    use super::Sym;

    /// Names that are shorter than what is compared first, as long and longer, and some that differ in one place.
    const NAMES: [&str; 12] =
        ["", "\0", "a", "a\0", "aa", "b", "1234567", "12345678", "12345678\0", "123456789", "12345679", "é"];

    #[test]
    fn names_are_ordered_as_their_texts() {
        for a in NAMES {
            for b in NAMES {
                let [x, y] = [a, b].map(Sym::new);
                assert_eq!(x.cmp(&y), a.cmp(b), "{a:?} and {b:?}");
                assert_eq!(x == y, a == b, "{a:?} and {b:?}");
            }
        }
    }
}
