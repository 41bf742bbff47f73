//! A GNU archive of objects, with a symbol table.
//!
//! rustc takes an archive by `#[link(kind = "static")]`. GNU ld looks only at the symbol table, so it must be there.
//! Dates, owners and ids are zero: equal objects give equal archives.

use std::io::{self, Read, Seek, SeekFrom, Write};

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

/// Where the bytes of an archive's members lie, each with their number, in their order.
///
/// # Errors
///
/// The file cannot be read, or is no archive.
pub(crate) fn members(file: &mut (impl Read + Seek)) -> io::Result<Vec<(u64, u64)>> {
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "it is no archive");
    let end = file.seek(SeekFrom::End(0))?;
    let mut magic = [0; MAGIC.len()];
    file.rewind()?;
    file.read_exact(&mut magic)?;
    if magic != *MAGIC {
        return Err(damaged());
    }
    let (mut at, mut found) = (MAGIC.len() as u64, Vec::new());
    while at < end {
        let mut header = [0; HEADER_BYTES as usize];
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(&mut header)?;
        let length = std::str::from_utf8(&header[48..58]).ok().and_then(|text| text.trim().parse::<u64>().ok());
        let length = length.filter(|length| at + HEADER_BYTES + length <= end).ok_or_else(damaged)?;
        // `/` is the table of symbols and `//` that of long names.
        let is_table = header.starts_with(b"/ ") || header.starts_with(b"// ");
        if !is_table {
            found.push((at + HEADER_BYTES, length));
        }
        at += HEADER_BYTES + length.next_multiple_of(2);
    }
    Ok(found)
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

    #[test]
    fn what_is_no_archive_is_an_error() {
        let whole = archive(&[("a.o", b"content")]);
        for bytes in [&b""[..], b"no archive", &whole[..100], &whole[..whole.len() - 4]] {
            assert!(super::members(&mut io::Cursor::new(bytes)).is_err(), "{}", bytes.len());
        }
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
                let found = super::members(&mut io::Cursor::new(&bytes)).unwrap();
                let content = |(at, length): &(u64, u64)| &bytes[*at as usize..(at + length) as usize];
                let expected: Vec<&[u8]> = members.iter().map(|(_, content)| *content).collect();
                assert_eq!(found.iter().map(content).collect::<Vec<_>>(), expected);
            }
        }
    }
}
