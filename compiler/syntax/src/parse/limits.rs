//! Limits on tokens, checked before syn and everything behind it recurse over them.
//!
//! Depth is counted where a parser goes down: at brackets, and in a run without separator at each punctuation, keyword
//! and further bracket (`- - - x`, `if if if`, `f()()()`, `a + b + c`). The count is the sum along the way down, so it
//! bounds the recursion of syn, of the tree's own walks and of its destruction.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// Tokens of one function.
pub(super) const TOKENS: usize = 1 << 18;

/// Depth of one function.
pub(super) const DEPTH: usize = 192;

/// What is exceeded.
pub(super) enum Excess {
    /// [`DEPTH`], here.
    Depth(Span),
    /// [`TOKENS`].
    Tokens,
}

/// Brackets to be read: their tokens and the depth at which they stand.
struct Level {
    tokens: proc_macro2::token_stream::IntoIter,
    run: Run,
    base: usize,
}

/// The part of a level between separators.
#[derive(Default)]
struct Run {
    depth: usize,
    angles: usize,
    after_brace: bool,
}

/// Checks the limits. Keeps its own stack, for it sees the tokens first.
pub(super) fn check(tokens: TokenStream) -> Result<(), Excess> {
    let mut stack = vec![Level::new(tokens, 0)];
    let mut count = 0;
    while let Some(level) = stack.last_mut() {
        let Some(tree) = level.tokens.next() else {
            stack.pop();
            continue;
        };
        count += 1;
        if count > TOKENS {
            return Err(Excess::Tokens);
        }
        level.run.step(&tree);
        let depth = level.base + level.run.depth + level.run.angles;
        if depth > DEPTH {
            return Err(Excess::Depth(tree.span()));
        }
        if let TokenTree::Group(group) = tree {
            stack.push(Level::new(group.stream(), depth));
        }
    }
    Ok(())
}

impl Level {
    fn new(tokens: TokenStream, base: usize) -> Level {
        Level { tokens: tokens.into_iter(), run: Run::default(), base }
    }
}

impl Run {
    fn step(&mut self, tree: &TokenTree) {
        let after_brace = std::mem::take(&mut self.after_brace);
        match tree {
            TokenTree::Punct(p) => match p.as_char() {
                ';' => *self = Run::default(),
                // A comma among type arguments does not end the type.
                ',' => self.depth = 0,
                '<' => self.angles += 1,
                '>' => self.angles = self.angles.saturating_sub(1),
                _ => self.depth += 1,
            },
            TokenTree::Ident(i) => {
                let word = i.to_string();
                // A statement that ends in a brace needs no semicolon.
                if after_brace && word != "else" && word != "as" {
                    *self = Run::default();
                }
                self.depth += usize::from(KEYWORDS.contains(&word.as_str()));
            }
            TokenTree::Group(g) => {
                self.depth += 1;
                self.after_brace = g.delimiter() == Delimiter::Brace;
            }
            TokenTree::Literal(_) => {}
        }
    }
}

const KEYWORDS: &[&str] = &[
    "as", "async", "become", "box", "break", "const", "do", "dyn", "else", "fn", "for", "if", "impl", "in", "let",
    "loop", "match", "move", "mut", "ref", "return", "static", "unsafe", "where", "while", "yield",
];
