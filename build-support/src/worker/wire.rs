//! Bytes between the build script and its workers: numbers, texts and lists, each with its length before it.
//!
//! The same bytes are what the cache keeps of an answer. A reader trusts nothing: what does not fit is `None`.

use std::io::{self, Read, Write};

/// Bytes of one message at most.
const LIMIT: u64 = 1 << 30;

/// Puts values one behind the other.
#[derive(Default)]
pub(crate) struct Put {
    bytes: Vec<u8>,
}

impl Put {
    /// What was put.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }

    /// A number.
    pub(crate) fn number(&mut self, value: u64) {
        self.bytes.extend(value.to_le_bytes());
    }

    /// A text.
    pub(crate) fn text(&mut self, value: &str) {
        self.number(value.len() as u64);
        self.bytes.extend(value.as_bytes());
    }

    /// A value that may be absent.
    pub(crate) fn option<T>(&mut self, value: Option<T>, put: impl FnOnce(&mut Self, T)) {
        self.number(u64::from(value.is_some()));
        if let Some(value) = value {
            put(self, value);
        }
    }

    /// A list.
    pub(crate) fn list<T>(&mut self, values: &[T], mut put: impl FnMut(&mut Self, &T)) {
        self.number(values.len() as u64);
        for value in values {
            put(self, value);
        }
    }

    /// A list of texts.
    pub(crate) fn texts(&mut self, values: &[String]) {
        self.list(values, |put, value| put.text(value));
    }
}

/// Takes values in the order in which they were put.
pub(crate) struct Take<'a> {
    bytes: &'a [u8],
}

impl<'a> Take<'a> {
    /// From the beginning.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// A number.
    pub(crate) fn number(&mut self) -> Option<u64> {
        let (head, rest) = self.bytes.split_first_chunk::<8>()?;
        self.bytes = rest;
        Some(u64::from_le_bytes(*head))
    }

    /// A text.
    pub(crate) fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.number()?).ok()?;
        let (head, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        String::from_utf8(head.to_vec()).ok()
    }

    /// A value that may be absent.
    pub(crate) fn option<T>(&mut self, take: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.number()? {
            0 => Some(None),
            1 => take(self).map(Some),
            _ => None,
        }
    }

    /// A list.
    pub(crate) fn list<T>(&mut self, mut take: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.number()?;
        (0..count).map(|_| take(self)).collect()
    }

    /// A list of texts.
    pub(crate) fn texts(&mut self) -> Option<Vec<String>> {
        self.list(Self::text)
    }

    /// Whether all was taken.
    pub(crate) fn end(&self) -> Option<()> {
        self.bytes.is_empty().then_some(())
    }
}

/// Writes a message with its length.
pub(crate) fn send(out: &mut impl Write, message: &[u8]) -> io::Result<()> {
    out.write_all(&(message.len() as u64).to_le_bytes())?;
    out.write_all(message)?;
    out.flush()
}

/// Reads up to a mark and the mark.
pub(crate) fn skip_to(from: &mut impl Read, mark: &[u8]) -> io::Result<()> {
    let mut last = Vec::with_capacity(mark.len() + 1);
    let mut byte = [0];
    while last != mark {
        from.read_exact(&mut byte)?;
        last.push(byte[0]);
        if last.len() > mark.len() {
            last.remove(0);
        }
    }
    Ok(())
}

/// Reads a message; none at the end.
pub(crate) fn receive(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut head = [0; 8];
    match from.read_exact(&mut head) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = u64::from_le_bytes(head);
    if length > LIMIT {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a message"));
    }
    let mut message = Vec::new();
    from.take(length).read_to_end(&mut message)?;
    Ok((message.len() as u64 == length).then_some(message))
}
