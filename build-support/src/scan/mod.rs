//! Finds tensor functions and what leads to them in Rust text, without parsing the rest of it.
//!
//! `syn` needs 7 ms for 10 KB in an unoptimised build script, this scanner 20 µs; and it does not mind syntax that
//! `syn` does not know. It goes through the tokens once and keeps a stack of the braces it is in.

mod attribute;
mod doc;
mod lexer;

use attribute::{Attribute, both};
use lexer::{Lexer, Token};
use std::path::PathBuf;

/// Where in a module tree a text stands, and where the files of its modules lie.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// The modules around it.
    pub(crate) modules: Vec<String>,
    /// The directory that `#[path]` starts from.
    pub(crate) directory: PathBuf,
    /// What `mod x;` adds to the directory: the name of a module whose file is not `mod.rs`.
    pub(crate) relative: Option<String>,
}

impl Place {
    /// The directory in which `mod x;` is looked for.
    pub(crate) fn modules_directory(&self) -> PathBuf {
        match &self.relative {
            Some(name) => self.directory.join(name),
            None => self.directory.clone(),
        }
    }
}

/// What a text holds.
#[derive(Debug)]
pub(crate) enum Item {
    /// `mod name;`.
    Module {
        /// Its name, without `r#`.
        name: String,
        /// `#[path = "…"]`.
        path: Option<String>,
        /// Around it.
        place: Place,
        /// Whether it is there.
        on: Option<bool>,
    },
    /// A function with our attribute.
    Function(Function),
    /// `include!("…")`.
    Include {
        /// As written, or behind `OUT_DIR`.
        file: Included,
        /// Around it.
        place: Place,
    },
    /// A program in a doc comment.
    Doc {
        /// The line of the file on which it begins, counted from 1.
        line: u32,
        /// The program.
        text: String,
    },
    /// `#[doc = include_str!("…")]`.
    DocFile(String),
}

/// The file of an `include!`.
#[derive(Debug, PartialEq)]
pub(crate) enum Included {
    /// Beside the file that includes it.
    Beside(String),
    /// `concat!(env!("OUT_DIR"), "…")`.
    OutDir(String),
}

/// A function with our attribute.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    /// Its name as written; `$name` inside `macro_rules!`.
    pub(crate) name: String,
    /// What stands in `#[tensor_fn(…)]`.
    pub(crate) argument: String,
    /// The function with its other attributes, `cfg` aside.
    pub(crate) text: String,
    /// The line of its name, counted from 1.
    pub(crate) line: u32,
    /// In an `impl` or `trait`.
    pub(crate) associated: bool,
    /// In a function's body, where no path leads.
    pub(crate) local: bool,
    /// In `macro_rules!`.
    pub(crate) macro_rules: bool,
    /// Around it.
    pub(crate) place: Place,
    /// Whether it is there.
    pub(crate) on: Option<bool>,
}

/// What a text holds, in its order.
pub(crate) fn scan(text: &str, place: Place) -> Vec<Item> {
    let mut scanner = Scanner {
        text,
        lexer: Lexer::new(text),
        stack: vec![Frame { place, on: Some(true), ..Frame::default() }],
        items: Vec::new(),
    };
    while scanner.step().is_some() {}
    scanner.end_docs();
    scanner.items
}

/// The programs in a Markdown file.
pub(crate) fn scan_markdown(text: &str) -> Vec<Item> {
    let lines: Vec<_> = text.lines().collect();
    doc::blocks(&lines).into_iter().map(|block| Item::Doc { line: block.line as u32 + 1, text: block.text }).collect()
}

/// One pair of delimiters, and what was read since the last item ended in it.
#[derive(Default)]
struct Frame<'a> {
    place: Place,
    on: Option<bool>,
    associated: bool,
    local: bool,
    macro_rules: bool,
    /// The first words of the item or statement.
    head: Vec<&'a str>,
    bang: bool,
    attributes: Vec<Attribute>,
    docs: Vec<&'a str>,
    docs_at: usize,
    /// In `if #[cfg(a)] { } else …`: whether a branch before is taken.
    branch: Option<Option<bool>>,
}

