//! What an object defines, for an archive's table, what it asks for, and how much code it holds.

use super::wasm_symbols;

/// The global symbols that an ELF object defines; none for another format or a damaged object.
pub(crate) fn defined(object: &[u8]) -> Vec<String> {
    Elf::new(object).and_then(|elf| elf.globals(Side::Defined)).unwrap_or_default()
}

/// The symbols that an object of ELF or WebAssembly leaves to the linker; none is known of another format or a damaged
/// object.
pub(crate) fn undefined(object: &[u8]) -> Option<Vec<String>> {
    let elf = Elf::new(object).map(|elf| elf.globals(Side::Undefined));
    elf.unwrap_or_else(|| wasm_symbols::undefined(object))
}

/// Which global symbols are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Defined,
    Undefined,
}

/// The bytes of the sections of an object of ELF or WebAssembly that hold code; of another format, the whole object.
pub(crate) fn code_bytes(object: &[u8]) -> u64 {
    let code = Elf::new(object).map(|elf| elf.code());
    code.unwrap_or_else(|| wasm_symbols::code_bytes(object)).unwrap_or(object.len() as u64)
}

struct Elf<'a> {
    bytes: &'a [u8],
    wide: bool,
    big_endian: bool,
}

struct Section {
    kind: u64,
    executable: bool,
    offset: usize,
    size: usize,
    link: usize,
}

impl<'a> Elf<'a> {
    fn new(bytes: &'a [u8]) -> Option<Self> {
        let head = bytes.get(..6)?;
        (head.starts_with(b"\x7fELF")).then_some(Self { bytes, wide: head[4] == 2, big_endian: head[5] == 2 })
    }

    fn number(&self, at: usize, size: usize) -> Option<u64> {
        let field = self.bytes.get(at..at.checked_add(size)?)?;
        let add = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(if self.big_endian { field.iter().fold(0, add) } else { field.iter().rev().fold(0, add) })
    }

    fn size(&self, at: usize, size: usize) -> Option<usize> {
        usize::try_from(self.number(at, size)?).ok()
    }

    fn section(&self, number: usize) -> Option<Section> {
        let (table, entry) = if self.wide { (self.size(40, 8)?, 64) } else { (self.size(32, 4)?, 40) };
        let at = table.checked_add(number.checked_mul(entry)?)?;
        let (word, offset, size, link) = if self.wide { (8, 24, 32, 40) } else { (4, 16, 20, 24) };
        let flags = self.number(at.checked_add(8)?, word)?;
        Some(Section {
            kind: self.number(at.checked_add(4)?, 4)?,
            executable: flags & 4 != 0,
            offset: self.size(at.checked_add(offset)?, word)?,
            size: self.size(at.checked_add(size)?, word)?,
            link: self.size(at.checked_add(link)?, 4)?,
        })
    }

    fn sections(&self) -> Option<Vec<Section>> {
        let count = self.size(if self.wide { 60 } else { 48 }, 2)?;
        (0..count).map(|number| self.section(number)).collect()
    }

    fn code(&self) -> Option<u64> {
        let sections = self.sections()?;
        let code = sections.iter().filter(|section| section.executable);
        Some(code.map(|section| section.size as u64).sum())
    }

    fn globals(&self, side: Side) -> Option<Vec<String>> {
        let mut out = Vec::new();
        for table in self.sections()? {
            if table.kind == 2 {
                self.symbols(&table, side, &mut out)?;
            }
        }
        Some(out)
    }

    fn symbols(&self, table: &Section, side: Side, out: &mut Vec<String>) -> Option<()> {
        let names = self.section(table.link)?.offset;
        let entry = if self.wide { 24 } else { 16 };
        let (info, section) = if self.wide { (4, 6) } else { (12, 14) };
        let end = table.offset.checked_add(table.size)?.min(self.bytes.len());
        let mut at = table.offset;
        while at.checked_add(entry)? <= end {
            let local = self.number(at + info, 1)? >> 4 == 0;
            let its = if self.number(at + section, 2)? == 0 { Side::Undefined } else { Side::Defined };
            if !local && its == side {
                let name = names.checked_add(self.size(at, 4)?)?;
                let rest = self.bytes.get(name..)?;
                let length = rest.iter().position(|byte| *byte == 0)?;
                out.push(String::from_utf8_lossy(&rest[..length]).into_owned());
            }
            at += entry;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::constant::{ElfTarget, Plan};

    #[test]
    fn of_our_own_objects() {
        for triple in ["x86_64-unknown-linux-gnu", "thumbv7em-none-eabihf", "aarch64_be-unknown-linux-gnu"] {
            let target = ElfTarget::of_triple(triple).unwrap();
            let mut object = Vec::new();
            Plan::new(target, "__tenfold_w_1", 3, "").write(&mut object, &mut &b"abc"[..]).unwrap();
            assert_eq!(defined(&object), ["__tenfold_w_1"], "{triple}");
            assert_eq!(undefined(&object), Some(Vec::new()), "{triple}");
            for end in 0..object.len() {
                let _ = defined(&object[..end]);
            }
        }
        assert!(defined(b"no object").is_empty());
        assert_eq!(undefined(b"no object"), None);
    }

    #[test]
    fn constants_are_no_code() {
        let target = ElfTarget::of_triple("thumbv7em-none-eabihf").unwrap();
        let mut object = Vec::new();
        Plan::new(target, "__tenfold_w_1", 3, "").write(&mut object, &mut &b"abc"[..]).unwrap();
        assert_eq!(code_bytes(&object), 0);
        assert_eq!(code_bytes(b"no object"), 9);
        let this = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!((1..this.len() as u64).contains(&code_bytes(&this)));
    }
}
