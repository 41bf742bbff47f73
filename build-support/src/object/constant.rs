//! An ELF object that holds one constant: header, bytes, tables.
//!
//! A constant of 100 MB costs a copy of the file this way; through rustc it costs seconds and gigabytes. The bytes are
//! streamed and never held in memory.

use std::io::{self, Read, Write};
use tenfold_abi::CONSTANT_ALIGN;

/// Where a constant is linked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ElfTarget {
    wide: bool,
    big_endian: bool,
    machine: u16,
    flags: u32,
}

impl ElfTarget {
    /// The target of a triple, or none if its objects are not ELF.
    pub(crate) fn of_triple(triple: &str) -> Option<Self> {
        let arch = triple.split('-').next()?;
        if ["apple", "windows", "uefi", "wasi", "unknown-unknown", "aix", "cuda"]
            .iter()
            .any(|word| triple.contains(word))
        {
            return None;
        }
        let (wide, machine, flags) = match arch {
            "x86_64" => (!triple.ends_with("x32"), 62, 0),
            "i586" | "i686" => (false, 3, 0),
            _ if arch.starts_with("aarch64") => (true, 183, 0),
            // EABI version 5
            _ if arch.starts_with("arm") || arch.starts_with("thumb") => (false, 40, 0x0500_0000),
            _ if arch.starts_with("riscv32") => (false, 243, riscv_flags(arch, triple, 32)),
            _ if arch.starts_with("riscv64") => (true, 243, riscv_flags(arch, triple, 64)),
            "loongarch64" => (true, 258, 0x43),
            _ => return None,
        };
        let big_endian = arch.starts_with("armeb") || arch.ends_with("_be");
        Some(Self { wide, big_endian, machine, flags })
    }

    /// How many bits of a float the convention of RISC-V passes in registers of the float unit; 0 where there is none.
    pub(crate) fn riscv_float_bits(self) -> Option<u32> {
        let bits = match self.flags & 6 {
            4 => 64,
            2 => 32,
            _ => 0,
        };
        (self.machine == 243).then_some(bits)
    }

    fn word(self) -> u64 {
        if self.wide { 8 } else { 4 }
    }
}

/// Linkers refuse objects that disagree on the float ABI: bits 1 and 2; bit 0 is compressed instructions, bit 3 the
/// small register file.
fn riscv_flags(arch: &str, triple: &str, bits: u32) -> u32 {
    let extensions = arch.get(7..).unwrap_or("");
    let general = extensions.starts_with("gc") || extensions.starts_with('a') && bits == 64;
    let compressed = u32::from(general || extensions.contains('c'));
    let float = if general || (triple.contains("linux") && extensions.contains('g')) {
        4
    } else if extensions.contains('f') {
        2
    } else {
        0
    };
    let small = if extensions.starts_with('e') { 8 } else { 0 };
    compressed | float | small
}

/// The layout of an object, known before a byte is written.
pub(crate) struct Plan {
    target: ElfTarget,
    symbol: String,
    section: String,
    length: u64,
    names: String,
    strings_at: u64,
    symbols_at: u64,
    sections_at: u64,
}

const SECTION_NAMES: [&str; 5] = ["", ".symtab", ".strtab", ".shstrtab", ".note.GNU-stack"];

impl Plan {
    /// Of a hidden symbol with `length` bytes in a read-only section; where none is named, in one of its own.
    pub(crate) fn new(target: ElfTarget, symbol: &str, length: u64, section: &str) -> Self {
        let section = if section.is_empty() { format!(".rodata.{symbol}") } else { section.into() };
        let mut names = SECTION_NAMES.join("\0");
        names += &format!("\0{section}\0");
        let data_end = CONSTANT_ALIGN as u64 + length;
        let symbols_at = data_end.next_multiple_of(8);
        let symbol_bytes = if target.wide { 24 } else { 16 };
        let strings_at = symbols_at + 2 * symbol_bytes;
        let names_end = strings_at + 2 + symbol.len() as u64 + names.len() as u64;
        Self {
            target,
            symbol: symbol.into(),
            section,
            length,
            names,
            strings_at,
            symbols_at,
            sections_at: names_end.next_multiple_of(8),
        }
    }

    /// The length of the object in bytes.
    pub(crate) fn object_length(&self) -> u64 {
        self.sections_at + 6 * self.section_header_bytes()
    }

    fn section_header_bytes(&self) -> u64 {
        if self.target.wide { 64 } else { 40 }
    }

    /// Writes the object; `bytes` must give exactly the length that was planned.
    pub(crate) fn write(&self, out: &mut impl Write, bytes: &mut impl Read) -> io::Result<()> {
        let mut head = self.header();
        head.resize(CONSTANT_ALIGN, 0);
        out.write_all(&head)?;
        let copied = io::copy(&mut bytes.take(self.length), out)?;
        if copied != self.length {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file changed while it was read"));
        }
        out.write_all(&self.tail())
    }

    fn header(&self) -> Vec<u8> {
        let mut f = Fields::new(self.target);
        let class = if self.target.wide { 2 } else { 1 };
        let data = if self.target.big_endian { 2 } else { 1 };
        f.bytes(&[0x7f, b'E', b'L', b'F', class, data, 1, 0]);
        f.bytes(&[0; 8]);
        f.half(1); // relocatable
        f.half(self.target.machine);
        f.int(1);
        f.word(0); // entry
        f.word(0); // program headers
        f.word(self.sections_at);
        f.int(self.target.flags);
        f.half(if self.target.wide { 64 } else { 52 });
        f.half(0);
        f.half(0);
        f.half(self.section_header_bytes() as u16);
        f.half(6);
        f.half(4); // the section with the names
        f.out
    }

