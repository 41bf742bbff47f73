//! Reads blobs: the modules for devices that a binary carries.
//!
//! The layout stands in [`tenfold_abi::blob`]. The reader copies nothing, needs no allocator and trusts nothing: what it
//! hands out was checked in [`Blob::read`], and there is no blob for which it panics or looks outside of its bytes. It
//! must not know what a payload means.

use core::fmt;

use tenfold_abi::blob::{ALIGN, ENTRY, HEADER, HOST, IMPORT_TREE, MAGIC, MAX_ENTRIES, VERSION, hash, padded};

/// Modules and which of them imports which, in bytes that were checked.
///
/// ```
/// use tenfold::blob::{Blob, BlobError};
/// assert_eq!(Blob::read(b"no blob").unwrap_err(), BlobError::TooShort);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Blob<'a> {
    entries: Entries<'a>,
    modules: usize,
    tree: Option<&'a [u8]>,
}

/// One module.
///
/// ```
/// use tenfold::blob::BlobModule;
///
/// assert!(!BlobModule { key: "nvptx", payload: &[] }.is_host());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobModule<'a> {
    /// What it is for, such as `nvptx`; [`BlobModule::is_host`] tells the host's own.
    pub key: &'a str,
    /// Its bytes, at a multiple of 16.
    pub payload: &'a [u8],
}

impl BlobModule<'_> {
    /// Whether it stands for the code of the host, which is linked.
    pub fn is_host(&self) -> bool {
        self.key == HOST
    }
}

/// Why bytes are no blob.
///
/// ```
/// use tenfold::blob::{Blob, BlobError};
///
/// assert_eq!(Blob::read(&[0; 64]).unwrap_err(), BlobError::Magic);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlobError {
    /// There is no whole header.
    TooShort,
    /// The first bytes are those of something else.
    Magic,
    /// The blob was written by another version.
    Version(u32),
    /// The blob, or its idea of alignment, does not lie where it should.
    Alignment,
    /// The header tells another length than there is.
    Length,
    /// The bytes are not those that were written.
    Hash,
    /// Entry number so and so reaches beyond the end, or is followed by more than the header counts.
    Entry(usize),
    /// The key of entry number so and so is no text, or stands twice.
    Key(usize),
    /// What should be zero is not.
    Padding,
    /// The host's entry has a payload.
    Host,
    /// The rows of imports do not fit the modules.
    ImportTree,
}

impl fmt::Display for BlobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort => f.write_str("a blob has a header of 48 bytes, and there are fewer"),
            Self::Magic => f.write_str("the bytes do not begin as a blob does"),
            Self::Version(found) => write!(f, "the blob has version {found}, and version {VERSION} is read"),
            Self::Alignment => write!(f, "a blob is aligned to {ALIGN} bytes"),
            Self::Length => f.write_str("the blob's length is not that of its header"),
            Self::Hash => f.write_str("the blob is damaged: its hash differs"),
            Self::Entry(at) => write!(f, "entry {at} does not fit into the blob"),
            Self::Key(at) => write!(f, "the key of entry {at} is no text or stands twice"),
            Self::Padding => f.write_str("bytes between entries are not zero"),
            Self::Host => f.write_str("the host's entry has a payload"),
            Self::ImportTree => f.write_str("the rows of imports do not fit the modules"),
        }
    }
}

impl core::error::Error for BlobError {}

impl<'a> Blob<'a> {
    /// Checks all of `bytes`: the header, hashes, bounds, keys, padding and rows of imports.
    ///
    /// # Errors
    /// What is wrong first.
    pub fn read(bytes: &'a [u8]) -> Result<Self, BlobError> {
        let (count, body) = header(bytes)?;
        let entries = Entries { body, count, at: 0, index: 0 };
        let (mut modules, mut tree) = (0, None);
        let mut walk = entries;
        while let Some((index, entry)) = walk.step()? {
            if word(entry.head, 2) != Some(hash(entry.module.payload)) {
                return Err(BlobError::Hash);
            }
            let entry = entry.module;
            if entries.take(index).any(|before| before.key == entry.key) {
                return Err(BlobError::Key(index));
            }
            match entry.key {
                IMPORT_TREE => tree = Some(entry.payload),
                HOST if !entry.payload.is_empty() => return Err(BlobError::Host),
                _ => modules += 1,
            }
        }
        let blob = Self { entries, modules, tree };
        blob.check_tree()?;
        Ok(blob)
    }

    /// How many modules there are.
    pub fn len(&self) -> usize {
        self.modules
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.modules == 0
    }

    /// The modules in the order of their numbers.
    pub fn modules(&self) -> impl Iterator<Item = BlobModule<'a>> + use<'a> {
        self.entries.filter(|entry| entry.key != IMPORT_TREE)
    }

