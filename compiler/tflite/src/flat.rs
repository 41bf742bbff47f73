//! Tables, vectors and strings of a flatbuffer, each place checked before it is read.
//!
//! A file of a stranger is read table by table, and a wrong offset is an error at the place that follows it. Offsets are
//! never negative, so what they lead through ends; readers here name the schema's fields by number, so a chain of tables
//! is as long as the schema.

/// What is wrong with the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlatError(pub(crate) String);

type Read<T> = Result<T, FlatError>;

fn outside<T>(what: &str, at: usize, bytes: &[u8]) -> Read<T> {
    Err(FlatError(format!("a {what} at byte {at} lies outside of its {} bytes", bytes.len())))
}

fn array<const N: usize>(bytes: &[u8], at: usize, what: &str) -> Read<[u8; N]> {
    let found = at.checked_add(N).and_then(|end| bytes.get(at..end)).and_then(|own| own.try_into().ok());
    found.map_or_else(|| outside(what, at, bytes), Ok)
}

fn u32_at(bytes: &[u8], at: usize, what: &str) -> Read<u32> {
    array(bytes, at, what).map(u32::from_le_bytes)
}

/// The place that an offset at a place leads to.
fn followed(bytes: &[u8], at: usize, what: &str) -> Read<usize> {
    let target = at.checked_add(u32_at(bytes, at, what)? as usize);
    target.filter(|target| *target < bytes.len()).map_or_else(|| outside(what, at, bytes), Ok)
}

/// A table: fields by number, of which some may be left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Its list of places, which begins behind two lengths.
    places: &'a [u8],
}

/// A vector of elements of one size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vector<'a> {
    bytes: &'a [u8],
    at: usize,
    elements: &'a [u8],
}

impl<'a> Table<'a> {
    /// The root of a file with this identifier.
    pub(crate) fn root(bytes: &'a [u8], identifier: [u8; 4]) -> Read<Table<'a>> {
        let found: [u8; 4] = array(bytes, 4, "file identifier")?;
        if found != identifier {
            let names = [identifier, found].map(|name| name.escape_ascii().to_string());
            return Err(FlatError(format!("expected the file identifier `{}`, found `{}`", names[0], names[1])));
        }
        Table::at(bytes, followed(bytes, 0, "root table")?)
    }

    fn at(bytes: &'a [u8], at: usize) -> Read<Table<'a>> {
        let back = i32::from_le_bytes(array(bytes, at, "table")?);
        let vtable = i64::try_from(at).ok().and_then(|at| usize::try_from(at - i64::from(back)).ok());
        let Some(vtable) = vtable else { return outside("list of fields", at, bytes) };
        let length = usize::from(u16::from_le_bytes(array(bytes, vtable, "list of fields")?));
        match vtable.checked_add(length).and_then(|end| bytes.get(vtable..end)?.get(4..)) {
            Some(places) => Ok(Table { bytes, at, places }),
            None => outside("list of fields", vtable, bytes),
        }
    }

    /// Where a field is, if it is there.
    fn field(&self, number: usize) -> Option<usize> {
        let place = self.places.get(2 * number..2 * number + 2)?;
        let place = u16::from_le_bytes([place[0], place[1]]);
        (place != 0).then(|| self.at.saturating_add(usize::from(place)))
    }

    fn scalar<const N: usize>(&self, number: usize) -> Read<Option<[u8; N]>> {
        self.field(number).map(|at| array(self.bytes, at, "field")).transpose()
    }

    /// A field of 8 bits, 0 if left out.
    pub(crate) fn byte(&self, number: usize) -> Read<u8> {
        Ok(self.scalar::<1>(number)?.map_or(0, |own| own[0]))
    }

    /// A field of 32 bits.
    pub(crate) fn int(&self, number: usize, default: i32) -> Read<i32> {
        Ok(self.scalar(number)?.map_or(default, i32::from_le_bytes))
    }

    /// A field of 64 bits without a sign, 0 if left out.
    pub(crate) fn long(&self, number: usize) -> Read<u64> {
        Ok(self.scalar(number)?.map_or(0, u64::from_le_bytes))
    }

    /// A float, 0 if left out.
    pub(crate) fn float(&self, number: usize) -> Read<f32> {
        Ok(self.scalar(number)?.map_or(0.0, f32::from_le_bytes))
    }

    /// A table that a field leads to.
    pub(crate) fn table(&self, number: usize) -> Read<Option<Table<'a>>> {
        self.field(number).map(|at| Table::at(self.bytes, followed(self.bytes, at, "table")?)).transpose()
    }

    /// A vector that a field leads to, of elements of `size` bytes.
    fn vector(&self, number: usize, size: usize) -> Read<Option<Vector<'a>>> {
        let Some(at) = self.field(number) else { return Ok(None) };
        let start = followed(self.bytes, at, "vector")?;
        let length = (u32_at(self.bytes, start, "vector")? as usize).checked_mul(size);
        let at = start + 4;
        match length.and_then(|length| self.bytes.get(at..at.checked_add(length)?)) {
            Some(elements) => Ok(Some(Vector { bytes: self.bytes, at, elements })),
            None => outside("vector", start, self.bytes),
        }
    }

    /// The bytes of a vector; none if it is left out.
    pub(crate) fn data(&self, number: usize) -> Read<&'a [u8]> {
        Ok(self.vector(number, 1)?.map_or(&[], |vector| vector.elements))
    }

    /// A string, empty if left out.
    pub(crate) fn text(&self, number: usize) -> Read<&'a str> {
        let bytes = self.data(number)?;
        std::str::from_utf8(bytes).map_err(|_| FlatError(format!("a string of {} bytes is no UTF-8", bytes.len())))
    }

    /// Integers of 32 bits; none if they are left out.
    pub(crate) fn ints(&self, number: usize) -> Read<Vec<i32>> {
        Ok(self.elements(number)?.map(i32::from_le_bytes).collect())
    }

    /// Integers of 64 bits; none if they are left out.
    pub(crate) fn longs(&self, number: usize) -> Read<Vec<i64>> {
        Ok(self.elements(number)?.map(i64::from_le_bytes).collect())
    }

    /// Floats; none if they are left out.
    pub(crate) fn floats(&self, number: usize) -> Read<Vec<f32>> {
        Ok(self.elements(number)?.map(f32::from_le_bytes).collect())
    }

    fn elements<const N: usize>(&self, number: usize) -> Read<impl Iterator<Item = [u8; N]> + use<'a, N>> {
        let all = self.vector(number, N)?.map_or(&[][..], |vector| vector.elements);
        Ok(all.as_chunks::<N>().0.iter().copied())
    }

    /// The tables of a vector; none if it is left out.
    pub(crate) fn tables(&self, number: usize) -> Read<Vec<Table<'a>>> {
        let Some(vector) = self.vector(number, 4)? else { return Ok(Vec::new()) };
        let places = (0..vector.elements.len() / 4).map(|n| vector.at + 4 * n);
        places.map(|at| Table::at(vector.bytes, followed(vector.bytes, at, "table")?)).collect()
    }

    /// All bytes of the file.
    pub(crate) fn file(&self) -> &'a [u8] {
        self.bytes
    }
}
