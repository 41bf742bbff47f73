//! A WebAssembly object that holds one constant: a segment of data, and a symbol for it.
//!
//! <https://github.com/WebAssembly/tool-conventions/blob/main/Linking.md> says what linkers read. Like an ELF object, it
//! is streamed.

use std::io::{self, Read, Write};
use tenfold_abi::CONSTANT_ALIGN;

const MAGIC: &[u8] = b"\0asm\x01\0\0\0";

/// Numbers of sections, and of parts of the section `linking`.
const CUSTOM: u8 = 0;
const IMPORT: u8 = 2;
const DATA: u8 = 11;
const SEGMENT_INFO: u8 = 5;
const SYMBOL_TABLE: u8 = 8;

/// The version of the section `linking`.
const LINKING: u8 = 2;

/// A symbol for data, and that no other module sees it.
const SYMBOL_OF_DATA: u8 = 1;
const HIDDEN: u8 = 4;

/// The layout of an object, known before a byte is written.
pub(crate) struct Plan {
    head: Vec<u8>,
    length: u64,
    tail: Vec<u8>,
}

impl Plan {
    /// Of a hidden symbol with `length` bytes in a segment; where none is named, in one of its own. None if it is too long
    /// for addresses of 32 bits.
    pub(crate) fn new(symbol: &str, length: u64, segment: &str) -> Option<Self> {
        u32::try_from(length).ok()?;
        let segment = if segment.is_empty() { format!(".rodata.{symbol}") } else { segment.into() };
        Some(Self { head: head(length), length, tail: tail(symbol, length, &segment) })
    }

    /// The length of the object in bytes.
    pub(crate) fn object_length(&self) -> u64 {
        self.head.len() as u64 + self.length + self.tail.len() as u64
    }

    /// Writes the object; `bytes` must give exactly the length that was planned.
    pub(crate) fn write(&self, out: &mut impl Write, bytes: &mut impl Read) -> io::Result<()> {
        out.write_all(&self.head)?;
        let copied = io::copy(&mut bytes.take(self.length), out)?;
        if copied != self.length {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file changed while it was read"));
        }
        out.write_all(&self.tail)
    }
}

/// Up to the bytes of the segment: the memory that it lies in, which the linker places, and the segment's own head.
fn head(length: u64) -> Vec<u8> {
    let mut import = vec![1];
    text(&mut import, "env");
    text(&mut import, "__linear_memory");
    // a memory of at least 0 pages
    import.extend([2, 0, 0]);
    // one segment, in memory 0, at `i32.const 0`
    let mut data = vec![1, 0, 0x41, 0, 0x0b];
    number(&mut data, length);
    let mut out = MAGIC.to_vec();
    part(&mut out, IMPORT, &import);
    out.push(DATA);
    number(&mut out, data.len() as u64 + length);
    out.extend(data);
    out
}

fn tail(symbol: &str, length: u64, segment: &str) -> Vec<u8> {
    let mut table = vec![1, SYMBOL_OF_DATA, HIDDEN];
    text(&mut table, symbol);
    // segment 0, from its beginning
    table.extend([0, 0]);
    number(&mut table, length);
    let mut info = vec![1];
    text(&mut info, segment);
    number(&mut info, CONSTANT_ALIGN.ilog2().into());
    info.push(0);
    let mut linking = Vec::new();
    text(&mut linking, "linking");
    linking.push(LINKING);
    part(&mut linking, SYMBOL_TABLE, &table);
    part(&mut linking, SEGMENT_INFO, &info);
    let mut out = Vec::new();
    part(&mut out, CUSTOM, &linking);
    out
}

/// A section, or a part of one: its number, its length, its bytes.
fn part(out: &mut Vec<u8>, number_of: u8, bytes: &[u8]) {
    out.push(number_of);
    number(out, bytes.len() as u64);
    out.extend(bytes);
}

fn text(out: &mut Vec<u8>, text: &str) {
    number(out, text.len() as u64);
    out.extend(text.as_bytes());
}

/// Seven bits a byte, the lowest first (LEB128).
fn number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_as_planned() {
        for length in [0, 1, 127, 128, 70_000] {
            let plan = Plan::new("__tenfold_w_00", length, "").unwrap();
            let mut out = Vec::new();
            plan.write(&mut out, &mut vec![7; length as usize].as_slice()).unwrap();
            assert_eq!(out.len() as u64, plan.object_length(), "{length}");
        }
        assert!(Plan::new("w", 1 << 32, "").is_none());
        assert!(Plan::new("w", 4, "").unwrap().write(&mut Vec::new(), &mut &b"abc"[..]).is_err());
    }

    #[test]
    fn bytes() {
        let mut out = Vec::new();
        Plan::new("w", 3, "s").unwrap().write(&mut out, &mut &b"abc"[..]).unwrap();
        let expected = b"\0asm\x01\0\0\0\x02\x18\x01\x03env\x0f__linear_memory\x02\0\0\
                         \x0b\x09\x01\0\x41\0\x0b\x03abc\
                         \0\x1a\x07linking\x02\x08\x08\x01\x01\x04\x01w\0\0\x03\x05\x05\x01\x01s\x06\0";
        assert_eq!(out, expected);
    }
}
