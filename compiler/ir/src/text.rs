//! Pieces of text that both parsers cut the same way: comments, brackets, quotes.

use std::fmt;

/// What is wrong with a text, and where, counted from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// The line.
    pub line: usize,
    /// The column, in characters; 0 if only the line is known.
    pub column: usize,
    /// Expected and found.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            0 => write!(f, "line {}: {}", self.line, self.message),
            column => write!(f, "line {}:{column}: {}", self.line, self.message),
        }
    }
}

impl std::error::Error for ParseError {}

impl ParseError {
    /// What is wrong with a line, at the piece of it that the mistake is about.
    pub(crate) fn of_line(number: usize, line: &str, wrong: Wrong) -> Self {
        ParseError { line: number, column: column(line, wrong.address), message: wrong.message }
    }
}

/// The column of an address in a line; its first that is not blank if it is no address in it.
pub(crate) fn column(line: &str, address: usize) -> usize {
    let first = line.len() - line.trim_start().len();
    let offset = address.checked_sub(line.as_ptr() as usize).filter(|at| *at <= line.len());
    line.get(..offset.unwrap_or(first)).map_or(0, |before| before.chars().count() + 1)
}

/// What is wrong with a piece of a line, and the address of that piece.
#[derive(Debug)]
pub(crate) struct Wrong {
    address: usize,
    message: String,
}

impl Wrong {
    /// At a piece that was cut out of the line.
    pub(crate) fn at(piece: &str, message: impl Into<String>) -> Self {
        Wrong { address: piece.as_ptr() as usize, message: message.into() }
    }

    /// Expected something, and found the piece.
    pub(crate) fn found(expected: &str, piece: &str) -> Self {
        Wrong::at(piece, format!("expected {expected}, found `{piece}`"))
    }

    /// The same; at `piece` if it has no place of its own.
    pub(crate) fn or_at(self, piece: &str) -> Self {
        if self.address == 0 { Wrong::at(piece, self.message) } else { self }
    }
}

impl From<String> for Wrong {
    fn from(message: String) -> Self {
        Wrong { address: 0, message }
    }
}

impl From<&str> for Wrong {
    fn from(message: &str) -> Self {
        message.to_string().into()
    }
}

/// Byte positions of `text` outside quotes, with the depth of brackets there (an opening bracket has the depth
/// outside it, a closing one too).
fn depths(text: &str) -> impl Iterator<Item = (usize, char, usize)> {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    text.char_indices().filter_map(move |(at, c)| {
        if quoted {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            quoted = !ends;
            return None;
        }
        match c {
            '"' => {
                quoted = true;
                None
            }
            '(' | '[' | '{' => {
                depth += 1;
                Some((at, c, depth - 1))
            }
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                Some((at, c, depth))
            }
            _ => Some((at, c, depth)),
        }
    })
}

/// The line without its comment (`// …` outside quotes) and without blanks around it.
pub fn strip(line: &str) -> &str {
    let mut before = None;
    for (at, c, _) in depths(line) {
        if c == '/' && before == Some(at.wrapping_sub(1)) {
            return line[..at - 1].trim();
        }
        before = (c == '/').then_some(at);
    }
    line.trim()
}

/// `text` cut at each `separator` outside brackets and quotes; nothing for an empty text.
pub fn split(text: &str, separator: char) -> Vec<&str> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    let mut parts = Vec::new();
    let mut from = 0;
    for (at, c, depth) in depths(text) {
        if c == separator && depth == 0 {
            parts.push(text[from..at].trim());
            from = at + c.len_utf8();
        }
    }
    parts.push(text[from..].trim());
    parts
}

/// What stands before and after the first `separator` outside brackets and quotes.
pub fn split_once<'a>(text: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    depths(text)
        .find(|(at, _, depth)| *depth == 0 && text[*at..].starts_with(separator))
        .map(|(at, _, _)| (text[..at].trim(), text[at + separator.len()..].trim()))
}

/// The inside of the brackets that `text` begins with, and what follows them.
pub fn bracketed(text: &str, open: char, close: char) -> Option<(&str, &str)> {
    if !text.starts_with(open) {
        return None;
    }
    let end = depths(text).find(|(_, c, depth)| *c == close && *depth == 0)?.0;
    Some((text[1..end].trim(), text[end + 1..].trim()))
}

/// The string in quotes that `text` begins with, and what follows it.
pub fn quoted(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('"')?;
    let mut out = String::new();
    let mut chars = inner.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, inner[at + 1..].trim())),
            '\\' => match chars.next()?.1 {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                '0' => out.push('\0'),
                'u' => {
                    let rest = &inner[at + 2..];
                    let (digits, _) = bracketed(rest, '{', '}')?;
                    out.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
                    for _ in 0..digits.len() + 2 {
                        chars.next();
                    }
                }
                other => out.push(other),
            },
            other => out.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_outside_brackets_and_quotes() {
        assert_eq!(split("a, f(b, c), [d, e], \"x,\\\"y\"", ','), ["a", "f(b, c)", "[d, e]", "\"x,\\\"y\""]);
        assert_eq!(strip("  a // b"), "a");
        assert_eq!(strip("a \"// b\""), "a \"// b\"");
        assert_eq!(bracketed("(a (b)) c", '(', ')'), Some(("a (b)", "c")));
        assert_eq!(quoted("\"a\\\"\\u{e9}\\n\" x"), Some(("a\"é\n".to_string(), "x")));
        assert_eq!(split_once("f32[(a = 1)] = x", " = "), Some(("f32[(a = 1)]", "x")));
    }
}
