//! What an object defines, for an archive's table, what it asks for, and how much code it holds.

use tenfold_core::elf;

use super::wasm_symbols;

/// The global symbols that an ELF object defines; none for another format or a damaged object.
pub(crate) fn defined(object: &[u8]) -> Vec<String> {
    elf::defined(object).unwrap_or_default()
}

/// The symbols that an object of ELF or WebAssembly leaves to the linker; none is known of another format or a damaged
/// object.
pub(crate) fn undefined(object: &[u8]) -> Option<Vec<String>> {
    if elf::is_elf(object) { elf::undefined(object) } else { wasm_symbols::undefined(object) }
}

/// The bytes of the sections of an object of ELF or WebAssembly that hold code; of another format, the whole object.
pub(crate) fn code_bytes(object: &[u8]) -> u64 {
    let code = if elf::is_elf(object) { elf::code_bytes(object) } else { wasm_symbols::code_bytes(object) };
    code.unwrap_or(object.len() as u64)
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
