//! Limits on tokens, checked before syn and everything behind it recurse over them.
//!
//! Depth is an estimate of the stack, in KB, that a parser built without optimisation takes: so much for going into
//! brackets, and so much for each token of a run without separators that may make it go down (`- - - x`, `if if if`,
//! `f()()()`, `a + b + c`). The costs are measured on syn, rounded up; walks over the tree and its destruction take
//! less.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};

/// Tokens of one function.
pub(super) const TOKENS: usize = 1 << 18;

/// Depth of one function: fits the stack of a thread, 2 MB, with room for what called us.
pub(super) const DEPTH: usize = 1300;

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
            stack.push(Level::new(group.stream(), depth + INSIDE));
        }
    }
    Ok(())
}

impl Level {
    fn new(tokens: TokenStream, base: usize) -> Level {
        Level { tokens: tokens.into_iter(), run: Run::default(), base }
    }
}

/// For going into brackets, beside [`BRACKETS`].
const INSIDE: usize = 18;
/// For brackets behind each other.
const BRACKETS: usize = 4;
/// For a type argument that is open.
const ANGLE: usize = 36;

impl Run {
    fn step(&mut self, tree: &TokenTree) {
        let after_brace = std::mem::take(&mut self.after_brace);
        match tree {
            TokenTree::Punct(p) => match p.as_char() {
                ';' => *self = Run::default(),
                // A comma among type arguments does not end the type.
                ',' => self.depth = 0,
                '<' => self.angles += ANGLE,
                '>' => self.angles = self.angles.saturating_sub(ANGLE),
                ':' => self.depth += 2,
                '|' => self.depth += 9,
                '=' => self.depth += 8,
                '-' | '!' | '*' => self.depth += 6,
                '&' => self.depth += 20,
                _ => self.depth += 4,
            },
            TokenTree::Ident(i) => {
                let word = i.to_string();
                // A statement that ends in a brace needs no semicolon.
                if after_brace && word != "else" && word != "as" {
                    *self = Run::default();
                }
                self.depth += cost(&word);
            }
            TokenTree::Group(g) => {
                self.depth += BRACKETS;
                self.after_brace = g.delimiter() == Delimiter::Brace;
            }
            TokenTree::Literal(_) => {}
        }
    }
}

/// For a keyword that makes a parser go down.
fn cost(word: &str) -> usize {
    match word {
        "fn" | "impl" | "mod" | "trait" | "struct" | "enum" | "union" | "extern" | "type" | "use" => 60,
        "if" | "match" | "while" | "for" | "return" | "break" | "yield" | "become" | "move" | "async" | "static"
        | "const" | "unsafe" | "dyn" | "let" | "box" | "try" | "do" => 12,
        "as" | "else" | "in" | "loop" | "mut" | "ref" | "where" => 4,
        _ => 0,
    }
}