impl Frame<'_> {
    fn clear(&mut self) {
        self.head.clear();
        self.bang = false;
        self.attributes.clear();
    }

    /// Of the item whose attributes were read.
    fn item_on(&self) -> Option<bool> {
        self.attributes.iter().fold(self.on, |on, attribute| {
            let value = crate::cfg::of_attribute(&attribute.text);
            let value = match (value, attribute.on) {
                // a `cfg` inside a `cfg_attr` that may not apply says nothing
                (Some(false), None) => None,
                (value, _) => value,
            };
            both(on, value)
        })
    }

    /// The keyword that says what the item is.
    fn keyword(&self) -> &str {
        self.head
            .iter()
            .copied()
            .find(|word| !matches!(*word, "pub" | "unsafe" | "default" | "async" | "extern" | "const"))
            .unwrap_or("")
    }

    /// The name behind `mod`.
    fn module_name(&self) -> Option<String> {
        let mut words = self.head.iter().skip_while(|word| **word != "mod");
        words.next()?;
        Some(words.next()?.trim_start_matches("r#").to_string())
    }
}

struct Scanner<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    stack: Vec<Frame<'a>>,
    items: Vec<Item>,
}

impl<'a> Scanner<'a> {
    fn top(&mut self) -> &mut Frame<'a> {
        if self.stack.is_empty() {
            self.stack.push(Frame::default());
        }
        let last = self.stack.len() - 1;
        &mut self.stack[last]
    }

    fn step(&mut self) -> Option<()> {
        let (token, start, end) = self.lexer.next()?;
        if !matches!(token, Token::DocLine | Token::DocBlock) {
            self.end_docs();
        }
        let ours = |attribute: &Attribute| attribute.is_tensor_fn();
        if token != Token::Punct(b'#') && self.top().attributes.iter().any(ours) {
            if matches!(token, Token::DocLine | Token::DocBlock) {
                return Some(());
            }
            self.function(start, token, end);
            return Some(());
        }
        match token {
            Token::DocLine | Token::DocBlock => self.doc(start, end),
            Token::Punct(b'#') => self.attribute(start),
            Token::Word => self.word(&self.text[start..end]),
            Token::Punct(b'!') => self.top().bang = true,
            Token::Punct(b';') => self.semicolon(),
            Token::Punct(b',') => self.top().clear(),
            Token::Open(delimiter) => self.open(delimiter),
            Token::Close(delimiter) => self.close(delimiter),
            Token::Punct(_) | Token::Literal | Token::Lifetime => {}
        }
        Some(())
    }

    fn word(&mut self, word: &'a str) {
        let frame = self.top();
        if word != "else" && frame.head.is_empty() {
            frame.branch = None;
        }
        if frame.head.len() < 8 {
            frame.head.push(word);
        }
    }

    fn doc(&mut self, start: usize, end: usize) {
        let text = self.text;
        let frame = self.top();
        if frame.docs.is_empty() {
            frame.docs_at = start;
        }
        frame.docs.extend(doc::lines(&text[start..end]));
    }

    fn end_docs(&mut self) {
        let frame = self.top();
        if frame.docs.is_empty() {
            return;
        }
        let docs = std::mem::take(&mut frame.docs);
        let at = frame.docs_at;
        let blocks = doc::blocks(&docs);
        if !blocks.is_empty() {
            let first = self.line(at) as usize;
            self.items.extend(
                blocks.into_iter().map(|block| Item::Doc { line: (first + block.line) as u32, text: block.text }),
            );
        }
    }

    fn line(&self, at: usize) -> u32 {
        let before = self.text.get(..at).unwrap_or("");
        before.bytes().filter(|byte| *byte == b'\n').count() as u32 + 1
    }

    /// After `#`.
    fn attribute(&mut self, start: usize) {
        let after_hash = self.lexer.at;
        let mut inner = false;
        let mut next = self.lexer.next();
        if matches!(next, Some((Token::Punct(b'!'), ..))) {
            inner = true;
            next = self.lexer.next();
        }
        if !matches!(next, Some((Token::Open(b'['), ..))) {
            self.lexer.at = after_hash;
            return;
        }
        self.lexer.skip_group();
        let text = self.text.get(start..self.lexer.at).unwrap_or("");
        for attribute in attribute::expand(&text.replacen("#!", "#", usize::from(inner))) {
            if let Some(file) = attribute.included_doc() {
                self.items.push(Item::DocFile(file));
            }
            let frame = self.top();
            if inner {
                frame.on = both(frame.on, crate::cfg::of_attribute(&attribute.text));
            } else {
                frame.attributes.push(attribute);
            }
        }
    }

    fn semicolon(&mut self) {
        let frame = self.top();
        let module = (frame.keyword() == "mod" && !frame.macro_rules).then(|| frame.module_name()).flatten();
        if let Some(name) = module {
            let item = Item::Module {
                name,
                path: frame.attributes.iter().find_map(|a| a.string("path")),
                place: frame.place.clone(),
                on: frame.item_on(),
            };
            self.items.push(item);
        }
        self.top().clear();
    }

    fn open(&mut self, delimiter: u8) {
        self.include();
        let frame = self.top();
        let keyword = frame.keyword().to_string();
        let brace = delimiter == b'{';
        let mut on = frame.item_on();
        if brace {
            on = branch(frame, on);
        }
        let mut child = Frame {
            place: frame.place.clone(),
            on,
            associated: frame.associated && !brace || brace && matches!(keyword.as_str(), "impl" | "trait"),
            local: frame.local || (brace && keyword == "fn"),
            macro_rules: frame.macro_rules || (frame.bang && keyword == "macro_rules"),
            ..Frame::default()
        };
        if brace
            && keyword == "mod"
            && let Some(name) = frame.module_name()
        {
            let path = frame.attributes.iter().find_map(|a| a.string("path"));
            enter(&mut child.place, name, path);
        }
        self.stack.push(child);
    }

    fn close(&mut self, delimiter: u8) {
        if self.stack.len() > 1 {
            self.stack.pop();
        }
        if delimiter == b'}' {
            self.top().clear();
        }
    }

    /// `include!("…")`, at its opening delimiter.
    fn include(&mut self) {
        let frame = self.top();
        if !frame.bang || frame.head.last() != Some(&"include") || frame.on == Some(false) {
            return;
        }
        let place = frame.place.clone();
        let start = self.lexer.at;
        self.lexer.skip_group();
        let end = self.lexer.at;
        self.lexer.at = start;
        let inner = self.text.get(start..end.saturating_sub(1)).unwrap_or("");
        if let Some(file) = included(inner) {
            self.items.push(Item::Include { file, place });
        }
    }

    /// From the first token behind the attributes to the end of the body.
    fn function(&mut self, start: usize, first: Token, first_end: usize) {
        let found = self.header(start, first, first_end);
        let text = self.text;
        let line = found.map_or(0, |(name, _)| self.line(name));
        let frame = self.top();
        let Some((name, end)) = found else {
            frame.clear();
            return;
        };
        let (ours, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut frame.attributes).into_iter().partition(Attribute::is_tensor_fn);
        frame.attributes = others;
        let on = frame.item_on();
        let kept: String = frame
            .attributes
            .iter()
            .filter(|attribute| attribute.name() != "cfg")
            .map(|attribute| format!("{}\n", attribute.text))
            .collect();
        let function = Function {
            name: word_at(text, name),
            argument: ours.first().map(argument).unwrap_or_default(),
            text: kept + text.get(start..end).unwrap_or(""),
            line,
            associated: frame.associated,
            local: frame.local,
            macro_rules: frame.macro_rules,
            place: frame.place.clone(),
            on,
        };
        frame.clear();
        self.items.push(Item::Function(function));
    }

    /// Where the name starts and where the body, or the `;` in its place, ends. None if this is no function; the
    /// lexer then stands behind the first token.
    fn header(&mut self, start: usize, first: Token, first_end: usize) -> Option<(usize, usize)> {
        let mut angles = 0_usize;
        let mut name = None;
        let (mut token, mut at, mut end) = (first, start, first_end);
        let mut before = 0_u8;
        loop {
            match token {
                Token::Word if name.is_none() && &self.text[at..end] == "fn" => {
                    name = Some(self.lexer.next()?.1);
                }
                Token::Punct(b'<') => angles += 1,
                Token::Punct(b'>') if before != b'-' => angles = angles.saturating_sub(1),
                Token::Punct(b';') => return Some((name?, end)),
                Token::Open(b'{') if angles == 0 => {
                    let Some(name) = name else {
                        self.lexer.at = at;
                        return None;
                    };
                    self.lexer.skip_group();
                    return Some((name, self.lexer.at));
                }
                Token::Open(_) => self.lexer.skip_group(),
                Token::Close(_) => {
                    self.lexer.at = at;
                    return None;
                }
                _ => {}
            }
            before = if let Token::Punct(byte) = token { byte } else { 0 };
            (token, at, end) = self.lexer.next()?;
        }
    }
}

