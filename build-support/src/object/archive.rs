//! A GNU archive of objects, with a symbol table.
//!
//! rustc takes an archive by `#[link(kind = "static")]`. GNU ld looks only at the symbol table, so it must be there.
//! Dates, owners and ids are zero: equal objects give equal archives.

use std::io::{self, Write};

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER_BYTES: u64 = 60;

/// An object in an archive.
pub(crate) struct Member {
    /// Its name, with its ending.
    pub(crate) name: String,
    /// What it defines.
    pub(crate) symbols: Vec<String>,
    /// Its bytes.
    pub(crate) length: u64,
}

/// Writes an archive of members, of which `content` writes the one of that number.
pub(crate) fn write<W: Write>(
    out: &mut W,
    members: &[Member],
    mut content: impl FnMut(&mut W, usize) -> io::Result<()>,
) -> io::Result<()> {
    let (long_names, names) = names(members);
    let table = symbol_table(members, long_names.len() as u64);
    out.write_all(MAGIC)?;
    header(out, "/", table.len() as u64)?;
    out.write_all(&table)?;
    if !long_names.is_empty() {
        header(out, "//", long_names.len() as u64)?;
        out.write_all(long_names.as_bytes())?;
    }
    for (number, (member, name)) in members.iter().zip(&names).enumerate() {
        header(out, name, member.length)?;
        content(out, number)?;
        if member.length % 2 == 1 {
            out.write_all(b"\n")?;
        }
    }
    Ok(())
}

/// The list of names that a header has no room for, of an even length, and what the headers say.
fn names(members: &[Member]) -> (String, Vec<String>) {
    let mut long = String::new();
    let mut of = |member: &Member| {
        let name = format!("{}/", member.name);
        if name.len() <= 16 {
            return name;
        }
        let place = format!("/{}", long.len());
        long += &name;
        long.push('\n');
        place
    };
    let names = members.iter().map(&mut of).collect();
    if long.len() % 2 == 1 {
        long.push('\n');
    }
    (long, names)
}

/// Each symbol with the offset of its member's header, big-endian, then the names.
fn symbol_table(members: &[Member], long_names: u64) -> Vec<u8> {
    let symbols = || members.iter().flat_map(|member| &member.symbols);
    let names: usize = symbols().map(|name| name.len() + 1).sum();
    let count = symbols().count();
    let size = (4 + 4 * count + names).next_multiple_of(2);
    let mut offset = MAGIC.len() as u64 + HEADER_BYTES + size as u64;
    if long_names > 0 {
        offset += HEADER_BYTES + long_names;
    }
    let mut table = (count as u32).to_be_bytes().to_vec();
    for member in members {
        for _ in &member.symbols {
            table.extend((offset as u32).to_be_bytes());
        }
        offset += HEADER_BYTES + member.length.next_multiple_of(2);
    }
    for name in symbols() {
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

    fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
        let of = |(name, bytes): &(&str, &[u8])| Member {
            name: name.to_string(),
            symbols: vec![format!("first_{name}"), "second".into()],
            length: bytes.len() as u64,
        };
        let (mut out, all) = (Vec::new(), members.iter().map(of).collect::<Vec<_>>());
        write(&mut out, &all, |w, n| w.write_all(members[n].1)).unwrap();
        out
    }

    /// The table's offsets must be those of the members' headers, for every parity of names and lengths.
    #[test]
    fn offsets_lead_to_the_members() {
        let names = ["a.o", "abcdefghijklmno", "a_long_name_of_a_member.o", "a_long_name_of_a_member1.o"];
        let contents = [&b"even"[..], b"odd"];
        for (n, name) in names.into_iter().enumerate() {
            for content in contents {
                let members = [(name, content), (names[(n + 1) % 4], contents[n % 2]), (names[2], &b"last"[..])];
                let bytes = archive(&members);
                for (number, (_, content)) in members.iter().enumerate() {
                    for symbol in [2 * number, 2 * number + 1] {
                        let place = 72 + 4 * symbol;
                        let offset = u32::from_be_bytes(bytes[place..place + 4].try_into().unwrap()) as usize;
                        assert_eq!(bytes[offset + 58..offset + 60], *b"`\n", "{name} {number}");
                        assert_eq!(&bytes[offset + 60..offset + 60 + content.len()], *content);
                    }
                }
                assert_eq!(bytes.len() % 2, 0);
            }
        }
    }
}
