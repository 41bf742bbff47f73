//! JSON, read in place: a value is its text.

/// Values inside of values at most.
const DEPTH: u32 = 32;

/// Whether a text is one value, a table.
pub(super) fn is_table(text: &str) -> bool {
    let mut reader = Reader::new(text);
    let table = reader.value().is_some_and(|value| value.starts_with('{'));
    table && reader.rest.trim_ascii().is_empty()
}

/// Names, between their quotes, and values of a table; nothing of anything else.
pub(super) fn fields(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut reader = Reader::new(table);
    let mut more = reader.take('{');
    core::iter::from_fn(move || {
        if !more {
            return None;
        }
        let name = reader.string()?;
        let value = reader.take(':').then(|| reader.value())??;
        more = reader.take(',');
        Some((name, value))
    })
}

/// The whole numbers of a list; none for what is no such number, behind which the list ends.
pub(super) fn numbers(list: &str) -> impl Iterator<Item = Option<usize>> {
    let mut reader = Reader::new(list);
    let mut more = reader.take('[') && !reader.take(']');
    core::iter::from_fn(move || {
        if !more {
            return None;
        }
        let number = reader.value().and_then(|value| value.parse().ok());
        more = number.is_some() && reader.take(',');
        Some(number)
    })
}

/// Whether what stands between quotes is this text.
pub(super) fn is(raw: &str, text: &str) -> bool {
    let (mut raw, mut text) = (raw.chars(), text.chars());
    loop {
        match (decoded(&mut raw), text.next()) {
            (None, None) => return raw.as_str().is_empty(),
            (Some(a), Some(b)) if a == b => {}
            (Some(_) | None, Some(_) | None) => return false,
        }
    }
}

/// The next character, which may be written as an escape; none at the end, and at an escape that is none.
fn decoded(raw: &mut core::str::Chars<'_>) -> Option<char> {
    let before = raw.clone();
    let found = match raw.next()? {
        '\\' => escaped(raw),
        plain => Some(plain),
    };
    if found.is_none() {
        *raw = before;
    }
    found
}

fn escaped(raw: &mut core::str::Chars<'_>) -> Option<char> {
    Some(match raw.next()? {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'u' => return unicode(raw),
        plain @ ('"' | '\\' | '/') => plain,
        _ => return None,
    })
}

/// Behind `\u`: one character, which may take two escapes.
fn unicode(raw: &mut core::str::Chars<'_>) -> Option<char> {
    let first = hex(raw)?;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first);
    }
    if (raw.next()?, raw.next()?) != ('\\', 'u') {
        return None;
    }
    let low = hex(raw)?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
    char::from_u32(0x10000 + ((first - 0xd800) << 10) + low)
}

fn hex(raw: &mut core::str::Chars<'_>) -> Option<u32> {
    (0..4).try_fold(0, |word, _| Some(word << 4 | raw.next()?.to_digit(16)?))
}

/// What is left of a text.
pub(super) struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// Takes a character if it comes next, behind space.
    fn take(&mut self, next: char) -> bool {
        self.rest = self.rest.trim_ascii_start();
        let rest = self.rest.strip_prefix(next);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// What stands between two quotes, with its escapes as they are.
    pub(super) fn string(&mut self) -> Option<&'a str> {
        if !self.take('"') {
            return None;
        }
        let mut escape = false;
        let end = self.rest.bytes().position(|byte| {
            let ends = byte == b'"' && !escape;
            escape = byte == b'\\' && !escape;
            ends
        })?;
        let (text, rest) = self.rest.split_at(end);
        self.rest = &rest[1..];
        Some(text)
    }

    /// A value's text.
    fn value(&mut self) -> Option<&'a str> {
        self.rest = self.rest.trim_ascii_start();
        let begin = self.rest;
        self.skip(DEPTH)?;
        begin.get(..begin.len() - self.rest.len())
    }

    fn skip(&mut self, depth: u32) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        if self.take('{') {
            return self.items('}', |reader| {
                reader.string()?;
                reader.take(':').then(|| reader.skip(depth))?
            });
        }
        if self.take('[') {
            return self.items(']', |reader| reader.skip(depth));
        }
        if self.rest.starts_with('"') {
            return self.string().map(|_| ());
        }
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        let length = self.rest.bytes().take_while(|byte| is_word(*byte)).count();
        self.rest = &self.rest[length..];
        (length > 0).then_some(())
    }

    /// Items between commas, up to a bracket.
    fn items(&mut self, end: char, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if self.take(end) {
            return Some(());
        }
        loop {
            item(self)?;
            if self.take(end) {
                return Some(());
            }
            if !self.take(',') {
                return None;
            }
        }
    }
}
