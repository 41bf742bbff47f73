//! A function's text through the shared front end, as far as the build script itself needs it.
//!
//! The rest of the work is done in a worker, from the same text.

use crate::scan::Function;
use crate::uses::{self, Uses};
use proc_macro2::TokenStream;
use std::str::FromStr as _;
use tenfold_syntax::parse_item;
use tenfold_syntax::signature::{Instance, instances};

/// What the item alone says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Read {
    /// Its name, without `r#`.
    pub(crate) name: String,
    /// Of the canonical print.
    pub(crate) fingerprint: String,
    /// What it needs.
    pub(crate) uses: Uses,
    /// Whether there is nothing wrong with it. If there is, the macro says what.
    pub(crate) is_sound: bool,
    /// Whether what is said of it names lines, so that it is compiled anew where it moves.
    pub(crate) shows_lines: bool,
    /// Whether it is plainly `pub`.
    pub(crate) is_public: bool,
    /// Its instances; an empty one if it is not generic.
    pub(crate) instances: Vec<Instance>,
}

/// None if the text is no function at all, which is rustc's to report.
pub(crate) fn read(function: &Function) -> Option<Read> {
    let argument = TokenStream::from_str(&function.argument).ok()?;
    let item = TokenStream::from_str(&function.text).ok()?;
    let parsed = parse_item(argument, item);
    let tree = parsed.function?;
    Some(Read {
        name: tree.name.text.clone(),
        fingerprint: tenfold_syntax::fingerprint(&tree),
        uses: uses::of(&tree),
        is_sound: parsed.diagnostics.is_empty(),
        shows_lines: !tree.attributes.budgets.is_empty() || !tree.attributes.pools.is_empty(),
        is_public: parsed.outer.visibility.to_string() == "pub",
        instances: instances(&tree),
    })
}