    /// The module of this key.
    pub fn find(&self, key: &str) -> Option<BlobModule<'a>> {
        self.modules().find(|module| module.key == key)
    }

    /// The numbers of the modules that module `number` imports; none without rows of imports.
    pub fn imports(&self, number: usize) -> impl Iterator<Item = usize> + use<'a> {
        let tree = self.tree.unwrap_or(&[]);
        let row = |at: usize| word(tree, at).and_then(|it| usize::try_from(it).ok()).unwrap_or(0);
        let (begin, end) = if number < self.modules { (row(number), row(number + 1)) } else { (0, 0) };
        let first = self.modules + 1;
        (begin..end).filter_map(move |at| usize::try_from(word(tree, first + at)?).ok())
    }

    fn check_tree(&self) -> Result<(), BlobError> {
        let Some(tree) = self.tree else { return Ok(()) };
        self.tree_is_whole(tree).filter(|whole| *whole).map(|_| ()).ok_or(BlobError::ImportTree)
    }

    /// `None` or `false` where a number is missing, too large or out of order.
    fn tree_is_whole(&self, tree: &[u8]) -> Option<bool> {
        let rows = self.modules.checked_add(1)?;
        let (mut last, mut ordered) = (0, word(tree, 0)? == 0);
        for number in 0..self.modules {
            let next = usize::try_from(word(tree, number + 1)?).ok()?;
            ordered &= last <= next;
            for at in last..next {
                // A module imports only what stands behind it, so there is no way back.
                let child = usize::try_from(word(tree, rows.checked_add(at)?)?).ok()?;
                ordered &= number < child && child < self.modules;
            }
            last = next;
        }
        Some(ordered && rows.checked_add(last)?.checked_mul(8)? == tree.len())
    }
}

/// How many entries there are, and the bytes behind the header.
fn header(bytes: &[u8]) -> Result<(usize, &[u8]), BlobError> {
    let (head, body) = bytes.split_at_checked(HEADER).ok_or(BlobError::TooShort)?;
    let long = |at: usize| word(head, at).unwrap_or(0);
    let short = |half: u64| half as u32;
    if head.get(..8) != Some(&MAGIC[..]) {
        return Err(BlobError::Magic);
    }
    match short(long(1)) {
        VERSION => {}
        other => return Err(BlobError::Version(other)),
    }
    if short(long(1) >> 32) as usize != ALIGN || !(bytes.as_ptr() as usize).is_multiple_of(ALIGN) {
        return Err(BlobError::Alignment);
    }
    if long(2) != bytes.len() as u64 {
        return Err(BlobError::Length);
    }
    if long(5) != 0 {
        return Err(BlobError::Padding);
    }
    if long(4) != hash(body) {
        return Err(BlobError::Hash);
    }
    let count = usize::try_from(long(3)).ok().filter(|count| *count <= MAX_ENTRIES);
    Ok((count.ok_or(BlobError::Entry(MAX_ENTRIES))?, body))
}

/// The number at `8 * index`.
fn word(bytes: &[u8], index: usize) -> Option<u64> {
    let at = index.checked_mul(8)?;
    let word = bytes.get(at..at.checked_add(8)?)?;
    Some(u64::from_le_bytes(word.try_into().ok()?))
}

/// A walk over entries. After [`Blob::read`] each step succeeds.
#[derive(Clone, Copy, Debug)]
struct Entries<'a> {
    body: &'a [u8],
    count: usize,
    at: usize,
    index: usize,
}

impl<'a> Entries<'a> {
    /// The next entry and its number; `None` behind the last, where the bytes must end.
    fn step(&mut self) -> Result<Option<(usize, Entry<'a>)>, BlobError> {
        let index = self.index;
        if index == self.count {
            return if self.at == self.body.len() { Ok(None) } else { Err(BlobError::Entry(index)) };
        }
        let rest = self.body.get(self.at..).ok_or(BlobError::Entry(index))?;
        let entry = entry(rest, index)?;
        self.at += entry.size;
        self.index += 1;
        Ok(Some((index, entry)))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = BlobModule<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.step().ok()??.1.module)
    }
}

/// A module, the numbers before it and how many bytes both have.
struct Entry<'a> {
    head: &'a [u8],
    module: BlobModule<'a>,
    size: usize,
}

/// The entry at the beginning of `bytes`.
fn entry(bytes: &[u8], index: usize) -> Result<Entry<'_>, BlobError> {
    let fail = BlobError::Entry(index);
    let (head, rest) = bytes.split_at_checked(ENTRY).ok_or(fail)?;
    let length = |at: usize| word(head, at).and_then(|it| usize::try_from(it).ok()).ok_or(fail);
    let (key, rest) = part(rest, length(0)?, fail)?;
    let (payload, rest) = part(rest, length(1)?, fail)?;
    if word(head, 3) != Some(0) {
        return Err(BlobError::Padding);
    }
    let key = core::str::from_utf8(key).ok().filter(|key| !key.is_empty()).ok_or(BlobError::Key(index))?;
    Ok(Entry { head, module: BlobModule { key, payload }, size: bytes.len() - rest.len() })
}

/// The first `len` bytes, and what follows their padding.
fn part(bytes: &[u8], len: usize, fail: BlobError) -> Result<(&[u8], &[u8]), BlobError> {
    let (whole, rest) = padded(len).and_then(|all| bytes.split_at_checked(all)).ok_or(fail)?;
    let (part, zeros) = whole.split_at_checked(len).ok_or(fail)?;
    if zeros.iter().any(|byte| *byte != 0) {
        return Err(BlobError::Padding);
    }
    Ok((part, rest))
}
