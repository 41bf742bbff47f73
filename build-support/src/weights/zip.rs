//! npz: a zip archive whose members are npy files. What is stored without compression is used where it lies.
//!
//! The directory at the end of the archive says where the members are; lengths in it are of 32 bits, and of 64 where
//! these do not suffice.

use super::{HEADER_LIMIT, Header, Why, npy};
use std::io::{Read, Seek, SeekFrom};

/// Bytes of the record at the end, without its comment, and of the comment at most.
const END: u64 = 22;
const COMMENT: u64 = 0xffff;

/// The header of an array in an archive of `length` bytes.
pub(super) fn read(file: &mut (impl Read + Seek), length: u64, array: &str) -> Result<Header, Why> {
    let directory = directory(file, length)?;
    let (begin, size) = find(&directory, array)?.place(file, array)?;
    let mut header = npy::read(&mut file.take(size))?;
    let left = size.checked_sub(header.offset);
    header.length = Some(left.ok_or_else(cut_short)?);
    header.offset = begin.checked_add(header.offset).ok_or_else(cut_short)?;
    Ok(header)
}

fn cut_short() -> Why {
    Why::Damaged("it is no npz file, or cut short".into())
}

/// The directory's bytes.
fn directory(file: &mut (impl Read + Seek), length: u64) -> Result<Vec<u8>, Why> {
    let begin = length.saturating_sub(END + COMMENT);
    let tail = bytes(file, begin, length - begin)?;
    let end =
        (0..tail.len()).rev().find(|at| tail[*at..].starts_with(b"PK\x05\x06") && tail.len() - at >= END as usize);
    let end = end.ok_or_else(cut_short)?;
    let (size, offset) = (u32_at(&tail, end + 12)?, u32_at(&tail, end + 16)?);
    if size != u64::from(u32::MAX) && offset != u64::from(u32::MAX) {
        return bytes(file, offset, size);
    }
    let locator = end.checked_sub(20).ok_or_else(cut_short)?;
    let record = bytes(file, u64_at(&tail, locator + 8)?, 56)?;
    if !record.starts_with(b"PK\x06\x06") {
        return Err(cut_short());
    }
    bytes(file, u64_at(&record, 48)?, u64_at(&record, 40)?)
}

/// What the directory says of an array.
struct Member {
    compressed: bool,
    size: u64,
    /// Where its own header begins.
    offset: u64,
}

fn find(directory: &[u8], array: &str) -> Result<Member, Why> {
    let mut names = Vec::new();
    let mut at = 0;
    while at < directory.len() {
        let entry = &directory[at..];
        if !entry.starts_with(b"PK\x01\x02") {
            return Err(cut_short());
        }
        let lengths = [u16_at(entry, 28)?, u16_at(entry, 30)?, u16_at(entry, 32)?];
        let name = String::from_utf8_lossy(slice(entry, 46, lengths[0])?).into_owned();
        let name = name.strip_suffix(".npy").unwrap_or(&name).to_string();
        if name == array {
            return member(entry, slice(entry, 46 + lengths[0], lengths[1])?);
        }
        names.push(name);
        at += 46 + lengths.iter().sum::<usize>();
    }
    Err(Why::NoTensor(array.into(), names))
}

fn member(entry: &[u8], extra: &[u8]) -> Result<Member, Why> {
    let mut wide = wide(extra)?;
    let mut field = |at: usize| match u32_at(entry, at)? {
        0xffff_ffff => wide.next().ok_or_else(cut_short),
        narrow => Ok(narrow),
    };
    let (size, stored, offset) = (field(24)?, field(20)?, field(42)?);
    Ok(Member { compressed: u16_at(entry, 10)? != 0 || size != stored, size, offset })
}

/// The fields of 64 bits, in the order of those of 32 that they stand for.
fn wide(mut extra: &[u8]) -> Result<impl Iterator<Item = u64>, Why> {
    let mut fields = Vec::new();
    while extra.len() >= 4 {
        let (id, length) = (u16_at(extra, 0)?, u16_at(extra, 2)?);
        let body = slice(extra, 4, length)?;
        if id == 1 {
            fields = body.chunks_exact(8).filter_map(|eight| u64_at(eight, 0).ok()).collect();
        }
        extra = &extra[4 + length..];
    }
    Ok(fields.into_iter())
}

impl Member {
    /// Where its bytes begin, where `file` stands then, and how many there are.
    fn place(&self, file: &mut (impl Read + Seek), array: &str) -> Result<(u64, u64), Why> {
        if self.compressed {
            let why = format!("`{array}` is compressed in it; write it with `numpy.savez`");
            return Err(Why::Damaged(why));
        }
        let head = bytes(file, self.offset, 30)?;
        if !head.starts_with(b"PK\x03\x04") {
            return Err(cut_short());
        }
        let begin = 30 + (u16_at(&head, 26)? + u16_at(&head, 28)?) as u64;
        let begin = self.offset.checked_add(begin).ok_or_else(cut_short)?;
        file.seek(SeekFrom::Start(begin))?;
        Ok((begin, self.size))
    }
}

/// Bytes of a part of the file, which is not longer than a header may be.
fn bytes(file: &mut (impl Read + Seek), offset: u64, length: u64) -> Result<Vec<u8>, Why> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(offset))?;
    file.take(length.min(HEADER_LIMIT)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(cut_short()) }
}

fn slice(bytes: &[u8], at: usize, length: usize) -> Result<&[u8], Why> {
    bytes.get(at..).and_then(|rest| rest.get(..length)).ok_or_else(cut_short)
}

fn u16_at(bytes: &[u8], at: usize) -> Result<usize, Why> {
    let two = slice(bytes, at, 2)?;
    Ok(usize::from(two[0]) | usize::from(two[1]) << 8)
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u64, Why> {
    Ok(slice(bytes, at, 4)?.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64, Why> {
    Ok(slice(bytes, at, 8)?.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
}
