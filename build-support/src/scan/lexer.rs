//! Rust's tokens, as far as one must tell them apart to find the ends of items.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// An identifier or keyword, with `r#`.
    Word,
    /// A literal.
    Literal,
    /// `'a`.
    Lifetime,
    /// One character of punctuation.
    Punct(u8),
    /// `(`, `[` or `{`.
    Open(u8),
    /// `)`, `]` or `}`.
    Close(u8),
    /// A line of a doc comment.
    DocLine,
    /// A doc comment between `/**` or `/*!` and `*/`.
    DocBlock,
}

/// Reads a text token by token. It never fails: an unclosed literal or comment goes to the end of the text.
pub(crate) struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    /// Where the next token is looked for.
    pub(crate) at: usize,
}

impl<'a> Lexer<'a> {
    /// At the beginning of a text, behind its byte order mark and `#!` line.
    pub(crate) fn new(text: &'a str) -> Self {
        let mut lexer = Self { text, bytes: text.as_bytes(), at: if text.starts_with('\u{feff}') { 3 } else { 0 } };
        let rest = &text[lexer.at..];
        if rest.starts_with("#!") && !rest[2..].trim_start().starts_with('[') {
            lexer.skip_line();
        }
        lexer
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip_line(&mut self) {
        while self.at < self.bytes.len() && self.bytes[self.at] != b'\n' {
            self.at += 1;
        }
    }

    fn skip_block_comment(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return;
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    fn skip_quoted(&mut self, quote: u8) {
        self.at += 1;
        while self.at < self.bytes.len() && self.bytes[self.at] != quote {
            self.at += if self.bytes[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
    }

    fn skip_raw(&mut self) {
        let hashes = self.bytes[self.at..].iter().take_while(|byte| **byte == b'#').count();
        let end = format!("\"{}", "#".repeat(hashes));
        let from = self.at + hashes + 1;
        let found = self.text.get(from..).and_then(|rest| rest.find(&end));
        self.at = found.map_or(self.bytes.len(), |at| from + at + end.len());
    }

    fn skip_word(&mut self) {
        while self.at < self.bytes.len() && is_word(self.bytes[self.at]) {
            self.at += 1;
        }
    }

    /// The next token and where it starts and ends.
    pub(crate) fn next(&mut self) -> Option<(Token, usize, usize)> {
        loop {
            while self.at < self.bytes.len() && self.bytes[self.at].is_ascii_whitespace() {
                self.at += 1;
            }
            if self.at >= self.bytes.len() {
                return None;
            }
            let start = self.at;
            if let Some(token) = self.token() {
                let end = self.at.min(self.bytes.len());
                self.at = end;
                return Some((token, start, end));
            }
        }
    }

    /// None for a comment.
    fn token(&mut self) -> Option<Token> {
        Some(match self.peek(0) {
            b'/' if self.peek(1) == b'/' => {
                let doc = (self.peek(2) == b'/' && self.peek(3) != b'/') || self.peek(2) == b'!';
                self.skip_line();
                return doc.then_some(Token::DocLine);
            }
            b'/' if self.peek(1) == b'*' => {
                let doc = (self.peek(2) == b'*' && !matches!(self.peek(3), b'*' | b'/')) || self.peek(2) == b'!';
                self.skip_block_comment();
                return doc.then_some(Token::DocBlock);
            }
            b'"' => {
                self.skip_quoted(b'"');
                Token::Literal
            }
            b'\'' => self.quote(),
            byte if byte.is_ascii_digit() => {
                self.skip_word();
                Token::Literal
            }
            byte if is_word(byte) => self.word(),
            byte @ (b'(' | b'[' | b'{') => {
                self.at += 1;
                Token::Open(byte)
            }
            byte @ (b')' | b']' | b'}') => {
                self.at += 1;
                Token::Close(byte)
            }
            byte => {
                self.at += 1;
                Token::Punct(byte)
            }
        })
    }

    /// A character or a lifetime.
    fn quote(&mut self) -> Token {
        let first = self.text[self.at + 1..].chars().next().unwrap_or(' ');
        if first == '\\' || self.peek(1 + first.len_utf8()) == b'\'' {
            self.skip_quoted(b'\'');
            Token::Literal
        } else {
            self.at += 1;
            self.skip_word();
            Token::Lifetime
        }
    }

    /// An identifier, or a literal with a letter before it.
    fn word(&mut self) -> Token {
        let start = self.at;
        self.skip_word();
        let word = &self.text[start..self.at];
        match (word, self.peek(0), self.peek(1)) {
            ("r" | "br" | "cr", b'"', _) | ("r" | "br" | "cr", b'#', b'#' | b'"') => {
                self.skip_raw();
                Token::Literal
            }
            ("b" | "c", b'"', _) => {
                self.skip_quoted(b'"');
                Token::Literal
            }
            ("b", b'\'', _) => {
                self.skip_quoted(b'\'');
                Token::Literal
            }
            ("r", b'#', _) => {
                self.at += 1;
                self.skip_word();
                Token::Word
            }
            _ => Token::Word,
        }
    }

    /// After an opening delimiter: to behind its partner.
    pub(crate) fn skip_group(&mut self) {
        let mut depth = 1_usize;
        while depth > 0 {
            match self.next() {
                Some((Token::Open(_), ..)) => depth += 1,
                Some((Token::Close(_), ..)) => depth -= 1,
                Some(_) => {}
                None => return,
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 128
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<(Token, &str)> {
        let mut lexer = Lexer::new(text);
        std::iter::from_fn(|| lexer.next()).map(|(token, start, end)| (token, &text[start..end])).collect()
    }

    #[test]
    fn braces_in_literals_and_comments_do_not_count() {
        let text = r####"{ '{' b'{' "}\"}" r"}\" r#"}"#"}"# b"}" c"}" br##"}"##"}"## // }
            /* } /* } */ } */ 'a '\'' '\u{7d}' 'ä' r#fn }"####;
        let braces: Vec<_> =
            tokens(text).into_iter().filter(|(token, _)| matches!(token, Token::Open(_) | Token::Close(_))).collect();
        assert_eq!(braces.len(), 2, "{:?}", tokens(text));
    }

    #[test]
    fn kinds() {
        assert_eq!(
            tokens("'a 'b' r#fn /// doc"),
            [(Token::Lifetime, "'a"), (Token::Literal, "'b'"), (Token::Word, "r#fn"), (Token::DocLine, "/// doc"),]
        );
        assert_eq!(tokens("\u{feff}#!/usr/bin/env x\nfn").len(), 1);
        assert_eq!(tokens("#![x]").len(), 5);
    }

    /// Every text ends, on a boundary of characters.
    #[test]
    fn no_text_is_too_broken() {
        for text in ["'", "\"\\", "r#\"", "/*", "b'", "'ä", "ä\\", "r#", "\"ä\\ä", "}{)", "'\\", "br#", "r###"] {
            for repeated in [text.to_string(), text.repeat(3)] {
                let _ = tokens(&repeated);
            }
        }
    }
}
