//! The wire format of protocol buffers: fields of a message, one after the other.
//!
//! It knows no message. Nothing is copied and nothing is allocated, whatever the bytes say of their lengths.

/// What is wrong with the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) String);

pub(crate) type Result<T> = std::result::Result<T, Malformed>;

fn malformed<T>(text: impl Into<String>) -> Result<T> {
    Err(Malformed(text.into()))
}

/// A field's value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Field<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
}

impl<'a> Field<'a> {
    pub(crate) fn bytes(self) -> Result<&'a [u8]> {
        match self {
            Field::Bytes(bytes) => Ok(bytes),
            Field::Varint(_) | Field::Fixed64(_) | Field::Fixed32(_) => malformed("a number stands where bytes should"),
        }
    }

    pub(crate) fn text(self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).or_else(|_| malformed("a name is not UTF-8"))
    }

    pub(crate) fn int(self) -> Result<i64> {
        match self {
            Field::Varint(value) => Ok(value as i64),
            Field::Bytes(_) | Field::Fixed64(_) | Field::Fixed32(_) => {
                malformed("something else stands for an integer")
            }
        }
    }

    pub(crate) fn float(self) -> Result<f32> {
        match self {
            Field::Fixed32(bits) => Ok(f32::from_bits(bits)),
            Field::Bytes(_) | Field::Fixed64(_) | Field::Varint(_) => malformed("something else stands for a float"),
        }
    }

    /// Integers of a repeated field: one, or several packed.
    pub(crate) fn ints(self, out: &mut Vec<i64>) -> Result<()> {
        match self {
            Field::Varint(value) => out.push(value as i64),
            Field::Bytes(bytes) => {
                let mut reader = Reader::new(bytes);
                while !reader.rest.is_empty() {
                    out.push(reader.varint()? as i64);
                }
            }
            Field::Fixed64(_) | Field::Fixed32(_) => return malformed("a float stands where integers should"),
        }
        Ok(())
    }

    /// Floats of a repeated field.
    pub(crate) fn floats(self, out: &mut Vec<f32>) -> Result<()> {
        match self {
            Field::Fixed32(bits) => out.push(f32::from_bits(bits)),
            Field::Bytes(bytes) if bytes.len() % 4 == 0 => {
                out.extend(bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])));
            }
            Field::Bytes(_) | Field::Varint(_) | Field::Fixed64(_) => return malformed("floats are cut off"),
        }
        Ok(())
    }

    /// Doubles of a repeated field.
    pub(crate) fn doubles(self, out: &mut Vec<f64>) -> Result<()> {
        match self {
            Field::Fixed64(bits) => out.push(f64::from_bits(bits)),
            Field::Bytes(bytes) if bytes.len() % 8 == 0 => {
                let word = |b: &[u8]| b.iter().rev().fold(0u64, |all, byte| all << 8 | u64::from(*byte));
                out.extend(bytes.chunks_exact(8).map(|b| f64::from_bits(word(b))));
            }
            Field::Bytes(_) | Field::Varint(_) | Field::Fixed32(_) => return malformed("doubles are cut off"),
        }
        Ok(())
    }
}

/// The fields of a message.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// The next field's number and value.
    pub(crate) fn next(&mut self) -> Result<Option<(u32, Field<'a>)>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let Ok(number) = u32::try_from(key >> 3) else { return malformed("a field has no valid number") };
        let field = match key & 7 {
            0 => Field::Varint(self.varint()?),
            1 => Field::Fixed64(self.take(8)?.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte))),
            2 => {
                let length = self.varint()?;
                Field::Bytes(self.take(length)?)
            }
            5 => Field::Fixed32(self.take(4)?.iter().rev().fold(0, |all, byte| all << 8 | u32::from(*byte))),
            kind => return malformed(format!("a field is of wire type {kind}, which ONNX does not use")),
        };
        if number == 0 { malformed("a field has the number 0") } else { Ok(Some((number, field))) }
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8]> {
        let length = usize::try_from(length).ok().filter(|length| *length <= self.rest.len());
        let Some(length) = length else { return malformed("it ends within a field") };
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for at in 0..10 {
            let Some(byte) = self.rest.get(at).copied() else { return malformed("it ends within a number") };
            value |= u64::from(byte & 0x7f) << (7 * at);
            if byte < 0x80 {
                self.rest = &self.rest[at + 1..];
                return Ok(value);
            }
        }
        malformed("a number has more than ten bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_order() {
        let mut reader = Reader::new(&[8, 0x96, 1, 18, 2, b'h', b'i', 29, 0, 0, 128, 63]);
        assert_eq!(reader.next().unwrap().unwrap().1.int(), Ok(150));
        assert_eq!(reader.next().unwrap().unwrap().1.text(), Ok("hi"));
        assert_eq!(reader.next().unwrap().unwrap().1.float(), Ok(1.0));
        assert!(reader.next().unwrap().is_none());
    }

    #[test]
    fn what_is_cut_off_is_an_error() {
        for bytes in [&[8][..], &[8, 0x80], &[18, 5, 1], &[18, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1], &[0, 1]]
        {
            assert!(Reader::new(bytes).next().is_err(), "{bytes:?}");
        }
    }
}
