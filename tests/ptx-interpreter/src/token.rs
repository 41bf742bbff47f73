//! Words of PTX.

use crate::Error;

/// A word, and the line on which it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) line: u32,
}

/// What names, opcodes and numbers consist of.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

/// How long the word at the beginning is. Two colons belong to it (`shared::cta`), one ends it.
fn word(bytes: &[u8]) -> usize {
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            byte if is_word(byte) => at += 1,
            b':' if bytes.get(at + 1) == Some(&b':') => at += 2,
            _ => break,
        }
    }
    at
}

/// How many bytes a comment at the beginning has.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    text.starts_with("/*").then(|| text.find("*/").map_or(text.len(), |at| at + 2))
}

/// All words of a text, without comments.
pub(crate) fn tokens(text: &str) -> Result<Vec<Token<'_>>, Error> {
    let (mut all, mut at, mut line) = (Vec::new(), 0, 1);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let len = match bytes[at] {
            byte if byte.is_ascii_whitespace() => 1,
            b'/' if comment(&text[at..]).is_some() => comment(&text[at..]).unwrap_or(1),
            b'"' => text[at + 1..].find('"').map_or(text.len() - at, |end| end + 2),
            byte if is_word(byte) => word(&bytes[at..]),
            byte if byte.is_ascii_punctuation() => 1,
            byte => return Err(Error::at(line, format!("a byte that PTX does not have: {byte:#x}"))),
        };
        let piece = &text[at..at + len];
        if !piece.trim().is_empty() && comment(piece).is_none() {
            all.push(Token { text: piece, line });
        }
        line += piece.bytes().filter(|byte| *byte == b'\n').count() as u32;
        at += len;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::tokens;

    #[test]
    fn words_are_found() {
        let text = "@!%p1 bra $L_2; // no\nfence.proxy.async.shared::cta; L: st [%rd1+-4], {0f3F800000, %r2};";
        let words: Vec<(&str, u32)> = tokens(text).expect("words").iter().map(|t| (t.text, t.line)).collect();
        let expected = [
            "@",
            "!",
            "%p1",
            "bra",
            "$L_2",
            ";",
            "fence.proxy.async.shared::cta",
            ";",
            "L",
            ":",
            "st",
            "[",
            "%rd1",
            "+",
            "-",
            "4",
            "]",
            ",",
            "{",
            "0f3F800000",
            ",",
            "%r2",
            "}",
            ";",
        ];
        assert_eq!(words.iter().map(|(word, _)| *word).collect::<Vec<_>>(), expected);
        assert_eq!((words[5].1, words[6].1), (1, 2));
    }
}
