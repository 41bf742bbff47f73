//! What an ELF object says of itself: its symbols, and how much of it is code.

/// The global symbols that an ELF object defines; `None` for another format or a damaged object.
pub fn defined(object: &[u8]) -> Option<Vec<String>> {
    Elf::new(object)?.globals(Side::Defined)
}

/// The symbols that an ELF object leaves to the linker; `None` for another format or a damaged object.
pub fn undefined(object: &[u8]) -> Option<Vec<String>> {
    Elf::new(object)?.globals(Side::Undefined)
}

/// The bytes of the sections of an ELF object that hold code; `None` for another format or a damaged object.
pub fn code_bytes(object: &[u8]) -> Option<u64> {
    Elf::new(object)?.code()
}

/// Whether an object begins as one of ELF does.
pub fn is_elf(object: &[u8]) -> bool {
    Elf::new(object).is_some()
}

/// The machine code of an ELF object, a part per section that holds some.
pub fn code(object: &[u8]) -> Option<Vec<&[u8]>> {
    let elf = Elf::new(object)?;
    let sections = elf.sections()?.into_iter().filter(|section| section.executable);
    sections.map(|section| object.get(section.offset..section.offset.checked_add(section.size)?)).collect()
}

/// Which global symbols are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Defined,
    Undefined,
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