/// The value of a block in a chain of `if #[cfg(…)] { } else { }`.
fn branch(frame: &mut Frame<'_>, on: Option<bool>) -> Option<bool> {
    let has_cfg = frame.attributes.iter().any(|a| a.name() == "cfg");
    let last = frame.head.last().copied();
    match (last, has_cfg) {
        (Some("if"), true) | (Some("else"), false) => {
            let before = match frame.head.first() {
                Some(&"else") => frame.branch.unwrap_or(Some(false)),
                _ => Some(false),
            };
            let taken = both(before.map(|taken| !taken), on);
            frame.branch = Some(match (before, on) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                (None, _) | (_, None) => None,
            });
            taken
        }
        _ => on,
    }
}

/// An inline module adds its name to the directory, or replaces the relative part by its `#[path]`.
fn enter(place: &mut Place, name: String, path: Option<String>) {
    match path {
        Some(path) => place.directory.push(path),
        None => {
            place.directory = place.modules_directory();
            place.directory.push(&name);
        }
    }
    place.relative = None;
    place.modules.push(name);
}

/// The argument of `include!`.
fn included(inner: &str) -> Option<Included> {
    let inner = inner.trim().trim_end_matches(',').trim();
    if let Ok(literal) = syn::parse_str::<syn::LitStr>(inner) {
        return Some(Included::Beside(literal.value()));
    }
    let rest = inner.strip_prefix("concat!")?.trim();
    let rest = rest.get(1..rest.len().checked_sub(1)?)?.trim();
    let (variable, file) = rest.split_once(',')?;
    if !variable.contains("OUT_DIR") {
        return None;
    }
    let literal = syn::parse_str::<syn::LitStr>(file.trim().trim_end_matches(',').trim()).ok()?;
    Some(Included::OutDir(literal.value().trim_start_matches(['/', '\\']).into()))
}

/// What stands between the parentheses of our attribute.
fn argument(attribute: &Attribute) -> String {
    let text = attribute.text.trim_end();
    let Some(open) = text.find('(') else {
        return String::new();
    };
    let Some(close) = text.rfind(')') else {
        return String::new();
    };
    text.get(open + 1..close).unwrap_or("").to_string()
}

fn word_at(text: &str, at: usize) -> String {
    let rest = text.get(at..).unwrap_or("");
    let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '#' | '$'))).unwrap_or(rest.len());
    rest[..end].to_string()
}

#[cfg(test)]
mod tests;