    fn tail(&self) -> Vec<u8> {
        let mut f = Fields::new(self.target);
        f.pad(self.symbols_at - (CONSTANT_ALIGN as u64 + self.length));
        f.symbol(0, 0, 0, 0, 0);
        f.symbol(1, 0x11, 2, 1, self.length); // global object, hidden
        f.bytes(format!("\0{}\0", self.symbol).as_bytes());
        f.bytes(self.names.as_bytes());
        let used = self.symbols_at + f.out.len() as u64 - (self.symbols_at - (CONSTANT_ALIGN as u64 + self.length));
        f.pad(self.sections_at - used);
        self.sections(&mut f);
        f.out
    }

    fn sections(&self, f: &mut Fields) {
        let name = |wanted: &str| {
            let needle = format!("\0{wanted}\0");
            self.names.find(&needle).map_or(0, |at| at as u32 + 1)
        };
        let string_bytes = self.symbol.len() as u64 + 2;
        let symbol_bytes = if self.target.wide { 24 } else { 16 };
        let names_at = self.strings_at + string_bytes;
        f.section([0; 10]);
        let align = CONSTANT_ALIGN as u64;
        f.section([name(&self.section).into(), 1, 2, 0, align, self.length, 0, 0, align, 0]);
        f.section([
            name(".symtab").into(),
            2,
            0,
            0,
            self.symbols_at,
            2 * symbol_bytes,
            3,
            1,
            self.target.word(),
            symbol_bytes,
        ]);
        f.section([name(".strtab").into(), 3, 0, 0, self.strings_at, string_bytes, 0, 0, 1, 0]);
        f.section([name(".shstrtab").into(), 3, 0, 0, names_at, self.names.len() as u64, 0, 0, 1, 0]);
        f.section([name(".note.GNU-stack").into(), 1, 0, 0, names_at, 0, 0, 0, 1, 0]);
    }
}

/// Numbers in the target's width and order.
struct Fields {
    target: ElfTarget,
    out: Vec<u8>,
}

impl Fields {
    fn new(target: ElfTarget) -> Self {
        Self { target, out: Vec::new() }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend(bytes);
    }

    fn pad(&mut self, count: u64) {
        self.out.resize(self.out.len() + count as usize, 0);
    }

    fn number(&mut self, value: u64, size: usize) {
        let little = value.to_le_bytes();
        if self.target.big_endian {
            self.out.extend(little[..size].iter().rev());
        } else {
            self.out.extend(&little[..size]);
        }
    }

    fn half(&mut self, value: u16) {
        self.number(value.into(), 2);
    }

    fn int(&mut self, value: u32) {
        self.number(value.into(), 4);
    }

    fn word(&mut self, value: u64) {
        self.number(value, self.target.word() as usize);
    }

    fn symbol(&mut self, name: u32, info: u8, other: u8, section: u16, size: u64) {
        self.int(name);
        if self.target.wide {
            self.bytes(&[info, other]);
            self.half(section);
            self.word(0);
            self.word(size);
        } else {
            self.word(0);
            self.word(size);
            self.bytes(&[info, other]);
            self.half(section);
        }
    }

    /// Name, type, flags, address, offset, size, link, info, alignment, size of an entry.
    fn section(&mut self, fields: [u64; 10]) {
        let narrow = [0, 1, 6, 7];
        for (at, field) in fields.into_iter().enumerate() {
            if narrow.contains(&at) {
                self.int(field as u32);
            } else {
                self.word(field);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_as_planned() {
        for triple in [
            "x86_64-unknown-linux-gnu",
            "thumbv7em-none-eabihf",
            "aarch64-unknown-linux-gnu",
            "riscv32imac-unknown-none-elf",
            "riscv64gc-unknown-linux-gnu",
        ] {
            let target = ElfTarget::of_triple(triple).unwrap();
            for length in [0, 1, 7, 64, 1000] {
                let plan = Plan::new(target, "__tenfold_w_00", length, "");
                let mut out = Vec::new();
                let data = vec![7; length as usize];
                plan.write(&mut out, &mut data.as_slice()).unwrap();
                assert_eq!(out.len() as u64, plan.object_length(), "{triple} {length}");
                assert_eq!(out[64..64 + length as usize], data);
            }
        }
    }

    #[test]
    fn a_short_file_is_an_error() {
        let target = ElfTarget::of_triple("x86_64-unknown-linux-gnu").unwrap();
        let plan = Plan::new(target, "w", 4, ".qspi");
        assert!(plan.write(&mut Vec::new(), &mut &b"abc"[..]).is_err());
    }

    #[test]
    fn triples() {
        let flags = |triple| ElfTarget::of_triple(triple).map(|t: ElfTarget| t.flags);
        assert_eq!(flags("riscv64gc-unknown-linux-gnu"), Some(5));
        assert_eq!(flags("riscv32imac-unknown-none-elf"), Some(1));
        assert_eq!(flags("riscv32imafc-unknown-none-elf"), Some(3));
        assert_eq!(flags("riscv32i-unknown-none-elf"), Some(0));
        assert_eq!(flags("riscv32e-unknown-none-elf"), Some(8));
        let float = |triple| ElfTarget::of_triple(triple).and_then(ElfTarget::riscv_float_bits);
        assert_eq!(float("riscv64gc-unknown-none-elf"), Some(64));
        assert_eq!(float("riscv32imafc-unknown-none-elf"), Some(32));
        assert_eq!(float("riscv32imac-unknown-none-elf"), Some(0));
        assert_eq!(float("thumbv7em-none-eabihf"), None);
        assert_eq!(flags("aarch64-apple-darwin"), None);
        assert_eq!(flags("x86_64-pc-windows-msvc"), None);
        assert_eq!(flags("wasm32-unknown-unknown"), None);
    }
}
