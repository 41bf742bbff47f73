//! A GNU archive of one object, with a symbol table.
//!
//! rustc takes an archive by `#[link(kind = "static")]`. GNU ld looks only at the symbol table, so it must be there.
//! Dates, owners and ids are zero: equal objects give equal archives.

use std::io::{self, Write};

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER_BYTES: u64 = 60;

/// Writes an archive whose one member has `length` bytes, which `member` writes, and defines `symbols`.
pub(crate) fn write<W: Write>(
    out: &mut W,
    name: &str,
    symbols: &[&str],
    length: u64,
    member: impl FnOnce(&mut W) -> io::Result<()>,
) -> io::Result<()> {
    let member_name = format!("{name}/");
    let (long_names, member_name) = if member_name.len() <= 16 {
        (String::new(), member_name)
    } else {
        let padding = if member_name.len() % 2 == 0 { "\n\n" } else { "\n" };
        (member_name + padding, "/0".into())
    };
    let table = symbol_table(symbols, long_names.len() as u64);
    out.write_all(MAGIC)?;
    header(out, "/", table.len() as u64)?;
    out.write_all(&table)?;
    if !long_names.is_empty() {
        header(out, "//", long_names.len() as u64)?;
        out.write_all(long_names.as_bytes())?;
    }
    header(out, &member_name, length)?;
    member(out)?;
    if length % 2 == 1 {
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Each symbol with the offset of the member's header, big-endian, then the names.
fn symbol_table(symbols: &[&str], long_names: u64) -> Vec<u8> {
    let names: usize = symbols.iter().map(|name| name.len() + 1).sum();
    let size = (4 + 4 * symbols.len() + names).next_multiple_of(2);
    let mut offset = MAGIC.len() as u64 + HEADER_BYTES + size as u64;
    if long_names > 0 {
        offset += HEADER_BYTES + long_names;
    }
    let mut table = (symbols.len() as u32).to_be_bytes().to_vec();
    for _ in symbols {
        table.extend((offset as u32).to_be_bytes());
    }
    for name in symbols {
        table.extend(name.as_bytes());
        table.push(0);
    }
    table.resize(size, 0);
    table
}

fn header(out: &mut impl Write, name: &str, length: u64) -> io::Result<()> {
    writeln!(out, "{name:<16}{:<12}{:<6}{:<6}{:<8}{length:<10}`", 0, 0, 0, 644)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(name: &str, member: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out, name, &["first", "second"], member.len() as u64, |w| w.write_all(member)).unwrap();
        out
    }

    /// The table's offset must be that of the member's header, for every parity of names and lengths.
    #[test]
    fn offsets_lead_to_the_member() {
        for name in ["a.o", "abcdefghijklmno", "a_long_name_of_a_member.o", "a_long_name_of_a_member1.o"] {
            for member in [&b"even"[..], b"odd"] {
                let bytes = archive(name, member);
                let offset = u32::from_be_bytes(bytes[72..76].try_into().unwrap()) as usize;
                assert_eq!(bytes[offset + 58..offset + 60], *b"`\n");
                assert_eq!(&bytes[offset + 60..offset + 60 + member.len()], member);
                assert_eq!(bytes.len() % 2, 0);
            }
        }
    }
}
