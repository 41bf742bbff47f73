//! What an object asks of the linker.

use std::collections::BTreeSet;

/// Functions that every program has, whatever it links: compilers make calls of them out of loops.
const MEMORY: [&str; 3] = ["memcpy", "memmove", "memset"];

/// A file of 64 bits, little-endian.
struct Elf<'a>(&'a [u8]);

impl<'a> Elf<'a> {
    fn new(file: &'a [u8]) -> Option<Self> {
        file.starts_with(b"\x7fELF\x02\x01").then_some(Self(file))
    }

    fn number(&self, at: usize, bytes: usize) -> Option<usize> {
        let mut all = [0; 8];
        all[..bytes].copy_from_slice(self.0.get(at..at + bytes)?);
        usize::try_from(u64::from_le_bytes(all)).ok()
    }

    /// The text at a place, up to a byte 0.
    fn name(&self, at: usize) -> Option<String> {
        let name = self.0.get(at..)?;
        let end = name.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&name[..end]).into_owned())
    }

    /// Where the header of a section is.
    fn header(&self, section: usize) -> Option<usize> {
        Some(self.number(0x28, 8)? + section * self.number(0x3a, 2)?)
    }

    /// Where the headers of all sections are.
    fn headers(&self) -> Option<Vec<usize>> {
        (0..self.number(0x3c, 2)?).map(|section| self.header(section)).collect()
    }
}

/// The names that an object of this machine leaves undefined, if it is an ELF object of 64 bits.
pub fn undefined(object: &[u8]) -> Option<BTreeSet<String>> {
    let elf = Elf::new(object)?;
    let symbols = elf.headers()?.into_iter().find(|at| elf.number(at + 4, 4) == Some(2))?;
    let names = elf.number(elf.header(elf.number(symbols + 40, 4)?)? + 24, 8)?;
    let (start, length) = (elf.number(symbols + 24, 8)?, elf.number(symbols + 32, 8)?);
    // The first entry is no symbol.
    let entries = (start..start + length).step_by(24).skip(1);
    entries.filter(|at| elf.number(at + 6, 2) == Some(0)).map(|at| elf.name(names + elf.number(at, 4)?)).collect()
}

/// The sections of an object or a program of this machine with their bytes, if it is an ELF file of 64 bits.
pub fn sections(file: &[u8]) -> Option<Vec<(String, &[u8])>> {
    let elf = Elf::new(file)?;
    let names = elf.number(elf.header(elf.number(0x3e, 2)?)? + 24, 8)?;
    let section = |at: usize| {
        let (begin, length) = (elf.number(at + 24, 8)?, elf.number(at + 32, 8)?);
        let without_bytes = elf.number(at + 4, 4)? == 8;
        let bytes = if without_bytes { &[] } else { file.get(begin..begin + length)? };
        Some((elf.name(names + elf.number(at, 4)?)?, bytes))
    };
    elf.headers()?.into_iter().map(section).collect()
}

/// What an object of this machine asks for that no function of ours may: all but memory functions and its constants.
pub fn unexpected(object: &[u8]) -> Vec<String> {
    let ours = |name: &String| {
        name.starts_with("__tenfold_w_") || name == "_GLOBAL_OFFSET_TABLE_" || MEMORY.contains(&name.as_str())
    };
    undefined(object).into_iter().flatten().filter(|name| !ours(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;

    #[test]
    fn a_call_of_the_math_library_is_seen() {
        if !tools::has("cc") || !cfg!(all(target_os = "linux", target_pointer_width = "64")) {
            return tools::skip("cc", "`apt-get install gcc` installs it");
        }
        let folder = std::env::temp_dir().join(format!("tenfold-elf-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let (source, object) = (folder.join("calls.c"), folder.join("calls.o"));
        let text = "double sin(double); void *memcpy(void *, const void *, unsigned long); extern int __tenfold_w_1;\n\
                    double f(double x, char *p, char *q, unsigned long n) { memcpy(p, q, n); return sin(x) + __tenfold_w_1; }\n";
        std::fs::write(&source, text).expect("a file");
        let mut cc = std::process::Command::new("cc");
        cc.args(["-O1", "-fno-builtin", "-c", "-o"]).args([&object, &source]);
        assert!(cc.status().expect("cc starts").success());
        let object = std::fs::read(&object).expect("an object");
        let all = undefined(&object).expect("an ELF object");
        assert!(["sin", "memcpy", "__tenfold_w_1"].iter().all(|name| all.contains(*name)), "{all:?}");
        assert_eq!(unexpected(&object), ["sin"]);
        assert_eq!(undefined(b"no object"), None);
        let found = sections(&object).expect("an ELF object");
        assert!(found.iter().any(|(name, bytes)| name == ".text" && !bytes.is_empty()), "{found:?}");
        std::fs::remove_dir_all(&folder).expect("the folder goes");
    }
}
