//! JSON, as much as the header of a safetensors file needs.

/// A value. Numbers other than whole ones and `true`, `false`, `null` are read and forgotten.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    /// A whole number.
    Number(u64),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// Names and values in their order.
    Object(Vec<(String, Json)>),
    /// Anything else.
    Other,
}

/// Values inside of values at most.
const DEPTH: u32 = 32;

/// The value of a text; what is wrong with it.
pub(super) fn parse(text: &str) -> Result<Json, String> {
    let mut reader = Reader { bytes: text.as_bytes(), text, at: 0 };
    let value = reader.value(DEPTH);
    reader.space();
    match value {
        Some(value) if reader.at == text.len() => Ok(value),
        Some(_) | None => Err(format!("its header is no JSON at byte {}", reader.at)),
    }
}

impl Json {
    /// The value of a name.
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(fields) => {
                let field = fields.iter().find(|(known, _)| known == name);
                field.map(|(_, value)| value)
            }
            Self::Number(_) | Self::Text(_) | Self::List(_) | Self::Other => None,
        }
    }

    /// The text.
    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Number(_) | Self::List(_) | Self::Object(_) | Self::Other => None,
        }
    }

    /// The whole numbers of a list.
    pub(super) fn numbers(&self) -> Option<Vec<u64>> {
        let Self::List(values) = self else {
            return None;
        };
        let number = |value: &Self| match value {
            Self::Number(number) => Some(*number),
            Self::Text(_) | Self::List(_) | Self::Object(_) | Self::Other => None,
        };
        values.iter().map(number).collect()
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn space(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn next(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// Takes a byte if it comes next, behind space.
    fn take(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: u32) -> Option<Json> {
        let depth = depth.checked_sub(1)?;
        self.space();
        match *self.bytes.get(self.at)? {
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            b'"' => self.string().map(Json::Text),
            _ => self.word(),
        }
    }

    fn object(&mut self, depth: u32) -> Option<Json> {
        let mut fields = Vec::new();
        self.next();
        if self.take(b'}') {
            return Some(Json::Object(fields));
        }
        loop {
            self.space();
            let name = self.string()?;
            if !self.take(b':') {
                return None;
            }
            fields.push((name, self.value(depth)?));
            if self.take(b'}') {
                return Some(Json::Object(fields));
            }
            if !self.take(b',') {
                return None;
            }
        }
    }

    fn list(&mut self, depth: u32) -> Option<Json> {
        let mut values = Vec::new();
        self.next();
        if self.take(b']') {
            return Some(Json::List(values));
        }
        loop {
            values.push(self.value(depth)?);
            if self.take(b']') {
                return Some(Json::List(values));
            }
            if !self.take(b',') {
                return None;
            }
        }
    }

    fn word(&mut self) -> Option<Json> {
        let start = self.at;
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
        while self.bytes.get(self.at).is_some_and(is_word) {
            self.at += 1;
        }
        let word = self.text.get(start..self.at)?;
        if word.is_empty() {
            return None;
        }
        Some(word.parse().map_or(Json::Other, Json::Number))
    }

    fn string(&mut self) -> Option<String> {
        if self.next()? != b'"' {
            return None;
        }
        let mut out = String::new();
        loop {
            let rest = self.text.get(self.at..)?;
            let plain = rest.find(['"', '\\'])?;
            out.push_str(&rest[..plain]);
            self.at += plain;
            if self.next()? == b'"' {
                return Some(out);
            }
            out.push(match self.next()? {
                b'n' => '\n',
                b't' => '\t',
                b'r' => '\r',
                b'b' => '\u{8}',
                b'f' => '\u{c}',
                b'u' => self.escaped()?,
                byte @ (b'"' | b'\\' | b'/') => byte as char,
                _ => return None,
            });
        }
    }

    /// After `\u`: one character, which may take two escapes.
    fn escaped(&mut self) -> Option<char> {
        let first = self.hex()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first);
        }
        if self.next()? != b'\\' || self.next()? != b'u' {
            return None;
        }
        let low = self.hex()?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
        char::from_u32(0x10000 + ((first - 0xd800) << 10) + low)
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}
