//! The layout of a blob: the modules for devices that a host object carries.
//!
//! All numbers are little-endian. A blob is a header and then entries, as many as the header says:
//!
//! | at | bytes | header |
//! |---|---|---|
//! | 0 | 8 | [`MAGIC`] |
//! | 8 | 4 | [`VERSION`] |
//! | 12 | 4 | [`ALIGN`] |
//! | 16 | 8 | how many bytes the blob has, this header included |
//! | 24 | 8 | how many entries, at most [`MAX_ENTRIES`] |
//! | 32 | 8 | [`hash`] of all that follows the header |
//! | 40 | 8 | 0 |
//!
//! | bytes | entry, at a multiple of [`ALIGN`] |
//! |---|---|
//! | 8 | how many bytes the key has |
//! | 8 | how many bytes the payload has |
//! | 8 | [`hash`] of the payload |
//! | 8 | 0 |
//! | … | the key, UTF-8, then zeros up to a multiple of [`ALIGN`] |
//! | … | the payload, then zeros up to a multiple of [`ALIGN`] |
//!
//! Each entry but [`IMPORT_TREE`] is a module; modules are numbered from 0 in the order of their entries. The payload
//! of [`IMPORT_TREE`] says in compressed rows which modules each imports: `n + 1` numbers of 8 bytes, of which the first
//! is 0 and none is below the one before it, then as many module numbers as the last one says. A module imports only
//! modules behind it.

/// The first bytes of every blob.
pub const MAGIC: [u8; 8] = *b"TENFOLD\x1a";

/// The layout described here.
pub const VERSION: u32 = 1;

/// Where the blob, its entries and their payloads begin: at multiples of this.
pub const ALIGN: usize = 16;

/// How many bytes the header has.
pub const HEADER: usize = 48;

/// How many bytes of an entry stand before its key.
pub const ENTRY: usize = 32;

/// The greatest number of entries: keys are compared with each other.
pub const MAX_ENTRIES: usize = 1024;

/// The key of the host's code, whose payload is empty: it is linked.
pub const HOST: &str = "_lib";

/// The key of the rows that say which module imports which.
pub const IMPORT_TREE: &str = "_import_tree";

/// What tells a damaged blob from a whole one: FNV-1a of 64 bits. It is no defence against intent.
///
/// ```
/// assert_eq!(tenfold_abi::blob::hash(b""), 0xcbf2_9ce4_8422_2325);
/// assert_eq!(tenfold_abi::blob::hash(b"a"), 0xaf63_dc4c_8601_ec8c);
/// ```
pub const fn hash(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        at += 1;
    }
    hash
}

/// `len` rounded up to a multiple of [`ALIGN`]; `None` if that overflows.
pub const fn padded(len: usize) -> Option<usize> {
    match len.checked_add(ALIGN - 1) {
        Some(above) => Some(above / ALIGN * ALIGN),
        None => None,
    }
}
