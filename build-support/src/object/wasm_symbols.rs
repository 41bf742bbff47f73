//! What a WebAssembly object leaves to the linker, and how much code it holds.
//!
//! <https://webassembly.github.io/spec/core/binary/> and
//! <https://github.com/WebAssembly/tool-conventions/blob/main/Linking.md> say what stands in it.

const MAGIC: &[u8] = b"\0asm\x01\0\0\0";

/// Numbers of sections, and of the part of the section `linking` that is read.
const CUSTOM: u8 = 0;
const IMPORT: u8 = 2;
const CODE: u8 = 10;
const SYMBOL_TABLE: u8 = 8;

/// That a symbol is defined elsewhere, and that it has a name of its own beside that of its import.
const UNDEFINED: u64 = 0x10;
const EXPLICIT_NAME: u64 = 0x40;

/// The functions and the data that it leaves to the linker; none for another format or a damaged object. What the
/// linker makes itself, as the place of the stack, is not among them.
pub(super) fn undefined(object: &[u8]) -> Option<Vec<String>> {
    let (mut imports, mut out) = (Vec::new(), Vec::new());
    for (section, bytes) in sections(object)? {
        let mut reader = Reader(bytes);
        match section {
            IMPORT => imports = functions(&mut reader)?,
            CUSTOM if reader.text()? == "linking" => {
                // The version.
                reader.number()?;
                while !reader.0.is_empty() {
                    let (part, bytes) = (reader.byte()?, reader.sized()?);
                    if part == SYMBOL_TABLE {
                        symbols(&mut Reader(bytes), &imports, &mut out)?;
                    }
                }
            }
            _ => {}
        }
    }
    Some(out)
}

/// The bytes of the functions.
pub(super) fn code_bytes(object: &[u8]) -> Option<u64> {
    let sections = sections(object)?;
    Some(sections.iter().filter(|(section, _)| *section == CODE).map(|(_, bytes)| bytes.len() as u64).sum())
}

fn sections(object: &[u8]) -> Option<Vec<(u8, &[u8])>> {
    let mut reader = Reader(object.strip_prefix(MAGIC)?);
    let mut all = Vec::new();
    while !reader.0.is_empty() {
        all.push((reader.byte()?, reader.sized()?));
    }
    Some(all)
}

/// The names of the functions that are imported, which come before all others.
fn functions(reader: &mut Reader<'_>) -> Option<Vec<String>> {
    let mut names = Vec::new();
    for _ in 0..reader.number()? {
        // The module, which is `env`.
        reader.text()?;
        let name = reader.text()?;
        match reader.byte()? {
            // A function and its type.
            0 => {
                reader.number()?;
                names.push(name.into());
            }
            // A table: the type of its elements, its limits.
            1 => {
                reader.byte()?;
                reader.limits()?;
            }
            // A memory.
            2 => reader.limits()?,
            // A global: its type, whether it changes.
            3 => {
                reader.byte()?;
                reader.byte()?;
            }
            // A tag: its attribute, its type.
            4 => {
                reader.byte()?;
                reader.number()?;
            }
            _ => return None,
        }
    }
    Some(names)
}

fn symbols(reader: &mut Reader<'_>, imports: &[String], out: &mut Vec<String>) -> Option<()> {
    for _ in 0..reader.number()? {
        let (kind, flags) = (reader.byte()?, reader.number()?);
        let undefined = flags & UNDEFINED != 0;
        match kind {
            // Data: the name, then where a segment has it.
            1 => {
                let name = reader.text()?;
                if undefined {
                    out.push(name.into());
                } else {
                    // The segment, the offset there, the size.
                    for _ in 0..3 {
                        reader.number()?;
                    }
                }
            }
            // A section.
            3 => drop(reader.number()?),
            // A function, a global, a tag or a table: its number, and a name unless the import has it.
            0 | 2 | 4 | 5 => {
                let number = usize::try_from(reader.number()?).ok()?;
                let named = !undefined || flags & EXPLICIT_NAME != 0;
                let name = if named { Some(reader.text()?) } else { None };
                if kind == 0 && undefined {
                    out.push(name.map_or_else(|| imports.get(number).cloned(), |name| Some(name.into()))?);
                }
            }
            _ => return None,
        }
    }
    Some(())
}

/// What is still to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    /// Seven bits a byte, the lowest first (LEB128).
    fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// Bytes behind their number.
    fn sized(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.sized()?).ok()
    }

    /// The least and, as a flag says, the greatest size.
    fn limits(&mut self) -> Option<()> {
        let flags = self.byte()?;
        self.number()?;
        if flags & 1 != 0 {
            self.number()?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::wasm::Plan;

    /// Imports a memory, `memcpy` and another function under a name of its own; uses a constant, and defines a function
    /// of two bytes.
    const OBJECT: &[u8] = b"\0asm\x01\0\0\0\
        \x022\x03\x03env\x0f__linear_memory\x02\x01\x00\x01\x03env\x06memcpy\x00\x00\x03env\x05other\x00\x00\
        \x0a\x02ab\
        \x000\x07linking\x02\x08%\x04\x00\x10\x00\x00P\x01\x03abs\x01\x10\x0c__tenfold_w1\x00\x04\x02\x07defined";

    #[test]
    fn what_is_asked_for() {
        assert_eq!(undefined(OBJECT).expect("an object"), ["memcpy", "abs", "__tenfold_w1"]);
        assert_eq!(code_bytes(OBJECT), Some(2));
        for end in 0..OBJECT.len() {
            let _ = (undefined(&OBJECT[..end]), code_bytes(&OBJECT[..end]));
        }
    }

    #[test]
    fn of_our_own_constants() {
        let mut object = Vec::new();
        Plan::new("__tenfold_w_1", 3, "").expect("it is short").write(&mut object, &mut &b"abc"[..]).expect("a vector");
        assert_eq!((undefined(&object), code_bytes(&object)), (Some(Vec::new()), Some(0)));
        assert_eq!((undefined(b"no object"), code_bytes(b"no object")), (None, None));
    }
}
